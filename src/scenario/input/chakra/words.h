/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON, as a stream of values from left to right: it needs no memory, and no depth of calls for
 * what it skips. Escapes in strings stay as they are. */
#ifndef VB_SCENARIO_INPUT_CHAKRA_WORDS_H
#define VB_SCENARIO_INPUT_CHAKRA_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vb_json {
	const char *at, *end;
	uint32_t line;     /* from 1 */
	const char *wrong; /* NULL: nothing so far; else it is in line */
};

enum vb_json_kind { VB_JSON_STRING, VB_JSON_WORD, VB_JSON_LIST };

struct vb_json_value {
	enum vb_json_kind kind; /* WORD: a number, true, false or null; LIST: or an object */
	const char *text;       /* STRING without its signs, WORD */
	size_t len;
	uint64_t bools;    /* LIST: the first 64 of true and false in it, */
	uint32_t bool_cnt; /* and how many there are */
};

/* No value is left: only blanks. */
bool vb_json_is_end(struct vb_json *j);
/* The sign @sign comes next: goes on behind it. */
bool vb_json_take(struct vb_json *j, char sign);
/* A value; a list or an object is skipped. False: j->wrong, as for all that follow. */
bool vb_json_value(struct vb_json *j, struct vb_json_value *v);
/* The next member of an object or a list behind its '{' or '[', with its @key (NULL: a list); the
 * value is next. False: it has ended, or j->wrong. @is_first: begins as true. */
bool vb_json_member(struct vb_json *j, bool *is_first, struct vb_json_value *key);

/* The value as a whole number, which may be in a string. */
bool vb_json_number(const struct vb_json_value *v, uint64_t *number);
/* The key is @name, which has "_" where the key may have the next letter large instead. */
bool vb_json_is(const struct vb_json_value *key, const char *name);

#endif
