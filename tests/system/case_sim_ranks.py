# SPDX-License-Identifier: BSD-2-Clause
"""`verbena sim --ranks`: one run over the processes of an MPI job leaves the files of the run on one core."""
import os
import shutil
import signal
import subprocess
import tempfile
import time

from case_sim_jobs import FILES, HEAD, SCENARIOS, WITH_FILE, need, outcome
from cases import case
from hosts import Skip

# A run of seconds.
LONG = HEAD + "workload: [{shape: all-to-all, bytes: 4MB}]\n"


def launcher(context, ranks):
    if not shutil.which("mpirun"):
        raise Skip("no mpirun: install openmpi-bin")
    if not os.path.exists(os.path.join(os.path.dirname(context.verbena), "libverbena.d", "verbena-mpi.so")):
        raise Skip("built without MPI: install libopenmpi-dev")
    return ["mpirun", "-n", str(ranks), "--oversubscribe", "--allow-run-as-root", context.verbena, "sim", "--ranks"]


def ranked(context, text, ranks, beside):
    """As outcome(), of ranks, which read a file each."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("beside", beside), ("scenario", text.replace("{file}", os.path.join(folder, "beside")))):
            with open(os.path.join(folder, name), "w", encoding="ascii") as f:
                f.write(content)
        out = os.path.join(folder, "out")
        p = subprocess.run([*launcher(context, ranks), os.path.join(folder, "scenario"), "--out", out], capture_output=True,
                           text=True, timeout=60)
        need(p.returncode == 0, p.stderr)
        lines = [line.split(" in ")[0] if line.startswith("events") else line for line in p.stdout.splitlines()]
        files = []
        for name in FILES:
            if os.path.exists(os.path.join(out, name)):
                with open(os.path.join(out, name), encoding="ascii") as f:
                    files.append(f.read())
    return lines, files


def is_at_work(pid):
    """It may be dead and waited for by nobody."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


@case("sim-ranks.same", seconds=40)
def _(context):
    """Two and three ranks print the table of one process once, with its digest, and write its files."""
    for ranks, (text, file) in ((2, (SCENARIOS["poisson"], "")), (2, WITH_FILE["goal"]), (3, WITH_FILE["list"])):
        one, many = outcome(context, text, 1, file), ranked(context, text, ranks, file)
        need(one[0] == many[0], (ranks, one[0], many[0]))
        for name, a, b in zip(FILES, one[1], many[1]):
            need(a.replace("/dev/stdin", "") == b.replace("/dev/stdin", "") or name == "summary.json", f"{name} differs: {ranks} ranks")


@case("sim-ranks.dies", seconds=30)
def _(context):
    """A rank that dies ends the others, and the launcher says so."""
    with tempfile.NamedTemporaryFile("w", encoding="ascii") as f:
        f.write(LONG)
        f.flush()
        argv = launcher(context, 2)
        with subprocess.Popen([*argv, f.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
            ranks = []
            for _ in range(400):
                children = f"/proc/{p.pid}/task/{p.pid}/children"
                with open(children, encoding="ascii") as c:
                    ranks = c.read().split()
                if len(ranks) == 2:
                    break
                time.sleep(0.02)
            need(len(ranks) == 2, "the ranks did not begin")
            time.sleep(0.5)
            os.kill(int(ranks[1]), signal.SIGKILL)
            _, err = p.communicate(timeout=20)
        need(p.returncode != 0 and "signal 9" in err, (p.returncode, err))
        for _ in range(100):
            if not any(is_at_work(rank) for rank in ranks):
                break
            time.sleep(0.05)
        need(not any(is_at_work(rank) for rank in ranks), "a rank goes on alone")


@case("sim-ranks.refused", seconds=20)
def _(context):
    """More ranks than parts, links that change, and a build without MPI are told."""
    argv = launcher(context, 2)
    few = "topology: {shape: star, hosts: 4}\nworkload: {shape: single, from: 0, to: 1, bytes: 1kB}\n"
    links = HEAD + "workload: {shape: single, from: 0, to: 1, bytes: 1MB}\nlinks: [{cable: 17, down: 30us}]\n"
    for text, options, reason in ((few, [], "cannot be cut"), (links, [], "leave --ranks out"), (links, ["--jobs", "2"], "--jobs is not with")):
        with tempfile.NamedTemporaryFile("w", encoding="ascii") as f:
            f.write(text)
            f.flush()
            p = subprocess.run([*argv, f.name, *options], capture_output=True, text=True, timeout=30)
        need(p.returncode != 0 and reason in p.stderr, (text, p.returncode, p.stderr))
    with tempfile.TemporaryDirectory() as folder:
        alone = shutil.copy(context.verbena, folder)
        p = subprocess.run([alone, "sim", "--ranks", "/dev/null"], capture_output=True, text=True, timeout=30)
        need(p.returncode == 1 and "verbena-mpi.so, which is built where there are MPI's headers" in p.stderr, p.stderr)
