# SPDX-License-Identifier: BSD-2-Clause
"""`verbena sweep`: the same table from any number of workers, after any interruption, and what it
refuses."""
import csv
import os
import shutil
import signal
import subprocess
import tempfile
import time
import xml.etree.ElementTree

from cases import case
from hosts import Failure, Skip

SCENARIO = """topology: {shape: star, hosts: 5, cable: {rate: 100Gbps, delay: 1us}}
transport:
  timeout: 12
workload: {shape: incast, count: 4, to: 0, bytes: 2MB}
faults:
  - {do: "loss=1e-4", host: 1}
"""
GRID = ("--grid", "transport.timeout=10,14", "--grid", "faults.loss=0,1e-3,5e-3", "--seeds", "2")
POINTS = 12


class Folder:
    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="verbena-sweep-")
        self.scenario = os.path.join(self.path, "scenario.yaml")
        with open(self.scenario, "w", encoding="utf-8") as f:
            f.write(SCENARIO)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def argv(self, context, out, *more):
        return [context.verbena, "sweep", self.scenario, "--out", os.path.join(self.path, out), *more]

    def read(self, *names):
        with open(os.path.join(self.path, *names), encoding="utf-8") as f:
            return f.read()

    def points(self, out):
        folder = os.path.join(self.path, out, "points")
        return [n for n in os.listdir(folder)] if os.path.isdir(folder) else []


def call(argv, status=0, env=None):
    p = subprocess.run(argv, capture_output=True, text=True, timeout=120, env=env,
                       stdin=subprocess.DEVNULL)
    if p.returncode != status:
        raise Failure(f"exit status {p.returncode}, not {status}\n{p.stdout}\n{p.stderr}")
    return p


def same(folder, a, b):
    for name in ("sweep.csv", "sweep.json", "sweep.svg", "plan.txt"):
        if folder.read(a, name) != folder.read(b, name):
            raise Failure(f"{name} of {a} and {b} differ")


@case("sweep.same_with_any_workers")
def _(context):
    with Folder() as f:
        call(f.argv(context, "one", *GRID, "-j", "1"))
        out = call(f.argv(context, "four", *GRID, "-j", "4")).stdout
        same(f, "one", "four")
        rows = list(csv.DictReader(f.read("one", "sweep.csv").splitlines()))
        if len(rows) != POINTS or len({r["digest"] for r in rows}) < 3:
            raise Failure(f"{len(rows)} rows\n{rows}")
        # The value of a point is the one that its run had: no loss, nothing sent again.
        for r in rows:
            if (r["faults.loss"] == "0") != (r["resent"] == "0"):
                raise Failure(f"{r}")
        if len(out.splitlines()) != 1 + POINTS // 2:
            raise Failure(f"not a row for each point without its seed\n{out}")
        xml.etree.ElementTree.fromstring(f.read("one", "sweep.svg"))


@case("sweep.point_is_the_run_alone")
def _(context):
    with Folder() as f:
        call(f.argv(context, "out", "--grid", "transport.timeout=10", "--seeds", "2"))
        row = list(csv.DictReader(f.read("out", "sweep.csv").splitlines()))[1]
        with open(f.scenario, "w", encoding="utf-8") as g:
            g.write(SCENARIO.replace("timeout: 12", "timeout: 10"))
        alone = call([context.verbena, "sim", "--replay", "2", f.scenario]).stdout
        if row["digest"] not in alone:
            raise Failure(f"{row['digest']} is not the digest of\n{alone}")


@case("sweep.fault_beside_others")
def _(context):
    with Folder() as f:
        with open(f.scenario, "w", encoding="utf-8") as g:
            g.write(SCENARIO.replace("loss=1e-4", "delay=300us"))
        out = call(f.argv(context, "out", "--grid", "faults.loss=0,1", "--y", "fct_p50_ns")).stdout
        rows = list(csv.DictReader(f.read("out", "sweep.csv").splitlines()))
        # The delay of the scenario stays; where nothing arrives no time is known.
        if int(rows[0]["fct_max_ns"]) < 300000 or rows[1]["fct_max_ns"] != "":
            raise Failure(f"{rows}")
        if "-" not in out.splitlines()[2].split():
            raise Failure(out)
        # Nor is it drawn: the plot has a point for the first run only.
        svg = f.read("out", "sweep.svg")
        if svg.count("<circle") != 1:
            raise Failure(svg)


@case("sweep.mpi_ranks")
def _(context):
    if not shutil.which("mpirun"):
        raise Skip("no mpirun: install openmpi-bin")
    with Folder() as f:
        call(f.argv(context, "alone", *GRID))
        call(["mpirun", "-n", "3", "--oversubscribe", "--allow-run-as-root"] +
             f.argv(context, "ranks", *GRID))
        same(f, "alone", "ranks")


@case("sweep.resumes")
def _(context):
    with Folder() as f:
        call(f.argv(context, "whole", *GRID))
        argv = f.argv(context, "parts", *GRID, "-j", "1")
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            before = len(f.points("parts"))
            with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True) as p:
                while len(f.points("parts")) <= before + 1 and p.poll() is None:
                    time.sleep(0.002)
                p.send_signal(signum)
                _, err = p.communicate(timeout=60)
            if p.returncode not in (0, -signum):
                raise Failure(f"signal {signum}: exit status {p.returncode}\n{err}")
            if signum != signal.SIGKILL and p.returncode and "the same command" not in err:
                raise Failure(f"does not say how to go on\n{err}")
        # Nothing that is there is run again.
        done = [n for n in f.points("parts") if n.endswith(".json")]
        times = {n: os.stat(os.path.join(f.path, "parts/points", n)).st_mtime_ns for n in done}
        call(argv)
        for n in done:
            if os.stat(os.path.join(f.path, "parts/points", n)).st_mtime_ns != times[n]:
                raise Failure(f"{n} was run again")
        same(f, "whole", "parts")
        if len(f.points("parts")) != POINTS:
            raise Failure(f"{f.points('parts')}")


@case("sweep.list")
def _(context):
    with Folder() as f:
        path = os.path.join(f.path, "list")
        with open(path, "w", encoding="utf-8") as g:
            g.write("# two points\ntransport.timeout=10\n\ntransport.retry=3 workload.count=2\n")
        call(f.argv(context, "out", "--list", path, "--grid", "transport.mtu=1024,4096"))
        rows = list(csv.DictReader(f.read("out", "sweep.csv").splitlines()))
        if [(r["transport.timeout"], r["transport.retry"], r["transport.mtu"], r["flows"])
                for r in rows] != [("10", "", "1024", "4"), ("10", "", "4096", "4"),
                                   ("", "3", "1024", "2"), ("", "3", "4096", "2")]:
            raise Failure(f"{rows}")


@case("sweep.refuses")
def _(context):
    with Folder() as f:
        for more, status, says in (
                (("--grid", "transport.timeout=10,99"), 1, "scenario.yaml:3:12: timeout is 0 to 31"),
                (("--grid", "transport.speed=1"), 1, 'no key "speed" here, only type'),
                (("--grid", "workload.4.bytes=1"), 1, 'no key "4" here'),
                (("--grid", "faults.loss=2"), 1, "scenario.yaml:6:10:"),
                (("--grid", "transport.timeout"), 2, "PATH=VALUE"),
                (("--grid", "transport.timeout=1,,2"), 2, "a value is missing"),
                (("--grid", "seed=1,2", "--seeds", "2"), 2, "twice"),
                ((), 2, "nothing is swept"),
                (("--seeds", "many"), 2, "many"),
                (("--seeds", "2", "--y", "speed"), 2, "goodput_bps"),
                (("--list", "/nonexistent/list"), 1, "/nonexistent/list")):
            p = call(f.argv(context, "bad", *more), status)
            if says not in p.stderr or len(p.stderr.splitlines()) != 1:
                raise Failure(f"{more}: not one line with '{says}'\n{p.stderr}")
            if os.path.exists(os.path.join(f.path, "bad")):
                raise Failure(f"{more}: a folder was made")
        call(f.argv(context, "out", "--seeds", "2"))
        for change in ("the list of points", "the scenario"):
            more = ["--seeds", "3"]
            if change == "the scenario":
                more = ["--seeds", "2"]
                with open(f.scenario, "a", encoding="utf-8") as g:
                    g.write("seed: 7\n")
            p = call(f.argv(context, "out", *more), 1)
            if change not in p.stderr:
                raise Failure(f"does not say that {change} differs\n{p.stderr}")


@case("sweep.failed_points")
def _(context):
    with Folder() as f:
        argv = f.argv(context, "out", "--grid", "flows=3,100")
        p = call(argv, 1)
        if "flows=3" not in p.stderr or "1 of 2 points failed" not in p.stderr:
            raise Failure(p.stderr)
        if len(f.read("out", "sweep.csv").splitlines()) != 2:
            raise Failure(f.read("out", "sweep.csv"))
