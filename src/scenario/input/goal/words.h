/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words of a text in GOAL: names, whole numbers and single characters such as "{", with or
 * without blanks between them. "//" and the rest of a line are a comment, and so is what stands
 * between the signs of comments of C.
 */
#ifndef VB_SCENARIO_INPUT_GOAL_WORDS_H
#define VB_SCENARIO_INPUT_GOAL_WORDS_H

#include "scenario/input/tokens.h"

enum vb_goal_kind { VB_GOAL_END, VB_GOAL_NAME, VB_GOAL_NUMBER, VB_GOAL_SIGN };

struct vb_goal_words {
	const char *text, *end;
	struct vb_token word;   /* the present one; at the end it is empty */
	enum vb_goal_kind kind; /* of it */
	uint32_t last_line;     /* where the one before it ended */
};

/* The present word is the first one. */
struct vb_goal_words vb_goal_words_of(const char *text, size_t len);
/* Goes to the next one. */
void vb_goal_words_next(struct vb_goal_words *w);
/* The place of the present word in the text, and words from a place on, whose lines and columns are
 * those in the text. */
uint32_t vb_goal_words_mark(const struct vb_goal_words *w);
struct vb_goal_words vb_goal_words_at(const char *text, size_t len, uint32_t mark);

#endif
