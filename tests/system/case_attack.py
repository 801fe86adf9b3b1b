# SPDX-License-Identifier: BSD-2-Clause
"""Attacks of a stranger on the network, who knows no QPN, PSN or key: forged ICMP messages, and keys that he would guess."""
import os
import re
import signal
import sys
import textwrap

from cases import case
from hosts import Failure
import icrc
import pair

# Tells the host at {to} that packets of {mtu} bytes are too long on its way to {about}, of each UDP
# port that its connected sockets have: whoever cannot see the ports would try all 16384.
FORGE = """
import ipaddress, socket, struct, sys
to, about, mtu, ports = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
def checksum(b):
    s = sum(struct.unpack("!%dH" % (len(b) // 2), b))
    s = (s & 0xffff) + (s >> 16)
    return ~((s & 0xffff) + (s >> 16)) & 0xffff
a, b = ipaddress.ip_address(to), ipaddress.ip_address(about)
family, proto = (socket.AF_INET, 1) if a.version == 4 else (socket.AF_INET6, 58)
s = socket.socket(family, socket.SOCK_RAW, proto)
for port in map(int, ports):
    udp = struct.pack("!4H", port, 4791, 1032, 0)
    if a.version == 4:
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 1052, 0, 0x4000, 64, 17, 0) + a.packed + b.packed
        m = struct.pack("!BBHHH", 3, 4, 0, 0, mtu) + ip + udp
        m = m[:2] + struct.pack("!H", checksum(m)) + m[4:]
    else:
        ip = struct.pack("!IHBB", 0x60000000, 1032, 17, 64) + a.packed + b.packed
        m = struct.pack("!BBHI", 2, 0, 0, mtu) + ip + udp + bytes(1024)
    s.sendto(m, (to, 0))
"""


def source_ports(host):
    """UDP ports of the host's sockets that are connected to an adapter: those of flows."""
    return sorted(set(re.findall(r":(\d+)\s+\S+:4791\b", host.run(["ss", "-uanH"]))))


def forge(by, to, about, mtu):
    ports = source_ports(to.host)
    if not ports:
        raise Failure("the program under attack sends from no port")
    by.run([sys.executable, "-c", textwrap.dedent(FORGE), to.address, about.address, str(mtu), *ports])
    # Without this the attack shows nothing: the kernel believes the message.
    route = to.host.run(["ip", "route", "get", about.address])
    if not re.search(r"mtu \d+", route):
        raise Failure(f"the forged message was not taken by the kernel: {route}\n{to.host.run(['ss', '-uan'])}")


def too_big(context, family, mtu):
    """ib_write_bw goes on while the hosts are told that its packets are too long for the way."""
    context.machine.two()
    where = context.places[f"net{family}"]
    server, client = pair.start(where, "ib_write_bw", ["-F", "-D", "6", "-s", "65536", "-m", "4096"])
    try:
        context.wait(lambda: all(source_ports(s.host) for s in (where.client, where.server)) or
                     client.status() is not None, 10, "it never began")
        forge(where.server.host, where.client, where.server, mtu)
        forge(where.client.host, where.server, where.client, mtu)
        pair.finish(server, client, 25)
        # A process that comes later meets a route that still says so.
        pair.run(where, "ib_read_bw", ["-F", "-n", "200", "-s", "65536", "-m", "4096"])
    except Failure as e:
        raise Failure(f"{e}\n{client.story()}\n{server.story()}") from None
    finally:
        for side in (where.server, where.client):
            side.host.run(["ip", f"-{family}", "route", "flush", "cache"])


@case("attack.icmp_fragmentation_needed", seconds=60)
def _(context):
    too_big(context, 4, 600)


@case("attack.icmp_packet_too_big", seconds=60)
def _(context):
    too_big(context, 6, 1280)


def wire_ids(capture):
    """(source port, identification, DF) of the RoCE packets over IPv4 in a pcap file of Ethernet frames."""
    with open(capture, "rb") as f:
        data = f.read()
    at, found = 24, []
    while at + 16 <= len(data):
        length = int.from_bytes(data[at + 8:at + 12], "little")
        ip = data[at + 16 + 14:at + 16 + length]
        at += 16 + length
        if len(ip) >= 28 and ip[0] == 0x45 and ip[9] == 17 and ip[22:24] == b"\x12\xb7":
            found.append((int.from_bytes(ip[20:22], "big"), int.from_bytes(ip[4:6], "big"), bool(ip[6] & 0x40)))
    return found


@case("attack.wire_df_and_identification")
def _(context):
    """Packets that leave have DF set, and identifications that the ICRC was made with, seen by tcpdump."""
    context.machine.two()
    where = context.places["net4"]
    for side in (where.server, where.client):
        # Trains are cut before tcpdump sees them.
        side.host.run(["ip", "link", "set", side.ifname, "gso_max_segs", "1"])
    path = os.path.join(context.machine.folder, "wire.pcap")
    # With room for everything: a crowded machine lets tcpdump wait.
    dump = where.server.host.start(["tcpdump", "-i", where.server.ifname, "-U", "-B", "65536", "-Z", "root", "-w", path,
                                    "udp", "port", "4791"])
    try:
        dump.wait_output("listening on")
        pair.run(where, "ib_write_bw", ["-F", "-n", "100", "-s", "65536", "-m", "4096"])
        pair.run(where, "ibv_ud_pingpong", ["-n", "100"])
        context.wait(lambda: len(wire_ids(path)) >= 1000, 10, "tcpdump wrote less than the programs sent")
        dump.kill(signal.SIGINT)
        dump.wait(10)
    finally:
        for side in (where.server, where.client):
            side.host.run(["ip", "link", "set", side.ifname, "gso_max_segs", "65535"])
    seen = wire_ids(path)
    checked, bad = icrc.check(path)
    if len(seen) < 1000 or checked < len(seen) or bad or not all(df for _, _, df in seen):
        raise Failure(f"{len(seen)} packets, {checked} ICRCs checked, {len(bad)} of them wrong, "
                      f"{sum(not df for _, _, df in seen)} without DF")


@case("attack.keys_of_each_process")
def _(context):
    """Each process draws its own keys: who knows those of one, a peer for instance, knows none of another's."""
    keys = []
    for _ in range(2):
        _, client = pair.run(context.places["lo4"], "ib_write_bw", ["-F", "-n", "10"])
        keys += re.findall(r"RKey (0x[0-9a-f]+)", client)
    if len(keys) != 4 or len(set(keys)) != 4:
        raise Failure(f"the keys of two pairs of processes: {' '.join(keys)}")
