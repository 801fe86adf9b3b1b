/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A completion queue whose entries are compressed (wqe/block.c): completions of one step of the
 * engine that differ in little become one block. Only from mlx5dv_init_obj() on, which is when a
 * program begins to read the queue by itself: the verbs read the core's.
 */
#include "verbs/ring/ring.h"

#include <stdlib.h>
#include <string.h>

struct vb_ring_block {
	struct vb_cqe_block block; /* what is held back */
	uint32_t first;            /* its place */
	/* By place: what an entry in a block does not say. The memory of entries is the program's
	 * to write, too. */
	bool solicited[];
};

static void settle_bell(struct vb_bell *b)
{
	vb_ring_block_settle(vb_container_of(b, struct vb_ring_cq, bell));
}

int vb_ring_block_make(struct vb_ring_cq *r)
{
	r->block = calloc(1, sizeof *r->block + r->cnt * sizeof r->block->solicited[0]);
	if (!r->block)
		return ENOMEM;
	r->bell.settle = settle_bell;
	return 0;
}

void vb_ring_block_free(struct vb_ring_block *k)
{
	free(k);
}

void vb_ring_block_note(struct vb_ring_cq *r, uint32_t place, bool solicited)
{
	r->block->solicited[place & (r->cnt - 1)] = solicited;
}

bool vb_ring_block_is_solicited(const struct vb_ring_cq *r, uint32_t place)
{
	return r->block->solicited[place & (r->cnt - 1)];
}

void vb_ring_block_settle(struct vb_ring_cq *r)
{
	struct vb_cqe_block *b = &r->block->block;
	uint32_t first = r->block->first;
	uint8_t *title = vb_ring_entry(r, first);

	if (b->cnt == 0)
		return;
	for (uint32_t i = 0; b->cnt > 1 && i * VB_MINI_CNT < b->cnt; i++)
		vb_cqe_block_array(b, i, vb_ring_entry(r, first + vb_cqe_block_place(i)));
	vb_ring_entry_release(title, vb_cqe_block_title(b, title));
	b->cnt = 0;
}

void vb_ring_block_take(struct vb_ring_cq *r, uint32_t place, const uint8_t *entry, bool solicited)
{
	struct vb_ring_block *k = r->block;
	uint8_t *to = vb_ring_entry(r, place);

	vb_ring_block_note(r, place, solicited);
	if (vb_cqe_block_add(&k->block, entry))
		return;
	vb_ring_block_settle(r);
	if (vb_cqe_block_begin(&k->block, entry)) {
		k->first = place;
		vb_bells_hold(vb_ibv_ctx(r->cq->ibv.context)->engine, &r->bell);
		return;
	}
	memcpy(to, entry, VB_CQE_BYTES - 1);
	vb_ring_entry_release(to, entry[VB_CQE_BYTES - 1]);
}
