/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of L_Keys and R_Keys: index in the upper 24 bits, key byte in the lower 8 (IBT-84).
 * Index 0 is never used, so key 0 names nothing. A freed index goes to the end of a queue and
 * comes back with another key byte: a stale key misses for as long as possible.
 */
#include "core/priv.h"

#include <errno.h>
#include <string.h>

#define KEY_CAP_FIRST 64u

static int table_grow(struct vb_hca *h)
{
	struct vb_key_table *t = &h->keys;
	uint32_t cap = t->cap ? t->cap * 2 : KEY_CAP_FIRST;
	struct vb_key_slot *slot = vb_alloc(h, cap * sizeof *slot);

	if (!slot)
		return -ENOMEM;
	if (t->cap)
		memcpy(slot, t->slot, t->cap * sizeof *slot);
	for (uint32_t i = t->cap ? t->cap : 1; i < cap; i++) {
		slot[i].key_byte = (uint8_t)(i * 37 + h->cfg.seed);
		slot[i].next_free = i + 1 < cap ? i + 1 : 0;
	}
	assert(t->free_head == 0);
	t->free_head = t->cap ? t->cap : 1;
	t->free_tail = cap - 1;
	vb_free(h, t->slot);
	t->slot = slot;
	t->cap = cap;
	return 0;
}

int vb_key_insert(struct vb_hca *h, struct vb_key *k, struct vb_pd *pd)
{
	struct vb_key_table *t = &h->keys;

	if (t->cnt[k->kind] >= (k->kind == VB_KEY_MR ? h->cfg.limits.mr : h->cfg.limits.mw))
		return -ENOMEM;
	if (t->free_head == 0) {
		int err = table_grow(h);

		if (err)
			return err;
	}

	uint32_t i = t->free_head;
	struct vb_key_slot *s = &t->slot[i];

	t->free_head = s->next_free;
	if (t->free_head == 0)
		t->free_tail = 0;
	s->obj = k;
	s->next_free = 0;
	k->key = i << 8 | s->key_byte;
	k->pd = pd;
	pd->refs++;
	t->cnt[k->kind]++;
	return 0;
}

void vb_key_remove(struct vb_hca *h, struct vb_key *k)
{
	struct vb_key_table *t = &h->keys;
	uint32_t i = k->key >> 8;

	assert(i > 0 && i < t->cap && t->slot[i].obj == k);
	t->slot[i].obj = NULL;
	t->slot[i].key_byte = (uint8_t)(k->key + 1);
	if (t->free_tail)
		t->slot[t->free_tail].next_free = i;
	else
		t->free_head = i;
	t->free_tail = i;
	t->cnt[k->kind]--;
	k->pd->refs--;
}

struct vb_key *vb_key_at(const struct vb_hca *h, uint32_t key)
{
	uint32_t i = key >> 8;

	return i < h->keys.cap ? h->keys.slot[i].obj : NULL;
}

struct vb_key *vb_key_find(const struct vb_hca *h, uint32_t key)
{
	struct vb_key *k = vb_key_at(h, key);

	return k && k->key == key ? k : NULL;
}

/* Destroys the table and what is left in it. */
void vb_key_table_free(struct vb_hca *h)
{
	for (uint32_t i = 0; i < h->keys.cap; i++) {
		struct vb_key *k = h->keys.slot[i].obj;

		if (k)
			k->pd->refs--;
		vb_free(h, k);
	}
	vb_free(h, h->keys.slot);
	h->keys = (struct vb_key_table){0};
}
