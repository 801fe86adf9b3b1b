/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A simulation from creation to end, as its user calls it. The loop over its machines is loop.c,
 * and parts.c where they are in parts. See sim.h.
 */
#include "base/assert.h"
#include "sim/priv.h"
#include "sim/window/window.h"

#include <errno.h>

static bool multipath_is_valid(const struct vb_multipath_config *c)
{
	return c->kind < VB_MULTIPATH_KINDS &&
	       (c->kind != VB_MULTIPATH_ADAPTIVE || c->queue_step > 0) &&
	       (c->kind != VB_MULTIPATH_FLOWLET ||
		(c->flowlet_cnt > 0 && c->flowlet_cnt <= VB_FLOWLETS_MAX));
}

static bool red_is_valid(const struct vb_red *red)
{
	return red->kmin <= red->kmax && red->pmax_ppm <= 1000000;
}

int vb_sim_set_red(struct vb_sim *s, const struct vb_red *red)
{
	if (s->ib)
		return -ENOTSUP;
	if (!red_is_valid(red))
		return -EINVAL;
	s->cfg.sw.red = *red;
	return 0;
}

int vb_sim_create(struct vb_sim **out, const struct vb_sim_config *cfg)
{
	const struct vb_sim_memory *m = &cfg->memory;
	uint32_t machines = cfg->topo->host_cnt + 2 * cfg->topo->link_cnt + 4;

	if (cfg->cqe == 0 || cfg->packets_max == 0 || cfg->hca.port[1].active_mtu < VB_MTU_256 ||
	    cfg->hca.port[1].active_mtu > VB_MTU_4096 || !red_is_valid(&cfg->sw.red) ||
	    !multipath_is_valid(&cfg->sw.multipath))
		return -EINVAL;
	if (cfg->part_cnt > 1 && (cfg->ib.is_used || cfg->on_event || cfg->on_packet))
		return -ENOTSUP;

	struct vb_sim *s = m->alloc(m->ctx, sizeof *s);

	if (!s)
		return -ENOMEM;
	s->cfg = *cfg;
	if (cfg->ib.is_used) /* nothing is kept in shared memory */
		s->cfg.sw = (struct vb_switch_config){.buffer = {.bytes = 1}};
	s->host_cnt = cfg->topo->host_cnt;
	s->switch_cnt = cfg->topo->switch_cnt;
	s->port_cnt = 2 * cfg->topo->link_cnt;
	s->timer_at = s->turn_at = VB_NEVER;

	void *heap = vb_sim_alloc(s, vb_eventq_size(machines));
	int err = -ENOMEM;

	if (heap)
		vb_eventq_init(&s->events, heap, machines);
	s->eventq_mem = heap;
	if (heap)
		err = vb_sim_network_create(s);
	if (err) {
		vb_sim_destroy(s);
		return err;
	}
	s->cfg.topo = NULL; /* the caller's */
	s->cfg.ib.pkey = NULL;
	s->cfg.part_of = NULL;
	*out = s;
	return 0;
}

void vb_sim_destroy(struct vb_sim *s)
{
	vb_sim_network_destroy(s);
	vb_sim_free(s, s->eventq_mem);
	s->cfg.memory.free(s->cfg.memory.ctx, s);
}

void vb_sim_set_app(struct vb_sim *s, const struct vb_sim_app *app)
{
	s->app = *app;
	for (uint32_t i = 1; s->cut && i < s->cut->part_cnt; i++)
		s->cut->part[i]->app = *app;
}

void vb_sim_set_timer(struct vb_sim *s, vb_time at)
{
	s->timer_at = at < s->now ? s->now : at;
	if (!s->cut) /* parts are still when it goes off */
		vb_eventq_set(&s->events, vb_sim_timer_id(s), s->timer_at);
}

void vb_sim_set_turn(struct vb_sim *s, uint32_t part, vb_time at)
{
	struct vb_sim *p = s->cut ? s->cut->part[part] : s;

	p->turn_at = at < p->now ? p->now : at;
	vb_eventq_set(&p->events, vb_sim_turn_id(p), p->turn_at);
}

uint32_t vb_sim_part_of(const struct vb_sim *s, uint32_t host)
{
	return s->cut ? s->cut->of_node[host] : 0;
}

bool vb_sim_is_here(const struct vb_sim *s, uint32_t host)
{
	return vb_sim_part_is_here(s, vb_sim_part_of(s, host));
}

bool vb_sim_is_part_here(const struct vb_sim *s, uint32_t part)
{
	return vb_sim_part_is_here(s, part);
}

bool vb_sim_is_in_window(const struct vb_sim *s)
{
	return s->cut && s->cut->is_open;
}

struct vb_sim_place vb_sim_place_of(const struct vb_sim *s, uint32_t part)
{
	const struct vb_sim *p = s->cut ? s->cut->part[part] : s;

	return (struct vb_sim_place){p->now, p->order};
}

void vb_sim_touch(struct vb_sim *s, uint32_t host)
{
	vb_nic_list(&s->host[host]);
}

/* Nothing is left to happen, now that all adapters are still and @next is the next deadline. */
static inline bool is_over(const struct vb_sim *s, vb_time next)
{
	return next == VB_NEVER || (s->ib && vb_sim_ib_is_over(s));
}

bool vb_sim_step(struct vb_sim *s)
{
	VB_ASSERT_ALL(!s->cut);
	vb_sim_apart_end(s);
	vb_sim_hosts_settle(s);
	if (s->pool.ran_out || is_over(s, vb_eventq_next(&s->events)))
		return false;
	vb_sim_event_run(s);
	return true;
}

/* Events of a stride, at least where there are so many. */
#define STRIDE 4096u

bool vb_sim_stride(struct vb_sim *s, vb_time until)
{
	uint64_t enough = s->event_cnt + STRIDE;

	VB_ASSERT_ALL(!s->cut);
	s->stop = false;
	s->looks_ahead = vb_sim_look_ahead_pays(s);
	vb_sim_apart_begin(s);
	vb_sim_hosts_settle(s);
	while (!s->stop && s->event_cnt < enough) {
		vb_time next = vb_sim_events_next(s);

		if (s->pool.ran_out || next > until || is_over(s, next))
			return false;
		if (s->is_apart)
			vb_sim_window_run(s, vb_time_after(until, 1));
		else
			vb_sim_event_run(s);
	}
	return !s->pool.ran_out;
}

int vb_sim_run(struct vb_sim *s, vb_time until)
{
	vb_time next;

	if (s->cut)
		return vb_sim_parts_run(s, until);
	while (vb_sim_stride(s, until) && !s->stop)
		;
	/* Of a run that is over there may be events left: time does not pass them. */
	next = vb_time_min(vb_sim_events_next(s), until);
	if (!s->pool.ran_out && !s->stop && until != VB_NEVER && s->now < next)
		s->now = next;
	return s->pool.ran_out ? -ENOMEM : 0;
}

void vb_sim_stop(struct vb_sim *s)
{
	s->stop = true;
}
