# SPDX-License-Identifier: BSD-2-Clause
"""Multicast on an InfiniBand fabric: OpenSM makes the trees, and each port gets one copy."""
import os
import re
import signal
import subprocess
import time

from cases import case
from case_subnet import lid_of, need
from case_subnet_verbs import begin, both, counters, growth

OTHER_MGID = "ff12:cafe::18"
MGID = "ff12:cafe::17"  # of IPoIB's prefix OpenSM wants another Q_Key
# Joins the group MGID at the port, as a full member, by the manager, and prints its MLID: MCMemberRecord, IBA 15.2.5.17.
JOIN = """
import ctypes, ipaddress, struct, sys
mad = ctypes.CDLL("libibmad.so.5")
class Call(ctypes.Structure):
    _fields_ = [("attrid", ctypes.c_uint), ("mod", ctypes.c_uint), ("mask", ctypes.c_uint64), ("method", ctypes.c_uint),
                ("trid", ctypes.c_uint64), ("recsz", ctypes.c_uint), ("rmpp", ctypes.c_int * 8)]
mad.mad_rpc_open_port.restype = mad.sa_rpc_call.restype = ctypes.c_void_p
classes = (ctypes.c_int * 3)(0x01, 0x81, 0x03)
port = ctypes.c_void_p(mad.mad_rpc_open_port(None, 1, classes, 3))
sm = ctypes.create_string_buffer(512)
assert mad.ib_resolve_smlid_via(sm, 5000, port) == 0
gid = ipaddress.ip_address(open("/sys/class/infiniband/verbena0/ports/1/gids/0").read().strip()).packed
record = ipaddress.ip_address(sys.argv[1]).packed + gid + struct.pack(
    "!IHBBHBBIBBH", 0x1ee7a11, 0, 0, 0, 0xffff, 0, 0, 0, 0x21, 0, 0)
buf = ctypes.create_string_buffer(record, 256)
call = Call(attrid=0x38, mask=0x130c7, method=2)
assert mad.sa_rpc_call(port, buf, sm, ctypes.byref(call), 5000), "the manager refuses the record"
print("0x%x" % struct.unpack_from("!H", buf.raw, 36))
"""


def join(f, node, mgid=MGID):
    return f.run(node, "/usr/bin/python3", "-c", JOIN, mgid).strip()


class Member:
    """verbs_multicast at a node, which hears a group."""

    def __init__(self, context, f, node, group):
        self.node = node
        self.program = f.host.start(player(context, f, node, group, "member"), name=f"member at {node}", stdin=subprocess.PIPE)
        self.program.wait_output("joined")

    def count(self, number):
        return len(re.findall(f"^got {number}$", self.program.output(), re.M))


def player(context, f, node, group, *role):
    return f.at(node, os.path.join(context.build, "tests", "system", "verbs_multicast"), "verbena0", "0", group, *role)


def send(context, f, node, group, number, *more):
    f.host.run(player(context, f, node, group, "send", str(number), *more))


def send_once(context, f, node, group, number, members):
    """One message that each member gets once, and another one behind it."""
    send(context, f, node, group, number)
    send(context, f, node, group, number + 1)
    for m in members:
        m.program.wait_output(f"got {number + 1}\n")
        need(m.count(number) == 1 and m.count(number + 1) == 1, m.program.story())


def await_tree(context, f, node, group, number, members):
    """The manager writes its tables when it comes to it: sends until every member hears."""
    deadline = time.monotonic() + 60
    while not all(m.count(number) for m in members):
        need(time.monotonic() < deadline, "".join(m.program.story() for m in members))
        send(context, f, node, group, number)


@case("subnet.multicast.perftest", seconds=120)
def perftest_to_a_group(context):
    """ib_send_bw to a group that it joins itself: each port on the way counts each packet once. FAB-02, FAB-57"""
    f = begin(context, "mbw", "star:hosts=4")
    try:
        lids = [lid_of(f, f"H-000{i}") for i in range(1, 4)]
        before = [counters(f, lid, 1) for lid in lids]
        both(f, "ib_send_bw", "-c", "UD", "-g", "-n", "400", "-s", "1024")
        got, sent, other = (growth(f, lid, 1, b) for lid, b in zip(lids, before))
        need(got["PortMulticastRcvPkts"] == 400 and got["PortMulticastXmitPkts"] == 0, str(got))
        need(sent["PortMulticastXmitPkts"] == 400 and sent["PortMulticastRcvPkts"] == 0, str(sent))
        need(other["PortMulticastRcvPkts"] == 0, str(other))
    finally:
        f.end()


@case("subnet.multicast.members", seconds=180)
def members_get_one_copy(context):
    """One copy for each member, one at the sender's own port among them; none where the port has not joined. A member is
    killed; a cable is pulled, and OpenSM makes another tree. FAB-02, FAB-57"""
    f = begin(context, "mc", "ring:switches=4,hosts=1")
    try:
        nodes = ["H-0000", "H-0001", "H-0002"]
        mlid = {join(f, n) for n in nodes}
        need(len(mlid) == 1 and re.fullmatch("0xc0..", min(mlid)), str(mlid))
        group = f"{MGID}@{mlid.pop()}"
        members = [Member(context, f, n, group) for n in nodes]
        stranger = Member(context, f, "H-0003", group)
        await_tree(context, f, "H-0000", group, 1, members)
        send_once(context, f, "H-0000", group, 2, members)
        need("got" not in stranger.program.output(), stranger.program.story())

        # Two groups whose messages leave together, each by its own tree.
        other = f"{OTHER_MGID}@{join(f, 'H-0003', OTHER_MGID)}"
        join(f, "H-0000", OTHER_MGID)  # who only sends is of the tree as well
        lone = Member(context, f, "H-0003", other)
        await_tree(context, f, "H-0000", other, 1, [lone])
        send(context, f, "H-0000", group, 20, other)
        send(context, f, "H-0000", other, 21, group)
        for m in [*members, lone]:
            m.program.wait_output("got 21\n")
            need(m.count(20) == 1 and m.count(21) == 1, m.program.story())

        dead = members.pop(1)
        dead.program.kill(signal.SIGKILL)
        need(dead.program.wait(10) != 0, dead.program.story())
        send_once(context, f, "H-0000", group, 4, members)
        members.append(Member(context, f, "H-0001", group))
        send_once(context, f, "H-0002", group, 6, members)

        # Of the cables between four switches in a ring the tree needs no more than three.
        shown = f.host.run([context.verbena, "fabric", "show", "mc"])
        port = re.search(r"^Switch S-0000 .*?^ +(\d+) ACTIVE [^\n]*S-0001", shown, re.M | re.S)
        need(port, shown)
        f.host.run([context.verbena, "fabric", "--name", "mc", "unlink", "S-0000", port[1]])
        await_tree(context, f, "H-0000", group, 8, members)
        send_once(context, f, "H-0000", group, 9, members)
        need("got" not in stranger.program.output(), stranger.program.story())
    finally:
        f.end()


def leaves_and_spines(context, f):
    """The ACTIVE links between switches and to hosts: (lid of the switch, its port, what is at the other end)."""
    shown = f.host.run([context.verbena, "fabric", "show", f.name])
    found = []
    for head, ports in re.findall(r"^Switch (\S+ .*? lid \d+)$((?:\n  .*)+)", shown, re.M):
        lid = int(head.rsplit(" ", 1)[1])
        for port, peer in re.findall(r"^ +(\d+) ACTIVE .*-> (\S+) port", ports, re.M):
            found.append((head.split()[0], lid, int(port), peer))
    return found


@case("subnet.multicast.many", seconds=300)
def group_of_64_members(context):
    """64 members: each gets one copy, and no link carries more than one in a direction. Cables of the tree are pulled
    between switches until every member hears by another way. FAB-02, FAB-57"""
    f = begin(context, "mc64", "clos:leaves=8,spines=4,hosts=8")
    try:
        nodes = [f"H-{i:04}" for i in range(64)]
        group = f"{MGID}@{[join(f, n) for n in nodes][0]}"
        members = [Member(context, f, n, group) for n in nodes]
        await_tree(context, f, nodes[0], group, 1, members)
        links = leaves_and_spines(context, f)
        need(len(links) == 64 + 2 * 32, str(len(links)))
        before = {link: counters(f, link[1], link[2]) for link in links}
        send(context, f, nodes[0], group, 2)
        for m in members:
            m.program.wait_output("got 2\n")
        carried = {}
        for link in links:
            new = growth(f, link[1], link[2], before[link])
            carried[link] = new["PortMulticastXmitPkts"], new["PortMulticastRcvPkts"]
        need(all(max(c) <= 1 for c in carried.values()), str(carried))
        # One to each host's port, and a tree of the nine switches that it needs between them: eight links.
        hosts = [c for link, c in carried.items() if link[3].startswith("H-")]
        need(sum(c[0] for c in hosts) == 63 and sum(c[1] for c in hosts) == 1, str(hosts))
        between = [link for link, c in carried.items() if not link[3].startswith("H-") and c[0] == 1]
        need(len(between) == 8, str(between))

        name, _, port, _ = between[0]
        f.host.run([context.verbena, "fabric", "--name", "mc64", "unlink", name, str(port)])
        await_tree(context, f, nodes[0], group, 4, members)
        send_once(context, f, nodes[9], group, 5, members)
    finally:
        f.end()
