#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The cost of the ways by which packets of several users come to their processes.

  bench/users.py [--rounds N] [--build BUILD]                for root

Three network namespaces: in one a user alone has the port, in the others are the shared broker (`verbena broker --shared`), without
and with --direct. In every round each figure is measured in all three, in turn: latency, bandwidth and rate of a pair of one user;
and two pairs at once, which are of two users where that is possible. Prints medians over the rounds, and the median of the ratios
to the usual way within a round.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading

from programs import SECONDS
from run import Adapter, ROOT, perftest_row

OTHER = ["setpriv", "--reuid=65534", "--clear-groups", "env", "-u", "XDG_RUNTIME_DIR"]
WAYS = {"usual": None, "shared": [], "direct": ["--direct"]}


class Place:
    """A network namespace with one of the ways: this process is in it."""

    def __init__(self, way, build):
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        for folder in "/run", "/dev/shm":
            subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", folder], check=True)
        os.environ["XDG_RUNTIME_DIR"] = tempfile.mkdtemp(dir="/dev/shm")
        self.users = [[]] if WAYS[way] is None else [[], OTHER]
        self.broker = None
        if WAYS[way] is not None:
            subprocess.run(["chmod", "755", "/run"], check=True)
            self.broker = subprocess.Popen([os.path.join(build, "verbena"), "broker", "--shared", *WAYS[way]],
                                           stdout=subprocess.PIPE, text=True)
            if self.broker.stdout.readline() != "ready\n":
                sys.exit("users.py: the shared broker does not start")
        self.adapter = Adapter(build)

    def row(self, user, program, *options):
        argv = [*user, self.adapter.verbena, "run", "--", program, "-d", self.adapter.name, "-x", str(self.adapter.gid)]
        return perftest_row(argv, argv, *options)

    def latency(self):
        return self.row([], "ib_send_lat", "-s", "2", "-n", "10000")[4]

    def bandwidth(self, user=()):
        return self.row(user, "ib_write_bw", "-s", "65536", "-m", "4096", "-n", "20000")[3]

    def rate(self):
        return self.row([], "ib_write_bw", "-s", "8", "-n", "200000")[4]

    def two(self):
        """The sum of two pairs that run at once."""
        results = []
        pairs = [threading.Thread(target=lambda u=u: results.append(self.bandwidth(u))) for u in (self.users[0], self.users[-1])]
        for t in pairs:
            t.start()
        for t in pairs:
            t.join()
        return sum(results) if len(results) == 2 else float("nan")

    def serve(self):
        """Measures what a line names, until there is no other."""
        for line in sys.stdin:
            print(getattr(self, line.strip())(), flush=True)
        if self.broker:
            self.broker.terminate()
            self.broker.wait(SECONDS)


FIGURES = {"latency": "ib_send_lat -s 2, us", "bandwidth": "ib_write_bw -s 65536 -m 4096, MB/s", "rate": "ib_write_bw -s 8, M/s",
           "two": "two pairs of that at once, MB/s in all"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="rounds (7)")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="build folder (build/release)")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("users.py: only root can be two users")
    if args.way:
        Place(args.way, args.build).serve()
        return 0
    places = {way: subprocess.Popen(["unshare", "--net", "--mount", sys.executable, os.path.abspath(__file__), "--way", way,
                                     "--build", os.path.abspath(args.build)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    text=True) for way in WAYS}
    results = {(figure, way): [] for figure in FIGURES for way in WAYS}
    for _ in range(args.rounds):
        for figure, way in results:
            places[way].stdin.write(figure + "\n")
            places[way].stdin.flush()
            results[figure, way].append(float(places[way].stdout.readline()))
    for p in places.values():
        p.stdin.close()
        p.wait(SECONDS)
    print(f"medians of {args.rounds} rounds, and of the ratios to the usual way within a round")
    for figure, text in FIGURES.items():
        print(text)
        for way in WAYS:
            values, base = results[figure, way], results[figure, "usual"]
            print(f"  {way:7} {statistics.median(values):9.2f} {statistics.median(v / b for v, b in zip(values, base)):7.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
