#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Datagrams and a connection by LIDs of ports that have several: verbs_lmc.py receive, or send LID UD-QP RC-QP. The
receiver prints its QPs, then for each message that has come its bytes, slid, dlid_path_bits and SL. Of the sender's lines
each says which path bits it uses at both ends; RC goes by bit 1 at both. FAB-39, IBT-96"""
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context, get_device_list
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

QKEY, SIZE, DEPTH, GRH, RC_PSN = 0x1ee7, 2048, 400, 40, 5
DATAGRAMS = ((0, 0, 100), (0, 1, 50), (1, 0, 4), (1, 1, 3))  # source and destination bits, messages
RC_MESSAGES = 20

ctx = Context(name=get_device_list()[0].name.decode())
pd = PD(ctx)
cq = CQ(ctx, 2 * DEPTH)
mr = MR(pd, SIZE + GRH, e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE)
cap = QPCap(max_send_wr=DEPTH, max_recv_wr=DEPTH)


def datagram_qp():
    attr = QPAttr(port_num=1)
    attr.qkey, attr.pkey_index = QKEY, 0
    return QP(pd, QPInitAttr(qp_type=e.IBV_QPT_UD, scq=cq, rcq=cq, cap=cap), attr)


def connect(qp, lid, bits, qpn):
    attr = QPAttr(port_num=1)
    attr.ah_attr = AHAttr(dlid=lid, src_path_bits=bits, port_num=1)
    attr.dest_qp_num, attr.path_mtu, attr.sq_psn, attr.rq_psn = qpn, e.IBV_MTU_2048, RC_PSN, RC_PSN
    attr.timeout, attr.retry_cnt, attr.rnr_retry = 14, 7, 7
    qp.to_rts(attr)


def complete(cnt):
    end = time.monotonic() + 40
    while cnt:
        got, wcs = cq.poll(16)
        assert time.monotonic() < end, "no completion"
        for wc in wcs or ():
            assert wc.status == e.IBV_WC_SUCCESS, wc
            cnt -= 1
            if wc.opcode & e.IBV_WC_RECV:
                print("got", wc.byte_len, "slid", wc.slid, "bits", wc.dlid_path_bits, "sl", wc.sl, flush=True)


ud = datagram_qp()
rc = QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=cap))
if sys.argv[1] == "receive":
    for qp in (ud, rc):
        if qp == rc:
            print("qps", ud.qp_num, rc.qp_num, "lid", ctx.query_port(1).lid, "lmc", ctx.query_port(1).lmc, flush=True)
            peer = [int(word) for word in sys.stdin.readline().split()]
            connect(rc, peer[0] + 1, 1, peer[1])
        for i in range(sum(d[2] for d in DATAGRAMS) if qp == ud else RC_MESSAGES):
            qp.post_recv(RecvWR(num_sge=1, sg=[SGE(mr.buf, SIZE + GRH, mr.lkey)]))
    print("ready", flush=True)
    complete(sum(d[2] for d in DATAGRAMS) + RC_MESSAGES)
else:
    lid, to_ud, to_rc = (int(word) for word in sys.argv[2:5])
    print("lid", ctx.query_port(1).lid, "qp", rc.qp_num, flush=True)
    connect(rc, lid + 1, 1, to_rc)
    sys.stdin.readline()
    for source, destination, cnt in DATAGRAMS:
        ah = AH(pd, attr=AHAttr(dlid=lid + destination, src_path_bits=source, sl=2, port_num=1))
        for i in range(cnt):
            wr = SendWR(opcode=e.IBV_WR_SEND, num_sge=1, sg=[SGE(mr.buf, SIZE, mr.lkey)])
            wr.set_wr_ud(ah, to_ud, QKEY)
            ud.post_send(wr)
        complete(cnt)
        print("sent", flush=True)
        sys.stdin.readline()
    for i in range(RC_MESSAGES):
        rc.post_send(SendWR(opcode=e.IBV_WR_SEND, num_sge=1, sg=[SGE(mr.buf, SIZE, mr.lkey)]))
    complete(RC_MESSAGES)
