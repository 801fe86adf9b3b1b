#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The issm file of a port: one holder at a time, whose end by kill -9 ends the IsSM bit. A second open fails at once
with O_NONBLOCK, and otherwise waits. Prints a line for each. MAD-17"""
import errno
import os
import select
import signal
import time

ISSM, CAP_MASK = "/dev/infiniband/issm0", "/sys/class/infiniband/verbena0/ports/1/cap_mask"
IS_SM = 1 << 1


def is_manager():
    with open(CAP_MASK, encoding="ascii") as file:
        return bool(int(file.read(), 16) & IS_SM)


def await_manager(wanted):
    end = time.monotonic() + 10
    while is_manager() != wanted and time.monotonic() < end:
        time.sleep(0.01)
    return is_manager() == wanted


def try_open():
    try:
        return os.open(ISSM, os.O_RDWR | os.O_NONBLOCK)
    except OSError as e:
        return errno.errorcode[e.errno]


def main():
    before, fd = is_manager(), try_open()
    print("open", before, await_manager(True))
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(fd)
        os.open(ISSM, os.O_RDWR)
        os.write(told, b"x")
        signal.pause()
    print("second", try_open(), select.select([ready], [], [], 0.5)[0] == [])
    os.close(fd)
    print("then", select.select([ready], [], [], 10)[0] == [ready], try_open(), is_manager())
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print("killed", await_manager(False))


if __name__ == "__main__":
    main()
