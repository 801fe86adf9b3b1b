/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets that were captured where they left and where they arrived are one packet. Of packets with
 * the same bytes, such as one that was sent again, an arrival is that of the last one that had left
 * before it and has none yet.
 */
#include "traffic/priv.h"

#include <errno.h>
#include <stdlib.h>

/* Two clocks agree so well only, and a sender notes a packet when it is on its way already. */
#define SLACK_NS (500 * VB_USEC)

/* Packets that have no mate yet, by key, the last one first. */
struct chains {
	struct vb_map left, arrived;
	uint32_t *before; /* of each packet */
};

static bool chain_packet(struct chains *c, struct vb_map *m, uint64_t key, uint32_t i)
{
	c->before[i] = vb_map_get(m, key);
	return vb_map_put(m, key, i);
}

/* The last packet of the chain, which leaves it, or NONE. */
static uint32_t take_last(struct chains *c, struct vb_map *m, uint64_t key)
{
	uint32_t i = vb_map_get(m, key);

	if (i != NONE)
		(void)vb_map_put(m, key, c->before[i]);
	return i;
}

static void join_packets(struct vb_traffic *t, uint32_t a, uint32_t b)
{
	t->seen[a].mate = b;
	t->seen[b].mate = a;
	t->sums.both_ends++;
}

/* False: no memory. */
static bool match_packet(struct vb_traffic *t, struct chains *c, uint32_t i)
{
	struct seen *s = &t->seen[i];
	uint32_t mate;

	if (s->flags & SEEN_RECEIVED) {
		struct host *h = &t->host[t->way[s->way].dst];

		h->first = h->receives ? h->first : s->at;
		h->last = s->at;
		h->receives = true;
		mate = take_last(c, &c->left, s->key);
		if (mate == NONE)
			return chain_packet(c, &c->arrived, s->key, i);
		join_packets(t, mate, i);
	} else if (s->flags & SEEN_SENT) {
		mate = vb_map_get(&c->arrived, s->key);
		if (mate == NONE || s->at - t->seen[mate].at > SLACK_NS)
			return chain_packet(c, &c->left, s->key, i);
		(void)take_last(c, &c->arrived, s->key);
		join_packets(t, i, mate);
	}
	return true;
}

int vb_traffic_match(struct vb_traffic *t)
{
	struct chains c = {.before = calloc(t->seen_cnt, sizeof *c.before)};
	int rc = c.before ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < t->seen_cnt; i++)
		t->seen[i].mate = NONE;
	for (uint32_t i = 0; !rc && i < t->seen_cnt; i++)
		rc = match_packet(t, &c, i) ? 0 : -ENOMEM;
	vb_map_free(&c.left);
	vb_map_free(&c.arrived);
	free(c.before);
	return rc;
}
