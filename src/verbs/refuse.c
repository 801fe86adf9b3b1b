/* SPDX-License-Identifier: BSD-2-Clause */
/* Why verbs refuse, see refuse.h. */
#include "verbs/refuse.h"

#include "verbs/priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A verb and its object. */
#define VERB_MAX 64

/* What was noted and not yet told. */
static _Thread_local struct {
	int err; /* 0: nothing */
	char text[VB_REFUSED_TEXT_MAX - VERB_MAX - 2];
} noted;

/* What libverbena-trace.so has not asked for yet. */
static _Thread_local struct {
	bool is_new;
	char text[sizeof noted.text];
} told;

const char *verbena_refusal(void)
{
	bool is_new = told.is_new;

	told.is_new = false;
	return is_new ? told.text : NULL;
}

void vb_ibv_note_why(int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(noted.text, sizeof noted.text, format, args);
	va_end(args);
	noted.err = err;
}

void vb_ibv_forget_why(void)
{
	noted.err = 0;
}

int vb_ibv_why_core(struct vb_ibv_context *c, int err)
{
	vb_engine_refusal(c->engine, noted.text, sizeof noted.text);
	noted.err = noted.text[0] ? err : 0;
	return err;
}

/* VERBENA_LOG is set, and not to 0. */
static bool is_logged(void)
{
	const char *text = getenv("VERBENA_LOG");

	return text && *text && strcmp(text, "0") != 0;
}

int vb_ibv_refuse(struct vb_ibv_context *c, int err, const char *format, ...)
{
	char verb[VERB_MAX], text[VB_REFUSED_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(verb, sizeof verb, format, args);
	va_end(args);
	if (!vb_engine_is_alive(c->engine))
		vb_ibv_note_why(err, "a forked child has no adapter, it stayed with the parent");
	snprintf(text, sizeof text, "%s: %s", verb,
		 noted.err == err ? noted.text : strerrordesc_np(err));
	told.is_new = noted.err == err;
	memcpy(told.text, noted.text, sizeof told.text);
	noted.err = 0;
	if (vb_ibv_enter(c)) {
		vb_engine_note_refused(c->engine, err, text);
		vb_ibv_leave(c);
	}
	if (is_logged())
		fprintf(stderr, "verbena: %s: %s\n", strerrorname_np(err), text);
	errno = err;
	return err;
}
