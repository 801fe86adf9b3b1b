#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes to /dev/infiniband/umad0 as a program of a node does, by system calls alone, and prints what they answer:
errors of each kind, many writes at once, and writes just before the last close. MAD-11, MAD-23"""
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import sys

REGISTER_AGENT2, UNREGISTER_AGENT = 0xC0281B04, 0x40041B02
HEADER, MAD = 64, 256
PERMISSIVE = 0xFFFF


def register(fd, qpn, mgmt_class):
    arg = bytearray(40)
    struct.pack_into("=IIBBHI", arg, 0, 0, qpn, mgmt_class, 1, 0, 0)
    fcntl.ioctl(fd, REGISTER_AGENT2, arg)
    return struct.unpack_from("=I", arg)[0]


def header(agent, lid, qpn, timeout):
    """struct ib_user_mad_hdr: id, status, timeout, retries, length, qpn, qkey, lid, ..."""
    return struct.pack("=IIIIIIIH", agent, 0, timeout, 0, 0, socket.htonl(qpn), 0, socket.htons(lid)).ljust(HEADER, b"\0")


def smp(tid, port=None):
    """NodeInfo by a directed route: to this node, or over a port."""
    mad = bytearray(MAD)
    struct.pack_into("!BBBBHBBQHHI", mad, 0, 1, 0x81, 1, 1, 0, 0, 0 if port is None else 1, tid, 0x11, 0, 0)
    struct.pack_into("!HH", mad, 32, PERMISSIVE, PERMISSIVE)
    if port is not None:
        mad[129] = port
    return bytes(mad)


def refused(fd, data):
    try:
        return "written" if os.write(fd, data) == len(data) else "short"
    except OSError as e:
        return errno.errorcode[e.errno]


def answers(fd, cnt, seconds=10):
    """The transaction IDs, lower halves, of so many messages, and whether each had an answer."""
    got = []
    while len(got) < cnt and select.select([fd], [], [], seconds)[0]:
        data = os.read(fd, HEADER + MAD)
        got.append((struct.unpack_from("!I", data, HEADER + 12)[0], struct.unpack_from("=I", data, 4)[0]))
    return got


def main():
    fd = os.open("/dev/infiniband/umad0", os.O_RDWR)
    a = register(fd, 0, 0x81)
    to_self = header(a, PERMISSIVE, 0, 5000)
    print("agent", refused(fd, header(a + 1, PERMISSIVE, 0, 0) + smp(1)), refused(fd, header(40, 0, 0, 0) + smp(1)))
    print("size", refused(fd, to_self + smp(1)[:35]), refused(fd, to_self + smp(1) + b"\0"), refused(fd, b""))
    print("route", refused(fd, to_self + smp(1, port=2)))
    # Nobody has this LID: the request stays outstanding.
    lost = header(a, 0xBFF0, 0, 60000) + smp(7)[:1] + b"\x01" + smp(7)[2:]
    print("equal", refused(fd, lost), refused(fd, lost), refused(fd, lost))
    cnt = 3000
    wrong = [t for t in range(100, 100 + cnt) if refused(fd, to_self + smp(t)) != "written"]
    got = answers(fd, cnt)
    print("many", len(wrong), got == [(t, 0) for t in range(100, 100 + cnt)])
    child = os.fork()
    if child == 0:
        os.write(fd, to_self + smp(5000))
        os._exit(0)
    os.waitpid(child, 0)
    print("child", answers(fd, 1))
    fcntl.ioctl(fd, UNREGISTER_AGENT, struct.pack("=I", a))
    print("gone", refused(fd, to_self + smp(2)))
    # The last write leaves, though nobody reads its answer: it clears the port's counters.
    b = register(fd, 1, 4)
    reset = bytearray(MAD)
    struct.pack_into("!BBBBHHQHHI", reset, 0, 1, 4, 1, 2, 0, 0, 9, 0x12, 0, 0)
    struct.pack_into("!BBH", reset, 64, 0, 1, 0xFFFF)
    # The process of the fabric sees the write and the close at once.
    fabric = int(sys.argv[2])
    os.kill(fabric, signal.SIGSTOP)
    try:
        os.write(fd, header(b, int(sys.argv[1]), 1, 0) + bytes(reset))
        os.close(fd)
    finally:
        os.kill(fabric, signal.SIGCONT)


if __name__ == "__main__":
    main()
