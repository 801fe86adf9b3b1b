/* SPDX-License-Identifier: BSD-2-Clause */
/* The labels of one rank, and the operations that have them. */
#ifndef VB_SCENARIO_INPUT_GOAL_LABELS_H
#define VB_SCENARIO_INPUT_GOAL_LABELS_H

#include "scenario/input/tokens.h"

struct vb_goal_label {
	const char *text; /* in the file, to stay */
	uint32_t len, op;
	uint32_t rank_turn; /* a label of another rank is as if it were not there */
};

struct vb_goal_labels {
	struct vb_goal_label *slot;
	uint32_t slot_cnt, used;
	uint32_t turn; /* ranks so far; labels of the present one have it */
	uint64_t key;  /* of hashes */
};

/* Another rank begins. */
void vb_goal_labels_begin(struct vb_goal_labels *l);
/* Adds one. 0, -EEXIST or -ENOMEM. */
int vb_goal_labels_add(struct vb_goal_labels *l, const struct vb_token *word, uint32_t op);
/* The operation with that label; UINT32_MAX: there is none. */
uint32_t vb_goal_labels_find(const struct vb_goal_labels *l, const struct vb_token *word);
void vb_goal_labels_free(struct vb_goal_labels *l);

#endif
