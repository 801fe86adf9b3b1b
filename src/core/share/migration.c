/* SPDX-License-Identifier: BSD-2-Clause */
/* The owner of a target whose responder travels, and the messages about it. See migration.h. */
#include "core/share/migration.h"
#include "base/assert.h"

#include "core/cc/point.h"
#include "core/rc/rc.h"
#include "core/share/open.h"

#include <errno.h>
#include <string.h>

/* The fate of a packet: it is done with, or it has to wait. */
enum fate { DONE, WAITS };

static bool is_own(const struct vb_hca *h, uint32_t number)
{
	return vb_slot_of_qpn(number) == vb_slot_of_qpn(h->cfg.qpn_base);
}

static void kept_drop(struct vb_xrc_migration *mig)
{
	struct vb_xrc_pool *pool = mig->qp->hca->xrc_pool;
	uint32_t i = mig->first;

	VB_ASSERT(i > 0 && i <= pool->used && mig->cnt > 0);
	mig->first = pool->pkt[i - 1].next;
	mig->cnt--;
	pool->pkt[i - 1].next = pool->free;
	pool->free = i;
}

static void kept_drop_all(struct vb_xrc_migration *mig)
{
	while (mig->cnt)
		kept_drop(mig);
}

static enum vb_verdict packet_keep(struct vb_xrc_migration *mig, const struct vb_rx *rx)
{
	struct vb_xrc_pool *pool = mig->qp->hca->xrc_pool;
	uint32_t i = pool->free;

	if (mig->cnt == VB_XRC_KEPT_MAX || (!i && pool->used == VB_XRC_POOL))
		return VB_VERDICT_RESOURCE;
	if (i)
		pool->free = pool->pkt[i - 1].next;
	else
		i = ++pool->used;

	struct vb_xrc_kept *k = &pool->pkt[i - 1];

	VB_ASSERT(i <= VB_XRC_POOL);
	k->len = rx->len;
	k->next = 0;
	vb_rx_copy(rx, k->bytes);
	if (mig->cnt++)
		pool->pkt[mig->last - 1].next = i;
	else
		mig->first = i;
	mig->last = i;
	return VB_VERDICT_OK;
}

/* The holder has gone with the state: nobody can go on. */
static void on_loss(struct vb_xrc_migration *mig, vb_time now)
{
	VB_ASSERT_ALL(!mig->is_holder);
	mig->is_migrated = false;
	vb_resp_nak_done(&mig->qp->resp);
	vb_qp_fatal(mig->qp, now);
}

/* The number of an SRQ of the HCA that the packet is for: of one in order, its message's; of a
 * READ that comes again, the one whose memory answers. 0: it makes no difference. */
static uint32_t srqn_of(struct vb_qp *qp, const struct vb_hdr *hdr)
{
	struct vb_responder *resp = &qp->resp;
	int32_t ahead = vb_psn_diff(hdr->psn, resp->epsn);

	if (vb_opcode_is_cnp(hdr->opcode) || ahead > 0)
		return 0;
	if (ahead == 0)
		return resp->msg == VB_MSG_NONE ? hdr->xrc_srqn : resp->srqn;
	if (!(vb_hdr_opcode(hdr)->flags & VB_OP_READ))
		return 0;

	const struct vb_resource *r = vb_resp_resource(resp, hdr->psn);

	return r && r->kind == VB_RESOURCE_READ ? r->srqn : 0;
}

/* With the state here. */
static enum fate packet_handle(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			       vb_time now, enum vb_verdict *verdict)
{
	struct vb_hca *h = qp->hca;
	struct vb_xrc_migration *mig = qp->mig;
	uint32_t srqn = srqn_of(qp, hdr);

	if (srqn && !is_own(h, srqn) && h->cfg.xrc_send && rx->len <= VB_XRC_PKT_MAX &&
	    (mig || (mig = vb_xrc_migration_new(qp)))) {
		if (vb_resp_owes(qp)) {
			vb_xrc_later(mig);
			return WAITS;
		}
		mig->peer = vb_slot_of_qpn(srqn);
		mig->serial++;

		int err = vb_xrc_say(mig, VB_XRC_MIGRATE, true, rx);

		if (err == -EAGAIN) {
			vb_xrc_later(mig);
			return WAITS;
		}
		if (!err) {
			mig->is_migrated = true;
			mig->peers[mig->peer / 64] |= UINT64_C(1) << mig->peer % 64;
			qp->resp.ack_due = false;
			vb_resp_nak_done(&qp->resp);
			*verdict = VB_VERDICT_OK;
			return DONE;
		}
	}
	if (vb_opcode_is_cnp(hdr->opcode))
		(void)vb_cc_take_cnp(qp, rx->path, now);
	else
		*verdict = vb_resp_recv(qp, hdr, rx, now);
	return DONE;
}

/* Hands a packet to the holder while the state is away. */
static enum fate hand_on(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			 vb_time now)
{
	struct vb_xrc_migration *mig = qp->mig;
	bool fits = vb_opcode_is_cnp(hdr->opcode) || vb_slot_of_qpn(hdr->xrc_srqn) == mig->peer;
	int err;

	if (mig->recall && mig->sent)
		return WAITS;
	mig->recall |= !fits;
	err = vb_xrc_say(mig, mig->recall ? VB_XRC_RECALL : VB_XRC_PACKET, false,
			 mig->recall ? NULL : rx);
	if (err == -EAGAIN) {
		vb_xrc_later(mig);
		return WAITS;
	}
	if (err) {
		on_loss(mig, now);
		return DONE;
	}
	mig->sent = mig->recall;
	return mig->recall ? WAITS : DONE;
}

static enum fate packet_pass(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			     vb_time now, enum vb_verdict *verdict)
{
	return qp->mig && qp->mig->is_migrated ? hand_on(qp, hdr, rx, now)
					       : packet_handle(qp, hdr, rx, now, verdict);
}

enum vb_verdict vb_xrc_recv(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			    vb_time now)
{
	enum vb_verdict verdict = VB_VERDICT_OK;

	if (vb_xrc_is_holder(qp))
		return VB_VERDICT_UNEXPECTED; /* it is no target of its own */
	if (rx->len > VB_XRC_PKT_MAX || vb_rx_bytes(rx) != rx->len)
		return qp->mig && (qp->mig->is_migrated || qp->mig->cnt)
			   ? VB_VERDICT_OVERSIZED
			   : vb_resp_recv(qp, hdr, rx, now);
	if (qp->mig && qp->mig->cnt)
		return packet_keep(qp->mig, rx);
	if (packet_pass(qp, hdr, rx, now, &verdict) == WAITS)
		return packet_keep(qp->mig, rx);
	return verdict;
}

/* Goes on with the kept packets, until one of them has to wait. */
void vb_xrc_owner_run(struct vb_xrc_migration *mig, vb_time now)
{
	struct vb_qp *qp = mig->qp;

	while (mig->cnt) {
		const struct vb_xrc_kept *k = &qp->hca->xrc_pool->pkt[mig->first - 1];
		struct vb_rx rx = {
		    .pkt = k->bytes, .len = k->len, .avail = k->len, .path = &qp->attr.path};
		struct vb_hdr hdr = {0};
		enum vb_verdict verdict = vb_hdr_parse(&hdr, rx.pkt, rx.avail, rx.len);

		VB_ASSERT(verdict == VB_VERDICT_OK);
		if (packet_pass(qp, &hdr, &rx, now, &verdict) == WAITS)
			return;
		if (mig->cnt) /* or it has failed, and they are gone */
			kept_drop(mig);
	}
}

/* Tells every HCA with a holder. A holder that was not told asks, see vb_xrc_probe(). */
static void tell_end(struct vb_xrc_migration *mig)
{
	for (uint32_t i = 0; i < VB_XRC_PEERS; i++) {
		if (!(mig->peers[i / 64] >> i % 64 & 1))
			continue;
		mig->peer = i;
		(void)vb_xrc_say(mig, VB_XRC_END, false, NULL);
	}
	memset(mig->peers, 0, sizeof mig->peers);
}

void vb_xrc_end_migration(struct vb_qp *qp)
{
	struct vb_xrc_migration *mig = qp->mig;

	if (!mig->is_holder)
		tell_end(mig);
	else if (mig->is_migrated)
		(void)vb_xrc_say(mig, VB_XRC_RETURN, true, NULL);
	mig->is_migrated = mig->recall = mig->sent = false;
	kept_drop_all(mig);
	vb_list_remove(&mig->link);
}

void vb_xrc_fail_migration(struct vb_qp *qp)
{
	if (qp->mig->is_holder)
		vb_xrc_later(qp->mig); /* a NAK leaves first */
	else
		vb_xrc_end_migration(qp);
}

/* The state is back. */
static void on_return(struct vb_xrc_migration *mig, const struct vb_xrc_msg *m, vb_time now)
{
	mig->is_migrated = mig->recall = mig->sent = false;
	for (uint32_t ev = 0; ev < 32; ev++) {
		if (m->events >> ev & (VB_XRC_EVENTS >> ev) & 1)
			vb_qp_raise(mig->qp, (enum vb_async)ev);
	}
	if (vb_xrc_state_take(mig->qp, vb_xrc_msg_state(m), m->state_len, now))
		on_loss(mig, now);
	else
		vb_xrc_owner_run(mig, now);
}

/* The other HCA can be no holder: the packet is carried out here, where it finds no SRQ. */
static void on_refusal(struct vb_xrc_migration *mig, const struct vb_xrc_msg *m, vb_time now)
{
	struct vb_qp *qp = mig->qp;
	struct vb_rx rx = vb_xrc_msg_packet(m, &qp->attr.path);
	struct vb_hdr hdr = {0};

	mig->is_migrated = mig->recall = mig->sent = false;
	if (vb_xrc_state_take(qp, vb_xrc_msg_state(m), m->state_len, now) ||
	    vb_hdr_parse(&hdr, rx.pkt, rx.avail, rx.len) != VB_VERDICT_OK ||
	    !(vb_hdr_opcode(&hdr)->flags & VB_OP_REQUEST) ||
	    (hdr.opcode & VB_TRANSPORT_MASK) != qp->ops->transport) {
		on_loss(mig, now);
		return;
	}
	(void)vb_resp_recv(qp, &hdr, &rx, now);
	vb_xrc_owner_run(mig, now);
}

void vb_xrc_owner_take(struct vb_hca *h, uint32_t peer, const struct vb_xrc_msg *m, vb_time now)
{
	struct vb_qp *qp = vb_qp_find(h, m->qpn);
	struct vb_xrc_migration *mig = qp ? qp->mig : NULL;

	bool knows = mig && !mig->is_holder && (mig->peers[peer / 64] >> peer % 64 & 1);
	bool is_away = knows && mig->is_migrated && mig->peer == peer && mig->serial == m->serial;

	if (m->kind == VB_XRC_HAVE) {
		if (m->is_migrated ? !is_away : !knows)
			vb_xrc_answer(h, peer, m, VB_XRC_END, false);
		return;
	}
	if (!is_away)
		return;
	if (m->kind == VB_XRC_RETURN)
		on_return(mig, m, now);
	else if (m->kind == VB_XRC_REFUSE)
		on_refusal(mig, m, now);
	else if (m->kind == VB_XRC_GONE)
		on_loss(mig, now);
}

void vb_xrc_owner_probe(struct vb_xrc_migration *mig, vb_time now)
{
	int err = vb_xrc_say(mig, VB_XRC_CHECK, false, NULL);

	if (err && err != -EAGAIN)
		on_loss(mig, now);
}
