/* SPDX-License-Identifier: BSD-2-Clause */
/* One direction of a cable, and the faults carried out on what it carries. See cable.h. */
#include "fabric/cable.h"

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

/* What the fault layer says of a frame, also in f->mark. */
static void cable_judge(const struct vb_cable_hooks *h, struct vb_frame *f, vb_time now,
			struct vb_fault_fate *fate)
{
	struct vb_hdr hdr = {0};
	struct vb_rx rx = vb_frame_rx(f);

	/* A packet that is damaged already may not parse; it has opcode 0 and QPN 0 then. */
	(void)vb_hdr_parse(&hdr, rx.pkt, rx.avail, rx.len);

	struct vb_fault_packet p = {
	    .dir = h->dir,
	    .opcode = hdr.opcode,
	    .dqpn = hdr.dqpn,
	    .psn = hdr.psn,
	    .bytes = f->len,
	};

	vb_fault_judge(&h->fault->layer, &p, now, fate);
	f->mark = (uint16_t)(fate->hits | (fate->drop ? VB_FAULT_MARK_DROPPED : 0));
}

/* What a frame meets that is not lost: a mark, damage, and that there are two, which returns the
 * second one. */
static struct vb_frame *cable_alter(const struct vb_cable_hooks *h, struct vb_frame *f,
				    const struct vb_fault_fate *fate)
{
	struct vb_frame *copy;

	if (fate->mark && (f->path.traffic_class & VB_ECN_MASK))
		f->path.traffic_class |= VB_ECN_CE;
	copy = fate->copy ? vb_frame_copy(h->pool, f) : NULL;
	if (copy)
		copy->mark |= VB_FAULT_MARK_COPY;
	if (fate->corrupt)
		vb_frame_damage(f, fate->bits);
	return copy;
}

/* Faults are the cable's: the tap shows what was sent, and what becomes of it. */
static void cable_meet(struct vb_cable_end *c, struct vb_frame *f, vb_time now)
{
	struct vb_cable_hooks *h = c->hooks;
	bool fits = !c->down && (!c->mtu || f->frame_len - VB_FRAME_OVERHEAD <= c->mtu);
	bool is_judged = fits && h->fault && f->kind == VB_FRAME_DATA;
	struct vb_frame *copy = NULL;
	struct vb_fault_fate fate;

	if (is_judged)
		cable_judge(h, f, now, &fate);
	cable_tap(h, VB_CABLE_SENT, f, now);
	if (!fits || (is_judged && fate.drop)) {
		h->lost++;
		vb_frame_pool_give(h->pool, f);
		return;
	}
	f->at += c->delay;
	if (is_judged) {
		f->at += fate.at - now;
		copy = cable_alter(h, f, &fate);
	}
	if (is_judged && fate.hits & 1u << VB_FAULT_REORDER)
		flight_add(c, f);
	else
		flight_add_in_order(c, f);
	if (copy) {
		cable_tap(h, VB_CABLE_SENT, copy, now);
		copy->at = f->at;
		flight_add(c, copy);
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
