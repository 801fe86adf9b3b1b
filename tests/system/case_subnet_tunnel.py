# SPDX-License-Identifier: BSD-2-Clause
"""Fabrics of two hosts that a tunnel over UDP joins to one subnet: OpenSM at one of them, programs at both, loss between them."""
import os
import re
import shutil
import signal
import time

from cases import case
from case_cm import NOBODY_YET, TOO_EARLY
from case_subnet import need
from hosts import Failure, Skip

A_IP, B_IP = "10.9.0.1", "10.9.0.2"
A_SIX, B_SIX = "fd09::1", "fd09::2"
# EDR slowed down to 5 Gb/s.
SLOW = "20"
PORT = 4800
HERE = os.path.dirname(os.path.abspath(__file__))
# Of a switch with a port to spare: the tunnel is at port 4 of either switch.
LEAF = """Switch 4 "S"
[1] "H-0"[1]
[2] "H-1"[1]
Ca 1 "H-0"
Ca 1 "H-1"
"""


class Part:
    """A fabric of one host, which tunnels join to others."""

    def __init__(self, context, host, name, topology, part, *options, slow=SLOW):
        self.context, self.host, self.name, self.part = context, host, name, part
        path = os.path.join(context.machine.folder, f"{name}.net")
        with open(path, "w", encoding="ascii") as out:
            out.write(topology)
        # Options come before the word; --sm waits for the subnet.
        self.begin = [context.verbena, "fabric", "--name", name, "--real-time", slow, "--part", str(part), *options, "up", path]
        host.run(self.begin, seconds=120)

    def fabric(self, *words, status=0):
        return self.host.run([self.context.verbena, "fabric", "--name", self.name, *words], status=status)

    def tunnel(self, node, port, local, peer, status=0):
        return self.fabric("tunnel", node, str(port), local, peer, status=status)

    def at(self, node, *command):
        return [self.context.verbena, "run", "--fabric", self.name, "--node", node, "--", *command]

    def run(self, node, *command, seconds=60, **options):
        return self.host.run(self.at(node, *command), seconds=seconds, **options)

    def shown(self):
        return self.fabric("show")

    def state(self, node="S", port=4):
        """The state of a port, and the rest of its line."""
        text = re.search(rf"^\w+ {node} .*?(?=^\w|\Z)", self.shown(), re.M | re.S)[0]
        return re.search(rf"^ +{port} (\w+) +(.*)$", text, re.M).groups()

    def await_state(self, *states, node="S", port=4, seconds=30):
        end = time.monotonic() + seconds
        while self.state(node, port)[0] not in states:
            need(time.monotonic() < end, f"port {port} of {node} is not {states}:\n{self.shown()}")
            time.sleep(0.05)

    def ip(self, number):
        return f"10.{self.part}.0.{number}"

    def pid(self):
        """The process of the fabric."""
        for pid in self.host.pids():
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                argv = f.read().split(b"\0")
            if b"up" in argv and self.name.encode() in argv:
                return pid
        raise Failure(f"no process of the fabric {self.name}")

    def end(self):
        self.host.run([self.context.verbena, "fabric", "down", self.name], status=None)


class Two:
    """Hosts a and b, a leaf at each, and a tunnel; OpenSM is at the first host of a."""

    def __init__(self, context, name, one=LEAF, other=LEAF, six=False, slow=SLOW, manage=True, relay=None):
        if not shutil.which("opensm"):
            raise Skip("opensm is not installed")
        a, b = context.machine.two()
        self.context, self.manager = context, None
        self.log = os.path.join(context.machine.folder, f"osm.{name}.log")
        port = a.pick_port()
        self.ends = [f"[{A_SIX}]:{port}", f"[{B_SIX}]:{port}"] if six else [f"{A_IP}:{port}", f"{B_IP}:{port}"]
        self.a = Part(context, a, name, one, 1, slow=slow)
        self.b = None
        try:
            self.b = Part(context, b, name, other, 2, slow=slow)
            self.a.tunnel("S", 4, *(relay.ends_of_a if relay else self.ends))
            need(self.a.state()[0] == "DOWN" and "nobody answers" in self.a.shown(), self.a.shown())
            self.b.tunnel("S", 4, *(relay.ends_of_b if relay else reversed(self.ends)))
            for p in (self.a, self.b):
                p.await_state("INIT")
            if manage:
                self.manage()
        except BaseException:
            self.end()
            raise

    def manage(self, *options):
        folder = self.context.machine.folder
        self.manager = self.a.host.start(self.a.at("H-0", "opensm", "-e", "-d", "2", "-f", self.log, "-s", "0", *options),
                                         env={"OSM_TMP_DIR": folder, "OSM_CACHE_DIR": folder})
        for p in (self.a, self.b):
            for port in (4, 1, 2):
                p.await_state("ACTIVE", port=port, seconds=60)

    def both(self, program, *options, seconds=60, server="H-1", client="H-1", client_options=()):
        """A server at b and a client at a, which talk by TCP about their connection."""
        port = str(self.a.host.pick_port())
        s = self.b.host.start(self.b.at(server, "stdbuf", "-oL", program, "-p", port, *options), name=f"{program} server")
        s.wait_listen(int(port))
        c = self.a.host.start(self.a.at(client, "stdbuf", "-oL", program, "-p", port, *options, *client_options, B_IP),
                              name=f"{program} client")
        for p in (c, s):
            need(p.wait(seconds) == 0, c.story() + s.story() + self.a.shown() + self.b.shown())
        out = c.output() + s.output()
        need(not re.search("invalid data|Failed|mismatch", out), out)
        return out

    def connect(self, server, client, address, seconds=60):
        """Programs of RDMA CM; the client comes again while the server does not listen yet."""
        s = self.b.host.start(self.b.at("H-1", "stdbuf", "-oL", *server), name=f"{server[0]} server")
        end = time.monotonic() + seconds
        while True:
            c = self.a.host.start(self.a.at("H-1", "stdbuf", "-oL", *client), name=f"{client[0]} client")
            if c.wait(seconds) == 0:
                break
            need(re.search(f"{NOBODY_YET}|{TOO_EARLY}", c.output()) and time.monotonic() < end,
                 f"to {address}\n" + c.story() + s.story() + self.a.shown())
        need(s.wait(seconds) == 0, c.story() + s.story())

    def end(self):
        if self.manager:
            self.manager.end()
        for p in (self.a, self.b):
            if p:
                p.end()


@case("subnet.tunnel.managed", seconds=300)
def one_manager_for_two_hosts(context):
    """OpenSM at one host brings up the nodes of both: programs of infiniband-diags see one subnet, from either side.
    FAB-09 to FAB-13, LNK-31, LNK-35"""
    t = Two(context, "tm")
    try:
        for part in (t.a, t.b):
            out = part.run("H-1", "ibnetdiscover")
            need(len(re.findall(r"^Switch", out, re.M)) == 2 and len(re.findall(r"^Ca", out, re.M)) == 4, out)
            out = part.run("H-1", "saquery", "-N")
            need(len(re.findall("NodeRecord dump", out)) == 6, out)
        lids = {p.part: int(p.run("H-1", "cat", "/sys/class/infiniband/verbena0/ports/1/lid"), 16) for p in (t.a, t.b)}
        need(len(set(lids.values())) == 2, str(lids))
        # By LID, by a directed route, and by both; a GMP and its answer.
        out = t.a.run("H-1", "smpquery", "nodedesc", str(lids[2]))
        need("H-1" in out, out)
        out = t.a.run("H-1", "smpquery", "-D", "nodedesc", "0,1,4,2")
        need("H-1" in out, out)
        switch = re.search(r"^Switch S .* lid (\d+)$", t.b.shown(), re.M)[1]
        out = t.a.run("H-1", "smpquery", "-c", "nodedesc", switch, "0,2")
        need("H-1" in out, out)
        out = t.a.run("H-1", "perfquery", str(lids[2]), "1")
        need("PortXmitWait" in out, out)
        out = t.b.run("H-0", "ibtracert", str(lids[2]), str(lids[1]))
        need("To ca" in out, out)
        # Each side says what is behind.
        need(f"-> tunnel {t.ends[0]} to {t.ends[1]}: S port 4" in t.a.shown() and t.b.ip(2) in t.a.shown(), t.a.shown())
        need(f"-> tunnel {t.ends[1]} to {t.ends[0]}: S port 4" in t.b.shown() and t.a.ip(2) in t.b.shown(), t.b.shown())
        # A limit of one end is that of the link.
        t.b.fabric("set", "S", "4", "speed=QDR", "width=1x")
        for p in (t.a, t.b):
            p.await_state("ACTIVE")
        out = t.a.run("H-1", "smpquery", "-D", "portinfo", "0,1", "4")
        need("LinkWidthActive:.................1X" in out and "10.0 Gbps" in out, out)
    finally:
        t.end()


@case("subnet.tunnel.programs", seconds=300)
def programs_cross(context):
    """Pingpongs, perftest and programs of RDMA CM from host to host, whose addresses the fabrics have told each other.
    LNK-16, LNK-38, FAB-56, FAB-57"""
    t = Two(context, "tp", six=True)
    try:
        for kind in ("rc", "uc", "ud", "srq"):
            t.both(f"ibv_{kind}_pingpong", "-n", "200", "-c")
            t.both(f"ibv_{kind}_pingpong", "-n", "50", "-g", "0", "-c")
        for argv in (["ib_write_bw", "-n", "500"], ["ib_read_bw", "-n", "200"], ["ib_send_bw", "-n", "200", "-c", "UD"],
                     ["ib_atomic_bw", "-n", "100"], ["ib_send_lat", "-n", "200"], ["ib_send_bw", "-n", "200", "-c", "UC"]):
            t.both(*argv)
        address = t.b.ip(2)
        t.connect(["rping", "-s", "-a", address, "-C", "50", "-V"], ["rping", "-c", "-a", address, "-C", "50", "-V"], address)
        t.connect(["ucmatose", "-b", address, "-c", "4", "-C", "20"], ["ucmatose", "-s", address, "-c", "4", "-C", "20"], address)
        t.connect(["udaddy", "-b", address, "-c", "2", "-C", "10"], ["udaddy", "-s", address, "-c", "2", "-C", "10"], address)
        # A group with members at both hosts, whose tree crosses the tunnel.
        receiver = t.b.host.start(t.b.at("H-1", "stdbuf", "-oL", "mckey", "-m", "239.1.2.3", "-b", address, "-C", "5"))
        receiver.wait_output("receiving data transfers")
        switch = re.search(r"^Switch S .* lid (\d+)$", t.a.shown(), re.M)[1]
        sender = ["mckey", "-m", "239.1.2.3", "-b", t.a.ip(2), "-s", "-C", "5"]
        end = time.monotonic() + 30
        while receiver.status() is None:  # the manager writes the tree after the last one has joined
            need(time.monotonic() < end, receiver.story() + t.a.run("H-0", "ibroute", "-M", switch))
            t.a.run("H-1", *sender)
        need(receiver.wait(10) == 0, receiver.story())
    finally:
        t.end()


def port_counters(part, lid, port):
    out = part.run("H-0", "perfquery", str(lid), str(port))
    return {k: int(v) for k, v in re.findall(r"^(\w+):\.*(\d+)$", out, re.M)}


class Relay:
    """Stands between the ends of a tunnel, on host a."""

    def __init__(self, context, *shares):
        a, _ = context.machine.two()
        self.ports = [a.pick_port() for _ in range(4)]
        near_end, near, far, far_end = self.ports
        self.program = a.start(["/usr/bin/python3", os.path.join(HERE, "tunnel_relay.py"), "7", *map(str, shares),
                                f"{A_IP}:{near}", f"{A_IP}:{near_end}", f"{A_IP}:{far}", f"{B_IP}:{far_end}"], name="relay")
        self.program.wait_output("^ready$")
        self.ends_of_a = [f"{A_IP}:{near_end}", f"{A_IP}:{near}"]
        self.ends_of_b = [f"{B_IP}:{far_end}", f"{A_IP}:{far}"]

    def heal(self):
        self.program.kill(signal.SIGUSR1)

    def counts(self):
        self.program.kill(signal.SIGTERM)
        self.program.wait(10)
        return {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", self.program.output())}


@case("subnet.tunnel.loss", seconds=300)
def flow_control_survives_loss(context):
    """2 % of the datagrams are lost, 1 % come late and 1 % twice, in both directions: each loss takes credits, which the next flow
    control gives back; RC repeats, MADs are asked for again, and the link stays up. LNK-16, LNK-20, LNK-21"""
    relay = Relay(context, 0.02, 0.01, 0.01)
    t = Two(context, "tl", relay=relay)
    try:
        for argv in (["ib_write_bw", "-n", "1000"], ["ib_send_bw", "-n", "500"], ["ib_read_bw", "-n", "300"]):
            t.both(*argv, seconds=120)
        t.both("ibv_rc_pingpong", "-n", "1000", "-c", seconds=120)
        address = t.b.ip(2)
        t.connect(["rping", "-s", "-a", address, "-C", "50", "-V"], ["rping", "-c", "-a", address, "-C", "50", "-V"], address)
        relay.heal()
        t.both("ib_write_bw", "-n", "500")
        t.both("ibv_uc_pingpong", "-n", "500", "-c")
        for p in (t.a, t.b):
            need(p.state()[0] == "ACTIVE" and re.search(r", [1-9]\d* late", p.shown()), p.shown())
            lid = re.search(r"^Switch S .* lid (\d+)$", p.shown(), re.M)[1]
            found = port_counters(p, lid, 4)
            need(found["LinkDownedCounter"] == 0 and found["LinkErrorRecoveryCounter"] == 0 and
                 found["ExcessiveBufferOverrunErrors"] == 0, str(found))
        counts = relay.counts()
        # More packets of 4 KB were lost than a lane has credits for.
        need(counts["lost"] > 100 and counts["late"] > 50 and counts["twice"] > 50, str(counts))
    finally:
        t.end()
        relay.program.end()


@case("subnet.tunnel.silence", seconds=180)
def silence_of_flow_control_is_noticed(context):
    """A host that stops for a while has not heard nothing: it counts periods of its own. The other one has: its link recovers, then
    goes down, and comes back. LNK-20"""
    t = Two(context, "ts")
    try:
        watch = {p.part: p.host.start([context.verbena, "fabric", "--name", "ts", "watch"]) for p in (t.a, t.b)}
        time.sleep(0.3)
        pid = t.b.pid()
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.6)
        os.kill(pid, signal.SIGCONT)
        watch[1].wait_output(r"S: trap 131")
        lid = re.search(r"^Switch S .* lid (\d+)$", t.a.shown(), re.M)[1]
        found = port_counters(t.a, lid, 4)
        need(found["LinkErrorRecoveryCounter"] == 1 and found["LinkDownedCounter"] == 0, str(found))
        need(t.a.state()[0] == "ACTIVE" and "trap 131" not in watch[2].output(), t.a.shown() + watch[2].story())
        t.both("ibv_rc_pingpong", "-n", "200", "-c")
        os.kill(pid, signal.SIGSTOP)
        t.a.await_state("DOWN", seconds=10)
        os.kill(pid, signal.SIGCONT)
        for p in (t.a, t.b):
            p.await_state("ACTIVE", seconds=60)
        t.b.await_state("ACTIVE", port=2)
        t.both("ibv_rc_pingpong", "-n", "200", "-c")
    finally:
        t.end()


@case("subnet.tunnel.kill", seconds=300)
def a_killed_fabric_is_noticed(context):
    """The fabric of one host is killed: the other's port goes down, its switch tells the manager, which takes the nodes out;
    when the fabric is back, so are they. A tunnel that is taken away and put back does the same at once. LNK-20, LNK-31, FAB-32"""
    t = Two(context, "tk")
    try:
        watch = t.a.host.start([context.verbena, "fabric", "--name", "tk", "watch"])
        time.sleep(0.3)
        os.kill(t.b.pid(), signal.SIGKILL)
        t.a.await_state("DOWN", seconds=20)
        watch.wait_output(r"S: trap 128")
        need(re.search(r"S: trap 131", watch.output()), watch.story())
        need(re.search(rf"S port 4: the other end of the tunnel, {t.ends[1]}, is silent, or another process$", watch.output(), re.M),
             watch.story())
        need("nobody answers" in t.a.shown() and t.b.ip(2) not in t.a.shown(), t.a.shown())

        def nodes():
            return len(re.findall("NodeRecord dump", t.a.run("H-1", "saquery", "-N")))
        end = time.monotonic() + 30
        while nodes() != 3:
            need(time.monotonic() < end, "the manager still has nodes that are gone")
            time.sleep(0.2)
        t.b.host.run(t.b.begin, seconds=60)
        t.b.tunnel("S", 4, *reversed(t.ends))
        for p in (t.a, t.b):
            p.await_state("ACTIVE", seconds=60)
        watch.wait_output(rf"S port 4: the other end of the tunnel, {t.ends[1]}, answers$")
        t.b.await_state("ACTIVE", port=2)
        t.both("ibv_rc_pingpong", "-n", "200", "-c")
        # The other end hears of it before it would miss anything.
        t.b.fabric("untunnel", "S", "4")
        t.a.await_state("DOWN", seconds=0.5)
        t.b.tunnel("S", 4, *reversed(t.ends))
        for p in (t.a, t.b):
            p.await_state("ACTIVE", seconds=60)
        # A pulled cable is pulled at both ends.
        t.a.fabric("unlink", "S", "4")
        t.b.await_state("DOWN", seconds=0.5)
        t.a.fabric("link", "S", "4")
        for p in (t.a, t.b):
            p.await_state("ACTIVE", seconds=60)
        t.b.await_state("ACTIVE", port=2)
        t.both("ibv_rc_pingpong", "-n", "200", "-c")
    finally:
        t.end()


@case("subnet.tunnel.refused", seconds=120)
def tunnels_that_make_no_sense_are_refused(context):
    """Each mistake has its line: nodes, ports, cables, addresses, fabrics without time, and fabrics that were started alike."""
    a, b = context.machine.two()
    ends = [f"{A_IP}:{a.pick_port()}", f"{B_IP}:{PORT}"]
    p = Part(context, a, "tr", LEAF, 1)
    twin = plain = None
    try:
        def refused(part, line, *words):
            out = part.fabric("tunnel", *words, status=1)
            need(line in out, f"{words}: {out}")
        refused(p, "the fabric has no node 'X'", "X", "4", *ends)
        refused(p, "'S' has the ports 1 to 4", "S", "5", *ends)
        refused(p, "a cable is at port 1 of 'S'", "S", "1", *ends)
        refused(p, "'10.9.0.2' is no address and port", "S", "4", ends[0], B_IP)
        for wrong in ("nowhere:1", "10.9.0.1:0", "10.9.0.1:65536", "10.9.0.1:x", ":1", "fd09::1:4", "[fd09::1]", "[fd09::1:4"):
            refused(p, f"'{wrong}' is no address and port", "S", "4", wrong, ends[1])
        refused(p, "are of two families", "S", "4", ends[0], f"[{B_SIX}]:4000")
        refused(p, "10.9.0.77:4000 is no address of this host", "S", "4", "10.9.0.77:4000", ends[1])
        out = p.fabric("untunnel", "S", "4", status=1)
        need("no tunnel is at port 4 of 'S'" in out, out)
        p.tunnel("S", 4, *ends)
        refused(p, "a tunnel is at port 4 of 'S'", "S", "4", *ends)
        refused(p, f"{ends[0]} is in use by another socket", "S", "3", *ends)
        out = p.fabric("tunnel", "S", "4", status=2)
        need("'tunnel' goes with a node, a port, and the addresses of its two ends" in out, out)
        out = a.run([context.verbena, "fabric", "--part", "256", "up", "pair"], status=2)
        need("--part takes a whole number from 0 to 255, not '256'" in out, out)
        plain = "trp"
        a.run([context.verbena, "fabric", "--name", plain, "up", "star:hosts=2"])
        out = a.run([context.verbena, "fabric", "--name", plain, "tunnel", "S-0000", "2", *ends], status=1)
        need("the fabric 'trp' is not in real time: tunnels are for fabrics that" in out, out)
        # Two fabrics that were started alike.
        twin = Part(context, b, "tr", LEAF, 1)
        twin.tunnel("S", 4, *reversed(ends))
        end = time.monotonic() + 10
        while "'up --part' gives each fabric others" not in p.shown():
            need(time.monotonic() < end, p.shown())
            time.sleep(0.05)
        need(p.state()[0] == "DOWN" and twin.state()[0] == "DOWN", p.shown() + twin.shown())
    finally:
        for part in (p, twin):
            if part:
                part.end()
        if plain:
            a.run([context.verbena, "fabric", "down", plain], status=None)


# Host b has a router behind the far switch, into a subnet of its own.
ROUTED = """Switch 4 "S"
[1] "H-0"[1]
[2] "R"[1]

Switch 4 "S-B"
[1] "H-1"[1]
[2] "H-2"[1]
[3] "R"[2]

Ca 1 "H-0"
Ca 1 "H-1"
Ca 1 "H-2"
Rt 2 "R"
"""
PREFIX_A, PREFIX_B = 0xFEC0000000000001, 0xFEC0000000000002


def guid_of(part, node):
    """Of the node, as `show` has it; a port has that and its number."""
    return int(re.search(rf"^\w+ {node} 0x([0-9a-f]+)", part.shown(), re.M)[1], 16)


@case("subnet.tunnel.router", seconds=300)
def a_router_behind_the_tunnel(context):
    """A subnet that reaches over both hosts, and a router at one of them into another subnet: programs of RDMA CM cross both. The
    router finds the LIDs of ports at the other host. FAB-06, FAB-07, FAB-56"""
    t = Two(context, "tq", other=ROUTED, manage=False)
    managers = []
    try:
        router = guid_of(t.b, "R")
        folder = context.machine.folder
        for part, node, own, other, port in ((t.a, "H-0", PREFIX_A, PREFIX_B, 1), (t.b, "H-2", PREFIX_B, PREFIX_A, 2)):
            routes, conf, log = (os.path.join(folder, f"tq.{node}.{x}") for x in ("routes", "conf", "log"))
            with open(routes, "w", encoding="ascii") as out:
                out.write(f"{other:#x} {router + port:#x}\n")
            with open(conf, "w", encoding="ascii") as out:
                out.write(f"subnet_prefix {own:#x}\nprefix_routes_file {routes}\n")
            managers.append(part.host.start(part.at(node, "opensm", "-e", "-d", "2", "-f", log, "-s", "0", "-F", conf),
                                            env={"OSM_TMP_DIR": folder, "OSM_CACHE_DIR": folder}))
        t.a.await_state("ACTIVE", port=2)
        t.b.await_state("ACTIVE", port=2)
        t.b.await_state("ACTIVE", node="S-B", port=1, seconds=60)
        address = t.b.ip(2)  # H-1 is in the other subnet
        t.connect(["rping", "-s", "-a", address, "-C", "50", "-V"], ["rping", "-c", "-a", address, "-C", "50", "-V"], address)
        t.connect(["ucmatose", "-b", address, "-c", "2", "-C", "10"], ["ucmatose", "-s", address, "-c", "2", "-C", "10"], address)
        need(not re.search("not routed|hop limit", t.b.shown()), t.b.shown())
    finally:
        for m in managers:
            m.end()
        t.end()


# Between two others: port 3 and 4 have tunnels.
MIDDLE = """Switch 4 "S"
[1] "H-0"[1]
Ca 1 "H-0"
"""


@case("subnet.tunnel.chain", seconds=300)
def three_hosts_in_a_row(context):
    """The fabric between two others carries their packets, and tells each what is behind the other. When one goes, it is forgotten
    at the far end, too. FAB-56, LNK-16"""
    if not shutil.which("opensm"):
        raise Skip("opensm is not installed")
    a, b = context.machine.two()
    ports = [a.pick_port() for _ in range(2)]
    parts, manager = [], None
    try:
        # Hosts a and b have the ends of the row; the middle one is a second fabric of host a.
        one, middle, last = Part(context, a, "tc1", LEAF, 1), Part(context, a, "tc2", MIDDLE, 2), Part(context, b, "tc3", LEAF, 3)
        parts = [one, middle, last]
        one.tunnel("S", 4, f"127.0.0.1:{ports[0]}", f"127.0.0.1:{ports[1]}")
        middle.tunnel("S", 3, f"127.0.0.1:{ports[1]}", f"127.0.0.1:{ports[0]}")
        middle.tunnel("S", 4, f"{A_IP}:{ports[0]}", f"{B_IP}:{ports[0]}")
        last.tunnel("S", 4, f"{B_IP}:{ports[0]}", f"{A_IP}:{ports[0]}")
        folder = context.machine.folder
        manager = a.start(middle.at("H-0", "opensm", "-e", "-d", "2", "-f", os.path.join(folder, "osm.tc.log"), "-s", "0"),
                          env={"OSM_TMP_DIR": folder, "OSM_CACHE_DIR": folder})
        for p in (one, last):
            for port in (4, 1, 2):
                p.await_state("ACTIVE", port=port, seconds=60)
        end = time.monotonic() + 10
        while not (f"{last.ip(2)} through 1 more tunnel" in one.shown() and f"{one.ip(2)} through 1 more tunnel" in last.shown()):
            need(time.monotonic() < end, one.shown() + last.shown())
            time.sleep(0.05)
        address = last.ip(2)
        t = Two.__new__(Two)
        t.a, t.b = one, last
        t.connect(["rping", "-s", "-a", address, "-C", "50", "-V"], ["rping", "-c", "-a", address, "-C", "50", "-V"], address)
        t.both("ib_write_bw", "-n", "200")
        last.end()
        parts.remove(last)
        end = time.monotonic() + 10
        while address in one.shown():
            need(time.monotonic() < end, one.shown())
            time.sleep(0.05)
    finally:
        if manager:
            manager.end()
        for p in parts:
            p.end()
