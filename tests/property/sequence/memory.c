/* SPDX-License-Identifier: BSD-2-Clause */
/* Registered memory with guards, and buffers in pieces. See play.h. */
#include "play.h"

#include "base/rng.h"

#include <errno.h>
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

void *play_lend(size_t size)
{
	void *p = aligned_alloc(64, (size + 63) & ~(size_t)63);

	if (!p)
		fail("memory", "no memory for the test itself");
	memset(p, CANARY, size);
	return p;
}

enum mem_kind mem_kind_of(uint32_t salt)
{
	static const uint8_t kind[8] = {
	    MEM_PLAIN,     MEM_PLAIN,    MEM_PLAIN, MEM_PLAIN, MEM_ZERO_BASED, MEM_PAGED_ZERO_BASED,
	    MEM_ON_DEMAND, MEM_IMPLICIT,
	};

	return (enum mem_kind)kind[salt % 8];
}

static bool is_zero_based(enum mem_kind kind)
{
	return kind == MEM_ZERO_BASED || kind == MEM_PAGED_ZERO_BASED;
}

uint32_t kind_access(enum mem_kind kind)
{
	const struct mem m = {.kind = (uint8_t)kind};

	return (is_zero_based(kind) ? VB_ACCESS_ZERO_BASED : 0) |
	       (mem_is_paged(&m) ? VB_ACCESS_ON_DEMAND : 0);
}

void mem_open_as(struct play *p, struct vb_pd *pd, struct mem *m, uint32_t size, uint32_t access,
		 enum mem_kind kind)
{
	*m = (struct mem){.size = size, .limit = size, .kind = (uint8_t)kind};
	m->number = p->next_iova;
	p->next_iova += UINT64_C(0x10000000); /* so a wrong key is never right by chance */
	m->block = play_alloc(size + 2 * GUARD);
	memset(m->block, CANARY, size + 2 * GUARD);
	m->base = m->block + GUARD;
	m->iova = is_zero_based(kind) ? 0 : kind == MEM_IMPLICIT ? (uintptr_t)m->base : m->number;

	struct vb_mr_attr attr = {.iova = m->iova,
				  .length = size,
				  .host = m->base,
				  .access = access | kind_access(kind),
				  .kind = kind == MEM_IMPLICIT ? VB_MR_IMPLICIT : VB_MR_HOST,
				  .lease = kind == MEM_LEASED ? &p->lease : NULL,
				  .leased = p->lease};

	CHECK("call", vb_mr_create(pd, &attr, &m->mr) == 0);
	m->lkey = vb_mr_lkey(m->mr);
	m->rkey = vb_mr_rkey(m->mr);
}

void mem_open(struct play *p, struct mem *m, uint32_t host, uint32_t size, uint32_t access)
{
	mem_open_as(p, vb_sim_pd(p->sim, host), m, size, access, MEM_PLAIN);
	m->host = host;
}

void mem_hole(struct mem *m, struct hole hole, bool kept)
{
	free(m->hole.copy);
	m->hole = hole;
	m->hole.copy = NULL;
	if (!kept || !hole.kind)
		return;
	m->hole.copy = play_alloc(hole.len);
	memcpy(m->hole.copy, m->base + hole.at, hole.len);
}

bool mem_is_there(const struct mem *m, uint64_t at, uint64_t len, bool write)
{
	const struct hole *h = &m->hole;

	if (at > m->size || len > m->size - at)
		return false;
	return h->kind == HOLE_NONE || (h->kind == HOLE_READ_ONLY && !write) ||
	       at >= h->at + h->len || at + len <= h->at;
}

int mem_page_in(void *ctx, void *at, size_t len, bool write)
{
	const struct mem *m = play_mem_at(ctx, at);

	return m && mem_is_paged(m) &&
		       mem_is_there(m, (uint64_t)((uint8_t *)at - m->base), len, write)
		   ? 0
		   : -EFAULT;
}

void mem_check(const struct mem *m)
{
	if (!m->block)
		return;
	if (!is_canary(m->block, GUARD) || !is_canary(m->base + m->size, GUARD))
		fail("guard", "a byte outside of the region at %#llx was written",
		     (unsigned long long)m->iova);
	if (m->hole.copy && memcmp(m->hole.copy, m->base + m->hole.at, m->hole.len))
		fail("guard", "memory of the region at %#llx that was away was written",
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
	free(m->hole.copy);
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

void buf_null(struct buf *b, uint32_t lkey, uint32_t salt)
{
	struct vb_rng r = vb_rng_stream(salt, "null", b->off);

	b->nulls = vb_rng_below(&r, 1u << SGES_MAX) & ((1u << b->sge_cnt) - 1);
	for (uint32_t i = 0; i < b->sge_cnt; i++)
		if (b->nulls >> i & 1)
			b->sge[i] = (struct vb_sge){vb_rng_next(&r) >> 1, b->sge[i].length, lkey};
}

/* Piece @i; NULL: it has no memory. */
static uint8_t *piece_at(const struct mem *m, const struct buf *b, uint32_t i)
{
	return b->nulls >> i & 1 ? NULL : m->base + (b->sge[i].addr - m->iova);
}

void buf_fill(const struct mem *m, const struct buf *b, uint64_t id)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < b->sge_cnt; i++) {
		uint8_t *to = piece_at(m, b, i);

		for (uint32_t n = 0; n < b->sge[i].length; n++, k++)
			if (to)
				to[n] = byte_of(id, k);
	}
}

bool buf_holds(const struct mem *m, const struct buf *b, const struct bytes *is, bool alone,
	       uint32_t skip)
{
	const uint8_t *end = m->base + b->off + b->span, *at = m->base + b->off;
	const struct buf *src = is->src && is->src->nulls ? is->src : NULL;
	uint32_t k = 0, all = skip + is->len;

	for (uint32_t i = 0; i < b->sge_cnt; i++) {
		const uint8_t *piece = piece_at(m, b, i);

		if (!piece) {
			k += b->sge[i].length < all - k ? b->sge[i].length : all - k;
			continue;
		}
		for (; alone && at < piece; at++)
			if (*at != CANARY)
				return false;
		at = piece;
		for (uint32_t n = 0; n < b->sge[i].length && k < all; n++, k++, at++)
			if (k >= skip && *at != sent_byte(src, is->id, is->from + k - skip))
				return false;
	}
	for (; alone && at < end; at++)
		if (*at != CANARY)
			return false;
	return k == all;
}

bool buf_is(const struct mem *m, const struct buf *b, const uint8_t *at)
{
	for (uint32_t i = 0; i < b->sge_cnt; at += b->sge[i++].length)
		if (piece_at(m, b, i) && memcmp(piece_at(m, b, i), at, b->sge[i].length))
			return false;
	return true;
}

bool mem_holds(const struct mem *m, uint32_t off, const struct bytes *is, bool whole)
{
	const struct buf *src = is->src && is->src->nulls ? is->src : NULL;

	for (uint32_t i = 0; i < is->len; i++) {
		uint8_t b = m->base[off + i];

		if (b != sent_byte(src, is->id, is->from + i) && (whole || b != CANARY))
			return false;
	}
	return true;
}

uint64_t buf_value(const struct mem *m, const struct buf *b, uint64_t *known)
{
	uint8_t got[8] = {0}, mask[8] = {0};
	uint64_t v;

	for (uint32_t i = 0, at = 0; i < b->sge_cnt && at < 8; at += b->sge[i++].length) {
		const uint8_t *piece = piece_at(m, b, i);

		if (!piece)
			continue;
		memcpy(got + at, piece, b->sge[i].length);
		memset(mask + at, 0xff, b->sge[i].length);
	}
	memcpy(&v, got, sizeof v);
	memcpy(known, mask, sizeof mask);
	return v;
}
