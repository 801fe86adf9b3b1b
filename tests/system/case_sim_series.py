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
    return p.stderr if status == 1 else p.stdout


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


# Two priorities, PFC in one of them, DCQCN, loss on a cable, a READ, and a flow that runs at the end.
CONGESTED = """seed: 2
until: 1500us
topology: {shape: dumbbell, left: 4, right: 2, cable: {rate: 25Gbps, delay: 1us}}
switch: {buffer: 600kB, lossless: [3], ecn: [3], kmin: 10kB, kmax: 80kB, queue: 60kB}
transport: {mtu: 1024, message: 64KiB, timeout: 4, traffic-class: 98, congestion: paper}
workload:
  - {shape: incast, count: 3, to: 4, bytes: 600kB}
  - {shape: single, from: 5, to: 0, bytes: 300kB, mix: {read: 1}}
  - {shape: single, from: 3, to: 5, bytes: 200kB, traffic-class: 2, start: 33us}
  - {shape: single, from: 2, to: 5, bytes: 900MB, start: 1ms}
faults:
  - {cable: 5, do: "loss=1e-3,dup=1%"}
"""
RECORD = """record:
  series: all
  every: 20us
  groups: [{name: senders, flows: [0-2]}, {name: middle, ports: [6.*, 7.0]}]
"""


def total(table, name, **where):
    return sum(int(r[name] or 0) for r in table if all(r[k] == v for k, v in where.items()))


def check_grid(table, keys, every, end):
    """Each object has a row at every multiple of the interval, without a gap, and none behind the end."""
    times = {}
    for r in table:
        times.setdefault(tuple(r[k] for k in keys), []).append(int(r["time_ns"]))
    for key, at in times.items():
        need(all(t % every == 0 or t == end for t in at) and at[-1] <= end, (key, at))
        need(all(b - a == every for a, b in zip(at, at[1:-1])) and at == sorted(set(at)), (key, at))
    return times


def digest_of(out):
    return next(line.split()[1] for line in out.splitlines() if line.startswith("digest"))


@case("sim-series.ethernet", seconds=20)
def _(context):
    """Sums and maxima over time are the numbers of flows.csv, ports.csv and summary.json, and the run is the same without them."""
    with tempfile.TemporaryDirectory() as folder:
        plain = simulate(context, folder, CONGESTED)
        need(not [n for n in os.listdir(folder) if "series" in n], os.listdir(folder))
        out = simulate(context, folder, CONGESTED + RECORD)
        need(digest_of(out) == digest_of(plain), out)
        summary, flows, ports = summary_of(folder), rows(folder, "flows.csv"), rows(folder, "ports.csv")
        of_flow, of_port, of_lane = (rows(folder, f"{n}_series.csv") for n in ("flow", "port", "lane"))
        end = 1500000
        need(total(of_flow, "acked_bytes") == summary["bytes"] and summary["running"] == 1, summary)
        for f in flows:
            mine = [r for r in of_flow if r["flow"] == f["flow"]]
            need(total(mine, "acked_bytes") == int(f["completed"]), f)
            need(all((r["src"], r["dst"]) == (f["src"], f["dst"]) for r in mine), f)
            need(all(abs(int(r["rate_bps"]) * 20e-6 - 8 * int(r["acked_bytes"])) < 1e-3 for r in mine[:-1]), f)
            need(int(f["start_ns"]) < int(mine[0]["time_ns"]) <= int(f["start_ns"]) + 20000, f)
            last = int(mine[-1]["time_ns"])
            need(last == end if not f["done_ns"] else last - 20000 < int(f["done_ns"]) <= last, f)
            need(all(int(r["inflight_bytes"]) <= int(f["bytes"]) for r in mine), f)
        times = check_grid(of_flow, ("flow",), 20000, end)
        need(len(times) == 6, times)
        need(all(len(t) == 75 for t in check_grid(of_port, ("cable", "from"), 20000, end).values()), "ports at all times")
        check_grid(of_lane, ("cable", "from", "lane"), 20000, end)
        need(total(of_flow, "cnps") == summary["counters"]["rp_cnp_handled"] > 0, summary["counters"])
        slowed = [r for r in of_flow if r["cc_rate_bps"] and int(r["cc_rate_bps"]) < 24e9]
        need({r["flow"] for r in slowed} >= {"0", "3"}, "the QP at the other end of a READ is slowed down")
        need(all(int(r["paused_ns"]) <= 20000 for r in of_lane), "no priority is held for longer than the interval")
        need(slowed and all(0 < float(r["alpha"]) <= 1 and int(r["cc_target_bps"]) >= int(r["cc_rate_bps"]) for r in slowed), "DCQCN")
        need(all(4000 < int(r["rtt_ns"]) < 500000 for r in of_flow if r["rtt_ns"]), "RTT")
        need(sum(bool(r["rtt_ns"]) for r in of_flow) > 20, "RTT is measured")
        for p in ports:
            where = {"cable": p["cable"], "from": p["from"]}
            mine = [r for r in of_port if all(r[k] == v for k, v in where.items())]
            need(max(int(r["queue_max_bytes"]) for r in mine) == int(p["depth_max_bytes"]), (p, mine))
            for ours, theirs in (("marks", "marked"), ("pauses_sent", "pauses"), ("paused_ns", "paused_ns"),
                                 ("drops", "dropped"), ("tx_bytes", "bytes")):
                need(total(mine, ours) == int(p[theirs]), (ours, p, total(mine, ours)))
            for name in ("marks", "paused_ns", "cnps"):
                need(total(of_lane, name, **where) == total(mine, name), (name, p))
            need(0 <= total(mine, "tx_bytes") - total(of_lane, "tx_bytes", **where) <= 64 * 2 * (summary["pauses"] + 1), p)
            need(all(int(r["queue_bytes"]) <= int(r["queue_max_bytes"]) and float(r["utilisation"]) < 1.06 for r in mine), p)
            for r in mine:
                lanes = [q for q in of_lane if q["time_ns"] == r["time_ns"] and all(q[k] == v for k, v in where.items())]
                need(total(lanes, "queue_bytes") == int(r["queue_bytes"]), (r, lanes))
        need(summary["pauses"] > 0 and summary["dropped"] > 0 and summary["marked"] > 0, summary)
        need(total(of_lane, "pauses_taken") > 0 and {r["lane"] for r in of_lane} == {"0", "3", "6"}, "lanes")
        need(total(of_lane, "cnps", lane="6") == total(of_lane, "cnps") > 0, "CNPs have the priority of their DSCP")
        check_groups(folder, of_flow, of_port)
        check_queues(folder, of_port)


def check_groups(folder, of_flow, of_port):
    """Percentiles over a group are what python computes of its rows."""
    groups = rows(folder, "group_series.csv")
    need({r["group"] for r in groups} == {"senders", "middle"}, groups[:2])
    for r in groups:
        table = of_flow if r["group"] == "senders" else of_port
        values = sorted(float(q[r["series"]]) for q in table if q["time_ns"] == r["time_ns"] and q[r["series"]] and
                        (int(q["flow"]) <= 2 if table is of_flow else q["from"] == "6" or (q["from"], q["port"]) == ("7", "0")))
        need(len(values) == int(r["objects"]) > 0, r)
        for name, q in (("min", 0), ("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1)):
            need(float(r[name]) == percentile(values, q), (r, values))


def check_queues(folder, of_port):
    """The distribution of queues is of ports of switches at the ends of intervals, to a thirty-second part."""
    queues = sorted(int(r["queue_bytes"]) for r in of_port if int(r["from"]) >= 6)
    steps = [(int(r["value"]), float(r["share"])) for r in rows(folder, "cdf.csv") if r["name"] == "queue_bytes"]
    need(len(steps) > 5 and steps[-1] == (queues[-1], 1), steps)
    for value, share in steps:
        need(abs(share - sum(q <= value for q in queues) / len(queues)) < 1e-6, (value, share))
    for (a, _), (b, _) in zip([(0, 0), *steps], steps):
        inside = [q for q in queues if a < q <= b]
        need(not inside or b - min(inside) <= min(inside) / 32 + 1, (a, b, inside))


@case("sim-series.lists", seconds=20)
def _(context):
    """Flows of a list, whose records go from one to the next, within an interval as well, keep their rows."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "some.csv"), "w", encoding="ascii") as f:
            f.write("src,dst,bytes,start\n" + "".join(f"{i % 3},{3 + i % 2},{500 + i * 300},{i * 3}us\n" for i in range(60)))
        text = """topology: {shape: star, hosts: 5, cable: {rate: 25Gbps, delay: 500ns}}
flows: 16
workload: {shape: file, file: some.csv}
record: {series: [rate, rtt], every: 70us, groups: [{name: late, flows: [40-59]}]}
"""
        simulate(context, folder, text)
        of_flow, flows = rows(folder, "flow_series.csv"), rows(folder, "flows.csv")
        need(len(flows) == 60 == len({r["flow"] for r in of_flow}), len(flows))
        for f in flows:
            mine = [r for r in of_flow if r["flow"] == f["flow"]]
            need(total(mine, "acked_bytes") == int(f["bytes"]), (f, mine))
            need(all((r["src"], r["dst"]) == (f["src"], f["dst"]) for r in mine) and any(r["rtt_ns"] for r in mine), (f, mine))
            need(int(f["start_ns"]) < int(mine[0]["time_ns"]) and int(f["done_ns"]) <= int(mine[-1]["time_ns"]) < int(f["done_ns"]) + 70000, f)
        check_grid(of_flow, ("flow",), 70000, 1 << 60)
        for g in rows(folder, "group_series.csv"):
            values = [int(r[g["series"]]) for r in of_flow if r["time_ns"] == g["time_ns"] and int(r["flow"]) >= 40 and r[g["series"]]]
            need(len(values) == int(g["objects"]) and percentile(values, 0.95) == int(g["p95"]), (g, values))
        # Some are chosen: the record of another one may have been theirs.
        simulate(context, folder, text, "--flows", "13,50-51")
        some = rows(folder, "flow_series.csv")
        need(some == [r for r in of_flow if r["flow"] in ("13", "50", "51")] and len(some) >= 3, some)


@case("sim-series.infiniband", seconds=20)
def _(context):
    """Of InfiniBand: the buffers of lanes, waiting for credits, FECN and BECN, as lanes.csv and summary.json count them."""
    folder_of = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scenarios", "ib")
    for name, status in (("victim-congestion.yaml", 0), ("damage.yaml", 0), ("ring-deadlock.yaml", 4)):
        with open(os.path.join(folder_of, name), encoding="utf-8") as f:
            text = f.read()
        with tempfile.TemporaryDirectory() as folder:
            plain = simulate(context, folder, text, status=status)
            out = simulate(context, folder, text, "--series", "queue,marks,pauses,cnps,utilisation,drops", "--every", "50us",
                           status=status)
            need(digest_of(out) == digest_of(plain), out)
            need(not os.path.exists(os.path.join(folder, "group_series.csv")), "no group")
            check_links(folder, name == "victim-congestion.yaml")


def check_links(folder, is_congested):
    summary, lanes, ports = summary_of(folder), rows(folder, "lanes.csv"), rows(folder, "ports.csv")
    of_port, of_lane = rows(folder, "port_series.csv"), rows(folder, "lane_series.csv")
    for ours, theirs in (("marks", "fecn"), ("becns", "becn"), ("credit_wait_ns", "credit_wait_ns")):
        need(total(of_port, ours) == summary["infiniband"][theirs], ours)
        need(total(of_port, ours) > 0 or not is_congested, ours)
    need(all(int(r["credit_wait_ns"]) <= 50000 for r in of_port), "no port waits for longer than the interval")
    for p in lanes:
        mine = [r for r in of_lane if all(r[k] == p[k] for k in ("cable", "from", "lane"))]
        need(total(mine, "tx_bytes") == int(p["bytes"]), p)
        need(max((int(r["buffer_max_blocks"]) for r in mine), default=0) == int(p["buffer_max_blocks"]), p)
    for p in ports:
        mine = [r for r in of_port if (r["cable"], r["from"]) == (p["cable"], p["from"])]
        need(max(int(r["queue_max_bytes"]) for r in mine) == int(p["depth_max_bytes"]), p)
        # The flow control packets of the idle time at the end are in ports.csv only.
        of_lanes = total(of_lane, "tx_bytes", cable=p["cable"], **{"from": p["from"]})
        need(of_lanes < total(mine, "tx_bytes") <= int(p["bytes"]), p)


@case("sim-series.options", seconds=20)
def _(context):
    """Options stand for keys and win; flows and ports are chosen; each mistake lists what there is, and leaves no file."""
    with tempfile.TemporaryDirectory() as folder:
        simulate(context, folder, CONGESTED + RECORD, "--series", "rate,queue", "--every", "0.1ms", "--flows", "1,3-4",
                 "--ports", "6.*,0.0")
        of_flow, of_port = rows(folder, "flow_series.csv"), rows(folder, "port_series.csv")
        need(list(of_flow[0]) == ["time_ns", "flow", "src", "dst", "acked_bytes", "rate_bps"], of_flow[0])
        need(list(of_port[0]) == ["time_ns", "cable", "from", "port", "to", "queue_bytes", "queue_max_bytes"], of_port[0])
        need({r["flow"] for r in of_flow} == {"1", "3", "4"} and of_flow[0]["time_ns"] == "100000", "flows")
        need({(r["from"], r["port"]) for r in of_port} == {("0", "0"), *(("6", str(i)) for i in range(5))}, "ports")
        need({r["group"] for r in rows(folder, "group_series.csv")} == {"senders", "middle"}, "groups have flows beyond the chosen")
        for name in os.listdir(folder):
            if "series" in name:
                os.unlink(os.path.join(folder, name))
        names = "rate, inflight, window, cc-rate, cc-target, alpha, rtt, queue, marks, pauses, drops, utilisation, cnps or all"
        for options, said in ((("--series", "rates"), f"series is {names}, not \"rates\""),
                              (("--series", "rate", "--every", "5"), "every is a time such as 500ns, 1.5us or 10ms"),
                              (("--series", "rate", "--flows", "x"), "flows are all, none, or numbers as in flows.csv"),
                              (("--series", "queue", "--ports", "6"), "ports are all, none, or NODE.PORT"),
                              (("--series", "queue", "--ports", "9.0"), "there is no node 9: nodes are 0 to 7"),
                              (("--series", "queue", "--ports", "7.3"), "there is no port 7.3: ports of node 7 are 7.0 to 7.2"),
                              (("--series", "rate", "--flows", "9999999"), "there is no flow 9999999: flows are 0 to 131071 at most")):
            need(said in simulate(context, folder, CONGESTED, *options, status=1), said)
            need(not [n for n in os.listdir(folder) if "series" in n], os.listdir(folder))
        p = subprocess.run([context.verbena, "sim", os.path.join(folder, "scenario.yaml"), "--series", "rate"],
                           capture_output=True, text=True, timeout=60)
        need(p.returncode == 1 and "name it with --out" in p.stderr, p)
        p = subprocess.run([context.verbena, "sim", os.path.join(folder, "scenario.yaml"), "--series", "rate", "--flows", "0,77",
                            "--out", folder], capture_output=True, text=True, timeout=60)
        need(p.returncode == 0 and "there was no flow 77: the run had 6, from 0 on" in p.stderr, p)
