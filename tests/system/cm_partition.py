#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""RDMA CM by AF_IB in a partition: cm_partition.py listen GID PKEY, or connect SGID DGID PKEY. The listener ends when a
request has come, the one that connects when it is refused or not heard; both print the events that they get. FAB-37"""
import ctypes
import socket
import struct
import sys

AF_IB = 27
PORT_SPACE = 0x0106  # RDMA_PS_TCP
SERVICE, MASK = 0x0000000001060000 | 7174, 0xFFFFFFFFFFFFFFFF
EVENTS = {0: "ADDR_RESOLVED", 1: "ADDR_ERROR", 2: "ROUTE_RESOLVED", 3: "ROUTE_ERROR", 4: "CONNECT_REQUEST",
          6: "CONNECT_ERROR", 7: "UNREACHABLE", 8: "REJECTED"}
rdma = ctypes.CDLL("librdmacm.so.1", use_errno=True)
rdma.rdma_create_event_channel.restype = ctypes.c_void_p


def address(gid, pkey, listens):
    """struct sockaddr_ib: family, P_Key, flow information, GID, service ID, its mask, scope."""
    raw = struct.pack("=H", AF_IB) + struct.pack("!HI", pkey, 0) + socket.inet_pton(socket.AF_INET6, gid)
    return raw + struct.pack("!QQ", SERVICE if listens else 0, MASK if listens else 0) + struct.pack("=Q", 0)


def call(name, *args):
    if getattr(rdma, name)(*args):
        sys.exit(f"{name}: errno {ctypes.get_errno()}")


def event():
    found = ctypes.c_void_p()
    call("rdma_get_cm_event", ctypes.c_void_p(channel), ctypes.byref(found))
    # struct rdma_cm_event: id, listen_id, event, status
    kind, status = struct.unpack("=ii", ctypes.string_at(found.value + 16, 8))
    print(EVENTS.get(kind, kind), status, flush=True)
    call("rdma_ack_cm_event", found)
    return EVENTS.get(kind)


channel = rdma.rdma_create_event_channel()
made = ctypes.c_void_p()
call("rdma_create_id", ctypes.c_void_p(channel), ctypes.byref(made), None, PORT_SPACE)
if sys.argv[1] == "listen":
    call("rdma_bind_addr", made, address(sys.argv[2], int(sys.argv[3], 16), True))
    call("rdma_listen", made, 1)
    print("listens", flush=True)
    event()
else:
    to = address(sys.argv[3], int(sys.argv[4], 16), True)
    call("rdma_resolve_addr", made, address(sys.argv[2], int(sys.argv[4], 16), False), to, 2000)
    if event() == "ADDR_RESOLVED":
        call("rdma_resolve_route", made, 2000)
        if event() == "ROUTE_RESOLVED":
            # struct rdma_conn_param: private data and its length, resources, depth, flow control, retries, SRQ, QP
            call("rdma_connect", made, struct.pack("=QBBBBBBBxI", 0, 0, 1, 1, 0, 7, 7, 0, 0x11) + bytes(8))
            event()
