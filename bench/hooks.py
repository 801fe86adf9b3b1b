#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures what static probes and the tracer cost, off and on, and writes a section of docs/benchmarks.md.

  bench/hooks.py --without BUILD [--build BUILD] [--runs N] [--output FILE]

BUILD of --without is one with -DVERBENA_USDT=OFF, the other one with probes. In each round the programs follow each
other, and each round begins with another of them, as a clock of a processor that falls would favour the first; a comparison is the median of those of one round. Instructions are those within ibv_post_send() of
bench/self_write.c, as valgrind counts them, and the same on every machine but for the compiler.
"""
import argparse
import datetime
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from programs import Program
from run import Adapter, HOOKS as HEAD, ROOT, cpu_model, number_in, replace_section, revision

WAYS = ("without probes", "probes, nobody attached", "bpftrace attached to all of them", "`verbena trace`")
PROGRAM = "usdt:LIB:verbena:* { @[probe] = count(); } BEGIN { printf(\"attached\\n\"); }"


class Attached:
    """bpftrace at every probe of the library; nothing where @build is None or it may not attach."""

    def __init__(self, build):
        self.process = None
        if not build or not shutil.which("bpftrace"):
            return
        library = os.path.realpath(os.path.join(build, "libverbena.so"))
        self.process = subprocess.Popen(["bpftrace", "-e", PROGRAM.replace("LIB", library)], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        if not any(line.startswith("attached") for line in self.process.stdout):
            self.process = None

    def end(self):
        if self.process:
            self.process.terminate()
            self.process.communicate()


def posts(build):
    """Instructions of a post."""
    with tempfile.NamedTemporaryFile() as f:
        def count(cnt):
            out = Program([os.path.join(build, "verbena"), "run", "--", "valgrind", "--tool=callgrind",
                           f"--callgrind-out-file={f.name}", "--toggle-collect=vb_ibv_post_send",
                           os.path.join(build, "bench", "self_write"), str(cnt)]).finish()
            return number_in(out, r"Collected : (\d+)")
        return (count(4000) - count(2000)) / 2000


def measure(adapter):
    """(us, million messages a second)"""
    return (adapter.perftest("ib_write_lat", "-s", "8", "-n", "20000")[4],
            adapter.perftest("ib_write_bw", "-s", "8", "-n", "400000")[4])


def rounds(args):
    """For each way what its rounds gave; a way that is not to be had gives nothing."""
    results = {way: [] for way in WAYS}
    for k in range(args.runs):
        for way in WAYS[k % len(WAYS):] + WAYS[:k % len(WAYS)]:
            attached = Attached(args.build if way == WAYS[2] else None)
            if way == WAYS[2] and not attached.process:
                continue
            adapter = Adapter(args.without if way == WAYS[0] else args.build)
            if way == WAYS[3]:
                os.environ["VERBENA_TRACE"] = "text,file=" + os.devnull # as `verbena trace` sets it
            try:
                results[way].append(measure(adapter))
            finally:
                os.environ.pop("VERBENA_TRACE", None)
                attached.end()
    return results


def section(args, results, instructions, load):
    base = results[WAYS[0]]
    lines = [HEAD, "", "Written by `bench/hooks.py`: a build without static probes (`-DVERBENA_USDT=OFF`) and one with them, in turn,",
             f"medians of {args.runs} rounds, and the median of the ratios within a round. Instructions of a post are counted by valgrind.",
             "The tracer shows every call, into `/dev/null`; where it does not run nothing of it is there.", "",
             "| | `ib_write_lat -s 8`, us | ratio | `ib_write_bw -s 8`, million/s | ratio | instructions of a post |",
             "|---|--:|--:|--:|--:|--:|"]
    for way, got in results.items():
        if not got:
            continue
        cells = []
        for k, digits in ((0, 2), (1, 3)):
            cells += [f"{statistics.median(r[k] for r in got):.{digits}f}",
                      f"{statistics.median(r[k] / b[k] for r, b in zip(got, base)):.3f}"]
        lines.append(f"| {way} | {' | '.join(cells)} | {instructions.get(way, '-')} |")
    lines += ["", "The first two rows differ by a no-op and a test in each step of the engine. Their times differ by what the machine does from",
              "round to round; the instructions say what it is, to about one in a hundred."]
    lines += ["", f"Machine: {cpu_model()}, load {load:.1f} before; revision {revision()}; {datetime.date.today().isoformat()}.", ""]
    return "\n".join(lines)


def main():
    p = argparse.ArgumentParser(prog="bench/hooks.py", description="What static probes and the tracer cost.")
    p.add_argument("--without", required=True, help="a build without probes")
    p.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="the build with them")
    p.add_argument("--runs", type=int, default=12, help="rounds (12)")
    p.add_argument("--output", default=os.path.join(ROOT, "docs", "benchmarks.md"), help="the document; - prints the section")
    args = p.parse_args()
    instructions = {}
    if shutil.which("valgrind"):
        for way, build in ((WAYS[0], args.without), (WAYS[1], args.build)):
            instructions[way] = f"{statistics.median(posts(build) for _ in range(5)):.0f}"
    load = os.getloadavg()[0]
    text = section(args, rounds(args), instructions, load)
    if args.output == "-":
        print(text)
    else:
        replace_section(args.output, HEAD, text)
    return 0


sys.exit(main())
