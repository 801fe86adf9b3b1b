/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The target of XRC as a row of differences from RC: the other half of it, whose responder may be
 * away at another HCA. IBA A14; IBT-22
 */
#include "core/cc/point.h"
#include "core/rc/rc.h"
#include "core/share/migration.h"
#include "core/share/open.h"

static enum vb_verdict target_recv(struct vb_qp *qp, const struct vb_hdr *hdr,
				   const struct vb_rx *rx, vb_time now)
{
	if (!(vb_hdr_opcode(hdr)->flags & VB_OP_REQUEST))
		return VB_VERDICT_UNEXPECTED;
	return qp->xrcd->name.ino ? vb_xrc_recv(qp, hdr, rx, now) : vb_resp_recv(qp, hdr, rx, now);
}

static enum vb_verdict target_cnp(struct vb_qp *qp, const struct vb_hdr *hdr,
				  const struct vb_rx *rx, vb_time now)
{
	if (qp->mig && vb_xrc_is_away(qp))
		return vb_xrc_recv(qp, hdr, rx, now);
	return vb_cc_take_cnp(qp, rx->path, now);
}

static void target_leave(struct vb_qp *qp)
{
	if (qp->mig)
		vb_xrc_end_migration(qp);
}

static void target_reset(struct vb_qp *qp, vb_time now)
{
	(void)now;
	vb_xrc_let_go(qp);
}

static void target_fail(struct vb_qp *qp, vb_time now)
{
	(void)now;
	if (qp->mig)
		vb_xrc_fail_migration(qp);
}

/* A holder answers by the path, and with the MigReq, that it got with the state: that has to come
 * back before it answers anything else. */
static void target_moved(struct vb_qp *qp, bool path, vb_time now)
{
	(void)path, (void)now;
	if (qp->mig && vb_xrc_is_away(qp))
		qp->mig->recall = true;
}

/* Others hear of it as well. False: nobody here has the QP. */
static bool note_event(struct vb_qp *qp, enum vb_async ev)
{
	struct vb_xrc_migration *holder = vb_xrc_is_holder(qp) ? qp->mig : NULL;

	if (holder)
		holder->events |= 1u << ev;
	if (qp->openers)
		vb_xrc_tell_openers(qp, ev);
	return !holder && !vb_xrc_is_orphan(qp);
}

const struct vb_transport_ops vb_xrc_tgt_ops = {
    .transport = VB_TRANSPORT_XRC,
    .is_acked = true,
    .is_connected = true,
    .takes_srqs = true,
    .select = vb_xrc_select,
    .recv = target_recv,
    .transmit = vb_rc_transmit,
    .on_timer = vb_req_on_timer,
    .on_sqd = vb_req_complete_local,
    .leave = target_leave,
    .reset = target_reset,
    .fail = target_fail,
    .moved = target_moved,
    .outlives = vb_xrc_outlives,
    .gone = vb_xrcd_shrink,
    .raise = note_event,
    .on_cnp = target_cnp,
    .pd_of = vb_xrc_pd,
};
