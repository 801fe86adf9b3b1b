#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""An open /dev/infiniband/umad0 as a file: what read, poll and ioctl answer, and whose it is after dup, fork, a
descriptor that is sent to another process, and kill -9. Prints a line for each. MAD-05, MAD-14, MAD-16, MAD-23"""
import ctypes
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import sys
import time

from umad_calls import HEADER, MAD, PERMISSIVE, REGISTER_AGENT2, header, refused, register, smp

LIBC = ctypes.CDLL(None, use_errno=True)
GET_MASK = 1 << 1
VENDOR, OUI = 0x30, 0x001405


def call(function, *args):
    """The error of a call by its name, or what it returns."""
    ctypes.set_errno(0)
    got = function(*args)
    return errno.errorcode[ctypes.get_errno()] if got < 0 else got


def read(fd, count):
    return call(LIBC.read, fd, ctypes.create_string_buffer(max(count, 1)), count)


def register_raw(fd, flags=0, oui=0, mask=0, mgmt_class=0x81, qpn=0):
    """The error of REGISTER_AGENT2, and the flags that it has written back."""
    arg = bytearray(40)
    struct.pack_into("=IIBBHIQ", arg, 0, 0, qpn, mgmt_class, 1, 0, flags, mask)
    struct.pack_into("=I", arg, 32, oui)
    try:
        fcntl.ioctl(fd, REGISTER_AGENT2, arg)
        return "registered", struct.unpack_from("=I", arg, 12)[0]
    except OSError as e:
        return errno.errorcode[e.errno], struct.unpack_from("=I", arg, 12)[0]


def register_vendor(fd):
    return register_raw(fd, oui=OUI, mask=GET_MASK, mgmt_class=VENDOR, qpn=1)


def ioctls(fd):
    other = [call(LIBC.ioctl, fd, ctypes.c_ulong(number), ctypes.create_string_buffer(64))
             for number in (0x5401, 0xC0281B05, 0xC01C1B7F)]
    return [*other, register_raw(fd, flags=2), register_raw(fd, oui=1 << 24)]


def reads(fd, agent):
    to_self = header(agent, PERMISSIVE, 0, 5000)
    os.set_blocking(fd, False)
    got = [read(fd, HEADER + MAD)]
    os.write(fd, to_self + smp(1))
    select.select([fd], [], [], 10)
    # A read that is too short for the header, and for a MAD: the message stays.
    got += [read(fd, HEADER - 1), read(fd, HEADER + MAD - 1), read(fd, HEADER + MAD), read(fd, HEADER + MAD)]
    os.set_blocking(fd, True)
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.siginterrupt(signal.SIGALRM, True)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    began = time.monotonic()
    got.append(read(fd, HEADER + MAD))
    signal.setitimer(signal.ITIMER_REAL, 0)
    return [*got, time.monotonic() - began > 0.1]


def polls(fd, agent):
    p = select.poll()
    p.register(fd, select.POLLIN | select.POLLOUT)
    names = {select.POLLIN: "in", select.POLLOUT: "out", select.POLLERR: "err", select.POLLHUP: "hup"}

    def said(wait_ms):
        return "+".join(n for bit, n in names.items() if dict(p.poll(wait_ms)).get(fd, 0) & bit)
    got = [said(0)]
    os.write(fd, header(agent, PERMISSIVE, 0, 5000) + smp(2))
    select.select([fd], [], [], 10)
    got.append(said(0))
    os.read(fd, HEADER + MAD)
    return [*got, said(0)]


def answer_to(fd):
    ready = select.select([fd], [], [], 5)[0]
    return struct.unpack_from("!I", os.read(fd, HEADER + MAD), HEADER + 12)[0] if ready else None


def copies():
    """The agent of a file that was copied lives as long as the last copy."""
    fd = os.open("/dev/infiniband/umad0", os.O_RDWR)
    agent = register(fd, 0, 0x81)
    other = os.dup(fd)
    os.close(fd)
    os.write(other, header(agent, PERMISSIVE, 0, 5000) + smp(11))
    got = [answer_to(other)]
    # A child has it as well, and its end does not close the parent's.
    child = os.fork()
    if child == 0:
        os.write(other, header(agent, PERMISSIVE, 0, 5000) + smp(12))
        os._exit(0 if answer_to(other) == 12 else 1)
    got.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os.write(other, header(agent, PERMISSIVE, 0, 5000) + smp(13))
    got.append(answer_to(other))
    # Sent to a process that has opened nothing.
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    child = os.fork()
    if child == 0:
        os.close(other)
        _, fds, _, _ = socket.recv_fds(b, 1, 1)
        os.write(fds[0], header(agent, PERMISSIVE, 0, 5000) + smp(14))
        os._exit(0 if answer_to(fds[0]) == 14 else 1)
    socket.send_fds(a, [b"x"], [other])
    os.close(other)
    got.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    return got


def killed():
    """Requests of a class go to one agent; when its process is killed another one may have them."""
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        fd = os.open("/dev/infiniband/umad0", os.O_RDWR)
        os.write(tell, register_vendor(fd)[0].encode())
        time.sleep(60)
        os._exit(0)
    got = [os.read(ready, 20).decode()]
    fd = os.open("/dev/infiniband/umad0", os.O_RDWR)
    got.append(register_vendor(fd)[0])
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    end = time.monotonic() + 1
    while (said := register_vendor(fd)[0]) != "registered" and time.monotonic() < end:
        time.sleep(0.01)
    return [*got, said]


def gone(fd, agent):
    """The answers of a file whose fabric ends meanwhile."""
    missing = call(LIBC.open, b"/dev/infiniband/umad7", os.O_RDWR)
    os.write(fd, header(agent, PERMISSIVE, 0, 5000) + smp(1))  # the answer is not read, and goes with the device
    select.select([fd], [], [], 10)
    watch = select.epoll()
    watch.register(fd, select.EPOLLIN | select.EPOLLOUT)
    print("open", flush=True)
    p = select.poll()
    p.register(fd, select.POLLIN | select.POLLOUT)
    end = time.monotonic() + 30
    while (events := dict(p.poll(30000))[fd]) & select.POLLIN and time.monotonic() < end:
        time.sleep(0.01)
    return ["err" if events == select.POLLERR else events, watch.poll(0) == [(fd, select.EPOLLERR)], read(fd, HEADER + MAD), refused(fd, header(agent, PERMISSIVE, 0, 5000) + smp(2)), register_vendor(fd)[0],
            call(LIBC.open, b"/dev/infiniband/umad0", os.O_RDWR), missing]


def main():
    fd = os.open("/dev/infiniband/umad0", os.O_RDWR)
    agent = register(fd, 0, 0x81)
    if sys.argv[1:] == ["gone"]:
        print(*gone(fd, agent))
        return
    print("ioctl", *ioctls(fd))
    print("read", *reads(fd, agent))
    print("poll", *polls(fd, agent))
    os.close(fd)
    print("copies", *copies())
    print("killed", *killed())


if __name__ == "__main__":
    main()
