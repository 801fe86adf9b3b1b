#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the table of docs/trust.md: figures of the simulator next to figures that come from elsewhere.

  scripts/trust.py [--build DIR] [--check]

The tests that compare such figures include tests/unit/claim.h. Without --check this runs them in the build, build/release
unless told otherwise, and writes what they say into the page. With --check it runs nothing: it takes what they said when
ctest ran them, and fails when the page has other figures. They are the same on every machine.
"""
import argparse
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "trust.md")
UNIT = os.path.join(ROOT, "tests", "unit")
BEGIN, END = "<!-- figures: scripts/trust.py -->\n", "<!-- end of figures -->\n"


def programs():
    """The tests that compare figures, by name."""
    names = []
    for file in sorted(os.listdir(UNIT)):
        if file.startswith("test_") and file.endswith(".c"):
            with open(os.path.join(UNIT, file), encoding="utf-8") as f:
                if '#include "claim.h"' in f.read():
                    names.append(file[:-2])
    return names


def run_program(build, name):
    """The lines that a test says when it runs."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name)
        done = subprocess.run([os.path.join(build, "tests", "unit", name)], env={**os.environ, "VERBENA_CLAIMS": path},
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            sys.exit(f"trust.py: {name} failed:\n{done.stderr}")
        with open(path, encoding="utf-8") as f:
            return f.read().splitlines()


def noted_lines(build, name):
    """The lines that a test said when ctest ran it."""
    path = os.path.join(build, "claims", name)
    try:
        with open(path, encoding="utf-8") as f:
            return f.read().splitlines()
    except FileNotFoundError:
        sys.exit(f"trust.py: {path} is not there: ctest -R {name} makes it")


def table(name, lines):
    out = [f"\n`build/release/tests/unit/{name}`:\n\n", "| figure | where it comes from | there | here | error, % | allowed, % |\n",
           "|---|---|---|---|---|---|\n"]
    for line in lines:
        text, reference, there, here, unit, error, within = line.split("\t")
        out.append(f"| {text} | {reference} | {float(there):,g} {unit} | {float(here):,g} | {error} | {within} |\n")
    return "".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    lines = noted_lines if args.check else run_program
    figures = "".join(table(name, lines(args.build, name)) for name in programs())
    with open(PAGE, encoding="utf-8") as f:
        text = f.read()
    head, _, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not end:
        sys.exit(f"trust.py: {PAGE} has no place for figures")
    new = head + BEGIN + figures + "\n" + END + tail
    if args.check and new != text:
        sys.exit("docs/trust.md has other figures than the tests: scripts/trust.py writes it")
    if not args.check:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
