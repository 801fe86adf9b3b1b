# SPDX-License-Identifier: BSD-2-Clause
"""Fabrics of one host that were started apart, each with an OpenSM and a prefix of its own, and that a router joins
afterwards."""
import os
import re
import signal
import time

from cases import case
from case_subnet import Fabric, lid_of, need
from case_subnet_cm import connect, gid_of
from case_subnet_router import BY_IP, PREFIX_A, PREFIX_B, await_drops, drops, manage_by_hand, write
from case_subnet_verbs import CLIENT, SERVER, both, counters, growth, start

# CLIENT is in the first fabric, and so is the router, whose second port has no cable; SERVER is in the second one.
FIRST = """
Switch 8 "S-A"
[1] "H-0000"[1]
[2] "H-0002"[1]
[8] "R-0000"[1]
Ca 1 "H-0000"
Ca 1 "H-0002"
Rt 2 "R-0000"
"""
SECOND = """
Switch 8 "S-B"
[1] "H-0003"[1]
[2] "H-0001"[1]
Ca 1 "H-0003"
Ca 1 "H-0001"
"""
# It has a router, too.
THIRD = """
Switch 8 "S-C"
[1] "H-0004"[1]
[2] "H-0005"[1]
[8] "R-0001"[1]
Ca 1 "H-0004"
Ca 1 "H-0005"
Rt 2 "R-0001"
"""
JOIN = ("R-0000", "2", "jb", "S-B", "8")
PREFIX_C = 0xfec0000000000003
CLIENT_IP, SERVER_IP = "10.1.0.2", "10.2.0.2"
# EDR slowed down to 5 Gb/s.
SLOW = ("--real-time", "20")


class Beside:
    """Two fabrics or more, for those who do not ask in which of them a node is: ja, jb, ..."""

    def __init__(self, context, *options, prefixes=(), texts=(FIRST, SECOND)):
        self.context, self.fabrics, self.texts = context, [], texts
        try:
            for i, text in enumerate(texts):
                name = "j" + "abc"[i]
                own = (*options, *SLOW, "--part", str(i + 1), *(("--prefix", hex(prefixes[i])) if prefixes else ()))
                self.fabrics.append(Fabric(context, name, write(context, f"{name}.net", text), *own))
        except BaseException:
            self.end()
            raise
        self.a, self.b = self.fabrics[:2]
        self.host, self.name = self.a.host, self.a.name

    def of(self, node):
        return next(f for f, text in zip(self.fabrics, self.texts) if f'"{node}"' in text)

    def at(self, node, *command, **options):
        return self.of(node).at(node, *command, **options)

    def run(self, node, *command, **options):
        return self.of(node).run(node, *command, **options)

    def fabric(self, name, *words, status=0):
        return self.host.run([self.context.verbena, "fabric", "--name", name, *words], status=status)

    def join(self, status=0):
        return self.fabric("ja", "join", *JOIN, status=status)

    def await_state(self, node, port, state, seconds=60):
        end = time.monotonic() + seconds
        while True:
            shown = self.fabric(self.of(node).name, "show", node)
            if re.search(rf"^ +{port} {state} ", shown, re.M):
                return shown
            need(time.monotonic() < end, f"port {port} of {node} is not {state}:\n{shown}")
            time.sleep(0.05)

    def await_joined(self):
        self.await_state("R-0000", 2, "ACTIVE")
        self.await_state("S-B", 8, "ACTIVE")
        end = time.monotonic() + 10
        while not (SERVER_IP in self.fabric("ja", "show") and CLIENT_IP in self.fabric("jb", "show")):
            need(time.monotonic() < end, self.fabric("ja", "show") + self.fabric("jb", "show"))
            time.sleep(0.05)
        self.await_path(CLIENT, SERVER)
        self.await_path(SERVER, CLIENT)

    def path(self, one, other):
        """The PathRecord from a node to another one; empty: the manager has none."""
        out = self.run(one, "saquery", "PR", "--sgid", gid_of(self, one), "--dgid", gid_of(self, other), status=None)
        return out if re.search(r"hop_flow_raw\.+0xFF$|hop_limit\.+255", out, re.M | re.I) else ""

    def await_path(self, one, other, is_there=True):
        """The manager has heard which router leads there, and has swept."""
        end = time.monotonic() + 30
        while bool(self.path(one, other)) != is_there:
            need(time.monotonic() < end, f"the path from {one} to {other}: {self.path(one, other)}")
            time.sleep(0.1)

    def pid(self, name):
        """The process of a fabric."""
        return int(self.host.run(["pgrep", "-o", "-f", f"fabric --name {name} "]).split()[0])

    def end(self):
        for f in self.fabrics:
            for p in f.managers:
                p.end()
            f.host.run([self.context.verbena, "fabric", "down", f.name], status=None)


@case("subnet.router.joined", seconds=400)
def fabrics_that_a_router_joins(context):
    """Each fabric has its OpenSM and its prefix before the other is there. Then a router of the first one gets a cable to a
    switch of the second: programs of RDMA CM cross by RC and UD, both ways, by addresses of the other fabric. FAB-06, FAB-07,
    FAB-56, IBT-95, LNK-06"""
    f = Beside(context, "--sm", prefixes=(PREFIX_A, PREFIX_B))
    try:
        need(gid_of(f, CLIENT).startswith("fec0:0000:0000:0001:") and gid_of(f, SERVER).startswith("fec0:0000:0000:0002:"),
             gid_of(f, CLIENT) + gid_of(f, SERVER))
        out = f.run(CLIENT, "rping", "-c", "-a", SERVER_IP, "-C", "1", status=None)
        need("Network is unreachable" in out or "ADDR_ERROR" in out, out)
        f.join()
        f.await_joined()
        shown = f.fabric("ja", "show")
        need(re.search(rf"^ +2 ACTIVE .* prefix 0x{PREFIX_B:x} -> tunnel 127.0.0.1:\d+ to 127.0.0.1:\d+: S-B port 8$", shown, re.M), shown)
        # Each manager has the router, and nobody behind it.
        for one, there, away in ((CLIENT, "H-0000", "H-0003"), (SERVER, "H-0003", "H-0000")):
            out = f.run(one, "ibnetdiscover")
            need('"R-0000"' in out and there in out and away not in out, out)
        for server, client in BY_IP:
            connect(f, server, client, SERVER_IP)
        connect(f, "ucmatose -f gid -b S -c 4 -C 10", "ucmatose -f gid -s S -c 4 -C 10", gid_of(f, SERVER))
        turned = Roles(f, CLIENT, SERVER)
        for server, client in BY_IP[:4]:
            connect(turned, server, client, CLIENT_IP)
        need(drops(f, context, "not routed") == 0 and drops(f, context, "at the end of their hop limit") == 0, f.fabric("ja", "show"))
    finally:
        f.end()


class Roles:
    """The same fabrics with server and client at other nodes."""

    def __init__(self, f, server, client):
        self.f, self.host, self.role = f, f.host, {SERVER: server, CLIENT: client}

    def at(self, node, *command, **options):
        return self.f.at(self.role.get(node, node), *command, **options)


@case("subnet.router.joined_row", seconds=400)
def fabrics_in_a_row(context):
    """Three fabrics, of which the one in the middle has a router to each of the others: data crosses one router or both, and each
    manager has heard which router leads where, so that answers come from where the packets went. FAB-06, FAB-07, FAB-56"""
    f = Beside(context, "--sm", prefixes=(PREFIX_A, PREFIX_B, PREFIX_C), texts=(FIRST, SECOND, THIRD))
    try:
        f.join()
        f.await_joined()
        need(not f.path(CLIENT, "H-0005"), "there is a path before there is a router")
        f.fabric("jc", "join", "R-0001", "2", "jb", "S-B", "7")
        f.await_state("R-0001", 2, "ACTIVE")
        nodes = {CLIENT: CLIENT_IP, SERVER: SERVER_IP, "H-0005": "10.3.0.2"}
        for one in nodes:
            for other in nodes:
                if one != other:
                    f.await_path(one, other)
        # The middle one has two routers, and a path by the right one.
        dlids = {to: re.search(r"dlid\.+(\d+)$", f.path(SERVER, to), re.M)[1] for to in (CLIENT, "H-0005")}
        need(len(set(dlids.values())) == 2, dlids)
        for server, client in ((SERVER, CLIENT), (CLIENT, SERVER), ("H-0005", SERVER), (SERVER, "H-0005"), ("H-0005", CLIENT),
                               (CLIENT, "H-0005")):
            for pair in (("rping -s -a S -C 20 -V", "rping -c -a S -C 20 -V"), ("udaddy -b S -c 2 -C 10", "udaddy -s S -c 2 -C 10")):
                connect(Roles(f, server, client), *pair, nodes[server])
        shown = f.fabric("ja", "show") + f.fabric("jc", "show")
        need(not re.search("not routed|hop limit", shown), shown)
        # A router that leads nowhere any more is taken out of the managers' routes.
        f.fabric("jb", "untunnel", "S-B", "7")
        f.await_path(SERVER, "H-0005", is_there=False)
        connect(f, "rping -s -a S -C 20 -V", "rping -c -a S -C 20 -V", SERVER_IP)
    finally:
        f.end()


@case("subnet.router.joined_lids", seconds=300)
def data_crosses_by_lid(context):
    """Two OpenSMs of a user, and data by verbs with a GRH: RC and UD cross with a hop limit of 255, and end at the router with
    one of 1. perftest tells the peer its own LID, which here is the router's LID in the peer's subnet. FAB-06, LNK-06"""
    f = Beside(context)
    try:
        guid = {n: int(re.search(rf"^\w+ {n} 0x([0-9a-f]+)", f.fabric(f.of(n).name, "show"), re.M)[1], 16)
                for n in (CLIENT, SERVER, "R-0000")}
        near, far = guid["R-0000"] + 1, guid["R-0000"] + 2
        f.join()
        manage_by_hand(f.a, context, "H-0000", "a", ((guid[CLIENT] + 1, 20), (near, 30)), PREFIX_A, PREFIX_B, near)
        manage_by_hand(f.b, context, "H-0003", "b", ((guid[SERVER] + 1, 30), (far, 20)), PREFIX_B, PREFIX_A, far)
        f.await_joined()
        need(lid_of(f, CLIENT) == 20 and lid_of(f, SERVER) == 30, f"{lid_of(f, CLIENT)} {lid_of(f, SERVER)}")
        before = counters(f, 30, 1)
        for argv in (["ib_send_bw", "-n", "200"], ["ib_write_bw", "-n", "200"], ["ib_read_bw", "-n", "200"],
                     ["ib_atomic_bw", "-n", "200"], ["ib_send_bw", "-n", "200", "-c", "UD", "-s", "1024"],
                     ["ib_send_lat", "-n", "200"]):
            both(f, *argv, "-x", "0", "-F")
        need(growth(f, 30, 1, before)["PortRcvPkts"] > 1000, "no packets at the router")
        need(drops(f, context, "not routed") == 0 and drops(f, context, "at the end of their hop limit") == 0,
             "the router dropped packets")
        server, client = start(f, "ibv_rc_pingpong", "-n", "10", "-g", "0")
        need(client.wait(60) == 1 and "transport retry counter exceeded" in client.output(), client.story())
        server.end()
        await_drops(f, context, "at the end of their hop limit", 2)
    finally:
        f.end()


def stream(f):
    """A server and a client whose data crosses for a while."""
    port = str(f.host.pick_port())
    server = f.host.start(f.at(SERVER, "ib_write_bw", "-R", "-F", "-D", "60", "-p", port), name="server")
    end = time.monotonic() + 20
    while True:
        client = f.host.start(f.at(CLIENT, "ib_write_bw", "-R", "-F", "-D", "60", "-p", port, SERVER_IP), name="client")
        time.sleep(1)
        if client.status() is None:
            return server, client
        need(time.monotonic() < end and server.status() is None, client.story() + server.story())


def need_broken(f, server, client):
    """RC gives up."""
    need(client.wait(90) != 0 and re.search("transport retry counter exceeded|status 12|Completion with error", client.output()),
         client.story() + f.fabric("ja", "show"))
    server.end()


@case("subnet.router.joined_ends", seconds=600)
def what_was_joined_ends(context):
    """The tunnel is taken away, its cable is pulled, the process of the other fabric is killed: RC gives up with its status, the
    fabric that stays is well, and both can be joined again. FAB-06, FAB-32, LNK-20, LNK-31"""
    f = Beside(context, "--sm", prefixes=(PREFIX_A, PREFIX_B))
    try:
        f.join()
        f.await_joined()
        running = stream(f)
        f.fabric("jb", "untunnel", "S-B", "8")
        f.await_state("R-0000", 2, "DOWN", seconds=2)
        need_broken(f, *running)
        need(f"{SERVER_IP}" not in f.fabric("ja", "show") and "nobody answers" in f.fabric("ja", "show"), f.fabric("ja", "show"))
        out = f.run(CLIENT, "rping", "-c", "-a", SERVER_IP, "-C", "1", status=None)
        need("Network is unreachable" in out or "ADDR_ERROR" in out, out)
        out = f.join(status=1)
        need("'ja': a tunnel is at port 2 of 'R-0000'; 'verbena fabric untunnel' takes it away" in out, out)
        f.fabric("ja", "untunnel", "R-0000", "2")
        f.join()
        f.await_joined()
        connect(f, "ucmatose -b S -c 2 -C 10", "ucmatose -s S -c 2 -C 10", SERVER_IP)
        # A cable that is pulled, and put back.
        running = stream(f)
        f.fabric("ja", "unlink", "R-0000", "2")
        f.await_state("S-B", 8, "DOWN", seconds=2)
        need_broken(f, *running)
        f.fabric("ja", "link", "R-0000", "2")
        f.await_joined()
        connect(f, "udaddy -b S -c 2 -C 10", "udaddy -s S -c 2 -C 10", SERVER_IP)
        # The process of the other fabric, with its OpenSM.
        running = stream(f)
        os.kill(f.pid("jb"), signal.SIGKILL)
        f.await_state("R-0000", 2, "DOWN", seconds=20)
        need_broken(f, *running)
        port = str(f.host.pick_port())
        near = f.host.start(f.at("H-0000", "ibv_rc_pingpong", "-p", port), name="server in the fabric that stays")
        near.wait_listen(int(port))
        f.run(CLIENT, "ibv_rc_pingpong", "-p", port, "127.0.0.1")
        need(near.wait(30) == 0, near.story())
        f.host.run([context.verbena, "fabric", "--name", "jb", "--sm", *SLOW, "--part", "2", "--prefix", hex(PREFIX_B), "up",
                    os.path.join(context.machine.folder, "jb.net")], seconds=60)
        f.fabric("ja", "untunnel", "R-0000", "2")
        f.join()
        f.await_joined()
        connect(f, "rping -s -a S -C 20 -V", "rping -c -a S -C 20 -V", SERVER_IP)
    finally:
        f.end()


@case("subnet.router.joined_words", seconds=120)
def joins_that_make_no_sense(context):
    """Each mistake has its line, and leaves no end of a tunnel behind."""
    f = Beside(context, "--sm")
    g = None
    try:
        for words, status, said in (
                (("R-0000", "2", "jb", "S-B"), 2, "'join' goes with a node, a port, another fabric, and a node and a port of that"),
                (("R-0000", "2", "nowhere", "S-B", "8"), 1, "no fabric 'nowhere' runs"),
                (("R-0000", "2", "j/b", "S-B", "8"), 1, "'j/b' is no name of a fabric"),
                (("X", "2", "jb", "S-B", "8"), 1, "the fabric 'ja' has no node 'X'"),
                (("R-0000", "2", "jb", "X", "8"), 1, "the fabric 'jb' has no node 'X'"),
                (("R-0000", "3", "jb", "S-B", "8"), 1, "'ja': 'R-0000' has the ports 1 to 2"),
                (("R-0000", "1", "jb", "S-B", "8"), 1, "'ja': a cable is at port 1 of 'R-0000'"),
                (("R-0000", "2", "jb", "S-B", "9"), 1, "'jb': 'S-B' has the ports 1 to 8"),
                (("R-0000", "2", "jb", "S-B", "1"), 1, "'jb': a cable is at port 1 of 'S-B'"),
                (("R-0000", "2", "ja", "S-A", "7"), 2, "'ja' is the fabric itself")):
            out = f.fabric("ja", "join", *words, status=status)
            need(said in out, f"{words}: {out}")
            need("tunnel" not in f.fabric("ja", "show") + f.fabric("jb", "show"), f"{words} left an end behind")
        # Managers that were told no prefix: it is joined, and nothing would cross.
        out = f.join()
        need("note: 'ja' and 'jb' both have the prefix 0xfe80000000000000" in out and "--prefix" in out, out)
        f.fabric("jb", "down")
        f.fabric("ja", "untunnel", "R-0000", "2")
        net = os.path.join(context.machine.folder, "jb.net")
        g = Fabric(context, "jb", net, *SLOW, "--part", "1")
        out = f.join(status=1)
        need(re.search(r"'\S+' of 'ja' and '\S+' of 'jb' have one GUID, 0x\w+; 'up --part' gives each fabric others", out), out)
        g.end()
        g = Fabric(context, "jb", net, "--part", "2")
        out = f.join(status=1)
        need("'jb': the fabric 'jb' is not in real time: tunnels are for fabrics that" in out, out)
        need("tunnel" not in f.fabric("ja", "show"), f.fabric("ja", "show"))
        for wrong, said in (("1", "--prefix takes the prefix of a subnet, such as 0xfec0000000000001, not '1'"),
                            ("0xfe80000000000000", "is link-local"), ("0xff12000000000000", "--prefix takes the prefix"),
                            ("0x", "--prefix takes the prefix"), ("0x1g", "--prefix takes the prefix")):
            out = f.fabric("jc", "--sm", "--prefix", wrong, "up", "pair", status=2)
            need(said in out, f"{wrong}: {out}")
        out = f.fabric("jc", "--prefix", "0x1", "up", "pair", status=2)
        need("it goes with --sm" in out, out)
    finally:
        f.end()
