#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Gives the node's own port 1 the GUIDs of the command line, as a subnet manager does: entries 1, 2, ... of GUIDInfo,
by a Set to this node. Prints the entries as the answer has them. FAB-20"""
import os
import select
import struct
import sys

from umad_calls import HEADER, MAD, PERMISSIVE, header, register

SET, GET_RESP, GUID_INFO, DATA = 0x02, 0x81, 0x14, 64


def main():
    guids = [0] + [int(a, 16) for a in sys.argv[1:]]
    mad = bytearray(MAD)
    struct.pack_into("!BBBBHBBQHHI", mad, 0, 1, 0x81, 1, SET, 0, 0, 0, 1, GUID_INFO, 0, 0)
    struct.pack_into("!HH", mad, 32, PERMISSIVE, PERMISSIVE)
    struct.pack_into(f"!{len(guids)}Q", mad, DATA, *guids)
    fd = os.open("/dev/infiniband/umad0", os.O_RDWR)
    os.write(fd, header(register(fd, 0, 0x81), PERMISSIVE, 0, 5000) + bytes(mad))
    if not select.select([fd], [], [], 10)[0]:
        sys.exit("there is no answer")
    data = os.read(fd, HEADER + MAD)
    method, status = data[HEADER + 3], struct.unpack_from("!H", data, HEADER + 4)[0] & 0x7FFF
    if method != GET_RESP or status:
        sys.exit(f"method {method:#x}, status {status:#x}")
    print(*(f"{g:016x}" for g in struct.unpack_from(f"!{len(guids)}Q", data, HEADER + DATA)))


if __name__ == "__main__":
    main()
