/* SPDX-License-Identifier: BSD-2-Clause */
/* Histories of QPs, see qp_history.h. Pure: it sits in the engine's event callback. */
#include "explain/history/qp_history.h"

#include "base/slot.h"
#include "core/denial.h"
#include "wire/hdr.h"

#include <string.h>

/* A NAK after which the QP that sends or receives it is done with. */
static bool is_fatal_nak(uint64_t syndrome)
{
	return (syndrome & VB_SYNDROME_CLASS) == VB_SYNDROME_NAK && syndrome != VB_NAK_PSN_SEQ;
}

bool vb_qp_history_begins(const struct vb_trace_event *ev)
{
	switch (ev->id) {
	case VB_TRACE_TIMER_FIRED:
	case VB_TRACE_REWOUND:
	case VB_TRACE_NAK_RECEIVED:
	case VB_TRACE_MISSING:
	case VB_TRACE_NAK_SENT:
	case VB_TRACE_REFUSED:
	case VB_TRACE_RETRY_ENDED:
	case VB_TRACE_FAILED:
	case VB_TRACE_MIGRATED:
		return true;
	default:
		return false;
	}
}

static void count_event(struct vb_qp_history *t, const struct vb_trace_event *ev)
{
	switch (ev->id) {
	case VB_TRACE_TIMER_FIRED:
		t->timeouts++;
		break;
	case VB_TRACE_REWOUND:
		t->naks += ev->arg[2] == VB_REWIND_NAK;
		t->implied_naks += ev->arg[2] == VB_REWIND_IMPLIED_NAK;
		break;
	case VB_TRACE_NAK_RECEIVED:
		t->rnr_naks += (ev->arg[0] & VB_SYNDROME_CLASS) == VB_SYNDROME_RNR;
		break;
	case VB_TRACE_NAK_SENT:
		t->rnr_sent += (ev->arg[0] & VB_SYNDROME_CLASS) == VB_SYNDROME_RNR;
		break;
	case VB_TRACE_RECOVERED:
		t->recovered++;
		break;
	default:
		break;
	}
}

static void judge_event(struct vb_qp_history *t, const struct vb_trace_event *ev)
{
	switch (ev->id) {
	case VB_TRACE_RETRY_ENDED:
	case VB_TRACE_FAILED:
		t->state = VB_QP_HISTORY_FAILED;
		break;
	case VB_TRACE_NAK_SENT:
		if (is_fatal_nak(ev->arg[0]))
			t->state = VB_QP_HISTORY_FAILED;
		else if (t->state == VB_QP_HISTORY_NONE)
			t->state = VB_QP_HISTORY_RECOVERED; /* the peer's trouble, not this QP's */
		break;
	case VB_TRACE_REFUSED:
		if (vb_denial_read(ev).is_fatal)
			t->state = VB_QP_HISTORY_FAILED;
		else if (t->state == VB_QP_HISTORY_NONE)
			t->state = VB_QP_HISTORY_RECOVERED;
		break;
	case VB_TRACE_RECOVERED:
		t->state = VB_QP_HISTORY_RECOVERED;
		break;
	case VB_TRACE_QP_STATE:
		t->is_gone |= ev->arg[1] == VB_QPS_RESET;
		break;
	case VB_TRACE_TIMER_FIRED:
	case VB_TRACE_REWOUND:
		t->state = VB_QP_HISTORY_OPEN;
		break;
	default:
		/* A packet reported missing is sent again without going back: no danger. */
		if (t->state == VB_QP_HISTORY_NONE)
			t->state = VB_QP_HISTORY_RECOVERED;
		break;
	}
}

void vb_qp_history_add(struct vb_qp_history *t, const struct vb_trace_event *ev,
		       const struct vb_qp_view *view)
{
	bool begins = vb_qp_history_begins(ev);

	/* A number that is used again is that of a new QP, which has a life of its own. */
	if (t->is_gone && !begins)
		return;
	if (t->is_gone)
		memset(t, 0, sizeof *t);
	/* A NAK and what it leads to are of one instant. */
	if (t->state == VB_QP_HISTORY_NONE ||
	    (t->state == VB_QP_HISTORY_RECOVERED && begins && ev->time != t->at)) {
		t->cnt = 0;
		t->begun = ev->time;
		t->qpn = ev->qpn;
	}
	count_event(t, ev);
	judge_event(t, ev);
	t->at = ev->time;
	if (t->cnt < VB_QP_HISTORY_FIRST)
		t->first[t->cnt] = *ev;
	else
		t->last[(t->cnt - VB_QP_HISTORY_FIRST) % VB_QP_HISTORY_LAST] = *ev;
	if (t->cnt < UINT32_MAX)
		t->cnt++;
	/* The QP's view at the failure tells what failed: its queues are flushed right after. */
	if (view && !(t->state == VB_QP_HISTORY_FAILED && ev->id == VB_TRACE_QP_STATE))
		t->view = *view;
}

uint32_t vb_qp_history_left_out(const struct vb_qp_history *t)
{
	return t->cnt > VB_QP_HISTORY_FIRST + VB_QP_HISTORY_LAST
		   ? t->cnt - VB_QP_HISTORY_FIRST - VB_QP_HISTORY_LAST
		   : 0;
}

uint32_t vb_qp_history_kept(const struct vb_qp_history *t)
{
	return t->cnt - vb_qp_history_left_out(t);
}

const struct vb_trace_event *vb_qp_history_event(const struct vb_qp_history *t, uint32_t i)
{
	if (i < VB_QP_HISTORY_FIRST)
		return &t->first[i];
	return &t->last[(i - VB_QP_HISTORY_FIRST + vb_qp_history_left_out(t)) % VB_QP_HISTORY_LAST];
}

/* Without looking at it as a bool. */
static void heal_bool(bool *b)
{
	uint8_t byte;

	memcpy(&byte, b, sizeof byte);
	*b = byte != 0;
}

void vb_view_heal(struct vb_qp_view *v)
{
	bool *const flag[] = {
	    &v->is_queued,
	    &v->is_rnr_wait,
	    &v->is_recovering,
	    &v->is_acked_once,
	    &v->is_srq,
	    &v->credit_limited,
	    &v->owes_responses,
	    &v->cq_overrun,
	    &v->is_ramping,
	    &v->is_selective,
	    &v->is_draining,
	    &v->rto.adaptive,
	    &v->rto.dec_waits,
	    &v->set.roce_adp_retrans_en,
	    &v->set.roce_tx_window_en,
	    &v->set.roce_slow_restart_en,
	    &v->set.roce_slow_restart_idle_en,
	    &v->set.min_ack_timeout_limit_disabled,
	    &v->set.selective_repeat_forced_en,
	    &v->set.adaptive_routing_forced_en,
	    &v->set.dc_half_handshake_en,
	    &v->set.ack_dscp_force,
	    &v->set.adp_dec_per_flight,
	    &v->set.profile.qp_total_timeout,
	};

	for (size_t i = 0; i < sizeof flag / sizeof flag[0]; i++)
		heal_bool(flag[i]);
	if ((unsigned)v->attr.path_mtu > VB_MTU_4096)
		v->attr.path_mtu = VB_MTU_256;
}

static bool is_used(const struct vb_qp_histories *s, uint32_t i)
{
	return s->used[i / 64] >> i % 64 & 1;
}

static uint32_t set_of(uint32_t qpn)
{
	return vb_slot_qpn_index(qpn) % (VB_QP_HISTORIES / VB_QP_HISTORY_WAYS) * VB_QP_HISTORY_WAYS;
}

const struct vb_qp_history *vb_qp_histories_at(const struct vb_qp_histories *s, uint32_t i)
{
	return is_used(s, i) ? &s->history[i] : NULL;
}

struct vb_qp_history *vb_qp_histories_find(struct vb_qp_histories *s, uint32_t qpn)
{
	uint32_t first = set_of(qpn);

	for (uint32_t i = first; i < first + VB_QP_HISTORY_WAYS; i++)
		if (is_used(s, i) && s->history[i].state != VB_QP_HISTORY_NONE &&
		    s->history[i].qpn == qpn)
			return &s->history[i];
	return NULL;
}

struct vb_qp_history *vb_qp_histories_new(struct vb_qp_histories *s, uint32_t qpn)
{
	uint32_t first = set_of(qpn), least = first;

	for (uint32_t i = first; i < first + VB_QP_HISTORY_WAYS; i++) {
		const struct vb_qp_history *t = &s->history[i], *l = &s->history[least];

		if (!is_used(s, i)) {
			s->used[i / 64] |= UINT64_C(1) << i % 64;
			return &s->history[i];
		}
		if (t->state < l->state || (t->state == l->state && t->at < l->at))
			least = i;
	}
	s->lost += s->history[least].state != VB_QP_HISTORY_NONE;
	memset(&s->history[least], 0, sizeof s->history[least]);
	return &s->history[least];
}
