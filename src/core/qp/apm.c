/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Automatic path migration, see apm.h. All that a packet of a QP without an alternate path pays for
 * it is one comparison. IBA 17.2.8
 */
#include "core/qp/apm.h"

#include "base/assert.h"
#include "core/qp/pkey.h"
#include "core/sched/pace.h"
#include "core/sched/peer.h"
#include "core/sched/sched.h"
#include "wire/pkey.h"

#include <string.h>

/* The packet has come from the peer by @own, in the partition of that. */
static bool packet_is_by(const struct vb_qp *qp, const struct vb_hdr *hdr,
			 const struct vb_path *from, const struct vb_path *own, uint16_t pkey_index)
{
	return from->port == own->port && vb_path_is_back(from, own) &&
	       vb_pkey_matches(hdr->pkey, qp->hca->cfg.port[own->port].pkey[pkey_index]);
}

/*
 * A peer that has migrated says so in every packet (MigReq 1). In REARM the peer may
 * not be armed again yet; then its packets come by the path. Where a packet comes by the other
 * path, the peer has seen this QP in REARM, and migrated before it said a word.
 */
bool vb_apm_take(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_path *from,
		 vb_time now)
{
	struct vb_qp_attr *a = &qp->attr;
	bool is_armed = a->path_mig_state == VB_MIG_ARMED;
	bool by_path = packet_is_by(qp, hdr, from, &a->path, a->pkey_index);

	if (vb_opcode_is_cnp(hdr->opcode)) /* its MigReq means nothing. facts B.3 */
		return true;
	if (!hdr->migrated) {
		if (by_path)
			a->path_mig_state = VB_MIG_ARMED;
		return true;
	}
	if (!is_armed && by_path)
		return true;
	if (packet_is_by(qp, hdr, from, &a->alt.path, a->alt.pkey_index)) {
		vb_apm_migrate(qp, VB_APM_PEER, now);
		return true;
	}
	/* A packet of another partition says nothing; the check of P_Keys counts it. */
	if (vb_qp_pkey_index(qp, hdr->pkey) < 0 &&
	    !vb_pkey_matches(hdr->pkey,
			     qp->hca->cfg.port[a->alt.path.port].pkey[a->alt.pkey_index]))
		return true;
	if (is_armed)
		vb_qp_raise(qp, VB_ASYNC_PATH_MIG_ERR);
	return false;
}

/* The alternate path becomes the path, so the consumer has to load another alternate path before
 * REARM. */
static void attr_move(struct vb_qp_attr *a)
{
	a->path = a->alt.path;
	memcpy(a->av, a->alt.av, sizeof a->av);
	a->path_kbps = a->alt.kbps;
	a->port = a->alt.path.port;
	a->pkey_index = a->alt.pkey_index;
	a->timeout = a->alt.timeout;
	a->path_mig_state = VB_MIG_MIGRATED;
	a->alt.is_loaded = false;
}

void vb_apm_migrate(struct vb_qp *qp, enum vb_apm_why why, vb_time now)
{
	struct vb_qp_attr *a = &qp->attr;

	VB_ASSERT(a->path_mig_state != VB_MIG_MIGRATED && a->alt.is_loaded);
	VB_ASSERT(qp->alt_peer || !qp->ops->is_acked);
	attr_move(a);
	vb_egress_find_home(qp->hca, &a->path);
	vb_pace_take_path(qp, a->path_kbps);
	if (qp->alt_peer)
		vb_peer_enter(qp, qp->alt_peer);
	qp->alt_peer = NULL;
	vb_rto_reset(&qp->rto, vb_qp_rules(qp), a->timeout, a->retry_cnt,
		     vb_rng_stream(qp->hca->cfg.seed, "adp", qp->qpn));
	vb_cc_refresh(qp);
	vb_qp_trace(qp, VB_TRACE_MIGRATED, now, a->port, a->path.slid, a->path.dlid, why);
	if (qp->ops->moved)
		qp->ops->moved(qp, true, now);
	vb_qp_raise(qp, VB_ASYNC_PATH_MIG);
	vb_sched_activate(qp);
}

void vb_apm_ask(struct vb_qp *qp, enum vb_mig_state to, vb_time now)
{
	if (to == qp->attr.path_mig_state)
		return;
	if (to == VB_MIG_MIGRATED) {
		vb_apm_migrate(qp, VB_APM_CONSUMER, now);
		return;
	}
	VB_ASSERT(to == VB_MIG_REARM && qp->attr.alt.is_loaded);
	qp->attr.path_mig_state = to;
	if (qp->ops->moved)
		qp->ops->moved(qp, false, now);
}

/* A QP is armed until RESET, also in ERR, where it has nowhere to go; a holder of core/share is as
 * its owner is, and has no path of its own. */
static bool qp_can_move(const struct vb_qp *qp)
{
	return qp->attr.path_mig_state == VB_MIG_ARMED && qp->attr.alt.is_loaded &&
	       (qp->state == VB_QPS_RTR || qp->state == VB_QPS_RTS || qp->state == VB_QPS_SQD);
}

void vb_hca_port_failed(struct vb_hca *h, uint8_t port, vb_time now)
{
	for (uint32_t i = 0; i < h->qp_cap; i++) {
		struct vb_qp *qp = h->qp[i];

		if (qp && qp->attr.port == port && qp_can_move(qp) &&
		    qp->attr.alt.path.port != port && !h->cfg.port[qp->attr.alt.path.port].is_down)
			vb_apm_migrate(qp, VB_APM_PORT, now);
	}
}
