# SPDX-License-Identifier: BSD-2-Clause
"""RDMA CM between the nodes of an InfiniBand fabric: addresses of its table and GIDs, PathRecords and groups of a
real OpenSM."""
import ipaddress
import os
import re
import signal
import time

from cases import case
from case_cm import NOBODY_YET, TOO_EARLY
from case_subnet import Fabric, lid_of, need
from case_subnet_verbs import CLIENT, SERVER, begin, counters
from hosts import Failure

# In star:hosts=3 the hosts are numbered from 1 on.
SERVER_IP, CLIENT_IP = "10.1.0.2", "10.1.0.3"

# Both sides; S is the server's address.
BY_IP = (
    ("rping -s -a S -C 50 -V", "rping -c -a S -C 50 -V"),
    ("ucmatose -b S -c 16 -C 20", "ucmatose -s S -c 16 -C 20"),
    ("udaddy -b S -c 4 -C 10", "udaddy -s S -c 4 -C 10"),
    ("rdma_server -s S", "rdma_client -s S"),
    ("rdma_xserver -c x", "rdma_xclient -s S -c x"),
    ("rstream -b S -S 4096 -C 20", "rstream -s S -S 4096 -C 20"),
    ("ib_write_bw -R -F -n 200", "ib_write_bw -R -F -n 200 S"),
    ("ib_read_bw -R -F -q 4 -n 100", "ib_read_bw -R -F -q 4 -n 100 S"),
    ("ib_send_bw -R -F -c UD -n 100 -s 1024", "ib_send_bw -R -F -c UD -n 100 -s 1024 S"),
)
BY_GID = (
    ("ucmatose -f gid -b S -c 4 -C 10", "ucmatose -f gid -s S -c 4 -C 10"),
    ("udaddy -f gid -b S -c 4 -C 10", "udaddy -f gid -s S -c 4 -C 10"),
    ("rstream -f gid -b S -S 4096 -C 20", "rstream -f gid -s S -S 4096 -C 20"),
    ("rping -s -a S -C 10 -V", "rping -c -a S -C 10 -V"),  # as an address of IPv6
)


def gid_of(f, node):
    return f.run(node, "cat", "/sys/class/infiniband/verbena0/ports/1/gids/0").strip()


def words(line, address):
    return [address if w == "S" else w for w in line.split()]


def connect_once(f, server, client, address, seconds):
    """Both programs, the client again while the server does not listen yet. None: it did not in this time."""
    s = f.host.start(f.at(SERVER, "stdbuf", "-oL", *words(server, address)), name=f"{server} server")
    end = time.monotonic() + seconds
    while True:
        c = f.host.start(f.at(CLIENT, "stdbuf", "-oL", *words(client, address)), name=f"{client} client")
        if c.wait(40) == 0:
            break
        need(re.search(f"{NOBODY_YET}|{TOO_EARLY}", c.output()), c.story() + s.story())
        if time.monotonic() > end or re.search(TOO_EARLY, c.output()):
            s.end()
            return None
    if server.split()[0] == "cmtime":
        s.end()  # it serves for ever
    else:
        need(s.wait(40) == 0, c.story() + s.story())
    return c.output()


def connect(f, server, client, address):
    """Returns the client's output. perftest connects twice, and nothing tells its client that the server listens again:
    one that was refused half way leaves a server that never will. Then both begin again."""
    for seconds in (4, 4, 4, 4, 20):
        out = connect_once(f, server, client, address, seconds)
        if out is not None:
            return out
    raise Failure(f"{server} is never ready for {client}")


@case("subnet.cm.ip", seconds=300)
def connections_by_ip(context):
    """Programs of RDMA CM between two nodes, by addresses of the fabric's table. FAB-51, CMP-03"""
    f = begin(context, "ip1")
    try:
        for server, client in BY_IP:
            connect(f, server, client, SERVER_IP)
        out = connect(f, "cmtime -b S", "cmtime -s S -c 100", SERVER_IP)
        need(re.search(r"^connect +: ", out, re.M), out)
    finally:
        f.end()


def cm_counters(f, node):
    """The files of the connection manager's messages that are not 0, once they say so: they follow within a second."""
    root = "/sys/class/infiniband/verbena0/ports/1"
    out = f.run(node, "sh", "-c", f"grep -H . {root}/cm_*/*")
    return {name: int(n) for name, n in re.findall(r"/ports/1/(\w+/\w+):(\d+)$", out, re.M)}


@case("subnet.cm.counters", seconds=120)
def messages_are_counted(context):
    """Messages of the connection managers of nodes as files, by kind; what `verbena explain` says of ids there."""
    f = begin(context, "cnt1")
    try:
        # Held open, so that the files of the node stay.
        holders = [f.host.start(f.at(node, "sleep", "100"), name=f"sleep at {node}") for node in (SERVER, CLIENT)]
        connect(f, "rping -s -a S -C 5", "rping -c -a S -C 5", SERVER_IP)
        end = time.monotonic() + 20
        while True:
            there, here = cm_counters(f, SERVER), cm_counters(f, CLIENT)
            if here["cm_rx_msgs/rep"] == 1 and there["cm_tx_msgs/rep"] == 1:
                break
            need(time.monotonic() < end, f"{there} {here}")
            time.sleep(0.2)
        listener = f.host.start(f.at(SERVER, "stdbuf", "-oL", "rping", "-s", "-a", SERVER_IP, "-P"), name="rping listener")
        while True:
            said = f.host.run([context.verbena, "explain", "--cm", "--fabric", "cnt1", "-d", SERVER], status=None)
            if re.search(rf"^listener +TCP +\w+ +{SERVER} +\d+ rping +10\.1\.0\.2:7174 ", said, re.M):
                break
            need(time.monotonic() < end, said)
            time.sleep(0.2)
        listener.end()
        need(len(here) == 44 and here["cm_tx_msgs/req"] >= 1 and there["cm_rx_msgs/rtu"] == 1, f"{there} {here}")
        for p in holders:
            p.end()
    finally:
        f.end()


@case("subnet.cm.gid", seconds=240)
def connections_by_gid(context):
    """The same by AF_IB, where a program can, and by GIDs as addresses of IPv6. CMP-50, FAB-56"""
    f = begin(context, "gid1")
    try:
        gid = gid_of(f, SERVER)
        for server, client in BY_GID:
            connect(f, server, client, gid)
    finally:
        f.end()


@case("subnet.cm.groups", seconds=240)
def groups_by_the_administrator(context):
    """mckey's groups are the manager's: joined, in its tables, and left with the last member. CMP-48, FAB-52"""
    f = begin(context, "mc1")
    try:
        mgid = "ff12:4001:ffff::f01:203"
        receiver = f.host.start(f.at(SERVER, "stdbuf", "-oL", "mckey", "-m", "239.1.2.3", "-b", SERVER_IP, "-C", "10"),
                                name="mckey receiver")
        receiver.wait_output("receiving data transfers")
        out = f.run("H-0000", "saquery", "-g")
        need(mgid in out, out)
        # The manager sets the tables of the switches after it has answered who joins: what is sent before is lost.
        for _ in range(20):
            sender = f.host.start(f.at(CLIENT, "stdbuf", "-oL", "mckey", "-m", "239.1.2.3", "-b", CLIENT_IP, "-C", "10",
                                       "-s"), name="mckey sender")
            need(sender.wait(40) == 0, sender.story() + receiver.story())
            if receiver.status() is not None:
                break
        need(receiver.wait(10) == 0, sender.story() + receiver.story())
        out = f.run("H-0000", "saquery", "-g")
        need(mgid not in out, out)
    finally:
        f.end()


GROUP, GROUP_MGID = "239.1.2.3", "ff12:4001:ffff::f01:203"


def group_receiver(f, packets, group=GROUP):
    p = f.host.start(f.at(SERVER, "stdbuf", "-oL", "mckey", "-m", group, "-b", SERVER_IP, "-C", str(packets)), name="mckey receiver")
    p.wait_output("receiving data transfers")
    return p


def group_send(f):
    """Ten packets, of which the group gets as many as its tree is there for."""
    p = f.host.start(f.at(CLIENT, "stdbuf", "-oL", "mckey", "-m", GROUP, "-b", CLIENT_IP, "-C", "10", "-s"), name="mckey sender")
    need(p.wait(40) == 0, p.story())


def manage_anew(f, *options):
    """The manager is killed, and another one comes that has nothing of its groups."""
    f.managers.pop().kill(signal.SIGKILL)
    f.manage("H-0000", "-s", "0", *options)
    f.await_log("SUBNET UP")


def members(f):
    """The GIDs of the group's members, as the manager has them."""
    records = f.run("H-0000", "saquery", "--smkey", "1", "-m").split("MCMember")
    return [re.search(r"PortGid\.+(\S+)", r)[1] for r in records if f"MGID....................{GROUP_MGID}\n" in r]


@case("subnet.cm.rejoin", seconds=240)
def groups_are_joined_again(context):
    """OpenSM is killed, and the next one has no groups: mckey's port is a member again without mckey, by the MLID that
    the group had, and packets arrive. FAB-24, CMP-49"""
    f = begin(context, "re1")
    try:
        # The next manager would give its MLID to this group, which is no more by then, first.
        former, lid = group_receiver(f, 10, "239.9.9.9"), lid_of(f, SERVER)
        receiver = group_receiver(f, 40)
        former.end()
        before = counters(f, lid, 1)["PortMulticastRcvPkts"]
        while counters(f, lid, 1)["PortMulticastRcvPkts"] - before < 10:
            group_send(f)
        need(receiver.status() is None, receiver.story())
        manage_anew(f)
        context.wait(lambda: len(members(f)) == 1, 40, "the port is no member of the group")
        need(ipaddress.ip_address(members(f)[0]) == ipaddress.ip_address(gid_of(f, SERVER)), str(members(f)))
        while receiver.status() is None:
            group_send(f)
        need(receiver.wait(10) == 0 and "MULTICAST_ERROR" not in receiver.output(), receiver.story())
        context.wait(lambda: not members(f), 40, "the port is a member of a group that it has left")
    finally:
        f.end()


@case("subnet.cm.regroup", seconds=240)
def groups_that_are_others_now(context):
    """The next OpenSM has a group of the same MGID with another Q_Key: mckey hears that its own is no more. FAB-24"""
    parts = os.path.join(context.machine.folder, "regroup.conf")
    with open(parts, "w", encoding="ascii") as file:
        file.write(f"Default=0x7fff,ipoib:\n\tmgid={GROUP_MGID},Q_Key=0x55\n\tALL=full;\n")
    f = begin(context, "regroup1")
    try:
        receiver = group_receiver(f, 10)
        need("MULTICAST_ERROR" not in receiver.output(), receiver.story())
        manage_anew(f, "-P", parts)
        receiver.wait_output("event: RDMA_CM_EVENT_MULTICAST_ERROR, status: -102")
        receiver.end()
    finally:
        f.end()


def refused(f, address, text, *options):
    out = f.run(CLIENT, *(options or ("rping", "-c", "-C", "1", "-a")), address, status=None)
    need(text in out, f"not '{text}': {out}")


@case("subnet.cm.errors", seconds=240)
def what_has_no_way(context):
    """No listener, no program, no address, no path and no manager: each its own event and status. FAB-51, CMP-17"""
    f = begin(context, "no1", "star:hosts=3")
    try:
        refused(f, SERVER_IP, "RDMA_CM_EVENT_REJECTED, error 8")
        refused(f, "10.1.0.9", "rdma_resolve_addr: Network is unreachable")
        refused(f, "10.2.0.2", "rdma_resolve_addr: Network is unreachable")
        # An address of another node is not to be bound here.
        refused(f, SERVER_IP, "rdma_bind_addr: Cannot assign requested address", "rping", "-s", "-a")
        # The manager has no record of such a port.
        refused(f, "fe80::1234", "RDMA_CM_EVENT_ROUTE_ERROR, error: -22", "ucmatose", "-f", "gid", "-c", "1", "-s")
        # Its port refuses the question when no manager is there, and nobody hears it behind a cable that is pulled.
        f.managers.pop().end()
        refused(f, SERVER_IP, "RDMA_CM_EVENT_ROUTE_ERROR, error -22")
        f.host.run([context.verbena, "fabric", "--name", "no1", "unlink", "H-0000", "1"])
        refused(f, SERVER_IP, "RDMA_CM_EVENT_ROUTE_ERROR, error -110")
    finally:
        f.end()


@case("subnet.cm.partition", seconds=120)
def nodes_without_a_common_partition(context):
    """Two limited members have no path to each other, and each has one to the full member. FAB-51, IBT-81"""
    conf = os.path.join(context.machine.folder, "cm.partitions")
    with open(conf, "w", encoding="ascii") as file:
        file.write("Default=0x7fff,defmember=limited:ALL,SELF=full;\n")
    f = begin(context, "part1", "star:hosts=3", "-P", conf)
    try:
        refused(f, SERVER_IP, "RDMA_CM_EVENT_ROUTE_ERROR, error -22")
        refused(f, "10.1.0.1", "RDMA_CM_EVENT_REJECTED, error 8")
    finally:
        f.end()


@case("subnet.cm.pkey", seconds=120)
def messages_go_in_their_partition(context):
    """Limited members of the first partition and full members of a second one connect in the second: their messages
    have its P_Key, or none would pass. FAB-37, FAB-51"""
    conf = os.path.join(context.machine.folder, "cm.red")
    with open(conf, "w", encoding="ascii") as file:
        file.write("Default=0x7fff,defmember=limited:ALL,SELF=full;\nRed=0x1234:ALL=full;\n")
    f = begin(context, "red1", "star:hosts=3", "-P", conf)
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cm_partition.py")
    try:
        server = f.host.start(f.at(SERVER, "python3", script, "listen", gid_of(f, SERVER), "0x9234"), name="listener")
        server.wait_output("listens")
        out = f.run(CLIENT, "python3", script, "connect", gid_of(f, CLIENT), gid_of(f, SERVER), "0x9234", status=None)
        need("ROUTE_RESOLVED" in out and "REJECTED" in out, out + server.story())
        need(server.wait(20) == 0 and "CONNECT_REQUEST 0" in server.output(), out + server.story())
    finally:
        f.end()


@case("subnet.cm.unmanaged", seconds=120)
def no_manager_yet(context):
    """Where no manager has been, an address is there, and no way to it. FAB-51"""
    f = Fabric(context, "no1", "pair")
    try:
        out = f.run("H-0000", "rping", "-c", "-a", "10.1.0.2", "-C", "1", status=None)
        need("RDMA_CM_EVENT_ROUTE_ERROR, error -110" in out, out)
    finally:
        f.end()


@case("subnet.cm.killed", seconds=120)
def killed_programs_disconnect(context):
    """A program that is killed: its peer is disconnected, and its port is free for the next one. CMP-23"""
    f = begin(context, "kill1")
    try:
        line = ["rping", "-s", "-a", SERVER_IP, "-C", "1000000", "-v"]
        server = f.host.start(f.at(SERVER, "stdbuf", "-oL", *line), name="rping server")
        end = time.monotonic() + 20
        while True:
            client = f.host.start(f.at(CLIENT, "stdbuf", "-oL", "rping", "-c", "-a", SERVER_IP, "-C", "1000000", "-v"),
                                  name="rping client")
            while client.status() is None and "rdma-ping-3" not in client.output():
                need(time.monotonic() < end, client.story() + server.story())
                time.sleep(0.02)
            if client.status() is None:
                break
            need(re.search(NOBODY_YET, client.output()) and time.monotonic() < end, client.story())
        client.kill()
        server.wait_output("DISCONNECT EVENT")
        need(server.wait(20) is not None, server.story())
        connect(f, "rping -s -a S -C 5", "rping -c -a S -C 5", SERVER_IP)
    finally:
        f.end()
