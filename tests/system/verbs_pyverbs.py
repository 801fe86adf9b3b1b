#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""pyverbs, rdma-core's Python binding, with the adapter preloaded: says "ok" at the end."""
import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ, CQEX, CompChannel, CqInitAttrEx
from pyverbs.device import Context, get_device_list
from pyverbs.mr import MR, MW
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPEx, QPInitAttr, QPInitAttrEx
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR


def connect(qp, dqpn, gid, index):
    attr = QPAttr(port_num=1)
    attr.ah_attr = AHAttr(gr=GlobalRoute(dgid=gid, sgid_index=index), is_global=1, port_num=1)
    attr.dest_qp_num, attr.path_mtu = dqpn, e.IBV_MTU_1024
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
    attr.timeout, attr.retry_cnt, attr.rnr_retry = 14, 7, 7
    qp.to_rts(attr)


def completion(cq):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        cnt, wcs = cq.poll()
        if cnt:
            return wcs[0]
    raise TimeoutError("no completion")


devices = get_device_list()
assert devices, "no device"
ctx = Context(name=devices[0].name.decode())
assert ctx.query_device().phys_port_cnt == 1
assert ctx.query_device_ex().orig_attr.max_cq > 0
assert ctx.query_port(1).state == e.IBV_PORT_ACTIVE
entry = ctx.query_gid_table(32)[0]
assert ctx.query_gid_type(1, entry.gid_index) == e.IBV_GID_TYPE_SYSFS_ROCE_V2
gid = ctx.query_gid(1, entry.gid_index)

pd = PD(ctx)
mr = MR(pd, 8192, e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_MW_BIND)
MW(pd, e.IBV_MW_TYPE_2).close()
SRQ(pd, SrqInitAttr(SrqAttr(max_wr=10))).close()
CQEX(ctx, CqInitAttrEx(cqe=10, wc_flags=e.IBV_WC_STANDARD_FLAGS)).close()

channel = CompChannel(ctx)
cqs = [CQ(ctx, 16, None, channel, 0), CQ(ctx, 16, None, None, 0)]
a, b = (QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq,
                          cap=QPCap(max_send_wr=4, max_recv_wr=4))) for cq in cqs)
connect(a, b.qp_num, gid, entry.gid_index)
connect(b, a.qp_num, gid, entry.gid_index)
assert a.query(e.IBV_QP_STATE)[0].qp_state == e.IBV_QPS_RTS

mr.write(b"verbena!", 8, 4096)
cqs[0].req_notify()
b.post_recv(RecvWR(1, 1, [SGE(mr.buf, 100, mr.lkey)]))
a.post_send(SendWR(wr_id=5, num_sge=1, sg=[SGE(mr.buf + 4096, 8, mr.lkey)], opcode=e.IBV_WR_SEND,
                   send_flags=e.IBV_SEND_SIGNALED))
channel.get_cq_event(cqs[0])
sent, received = completion(cqs[0]), completion(cqs[1])
assert (sent.status, sent.wr_id) == (e.IBV_WC_SUCCESS, 5)
assert (received.status, received.byte_len) == (e.IBV_WC_SUCCESS, 8)
assert mr.read(8, 0) == b"verbena!"
cqs[0].ack_events(1)

QPEx(ctx, QPInitAttrEx(qp_type=e.IBV_QPT_RC, scq=cqs[0], rcq=cqs[0], cap=QPCap(), pd=pd,
                       comp_mask=e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
                       send_ops_flags=e.IBV_QP_EX_WITH_SEND)).close()
ctx.close()
print("ok")
