#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Asks NETLINK_RDMA directly, also with requests that are damaged. Prints "ok", or an assertion."""
import errno
import os
import select
import socket
import struct

NETLINK_RDMA, NLDEV = 20, 5
GET, PORT_GET, SYS_GET, RES_CQ_GET, GET_CHARDEV = 1, 5, 6, 12, 15
REQUEST, MULTI, ACK, DUMP = 1, 2, 4, 0x300
ERROR, DONE = 2, 3
DEV_INDEX, DEV_NAME, PORT_INDEX, CHARDEV_TYPE, CHARDEV_NAME, CHARDEV = 1, 2, 3, 69, 70, 72


def attribute(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)


def request(op, flags=REQUEST, payload=b"", seq=1, kind=None):
    kind = NLDEV << 10 | op if kind is None else kind
    return struct.pack("=IHHII", 16 + len(payload), kind, flags, seq, 0) + payload


def attributes(data):
    found = {}
    while len(data) >= 4:
        size, kind = struct.unpack("=HH", data[:4])
        assert 4 <= size <= len(data), (size, len(data))
        found.setdefault(kind & 0x3fff, data[4:size])
        data = data[size + 3 & ~3:]
    return found


def answers(s, until):
    """[(type, flags, seq, port, payload)] of datagrams, until a message of this type."""
    got = []
    while True:
        assert select.select([s], [], [], 5)[0], got
        data, (port, groups) = s.recvfrom(65536)
        assert (port, groups) == (0, 0), "the kernel's port is 0"
        size, kind, flags, seq, port = struct.unpack("=IHHII", data[:16])
        assert size == len(data), "a datagram is one whole message"
        got.append((kind, flags, seq, port, data[16:]))
        if kind == until:
            return got


def error_of(s, message):
    s.send(message)
    kind, _, _, _, payload = answers(s, ERROR)[-1]
    code, = struct.unpack("=i", payload[:4])
    assert payload[4:20] == message[:16], "the request's header comes back"
    return -code


def names_and_ports():
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA)
    assert s.getsockname()[0] == os.getpid()
    s.bind((4711, 0))
    assert s.getsockname() == (4711, 0)
    s.send(request(GET, REQUEST | DUMP, seq=77))
    got = answers(s, DONE)
    assert len(got) > 1 and all(m[1] & MULTI and m[2:4] == (77, 4711) for m in got), got
    names = [attributes(m[4])[DEV_NAME] for m in got[:-1]]
    folder = sorted(os.listdir("/sys/class/infiniband"))
    assert sorted(n.rstrip(b"\0").decode() for n in names) == folder, (names, folder)
    return s, struct.unpack("=I", attributes(got[0][4])[DEV_INDEX])[0]


def device_files(s, index):
    """librdmacm compares the number with that of the file."""
    for kind, name, more in ((b"rdma_cm\0", "rdma_cm", b""),
                             (b"uverbs\0", f"uverbs{index}", attribute(DEV_INDEX, struct.pack("=I", index)))):
        s.send(request(GET_CHARDEV, payload=attribute(CHARDEV_TYPE, kind) + more))
        got = attributes(answers(s, NLDEV << 10 | GET_CHARDEV)[-1][4])
        number = [v for v in got.values() if len(v) == 8 and
                  struct.unpack("=Q", v)[0] == os.stat(f"/dev/infiniband/{name}").st_rdev]
        assert number and name.encode() + b"\0" in got.values(), got
    assert error_of(s, request(GET_CHARDEV, payload=attribute(CHARDEV_TYPE, b"umad\0"))) == errno.EOPNOTSUPP
    assert error_of(s, request(GET_CHARDEV)) == errno.EOPNOTSUPP


def refusals(s, index):
    device, port = attribute(DEV_INDEX, struct.pack("=I", index)), attribute(PORT_INDEX, struct.pack("=I", 2))
    nowhere = attribute(DEV_INDEX, struct.pack("=I", 1000))
    assert error_of(s, request(RES_CQ_GET, REQUEST | DUMP, device)) == errno.EOPNOTSUPP
    assert error_of(s, request(GET, REQUEST)) == errno.EINVAL
    assert error_of(s, request(GET, REQUEST, nowhere)) == errno.ENODEV
    assert error_of(s, request(PORT_GET, REQUEST, device)) == errno.EINVAL
    assert error_of(s, request(PORT_GET, REQUEST, device + port)) == errno.EINVAL
    assert error_of(s, request(200)) == errno.EINVAL
    assert error_of(s, request(0)) == errno.EOPNOTSUPP
    assert error_of(s, request(GET, kind=2 << 10 | GET)) == errno.EINVAL
    # Damaged attributes are none.
    for damage in (b"\x03\0\x01\0", b"\xff\xff\x01\0" + b"\0" * 4, b"\x06\0\x01\0ab\0\0", b"\0" * 3):
        assert error_of(s, request(GET, REQUEST, damage)) == errno.EINVAL, damage
    # ACK: data, then an error 0.
    assert error_of(s, request(SYS_GET, REQUEST | ACK)) == 0
    # Bytes that are no message, or no request, have no answer.
    for silent in (b"", b"x" * 15, struct.pack("=IHHII", 8, 1, 1, 0, 0),
                   struct.pack("=IHHII", 4096, NLDEV << 10 | GET, 1, 0, 0), request(SYS_GET, 0)):
        s.send(silent)
    assert not select.select([s], [], [], 0)[0]


def many(s):
    """More than the queue takes at once, two requests in one datagram; nothing is lost or out of order."""
    s.send(b"".join(request(SYS_GET, seq=i) for i in range(1500)))
    for i in range(1500):
        assert struct.unpack("=IHHII", s.recv(4096)[:16])[3] == i
    s.setblocking(False)
    try:
        s.recv(4096)
        raise AssertionError("there is nothing more")
    except BlockingIOError:
        pass
    s.setblocking(True)


def copies(s):
    """A copy, and the same socket in a child, are the same socket; another has a queue of its own."""
    with socket.socket(fileno=os.dup(s.fileno())) as copy, \
            socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, NETLINK_RDMA) as other:
        copy.send(request(SYS_GET, seq=5))
        assert s.recv(4096)[8:12] == struct.pack("=I", 5)
        pid = os.fork()
        if pid == 0:
            s.send(request(SYS_GET, seq=6))
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        assert copy.recv(4096)[8:12] == struct.pack("=I", 6)
        s.send(request(SYS_GET))
        assert not select.select([other], [], [], 0)[0] and s.recv(4096)


def main():
    s, index = names_and_ports()
    device_files(s, index)
    refusals(s, index)
    many(s)
    copies(s)
    number = s.fileno()
    s.close()
    # Other netlink, and other sockets with this number, are the kernel's.
    route = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    assert route.fileno() == number
    route.bind((0, 0))
    route.send(struct.pack("=IHHIIB3xiIII", 32, 18, REQUEST | DUMP, 9, 0, 0, 0, 0, 0, 0)[:32])
    assert struct.unpack("=IHHII", route.recv(65536)[:16])[3] == 9
    print("ok")


main()
