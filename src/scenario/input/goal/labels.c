/* SPDX-License-Identifier: BSD-2-Clause */
/* A hash table that is empty again when another rank begins. See labels.h. */
#include "scenario/input/goal/labels.h"

#include "base/assert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 256u

/* The slot that has the label, or is free for it. */
static struct vb_goal_label *slot_find(const struct vb_goal_labels *l, const char *text,
				       uint32_t len)
{
	uint32_t i = vb_name_hash(text, len, l->key);

	for (;; i++) {
		struct vb_goal_label *s = &l->slot[i & (l->slot_cnt - 1)];

		if (s->rank_turn != l->turn || (s->len == len && memcmp(s->text, text, len) == 0))
			return s;
	}
}

static int table_grow(struct vb_goal_labels *l)
{
	struct vb_goal_labels more = {
	    .turn = l->turn, .used = l->used, .key = l->slot_cnt ? l->key : vb_name_key()};

	more.slot_cnt = l->slot_cnt ? 2 * l->slot_cnt : SLOTS_MIN;
	more.slot = calloc(more.slot_cnt, sizeof *more.slot);
	if (!more.slot)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->slot_cnt; i++)
		if (l->slot[i].rank_turn == l->turn)
			*slot_find(&more, l->slot[i].text, l->slot[i].len) = l->slot[i];
	free(l->slot);
	*l = more;
	return 0;
}

void vb_goal_labels_begin(struct vb_goal_labels *l)
{
	l->turn++;
	l->used = 0;
}

int vb_goal_labels_add(struct vb_goal_labels *l, const struct vb_token *word, uint32_t op)
{
	struct vb_goal_label *s;

	VB_ASSERT(l->turn > 0);
	if (l->used >= l->slot_cnt / 2 && table_grow(l))
		return -ENOMEM;
	s = slot_find(l, word->text, word->len);
	if (s->rank_turn == l->turn)
		return -EEXIST;
	*s = (struct vb_goal_label){word->text, word->len, op, l->turn};
	l->used++;
	return 0;
}

uint32_t vb_goal_labels_find(const struct vb_goal_labels *l, const struct vb_token *word)
{
	const struct vb_goal_label *s = l->slot_cnt ? slot_find(l, word->text, word->len) : NULL;

	return s && s->rank_turn == l->turn ? s->op : UINT32_MAX;
}

void vb_goal_labels_free(struct vb_goal_labels *l)
{
	free(l->slot);
	*l = (struct vb_goal_labels){0};
}
