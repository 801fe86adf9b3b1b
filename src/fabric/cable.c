/* SPDX-License-Identifier: BSD-2-Clause */
/* One direction of a cable, and the faults carried out on what it carries. See cable.h. */
#include "fabric/cable.h"

#include "base/assert.h"

#include <assert.h>

void vb_cable_init(struct vb_cable_end *c, vb_dur delay, uint32_t mtu)
{
	*c = (struct vb_cable_end){.flight = {NULL, VB_NEVER}, .delay = delay, .mtu = mtu};
}

/* Puts a frame on the cable before those that arrive later, which a fault has held back. */
static void flight_insert(struct vb_cable_end *c, struct vb_frame *f)
{
	struct vb_frame *after = c->flight_tail;

	while (after && after->at > f->at)
		after = after == c->flight.next ? NULL : after->prev;

	struct vb_frame_link *link = after ? &after->behind : &c->flight;

	VB_ASSERT_ALL(!after || after->at <= f->at);
	VB_ASSERT_ALL(link->next && link->at >= f->at);
	f->prev = after;
	f->behind = *link;
	f->behind.next->prev = f;
	*link = (struct vb_frame_link){f, f->at};
}

/*
 * Puts a frame on the cable, behind those that arrive no later. Each frame knows when the one
 * behind it arrives, and the cable when the last one does, so that neither taking one nor adding
 * one reads another, which has long left the cache.
 */
static void flight_add(struct vb_cable_end *c, struct vb_frame *f)
{
	if (c->tail_at > f->at) { /* never of one that has arrived */
		flight_insert(c, f);
		return;
	}

	struct vb_frame_link *end = c->flight.next ? &c->flight_tail->behind : &c->flight;

	VB_ASSERT_ALL(!c->flight.next || c->flight_tail->at <= f->at);
	f->prev = c->flight_tail;
	f->behind = (struct vb_frame_link){NULL, VB_NEVER};
	*end = (struct vb_frame_link){f, f->at};
	c->flight_tail = f;
	c->tail_at = f->at;
}

/* Puts a frame on the cable behind the one before. */
static void flight_add_in_order(struct vb_cable_end *c, struct vb_frame *f)
{
	if (f->at < c->last_at)
		f->at = c->last_at;
	c->last_at = f->at;
	flight_add(c, f);
}

static void cable_tap(const struct vb_cable_hooks *h, enum vb_cable_tap_dir dir,
		      const struct vb_frame *f, vb_time now)
{
	if (h->tap && f->kind == VB_FRAME_DATA)
		h->tap(h->ctx, dir == VB_CABLE_SENT ? h->id : h->far_id, dir, f, now);
}

/* What the faults make of a data frame. */
static void cable_decide(const struct vb_cable_hooks *h, const struct vb_frame *f, vb_time now,
			 struct vb_fault_outcome *out)
{
	struct vb_rx rx = vb_frame_rx(f);
	struct vb_fault_packet p = vb_fault_see(h->dir, &rx);

	vb_fault_decide(&h->fault->layer, &p, f->path.traffic_class, now, out);
}

/* Puts a frame on the cable as @go says; its last bit leaves at f->at. */
static void cable_carry(struct vb_cable_end *c, struct vb_frame *f, const struct vb_fault_go *go,
			vb_time now)
{
	f->path.traffic_class = go->traffic_class;
	if (go->damage)
		vb_frame_damage(f, go->damage);
	f->at += c->delay + (go->at - now);
	if (go->overtaken)
		flight_add(c, f);
	else
		flight_add_in_order(c, f);
}

/* Faults are the cable's: the tap shows what was sent, and what becomes of it. */
static void cable_meet(struct vb_cable_end *c, struct vb_frame *f, vb_time now)
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
		f->at += c->delay;
		flight_add_in_order(c, f);
		return;
	}
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
	assert(f->at >= now);
	f->mark = 0;
	if (c->hooks) {
		cable_meet(c, f, now);
		return;
	}
	f->at += c->delay;
	flight_add_in_order(c, f);
}

struct vb_frame *vb_cable_poll_transmit(struct vb_cable_end *c, vb_time now)
{
	struct vb_frame *f = c->flight.next;

	if (c->flight.at > now || !f)
		return NULL;
	c->flight = f->behind;
	if (c->hooks)
		cable_tap(c->hooks, VB_CABLE_RECEIVED, f, now);
	return f;
}

void vb_cable_set_down(struct vb_cable_end *c, bool down)
{
	assert(c->hooks);
	c->down = down;
	c->tail_at = c->last_at = 0;
	while (c->flight.next) {
		struct vb_frame *f = c->flight.next;

		c->flight = f->behind;
		c->hooks->lost++;
		vb_frame_pool_give(c->hooks->pool, f);
	}
}
