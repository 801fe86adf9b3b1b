/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rings: each rank sends to the next one and receives from the one before, a part of the data at a
 * time. n - 1 steps add all parts up, each at one rank; n - 1 more bring them to all. See maker.h.
 */
#include "sim/load/graph/collective/maker.h"

#include "base/assert.h"

#include <errno.h>

/* One step of each member, in which member i sends part i + @ahead - step. */
static void step_make(struct vb_maker *m, const struct vb_maker_group *group,
		      const struct vb_maker_range *data, uint32_t part)
{
	uint32_t n = group->cnt;

	m->tag++;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t rank = vb_maker_rank(group, i);
		struct vb_maker_range out = vb_maker_part(data, (i + part) % n, n);
		struct vb_maker_range in = vb_maker_part(data, (i + part + n - 1) % n, n);

		vb_maker_step_send(m, rank, vb_maker_rank(group, i + 1), vb_maker_bytes(&out));
		vb_maker_step_recv(m, rank, vb_maker_rank(group, i + n - 1), vb_maker_bytes(&in));
	}
}

/* Afterwards member i has the sum of part i + 1. */
static int parts_reduce(struct vb_maker *m, const struct vb_maker_group *group,
			const struct vb_maker_range *data)
{
	for (uint32_t step = 0; step + 1 < group->cnt; step++) {
		if (vb_graph_is_full(m->g))
			return -E2BIG;
		step_make(m, group, data, group->cnt - step);
	}
	return 0;
}

/* Before, member i has part i + 1. */
static int parts_gather(struct vb_maker *m, const struct vb_maker_group *group,
			const struct vb_maker_range *data)
{
	for (uint32_t step = 0; step + 1 < group->cnt; step++) {
		if (vb_graph_is_full(m->g))
			return -E2BIG;
		step_make(m, group, data, group->cnt + 1 - step);
	}
	return 0;
}

int vb_maker_ring(struct vb_maker *m)
{
	const struct vb_maker_group all = {0, 1, m->c->ranks};
	const struct vb_maker_range data = {0, m->c->bytes};
	int err = 0;

	if (m->c->kind != VB_ALL_GATHER)
		err = parts_reduce(m, &all, &data);
	if (!err && m->c->kind != VB_REDUCE_SCATTER)
		err = parts_gather(m, &all, &data);
	return err;
}

/* The data of the ranks that have the same place in their groups: these reduce it among each other.
 */
static int across_reduce(struct vb_maker *m, uint32_t place)
{
	uint32_t local = m->c->local;
	const struct vb_maker_range data = {0, m->c->bytes};
	const struct vb_maker_group peers = {place, local, m->c->ranks / local};
	const struct vb_maker_range part = vb_maker_part(&data, (place + 1) % local, local);
	int err = parts_reduce(m, &peers, &part);

	return err ? err : parts_gather(m, &peers, &part);
}

int vb_maker_hierarchical(struct vb_maker *m)
{
	uint32_t local = m->c->local, groups = m->c->ranks / local;
	const struct vb_maker_range data = {0, m->c->bytes};
	int err = 0;

	VB_ASSERT(groups * local == m->c->ranks);
	for (uint32_t i = 0; !err && i < groups; i++)
		err = parts_reduce(m, &(struct vb_maker_group){i * local, 1, local}, &data);
	for (uint32_t i = 0; !err && i < local; i++)
		err = across_reduce(m, i);
	for (uint32_t i = 0; !err && i < groups; i++)
		err = parts_gather(m, &(struct vb_maker_group){i * local, 1, local}, &data);
	return err;
}
