/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The target: a context with RC's responder for each channel of an initiator that is connected. A
 * context is a QP that no table knows, with the number, the SRQ, the CQ and the PD of the target;
 * its errors end the connection and not the target. facts B.8; IBT-25
 */
#include "base/assert.h"
#include "core/cc/point.h"
#include "core/dc/dc.h"
#include "core/denial.h"
#include "core/rc/rc.h"

#include <errno.h>

extern const struct vb_transport_ops vb_dc_context_ops;

static struct vb_qp *context_new(struct vb_qp *dct)
{
	struct vb_hca *h = dct->hca;
	struct vb_qp *qp = vb_qp_new_part(dct);
	size_t rwqe = sizeof *qp->resp.rwqe + dct->srq->rq.sge_max * sizeof(struct vb_sge);

	if (!qp)
		return NULL;
	qp->ops = &vb_dc_context_ops;
	qp->resp.rwqe = vb_alloc(h, rwqe);
	qp->resp.res = vb_alloc(h, VB_DCT_RESOURCES * sizeof *qp->resp.res);
	qp->resp.res_cap = VB_DCT_RESOURCES;
	if (qp->resp.rwqe && qp->resp.res)
		return qp;
	vb_free(h, qp->resp.rwqe);
	vb_free(h, qp->resp.res);
	vb_free(h, qp);
	return NULL;
}

static void dct_release(struct vb_qp *qp)
{
	if (!qp->dct)
		return;
	for (uint32_t i = 0; i <= VB_DCT_CONTEXTS; i++) {
		struct vb_qp *c = qp->dct->context[i];

		if (!c)
			continue;
		vb_sched_remove(c);
		vb_free(qp->hca, c->resp.rwqe);
		vb_free(qp->hca, c->resp.res);
		vb_free(qp->hca, c);
	}
	vb_free(qp->hca, qp->dct);
	qp->dct = NULL;
}

static int dct_create(struct vb_qp *qp, const struct vb_qp_init *init)
{
	qp->dct = vb_alloc(qp->hca, sizeof *qp->dct);
	if (!qp->dct)
		return -ENOMEM;
	qp->dct->key = init->dc.key;
	for (uint32_t i = 0; i <= VB_DCT_CONTEXTS; i++) {
		qp->dct->context[i] = context_new(qp);
		if (!qp->dct->context[i]) {
			dct_release(qp);
			return -ENOMEM;
		}
	}
	return 0;
}

/* Nothing more is received or sent; a receive WQE that is held completes with a flush. */
static void context_end(struct vb_qp *c, vb_time now)
{
	vb_qp_enter_err(c, now);
	vb_resp_nak_done(&c->resp);
	vb_sched_remove(c);
}

/* Ends all contexts; the receive WQEs that they hold complete with a flush, or (@forget) not at
 * all. */
static void end_contexts(struct vb_qp *qp, bool forget, vb_time now)
{
	for (uint32_t i = 0; i <= VB_DCT_CONTEXTS; i++) {
		struct vb_qp *c = qp->dct->context[i];

		if (i < VB_DCT_CONTEXTS)
			qp->dct->entry[i].use = VB_DCT_FREE;
		if (forget)
			c->resp.rwqe_held = false;
		if (c->state != VB_QPS_RESET)
			context_end(c, now);
	}
}

/* The context that the channel of the initiator that @hdr is of has or had, VB_DCT_CONTEXTS when
 * none is known. */
static uint32_t context_find(struct vb_dct *dct, const struct vb_path *from,
			     const struct vb_hdr *hdr)
{
	for (uint32_t n = 0; n < VB_DCT_CONTEXTS; n++) {
		uint32_t i = (dct->recent + n) % VB_DCT_CONTEXTS;
		const struct vb_dct_entry *e = &dct->entry[i];

		if (e->use != VB_DCT_FREE && e->qpn == hdr->dc.sqpn &&
		    e->channel == hdr->dc.channel && e->lid == from->slid &&
		    vb_gid_eq(&e->gid, &from->sgid)) {
			dct->recent = i;
			return i;
		}
	}
	return VB_DCT_CONTEXTS;
}

static bool is_idle(const struct vb_dct *dct, uint32_t i, vb_time now)
{
	vb_dur silent = vb_time_since(dct->entry[i].last, now);

	return dct->entry[i].use == VB_DCT_LEFT || silent >= VB_DCT_IDLE ||
	       (dct->context[i]->state == VB_QPS_ERR && silent >= VB_DCT_FAILED_IDLE);
}

/* A context for another initiator: a free one, else of those that are done with the one that is
 * longest; VB_DCT_CONTEXTS when there is none. */
static uint32_t context_choose(const struct vb_dct *dct, vb_time now)
{
	uint32_t best = VB_DCT_CONTEXTS;

	for (uint32_t i = 0; i < VB_DCT_CONTEXTS; i++) {
		const struct vb_dct_entry *e = &dct->entry[i];

		if (e->use == VB_DCT_FREE)
			return i;
		if (!is_idle(dct, i, now))
			continue;
		if (best == VB_DCT_CONTEXTS || e->use < dct->entry[best].use ||
		    (e->use == dct->entry[best].use && e->last < dct->entry[best].last))
			best = i;
	}
	return best;
}

/* Makes @c what answers the initiator that the packet is from. */
static void context_begin(struct vb_qp *c, const struct vb_hdr *hdr, const struct vb_rx *rx,
			  vb_time now)
{
	const struct vb_qp *dct = c->parent;
	struct vb_responder *resp = &c->resp;

	VB_ASSERT_ALL(!resp->rwqe_held && resp->res_cap == VB_DCT_RESOURCES);
	c->qpn = dct->qpn;
	c->mtu = dct->mtu;
	c->ack_every = dct->ack_every;
	c->attr = dct->attr;
	c->attr.dest_qpn = hdr->dc.sqpn;
	c->attr.path.sgid = rx->path->dgid;
	c->attr.path.dgid = rx->path->sgid;
	c->attr.path.slid = rx->path->dlid;
	c->attr.path.dlid = rx->path->slid;
	c->attr.path.sl = vb_path_has_lid(rx->path) ? rx->path->sl : c->attr.path.sl;
	c->attr.path.udp_sport = rx->path->udp_sport;
	vb_egress_find_home(c->hca, &c->attr.path);
	c->dc_connection = hdr->dc.connection;
	c->dc_channel = hdr->dc.channel;
	for (uint32_t k = 0; k < VB_DCT_RESOURCES; k++)
		resp->res[k] = (struct vb_resource){0};
	*resp = (struct vb_responder){
	    .rwqe = resp->rwqe, .res = resp->res, .res_cap = resp->res_cap, .epsn = hdr->dc.first};
	c->cc = (struct vb_cc_point){0};
	vb_cc_refresh(c);
	vb_qp_set_state(c, VB_QPS_RTR, now);
}

/* Says no to the connect, and keeps nothing of the initiator that asked: that costs the others
 * nothing. */
static void say_no(struct vb_qp *qp, uint8_t syndrome, const struct vb_hdr *hdr,
		   const struct vb_rx *rx, vb_time now)
{
	struct vb_qp *c = qp->dct->context[VB_DCT_CONTEXTS];

	context_begin(c, hdr, rx, now);
	if ((syndrome & VB_SYNDROME_CLASS) != VB_SYNDROME_RNR) {
		vb_resp_fail(c, syndrome, now);
		return;
	}
	vb_resp_owe_nak(&c->resp, VB_RESP_REFUSES, syndrome);
	vb_sched_activate(c);
}

static void connect_answer(struct vb_qp *c)
{
	c->resp.ack_due = true;
	c->resp.ack_psn = vb_psn_prev(c->resp.epsn);
	vb_sched_activate(c);
}

/* True when connection @a was made after @b. In the high halves they name their maker. */
static bool is_newer(uint32_t a, uint32_t b)
{
	return a >> 16 != b >> 16 || (int16_t)(a - b) > 0;
}

static enum vb_verdict on_disconnect(struct vb_dct *dct, uint32_t i, const struct vb_hdr *hdr,
				     vb_time now)
{
	if (i == VB_DCT_CONTEXTS || dct->entry[i].use != VB_DCT_LIVE ||
	    dct->context[i]->dc_connection != hdr->dc.connection)
		return VB_VERDICT_DUPLICATE;
	dct->entry[i].use = VB_DCT_LEFT;
	dct->entry[i].last = now;
	context_end(dct->context[i], now);
	return VB_VERDICT_OK;
}

/* A connect that is known: said again, because the answer to it, or to a request, was lost. */
static void on_connect_again(struct vb_qp *c, const struct vb_hdr *hdr)
{
	if (c->state == VB_QPS_ERR) {
		vb_resp_enter(&c->resp, VB_RESP_FAILS);
		vb_sched_activate(c);
	} else if (hdr->dc.full) {
		connect_answer(c);
	}
}

static enum vb_verdict on_connect(struct vb_qp *qp, const struct vb_hdr *hdr,
				  const struct vb_rx *rx, vb_time now)
{
	struct vb_dct *dct = qp->dct;
	uint32_t i = context_find(dct, rx->path, hdr);
	struct vb_qp *c = dct->context[i];

	if (hdr->solicited)
		return on_disconnect(dct, i, hdr, now);
	if (hdr->dc.key != dct->key) {
		struct vb_denial d = {VB_DENIAL_DC_KEY, .opcode = hdr->opcode, .is_fatal = true};

		vb_denial_trace(qp, &d, now);
		say_no(qp, VB_NAK_REMOTE_ACCESS, hdr, rx, now);
		return VB_VERDICT_ACCESS;
	}
	if (i < VB_DCT_CONTEXTS && !is_newer(hdr->dc.connection, c->dc_connection)) {
		if (c->dc_connection == hdr->dc.connection && dct->entry[i].use == VB_DCT_LIVE) {
			dct->entry[i].last = now;
			on_connect_again(c, hdr);
		}
		return VB_VERDICT_DUPLICATE;
	}
	if (i == VB_DCT_CONTEXTS)
		i = context_choose(dct, now);
	if (i == VB_DCT_CONTEXTS) {
		say_no(qp, VB_SYNDROME_RNR | (qp->attr.min_rnr_timer & VB_SYNDROME_VALUE), hdr, rx,
		       now);
		return VB_VERDICT_RESOURCE;
	}
	c = dct->context[i];
	if (c->state != VB_QPS_RESET)
		context_end(c, now);
	if (qp->state == VB_QPS_ERR)
		return VB_VERDICT_QP_STATE; /* a completion has overrun the CQ */
	dct->entry[i] = (struct vb_dct_entry){.gid = rx->path->sgid,
					      .lid = rx->path->slid,
					      .qpn = hdr->dc.sqpn,
					      .channel = hdr->dc.channel,
					      .use = VB_DCT_LIVE,
					      .last = now};
	context_begin(c, hdr, rx, now);
	if (hdr->dc.full)
		connect_answer(c);
	return VB_VERDICT_OK;
}

static enum vb_verdict dct_recv(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
				vb_time now)
{
	if (!(vb_hdr_opcode(hdr)->flags & VB_OP_REQUEST))
		return VB_VERDICT_UNEXPECTED;
	if (hdr->opcode == VB_OPCODE_DC_CONNECT)
		return on_connect(qp, hdr, rx, now);

	uint32_t i = context_find(qp->dct, rx->path, hdr);
	struct vb_qp *c = qp->dct->context[i];

	/* Without a context the connect was lost: the initiator's timer brings it again. */
	if (i == VB_DCT_CONTEXTS || qp->dct->entry[i].use != VB_DCT_LIVE ||
	    c->dc_connection != hdr->dc.connection || rx->path->dlid != c->attr.path.slid ||
	    !vb_gid_eq(&rx->path->dgid, &c->attr.path.sgid))
		return VB_VERDICT_SOURCE;
	if (c->state != VB_QPS_RTR)
		return VB_VERDICT_QP_STATE;
	qp->dct->entry[i].last = now;
	if ((rx->path->traffic_class & VB_ECN_MASK) == VB_ECN_CE)
		vb_cc_take_mark(c, hdr, rx->path, now);
	return vb_resp_recv(c, hdr, rx, now);
}

/* InfiniBand only: READ responses were marked, of the contexts of initiators at that address. */
static enum vb_verdict dct_cnp(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			       vb_time now)
{
	enum vb_verdict v = VB_VERDICT_SOURCE;

	(void)hdr;
	for (uint32_t i = 0; i < VB_DCT_CONTEXTS; i++) {
		struct vb_qp *c = qp->dct->context[i];

		if (qp->dct->entry[i].use == VB_DCT_LIVE &&
		    vb_path_is_back(rx->path, &c->attr.path))
			v = vb_cc_take_cnp(c, rx->path, now);
	}
	return v;
}

static void dct_reset(struct vb_qp *qp, vb_time now)
{
	end_contexts(qp, true, now);
}

static void dct_fail(struct vb_qp *qp, vb_time now)
{
	end_contexts(qp, false, now);
}

const struct vb_transport_ops vb_dct_ops = {
    .transport = VB_TRANSPORT_DC,
    .has_rq = true,
    .recv = dct_recv,
    .transmit = vb_rc_transmit,
    .on_timer = vb_req_on_timer,
    .on_sqd = vb_req_complete_local,
    .create = dct_create,
    .release = dct_release,
    .reset = dct_reset,
    .fail = dct_fail,
    .on_cnp = dct_cnp,
};

/* Packets are the target's; what a context sends is an answer. */
const struct vb_transport_ops vb_dc_context_ops = {
    .transport = VB_TRANSPORT_DC,
    .is_acked = true,
    .is_connected = true,
    .takes_srqs = true,
    .transmit = vb_rc_transmit,
    .on_timer = vb_req_on_timer,
    .on_sqd = vb_req_complete_local,
    .has_rq = true,
};
