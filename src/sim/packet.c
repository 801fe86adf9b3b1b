/* SPDX-License-Identifier: BSD-2-Clause */
/* The pool of packets. See packet.h. */
#include "sim/packet.h"

/* What a block of scenario/arena.h has at most that lies in a large page. Packets of a length only
 * fit in by the hundred; of others there are SLAB_PKTS at least. */
#define SLAB_BYTES 65000u
#define SLAB_PKTS 64u
#define ALIGN 64u

static bool grow(struct vb_sim_pool *pool)
{
	size_t head = sizeof(struct vb_sim_slab) + ALIGN - 1;
	uint32_t n = (uint32_t)((SLAB_BYTES - head) / pool->stride);

	if (n < SLAB_PKTS)
		n = SLAB_PKTS;
	if (n > pool->max - pool->cnt)
		n = pool->max - pool->cnt;

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

		p->behind.next = pool->free;
		pool->free = p;
	}
	return true;
}

struct vb_sim_packet *vb_sim_pool_take(struct vb_sim_pool *pool)
{
	if (!pool->free && !grow(pool))
		return NULL;

	struct vb_sim_packet *p = pool->free;

	pool->free = p->behind.next;
	/* The next one, which may have been free for long: what it is taken and filled by. */
	__builtin_prefetch(pool->free, 1);
	__builtin_prefetch((const char *)pool->free + 64, 1);
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
