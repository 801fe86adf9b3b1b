/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The windows of a simulation in parts. Events that concern several parts, of the application's
 * timer and of cables that change, come between windows, behind all others at that instant: machine
 * numbers say so in a network in one piece as well. See parts.h.
 */
#include "sim/parts.h"

#include "base/assert.h"
#include "sim/priv.h"
#include "sim/window/window.h"

#include <errno.h>

/* The next event of a part, and the next arrival of a frame on its way to one. */
static vb_time next_of_parts(const struct vb_sim_cut *c)
{
	vb_time next = VB_NEVER;

	for (uint32_t i = 0; i < c->part_cnt; i++) {
		if (c->told) {
			next = vb_time_min(next, c->told[i]);
			continue;
		}
		next = vb_time_min(next, vb_sim_events_next(c->part[i]));
		next = vb_time_min(next, c->part[i]->sent_at);
	}
	return next;
}

/* The next event that concerns all parts. */
static vb_time next_of_all(const struct vb_sim *s)
{
	return vb_time_min(s->timer_at, s->change_cnt ? s->change[0].at : VB_NEVER);
}

vb_time vb_sim_parts_next(const struct vb_sim *s)
{
	for (uint32_t i = 0; i < s->cut->part_cnt; i++)
		if (vb_sim_part_is_here(s, i) && s->cut->part[i]->nics.first)
			return s->now;
	return vb_time_min(next_of_parts(s->cut), next_of_all(s));
}

static bool has_run_out(const struct vb_sim_cut *c)
{
	for (uint32_t i = 0; i < c->part_cnt; i++)
		if (c->told && i == c->own ? c->own_ran_out : c->part[i]->pool.ran_out)
			return true;
	return false;
}

static void clocks_set(const struct vb_sim_cut *c, vb_time now)
{
	for (uint32_t i = 0; i < c->part_cnt; i++) {
		VB_ASSERT_ALL(c->part[i]->now <= now);
		c->part[i]->now = now;
		c->part[i]->order = 0; /* that comes next is behind all that was */
	}
}

static void parts_settle(const struct vb_sim_cut *c)
{
	for (uint32_t i = 0; i < c->part_cnt; i++) {
		if (!vb_sim_part_is_here(c->part[0], i))
			continue;
		vb_sim_ports_serve(c->part[i]);
		vb_sim_hosts_settle(c->part[i]);
	}
}

/* Nobody has told yet when something happens next, but for that it is not before @at. */
static void all_may_go_on(const struct vb_sim_cut *c, vb_time at)
{
	for (uint32_t i = 0; c->told && i < c->part_cnt; i++)
		c->told[i] = at;
}

/* An event that concerns all parts, which have nothing left to do up to @at. */
static void event_of_all(struct vb_sim *s, vb_time at)
{
	clocks_set(s->cut, at);
	/* Frames may be sent: none arrives before the next window. */
	s->cut->end = at;
	s->event_cnt++;
	if (s->timer_at == at) {
		vb_sim_timer_run(s);
	} else {
		vb_sim_cut_empty(s);
		vb_sim_links_change(s);
	}
	/* All ranks have done the same so far. Each asks its own hosts alone, as in a window, which
	 * comes next. */
	s->cut->is_open = s->cut->told != NULL;
	parts_settle(s->cut);
	all_may_go_on(s->cut, at);
}

vb_dur vb_sim_lookahead(const struct vb_sim *s)
{
	return s->cut ? s->cut->lookahead : 0;
}

void vb_sim_parts_begin(struct vb_sim *s, vb_time until)
{
	struct vb_sim_cut *c = s->cut;

	VB_ASSERT_ALL(c && c->part_cnt > 1);
	s->stop = false;
	c->until = until;
	c->end = s->now;
	for (uint32_t i = 0; i < c->part_cnt; i++) {
		c->part[i]->looks_ahead = vb_sim_look_ahead_pays(s);
		vb_sim_apart_begin(c->part[i]);
	}
	parts_settle(c);
	all_may_go_on(c, s->now);
}

bool vb_sim_parts_plan(struct vb_sim *s)
{
	struct vb_sim_cut *c = s->cut;

	if (c->is_open) {
		c->is_open = false;
		if (s->app.on_still)
			s->app.on_still(s->app.ctx);
	}
	for (;;) {
		vb_time here = next_of_parts(c), all = next_of_all(s);
		vb_time next = vb_time_min(here, all);

		if (has_run_out(c) || s->stop || next == VB_NEVER || next > c->until)
			return false;
		if (all < here) {
			event_of_all(s, all);
			continue;
		}
		c->end = vb_time_min(vb_time_after(here, c->lookahead),
				     vb_time_after(vb_time_min(all, c->until), 1));
		c->window++;
		for (uint32_t i = 0; i < c->part_cnt; i++)
			c->part[i]->sent_at = VB_NEVER;
		c->is_open = true;
		return true;
	}
}

void vb_sim_part_run(struct vb_sim *s, uint32_t part)
{
	struct vb_sim *p = s->cut->part[part];

	vb_sim_cut_enter(p);
	while (!p->pool.ran_out && vb_sim_events_next(p) < s->cut->end) {
		if (p->is_apart)
			vb_sim_window_run(p, s->cut->end);
		else
			vb_sim_event_run(p);
	}
}

int vb_sim_parts_end(struct vb_sim *s)
{
	const struct vb_sim_cut *c = s->cut;
	vb_time now = 0;

	for (uint32_t i = 0; i < c->part_cnt; i++)
		now = c->part[i]->now > now ? c->part[i]->now : now;
	clocks_set(c, now);
	return has_run_out(c) ? -ENOMEM : 0;
}

int vb_sim_parts_run(struct vb_sim *s, vb_time until)
{
	vb_time next;
	int err;

	/* Of ranks all windows have been before: time passes. */
	if (!s->cut->told)
		vb_sim_parts_begin(s, until);
	while (!s->cut->told && vb_sim_parts_plan(s))
		for (uint32_t i = 0; i < s->cut->part_cnt; i++)
			vb_sim_part_run(s, i);
	err = vb_sim_parts_end(s);
	next = vb_time_min(vb_sim_parts_next(s), until);
	if (!err && !s->stop && until != VB_NEVER && s->now < next)
		clocks_set(s->cut, next);
	return err;
}
