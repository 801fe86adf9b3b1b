# SPDX-License-Identifier: BSD-2-Clause
"""InfiniBand routers: fabrics of several subnets, each with an OpenSM and a prefix of its own, and data that crosses."""
import os
import re
import time

from cases import case
from case_subnet import Fabric, lid_of, need
from case_subnet_cm import connect, gid_of
from case_subnet_verbs import CLIENT, SERVER, both, growth, counters, start

# SERVER and CLIENT are in two subnets. Port GUIDs: those of the nodes, and the number of the port.
TWO = """
Switch 8 "S-A"
[1] "H-0000"[1]
[2] "H-0002"[1]
[8] "R-0000"[1]

Switch 8 "S-B"
[1] "H-0003"[1]
[2] "H-0001"[1]
[8] "R-0000"[2]

caguid=0x1000
Hca 1 "H-0000"
caguid=0x1200
Hca 1 "H-0002"
caguid=0x1300
Hca 1 "H-0003"
caguid=0x1100
Hca 1 "H-0001"
rtguid=0x2000
Rt 2 "R-0000"
"""
SERVER_GUID, CLIENT_GUID, NEAR_GUID, FAR_GUID = 0x1101, 0x1201, 0x2001, 0x2002
PREFIX_A, PREFIX_B = 0xfec0000000000001, 0xfec0000000000002
# In the order of the text.
SERVER_NUMBER = 4

BY_IP = (
    ("rping -s -a S -C 50 -V", "rping -c -a S -C 50 -V"),
    ("ucmatose -b S -c 8 -C 20", "ucmatose -s S -c 8 -C 20"),
    ("udaddy -b S -c 4 -C 10", "udaddy -s S -c 4 -C 10"),
    ("ib_write_bw -R -F -n 200", "ib_write_bw -R -F -n 200 S"),
    ("ib_read_bw -R -F -n 100", "ib_read_bw -R -F -n 100 S"),
    ("ib_send_bw -R -F -c UD -n 100 -s 1024", "ib_send_bw -R -F -c UD -n 100 -s 1024 S"),
)


def write(context, name, text):
    path = os.path.join(context.machine.folder, name)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


def drops(f, context, what):
    """The packets that the router's port in the first subnet has dropped, as `verbena fabric show` says once they are
    counted."""
    shown = f.host.run([context.verbena, "fabric", "show", f.name])
    found = re.search(rf"^ +1 .* prefix .* -> S-A port .*, (\d+) {what}", shown, re.M)
    return int(found[1]) if found else 0


def await_drops(f, context, what, least):
    end = time.monotonic() + 30
    while drops(f, context, what) < least:
        need(time.monotonic() < end, f"the router has not dropped {least} packets {what}")
        time.sleep(0.1)


@case("subnet.router.managed", seconds=300)
def managers_of_both_subnets(context):
    """`up --sm` starts an OpenSM in each subnet; programs of RDMA CM cross the router by paths of theirs. FAB-06, FAB-07,
    IBT-95, LNK-06"""
    f = Fabric(context, "rt1", write(context, "two.net", TWO), "--sm")
    try:
        need(gid_of(f, CLIENT).startswith("fec0:0000:0000:0001:") and gid_of(f, SERVER).startswith("fec0:0000:0000:0002:"),
             gid_of(f, CLIENT) + gid_of(f, SERVER))
        # A subnet ends at the router, whose manager is each subnet's own.
        out = f.run(CLIENT, "ibnetdiscover")
        need(re.search(r'^Rt\t2 "R-0000000000002000"\t+# "R-0000"$', out, re.M) and "H-0002" in out and
             "H-0001" not in out, out)
        out = f.run(SERVER, "ibnetdiscover")
        need(re.search(r"^rtguid=0x2000$", out, re.M) and "H-0001" in out and "H-0002" not in out, out)
        out = f.run(CLIENT, "smpquery", "-G", "nodeinfo", hex(NEAR_GUID))
        need(re.search(r"^NodeType:\.+Router$", out, re.M), out)
        out = f.run("R-0000", "ibv_devinfo", status=None)
        need("'R-0000' is a router: its ports have management, and no verbs" in out, out)
        shown = f.host.run([context.verbena, "fabric", "show", "rt1"])
        need(re.search(r"^Rt R-0000 ", shown, re.M) and f"prefix 0x{PREFIX_A:x} -> S-A port 8" in shown and
             f"prefix 0x{PREFIX_B:x} -> S-B port 8" in shown, shown)
        # The path to the other subnet is one to the router, with hops.
        out = f.run(CLIENT, "saquery", "PR", "--sgid", gid_of(f, CLIENT), "--dgid", gid_of(f, SERVER))
        router = int(re.search(r"^Lid:\.+(\d+)$", f.run(CLIENT, "smpquery", "-G", "portinfo", hex(NEAR_GUID)), re.M)[1])
        need(re.search(rf"dlid\.+{router}$", out, re.M) and re.search(r"hop_flow_raw\.+0xFF$|hop_limit\.+255", out, re.M | re.I),
             out)
        before = counters(f, router, 1)
        for server, client in BY_IP:
            connect(f, server, client, f"10.1.0.{SERVER_NUMBER}")
        need(growth(f, router, 1, before)["PortRcvPkts"] > 1000, f.run("H-0000", "perfquery", str(router), "1"))
        for server, client in (("ucmatose -f gid -b S -c 4 -C 10", "ucmatose -f gid -s S -c 4 -C 10"),):
            connect(f, server, client, gid_of(f, SERVER))
        need(drops(f, context, "not routed") == 0, "the router dropped packets")
    finally:
        f.end()


def manage_by_hand(f, context, node, subnet, lids, prefix, other, router):
    """OpenSM as a user would start it: a prefix, routes to the other subnet, and LIDs that are settled."""
    folder = os.path.join(context.machine.folder, f"osm.{subnet}")
    os.makedirs(folder, exist_ok=True)
    write(context, f"osm.{subnet}/guid2lid", "".join(f"0x{g:016x} 0x{lid:04x} 0x{lid:04x}\n\n" for g, lid in lids))
    routes = write(context, f"osm.{subnet}/prefix-routes.conf", f"0x{other:016x} 0x{router:016x}\n")
    conf = write(context, f"osm.{subnet}/opensm.conf",
                 f"subnet_prefix 0x{prefix:016x}\nprefix_routes_file {routes}\nhonor_guid2lid_file TRUE\n")
    log = os.path.join(folder, "opensm.log")
    p = f.host.start(f.at(node, "opensm", "-F", conf, "-s", "0", "-e", "-d", "2", "-f", log),
                     env={"OSM_TMP_DIR": folder, "OSM_CACHE_DIR": folder})
    f.managers.append(p)
    f.await_log("SUBNET UP", log=log)


def cross_by_lid(context, *options):
    """Two OpenSMs of a user, with subnet_prefix and prefix routes. perftest tells the peer its own LID, which here is
    that of the router in the peer's subnet: so its RC and UD cross with a GRH. ibv_rc_pingpong has a hop limit of 1, and
    its packets end at the router; so do those without a GRH."""
    f = Fabric(context, "rt2", write(context, "two.net", TWO), *options)
    try:
        manage_by_hand(f, context, "H-0000", "a", ((CLIENT_GUID, 20), (NEAR_GUID, 30)), PREFIX_A, PREFIX_B, NEAR_GUID)
        manage_by_hand(f, context, "H-0003", "b", ((SERVER_GUID, 30), (FAR_GUID, 20)), PREFIX_B, PREFIX_A, FAR_GUID)
        context.wait(lambda: lid_of(f, CLIENT) == 20 and lid_of(f, SERVER) == 30, 10, lambda: "no LIDs of the managers' files")
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
        need(drops(f, context, "not routed") == 0, "packets with a GRH are routed")
        server, client = start(f, "ibv_rc_pingpong", "-n", "10")
        need(client.wait(60) == 1 and "transport retry counter exceeded" in client.output(), client.story())
        server.end()
        await_drops(f, context, "not routed", 2)
    finally:
        f.end()


@case("subnet.router.lids", seconds=300)
def data_crosses_by_lid(context):
    """Data takes no time. FAB-06, LNK-06"""
    cross_by_lid(context)


@case("subnet.live.router", seconds=300)
def data_crosses_in_real_time(context):
    """The router is a machine with queues, lanes and credits of its own. FAB-06, FAB-07, LNK-06"""
    cross_by_lid(context, "--real-time", "20")


CHAIN = """
Switch 4 "S-A"
[1] "H-0002"[1]
[4] "R-0000"[1]
Switch 4 "S-B"
[3] "R-0001"[1]
[4] "R-0000"[2]
Switch 4 "S-C"
[1] "H-0001"[1]
[4] "R-0001"[2]
Hca 1 "H-0002"
Hca 1 "H-0001"
Rt 2 "R-0000"
Rt 2 "R-0001"
"""


@case("subnet.router.chain", seconds=240)
def two_routers_in_a_row(context):
    """Three subnets in a row, of which the middle one has no host: its OpenSM is at a router. FAB-06, FAB-07"""
    f = Fabric(context, "rt1", write(context, "chain.net", CHAIN), "--sm")
    try:
        connect(f, "rping -s -a S -C 20 -V", "rping -c -a S -C 20 -V", "10.1.0.2")
        connect(f, "udaddy -b S -c 2 -C 10", "udaddy -s S -c 2 -C 10", "10.1.0.2")
        # The link between the routers is lost: so is the way.
        f.host.run([context.verbena, "fabric", "--name", "rt1", "unlink", "R-0001", "1"])
        client = f.host.start(f.at(CLIENT, "rping", "-c", "-C", "1", "-a", "10.1.0.2"), name="rping client")
        await_drops(f, context, "not routed", 1)
        client.end()
    finally:
        f.end()


PARTS = """
Rt 2 "R"
[1] "A#S"[4]
[2] "B#S"[4]
module="A"
include "part.net"
module="B"
include "part.net"
"""
PART = """
Switch 4 "S"
[1] "H-0"[1]
[2] "H-1"[1]
Ca 1 "H-0"
Ca 1 "H-1"
"""


@case("subnet.router.parts", seconds=60)
def topology_of_several_files(context):
    """A topology that includes a file twice, each time as another module, and so has two subnets alike. Without the file it
    is refused with its line; routes of OpenSM are of one subnet."""
    net = write(context, "parts.net", PARTS)
    part = write(context, "part.net", PART)
    f = Fabric(context, "rt1", net)
    try:
        shown = f.host.run([context.verbena, "fabric", "show", "rt1"])
        need(all(f"{m}#{n}" in shown for m in "AB" for n in ("S", "H-0", "H-1")) and "(active)" not in shown, shown)
    finally:
        f.end()
    routes = os.path.join(context.machine.folder, "parts.routes")
    said = f.host.run([context.verbena, "fabric", "route", net, "-o", routes], status=1)
    need("'R' is a router, and OpenSM's tables are of one subnet" in said and not os.path.exists(routes), said)
    os.unlink(part)
    said = f.host.run([context.verbena, "fabric", "--name", "rt1", "up", net], status=1)
    need(f'{net}, line 6, column 10: the file "part.net" cannot be read' in said, said)
