# SPDX-License-Identifier: BSD-2-Clause
"""`verbena sim --jobs`: one run on several cores leaves the files of the run on one, and what needs one core says so."""
import os
import subprocess
import tempfile

from cases import case
from hosts import Failure

HEAD = """seed: 5
topology: {shape: clos, leaves: 4, spines: 2, hosts: 4, cable: {rate: 25Gbps, delay: 500ns}, fabric: {rate: 40Gbps, delay: 2us}}
switch: {buffer: 2MB, lossless: [0], xoff: 30kB, ecn: [0], routing: adaptive}
transport: {mtu: 1024, timeout: 6, message: 64kB, congestion: paper}
"""
SCENARIOS = {
    "ring": HEAD + "workload: [{shape: collective, collective: all-reduce, bytes: 300kB}, {shape: ping-pong, from: 1, to: 9, count: 30}]\n",
    "moe": HEAD + "workload: [{shape: collective, collective: moe, bytes: 300kB, work: 20us, iterations: 3, compute: 3us}]\n",
    "parallel": HEAD + "workload: [{shape: all-to-all, bytes: 100kB, parallel: 2, mix: {send: 1, read: 1}}]\n",
    "unreliable": HEAD.replace("transport: {", "transport: {type: uc, ") + "workload: [{shape: poisson, count: 300, sizes: hadoop, load: 90%, mix: {send: 1}}]\n",
    "datagrams": HEAD.replace("transport: {", "transport: {type: ud, ") + "workload: [{shape: poisson, count: 300, bytes: 20kB, load: 90%}]\n",
    "poisson": HEAD + "workload: [{shape: poisson, count: 600, sizes: hadoop, load: 70%}]\n",
    "incast": HEAD + "until: 2ms\nworkload: [{shape: incast, to: 3, count: 12, bytes: 2MB}, {shape: permutation, bytes: 300kB, start: 20us}]\n",
    "links": HEAD + "workload: [{shape: all-to-all, bytes: 40kB, mix: {send: 1, write: 1, read: 1, atomic: 1}}]\n"
                    "links: [{cable: 17, down: 30us, up: 200us}, {host: 2, down: 50us, up: 150us}]\n"
                    "faults: [{host: 5, do: \"loss=1e-2\"}]\n",
}
LIST = "src,dst,bytes,start\n" + "".join(f"{i * 7 % 16},{(i * 7 + 1 + i % 15) % 16},{1000 + i * 997 % 90000},{i * 2000}ns\n"
                                       for i in range(900))
GOAL = """num_ranks 4
rank 0 {
s: send 40000b to 1 tag 3
r: recv 90000b from 3 tag 4
c: calc 5000
c requires r
}
rank 1 {
r: recv 40000b from 0 tag 3
s: send 70000b to 2 tag 1
s requires r
}
rank 2 {
c: calc 20000
r: recv 70000b from 1 tag 1
s: send 90000b to 3 tag 9
s requires r
s requires c
}
rank 3 {
r: recv 90000b from 2 tag 9
s: send 90000b to 0 tag 4
s requires r
}
"""
# Scenarios with a file beside them: {file} in the text.
WITH_FILE = {
    "list": (HEAD + "flows: 300\nworkload: {shape: file, file: {file}}\n", LIST),
    "goal": (HEAD + "workload: {shape: goal, goal: {file}, iterations: 3, compute: 5us}\n", GOAL),
}
FILES = ("summary.json", "flows.csv", "ports.csv", "slowdown.csv", "cdf.csv", "collectives.csv")
# (what is added to the scenario, options, what the message names)
ONE_CORE = (
    ("workload: [{shape: ping-pong, from: 0, to: 9, new-connections: true}]\n", [], "connections of their own"),
    ("workload: [{shape: collective, collective: all-reduce, bytes: 1MB, iterations: 2, compute: 2us}]\n", [], "to another, 2016 ns"),
    ("workload: [{shape: single, from: 0, to: 9, bytes: 1MB}]\nfaults: [{do: \"loss=1e-3\"}]\n", [], "cannot be cut"),
    ("workload: [{shape: single, from: 0, to: 9, bytes: 1MB}]\ndata: true\n", [], "payloads"),
    ("workload: [{shape: single, from: 0, to: 9, bytes: 1MB}]\n", ["--trace", "/dev/null"], "one order"),
    ("workload: [{shape: single, from: 0, to: 9, bytes: 1MB}]\n", ["--explain", "all"], "one order"),
)


def need(ok, text):
    if not ok:
        raise Failure(str(text))


def simulate(context, text, *options):
    return subprocess.run([context.verbena, "sim", "/dev/stdin", *options], input=text, capture_output=True, text=True,
                          timeout=120)


def outcome(context, text, jobs, beside=""):
    """The text that a run prints, without how long it took, and its files."""
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile("w", encoding="ascii") as file:
        file.write(beside)
        file.flush()
        text = text.replace("{file}", file.name)
        p = simulate(context, text, "--jobs", str(jobs), "--out", folder)
        need(p.returncode == 0 and not p.stderr, p.stderr)
        lines = [line.split(" in ")[0] if line.startswith("events") else line for line in p.stdout.splitlines()]
        need(any(line.startswith("digest") for line in lines), lines)
        files = []
        for name in FILES:
            path = os.path.join(folder, name)
            if os.path.exists(path) or not name.startswith("collect"):
                with open(path, encoding="ascii") as f:
                    files.append(f.read())
    return lines, files


@case("sim-jobs.same", seconds=30)
def _(context):
    """The table, the digest and every file are the same with one part and with several."""
    for name, (text, file) in {**{n: (t, "") for n, t in SCENARIOS.items()}, **WITH_FILE}.items():
        one = outcome(context, text, 1, file)
        for jobs in (2, 4) if name in ("poisson", "ring") else (3,):
            many = outcome(context, text, jobs, file)
            need(one[0] == many[0], (name, jobs, one[0], many[0]))
            for file, a, b in zip(FILES, one[1], many[1]):
                need(a == b, f"{name}: {file} differs with --jobs {jobs}")


@case("sim-jobs.refused", seconds=10)
def _(context):
    """A scenario that needs one core is refused with the reason, and runs without the option."""
    for text, options, reason in ONE_CORE:
        p = simulate(context, HEAD + text, "--jobs", "2", *options)
        need(p.returncode in (1, 2) and reason in p.stderr, (text, p.returncode, p.stderr))
    for wrong in ("0", "x", "-1", "257", "2x"):
        p = simulate(context, HEAD + ONE_CORE[0][0], "--jobs", wrong)
        need(p.returncode == 2 and "--jobs is 1 to 256" in p.stderr, (wrong, p.returncode, p.stderr))
    need(simulate(context, HEAD + ONE_CORE[0][0], "--jobs", "1").returncode == 0, "one job is one core")
