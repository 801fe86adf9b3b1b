#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs pairs through faults, frozen and thawed at random, for as long as it is told to.

  soak.py [--build DIR] [--minutes N] [--seed N]

Each minute or so all pairs begin again, with settings drawn from the seed. Prints the seed and the totals of each
round, and closes with "N passed, N failed". See case_soak.py.
"""
import argparse
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import case_soak  # noqa: E402
from driver import SOURCE, Context  # noqa: E402
from hosts import Failure, Machine, Skip  # noqa: E402

ROUND_S = 60


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(SOURCE, "build", "release"))
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    args = parser.parse_args()
    machine, passed, failed = Machine(), 0, 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print(f"seed {args.seed}", flush=True)
    try:
        context = Context(args.build, machine)
        end = time.monotonic() + args.minutes * 60
        while True:
            left = end - time.monotonic()
            if left < 5 and passed + failed:
                break
            try:
                print(case_soak.soak(context, min(ROUND_S, max(left, 5)), args.seed + passed + failed), flush=True)
                passed += 1
            except Failure as e:
                print(f"FAIL {e}", flush=True)
                failed += 1
    except Skip as e:
        print(f"cannot run here: {e}", flush=True)
        failed += 1
    finally:
        machine.end()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
