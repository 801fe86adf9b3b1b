# SPDX-License-Identifier: BSD-2-Clause
"""Captures of InfiniBand fabrics: `verbena capture --fabric`, as tshark reads them from the LRH on, and as ports count them."""
import os
import re
import shutil
import signal
import time

import ib_capture
from cases import case
from case_subnet import Fabric, lid_of, need
from case_subnet_cm import CLIENT_IP, SERVER_IP, connect
from case_subnet_live import CONGESTION, Incast, await_query
from case_subnet_multicast import MGID, Member, await_tree, join, send_once
from case_subnet_router import BY_IP as ACROSS
from case_subnet_router import SERVER_NUMBER, TWO, write
from case_subnet_verbs import CLIENT, SERVER, begin, both
from hosts import Skip

SENT, RECEIVED = "0", "1"  # frame.p2p_dir
DC = ("--dc", "half")


class Capture:
    """A running `verbena capture --fabric`."""

    def __init__(self, f, *options, name="capture"):
        if not shutil.which("tshark"):
            raise Skip("tshark is not installed")
        self.f, self.path = f, os.path.join(f.context.machine.folder, f"{name}.pcapng")
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.program = f.host.start([f.context.verbena, "capture", self.path, "--fabric", f.name, *options], name=name)
        f.context.wait(lambda: os.path.exists(self.path) and os.path.getsize(self.path) > 0, 10, self.program.story)

    def finish(self, mistakes=()):
        """Ends it and reads the file, in which tshark may make the mistakes that are named."""
        self.program.kill(signal.SIGINT)
        need(self.program.wait(60) == 0, self.program.story())
        said = re.search(r"(\d+) packets captured, (\d+) lost", self.program.story())
        need(said and int(said[2]) == 0, self.program.story())
        found, made = ib_capture.read(self.path)
        need(len(found) == int(said[1]) and len(found), f"{len(found)} packets, {self.program.story()}")
        need(made <= set(mistakes), f"tshark makes other mistakes: {made - set(mistakes)}")
        return found


def at(found, interface, way):
    return [p for p, t in found if t["interface_name"] == interface and t["p2p_dir"] == way and not p.is_flow]


def own_counters(f, node):
    """By a MAD that does not leave the node."""
    return {k: int(v) for k, v in re.findall(r"^(\w+):\.*(\d+)$", f.run(node, "perfquery", "-x"), re.M)}


def await_silence(f, node):
    """Returns once the port counts nothing for a while: the manager has answered."""
    last = [None]

    def is_silent():
        was, last[0] = last[0], own_counters(f, node)
        time.sleep(0.3)
        return was == last[0]
    f.context.wait(is_silent, 20, lambda: f"{node} goes on counting")


def need_counted(f, found, nodes, before):
    """Each port shows the packets and the words that it has counted since."""
    for node in nodes:
        new = own_counters(f, node)
        for way, name in ((SENT, "Xmit"), (RECEIVED, "Rcv")):
            seen = at(found, f"{node}/1", way)
            got = new[f"Port{name}Pkts"] - before[node][f"Port{name}Pkts"], new[f"Port{name}Data"] - before[node][f"Port{name}Data"]
            captured = len(seen), sum(p.words for p in seen)
            need(got == captured, f"{node} {name}: counted {got}, captured {captured}")


def classes(found):
    return {t["mgmtclass"] and int(t["mgmtclass"], 0) for _, t in found}


@case("subnet.capture.manager", seconds=240)
def manager_is_captured(context):
    """OpenSM brings up 36 nodes, traps, tables of several segments and the tools of each class: whole MADs at all ports, SMPs in lane
    15, and what a switch sends on is what came."""
    f = Fabric(context, "capup", "fat-tree:k=4")
    try:
        c = Capture(f)
        f.manage("H-0000", "-s", "0")
        f.await_log("SUBNET UP")
        for argv in (("saquery", "-N"), ("saquery", "-p"), ("perfquery", "2"), ("smpquery", "nodeinfo", "3"), ("ibnetdiscover",), 
                     ("ibccquery", "CongestionInfo", "2"), ("vendstat", "2"), ("ibping", "-c", "1", "2")):
            f.run("H-0003", *argv, status=None)
        f.host.run([context.verbena, "fabric", "--name", "capup", "unlink", "H-0005", "1"])
        f.await_log("SUBNET UP")
        time.sleep(0.5)
        found = c.finish()
        need({0x01, 0x81, 0x03, 0x04, 0x21, 0x32} <= classes(found), str(classes(found)))
        need(all((p.vl == 15) == (p.dqpn == 0) and p.mad is not None for p, _ in found), "a MAD is in a lane that is not its own")
        # A trap of a switch, and segments of RMPP.
        need(any(p.mad[1] == 1 and p.mad[3] == 5 for p, _ in found), "no trap")
        need(max(int.from_bytes(p.mad[28:32], "big") for p, _ in found if p.mad[1] == 3 and p.mad[24] == 1) > 10, "no segments")
        sent = [(t["time_relative"], p.bytes) for p, t in found if t["p2p_dir"] == SENT]
        came = [(t["time_relative"], p.bytes) for p, t in found if t["p2p_dir"] == RECEIVED]
        need(sent == came, "what left a port came to the next one")
    finally:
        f.end()


TARGET = """Switch 4 "S"
Ca 1 "H-0000"
[1] "S"[1]
Ca 1 "H-0001"
[1] "S"[2]
Ca 1 "T"
[1] "S"[3]
#ioc "disks" vendor=0x2c9 device=0x1234
#service "SRP.T10:0002c90300001234" id=0x2c90300001234
"""


@case("subnet.capture.device", seconds=60)
def device_management_is_captured(context):
    """Device management of a target, as ibsrpdm asks for it."""
    f = begin(context, "capdev", write(context, "target.net", TARGET))
    try:
        c = Capture(f, "--node", "T")
        out = f.run("H-0001", "ibsrpdm", "-d", "/dev/infiniband/umad0")
        need("SRP.T10:0002c90300001234" in out, out)
        found = c.finish()
        need(0x06 in classes(found) and {t["interface_name"] for _, t in found} == {"T/1"}, str(classes(found)))
    finally:
        f.end()


PLAIN = ([[f"ibv_{kind}_pingpong", "-n", "30", *more] for kind in ("rc", "uc", "ud", "srq", "xsrq") for more in ((), ("-g", "0"))] +
         [["ib_write_bw", "-n", "20"], ["ib_read_bw", "-n", "20"], ["ib_send_bw", "-n", "20"], ["ib_atomic_bw", "-n", "20"],
          ["ib_send_bw", "-n", "20", "-c", "UC"], ["ib_write_bw", "-n", "20", "-c", "UC"], ["ib_send_bw", "-n", "20", "-c", "UD"],
          ["ib_send_bw", "-n", "20", "-c", "XRC"], ["ib_write_bw", "-n", "20", "-c", "XRC"], ["ib_write_bw", "-n", "20", "-x", "0"],
          ["ib_send_bw", "-c", "UD", "-g", "-n", "20", "-s", "1024"]])
GUESSED = [name for name, is_guess, _ in ib_capture.MISTAKES if is_guess]


@case("subnet.capture.data", seconds=300)
def data_is_captured(context):
    """Each transport by LID and with a GRH: nothing malformed, CRCs and lengths are right, and each port shows what it counts: LNK-38,
    LNK-01, LNK-07, LNK-08, LNK-09"""
    f = begin(context, "capdat")
    try:
        before = {n: own_counters(f, n) for n in (SERVER, CLIENT)}
        c = Capture(f)
        for argv in PLAIN:
            both(f, *argv)
        both(f, "ib_send_bw", "-c", "DC", "-n", "20", run_options=DC)
        found = c.finish([*GUESSED, "packet of DC"])
        need_counted(f, found, (SERVER, CLIENT), before)
        # The switch between them: its ports receive what the nodes send.
        for node, port in ((SERVER, 2), (CLIENT, 3)):
            need([p.bytes for p in at(found, f"{node}/1", SENT)] == [p.bytes for p in at(found, f"S-0000/{port}", RECEIVED)] and
                 [p.bytes for p in at(found, f"{node}/1", RECEIVED)] == [p.bytes for p in at(found, f"S-0000/{port}", SENT)], node)
        need({p.opcode >> 5 for p, _ in found} == {0, 1, 2, 3, 5} and {p.has_grh for p, _ in found} == {True, False}, "transports")
    finally:
        f.end()


@case("subnet.capture.short", seconds=300)
def short_packets_are_right(context):
    """The mistakes of tshark, each where it has to be: it takes SENDs of up to 12 bytes over RC for RPC over RDMA, and not those of 13;
    of UD one of 0 bytes; of UC and XRC none."""
    f = begin(context, "capshort")
    try:
        for program, sizes, mistakes in (("rc", (0, 1, 4, 12), {"SEND of 0 to 12 bytes over RC"}), ("rc", (13, 64), set()),
                                         ("ud", (0,), {"SEND of 0 bytes over UD"}), ("ud", (1, 4), set()), ("uc", (0, 1, 4, 12), set())):
            for size in sizes:
                c = Capture(f, "--node", CLIENT)
                both(f, f"ibv_{program}_pingpong", "-n", "10", "-s", str(size))
                found = c.finish([*GUESSED, *mistakes])
                bad = [p for p, t in found if t["malformed"]]
                sends = [p for p, _ in found if p.opcode in (4, 36, 100)]
                # Of the payload of a pingpong, 0x7b, no other guess is wrong.
                # More than 20: some were sent again.
                need(len(sends) >= 20 and len(bad) == (len(sends) if mistakes else 0), f"{program} {size}: {len(bad)} of {len(sends)}")
        c = Capture(f, "--node", CLIENT)
        both(f, "ib_send_lat", "-c", "DC", "-n", "10", "-s", "1", run_options=DC)
        both(f, "ib_send_lat", "-c", "XRC", "-n", "10", "-s", "1")
        found = c.finish([*GUESSED, "packet of DC"])
        need(any(t["malformed"] for p, t in found if p.is_dc()), "tshark knows DC")
    finally:
        f.end()


@case("subnet.capture.cm", seconds=240)
def connections_are_captured(context):
    """RDMA CM: REQ, REP, RTU, DREQ, DREP, SIDR, PathRecords, private data, groups; ports count all of it. FAB-51"""
    f = begin(context, "capcm1")
    try:
        before = {n: own_counters(f, n) for n in (SERVER, CLIENT)}
        c = Capture(f)
        for server, client in (("rping -s -a S -C 5 -V", "rping -c -a S -C 5 -V"), ("ucmatose -b S -c 4 -C 10", "ucmatose -s S -c 4 -C 10"),
                               ("udaddy -b S -c 4 -C 10", "udaddy -s S -c 4 -C 10"), ("rdma_xserver -c x", "rdma_xclient -s S -c x"),
                               ("ib_write_bw -R -F -n 20", "ib_write_bw -R -F -n 20 S")):
            connect(f, server, client, SERVER_IP)
        listener = f.host.start(f.at(SERVER, "stdbuf", "-oL", "mckey", "-m", "239.1.2.3", "-b", SERVER_IP, "-C", "100"))
        listener.wait_output("receiving data transfers")
        for _ in range(2):
            f.run(CLIENT, "mckey", "-m", "239.1.2.3", "-b", CLIENT_IP, "-C", "10", "-s")
            time.sleep(0.5)  # the manager sets its tables behind its answer
        listener.end()
        await_silence(f, SERVER)  # its port leaves the group
        found = c.finish(GUESSED)
        need_counted(f, found, (SERVER, CLIENT), before)
        kinds = {p.mad[17] for p, _ in found if p.mad is not None and p.mad[1] == 7}
        need({0x10, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18} <= kinds, str(sorted(kinds)))
        need(any(p.dlid >= 0xc000 and p.has_grh for p in at(found, f"{SERVER}/1", RECEIVED)), "no packet to the group")
    finally:
        f.end()


@case("subnet.capture.router", seconds=240)
def routers_are_captured(context):
    """Through a router: behind it other LIDs and a hop less, the same ICRC, a VCRC of its own. FAB-06, LNK-06, LNK-08"""
    f = Fabric(context, "caprt1", write(context, "two.net", TWO), "--sm")
    try:
        before = {n: own_counters(f, n) for n in (SERVER, CLIENT)}
        c = Capture(f)
        for server, client in ACROSS[:3] + (("ib_write_bw -R -F -n 20", "ib_write_bw -R -F -n 20 S"),
                                            ("ib_send_bw -R -F -c UD -n 20 -s 1024", "ib_send_bw -R -F -c UD -n 20 -s 1024 S")):
            connect(f, server, client, f"10.1.0.{SERVER_NUMBER}")
        found = c.finish(GUESSED)
        need_counted(f, found, (SERVER, CLIENT), before)
        data = [[p for p in at(found, name, way) if p.has_grh and p.mad is None and p.bytes[-6:-2]]
                for name, way in ((f"{CLIENT}/1", SENT), ("R-0000/1", RECEIVED), ("R-0000/2", SENT), (f"{SERVER}/1", RECEIVED))]
        need(len(data[0]) > 100 and len({len(d) for d in data}) == 1, str([len(d) for d in data]))
        for near, into, out, far in zip(*data):
            need(near.bytes == into.bytes and out.bytes == far.bytes, "a switch has changed a packet")
            need(out.hop_limit == into.hop_limit - 1 and (out.slid, out.dlid) != (into.slid, into.dlid) and
                 out.bytes[ib_capture.LRH + 8:-2] == into.bytes[ib_capture.LRH + 8:-2], f"{into.bytes.hex()} {out.bytes.hex()}")
    finally:
        f.end()


@case("subnet.capture.groups", seconds=240)
def groups_are_captured(context):
    """A message to a group: one copy on each link of its tree, and two programs at a port are one copy. FAB-02, FAB-57"""
    f = begin(context, "capgrp", "star:hosts=5")
    members = []
    try:
        group = f"{MGID}@{[join(f, f'H-000{i}') for i in (1, 2, 3)][0]}"
        members = [Member(context, f, node, group) for node in ("H-0001", "H-0002", "H-0002")]
        await_tree(context, f, "H-0003", group, 100, members)
        before = {n: own_counters(f, n) for n in ("H-0001", "H-0002", "H-0003", "H-0004")}
        c = Capture(f)
        send_once(context, f, "H-0003", group, 7, members)
        found = c.finish(GUESSED)
        need_counted(f, found, before, before)
        for node, way, cnt in (("H-0003", SENT, 2), ("H-0001", RECEIVED, 2), ("H-0002", RECEIVED, 2), ("H-0004", RECEIVED, 0)):
            seen = [p for p in at(found, f"{node}/1", way) if p.dlid >= 0xc000]
            need(len(seen) == cnt and all(p.has_grh and p.dqpn == 0xffffff for p in seen), f"{node}: {len(seen)}")
    finally:
        for m in members:
            m.program.end()
        f.end()


@case("subnet.capture.live", seconds=240)
def real_time_is_captured(context):
    """In real time: each port in the time of its links, flow control packets where they are wanted, congestion marks. LNK-16, LNK-19"""
    f = Fabric(context, "caplive", "star:hosts=3", "--real-time", "200")
    try:
        f.manage("H-0000", "-s", "0")
        f.await_log("SUBNET UP")
        before = {n: own_counters(f, n) for n in (SERVER, CLIENT)}
        c = Capture(f, "--flow-control")
        for argv in (["ibv_rc_pingpong", "-n", "20"], ["ibv_ud_pingpong", "-n", "20"], ["ib_write_bw", "-n", "20"], ["ib_write_bw", "-c", "UC", "-n", "20", "-x", "0"]):
            both(f, *argv)
        time.sleep(0.3)
        found = c.finish([*GUESSED, "flow control packet"])
        need_counted(f, found, (SERVER, CLIENT), before)
        flow = [p for p, _ in found if p.is_flow]
        need(len(flow) > 50 and all(p.bytes[0] >> 4 == 0 for p in flow), f"{len(flow)} flow control packets")
        # A packet of 1,024 bytes takes 17 us of a link of 500 Mb/s.
        sent, came = ([float(t["time_relative"]) for p, t in found if t["interface_name"] == f"{CLIENT}/1" and t["p2p_dir"] == way and not p.is_flow]
                      for way in (SENT, RECEIVED))
        need(sent == sorted(sent) and came == sorted(came), "packets out of order")
        way = [[(p.bytes[-6:-2], float(t["time_relative"])) for p, t in found if t["interface_name"] == name and t["p2p_dir"] == w and not p.is_flow and
                p.opcode == 0] for name, w in ((f"{CLIENT}/1", SENT), ("S-0000/3", RECEIVED), ("S-0000/2", SENT), (f"{SERVER}/1", RECEIVED))]
        need(way[0] and all([x for x, _ in w] == [x for x, _ in way[0]] for w in way), "packets on the way")
        for times in zip(*([x for _, x in w] for w in way)):
            need(times[0] + 16e-6 < times[1] <= times[2] and times[2] + 16e-6 < times[3], str(times))
        c = Capture(f)
        both(f, "ibv_rc_pingpong", "-n", "20")
        need(not any(p.is_flow for p, _ in c.finish(GUESSED)), "flow control packets that nobody wanted")
    finally:
        f.end()


@case("subnet.capture.congestion", seconds=240)
def congestion_is_captured(context):
    """Congestion control in real time: packets with FECN, notifications with BECN back to their senders, and the MADs of both by
    which it was set. FAB-45, FAB-46"""
    config = os.path.join(context.machine.folder, "capture-congestion.conf")
    with open(config, "w", encoding="utf-8") as out:
        out.write(CONGESTION)
    f = Fabric(context, "capcc", "star:hosts=5", "--real-time", "200")
    try:
        c = Capture(f, "--node", "S-0000")
        f.manage("H-0000", "-s", "0", "-F", config)
        f.await_log("SUBNET UP")
        for node in (2, 3, 4):
            await_query(f, lid_of(f, f"H-000{node}"), "CT", r"^CCTI_Limit:\.*[1-9]")
        incast = Incast(f, "ib_write_bw", "-n", "60")
        try:
            incast.finish()
        finally:
            incast.end()
        found = c.finish(GUESSED)
        marked = [p for p in at(found, "S-0000/2", SENT) if p.bits & 0x80]
        answers = [p for p in at(found, "S-0000/2", RECEIVED) if p.opcode == 0x80]
        need(len(marked) > 10 and answers and all(p.bits & 0x40 for p in answers), f"{len(marked)} marked, {len(answers)} answers")
        need(0x21 in classes(found), str(classes(found)))
    finally:
        f.end()


@case("subnet.capture.ends", seconds=120)
def captures_end(context):
    """Two at once, each of its ports; one that is killed leaves the other alone; -c; an end of the fabric; what is refused."""
    f = begin(context, "capend")
    try:
        whole, one, killed = Capture(f), Capture(f, "--node", SERVER, "--port", "1", name="one"), Capture(f, name="killed")
        both(f, "ibv_uc_pingpong", "-n", "10")
        os.killpg(killed.program.pid, signal.SIGKILL)
        both(f, "ibv_uc_pingpong", "-n", "10")
        found, own = whole.finish(GUESSED), one.finish(GUESSED)
        need({t["interface_name"] for _, t in own} == {f"{SERVER}/1"}, "other ports")
        need([p.bytes for p, _ in own] == [p.bytes for p, t in found if t["interface_name"] == f"{SERVER}/1"], "the captures differ")
        need(len(own) == 2 * 2 * 10 * 4, f"{len(own)} packets")
        counted = Capture(f, "-c", "7")
        both(f, "ibv_uc_pingpong", "-n", "10")
        need(counted.program.wait(20) == 0 and "7 packets captured" in counted.program.story(), counted.program.story())
        for argv, status, text in ((["--node", "H-7"], 1, "has no node 'H-7'"), (["--node", SERVER, "--port", "2"], 1, f"'{SERVER}' has no port 2"),
                                   (["--port", "1"], 2, "--node"), (["--report", "page.html"], 2, "RoCEv2"), (["--node", SERVER, "--port", "x"], 2, "x")):
            out = f.host.run([context.verbena, "capture", os.path.join(context.machine.folder, "no.pcapng"), "--fabric", f.name, *argv], status=status)
            need(text in out, out)
        out = f.host.run([context.verbena, "capture", os.path.join(context.machine.folder, "no.pcapng"), "--fabric", "nowhere"], status=1)
        need("no fabric 'nowhere' runs" in out, out)
        last = Capture(f)
        f.run(CLIENT, "smpquery", "-D", "nodeinfo", "0,1")
    finally:
        f.end()
    need(last.program.wait(20) == 0 and ib_capture.read(last.path)[0], last.program.story())
