/* SPDX-License-Identifier: BSD-2-Clause */
/* Cables that are taken apart and joined again while a simulation runs. See sim.h. */
#include "base/assert.h"
#include "sim/priv.h"

#include <errno.h>

/* Parts are still when one is due: parts.c looks at it. */
static void changes_arm(struct vb_sim *s)
{
	if (s->cut)
		return;
	vb_eventq_set(&s->events, vb_sim_links_id(s), s->change_cnt ? s->change[0].at : VB_NEVER);
}

/* Puts a change behind those that are due no later. */
static int change_add(struct vb_sim *s, const struct vb_sim_link_change *c)
{
	uint32_t i = s->change_cnt;

	if (i == VB_SIM_LINK_CHANGES_MAX)
		return -ENOSPC;
	if (!s->change) {
		s->change = vb_sim_alloc(s, VB_SIM_LINK_CHANGES_MAX * sizeof *s->change);
		/* A node behind those of faults. */
		s->link_trace = vb_sim_trace_of(s, s->host_cnt + s->switch_cnt + s->port_cnt / 2);
	}
	if (!s->change)
		return -ENOMEM;
	for (; i > 0 && s->change[i - 1].at > c->at; i--)
		s->change[i] = s->change[i - 1];
	s->change[i] = *c;
	VB_ASSERT_ALL(i == 0 || s->change[i - 1].at <= c->at);
	s->change_cnt++;
	return 0;
}

int vb_sim_plan_link(struct vb_sim *s, uint32_t link, bool up, vb_time at)
{
	struct vb_sim_link_change c = {.at = at, .link = link, .up = up};
	struct vb_sim_link_change follow = {.at = vb_time_after(at, s->cfg.reroute),
					    .link = VB_SIM_NONE};
	int err;

	if (link >= s->port_cnt / 2 || at < s->now)
		return -EINVAL;
	if (s->change_cnt + 2 > VB_SIM_LINK_CHANGES_MAX)
		return -ENOSPC;
	if (!vb_sim_cable_hooks(s, vb_sim_port(s, 2 * link)) ||
	    !vb_sim_cable_hooks(s, vb_sim_port(s, 2 * link + 1)))
		return -ENOMEM;
	err = change_add(s, &c);
	if (!err)
		err = change_add(s, &follow);
	changes_arm(s);
	return err;
}

/* One end: what the other one has said of its memory is no longer true, on either side. */
static void end_change(struct vb_port *p, bool up, vb_time now)
{
	vb_cable_set_down(&p->cable, !up);
	for (uint32_t i = 0; i < VB_PRIORITY_CNT; i++) {
		(void)vb_port_hold(p, (uint8_t)i, false, now);
		p->lane[i].in.paused = false;
	}
}

/* Frames on the way to another part are lost, too. */
static void end_arm(struct vb_sim *s, const struct vb_port *p)
{
	if (p->cable.hooks->leave)
		vb_sim_cut_lose(s, p->id);
	vb_sim_port_arm(vb_sim_of_port(s, p->id), p);
}

static void link_change(struct vb_sim *s, const struct vb_sim_link_change *c)
{
	struct vb_port *a = vb_sim_port(s, 2 * c->link), *b = vb_sim_port(s, 2 * c->link + 1);

	if (a->cable.down == !c->up)
		return;
	VB_ASSERT_ALL(a->cable.down == b->cable.down);
	vb_trace(&s->link_trace, VB_TRACE_LINK, 0, s->now, c->link, c->up, 0, 0);
	end_change(a, c->up, s->now);
	end_change(b, c->up, s->now);
	if (s->ib) {
		vb_sim_ib_set_link(s, a, c->up);
		vb_sim_ib_set_link(s, b, c->up);
	}
	end_arm(s, a);
	end_arm(s, b);
}

void vb_sim_links_change(struct vb_sim *s)
{
	uint32_t n = 0;
	bool follow = false;

	for (; n < s->change_cnt && s->change[n].at <= s->now; n++) {
		if (s->change[n].link == VB_SIM_NONE)
			follow = true;
		else
			link_change(s, &s->change[n]);
	}
	s->change_cnt -= n;
	for (uint32_t i = 0; i < s->change_cnt; i++)
		s->change[i] = s->change[i + n];
	changes_arm(s);
	/* Without memory for tables a run cannot go on. */
	if (follow && vb_sim_routes_follow(s))
		s->pool.ran_out = true;
}
