/* SPDX-License-Identifier: BSD-2-Clause */
/* The pools of selective repeat, and packets in blocks. See pool.h. */
#include "core/selective/pool.h"

#include "base/assert.h"
#include "core/selective/selective.h"

#include <string.h>

/* A packet lies in blocks: one where it has 1024 bytes of payload, four where it has 4096. */
#define BLOCK_BYTES 1104u

struct block {
	uint32_t len, avail; /* of the packet, in its first block */
	uint32_t next;       /* while there are bytes left */
	uint8_t bytes[BLOCK_BYTES];
};

/* @cnt things of @size bytes. False: there is no memory. */
static bool pool_make(struct vb_hca *h, struct vb_sr_pool *pool, uint32_t cnt, size_t size)
{
	pool->stride = (size + 7) & ~(size_t)7;
	pool->mem = vb_alloc(h, pool->stride * cnt);
	pool->back = vb_alloc(h, cnt * sizeof *pool->back);
	pool->cnt = pool->free_cnt = cnt;
	pool->fresh = 0;
	return pool->mem && pool->back;
}

static void pool_free(struct vb_hca *h, struct vb_sr_pool *pool)
{
	vb_free(h, pool->mem);
	vb_free(h, pool->back);
	*pool = (struct vb_sr_pool){0};
}

/* A page for each 32 or 64 blocks: most QPs that lose packets have a few pages. */
static uint32_t pages_for(uint32_t blocks, uint32_t each, uint32_t least)
{
	uint32_t cnt = blocks / each;

	return cnt > UINT16_MAX - 1 ? UINT16_MAX - 1 : cnt > least ? cnt : least;
}

bool vb_sr_pools_make(struct vb_hca *h)
{
	struct vb_sr_pools *p = &h->sr;
	uint32_t cnt = h->cfg.limits.ooo_pkts;

	if (p->blocks.cnt || cnt == 0)
		return p->blocks.cnt;
	p->whole = vb_alloc(h, VB_SR_PKT_MAX);
	if (p->whole && pool_make(h, &p->blocks, cnt, sizeof(struct block)) &&
	    pool_make(h, &p->kept, pages_for(cnt, 64, 64), sizeof(struct vb_sr_kept_page)) &&
	    pool_make(h, &p->holes, pages_for(cnt, 32, VB_SR_HOLE_PAGES),
		      sizeof(struct vb_sr_hole_page)))
		return true;
	vb_sr_pools_free(h);
	return false;
}

void vb_sr_pools_free(struct vb_hca *h)
{
	vb_free(h, h->sr.whole);
	h->sr.whole = NULL;
	pool_free(h, &h->sr.blocks);
	pool_free(h, &h->sr.kept);
	pool_free(h, &h->sr.holes);
}

static uint32_t back_cnt(const struct vb_sr_pool *pool)
{
	return pool->free_cnt - (pool->cnt - pool->fresh);
}

uint32_t vb_sr_take(struct vb_sr_pool *pool)
{
	uint32_t cnt = back_cnt(pool);

	VB_ASSERT(pool->free_cnt > 0);
	pool->free_cnt--;
	return cnt ? pool->back[cnt - 1] : pool->fresh++;
}

void vb_sr_give(struct vb_sr_pool *pool, uint32_t i)
{
	VB_ASSERT(pool->free_cnt < pool->cnt && i < pool->fresh);
	pool->back[back_cnt(pool)] = i;
	pool->free_cnt++;
}

uint32_t vb_sr_blocks(uint32_t bytes)
{
	return bytes <= BLOCK_BYTES ? 1 : (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
}

/* Copies bytes [@off, @off + @cnt) of the packet. */
static void part_copy(const struct vb_rx *rx, uint32_t off, uint32_t cnt, uint8_t *to)
{
	uint32_t bytes = vb_rx_bytes(rx), head = bytes < rx->avail ? bytes : rx->avail;

	VB_ASSERT(off + cnt <= bytes);
	if (off < head) {
		uint32_t n = cnt < head - off ? cnt : head - off;

		memcpy(to, rx->pkt + off, n);
		to += n;
		off += n;
		cnt -= n;
	}
	if (cnt)
		memcpy(to, rx->body + (off - head), cnt);
}

uint32_t vb_sr_store(struct vb_hca *h, const struct vb_rx *rx)
{
	struct vb_sr_pool *pool = &h->sr.blocks;
	uint32_t bytes = vb_rx_bytes(rx), first = vb_sr_take(pool);
	struct block *at = vb_sr_at(pool, first);

	VB_ASSERT(bytes <= VB_SR_PKT_MAX);
	at->len = rx->len;
	at->avail = bytes;
	for (uint32_t off = 0;;) {
		uint32_t n = bytes - off < BLOCK_BYTES ? bytes - off : BLOCK_BYTES;

		part_copy(rx, off, n, at->bytes);
		off += n;
		if (off == bytes)
			return first;
		at->next = vb_sr_take(pool);
		at = vb_sr_at(pool, at->next);
	}
}

struct vb_rx vb_sr_stored(struct vb_hca *h, uint32_t first)
{
	const struct block *at = vb_sr_at(&h->sr.blocks, first);
	struct vb_rx rx = {.pkt = at->bytes, .len = at->len, .avail = at->avail};

	if (rx.avail <= BLOCK_BYTES)
		return rx;
	rx.pkt = h->sr.whole;
	VB_ASSERT(rx.avail <= VB_SR_PKT_MAX);
	for (uint32_t off = 0;;) {
		uint32_t n = rx.avail - off < BLOCK_BYTES ? rx.avail - off : BLOCK_BYTES;

		memcpy(h->sr.whole + off, at->bytes, n);
		off += n;
		if (off == rx.avail)
			return rx;
		at = vb_sr_at(&h->sr.blocks, at->next);
	}
}

uint32_t vb_sr_drop(struct vb_hca *h, uint32_t first)
{
	struct vb_sr_pool *pool = &h->sr.blocks;
	const struct block *at = vb_sr_at(pool, first);
	uint32_t cnt = vb_sr_blocks(at->avail);

	for (uint32_t i = cnt;;) {
		uint32_t next = at->next;

		vb_sr_give(pool, first);
		if (--i == 0)
			return cnt;
		first = next;
		at = vb_sr_at(pool, first);
	}
}
