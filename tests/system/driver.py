#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs real, unmodified programs on the adapter: on one host and between two.

  driver.py [--build DIR] [--sanitizer address|thread] [-j JOBS] [--again] [--long] [--list] [-k PATTERN]...
            [-x] [-v]

The hosts are network namespaces that this makes itself, as root or in a user namespace. Where neither
is allowed the cases that need them are skipped. Where the build has a sanitizer, or with
--sanitizer, the programs get its runtime; what it reports fails the case. With --again a case that fails gets
one more try, and says so: real programs on a busy machine can starve for longer than the retries of
a QP last. A sanitizer's report gets none. With -j several cases run at once, each on hosts of its own: they
wait more than they compute. Those that look at what else the machine does run alone, after the others. --long adds the cases that wait for more than a minute; a
pattern of -k that is the name of one does so as well. Closes with "N passed, N failed, N skipped".
"""
import argparse
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
import traceback
from queue import Empty

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from cases import CASES  # noqa: E402
from hosts import Failure, Machine, Skip  # noqa: E402
import case_attack  # noqa: E402,F401
import case_cm  # noqa: E402,F401
import case_cm_seen  # noqa: E402,F401
import case_command  # noqa: E402,F401
import case_congestion  # noqa: E402,F401
import case_containers  # noqa: E402,F401
import case_copy  # noqa: E402,F401
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
import case_sim_collectives  # noqa: E402,F401
import case_sim_files  # noqa: E402,F401
import case_sim_ib  # noqa: E402,F401
import case_sim_series  # noqa: E402,F401
import case_sim_jobs  # noqa: E402,F401
import case_sim_ranks  # noqa: E402,F401
import case_sim_queues  # noqa: E402,F401
import case_figures  # noqa: E402,F401
import case_report  # noqa: E402,F401
import case_runtime  # noqa: E402,F401
import case_shared  # noqa: E402,F401
import case_shm  # noqa: E402,F401
import case_soak  # noqa: E402,F401
import case_subnet  # noqa: E402,F401
import case_subnet_access  # noqa: E402,F401
import case_subnet_cm  # noqa: E402,F401
import case_subnet_router  # noqa: E402,F401
import case_subnet_join  # noqa: E402,F401
import case_subnet_admin  # noqa: E402,F401
import case_subnet_explain  # noqa: E402,F401
import case_subnet_diags  # noqa: E402,F401
import case_subnet_live  # noqa: E402,F401
import case_subnet_tunnel  # noqa: E402,F401
import case_subnet_multicast  # noqa: E402,F401
import case_subnet_routing  # noqa: E402,F401
import case_subnet_show  # noqa: E402,F401
import case_subnet_apm  # noqa: E402,F401
import case_subnet_capture  # noqa: E402,F401
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


def try_case(case, context, again):
    """(verdict, text), after a second try where that may help."""
    verdict, text = run_case(case, context)
    if verdict == "FAIL" and again and f"exit status {SANITIZER_STATUS}" not in text:
        first = text
        verdict, text = run_case(case, context)
        text = f"{text}\nthe first try failed:\n{first}"
    return verdict, text


class Results:
    """The verdicts of the cases that ran, printed as they come."""

    def __init__(self, is_verbose):
        self.is_verbose, self.failed, self.count = is_verbose, [], {"ok": 0, "FAIL": 0, "skip": 0}

    def add(self, name, verdict, seconds, text):
        self.count[verdict] += 1
        if verdict == "FAIL":
            self.failed.append(name)
        if self.is_verbose or text:
            print(f"{verdict:4} {name} ({seconds:.1f} s)", flush=True)
            print("".join(f"    {line}\n" for line in text.splitlines()[:120]), end="", flush=True)

    def end(self):
        if self.failed:
            print(f"failed: {' '.join(self.failed)}")
        print(f"{self.count['ok']} passed, {self.count['FAIL']} failed, {self.count['skip']} skipped")
        return 1 if self.failed else 0


def work(args, chosen, place, queue):
    """Runs the next case that nobody has, on a machine of its own, until there is none."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    # A script that starts this in the background has the signal ignored, and so would all programs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    machine = Machine()
    try:
        context = Context(args.build, machine, args.sanitizer or sanitizer_of(args.build))
        while True:
            with place.get_lock():
                case = chosen[place.value] if place.value < len(chosen) else None
                place.value += 1
            if not case:
                break
            start = time.monotonic()
            verdict, text = try_case(case, context, args.again)
            queue.put((case.name, verdict, time.monotonic() - start, text))
            if verdict == "FAIL" and args.x:
                place.value = len(chosen)
    finally:
        machine.end()


def run_at_once(args, chosen, jobs, results):
    """Runs the cases in so many processes."""
    place, queue = multiprocessing.Value("i", 0), multiprocessing.Queue()
    workers = [multiprocessing.Process(target=work, args=(args, chosen, place, queue)) for _ in range(jobs)]
    for w in workers:
        w.start()
    try:
        while any(w.is_alive() for w in workers) or not queue.empty():
            try:
                results.add(*queue.get(timeout=0.2))
            except Empty:
                pass
    finally:
        for w in workers:
            w.terminate()
            w.join()
    if any(w.exitcode for w in workers):
        results.add("driver", "FAIL", 0, "a process that runs cases has ended before its time")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(SOURCE, "build", "release"))
    parser.add_argument("--sanitizer", choices=("address", "thread"))
    parser.add_argument("-j", metavar="JOBS", type=int, default=1, help="so many cases at once")
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
    results = Results(args.v)
    alone = [c for c in chosen if args.j > 1 and c.is_alone]
    run_at_once(args, [c for c in chosen if c not in alone], max(args.j, 1), results)
    if alone and not (results.failed and args.x):
        run_at_once(args, alone, 1, results)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
