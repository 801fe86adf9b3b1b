/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All-reduce by recursive halving and doubling (Rabenseifner, Optimization of Collective Reduction
 * Operations, 2004). Of n ranks a power of two take part, p: of the first 2 (n - p) each even one
 * gives its data to the rank behind it before, and gets the result from that rank afterwards. See
 * maker.h.
 */
#include "sim/load/graph/collective/maker.h"

#include "base/assert.h"

#include <errno.h>

/* Of n = p + extra ranks. */
struct fold {
	uint32_t p, extra;
};

/* The rank that takes part as number @i. */
static uint32_t rank_of(const struct fold *f, uint32_t i)
{
	return i < f->extra ? 2 * i + 1 : i + f->extra;
}

/* The half that number @i keeps in the step with the one at distance @d, or gives away. */
static struct vb_maker_range half_of(const struct vb_maker_range *r, uint32_t i, uint32_t d,
				     bool gives)
{
	uint64_t middle = r->begin + vb_maker_bytes(r) / 2;

	return ((i & d) == 0) != gives ? (struct vb_maker_range){r->begin, middle}
				       : (struct vb_maker_range){middle, r->end};
}

/* The part of the data that number @i has before the step with distance @d: it has been halved at
 * each larger distance. */
static struct vb_maker_range range_of(const struct vb_maker *m, const struct fold *f, uint32_t i,
				      uint32_t d)
{
	struct vb_maker_range r = {0, m->c->bytes};

	for (uint32_t k = f->p / 2; k > d; k /= 2)
		r = half_of(&r, i, k, false);
	VB_ASSERT_ALL(r.begin <= r.end && r.end <= m->c->bytes);
	return r;
}

/* With @doubles the halves go the other way. */
static int step_make(struct vb_maker *m, const struct fold *f, uint32_t d, bool doubles)
{
	if (vb_graph_is_full(m->g))
		return -E2BIG;
	m->tag++;
	for (uint32_t i = 0; i < f->p; i++) {
		uint32_t rank = rank_of(f, i), peer = rank_of(f, i ^ d);
		struct vb_maker_range r = range_of(m, f, i, d);
		struct vb_maker_range own = half_of(&r, i, d, false),
				      other = half_of(&r, i, d, true);

		vb_maker_step_send(m, rank, peer, vb_maker_bytes(doubles ? &own : &other));
		vb_maker_step_recv(m, rank, peer, vb_maker_bytes(doubles ? &other : &own));
	}
	return 0;
}

/* All data goes between the ranks that have no number and those beside them. */
static void extra_make(struct vb_maker *m, const struct fold *f, bool back)
{
	m->tag++;
	for (uint32_t i = 0; i < f->extra; i++) {
		uint32_t from = 2 * i + back, to = 2 * i + !back;

		vb_maker_step_send(m, from, to, m->c->bytes);
		vb_maker_step_recv(m, to, from, m->c->bytes);
	}
}

int vb_maker_halving(struct vb_maker *m)
{
	struct fold f = {1, 0};
	int err = 0;

	while (f.p <= m->c->ranks / 2)
		f.p *= 2;
	f.extra = m->c->ranks - f.p;
	VB_ASSERT(f.extra < f.p);
	extra_make(m, &f, false);
	for (uint32_t d = f.p / 2; !err && d > 0; d /= 2)
		err = step_make(m, &f, d, false);
	for (uint32_t d = 1; !err && d < f.p; d *= 2)
		err = step_make(m, &f, d, true);
	extra_make(m, &f, true);
	return err;
}
