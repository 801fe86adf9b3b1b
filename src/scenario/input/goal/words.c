/* SPDX-License-Identifier: BSD-2-Clause */
/* Text to words. See words.h. */
#include "scenario/input/goal/words.h"

#include "base/assert.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* One character on. */
static void text_step(struct vb_goal_words *w)
{
	if (*w->word.text == '\n') {
		w->word.line++;
		w->word.column = 0;
	}
	w->word.text++;
	w->word.column++;
}

static bool is_at(const struct vb_goal_words *w, const char two[2])
{
	return w->end - w->word.text >= 2 && w->word.text[0] == two[0] && w->word.text[1] == two[1];
}

/* Over blanks and comments. */
static void blanks_skip(struct vb_goal_words *w)
{
	while (w->word.text < w->end) {
		char c = *w->word.text;

		if (is_at(w, "//")) {
			while (w->word.text < w->end && *w->word.text != '\n')
				text_step(w);
		} else if (is_at(w, "/*")) {
			text_step(w);
			text_step(w);
			while (w->word.text < w->end && !is_at(w, "*/"))
				text_step(w);
			for (int i = 0; i < 2 && w->word.text < w->end; i++)
				text_step(w);
		} else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
			text_step(w);
		} else {
			return;
		}
	}
}

/* The word that begins at the present place. */
static void word_read(struct vb_goal_words *w)
{
	const char *s;

	blanks_skip(w);
	s = w->word.text;
	w->kind = VB_GOAL_END;
	if (s < w->end && is_letter(*s)) {
		w->kind = VB_GOAL_NAME;
		while (s < w->end && (is_letter(*s) || is_digit(*s) || *s == '_'))
			s++;
	} else if (s < w->end && is_digit(*s)) {
		w->kind = VB_GOAL_NUMBER;
		while (s < w->end && is_digit(*s))
			s++;
	} else if (s < w->end) {
		w->kind = VB_GOAL_SIGN;
		s++;
	}
	w->word.len = (uint32_t)(s - w->word.text);
}

struct vb_goal_words vb_goal_words_of(const char *text, size_t len)
{
	return vb_goal_words_at(text, len, 0);
}

void vb_goal_words_next(struct vb_goal_words *w)
{
	/* No word has a line's end in it. */
	w->last_line = w->word.line;
	w->word.text += w->word.len;
	w->word.column += w->word.len;
	word_read(w);
}

uint32_t vb_goal_words_mark(const struct vb_goal_words *w)
{
	return (uint32_t)(w->word.text - w->text);
}

struct vb_goal_words vb_goal_words_at(const char *text, size_t len, uint32_t mark)
{
	struct vb_goal_words w = {
	    .text = text, .end = text + len, .word = {.text = text, .line = 1, .column = 1}};

	VB_ASSERT(mark <= len);
	while (w.word.text < text + mark)
		text_step(&w);
	w.last_line = w.word.line;
	word_read(&w);
	return w;
}
