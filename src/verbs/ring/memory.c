/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of queues. It is shared, so that `verbena explain --wqe` can look at the queues of a
 * living process; each piece is of a few chunks, since each chunk costs a descriptor.
 */
#include "verbs/ring/ring.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u
#define CHUNK_PAGES 2048u

struct chunk {
	struct chunk *next;
	uint8_t *base;
	uint32_t pages, used;
	int fd;
	uint8_t taken[]; /* by page */
};

/* Under the lock. A child of fork() begins empty: memory that is shared stays the parent's, and is
 * not even mapped there, as memory of a driver's queues is not. */
static struct chunk *chunks;
static pid_t owner;

static void begin_anew(void)
{
	if (owner == getpid())
		return;
	owner = getpid();
	chunks = NULL;
}

static struct chunk *chunk_new(uint32_t pages)
{
	struct chunk *c = calloc(1, sizeof *c + pages);
	void *base;

	if (!c)
		return NULL;
	c->fd = memfd_create("verbena-queues", MFD_CLOEXEC);
	if (c->fd < 0 || ftruncate(c->fd, (off_t)pages * PAGE))
		goto fail;
	base = mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
	if (base == MAP_FAILED)
		goto fail;
	(void)madvise(base, (size_t)pages * PAGE, MADV_DONTFORK);
	c->base = base;
	c->pages = pages;
	c->next = chunks;
	chunks = c;
	return c;
fail:
	if (c->fd >= 0)
		close(c->fd);
	free(c);
	return NULL;
}

/* The first run of @n free pages, or c->pages. */
static uint32_t find_run(const struct chunk *c, uint32_t n)
{
	uint32_t run = 0;

	if (n > c->pages - c->used)
		return c->pages;
	for (uint32_t i = 0; i < c->pages; i++) {
		run = c->taken[i] ? 0 : run + 1;
		if (run == n)
			return i + 1 - n;
	}
	return c->pages;
}

void *vb_ring_memory_get(size_t size)
{
	uint32_t n = (uint32_t)((size + PAGE - 1) / PAGE), at = 0;
	struct chunk *c;

	begin_anew();
	for (c = chunks; c; c = c->next) {
		at = find_run(c, n);
		if (at < c->pages)
			break;
	}
	if (!c) {
		c = chunk_new(n > CHUNK_PAGES ? n : CHUNK_PAGES);
		at = 0;
	}
	if (!c)
		return NULL;
	memset(c->taken + at, 1, n);
	c->used += n;
	return c->base + (size_t)at * PAGE;
}

void vb_ring_memory_put(void *p, size_t size)
{
	uint32_t n = (uint32_t)((size + PAGE - 1) / PAGE);
	struct chunk **at = &chunks, *c;

	if (!p || owner != getpid())
		return;
	while ((c = *at) &&
	       ((uint8_t *)p < c->base || (uint8_t *)p >= c->base + (size_t)c->pages * PAGE))
		at = &c->next;
	if (!c)
		return;
	memset(p, 0, (size_t)n * PAGE);
	memset(c->taken + ((uint8_t *)p - c->base) / PAGE, 0, n);
	c->used -= n;
	if (c->used)
		return;
	*at = c->next;
	munmap(c->base, (size_t)c->pages * PAGE);
	close(c->fd);
	free(c);
}

void vb_ring_copy_blocks(const struct vb_ring_qp *r, uint16_t index, uint32_t blocks, uint8_t *to)
{
	for (uint32_t i = 0; i < blocks; i++)
		memcpy(to + (size_t)i * VB_WQE_BLOCK,
		       r->sq + (size_t)((index + i) & (r->sq_cnt - 1)) * VB_WQE_BLOCK,
		       VB_WQE_BLOCK);
}
