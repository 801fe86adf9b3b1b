#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the table of static probes in docs/explain.md; --check: says whether it is there.

The probes are those of src/node/control/probe.def, their arguments the rows of src/trace/events.def.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BEGIN, END = "<!-- probe.def -->\n", "<!-- /probe.def -->\n"
# The unit of each argument, or what its number is of; of one probe's alone after its name.
UNITS = {
    "opcode": "BTH", "COMPLETION opcode": "`enum ibv_wc_opcode`", "FAILED opcode": "`enum ibv_wr_opcode`",
    "psn": "PSN", "from_psn": "PSN", "to_psn": "PSN", "msn": "MSN", "bytes": "bytes", "len_bytes": "bytes",
    "resend": "1: sent before", "verdict": "`src/wire/verdict.def`, from 0", "from": "`enum ibv_qp_state`",
    "to": "`enum ibv_qp_state`", "deadline_ns": "ns of CLOCK_MONOTONIC", "timeout_ns": "ns", "budget_ns": "ns",
    "waited_ns": "ns", "retries_left": "times", "timeouts": "times", "REWOUND why": "`enum vb_rewind_why`",
    "SLOW_RESTART why": "`enum vb_ramp_why`", "cause": "`enum vb_rewind_why`", "syndrome": "AETH", "wr_id": "wr_id", "status": "`enum ibv_wc_status`",
    "rate": "CC_RATE_MEM", "target": "TARGET_RATE_MEM", "alpha": "ALPHA_MEM", "window": "work requests",
    "move": "`enum vb_rto_move`", "from_exp": "4.096 us * 2^n", "to_exp": "4.096 us * 2^n", "range": "number",
    "window_pkts": "packets", "end_pkts": "packets", "missing": "gaps", "due": "gaps to send again",
    "vendor_err": "vendor_err", "check": "`src/core/denial.def`, from 1", "key": "R_Key, and length << 32",
    "va": "address", "by": "bytes",
}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def probes():
    """Name -> (how often, names of its arguments, when)."""
    events = {m[1]: (re.findall(r'"([^"]*)"', m[2])) for m in
              re.finditer(r"^EVENT\((\w+), (.*)\)$", read("src/trace/events.def"), re.M)}
    return {m[1]: (m[2], [a for a in events[m[1]][:4] if a], events[m[1]][4])
            for m in re.finditer(r"^PROBE\((\w+), (\w+)\)$", read("src/node/control/probe.def"), re.M)}


def table():
    lines = ["| probe | `arg2` to `arg5` | hit when |", "|---|---|---|"]
    for name, (how, arguments, when) in probes().items():
        units = [UNITS.get(f"{name} {a}") or UNITS[a] for a in arguments]
        shown = ", ".join(a if a == unit else f"{a} ({unit})" for a, unit in zip(arguments, units))
        lines.append(f"| `{name}` | {shown} | {when}{' (often)' if how == 'often' else ''} |")
    return "\n".join(lines) + "\n"


def main():
    path = os.path.join(ROOT, "docs", "explain.md")
    text = read(path)
    head, _, rest = text.partition(BEGIN)
    old, _, tail = rest.partition(END)
    if old == table():
        return 0
    if "--check" in sys.argv[1:]:
        print("docs/explain.md is not what probe.def and events.def say: run scripts/probes.py")
        return 1
    with open(path, "w", encoding="utf-8") as f:
        f.write(head + BEGIN + table() + END + tail)
    return 0


if __name__ == "__main__":
    sys.exit(main())
