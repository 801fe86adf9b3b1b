/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of selective repeat: pools that all QPs of an adapter share. They are made when the
 * first QP offers it, so nothing is allocated when packets are lost, and what no QP has needed yet
 * stays untouched. A QP holds memory of them only while packets are missing. See selective.h.
 */
#ifndef VB_CORE_SELECTIVE_POOL_H
#define VB_CORE_SELECTIVE_POOL_H

#include "base/assert.h"
#include "core/adapter.h"
#include "wire/packet.h"

/* False: there is no memory, or the configuration wants none. */
bool vb_sr_pools_make(struct vb_hca *h);
void vb_sr_pools_free(struct vb_hca *h);

/* Takes one, of which there are free ones. Its bytes are what they were. */
uint32_t vb_sr_take(struct vb_sr_pool *pool);
void vb_sr_give(struct vb_sr_pool *pool, uint32_t i);

static inline void *vb_sr_at(const struct vb_sr_pool *pool, uint32_t i)
{
	VB_ASSERT(i < pool->fresh);
	return pool->mem + pool->stride * i;
}

/* Blocks that @bytes of a packet take. */
uint32_t vb_sr_blocks(uint32_t bytes);
/* Copies the packet into blocks, of which there are enough. Returns the first of them. */
uint32_t vb_sr_store(struct vb_hca *h, const struct vb_rx *rx);
/* The packet that was stored at @first; valid until it is dropped, and until the next call of this.
 */
struct vb_rx vb_sr_stored(struct vb_hca *h, uint32_t first);
/* Returns how many blocks it had. */
uint32_t vb_sr_drop(struct vb_hca *h, uint32_t first);

#endif
