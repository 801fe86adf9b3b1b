/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of the agents, counted, so that neither programs nor peers can use it up; and their
 * timers. */
#include "base/assert.h"
#include "mgmt/agents/priv.h"

#include <errno.h>
#include <string.h>

/* Stands before each block. */
union block_hdr {
	size_t size;
	max_align_t align;
};

void *vb_agents_alloc(struct vb_agents *a, size_t size)
{
	size_t whole = sizeof(union block_hdr) + size;
	union block_hdr *b;

	VB_ASSERT(a->memory <= a->cfg.memory_max);
	if (whole > a->cfg.memory_max - a->memory)
		return NULL;
	b = a->cfg.alloc(a->cfg.alloc_ctx, whole);
	if (!b)
		return NULL;
	b->size = whole;
	a->memory += whole;
	return b + 1;
}

void vb_agents_free(struct vb_agents *a, void *p)
{
	union block_hdr *b;

	if (!p)
		return;
	b = (union block_hdr *)p - 1;
	assert(b->size <= a->memory);
	a->memory -= b->size;
	a->cfg.free(a->cfg.alloc_ctx, b);
}

static int timers_grow(struct vb_agents *a)
{
	struct vb_heap *h = &a->timers;
	uint32_t cap = h->cap ? 2 * h->cap : 16;
	struct vb_heap_node **node = vb_agents_alloc(a, ((size_t)cap + 1) * sizeof *node);

	if (!node)
		return -ENOMEM;
	if (h->node)
		memcpy(node, h->node, ((size_t)h->cnt + 1) * sizeof *node);
	vb_agents_free(a, h->node);
	h->node = node;
	h->cap = cap;
	return 0;
}

int vb_agents_timer_add(struct vb_agents *a, struct vb_agents_timer *t,
			enum vb_agents_timer_kind kind)
{
	VB_ASSERT(a->timers.cnt <= a->timer_cnt && a->timer_cnt <= a->timers.cap);
	if (a->timer_cnt == a->timers.cap) {
		int err = timers_grow(a);

		if (err)
			return err;
	}
	a->timer_cnt++;
	*t = (struct vb_agents_timer){.kind = kind, .node.order = a->timer_order++};
	return 0;
}

void vb_agents_timer_remove(struct vb_agents *a, struct vb_agents_timer *t)
{
	assert(a->timer_cnt > 0);
	vb_heap_remove(&a->timers, &t->node);
	a->timer_cnt--;
}
