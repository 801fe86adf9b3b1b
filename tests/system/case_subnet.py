# SPDX-License-Identifier: BSD-2-Clause
"""InfiniBand subnets: OpenSM and the programs of infiniband-diags on fabrics of `verbena fabric`."""
import os
import re
import shutil
import signal
import subprocess
import time

from cases import case
from hosts import Failure, Skip


def need(ok, text):
    if not ok:
        raise Failure(text)


class Fabric:
    """A fabric of its own name, with OpenSM at one node when it is wanted."""

    def __init__(self, context, name, topology, *options):
        if not shutil.which("opensm"):
            raise Skip("opensm is not installed")
        self.context, self.host, self.name = context, context.machine.a, name
        self.log = os.path.join(context.machine.folder, f"osm.{name}.log")
        self.managers = []
        said = self.host.run([context.verbena, "fabric", "--name", name, *options, "up", topology])
        found = re.search("^OpenSM at .*, log (.*)$", said, re.M)
        self.managed = found[1] if found else None  # the log of the manager that the fabric started

    def at(self, node, *command, run_options=()):
        return [self.context.verbena, "run", "--fabric", self.name, "--node", node, *run_options, "--", *command]

    def run(self, node, *command, seconds=60, **options):
        return self.host.run(self.at(node, *command), seconds=seconds, **options)

    def manage(self, node="H-0000", *options, log=None):
        """Starts OpenSM and waits until the subnet is up."""
        log = log or self.log
        if os.path.exists(log):
            os.unlink(log)
        folder = self.context.machine.folder
        # OpenSM keeps its log in a buffer until it has an error to say; -d 2: it does not.
        p = self.host.start(self.at(node, "opensm", "-e", "-d", "2", "-f", log, *options),
                            env={"OSM_TMP_DIR": folder, "OSM_CACHE_DIR": folder})
        self.managers.append(p)
        return p

    def await_log(self, text, log=None, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                with open(log or self.log, encoding="utf-8", errors="replace") as f:
                    found = f.read()
            except FileNotFoundError:
                found = ""
            if text in found:
                return found
            time.sleep(0.05)
        raise Failure(f"OpenSM does not say '{text}': {found[-2000:]}")

    def finish_managers(self):
        """Ends OpenSM as a user would; it writes the files of a sweep that has begun to their ends. The trap of its own
        capability mask makes it sweep again just after the subnet is up."""
        for p in self.managers:
            os.killpg(p.pid, signal.SIGTERM)
            p.wait(30)

    def end(self):
        for p in self.managers:
            p.end()
        self.host.run([self.context.verbena, "fabric", "down", self.name])


def lid_of(fabric, node):
    return int(fabric.run(node, "cat", "/sys/class/infiniband/verbena0/ports/1/lid"), 16)


@case("subnet.manager", seconds=180)
def opensm_brings_it_up(context):
    """OpenSM finds 36 nodes by umad and issm files, and each port becomes active. MAD-01, MAD-17"""
    f = Fabric(context, "up", "fat-tree:k=4")
    try:
        text = f.run("H-0003", "ibstat")
        need("State: Initializing" in text and "Link layer: InfiniBand" in text, text)
        f.manage()
        f.await_log("SUBNET UP")
        text = f.run("H-0003", "ibstat")
        need("State: Active" in text and "SM lid: " in text and "SM lid: 0" not in text, text)
        shown = f.host.run([context.verbena, "fabric", "show", "up"])
        states = re.findall(r"^ +\d+ (\w+) ", shown, re.M)
        need(len(states) == 96 and set(states) == {"ACTIVE"}, shown)
        # One process holds issm0.
        text = f.run("H-0000", "python3", "-c",
                     "import os\ntry: os.open('/dev/infiniband/issm0', os.O_NONBLOCK)\nexcept OSError as e: print(e.errno)")
        need(text.strip() == "11", text)
        text = f.run("H-0000", "sminfo")
        need("SMINFO_MASTER" in text, text)
    finally:
        f.end()


def has_not_ended(pid):
    """It runs: one that has ended may be there until somebody waits for it."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@case("subnet.again")
def files_of_an_ended_fabric(context):
    """A program that has outlived a fabric is in nobody's way at the next one of that name."""
    f = Fabric(context, "again", "star:hosts=2")
    hold = ("import os, time\nfds = [os.open('/dev/infiniband/umad0', os.O_RDWR) for _ in range(20)]\n"
            "print('open', flush=True)\ntime.sleep(60)")
    p = f.host.start(f.at("H-0000", "/usr/bin/python3", "-c", hold))
    try:
        p.wait_output("open")
        f.end()
        f = Fabric(context, "again", "star:hosts=2")
        f.run("H-0000", "smpquery", "-D", "nodeinfo", "0")
        f.run("H-0001", "smpquery", "-D", "nodeinfo", "0")
    finally:
        p.end()
        f.end()


@case("subnet.ends")
def a_signal_ends_it(context):
    """SIGTERM, SIGINT and SIGHUP end the process of a fabric, and its files are gone."""
    for signal, name in (("TERM", "term"), ("INT", "int"), ("HUP", "hup")):
        f = Fabric(context, name, "star:hosts=2")
        pid = f.host.run(["pgrep", "-f", f"fabric --name {name} up"]).split()[0]
        f.host.run(["kill", f"-{signal}", pid])
        deadline = time.monotonic() + 10
        while has_not_ended(pid):
            need(time.monotonic() < deadline, f"SIG{signal} does not end the fabric '{name}'")
            time.sleep(0.02)
        said = f.host.run([context.verbena, "fabric", "show", name], status=1)
        f = Fabric(context, name, "star:hosts=2")  # nothing of the first one is in its way
        f.end()
        need(name in said, said)


@case("subnet.killed", seconds=60)
def its_manager_goes_with_it(context):
    """Nothing runs on of a fabric whose process is killed, and the name is free."""
    f = Fabric(context, "killed", "star:hosts=2", "--sm")
    log = f.managed
    try:
        f.host.run(["pkill", "-KILL", "-f", "fabric --name killed --sm up"])
        context.wait(lambda: not f.host.run(["pgrep", "-f", log], status=None), 10, "OpenSM runs on")
        f = Fabric(context, "killed", "star:hosts=2")
    finally:
        f.end()
        shutil.rmtree(os.path.dirname(log))


@case("subnet.diags", seconds=300)
def diagnostics(context):
    """infiniband-diags, ibping between two nodes, all records of the SA by RMPP, and osmtest. MAD-19, MAD-20"""
    f = Fabric(context, "diags", "fat-tree:k=4")
    try:
        f.manage()
        f.await_log("SUBNET UP")
        found = f.run("H-0000", "ibnetdiscover")
        need(len(re.findall(r"^Ca\t", found, re.M)) == 16 and len(re.findall(r"^Switch\t", found, re.M)) == 20, found)
        lid = lid_of(f, "H-0009")
        need("H-0009" in f.run("H-0000", "smpquery", "nodedesc", str(lid)), "smpquery")
        need("To ca" in f.run("H-0000", "ibtracert", "1", str(lid)), "ibtracert")
        need("H-0009" in f.run("H-0000", "ibroute", "2"), "ibroute")
        need(f.run("H-0000", "iblinkinfo").count("Active") == 96, "iblinkinfo")
        text = f.run("H-0000", "saquery", "-N")
        need(text.count("NodeRecord dump") == 36, text[-1000:])
        server = f.host.start(f.at("H-0009", "ibping", "-S"))
        try:
            text = f.run("H-0000", "sh", "-c", f"until ibping -c 1 -t 200 {lid} | grep -q '1 received'; do :; done; "
                                               f"ibping -c 2 {lid}")
            need("2 received, 0% packet loss" in text, text)
        finally:
            server.end()
        folder = context.machine.folder
        # Some of its requests have to be ignored by the SA: each costs it four timeouts.
        for flow in "ca":
            text = f.run("H-0000", "sh", "-c", f"cd {folder} && osmtest -t 200 -f {flow} -l {folder}/osmtest.log 2>&1")
            need("PASS" in text and "FAIL" not in text, text[-1500:])
    finally:
        f.end()


@case("subnet.cable", seconds=180)
def cable_is_pulled(context):
    """A cable that is pulled: trap 128, other routes, and the same when it is back. FAB-32"""
    f = Fabric(context, "cable", "fat-tree:k=4")
    try:
        f.manage()
        f.await_log("SUBNET UP")
        lid = lid_of(f, "H-0009")
        way = f.run("H-0000", "ibtracert", "1", str(lid))
        first = re.search(r"^\[(\d+)\] -> switch port .*\n\[(\d+)\] -> switch", way, re.M)
        need(first, way)
        f.host.run([context.verbena, "fabric", "--name", "cable", "unlink", "S-0000", first[2]])
        f.await_log("num:128")
        deadline = time.monotonic() + 60
        while True:
            new = f.run("H-0000", "sh", "-c", f"ibtracert 1 {lid} 2>&1; true")
            if "To ca" in new and new != way:
                break
            need(time.monotonic() < deadline, new)
        f.host.run([context.verbena, "fabric", "--name", "cable", "link", "S-0000", first[2]])
    finally:
        f.end()


@case("subnet.standby", seconds=240)
def standby_takes_over(context):
    """Two managers: when the first is killed the other one becomes master. FAB-28, FAB-34"""
    f = Fabric(context, "two", "star:hosts=4")
    try:
        second = os.path.join(context.machine.folder, "osm.second.log")
        # A standby asks the master five times whether it is there, by default 10 s apart.
        options = os.path.join(context.machine.folder, "standby.conf")
        with open(options, "w", encoding="ascii") as file:
            file.write("sminfo_polling_timeout 300\n")
        first = f.manage("H-0000", "-p", "10")
        f.await_log("SUBNET UP")
        f.manage("H-0001", "-F", options, "-p", "5", log=second)
        f.await_log("Entering STANDBY state", log=second)
        first.kill()
        f.await_log("Entering MASTER state", log=second, seconds=120)
        f.await_log("SUBNET UP", log=second)
        need(f"sm lid {lid_of(f, 'H-0001')} " in f.run("H-0002", "sminfo"), "sminfo")
    finally:
        f.end()


@case("subnet.priority", seconds=240)
def priority_changes(context):
    """A standby whose priority rises tells the master by trap 144, which the fabric carries, and becomes master. FAB-34"""
    f = Fabric(context, "priority", "star:hosts=3")
    second = os.path.join(context.machine.folder, "osm.second.log")
    folder = context.machine.folder
    standby = None
    try:
        f.manage("H-0000", "-p", "5", "-s", "0")  # it looks at nothing by itself
        f.await_log("SUBNET UP")
        standby = f.host.start(f.at("H-0001", "opensm", "-e", "-d", "2", "-f", second, "-p", "3", "-console", "local"),
                               stdin=subprocess.PIPE, env={"OSM_TMP_DIR": folder, "OSM_CACHE_DIR": folder})
        f.await_log("Entering STANDBY state", log=second)
        text = f.run("H-0002", "sminfo")
        need(f"sm lid {lid_of(f, 'H-0000')} " in text, text)
        with open(f.log, encoding="utf-8", errors="replace") as log:
            before = log.read().count("num:144")
        standby.process.stdin.write(b"priority 12\n")
        standby.process.stdin.flush()
        f.await_log("Entering MASTER state", log=second, seconds=120)
        f.await_log("SUBNET UP", log=second)
        with open(f.log, encoding="utf-8", errors="replace") as log:
            need(log.read().count("num:144") > before, "the master has heard no trap 144")
        text = f.run("H-0002", "sminfo")
        need(f"sm lid {lid_of(f, 'H-0001')} " in text, text)
    finally:
        if standby:
            standby.end()
        f.end()


@case("subnet.write", seconds=120)
def writes(context):
    """Writes to umad0 by themselves: the kernel's errors, many at once, a child's, the last before close. MAD-11, MAD-23"""
    f = Fabric(context, "write", "star:hosts=2")
    try:
        f.manage()
        f.await_log("SUBNET UP")
        lid = lid_of(f, "H-0001")
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "umad_calls.py")
        # The last write clears them: without it these packets are still counted.
        f.run("H-0000", "sh", "-c", f"for i in $(seq 20); do perfquery {lid} 1 >/dev/null; done")
        fabric = f.host.run(["pgrep", "-f", "fabric --name write up"]).split()[0]
        text = f.run("H-0001", "python3", script, str(lid), fabric)
        need(text.splitlines() == ["agent EIO EINVAL", "size EINVAL EINVAL EINVAL", "route EINVAL",
                                   "equal written EINVAL EINVAL", "many 0 True", "child [(5000, 0)]", "gone EIO"], text)
        # A question and its answer, of perfquery, are all that was counted since.
        text = f.run("H-0000", "perfquery", str(lid), "1")
        packets = int(re.search(r"PortRcvPkts:\.*(\d+)", text)[1])
        need(packets < 8, text)
    finally:
        f.end()


@case("subnet.files", seconds=60)
def open_files(context):
    """An open umad0 as a file: reads, polls, ioctls, and its agents after dup, fork, SCM_RIGHTS and kill -9.
    MAD-05, MAD-14, MAD-16, MAD-23"""
    f = Fabric(context, "files", "star:hosts=2")
    try:
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "umad_files.py")
        text = f.run("H-0001", "python3", script)
        need(text.splitlines() == ["ioctl ENOTTY ENOTTY ENOTTY ('EINVAL', 1) ('EINVAL', 0)",
                                   "read EAGAIN EINVAL EINVAL 320 EAGAIN EINTR True", "poll out in+out out",
                                   "copies 11 0 13 0", "killed registered EINVAL registered"], text)
        # To a file that is open the end of the fabric is the end of its device. MAD-01
        p = f.host.start(f.at("H-0001", "/usr/bin/python3", script, "gone"))
        p.wait_output("^open$")
    finally:
        f.end()
    p.wait_output("^err True EIO EIO EPIPE ENXIO ENOENT$", 20)


@case("subnet.issm", seconds=60)
def one_manager(context):
    """An issm file has one holder; who opens it beside that waits, and kill -9 ends it as a close does. MAD-17"""
    f = Fabric(context, "issm", "star:hosts=2")
    try:
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "umad_issm.py")
        text = f.run("H-0001", "/usr/bin/python3", script)
        need(text.splitlines() == ["open False True", "second EAGAIN True", "then True EAGAIN True", "killed True"], text)
    finally:
        f.end()


@case("subnet.words", seconds=60)
def wrong_words(context):
    """Each mistake on the command line is named."""
    a, v = context.machine.a, context.verbena
    for argv, status, text in ((["fabric"], 2, "up, down"), (["fabric", "up"], 2, "'up' goes with a topology, and not with 0 arguments"),
                               (["fabric", "frob"], 2, "there is no word 'frob'"),
                               (["fabric", "unlink", "S-0000"], 2, "a node and a port"),
                               (["fabric", "relink"], 2, "a node, or a node and a port"),
                               (["fabric", "--name", "a/b", "show"], 2, "no name of a fabric"),
                               (["fabric", "show", "nothing"], 1, "no fabric 'nothing' runs"),
                               (["fabric", "up", "fat-tree:k=3"], 1, "k is even"),
                               (["fabric", "up", "/nowhere"], 1, "No such file"),
                               (["fabric", "set", "a", "1", "b", "c", "d", "e"], 2, "and not with 6 arguments"),
                               (["fabric", "route", "--out", "x"], 2, "'route' goes with a topology, and not with 0 arguments"),
                               (["fabric", "route", "star:hosts=2", "x", "--", "-v"], 2, "'x' is behind the topology"),
                               (["fabric", "up", "star:hosts=2", "--frob"], 2, "unknown option '--frob'"),
                               (["run", "--fabric", "x", "--", "true"], 2, "go together"),
                               (["run", "--fabric", "x", "--node", "H-0000", "--", "true"], 125, "no fabric 'x' runs")):
        out = a.run([v, *argv], status=status)
        need(text in out, f"{argv}: {out}")
    a.run([v, "fabric", "--name", "w", "up", "star:hosts=2"])
    try:
        out = a.run([v, "fabric", "--name", "w", "up", "star:hosts=2"], status=1)
        need("runs already" in out, out)
        out = a.run([v, "run", "--fabric", "w", "--node", "H-9999", "--", "true"], status=125)
        need("no node 'H-9999'" in out, out)
        out = a.run([v, "fabric", "--name", "w", "unlink", "H-0000", "7"], status=1)
        need("ports 1 to 1" in out, out)
        out = a.run([v, "fabric", "--name", "w", "relink", "H-0000", "1"], status=1)
        need("the cable at port 1 of 'H-0000' is not pulled" in out, out)
        a.run([v, "fabric", "--name", "w", "unlink", "H-0000", "1"])
        a.run([v, "fabric", "--name", "w", "relink", "H-0000"])
        need("unplugged" not in a.run([v, "fabric", "show", "w"]), "relink")
        dump = a.run([v, "fabric", "dump", "w"])
        need('Switch' in dump and 'H-0001' in dump, dump)
    finally:
        a.run([v, "fabric", "down", "w"])
    for i in range(10):
        # Options stand anywhere in front of "--".
        a.run([v, "fabric"] + [["--name", "w", "up", "star:hosts=2"], ["up", "--name", "w", "star:hosts=2"],
                               ["up", "star:hosts=2", "-n", "w"], ["-n", "w", "--", "up", "star:hosts=2"]][i % 4])
        a.run([v, "fabric", "down", "w"])


@case("subnet.set", seconds=120)
def slower_cables(context):
    """`fabric set`: a cable that does less: both ends train again, and tools see what they could do. LNK-35"""
    f = Fabric(context, "set", "pair")
    try:
        f.manage()
        f.await_log("SUBNET UP")
        def change(*more, status=0):
            return f.host.run([context.verbena, "fabric", "--name", "set", "set", "H-0001", *more], status=status)
        change("1", "speed=QDR", "width=1x")
        out = f.run("H-0000", "iblinkinfo")
        need(re.search(r"1X +10\.0 Gbps +\w+/ +LinkUp", out) and "Could be" in out, out)
        rate = f.run("H-0001", "cat", "/sys/class/infiniband/verbena0/ports/1/rate")
        need(rate.startswith("10 Gb/sec (1X QDR)"), rate)
        change("1", "speed=EDR", "width=4x")
        rate = f.run("H-0001", "cat", "/sys/class/infiniband/verbena0/ports/1/rate")
        need(rate.startswith("100 Gb/sec (4X EDR)"), rate)
        need("'speed=fast' is none of speed=SDR" in change("1", "speed=fast", status=1), "speed=fast")
        need("'width=3x' is none of" in change("1", "width=3x", status=1), "width=3x")
        need("ports 1 to 1" in change("7", "speed=QDR", status=1), "port 7")
    finally:
        f.end()


@case("subnet.local", seconds=120)
def changes_at_nodes(context):
    """A change that a node makes by itself reaches OpenSM as trap 131, 144 or 145, and shows in the fabric. FAB-19,
    FAB-33, FAB-34, LNK-20"""
    f = Fabric(context, "local", "star:hosts=2")
    change = [context.verbena, "fabric", "--name", "local"]
    try:
        f.manage("H-0000")
        f.await_log("SUBNET UP")
        watch = f.host.start([context.verbena, "fabric", "watch", "local"], name="fabric watch")
        time.sleep(0.3)
        f.host.run([*change, "set", "H-0001", "description=rack 7 host 2"])
        f.await_log("num:144")
        watch.wait_output("H-0001: trap 144", seconds=30)
        need("rack 7 host 2" in f.run("H-0000", "ibnetdiscover"), "ibnetdiscover")
        need(f.run("H-0001", "cat", "/sys/class/infiniband/verbena0/node_desc") == "rack 7 host 2\n", "node_desc")
        f.run("H-0001", "sh", "-c", "echo rack 8 > /sys/class/infiniband/verbena0/node_desc")
        watch.wait_output("(?s)trap 144.*trap 144", seconds=30)
        need("rack 8" in f.run("H-0000", "ibnetdiscover"), "ibnetdiscover")
        f.host.run([*change, "set", "H-0001", "sysimgguid=0x00aa00bb00cc00dd"])
        f.await_log("num:145")
        need("00aa:00bb:00cc:00dd" in f.run("H-0001", "cat", "/sys/class/infiniband/verbena0/sys_image_guid"), "guid")
        f.host.run([*change, "error", "S-0000", "1", "FlowControlSilence=1"])
        f.await_log("num:131")
        shown = f.host.run([*change, "show"])
        out = f.run("H-0000", "perfquery", re.search(r"S-0000 .* lid (\d+)", shown)[1], "1")
        need(re.search(r"LinkErrorRecoveryCounter:\.+1\b", out), out)
        f.host.run([*change, "set", "S-0000", "2", "enable-speed=QDR", "enable-width=1x"])
        watch.wait_output("S-0000: trap 144", seconds=30)
        need(re.search(r'1X +10\.0 Gbps', f.run("H-0000", "iblinkinfo")), f.run("H-0000", "iblinkinfo"))
    finally:
        f.end()


@case("subnet.watch", seconds=120)
def events_as_lines(context):
    """`fabric watch`: what a manager sets, a cable that is pulled, the trap of its switch, and the end."""
    f = Fabric(context, "watch", "star:hosts=2")
    try:
        watch = f.host.start([context.verbena, "fabric", "watch", "watch"], name="fabric watch")
        f.manage("H-0000", "-s", "0")
        for text in (r"H-0001: LID or LMC set", r"H-0001 port 1: ACTIVE, was ARMED", r"S-0000 port 2: ACTIVE"):
            watch.wait_output(r"^\d\d:\d\d:\d\d\.\d{3} .*" + text, seconds=30)
        f.host.run([context.verbena, "fabric", "--name", "watch", "unlink", "H-0001", "1"])
        watch.wait_output(r"H-0001 port 1: DOWN, was ACTIVE")
        watch.wait_output(r"S-0000: trap 128")
    finally:
        f.end()
    need(watch.wait(20) == 0, watch.story())
