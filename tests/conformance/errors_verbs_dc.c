/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DC has no verbs of its own: QPs are made by mlx5dv_create_qp(3), and work is posted by
 * ibv_wr_*(3). docs/dc.md
 */
#include "errors_verbs.h"
#include "system/verbs_dc.h"

static struct dv dv;

bool dc_is_there(void)
{
	return dv_find(&dv);
}

struct ibv_qp *dc_create(struct ibv_context *context, struct ibv_qp_init_attr_ex *init,
			 enum vb_qp_type type, bool has_streams)
{
	struct mlx5dv_qp_init_attr attr = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC};

	init->qp_type = IBV_QPT_DRIVER;
	if (type == VB_QPT_DCT) {
		attr.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCT;
		attr.dc_init_attr.dct_access_key = DC_KEY;
		init->cap = (struct ibv_qp_cap){0};
		return dv.create_qp(context, init, &attr);
	}
	attr.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCI;
	if (has_streams) {
		attr.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS;
		attr.dc_init_attr.dci_streams.log_num_concurent = 1;
		attr.dc_init_attr.dci_streams.log_num_errored = 1;
	}
	init->recv_cq = NULL;
	init->cap.max_recv_wr = init->cap.max_recv_sge = 0;
	init->comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	init->send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
			       IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_WRITE |
			       IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
			       IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_ATOMIC_WRITE;
	return dv.create_qp(context, init, &attr);
}

static void build(struct ibv_qp_ex *ex, const struct work *w)
{
	struct ibv_mw_bind_info info = {.addr = (uintptr_t)w->addr, .length = w->len};

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
		ibv_wr_bind_mw(ex, w->window->handle, w->window->rkey + 1, &info);
		break;
	default:
		ibv_wr_local_inv(ex, w->inv_rkey);
		break;
	}
}

int dc_post(struct ibv_qp *qp, const struct work *w, const struct dc_to *to)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	struct ibv_sge sge[SGES_MAX];

	if (w->sge_cnt > SGES_MAX)
		return -1;
	for (uint32_t i = 0; i < w->sge_cnt; i++)
		sge[i] = (struct ibv_sge){(uintptr_t)w->addr, w->len, w->lkey};
	if (w->sge_cnt)
		sge[w->sge_cnt - 1].lkey ^= w->last_lkey_error;
	ibv_wr_start(ex);
	ex->wr_id = w->wr_id;
	ex->wr_flags = IBV_SEND_SIGNALED;
	build(ex, w);
	mlx5dv_wr_set_dc_addr_stream(dv.qp_ex(ex), to->ah, to->dctn, to->key, 0);
	if (w->flags & VB_SEND_INLINE)
		ibv_wr_set_inline_data(ex, w->addr, w->len);
	/* What an ATOMIC WRITE writes is there already. */
	else if (w->sge_cnt > 1 || (w->sge_cnt && w->opcode != VB_WR_ATOMIC_WRITE))
		ibv_wr_set_sge_list(ex, w->sge_cnt, sge);
	return ibv_wr_complete(ex);
}
