/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Brings the clock of the second capture to that of the first. Of packets that are in both, once in
 * each, the shortest time of either direction is taken: half of their difference is how far the
 * second clock is ahead, as if the fastest packets took equally long both ways, which cannot be
 * wrong by more than half of their sum. As clocks drift, so for each stretch of time.
 */
#include "traffic/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STRETCHES_MAX 64u
#define STRETCH_NS (2 * VB_SEC)

/* The shortest apparent times in a stretch of the second capture. */
struct stretch {
	bool there, back;
	int64_t least_there, least_back; /* from the first capture to the second; from that */
};

struct clocks {
	struct vb_traffic *t;
	vb_time from;
	vb_dur length; /* of a stretch */
	uint32_t cnt;
	struct stretch stretch[STRETCHES_MAX];
};

/* Where the packets of file @file are, those that are in it twice marked with NONE. */
static int index_file(const struct vb_traffic *t, uint8_t file, struct vb_map *m)
{
	for (uint32_t i = 0; i < t->seen_cnt; i++) {
		const struct seen *s = &t->seen[i];

		/* A packet that Verbena sends to itself is in one capture twice, at either end. */
		if (s->file != file || !(s->flags & (SEEN_SENT | SEEN_RECEIVED)))
			continue;
		if (!vb_map_put(m, s->key,
				vb_map_get(m, s->key) == NONE && m->cnt < UINT32_MAX ? i
										     : t->seen_cnt))
			return -ENOMEM;
	}
	return 0;
}

static void take_sample(struct clocks *c, const struct seen *first, const struct seen *second)
{
	int64_t d = (int64_t)(second->at - first->at);
	uint64_t k = (second->at - c->from) / c->length;
	struct stretch *s = &c->stretch[k < c->cnt ? k : c->cnt - 1];

	if (first->flags & SEEN_SENT && second->flags & SEEN_RECEIVED) {
		s->least_there = s->there && s->least_there < d ? s->least_there : d;
		s->there = true;
	} else if (first->flags & SEEN_RECEIVED && second->flags & SEEN_SENT) {
		s->least_back = s->back && s->least_back < -d ? s->least_back : -d;
		s->back = true;
	} else {
		return;
	}
	c->t->sums.clock_samples++;
}

static int take_samples(struct clocks *c)
{
	struct vb_traffic *t = c->t;
	struct vb_map first = {0}, second = {0};
	int rc = index_file(t, 0, &first);

	if (!rc)
		rc = index_file(t, 1, &second);
	for (uint32_t i = 0; !rc && i < t->seen_cnt; i++) {
		const struct seen *s = &t->seen[i];
		uint32_t k = s->file == 1 && vb_map_get(&second, s->key) == i
				 ? vb_map_get(&first, s->key)
				 : NONE;

		if (k < t->seen_cnt)
			take_sample(c, &t->seen[k], s);
	}
	vb_map_free(&first);
	vb_map_free(&second);
	return rc;
}

/* Stretches without packets of both directions are as the whole capture is. */
static void fill_stretches(struct clocks *c)
{
	struct stretch all = {0};

	for (uint32_t i = 0; i < c->cnt; i++) {
		const struct stretch *s = &c->stretch[i];

		if (s->there && (!all.there || s->least_there < all.least_there))
			all.least_there = s->least_there;
		if (s->back && (!all.back || s->least_back < all.least_back))
			all.least_back = s->least_back;
		all.there |= s->there;
		all.back |= s->back;
	}
	/* Of one direction alone: as if the fastest packet took no time. */
	if (!all.there)
		all.least_there = -all.least_back;
	if (!all.back)
		all.least_back = -all.least_there;
	for (uint32_t i = 0; i < c->cnt; i++)
		if (!c->stretch[i].there || !c->stretch[i].back) {
			/* The one before it is nearer than the whole. */
			if (i && c->stretch[i - 1].there && c->stretch[i - 1].back)
				c->stretch[i] = c->stretch[i - 1];
			else
				c->stretch[i] = all;
		}
}

static int64_t stretch_ahead(const struct stretch *s)
{
	return s->least_there / 2 - s->least_back / 2;
}

/* How far ahead the second clock is at its time @at: between the middles of stretches in a straight
 * line. */
static int64_t ahead_at(const struct clocks *c, vb_time at)
{
	uint64_t half = c->length / 2, since = vb_time_since(c->from + half, at);
	uint64_t i = since / c->length;
	int64_t a, b;

	if (at < c->from + half)
		return stretch_ahead(&c->stretch[0]);
	if (i + 1 >= c->cnt)
		return stretch_ahead(&c->stretch[c->cnt - 1]);
	a = stretch_ahead(&c->stretch[i]);
	b = stretch_ahead(&c->stretch[i + 1]);
	return a + (int64_t)((double)(b - a) * (double)(since % c->length) / (double)c->length);
}

int vb_traffic_align_clocks(struct vb_traffic *t)
{
	struct clocks c = {.t = t, .from = VB_NEVER};
	vb_time last = 0;
	int64_t error;
	int rc;

	for (uint32_t i = 0; i < t->seen_cnt; i++) {
		if (t->seen[i].file != 1)
			continue;
		c.from = vb_time_min(c.from, t->seen[i].at);
		last = vb_time_max(last, t->seen[i].at);
	}
	if (c.from == VB_NEVER)
		return 0;
	c.cnt = (uint32_t)vb_time_min(STRETCHES_MAX, 1 + (last - c.from) / STRETCH_NS);
	c.length = (last - c.from) / c.cnt + 1;
	rc = take_samples(&c);
	if (rc || t->sums.clock_samples == 0)
		return rc;
	fill_stretches(&c);
	t->sums.clock_ahead_ns = stretch_ahead(&c.stretch[0]);
	error = (c.stretch[0].least_there + c.stretch[0].least_back) / 2;
	/* Below 0 when one of them notes packets late. */
	t->sums.clock_error_ns = (uint64_t)(error < 0 ? -error : error);
	for (uint32_t i = 0; i < t->seen_cnt; i++) {
		struct seen *s = &t->seen[i];

		if (s->file == 1)
			s->at -= (uint64_t)ahead_at(&c, s->at);
	}
	for (uint32_t i = 0; i < t->rate_cnt; i++)
		if (t->rate[i].file == 1)
			t->rate[i].at -= (uint64_t)ahead_at(&c, t->rate[i].at);
	return 0;
}
