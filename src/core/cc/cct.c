/* SPDX-License-Identifier: BSD-2-Clause */
/* Indices of QPs, and notes of senders to tell. See cct.h. */
#include "core/cc/cct.h"

#include "base/assert.h"
#include "core/dc/dc.h"
#include "wire/ib/lrh.h"

#define LINE_GAP 2u /* symbols that begin and end a packet */
#define NS_KBIT UINT64_C(8000000)
#define RATE_LEAST 1000u

static const struct vb_cct_port *port_of(const struct vb_qp *qp)
{
	return qp->hca->port[qp->attr.port].cct;
}

/* It has no peer, and several ones may send to it. */
static bool is_answering(const struct vb_qp *qp)
{
	return !qp->parent &&
	       (qp->type == VB_QPT_UD || qp->type == VB_QPT_GSI || qp->type == VB_QPT_DCI);
}

void vb_cct_refresh(struct vb_qp *qp)
{
	const struct vb_cct_port *p = port_of(qp);
	struct vb_cct_point *c = &qp->cc.cct;
	/* Where no manager has made a table, the index would stay 0. */
	bool on = p && p->rules.table.by_qp && p->rules.table.limit;

	if (c->on != on) {
		c->on = on;
		c->ccti = (struct vb_ccti){0};
		c->next = 0;
	}
	/* Without memory marks go unanswered. */
	if (p && !c->notes && is_answering(qp))
		c->notes = vb_alloc(qp->hca, sizeof *c->notes);
}

/* The time that a packet of @bytes, BTH through ICRC, takes on the line. */
static vb_dur line_time(const struct vb_cct_port *p, uint32_t bytes, bool has_grh)
{
	uint32_t frame = VB_LRH_LEN + (has_grh ? VB_GRH_LEN : 0u) + bytes + VB_VCRC_LEN + LINE_GAP;

	VB_ASSERT_ALL(p->rules.rate_bps >= RATE_LEAST);
	return frame * NS_KBIT / (p->rules.rate_bps / 1000);
}

vb_dur vb_cct_wait(const struct vb_qp *qp)
{
	return port_of(qp)->rules.keep / 2;
}

bool vb_cct_asks(const struct vb_qp *qp)
{
	const struct vb_cct_port *p = port_of(qp);
	const struct vb_ccti *i = &qp->cc.cct.ccti;

	return i->index && vb_cct_delay(&p->rules.table, i->index,
					line_time(p, qp->ack_every * (qp->mtu + VB_HDR_MAX),
						  false)) > qp->rto.timeout / 4;
}

uint64_t vb_cct_rate(const struct vb_qp *qp)
{
	const struct vb_cct_rules *r = &port_of(qp)->rules;

	return r->rate_bps * VB_USEC / vb_cct_delay(&r->table, qp->cc.cct.ccti.index, VB_USEC);
}

void vb_cct_sent(struct vb_qp *qp, const struct vb_tx *tx, vb_time now)
{
	const struct vb_cct_port *p = port_of(qp);
	struct vb_cct_point *c = &qp->cc.cct;
	uint16_t index = vb_ccti_at(&c->ccti, &p->rules.table, tx->path->sl, now);
	vb_dur line;

	/* Without congestion the line alone paces. */
	if (index == 0) {
		c->next = 0;
		return;
	}
	line = line_time(p, vb_tx_wire_len(tx), vb_path_has_grh(tx->path));
	if (vb_time_after(c->next, p->rules.keep) < now)
		c->next = now - p->rules.keep;
	c->next = vb_time_after(c->next, vb_cct_delay(&p->rules.table, index, line));
}

static enum vb_cct_service service_of(const struct vb_qp *qp)
{
	switch (qp->ops->transport) {
	case VB_TRANSPORT_UC:
		return VB_CCT_UC;
	case VB_TRANSPORT_UD:
		return VB_CCT_UD;
	default:
		return VB_CCT_RC;
	}
}

static void event_write(struct vb_qp *qp, const struct vb_path *from, vb_time now)
{
	struct vb_cct_events *e = qp->hca->cfg.port[qp->attr.port].cct_events;
	struct vb_cct_event is = {
	    .at = now, .qpn = qp->qpn, .sl = from->sl, .service = (uint8_t)service_of(qp)};

	if (!e)
		return;
	if (qp->ops->is_connected) {
		is.remote_qpn = qp->attr.dest_qpn;
		is.lid = from->slid;
	}
	__atomic_store_n(&e->seq, e->seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	e->last[e->cnt++ % VB_CCT_EVENTS] = is;
	__atomic_store_n(&e->seq, e->seq + 1, __ATOMIC_RELEASE);
}

bool vb_cct_becn(struct vb_qp *qp, const struct vb_path *from, vb_time now)
{
	struct vb_cct_point *c = &qp->cc.cct;
	struct vb_cct_port *p = qp->hca->port[qp->attr.port].cct;

	if (!c->on)
		return false;
	if (vb_ccti_becn(&c->ccti, &p->rules.table, from->sl, now))
		event_write(qp, from, now);
	if (c->ccti.index > p->index_max)
		p->index_max = c->ccti.index;
	return true;
}

/* An answer to it reaches one QP, and no group: a sender is not believed. */
static bool sender_is_one(const struct vb_path *from, uint32_t qpn)
{
	return from->slid && from->slid < VB_LID_MULTICAST && from->dlid < VB_LID_MULTICAST &&
	       !vb_gid_is_multicast(&from->sgid) && !vb_gid_is_multicast(&from->dgid) && qpn &&
	       qpn != VB_QPN_MULTICAST;
}

bool vb_cct_note(struct vb_qp *qp, const struct vb_path *from, uint32_t dqpn)
{
	struct vb_cct_notes *n = qp->cc.cct.notes;
	struct vb_path back = vb_path_back(from);
	struct vb_cct_note *note;

	if (!n || !sender_is_one(from, dqpn))
		return false;
	VB_ASSERT_ALL(n->cnt <= VB_CCT_NOTES);
	for (uint32_t i = 0; i < n->cnt; i++) {
		note = &n->note[(n->head + i) % VB_CCT_NOTES];
		if (note->dqpn == dqpn && note->path.sl == back.sl &&
		    vb_path_same_ends(&note->path, &back)) {
			note->times++;
			return true;
		}
	}
	if (n->cnt == VB_CCT_NOTES)
		return false;
	note = &n->note[(n->head + n->cnt++) % VB_CCT_NOTES];
	*note = (struct vb_cct_note){.path = back, .dqpn = dqpn, .times = 1};
	return true;
}

const struct vb_cct_note *vb_cct_take_note(struct vb_qp *qp)
{
	struct vb_cct_notes *n = qp->cc.cct.notes;
	struct vb_cct_note *note;

	if (!n)
		return NULL;
	VB_ASSERT(n->cnt > 0);
	note = &n->note[n->head];
	if (--note->times == 0) {
		n->head = (n->head + 1) % VB_CCT_NOTES;
		n->cnt--;
	}
	return note;
}

const char *vb_cct_check(const struct vb_cct_rules *r)
{
	if (r->table.limit >= VB_CCT_LEN)
		return "the limit is beyond the table";
	return r->rate_bps < RATE_LEAST ? "the link is too slow" : NULL;
}

const struct vb_cct_rules *vb_hca_cct(const struct vb_hca *h, uint8_t port)
{
	return h->port[port].cct ? &h->port[port].cct->rules : NULL;
}

uint16_t vb_hca_cct_index_max(const struct vb_hca *h, uint8_t port)
{
	return h->port[port].cct ? h->port[port].cct->index_max : 0;
}
