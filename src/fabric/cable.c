/* SPDX-License-Identifier: BSD-2-Clause */
/* One direction of a cable, and the faults carried out on what it carries. See cable.h. */
#include "fabric/cable.h"

#include "base/assert.h"
#include "base/cold.h"

#include <assert.h>

void vb_cable_init(struct vb_cable_end *c, vb_dur delay, uint32_t mtu)
{
	*c = (struct vb_cable_end){.delay = delay, .mtu = mtu};
	vb_timed_init(&c->flight);
}

/* A frame arrives behind the one before. */
static void arrival_keep_order(struct vb_cable_end *c, struct vb_frame *f)
{
	if (f->flight.at < c->last_at)
		f->flight.at = c->last_at;
	c->last_at = f->flight.at;
}

/* Puts a frame on the cable behind the one before. */
static void flight_add_in_order(struct vb_cable_end *c, struct vb_frame *f)
{
	arrival_keep_order(c, f);
	vb_timed_put(&c->flight, &f->flight);
}

static void cable_tap(const struct vb_cable_hooks *h, enum vb_cable_tap_dir dir,
		      const struct vb_frame *f, vb_time now)
{
	if (h->tap && f->kind == VB_FRAME_DATA)
		h->tap(h->ctx, dir == VB_CABLE_SENT ? h->id : h->far_id, dir, f, now);
}

/* Decides what the faults do to a data frame. */
static void cable_decide(const struct vb_cable_hooks *h, const struct vb_frame *f, vb_time now,
			 struct vb_fault_outcome *out)
{
	struct vb_rx rx = vb_frame_rx(f);
	struct vb_fault_packet p = vb_fault_see(h->dir, &rx);

	vb_fault_decide(&h->fault->layer, &p, f->path.traffic_class, now, out);
}

/* Puts a frame on the cable as @go says; its last bit leaves at f->flight.at. */
static void cable_carry(struct vb_cable_end *c, struct vb_frame *f, const struct vb_fault_go *go,
			vb_time now)
{
	f->path.traffic_class = go->traffic_class;
	if (go->damage)
		vb_frame_damage(f, go->damage);
	VB_ASSERT_ALL(go->at >= now);
	f->flight.at += c->delay + (go->at - now);
	if (go->overtaken)
		vb_timed_put(&c->flight, &f->flight);
	else
		flight_add_in_order(c, f);
}

/* Faults are the cable's: the tap shows what was sent, and what becomes of it. */
static VB_APART void cable_meet(struct vb_cable_end *c, struct vb_frame *f, vb_time now)
{
	struct vb_cable_hooks *h = c->hooks;
	bool fits = !c->down && (!c->mtu || f->frame_len - VB_FRAME_OVERHEAD <= c->mtu);
	bool is_judged = fits && h->fault && f->kind == VB_FRAME_DATA;
	struct vb_fault_outcome out = {.cnt = fits};
	struct vb_frame *copy;

	if (is_judged)
		cable_decide(h, f, now, &out);
	f->mark = out.mark;
	cable_tap(h, VB_CABLE_SENT, f, now);
	if (out.cnt == 0) {
		h->lost++;
		vb_frame_pool_give(h->pool, f);
		return;
	}
	if (!is_judged) {
		f->flight.at += c->delay;
		arrival_keep_order(c, f);
		if (h->leave)
			h->leave(h->leave_ctx, h->id, f);
		else
			vb_timed_put(&c->flight, &f->flight);
		return;
	}
	VB_ASSERT_ALL(!h->leave);
	copy = out.cnt > 1 ? vb_frame_copy(h->pool, f) : NULL;
	cable_carry(c, f, &out.go[0], now);
	if (copy) {
		copy->mark = out.go[1].mark;
		cable_carry(c, copy, &out.go[1], now);
		cable_tap(h, VB_CABLE_SENT, copy, now);
	}
}

void vb_cable_handle_packet(struct vb_cable_end *c, struct vb_frame *f, vb_time now)
{
	assert(f->flight.at >= now);
	f->mark = 0;
	if (c->hooks) {
		cable_meet(c, f, now);
		return;
	}
	f->flight.at += c->delay;
	flight_add_in_order(c, f);
}

struct vb_frame *vb_cable_poll_transmit(struct vb_cable_end *c, vb_time now)
{
	struct vb_timed *t = vb_timed_take(&c->flight, now);

	if (!t)
		return NULL;

	struct vb_frame *f = vb_container_of(t, struct vb_frame, flight);

	VB_ASSERT_ALL(f->flight.at <= now && c->flight.first.at >= f->flight.at);
	if (c->hooks)
		cable_tap(c->hooks, VB_CABLE_RECEIVED, f, now);
	return f;
}

void vb_cable_set_down(struct vb_cable_end *c, bool down)
{
	assert(c->hooks);
	c->down = down;
	c->last_at = 0;
	for (struct vb_timed *t; (t = vb_timed_take(&c->flight, VB_NEVER));) {
		c->hooks->lost++;
		vb_frame_pool_give(c->hooks->pool, vb_container_of(t, struct vb_frame, flight));
	}
}
