/* SPDX-License-Identifier: BSD-2-Clause */
/* A call as it is put together, see call.h. */
#include "calls/call.h"

#include "calls/objects.h"
#include "calls/output.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Room that is kept for the end of a line. */
#define TAIL_BYTES 1024u

/* libverbena.so has it: why this thread's last verb was refused, or NULL; told once. */
const char *verbena_refusal(void) __attribute__((weak));

static uint64_t clock_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((format(printf, 3, 4))) static void add_text(struct vb_call *c, size_t room,
							   const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(c->text + c->len, sizeof c->text - c->len, format, args);
	va_end(args);
	if (n > 0 && c->len + (size_t)n + room < sizeof c->text)
		c->len += (size_t)n;
	c->text[c->len] = 0;
}

/* The name of a value, and what stands between it and the one before. */
static bool value_begin(struct vb_call *c, const char *name)
{
	if (!c->shown)
		return false;
	if (c->comma)
		add_text(c, TAIL_BYTES, ", ");
	c->comma = true;
	if (name)
		add_text(c, TAIL_BYTES, c->json ? "\"%s\": " : "%s=", name);
	return true;
}

void vb_call_number(struct vb_call *c, const char *name, int64_t value)
{
	if (value_begin(c, name))
		add_text(c, TAIL_BYTES, "%" PRId64, value);
}

void vb_call_hex(struct vb_call *c, const char *name, uint64_t value)
{
	if (value_begin(c, name))
		add_text(c, TAIL_BYTES, c->json ? "\"0x%" PRIx64 "\"" : "0x%" PRIx64, value);
}

void vb_call_word(struct vb_call *c, const char *name, const char *word)
{
	if (value_begin(c, name))
		add_text(c, TAIL_BYTES, c->json ? "\"%s\"" : "%s", word);
}

void vb_call_flags(struct vb_call *c, const char *name, uint64_t bits, const struct vb_name *names)
{
	const char *between = "";

	if (!value_begin(c, name))
		return;
	add_text(c, TAIL_BYTES, c->json ? "\"" : "");
	for (; names->name; names++) {
		if (!(bits & names->value))
			continue;
		add_text(c, TAIL_BYTES, "%s%s", between, names->name);
		bits &= ~names->value;
		between = "|";
	}
	if (bits || !*between)
		add_text(c, TAIL_BYTES, bits ? "%s0x%" PRIx64 : "%s%" PRIu64, between, bits);
	add_text(c, TAIL_BYTES, c->json ? "\"" : "");
}

void vb_call_gid(struct vb_call *c, const char *name, const union ibv_gid *gid)
{
	char text[INET6_ADDRSTRLEN];

	vb_call_word(c, name, inet_ntop(AF_INET6, gid->raw, text, sizeof text));
}

void vb_call_object(struct vb_call *c, const char *name, enum vb_kind kind, const void *object)
{
	char text[32];

	if (!c->shown)
		return;
	vb_calls_object_text(kind, object, text, sizeof text);
	vb_call_word(c, name, text);
}

void vb_call_open(struct vb_call *c, const char *name, char bracket)
{
	if (!value_begin(c, name))
		return;
	add_text(c, TAIL_BYTES, "%c", bracket);
	c->comma = false;
}

void vb_call_close(struct vb_call *c, char bracket)
{
	if (!c->shown)
		return;
	add_text(c, TAIL_BYTES / 2, "%c", bracket);
	c->comma = true;
}

void vb_call_begin(struct vb_call *c, const char *verb)
{
	int was = errno;

	c->verb = verb;
	c->shown = vb_output_wants(verb);
	c->json = vb_output_is_json();
	c->comma = c->has_results = false;
	c->len = 0;
	c->text[0] = 0;
	errno = was;
}

void vb_call_go(struct vb_call *c)
{
	if (!c->shown)
		return;
	if (verbena_refusal)
		(void)verbena_refusal();
	c->begin = clock_now(CLOCK_MONOTONIC);
}

void vb_call_done(struct vb_call *c)
{
	c->err = errno;
	if (c->shown)
		c->end = clock_now(CLOCK_MONOTONIC);
}

void vb_call_results(struct vb_call *c)
{
	if (!c->shown)
		return;
	add_text(c, TAIL_BYTES / 2, c->json ? "}, \"returned\": {" : ") -> {");
	c->comma = false;
	c->has_results = true;
}

/* Behind the arguments, or the results: @result, NULL for none, a JSON value as it is or a word
 * that is @quoted there; and @err with why. */
static void call_finish(struct vb_call *c, const char *result, bool quoted, int err)
{
	const char *why = c->shown && err && verbena_refusal ? verbena_refusal() : NULL;
	char text[512];

	if (!c->shown)
		goto out;
	if (c->json) {
		const char *quote = quoted ? "\"" : "";

		add_text(c, 0, "}, \"result\": %s%s%s", quote, result ? result : "null", quote);
		if (err)
			add_text(c, 0, ", \"errno\": \"%s\"", strerrorname_np(err));
		if (why) {
			vb_output_quote(why, text, sizeof text);
			add_text(c, 0, ", \"reason\": \"%s\"", text);
		}
	} else {
		add_text(c, 0, c->has_results ? "}" : ")");
		if (result)
			add_text(c, 0, " = %s", result);
		if (err && (!result || strcmp(result, strerrorname_np(err)) != 0))
			add_text(c, 0, " %s", strerrorname_np(err));
		if (err)
			add_text(c, 0, " (%s)", why ? why : strerrordesc_np(err));
	}
	vb_output_line(c);
out:
	errno = c->err;
}

void vb_call_end_object(struct vb_call *c, enum vb_kind kind, const void *object)
{
	char text[32] = "NULL";

	if (object) {
		if (kind != VB_KIND_QP)
			vb_calls_object_add(kind, object);
		vb_calls_object_text(kind, object, text, sizeof text);
	}
	call_finish(c, object || !c->json ? text : NULL, object && c->json, object ? 0 : c->err);
}

void vb_call_end_error(struct vb_call *c, int err)
{
	char text[16];

	/* Some return -1 and set errno. */
	snprintf(text, sizeof text, "%d", err);
	if (err < 0)
		call_finish(c, text, false, c->err);
	else
		call_finish(c, err && !c->json ? strerrorname_np(err) : text, false, err);
}

void vb_call_end_count(struct vb_call *c, int cnt)
{
	char text[16];

	snprintf(text, sizeof text, "%d", cnt);
	call_finish(c, text, false, cnt < 0 ? c->err : 0);
}

void vb_call_end(struct vb_call *c)
{
	call_finish(c, NULL, false, 0);
}
