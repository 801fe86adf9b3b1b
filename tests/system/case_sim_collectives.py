# SPDX-License-Identifier: BSD-2-Clause
"""`verbena sim` with collectives and graphs of the user's own: times, bandwidths and what is refused."""
import csv
import json
import os
import subprocess
import tempfile

from cases import case
from hosts import Failure

SCENARIOS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scenarios")
HEAD = "topology: {shape: star, hosts: 8}\ntransport: {mtu: 4096}\n"
# (collective, busbw over algbw, the busbw that it reaches at least with large data, in Gb/s; the cables have 100)
BANDWIDTHS = (
    ("collective: all-reduce", 14 / 8, 96),
    ("collective: all-reduce, algorithm: halving-doubling", 14 / 8, 96),
    ("collective: all-reduce, algorithm: hierarchical, local: 4", 14 / 8, 96),
    ("collective: all-gather", 7 / 8, 96),
    ("collective: reduce-scatter", 7 / 8, 96),
    ("collective: all-to-all", 7 / 8, 96),
    ("collective: all-to-all, algorithm: pairwise", 7 / 8, 96),
    ("collective: broadcast, chunks: 64", 1, 45),
)


def need(ok, text):
    if not ok:
        raise Failure(str(text))


def simulate(context, path, *options, text=None):
    return subprocess.run([context.verbena, "sim", path, *options], input=text, capture_output=True, text=True, timeout=120)


def results(context, path, text=None):
    """The table, the member of summary.json, and the rows of collectives.csv and flows.csv."""
    with tempfile.TemporaryDirectory() as folder:
        p = simulate(context, path, "--out", folder, text=text)
        need(p.returncode == 0 and not p.stderr, p.stderr)
        with open(os.path.join(folder, "summary.json"), encoding="ascii") as f:
            summary = json.load(f)
        rows = []
        for name in ("collectives.csv", "flows.csv"):
            with open(os.path.join(folder, name), encoding="ascii", newline="") as f:
                rows.append(list(csv.DictReader(f)))
    return p.stdout, summary, rows[0], rows[1]


@case("sim-collectives.bandwidth", seconds=20)
def _(context):
    """algbw is bytes over time, busbw its known multiple, and that is near the rate of the cables; all iterations are alike."""
    for words, factor, least in BANDWIDTHS:
        text = HEAD + f"workload: {{shape: collective, {words}, bytes: 16MB, iterations: 3, compute: 20us}}\n"
        shown, summary, rows, _ = results(context, "/dev/stdin", text)
        need(len(rows) == 3 and "3 of 3 iterations are over" in shown, shown)
        whole = summary["collectives"][0]
        need((whole["workload"], whole["hosts"], whole["wanted"], whole["done"]) == (1, 8, 3, 3), whole)
        for i, (row, one) in enumerate(zip(rows, whole["iterations"])):
            algbw = 16e6 * 8e9 / int(row["time_ns"])
            need(abs(int(row["algbw_bps"]) / algbw - 1) < 1e-6, row)
            need(abs(int(row["busbw_bps"]) / algbw / factor - 1) < 1e-6 and int(row["busbw_bps"]) > least * 1e9, row)
            need([int(row[k]) for k in ("begin_ns", "time_ns", "algbw_bps", "busbw_bps")] ==
                 [one[k] for k in ("begin_ns", "time_ns", "algbw_bps", "busbw_bps")], (row, one))
            need(int(row["time_ns"]) == whole["mean_ns"] and int(row["begin_ns"]) == i * (whole["mean_ns"] + 20000), row)


@case("sim-collectives.scenarios", seconds=60)
def _(context):
    """The scenarios with collectives run to their end, and every flow of them arrives."""
    for name in ("all-reduce.yaml", "collectives/all-reduce.yaml", "collectives/experts.yaml", "collectives/pipeline.yaml", "collectives/halo.yaml",
                 "collectives/step.yaml"):
        _, summary, rows, flows = results(context, os.path.join(SCENARIOS, name))
        whole = summary["collectives"][0]
        need(whole["done"] == whole["wanted"] == len(rows), (name, whole))
        need(summary["failed"] == 0 and all(f["status"] == "0" and f["delivered_ns"] for f in flows), name)


@case("sim-collectives.goal", seconds=10)
def _(context):
    """The graph of halo.goal takes its computations and one exchange, which the other core's work does not delay."""
    _, summary, rows, flows = results(context, os.path.join(SCENARIOS, "collectives/halo.yaml"))
    need(len(rows) == 10 and len(flows) == 80 and summary["collectives"][0]["messages"] == 8, summary)
    need({row["algbw_bps"] for row in rows} == {""} and {row["collective"] for row in rows} == {"goal"}, rows[0])
    # 20 us, two messages of 64 KiB on one cable of 100 Gb/s over 2 us and a frame, and 5 us.
    expected = 20000 + 2 * (65536 + 16 * 82) * 8 / 100 + 2000 + (4096 + 82) * 8 / 100 + 5000
    need(all(abs(int(row["time_ns"]) / expected - 1) < 0.01 for row in rows), (rows[0], expected))


@case("sim-collectives.chakra", seconds=10)
def _(context):
    """The traces of step take their computations, the exchange between stages and the last all-reduce; one that goes beyond its end is refused."""
    _, summary, rows, _ = results(context, os.path.join(SCENARIOS, "collectives/step.yaml"))
    _, alone, _, _ = results(context, "/dev/stdin", "topology: {hosts: 4, cable: {rate: 100Gbps, delay: 1us}}\ntransport: {mtu: 4096}\n"
                             "workload: {shape: collective, collective: all-reduce, bytes: 1048576}\n")
    # A message between 40, 40, 60 and 10 us, and two all-reduces at once for a time: as long as their data takes, and not as one behind the other.
    before = 150000 + (262144 + 64 * 82) * 8 / 100 + 2000
    least, most = before + 2 * 1.5 * 2**20 * (1 + 82 / 4096) * 8 / 100, before + 2 * alone["collectives"][0]["mean_ns"]
    need(len(rows) == 3 and {row["collective"] for row in rows} == {"chakra"}, rows)
    need(all(least < int(row["time_ns"]) < most for row in rows), (rows[0], least, most))
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "t.0.et"), "wb") as f:
            f.write(bytes((0, 99, 8)))
        p = simulate(context, "/dev/stdin", text=HEAD + f"workload: {{shape: chakra, chakra: {folder}/t}}\n")
        need(p.returncode == 1 and f"{folder}/t.0.et: byte 1: a length goes beyond the end" in p.stderr, p.stderr)


@case("sim-collectives.refused", seconds=10)
def _(context):
    """A graph that never ends is refused with its place; iterations without a pause stay on one core; and the shape that there was says what there is."""
    with tempfile.TemporaryDirectory() as folder:
        goal = os.path.join(folder, "wait.goal")
        with open(goal, "w", encoding="ascii") as f:
            f.write("num_ranks 2\nrank 0 {\nl1: calc 5\nl2: recv 8b from 1 tag 7\nl2 requires l1\n}\n")
        p = simulate(context, "/dev/stdin", text=HEAD + f"workload: {{shape: goal, goal: {goal}}}\n")
        need(p.returncode == 1 and f"{goal}:4:1: l2 of rank 0 waits for ever: rank 1 has no send to it with tag 7" in p.stderr, p.stderr)
    two = "topology: {shape: dumbbell}\nworkload: {shape: collective, collective: all-to-all, iterations: 2}\n"
    p = simulate(context, "/dev/stdin", "--jobs", "2", text=two)
    need(p.returncode == 1 and "workload 1 has iterations with a pause (compute) that is shorter" in p.stderr, p.stderr)
    p = simulate(context, "/dev/stdin", text=HEAD + "workload: {shape: ring}\n")
    need(p.returncode == 1 and "goal or chakra, not \"ring\"" in p.stderr, p.stderr)


@case("sim-collectives.connections", seconds=10)
def _(context):
    """With new-connections each flow has its own QPs; without, flows of the same hosts follow each other on one."""
    for new, cnt in ((False, 2), (True, 6)):
        text = "workload: [" + ", ".join(f"{{shape: permutation, bytes: 1kB, start: {i}ms, new-connections: {str(new).lower()}}}"
                                         for i in range(3)) + "]\n"
        with tempfile.NamedTemporaryFile("r", encoding="ascii") as trace:
            p = simulate(context, "/dev/stdin", "--trace", trace.name, text=text)
            need(p.returncode == 0, p.stderr)
            with open(trace.name, encoding="ascii") as f:
                events = [json.loads(line) for line in f]
        qps = {(e["node"], e["qpn"]) for e in events if e["event"] == "QP_STATE"}
        need(len(qps) == 2 * cnt, (new, qps))
