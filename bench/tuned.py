#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Repeats the measurements that set the constants of waiting (src/wait/tuned.def).

  bench/tuned.py [--runs N] [--build BUILD] NAME...
  bench/tuned.py [--runs N] [--build BUILD] --all
  bench/tuned.py --list

Builds Verbena with half and with twice the value of NAME, in a folder for the time of the run, and measures these and BUILD in turn,
each by the measurement that the table names. Prints the median of each, and the median of the ratios to BUILD within a round with the
error of that median. --all does so for one constant after the other, which takes hours, and prints at the end which of them matter:
half or twice the value makes a difference of more than twice the error and two parts in a hundred. A constant that makes no
difference has no reason to be one.
"""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from programs import Failure
from run import P99, Adapter, ROOT, error_of_median, number_in

TABLE = os.path.join(ROOT, "src", "wait", "tuned.def")
ENTRY = re.compile(r'^VB_TUNED\((\w+), (.+), "([\w.]+)"\)$', re.MULTILINE)
SMALL = 0.02  # a difference that is of no account
FACTORS = (("half", "({}) / 2"), ("twice", "({}) * 2"))


def entries():
    """{name: (value, measurement)}"""
    with open(TABLE, encoding="utf-8") as f:
        return {name: (value, what) for name, value, what in ENTRY.findall(f.read())}


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
    "read.compute": ("us, p99", False, lambda a: a.waiting("read", "compute", figure=P99)),
    "raw": ("us", False, lambda a: a.raw("raw", "trap")),
    "read.gone": ("us", False, lambda a: a.waiting("read", "gone")),
    # The slowest of eight pairs at once, which are more programs than processors.
    "oversubscribed": ("us", False, lambda a: max(a.crowd(8, "poll"))),
    "idle": ("% of a core", False, lambda a: number_in(a.adapted("idle_thread", "3"), r"([\d.]+) %")),
}


def copy_source(folder, programs):
    """A copy of the source and its build folder, for build_with(). Those that measure are in @programs."""
    source, build = os.path.join(folder, "source"), os.path.join(folder, "build")
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".git", "build"))
    subprocess.run(["cmake", "-G", "Ninja", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=RelWithDebInfo"], check=True,
                   stdout=subprocess.DEVNULL)
    os.symlink(os.path.join(os.path.abspath(programs), "bench"), os.path.join(build, "bench"))
    return source, build


def build_with(name, value, form, source, build):
    """Builds a copy in which @name, and nothing else, is what @form makes of @value."""
    with open(TABLE, encoding="utf-8") as f:
        text = f.read().replace(f"VB_TUNED({name}, {value},", f"VB_TUNED({name}, {form.format(value)},")
    with open(os.path.join(source, "src", "wait", "tuned.def"), "w", encoding="utf-8") as f:
        f.write(text)
    subprocess.run(["cmake", "--build", build], check=True, stdout=subprocess.DEVNULL)


def compare(name, value, what, copies, args):
    """Prints, and returns how far the larger difference is beyond what is noise or of no account; 0: it is not."""
    unit, more, measure = MEASUREMENTS[what]
    builds, most = {"as it is": args.build}, 0
    for (label, form), (source, build) in zip(FACTORS, copies):
        build_with(name, value, form, source, build)
        builds[label] = build
    results = {label: [] for label in builds}
    for k in range(args.runs):
        order = list(builds)
        for label in order[k % len(order):] + order[:k % len(order)]:
            results[label].append(measure(Adapter(builds[label])))
    print(f"{name} = {value}: {what}, {unit}, {'more' if more else 'less'} is better")
    for label, values in results.items():
        ratios = [v / base for v, base in zip(values, results["as it is"]) if base]
        ratio, error = statistics.median(ratios), ""
        if label != "as it is":
            error = f" ± {error_of_median(ratios):.3f}"
            most = max(most, abs(ratio - 1) - max(2 * error_of_median(ratios), SMALL))
        print(f"  {label:9} {statistics.median(values):9.3f}  {ratio:.3f}{error}", flush=True)
    return most


def compare_all(names, table, args):
    """Returns the names of those that matter, and of those that could not be measured with a reason."""
    matter, failed = [], []
    with tempfile.TemporaryDirectory() as top:
        copies = [copy_source(os.path.join(top, label), args.build) for label, _ in FACTORS]
        for name in names:
            try:
                if compare(name, *table[name], copies, args) > 0:
                    matter.append(name)
            except (Failure, subprocess.SubprocessError) as e:
                failed.append(name)
                print(f"{name}: not measured: {e}", flush=True)
    return matter, failed


def main():
    p = argparse.ArgumentParser(prog="bench/tuned.py", description=__doc__.splitlines()[0])
    p.add_argument("name", nargs="*", help="constants of src/wait/tuned.def")
    p.add_argument("--all", action="store_true", help="all of them, and which matter")
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
    elif not args.name and not args.all:
        p.error("a name is missing, or --all; --list names them")
    else:
        names = list(table) if args.all else args.name
        matter, failed = compare_all(names, table, args)
        rest = [name for name in names if name not in matter + failed]
        print(f"matter: {' '.join(matter) or 'none'}\nno difference: {' '.join(rest) or 'none'}"
              f"\nnot measured: {' '.join(failed) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
