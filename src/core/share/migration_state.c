/* SPDX-License-Identifier: BSD-2-Clause */
/* A responder as it travels between HCAs, see migration.h. */
#include "core/rc/rc.h"
#include "core/share/migration.h"

#include <errno.h>

size_t vb_xrc_state_size(const struct vb_qp *qp)
{
	return sizeof(struct vb_xrc_state) + qp->resp.res_cnt * sizeof(struct vb_xrc_resource);
}

void vb_xrc_state_put(struct vb_qp *qp, struct vb_xrc_state *to)
{
	struct vb_responder *resp = &qp->resp;

	*to = (struct vb_xrc_state){
	    .attr = qp->attr,
	    .va = resp->va,
	    .left = resp->left,
	    .rcvd = resp->rcvd,
	    .state = qp->state == VB_QPS_ERR ? VB_QPS_ERR : VB_QPS_RTR,
	    .epsn = resp->epsn.v,
	    .msn = resp->msn,
	    .msg = resp->msg,
	    .rkey = resp->rkey,
	    .srqn = resp->srqn,
	    .resp_state = resp->state,
	    .ack_due = resp->ack_due,
	    .nak_syndrome = resp->nak_syndrome,
	    .ack_psn = resp->ack_psn.v,
	    .dropped = resp->dropped.v,
	    .res_cnt = resp->res_cnt,
	};
	to->attr.path_mtu = (enum vb_mtu)(__builtin_ctz(qp->mtu) - 7);
	for (uint32_t i = 0; i < resp->res_cnt; i++) {
		const struct vb_resource *r =
		    &resp->res[(resp->res_tail + resp->res_cap - resp->res_cnt + i) %
			       resp->res_cap];

		to->res[i] = (struct vb_xrc_resource){.va = r->va,
						      .orig = r->orig,
						      .first = r->first.v,
						      .pkts = r->pkts,
						      .rkey = r->rkey,
						      .len = r->len,
						      .msn = r->msn,
						      .srqn = r->srqn,
						      .kind = r->kind};
	}
}

static bool resource_is_sound(const struct vb_xrc_resource *r, uint32_t mtu)
{
	uint64_t pkts = r->len <= mtu ? 1 : ((uint64_t)r->len + mtu - 1) / mtu;

	return r->first <= VB_PSN_MASK && r->kind < VB_RESOURCE_KINDS &&
	       r->pkts == (r->kind == VB_RESOURCE_READ ? pkts : 1);
}

static bool state_is_sound(const struct vb_qp *qp, const struct vb_xrc_state *s, size_t len)
{
	if (len < sizeof *s || s->res_cnt > qp->resp.res_cap ||
	    len != sizeof *s + s->res_cnt * sizeof s->res[0])
		return false;
	if ((s->state != VB_QPS_RTR && s->state != VB_QPS_ERR) || s->epsn > VB_PSN_MASK ||
	    s->msg > VB_MSG_WRITE || s->resp_state >= VB_RESP_STATES ||
	    (s->state == VB_QPS_RTR && s->resp_state >= VB_RESP_FAILS) ||
	    s->nak_syndrome > UINT8_MAX || s->ack_psn > VB_PSN_MASK || s->dropped > VB_PSN_MASK)
		return false;
	for (uint32_t i = 0; i < s->res_cnt; i++) {
		if (!resource_is_sound(&s->res[i], qp->mtu))
			return false;
	}
	return true;
}

static void take_resources(struct vb_responder *resp, const struct vb_xrc_state *from)
{
	for (uint32_t i = 0; i < from->res_cnt; i++) {
		const struct vb_xrc_resource *r = &from->res[i];

		resp->res[i] = (struct vb_resource){.first = vb_psn(r->first),
						    .pkts = r->pkts,
						    .va = r->va,
						    .orig = r->orig,
						    .rkey = r->rkey,
						    .len = r->len,
						    .msn = r->msn,
						    .srqn = r->srqn,
						    .kind = (enum vb_resource_kind)r->kind,
						    .state = VB_RESOURCE_ANSWERED};
	}
	resp->res_cnt = from->res_cnt;
	resp->res_tail = resp->res_cap ? from->res_cnt % resp->res_cap : 0;
	resp->res_pending = 0;
}

int vb_xrc_state_take(struct vb_qp *qp, const struct vb_xrc_state *from, size_t len, vb_time now)
{
	struct vb_responder *resp = &qp->resp;

	if (!state_is_sound(qp, from, len))
		return -EPROTO;
	resp->epsn = vb_psn(from->epsn);
	resp->msn = from->msn & VB_PSN_MASK;
	resp->msg = (enum vb_msg_kind)from->msg;
	resp->va = from->va;
	resp->left = from->left;
	resp->rcvd = from->rcvd;
	resp->rkey = from->rkey;
	resp->srqn = from->srqn;
	resp->state = (enum vb_resp_state)from->resp_state;
	resp->ack_due = from->ack_due != 0;
	resp->nak_syndrome = (uint8_t)from->nak_syndrome;
	resp->ack_psn = vb_psn(from->ack_psn);
	resp->dropped = vb_psn(from->dropped);
	take_resources(resp, from);
	/* The receive WQE of a message stays with the process that took it, until the state comes
	 * back there. Where it should be and is not, its SRQ has gone: no SRQ goes on with this
	 * message. */
	if (resp->msg == VB_MSG_SEND && !resp->rwqe_held &&
	    (resp->srqn - qp->hca->cfg.qpn_base) % qp->hca->cfg.qpn_stride == 0)
		resp->srqn = 0;
	if (from->state == VB_QPS_ERR) {
		vb_resp_nak_done(resp); /* who has failed says so */
		vb_qp_enter_err(qp, now);
	} else if (resp->ack_due || vb_resp_owes_nak(resp)) {
		vb_sched_activate(qp);
	}
	return 0;
}
