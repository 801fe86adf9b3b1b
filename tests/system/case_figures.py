# SPDX-License-Identifier: BSD-2-Clause
"""Figures for papers, of `verbena sim` and `verbena sweep`: which there are, and that they show what the tables say."""
import csv
import os
import re
import subprocess
import tempfile
import xml.etree.ElementTree

from cases import case
from hosts import Failure, Skip

SCENARIO = """seed: 3
topology: {shape: star, hosts: 5, cable: {rate: 25Gbps, delay: 1us}}
transport: {mtu: 1024, window: 64KiB}
workload:
  - {shape: incast, count: 4, to: 0, bytes: 500kB}
  - {shape: poisson, sizes: websearch, load: 0.3, count: 60}
"""
OF_A_RUN = {"rate", "queue", "window", "fct-cdf", "slowdown-cdf", "queue-cdf", "slowdown-size"}
OF_A_SWEEP = {"goodput_bps", "jain_ppm", "fct_p50_ns", "fct_p99_ns", "slowdown_p50_milli", "slowdown_p99_milli",
              "depth_mean_bytes", "depth_max_bytes"}


def call(context, *argv, status=0):
    p = subprocess.run([context.verbena, *argv], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    if p.returncode != status:
        raise Failure(f"exit status {p.returncode}, not {status}\n{p.stdout}\n{p.stderr}")
    return p


def scenario_in(folder):
    path = os.path.join(folder, "scenario.yaml")
    with open(path, "w", encoding="ascii") as f:
        f.write(SCENARIO)
    return path


def need_figures(said, folder, names):
    """SVG and PDF of each, and nothing else."""
    kinds = ("svg", "pdf")
    if "SVG only" in said.stderr:
        kinds = ("svg",)
    there, want = set(os.listdir(folder)), {f"{n}.{kind}" for n in names for kind in kinds}
    if there != want:
        raise Failure(f"too many: {there - want}, missing: {want - there}")
    for name in there:
        with open(os.path.join(folder, name), "rb") as f:
            text = f.read()
        if name.endswith(".pdf") and (not text.startswith(b"%PDF-") or b"%%EOF" not in text[-16:]):
            raise Failure(f"{name} is no PDF")
        if name.endswith(".svg"):
            root = xml.etree.ElementTree.fromstring(text)
            # A column of a paper.
            if root.get("width") != "252pt" or b"nan" in text:
                raise Failure(f"{name}: {root.attrib}")


@case("figures.of_a_run")
def _(context):
    with tempfile.TemporaryDirectory(prefix="verbena-figures-") as folder:
        path, figures = scenario_in(folder), os.path.join(folder, "figures")
        said = call(context, "sim", path, "--figures", figures)
        need_figures(said, figures, OF_A_RUN)
        if said.stdout.splitlines()[-1] != call(context, "sim", path).stdout.splitlines()[-1]:
            raise Failure("figures change the run")
        # Once more, as the scenario says: the same bytes.
        with open(path, "a", encoding="ascii") as f:
            f.write(f"record: {{figures: {folder}/again}}\n")
        call(context, "sim", path)
        for name in os.listdir(figures):
            with open(os.path.join(figures, name), "rb") as a, open(os.path.join(folder, "again", name), "rb") as b:
                if a.read() != b.read():
                    raise Failure(f"{name} of a second run differs")


@case("figures.queue_is_that_of_the_series")
def _(context):
    """The distribution of the longest queue, as a line, is that of the queue's rows in port_series.csv."""
    with tempfile.TemporaryDirectory(prefix="verbena-figures-") as folder:
        path, figures = scenario_in(folder), os.path.join(folder, "figures")
        call(context, "sim", path, "--figures", figures, "--out", folder, "--series", "queue", "--every", "2us")
        with open(os.path.join(figures, "queue-cdf.svg"), encoding="utf-8") as f:
            svg = f.read()
        first = re.search(r">switch 5 to host (\d)<", svg)[1]
        with open(os.path.join(folder, "port_series.csv"), encoding="ascii", newline="") as f:
            rows = [r for r in csv.DictReader(f) if r["from"] == "5"]
        queue = sorted(int(r["queue_bytes"]) for r in rows if r["to"] == first)
        longest = max(int(r["queue_bytes"]) for r in rows)
        frame = re.search(r'd="M([\d.]+) ([\d.]+)V([\d.]+)H([\d.]+)" fill="none" stroke="#333"', svg)
        left, top, bottom, right = (float(v) for v in frame.groups())
        line = re.search(r'stroke="#0072b2" stroke-width="1.2" d="M([\d.]+) ([\d.]+)((?:H[\d.]+V[\d.]+)+)"', svg)
        steps = [(float(line[1]), float(line[2]))] + [
            (float(x), float(y)) for x, y in re.findall(r"H([\d.]+)V([\d.]+)", line[3])]
        for share in (0.5, 0.9, 0.95, 0.99):
            drawn = next(x for x, y in steps if (bottom - y) / (bottom - top) >= share)
            is_, want = (drawn - left) / (right - left) * longest, queue[int(share * len(queue))]
            if abs(is_ - want) > 0.02 * longest:
                raise Failure(f"at {share}: {is_}, not {want} of {longest}")


@case("figures.of_a_sweep")
def _(context):
    with tempfile.TemporaryDirectory(prefix="verbena-figures-") as folder:
        path, figures = scenario_in(folder), os.path.join(folder, "figures")
        argv = ("sweep", path, "--out", os.path.join(folder, "out"), "--figures", figures, "--seeds", "2", "-q",
                "--grid", "transport.window=16KiB,64KiB")
        said = call(context, *argv, "--grid", "workload.1.load=0.3", "-y", "resent")
        sizes = {f"slowdown-size-p{p}" for p in (50, 95, 99)}
        need_figures(said, figures, OF_A_SWEEP | sizes | {"resent"})
    with tempfile.TemporaryDirectory(prefix="verbena-figures-") as folder:
        path, figures = scenario_in(folder), os.path.join(folder, "figures")
        argv = ("sweep", path, "--out", os.path.join(folder, "out"), "--figures", figures, "--seeds", "2", "-q",
                "--grid", "transport.window=16KiB,64KiB", "--grid", "workload.1.load=0.5,0.3")
        said = call(context, *argv)
        need_figures(said, figures, OF_A_SWEEP | sizes | {n + "-heat" for n in OF_A_SWEEP})
        with open(os.path.join(folder, "out", "sweep.csv"), encoding="ascii", newline="") as f:
            rows = list(csv.DictReader(f))
        with open(os.path.join(figures, "goodput_bps-heat.svg"), encoding="utf-8") as f:
            cells = re.findall(r'text-anchor="middle" fill="#(?:fff|000)">([\d.]+)<', f.read())
        # Rows from below on, numbers ascending; each the mean over seeds.
        want = []
        for load in ("0.3", "0.5"):
            for window in ("16KiB", "64KiB"):
                of = [int(r["goodput_bps"]) for r in rows
                      if (r["workload.1.load"], r["transport.window"]) == (load, window)]
                want.append(f"{sum(of) / len(of) / 1e9:.3g}")
        if cells != want:
            raise Failure(f"{cells}, not {want}")
        with open(os.path.join(figures, "goodput_bps.svg"), encoding="utf-8") as f:
            svg = f.read()
        # Four points, and a bar with its ends for each.
        if svg.count("<circle") != 4 or len(re.findall(r'd="M[\d.]+ [\d.]+V[\d.]+M[\d.]+ [\d.]+H', svg)) != 4:
            raise Failure(svg)


@case("figures.refuses")
def _(context):
    with tempfile.TemporaryDirectory(prefix="verbena-figures-") as folder:
        path = scenario_in(folder)
        nowhere = os.path.join(folder, "none", "figures")
        for argv in (("sim", path), ("sweep", path, "--out", os.path.join(folder, "out"), "--seeds", "1")):
            said = call(context, *argv, "--figures", nowhere, status=1)
            if f"{nowhere} cannot be made: No such file" not in said.stderr or said.stdout:
                raise Failure(said.stderr + said.stdout)
        # A file is no folder, and a run that fails leaves none.
        said = call(context, "sim", path, "--figures", path, status=1)
        if path not in said.stderr:
            raise Failure(said.stderr)
        with open(path, "a", encoding="ascii") as f:
            f.write("packets: 4\n")
        call(context, "sim", path, "--figures", os.path.join(folder, "figures"), status=1)
        if os.path.exists(os.path.join(folder, "figures")):
            raise Failure("the folder of a run that failed is there")
        said = call(context, "sim", path, "--figures", folder, "--jobs", "2", status=2)
        if "figures" not in said.stderr:
            raise Failure(said.stderr)


@case("figures.pdf_has_its_fonts")
def _(context):
    """Letters are letters, of a font that is in the file, as publishers ask for."""
    try:
        subprocess.run(["pdffonts", "-v"], capture_output=True, check=False)
    except FileNotFoundError as e:
        raise Skip("no pdffonts") from e
    with tempfile.TemporaryDirectory(prefix="verbena-figures-") as folder:
        said = call(context, "sim", scenario_in(folder), "--figures", os.path.join(folder, "figures"))
        if "SVG only" in said.stderr:
            raise Skip("no librsvg")
        p = subprocess.run(["pdffonts", os.path.join(folder, "figures", "queue.pdf")], capture_output=True, text=True, check=True)
        fonts = p.stdout.splitlines()[2:]
        if not fonts or any(line.split()[-5:-2] != ["yes", "yes", "yes"] for line in fonts):
            raise Failure(p.stdout)
