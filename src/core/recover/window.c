/* SPDX-License-Identifier: BSD-2-Clause */
/* The in-flight window of a QP. See window.h. */
#include "core/recover/window.h"

#include "base/assert.h"
static uint32_t pkts_of(uint32_t bytes, uint32_t otherwise, uint32_t mtu)
{
	uint32_t pkts = (bytes ? bytes : otherwise) / mtu;

	return pkts ? pkts : 1;
}

static void window_update(struct vb_window *w)
{
	VB_ASSERT_ALL(w->ramp == 0 || w->ramp < w->ramp_end);
	w->pkts = w->ramp && (!w->bound || w->ramp < w->bound) ? w->ramp : w->bound;
	if (w->control && (!w->pkts || w->control < w->pkts))
		w->pkts = w->control;
	w->asks = w->every && w->every < w->pkts / 4 ? w->every : w->pkts / 4;
}

void vb_window_control(struct vb_window *w, uint32_t pkts, uint32_t every)
{
	if (w->control == pkts && w->every == every)
		return;
	w->control = pkts;
	w->every = every;
	window_update(w);
}

void vb_window_adopt(struct vb_window *w, const struct vb_rto_rules *rules, uint32_t mtu)
{
	const struct vb_recovery *set = &rules->set;

	w->epoch = rules->epoch;
	w->bound =
	    set->roce_tx_window_en ? pkts_of(set->tx_window_bytes, VB_TX_WINDOW_BYTES, mtu) : 0;
	if (!set->roce_slow_restart_en)
		w->ramp = 0;
	window_update(w);
}

void vb_window_reset(struct vb_window *w, const struct vb_rto_rules *rules, uint32_t mtu,
		     struct vb_psn una, vb_time now)
{
	*w = (struct vb_window){.asked = una, .idle_since = now};
	vb_window_adopt(w, rules, mtu);
}

bool vb_window_ramp(struct vb_window *w, const struct vb_rto_rules *rules, uint32_t mtu,
		    uint32_t pkts)
{
	uint32_t first = pkts_of(rules->set.slow_restart_bytes, VB_SLOW_RESTART_BYTES, mtu);

	if (w->bound && pkts > w->bound)
		pkts = w->bound;
	if (pkts <= first)
		return false;
	w->ramp = first;
	w->ramp_end = pkts;
	window_update(w);
	return true;
}

bool vb_window_after_idle(struct vb_window *w, const struct vb_rto_rules *rules, uint32_t mtu,
			  vb_time now)
{
	const struct vb_recovery *set = &rules->set;
	vb_dur pause = set->idle_restart_ns ? set->idle_restart_ns : VB_IDLE_RESTART_NS;
	bool idle = w->idle_since != VB_NEVER && vb_time_since(w->idle_since, now) >= pause;

	w->idle_since = VB_NEVER;
	return set->roce_slow_restart_idle_en && idle &&
	       vb_window_ramp(w, rules, mtu,
			      pkts_of(set->tx_window_bytes, VB_TX_WINDOW_BYTES, mtu));
}

bool vb_window_grow(struct vb_window *w, uint32_t pkts)
{
	if (!w->ramp)
		return false;
	w->ramp += pkts;
	if (w->ramp >= w->ramp_end)
		w->ramp = 0;
	window_update(w);
	return w->ramp == 0;
}
