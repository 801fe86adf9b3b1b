/* SPDX-License-Identifier: BSD-2-Clause */
/* Registered memory with guards, and buffers in pieces. See play.h. */
#include "play.h"

#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

#define GUARD 64u
#define GAP 24u

void *play_alloc(size_t size)
{
	void *p = calloc(1, size ? size : 1);

	if (!p)
		fail("memory", "no memory for the test itself");
	return p;
}

void mem_open_in(struct play *p, struct vb_pd *pd, struct mem *m, uint32_t size, uint32_t access)
{
	*m = (struct mem){.size = size, .limit = size, .iova = p->next_iova};
	p->next_iova += UINT64_C(0x10000000); /* so a wrong key is never right by chance */
	m->block = play_alloc(size + 2 * GUARD);
	memset(m->block, CANARY, size + 2 * GUARD);
	m->base = m->block + GUARD;

	struct vb_mr_attr attr = {
	    .iova = m->iova, .length = size, .host = m->base, .access = access};

	CHECK("call", vb_mr_create(pd, &attr, &m->mr) == 0);
	m->lkey = vb_mr_lkey(m->mr);
	m->rkey = vb_mr_rkey(m->mr);
}

void mem_open(struct play *p, struct mem *m, uint32_t host, uint32_t size, uint32_t access)
{
	mem_open_in(p, vb_sim_pd(p->sim, host), m, size, access);
	m->host = host;
}

void mem_check(const struct mem *m)
{
	static const uint8_t guard[8] = {CANARY, CANARY, CANARY, CANARY,
					 CANARY, CANARY, CANARY, CANARY};

	if (!m->block)
		return;
	for (uint32_t i = 0; i < GUARD; i += 8)
		if (memcmp(m->block + i, guard, 8) || memcmp(m->base + m->size + i, guard, 8))
			fail("guard", "a byte outside of the region at %#llx was written",
			     (unsigned long long)m->iova);
}

void mem_freeze(struct mem *m)
{
	m->frozen = play_alloc(m->size);
	memcpy(m->frozen, m->base, m->size);
	m->mr = NULL;
}

void mem_check_frozen(const struct mem *m)
{
	mem_check(m);
	if (memcmp(m->base, m->frozen, m->size))
		fail("guard", "the region at %#llx was written after it was deregistered",
		     (unsigned long long)m->iova);
}

void mem_close(struct mem *m)
{
	free(m->block);
	free(m->frozen);
	*m = (struct mem){0};
}

bool buf_take(struct mem *m, struct buf *b, uint32_t len, uint32_t sges, uint32_t salt)
{
	struct vb_rng r = vb_rng_stream(salt, "buf", m->used);
	uint32_t most = len + SGES_MAX * GAP, at, left = len;

	if (m->limit - m->used < most)
		return false;
	*b = (struct buf){.off = m->used, .len = len, .span = most};
	b->sge_cnt = len == 0 ? vb_rng_below(&r, sges + 1) : sges;
	at = b->off;
	for (uint32_t i = 0; i < b->sge_cnt; i++) {
		uint32_t n = i + 1 == b->sge_cnt ? left : vb_rng_below(&r, left + 1);

		at += vb_rng_below(&r, GAP + 1);
		b->sge[i] = (struct vb_sge){m->iova + at, n, m->lkey};
		at += n;
		left -= n;
	}
	m->used += most;
	return true;
}

void buf_fill(const struct mem *m, const struct buf *b, uint64_t id)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < b->sge_cnt; i++) {
		uint8_t *to = m->base + (b->sge[i].addr - m->iova);

		for (uint32_t n = 0; n < b->sge[i].length; n++)
			to[n] = byte_of(id, k++);
	}
}

bool buf_holds(const struct mem *m, const struct buf *b, uint64_t id, uint32_t from, uint32_t len,
	       bool alone, uint32_t skip)
{
	const uint8_t *end = m->base + b->off + b->span, *at = m->base + b->off;
	uint32_t k = 0;

	for (uint32_t i = 0; i < b->sge_cnt; i++) {
		const uint8_t *piece = m->base + (b->sge[i].addr - m->iova);

		for (; alone && at < piece; at++)
			if (*at != CANARY)
				return false;
		at = piece;
		for (uint32_t n = 0; n < b->sge[i].length && k < skip + len; n++, k++, at++)
			if (k >= skip && *at != byte_of(id, from + k - skip))
				return false;
	}
	for (; alone && at < end; at++)
		if (*at != CANARY)
			return false;
	return k == skip + len;
}
