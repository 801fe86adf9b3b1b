/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work requests built by ibv_wr_*(3), for errors_verbs.c: between ibv_wr_start() and
 * ibv_wr_complete() all of them are posted, or none.
 */
#include "errors_verbs.h"

uint64_t built_ops(enum vb_qp_type type, bool has_atomic_write)
{
	uint64_t ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;

	if (type == VB_QPT_UD)
		return ops;
	ops |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	if (type != VB_QPT_DCI)
		ops |= IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
	if (type == VB_QPT_UC)
		return ops;
	return ops | IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_READ |
	       IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
	       (has_atomic_write ? IBV_QP_EX_WITH_ATOMIC_WRITE : 0);
}

bool built_are_there(struct ibv_context *context, enum vb_qp_type type, bool has_atomic_write)
{
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 1, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex init = {
	    .qp_type = (enum ibv_qp_type)type,
	    .send_cq = cq,
	    .recv_cq = type == VB_QPT_XRC_INI ? NULL : cq,
	    .cap = {.max_send_wr = 1, .max_send_sge = 1},
	    .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	    .pd = pd,
	    .send_ops_flags = built_ops(type, has_atomic_write),
	};
	struct ibv_qp *qp = pd && cq ? ibv_create_qp_ex(context, &init) : NULL;
	bool ok = qp && ibv_destroy_qp(qp) == 0;

	ok &= cq && ibv_destroy_cq(cq) == 0;
	return pd && ibv_dealloc_pd(pd) == 0 && ok;
}

static void build(struct ibv_qp_ex *ex, const struct work *w)
{
	struct ibv_mw_bind_info info = {.addr = (uintptr_t)w->addr, .length = w->len};
	struct ibv_mw *mw;

	switch (w->opcode) {
	case VB_WR_SEND:
		ibv_wr_send(ex);
		break;
	case VB_WR_SEND_IMM:
		ibv_wr_send_imm(ex, 0);
		break;
	case VB_WR_SEND_INV:
		ibv_wr_send_inv(ex, w->inv_rkey);
		break;
	case VB_WR_RDMA_WRITE:
		ibv_wr_rdma_write(ex, w->rkey, w->remote_addr);
		break;
	case VB_WR_RDMA_WRITE_IMM:
		ibv_wr_rdma_write_imm(ex, w->rkey, w->remote_addr, 0);
		break;
	case VB_WR_RDMA_READ:
		ibv_wr_rdma_read(ex, w->rkey, w->remote_addr);
		break;
	case VB_WR_COMPARE_SWAP:
		ibv_wr_atomic_cmp_swp(ex, w->rkey, w->remote_addr, 1, 2);
		break;
	case VB_WR_FETCH_ADD:
		ibv_wr_atomic_fetch_add(ex, w->rkey, w->remote_addr, 1);
		break;
	case VB_WR_ATOMIC_WRITE:
		ibv_wr_atomic_write(ex, w->rkey, w->remote_addr, w->addr);
		break;
	case VB_WR_BIND_MW:
		info.mr = w->region->handle;
		info.mw_access_flags = w->access;
		mw = w->window->handle;
		ibv_wr_bind_mw(ex, mw, ibv_inc_rkey(mw->rkey), &info);
		break;
	default:
		ibv_wr_local_inv(ex, w->inv_rkey);
		break;
	}
}

static void set_destination(struct ibv_qp_ex *ex, const struct destination *to)
{
	if (to->type == VB_QPT_DCI)
		dc_set_destination(ex, to);
	else if (to->type == VB_QPT_XRC_INI)
		ibv_wr_set_xrc_srqn(ex, to->srqn);
	else if (to->type == VB_QPT_UD)
		ibv_wr_set_ud_addr(ex, to->ah, to->qpn, to->qkey);
}

int built_post(struct ibv_qp *qp, const struct work *w, uint32_t cnt, const struct ibv_sge *sge,
	       const struct destination *to)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	int err;

	ibv_wr_start(ex);
	for (uint32_t i = 0; i < cnt; i++) {
		ex->wr_id = w->wr_id + i;
		ex->wr_flags = IBV_SEND_SIGNALED;
		build(ex, w);
		set_destination(ex, to);
		if (w->flags & VB_SEND_INLINE)
			ibv_wr_set_inline_data(ex, w->addr, w->len);
		/* The data of an ATOMIC WRITE is there already, and a bind has no SGEs. */
		else if (w->sge_cnt > 1 || (w->sge_cnt && w->opcode != VB_WR_ATOMIC_WRITE))
			ibv_wr_set_sge_list(ex, w->sge_cnt, sge);
	}
	err = ibv_wr_complete(ex);
	if (!err && w->window)
		w->window->rkey = ((struct ibv_mw *)w->window->handle)->rkey =
		    ibv_inc_rkey(w->window->rkey);
	return err;
}
