# SPDX-License-Identifier: BSD-2-Clause
"""`verbena sim`: its CSV files, read as programs for statistics read them, agree with each other and with summary.json."""
import csv
import json
import math
import os
import subprocess
import tempfile

from cases import case
from hosts import Failure

MIXED = """seed: 4
topology: {shape: star, hosts: 6, cable: {rate: 25Gbps, delay: 500ns}}
transport: {mtu: 1024, message: 16KiB, depth: 4, timeout: 8}
workload:
  - {shape: poisson, sizes: hadoop, load: 0.5, count: 150}
  - {shape: incast, count: 5, to: 0, bytes: 100kB}
"""


def need(ok, text):
    if not ok:
        raise Failure(str(text))


def simulate(context, folder, scenario, *options, status=0):
    path = os.path.join(folder, "scenario.yaml")
    with open(path, "w", encoding="ascii") as f:
        f.write(scenario)
    p = subprocess.run([context.verbena, "sim", path, "--out", folder, *options], capture_output=True, text=True, timeout=100)
    need(p.returncode == status, f"exit status {p.returncode}\n{p.stdout}{p.stderr}")
    return p.stdout if status == 0 else p.stderr


def rows(folder, name):
    """The rows of a CSV file, which all have the columns of its header."""
    with open(os.path.join(folder, name), encoding="ascii", newline="") as f:
        table = list(csv.reader(f))
    need(all(len(r) == len(table[0]) for r in table), f"{name} is no table")
    return [dict(zip(table[0], r)) for r in table[1:]]


def summary_of(folder):
    with open(os.path.join(folder, "summary.json"), encoding="ascii") as f:
        return json.load(f)


def percentile(values, q):
    """The nearest rank, rounded up. docs/simulator.md"""
    return sorted(values)[max(math.ceil(q * len(values) - 1e-9), 1) - 1]


@case("sim-series.distributions", seconds=20)
def _(context):
    """slowdown.csv and cdf.csv say of the flows in flows.csv what python computes of them, and summary.json says the same."""
    with tempfile.TemporaryDirectory() as folder:
        simulate(context, folder, MIXED)
        summary = summary_of(folder)
        flows = [(int(r["bytes"]), int(r["fct_ns"]), int(r["fct_ns"]) * 1000 // int(r["ideal_ns"])) for r in rows(folder, "flows.csv")]
        need(len(flows) == 155 == summary["done"], len(flows))
        for q, name in ((0.5, "p50"), (0.9, "p90"), (0.95, "p95"), (0.99, "p99"), (0.999, "p999")):
            need(summary["fct_ns"][name] == percentile([f[1] for f in flows], q), name)
            need(summary["slowdown_milli"][name] == percentile([f[2] for f in flows], q), name)
        bins = rows(folder, "slowdown.csv")
        need(sum(int(b["flows"]) for b in bins) == len(flows) and len(bins) > 5, bins)
        need(len(summary["slowdown_by_size"]) == len(bins), summary["slowdown_by_size"])
        for b, j in zip(bins, summary["slowdown_by_size"]):
            above, up_to = int(b["above_bytes"]), int(b["up_to_bytes"] or 1 << 60)
            inside = [f[2] for f in flows if above < f[0] <= up_to or f[0] == above == 0]
            need(len(inside) == int(b["flows"]) == j["flows"] and above == j["above_bytes"], b)
            for q, name in ((0.5, "p50"), (0.95, "p95"), (0.99, "p99"), (1, "max")):
                need(round(float(b["slowdown_" + name]) * 1000) == percentile(inside, q) == j[name + "_milli"], (b, j))
        for name, values in (("fct_ns", [f[1] for f in flows]), ("slowdown", [f[2] / 1000 for f in flows])):
            steps = [(float(r["value"]), float(r["share"])) for r in rows(folder, "cdf.csv") if r["name"] == name]
            need([v for v, _ in steps] == sorted(set(values)) and steps[-1][1] == 1, name)
            need(all(abs(share - sum(v <= value for v in values) / len(values)) < 1e-6 for value, share in steps), name)
