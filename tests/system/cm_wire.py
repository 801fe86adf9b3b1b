#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A peer on the wire that rejects: cm_wire.py ADDRESS REASON... answers each REQ to ADDRESS with a REJ, of one reason
after the other. It shares nothing with src/. IBA 12.6.5, 12.6.7, 13.4.3; A17.3.3 (ICRC)
"""
import socket
import struct
import sys

import icrc

PORT = 4791
BTH, DETH, MAD = 12, 8, 256
CLASS_CM, REQ, REJ = 7, 0x10, 0x12


def ip_packet(source, target, payload):
    """An IPv4 packet of UDP with @payload and its ICRC."""
    udp = struct.pack(">HHHH", 0xc000, PORT, 8 + len(payload) + 4, 0)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp) + len(payload) + 4, 0x1234, 0x4000, 64, 17, 0,
                     socket.inet_aton(source), socket.inet_aton(target))
    _, crc = icrc.roce_icrc(ip + udp + payload + bytes(4))
    return ip + udp + payload + struct.pack("<I", crc)


def rejection(request, psn, reason):
    """The payload of a REJ for the REQ in @request."""
    mad = request[BTH + DETH:BTH + DETH + MAD]
    tid, local_id = mad[8:16], mad[24:28]
    bth = struct.pack(">BBHBBHI", 0x64, 0, 0xffff, 0, 0, 1, psn) # UD SEND Only, to QP1
    deth = struct.pack(">II", 0x80010000, 1)
    head = struct.pack(">BBBBHH", 1, CLASS_CM, 2, 3, 0, 0) + tid + struct.pack(">HHI", REJ, 0, 0)
    # Local ID 0, the requester's ID, about the REQ, no information.
    body = bytes(4) + local_id + bytes(2) + struct.pack(">H", reason)
    return bth + deth + (head + body).ljust(MAD, b"\0")


def main():
    address, reasons = sys.argv[1], [int(r) for r in sys.argv[2:]]
    took = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    took.bind((address, PORT))
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    print("listens", flush=True)
    done = set() # transactions; a REQ that is sent again is not another one
    while reasons:
        data, (peer, _) = took.recvfrom(2048)
        mad = data[BTH + DETH:]
        if len(mad) < MAD or mad[1] != CLASS_CM or struct.unpack(">H", mad[16:18])[0] != REQ or mad[8:16] in done:
            continue
        done.add(mad[8:16])
        raw.sendto(ip_packet(address, peer, rejection(data, len(done), reasons.pop(0))), (peer, 0))


main()
