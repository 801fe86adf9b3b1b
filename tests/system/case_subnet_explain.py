# SPDX-License-Identifier: BSD-2-Clause
"""Why a path of an InfiniBand fabric does not work, as `verbena explain` says it, and why the QPs of programs at its nodes fail
on it: causes that a real OpenSM, its options, or tools at a node have made."""
import json
import os
import re
import signal
import time

from cases import case
from case_subnet import Fabric, lid_of, need
from case_subnet_multicast import MGID, Member, await_tree, join
from case_subnet_verbs import CLIENT, SERVER, begin, start

LFT, SL2VL = 0x19, 0x17


def explain(f, *options, status=0):
    return f.host.run([f.context.verbena, "explain", "--fabric", f.name, *options], status=status)


def path(f, *options, a=CLIENT, b=SERVER):
    """The way from @a to @b, and the way back."""
    return json.loads(explain(f, "--path", a, b, "--json", *options))


def need_cause(way, cause, node, port, text):
    what = " ".join(way["what"])
    need(way["cause"] == cause and not way["works"], str(way))
    need(way["place"]["node"] == node and way["place"]["port"] == port and text in what, str(way))


def need_works(f, *options, **ends):
    ways = path(f, *options, **ends)
    need(len(ways) == 2 and all(w["works"] and w["cause"] == "well" for w in ways), str(ways))


def switch_lid(f):
    return int(re.search(r"^Switch S-0000 .* lid (\d+)$", f.host.run([f.context.verbena, "fabric", "show", f.name]), re.M)[1])


def set_bytes(f, lid, attribute, modifier, *changes, node="H-0000", key=0):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "umad_set.py")
    out = f.run(node, "python3", script, str(lid), str(attribute), str(modifier), *changes, env={"M_KEY": str(key)})
    return out.strip()


def fail_to_talk(f):
    """A client whose retries are used up; it and its server have ended."""
    server, client = start(f, "ibv_rc_pingpong", "-n", "10")
    try:
        need(client.wait(60) != 0 and "transport retry counter exceeded" in client.output(), client.story() + server.story())
    finally:
        server.end()
        client.end()


def cause_of_qp(f, node):
    """The cause of the QP at @node that is worst off; "": there is none in trouble."""
    found = [q["cause"] for q in json.loads(explain(f, "--json")) if q["device"] == node and q["rank"] in ("failed", "stuck")]
    return found[0] if found else ""


@case("subnet.explain.init", seconds=120)
def ports_that_nobody_has_configured(context):
    """Without a manager ports stay in INIT; a manager configures them; a cable that is pulled; wrong words. LNK-30, LNK-31"""
    f = Fabric(context, "whyinit", "star:hosts=3")
    try:
        for way, node in zip(path(f), (CLIENT, SERVER)):
            need_cause(way, "no-manager", node, 1, f"Port 1 of {node} is in INIT: no subnet manager has configured this port")
        out = explain(f, "--path", CLIENT, SERVER)
        need("is broken" in out and "verbena run --fabric whyinit --node NODE -- opensm" in re.sub(r"\s+", " ", out), out)
        f.manage("H-0000", "-s", "0")
        f.await_log("SUBNET UP")
        need_works(f)
        out = explain(f, "--path", CLIENT, SERVER)
        need(f"{CLIENT} port 1 -> S-0000 port 3: ACTIVE, VL 0, MTU 4096" in out and "works" in out, out)
        f.host.run([context.verbena, "fabric", "--name", "whyinit", "unlink", SERVER, "1"])
        # Until the manager has taken the LID away, and after that.
        need_cause(path(f)[1], "unplugged", SERVER, 1, f"The cable of port 1 of {SERVER} is pulled.")
        f.host.run([context.verbena, "fabric", "--name", "whyinit", "relink", SERVER])
        context.wait(lambda: all(w["works"] for w in path(f)), 30, "the path comes back")
        for argv, text in ((["--path", "S-0000", SERVER], "'S-0000' is no adapter"), (["--path", CLIENT, "H-9"], "no node 'H-9'"),
                           (["--path", CLIENT + ":2", SERVER], "has the ports 1 to 1"), (["--node", "H-9"], "no node 'H-9'")):
            need(text in explain(f, *argv, status=1), text)
        for argv, text in ((["--path", CLIENT], "--path FROM TO"), (["--sl", "16", "--path", CLIENT, SERVER], "0 to 15"),
                           (["--sl", "1"], "go with --path"), (["--path", CLIENT, SERVER, "--cm"], "--json alone")):
            need(text in explain(f, *argv, status=2), text)
    finally:
        f.end()


@case("subnet.explain.table", seconds=180)
def an_entry_is_missing(context):
    """An entry of a forwarding table is taken away: the switch counts what comes, and explain names the switch, the LID and the
    counter. A manager that is started again writes it. FAB-01, LNK-38"""
    f = begin(context, "whylft")
    try:
        lid = lid_of(f, SERVER)
        need(set_bytes(f, switch_lid(f), LFT, lid // 64, f"{lid % 64}=255") == "set", "umad_set.py")
        there, back = path(f)
        need_cause(there, "no-entry", "S-0000", 3, f"The forwarding table of S-0000 has no entry for LID {lid}.")
        need(back["works"], str(back))
        before = there["counters"]["PortRcvSwitchRelayErrors"]
        fail_to_talk(f)
        there = path(f)[0]
        need(there["counters"]["PortRcvSwitchRelayErrors"] >= before + 8, str(there))
        # The QP that failed says the same, and so does one that is stuck.
        failed = [q for q in json.loads(explain(f, "--json")) if q["rank"] == "failed"]
        need(len(failed) == 1 and failed[0]["cause"] == "no-entry" and failed[0]["device"] == CLIENT and failed[0]["ended"], str(failed))
        out = re.sub(r"\s+", " ", explain(f, hex(failed[0]["qpn"])))
        need("IBV_WC_RETRY_EXC_ERR: no answer from LID" in out and "The way of its packets is broken, as the tables stand now. "
             f"The forwarding table of S-0000 has no entry for LID {lid}." in out, out)
        need(f"PortRcvSwitchRelayErrors {there['counters']['PortRcvSwitchRelayErrors']}." in " ".join(there["what"]), str(there))
        f.managers.pop().end()
        f.manage("H-0000", "-s", "0")
        context.wait(lambda: path(f)[0]["works"], 30, "the manager writes the table again")
    finally:
        f.end()


@case("subnet.explain.lane", seconds=120)
def a_service_level_without_a_lane(context):
    """A service level whose lane is 15, and one whose lane the port has not: nothing passes in it, and explain names the map.
    LNK-12, LNK-22"""
    f = begin(context, "whysl")
    try:
        # From input port 3 to output port 2: SLs 2 and 3 have a byte, 4 bits each.
        need(set_bytes(f, switch_lid(f), SL2VL, 3 << 8 | 2, "1=0xf9") == "set", "umad_set.py")
        need_works(f)
        need_cause(path(f, "--sl", "2")[0], "sl-vl15", "S-0000", 2, "SL 2 has lane 15 in the SL2VL map of S-0000 from port 3 to port 2")
        need_cause(path(f, "--sl", "3")[0], "sl-lane", "S-0000", 2, "SL 3 has lane 9 in the SL2VL map of S-0000 from port 3 to port 2")
        server, client = start(f, "ibv_rc_pingpong", "-n", "10", "-l", "2")
        need(client.wait(60) != 0, client.story())
        server.end()
        way = path(f, "--sl", "2")[0]
        need(way["counters"]["PortXmitDiscards"] >= 8, str(way))
    finally:
        f.end()


@case("subnet.explain.group", seconds=120)
def a_port_that_has_not_joined(context):
    """A port that has joined a group gets copies, and explain shows the way; one that has not gets none, and explain says why. FAB-02,
    FAB-57"""
    f = begin(context, "whymc", "star:hosts=3")
    try:
        mlid = join(f, SERVER)
        join(f, "H-0000")
        member = Member(context, f, SERVER, f"{MGID}@{mlid}")
        await_tree(context, f, "H-0000", f"{MGID}@{mlid}", 7, [member])
        way = path(f, "--dlid", mlid, a="H-0000")[0]
        need(way["works"] and way["dlid"] == int(mlid, 16) and way["way"][1]["in"]["node"] == SERVER, str(way))
        way = path(f, "--dlid", mlid, a="H-0000", b=CLIENT)[0]
        need_cause(way, "not-in-group", "S-0000", 3, f"The multicast table of S-0000 makes no copy for port 3, so port 1 of {CLIENT} gets none.")
        member.program.end()
    finally:
        f.end()


@case("subnet.explain.partition", seconds=180)
def partitions_are_apart(context):
    """Two nodes of different partitions: the switch bars what one sends to the other, or without its check the receiver's port does.
    LNK-37, FAB-36, FAB-37, IBT-81"""
    guids = {}
    f = Fabric(context, "whypart", "star:hosts=3")
    try:
        for node in (SERVER, CLIENT):
            guids[node] = f.run(node, "cat", "/sys/class/infiniband/verbena0/ports/1/gids/0").strip().replace(":", "")[16:]
    finally:
        f.end()
    conf = os.path.join(context.machine.folder, "why.partitions")
    with open(conf, "w", encoding="ascii") as file:
        file.write("Default=0x7fff,defmember=limited:ALL,SELF=full;\n"
                   f"Red=0x11:0x{guids[SERVER]}=full;\nBlue=0x22:0x{guids[CLIENT]}=full;\n")
    for options in ([], ["-Z", "off"]):
        f = begin(context, "whypart", "star:hosts=3", "-P", conf, *options)
        try:
            place = ("S-0000", 2) if not options else (SERVER, 1)
            there = path(f, "--pkey", "0x8022")[0]
            need_cause(there, "pkey-receiver" if options else "pkey-switch-out", *place, "0x8022")
            need_cause(path(f, "--pkey", "0x8011")[0], "pkey-sender", CLIENT, 1, "has no 0x8011")
            need_cause(path(f, "--pkey", "0x7fff")[0], "pkey-limited", *place, "both limited members of the partition of 0x7fff")
            need_works(f, b="H-0000")
            fail_to_talk(f)
            there = path(f)[0]
            need(there["cause"] == "pkey-limited", str(there))
            count = re.search(r"P_KeyViolations (\d+)" if options else r"PortXmitConstraintErrors (\d+)", " ".join(there["what"]))
            need(count and int(count[1]) >= 8, str(there))
        finally:
            f.end()


@case("subnet.explain.mkey", seconds=180)
def a_manager_without_the_m_key(context):
    """OpenSM protects its subnet by an M_Key. A tool and a manager that do not have it are refused, and the node says how often and of
    what; a port that comes up then stays in INIT, and explain says why. FAB-16, FAB-17"""
    key = os.path.join(context.machine.folder, "why.mkey")
    with open(key, "w", encoding="ascii") as file:
        file.write("m_key 0x1234\nm_key_protection_level 2\nm_key_lease_period 0\n")
    f = begin(context, "whykey", "star:hosts=3", "-F", key)
    try:
        need(set_bytes(f, switch_lid(f), LFT, 0, "1=1") == "no answer", "umad_set.py")
        out = re.sub(r"\s+", " ", explain(f, "--node", "S-0000"))
        need("S-0000 has an M_Key (protection 2), and refused 1 SMP that did not have it" in out and
             "its lease is for ever." in out, out)
        way = path(f)[0]
        need(way["works"] and any("S-0000 has an M_Key" in w for w in way["what"]), str(way))
        # Another manager, without the key: what comes up anew is not for it.
        f.managers.pop().end()
        f.host.run([context.verbena, "fabric", "--name", "whykey", "unlink", SERVER, "1"])
        f.host.run([context.verbena, "fabric", "--name", "whykey", "relink", SERVER, "1"])
        folder = os.path.join(context.machine.folder, "why.cache")  # not where the first one has written the keys
        os.makedirs(folder, exist_ok=True)
        log = os.path.join(folder, "osm.log")
        f.managers.append(f.host.start(f.at("H-0000", "opensm", "-e", "-s", "1", "-f", log), env={"OSM_TMP_DIR": folder, "OSM_CACHE_DIR": folder}))
        context.wait(lambda: path(f)[0]["cause"] == "m-key", 60, "the second manager is refused")
        need_cause(path(f)[0], "m-key", "S-0000", 2, "the subnet manager at H-0000 cannot configure it, for H-0000 has an M_Key and refused")
        need_cause(path(f)[1], "m-key", SERVER, 1, f"Port 1 of {SERVER} is in INIT: the subnet manager at H-0000 cannot configure it")
    finally:
        f.end()


@case("subnet.explain.credits", seconds=180)
def a_receiver_that_does_not_run(context):
    """In real time a receiver that is stopped holds back its port and the lanes that lead there: explain names the program, while
    its packets wait, and after that. LNK-21, LNK-26, LNK-27"""
    f = Fabric(context, "whylive", "star:hosts=3", "--real-time", "200")
    try:
        f.manage("H-0000", "-s", "0")
        f.await_log("SUBNET UP")
        server, client = start(f, "ib_write_bw", "-n", "100000")
        context.wait(lambda: path(f)[0]["way"][1]["xmit_wait"] + path(f)[0]["way"][0]["xmit_wait"] > 0, 60, "data flows")
        need_works(f)
        pid = int(f.host.run(["pgrep", "-f", f"^ib_write_bw -p [0-9]+ -n 100000$"]).split()[0])
        os.kill(pid, signal.SIGSTOP)
        try:
            deadline = time.monotonic() + 30
            way = path(f)[0]
            while way["cause"] != "receiver-stopped":
                need(time.monotonic() < deadline, str(way))
                way = path(f)[0]
            need_cause(way, "receiver-stopped", SERVER, 1, f"process {pid} ib_write_bw")
            need(way["rank"] == "stuck" and path(f)[1]["works"], str(way))
            # The QP that sends there is stuck, or gives up, for the same reason.
            context.wait(lambda: "stopped" in cause_of_qp(f, CLIENT), 30, "the QP of the sender knows why")
        finally:
            os.kill(pid, signal.SIGCONT)
        need_works(f)
        client.end()
        server.end()
    finally:
        f.end()
