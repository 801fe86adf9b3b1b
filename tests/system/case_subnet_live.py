# SPDX-License-Identifier: BSD-2-Clause
"""An InfiniBand fabric in real time: data takes the rates of the links, waits for credits, and is marked where it waits."""
import os
import re
import signal
import time

from cases import case
from case_subnet import Fabric, lid_of, need
from case_subnet_multicast import MGID, Member, await_tree, join, send_once
from case_subnet_verbs import CLIENT, SERVER, both, counters, growth, start, words

# EDR slowed down to 500 Mb/s: any machine keeps up with it.
SLOW = "200"
# Congestion control of all outputs and of service level 0, by a table that grows by a quarter of a packet's time.
CONGESTION = """congestion_control TRUE
cc_sw_cong_setting_control_map 0x1f
cc_sw_cong_setting_victim_mask 0x0
cc_sw_cong_setting_credit_mask 0x0
cc_sw_cong_setting_threshold 0x0f
cc_sw_cong_setting_packet_size 8
cc_sw_cong_setting_marking_rate 0
cc_ca_cong_setting_port_control 0x1
cc_ca_cong_setting_control_map 0x1
cc_ca_cong_setting_ccti_timer 0 100
cc_ca_cong_setting_ccti_increase 0 1
cc_ca_cong_setting_trigger_threshold 0 2
cc_ca_cong_setting_ccti_min 0 0
cc_cct """ + ",".join(f"2:{i}" for i in range(128)) + "\n"


def begin(context, name, topology, *options, slow=SLOW):
    f = Fabric(context, name, topology, "--real-time", slow)
    try:
        f.manage("H-0000", "-s", "0", *options)
        f.await_log("SUBNET UP")
    except BaseException:
        f.end()
        raise
    return f


def switch_lid(f):
    return int(re.search(r"^Switch S-0000 .* lid (\d+)$", f.host.run([f.context.verbena, "fabric", "show", f.name]), re.M)[1])


class Incast:
    """Programs at H-0002 to H-0004 that all send to H-0001."""

    def __init__(self, f, *argv):
        self.servers, self.clients = [], []
        ports = []
        for i in range(3):
            ports.append(f.host.pick_port())
            self.servers.append(f.host.start(f.at(SERVER, *argv, "-p", str(ports[i])), name=f"server {i}"))
            self.servers[i].wait_listen(ports[i])
        for i, port in enumerate(ports):
            self.clients.append(f.host.start(f.at(f"H-000{i + 2}", *argv, "-p", str(port), "127.0.0.1"), name=f"client {i}"))

    def finish(self, but=()):
        for i, (c, s) in enumerate(zip(self.clients, self.servers)):
            if i not in but:
                need(c.wait(120) == 0 and s.wait(120) == 0, c.story() + s.story())
                need(not re.search("Failed|error", c.output() + s.output()), c.story() + s.story())

    def end(self):
        for p in self.clients + self.servers:
            p.end()


def ports_of_the_incast(f):
    """The port of each host, and those of the switch, by name."""
    switch = switch_lid(f)
    return {"switch": [(switch, p) for p in range(1, 6)], "host": [(lid_of(f, f"H-000{i}"), 1) for i in range(5)]}


def await_counters(f, places):
    """Packets that were sent also arrive: both ends of each cable come to say the same."""
    deadline = time.monotonic() + 30
    while True:
        at = {kind: [counters(f, *p) for p in at] for kind, at in places.items()}
        if all(a["PortXmitPkts"] >= b["PortRcvPkts"] - 50 for a, b in zip(at["host"], at["switch"])):
            return at
        need(time.monotonic() < deadline, str(at))
        time.sleep(0.1)


def need_no_loss(f, places):
    for lid, port in places["switch"] + places["host"]:
        out = f.run("H-0000", "perfquery", str(lid), str(port))
        for name in ("PortXmitDiscards", "PortRcvErrors", "ExcessiveBufferOverrunErrors", "PortRcvSwitchRelayErrors"):
            need(re.search(rf"^{name}:\.*0$", out, re.M), out)


def xmit_wait(f, place):
    return int(re.search(r"^PortXmitWait:\.*(\d+)$", f.run("H-0000", "perfquery", *map(str, place)), re.M)[1])


@case("subnet.live.incast", seconds=300)
def incast_waits_and_loses_nothing(context):
    """Three senders to one port, over RC, UC and UD: they wait for credits, which PortXmitWait tells, share the link, and no
    packet is lost. Both ends of a cable count the same. LNK-21, LNK-26, LNK-38"""
    f = begin(context, "incast", "star:hosts=5")
    try:
        places = ports_of_the_incast(f)
        for argv in (["ib_write_bw", "-n", "300"], ["ib_send_bw", "-n", "300", "-c", "UC", "-s", "16384"]):
            before = xmit_wait(f, places["host"][2])
            incast = Incast(f, *argv)
            try:
                incast.finish()
            finally:
                incast.end()
            waits = [xmit_wait(f, p) for p in places["host"][2:5]]
            need(waits[0] > before and all(w > 1000 for w in waits), f"{argv}: PortXmitWait {waits}, {before} before")
        await_counters(f, places)
        need_no_loss(f, places)
        out = f.host.run([context.verbena, "fabric", "show", "incast"])
        need(re.match(r"real time: 1/200; the machine was too slow for \d+\.\d{3} s of it\n", out), out)
    finally:
        f.end()


def congestion_log(f, lid):
    out = f.run("H-0000", "ibccquery", "CL", str(lid))
    found = re.search(r"^(?:LogEventsCounter|ThresholdEventCounter):\.*(\d+)$", out, re.M)
    need(found, out)
    return int(found[1]), out


def await_query(f, lid, what, pattern):
    """The manager sets congestion control after the subnet is up."""
    deadline = time.monotonic() + 30
    while not re.search(pattern, f.run("H-0000", "ibccquery", what, str(lid)), re.M):
        need(time.monotonic() < deadline, f.run("H-0000", "ibccquery", what, str(lid))[:300])
        time.sleep(0.1)


@case("subnet.live.congestion", seconds=400)
def congestion_is_marked_and_answered(context):
    """Settings of OpenSM's congestion control act on data: the switch marks with FECN, the receivers answer with BECN, and the
    senders' indices come to their triggers, as the logs of both say; sources that slow down wait less for credits. The indices are those
    of service levels or, by PortControl, those of QPs, connected ones and others. FAB-45 to FAB-48"""
    files = {}
    for by, config in (("level", CONGESTION), ("QP", CONGESTION.replace("port_control 0x1", "port_control 0x0"))):
        files[by] = os.path.join(context.machine.folder, f"live-congestion-{by}.conf")
        with open(files[by], "w", encoding="utf-8") as out:
            out.write(config)
    write, send = ("ib_write_bw", "-n", "500"), ("ib_send_bw", "-n", "1500", "-c", "UD", "-s", "2048")
    waits = []
    for by, argv in ((None, write), ("level", write), ("QP", write), ("QP", send)):
        f = begin(context, "cc", "star:hosts=5", *(("-F", files[by]) if by else ()))
        try:
            places = ports_of_the_incast(f)
            if by:
                for lid, _ in places["host"][2:5]:
                    await_query(f, lid, "CT", r"^CCTI_Limit:\.*[1-9]")
                    await_query(f, lid, "CS", r"^CCTI_Increase:\.*1$")
                    await_query(f, lid, "CS", r"^Port_Control:\.*0x0*" + ("1$" if by == "level" else "$"))
                await_query(f, places["switch"][0][0], "SS", r"^Threshold:\.*0x0f$")
            incast = Incast(f, *argv)
            try:
                incast.finish()
            finally:
                incast.end()
            need_no_loss(f, places)
            if argv is write:
                waits.append(sum(xmit_wait(f, p) for p in places["host"][2:5]))
            for lid in (places["switch"][0][0], places["host"][2][0]):
                events, said = congestion_log(f, lid)
                need((events > 0) == bool(by), said)
                need(("SLID:" in said or "Local_QP_CN_Entry:" in said) == bool(by), said)
                need(congestion_log(f, lid)[0] == 0, said)
            if by == "QP":
                # Of datagrams the other end is not one.
                remote, service = ("[1-9]\\d*", "0x00") if argv is write else ("0", "0x03")
                need(re.search(rf"^Remote_QP_Number_CN_Entry:\.*{remote}$", said, re.M), said)
                need(re.search(rf"^Service_Type_CN_Entry:\.*{service}$", said, re.M), said)
        finally:
            f.end()
    need(waits[1] < waits[0] and waits[2] < waits[0], f"PortXmitWait of the senders: {waits}")


@case("subnet.live.kill", seconds=300)
def a_killed_sender_is_in_nobodys_way(context):
    """One of three senders is killed with packets in flight, then the receiver of another one: the third is served, and so is
    who comes after. LNK-21"""
    f = begin(context, "killed", "star:hosts=5")
    try:
        places = ports_of_the_incast(f)
        incast = Incast(f, "ib_write_bw", "-n", "1500")
        try:
            deadline = time.monotonic() + 60
            while counters(f, *places["switch"][1])["PortXmitPkts"] < 3000:
                need(time.monotonic() < deadline, "".join(c.story() for c in incast.clients))
                time.sleep(0.05)
            incast.clients[0].kill(signal.SIGKILL)
            incast.servers[1].kill(signal.SIGKILL)
            incast.finish(but=(0, 1))
        finally:
            incast.end()
        both(f, "ib_write_bw", "-n", "100")
        both(f, "ibv_ud_pingpong", "-n", "100", "-c")
    finally:
        f.end()


@case("subnet.live.programs", seconds=300)
def programs_run_in_real_time(context):
    """Pingpongs and perftest of each transport, by LID and with a GRH, between pods of a fat tree; a fault on one program's
    packets; counters are exact at each port on the way. LNK-38, IBT-02, IBT-100"""
    f = begin(context, "rt", "fat-tree:k=4", slow="20")
    try:
        for kind in ("rc", "uc", "ud", "srq"):
            both(f, f"ibv_{kind}_pingpong", "-n", "200", "-c")
            both(f, f"ibv_{kind}_pingpong", "-n", "50", "-g", "0", "-c")
        for argv in (["ib_read_bw", "-n", "100"], ["ib_send_bw", "-n", "200", "-c", "UD"], ["ib_atomic_bw", "-n", "100"],
                     ["ib_send_lat", "-n", "200"], ["ib_send_lat", "-n", "1000", "-e"],
                     ["ib_send_bw", "-n", "100", "-c", "XRC"]):
            both(f, *argv)
        lids = [lid_of(f, n) for n in (SERVER, CLIENT)]
        before = [counters(f, lid, 1) for lid in lids]
        both(f, "ibv_uc_pingpong", "-n", "300", "-s", "2048", "-m", "1024")
        for lid, b in zip(lids, before):
            new = growth(f, lid, 1, b)
            for way in ("Xmit", "Rcv"):
                # perfquery -x asks twice, with MADs of 288 bytes.
                need((new[f"Port{way}Pkts"], new[f"Port{way}Data"]) == (600 + 2, 600 * words(1024) + 2 * 72), str(new))
        # Two programs at one node do not use the link.
        port = str(f.host.pick_port())
        server = f.host.start(f.at(SERVER, "ibv_rc_pingpong", "-p", port))
        server.wait_listen(int(port))
        f.run(SERVER, "ibv_rc_pingpong", "-p", port, "127.0.0.1")
        need(server.wait(60) == 0, server.story())
        # Lost packets are sent again.
        port = str(f.host.pick_port())
        server = f.host.start(f.at(SERVER, "ibv_rc_pingpong", "-p", port, "-n", "300", "-c"))
        server.wait_listen(int(port))
        f.host.run([context.verbena, "run", "--fault", "loss=2%", "--fabric", "rt", "--node", CLIENT, "--", "ibv_rc_pingpong",
                    "-p", port, "-n", "300", "-c", "127.0.0.1"], seconds=120)
        need(server.wait(60) == 0, server.story())
    finally:
        f.end()


@case("subnet.live.cable", seconds=300)
def a_pulled_cable_loses_what_is_on_it(context):
    """A cable is pulled under a transfer: its packets are lost and counted, retries end; when it is back, data goes again.
    LNK-30, LNK-31"""
    f = begin(context, "cable", "star:hosts=3")
    try:
        server, client = start(f, "ib_write_bw", "-D", "60")
        lid = lid_of(f, SERVER)
        switch, deadline = switch_lid(f), time.monotonic() + 60
        while counters(f, lid, 1)["PortRcvPkts"] < 500:
            need(time.monotonic() < deadline, client.story() + server.story())
            time.sleep(0.05)
        f.host.run([context.verbena, "fabric", "--name", "cable", "unlink", SERVER, "1"])
        need(client.wait(120) != 0, client.story())
        for p in (server, client):
            p.end()
        out = f.run("H-0000", "perfquery", str(switch), "2")
        need(re.search(r"^PortXmitDiscards:\.*[1-9]", out, re.M), out)
        f.host.run([context.verbena, "fabric", "--name", "cable", "link", SERVER, "1"])
        deadline = time.monotonic() + 60
        while "Active" not in f.run(SERVER, "ibstat"):
            need(time.monotonic() < deadline, f.run(SERVER, "ibstat"))
            time.sleep(0.1)
        both(f, "ib_write_bw", "-n", "100")
    finally:
        f.end()


@case("subnet.live.multicast", seconds=180)
def copies_take_time_too(context):
    """Each member of a group gets one copy, one at the sender's own port among them. FAB-02, FAB-57"""
    f = begin(context, "mcrt", "ring:switches=4,hosts=1")
    try:
        nodes = ["H-0000", "H-0001", "H-0002"]
        mlid = {join(f, n) for n in nodes}
        group = f"{MGID}@{mlid.pop()}"
        members = [Member(context, f, n, group) for n in nodes]
        stranger = Member(context, f, "H-0003", group)
        await_tree(context, f, "H-0000", group, 1, members)
        send_once(context, f, "H-0000", group, 2, members)
        need("got" not in stranger.program.output(), stranger.program.story())
        before = counters(f, lid_of(f, "H-0001"), 1)["PortMulticastRcvPkts"]
        send_once(context, f, "H-0002", group, 4, members)
        need(counters(f, lid_of(f, "H-0001"), 1)["PortMulticastRcvPkts"] == before + 2, "PortMulticastRcvPkts")
    finally:
        f.end()
