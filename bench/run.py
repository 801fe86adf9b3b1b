#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the measurements of scripts/bench and writes the table. Takes turns, so that what else the
machine does in a while falls on all: in every round the programs of a group follow each other, several
times where their figures are compared. A comparison is the median of those of neighbours."""
import argparse
import datetime
import itertools
import json
import math
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from programs import SECONDS, Failure, Program, free_port, pair, running_pair

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HOPS = r"([\d.]+) million/s"
RXE = "## Against rdma_rxe"  # the section that bench/rxe.sh writes
HOOKS = "## Probes and the tracer"  # the section before it, of bench/hooks.py
TURNS = {"a": 9, "b": 5, "n": 5, "i": 3}  # of a group in a round; of others one
# Congestion control as --cc paper has it, and off, by registers.
CC_ON = [f"{name}=1" for name in ("dcqcn_hw_en", "hw_rate_throttle_en", "tx_wqe_ost_limit_en", "speed_limiter_en",
                                  "np_en", "ecn_en", "rxq_en")]
CC_OFF = [name.replace("=1", "=0") for name in CC_ON]
CC_SECONDS = 55  # what it costs is measured for so long...
CC_ERROR = 0.004  # ... or until it is known so well, but in so many blocks at least
CC_BLOCKS = 30


class Adapter:
    """The device on loopback, and the programs of one build."""

    def __init__(self, build):
        self.build = build
        self.verbena = os.path.join(build, "verbena")
        devices = json.loads(subprocess.check_output([self.verbena, "devices", "--json"], timeout=SECONDS))
        device = next(d for d in devices if d["netdev"] == "lo")
        self.name = device["name"]
        self.gid = next(g["index"] for g in device["gids"] if g["gid"] == "::ffff:127.0.0.1")

    def perftest(self, program, *options, run=()):
        """The numbers of the last line of a perftest program's table. @run: options of verbena run."""
        argv = [self.verbena, "run", *run, "--", program, "-d", self.name, "-x", str(self.gid)]
        return perftest_row(argv, argv, *options)

    def write_bw(self, *run):
        """MB/s, of 10^6 bytes."""
        return self.perftest("ib_write_bw", "-s", "65536", "-m", "4096", "-n", "40000",
                             "--report_gbits", run=run)[3] * 1000 / 8

    def fabric_bw(self):
        """MB/s by LID from a node of an InfiniBand fabric, which OpenSM manages, to another one."""
        fabric = f"bench-{os.getpid()}"
        ends = [[self.verbena, "run", "--fabric", fabric, "--node", node, "--", "ib_write_bw", "-d", "verbena0"]
                for node in FABRIC_ENDS]
        subprocess.run([self.verbena, "fabric", "--name", fabric, "--sm", "up", FABRIC], check=True, timeout=SECONDS,
                       stdout=subprocess.DEVNULL)
        try:
            self.await_active(fabric)
            return perftest_row(*ends, "-s", "65536", "-m", "4096", "-n", "40000", "--report_gbits")[3] * 1000 / 8
        finally:
            subprocess.run([self.verbena, "fabric", "down", fabric], check=True, timeout=SECONDS, stdout=subprocess.DEVNULL)

    def await_active(self, fabric):
        """Returns once the manager has made the ports of both ends ACTIVE."""
        deadline = time.monotonic() + 30
        for node in FABRIC_ENDS:
            while "4: ACTIVE" not in subprocess.check_output(
                    [self.verbena, "run", "--fabric", fabric, "--node", node, "--", "cat",
                     "/sys/class/infiniband/verbena0/ports/1/state"], text=True, timeout=SECONDS):
                if time.monotonic() > deadline:
                    raise Failure(f"the port of {node} does not become ACTIVE")
                time.sleep(0.1)

    def incast(self, senders):
        """MB/s that so many processes together write to one, with congestion control."""
        program = os.path.join(self.build, "tests", "system", "verbs_incast")
        return number_in(Program([self.verbena, "run", "--cc", "paper", "--", program, self.name, str(senders),
                                  str(16000 // senders)]).finish(), r"total_MBps ([\d.]+)")

    def cc_cost(self):
        """The rate of a running ib_write_bw with congestion control, in parts of its rate without, and what it
        does without in the same parts: (median, its error) of both. The three are switched by registers, in
        blocks of two slices each that stand in the order of a palindrome, so that a drift falls on all alike;
        and each is first, and last, in as many blocks."""
        port = free_port()
        # No report while it is measured: for each a thread of its own spins for 0.1 s and more.
        argv = [self.verbena, "run", "--", "ib_write_bw", "-d", self.name, "-x", str(self.gid), "-F", "-p", str(port),
                "-s", "65536", "-m", "4096", "--run_infinitely", "-D", str(10 * SECONDS)]
        arms = (CC_OFF, CC_ON, CC_OFF)

        def sent():
            out = subprocess.check_output([self.verbena, "counters", "-a", "-d", self.name], text=True, timeout=SECONDS)
            return time.monotonic(), number_in(out, r"port_xmit_data +(\d+)")

        def rate(settings):
            subprocess.run([self.verbena, "csr", "write", "-d", self.name, *settings], check=True,
                           stdout=subprocess.DEVNULL, timeout=SECONDS)
            time.sleep(0.01)
            before = sent()
            time.sleep(0.05)
            after = sent()
            return (after[1] - before[1]) / (after[0] - before[0])

        ratios = ([], [])
        with running_pair(argv, argv + ["127.0.0.1"], port):
            deadline = time.monotonic() + 10
            while not rate(CC_OFF):
                if time.monotonic() > deadline:
                    raise Failure(f"{' '.join(argv)} sends nothing")
            time.sleep(1)  # what it begins with is not its rate
            deadline = time.monotonic() + CC_SECONDS
            for block in itertools.count():
                order = [(block + i) % 3 for i in range(3)]
                both = [0, 0, 0]
                for i in order + order[::-1]:
                    both[i] += rate(arms[i])
                if both[0]:  # else nothing ran meanwhile
                    for i, values in enumerate(ratios, 1):
                        values.append(both[i] / both[0])
                known = len(ratios[0]) >= CC_BLOCKS and all(error_of_median(r) <= CC_ERROR for r in ratios)
                if time.monotonic() > deadline or (known and block % 3 == 2):
                    break
            rate(CC_OFF)
        time.sleep(2.5)  # the adapter goes, with its settings
        if not all(ratios):
            raise Failure(f"{' '.join(argv)} sends nothing")
        return tuple((statistics.median(r), error_of_median(r)) for r in ratios)

    def lossy_bw(self, settings):
        """MB/s while packets are lost, the adapters set as the lines of a file say."""
        time.sleep(2.5)  # the adapter goes two seconds after the last program, with its settings
        with tempfile.NamedTemporaryFile("w", suffix=".adp") as f:
            f.write(settings)
            f.flush()
            return self.perftest("ib_write_bw", "-s", "65536", "-m", "4096", "-n", "5000", "--report_gbits",
                                 run=("--adp", f.name, "--fault", LOSS))[3] * 1000 / 8

    def latency(self, program, *run):
        """us, the median (t_typical)."""
        return self.perftest(program, "-s", "2", "-n", "50000", run=run)[4]

    def raw(self, how, way, *run):
        """us, half a round trip of a program that writes its WQEs itself, or with "verbs" does not; @way: who rings."""
        program = os.path.join(self.build, "tests", "system", "verbs_raw")
        out = Program([self.verbena, "run", f"--mlx5dv={way}", *run, "--", program, how, "5000"]).finish()
        return number_in(out, r"median ([\d.]+) us")

    def waiting(self, what, how, *run, figure=r"median ([\d.]+)", more=()):
        """us, the median of round trips, or of requests, or another figure (bench/waiting.c)."""
        program = os.path.join(self.build, "bench", "waiting")
        out = Program([self.verbena, "run", *run, "--", program, self.name, what, how, *more]).finish()
        return number_in(out, figure)

    def clients(self, *run):
        """Requests per second of a server and 64 clients, all of which wait for events (bench/clients.c)."""
        program = os.path.join(self.build, "bench", "clients")
        return number_in(Program([self.verbena, "run", *run, "--", program, self.name]).finish(), r"([\d.]+) requests/s")

    def crowd(self, pairs, order, *run):
        """us, of so many pairs at once that send to and fro, for each the median."""
        program = os.path.join(self.build, "bench", "waiting")
        started = [Program([self.verbena, "run", *run, "--", program, self.name, "event", order, "2000"])
                   for _ in range(pairs)]
        return [number_in(p.finish(), r"median ([\d.]+)") for p in started]

    def system_calls(self, order, *run):
        """Of one message to and fro, both ends together, halved: what a longer run makes more. strace slows each down, and
        so adds some."""
        program = os.path.join(self.build, "bench", "waiting")
        total = []
        for rounds in (200, 1200):
            with tempfile.NamedTemporaryFile("r", suffix=".txt") as f:
                Program([self.verbena, "run", *run, "--", "strace", "-f", "-qq", "-c", "-o", f.name, program, self.name,
                         "event", order, str(rounds)]).finish()
                total.append(next(int(line.split()[-2 if len(line.split()) == 4 else -3])
                                  for line in f if line.rstrip().endswith("total")))
        return (total[1] - total[0]) / 2000

    def bare(self, name, *args):
        """The output of a program of bench/ without an adapter."""
        return Program([os.path.join(self.build, "bench", name), *args]).finish()

    def adapted(self, name, *args):
        """The output of a program of bench/ with the adapter."""
        return Program([self.verbena, "run", "--", os.path.join(self.build, "bench", name), self.name,
                        *args]).finish()

    def has(self, name):
        return os.access(os.path.join(self.build, "bench", name), os.X_OK)

    def simulator(self, workload):
        return Program([os.path.join(self.build, "bench", "simulator"), workload]).finish()

    def packet_hops(self, workload):
        """Per second of processor time, millions."""
        return number_in(self.simulator(workload), HOPS)

    def message_rate(self):
        """Messages of 8 bytes per second, millions."""
        return self.perftest("ib_write_bw", "-s", "8", "-m", "4096", "-n", "1000000")[4]


# As bench/waiting.c has them: what a program does around its waiting; what the target of a READ does, or how many us
# lie between its polls. They set constants of src/wait/tuned.def: see tuned.py.
EVENT_ORDERS = ("arm-post", "post-arm", "epoll")
WAIT_TARGETS = ("0", "1", "10", "100", "1000", "10000", "compute", "sleep", "gone")
LOOPING = WAIT_TARGETS[:7]
# Hosts of two pods: five switches lie between them.
FABRIC, FABRIC_ENDS = "fat-tree:k=4", ("H-0000", "H-0015")
LINKS = (("UDP", ()), ("shared memory", ("--link", "shm")))
P99, SLOWER, MBPS = r"p99 ([\d.]+)", r"its loop (-?[\d.]+)", r"([\d.]+) MB/s"
# Each end loses so much of what arrives there.
LOSS = "loss=0.2%:dir=rx"
# The adapter's answer to it: docs/adaptive-retransmission.md.
RECOVERY = (
    ("fixed timers", "preset=lossless\n"),
    ("as an adapter leaves the factory", "ack_dscp=0\n"),
    ("a profile of 64 us to 4 ms", "time_unit=1,time_base=4,range_num=1,timeout_init_low_bound=4,"
     "retx_total_timeout=18,timeout_init_range_size=1,timeout_range[0].range_low_bound=4,"
     "timeout_range[0].range_size=7,timeout_range[0].timeout_retry_num=2,timeout_range[0].dec_mode=1\n"),
    ("selective repeat", "selective_repeat_forced_en=1\n"),
)


def perftest_row(server, client, *options):
    """The numbers of the last line of the client's table."""
    port = free_port()
    options = ["-F", "-p", str(port), *options]
    out = pair(server + options, client + options + ["127.0.0.1"], port)
    rows = re.findall(r"^\s*\d[\d. \t]+$", out, re.MULTILINE)
    if not rows:
        raise Failure(f"{' '.join(client)}: no result\n{out}")
    return [float(x) for x in rows[-1].split()]


def error_of_median(values):
    """Half of the span that holds the median of all there could be in two of three cases, however they are
    distributed: of so many values it lies sqrt(n) / 2 places around the middle one."""
    values, n = sorted(values), len(values)
    half = math.sqrt(n) / 2
    low, high = math.floor((n - 1) / 2 - half), math.ceil((n - 1) / 2 + half)
    return (values[min(high, n - 1)] - values[max(low, 0)]) / 2


def number_in(text, pattern):
    m = re.search(pattern, text)
    if not m:
        raise Failure(f"no {pattern} in: {text}")
    return float(m.group(1))


def iperf3():
    """MB/s of one TCP stream."""
    port = free_port()
    out = pair(["iperf3", "-s", "-1", "-B", "127.0.0.1", "-p", str(port)],
               ["iperf3", "-c", "127.0.0.1", "-p", str(port), "-t", "1", "-J"], port)
    return json.loads(out)["end"]["sum_received"]["bits_per_second"] / 8e6


def slowest_of_mean(us):
    """Of the rates of those that take so long for each."""
    rates = [1 / x for x in us]
    return min(rates) / statistics.mean(rates)


def measurements(adapter):
    """(group, name, unit, function), in the order of a round."""
    return (
        ("a", "ib_write_bw -s 65536 -m 4096", "MB/s", adapter.write_bw),
        ("a", "iperf3, one TCP stream", "MB/s", iperf3),
        ("a", "bare UDP_SEGMENT with CRC (ceiling_udp)", "MB/s",
         lambda: number_in(adapter.bare("ceiling_udp", "1"), r"([\d.]+) MB/s")),
        ("b", "ib_write_lat -s 2", "us", lambda: adapter.latency("ib_write_lat")),
        ("b", "bare UDP ping-pong (pingpong_udp)", "us",
         lambda: number_in(adapter.bare("pingpong_udp"), r"typical ([\d.]+)")),
        ("b", "ib_send_lat -s 2", "us", lambda: adapter.latency("ib_send_lat")),
        ("c", "ib_write_bw -s 8", "M/s", adapter.message_rate),
        ("c", "one sendto() per message (sendto_rate)", "M/s",
         lambda: number_in(adapter.bare("sendto_rate"), r"([\d.]+) messages/s") / 1e6),
        ("e", "progress thread, idle", "% of a core",
         lambda: number_in(adapter.adapted("idle_thread", "3"), r"([\d.]+) %")),
        ("s", "ib_write_bw -s 65536 -m 4096, by shared memory (--link shm)", "MB/s",
         lambda: adapter.write_bw("--link", "shm")),
        ("s", "ib_write_lat -s 2, by shared memory", "us", lambda: adapter.latency("ib_write_lat", "--link", "shm")),
        ("n", f"ib_write_bw -s 65536 -m 4096, by LID on an InfiniBand fabric ({FABRIC})", "MB/s", adapter.fabric_bw),
        ("n", "ib_write_bw -s 65536 -m 4096, by shared memory, in turn with it", "MB/s",
         lambda: adapter.write_bw("--link", "shm")),
        ("w", "TCP to and fro, 8 bytes, both ends in epoll_wait() (waiting)", "us",
         lambda: number_in(adapter.bare("waiting", "-", "tcp"), r"median ([\d.]+)")),
        *(("w", f"SEND to and fro, both ends wait for events, {order}, by {name}", "us",
           lambda order=order, run=run: adapter.waiting("event", order, *run))
          for name, run in LINKS for order in EVENT_ORDERS),
        *(("w", f"... by eight CQs of one channel in turn, {order}, by {name}", "us",
           lambda order=order, run=run: adapter.waiting("event", order, *run, more=("5000", "8")))
          for name, run in LINKS for order in EVENT_ORDERS),
        *(("w", f"... eight pairs at once, arm-post, by {name}: the slowest one's rate, of the mean", "",
           lambda run=run: slowest_of_mean(adapter.crowd(8, "arm-post", *run))) for name, run in LINKS),
        *(("w", f"... sixteen pairs that poll, by {name}: the slowest one", "us",
           lambda run=run: max(adapter.crowd(16, "poll", *run))) for name, run in LINKS),
        ("w", "64 clients and a server, all in epoll_wait(), TCP (clients)", "requests/s",
         lambda: number_in(adapter.bare("clients", "tcp"), r"([\d.]+) requests/s")),
        *(("w", f"64 clients and a server, all wait for events, by {name}", "requests/s",
           lambda run=run: adapter.clients(*run)) for name, run in LINKS),
        *((("w", f"system calls a message, {order}, by {name}, counted by strace", "",
            lambda order=order, run=run: adapter.system_calls(order, *run))
           for name, run in LINKS for order in EVENT_ORDERS) if shutil.which("strace") else ()),
        *(("o", f"{what} of 8 bytes by {name}, {label}, the target: {target}", "us",
           lambda what=what, target=target, run=run, figure=figure: adapter.waiting(what.lower(), target, *run, figure=figure))
          for name, run in LINKS for what in ("READ", "WRITE", "ATOMIC")
          for label, figure in (("median", r"median ([\d.]+)"), ("p99", P99)) for target in WAIT_TARGETS),
        *(("o", f"READs of 64 KiB by {name}, the target: {target}", "MB/s",
           lambda target=target, run=run: adapter.waiting("stream", target, *run, figure=MBPS))
          for name, run in LINKS for target in WAIT_TARGETS),
        *(("o", f"the target's loop, of READs of 8 bytes by {name}: {target}", "% slower",
           lambda target=target, run=run: adapter.waiting("read", target, *run, figure=SLOWER))
          for name, run in LINKS for target in LOOPING),
        *(("h", f"ib_write_bw -s 65536 -m 4096, {LOSS.split('=')[1].split(':')[0]} lost, {name}", "MB/s",
           lambda settings=settings: adapter.lossy_bw(settings)) for name, settings in RECOVERY),
        ("i", "ib_write_bw -s 65536 -m 4096, no congestion control", "MB/s", adapter.write_bw),
        ("i", "ib_write_bw -s 65536 -m 4096, DCQCN (--cc paper)", "MB/s",
         lambda: adapter.write_bw("--cc", "paper")),
        ("i", "one process writes to one (verbs_incast), DCQCN", "MB/s", lambda: adapter.incast(1)),
        ("i", "eight processes write to one, DCQCN", "MB/s", lambda: adapter.incast(8)),
        ("g", "simulator, incast 16:1", "M packet-hops/s", lambda: adapter.packet_hops("incast")),
        ("g", "simulator, all to all on a fat tree of 128 hosts", "M packet-hops/s",
         lambda: adapter.packet_hops("fat-tree")),
        *((("g", "ns-3, incast 16:1 (ns3/incast.cc)", "M packet-hops/s",
            lambda: number_in(adapter.bare("ns3_incast"), HOPS)),) if adapter.has("ns3_incast") else ()),
    )


# (group, what, numerator, denominator, relation, limit). No denominator: the number itself.
TARGETS = (
    ("a", "ib_write_bw : iperf3", 0, 1, ">=", 1.2),
    ("a", "ib_write_bw : ceiling", 0, 2, ">=", 0.75),
    ("b", "ib_write_lat : ping-pong", 0, 1, "<=", 1.5),
    ("b", "ib_send_lat : ping-pong", 2, 1, "<=", 1.5),
    ("c", "ib_write_bw -s 8 : sendto", 0, 1, ">=", 2.5),
    ("n", "InfiniBand fabric : shared memory", 0, 1, ">=", 0.8),
    ("e", "progress thread, % of a core", 0, None, "<", 0.5),
    *(("w", f"events, {order}, by UDP : TCP", 1 + i, 0, "<=", 1.3) for i, order in enumerate(EVENT_ORDERS)),
    *(("w", f"events, {order}, by shared memory : TCP", 4 + i, 0, "<", 1) for i, order in enumerate(EVENT_ORDERS)),
    *(("w", f"events of eight CQs, {order}, by UDP : TCP", 7 + i, 0, "<=", 1.3) for i, order in enumerate(EVENT_ORDERS)),
    *(("w", f"events of eight CQs, {order}, by shared memory : TCP", 10 + i, 0, "<", 1)
      for i, order in enumerate(EVENT_ORDERS)),
    *(("w", f"eight pairs by {name}, slowest : mean", 13 + i, None, ">=", 0.5) for i, (name, _) in enumerate(LINKS)),
    *(("w", f"64 clients, by {name} : TCP", 18 + i, 17, ">=", 0.8) for i, (name, _) in enumerate(LINKS)),
    *(("w", f"system calls a message, {order}, by {name}", 20 + 3 * k + i, None, "<=", 4)
      for k, (name, _) in enumerate(LINKS) for i, order in enumerate(EVENT_ORDERS)),
    ("i", "eight senders : one", 3, 2, ">=", 0.9),
    ("g", "simulator, incast, M packet-hops/s", 0, None, ">=", 3),
    ("g", "simulator, fat tree, M packet-hops/s", 1, None, ">=", 3),
    ("g", "simulator : ns-3, incast", 0, 2, ">=", 5),
)
CC_COST_MIN = 0.97
# (what, workload of bench/simulator, MB at most): group g as well, measured once.
SIMULATOR_MEMORY = (
    ("MB for 10,000 simulated hosts, each with an RC QP that sends and one that receives", "hosts", 2000),
    ("MB for 101,306 simulated hosts on a fat tree, the same way", "large", 2000),
    ("MB for 1,001,112 RC QPs in one process, connected, used once and idle", "qps", 3000),
)
MEMORY_MAX = 4096
QPS = 20000


def memory(adapter):
    """(bytes per QP, of which queues, beyond them)"""
    out = adapter.adapted("qp_memory", str(QPS))
    return tuple(number_in(out, p) for p in (r"(\d+) bytes each", r"queues (\d+)", r"beyond them (\d+)"))


def holds(value, relation, limit):
    return {">=": value >= limit, "<=": value <= limit, "<": value < limit}[relation]


def number(x):
    return f"{x:.0f}" if x >= 100 else f"{x:.2f}" if x >= 1 else f"{x:.3f}"


def run_rounds(wanted, runs):
    results = [[] for _ in wanted]
    for i in range(runs):
        for group in dict.fromkeys(m[0] for m in wanted):
            for _ in range(TURNS.get(group, 1)):
                for (of, name, unit, function), values in zip(wanted, results):
                    if of == group:
                        values.append(function())
                        print(f"round {i + 1}/{runs}: {name}: {number(values[-1])} {unit}", flush=True)
    return results


def table_of_results(wanted, results):
    lines = ["| | Measured | Median | Lowest | Highest | Unit |", "|---|---|--:|--:|--:|---|"]
    for (group, name, unit, _), values in zip(wanted, results):
        lines.append(f"| {group} | {name} | {number(statistics.median(values))} | {number(min(values))} |"
                     f" {number(max(values))} | {unit} |")
    return lines


def compare_targets(wanted, results):
    """(what, value, limit): for each figure of one-sided operations, the worst kind of target by the best."""
    kinds = {}
    for (group, name, unit, _), values in zip(wanted, results):
        if group == "o" and unit != "% slower":
            kinds.setdefault(name.rsplit(", the target: ", 1)[0], []).append((unit, statistics.median(values)))
        elif group == "o":
            yield name + ", %", statistics.median(values), 5
    for what, of in kinds.items():
        values = [1 / v if unit == "MB/s" else v for unit, v in of]
        yield f"{what}: worst kind of target : best", max(values) / min(values), 1.5


def table_of_targets(groups, wanted, results, qp, cost, megabytes):
    lines = ["| | Compared | Result | Target | |", "|---|---|--:|--:|---|"]
    all_hold = True

    def row(group, what, value, relation, limit, error=""):
        nonlocal all_hold
        ok = holds(value, relation, limit)
        all_hold &= ok
        lines.append(f"| {group} | {what} | {number(value)}{error} | {relation} {limit} |"
                     f" {'yes' if ok else '**no**'} |")

    for group, what, over, under, relation, limit in TARGETS:
        if group not in groups:
            continue
        values = [v for m, v in zip(wanted, results) if m[0] == group]
        if max(over, under or 0) >= len(values):
            all_hold = False  # ns-3 is missing, which main() has said, or strace
            lines.append(f"| {group} | {what} | not measured | {relation} {limit} | **no** |")
            continue
        pairs = zip(values[over], values[under]) if under is not None else ((v, 1) for v in values[over])
        row(group, what, statistics.median(a / b for a, b in pairs), relation, limit)
    if "o" in groups:
        for what, value, limit in compare_targets(wanted, results):
            row("o", what, value, "<=", limit)
    if cost:
        on, off = cost
        row("i", "ib_write_bw, DCQCN without congestion : off", on[0], ">=", CC_COST_MIN, f" ± {on[1]:.3f}")
        lines.append(f"| i | ... and off : off, measured along with it | {off[0]:.3f} ± {off[1]:.3f} | | |")
    if qp:
        row("f", f"bytes of an RC QP beyond its 16-entry queues, {QPS} QPs in one process", qp[2], "<=",
            MEMORY_MAX)
    for (what, _, limit), value in zip(SIMULATOR_MEMORY, megabytes):
        row("g", what, value, "<", limit)
    return lines, all_hold


def replace_section(path, head, text):
    """Puts a section of a page where the old one is, or before that of rdma_rxe, which is the last."""
    with open(path, encoding="utf-8") as f:
        page = f.read()
    at = page.find(head + "\n")
    end = page.find("\n## ", at) if at >= 0 else -1
    rest = page[end + 1:] if end >= 0 else ""
    if at < 0:
        at = page.find(RXE + "\n")
        at, rest = (at, page[at:]) if at >= 0 else (len(page), "")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n\n".join(part.strip("\n") for part in (page[:at], text, rest) if part) + "\n")


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        names = [line.split(":", 1)[1].strip() for line in f if line.startswith("model name")]
    return f"{len(names)} x {names[0]}" if names else platform.machine()


def sysctl(name):
    with open("/proc/sys/" + name.replace(".", "/"), encoding="ascii") as f:
        return f.read().strip()


def revision():
    try:
        return subprocess.check_output(["git", "-C", ROOT, "describe", "--always", "--dirty"], text=True,
                                       stderr=subprocess.DEVNULL).strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


SIMULATOR_TEXT = """
The simulator's figures (g) are packets put on a cable, per second of processor time on one core, with the
digest of events on and payloads that are lengths only. ns-3's incast has the same shape (sixteen hosts, one
switch, one receiver, 1024 bytes of payload, cables of 100 Gb/s and 1 us) and the same count. What is not
equal: ns-3 forwards UDP by an IPv4 router, without a transport, without loss and with no more than sixteen packets
queued; Verbena's hops carry reliable connections with their acknowledgements (an acknowledgement is a packet,
too), windows, retransmission timers, a shared buffer and PFC. ns-3 is Debian's build, which has its log
macros compiled in and switched off. The digests of both runs are the same on every machine.
""".strip().splitlines()


def kept_section(path):
    """The part of the last document that bench/hooks.py and bench/rxe.sh wrote."""
    try:
        with open(path, encoding="utf-8") as f:
            text = f.read()
    except FileNotFoundError:
        return ""
    at = min((text.find(head + "\n") for head in (HOOKS, RXE) if head + "\n" in text), default=-1)
    return "\n" + text[at:] if at >= 0 else ""


def document(tables, runs, qp):
    memory_line = []
    if qp:
        memory_line = ["", f"An RC QP with two 16-entry queues of one SGE takes {qp[0]:.0f} bytes of resident "
                       f"memory, {qp[1]:.0f} of them for the queues: the growth of a process that brings "
                       f"{QPS} QPs to RTS, compared with queues of 32."]
    return "\n".join([
        "# Benchmarks", "",
        "Written by `scripts/bench`; run it again to compare with another machine. Everything runs on the",
        "loopback device, server and client on the same cores, release build, the programs in turn: figures are",
        f"medians of {runs} rounds, with {', '.join(f'{n} turns of {g}' for g, n in TURNS.items())} in each; comparisons"
        " are medians of the ratios of",
        "neighbouring rounds. The cost of DCQCN is measured on one pair that runs while its registers are switched on and off, the median",
        "of some hundred slices and its standard error. MB is 10^6 bytes; latencies are half round trips.", "",
        *tables[0], "", *tables[1], *memory_line, "", *SIMULATOR_TEXT, "",
        "The bare programs stand in `bench/`: the least that RoCEv2 over UDP sockets has to do, without a",
        "transport. `bench/rxe.sh` compares with the kernel's rdma_rxe, in one guest. `build/release/bench/guard` copies",
        "64 B, 4 KiB and 64 KiB with `memcpy()` alone and under the guard of registered memory, in turn: a guarded call",
        "takes 0.7 ns more, which is nothing beside 4 KiB, and a GSO batch of packets is one guarded call.", "",
        f"Machine: {cpu_model()}; kernel {platform.release()}; net.core.rmem_max "
        f"{sysctl('net.core.rmem_max')}; revision {revision()}; "
        f"{datetime.date.today().isoformat()}.", ""])


def main():
    p = argparse.ArgumentParser(prog="scripts/bench", description="Measures Verbena on loopback.")
    p.add_argument("--runs", type=int, default=5, help="rounds (5)")
    p.add_argument("--only", default="a,b,c,e,s,n,w,o,f,h,i,g", help="groups to measure")
    p.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="build directory")
    p.add_argument("--output", default=os.path.join(ROOT, "docs", "benchmarks.md"),
                   help="file for the tables; - for none")
    args = p.parse_args()
    groups = args.only.split(",")
    adapter = Adapter(args.build)
    wanted = [m for m in measurements(adapter) if m[0] in groups]
    if "g" in groups and not adapter.has("ns3_incast"):
        print(f"scripts/bench: {args.build}/bench/ns3_incast is not there, so nothing is compared with ns-3: "
              "install libns3-dev and g++, and run scripts/bench, which builds it", file=sys.stderr)
    results = run_rounds(wanted, args.runs)
    qp = memory(adapter) if "f" in groups else None
    cost = adapter.cc_cost() if "i" in groups else None
    megabytes = [number_in(adapter.simulator(w), r"(\d+) MB") for _, w, _ in SIMULATOR_MEMORY
                 if "g" in groups]
    targets, all_hold = table_of_targets(groups, wanted, results, qp, cost, megabytes)
    tables = (table_of_results(wanted, results), targets)
    print("\n".join(["", *tables[0], "", *tables[1]]))
    if args.output != "-":
        text = document(tables, args.runs, qp) + kept_section(args.output)
        with open(args.output, "w", encoding="utf-8") as f:
            f.write(text)
    return 0 if all_hold else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as e:
        print(f"scripts/bench: {e}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
