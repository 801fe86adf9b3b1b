/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kind of verbs_churn.c that is beside libibverbs: DC by way of mlx5dv, whose functions are
 * looked up, for not every adapter has them. docs/dc.md
 */
#include "verbs_churn.h"
#include "verbs_dc.h"

#define KEY 7

static struct dv dv;

bool dc_is_there(void)
{
	return dv_find(&dv);
}

static void up(struct ibv_qp *qp, bool is_initiator)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
				.path_mtu = IBV_MTU_1024,
				.ah_attr = address,
				.min_rnr_timer = 1,
				.timeout = 16,
				.retry_cnt = 7,
				.rnr_retry = 7,
				.max_rd_atomic = 1};

	NEED(ibv_modify_qp(qp, &a,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			       (is_initiator ? 0 : IBV_QP_ACCESS_FLAGS)) == 0);
	a.qp_state = IBV_QPS_RTR;
	NEED(ibv_modify_qp(qp, &a,
			   IBV_QP_STATE | IBV_QP_PATH_MTU |
			       (is_initiator ? 0 : IBV_QP_AV | IBV_QP_MIN_RNR_TIMER)) == 0);
	if (!is_initiator)
		return;
	a.qp_state = IBV_QPS_RTS;
	NEED(ibv_modify_qp(qp, &a,
			   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

static struct ibv_qp *dc_new(const struct base *b, enum mlx5dv_dc_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr_ex init = {.send_cq = b->cq,
					   .recv_cq = b->cq,
					   .srq = srq,
					   .qp_type = IBV_QPT_DRIVER,
					   .comp_mask = IBV_QP_INIT_ATTR_PD,
					   .pd = b->pd};
	struct mlx5dv_qp_init_attr attr = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
					   .dc_init_attr = {.dc_type = type}};
	struct ibv_qp *qp;

	if (type == MLX5DV_DCTYPE_DCT) {
		attr.dc_init_attr.dct_access_key = KEY;
	} else {
		init.cap = (struct ibv_qp_cap){.max_send_wr = 4, .max_send_sge = 1};
		init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		init.send_ops_flags = IBV_QP_EX_WITH_SEND;
	}
	qp = dv.create_qp(b->context, &init, &attr);
	NEED(qp);
	up(qp, type == MLX5DV_DCTYPE_DCI);
	return qp;
}

/* One message from an initiator to a target. */
void churn_dc(struct base *b)
{
	struct ibv_srq_init_attr queue = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(b->pd, &queue);
	struct ibv_ah *ah = ibv_create_ah(b->pd, &address);
	struct ibv_qp *target, *initiator;
	struct ibv_qp_ex *ex;
	struct mlx5dv_qp_ex *dvex;

	NEED(srq && ah);
	target = dc_new(b, MLX5DV_DCTYPE_DCT, srq);
	initiator = dc_new(b, MLX5DV_DCTYPE_DCI, NULL);
	post_recv(NULL, srq, b);
	ex = ibv_qp_to_qp_ex(initiator);
	dvex = dv.qp_ex(ex);
	NEED(ex && dvex);
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	mlx5dv_wr_set_dc_addr(dvex, ah, target->qp_num, KEY);
	ibv_wr_set_sge(ex, b->mr->lkey, (uintptr_t)b->mem + SIZE / 2, 64);
	NEED(ibv_wr_complete(ex) == 0);
	await(b->cq, 2);
	NEED(ibv_destroy_srq(srq) == EBUSY);
	NEED(ibv_destroy_qp(initiator) == 0 && ibv_destroy_qp(target) == 0);
	NEED(ibv_destroy_srq(srq) == 0 && ibv_destroy_ah(ah) == 0);
}
