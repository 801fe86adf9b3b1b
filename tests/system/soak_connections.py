#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes and closes connections by RDMA CM, a thousand at a time, and watches memory and descriptors.

  soak_connections.py [--build DIR] [--connections N] [--loss PERCENT]

One server of cmtime takes them all; with --loss so many of the packets of management datagrams are lost on
the way. Once every id has been used, after FILLED connections with both ends on one host, the memory of
neither the broker nor the server may grow by more than GROWTH_KB, nor either open a descriptor more; the
broker's table, shared memory of a fixed size, may grow by the events that wait. Closes with "N passed,
N failed".
"""
import argparse
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from case_cm import begin_server, need, run_client  # noqa: E402
from driver import SOURCE, Context  # noqa: E402
from hosts import Failure, Machine, Skip  # noqa: E402

BATCH = 1000
# The broker keeps a record for each of 65,536 ids, in memory that becomes resident as they are used in turn,
# and one for each event that waits: a page becomes resident when more wait than ever before.
FILLED = 36000
GROWTH_KB = 1024
EVENTS_KB = 12288


def state(pid):
    """Private and shared resident memory in kB, and open descriptors, of a process."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        field = dict(line.split(":", 1) for line in f)
    return int(field["RssAnon"].split()[0]), int(field["RssShmem"].split()[0]), len(os.listdir(f"/proc/{pid}/fd"))


def churn(context, connections, loss):
    place = context.places["lo4"]
    host = place.server.host
    if not host.holder:
        raise Skip(context.machine.why)
    port = host.pick_port()
    server = begin_server(place, "cmtime -b S -p P", port)
    try:
        line = f"cmtime -s S -c {BATCH} -p P"
        run_client(place, server, line, port)
        if loss:
            host.run([context.verbena, "fault", "set", "-d", host.device(context.verbena, "lo"),
                      f"loss={loss}%:op=UD_SEND_ONLY:dir=rx"])
        watched = {"broker": host.broker_pids()[0], "server": server.pid}
        first = FILLED // BATCH
        batches = max(connections // BATCH, first + 4)
        before = None
        for done in range(1, batches + 1):
            out = run_client(place, server, line, port, seconds=120)
            need("event:" not in out, out)
            if done in (first, (first + batches) // 2, batches):
                # Connections that wait out their timewait go.
                time.sleep(2)
                now = {name: state(pid) for name, pid in watched.items()}
                print(f"{done * BATCH} connections: " +
                      ", ".join(f"{name} {own} kB, shared {shared} kB, {fds} descriptors"
                                for name, (own, shared, fds) in now.items()), flush=True)
                for name in watched if before else ():
                    limits = (GROWTH_KB, EVENTS_KB, 0)
                    need(all(n - b <= limit for n, b, limit in zip(now[name], before[name], limits)),
                         f"the {name} grew: {before[name]} to {now[name]}")
                before = before or now
    finally:
        server.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(SOURCE, "build", "release"))
    parser.add_argument("--connections", type=int, default=200000)
    parser.add_argument("--loss", type=float, default=0)
    args = parser.parse_args()
    machine, failed = Machine(), 0
    try:
        churn(Context(args.build, machine), args.connections, args.loss)
    except (Failure, Skip) as e:
        print(f"FAIL {e}", flush=True)
        failed = 1
    finally:
        machine.end()
    print(f"{1 - failed} passed, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(main())
