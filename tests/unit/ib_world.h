/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two InfiniBand ports and a cable between them, in virtual time: packets take the time of their
 * bytes and of the cable, and may be lost. The owners of both ports are played here; what arrives
 * is checked to be in order.
 */
#ifndef VB_TESTS_IB_WORLD_H
#define VB_TESTS_IB_WORLD_H

#include "cmocka_env.h"
#include "fabric/ib/port.h"
#include "wire/ib/rate.h"

#include "base/rng.h"

#include <string.h>

#define IB_PACKETS 512 /* that exist at once */
#define IB_FLIGHTS 64

struct ib_packet {
	struct vb_ib_item item;
	uint32_t number; /* in the order of its lane */
	bool used;
};

struct ib_flight {
	vb_time at; /* VB_NEVER: free */
	struct ib_packet *packet;
	uint8_t flow[VB_FLOW_LEN];
};

struct ib_end {
	struct vb_ib_port port;
	struct ib_flight flight[IB_FLIGHTS]; /* towards this end */
	vb_time line_free;
	uint32_t next_in[VB_VL_CNT], next_out[VB_VL_CNT];
	uint64_t accepted, in_buffer;
	struct ib_packet *held[IB_PACKETS]; /* accepted, in the buffer */
};

struct ib_world {
	struct ib_end end[2];
	struct ib_packet packet[IB_PACKETS];
	struct vb_rng rng;
	vb_time now;
	vb_dur delay;
	uint32_t lose_data, lose_flow; /* of 1000 */
	uint32_t consume;              /* of 1000, at each step: a packet leaves the buffer */
	bool recovers;                 /* a link that has to train again does so at once */
};

static inline struct vb_ib_port_config ib_config(uint32_t data_cnt, uint32_t blocks)
{
	struct vb_ib_port_config c = {.mtu = 4096,
				      .data_cnt = data_cnt,
				      .symbol_ps = vb_ib_symbol_ps(VB_IB_EDR),
				      .hoq_life = 20};

	for (unsigned vl = 0; vl < VB_VL_CNT; vl++)
		c.capacity[vl] = blocks;
	return c;
}

static inline void ib_world_init(struct ib_world *w, const struct vb_ib_port_config *c,
				 uint64_t seed)
{
	memset(w, 0, sizeof *w);
	w->rng = vb_rng_stream(seed, "ib_world", 0);
	w->delay = 100;
	w->consume = 1000;
	for (unsigned e = 0; e < 2; e++) {
		struct ib_end *end = &w->end[e];

		vb_ib_port_init(&end->port, c);
		for (unsigned i = 0; i < IB_FLIGHTS; i++)
			end->flight[i].at = VB_NEVER;
	}
}

/* A packet of @len bytes for lane @vl of end @e. */
static inline bool ib_send(struct ib_world *w, unsigned e, uint8_t vl, uint32_t len)
{
	for (unsigned i = 0; i < IB_PACKETS; i++) {
		struct ib_packet *p = &w->packet[i];

		if (p->used)
			continue;
		*p = (struct ib_packet){.used = true, .number = w->end[e].next_out[vl]++};
		p->item.len = len;
		p->item.vl = vl;
		vb_ib_port_enqueue(&w->end[e].port, &p->item, w->now);
		return true;
	}
	return false;
}

static inline void ib_link(struct ib_world *w, enum vb_link_event event)
{
	for (unsigned e = 0; e < 2; e++)
		assert_int_equal(vb_ib_port_link_event(&w->end[e].port, event, w->now), 0);
}

static inline void ib_fly(struct ib_world *w, unsigned e, const struct vb_ib_out *out)
{
	struct ib_end *from = &w->end[e], *to = &w->end[1 - e];
	uint32_t len = out->item ? out->item->len : VB_FLOW_LEN;
	vb_dur takes = len * 8 * VB_SEC / vb_ib_payload_bps(VB_IB_EDR, VB_IB_4X);
	struct ib_packet *p = out->item ? vb_container_of(out->item, struct ib_packet, item) : NULL;

	from->line_free = w->now + takes;
	if (vb_rng_below(&w->rng, 1000) < (p ? w->lose_data : w->lose_flow)) {
		if (p)
			p->used = false;
		return;
	}
	for (unsigned i = 0; i < IB_FLIGHTS; i++)
		if (to->flight[i].at == VB_NEVER) {
			to->flight[i].at = from->line_free + w->delay;
			to->flight[i].packet = p;
			memcpy(to->flight[i].flow, out->flow, VB_FLOW_LEN);
			return;
		}
	fail_msg("more than %d packets on the cable", IB_FLIGHTS);
}

static inline struct vb_lrh ib_lrh(const struct ib_packet *p)
{
	return (struct vb_lrh){.vl = p->item.vl,
			       .lnh = VB_LNH_LOCAL,
			       .words = (uint16_t)((p->item.len - VB_VCRC_LEN) / 4)};
}

static inline void ib_arrive(struct ib_world *w, unsigned e, struct ib_flight *f)
{
	struct ib_end *end = &w->end[e];
	struct vb_lrh lrh;

	f->at = VB_NEVER;
	if (f->packet == NULL) {
		vb_ib_port_handle_flow(&end->port, f->flow, w->now);
		return;
	}
	lrh = ib_lrh(f->packet);
	if (vb_ib_port_receive(&end->port, &lrh, f->packet->item.len, VB_IB_TAIL_GOOD, w->now) !=
	    VB_IB_ACCEPTED) {
		f->packet->used = false;
		return;
	}
	assert_true(f->packet->number >= end->next_in[lrh.vl]); /* in order within a lane */
	end->next_in[lrh.vl] = f->packet->number + 1;
	end->accepted++;
	end->held[end->in_buffer++] = f->packet;
}

/* One packet leaves the buffer. */
static inline void ib_consume(struct ib_world *w, unsigned e)
{
	struct ib_end *end = &w->end[e];
	struct ib_packet *p;

	if (end->in_buffer == 0)
		return;
	p = end->held[0];
	memmove(end->held, end->held + 1, --end->in_buffer * sizeof *end->held);
	vb_ib_port_release(&end->port, p->item.vl, p->item.len, w->now);
	p->used = false;
}

static inline void ib_end_step(struct ib_world *w, unsigned e)
{
	struct ib_end *end = &w->end[e];
	struct vb_ib_item *item;
	struct vb_ib_out out;

	for (unsigned i = 0; i < IB_FLIGHTS; i++)
		if (end->flight[i].at <= w->now)
			ib_arrive(w, e, &end->flight[i]);
	if (vb_rng_below(&w->rng, 1000) < w->consume)
		ib_consume(w, e);
	if (vb_ib_port_poll_timeout(&end->port) <= w->now)
		vb_ib_port_handle_timeout(&end->port, w->now);
	if (w->recovers && end->port.state == VB_LINK_ACT_DEFER)
		(void)vb_ib_port_link_event(&end->port, VB_LINK_RECOVERED, w->now);
	if (end->line_free <= w->now && vb_ib_port_poll_transmit(&end->port, w->now, &out))
		ib_fly(w, e, &out);
	while ((item = vb_ib_port_poll_dropped(&end->port)) != NULL)
		vb_container_of(item, struct ib_packet, item)->used = false;
}

static inline void ib_run(struct ib_world *w, vb_dur span, vb_dur step)
{
	for (vb_time end = w->now + span; w->now < end; w->now += step) {
		ib_end_step(w, 0);
		ib_end_step(w, 1);
	}
}

/* The link comes up and flow control has been exchanged. */
static inline void ib_world_up(struct ib_world *w)
{
	ib_link(w, VB_LINK_TRAINED);
	ib_link(w, VB_LINK_SET_ARMED);
	ib_link(w, VB_LINK_SET_ACTIVE);
	ib_run(w, 2000, 20);
}

#endif
