/* SPDX-License-Identifier: BSD-2-Clause */
/* Weighted round robin over two tables, see arbiter.h. */
#include "fabric/ib/arbiter.h"

#include "base/assert.h"
#include "fabric/ib/credit.h"

#include <assert.h>
#include <string.h>

/* Blocks of a unit of HighLimit. */
#define LIMIT_UNIT (4096 / VB_BLOCK_LEN)

void vb_arbiter_set_table(struct vb_arbiter *a, enum vb_arb_priority priority,
			  const struct vb_arb_entry *entry, uint32_t cnt)
{
	struct vb_arb_table *t = &a->table[priority];

	assert(cnt <= VB_ARB_ENTRY_MAX);
	*t = (struct vb_arb_table){.cnt = (uint8_t)cnt};
	if (cnt == 0)
		return;
	memcpy(t->entry, entry, cnt * sizeof *entry);
	t->left = t->entry[0].weight;
}

static bool entry_is_ready(const struct vb_arb_entry *e, uint16_t ready)
{
	return e->weight != 0 && e->vl < VB_VL_DATA_MAX && (ready >> e->vl & 1) != 0;
}

/* The index of the entry that sends next, -1: none. */
static int table_next(const struct vb_arb_table *t, uint16_t ready)
{
	/* The entry whose turn is over comes last, not first. */
	unsigned first = t->left > 0 ? 0 : 1;

	for (unsigned i = first; i < t->cnt + first; i++) {
		unsigned at = (t->at + i) % t->cnt;

		if (entry_is_ready(&t->entry[at], ready))
			return (int)at;
	}
	return -1;
}

/* True when the high table has sent so much that the low one has its turn. */
static bool high_is_spent(const struct vb_arbiter *a)
{
	if (a->high_limit == VB_ARB_HIGH_UNLIMITED)
		return false;
	return a->high_sent >= (a->high_limit == 0 ? 1 : a->high_limit * LIMIT_UNIT);
}

bool vb_arbiter_choose(const struct vb_arbiter *a, uint16_t ready, struct vb_arb_choice *choice)
{
	int high = table_next(&a->table[VB_ARB_HIGH], ready);
	int low = table_next(&a->table[VB_ARB_LOW], ready);
	bool take_high = high >= 0 && (low < 0 || !high_is_spent(a));
	int entry = take_high ? high : low;

	if (entry < 0)
		return false;
	choice->priority = take_high ? VB_ARB_HIGH : VB_ARB_LOW;
	choice->entry = (uint8_t)entry;
	VB_ASSERT_ALL((uint32_t)entry < a->table[choice->priority].cnt);
	choice->vl = a->table[choice->priority].entry[entry].vl;
	return true;
}

void vb_arbiter_sent(struct vb_arbiter *a, const struct vb_arb_choice *choice, uint32_t blocks,
		     uint16_t ready)
{
	struct vb_arb_table *t = &a->table[choice->priority];

	assert(choice->entry < t->cnt);
	if (choice->entry != t->at || t->left <= 0) {
		t->at = choice->entry;
		t->left = t->entry[t->at].weight;
	}
	t->left -= (int32_t)blocks;
	if (choice->priority == VB_ARB_LOW || table_next(&a->table[VB_ARB_LOW], ready) < 0)
		a->high_sent = 0;
	else
		a->high_sent += blocks;
}
