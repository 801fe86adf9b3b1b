/* SPDX-License-Identifier: BSD-2-Clause */
/* Choices among next hops. See multipath.h. */
#include "fabric/eth/multipath.h"

#include "base/assert.h"

#define MBPS UINT64_C(1000000)

/* Next hops of a frame, of which there are several. */
struct hops {
	const uint32_t *number;
	uint32_t cnt;
	struct vb_port *const *port;
};

size_t vb_multipath_size(const struct vb_multipath_config *c, uint32_t subnets)
{
	size_t bytes = sizeof(struct vb_multipath);

	if (c->kind == VB_MULTIPATH_SPRAY)
		bytes += subnets * sizeof(uint32_t);
	if (c->kind == VB_MULTIPATH_FLOWLET)
		bytes += c->flowlet_cnt * sizeof(struct vb_flowlet);
	return (bytes + 63) & ~(size_t)63;
}

void vb_multipath_init(struct vb_multipath *m, const struct vb_multipath_config *c,
		       uint32_t subnets, struct vb_rng rng)
{
	VB_ASSERT_ALL(c->kind > VB_MULTIPATH_ECMP && c->kind < VB_MULTIPATH_KINDS);
	*m = (struct vb_multipath){.cfg = c, .rng = rng, .subnet_cnt = subnets};
	if (c->kind == VB_MULTIPATH_SPRAY)
		m->turn = (uint32_t *)(m + 1);
	if (c->kind == VB_MULTIPATH_FLOWLET)
		m->flowlet = (struct vb_flowlet *)(m + 1);
	/* Switches that begin with the same hop would meet behind it. */
	for (uint32_t i = 0; m->turn && i < subnets; i++)
		m->turn[i] = (uint32_t)vb_rng_next(&m->rng);
}

/* The part @x of 2^32 of a set. */
static uint32_t hop_at(const struct hops *h, uint32_t x)
{
	return h->number[(uint32_t)((uint64_t)x * h->cnt >> 32)];
}

/* Turns are taken by subnet: with one turn for all, flows to two subnets that come one by one would
 * each have half of the hops. */
static uint32_t turn_take(struct vb_multipath *m, const struct vb_forward *fw, uint32_t address,
			  const struct hops *h)
{
	uint32_t subnet = fw->map->site[address - fw->map->first].subnet;

	VB_ASSERT_ALL(subnet < m->subnet_cnt);
	return h->number[m->turn[subnet]++ % h->cnt];
}

static uint32_t flowlet_follow(struct vb_multipath *m, uint32_t x, const struct hops *h,
			       vb_time now)
{
	struct vb_flowlet *f = &m->flowlet[(uint64_t)x * m->cfg->flowlet_cnt >> 32];

	if (now >= f->until)
		f->pick = (uint32_t)vb_rng_next(&m->rng);
	f->until = vb_time_after(now, m->cfg->flowlet_gap + 1);
	VB_ASSERT_ALL(f->until > now);
	return hop_at(h, f->pick);
}

/* Of the shortest queues the first one from a hop on. With that of the hash a flow stays where it
 * is while others are no shorter; at random all of them are taken, and ways that part here meet
 * less often behind (DRILL, SIGCOMM 2017). A queue into a cable that is apart drains at once, and
 * is not short for that. */
static uint32_t shortest_find(struct vb_multipath *m, uint32_t x, const struct hops *h,
			      uint8_t prio)
{
	uint32_t from = m->cfg->random_ties ? (uint32_t)(vb_rng_next(&m->rng) >> 32) : x;
	uint32_t at = (uint32_t)((uint64_t)from * h->cnt >> 32), best = at;
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < h->cnt; i++) {
		const struct vb_port *p = h->port[h->number[at]];
		uint64_t steps =
		    p->cable.down ? UINT64_MAX - 1 : p->lane[prio].bytes / m->cfg->queue_step;

		if (steps < least) {
			least = steps;
			best = at;
		}
		at = at + 1 == h->cnt ? 0 : at + 1;
	}
	VB_ASSERT_ALL(least != UINT64_MAX && best < h->cnt);
	return h->number[best];
}

/* In whole Mbps, so the product with 20 bits of the hash has room for any number of ports. */
static uint32_t weighted_find(const struct hops *h, uint32_t x)
{
	uint64_t total = 0, at;
	uint32_t i = 0;

	for (uint32_t k = 0; k < h->cnt; k++)
		total += h->port[h->number[k]]->rate_bps / MBPS;
	VB_ASSERT_ALL(total >> 44 == 0);
	for (at = (x >> 12) * total >> 20; i + 1 < h->cnt; i++) {
		uint64_t weight = h->port[h->number[i]]->rate_bps / MBPS;

		if (at < weight)
			break;
		at -= weight;
	}
	return h->number[i];
}

uint32_t vb_multipath_port(struct vb_multipath *m, const struct vb_forward *fw,
			   struct vb_port *const *port, const struct vb_frame *f, vb_time now)
{
	struct hops h = {.port = port};
	uint32_t x = vb_forward_mix(fw, f->hash);

	h.cnt = vb_forward_hops(fw, f->to, &h.number);
	if (h.cnt == 0)
		return VB_FORWARD_NONE;
	if (h.cnt == 1)
		return h.number[0];
	switch ((enum vb_multipath_kind)m->cfg->kind) {
	case VB_MULTIPATH_SPRAY:
		return turn_take(m, fw, f->to, &h);
	case VB_MULTIPATH_RANDOM:
		return hop_at(&h, (uint32_t)(vb_rng_next(&m->rng) >> 32));
	case VB_MULTIPATH_FLOWLET:
		return flowlet_follow(m, x, &h, now);
	case VB_MULTIPATH_ADAPTIVE:
		return shortest_find(m, x, &h, f->prio);
	case VB_MULTIPATH_WEIGHTED:
		return weighted_find(&h, x);
	case VB_MULTIPATH_ECMP:
	case VB_MULTIPATH_KINDS:
		break;
	}
	return hop_at(&h, x);
}
