#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A listener that rejects, one that takes a request and does not answer, and a client that is rejected:
cm_reject.py listen|hold|connect ADDRESS PORT."""
import sys
import time

from pyverbs.cmid import AddrInfo, CMEventChannel, CMEvent, CMID
from pyverbs.qp import QPCap, QPInitAttr
import pyverbs.cm_enums as ce


def request_at(address, port):
    info = AddrInfo(src=address, src_service=port, port_space=ce.RDMA_PS_TCP, flags=ce.RAI_PASSIVE)
    listener = CMID(creator=info, qp_init_attr=QPInitAttr(cap=QPCap()))
    listener.listen()
    print("listens", flush=True)
    return listener, listener.get_request()


def listen(address, port):
    _, request = request_at(address, port)
    request.reject()


def hold(address, port):
    _listener, request = request_at(address, port) # without it the request goes
    print("asked", flush=True)
    time.sleep(60)
    request.reject()


def connect(address, port):
    info = AddrInfo(dst=address, dst_service=port, port_space=ce.RDMA_PS_TCP)
    CMID(creator=info, qp_init_attr=QPInitAttr(cap=QPCap())).connect()


{"listen": listen, "hold": hold, "connect": connect}[sys.argv[1]](sys.argv[2], sys.argv[3])
