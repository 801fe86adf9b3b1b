/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of L_Keys and R_Keys: index in the upper 24 bits, key byte in the lower 8 (IBT-84). A
 * peer that knows an R_Key can do what it allows, so keys are drawn from a secret: of an index only
 * the bits that say its place in the table are given. Index 0 is never used, so key 0 names
 * nothing. A freed place goes to the end of a queue and comes back with another key: a stale key
 * misses for as long as possible.
 */
#include "core/obj/key.h"
#include "base/assert.h"

#include "base/prf.h"
#include "core/adapter.h"
#include "core/denial.h"
#include "core/obj/mem.h"
#include "core/obj/pd.h"

#include <errno.h>
#include <string.h>

#define KEY_CAP_FIRST 8u

/* Where the object with @key stands if there is one; the table is not empty. */
static struct vb_key_slot *slot_of(const struct vb_key_table *t, uint32_t key)
{
	return &t->slot[key >> 8 & (t->cap - 1)];
}

static void table_free_place(struct vb_key_table *t, uint32_t i)
{
	VB_ASSERT(i > 0 && i < t->cap);
	VB_ASSERT_ALL(!t->slot[i].obj);
	t->slot[i].next_free = 0;
	if (t->free_tail)
		t->slot[t->free_tail].next_free = i;
	else
		t->free_head = i;
	t->free_tail = i;
}

/* Two indices that differ modulo the old size differ modulo the new one. */
static int table_grow(struct vb_hca *h)
{
	struct vb_key_table old = h->keys, *t = &h->keys;
	uint32_t cap = old.cap ? old.cap * 2 : KEY_CAP_FIRST;
	struct vb_key_slot *slot = vb_alloc(h, cap * sizeof *slot);

	if (!slot)
		return -ENOMEM;
	VB_ASSERT(t->free_head == 0);
	memset(slot, 0, cap * sizeof *slot);
	t->slot = slot;
	t->cap = cap;
	for (uint32_t i = 1; i < old.cap; i++)
		*slot_of(t, old.slot[i].obj->key) = old.slot[i];
	for (uint32_t i = 1; i < cap; i++)
		if (!t->slot[i].obj)
			table_free_place(t, i);
	vb_free(h, old.slot);
	return 0;
}

/* A key for place @i, which may have been another object's. */
static uint32_t key_draw(struct vb_hca *h, uint32_t i)
{
	uint32_t place = h->keys.cap - 1, key;

	do {
		key = (uint32_t)vb_prf(h->cfg.seed, VB_PRF_KEY, h->keys.drawn++);
		key = (key & ~(place << 8)) | i << 8;
	} while (key == h->keys.slot[i].last);
	return key;
}

int vb_key_insert(struct vb_hca *h, struct vb_key *k, struct vb_pd *pd)
{
	struct vb_key_table *t = &h->keys;

	uint32_t most = k->kind == VB_KEY_MR ? h->cfg.limits.mr : h->cfg.limits.mw;

	if (t->cnt[k->kind] >= most)
		return VB_REFUSE(h, -ENOMEM, VB_REFUSAL_FULL,
				 .name = k->kind == VB_KEY_MR ? "MRs" : "MWs", .bound = most);
	if (t->free_head == 0) {
		int err = table_grow(h);

		if (err)
			return err;
	}

	uint32_t i = t->free_head;
	struct vb_key_slot *s = &t->slot[i];

	VB_ASSERT(i < t->cap && !s->obj);
	t->free_head = s->next_free;
	if (t->free_head == 0)
		t->free_tail = 0;
	s->obj = k;
	s->next_free = 0;
	k->key = key_draw(h, i);
	VB_ASSERT_ALL(slot_of(t, k->key) == s);
	k->pd = pd;
	pd->refs++;
	t->cnt[k->kind]++;
	return 0;
}

void vb_key_remove(struct vb_hca *h, struct vb_key *k)
{
	struct vb_key_table *t = &h->keys;
	struct vb_key_slot *s = slot_of(t, k->key);

	VB_ASSERT(s->obj == k);
	VB_ASSERT_ALL(t->cnt[k->kind] > 0 && k->pd->refs > 0);
	s->obj = NULL;
	s->last = k->key;
	table_free_place(t, (uint32_t)(s - t->slot));
	t->cnt[k->kind]--;
	k->pd->refs--;
}

struct vb_key *vb_key_at(const struct vb_hca *h, uint32_t key)
{
	if (h->keys.cap == 0)
		return NULL;

	struct vb_key *k = slot_of(&h->keys, key)->obj;

	return k && k->key >> 8 == key >> 8 ? k : NULL;
}

struct vb_key *vb_key_find(const struct vb_hca *h, uint32_t key)
{
	struct vb_key *k = vb_key_at(h, key);

	return k && k->key == key ? k : NULL;
}

enum vb_denial_check vb_key_why(const struct vb_hca *h, uint32_t key)
{
	if (h->keys.cap == 0)
		return VB_DENIAL_KEY_UNKNOWN;
	if (vb_key_at(h, key))
		return VB_DENIAL_KEY_OLD;
	return slot_of(&h->keys, key)->last == key ? VB_DENIAL_KEY_STALE : VB_DENIAL_KEY_UNKNOWN;
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
