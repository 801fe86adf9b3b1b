/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posting. A list stops at its first bad request, which *bad_wr then names; those before it are
 * posted. Posted requests are announced to the engine once for the whole list.
 */
#include "verbs/priv.h"
#include "verbs/ring/ring.h"

#include <inttypes.h>

/* The same layout, see abi_check.c. */
static const struct vb_sge *sge_of(const struct ibv_sge *sge)
{
	return (const struct vb_sge *)(const void *)sge;
}

void vb_ibv_bind_wr(struct vb_send_wr *w, const struct ibv_mw *mw, uint32_t rkey,
		    const struct ibv_mw_bind_info *info)
{
	w->opcode = VB_WR_BIND_MW;
	w->rkey = mw->rkey;
	w->imm = info->mr ? info->mr->lkey : 0;
	w->remote_addr = info->addr;
	w->swap = info->length;
	w->compare_add = (uint64_t)info->mw_access_flags << 32 |
			 vb_mw_bind_key((uint8_t)mw->type, (uint8_t)rkey);
}

void vb_ibv_bound(struct ibv_mw *mw, uint32_t rkey)
{
	mw->rkey = (mw->rkey & ~0xffu) | (rkey & 0xff);
}

/* The fields that the opcode has. */
static void wr_fields(struct vb_send_wr *w, const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_WRITE:
		w->remote_addr = wr->wr.rdma.remote_addr;
		w->rkey = wr->wr.rdma.rkey;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		w->remote_addr = wr->wr.atomic.remote_addr;
		w->rkey = wr->wr.atomic.rkey;
		w->compare_add = wr->wr.atomic.compare_add;
		w->swap = wr->wr.atomic.swap;
		break;
	case IBV_WR_BIND_MW: /* its window is there: post_one() */
		vb_ibv_bind_wr(w, wr->bind_mw.mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info);
		break;
	default:
		break;
	}
}

/* A full queue tells a program to wait: no mistake, and there may be many in a second. */
static int refuse_post(struct vb_ibv_context *c, int err, const char *verb, uint32_t qpn,
		       uint64_t wr_id)
{
	if (err == ENOMEM)
		return vb_ibv_result(err);
	return vb_ibv_refuse(c, err, "%s of wr_id %" PRIu64 " to QP 0x%06x", verb, wr_id, qpn);
}

int vb_ibv_post_core(struct vb_ibv_qp *qp, const struct vb_send_wr *wr, vb_time now)
{
	return qp->hw ? vb_ring_post_send(qp->hw, wr, now) : vb_qp_post_send(qp->core, wr, now);
}

/* Posts @wr. Returns 0 or a negative errno. */
static int post_one(struct vb_ibv_qp *qp, const struct ibv_send_wr *wr, vb_time now)
{
	const unsigned known =
	    IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;
	struct vb_send_wr w = {
	    .wr_id = wr->wr_id,
	    .sge = sge_of(wr->sg_list),
	    .sge_cnt = (uint32_t)wr->num_sge,
	    .opcode = (enum vb_wr_opcode)wr->opcode,
	    .flags = wr->send_flags,
	    .imm = wr->imm_data, /* the same place as invalidate_rkey */
	    .inv_rkey = wr->invalidate_rkey,
	};
	struct vb_ah ah;

	if (wr->num_sge < 0)
		return -VB_IBV_WHY(EINVAL, "num_sge %d is below 0 (ibv_post_send(3))", wr->num_sge);
	if (wr->send_flags & ~known)
		return -VB_IBV_WHY(EINVAL,
				   "send_flags 0x%x has bits that are not known "
				   "(ibv_post_send(3))",
				   wr->send_flags);
	/* Above it are those that bytes in a queue alone ask for. FLUSH has fields that only
	 * ibv_wr_flush() sets. */
	if (wr->opcode > IBV_WR_ATOMIC_WRITE || (unsigned)wr->opcode == VB_WR_FLUSH)
		return -VB_IBV_WHY(EINVAL,
				   "opcode %u is none that QPs of its type have (ibv_post_send(3))",
				   (unsigned)wr->opcode);
	/* Windows of type 1 have a verb of their own. IBA o10-37.2.34 */
	if (wr->opcode == IBV_WR_BIND_MW && qp->ibv.qp_type != IBV_QPT_UD &&
	    (!wr->bind_mw.mw || wr->bind_mw.mw->type != IBV_MW_TYPE_2))
		return -VB_IBV_WHY(EINVAL, "bind_mw.mw is no window of type 2 (IBA o10-37.2.34)");
	if (qp->ibv.qp_type == IBV_QPT_UD) {
		if (!wr->wr.ud.ah)
			return -VB_IBV_WHY(EINVAL, "wr.ud.ah is NULL (ibv_post_send(3))");
		w.dqpn = wr->wr.ud.remote_qpn;
		w.qkey = wr->wr.ud.remote_qkey;
		ah = ((const struct vb_ibv_ah *)wr->wr.ud.ah)->core;
		ah.path.udp_sport = vb_udp_sport(ah.path.flow_label, qp->ibv.qp_num, w.dqpn);
		w.ah = &ah;
	} else {
		wr_fields(&w, wr);
		if (qp->ibv.qp_type == IBV_QPT_XRC_SEND)
			w.srqn = wr->qp_type.xrc.remote_srqn;
	}

	int err = qp->hw ? vb_ring_check_send(qp->hw, &w) : 0;

	if (err)
		return err;
	err = vb_ibv_post_core(qp, &w, now);

	if (err == -EINVAL)
		(void)vb_ibv_why_core(vb_ibv_ctx(qp->ibv.context), -err);

	if (!err && w.opcode == VB_WR_BIND_MW)
		vb_ibv_bound(wr->bind_mw.mw, wr->bind_mw.rkey);
	return err;
}

int vb_ibv_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct vb_ibv_qp *qp = (struct vb_ibv_qp *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);
	const struct ibv_send_wr *first = wr;
	int err = 0;

	if (!vb_ibv_enter(c)) {
		*bad_wr = wr;
		return vb_ibv_refuse(c, EIO, "ibv_post_send");
	}

	vb_time now = vb_clock_now();

	for (; wr; wr = wr->next) {
		err = -post_one(qp, wr, now);
		if (err) {
			*bad_wr = wr;
			break;
		}
	}
	if (wr != first)
		vb_engine_doorbell(c->engine, qp->core, now);
	vb_ibv_leave(c);
	return err ? refuse_post(c, err, "ibv_post_send", ibv->qp_num, wr->wr_id) : 0;
}

/* Posts a list of receives to @qp, or to @srq when @qp is NULL. Returns 0 or an errno. */
static int post_recvs(struct vb_ibv_qp *qp, struct vb_ibv_srq *srq, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr, vb_time now)
{
	for (; wr; wr = wr->next) {
		struct vb_recv_wr w = {.wr_id = wr->wr_id,
				       .sge = sge_of(wr->sg_list),
				       .sge_cnt = (uint32_t)wr->num_sge};
		int err = wr->num_sge < 0
			      ? -VB_IBV_WHY(EINVAL, "num_sge %d is below 0", wr->num_sge)
			  : qp      ? qp->hw && qp->hw->rq ? vb_ring_post_recv(qp->hw, &w, now)
							   : vb_qp_post_recv(qp->core, &w, now)
			       : srq->hw ? vb_ring_post_srq(srq->hw, &w)
				    : vb_srq_post(srq->core, &w);

		if (err) {
			*bad_wr = wr;
			return -err;
		}
	}
	return 0;
}

int vb_ibv_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct vb_ibv_qp *qp = (struct vb_ibv_qp *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	if (!vb_ibv_enter(c)) {
		*bad_wr = wr;
		return vb_ibv_refuse(c, EIO, "ibv_post_recv");
	}

	struct vb_hca *h = vb_engine_hca(c->engine);
	bool had_packets = vb_hca_has_transmit(h);
	bool is_flushed = vb_qp_get_state(qp->core) == VB_QPS_ERR;
	/* The time matters to a flush alone, and looking at the clock takes as long as posting. */
	int err = post_recvs(qp, NULL, wr, bad_wr, is_flushed ? vb_clock_now() : 0);

	/* A receive may be all that a peer without credits waits for. */
	if ((!had_packets && vb_hca_has_transmit(h)) || is_flushed)
		vb_engine_progress(c->engine);
	if (err == EINVAL && (*bad_wr)->num_sge >= 0)
		(void)vb_ibv_why_core(c, err);
	vb_ibv_leave(c);
	return err ? refuse_post(c, err, "ibv_post_recv", ibv->qp_num, (*bad_wr)->wr_id) : 0;
}

int vb_ibv_post_srq_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct vb_ibv_srq *srq = (struct vb_ibv_srq *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);

	if (!vb_ibv_enter(c)) {
		*bad_wr = wr;
		return vb_ibv_refuse(c, EIO, "ibv_post_srq_recv");
	}

	int err = post_recvs(NULL, srq, wr, bad_wr, 0);

	if (err == EINVAL && (*bad_wr)->num_sge >= 0)
		(void)vb_ibv_why_core(c, err);
	vb_ibv_leave(c);
	if (!err || err == ENOMEM)
		return vb_ibv_result(err);
	return vb_ibv_refuse(c, err, "ibv_post_srq_recv of wr_id %" PRIu64 " to SRQ 0x%06x",
			     (*bad_wr)->wr_id, ibv->handle);
}
