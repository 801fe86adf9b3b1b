#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Changes bytes of an attribute of a node, as a manager without sense would: reads it, and sets it with what the command
line says: LID ATTRIBUTE MODIFIER BYTE=VALUE... Bytes count from the beginning of the data. The environment variable
M_KEY has the key of the SMPs. Prints "set", or "no answer". FAB-16"""
import os
import select
import struct
import sys

from umad_calls import HEADER, MAD, header, register

GET, SET, GET_RESP, LID_ROUTED, DATA = 0x01, 0x02, 0x81, 0x01, 64


def ask(fd, agent, lid, method, attribute, modifier, data):
    mad = bytearray(MAD)
    struct.pack_into("!BBBBHBBQHHI", mad, 0, 1, LID_ROUTED, 1, method, 0, 0, 0, method, attribute, 0, modifier)
    struct.pack_into("!Q", mad, 24, int(os.environ.get("M_KEY", "0"), 0))
    mad[DATA:DATA + len(data)] = data
    os.write(fd, header(agent, lid, 0, 1000) + bytes(mad))
    if not select.select([fd], [], [], 10)[0]:
        sys.exit("the file is silent")
    got = os.read(fd, HEADER + MAD)
    if struct.unpack_from("=I", got, 4)[0]:
        print("no answer")
        sys.exit(0)
    status = struct.unpack_from("!H", got, HEADER + 4)[0]
    if got[HEADER + 3] != GET_RESP or status:
        sys.exit(f"method {got[HEADER + 3]:#x}, status {status:#x}")
    return bytearray(got[HEADER + DATA:HEADER + DATA + 64])


def main():
    lid, attribute, modifier = (int(a, 0) for a in sys.argv[1:4])
    fd = os.open("/dev/infiniband/umad0", os.O_RDWR)
    agent = register(fd, 0, LID_ROUTED)
    data = ask(fd, agent, lid, GET, attribute, modifier, b"")
    for change in sys.argv[4:]:
        at, value = (int(a, 0) for a in change.split("="))
        data[at] = value
    ask(fd, agent, lid, SET, attribute, modifier, data)
    print("set")


if __name__ == "__main__":
    main()
