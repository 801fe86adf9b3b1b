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
    "poisson": HEAD + "workload: [{shape: poisson, count: 600, sizes: hadoop, load: 70%}]\n",
    "incast": HEAD + "until: 2ms\nworkload: [{shape: incast, to: 3, count: 12, bytes: 2MB}, {shape: permutation, bytes: 300kB, start: 20us}]\n",
    "links": HEAD + "workload: [{shape: all-to-all, bytes: 40kB, mix: {send: 1, write: 1, read: 1, atomic: 1}}]\n"
                    "links: [{cable: 17, down: 30us, up: 200us}, {host: 2, down: 50us, up: 150us}]\n"
                    "faults: [{host: 5, do: \"loss=1e-2\"}]\n",
}
FILES = ("summary.json", "flows.csv", "ports.csv", "slowdown.csv", "cdf.csv")
# (what is added to the scenario, options, what the message names)
ONE_CORE = (
    ("workload: [{shape: collective, collective: all-reduce, bytes: 1MB}]\n", [], "follow from others"),
    ("workload: [{shape: ping-pong, from: 0, to: 9}]\n", [], "follow from others"),
    ("workload: [{shape: all-to-all, bytes: 1MB, parallel: 2}]\n", [], "follow from others"),
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


def outcome(context, text, jobs):
    """The text that a run prints, without how long it took, and its files."""
    with tempfile.TemporaryDirectory() as folder:
        p = simulate(context, text, "--jobs", str(jobs), "--out", folder)
        need(p.returncode == 0 and not p.stderr, p.stderr)
        lines = [line.split(" in ")[0] if line.startswith("events") else line for line in p.stdout.splitlines()]
        need(any(line.startswith("digest") for line in lines), lines)
        files = []
        for name in FILES:
            with open(os.path.join(folder, name), encoding="ascii") as f:
                files.append(f.read())
    return lines, files


@case("sim-jobs.same", seconds=20)
def _(context):
    """The table, the digest and every file are the same with one part, two, and as many as there are leaves."""
    for name, text in SCENARIOS.items():
        one = outcome(context, text, 1)
        for jobs in (2, 4):
            many = outcome(context, text, jobs)
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
