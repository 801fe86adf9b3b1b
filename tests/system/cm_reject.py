#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A listener that rejects, and a client that is rejected: cm_reject.py listen|connect ADDRESS PORT."""
import sys

from pyverbs.cmid import AddrInfo, CMEventChannel, CMEvent, CMID
from pyverbs.qp import QPCap, QPInitAttr
import pyverbs.cm_enums as ce


def listen(address, port):
    info = AddrInfo(src=address, src_service=port, port_space=ce.RDMA_PS_TCP, flags=ce.RAI_PASSIVE)
    listener = CMID(creator=info, qp_init_attr=QPInitAttr(cap=QPCap()))
    listener.listen()
    print("listens", flush=True)
    listener.get_request().reject()


def connect(address, port):
    info = AddrInfo(dst=address, dst_service=port, port_space=ce.RDMA_PS_TCP)
    CMID(creator=info, qp_init_attr=QPInitAttr(cap=QPCap())).connect()


{"listen": listen, "connect": connect}[sys.argv[1]](sys.argv[2], sys.argv[3])
