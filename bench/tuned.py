#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Repeats the measurement that set a constant of waiting (src/wait/tuned.def).

  bench/tuned.py [--runs N] [--build BUILD] NAME...
  bench/tuned.py --list

Builds Verbena with half and with twice the value of NAME, in a folder for the time of the run, and measures these and BUILD in turn.
Prints the median of each, and the median of the ratios to BUILD within a round with the error of that median. A constant
that makes no difference has no reason to be one.
"""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from run import Adapter, Program, ROOT, error_of_median, number_in

TABLE = os.path.join(ROOT, "src", "wait", "tuned.def")
ENTRY = re.compile(r'^VB_TUNED\((\w+), (.+), "([\w.]+)"\)$', re.MULTILINE)
FACTORS = (("half", "({}) / 2"), ("twice", "({}) * 2"))


def entries():
    """{name: (value, measurement)}"""
    with open(TABLE, encoding="utf-8") as f:
        return {name: (value, what) for name, value, what in ENTRY.findall(f.read())}


def crowd(a):
    """us: the slowest median latency of eight pairs at once, which are more programs than processors."""
    program = os.path.join(a.build, "bench", "waiting")
    pairs = [Program([a.verbena, "run", "--", program, a.name, "event", "poll", "2000"]) for _ in range(8)]
    return max(number_in(p.finish(), r"median ([\d.]+)") for p in pairs)


# name: (unit, is more better, function of the adapter). Of tuned.def, the third column.
MEASUREMENTS = {
    "lat": ("us", False, lambda a: a.latency("ib_write_lat")),
    "bw": ("MB/s", True, lambda a: a.write_bw()),
    "stream": ("MB/s", True, lambda a: a.write_bw()),
    "cc": ("MB/s", True, lambda a: a.write_bw("--cc", "paper")),
    "rate": ("M/s", True, lambda a: a.message_rate()),
    "rate.ud": ("M/s", True, lambda a: a.perftest("ib_send_bw", "-c", "UD", "-s", "8", "-n", "300000")[4]),
    "event": ("us", False, lambda a: a.waiting("event", "arm-post")),
    "read.10": ("us", False, lambda a: a.waiting("read", "10")),
    "read.100": ("us", False, lambda a: a.waiting("read", "100")),
    "read.compute": ("us, p99", False, lambda a: a.waiting("read", "compute", figure="p99")),
    "read.gone": ("us", False, lambda a: a.waiting("read", "gone")),
    "oversubscribed": ("us", False, crowd),
    "idle": ("% of a core", False, lambda a: number_in(a.adapted("idle_thread", "3"), r"([\d.]+) %")),
}


def build_with(name, value, form, folder, programs):
    """The build folder of a copy of the source in which @name is what @form makes of @value. What measures stays that
    of the folder @programs."""
    source, build = os.path.join(folder, "source"), os.path.join(folder, "build")
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".git", "build"))
    path = os.path.join(source, "src", "wait", "tuned.def")
    with open(path, encoding="utf-8") as f:
        text = f.read().replace(f"VB_TUNED({name}, {value},", f"VB_TUNED({name}, {form.format(value)},")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    run = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run(["cmake", "-G", "Ninja", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=RelWithDebInfo"], **run)
    subprocess.run(["cmake", "--build", build], **run)
    os.symlink(os.path.join(os.path.abspath(programs), "bench"), os.path.join(build, "bench"))
    return build


def compare(name, value, what, args):
    unit, more, measure = MEASUREMENTS[what]
    with tempfile.TemporaryDirectory() as top:
        builds = {"as it is": args.build}
        for label, form in FACTORS:
            builds[label] = build_with(name, value, form, os.path.join(top, label), args.build)
        results = {label: [] for label in builds}
        for k in range(args.runs):
            order = list(builds)
            for label in order[k % len(order):] + order[:k % len(order)]:
                results[label].append(measure(Adapter(builds[label])))
    print(f"{name} = {value}: {what}, {unit}, {'more' if more else 'less'} is better")
    for label, values in results.items():
        ratios = [v / base for v, base in zip(values, results["as it is"]) if base]
        error = f" ± {error_of_median(ratios):.3f}" if label != "as it is" else ""
        print(f"  {label:9} {statistics.median(values):9.3f}  {statistics.median(ratios):.3f}{error}")


def main():
    p = argparse.ArgumentParser(prog="bench/tuned.py", description=__doc__.splitlines()[0])
    p.add_argument("name", nargs="*", help="constants of src/wait/tuned.def")
    p.add_argument("--list", action="store_true", help="names, values and measurements, and no run")
    p.add_argument("--runs", type=int, default=7, help="rounds (7)")
    p.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="the build with the values as they are")
    args = p.parse_args()
    table = entries()
    for name in args.name:
        if name not in table:
            p.error(f"{name} is no constant of {TABLE}; --list names them")
    if args.list:
        for name, (value, what) in table.items():
            print(f"{name} = {value}: {what}")
    elif not args.name:
        p.error("a name is missing; --list names them")
    for name in args.name:
        compare(name, *table[name], args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
