/* SPDX-License-Identifier: BSD-2-Clause */
/* Congestion control at a QP, and the settings of ports. See point.h. */
#include "core/cc/point.h"

#include "base/assert.h"
#include "core/cc/dfx.h"
#include "core/dc/dc.h"
#include "core/rc/rc.h"
#include "core/sched/sched.h"

#include <errno.h>

static const struct vb_cc_settings *qp_settings(const struct vb_qp *qp)
{
	return &qp->hca->port[qp->attr.port].cc;
}

static struct vb_path with_class(const struct vb_qp *qp, uint8_t traffic_class)
{
	struct vb_path path = qp->attr.path;

	path.traffic_class = traffic_class;
	return path;
}

/* It sends data and gets to know when that is too fast: a context of a DC target, whose READ
 * responses nobody answers for, does not. */
static bool is_paced(const struct vb_qp *qp)
{
	return qp->dci || (qp->ops->is_connected && !qp->parent);
}

/*
 * Adaptive routing: requests leave by several UDP source ports in turn, a run of PSNs by each, so
 * that a network which chooses ways by the ports of a packet chooses one for each run. Which port
 * is a matter of the PSN alone: what is sent again goes the way it went. REG-07
 */
static void refresh_spread(struct vb_qp *qp)
{
	const struct vb_path *base = qp->cc.ect ? &qp->cc.data_path : &qp->attr.path;

	for (unsigned i = 0; qp->cc.spread && i < VB_SPREAD_PATHS; i++) {
		qp->cc.spread[i] = *base;
		/* RoCEv2 has its source ports from 0xc000 on. */
		qp->cc.spread[i].udp_sport =
		    (uint16_t)(0xc000 | ((base->udp_sport + i * VB_SPREAD_STEP) & 0x3fff));
	}
}

void vb_cc_spread(struct vb_qp *qp)
{
	bool wanted = vb_qp_rules(qp)->set.adaptive_routing_forced_en && qp->ops->is_connected &&
		      !qp->parent && qp->attr.path.udp_sport >= 0xc000;

	VB_ASSERT_ALL(!qp->cc.spread); /* the QP comes from RESET, where it has none */
	/* Without memory it goes one way, as others do. */
	if (wanted)
		qp->cc.spread = vb_alloc(qp->hca, VB_SPREAD_PATHS * sizeof *qp->cc.spread);
	refresh_spread(qp);
}

static bool settings_act(const struct vb_cc_settings *set)
{
	return set->dcqcn_hw_en || set->tx_wqe_ost_limit_en || vb_cc_limits(set);
}

bool vb_cc_has_rate(const struct vb_qp *qp)
{
	return (settings_act(qp_settings(qp)) && is_paced(qp)) || qp->cc.sq_arb_mask;
}

void vb_cc_refresh(struct vb_qp *qp)
{
	const struct vb_cc_settings *set = qp_settings(qp);
	bool acts = settings_act(set);
	uint8_t dscp = qp->attr.path.traffic_class & ~VB_ECN_MASK;

	vb_cct_refresh(qp);
	qp->cc.on =
	    (acts && is_paced(qp)) || qp->cc.sq_arb_mask || qp->cc.cct.on || qp->cc.flow != NULL;
	qp->cc.ect = (set->ecn_en && is_paced(qp)) || vb_flow_is_marked(qp);
	qp->cc.data_path = with_class(qp, dscp | VB_ECN_ECT0);
	/* As adapters send it: a queue that drops what it may not mark shall not drop CNPs. */
	qp->cc.cnp_path = with_class(qp, (uint8_t)(set->np_cnp_dscp << 2 | VB_ECN_ECT0));
	refresh_spread(qp);
}

void vb_cc_start(struct vb_qp *qp, vb_time now)
{
	vb_cc_reset(&qp->cc.ctl, qp_settings(qp), now);
	if (is_paced(qp))
		vb_flow_start(qp, now);
	qp->cc.cnp_due = 0;
	qp->cc.cnp_at = 0;
	vb_cc_refresh(qp);
}

static bool state_runs(enum vb_qp_state s)
{
	return s == VB_QPS_RTR || s == VB_QPS_RTS || s == VB_QPS_SQD;
}

int vb_hca_set_port_cc(struct vb_hca *h, uint8_t port, const struct vb_cc_settings *set,
		       vb_time now)
{
	struct vb_cc_settings from;

	if (port < 1 || port > h->cfg.port_cap || vb_cc_settings_check(set, NULL))
		return -EINVAL;
	from = h->port[port].cc;
	h->port[port].cc = *set;
	for (uint32_t i = 0; i < h->qp_cap; i++) {
		struct vb_qp *qp = h->qp[i], *channel;

		if (!qp || qp->attr.port != port || !state_runs(qp->state))
			continue;
		for (uint32_t k = 0; (channel = vb_qp_channel(qp, k)); k++) {
			vb_cc_adopt(&channel->cc.ctl, &from, set, now);
			vb_cc_refresh(channel);
			vb_sched_activate(channel); /* what held it back may be gone */
		}
	}
	return 0;
}

/* A QP, or a context of a target of DC. */
static void part_follow(struct vb_qp *qp)
{
	if (qp->state < VB_QPS_RTR)
		return;
	vb_cc_refresh(qp);
	if (state_runs(qp->state))
		vb_sched_activate(qp); /* what held it back may be gone */
}

static void qp_follow(struct vb_qp *qp, uint8_t port)
{
	struct vb_qp *channel;

	if (!qp || qp->attr.port != port)
		return;
	for (uint32_t i = 0; (channel = vb_qp_channel(qp, i)); i++)
		part_follow(channel);
	for (uint32_t i = 0; qp->dct && i <= VB_DCT_CONTEXTS; i++)
		part_follow(qp->dct->context[i]);
}

int vb_hca_set_port_cct(struct vb_hca *h, uint8_t port, const struct vb_cct_rules *rules)
{
	if (port < 1 || port > h->cfg.port_cap || (rules && vb_cct_check(rules)))
		return -EINVAL;
	if (rules && !h->port[port].cct) {
		h->port[port].cct = vb_alloc(h, sizeof *h->port[port].cct);
		if (!h->port[port].cct)
			return -ENOMEM;
	}
	if (rules) {
		h->port[port].cct->rules = *rules;
	} else {
		vb_free(h, h->port[port].cct);
		h->port[port].cct = NULL;
	}
	for (uint32_t i = 0; i < h->qp_cap; i++)
		qp_follow(h->qp[i], port);
	qp_follow(h->port[port].gsi, port);
	return 0;
}

int vb_hca_set_port_choice(struct vb_hca *h, uint8_t port, const struct vb_cc_choice *choice)
{
	if (port < 1 || port > h->cfg.port_cap ||
	    (choice && (!choice->line_rate || vb_cc_algorithm_check(choice->algorithm))))
		return -EINVAL;
	h->port[port].choice = choice;
	return 0;
}

const struct vb_cc_settings *vb_hca_cc(const struct vb_hca *h, uint8_t port)
{
	return &h->port[port].cc;
}

void vb_qp_set_sq_arb_mask(struct vb_qp *qp, bool masked)
{
	struct vb_qp *channel;

	for (uint32_t i = 0; (channel = vb_qp_channel(qp, i)); i++) {
		channel->cc.sq_arb_mask = masked;
		vb_cc_refresh(channel);
		if (!masked && channel->state != VB_QPS_RESET)
			vb_sched_activate(channel);
	}
}

const struct vb_cc *vb_qp_cc(struct vb_qp *qp, vb_time now)
{
	vb_cc_on_time(&qp->cc.ctl, qp_settings(qp), now);
	return &qp->cc.ctl;
}

void vb_qp_set_cc_rate(struct vb_qp *qp, uint16_t units, vb_time now)
{
	struct vb_qp *channel;

	for (uint32_t i = 0; (channel = vb_qp_channel(qp, i)); i++) {
		vb_cc_set_rate(&channel->cc.ctl, qp_settings(channel), units, now);
		if (channel->state != VB_QPS_RESET)
			vb_sched_activate(channel);
	}
}

void vb_qp_cc_open(struct vb_qp *qp, struct vb_cc_access *to)
{
	*to = (struct vb_cc_access){
	    .ctl = &qp->cc.ctl,
	    .set = qp_settings(qp),
	    .qpn = qp->qpn,
	    .state = qp->state,
	    .runs = state_runs(qp->state),
	    .sq_arb_mask = qp->cc.sq_arb_mask,
	    .extended_retry_count = qp->rto.attr_extended,
	};
}

void vb_qp_cc_close(struct vb_qp *qp, const struct vb_cc_access *from)
{
	struct vb_qp *channel;

	vb_qp_set_sq_arb_mask(qp, from->sq_arb_mask);
	for (uint32_t i = 0; (channel = vb_qp_channel(qp, i)); i++)
		vb_rto_set_extended(&channel->rto, vb_qp_rules(channel),
				    from->extended_retry_count);
	if (qp->state != VB_QPS_RESET)
		vb_sched_activate(qp);
}

int vb_qp_cc_make_recorder(struct vb_qp *qp)
{
	struct vb_cc *cc = &qp->cc.ctl;

	if (!cc->dfx)
		cc->dfx = vb_alloc(qp->hca, sizeof *cc->dfx);
	return cc->dfx ? 0 : -ENOMEM;
}

/* One timer for all that time ends; too early is harmless. */
static void look_again(struct vb_qp *qp, vb_time at)
{
	if (at < qp->timer[VB_TIMER_PACE])
		vb_timer_set(qp, VB_TIMER_PACE, at);
}

static bool is_waiting(struct vb_qp *qp, vb_time now)
{
	vb_time at = vb_cc_send_at(&qp->cc.ctl, qp_settings(qp), now);

	if (at <= now)
		return false;
	look_again(qp, at);
	return true;
}

/* The index of the QP holds the next packet back. FAB-47 */
static bool is_delayed(struct vb_qp *qp, vb_time now)
{
	vb_time at = vb_cct_send_at(&qp->cc.cct);

	if (at <= now)
		return false;
	look_again(qp, vb_time_after(at, vb_cct_wait(qp)));
	return true;
}

bool vb_cc_is_early(struct vb_qp *qp, vb_time now)
{
	if (qp->cc.cct.on && is_delayed(qp, now))
		return true;
	return !vb_cc_is_paid(&qp->cc.ctl, now) && is_waiting(qp, now);
}

void vb_cc_begins(struct vb_qp *qp, vb_time now)
{
	vb_cc_on_flow(&qp->cc.ctl, qp_settings(qp), now);
}

static bool is_window_full(const struct vb_qp *qp)
{
	uint8_t window = qp->cc.ctl.window;

	return window && qp->ops->is_acked && qp->sq.nxt - qp->sq.head >= window;
}

bool vb_cc_holds(struct vb_qp *qp, const struct vb_swqe *w, vb_time now)
{
	struct vb_requester *req = &qp->req;
	struct vb_cc *cc = &qp->cc.ctl;

	/* The mask and the window stop a WQE that was not begun. CC-05, CC-47 */
	if (w && vb_psn_eq(req->psn_nxt, w->first) && vb_psn_eq(req->psn_nxt, req->psn_max)) {
		if (vb_psn_eq(req->psn_una, req->psn_nxt))
			vb_cc_begins(qp, now);
		if (qp->cc.sq_arb_mask) {
			req->block = VB_BLOCK_MASK;
			return true;
		}
		if (is_window_full(qp)) {
			vb_cc_on_time(cc, qp_settings(qp), now);
			if (is_window_full(qp)) {
				req->block = VB_BLOCK_OST;
				look_again(qp, vb_cc_window_at(cc));
				return true;
			}
		}
	}
	if (!vb_cc_is_early(qp, now) && !(qp->cc.flow && vb_flow_is_early(qp, now)))
		return false;
	req->block = VB_BLOCK_RATE;
	return true;
}

bool vb_cc_asks(const struct vb_qp *qp)
{
	const struct vb_cc_settings *set = qp_settings(qp);
	uint32_t apart = qp->ack_every * (qp->mtu + VB_HDR_MAX); /* of two that ask */

	if (qp->cc.cct.on && vb_cct_asks(qp))
		return true;
	if (qp->cc.flow && vb_control_exceeds(qp->cc.flow, apart, qp->rto.timeout / 4))
		return true;
	return vb_cc_limits(set) &&
	       vb_limiter_exceeds(&qp->cc.ctl, set, apart, qp->rto.timeout / 4);
}

void vb_cc_sent(struct vb_qp *qp, const struct vb_tx *tx, vb_time now)
{
	if (qp->cc.cct.on)
		vb_cct_sent(qp, tx, now);
	vb_cc_on_sent(&qp->cc.ctl, qp_settings(qp), vb_tx_wire_len(tx), now);
}

enum vb_verdict vb_cc_take_cnp(struct vb_qp *qp, const struct vb_path *from, vb_time now)
{
	const struct vb_cc *cc = NULL;
	bool handled = false;
	struct vb_qp *channel;

	/* A CNP does not name the channel of an initiator: all channels that send there take it. */
	for (uint32_t i = 0; (channel = vb_qp_channel(qp, i)); i++) {
		if (qp->ops->is_with && !qp->ops->is_with(channel, from))
			continue;
		handled |= vb_cct_becn(channel, from, now);
		handled |= channel->cc.flow && vb_flow_cnp(channel, now);
		handled |=
		    is_paced(channel) && vb_cc_on_cnp(&channel->cc.ctl, qp_settings(channel), now);
		cc = &channel->cc.ctl;
	}
	if (!cc)
		return VB_VERDICT_SOURCE;
	if (qp_settings(qp)->cnp_irq_en)
		vb_event_raise_cnp(qp->hca, &qp->ev, qp->qpn, qp->attr.port);
	vb_qp_count(qp, handled ? VB_COUNTER_rp_cnp_handled : VB_COUNTER_rp_cnp_ignored);
	vb_qp_trace(qp, VB_TRACE_CNP_RECEIVED, now, cc->cc_rate, vb_cc_target_rate(cc),
		    vb_cc_alpha(cc), cc->window);
	return VB_VERDICT_OK;
}

/* The QP, or the channel of an initiator, that the packet is for; NULL: it is with nobody there. */
static struct vb_qp *part_for(struct vb_qp *qp, const struct vb_hdr *hdr,
			      const struct vb_path *from)
{
	struct vb_qp *channel = qp->dci ? vb_qp_channel(qp, hdr->dc.channel) : qp;

	return channel && (!qp->dci || qp->ops->is_with(channel, from)) ? channel : NULL;
}

/* QP @dqpn of a sender that is no peer is to be told. Of RoCE nobody is. */
static void mark_note(struct vb_qp *qp, const struct vb_path *from, uint32_t dqpn)
{
	if (!qp->cc.cct.notes)
		return;
	if (!vb_cct_note(qp, from, dqpn)) {
		vb_qp_count(qp, VB_COUNTER_np_marks_unanswered);
		return;
	}
	qp->cc.cnp_due++;
	vb_sched_activate_first(qp);
}

void vb_cc_take_mark(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_path *from,
		     vb_time now)
{
	const struct vb_cc_settings *set = qp_settings(qp);
	struct vb_qp *part = part_for(qp, hdr, from);
	bool by_lid = vb_path_has_lid(from);

	if (!part || (by_lid && qp->ops->transport == VB_TRANSPORT_UD))
		return;
	if (part->cc.flow && vb_flow_takes_mark(part, hdr))
		return;
	if (by_lid && hdr->becn)
		(void)vb_cct_becn(part, from, now);
	if ((by_lid && !hdr->fecn) || !set->np_en || now < qp->cc.cnp_at)
		return;
	if (!qp->ops->is_connected) {
		mark_note(qp, from, hdr->dc.sqpn);
		return;
	}
	if (set->np_min_cnp_us)
		qp->cc.cnp_at = vb_time_after(now, set->np_min_cnp_us * VB_USEC);
	qp->cc.cnp_due++;
	vb_sched_activate_first(qp);
}

void vb_cc_take_datagram(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_path *from,
			 vb_time now)
{
	/* Nobody answers what goes to many, and it slows nobody down. */
	if (hdr->dqpn == VB_QPN_MULTICAST)
		return;
	if (hdr->becn)
		(void)vb_cct_becn(qp, from, now);
	if (!hdr->fecn)
		return;
	vb_qp_count(qp, VB_COUNTER_np_ecn_marked_roce_packets);
	if (qp_settings(qp)->np_en)
		mark_note(qp, from, hdr->deth.sqpn);
}

/* facts B.3: BECN, no PSN, no AckReq, 16 zero bytes. Of InfiniBand it is the BTH alone. FAB-47 */
static void emit_cnp(struct vb_qp *qp, struct vb_tx_batch *b, vb_time now)
{
	const struct vb_cct_note *note = vb_cct_take_note(qp);
	struct vb_hdr hdr;
	struct vb_tx *tx = vb_tx_begin(b, qp, &hdr, 0, vb_psn(0));

	tx->path = note ? &note->path : &qp->cc.cnp_path;
	hdr.opcode = vb_path_has_lid(tx->path) ? VB_OPCODE_CNP_IB : VB_OPCODE_CNP;
	hdr.migrated = false;
	hdr.becn = true;
	if (note)
		hdr.dqpn = note->dqpn;
	vb_tx_finish(tx, &hdr);
	vb_qp_count(qp, VB_COUNTER_np_cnp_sent);
	vb_qp_trace(qp, VB_TRACE_PACKET_SENT, now, hdr.opcode, 0, 0, 0);
}

static void forget_cnps(struct vb_qp *qp)
{
	qp->cc.cnp_due = 0;
	if (qp->cc.cct.notes)
		qp->cc.cct.notes->cnt = 0;
}

bool vb_cc_send_cnps(struct vb_qp *qp, struct vb_tx_batch *b, uint32_t stop, vb_time now)
{
	if (!state_runs(qp->state))
		forget_cnps(qp);
	for (; qp->cc.cnp_due; qp->cc.cnp_due--) {
		if (!vb_tx_may_emit(qp, b, stop))
			return true;
		emit_cnp(qp, b, now);
	}
	return false;
}
