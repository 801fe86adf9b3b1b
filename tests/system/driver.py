#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs real, unmodified programs on the adapter: on one host and between two.

  driver.py [--build DIR] [--sanitizer address|thread] [--again] [--long] [--list] [-k PATTERN]... [-x] [-v]

The hosts are network namespaces that this makes itself, as root or in a user namespace. Where neither
is allowed the cases that need them are skipped. Where the build has a sanitizer, or with
--sanitizer, the programs get its runtime; what it reports fails the case. With --again a case that fails gets
one more try, and says so: real programs on a busy machine can starve for longer than the retries of
a QP last. A sanitizer's report gets none. --long adds the cases that wait for more than a minute; a
pattern of -k that is the name of one does so as well. Closes with "N passed, N failed, N skipped".
"""
import argparse
import os
import re
import signal
import subprocess
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from cases import CASES  # noqa: E402
from hosts import Failure, Machine, Skip  # noqa: E402
import case_attack  # noqa: E402,F401
import case_cm  # noqa: E402,F401
import case_cm_seen  # noqa: E402,F401
import case_command  # noqa: E402,F401
import case_congestion  # noqa: E402,F401
import case_containers  # noqa: E402,F401
import case_csr  # noqa: E402,F401
import case_documents  # noqa: E402,F401
import case_explain  # noqa: E402,F401
import case_failures  # noqa: E402,F401
import case_fault  # noqa: E402,F401
import case_import  # noqa: E402,F401
import case_files  # noqa: E402,F401
import case_metrics  # noqa: E402,F401
import case_multicast  # noqa: E402,F401
import case_netlink  # noqa: E402,F401
import case_perftest  # noqa: E402,F401
import case_page  # noqa: E402,F401
import case_ping  # noqa: E402,F401
import case_pingpong  # noqa: E402,F401
import case_probes  # noqa: E402,F401
import case_installed  # noqa: E402,F401
import case_registers  # noqa: E402,F401
import case_rsocket  # noqa: E402,F401
import case_robust  # noqa: E402,F401
import case_sim_ib  # noqa: E402,F401
import case_sim_queues  # noqa: E402,F401
import case_report  # noqa: E402,F401
import case_runtime  # noqa: E402,F401
import case_shm  # noqa: E402,F401
import case_soak  # noqa: E402,F401
import case_subnet  # noqa: E402,F401
import case_subnet_cm  # noqa: E402,F401
import case_subnet_router  # noqa: E402,F401
import case_subnet_admin  # noqa: E402,F401
import case_subnet_diags  # noqa: E402,F401
import case_subnet_live  # noqa: E402,F401
import case_subnet_multicast  # noqa: E402,F401
import case_subnet_routing  # noqa: E402,F401
import case_subnet_apm  # noqa: E402,F401
import case_subnet_verbs  # noqa: E402,F401
import case_sweep  # noqa: E402,F401
import case_top  # noqa: E402,F401
import case_trace  # noqa: E402,F401
import case_verbs  # noqa: E402,F401
import case_waiting  # noqa: E402,F401
import pair  # noqa: E402

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# How a program ends of which a sanitizer has something to say.
SANITIZER_STATUS = 66


class Context:
    """The environment of a case: where the adapter is built, the hosts, and the places between them."""

    def __init__(self, build, machine, sanitizer=None):
        self.source, self.build, self.machine = SOURCE, os.path.abspath(build), machine
        self.verbena = os.path.join(self.build, "verbena")
        self.sanitizer = sanitizer_prefix(sanitizer)
        self.places = pair.places(self)

    @staticmethod
    def wait(condition, seconds, otherwise):
        """Waits for the condition; raises Failure with the text, or what the function returns."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise Failure(otherwise() if callable(otherwise) else otherwise)
            time.sleep(0.02)


def sanitizer_of(build):
    """The sanitizer that the build was configured with, or None."""
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as f:
        made = re.search(r"^VERBENA_SANITIZE:\w+=(\w+)", f.read(), re.M)
    return made[1] if made and made[1] in ("address", "thread") else None


def sanitizer_prefix(name):
    """The start of a command that gives programs without a sanitizer the runtime of one."""
    if not name:
        return []
    library = {"address": "libasan.so", "thread": "libtsan.so"}[name]
    path = subprocess.run(["gcc", f"-print-file-name={library}"], capture_output=True, text=True,
                          check=True).stdout.strip()
    # Leaks are the programs' own; the preloaded library comes before the runtime, which is harmless.
    return ["env", f"LD_PRELOAD={os.path.realpath(path)}",
            f"TSAN_OPTIONS=exitcode={SANITIZER_STATUS}:suppressions={SOURCE}/tests/system/tsan.supp",
            f"ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0:exitcode={SANITIZER_STATUS}"]


class Overrun(Exception):
    pass


def run_case(case, context):
    """(verdict, text)."""
    def overrun(*_):
        raise Overrun
    signal.signal(signal.SIGALRM, overrun)
    signal.alarm(case.seconds)
    try:
        case.run(context)
        return "ok", ""
    except Skip as e:
        return "skip", str(e)
    except Failure as e:
        return "FAIL", str(e)
    except Overrun:
        stories = [p.story() for h in (context.machine.a, context.machine.b) if h for p in h.programs]
        return "FAIL", f"not done in {case.seconds} s\n" + "\n".join(stories)
    except Exception:  # a mistake of one case costs no other its run
        return "FAIL", traceback.format_exc()
    finally:
        signal.alarm(0)
        for host in (context.machine.a, context.machine.b):
            if host:
                host.end_programs()


def select(patterns, with_long):
    chosen = [c for c in CASES if (not patterns or any(re.search(p, c.name) for p in patterns))
              and (not c.is_long or with_long or c.name in patterns)]
    if not chosen:
        sys.exit(f"driver.py: no case matches {' '.join(patterns)}; see --list")
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(SOURCE, "build", "release"))
    parser.add_argument("--sanitizer", choices=("address", "thread"))
    parser.add_argument("--again", action="store_true", help="one more try for a case that fails")
    parser.add_argument("--long", action="store_true", help="the long cases as well")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("-k", metavar="PATTERN", action="append", default=[],
                        help="only cases whose name matches one of the patterns")
    parser.add_argument("-x", action="store_true", help="stop at the first failure")
    parser.add_argument("-v", action="store_true", help="print every case, not only the bad ones")
    args = parser.parse_args()
    chosen = select(args.k, args.long)
    if args.list:
        print("\n".join(c.name for c in chosen))
        return 0
    if not os.access(os.path.join(args.build, "verbena"), os.X_OK):
        sys.exit(f"driver.py: {args.build}/verbena is not there: cmake --build --preset release")
    count = {"ok": 0, "FAIL": 0, "skip": 0}
    failed = []
    machine = Machine()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    # A script that starts this in the background has the signal ignored, and so would all programs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        context = Context(args.build, machine, args.sanitizer or sanitizer_of(args.build))
        for case in chosen:
            start = time.monotonic()
            verdict, text = run_case(case, context)
            if verdict == "FAIL" and args.again and f"exit status {SANITIZER_STATUS}" not in text:
                first = text
                verdict, text = run_case(case, context)
                text = f"{text}\nthe first try failed:\n{first}"
            count[verdict] += 1
            if verdict == "FAIL":
                failed.append(case.name)
            if args.v or text:
                print(f"{verdict:4} {case.name} ({time.monotonic() - start:.1f} s)", flush=True)
                print("".join(f"    {line}\n" for line in text.splitlines()[:120]), end="", flush=True)
            if verdict == "FAIL" and args.x:
                break
    finally:
        machine.end()
    if failed:
        print(f"failed: {' '.join(failed)}")
    print(f"{count['ok']} passed, {count['FAIL']} failed, {count['skip']} skipped")
    return 1 if count["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
