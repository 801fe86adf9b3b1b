#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""One end of an RC connection with an alternate path, on an InfiniBand fabric:

    verbs_apm.py receive|send TIMEOUT SLID-BITS PORT ALT-BITS ALT-PORT

It prints the LIDs of its two paths and its QP, reads the peer's from standard input as "LID LID QP", and is armed as soon as the peer is. The sender then sends numbered messages until a line comes, the receiver takes
them in order until the last one. Each prints "armed", "migrated" with its path, and at the end "total" and the event. IBT-37"""
import select
import struct
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context, get_device_list
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

SLOT, DEPTH, PSN, LAST = 2048, 32, 7, 0xffffffff
ROLE = sys.argv[1]
TIMEOUT, BITS, PORT, ALT_BITS, ALT_PORT = (int(word) for word in sys.argv[2:7])

ctx = Context(name=get_device_list()[0].name.decode())
assert ctx.query_device().device_cap_flags & e.IBV_DEVICE_AUTO_PATH_MIG
assert ctx.query_port(PORT).port_cap_flags & e.IBV_PORT_AUTO_MIGR_SUP
pd, cq = PD(ctx), CQ(ctx, 2 * DEPTH)
mr = MR(pd, SLOT * DEPTH, e.IBV_ACCESS_LOCAL_WRITE)
qp = QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap(max_send_wr=DEPTH, max_recv_wr=DEPTH)))


def path(lid, bits, port):
    return AHAttr(dlid=lid, src_path_bits=bits, port_num=port)


def connect(lid, alt_lid, qpn):
    attr = QPAttr(port_num=PORT)
    attr.ah_attr, attr.dest_qp_num, attr.path_mtu = path(lid, BITS, PORT), qpn, e.IBV_MTU_2048
    attr.sq_psn = attr.rq_psn = PSN
    attr.timeout, attr.retry_cnt, attr.rnr_retry = TIMEOUT, 7, 7
    qp.to_rts(attr)
    alt = QPAttr(port_num=PORT)
    alt.alt_ah_attr, alt.alt_port_num, alt.alt_timeout = path(alt_lid, ALT_BITS, ALT_PORT), ALT_PORT, 12
    alt.path_mig_state = e.IBV_MIG_REARM
    qp.modify(alt, e.IBV_QP_ALT_PATH | e.IBV_QP_PATH_MIG_STATE)


def attributes():
    return qp.query(e.IBV_QP_PATH_MIG_STATE | e.IBV_QP_AV | e.IBV_QP_ALT_PATH)[0]


class Watch:
    """Says once that the QP is armed, and once that it has migrated."""

    def __init__(self):
        self.state = e.IBV_MIG_REARM

    def look(self):
        attr = attributes()
        if attr.path_mig_state == self.state:
            return
        self.state = attr.path_mig_state
        if self.state == e.IBV_MIG_ARMED:
            print("armed", flush=True)
        else:
            print("migrated port", attr.port_num, "dlid", attr.ah_attr.dlid, "bits", attr.ah_attr.src_path_bits,
                  "timeout", attr.timeout, flush=True)


def completions():
    cnt, wcs = cq.poll(DEPTH)
    for wc in wcs or ():
        assert wc.status == e.IBV_WC_SUCCESS, wc
    return wcs or ()


def receive():
    watch, wanted = Watch(), 0
    while True:
        for wc in completions():
            slot = wc.wr_id
            number, = struct.unpack("<I", mr.read(4, slot * SLOT))
            if number == LAST:
                return wanted
            assert number == wanted, (number, wanted)
            wanted += 1
            post_receive(slot)
        watch.look()


def post_receive(slot):
    qp.post_recv(RecvWR(wr_id=slot, num_sge=1, sg=[SGE(mr.buf + slot * SLOT, SLOT, mr.lkey)]))


def post_send(number, slot):
    mr.write(struct.pack("<I", number), 4, slot * SLOT)
    qp.post_send(SendWR(wr_id=slot, opcode=e.IBV_WR_SEND, num_sge=1, sg=[SGE(mr.buf + slot * SLOT, SLOT, mr.lkey)]))


def send():
    watch, number, free, ended, told = Watch(), 0, list(range(DEPTH)), False, False
    while not ended or len(free) < DEPTH:
        if free and not ended:
            ended = bool(select.select([sys.stdin], [], [], 0)[0])
            post_send(LAST if ended else number, free.pop())
            number += not ended
        free += [wc.wr_id for wc in completions()]
        watch.look()
        if watch.state == e.IBV_MIG_MIGRATED and not told and len(free) > DEPTH // 2:
            told = True
            print("goes on at", number, flush=True)
    return number


lids = [ctx.query_port(port).lid + bits for port, bits in ((PORT, BITS), (ALT_PORT, ALT_BITS))]
print("lids", *lids, "qp", qp.qp_num, flush=True)
peer = [int(word) for word in sys.stdin.readline().split()]
connect(*peer)
for i in range(DEPTH if ROLE == "receive" else 0):
    post_receive(i)
print("ready", flush=True)
if ROLE == "send":
    sys.stdin.readline()  # the peer is ready as well
print("total", receive() if ROLE == "receive" else send(), flush=True)
while True:
    event = ctx.get_async_event()
    event.ack()
    if event.event_type == e.IBV_EVENT_PATH_MIG:
        print("event PATH_MIG", flush=True)
        break
