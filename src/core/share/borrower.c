/* SPDX-License-Identifier: BSD-2-Clause */
/* The borrower of a responder: a target QP that carries out what is for the SRQs of this HCA. See
 * loan.h. */
#include "core/cc/point.h"
#include "core/rc/rc.h"
#include "core/share/loan.h"

#include <errno.h>

/* The borrower of the target, the first in its list from then on: packets come in GSO batches. */
static struct vb_xrc_loan *borrower_find(struct vb_xrcd *x, uint32_t peer, uint32_t qpn)
{
	for (struct vb_list *l = x->targets.next; l != &x->targets; l = l->next) {
		struct vb_qp *qp = vb_container_of(l, struct vb_qp, target);

		if (!vb_xrc_is_borrower(qp) || qp->loan->peer != peer || qp->loan->owner_qpn != qpn)
			continue;
		vb_list_remove(l);
		vb_list_append(x->targets.next, l);
		return qp->loan;
	}
	return NULL;
}

static struct vb_xrc_loan *borrower_new(struct vb_xrcd *x, uint32_t peer, uint32_t qpn)
{
	struct vb_qp_init init = {.type = VB_QPT_XRC_TGT, .xrcd = x};
	struct vb_qp *qp;

	if (vb_qp_create(NULL, &init, &qp))
		return NULL;

	struct vb_xrc_loan *loan = vb_xrc_loan_new(qp);

	if (!loan) {
		(void)vb_qp_destroy(qp); /* nobody uses it */
		return NULL;
	}
	loan->borrows = true;
	loan->peer = peer;
	loan->owner_qpn = qpn;
	return loan;
}

static bool path_eq(const struct vb_path *a, const struct vb_path *b)
{
	return vb_path_same_ends(a, b) && a->flow_label == b->flow_label &&
	       a->udp_sport == b->udp_sport && a->port == b->port && a->sl == b->sl &&
	       a->traffic_class == b->traffic_class && a->hop_limit == b->hop_limit;
}

static bool is_set_up(const struct vb_qp *qp, const struct vb_qp_attr *a)
{
	const struct vb_qp_attr *is = &qp->attr;

	return qp->state == VB_QPS_RTR && is->port == a->port && is->pkey_index == a->pkey_index &&
	       is->dest_qpn == a->dest_qpn && is->path_mtu == a->path_mtu &&
	       is->max_dest_rd_atomic == a->max_dest_rd_atomic && is->access == a->access &&
	       is->min_rnr_timer == a->min_rnr_timer && is->path_kbps == a->path_kbps &&
	       path_eq(&is->path, &a->path);
}

/* Makes the QP what the owner's is. 0 or what vb_qp_modify() says. */
static int set_up(struct vb_qp *qp, const struct vb_qp_attr *as, vb_time now)
{
	struct vb_qp_attr a = *as;
	int err;

	if (is_set_up(qp, as))
		return 0;
	vb_qp_reset(qp, now);
	a.qp_state = VB_QPS_INIT;
	err = vb_qp_modify(qp, &a, VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_ACCESS_FLAGS,
			   now);
	a.qp_state = VB_QPS_RTR;
	return err ? err
		   : vb_qp_modify(qp, &a,
				  VB_QP_STATE | VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN |
				      VB_QP_RQ_PSN | VB_QP_MAX_DEST_RD_ATOMIC | VB_QP_MIN_RNR_TIMER,
				  now);
}

static void carry_out(struct vb_xrc_loan *loan, const struct vb_xrc_msg *m, vb_time now)
{
	struct vb_qp *qp = loan->qp;
	struct vb_rx rx = vb_xrc_msg_packet(m, &qp->attr.path);
	struct vb_hdr hdr = {0};

	if (vb_hdr_parse(&hdr, rx.pkt, rx.avail, rx.len) != VB_VERDICT_OK ||
	    qp->state != VB_QPS_RTR)
		return;
	loan->is_busy = true;
	if (hdr.opcode == VB_OPCODE_CNP)
		(void)vb_cc_take_cnp(qp, rx.path, now);
	else if ((hdr.opcode & VB_TRANSPORT_MASK) == qp->ops->transport &&
		 (vb_hdr_opcode(&hdr)->flags & VB_OP_REQUEST))
		(void)vb_resp_recv(qp, &hdr, &rx, now);
}

/* Nothing is left of the target: a receive WQE that the borrower holds completes with a flush. */
static void borrower_end(struct vb_xrc_loan *loan, vb_time now)
{
	struct vb_qp *qp = loan->qp;

	loan->is_lent = false;
	vb_resp_nak_done(&qp->resp);
	vb_qp_enter_err(qp, now);
	(void)vb_qp_destroy(qp); /* of multicast it knows nothing */
}

/* Returns the state when it was asked for, or has failed, and nothing is left to say; true while it
 * waits for that. */
bool vb_xrc_borrower_run(struct vb_xrc_loan *loan, vb_time now)
{
	struct vb_qp *qp = loan->qp;
	bool failed = qp->state == VB_QPS_ERR;
	int err;

	if (!loan->is_lent || !(failed || loan->recall))
		return false;
	if (failed ? vb_resp_owes_nak(&qp->resp) : vb_resp_owes(qp))
		return true;
	err = vb_xrc_say(loan, VB_XRC_RETURN, true, NULL);
	if (err == -EAGAIN)
		return true;
	loan->is_lent = loan->recall = false;
	qp->resp.ack_due = false;
	vb_resp_nak_done(&qp->resp);
	if (err || failed)
		borrower_end(loan, now);
	return false;
}

static void give_back(struct vb_xrc_loan *loan, vb_time now)
{
	loan->recall = true;
	if (vb_xrc_borrower_run(loan, now))
		vb_xrc_later(loan);
}

/* A state that nothing is done with goes back: then nobody minds when this process is killed. */
void vb_xrc_borrower_probe(struct vb_xrc_loan *loan, vb_time now)
{
	int err = vb_xrc_say(loan, VB_XRC_HAVE, false, NULL);

	if (err && err != -EAGAIN)
		borrower_end(loan, now);
	else if (loan->is_lent && !loan->is_busy)
		give_back(loan, now);
	else
		loan->is_busy = false;
}

void vb_xrc_give_back(struct vb_hca *h, vb_time now)
{
	for (uint32_t i = 0; i < h->qp_cap; i++) {
		struct vb_xrc_loan *loan = h->qp[i] ? h->qp[i]->loan : NULL;

		if (loan && loan->borrows && loan->is_lent)
			give_back(loan, now);
	}
}

static int on_lend(struct vb_hca *h, uint32_t peer, const struct vb_xrc_msg *m, vb_time now)
{
	const struct vb_xrc_state *state = vb_xrc_msg_state(m);
	struct vb_xrcd *x = vb_xrcd_find(h, &m->name);
	struct vb_xrc_loan *loan = x ? borrower_find(x, peer, m->qpn) : NULL;

	if (x && !loan)
		loan = borrower_new(x, peer, m->qpn);
	if (!loan || m->state_len < sizeof *state || set_up(loan->qp, &state->attr, now)) {
		vb_xrc_answer(h, peer, m, VB_XRC_REFUSE, true);
		return 0;
	}
	loan->serial = m->serial;
	loan->recall = false;
	loan->events = 0;
	loan->is_lent = true;
	if (state->state != VB_QPS_RTR || vb_xrc_state_take(loan->qp, state, m->state_len, now)) {
		borrower_end(loan, now);
		vb_xrc_answer(h, peer, m, VB_XRC_GONE, false);
		return -EPROTO;
	}
	carry_out(loan, m, now);
	return 0;
}

int vb_xrc_borrower_take(struct vb_hca *h, uint32_t peer, const struct vb_xrc_msg *m, vb_time now)
{
	struct vb_xrcd *x = vb_xrcd_find(h, &m->name);
	struct vb_xrc_loan *loan = x ? borrower_find(x, peer, m->qpn) : NULL;

	if (m->kind == VB_XRC_LEND)
		return on_lend(h, peer, m, now);
	if (m->kind == VB_XRC_END) {
		if (loan)
			borrower_end(loan, now);
		return 0;
	}
	if (!loan || !loan->is_lent || loan->serial != m->serial) {
		vb_xrc_answer(h, peer, m, VB_XRC_GONE, false);
		return 0;
	}
	if (m->kind == VB_XRC_PACKET)
		carry_out(loan, m, now);
	if (m->kind == VB_XRC_RECALL)
		give_back(loan, now);
	return 0;
}
