/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words of a script line: "flag", "key=value", "key(words)" and "[ words ]". Each word that a
 * statement takes is marked; what is left over at the end is an error, so that a misspelt word
 * never passes silently.
 */
#ifndef VB_TESTS_SCRIPT_ARGS_H
#define VB_TESTS_SCRIPT_ARGS_H

#include <stdbool.h>

#define ARGS_MAX 48

struct arg {
	const char *key; /* "[" for a bracket group */
	char *val;       /* behind '=', or inside the parentheses or brackets; NULL: a bare word */
	bool used;
};

struct args {
	struct arg a[ARGS_MAX];
	unsigned cnt;
};

/* Splits @text in place. Returns NULL, or what is wrong with it. */
const char *args_split(struct args *args, char *text);

/* True if the bare word @key is there. */
bool args_flag(struct args *args, const char *key);

/* The value of @key, or NULL. */
const char *args_value(struct args *args, const char *key);

/* The next bare word or bracket group not taken yet, or NULL. */
struct arg *args_next_word(struct args *args);

/* The first word that nobody took, or NULL. */
const char *args_left(const struct args *args);

#endif
