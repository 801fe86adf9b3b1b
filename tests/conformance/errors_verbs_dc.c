/* SPDX-License-Identifier: BSD-2-Clause */
/* DC has no verbs of its own: QPs are made by mlx5dv_create_qp(3). docs/dc.md */
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
	init->send_ops_flags = built_ops(VB_QPT_DCI, true);
	return dv.create_qp(context, init, &attr);
}

void dc_set_destination(struct ibv_qp_ex *ex, const struct destination *to)
{
	mlx5dv_wr_set_dc_addr_stream(dv.qp_ex(ex), to->ah, to->qpn, to->dc_key, 0);
}
