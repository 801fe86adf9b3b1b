/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting lists of work requests. The first bad one ends the list. man 3 ibv_post_send */
#include "verbs/objects.h"

_Static_assert(sizeof(struct ibv_sge) == sizeof(struct vb_sge) &&
		   offsetof(struct ibv_sge, lkey) == offsetof(struct vb_sge, lkey),
	       "SGEs are passed through");

static struct verbena_qp *qp_of(struct ibv_qp *qp)
{
	return (struct verbena_qp *)(void *)qp;
}

static void wr_fill(const struct ibv_send_wr *from, enum ibv_qp_type type, struct vb_send_wr *to)
{
	*to = (struct vb_send_wr){
	    .wr_id = from->wr_id,
	    .sge = (const struct vb_sge *)(const void *)from->sg_list,
	    .sge_cnt = (uint32_t)from->num_sge,
	    .opcode = (enum vb_wr_opcode)from->opcode,
	    .flags = from->send_flags,
	    .imm = from->imm_data,
	    .inv_rkey = from->invalidate_rkey,
	};
	if (type == IBV_QPT_UD) {
		to->ah = from->wr.ud.ah
			     ? &vb_container_of(from->wr.ud.ah, struct verbena_ah, ibv)->ah
			     : NULL;
		to->dqpn = from->wr.ud.remote_qpn;
		to->qkey = from->wr.ud.remote_qkey;
		return;
	}
	switch (from->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
		to->remote_addr = from->wr.rdma.remote_addr;
		to->rkey = from->wr.rdma.rkey;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		to->remote_addr = from->wr.atomic.remote_addr;
		to->rkey = from->wr.atomic.rkey;
		to->compare_add = from->wr.atomic.compare_add;
		to->swap = from->wr.atomic.swap;
		break;
	default:
		break;
	}
}

int verbena_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct verbena_qp *qp = qp_of(ibv);
	int err = 0;

	if (!verbs_enter(ibv->context)) {
		*bad = wr;
		return EIO;
	}

	vb_time now = vb_engine_now();

	for (; wr; wr = wr->next) {
		struct vb_send_wr v;

		/* A bind needs more than a send WR carries: ibv_bind_mw. */
		err = wr->num_sge < 0 || wr->opcode == IBV_WR_BIND_MW ? -EINVAL : 0;
		if (!err) {
			wr_fill(wr, ibv->qp_type, &v);
			err = vb_qp_post_send(qp->qp, &v, now);
		}
		if (err) {
			*bad = wr;
			break;
		}
	}
	vb_engine_doorbell(engine_of(ibv->context), qp->qp);
	verbs_leave(ibv->context);
	return -err;
}

static int recv_wr_post(struct vb_qp *qp, struct vb_srq *srq, const struct ibv_recv_wr *wr,
			vb_time now)
{
	struct vb_recv_wr v = {.wr_id = wr->wr_id,
			       .sge = (const struct vb_sge *)(const void *)wr->sg_list,
			       .sge_cnt = (uint32_t)wr->num_sge};

	if (wr->num_sge < 0)
		return -EINVAL;
	return srq ? vb_srq_post(srq, &v) : vb_qp_post_recv(qp, &v, now);
}

int verbena_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct verbena_qp *qp = qp_of(ibv);
	int err = 0;

	if (!verbs_enter(ibv->context)) {
		*bad = wr;
		return EIO;
	}

	vb_time now = vb_engine_now();

	for (; wr && !err; wr = wr->next) {
		err = recv_wr_post(qp->qp, NULL, wr, now);
		if (err)
			*bad = wr;
	}
	/* Credits to tell, or flushed receives to notify of. */
	if (vb_hca_has_transmit(vb_engine_hca(engine_of(ibv->context))) ||
	    vb_qp_get_state(qp->qp) == VB_QPS_ERR)
		vb_engine_progress(engine_of(ibv->context));
	verbs_leave(ibv->context);
	return -err;
}

int verbena_post_srq_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct verbena_srq *srq = vb_container_of(ibv, struct verbena_srq, ibv);
	int err = 0;

	if (!verbs_enter(ibv->context)) {
		*bad = wr;
		return EIO;
	}
	for (; wr && !err; wr = wr->next) {
		err = recv_wr_post(NULL, srq->srq, wr, 0);
		if (err)
			*bad = wr;
	}
	verbs_leave(ibv->context);
	return -err;
}
