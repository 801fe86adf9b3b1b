/* SPDX-License-Identifier: BSD-2-Clause */
/* The tidings of the ranks of a simulation for each other. See ranks.h. */
#include "sim/ranks.h"

#include "base/assert.h"
#include "sim/priv.h"

#include <errno.h>
#include <string.h>

#define BYTES_FIRST 4096u

/* After a window, of the part of a rank. */
struct tidings {
	vb_time now, next;
	uint32_t frame_cnt;
	bool ran_out;
};

/* At the end. */
struct totals {
	uint64_t hops, event_cnt;
	uint32_t used_max;
};

void vb_rank_put(struct vb_rank_bytes *b, const void *p, size_t len)
{
	if (len > b->cap - b->len) {
		size_t cap = b->cap ? b->cap : BYTES_FIRST;
		uint8_t *more;

		while (cap - b->len < len)
			cap *= 2;
		more = b->memory.alloc(b->memory.ctx, cap);
		if (!more) {
			b->ran_out = true;
			return;
		}
		if (b->p) {
			memcpy(more, b->p, b->len);
			b->memory.free(b->memory.ctx, b->p);
		}
		b->p = more;
		b->cap = cap;
	}
	memcpy(b->p + b->len, p, len);
	b->len += len;
}

void vb_rank_get(struct vb_rank_reader *r, void *p, size_t len)
{
	if (len > r->left) {
		r->is_bad = true;
		r->left = 0;
		memset(p, 0, len);
		return;
	}
	memcpy(p, r->p, len);
	r->p += len;
	r->left -= len;
}

void vb_rank_bytes_free(struct vb_rank_bytes *b)
{
	if (b->p)
		b->memory.free(b->memory.ctx, b->p);
	*b = (struct vb_rank_bytes){.memory = b->memory};
}

int vb_sim_set_rank(struct vb_sim *s, uint32_t rank)
{
	struct vb_sim_cut *c = s->cut;

	VB_ASSERT_ALL(c && rank < c->part_cnt && !c->told);
	if (s->change_cnt)
		return -ENOTSUP;
	c->told = vb_sim_alloc(s, c->part_cnt * sizeof *c->told);
	c->count = vb_sim_alloc(s, s->port_cnt * sizeof *c->count);
	if (!c->told || !c->count)
		return -ENOMEM;
	c->own = rank;
	return 0;
}

void vb_sim_rank_pack(struct vb_sim *s, uint32_t to, struct vb_rank_bytes *b)
{
	struct vb_sim_cut *c = s->cut;
	struct vb_sim *p = c->part[c->own];
	struct vb_sim_box *box = &p->box[c->window & 1][to];
	struct tidings t;

	memset(&t, 0, sizeof t);
	t.now = p->now;
	t.next = vb_time_min(vb_sim_events_next(p), p->sent_at);
	t.frame_cnt = box->cnt;
	t.ran_out = p->pool.ran_out;
	c->told[c->own] = t.next;
	c->own_ran_out = t.ran_out;
	vb_rank_put(b, &t, sizeof t);
	for (uint32_t i = 0; i < box->cnt; i++) {
		struct vb_sim_parcel *at = &box->parcel[i];

		vb_rank_put(b, &at->port, sizeof at->port);
		vb_rank_put(b, at->frame, p->pool.stride);
		/* It stays here. */
		(void)vb_frame_pool_join(&p->pool);
		vb_frame_pool_give(&p->pool, at->frame);
	}
	box->cnt = 0;
	p->owed[to] = 0;
}

void vb_sim_rank_unpack(struct vb_sim *s, uint32_t from, struct vb_rank_reader *r)
{
	struct vb_sim_cut *c = s->cut;
	struct vb_sim *p = c->part[c->own], *far = c->part[from];
	struct tidings t;

	vb_rank_get(r, &t, sizeof t);
	if (t.now > far->now)
		far->now = t.now;
	c->told[from] = t.next;
	far->pool.ran_out |= t.ran_out;
	for (uint32_t i = 0; i < t.frame_cnt && !r->is_bad; i++) {
		struct vb_frame *f = vb_frame_pool_take(&p->pool);
		uint32_t port;

		if (!f)
			return; /* the run ends */
		vb_rank_get(r, &port, sizeof port);
		vb_rank_get(r, f, p->pool.stride);
		r->is_bad |= port >= s->port_cnt;
		if (r->is_bad)
			vb_frame_pool_give(&p->pool, f);
		else
			vb_sim_cut_arrive(p, f, port);
	}
}

/* Ports and nodes of part @part: a cable with faults is in one part with both ends. */
static bool is_of_part(const struct vb_sim *s, uint32_t node, uint32_t part)
{
	uint32_t nodes = s->host_cnt + s->switch_cnt;

	if (node < nodes)
		return s->cut->of_node[node] == part;
	node -= nodes;
	return 2 * node < s->port_cnt ? s->cut->of_port[2 * node] == part : part == 0;
}

void vb_sim_rank_pack_counts(const struct vb_sim *s, struct vb_rank_bytes *b)
{
	const struct vb_sim_cut *c = s->cut;
	const struct vb_sim *p = c->part[c->own];
	struct totals t;

	memset(&t, 0, sizeof t);
	t.hops = p->hops;
	t.event_cnt = p->event_cnt;
	t.used_max = p->pool.used_max;
	vb_rank_put(b, &t, sizeof t);
	for (uint32_t i = 0; i < s->host_cnt; i++)
		if (c->of_node[i] == c->own)
			vb_rank_put(b, &s->host[i].counters, sizeof s->host[i].counters);
	for (uint32_t i = 0; i < s->port_cnt; i++) {
		struct vb_sim_port_count n;

		if (c->of_port[i] != c->own)
			continue;
		memset(&n, 0, sizeof n);
		memcpy(n.port, &p->port[i], sizeof n.port);
		n.lost = p->port[i].cable.hooks ? p->port[i].cable.hooks->lost : 0;
		vb_rank_put(b, &n, sizeof n);
	}
	for (uint32_t i = 0; i < vb_sim_trace_nodes(s); i++)
		if (is_of_part(s, i, c->own))
			vb_rank_put(b, &s->digest[i], sizeof s->digest[i]);
}

void vb_sim_rank_unpack_counts(struct vb_sim *s, uint32_t from, struct vb_rank_reader *r)
{
	struct vb_sim_cut *c = s->cut;
	struct totals t;

	vb_rank_get(r, &t, sizeof t);
	c->part[from]->hops = t.hops;
	c->part[from]->event_cnt = t.event_cnt;
	c->part[from]->pool.used_max = t.used_max;
	for (uint32_t i = 0; i < s->host_cnt; i++)
		if (c->of_node[i] == from)
			vb_rank_get(r, &s->host[i].counters, sizeof s->host[i].counters);
	for (uint32_t i = 0; i < s->port_cnt; i++)
		if (c->of_port[i] == from)
			vb_rank_get(r, &c->count[i], sizeof c->count[i]);
	for (uint32_t i = 0; i < vb_sim_trace_nodes(s); i++)
		if (is_of_part(s, i, from))
			vb_rank_get(r, &s->digest[i], sizeof s->digest[i]);
	c->is_counted = true;
}
