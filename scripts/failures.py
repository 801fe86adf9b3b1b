#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the table of failures in docs/explain.md from docs/failures.tsv; --check: says whether it is there.

tests/system/case_failures.py makes each failure of the file and compares what is said of it.
"""
import os
import sys

DOCS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs")
BEGIN, END = "<!-- failures.tsv -->\n", "<!-- /failures.tsv -->\n"


def table():
    lines = ["| failure | shown by | it says |", "|---|---|---|"]
    with open(os.path.join(DOCS, "failures.tsv"), encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                _, failure, shown, words = line.rstrip("\n").split("\t")
                lines.append(f"| {failure} | {shown} | {words} |".replace("…", "..."))
    return "\n".join(lines) + "\n"


def main():
    path = os.path.join(DOCS, "explain.md")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    head, _, rest = text.partition(BEGIN)
    old, _, tail = rest.partition(END)
    if old == table():
        return 0
    if "--check" in sys.argv[1:]:
        print("docs/explain.md is not what docs/failures.tsv says: run scripts/failures.py")
        return 1
    with open(path, "w", encoding="utf-8") as f:
        f.write(head + BEGIN + table() + END + tail)
    return 0


sys.exit(main())
