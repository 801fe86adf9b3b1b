/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where device memory comes from: one piece of memory of the process, from which each gets the
 * first part that is free. It is shared memory with a descriptor, so that other processes can
 * import it.
 */
#include "link/memory.h"
#include "verbs/priv.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DM_NAME "verbena-dm"

struct vb_dm_arena {
	uint8_t *base;
	int fd;
	pid_t pid;
	struct vb_list taken; /* vb_ibv_dm_mem.in_arena, upwards */
};

/* Makes it. 0 or an errno. */
static int arena_new(struct vb_dm_arena **out)
{
	struct vb_dm_arena *a = calloc(1, sizeof *a);
	void *p;

	if (!a)
		return ENOMEM;
	a->fd = vb_memory_new(DM_NAME, VB_DM_SIZE, &p);
	if (a->fd < 0) {
		free(a);
		return ENOMEM;
	}
	a->base = p;
	a->pid = getpid();
	vb_list_init(&a->taken);
	*out = a;
	return 0;
}

static void arena_free(struct vb_dm_arena *a)
{
	vb_memory_unmap(a->base, VB_DM_SIZE);
	close(a->fd);
	free(a);
}

/* The one that new memory is from; a forked child has its parent's in view, but not to give away.
 */
static struct vb_dm_arena *current;

int vb_dm_arena_take(struct vb_ibv_dm_mem *m, size_t length, size_t align)
{
	if ((!current || current->pid != getpid()) && arena_new(&current))
		return ENOMEM;

	size_t at = 0;
	struct vb_list *l = current->taken.next;

	for (; l != &current->taken; l = l->next) {
		const struct vb_ibv_dm_mem *other =
		    vb_container_of(l, struct vb_ibv_dm_mem, in_arena);
		size_t start = (size_t)(other->p - current->base);

		if (start >= at && start - at >= length)
			break;
		at = (start + other->length + align - 1) & ~(align - 1);
	}
	if (at > VB_DM_SIZE || VB_DM_SIZE - at < length)
		return ENOMEM;
	vb_list_append(l, &m->in_arena); /* in front of it */
	m->arena = current;
	m->p = current->base + at;
	m->length = length;
	memset(m->p, 0, length);
	return 0;
}

static void arena_give(struct vb_ibv_dm_mem *m)
{
	struct vb_dm_arena *a = m->arena;

	vb_list_remove(&m->in_arena);
	if (!vb_list_is_empty(&a->taken))
		return;
	if (a == current)
		current = NULL;
	arena_free(a);
}

void vb_ibv_dm_mem_put(struct vb_ibv_dm_mem *m)
{
	if (--m->refs)
		return;
	if (m->arena)
		arena_give(m);
	else
		vb_remote_memory_unmap(&m->foreign);
	free(m);
}
