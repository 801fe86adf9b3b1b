/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which QPs speak with each other. The header of an RC packet names the destination alone; an
 * answer has the PSN of the request, and in most adapters both directions of a connection use one
 * UDP source port (facts B.1). So the way of an answer belongs to a way of requests between the
 * same hosts in which its PSN is under way: the only one, the only one with its port, or the one
 * that sent this PSN last, when more answers say the same.
 */
#include "traffic/priv.h"

#include "wire/opcode.h"

#include <errno.h>
#include <stdlib.h>

#define RECENT_PSNS 4096 /* requests that an answer may be of */
#define GUESSES 4u       /* answers in a row that have to agree */
#define TRIED_MAX 512u   /* ways that are looked at for an answer */

static bool may_answer(const struct way *w, const struct seen *s)
{
	int32_t d = vb_psn_diff(w->nxt, vb_psn(s->psn));

	return w->begun && w->back == NONE && d > 0 && d <= RECENT_PSNS;
}

static void pair_ways(struct vb_traffic *t, uint32_t a, uint32_t b)
{
	t->way[a].back = b;
	t->way[b].back = a;
}

/* A response without a known way of requests: looks for it. */
static void look_for_requests(struct vb_traffic *t, const struct seen *s)
{
	struct way *v = &t->way[s->way];
	uint32_t all = 0, same_port = 0, with_port = NONE, nearest = NONE, tried = 0;

	for (uint32_t i = vb_traffic_ways_between(t, v->dst, v->src);
	     i != NONE && tried < TRIED_MAX; i = t->way[i].next, tried++) {
		const struct way *w = &t->way[i];

		/* From an address to itself a way could be its own answer. */
		if (i == s->way || !may_answer(w, s))
			continue;
		all++;
		if (nearest == NONE || vb_psn_diff(w->nxt, t->way[nearest].nxt) < 0)
			nearest = i;
		if (w->sport == v->sport) {
			same_port++;
			with_port = i;
		}
	}
	if (all == 0)
		return;
	if (same_port == 1)
		nearest = with_port;
	if (all == 1 || same_port == 1) {
		pair_ways(t, s->way, nearest);
		return;
	}
	v->guess_cnt = v->guess == nearest ? v->guess_cnt + 1 : 1;
	v->guess = nearest;
	if (v->guess_cnt == GUESSES)
		pair_ways(t, s->way, nearest);
}

/* Ways that name both QPs, and those of answers. */
static int find_ways_back(struct vb_traffic *t)
{
	for (uint32_t i = 0; i < t->way_cnt; i++) {
		const struct way w = t->way[i];
		uint32_t back;

		if (w.sqpn == 0 || w.back != NONE)
			continue;
		back = vb_traffic_way(t, w.dst, w.src, w.sqpn, w.dqpn);
		if (back == NONE && t->way_cnt < WAYS_MAX)
			return -ENOMEM;
		if (back != NONE && back != i)
			pair_ways(t, i, back);
	}
	for (uint32_t i = 0; i < t->seen_cnt; i++) {
		const struct seen *s = &t->seen[i];
		struct way *w = &t->way[s->way];

		if (!vb_seen_first(s))
			continue;
		if (vb_seen_request(s)) {
			w->nxt = w->begun ? vb_psn_later(w->nxt, vb_psn(s->psn + 1))
					  : vb_psn(s->psn + 1);
			w->begun = true;
		} else if (vb_seen_response(s) && w->back == NONE) {
			look_for_requests(t, s);
		}
	}
	for (uint32_t i = 0; i < t->way_cnt; i++) {
		struct way *w = &t->way[i];

		if (w->back == NONE && w->guess != NONE && t->way[w->guess].back == NONE)
			pair_ways(t, i, w->guess);
	}
	return 0;
}

/* The connection of way @i, from its beginning to its end, and of the way back. */
static int name_connection(struct vb_traffic *t, uint32_t i)
{
	struct way *w = &t->way[i], *back = w->back == NONE ? NULL : &t->way[w->back];
	struct vb_step_ends *e = &t->ends[t->connection_cnt];

	*e = (struct vb_step_ends){.host = {w->src, w->dst},
				   .qpn = {back ? back->dqpn : w->sqpn, w->dqpn}};
	if (w->src == w->dst) {
		struct vb_gid gid = t->host[w->src].gid;

		e->host[1] = vb_traffic_host_of(t, &gid, true);
		if (e->host[1] == NONE)
			e->host[1] = w->dst;
	}
	w->side = 0;
	w->connection = t->connection_cnt;
	if (back) {
		back->side = 1;
		back->connection = t->connection_cnt;
	}
	t->connection_cnt++;
	return 0;
}

int vb_traffic_find_ends(struct vb_traffic *t)
{
	int rc = find_ways_back(t);

	if (rc)
		return rc;
	t->ends = calloc(t->way_cnt + 1, sizeof *t->ends);
	if (!t->ends)
		return -ENOMEM;
	/* In the order of their first packets. */
	for (uint32_t i = 0; i < t->seen_cnt; i++)
		if (t->way[t->seen[i].way].connection == NONE)
			(void)name_connection(t, t->seen[i].way);
	for (uint32_t i = 0; i < t->way_cnt; i++)
		t->way[i].begun = false;
	return 0;
}
