#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks the ICRC of every RoCEv2 packet of a capture, on its own: nothing is shared with src/.

  icrc.py FILE...      pcap or pcapng; prints what it found, exit status 1 when one is wrong

IBA A17.3.3: CRC-32 over eight bytes of ones in the place of the LRH, then the packet from the IP
header on, with the fields that a router may change as ones.
"""
import struct
import sys
import zlib

ROCE_PORT = 4791
LINK_ETHERNET, LINK_RAW, LINK_SLL, LINK_SLL2, LINK_NULL = 1, 101, 113, 276, 0


def pcap_packets(data):
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    link = struct.unpack(order + "I", data[20:24])[0] & 0xffff
    at = 24
    while at + 16 <= len(data):
        caught, length = struct.unpack(order + "II", data[at + 8:at + 16])
        yield link, data[at + 16:at + 16 + caught], length
        at += 16 + caught


def pcapng_packets(data):
    at, links, order = 0, [], "<"
    while at + 12 <= len(data):
        if data[at:at + 4] == b"\n\r\r\n":
            order = "<" if data[at + 8:at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
            links = []
        kind, size = struct.unpack(order + "II", data[at:at + 8])
        body = data[at + 8:at + size - 4]
        if kind == 1:
            links.append(struct.unpack(order + "H", body[:2])[0])
        elif kind == 6:
            interface, _, _, caught, length = struct.unpack(order + "IIIII", body[:20])
            yield links[interface], body[20:20 + caught], length
        if size < 12:
            raise ValueError(f"a pcapng block of {size} bytes at {at}")
        at += size


def packets(path):
    with open(path, "rb") as f:
        data = f.read()
    if data[:4] == b"\n\r\r\n":
        return pcapng_packets(data)
    if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d"):
        return pcap_packets(data)
    raise ValueError(f"{path}: neither pcap nor pcapng")


def ip_packet(link, frame):
    """The IP packet in a frame, or None."""
    if link == LINK_RAW:
        return frame
    skip = {LINK_ETHERNET: 14, LINK_SLL: 16, LINK_SLL2: 20, LINK_NULL: 4}.get(link)
    return None if skip is None else frame[skip:]


def roce_icrc(ip):
    """(what the packet says, what it should say), or None when it is no RoCEv2 packet."""
    if not ip:
        return None
    head = bytearray()
    if ip[0] >> 4 == 4:
        size = (ip[0] & 15) * 4
        total = struct.unpack(">H", ip[2:4])[0]
        if ip[9] != 17 or struct.unpack(">H", ip[6:8])[0] & 0x3fff:
            return None
        head += ip[:size]
        head[1] = head[8] = 0xff       # traffic class, time to live
        head[10:12] = b"\xff\xff"      # header checksum
    elif ip[0] >> 4 == 6:
        size = 40
        total = 40 + struct.unpack(">H", ip[4:6])[0]
        if ip[6] != 17:
            return None
        head += ip[:40]
        head[0:4] = b"\x6f\xff\xff\xff"  # traffic class, flow label
        head[7] = 0xff                 # hop limit
    else:
        return None
    udp = bytearray(ip[size:size + 8])
    if len(udp) < 8 or struct.unpack(">H", udp[2:4])[0] != ROCE_PORT:
        return None
    udp[6:8] = b"\xff\xff"             # checksum
    rest = bytearray(ip[size + 8:total])
    if total > len(ip) or len(rest) < 16:
        raise ValueError("cut short")
    rest[4] = 0xff                     # FECN, BECN, reserved
    crc = zlib.crc32(b"\xff" * 8 + bytes(head) + bytes(udp) + bytes(rest[:-4]))
    return struct.unpack("<I", rest[-4:])[0], crc


def check(path):
    """(packets checked, list of complaints)."""
    checked, bad = 0, []
    for number, (link, frame, _) in enumerate(packets(path), 1):
        try:
            both = roce_icrc(ip_packet(link, frame))
        except ValueError as e:
            bad.append(f"packet {number}: {e}")
            continue
        if both is None:
            continue
        checked += 1
        if both[0] != both[1]:
            bad.append(f"packet {number}: ICRC {both[0]:08x}, should be {both[1]:08x}")
    return checked, bad


def main():
    failed = False
    for path in sys.argv[1:]:
        checked, bad = check(path)
        print(f"{path}: {checked} packets, {len(bad)} with a wrong ICRC")
        for line in bad[:10]:
            print("    " + line)
        failed |= bool(bad)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
