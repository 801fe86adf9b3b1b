/* SPDX-License-Identifier: BSD-2-Clause */
/* Work requests that are put together call by call. ibv_wr_post(3) */
#include "calls/verbs/extended.h"

#include "calls/next.h"
#include "calls/show.h"

/* The operations of a QP as libverbena.so made them; they are the same in all that have them. */
static struct ibv_qp_ex next;

/* A call that begins a work request: it takes the ID and the flags that the QP has then. */
static void request_begin(struct vb_call *c, const char *verb, const struct ibv_qp_ex *qp)
{
	vb_call_begin(c, verb);
	vb_call_object(c, "qp", VB_KIND_QP, &qp->qp_base);
	vb_call_number(c, "wr_id", (int64_t)qp->wr_id);
	vb_call_flags(c, "wr_flags", qp->wr_flags, vb_names_send);
}

/* A call that adds to it. */
static void setter_begin(struct vb_call *c, const char *verb, const struct ibv_qp_ex *qp)
{
	vb_call_begin(c, verb);
	vb_call_object(c, "qp", VB_KIND_QP, &qp->qp_base);
}

/* Hands on to @call. */
#define HAND_ON(c, call)                                                                           \
	do {                                                                                       \
		vb_call_go(c);                                                                     \
		call;                                                                              \
		vb_call_done(c);                                                                   \
		vb_call_end(c);                                                                    \
	} while (0)

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
			      uint64_t compare, uint64_t swap)
{
	struct vb_call c;

	request_begin(&c, "ibv_wr_atomic_cmp_swp", qp);
	vb_call_hex(&c, "rkey", rkey);
	vb_call_hex(&c, "remote_addr", remote_addr);
	vb_call_hex(&c, "compare", compare);
	vb_call_hex(&c, "swap", swap);
	HAND_ON(&c, next.wr_atomic_cmp_swp(qp, rkey, remote_addr, compare, swap));
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
				uint64_t add)
{
	struct vb_call c;

	request_begin(&c, "ibv_wr_atomic_fetch_add", qp);
	vb_call_hex(&c, "rkey", rkey);
	vb_call_hex(&c, "remote_addr", remote_addr);
	vb_call_hex(&c, "add", add);
	HAND_ON(&c, next.wr_atomic_fetch_add(qp, rkey, remote_addr, add));
}

static void wr_local_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	struct vb_call c;

	request_begin(&c, "ibv_wr_local_inv", qp);
	vb_call_hex(&c, "invalidate_rkey", rkey);
	HAND_ON(&c, next.wr_local_inv(qp, rkey));
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr)
{
	struct vb_call c;

	request_begin(&c, "ibv_wr_rdma_read", qp);
	vb_call_hex(&c, "rkey", rkey);
	vb_call_hex(&c, "remote_addr", remote_addr);
	HAND_ON(&c, next.wr_rdma_read(qp, rkey, remote_addr));
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr)
{
	struct vb_call c;

	request_begin(&c, "ibv_wr_rdma_write", qp);
	vb_call_hex(&c, "rkey", rkey);
	vb_call_hex(&c, "remote_addr", remote_addr);
	HAND_ON(&c, next.wr_rdma_write(qp, rkey, remote_addr));
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, __be32 imm)
{
	struct vb_call c;

	request_begin(&c, "ibv_wr_rdma_write_imm", qp);
	vb_call_hex(&c, "rkey", rkey);
	vb_call_hex(&c, "remote_addr", remote_addr);
	vb_call_hex(&c, "imm_data", be32toh(imm));
	HAND_ON(&c, next.wr_rdma_write_imm(qp, rkey, remote_addr, imm));
}

static void wr_send(struct ibv_qp_ex *qp)
{
	struct vb_call c;

	request_begin(&c, "ibv_wr_send", qp);
	HAND_ON(&c, next.wr_send(qp));
}

static void wr_send_imm(struct ibv_qp_ex *qp, __be32 imm)
{
	struct vb_call c;

	request_begin(&c, "ibv_wr_send_imm", qp);
	vb_call_hex(&c, "imm_data", be32toh(imm));
	HAND_ON(&c, next.wr_send_imm(qp, imm));
}

static void wr_send_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	struct vb_call c;

	request_begin(&c, "ibv_wr_send_inv", qp);
	vb_call_hex(&c, "invalidate_rkey", rkey);
	HAND_ON(&c, next.wr_send_inv(qp, rkey));
}

static void wr_atomic_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
			    const void *data)
{
	struct vb_call c;

	request_begin(&c, "ibv_wr_atomic_write", qp);
	vb_call_hex(&c, "rkey", rkey);
	vb_call_hex(&c, "remote_addr", remote_addr);
	HAND_ON(&c, next.wr_atomic_write(qp, rkey, remote_addr, data));
}

static void wr_bind_mw(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct vb_call c;

	request_begin(&c, "ibv_wr_bind_mw", qp);
	vb_call_object(&c, "mw", VB_KIND_MW, mw);
	vb_call_hex(&c, "rkey", rkey);
	vb_call_bind_info(&c, info);
	HAND_ON(&c, next.wr_bind_mw(qp, mw, rkey, info));
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct vb_call c;

	setter_begin(&c, "ibv_wr_set_ud_addr", qp);
	vb_call_object(&c, "ah", VB_KIND_AH, ah);
	vb_call_hex(&c, "remote_qpn", qpn);
	vb_call_hex(&c, "remote_qkey", qkey);
	HAND_ON(&c, next.wr_set_ud_addr(qp, ah, qpn, qkey));
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *qp, uint32_t srqn)
{
	struct vb_call c;

	setter_begin(&c, "ibv_wr_set_xrc_srqn", qp);
	vb_call_hex(&c, "remote_srqn", srqn);
	HAND_ON(&c, next.wr_set_xrc_srqn(qp, srqn));
}

static void wr_set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)
{
	struct vb_call c;

	setter_begin(&c, "ibv_wr_set_inline_data", qp);
	vb_call_number(&c, "length", (int64_t)length);
	HAND_ON(&c, next.wr_set_inline_data(qp, addr, length));
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qp, size_t cnt,
				    const struct ibv_data_buf *list)
{
	struct vb_call c;

	setter_begin(&c, "ibv_wr_set_inline_data_list", qp);
	vb_call_number(&c, "num_buf", (int64_t)cnt);
	HAND_ON(&c, next.wr_set_inline_data_list(qp, cnt, list));
}

static void wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ibv_sge sge = {addr, length, lkey};
	struct vb_call c;

	setter_begin(&c, "ibv_wr_set_sge", qp);
	vb_call_sge_list(&c, &sge, 1);
	HAND_ON(&c, next.wr_set_sge(qp, lkey, addr, length));
}

static void wr_set_sge_list(struct ibv_qp_ex *qp, size_t cnt, const struct ibv_sge *list)
{
	struct vb_call c;

	setter_begin(&c, "ibv_wr_set_sge_list", qp);
	vb_call_sge_list(&c, list, (int)cnt);
	HAND_ON(&c, next.wr_set_sge_list(qp, cnt, list));
}

static void wr_start(struct ibv_qp_ex *qp)
{
	struct vb_call c;

	setter_begin(&c, "ibv_wr_start", qp);
	HAND_ON(&c, next.wr_start(qp));
}

static int wr_complete(struct ibv_qp_ex *qp)
{
	struct vb_call c;
	int rc;

	setter_begin(&c, "ibv_wr_complete", qp);
	vb_call_go(&c);
	rc = next.wr_complete(qp);
	vb_call_done(&c);
	vb_call_end_error(&c, rc);
	return rc;
}

static void wr_abort(struct ibv_qp_ex *qp)
{
	struct vb_call c;

	setter_begin(&c, "ibv_wr_abort", qp);
	HAND_ON(&c, next.wr_abort(qp));
}

void vb_calls_take_qp(struct ibv_qp_ex *qp)
{
	/* Other threads may be within a call: what is there already stays as it is. */
	if (!next.wr_start)
		next = *qp;
	VB_CALLS_TAKE(qp->wr_atomic_cmp_swp, wr_atomic_cmp_swp);
	VB_CALLS_TAKE(qp->wr_atomic_fetch_add, wr_atomic_fetch_add);
	VB_CALLS_TAKE(qp->wr_atomic_write, wr_atomic_write);
	VB_CALLS_TAKE(qp->wr_bind_mw, wr_bind_mw);
	VB_CALLS_TAKE(qp->wr_local_inv, wr_local_inv);
	VB_CALLS_TAKE(qp->wr_rdma_read, wr_rdma_read);
	VB_CALLS_TAKE(qp->wr_rdma_write, wr_rdma_write);
	VB_CALLS_TAKE(qp->wr_rdma_write_imm, wr_rdma_write_imm);
	VB_CALLS_TAKE(qp->wr_send, wr_send);
	VB_CALLS_TAKE(qp->wr_send_imm, wr_send_imm);
	VB_CALLS_TAKE(qp->wr_send_inv, wr_send_inv);
	VB_CALLS_TAKE(qp->wr_set_ud_addr, wr_set_ud_addr);
	VB_CALLS_TAKE(qp->wr_set_xrc_srqn, wr_set_xrc_srqn);
	VB_CALLS_TAKE(qp->wr_set_inline_data, wr_set_inline_data);
	VB_CALLS_TAKE(qp->wr_set_inline_data_list, wr_set_inline_data_list);
	VB_CALLS_TAKE(qp->wr_set_sge, wr_set_sge);
	VB_CALLS_TAKE(qp->wr_set_sge_list, wr_set_sge_list);
	VB_CALLS_TAKE(qp->wr_start, wr_start);
	VB_CALLS_TAKE(qp->wr_complete, wr_complete);
	VB_CALLS_TAKE(qp->wr_abort, wr_abort);
}
