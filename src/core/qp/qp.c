/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs: their numbers, creation, destruction and posting of receives. IBA 10.2.3, 10.2.4 */
#include "core/dc/dc.h"
#include "core/obj/cq.h"
#include "core/obj/pd.h"
#include "core/sched/peer.h"
#include "core/sched/sched.h"
#include "core/share/open.h"
#include "core/xrc/xrc.h"

#include <errno.h>
#include <string.h>

#define QP_CAP_FIRST 16u

/* The k-th number of this HCA; see vb_hca_config. */
static uint32_t qpn_of(const struct vb_hca *h, uint32_t k)
{
	return h->cfg.qpn_base + k * h->cfg.qpn_stride;
}

/* Where the QP of @qpn stands if there is one; the table is not empty. */
static struct vb_qp **qp_slot(const struct vb_hca *h, uint32_t qpn)
{
	return &h->qp[(qpn - h->cfg.qpn_base) / h->cfg.qpn_stride & (h->qp_cap - 1)];
}

struct vb_qp *vb_qp_find(const struct vb_hca *h, uint32_t qpn)
{
	if (h->qp_cap == 0)
		return NULL;

	struct vb_qp *qp = *qp_slot(h, qpn);

	return qp && qp->qpn == qpn ? qp : NULL;
}

/* The lines of a QP from @first, which begins one, to that before @end. */
static inline void qp_expect(const struct vb_qp *qp, size_t first, size_t end)
{
#pragma GCC unroll 16
	for (size_t i = first; i < end; i += 64)
		__builtin_prefetch((const char *)qp + i);
}

void vb_hca_expect_number(const struct vb_hca *h, const uint8_t *bth, size_t len)
{
	if (len >= VB_BTH_LEN && h->qp_cap != 0)
		__builtin_prefetch(qp_slot(h, vb_hdr_dqpn(bth)));
}

void vb_hca_expect_packet(const struct vb_hca *h, const uint8_t *bth, size_t len)
{
	if (len < VB_BTH_LEN || h->qp_cap == 0)
		return;

	const struct vb_qp *qp = *qp_slot(h, vb_hdr_dqpn(bth));
	uint8_t op = bth[0] & VB_OP_MASK;

	if (!qp)
		return;
	qp_expect(qp, VB_QP_HOT, VB_QP_HOT_RECV_END);
	if (op >= VB_OP_READ_RESP_FIRST && op <= VB_OP_ATOMIC_ACK) /* for the requester */
		qp_expect(qp, VB_QP_HOT_RECV_END, VB_QP_HOT_SEND_END);
}

void vb_hca_expect_transmit(const struct vb_hca *h)
{
	if (!vb_list_is_empty(&h->active))
		qp_expect(vb_container_of(h->active.next, struct vb_qp, active), VB_QP_HOT,
			  VB_QP_HOT_SEND_END);
}

void vb_hca_expect_wqe(const struct vb_hca *h)
{
	if (vb_list_is_empty(&h->active))
		return;

	const struct vb_sq *sq = &vb_container_of(h->active.next, struct vb_qp, active)->sq;
	const struct vb_swqe *w;

	if (!sq->slots)
		return; /* it only answers */
	w = vb_sq_at(sq, sq->nxt);
	__builtin_prefetch(w);
	__builtin_prefetch((const char *)w + 64);
}

static int table_grow(struct vb_hca *h)
{
	uint32_t cap = h->qp_cap ? h->qp_cap * 2 : QP_CAP_FIRST;
	struct vb_qp **table = vb_alloc(h, cap * sizeof(struct vb_qp *));

	if (!table)
		return -ENOMEM;
	if (vb_timerq_reserve(h, cap + h->channel_cnt)) {
		vb_free(h, table);
		return -ENOMEM;
	}
	/* Two numbers that differ modulo the old size differ modulo the new one. */
	for (uint32_t i = 0; i < h->qp_cap; i++) {
		if (h->qp[i])
			table[(h->qp[i]->qpn - h->cfg.qpn_base) / h->cfg.qpn_stride & (cap - 1)] =
			    h->qp[i];
	}
	vb_free(h, h->qp);
	h->qp = table;
	h->qp_cap = cap;
	return 0;
}

static bool qpn_is_reserved(uint32_t qpn)
{
	return qpn <= VB_QPN_GSI || qpn == VB_QPN_MULTICAST; /* IBT-19, IBT-99 */
}

/* Gives the QP a number, the longest unused one first, so that stale packets find nobody. */
static int qp_insert(struct vb_hca *h, struct vb_qp *qp)
{
	if (h->qp_cnt >= h->cfg.limits.qp)
		return VB_REFUSE(h, -ENOMEM, VB_REFUSAL_FULL, .name = "QPs",
				 .bound = h->cfg.limits.qp);
	if (h->qp_cnt * 2 >= h->qp_cap && h->qp_cap < h->qp_k_cnt) {
		int err = table_grow(h);

		if (err)
			return err;
	}
	for (uint32_t tries = 0; tries < h->qp_k_cnt; tries++) {
		uint32_t k = h->qp_k_next++ % h->qp_k_cnt;
		struct vb_qp **slot = &h->qp[k & (h->qp_cap - 1)];

		if (*slot || qpn_is_reserved(qpn_of(h, k)))
			continue;
		*slot = qp;
		qp->qpn = qpn_of(h, k);
		h->qp_cnt++;
		return 0;
	}
	return -ENOMEM;
}

/* Makes @qp the QP1 of @port. */
static int gsi_insert(struct vb_hca *h, struct vb_qp *qp, uint8_t port)
{
	int err = vb_timerq_reserve(h, h->qp_cap + h->channel_cnt + 1);

	if (err)
		return err;
	h->channel_cnt++;
	h->port[port].gsi = qp;
	qp->qpn = VB_QPN_GSI;
	qp->attr.port = port;
	return 0;
}

/* The objects that a QP of this type needs, and no others. */
static bool objects_fit(const struct vb_hca *h, const struct vb_pd *pd,
			const struct vb_qp_init *init)
{
	bool is_target = init->type == VB_QPT_XRC_TGT;

	if (is_target != !pd || is_target != !init->send_cq || is_target != (init->xrcd != NULL))
		return false;
	if (!h->transport_of(init->type)->has_rq)
		return !init->recv_cq && !init->srq && !init->cap.max_recv_wr &&
		       !(is_target && init->cap.max_send_wr);
	if (init->type == VB_QPT_DCT && (!init->srq || init->cap.max_send_wr))
		return false;
	return init->recv_cq && (!init->srq || (init->srq->pd->hca == h && !init->srq->xrcd));
}

/* The sizes that a QP asks for, against the adapter's. */
static int cap_check(struct vb_hca *h, const struct vb_qp_init *init)
{
	const struct vb_limits *l = &h->cfg.limits;
	const struct vb_qp_cap *c = &init->cap;
	const struct {
		const char *name;
		uint32_t value, most;
	} caps[] = {
	    {"cap.max_send_wr", c->max_send_wr, l->qp_wr},
	    {"cap.max_send_sge", c->max_send_sge, l->sge},
	    {"cap.max_inline_data", c->max_inline_data, l->inline_bytes},
	    {"cap.max_recv_wr", init->srq ? 0 : c->max_recv_wr, l->qp_wr},
	    {"cap.max_recv_sge", init->srq ? 0 : c->max_recv_sge, l->sge},
	};

	for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++)
		if (caps[i].value > caps[i].most)
			return VB_REFUSE(h, -EINVAL, VB_REFUSAL_CAP, .name = caps[i].name,
					 .value = caps[i].value, .bound = caps[i].most);
	return 0;
}

static int init_check(struct vb_hca *h, const struct vb_pd *pd, const struct vb_qp_init *init)
{
	h->refusal.rule = VB_REFUSAL_NONE;
	if (!h->transport_of(init->type))
		return VB_REFUSE(h, -EOPNOTSUPP, VB_REFUSAL_QP_TYPE);
	if (init->type == VB_QPT_GSI && (init->port < 1 || init->port > h->cfg.port_cnt))
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_QP1);
	if (init->type == VB_QPT_GSI && h->port[init->port].gsi)
		return VB_REFUSE(h, -EBUSY, VB_REFUSAL_QP1);
	if (!objects_fit(h, pd, init) || init->dc.log_streams > VB_DC_LOG_STREAMS_MAX ||
	    init->dc.log_errored > VB_DC_LOG_ERRORED_MAX)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_QP_PARTS);
	return cap_check(h, init);
}

static int qp_alloc_queues(struct vb_qp *qp, struct vb_qp_cap *cap)
{
	struct vb_hca *h = qp->hca;
	uint32_t recv_sge;

	if (cap->max_send_wr && cap->max_send_sge == 0)
		cap->max_send_sge = 1;
	/* Inline data stands where the SGEs would: there is room for so much in any case, and
	 * programs that ask for none rely on it, for other adapters give as much. */
	if (cap->max_send_wr && cap->max_inline_data < cap->max_send_sge * sizeof(struct vb_sge))
		cap->max_inline_data = cap->max_send_sge * (uint32_t)sizeof(struct vb_sge);
	if (qp->srq) {
		cap->max_recv_wr = cap->max_recv_sge = 0;
	} else if (cap->max_recv_wr && cap->max_recv_sge == 0) {
		cap->max_recv_sge = 1;
	}
	/* A target serves any SRQ. */
	recv_sge = qp->xrcd ? h->cfg.limits.sge : qp->srq ? qp->srq->rq.sge_max : cap->max_recv_sge;
	qp->resp.rwqe = vb_alloc(h, sizeof(struct vb_rwqe) + recv_sge * sizeof(struct vb_sge));
	if (!qp->resp.rwqe)
		return -ENOMEM;

	int err = vb_sq_init(qp, cap);

	return err ? err : vb_rq_init(h, &qp->rq, cap->max_recv_wr, cap->max_recv_sge);
}

/* Counts the QP at what it uses. */
static void count_uses(const struct vb_qp *qp, int by)
{
	uint32_t n = (uint32_t)by;

	if (qp->pd)
		qp->pd->refs += n;
	if (qp->send_cq)
		qp->send_cq->refs += n;
	if (qp->recv_cq)
		qp->recv_cq->refs += n;
	if (qp->srq)
		qp->srq->refs += n;
	if (qp->xrcd)
		qp->xrcd->refs += n;
}

void vb_qp_free_memory(struct vb_qp *qp)
{
	struct vb_hca *h = qp->hca;

	if (qp->ops->release)
		qp->ops->release(qp);
	vb_free(h, qp->cc.ctl.dfx);
	vb_free(h, qp->cc.spread);
	vb_free(h, qp->cc.cct.notes);
	vb_free(h, qp->cc.flow);
	vb_free(h, qp->mig);
	vb_free(h, qp->openers);
	vb_free(h, qp->resp.rwqe);
	vb_sq_free(qp);
	vb_rq_free(h, &qp->rq);
	vb_free(h, qp);
}

static struct vb_qp *qp_new(struct vb_hca *h, enum vb_qp_type type, void *owner)
{
	struct vb_qp *qp = vb_alloc(h, sizeof *qp);

	if (!qp)
		return NULL;
	qp->hca = h;
	qp->type = type;
	qp->ops = h->transport_of(type);
	qp->mtu = vb_mtu_bytes(VB_MTU_256); /* until RTR says which: work may be posted in ERR */
	vb_list_init(&qp->active);
	vb_list_init(&qp->target);
	vb_event_source_init(&qp->ev, VB_EVENT_ASYNC_QP, owner);
	for (int i = 0; i < VB_TIMER_CNT; i++)
		qp->timer[i] = VB_NEVER;
	return qp;
}

struct vb_qp *vb_qp_new_part(struct vb_qp *parent)
{
	struct vb_qp *qp = qp_new(parent->hca, parent->type, NULL);

	if (!qp)
		return NULL;
	qp->parent = parent;
	qp->pd = parent->pd;
	qp->send_cq = parent->send_cq;
	qp->recv_cq = parent->recv_cq;
	qp->srq = parent->srq;
	qp->sq_sig_all = parent->sq_sig_all;
	return qp;
}

int vb_qp_create(struct vb_pd *pd, struct vb_qp_init *init, struct vb_qp **out)
{
	struct vb_hca *h = pd ? pd->hca : init->xrcd->hca;
	int err = init_check(h, pd, init);
	struct vb_qp *channel;

	if (err)
		return err;

	struct vb_qp *qp = qp_new(h, init->type, init->owner);

	if (!qp)
		return -ENOMEM;
	qp->pd = pd;
	qp->send_cq = init->send_cq;
	qp->recv_cq = init->recv_cq;
	qp->srq = init->srq;
	qp->xrcd = init->xrcd;
	qp->sq_sig_all = init->sq_sig_all;
	err = qp_alloc_queues(qp, &init->cap);
	if (!err && qp->ops->create)
		err = qp->ops->create(qp, init);
	if (!err)
		err = qp->type == VB_QPT_GSI ? gsi_insert(h, qp, init->port) : qp_insert(h, qp);
	if (err) {
		vb_qp_free_memory(qp);
		return err;
	}
	for (uint32_t i = 1; (channel = vb_qp_channel(qp, i)); i++)
		channel->qpn = qp->qpn;
	qp->attr.cap = init->cap;
	count_uses(qp, 1);
	if (qp->xrcd)
		vb_list_append(&qp->xrcd->targets, &qp->target);
	*out = qp;
	return 0;
}

/* Back to how it was created; nothing that was posted completes. IBA 10.3.1.1 */
void vb_qp_reset(struct vb_qp *qp, vb_time now)
{
	struct vb_qp_cap cap = qp->attr.cap;

	if (qp->ops->leave)
		qp->ops->leave(qp);
	vb_qp_set_state(qp, VB_QPS_RESET, now);
	for (int i = 0; i < VB_TIMER_CNT; i++)
		vb_timer_stop(qp, (enum vb_timer)i);
	vb_timerq_remove(qp);
	vb_sched_remove(qp);
	if (qp->ops->reset)
		qp->ops->reset(qp, now);
	if (qp->send_cq)
		vb_cq_forget_qp(qp->send_cq, qp);
	if (qp->recv_cq)
		vb_cq_forget_qp(qp->recv_cq, qp);
	qp->sq.head = qp->sq.nxt = qp->sq.tail;
	qp->req.psn_una = qp->req.psn_nxt = qp->req.psn_post;
	qp->rq.head = qp->rq.tail;
	vb_req_update_inflight(qp);
	if (qp->peer)
		vb_peer_wake(qp->hca, qp->peer); /* its turn there is another's now */
	vb_peer_put(qp->hca, qp->peer);
	vb_peer_put(qp->hca, qp->alt_peer);
	qp->peer = qp->alt_peer = NULL;
	if (qp->sr)
		qp->hca->repeat->end(qp);
	qp->req = (struct vb_requester){0};
	qp->egress = (struct vb_egress_wait){0};
	vb_free(qp->hca, qp->resp.res);
	qp->resp = (struct vb_responder){.rwqe = qp->resp.rwqe};
	qp->attr = (struct vb_qp_attr){.cap = cap,
				       .port = qp->type == VB_QPT_GSI ? qp->attr.port : (uint8_t)0};
	vb_free(qp->hca, qp->cc.spread);
	vb_free(qp->hca, qp->cc.cct.notes);
	vb_free(qp->hca, qp->cc.flow);
	qp->cc = (struct vb_cc_point){.ctl.dfx = qp->cc.ctl.dfx};
	qp->pace = (struct vb_pace){0};
	qp->rto.attr_extended = 0;
	qp->refused = 0;
	qp->comm_est = qp->sqd_notify = qp->sq_draining = false;
}

void vb_qp_free(struct vb_qp *qp)
{
	struct vb_hca *h = qp->hca;

	if (qp->type == VB_QPT_GSI) {
		h->port[qp->attr.port].gsi = NULL;
		h->channel_cnt--;
	} else {
		*qp_slot(h, qp->qpn) = NULL;
		h->qp_cnt--;
	}
	vb_list_remove(&qp->ev.link);
	vb_list_remove(&qp->target);
	vb_qp_free_memory(qp);
}

int vb_qp_destroy(struct vb_qp *qp)
{
	if (qp->mcast_cnt)
		return VB_REFUSE(qp->hca, -EBUSY, VB_REFUSAL_QP_GROUPS, .value = qp->mcast_cnt);
	if (qp->ops->outlives && qp->ops->outlives(qp))
		return 0;

	const struct vb_transport_ops *ops = qp->ops;
	struct vb_xrcd *x = qp->xrcd;

	vb_qp_reset(qp, 0);
	vb_qp_detach_comp_cntrs(qp);
	count_uses(qp, -1);
	vb_qp_free(qp);
	if (ops->gone)
		ops->gone(x);
	return 0;
}

int vb_qp_post_recv(struct vb_qp *qp, const struct vb_recv_wr *wr, vb_time now)
{
	struct vb_hca *h = qp->hca;

	if (qp->state == VB_QPS_RESET) /* IBT-30 */
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_WR_STATE, .value = qp->state);
	if (qp->srq || !qp->ops->has_rq)
		return VB_REFUSE(h, -EINVAL, VB_REFUSAL_RECV_QP);

	int err = vb_rq_post(&qp->rq, wr);

	if (err == -EINVAL)
		return VB_REFUSE(h, err, VB_REFUSAL_WR_SGES, .value = wr->sge_cnt,
				 .bound = qp->rq.sge_max);
	if (err)
		return err;
	if (qp->state == VB_QPS_ERR) {
		vb_qp_enter_err(qp, now);
	} else if (qp->resp.credit_zero && qp->ops->is_acked) {
		/* The peer was told that there are no credits: tell it of the new one. */
		qp->resp.ack_due = true;
		qp->resp.ack_psn = vb_psn_prev(qp->resp.epsn);
		vb_sched_activate(qp);
	}
	return 0;
}

void vb_qp_set_source(struct vb_qp *qp, struct vb_rq_source *s)
{
	qp->rq.source = s;
}

void vb_qp_fetch(struct vb_qp *qp, vb_time now)
{
	if (qp->state == VB_QPS_RESET || qp->srq)
		return;
	vb_rq_refill(&qp->rq);
	if (qp->state == VB_QPS_ERR && vb_rq_cnt(&qp->rq))
		vb_qp_enter_err(qp, now);
}

uint32_t vb_qp_number(const struct vb_qp *qp)
{
	return qp->qpn;
}

void *vb_qp_owner(const struct vb_qp *qp)
{
	return qp->ev.owner;
}

void vb_qp_set_owner(struct vb_qp *qp, void *owner)
{
	qp->ev.owner = owner;
	if (qp->openers && owner)
		qp->openers->is_orphan = false;
}

enum vb_qp_state vb_qp_get_state(const struct vb_qp *qp)
{
	return qp->state;
}

enum vb_qp_type vb_qp_get_type(const struct vb_qp *qp)
{
	return qp->type;
}

uint32_t vb_qp_unacked(const struct vb_qp *qp)
{
	const struct vb_qp *channel;
	uint32_t cnt = 0;

	for (uint32_t i = 0; (channel = vb_qp_channel(qp, i)); i++)
		cnt += vb_psn_span(channel->req.psn_una, channel->req.psn_nxt);
	return cnt;
}
