#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures how long OpenSM takes to bring up a fabric of `verbena fabric`, next to ibsim, and writes a section of
docs/benchmarks.md.

  bench/opensm.py [--build BUILD] [--runs N] [--output FILE] [TOPOLOGY...]

In each run the two follow each other, each with a fabric that was never configured and an OpenSM without files of an
earlier one. Times are from the start of OpenSM to its line "SUBNET UP". Needs opensm and ibsim-utils.
"""
import argparse
import datetime
import glob
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from programs import Failure
from run import ROOT, cpu_model, replace_section, revision

HEAD = "## OpenSM, next to ibsim"
SHAPES = ("fat-tree:k=4", "clos:leaves=32,spines=16,hosts=32", "fat-tree:k=16", "clos:leaves=243,spines=37,hosts=40")
RUNS = 5
HZ = os.sysconf("SC_CLK_TCK")


def processor_time(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / HZ


def switches(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        return sum(int(line.split()[1]) for line in f if "ctxt_switches" in line)


def up_at(log, begin):
    """The instant of the line "SUBNET UP", which has no year."""
    with open(log, encoding="utf-8", errors="replace") as f:
        found = re.search(r"^\w+ \d+ (\d+):(\d+):(\d+) (\d+) .*SUBNET UP", f.read(), re.M)
    if not found:
        raise Failure(f"no SUBNET UP in {log}")
    t = time.localtime(begin)
    seconds = int(found[1]) * 3600 + int(found[2]) * 60 + int(found[3]) + int(found[4]) / 1e6
    midnight = begin - (t.tm_hour * 3600 + t.tm_min * 60 + t.tm_sec + begin % 1)
    return (midnight + seconds - begin) % 86400


def bring_up(before, env, pid):
    """Wall time, processor time of OpenSM and of the other side, switches of both."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        env = dict(os.environ, OSM_CACHE_DIR=folder, OSM_TMP_DIR=folder, **env)
        own, own_switches = processor_time(pid), switches(pid)
        r0 = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.time()
        subprocess.run([*before, "opensm", "-o", "-e", "-f", log], env=env, stdout=subprocess.DEVNULL, check=True)
        r1 = resource.getrusage(resource.RUSAGE_CHILDREN)
        switched = r1.ru_nvcsw + r1.ru_nivcsw - r0.ru_nvcsw - r0.ru_nivcsw
        return (up_at(log, begin), r1.ru_utime + r1.ru_stime - r0.ru_utime - r0.ru_stime, processor_time(pid) - own,
                switched + switches(pid) - own_switches)


def with_verbena(verbena, shape, net):
    """Also writes the topology for ibsim."""
    with subprocess.Popen([verbena, "fabric", "-n", "bench", "-f", "up", shape], stdout=subprocess.PIPE, text=True) as p:
        try:
            said = p.stdout.readline().strip()
            with open(net, "w", encoding="utf-8") as f:
                subprocess.run([verbena, "fabric", "dump", "bench"], stdout=f, check=True)
            return said, bring_up([verbena, "run", "--fabric", "bench", "--node", "H-0000", "--"], {}, p.pid)
        finally:
            p.terminate()


def with_ibsim(net, library):
    with open(net, encoding="utf-8") as f:
        text = f.read()
    nodes, ports = len(re.findall(r"^(Ca|Switch)\t", text, re.M)), len(re.findall(r"^\[", text, re.M))
    with subprocess.Popen(["ibsim", "-s", "-n", "-N", str(nodes + 10), "-S", str(nodes + 10), "-P",
                           str(2 * ports + nodes), net], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as p:
        try:
            deadline = time.monotonic() + 60
            while True:  # it has an abstract address when it has read the file
                with open("/proc/net/unix", encoding="ascii", errors="replace") as f:
                    if "sim:ctl" in f.read() or time.monotonic() > deadline:
                        break
                time.sleep(0.1)
            return bring_up([], {"SIM_HOST": "H-0000", "LD_PRELOAD": library}, p.pid)
        finally:
            p.kill()


def measure(verbena, shape, runs, net, library):
    ours, theirs = [], []
    for _ in range(runs):
        said, values = with_verbena(verbena, shape, net)
        ours.append(values)
        theirs.append(with_ibsim(net, library))
        print(shape, *(f"{v:.3f}" for v in ours[-1]), "|", *(f"{v:.3f}" for v in theirs[-1]), flush=True)
    ratio = [statistics.median(a[i] / max(b[i], 1e-3) for a, b in zip(ours, theirs)) for i in (0, 3)]
    nodes = re.search(r"(\d+) nodes", said)[1]
    v, s = ([statistics.median(x[i] for x in side) for i in range(4)] for side in (ours, theirs))
    return (f"| {nodes} (`{shape}`) | {v[0]:.2f} | {s[0]:.2f} | {ratio[0]:.2f} | {v[1]:.2f} + {v[2]:.2f} | "
            f"{s[1]:.2f} + {s[2]:.2f} | {v[3]:.0f} | {s[3]:.0f} | {ratio[1]:.2f} |")


def write_section(path, rows, runs):
    load = os.getloadavg()[0]
    text = f"""{HEAD}

Written by `bench/opensm.py`: from the start of `opensm -o -e` to its line SUBNET UP, on a fabric of `verbena fabric` and on
ibsim with the same topology, in turn; medians of {runs} runs, and the median of the ratios within a run. Processor time is
that of OpenSM and that of the other side.

| nodes | Verbena, s | ibsim, s | ratio | Verbena, processor s | ibsim, processor s | Verbena, switches | ibsim, switches | ratio |
|---|--:|--:|--:|--:|--:|--:|--:|--:|
{chr(10).join(rows)}

Machine: {cpu_model()}, load {load:.0f}; revision {revision()}; {datetime.date.today()}.

"""
    replace_section(path, HEAD, text)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    p.add_argument("--runs", type=int, default=RUNS)
    p.add_argument("--output", help="the page whose section is written")
    p.add_argument("--umad2sim", help="the library of ibsim-utils, where it is not in /usr/lib")
    p.add_argument("topology", nargs="*", default=list(SHAPES))
    a = p.parse_args()
    library = [a.umad2sim] if a.umad2sim else glob.glob("/usr/lib/*/umad2sim/libumad2sim.so")
    if not library:
        raise Failure("umad2sim of ibsim-utils is not installed")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for shape in a.topology:
            rows.append(measure(os.path.join(a.build, "verbena"), shape, a.runs, os.path.join(folder, "net"), library[0]))
    print("\n".join(rows))
    if a.output:
        write_section(a.output, rows, a.runs)


if __name__ == "__main__":
    try:
        main()
    except (Failure, OSError, subprocess.CalledProcessError) as e:
        sys.exit(f"bench/opensm.py: {e}")
