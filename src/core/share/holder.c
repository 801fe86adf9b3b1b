/* SPDX-License-Identifier: BSD-2-Clause */
/* The holder of a responder: a target QP that carries out what is for the SRQs of this HCA. See
 * migration.h. */
#include "core/cc/point.h"
#include "core/rc/rc.h"
#include "core/share/migration.h"

#include <errno.h>

/* The holder of the target, the first in its list from then on: packets come in GSO batches. */
static struct vb_xrc_migration *holder_find(struct vb_xrcd *x, uint32_t peer, uint32_t qpn)
{
	for (struct vb_list *l = x->targets.next; l != &x->targets; l = l->next) {
		struct vb_qp *qp = vb_container_of(l, struct vb_qp, target);

		if (!vb_xrc_is_holder(qp) || qp->mig->peer != peer || qp->mig->owner_qpn != qpn)
			continue;
		vb_list_remove(l);
		vb_list_append(x->targets.next, l);
		return qp->mig;
	}
	return NULL;
}

static struct vb_xrc_migration *holder_new(struct vb_xrcd *x, uint32_t peer, uint32_t qpn)
{
	struct vb_qp_init init = {.type = VB_QPT_XRC_TGT, .xrcd = x};
	struct vb_qp *qp;

	if (vb_qp_create(NULL, &init, &qp))
		return NULL;

	struct vb_xrc_migration *mig = vb_xrc_migration_new(qp);

	if (!mig) {
		(void)vb_qp_destroy(qp); /* nobody uses it */
		return NULL;
	}
	mig->is_holder = true;
	mig->peer = peer;
	mig->owner_qpn = qpn;
	return mig;
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

static int bring_up(struct vb_qp *qp, const struct vb_qp_attr *as, vb_time now)
{
	struct vb_qp_attr a = *as;
	int err;

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

/* Makes the QP what the owner's is. 0 or what vb_qp_modify() says. */
static int set_up(struct vb_qp *qp, const struct vb_qp_attr *as, vb_time now)
{
	int err = is_set_up(qp, as) ? 0 : bring_up(qp, as, now);

	/* MigReq of what it sends: the path that the owner migrates to comes with its next state.
	 */
	if (!err)
		qp->attr.path_mig_state = as->path_mig_state;
	return err;
}

static void carry_out(struct vb_xrc_migration *mig, const struct vb_xrc_msg *m, vb_time now)
{
	struct vb_qp *qp = mig->qp;
	struct vb_rx rx = vb_xrc_msg_packet(m, &qp->attr.path);
	struct vb_hdr hdr = {0};

	if (vb_hdr_parse(&hdr, rx.pkt, rx.avail, rx.len) != VB_VERDICT_OK ||
	    qp->state != VB_QPS_RTR)
		return;
	mig->is_busy = true;
	if (vb_opcode_is_cnp(hdr.opcode))
		(void)vb_cc_take_cnp(qp, rx.path, now);
	else if ((hdr.opcode & VB_TRANSPORT_MASK) == qp->ops->transport &&
		 (vb_hdr_opcode(&hdr)->flags & VB_OP_REQUEST))
		(void)vb_resp_recv(qp, &hdr, &rx, now);
}

/* Nothing is left of the target: a receive WQE that the holder holds completes with a flush. */
static void holder_end(struct vb_xrc_migration *mig, vb_time now)
{
	struct vb_qp *qp = mig->qp;

	mig->is_migrated = false;
	vb_resp_nak_done(&qp->resp);
	vb_qp_enter_err(qp, now);
	(void)vb_qp_destroy(qp); /* of multicast it knows nothing */
}

/* Returns the state when it was asked for, or has failed, and nothing is left to say; true while it
 * waits for that. */
bool vb_xrc_holder_run(struct vb_xrc_migration *mig, vb_time now)
{
	struct vb_qp *qp = mig->qp;
	bool failed = qp->state == VB_QPS_ERR;
	int err;

	if (!mig->is_migrated || !(failed || mig->recall))
		return false;
	if (failed ? vb_resp_owes_nak(&qp->resp) : vb_resp_owes(qp))
		return true;
	err = vb_xrc_say(mig, VB_XRC_RETURN, true, NULL);
	if (err == -EAGAIN)
		return true;
	mig->is_migrated = mig->recall = false;
	qp->resp.ack_due = false;
	vb_resp_nak_done(&qp->resp);
	if (err || failed)
		holder_end(mig, now);
	return false;
}

static void give_back(struct vb_xrc_migration *mig, vb_time now)
{
	mig->recall = true;
	if (vb_xrc_holder_run(mig, now))
		vb_xrc_later(mig);
}

/* A state that nothing is done with goes back: then nobody minds when this process is killed. */
void vb_xrc_holder_probe(struct vb_xrc_migration *mig, vb_time now)
{
	int err = vb_xrc_say(mig, VB_XRC_HAVE, false, NULL);

	if (err && err != -EAGAIN)
		holder_end(mig, now);
	else if (mig->is_migrated && !mig->is_busy)
		give_back(mig, now);
	else
		mig->is_busy = false;
}

void vb_xrc_give_back(struct vb_hca *h, vb_time now)
{
	for (uint32_t i = 0; i < h->qp_cap; i++) {
		struct vb_xrc_migration *mig = h->qp[i] ? h->qp[i]->mig : NULL;

		if (mig && mig->is_holder && mig->is_migrated)
			give_back(mig, now);
	}
}

static int on_migrate(struct vb_hca *h, uint32_t peer, const struct vb_xrc_msg *m, vb_time now)
{
	const struct vb_xrc_state *state = vb_xrc_msg_state(m);
	struct vb_xrcd *x = vb_xrcd_find(h, &m->name);
	struct vb_xrc_migration *mig = x ? holder_find(x, peer, m->qpn) : NULL;

	if (x && !mig)
		mig = holder_new(x, peer, m->qpn);
	if (!mig || m->state_len < sizeof *state || set_up(mig->qp, &state->attr, now)) {
		vb_xrc_answer(h, peer, m, VB_XRC_REFUSE, true);
		return 0;
	}
	mig->serial = m->serial;
	mig->recall = false;
	mig->events = 0;
	mig->is_migrated = true;
	if (state->state != VB_QPS_RTR || vb_xrc_state_take(mig->qp, state, m->state_len, now)) {
		holder_end(mig, now);
		vb_xrc_answer(h, peer, m, VB_XRC_GONE, false);
		return -EPROTO;
	}
	carry_out(mig, m, now);
	return 0;
}

int vb_xrc_holder_take(struct vb_hca *h, uint32_t peer, const struct vb_xrc_msg *m, vb_time now)
{
	struct vb_xrcd *x = vb_xrcd_find(h, &m->name);
	struct vb_xrc_migration *mig = x ? holder_find(x, peer, m->qpn) : NULL;

	if (m->kind == VB_XRC_MIGRATE)
		return on_migrate(h, peer, m, now);
	if (m->kind == VB_XRC_END) {
		if (mig)
			holder_end(mig, now);
		return 0;
	}
	if (!mig || !mig->is_migrated || mig->serial != m->serial) {
		vb_xrc_answer(h, peer, m, VB_XRC_GONE, false);
		return 0;
	}
	if (m->kind == VB_XRC_PACKET)
		carry_out(mig, m, now);
	if (m->kind == VB_XRC_RECALL)
		give_back(mig, now);
	return 0;
}
