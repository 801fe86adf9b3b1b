/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registered memory of the property tests: guards around regions, buffers scattered over SGEs with
 * gaps between them, and receive buffers that are posted late.
 */
#include "world.h"

#include <stdlib.h>

#define GUARD 64u

void *test_alloc(size_t size)
{
	void *p = calloc(1, size ? size : 1);

	if (!p)
		abort();
	return p;
}

void mem_open(struct mem *m, struct host *host, uint32_t size, uint32_t access, bool own_iova)
{
	struct world *w = host->w;

	m->size = size;
	m->block = test_alloc(size + 2 * GUARD);
	memset(m->block, CANARY, size + 2 * GUARD);
	m->base = m->block + GUARD;
	m->iova = own_iova ? vb_rng_next(&w->rng) >> 1 & ~UINT64_C(7) : (uintptr_t)m->base;

	struct vb_mr_attr attr = {
	    .iova = m->iova, .length = size, .host = m->base, .access = access};

	CHECK(w, vb_mr_create(host->pd, &attr, &m->mr) == 0);
}

void mem_check(const struct world *w, const struct mem *m)
{
	for (uint32_t i = 0; i < GUARD; i++)
		if (m->block[i] != CANARY || m->base[m->size + i] != CANARY)
			die(w, "a byte outside of registered memory was written");
}

void mem_close(struct mem *m)
{
	free(m->block);
	m->block = m->base = NULL;
}

uint32_t slot_split(struct vb_rng *r, const struct mem *m, uint32_t slot, uint32_t len,
		    uint32_t sge_max, struct vb_sge *sge)
{
	uint32_t cnt = rng_range(r, len ? 1 : 0, sge_max);
	uint64_t at = m->iova + (uint64_t)slot * SLOT_BYTES;

	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t n = i + 1 == cnt ? len : vb_rng_below(r, len + 1);

		at += vb_rng_below(r, SLOT_GAP + 1);
		sge[i] = (struct vb_sge){at, n, vb_mr_lkey(m->mr)};
		at += n;
		len -= n;
	}
	return cnt;
}

void slot_store(const struct mem *m, const struct vb_sge *sge, uint32_t sge_cnt,
		const uint8_t *data)
{
	for (uint32_t i = 0; i < sge_cnt; i++) {
		memcpy(m->base + (sge[i].addr - m->iova), data, sge[i].length);
		data += sge[i].length;
	}
}

uint32_t slot_gather(const struct mem *m, const struct vb_sge *sge, uint32_t sge_cnt, uint8_t *data)
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < sge_cnt; i++) {
		memcpy(data + len, m->base + (sge[i].addr - m->iova), sge[i].length);
		len += sge[i].length;
	}
	return len;
}

void slot_image(const struct mem *m, uint32_t slot, const struct vb_sge *sge, uint32_t sge_cnt,
		const uint8_t *data, uint32_t len, uint8_t *image)
{
	uint64_t start = m->iova + (uint64_t)slot * SLOT_BYTES;

	memset(image, CANARY, SLOT_BYTES);
	for (uint32_t i = 0; i < sge_cnt; i++) {
		uint32_t n = sge[i].length < len ? sge[i].length : len;

		memcpy(image + (sge[i].addr - start), data, n);
		data += n;
		len -= n;
	}
}

void pool_open(struct pool *p, struct host *host, uint32_t cnt)
{
	struct world *w = host->w;

	p->host = host;
	p->cnt = cnt;
	p->idx = w->pool_cnt;
	p->buf = test_alloc(cnt * sizeof *p->buf);
	mem_open(&p->mem, host, cnt * SLOT_BYTES, VB_ACCESS_LOCAL_WRITE, rng_chance(&w->rng, 50));
	w->pool[w->pool_cnt++] = p;
	p->next_post = w->now;
}

void pool_took(struct pool *p, uint32_t i)
{
	struct world *w = p->host->w;

	CHECK(w, i < p->cnt && p->buf[i].posted);
	p->buf[i].posted = false;
	p->posted--;
	memset(slot_at(&p->mem, i), CANARY, SLOT_BYTES);
	if (p->next_post == VB_NEVER)
		p->next_post = w->now + vb_rng_below(&w->rng, (uint32_t)w->recv_gap + 1);
}
