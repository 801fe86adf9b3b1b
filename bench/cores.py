#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""One simulation on several cores beside as many independent ones at once.

In turn, round by round: bench/simulator with PARTS parts, and PARTS processes of it with one part
each, all at the same time. Rates are packet-hops per second by the clock, of all processes together;
the ratio is that of a round, and what is printed are medians. The digests have to be equal.

    bench/cores.py [--build DIR] [--parts N] [--rounds N] [--workload NAME]
"""
import argparse
import os
import re
import statistics
import subprocess
import sys


def run_at_once(program, arguments, cnt):
    """Rate of all together, in million packet-hops per second, and the digests."""
    started = [subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, text=True) for _ in range(cnt)]
    texts = [p.communicate()[0] for p in started]
    if any(p.returncode for p in started):
        sys.exit(f"{program} {' '.join(arguments)} failed")
    rates = [float(re.search(r"by the clock: ([\d.]+)", t).group(1)) for t in texts]
    return sum(rates), {re.search(r"digest (\w+)", t).group(1) for t in texts}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--parts", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--workload", default="fat-tree")
    args = parser.parse_args()
    program = os.path.join(args.build, "bench", "simulator")
    together, apart = [], []
    for _ in range(args.rounds):
        rate, digest = run_at_once(program, [args.workload, str(args.parts)], 1)
        rates, digests = run_at_once(program, [args.workload], args.parts)
        if digest != digests:
            sys.exit(f"digests differ: {digest} and {digests}")
        together.append(rate)
        apart.append(rates)
    ratio = [a / b for a, b in zip(together, apart)]
    print(f"{args.workload}, {args.parts} parts of one run: {statistics.median(together):.2f} million packet-hops/s; "
          f"{args.parts} runs at once: {statistics.median(apart):.2f}; ratio {statistics.median(ratio):.3f} "
          f"({min(ratio):.3f} to {max(ratio):.3f}), {args.rounds} rounds")


if __name__ == "__main__":
    main()
