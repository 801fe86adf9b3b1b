#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""/dev/infiniband/umadN of a RoCE device by system calls: "serve" answers a request of a vendor class, "serve-gone"
waits until the device is gone, "ask GID" asks QP1 of that GID, and prints what its file and its requests answer.
MAD-01, MAD-06, MAD-07, MAD-08, MAD-12, MAD-13, MAD-16"""
import errno
import fcntl
import glob
import os
import select
import socket
import struct
import sys

REGISTER_AGENT2, HEADER, MAD = 0xC0281B04, 64, 256
VENDOR, OUI, GET, SEND, RESPONSE = 0x30, 0x001405, 0x01, 0x03, 0x80


def error(function, *args):
    try:
        function(*args)
        return "ok"
    except OSError as e:
        return errno.errorcode[e.errno]


def file_of(device):
    """The umad file of a device, as libibumad finds it."""
    for at in glob.glob("/sys/class/infiniband_mad/umad*"):
        with open(f"{at}/ibdev", encoding="ascii") as ibdev, open(f"{at}/port", encoding="ascii") as port:
            if ibdev.read().strip() == device and port.read().strip() == "1":
                return f"/dev/infiniband/{os.path.basename(at)}"
    sys.exit(f"no umad file of {device}")


def register(fd, mgmt_class, version, method, qpn=1, oui=0):
    arg = bytearray(40)
    struct.pack_into("=IIBBHIQ", arg, 0, 0, qpn, mgmt_class, version, 0, 0, 1 << method)
    struct.pack_into("=I", arg, 32, oui)
    fcntl.ioctl(fd, REGISTER_AGENT2, arg)
    return struct.unpack_from("=I", arg)[0]


def header(agent, gid, index, timeout, qpn=1, grh=1):
    """struct ib_user_mad_hdr with a GRH: gid at 36, the index of the own GID at 33."""
    return struct.pack("=IIIIIIIHBBBBBB16sIH6x", agent, 0, timeout, 0, 0, socket.htonl(qpn), 0, 0, 0, 0, grh, index, 64, 0, gid,
                       0, 0)


def vendor(mgmt_class, tid):
    mad = bytearray(MAD)
    # Of the connection manager's class a kernel drops Gets of all attributes but ClassPortInfo.
    struct.pack_into("!BBBBHHQHHI", mad, 0, 1, mgmt_class, 1, GET, 0, 0, tid, 0x01 if mgmt_class == 7 else 0x10, 0, 0)
    mad[37:40] = OUI.to_bytes(3, "big")
    mad[64:70] = b"hello!"
    return bytes(mad)


def gid_index(device, address):
    """The index of an IPv4 address among the GIDs of a device."""
    want = socket.inet_aton(address).hex()
    for at in glob.glob(f"/sys/class/infiniband/{device}/ports/1/gids/*"):
        with open(at, encoding="ascii") as f:
            gid = f.read().strip().replace(":", "")
        if gid.endswith("ffff" + want):
            return int(os.path.basename(at))
    sys.exit(f"{device} has no GID of {address}")


def mapped(address):
    return bytes(10) + b"\xff\xff" + socket.inet_aton(address)


def serve(fd):
    agent = register(fd, VENDOR, 1, GET, oui=OUI)
    print("ready", flush=True)
    while True:
        data = bytearray(os.read(fd, HEADER + MAD))
        gid = data[36:52]
        print(f"request from {socket.inet_ntoa(bytes(gid[12:]))} status {struct.unpack_from('=I', data, 4)[0]} grh {data[32]}", flush=True)
        data[HEADER + 3] |= RESPONSE
        data[HEADER + 64:HEADER + 70] = data[HEADER + 64:HEADER + 70].upper()
        struct.pack_into("=IIII", data, 0, agent, 0, 0, 0)
        os.write(fd, bytes(data))


def gone(fd):
    print("ready", flush=True)
    p = select.poll()
    p.register(fd, select.POLLIN | select.POLLOUT)
    while (events := dict(p.poll(60000)).get(fd)) == select.POLLOUT:
        select.select([], [], [], 0.02)
    print("gone", events == select.POLLERR, error(os.read, fd, 512), error(os.write, fd, bytes(HEADER + MAD)),
          error(register, fd, 9, 1, GET))


def ask(fd, device, own, peer):
    index = gid_index(device, own)
    print("file", os.path.exists("/dev/infiniband/issm0"), error(register, fd, 0x81, 1, GET, 0), error(register, fd, 7, 2, SEND),
          error(register, fd, 7, 2, GET), error(os.open, "/dev/infiniband/umad77", os.O_RDWR))
    agent = register(fd, VENDOR, 1, SEND, oui=OUI)
    other = register(fd, 9, 1, SEND)
    to = mapped(peer)
    print("write", error(os.write, fd, header(agent, to, index, 0, grh=0) + vendor(VENDOR, 1)),
          error(os.write, fd, header(agent, to, 200, 0) + vendor(VENDOR, 1)), error(os.write, fd, header(9, to, index, 0) + vendor(VENDOR, 1)))

    def answer(agent, mgmt_class, gid, tid, timeout):
        os.write(fd, header(agent, gid, index, timeout) + vendor(mgmt_class, tid))
        if not select.select([fd], [], [], 20)[0]:
            return "nothing"
        data = os.read(fd, HEADER + MAD)
        if struct.unpack_from("=I", data, 4)[0]:
            return errno.errorcode[struct.unpack_from("=I", data, 4)[0]]
        return (data[HEADER + 3], struct.unpack_from("!H", data, HEADER + 4)[0], struct.unpack_from("!I", data, HEADER + 12)[0],
                data[HEADER + 64:HEADER + 70].decode())
    print("answer", answer(agent, VENDOR, to, 7, 5000))
    print("refused", answer(other, 9, to, 8, 5000)[:3])
    print("connections", answer(other, 7, to, 11, 5000)[:3])
    print("own", answer(other, 9, mapped(own), 9, 5000)[:3])
    print("nobody", answer(agent, VENDOR, mapped("10.9.0.77"), 10, 200))


def main():
    word, device = sys.argv[1:3]
    fd = os.open(file_of(device), os.O_RDWR)
    if word == "serve":
        serve(fd)
    elif word == "gone":
        gone(fd)
    else:
        ask(fd, device, *sys.argv[3:])


main()
