/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Brings into the cache the memory that the machines next in line will touch. Each step needs the
 * lines that the step before has brought, and has a machine's time or more: the port, then the
 * packets that arrive there and wait there, then the place of a receiving QP's address and the
 * sending QP, then the receiving QP or the port that a packet goes to, and the WQE that is sent. It
 * changes nothing that a run does.
 */
#include "sim/priv.h"
#include "sim/window/window.h"

/* How many turns ahead each step is. */
enum {
	AHEAD_PORT = 9,
	AHEAD_PACKET = 4,
	AHEAD_SOON = 3,
	AHEAD_NEXT = 2,
};
_Static_assert(AHEAD_PORT < VB_SIM_LINE, "the line has room");

/* Ports and QPs that stay in the caches by themselves: to look ahead costs more than it brings, 6 %
 * of an incast of 16 senders. */
#define CACHED_MAX 256u

bool vb_sim_look_ahead_pays(const struct vb_sim *s)
{
	uint32_t cnt = s->port_cnt;

	for (uint32_t i = 0; i < s->host_cnt && cnt <= CACHED_MAX; i++)
		cnt += vb_hca_qp_cnt(s->host[i].hca);
	return cnt > CACHED_MAX;
}

/* The port behind a machine number, or NULL. */
static const struct vb_port *port_of(const struct vb_sim *s, uint32_t id)
{
	return id - s->host_cnt < s->port_cnt ? &s->port[id - s->host_cnt] : NULL;
}

/* A call of a function that only prefetches is one that a compiler may leave out; so these are
 * always part of their caller. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* The lines of a port that a hop touches, and of the other end, where what arrives comes in. */
ALWAYS_INLINE void look_at_port(const struct vb_sim *s, const struct vb_port *p)
{
	const struct vb_port *in = &s->port[vb_sim_peer(p->id)];

	vb_port_expect(p);
	__builtin_prefetch(&in->rate_bps);
	__builtin_prefetch(&in->lane[0]);
}

/* Packets that arrive, and packets that wait there. */
ALWAYS_INLINE void look_at_packets(const struct vb_port *p)
{
	const struct vb_frame *f = vb_cable_next(&p->cable);

	__builtin_prefetch(f);
	__builtin_prefetch(p->lane[0].fifo.head);
	if (p->to_host)
		__builtin_prefetch((const char *)f + 64);
}

/* At a port a frame of its adapter comes next, or one that arrives at the other end, for another
 * port or for an adapter: the node there says where it will look. */
ALWAYS_INLINE void look_at_node(const struct vb_sim *s, const struct vb_port *p,
				enum vb_expect when)
{
	const struct vb_frame *f = vb_cable_next(&p->cable);
	vb_time arrival = vb_cable_poll_timeout(&p->cable);
	bool is_one = s->is_apart && p->at_host != p->to_host; /* of the two only one comes */
	const struct vb_port *in;

	if (p->at_host && (is_one || p->pull_at <= arrival))
		p->owner->ops->expect(p->owner, p->number, NULL, when);
	if (!f || (is_one ? !p->to_host : arrival > p->pull_at))
		return;
	in = vb_sim_port_peer_of((struct vb_port *)p);
	in->owner->ops->expect(in->owner, in->number, f, when);
}

void vb_sim_look_ahead(struct vb_sim *s)
{
	uint32_t now = s->ahead.turn++;
	const struct vb_port **line = s->ahead.line, *p;

#define LINE(ahead) line[(now + (ahead)) % VB_SIM_LINE]
	p = port_of(s, vb_eventq_ahead(&s->events, AHEAD_PORT - 1));
	if (p)
		look_at_port(s, p);
	p = LINE(AHEAD_PACKET) = port_of(s, vb_eventq_ahead(&s->events, AHEAD_PACKET - 1));
	if (p)
		look_at_packets(p);
	p = LINE(AHEAD_SOON);
	/* A switch has no tables that lead to what it touches. */
	if (p && (p->at_host || p->to_host))
		look_at_node(s, p, VB_EXPECT_SOON);
	p = LINE(AHEAD_NEXT);
	if (p)
		look_at_node(s, p, VB_EXPECT_NEXT);
#undef LINE
}
