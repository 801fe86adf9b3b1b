#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Latency of RDMA WRITEs of 8 bytes that a program writes into its queue by itself, beside ib_write_lat's.

  bench/raw.py [--rounds N] [--build BUILD]

In every round, by UDP and by shared memory, the following are measured one after the other: ib_write_lat; a program that writes WQEs
and doorbells itself and looks at its memory alone (tests/system/verbs_raw.c), with doorbells that trap and with a thread that spins
for them; and the same program by ibv_post_send() and ibv_poll_cq(). Prints the median of half a round trip over the rounds, and the
median of the ratios to ib_write_lat within a round. Then how much processor time a process takes that has such queues and is idle.
"""
import argparse
import os
import statistics
import subprocess
import sys
import time

from run import Adapter, ROOT

IDLE_SECONDS = 5


def idle(adapter, way):
    """Processor time of two processes with queues in memory that nobody uses, in parts of one processor."""
    program = os.path.join(adapter.build, "tests", "system", "verbs_raw")
    with subprocess.Popen([adapter.verbena, "run", f"--mlx5dv={way}", "--", program, "hold"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as p:
        p.stdout.readline()
        time.sleep(1)
        with open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="ascii") as f:
            pids = [p.pid, *map(int, f.read().split())]
        before = sum(map(ticks, pids))
        time.sleep(IDLE_SECONDS)
        used = sum(map(ticks, pids)) - before
        p.communicate()
    return used / os.sysconf("SC_CLK_TCK") / IDLE_SECONDS


def ticks(pid):
    """The processor time of all threads of @pid so far. proc(5)"""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="rounds (9)")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="build folder (build/release)")
    args = parser.parse_args()
    adapter = Adapter(args.build)
    for link in ((), ("--link", "shm")):
        figures = {"ib_write_lat": lambda: adapter.perftest("ib_write_lat", "-s", "8", "-n", "5000", run=link)[4],
                   "raw, trap": lambda: adapter.raw("raw", "trap", *link),
                   "raw, spin": lambda: adapter.raw("raw", "spin", *link),
                   "verbs": lambda: adapter.raw("verbs", "trap", *link)}
        results = {name: [] for name in figures}
        for _ in range(args.rounds):
            for name, measure in figures.items():
                results[name].append(measure())
        print(f"half a round trip, us, {' '.join(link) or 'UDP'}; median of {args.rounds}, and ratio to ib_write_lat")
        for name, values in results.items():
            ratio = statistics.median(v / base for v, base in zip(values, results["ib_write_lat"]))
            print(f"  {name:13} {statistics.median(values):9.2f}  {ratio:7.2f}", flush=True)
    for way in ("trap", "spin"):
        print(f"idle, {way}: {100 * idle(adapter, way):.2f} % of a processor, two processes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
