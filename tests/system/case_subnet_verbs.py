# SPDX-License-Identifier: BSD-2-Clause
"""Verbs on the ports of an InfiniBand fabric: programs at two nodes, by LID, under a real OpenSM."""
import os
import re
import signal
import subprocess
import time

from cases import case
from case_subnet import Fabric, lid_of, need
from hosts import Skip

SERVER, CLIENT = "H-0001", "H-0002"
# LRH, BTH, ICRC; DETH of UD; GRH.
LRH, BTH, ICRC, DETH, GRH = 8, 12, 4, 8, 40


def words(payload, *more):
    return (LRH + BTH + payload + ICRC + sum(more)) // 4


def begin(context, name, topology="star:hosts=3", *options):
    """A fabric that is up, whose manager asks nothing more."""
    f = Fabric(context, name, topology)
    try:
        f.manage("H-0000", "-s", "0", *options)
        f.await_log("SUBNET UP")
    except BaseException:
        f.end()
        raise
    return f


def start(f, program, *options, server_options=(), run_options=()):
    """Starts both ends; they talk by TCP about their connection."""
    port = str(f.host.pick_port())
    ends = [[*f.at(node, "stdbuf", "-oL", program, run_options=run_options), "-p", port, *options] for node in (SERVER, CLIENT)]
    server = f.host.start(ends[0] + list(server_options), name=f"{program} server")
    server.wait_listen(int(port))
    return server, f.host.start([*ends[1], "127.0.0.1"], name=f"{program} client")


def both(f, program, *options, seconds=60, run_options=()):
    server, client = start(f, program, *options, run_options=run_options)
    for p in (client, server):
        need(p.wait(seconds) == 0, client.story() + server.story())
    out = client.output() + server.output()
    need(not re.search("invalid data|Failed|mismatch", out), out)
    return out


def counters(f, lid, port):
    out = f.run("H-0000", "perfquery", "-x", str(lid), str(port))
    return {k: int(v) for k, v in re.findall(r"^(\w+):\.*(\d+)$", out, re.M)}


def growth(f, lid, port, before):
    return {k: v - before.get(k, 0) for k, v in counters(f, lid, port).items()}


def devinfo(f, node, *options):
    out = f.run(node, "ibv_devinfo", *options)
    return out, dict(re.findall(r"^\s*(\w+):\s+(.+?)\s*$", out, re.M))


@case("subnet.verbs.port", seconds=120)
def port_follows_the_manager(context):
    """The port is InfiniBand's; LID, state and P_Keys are those that OpenSM gives it. IBT-85, FAB-23"""
    f = Fabric(context, "port", "star:hosts=3")
    try:
        out, port = devinfo(f, SERVER, "-v")
        need(port["state"] == "PORT_INIT (2)" and port["link_layer"] == "InfiniBand" and port["port_lid"] == "0", out)
        f.manage("H-0000", "-s", "0")
        f.await_log("SUBNET UP")
        out, port = devinfo(f, SERVER, "-v")
        need(port["state"] == "PORT_ACTIVE (4)" and int(port["port_lid"]) == lid_of(f, SERVER) and
             int(port["sm_lid"]) == lid_of(f, "H-0000"), out)
        need(port["active_width"] == "4X (2)" and port["active_speed"] == "25.0 Gbps (32)" and
             port["active_mtu"] == "4096 (5)" and port["pkey_tbl_len"] == "32" and port["gid_tbl_len"] == "8", out)
        guid = f.run(SERVER, "cat", "/sys/class/infiniband/verbena0/node_guid").strip()
        need(port["node_guid"] == guid and "GID[  0]:\t\tfe80:" in out, out)
        # A switch has no verbs, and says so.
        out = f.run("S-0000", "ibv_devinfo", status=None)
        need("port 0 has management, and no verbs" in out, out)
        f.host.run([context.verbena, "fabric", "--name", "port", "unlink", SERVER, "1"])
        out, port = devinfo(f, SERVER)
        need(port["state"] == "PORT_DOWN (1)", out)
    finally:
        f.end()


@case("subnet.verbs.rates", seconds=180)
def codes_of_rates(context):
    """A cable of each width and speed that a topology names, as the port of an adapter shows it. IBT-94"""
    widths = {"1x": "1X (1)", "2x": "2X (16)", "4x": "4X (2)", "8x": "8X (4)", "12x": "12X (8)"}
    # ibv_devinfo of rdma-core 44 has no field for XDR, which a byte has no code for: it shows NDR.
    speeds = {"SDR": 1, "DDR": 2, "QDR": 4, "FDR": 16, "EDR": 32, "HDR": 64, "NDR": 128, "XDR": 128}
    rows = [(w, "EDR") for w in widths] + [("4x", s) for s in speeds if s != "EDR"] + [("12x", "QDR"), ("8x", "FDR"), ("2x", "XDR")]
    path = os.path.join(context.machine.folder, "rates.net")
    with open(path, "w", encoding="utf-8") as out:
        out.write(f'Switch {len(rows)} "S"\n')
        out.writelines(f'[{i + 1}] "H-{i}"[1] # "H-{i}" lid 0 {w}{s}\n' for i, (w, s) in enumerate(rows))
        out.writelines(f'Ca 1 "H-{i}"\n' for i in range(len(rows)))
    f = Fabric(context, "rates", path)
    try:
        for i, (width, speed) in enumerate(rows):
            out, port = devinfo(f, f"H-{i}", "-v")
            need(port["active_width"] == widths[width] and port["active_speed"].endswith(f"({speeds[speed]})"), f"{width}{speed}: {out}")
            rate = f.run(f"H-{i}", "cat", "/sys/class/infiniband/verbena0/ports/1/rate").strip()
            need(rate.endswith(f"({width.upper()} {speed})"), f"{width}{speed}: {rate}")
    finally:
        f.end()


@case("subnet.verbs.pingpong", seconds=240)
def pingpong_by_lid(context):
    """Each pingpong by LID, and with a GRH. IBT-02, IBT-100"""
    f = begin(context, "pp")
    try:
        for kind in ("rc", "uc", "ud", "srq", "xsrq"):
            check = () if kind == "xsrq" else ("-c",)
            both(f, f"ibv_{kind}_pingpong", "-n", "300", *check)
            both(f, f"ibv_{kind}_pingpong", "-n", "100", "-g", "0", *check)
        both(f, "ibv_rc_pingpong", "-n", "100", "-e")
    finally:
        f.end()


@case("subnet.verbs.perftest", seconds=240)
def perftest_by_lid(context):
    """perftest by LID over each transport, between hosts of other pods of a fat tree. IBT-02, IBT-100"""
    f = begin(context, "perf", "fat-tree:k=4")
    try:
        for argv in (["ib_write_bw", "-n", "200"], ["ib_read_bw", "-n", "200"], ["ib_send_bw", "-n", "200"],
                     ["ib_send_bw", "-n", "200", "-c", "UC"], ["ib_send_bw", "-n", "200", "-c", "UD"],
                     ["ib_write_bw", "-n", "200", "-c", "UC"], ["ib_send_bw", "-n", "200", "-c", "XRC"],
                     ["ib_atomic_bw", "-n", "200"], ["ib_send_lat", "-n", "200"], ["ib_send_lat", "-n", "100", "-e"],
                     ["ib_write_bw", "-n", "200", "-x", "0"]):
            both(f, *argv)
        for argv in (["ib_write_bw", "-n", "200"], ["ib_read_bw", "-n", "200"], ["ib_send_lat", "-n", "200"],
                     ["ib_write_bw", "-n", "200", "-x", "0"]):
            both(f, *argv, "-c", "DC", run_options=("--dc", "half"))
    finally:
        f.end()


@case("subnet.verbs.counters", seconds=180)
def counters_are_exact(context):
    """perfquery counts exactly the packets and words of a run, at each port on the way. LNK-38, FAB-40"""
    f = begin(context, "count")
    try:
        switch = int(re.search(r"^Switch S-0000 .* lid (\d+)$",
                               f.host.run([context.verbena, "fabric", "show", "count"]), re.M)[1])
        for argv, packets, each in (
                (["ibv_uc_pingpong", "-n", "500", "-s", "2048", "-m", "1024"], 1000, words(1024)),
                (["ibv_uc_pingpong", "-n", "300", "-s", "2048", "-m", "2048", "-g", "0"], 300, words(2048, GRH)),
                (["ibv_ud_pingpong", "-n", "400", "-s", "1000"], 400, words(1000, DETH)),
                (["ibv_ud_pingpong", "-n", "400", "-s", "1000", "-g", "0"], 400, words(1000, DETH, GRH))):
            before = [counters(f, switch, p) for p in (2, 3)]
            both(f, *argv)
            for p in (2, 3):
                new = growth(f, switch, p, before[p - 2])
                for way in ("Xmit", "Rcv"):
                    got = new[f"Port{way}Pkts"], new[f"Port{way}Data"]
                    need(got == (packets, packets * each), f"{argv}, port {p}, {way}: {got}, not {packets} of {each}")
    finally:
        f.end()


@case("subnet.verbs.cable", seconds=240)
def data_obeys_the_cable(context):
    """A cable that is pulled under a transfer: retries end, and the sender's port counts what it drops. LNK-30"""
    f = begin(context, "pull")
    try:
        server, client = start(f, "ibv_rc_pingpong", "-n", "100000000")
        client.wait_output("remote address")
        f.host.run([context.verbena, "fabric", "--name", "pull", "unlink", SERVER, "1"])
        # The one that has a message under way gives up; the other one waits for its own.
        deadline = time.monotonic() + 60
        while server.status() is None and client.status() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        story = client.story() + server.story()
        need("transport retry counter exceeded" in story, story)
        for p in (server, client):
            p.end()
    finally:
        f.end()


@case("subnet.verbs.events", seconds=120)
def events_tell_what_the_manager_does(context):
    """Changes of a port by its manager or its cable come as async events. IBT-63, FAB-23, FAB-24, FAB-25, FAB-56"""
    options, parts = (os.path.join(context.machine.folder, n) for n in ("events.conf", "events.partitions"))
    with open(options, "w", encoding="ascii") as file:
        file.write(f"subnet_prefix 0xfec0000000000000\nsweep_interval 0\npartition_config_file {parts}\n")
    with open(parts, "w", encoding="ascii") as file:
        file.write("Default=0x7fff:ALL=full;\n")
    f = Fabric(context, "events", "star:hosts=3")
    watch = f.host.start(f.at(SERVER, "stdbuf", "-oL", "ibv_asyncwatch"))
    try:
        watch.wait_output("async event FD")
        manager = f.manage("H-0000", "-F", options)
        f.await_log("SUBNET UP")
        for event in ("LID_CHANGE", "SM_CHANGE", "GID_CHANGE", "PORT_ACTIVE", "CLIENT_REREGISTER"):
            watch.wait_output(f"IBV_EVENT_{event}.*1")
        need("IBV_EVENT_PKEY_CHANGE" not in watch.output(), watch.output())
        with open(parts, "a", encoding="ascii") as file:
            file.write("Other=0x1234:ALL=full;\n")
        manager.kill(signal.SIGHUP)
        watch.wait_output("IBV_EVENT_PKEY_CHANGE.*1")
        need("0x9234" in f.run(SERVER, "sh", "-c", "cat /sys/class/infiniband/verbena0/ports/1/pkeys/*"), "pkeys")
        need(f.run(SERVER, "cat", "/sys/class/infiniband/verbena0/ports/1/gids/0").startswith("fec0:"), "gids/0")
        f.host.run([context.verbena, "fabric", "--name", "events", "unlink", SERVER, "1"])
        watch.wait_output("IBV_EVENT_PORT_ERR")
        f.host.run([context.verbena, "fabric", "down", "events"])
        watch.wait_output("IBV_EVENT_DEVICE_FATAL")
    finally:
        watch.end()
        f.managers.clear()
        f.host.run([context.verbena, "fabric", "down", "events"], status=None)


@case("subnet.verbs.alias", seconds=120)
def guids_of_the_manager_are_addresses(context):
    """GUIDs that a manager sets are GIDs of the verbs: QPs and datagrams go by them, and by no others. FAB-20"""
    f = begin(context, "alias")
    watch = f.host.start(f.at(SERVER, "stdbuf", "-oL", "ibv_asyncwatch"))
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "umad_guids.py")
    try:
        watch.wait_output("async event FD")
        for node, guid in ((SERVER, "00a1"), (CLIENT, "00b1")):
            own = f.run(node, "cat", "/sys/class/infiniband/verbena0/ports/1/gids/0").strip().split(":", 4)[4]
            out = f.run(node, "/usr/bin/python3", script, guid, "0", "00c1")
            need(out.split() == [own.replace(":", ""), guid.rjust(16, "0"), 16 * "0", "00c1".rjust(16, "0")], out)
            out = f.run(node, "ibv_devinfo", "-v")
            need(all(re.search(rf"GID\[  {i}\]:\s+fe80:.*:{g}\b", out) for i, g in ((1, guid), (3, "00c1"))), out)
            need("GID[  2]" not in out, out)
        watch.wait_output("IBV_EVENT_GID_CHANGE.*1")
        for kind in ("rc", "ud"):
            out = both(f, f"ibv_{kind}_pingpong", "-n", "100", "-g", "1", "-c")
            need("::a1" in out and "::b1" in out, out)
    finally:
        watch.end()
        f.end()


@case("subnet.verbs.partition", seconds=120)
def partitions_are_apart(context):
    """Two limited members of a partition do not reach each other: the port of the switch counts it, and trap 259 says
    so; without the switch's check the QP's port does, by trap 257. IBT-81, LNK-37, LNK-39, FAB-36"""
    conf = os.path.join(context.machine.folder, "partitions.conf")
    with open(conf, "w", encoding="ascii") as file:
        file.write("Default=0x7fff,defmember=limited:ALL,SELF=full;\n")
    f = begin(context, "part", "star:hosts=3", "-P", conf)
    try:
        _, port = devinfo(f, SERVER, "-v")
        need(f.run(SERVER, "cat", "/sys/class/infiniband/verbena0/ports/1/pkeys/0").strip() == "0x7fff", str(port))
        server, client = start(f, "ibv_rc_pingpong", "-n", "10")
        need(client.wait(60) != 0 and "transport retry counter exceeded" in client.output(), client.story())
        server.end()
        switch = re.search(r"^Switch S-0000 .* lid (\d+)$",
                           f.host.run([context.verbena, "fabric", "show", "part"]), re.M)[1]
        out = f.run("H-0000", "perfquery", switch, "2") + f.run("H-0000", "perfquery", switch, "3")
        need(sum(int(n) for n in re.findall(r"PortXmitConstraintErrors:\.*(\d+)", out)) >= 8, out)
        # A limited member reaches a full one, the manager's port.
        need("NodeRecord" in f.run(SERVER, "saquery", "-N"), "saquery -N")
        server = f.host.start(f.at("H-0000", "ibv_rc_pingpong", "-n", "10", "-p", "18999"))
        server.wait_listen(18999)
        f.run(SERVER, "ibv_rc_pingpong", "-n", "10", "-p", "18999", "127.0.0.1")
        f.await_log("num:259")
    finally:
        f.end()
    f = begin(context, "part", "star:hosts=3", "-P", conf, "-Z", "off")
    try:
        server, client = start(f, "ibv_rc_pingpong", "-n", "10")
        need(client.wait(60) != 0 and "transport retry counter exceeded" in client.output(), client.story())
        f.await_log("num:257")
        out = f.run("H-0000", "smpquery", "portinfo", str(lid_of(f, SERVER)), "1") + \
            f.run("H-0000", "smpquery", "portinfo", str(lid_of(f, CLIENT)), "1")
        need(any(int(n) >= 8 for n in re.findall(r"PkeyViolations:\.*(\d+)", out)), out)
        server.end()
    finally:
        f.end()


@case("subnet.verbs.violations", seconds=120)
def violations_are_counted_at_the_port(context):
    """Where the switches let all P_Keys pass, the QP drops those of others, and PortInfo counts them. FAB-37"""
    conf = os.path.join(context.machine.folder, "open.conf")
    with open(conf, "w", encoding="ascii") as file:
        file.write("Default=0x7fff,defmember=limited:ALL,SELF=full;\n")
    f = begin(context, "open", "star:hosts=3", "-P", conf, "-Z", "off")
    try:
        server, client = start(f, "ibv_rc_pingpong", "-n", "10")
        need(client.wait(60) != 0 and "transport retry counter exceeded" in client.output(), client.story())
        server.end()
        out = f.run("H-0000", "smpquery", "portinfo", str(lid_of(f, SERVER)))
        need(int(re.search(r"PkeyViolations:\.*(\d+)", out)[1]) >= 8, out)
    finally:
        f.end()


def counter_file(f, node, name):
    return int(f.run(node, "cat", f"/sys/class/infiniband/verbena0/ports/1/counters/{name}"))


@case("subnet.verbs.counter_files", seconds=120)
def counters_as_files(context):
    """ports/1/counters says what perfquery says, of data as well, also after it was cleared. LNK-38, LNK-39"""
    f = begin(context, "files")
    # The tree of a node is there while a program is: its files follow within a second.
    stay = f.host.start(f.at(SERVER, "sleep", "100"))
    try:
        def await_file(name, good):
            end = time.monotonic() + 20
            while not good(counter_file(f, SERVER, name)):
                need(time.monotonic() < end, f"{name}: {counter_file(f, SERVER, name)}")
                time.sleep(0.05)

        both(f, "ibv_uc_pingpong", "-n", "500", "-s", "1024")
        await_file("port_xmit_packets", lambda n: n >= 500)
        await_file("port_rcv_data", lambda n: n >= 500 * words(1024))
        lid = lid_of(f, SERVER)
        f.host.run([context.verbena, "fabric", "--name", "files", "error", SERVER, "1", "SymbolErrorCounter=1234"])
        await_file("symbol_error", lambda n: n == 1234)
        f.run("H-0000", "perfquery", "-x", "-R", str(lid), "1")
        f.run("H-0000", "perfquery", "-R", str(lid), "1")
        await_file("symbol_error", lambda n: n == 0)
        await_file("port_xmit_packets", lambda n: n < 100)
    finally:
        stay.end()
        f.end()


def uplinks(f, leaf):
    """The LID of a leaf switch, and its ports to other switches."""
    shown = f.host.run([f.context.verbena, "fabric", "--name", f.name, "show"])
    block = re.search(rf"^Switch {leaf} .* lid (\d+)\n((?: .*\n)+)", shown, re.M)
    return int(block[1]), [int(port) for port in re.findall(r"^ +(\d+) .*-> S-", block[2], re.M)]


def tell(program, text):
    program.process.stdin.write(text.encode())
    program.process.stdin.flush()


@case("subnet.verbs.lmc", seconds=120)
def paths_by_path_bits(context):
    """LMC 1: two LIDs of each port, whose packets take two ways through the switches; completions say which LIDs they
    were. FAB-39, IBT-96"""
    if subprocess.run(["/usr/bin/python3", "-c", "import pyverbs.device"], capture_output=True).returncode:
        raise Skip("no pyverbs: install python3-pyverbs")
    f = begin(context, "lmc1", "clos:leaves=2,spines=2,hosts=2", "-l", "1")
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "verbs_lmc.py")
    try:
        receiver = f.host.start(f.at(SERVER, "/usr/bin/python3", script, "receive"), name="receiver", stdin=subprocess.PIPE)
        receiver.wait_output(r"lmc \d")
        ud, rc, lid, lmc = re.search(r"qps (\d+) (\d+) lid (\d+) lmc (\d)", receiver.output()).groups()
        need(lmc == "1", receiver.output())
        sender = f.host.start(f.at(CLIENT, "/usr/bin/python3", script, "send", lid, ud, rc), name="sender", stdin=subprocess.PIPE)
        sender.wait_output(r"lid \d+ qp \d+")
        own = re.search(r"lid (\d+) qp (\d+)", sender.output())
        tell(receiver, f"{own[1]} {own[2]}\n")
        receiver.wait_output("ready")
        leaf, ports = uplinks(f, "S-0001")
        need(len(ports) == 2, str(ports))
        ways = []
        for step, cnt in enumerate((100, 50, 4, 3), 1):
            before = {p: counters(f, leaf, p) for p in ports}
            tell(sender, "\n")
            sender.wait_output(rf"(?s)(sent.*){{{step}}}", seconds=30)
            grown = [growth(f, leaf, p, before[p])["PortXmitData"] for p in ports]
            took = [p for p, n in zip(ports, grown) if n >= cnt * words(2048, DETH)]
            need(len(took) == 1, f"{took} {grown} {sender.story()}")
            ways += took
        need(ways[0] == ways[2] and ways[1] == ways[3] and ways[0] != ways[1], str(ways))
        tell(sender, "\n")
        need(sender.wait(30) == 0 and receiver.wait(30) == 0, sender.story() + receiver.story())
        got = [(int(n), int(slid) - int(own[1]), int(bits), int(sl)) for n, slid, bits, sl in
               re.findall(r"got (\d+) slid (\d+) bits (\d) sl (\d+)", receiver.output())]
        need(got[:157] == [(2088, 0, 0, 2)] * 100 + [(2088, 0, 1, 2)] * 50 + [(2088, 1, 0, 2)] * 4 + [(2088, 1, 1, 2)] * 3,
             str(got))
        need([(n, bits) for n, _, bits, _ in got[157:]] == [(2048, 1)] * 20, str(got[157:]))
    finally:
        f.end()


TWO_PORTS = """Switch 4 "S-1"
Ca 1 "H-0000"
[1] "S-1"[1]
Ca 2 "H-0001"
[1] "S-1"[2]
[2] "S-1"[3]
Ca 1 "H-0002"
[1] "S-1"[4]
"""


@case("subnet.verbs.two_ports", seconds=120)
def each_port_has_its_own(context):
    """A node with two ports: data by either, agents that hear what comes to their port alone, and a third is refused."""
    topology = os.path.join(context.machine.folder, "two.net")
    with open(topology, "w", encoding="ascii") as file:
        file.write(TWO_PORTS)
    f = begin(context, "two", topology)
    try:
        lids = [f.run(SERVER, "cat", f"/sys/class/infiniband/verbena0/ports/{port}/lid").strip() for port in (1, 2)]
        need(lids[0] != lids[1], str(lids))
        server, client = start(f, "ibv_rc_pingpong", server_options=("-i", "2"))
        for p in (client, server):
            need(p.wait(60) == 0, client.story() + server.story())
        need(f"LID 0x{int(lids[1], 16):04x}" in server.output(), server.output())
        responders = [f.host.start(f.at(SERVER, "ibping", "-S", "-P", str(port))) for port in (1, 2)]
        for lid in lids:
            f.run(CLIENT, "sh", "-c", f"until ibping -c 1 -t 200 {lid}; do :; done")
        responders[0].end()
        out = f.run(CLIENT, "ibping", "-c", "2", "-t", "200", lids[0], status=None)
        need("2 packets transmitted, 0 received" in out, out)
        need("2 packets transmitted, 2 received" in f.run(CLIENT, "ibping", "-c", "2", "-t", "2000", lids[1]), "port 2")
        said = f.run(SERVER, "env", "VERBENA_LOG=1", "/usr/bin/python3", "-c", "from pyverbs.device import Context\n"
                     "try:\n    Context(name='verbena0').query_port(3)\nexcept Exception as e:\n    print(e)")
        need("port_num is 3, and the device has the ports 1 to 2" in said, said)
    finally:
        f.end()
