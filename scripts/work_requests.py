#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the table of work requests in docs/core.md from src/core/wr_opcode.def.

  work_requests.py [--check]    --check: says whether the table is right, and changes nothing
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEF = os.path.join(ROOT, "src", "core", "wr_opcode.def")
PAGE = os.path.join(ROOT, "docs", "core.md")
BEGIN = "| work request | number | on | packets | is |\n"

# Trait -> what the table says of it.
TRAITS = {
    "LOCAL": "done at the requester, without a packet",
    "ANSWERED": "answered by a response of its own",
    "FILLS_SGES": "which fills the SGEs",
    "IN_PIECES": "in pieces where it is long",
    "ATOMIC": "and is an ATOMIC ACK",
    "TAKES_RECV": "takes a receive WQE",
    "INLINE": "may be inline",
    "INVALIDATES": "invalidates an R_Key",
    "NO_SGES": "has no SGEs",
    "OF_8_BYTES": "of 8 bytes",
    "FETCHED": "fetched when posted",
}


def rows():
    with open(DEF, encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    for match in re.finditer(r'WORK_REQUEST\(([^"]*)"([^"]*)"\)', text):
        name, number, _, on, traits, *packets = (c.strip() for c in match.group(1).rstrip().rstrip(",").split(","))
        yield name, number, on, traits, packets, match.group(2)


def table():
    lines = [BEGIN, "|---|---|---|---|---|\n"]
    for _, number, on, traits, packets, text in rows():
        kinds = list(dict.fromkeys(p for p in packets if p != "NONE"))
        told = ", ".join(TRAITS[t.strip()] for t in traits.split("|"))
        sent = ", ".join(f"`{k}`" for k in kinds) or "none"
        lines.append(f"| {text} | {number} | {on.replace(' |', ',')} | {sent} | {told} |\n")
    return "".join(lines)


def main():
    with open(PAGE, encoding="utf-8") as f:
        page = f.read()
    begin = page.find(BEGIN)
    if begin < 0:
        sys.exit(f"{PAGE}: there is no table that begins with: {BEGIN}")
    end = page.find("\n\n", begin) + 1
    if page[begin:end] == table():
        return 0
    if "--check" in sys.argv[1:]:
        sys.exit("docs/core.md: the table of work requests is not that of src/core/wr_opcode.def: run scripts/work_requests.py")
    with open(PAGE, "w", encoding="utf-8") as f:
        f.write(page[:begin] + table() + page[end:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
