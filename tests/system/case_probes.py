# SPDX-License-Identifier: BSD-2-Clause
"""Static probes (USDT): the notes of the library, the table of them, and bpftrace attached to a running program."""
import importlib.util
import os
import re
import shutil
import subprocess

from cases import case
from hosts import Failure, Skip
import pair


def need(condition, text):
    if not condition:
        raise Failure(text)


def table_script(context):
    spec = importlib.util.spec_from_file_location("probes", os.path.join(context.source, "scripts", "probes.py"))
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def library(context):
    return os.path.realpath(os.path.join(context.build, "libverbena.so"))


def notes(context):
    """Name -> (its semaphore, its arguments), of the probes that the library has. Skips without them."""
    out = subprocess.run(["readelf", "-n", library(context)], capture_output=True, text=True, timeout=20, check=True).stdout
    found = re.findall(r"Provider: verbena\s+Name: (\w+)\s+Location: \w+, Base: \w+, Semaphore: (\w+)\s+Arguments: ([^\n]+)", out)
    if not found:
        raise Skip("the library was built without sys/sdt.h: systemtap-sdt-dev")
    return {name: (int(semaphore, 16), arguments.split()) for name, semaphore, arguments in found}


@case("probes.notes")
def _(context):
    """A probe for each row of probe.def, with six arguments of 64 bits; those that are often share a semaphore."""
    script, found = table_script(context), notes(context)
    named = script.probes()
    need(sorted(found) == sorted(named), f"{sorted(found)}\nnot\n{sorted(named)}")
    # A compiler may have made two copies of a probe; readelf shows the arguments of each in the same way.
    for name, (semaphore, arguments) in found.items():
        need(len(arguments) == 6 and all(a.startswith("8@") for a in arguments), f"{name}: {arguments}")
        need(semaphore, f"{name} has no semaphore")
    words = {how: {found[name][0] for name in named if named[name][0] == how} for how in ("often", "seldom")}
    need(all(len(w) == 1 for w in words.values()) and words["often"] != words["seldom"], words)


@case("probes.table")
def _(context):
    """docs/explain.md has the table of today."""
    p = subprocess.run([os.path.join(context.source, "scripts", "probes.py"), "--check"], capture_output=True, text=True,
                       timeout=20)
    need(p.returncode == 0, p.stdout + p.stderr)


PROGRAM = """
usdt:LIB:verbena:QP_STATE { printf("state %d %x %d %d %d\\n", pid, arg0, arg2, arg3, nsecs - arg1 < 1000000000); }
usdt:LIB:verbena:COMPLETION { @completions[arg3] = count(); }
usdt:LIB:verbena:PACKET_SENT { @sent[pid] = sum(arg4); }
BEGIN { printf("attached\\n"); }
"""


def attach(context, text):
    """bpftrace with the program @text, when it is attached. Skips where it may not."""
    if not shutil.which("bpftrace"):
        raise Skip("no bpftrace: install bpftrace")
    p = subprocess.Popen(["bpftrace", "-e", text.replace("LIB", library(context))], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, env=dict(os.environ, BPFTRACE_STRLEN="64"))
    seen = []
    for line in p.stdout:
        seen.append(line)
        if line.startswith("attached"):
            return p
    p.wait(timeout=20)
    raise Skip("bpftrace may not attach here: " + " ".join("".join(seen).split())[-200:])


@case("probes.bpftrace", 90)
def _(context):
    """A program's events by bpftrace; what is often is emitted while somebody is attached, and not after."""
    notes(context)
    p = attach(context, PROGRAM)
    try:
        pair.run(context.places["lo4"], "ibv_rc_pingpong", ["-n", "100", "-s", "64"])
    finally:
        p.terminate()
        out, _ = p.communicate(timeout=30)
    states = re.findall(r"state (\d+) (\w+) (\d) (\d) (\d)", out)
    need({(a, b) for _, _, a, b, _ in states} >= {("0", "1"), ("1", "2"), ("2", "3")}, out)
    need(all(recent == "1" for *_, recent in states), out)
    pids = {pid for pid, *_ in states}
    need(len(pids) == 2, out)
    # 100 messages of 64 bytes each way; of each a send and a receive completes.
    need(re.search(r"@completions\[0\]: 400\b", out), out)
    sent = dict(re.findall(r"@sent\[(\d+)\]: (\d+)", out))
    need(set(sent) == pids and all(int(n) >= 100 * 64 for n in sent.values()), out)
