/* SPDX-License-Identifier: BSD-2-Clause */
/* The windows of a run with switches apart. See window.h. */
#include "sim/window/window.h"

/* The ports of a switch are not in the cache: others have had their turns. */
static void switch_expect(const struct vb_sim *s, uint32_t number)
{
	const struct vb_switch *sw = &s->sw[number];

	for (uint32_t i = 0; i < sw->port_cnt; i++) {
		struct vb_port *p = sw->port[i];

		vb_port_expect(p);
		__builtin_prefetch(&vb_sim_port_peer_of(p)->busy_until);
	}
}

/* Runs switches while their next events come before @at. */
static void switches_run(struct vb_sim *s, vb_time at)
{
	struct vb_sim_apart *a = s->apart;

	while (vb_eventq_next(&a->next) < at && !s->pool.ran_out) {
		uint32_t number = vb_eventq_take(&a->next);
		struct vb_sim_turns *t = &a->turns[number];
		uint32_t behind = vb_eventq_ahead(&a->next, 0);

		if (behind != UINT32_MAX)
			switch_expect(s, behind);
		if (vb_turns_are_old(t, a->next.now))
			vb_sim_turns_renew(s, number);
		vb_sim_switch_run(s, number, vb_turn_key(t, 0, at));
		vb_sim_switch_line_up(s, number);
	}
}

void vb_sim_switches_catch_up(struct vb_sim *s)
{
	/* An event of all machines comes behind all ports at this instant. */
	switches_run(s, s->order >= vb_sim_turn_id(s) ? s->now + 1 : s->now);
}

void vb_sim_apart_end(struct vb_sim *s)
{
	if (!s->is_apart)
		return;
	vb_sim_switches_catch_up(s);
	s->is_apart = false;
	for (uint32_t i = 0; i < s->switch_cnt; i++)
		vb_eventq_set(&s->apart->next, i, VB_NEVER);
	for (uint32_t i = 0; i < s->port_cnt; i++)
		vb_eventq_set(&s->events, s->host_cnt + i, vb_port_poll_timeout(&s->port[i]));
}

vb_time vb_sim_events_next(const struct vb_sim *s)
{
	vb_time next = vb_eventq_next(&s->events);

	return s->is_apart ? vb_time_min(next, vb_eventq_next(&s->apart->next)) : next;
}

void vb_sim_window_run(struct vb_sim *s, vb_time end)
{
	end = vb_time_min(end, vb_time_after(vb_sim_events_next(s), s->apart->lookahead));
	while (vb_eventq_next(&s->events) < end) {
		if (s->pool.ran_out || !s->is_apart)
			return;
		if (s->stop) {
			vb_sim_switches_catch_up(s);
			return;
		}
		vb_sim_event_run(s);
	}
	if (s->is_apart)
		switches_run(s, end);
}
