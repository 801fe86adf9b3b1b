/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks of whole cache lines out of chunks of large pages; see arena.h. */
#include "scenario/arena.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define UNIT 64u
#define UNITS_MAX 1024u /* of a block from a chunk */
/* The address sanitizer watches over what malloc(3) gives. */
#ifdef __SANITIZE_ADDRESS__
#define SMALL_MAX 0u
#else
#define SMALL_MAX (UNITS_MAX * UNIT - sizeof(struct head))
#endif
#define PAGE ((size_t)2 << 20)
#define CHUNK ((size_t)32 << 20)

/* In front of what the user has, which begins a unit. */
struct head {
	struct head *next; /* of the free blocks of this size */
	uint32_t units;    /* with this; 0: from malloc(3) */
};
_Static_assert(sizeof(struct head) <= 16, "16 bytes before the user's");

struct chunk {
	struct chunk *next;
};

struct vb_arena {
	struct chunk *chunks;
	pthread_mutex_t lock; /* parts of a simulation allocate at once, and seldom */
	uint8_t *at, *end;    /* of the newest chunk: not given out yet */
	struct head *free[UNITS_MAX + 1];
};

struct vb_arena *vb_arena_create(void)
{
	struct vb_arena *a = calloc(1, sizeof *a);

	if (a)
		pthread_mutex_init(&a->lock, NULL);
	return a;
}

void vb_arena_destroy(struct vb_arena *a)
{
	while (a && a->chunks) {
		struct chunk *c = a->chunks;

		a->chunks = c->next;
		munmap(c, CHUNK);
	}
	if (a)
		pthread_mutex_destroy(&a->lock);
	free(a);
}

/* Maps a chunk that begins where a large page can. */
static uint8_t *chunk_map(void)
{
	uint8_t *p =
	    mmap(NULL, CHUNK + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;

	size_t before = -(uintptr_t)p & (PAGE - 1);

	if (before)
		munmap(p, before);
	munmap(p + before + CHUNK, PAGE - before);
	(void)madvise(p + before, CHUNK, MADV_HUGEPAGE); /* small pages do as well */
	return p + before;
}

static struct head *block_cut(struct vb_arena *a, uint32_t units)
{
	size_t size = (size_t)units * UNIT;

	if ((size_t)(a->end - a->at) < size) {
		uint8_t *p = chunk_map();

		if (!p)
			return NULL;
		((struct chunk *)(void *)p)->next = a->chunks;
		a->chunks = (struct chunk *)(void *)p;
		a->at = p + UNIT - sizeof(struct head);
		a->end = p + CHUNK;
	}

	struct head *h = (struct head *)(void *)a->at;

	a->at += size;
	h->units = units;
	return h;
}

static void *large_alloc(size_t size)
{
	struct head *h = size > SIZE_MAX - sizeof *h ? NULL : calloc(1, sizeof *h + size);

	return h ? h + 1 : NULL;
}

static void *arena_alloc(void *ctx, size_t size)
{
	struct vb_arena *a = ctx;

	if (size > SMALL_MAX)
		return large_alloc(size);

	uint32_t units = (uint32_t)((size + sizeof(struct head) + UNIT - 1) / UNIT);
	struct head *h;
	bool is_old;

	pthread_mutex_lock(&a->lock);
	h = a->free[units];
	is_old = h != NULL;
	if (is_old)
		a->free[units] = h->next;
	else
		h = block_cut(a, units);
	pthread_mutex_unlock(&a->lock);
	if (!h)
		return NULL;
	return is_old ? memset(h + 1, 0, size) : h + 1;
}

static void arena_free(void *ctx, void *p)
{
	struct vb_arena *a = ctx;

	if (!p)
		return;

	struct head *h = (struct head *)p - 1;

	if (h->units == 0) {
		free(h);
		return;
	}
	pthread_mutex_lock(&a->lock);
	h->next = a->free[h->units];
	a->free[h->units] = h;
	pthread_mutex_unlock(&a->lock);
}

struct vb_sim_memory vb_arena_memory(struct vb_arena *a)
{
	return (struct vb_sim_memory){arena_alloc, arena_free, a};
}
