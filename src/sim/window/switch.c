/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A switch by itself, for a window. Here is the way of nearly every hop, so what a frame passes in
 * a switch, a port and a cable is one function, without a call: 15 % of the instructions of
 * bench/simulator fat-tree. See window.h.
 */
#include "base/assert.h"
#include "sim/window/pull.h"
#include "sim/window/window.h"

/* The frames that come next at each port, or leave it. Their addresses are at hand if the ports
 * are. */
static inline void frames_expect(const struct vb_switch *sw)
{
	for (uint32_t i = 0; i < sw->port_cnt; i++) {
		struct vb_port *p = sw->port[i];

		__builtin_prefetch(p->lane[0].fifo.head);
		__builtin_prefetch(vb_cable_next(&vb_sim_port_peer_of(p)->cable));
	}
}

/* The next frame of a port of a switch; @is_plain: that does nothing more. */
static inline struct vb_frame *frame_next(struct vb_switch *sw, bool is_plain,
					  const struct vb_port *p, vb_time now)
{
	return is_plain ? vb_switch_poll_transmit(sw, p->number, now)
			: sw->machine.ops->poll_transmit(&sw->machine, p->number, now);
}

/* Asks @p, if it is free, and the ports that were woken. */
static inline void ports_serve(struct vb_sim *s, struct vb_switch *sw, bool is_plain,
			       struct vb_sim_turns *t, struct vb_port *p, vb_time now)
{
	for (; p; p = vb_ready_take(&s->ready)) {
		if (p->pull_at <= now) {
			bool was_empty = !vb_cable_next(&p->cable);

			p->pulled = true;
			vb_sim_port_send(s, p, frame_next(sw, is_plain, p, now), now);
			if (was_empty && vb_cable_next(&p->cable))
				vb_sim_apart_depart(s, p);
		}
		vb_turn_set(t, vb_turn_of_pull(p), p->pull_at);
	}
}

__attribute__((flatten)) void vb_sim_switch_run(struct vb_sim *s, uint32_t number, uint64_t end)
{
	struct vb_switch *sw = &s->sw[number];
	struct vb_sim_turns *t = &s->apart->turns[number];
	bool is_plain = vb_switch_is_plain(sw);
	uint64_t key, last = VB_TURN_NEVER;
	vb_time now = 0;

	frames_expect(sw);
	while ((key = t->key[1]) < end && !s->pool.ran_out) {
		uint32_t rank = (uint32_t)key & ((1u << VB_TURN_RANK_BITS) - 1);
		struct vb_port *p = sw->port[rank / 2], *far = NULL;

		now = vb_turn_time(t, key);
		s->event_cnt += key != last; /* frames that arrive together are one event */
		last = key;
		if (rank != vb_turn_of_pull(p)) {
			far = vb_sim_port_peer_of(p);

			struct vb_frame *f = vb_cable_poll_transmit(&far->cable, now);

			VB_ASSERT(f);
			/* It is the next one to come here. */
			__builtin_prefetch(vb_cable_next(&far->cable));
			vb_switch_handle_packet(sw, p->number, f, now);
			p = vb_ready_take(&s->ready);
		}
		ports_serve(s, sw, is_plain, t, p, now);
		if (far)
			vb_turn_set(t, rank, vb_cable_poll_timeout(&far->cable));
	}
	if (now > s->now)
		s->now = now;
}
