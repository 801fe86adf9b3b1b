/* SPDX-License-Identifier: BSD-2-Clause */
/* Splitting of script lines into words. */
#include "args.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* The end of the group that opens at @p, or NULL. */
static char *group_end(char *p)
{
	char open = *p, close = open == '(' ? ')' : ']';
	unsigned depth = 0;

	for (; *p != '\0'; p++) {
		if (*p == open)
			depth++;
		if (*p == close && --depth == 0)
			return p;
	}
	return NULL;
}

/* Takes the word at @p into @a. Returns what follows it, or NULL when a group is not closed. */
static char *take_word(struct arg *a, char *p)
{
	a->used = false;
	a->val = NULL;
	if (*p == '[') {
		char *end = group_end(p);

		a->key = "[";
		a->val = p + 1;
		if (end != NULL)
			*end++ = '\0';
		return end;
	}
	char *word = p;

	a->key = word;
	while (*p != '\0' && !isspace((unsigned char)*p) && *p != '(' &&
	       (*p != '=' || p == word || p[-1] == '='))
		p++;
	if (*p == '(') {
		char *end = group_end(p);

		*p = '\0';
		a->val = p + 1;
		if (end != NULL)
			*end++ = '\0';
		return end;
	}
	if (*p == '=') {
		*p++ = '\0';
		a->val = p;
		while (*p != '\0' && !isspace((unsigned char)*p))
			p++;
	}
	if (*p != '\0')
		*p++ = '\0';
	return p;
}

const char *args_split(struct args *args, char *text)
{
	args->cnt = 0;
	for (;;) {
		while (isspace((unsigned char)*text))
			text++;
		if (*text == '\0')
			return NULL;
		if (args->cnt == ARGS_MAX)
			return "too many words";
		text = take_word(&args->a[args->cnt++], text);
		if (text == NULL)
			return "a group is not closed";
	}
}

bool args_flag(struct args *args, const char *key)
{
	for (unsigned i = 0; i < args->cnt; i++)
		if (args->a[i].val == NULL && strcmp(args->a[i].key, key) == 0)
			return args->a[i].used = true;
	return false;
}

const char *args_value(struct args *args, const char *key)
{
	for (unsigned i = 0; i < args->cnt; i++)
		if (args->a[i].val != NULL && strcmp(args->a[i].key, key) == 0) {
			args->a[i].used = true;
			return args->a[i].val;
		}
	return NULL;
}

struct arg *args_next_word(struct args *args)
{
	for (unsigned i = 0; i < args->cnt; i++) {
		struct arg *a = &args->a[i];

		if (!a->used && (a->val == NULL || a->key[0] == '[')) {
			a->used = true;
			return a;
		}
	}
	return NULL;
}

const char *args_left(const struct args *args)
{
	for (unsigned i = 0; i < args->cnt; i++)
		if (!args->a[i].used)
			return args->a[i].key;
	return NULL;
}
