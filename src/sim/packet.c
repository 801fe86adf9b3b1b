/* SPDX-License-Identifier: BSD-2-Clause */
/* The pool of packets. See packet.h. */
#include "sim/packet.h"

#define SLAB_PKTS 1024u
#define ALIGN 64u

static bool grow(struct vb_sim_pool *pool)
{
	uint32_t n = pool->max - pool->cnt < SLAB_PKTS ? pool->max - pool->cnt : SLAB_PKTS;
	size_t head = sizeof(struct vb_sim_slab) + ALIGN - 1;
	struct vb_sim_slab *slab = n ? pool->alloc(pool->alloc_ctx, head + n * pool->stride) : NULL;

	if (!slab)
		return false;

	/* On lines of their own: forwarding a packet then touches one. */
	uintptr_t first = ((uintptr_t)(slab + 1) + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1);

	slab->next = pool->slabs;
	pool->slabs = slab;
	pool->cnt += n;
	for (uint32_t i = n; i-- > 0;) {
		struct vb_sim_packet *p = (struct vb_sim_packet *)(first + i * pool->stride);

		p->next = pool->free;
		pool->free = p;
	}
	return true;
}

struct vb_sim_packet *vb_sim_pool_take(struct vb_sim_pool *pool)
{
	if (!pool->free && !grow(pool))
		return NULL;

	struct vb_sim_packet *p = pool->free;

	pool->free = p->next;
	if (++pool->used > pool->used_max)
		pool->used_max = pool->used;
	return p;
}

void vb_sim_pool_destroy(struct vb_sim_pool *pool)
{
	while (pool->slabs) {
		struct vb_sim_slab *s = pool->slabs;

		pool->slabs = s->next;
		pool->release(pool->alloc_ctx, s);
	}
}
