/* SPDX-License-Identifier: BSD-2-Clause */
/* The owner of a target whose responder travels, and the messages about it. See loan.h. */
#include "core/share/loan.h"
#include "base/assert.h"

#include "core/cc/point.h"
#include "core/rc/rc.h"
#include "core/share/open.h"

#include <errno.h>
#include <string.h>

/* What became of a packet: it is done with, or it has to wait. */
enum fate { DONE, WAITS };

static uint32_t peer_of(const struct vb_hca *h, uint32_t number)
{
	return number % h->cfg.qpn_stride;
}

static bool is_own(const struct vb_hca *h, uint32_t number)
{
	return peer_of(h, number) == peer_of(h, h->cfg.qpn_base);
}

static void kept_drop(struct vb_xrc_loan *loan)
{
	struct vb_xrc_pool *pool = loan->qp->hca->xrc_pool;
	uint32_t i = loan->first;

	VB_ASSERT(i > 0 && i <= pool->used && loan->cnt > 0);
	loan->first = pool->pkt[i - 1].next;
	loan->cnt--;
	pool->pkt[i - 1].next = pool->free;
	pool->free = i;
}

static void kept_drop_all(struct vb_xrc_loan *loan)
{
	while (loan->cnt)
		kept_drop(loan);
}

static enum vb_verdict keep(struct vb_xrc_loan *loan, const struct vb_rx *rx)
{
	struct vb_xrc_pool *pool = loan->qp->hca->xrc_pool;
	uint32_t i = pool->free;

	if (loan->cnt == VB_XRC_KEPT_MAX || (!i && pool->used == VB_XRC_POOL))
		return VB_VERDICT_RESOURCE;
	if (i)
		pool->free = pool->pkt[i - 1].next;
	else
		i = ++pool->used;

	struct vb_xrc_kept *k = &pool->pkt[i - 1];

	VB_ASSERT(i <= VB_XRC_POOL);
	k->len = rx->len;
	k->next = 0;
	k->path = *rx->path;
	vb_rx_copy(rx, k->bytes);
	if (loan->cnt++)
		pool->pkt[loan->last - 1].next = i;
	else
		loan->first = i;
	loan->last = i;
	return VB_VERDICT_OK;
}

/* The borrower has gone with the state: nobody can go on. */
static void on_loss(struct vb_xrc_loan *loan, vb_time now)
{
	VB_ASSERT_ALL(!loan->borrows);
	loan->is_lent = false;
	vb_resp_nak_done(&loan->qp->resp);
	vb_qp_fatal(loan->qp, now);
}

/* The number of an SRQ of the HCA that the packet is for: of one in order, its message's; of a
 * READ that comes again, the one whose memory answers. 0: it makes no difference. */
static uint32_t srqn_of(struct vb_qp *qp, const struct vb_hdr *hdr)
{
	struct vb_responder *resp = &qp->resp;
	int32_t ahead = vb_psn_diff(hdr->psn, resp->epsn);

	if (hdr->opcode == VB_OPCODE_CNP || ahead > 0)
		return 0;
	if (ahead == 0)
		return resp->msg == VB_MSG_NONE ? hdr->xrc_srqn : resp->srqn;
	if (!(vb_hdr_opcode(hdr)->flags & VB_OP_READ))
		return 0;

	const struct vb_resource *r = vb_resp_resource(resp, hdr->psn);

	return r && r->kind == VB_RESOURCE_READ ? r->srqn : 0;
}

/* With the state here. */
static enum fate handle(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			vb_time now, enum vb_verdict *verdict)
{
	struct vb_hca *h = qp->hca;
	struct vb_xrc_loan *loan = qp->loan;
	uint32_t srqn = srqn_of(qp, hdr);

	if (srqn && !is_own(h, srqn) && h->cfg.xrc_send && rx->len <= VB_XRC_PKT_MAX &&
	    h->cfg.qpn_stride <= VB_XRC_PEERS && (loan || (loan = vb_xrc_loan_new(qp)))) {
		if (vb_resp_owes(qp)) {
			vb_xrc_later(loan);
			return WAITS;
		}
		loan->peer = peer_of(h, srqn);
		loan->serial++;

		int err = vb_xrc_say(loan, VB_XRC_LEND, true, rx);

		if (err == -EAGAIN) {
			vb_xrc_later(loan);
			return WAITS;
		}
		if (!err) {
			loan->is_lent = true;
			loan->peers[loan->peer / 64] |= UINT64_C(1) << loan->peer % 64;
			qp->resp.ack_due = false;
			vb_resp_nak_done(&qp->resp);
			*verdict = VB_VERDICT_OK;
			return DONE;
		}
	}
	if (hdr->opcode == VB_OPCODE_CNP)
		(void)vb_cc_take_cnp(qp, rx->path, now);
	else
		*verdict = vb_resp_recv(qp, hdr, rx, now);
	return DONE;
}

/* With the state lent. */
static enum fate hand_on(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			 vb_time now)
{
	struct vb_xrc_loan *loan = qp->loan;
	bool fits = hdr->opcode == VB_OPCODE_CNP || peer_of(qp->hca, hdr->xrc_srqn) == loan->peer;
	int err;

	if (loan->recall && loan->sent)
		return WAITS;
	loan->recall |= !fits;
	err = vb_xrc_say(loan, loan->recall ? VB_XRC_RECALL : VB_XRC_PACKET, false,
			 loan->recall ? NULL : rx);
	if (err == -EAGAIN) {
		vb_xrc_later(loan);
		return WAITS;
	}
	if (err) {
		on_loss(loan, now);
		return DONE;
	}
	loan->sent = loan->recall;
	return loan->recall ? WAITS : DONE;
}

static enum fate pass(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
		      vb_time now, enum vb_verdict *verdict)
{
	return qp->loan && qp->loan->is_lent ? hand_on(qp, hdr, rx, now)
					     : handle(qp, hdr, rx, now, verdict);
}

enum vb_verdict vb_xrc_recv(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			    vb_time now)
{
	enum vb_verdict verdict = VB_VERDICT_OK;

	if (vb_xrc_is_borrower(qp))
		return VB_VERDICT_UNEXPECTED; /* it is no target of its own */
	if (rx->len > VB_XRC_PKT_MAX || vb_rx_bytes(rx) != rx->len)
		return qp->loan && (qp->loan->is_lent || qp->loan->cnt)
			   ? VB_VERDICT_OVERSIZED
			   : vb_resp_recv(qp, hdr, rx, now);
	if (qp->loan && qp->loan->cnt)
		return keep(qp->loan, rx);
	if (pass(qp, hdr, rx, now, &verdict) == WAITS)
		return keep(qp->loan, rx);
	return verdict;
}

/* Goes on with the kept packets; true while they wait for more than the state. */
bool vb_xrc_owner_run(struct vb_xrc_loan *loan, vb_time now)
{
	struct vb_qp *qp = loan->qp;

	while (loan->cnt) {
		const struct vb_xrc_kept *k = &qp->hca->xrc_pool->pkt[loan->first - 1];
		struct vb_rx rx = {
		    .pkt = k->bytes, .len = k->len, .avail = k->len, .path = &k->path};
		struct vb_hdr hdr = {0};
		enum vb_verdict verdict = vb_hdr_parse(&hdr, rx.pkt, rx.avail, rx.len);

		VB_ASSERT(verdict == VB_VERDICT_OK);
		if (pass(qp, &hdr, &rx, now, &verdict) == WAITS)
			return !(loan->is_lent && loan->sent);
		if (loan->cnt) /* or it has failed, and they are gone */
			kept_drop(loan);
	}
	return false;
}

/* Everybody with a borrower is told. Who was not asks, see vb_xrc_probe(). */
static void tell_end(struct vb_xrc_loan *loan)
{
	for (uint32_t i = 0; i < VB_XRC_PEERS; i++) {
		if (!(loan->peers[i / 64] >> i % 64 & 1))
			continue;
		loan->peer = i;
		(void)vb_xrc_say(loan, VB_XRC_END, false, NULL);
	}
	memset(loan->peers, 0, sizeof loan->peers);
}

void vb_xrc_end_loan(struct vb_qp *qp)
{
	struct vb_xrc_loan *loan = qp->loan;

	if (!loan->borrows)
		tell_end(loan);
	else if (loan->is_lent)
		(void)vb_xrc_say(loan, VB_XRC_RETURN, true, NULL);
	loan->is_lent = loan->recall = loan->sent = false;
	kept_drop_all(loan);
	vb_list_remove(&loan->link);
}

void vb_xrc_fail_loan(struct vb_qp *qp)
{
	if (qp->loan->borrows)
		vb_xrc_later(qp->loan); /* a NAK leaves first */
	else
		vb_xrc_end_loan(qp);
}

/* The state is back. */
static void on_return(struct vb_xrc_loan *loan, const struct vb_xrc_msg *m, vb_time now)
{
	loan->is_lent = loan->recall = loan->sent = false;
	for (uint32_t ev = 0; ev < 32; ev++) {
		if (m->events >> ev & (VB_XRC_EVENTS >> ev) & 1)
			vb_qp_raise(loan->qp, (enum vb_async)ev);
	}
	if (vb_xrc_state_take(loan->qp, vb_xrc_msg_state(m), m->state_len, now))
		on_loss(loan, now);
	else if (vb_xrc_owner_run(loan, now))
		vb_xrc_later(loan);
}

/* Nobody can be lent to there: the packet is carried out here, where it finds no SRQ. */
static void on_refusal(struct vb_xrc_loan *loan, const struct vb_xrc_msg *m, vb_time now)
{
	struct vb_qp *qp = loan->qp;
	struct vb_rx rx = vb_xrc_msg_packet(m, &qp->attr.path);
	struct vb_hdr hdr = {0};

	loan->is_lent = loan->recall = loan->sent = false;
	if (vb_xrc_state_take(qp, vb_xrc_msg_state(m), m->state_len, now) ||
	    vb_hdr_parse(&hdr, rx.pkt, rx.avail, rx.len) != VB_VERDICT_OK ||
	    !(vb_hdr_opcode(&hdr)->flags & VB_OP_REQUEST) ||
	    (hdr.opcode & VB_TRANSPORT_MASK) != qp->ops->transport) {
		on_loss(loan, now);
		return;
	}
	(void)vb_resp_recv(qp, &hdr, &rx, now);
	if (vb_xrc_owner_run(loan, now))
		vb_xrc_later(loan);
}

void vb_xrc_owner_take(struct vb_hca *h, uint32_t peer, const struct vb_xrc_msg *m, vb_time now)
{
	struct vb_qp *qp = vb_qp_find(h, m->qpn);
	struct vb_xrc_loan *loan = qp ? qp->loan : NULL;

	bool knows = loan && !loan->borrows && (loan->peers[peer / 64] >> peer % 64 & 1);
	bool lends = knows && loan->is_lent && loan->peer == peer && loan->serial == m->serial;

	if (m->kind == VB_XRC_HAVE) {
		if (m->is_lent ? !lends : !knows)
			vb_xrc_answer(h, peer, m, VB_XRC_END, false);
		return;
	}
	if (!lends)
		return;
	if (m->kind == VB_XRC_RETURN)
		on_return(loan, m, now);
	else if (m->kind == VB_XRC_REFUSE)
		on_refusal(loan, m, now);
	else if (m->kind == VB_XRC_GONE)
		on_loss(loan, now);
}

void vb_xrc_owner_probe(struct vb_xrc_loan *loan, vb_time now)
{
	int err = vb_xrc_say(loan, VB_XRC_CHECK, false, NULL);

	if (err && err != -EAGAIN)
		on_loss(loan, now);
}
