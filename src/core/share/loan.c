/* SPDX-License-Identifier: BSD-2-Clause */
/* The owner of a target whose responder travels, and the messages about it. See loan.h. */
#include "core/share/loan.h"
#include "base/assert.h"

#include "core/cc/point.h"
#include "core/rc/rc.h"
#include "core/selective/selective.h"
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

static struct vb_xrc_pool *pool_of(struct vb_hca *h)
{
	if (!h->xrc_pool)
		h->xrc_pool = vb_alloc(h, sizeof *h->xrc_pool);
	return h->xrc_pool;
}

struct vb_xrc_loan *vb_xrc_loan_new(struct vb_qp *qp)
{
	struct vb_xrc_loan *loan = pool_of(qp->hca) ? vb_alloc(qp->hca, sizeof *loan) : NULL;

	if (loan) {
		vb_list_init(&loan->link);
		loan->qp = qp;
		qp->loan = loan;
	}
	return loan;
}

void vb_xrc_later(struct vb_xrc_loan *loan)
{
	if (vb_list_is_empty(&loan->link))
		vb_list_append(&loan->qp->hca->loans, &loan->link);
}

bool vb_xrc_note_event(struct vb_qp *qp, enum vb_async ev)
{
	struct vb_xrc_loan *borrower = vb_xrc_is_borrower(qp) ? qp->loan : NULL;

	if (borrower)
		borrower->events |= 1u << ev;
	if (qp->openers)
		vb_xrc_tell_openers(qp, ev);
	return !borrower && !vb_xrc_is_orphan(qp);
}

int vb_xrc_say(struct vb_xrc_loan *loan, enum vb_xrc_kind kind, bool state, const struct vb_rx *rx)
{
	struct vb_qp *qp = loan->qp;
	struct vb_hca *h = qp->hca;
	struct vb_xrc_msg *m = (struct vb_xrc_msg *)(void *)h->xrc_pool->msg;
	uint8_t *at = (uint8_t *)(m + 1);

	*m = (struct vb_xrc_msg){.magic = VB_XRC_MAGIC,
				 .kind = kind,
				 .qpn = vb_xrc_number(qp),
				 .serial = loan->serial,
				 .name = qp->xrcd->name,
				 .events = kind == VB_XRC_RETURN ? loan->events : 0,
				 .is_lent = loan->is_lent};
	if (state) {
		m->state_len = (uint32_t)vb_xrc_state_size(qp);
		vb_xrc_state_put(qp, (struct vb_xrc_state *)(void *)at);
		at += m->state_len;
	}
	if (rx) {
		m->pkt_len = rx->len;
		vb_rx_copy(rx, at);
		at += rx->len;
	}
	return h->cfg.xrc_send(h->cfg.xrc_ctx, loan->peer, m, (size_t)(at - (uint8_t *)m));
}

void vb_xrc_answer(struct vb_hca *h, uint32_t peer, const struct vb_xrc_msg *m,
		   enum vb_xrc_kind kind, bool all)
{
	struct vb_xrc_pool *pool = h->cfg.xrc_send ? pool_of(h) : NULL;
	struct vb_xrc_msg *to = pool ? (struct vb_xrc_msg *)(void *)pool->msg : NULL;
	size_t len = sizeof *m + (all ? m->state_len + m->pkt_len : 0);

	if (!to)
		return;
	memcpy(to, m, len);
	to->kind = kind;
	if (!all)
		to->state_len = to->pkt_len = 0;
	/* Lost, when there is no room: who waits for it asks again, see vb_xrc_probe(). */
	(void)h->cfg.xrc_send(h->cfg.xrc_ctx, peer, to, len);
}

static void kept_drop(struct vb_xrc_loan *loan)
{
	struct vb_xrc_pool *pool = loan->qp->hca->xrc_pool;
	uint32_t i = loan->first;

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
	loan->is_lent = false;
	loan->qp->resp.nak_due = false;
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

	return r && !r->is_atomic && !r->is_write ? r->srqn : 0;
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
			qp->resp.ack_due = qp->resp.nak_due = false;
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
static bool owner_run(struct vb_xrc_loan *loan, vb_time now)
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
	else if (owner_run(loan, now))
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
	if (owner_run(loan, now))
		vb_xrc_later(loan);
}

static void owner_take(struct vb_hca *h, uint32_t peer, const struct vb_xrc_msg *m, vb_time now)
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

int vb_xrc_take_message(struct vb_hca *h, uint32_t peer, const void *msg, size_t len, vb_time now)
{
	const struct vb_xrc_msg *m = msg;

	if (!h->cfg.xrc_send || len < sizeof *m || len > VB_XRC_MSG_MAX ||
	    m->magic != VB_XRC_MAGIC || m->kind >= VB_XRC_KINDS || m->state_len % 8 ||
	    m->state_len > len || m->pkt_len > VB_XRC_PKT_MAX ||
	    sizeof *m + m->state_len + m->pkt_len != len || m->name.ino == 0 ||
	    peer >= VB_XRC_PEERS)
		return -EPROTO;
	if (m->kind >= VB_XRC_OPEN)
		return vb_xrc_open_take(h, peer, m, now);
	if (m->kind < VB_XRC_RETURN)
		return vb_xrc_borrower_take(h, peer, m, now);
	owner_take(h, peer, m, now);
	return 0;
}

bool vb_xrc_waits(const struct vb_hca *h)
{
	return !vb_list_is_empty(&h->loans) || !vb_list_is_empty(&h->openers);
}

bool vb_xrc_run(struct vb_hca *h, vb_time now)
{
	struct vb_list todo;

	vb_xrc_openers_run(h);
	vb_list_init(&todo);
	while (!vb_list_is_empty(&h->loans)) {
		struct vb_list *l = h->loans.next;

		vb_list_remove(l);
		vb_list_append(&todo, l);
	}
	while (!vb_list_is_empty(&todo)) {
		struct vb_xrc_loan *loan = vb_container_of(todo.next, struct vb_xrc_loan, link);

		vb_list_remove(&loan->link);
		if (loan->borrows ? vb_xrc_borrower_run(loan, now) : owner_run(loan, now))
			vb_xrc_later(loan);
	}
	return vb_xrc_waits(h);
}

void vb_xrc_probe(struct vb_hca *h, vb_time now)
{
	for (uint32_t i = 0; i < h->qp_cap; i++) {
		struct vb_xrc_loan *loan = h->qp[i] ? h->qp[i]->loan : NULL;

		if (loan && loan->borrows) {
			vb_xrc_borrower_probe(loan, now);
		} else if (loan && loan->is_lent) {
			int err = vb_xrc_say(loan, VB_XRC_CHECK, false, NULL);

			if (err && err != -EAGAIN)
				on_loss(loan, now);
		}
		if (h->qp[i])
			vb_xrc_open_probe(h->qp[i]);
	}
}
