/* SPDX-License-Identifier: BSD-2-Clause */
/* Exchanges, in which each rank has something for each other one; and experts, to which ranks send
 * more or less. See maker.h. */
#include "sim/load/graph/collective/maker.h"

#include "base/assert.h"
#include "sim/load/draw.h"

#include <errno.h>

#define WEIGHT_SHIFT 16 /* of what vb_exp_draw() draws, so that products have room */

static uint64_t share_of(const struct vb_maker *m, uint32_t to)
{
	const struct vb_maker_range data = {0, m->c->bytes};
	struct vb_maker_range r = vb_maker_part(&data, to, m->c->ranks);

	return vb_maker_bytes(&r);
}

int vb_maker_exchange(struct vb_maker *m)
{
	uint32_t n = m->c->ranks;

	for (uint32_t d = 1; d < n; d++) {
		m->tag = d;
		if (vb_graph_is_full(m->g))
			return -E2BIG;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t to = (i + d) % n, from = (i + n - d) % n;

			if (m->algorithm == VB_PAIRWISE) {
				vb_maker_step_send(m, i, to, share_of(m, to));
				vb_maker_step_recv(m, i, from, share_of(m, i));
			} else {
				(void)vb_maker_send(m, i, to, share_of(m, to), VB_GRAPH_NONE);
				(void)vb_maker_recv(m, i, from, share_of(m, i), VB_GRAPH_NONE);
			}
		}
	}
	return 0;
}

/* The weight of what @from has for the experts of @to. */
static uint64_t weight_of(const struct vb_maker *m, uint32_t from, uint32_t to)
{
	struct vb_rng r = vb_rng_stream(m->c->seed, "moe", (uint64_t)from * m->c->ranks + to);

	return (vb_exp_draw(&r) >> WEIGHT_SHIFT) + 1;
}

/* With the sums of weights in m->sum. */
static uint64_t tokens_of(const struct vb_maker *m, uint32_t from, uint32_t to)
{
	uint64_t weight = weight_of(m, from, to), sum = m->sum[from];
	uint64_t whole = m->c->bytes / sum, rest = m->c->bytes % sum;

	VB_ASSERT(weight <= sum);
	return whole * weight + rest * weight / sum;
}

static void weights_sum(struct vb_maker *m)
{
	for (uint32_t i = 0; i < m->c->ranks; i++) {
		m->sum[i] = 0;
		for (uint32_t k = 0; k < m->c->ranks; k++)
			m->sum[i] += weight_of(m, i, k);
	}
}

/* The time of the experts of @rank: in proportion to the tokens that they have. */
static vb_dur work_of(const struct vb_maker *m, uint32_t rank)
{
	uint64_t got = 0, all = m->c->bytes;

	for (uint32_t i = 0; i < m->c->ranks; i++)
		got += tokens_of(m, i, rank);
	while ((got | all) >> 31) { /* the product has room */
		got >>= 1;
		all >>= 1;
	}
	return all ? got / all * m->c->work + m->c->work / all * (got % all) +
			 m->c->work % all * (got % all) / all
		   : m->c->work;
}

/* All of @rank: it sends and gets tokens, its experts work, and tokens go back. */
static void rank_make(struct vb_maker *m, uint32_t rank)
{
	uint32_t n = m->c->ranks, work;

	for (uint32_t d = 1; d < n; d++) {
		uint32_t to = (rank + d) % n, from = (rank + n - d) % n;

		m->tag = 0;
		vb_maker_send(m, rank, to, tokens_of(m, rank, to), VB_GRAPH_NONE);
		vb_maker_step_recv(m, rank, from, tokens_of(m, from, rank));
	}
	work = vb_maker_calc(m, rank, work_of(m, rank), m->tail[rank]);
	for (uint32_t d = 1; d < n; d++) {
		uint32_t to = (rank + d) % n, from = (rank + n - d) % n;

		m->tag = 1;
		vb_maker_send(m, rank, from, tokens_of(m, from, rank), work);
		vb_maker_recv(m, rank, to, tokens_of(m, rank, to), VB_GRAPH_NONE);
	}
}

int vb_maker_moe(struct vb_maker *m)
{
	uint64_t n = m->c->ranks;

	/* It takes time before the first operation. */
	if (4 * n * (n - 1) + n > VB_GRAPH_OPS_MAX)
		return -E2BIG;
	weights_sum(m);
	for (uint32_t i = 0; i < n; i++)
		rank_make(m, i);
	return 0;
}
