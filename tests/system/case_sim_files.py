# SPDX-License-Identifier: BSD-2-Clause
"""`verbena sim` with files of the user's own: topologies, lists of flows and sizes, as scenarios/files has them."""
import csv
import os
import random
import subprocess
import tempfile

from cases import case
from hosts import Failure

SCENARIOS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scenarios/files")


def need(ok, text):
    if not ok:
        raise Failure(str(text))


def simulate(context, path, folder):
    """The rows of flows.csv, the digest, and the memory of the run in kB."""
    with open(os.path.join(folder, "text"), "w+", encoding="utf-8") as text:
        with subprocess.Popen([context.verbena, "sim", path, "--out", folder], stdout=text, stderr=text) as p:
            _, status, usage = os.wait4(p.pid, 0)
            p.returncode = os.waitstatus_to_exitcode(status)
        text.seek(0)
        out = text.read()
    need(p.returncode == 0, out)
    with open(os.path.join(folder, "flows.csv"), encoding="ascii", newline="") as f:
        rows = list(csv.DictReader(f))
    return rows, out.split("digest")[1].split()[0], usage.ru_maxrss


def lines_of(name):
    with open(os.path.join(SCENARIOS, name), encoding="ascii") as f:
        return f.read().splitlines()


@case("sim-files.ns3", seconds=10)
def _(context):
    """The flows of racks.flows run between the hosts of racks.topology, and its lossy cable is the one that may lose packets."""
    wanted = [line.split() for line in lines_of("racks.flows")[1:9]]
    with tempfile.TemporaryDirectory() as folder:
        rows, _, _ = simulate(context, os.path.join(SCENARIOS, "racks.yaml"), folder)
        need(len(rows) == len(wanted), rows)
        for row, (src, dst, _, _, size, start) in zip(rows, wanted):
            need((row["src"], row["dst"], row["bytes"]) == (src, dst, size), row)
            need(int(row["start_ns"]) == round(float(start) * 1e9) and row["status"] == "0", row)
        with open(os.path.join(folder, "ports.csv"), encoding="ascii", newline="") as f:
            ports = list(csv.DictReader(f))
        need([p["rate_bps"] for p in ports[6:8]] == ["25000000000"] * 2, ports[6:8])
        need(all(p["faults"] == "0" for i, p in enumerate(ports) if i // 2 != 7), ports)


@case("sim-files.names", seconds=10)
def _(context):
    """Lists have the names of the topology's nodes, and operations; what a list has comes first, in its order."""
    hosts = ["client-a", "client-b", "client-c", "server-1", "server-2"]
    wanted = list(csv.DictReader(lines_of("storage.csv")))
    with tempfile.TemporaryDirectory() as folder:
        rows, _, _ = simulate(context, os.path.join(SCENARIOS, "storage.yaml"), folder)
        need(len(rows) == len(wanted) + 500 and all(r["status"] == "0" for r in rows), len(rows))
        for want in wanted:
            ends = str(hosts.index(want["src"])), str(hosts.index(want["dst"]))
            need(any((r["src"], r["dst"]) == ends and r["op"] == want["op"] for r in rows), want)
        # The list's 8 MB between the servers is the longest flow.
        need(max(int(r["bytes"]) for r in rows) == 8000000, "sizes")


@case("sim-files.memory", seconds=40)
def _(context):
    """A list of a hundred times as many flows takes no more memory, and leaves a row for each; the run is the one with records for all."""
    rng = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        def run(name, cnt, records):
            start = 0.0
            place = os.path.join(folder, name)
            os.mkdir(place)
            with open(os.path.join(place, "flows"), "w", encoding="ascii") as f:
                f.write(f"{cnt}\n")
                for i in range(cnt):
                    start += rng.random() * 4e-7
                    f.write(f"{i % 8} {(i + 1 + i // 8 % 7) % 8} 3 100 {1 + i * 7 % 3000} {start:.9f}\n")
            with open(os.path.join(place, "s.yaml"), "w", encoding="ascii") as f:
                f.write(f"flows: {records}\ntopology: {{hosts: 8}}\nworkload: {{shape: file, file: flows}}\n")
            return simulate(context, os.path.join(place, "s.yaml"), place)

        _, _, small = run("small", 2000, 500)
        rng.seed(8)
        rows, digest, large = run("large", 200000, 500)
        need(large < small + 3000, f"{small} kB for 2,000 flows, {large} kB for 200,000")
        need(sorted(int(r["flow"]) for r in rows) == list(range(200000)), "numbers")
        rng.seed(8)
        same, again, _ = run("all", 200000, 200000)
        need(digest == again, "digest")
        need(sorted(rows, key=lambda r: int(r["flow"])) == same, "rows")


@case("sim-files.mistakes", seconds=10)
def _(context):
    """A mistake in a file is told with its place, before anything is written."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s.yaml")
        with open(path, "w", encoding="ascii") as f:
            f.write("topology: {hosts: 4}\nworkload: {shape: file, file: flows.csv}\n")
        with open(os.path.join(folder, "flows.csv"), "w", encoding="ascii") as f:
            f.write("src,dst,bytes,start\n0,1,1MB,1ms\n1,0,1MB,999us\n")
        p = subprocess.run([context.verbena, "sim", path, "--out", os.path.join(folder, "out")], capture_output=True, text=True, timeout=60)
        need(p.returncode == 1 and f"{folder}/flows.csv:3:9: flows are in the order of their starts" in p.stderr, p.stderr)
        need(not os.path.exists(os.path.join(folder, "out")), "there is an output")
