/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network that is cut into parts: the parts, and the frames that go from one to another. A frame
 * that leaves stands in a box of the part that sent it until the window is over. The other part has
 * it from the next window on, for good: to copy it would move all its lines from core to core, and
 * a switch reads one. A part that gets more frames than it sends returns free ones; else the pools
 * of senders would grow. No two parts touch a frame, a box or a pool at the same time. See priv.h
 * and parts.h.
 */
#include "base/assert.h"
#include "sim/parts.h"
#include "sim/priv.h"
#include "sim/window/window.h"

#include <errno.h>
#include <string.h>

/* Frames in a box before it grows, and frames that are brought into the cache before their turn. */
#define BOX_FIRST 256u
#define AHEAD 8u
/* Frames of another part that stay here without being returned. */
#define OWED_MAX 256

vb_dur vb_sim_partition_lookahead(const struct vb_sim_topo *t, const uint16_t *part_of)
{
	vb_dur least = VB_NEVER;

	for (uint32_t i = 0; i < t->link_cnt; i++) {
		const struct vb_sim_topo_link *l = &t->link[i];

		if (part_of[l->a] != part_of[l->b])
			least = vb_time_min(
			    least, vb_sim_cable_lookahead(l->cable.delay, l->cable.rate_bps));
	}
	return least;
}

/* Which cables are cut, and by how much time they divide. */
static int cables_look(struct vb_sim *s, struct vb_sim_cut *c)
{
	const struct vb_sim_topo *t = s->cfg.topo;

	for (uint32_t i = 0; i < s->host_cnt + s->switch_cnt; i++)
		if (c->of_node[i] >= c->part_cnt)
			return -EINVAL;
	for (uint32_t i = 0; i < s->port_cnt; i++)
		c->of_port[i] = c->of_node[vb_sim_node_at(t, i)];
	for (uint32_t i = 0; i < t->link_cnt; i++) {
		const struct vb_sim_topo_link *l = &t->link[i];

		if (c->of_node[l->a] != c->of_node[l->b] &&
		    (l->a < s->host_cnt || l->b < s->host_cnt))
			return -EINVAL;
	}
	c->lookahead = vb_sim_partition_lookahead(t, c->of_node);
	return c->lookahead ? 0 : -EINVAL;
}

static int part_create(struct vb_sim *s, uint32_t number)
{
	uint32_t machines = vb_sim_watch_id(s) + 1;
	struct vb_sim *p = vb_sim_alloc(s, sizeof *p);

	if (!p)
		return -ENOMEM;
	s->cut->part[number] = p;
	p->cfg = s->cfg;
	p->cut = s->cut;
	p->part = number;
	p->host_cnt = s->host_cnt;
	p->switch_cnt = s->switch_cnt;
	p->port_cnt = s->port_cnt;
	p->timer_at = p->turn_at = VB_NEVER;
	p->eventq_mem = vb_sim_alloc(s, vb_eventq_size(machines));
	if (!p->eventq_mem)
		return -ENOMEM;
	vb_eventq_init(&p->events, p->eventq_mem, machines);
	vb_sim_pool_init(p);
	return vb_sim_ports_create(p);
}

static int boxes_create(struct vb_sim *p)
{
	p->sent_at = VB_NEVER;
	p->owed = vb_sim_alloc(p, p->cut->part_cnt * sizeof *p->owed);
	if (!p->owed)
		return -ENOMEM;
	for (uint32_t i = 0; i < 2; i++) {
		p->box[i] = vb_sim_alloc(p, p->cut->part_cnt * sizeof *p->box[i]);
		if (!p->box[i])
			return -ENOMEM;
	}
	return 0;
}

/* The ends of cut cables hand frames over. */
static int ends_cut(struct vb_sim *s)
{
	for (uint32_t i = 0; i < s->port_cnt; i++) {
		struct vb_cable_hooks *h;

		if (s->cut->of_port[i] == s->cut->of_port[vb_sim_peer(i)])
			continue;
		h = vb_sim_cable_hooks(s, vb_sim_port(s, i));
		if (!h)
			return -ENOMEM;
		h->leave = vb_sim_cut_leave;
		h->leave_ctx = vb_sim_of_port(s, i);
	}
	return 0;
}

int vb_sim_cut_create(struct vb_sim *s)
{
	uint32_t nodes = s->host_cnt + s->switch_cnt, cnt = s->cfg.part_cnt;
	struct vb_sim_cut *c;
	int err;

	if (cnt <= 1)
		return 0;
	c = vb_sim_alloc(s, sizeof *c);
	if (!c)
		return -ENOMEM;
	s->cut = c;
	c->part = vb_sim_alloc(s, cnt * sizeof(struct vb_sim *));
	c->of_node = vb_sim_alloc(s, nodes * sizeof *c->of_node);
	c->of_port = vb_sim_alloc(s, s->port_cnt * sizeof *c->of_port);
	if (!c->part || !c->of_node || !c->of_port)
		return -ENOMEM;
	c->part_cnt = cnt;
	c->part[0] = s;
	memcpy(c->of_node, s->cfg.part_of, nodes * sizeof *c->of_node);
	err = cables_look(s, c);
	for (uint32_t i = 1; !err && i < cnt; i++)
		err = part_create(s, i);
	for (uint32_t i = 0; !err && i < cnt; i++)
		err = boxes_create(c->part[i]);
	return err ? err : ends_cut(s);
}

void vb_sim_cut_share(struct vb_sim *s)
{
	for (uint32_t i = 1; s->cut && i < s->cut->part_cnt; i++) {
		struct vb_sim *p = s->cut->part[i];

		p->cfg.topo = NULL;
		p->cfg.part_of = NULL;
		p->host = s->host;
		p->sw = s->sw;
		p->switch_of = s->switch_of;
	}
}

static void boxes_destroy(struct vb_sim *s, struct vb_sim *p)
{
	for (uint32_t i = 0; i < 2; i++) {
		for (uint32_t k = 0; p->box[i] && k < s->cut->part_cnt; k++)
			vb_sim_free(s, p->box[i][k].parcel);
		vb_sim_free(s, p->box[i]);
	}
	vb_sim_free(s, p->owed);
}

void vb_sim_cut_destroy(struct vb_sim *s)
{
	struct vb_sim_cut *c = s->cut;

	if (!c)
		return;
	for (uint32_t i = 0; i < c->part_cnt; i++) {
		struct vb_sim *p = c->part[i];

		if (!p)
			continue;
		boxes_destroy(s, p);
		if (i == 0)
			continue;
		vb_sim_apart_destroy(p);
		vb_sim_ports_destroy(p);
		vb_frame_pool_destroy(&p->pool);
		vb_sim_free(s, p->eventq_mem);
		vb_sim_free(s, p);
	}
	vb_sim_free(s, c->told);
	vb_sim_free(s, c->count);
	vb_sim_free(s, c->part);
	vb_sim_free(s, c->of_node);
	vb_sim_free(s, c->of_port);
	vb_sim_free(s, c);
	s->cut = NULL;
}

/* Puts a frame into a box; false: there is no memory. */
static bool box_put(struct vb_sim *s, struct vb_sim_box *b, struct vb_frame *f, uint32_t port)
{
	if (b->cnt == b->cap) {
		uint32_t cap = b->cap ? 2 * b->cap : BOX_FIRST;
		struct vb_sim_parcel *more = vb_sim_alloc(s, cap * sizeof *more);

		if (!more)
			return false;
		if (b->cnt)
			memcpy(more, b->parcel, b->cnt * sizeof *more);
		vb_sim_free(s, b->parcel);
		b->parcel = more;
		b->cap = cap;
	}
	b->parcel[b->cnt++] = (struct vb_sim_parcel){f, port};
	return true;
}

void vb_sim_cut_leave(void *ctx, uint32_t port, struct vb_frame *f)
{
	struct vb_sim *s = ctx;
	const struct vb_sim_cut *c = s->cut;
	uint32_t to = c->of_port[vb_sim_peer(port)];

	/* Conservative: nothing arrives in the window in which it was sent. */
	VB_ASSERT_ALL(f->flight.at >= c->end && c->of_port[port] == s->part);
	if (!box_put(s, &s->box[c->window & 1][to], f, port)) {
		vb_frame_pool_give(&s->pool, f);
		s->pool.ran_out = true;
		return;
	}
	vb_frame_pool_leave(&s->pool);
	s->owed[to]--;
	s->sent_at = vb_time_min(s->sent_at, f->flight.at);
}

void vb_sim_cut_arrive(struct vb_sim *s, struct vb_frame *f, uint32_t port)
{
	struct vb_port *p = &s->port[port];

	VB_ASSERT_ALL(port < s->port_cnt && f->flight.at >= s->now);
	vb_timed_put(&p->cable.flight, &f->flight);
	vb_sim_port_arm(s, p);
}

/* Takes what is in box @b of part @from. */
static void box_enter(struct vb_sim *s, uint32_t from, const struct vb_sim_box *b)
{
	for (uint32_t i = 0; i < b->cnt; i++) {
		const struct vb_sim_parcel *at = &b->parcel[i];

		if (i + AHEAD < b->cnt)
			__builtin_prefetch(b->parcel[i + AHEAD].frame, 1);
		if (!vb_frame_pool_join(&s->pool))
			return; /* the run ends */
		if (at->port == VB_SIM_NONE)
			vb_frame_pool_give(&s->pool, at->frame);
		else
			vb_sim_cut_arrive(s, at->frame, at->port);
	}
	s->owed[from] += b->cnt;
}

/* Takes what is in boxes @box of all others. */
static void boxes_enter(struct vb_sim *s, uint32_t box)
{
	for (uint32_t i = 0; i < s->cut->part_cnt; i++)
		box_enter(s, i, &s->cut->part[i]->box[box][s->part]);
}

/* Others have taken what is in own boxes @box. */
static void boxes_clear(struct vb_sim *s, uint32_t box)
{
	for (uint32_t i = 0; i < s->cut->part_cnt; i++)
		s->box[box][i].cnt = 0;
}

/* Parts of which there are frames here get free ones. */
static void frames_return(struct vb_sim *s, uint32_t box)
{
	for (uint32_t i = 0; i < s->cut->part_cnt; i++) {
		struct vb_frame *f;

		if (s->owed[i] < OWED_MAX)
			continue;
		while (s->owed[i] > 0 && (f = vb_frame_pool_spare(&s->pool)) != NULL) {
			if (!box_put(s, &s->box[box][i], f, VB_SIM_NONE)) {
				vb_frame_pool_give(&s->pool, f);
				return;
			}
			vb_frame_pool_leave(&s->pool);
			s->owed[i]--;
		}
	}
}

void vb_sim_cut_enter(struct vb_sim *s)
{
	uint32_t own = s->cut->window & 1;

	boxes_clear(s, own);
	boxes_enter(s, !own);
	frames_return(s, own);
}

void vb_sim_cut_empty(struct vb_sim *s)
{
	struct vb_sim_cut *c = s->cut;

	for (uint32_t i = 0; i < c->part_cnt; i++)
		boxes_enter(c->part[i], c->window & 1);
	for (uint32_t i = 0; i < c->part_cnt; i++) {
		boxes_clear(c->part[i], 0);
		boxes_clear(c->part[i], 1);
		c->part[i]->sent_at = VB_NEVER;
	}
}

void vb_sim_cut_lose(struct vb_sim *s, uint32_t port)
{
	struct vb_sim *far = vb_sim_of_port(s, vb_sim_peer(port));
	struct vb_port *p = &far->port[port];

	for (struct vb_timed *t; (t = vb_timed_take(&p->cable.flight, VB_NEVER)) != NULL;) {
		vb_sim_port(s, port)->cable.hooks->lost++;
		vb_frame_pool_give(&far->pool, vb_container_of(t, struct vb_frame, flight));
	}
	vb_sim_port_arm(far, p);
}
