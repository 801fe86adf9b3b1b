/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks while it is compiled that this library agrees with rdma-core's: the core's numbers equal
 * those in <infiniband/verbs.h>, and the structures that inline functions in programs touch lie
 * as the public ABI of libibverbs.so.1 has them on 64-bit machines, since rdma-core 44. Structures
 * grow: this relies on where members lie, and on no structure being shorter than it was.
 */
#include "verbs/later.h"
#include "verbs/priv.h"

#include <stddef.h>

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours " is not " #theirs)
#define OFFSET(type, member, at)                                                                   \
	_Static_assert(offsetof(type, member) == (at), #type "." #member " has moved")
#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type " has changed its size")
#define SIZE_MIN(type, size) _Static_assert(sizeof(type) >= (size), #type " has become shorter")

SAME(VB_QPT_RC, IBV_QPT_RC);
SAME(VB_QPT_UC, IBV_QPT_UC);
SAME(VB_QPT_UD, IBV_QPT_UD);
SAME(VB_QPT_XRC_INI, IBV_QPT_XRC_SEND);
SAME(VB_QPT_XRC_TGT, IBV_QPT_XRC_RECV);

SAME(VB_QPS_RESET, IBV_QPS_RESET);
SAME(VB_QPS_INIT, IBV_QPS_INIT);
SAME(VB_QPS_RTR, IBV_QPS_RTR);
SAME(VB_QPS_RTS, IBV_QPS_RTS);
SAME(VB_QPS_SQD, IBV_QPS_SQD);
SAME(VB_QPS_SQE, IBV_QPS_SQE);
SAME(VB_QPS_ERR, IBV_QPS_ERR);
SAME(VB_QPS_CNT, IBV_QPS_UNKNOWN);

SAME(VB_MTU_256, IBV_MTU_256);
SAME(VB_MTU_512, IBV_MTU_512);
SAME(VB_MTU_1024, IBV_MTU_1024);
SAME(VB_MTU_2048, IBV_MTU_2048);
SAME(VB_MTU_4096, IBV_MTU_4096);

SAME(VB_ACCESS_LOCAL_WRITE, IBV_ACCESS_LOCAL_WRITE);
SAME(VB_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_WRITE);
SAME(VB_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_READ);
SAME(VB_ACCESS_REMOTE_ATOMIC, IBV_ACCESS_REMOTE_ATOMIC);
SAME(VB_ACCESS_MW_BIND, IBV_ACCESS_MW_BIND);
SAME(VB_ACCESS_ZERO_BASED, IBV_ACCESS_ZERO_BASED);
SAME(VB_ACCESS_ON_DEMAND, IBV_ACCESS_ON_DEMAND);
SAME(VB_ACCESS_HUGETLB, IBV_ACCESS_HUGETLB);
SAME(VB_ACCESS_RELAXED_ORDERING, IBV_ACCESS_RELAXED_ORDERING);
SAME(VB_ACCESS_OPTIONAL, IBV_ACCESS_OPTIONAL_RANGE);

SAME(VB_MIG_MIGRATED, IBV_MIG_MIGRATED);
SAME(VB_MIG_REARM, IBV_MIG_REARM);
SAME(VB_MIG_ARMED, IBV_MIG_ARMED);

SAME(VB_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE);
SAME(VB_WR_RDMA_WRITE_IMM, IBV_WR_RDMA_WRITE_WITH_IMM);
SAME(VB_WR_SEND, IBV_WR_SEND);
SAME(VB_WR_SEND_IMM, IBV_WR_SEND_WITH_IMM);
SAME(VB_WR_RDMA_READ, IBV_WR_RDMA_READ);
SAME(VB_WR_COMPARE_SWAP, IBV_WR_ATOMIC_CMP_AND_SWP);
SAME(VB_WR_FETCH_ADD, IBV_WR_ATOMIC_FETCH_AND_ADD);
SAME(VB_WR_LOCAL_INV, IBV_WR_LOCAL_INV);
SAME(VB_WR_BIND_MW, IBV_WR_BIND_MW);
SAME(VB_WR_SEND_INV, IBV_WR_SEND_WITH_INV);
SAME(VB_WR_ATOMIC_WRITE, IBV_WR_ATOMIC_WRITE);

SAME(VB_SEND_FENCE, IBV_SEND_FENCE);
SAME(VB_SEND_SIGNALED, IBV_SEND_SIGNALED);
SAME(VB_SEND_SOLICITED, IBV_SEND_SOLICITED);
SAME(VB_SEND_INLINE, IBV_SEND_INLINE);

/* IBT-57 */
SAME(VB_WC_SUCCESS, IBV_WC_SUCCESS);
SAME(VB_WC_LOC_LEN_ERR, IBV_WC_LOC_LEN_ERR);
SAME(VB_WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR);
SAME(VB_WC_LOC_EEC_OP_ERR, IBV_WC_LOC_EEC_OP_ERR);
SAME(VB_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR);
SAME(VB_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR);
SAME(VB_WC_MW_BIND_ERR, IBV_WC_MW_BIND_ERR);
SAME(VB_WC_BAD_RESP_ERR, IBV_WC_BAD_RESP_ERR);
SAME(VB_WC_LOC_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR);
SAME(VB_WC_REM_INV_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
SAME(VB_WC_REM_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
SAME(VB_WC_REM_OP_ERR, IBV_WC_REM_OP_ERR);
SAME(VB_WC_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR);
SAME(VB_WC_RNR_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR);
SAME(VB_WC_LOC_RDD_VIOL_ERR, IBV_WC_LOC_RDD_VIOL_ERR);
SAME(VB_WC_REM_INV_RD_REQ_ERR, IBV_WC_REM_INV_RD_REQ_ERR);
SAME(VB_WC_REM_ABORT_ERR, IBV_WC_REM_ABORT_ERR);
SAME(VB_WC_INV_EECN_ERR, IBV_WC_INV_EECN_ERR);
SAME(VB_WC_INV_EEC_STATE_ERR, IBV_WC_INV_EEC_STATE_ERR);
SAME(VB_WC_FATAL_ERR, IBV_WC_FATAL_ERR);
SAME(VB_WC_RESP_TIMEOUT_ERR, IBV_WC_RESP_TIMEOUT_ERR);
SAME(VB_WC_GENERAL_ERR, IBV_WC_GENERAL_ERR);

SAME(VB_WC_SEND, IBV_WC_SEND);
SAME(VB_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE);
SAME(VB_WC_RDMA_READ, IBV_WC_RDMA_READ);
SAME(VB_WC_COMP_SWAP, IBV_WC_COMP_SWAP);
SAME(VB_WC_FETCH_ADD, IBV_WC_FETCH_ADD);
SAME(VB_WC_BIND_MW, IBV_WC_BIND_MW);
SAME(VB_WC_LOCAL_INV, IBV_WC_LOCAL_INV);
SAME(VB_WC_ATOMIC_WRITE, IBV_WC_ATOMIC_WRITE);
SAME(VB_WC_RECV, IBV_WC_RECV);
SAME(VB_WC_RECV_RDMA_WITH_IMM, IBV_WC_RECV_RDMA_WITH_IMM);
SAME(VB_WC_GRH, IBV_WC_GRH);
SAME(VB_WC_WITH_IMM, IBV_WC_WITH_IMM);
SAME(VB_WC_WITH_INV, IBV_WC_WITH_INV);

/* IBT-63 */
SAME(VB_ASYNC_CQ_ERR, IBV_EVENT_CQ_ERR);
SAME(VB_ASYNC_QP_FATAL, IBV_EVENT_QP_FATAL);
SAME(VB_ASYNC_QP_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
SAME(VB_ASYNC_QP_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
SAME(VB_ASYNC_COMM_EST, IBV_EVENT_COMM_EST);
SAME(VB_ASYNC_SQ_DRAINED, IBV_EVENT_SQ_DRAINED);
SAME(VB_ASYNC_PATH_MIG, IBV_EVENT_PATH_MIG);
SAME(VB_ASYNC_PATH_MIG_ERR, IBV_EVENT_PATH_MIG_ERR);
SAME(VB_ASYNC_SRQ_ERR, IBV_EVENT_SRQ_ERR);
SAME(VB_ASYNC_SRQ_LIMIT_REACHED, IBV_EVENT_SRQ_LIMIT_REACHED);
SAME(VB_ASYNC_QP_LAST_WQE_REACHED, IBV_EVENT_QP_LAST_WQE_REACHED);

SAME(VB_QP_STATE, IBV_QP_STATE);
SAME(VB_QP_CUR_STATE, IBV_QP_CUR_STATE);
SAME(VB_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY);
SAME(VB_QP_ACCESS_FLAGS, IBV_QP_ACCESS_FLAGS);
SAME(VB_QP_PKEY_INDEX, IBV_QP_PKEY_INDEX);
SAME(VB_QP_PORT, IBV_QP_PORT);
SAME(VB_QP_QKEY, IBV_QP_QKEY);
SAME(VB_QP_AV, IBV_QP_AV);
SAME(VB_QP_PATH_MTU, IBV_QP_PATH_MTU);
SAME(VB_QP_TIMEOUT, IBV_QP_TIMEOUT);
SAME(VB_QP_RETRY_CNT, IBV_QP_RETRY_CNT);
SAME(VB_QP_RNR_RETRY, IBV_QP_RNR_RETRY);
SAME(VB_QP_RQ_PSN, IBV_QP_RQ_PSN);
SAME(VB_QP_MAX_QP_RD_ATOMIC, IBV_QP_MAX_QP_RD_ATOMIC);
SAME(VB_QP_ALT_PATH, IBV_QP_ALT_PATH);
SAME(VB_QP_MIN_RNR_TIMER, IBV_QP_MIN_RNR_TIMER);
SAME(VB_QP_SQ_PSN, IBV_QP_SQ_PSN);
SAME(VB_QP_MAX_DEST_RD_ATOMIC, IBV_QP_MAX_DEST_RD_ATOMIC);
SAME(VB_QP_PATH_MIG_STATE, IBV_QP_PATH_MIG_STATE);
SAME(VB_QP_CAP, IBV_QP_CAP);
SAME(VB_QP_DEST_QPN, IBV_QP_DEST_QPN);
SAME(VB_QP_RATE_LIMIT, IBV_QP_RATE_LIMIT);

/* Lists of SGEs are passed through as they are. */
SIZE(struct ibv_sge, sizeof(struct vb_sge));
OFFSET(struct ibv_sge, addr, offsetof(struct vb_sge, addr));
OFFSET(struct ibv_sge, length, offsetof(struct vb_sge, length));
OFFSET(struct ibv_sge, lkey, offsetof(struct vb_sge, lkey));

#if UINTPTR_MAX == UINT64_MAX
/* The operations that ibv_poll_cq() and its like go through. */
OFFSET(struct ibv_context, ops, 8);
OFFSET(struct ibv_context_ops, alloc_mw, 7 * 8);
OFFSET(struct ibv_context_ops, poll_cq, 11 * 8);
OFFSET(struct ibv_context_ops, req_notify_cq, 12 * 8);
OFFSET(struct ibv_context_ops, post_srq_recv, 20 * 8);
OFFSET(struct ibv_context_ops, post_send, 25 * 8);
OFFSET(struct ibv_context_ops, post_recv, 26 * 8);
SIZE(struct ibv_context_ops, 32 * 8);
OFFSET(struct ibv_context, cmd_fd, 264);
OFFSET(struct ibv_context, async_fd, 268);
OFFSET(struct ibv_context, abi_compat, 280 + sizeof(pthread_mutex_t));
SIZE_MIN(struct ibv_context, 288 + sizeof(pthread_mutex_t));

/*
 * verbs_context grows at its front, as in rdma-core 59, 62 and 64: members lie at distances before
 * the ibv_context at its end, and its member sz tells a program which of them there are.
 */
#define BEFORE_CONTEXT(member, distance)                                                           \
	_Static_assert(offsetof(struct verbs_context, context) -                                   \
			       offsetof(struct verbs_context, member) ==                           \
			   (distance),                                                             \
		       "verbs_context." #member " has moved")
BEFORE_CONTEXT(sz, 8);
BEFORE_CONTEXT(create_qp_ex, 8 * 7);
BEFORE_CONTEXT(query_device_ex, 8 * 13);
BEFORE_CONTEXT(create_cq_ex, 8 * 15);
BEFORE_CONTEXT(query_port, 8 * 40);
SIZE_MIN(struct verbs_context, 8 * 40 + 288 + sizeof(pthread_mutex_t));

/* Programs have these in memory of their own, whose size the library is not told. */
SIZE(struct ibv_wc, 48);
SIZE(struct ibv_device_attr, 232);

/* These come with their size, and grow at their end: ibv_port_attr in rdma-core 49. */
OFFSET(struct ibv_port_attr, port_cap_flags2, 48);
SIZE_MIN(struct ibv_port_attr, 52);
OFFSET(struct ibv_device_attr_ex, orig_attr, 0);
OFFSET(struct ibv_device_attr_ex, phys_port_cnt_ex, 396);
SIZE_MIN(struct ibv_device_attr_ex, 400);

/*
 * The library makes these. ibv_qp_ex grew at its end in rdma-core 45. A mutex and a condition
 * variable are in them, of which the first is longer on 64-bit Arm.
 */
#define WAIT (sizeof(pthread_mutex_t) + sizeof(pthread_cond_t))
SIZE(struct ibv_device, 16 + 8 + 64 + 64 + 256 + 256);
SIZE_MIN(struct ibv_cq, 32 + WAIT + 8);
OFFSET(struct ibv_cq_ex, start_poll, 56 + WAIT);
SIZE_MIN(struct ibv_cq_ex, 200 + WAIT);
SIZE_MIN(struct ibv_srq, 32 + WAIT + 8);
SIZE(struct ibv_qp, 64 + WAIT + 8);
OFFSET(struct ibv_qp_ex, wr_atomic_cmp_swp, 96 + WAIT);
OFFSET(struct ibv_qp_ex, wr_start, 232 + WAIT);
OFFSET(struct ibv_qp_ex, wr_atomic_write, 256 + WAIT);
SIZE_MIN(struct ibv_qp_ex, 264 + WAIT);
#endif

/* Ours begin with theirs. */
OFFSET(struct vb_ibv_device, ibv, 0);
OFFSET(struct vb_ibv_device, rdma_core, sizeof(struct ibv_device));
OFFSET(struct vb_ibv_context, vctx, 0);
OFFSET(struct vb_ibv_pd, ibv, 0);
OFFSET(struct vb_ibv_mr, ibv, 0);
OFFSET(struct vb_ibv_mw, ibv, 0);
OFFSET(struct vb_ibv_ah, ibv, 0);
OFFSET(struct vb_ibv_channel, ibv, 0);
OFFSET(struct vb_ibv_cq, ibv, 0);
OFFSET(struct vb_ibv_cq, ex, 0);
OFFSET(struct vb_ibv_srq, ibv, 0);
OFFSET(struct vb_ibv_qp, ibv, 0);
OFFSET(struct vb_ibv_qp, ex, 0);

/* The declarations of later.h for older headers. */
#ifdef VB_HEADERS_HAVE_LATER
#define ALIKE(ours, theirs, member)                                                                \
	_Static_assert(offsetof(ours, member) == offsetof(theirs, member) &&                       \
			   sizeof(((ours *)0)->member) == sizeof(((theirs *)0)->member),           \
		       #theirs "." #member " has moved")

ALIKE(struct vb_mr_init_attr, struct ibv_mr_init_attr, length);
ALIKE(struct vb_mr_init_attr, struct ibv_mr_init_attr, access);
ALIKE(struct vb_mr_init_attr, struct ibv_mr_init_attr, comp_mask);
ALIKE(struct vb_mr_init_attr, struct ibv_mr_init_attr, iova);
ALIKE(struct vb_mr_init_attr, struct ibv_mr_init_attr, addr);
ALIKE(struct vb_mr_init_attr, struct ibv_mr_init_attr, fd);
ALIKE(struct vb_mr_init_attr, struct ibv_mr_init_attr, fd_offset);
ALIKE(struct vb_mr_init_attr, struct ibv_mr_init_attr, dmah);
ALIKE(struct vb_mr_init_attr, struct ibv_mr_init_attr, buf);
SAME(VB_MR_IOVA, IBV_REG_MR_MASK_IOVA);
SAME(VB_MR_ADDR, IBV_REG_MR_MASK_ADDR);
SAME(VB_MR_FD, IBV_REG_MR_MASK_FD);
SAME(VB_MR_FD_OFFSET, IBV_REG_MR_MASK_FD_OFFSET);
SAME(VB_MR_DMAH, IBV_REG_MR_MASK_DMAH);
SAME(VB_MR_BUF, IBV_REG_MR_MASK_BUF);
ALIKE(struct vb_dmah_init_attr, struct ibv_dmah_init_attr, comp_mask);
ALIKE(struct vb_dmah_init_attr, struct ibv_dmah_init_attr, cpu_id);
ALIKE(struct vb_dmah_init_attr, struct ibv_dmah_init_attr, ph);
ALIKE(struct vb_dmah_init_attr, struct ibv_dmah_init_attr, tph_mem_type);
SAME(VB_DMAH_CPU_ID, IBV_DMAH_INIT_ATTR_MASK_CPU_ID);
SAME(VB_DMAH_PH, IBV_DMAH_INIT_ATTR_MASK_PH);
SAME(VB_DMAH_MEM_TYPE, IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE);
ALIKE(struct vb_ibv_dmah, struct ibv_dmah, context);
ALIKE(struct vb_comp_cntr_caps, struct ibv_comp_cntr_caps, max_value);
ALIKE(struct vb_comp_cntr_caps, struct ibv_comp_cntr_caps, max_counters);
ALIKE(struct vb_comp_cntr_caps, struct ibv_comp_cntr_caps, supported_qp_attach_ops);
ALIKE(struct vb_comp_cntr_init_attr, struct ibv_comp_cntr_init_attr, comp_mask);
ALIKE(struct vb_comp_cntr_init_attr, struct ibv_comp_cntr_init_attr, type);
ALIKE(struct vb_comp_cntr_init_attr, struct ibv_comp_cntr_init_attr, flags);
ALIKE(struct vb_qp_attach_comp_cntr_attr, struct ibv_qp_attach_comp_cntr_attr, comp_mask);
ALIKE(struct vb_qp_attach_comp_cntr_attr, struct ibv_qp_attach_comp_cntr_attr, op_mask);
SAME(VB_CNTR_OP_SEND, IBV_QP_ATTACH_COMP_CNTR_OP_SEND);
SAME(VB_CNTR_OP_RECV, IBV_QP_ATTACH_COMP_CNTR_OP_RECV);
SAME(VB_CNTR_OP_READ, IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_READ);
SAME(VB_CNTR_OP_REMOTE_READ, IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ);
SAME(VB_CNTR_OP_WRITE, IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE);
SAME(VB_CNTR_OP_REMOTE_WRITE, IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE);
SAME(VB_CNTR_WRS, IBV_COMP_CNTR_TYPE_WRS);
SAME(VB_CNTR_BYTES, IBV_COMP_CNTR_TYPE_BYTES);
ALIKE(struct vb_ibv_comp_cntr, struct ibv_comp_cntr, context);
ALIKE(struct vb_ibv_comp_cntr, struct ibv_comp_cntr, handle);
#endif
