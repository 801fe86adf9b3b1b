/* SPDX-License-Identifier: BSD-2-Clause */
/* Switches apart: their events, and when each has its next one. See window.h. */
#include "sim/window/window.h"

#include "base/assert.h"
#include "base/cold.h"

#include <errno.h>

/* The switch that gets the frames of port @p. */
static inline uint32_t switch_behind(const struct vb_sim *s, const struct vb_port *p)
{
	return s->switch_of[vb_sim_peer(p->id)];
}

static bool is_own_switch(const struct vb_sim *s, uint32_t number)
{
	return vb_sim_of_node((struct vb_sim *)s, s->host_cnt + number) == s;
}

/* Frames take so long at least on each cable; with faults, and where somebody looks at packets, the
 * order of events at different nodes matters. */
static vb_dur lookahead_find(const struct vb_sim *s)
{
	vb_dur least = VB_NEVER;

	if (s->ib || s->cfg.on_event || s->cfg.on_packet)
		return 0;
	for (uint32_t i = 0; i < s->port_cnt; i++) {
		const struct vb_port *p = &s->port[i];

		least = vb_time_min(least, vb_sim_cable_lookahead(p->cable.delay, p->rate_bps));
	}
	return least;
}

int vb_sim_apart_create(struct vb_sim *s)
{
	vb_dur lookahead = lookahead_find(s);
	size_t keys = 0;
	struct vb_sim_apart *a;

	if (s->switch_cnt == 0 || lookahead == 0)
		return 0;
	a = vb_sim_alloc(s, sizeof *a);
	if (!a)
		return -ENOMEM;
	s->apart = a;
	a->lookahead = vb_time_min(lookahead, VB_TURN_FAR / 4);
	for (uint32_t i = 0; i < s->switch_cnt; i++)
		keys += is_own_switch(s, i) ? 4 * (size_t)s->sw[i].port_cnt : 0;
	a->turns = vb_sim_alloc(s, s->switch_cnt * sizeof *a->turns);
	a->keys = vb_sim_alloc(s, (keys + 1) * sizeof *a->keys);
	a->next_mem = vb_sim_alloc(s, vb_eventq_size(s->switch_cnt));
	if (!a->turns || !a->keys || !a->next_mem)
		return -ENOMEM;
	vb_eventq_init(&a->next, a->next_mem, s->switch_cnt);
	keys = 0;
	for (uint32_t i = 0; i < s->switch_cnt; i++) {
		if (!is_own_switch(s, i))
			continue;
		a->turns[i] =
		    (struct vb_sim_turns){.key = a->keys + keys, .cnt = 2 * s->sw[i].port_cnt};
		keys += 2 * (size_t)a->turns[i].cnt;
	}
	return 0;
}

void vb_sim_apart_destroy(struct vb_sim *s)
{
	if (!s->apart)
		return;
	vb_sim_free(s, s->apart->turns);
	vb_sim_free(s, s->apart->keys);
	vb_sim_free(s, s->apart->next_mem);
	vb_sim_free(s, s->apart);
	s->apart = NULL;
}

void vb_sim_turns_renew(struct vb_sim *s, uint32_t number)
{
	struct vb_sim_turns *t = &s->apart->turns[number];
	const struct vb_switch *sw = &s->sw[number];

	t->base = s->apart->next.now;
	for (uint32_t i = 0; i < sw->port_cnt; i++) {
		const struct vb_port *p = sw->port[i];
		const struct vb_port *far = &s->port[vb_sim_peer(p->id)];

		t->key[t->cnt + vb_turn_of_pull(p)] =
		    vb_turn_key(t, vb_turn_of_pull(p), p->pull_at);
		t->key[t->cnt + vb_turn_of_arrival(p)] =
		    vb_turn_key(t, vb_turn_of_arrival(p), vb_cable_poll_timeout(&far->cable));
	}
	for (uint32_t i = t->cnt - 1; i > 0; i--)
		t->key[i] = t->key[2 * i] < t->key[2 * i + 1] ? t->key[2 * i] : t->key[2 * i + 1];
}

/* An event of a switch that is not being run. */
static void turn_change(struct vb_sim *s, uint32_t number, uint32_t rank, vb_time at)
{
	struct vb_sim_turns *t = &s->apart->turns[number];

	if (vb_turns_are_old(t, at) && at != VB_NEVER)
		vb_sim_turns_renew(s, number);
	vb_turn_set(t, rank, at);
	vb_sim_switch_line_up(s, number);
}

static void arrival_change(struct vb_sim *s, const struct vb_port *p)
{
	turn_change(s, switch_behind(s, p), vb_turn_of_arrival(&s->port[vb_sim_peer(p->id)]),
		    vb_cable_poll_timeout(&p->cable));
}

/* Hosts and the application have one order: a port of a host is asked, and a frame arrives at a
 * host. */
static void host_line_up(struct vb_sim *s, const struct vb_port *p)
{
	vb_time at = p->at_host ? p->pull_at : VB_NEVER;

	if (p->to_host)
		at = vb_time_min(at, vb_cable_poll_timeout(&p->cable));
	vb_eventq_set(&s->events, s->host_cnt + p->id, at);
}

void vb_sim_apart_depart(struct vb_sim *s, const struct vb_port *p)
{
	if (p->to_host)
		host_line_up(s, p);
	else
		arrival_change(s, p);
}

void vb_sim_apart_arm(struct vb_sim *s, const struct vb_port *p)
{
	if (p->at_host || p->to_host)
		host_line_up(s, p);
	if (!p->at_host && is_own_switch(s, s->switch_of[p->id]))
		turn_change(s, s->switch_of[p->id], vb_turn_of_pull(p), p->pull_at);
	if (!p->to_host && is_own_switch(s, switch_behind(s, p)))
		arrival_change(s, p);
}

static bool has_faults(const struct vb_sim *s)
{
	for (uint32_t i = 0; i < s->port_cnt; i++)
		if (s->port[i].cable.hooks && s->port[i].cable.hooks->fault)
			return true;
	return false;
}

void vb_sim_apart_begin(struct vb_sim *s)
{
	if (!s->apart || s->is_apart || has_faults(s))
		return;
	s->is_apart = true;
	for (uint32_t i = 0; i < s->port_cnt; i++)
		host_line_up(s, &s->port[i]);
	for (uint32_t i = 0; i < s->switch_cnt; i++) {
		if (!is_own_switch(s, i) || s->sw[i].port_cnt == 0)
			continue;
		vb_sim_turns_renew(s, i);
		vb_sim_switch_line_up(s, i);
	}
}
