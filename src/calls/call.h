/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One call of a verb, as `verbena trace` shows it: its arguments by name, its result, why it was
 * refused and how long it took, as a line of text or as a JSON object. libverbena-trace.so stands
 * before libverbena.so and hands every call on, so a program that is not traced pays nothing.
 *
 * VERBENA_TRACE=OPTIONS turns it on: words with a comma behind each but the last, "json",
 * "file=PATH" (last of all; without it lines go to standard error). VERBENA_TRACE_CALLS=PATTERNS
 * chooses calls: names without "ibv_", as in fnmatch(3), with a comma between; with a "!" before
 * them, all others.
 */
#ifndef VB_CALLS_CALL_H
#define VB_CALLS_CALL_H

#include "calls/names.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VB_CALL_BYTES 16384u

enum vb_kind {
	VB_KIND_CTX,
	VB_KIND_PD,
	VB_KIND_MR,
	VB_KIND_MW,
	VB_KIND_CQ,
	VB_KIND_SRQ,
	VB_KIND_QP, /* known by its number, not by one of ours */
	VB_KIND_AH,
	VB_KIND_CHANNEL,
	VB_KIND_XRCD,
	VB_KIND_DM,
	VB_KIND_TD,
	VB_KIND_DMAH,
	VB_KIND_BUF,
	VB_KIND_CNTR,
	VB_KIND_CNT,
};

struct vb_call {
	const char *verb;
	bool shown; /* it is among the calls that are to be shown */
	bool json;
	bool comma; /* the next value comes behind another one */
	bool has_results;
	uint64_t begin, end; /* ns, CLOCK_MONOTONIC */
	int err;             /* errno behind the call */
	size_t len;
	char text[VB_CALL_BYTES]; /* what does not fit is cut off */
};

/* Around a call: arguments are added before vb_call_go(), and results behind vb_call_done(). */
void vb_call_begin(struct vb_call *c, const char *verb);
void vb_call_go(struct vb_call *c);
void vb_call_done(struct vb_call *c);

/* Arguments. @name is NULL within a list. */
void vb_call_number(struct vb_call *c, const char *name, int64_t value);
void vb_call_hex(struct vb_call *c, const char *name, uint64_t value);
void vb_call_word(struct vb_call *c, const char *name, const char *word);
void vb_call_flags(struct vb_call *c, const char *name, uint64_t bits, const struct vb_name *names);
void vb_call_gid(struct vb_call *c, const char *name, const union ibv_gid *gid);
/* "cq3", a QP by its number, or "NULL"; the address of what is no known object. */
void vb_call_object(struct vb_call *c, const char *name, enum vb_kind kind, const void *object);
void vb_call_open(struct vb_call *c, const char *name, char bracket); /* '{' or '[' */
void vb_call_close(struct vb_call *c, char bracket);

/*
 * Each call ends with one of these. It takes an object that was made, or NULL with errno set; an
 * errno value, 0 for success, or -1 with errno set; a count, negative with errno set; or nothing.
 * Values that are added between vb_call_results() and the end are shown as results.
 */
void vb_call_results(struct vb_call *c);
void vb_call_end_object(struct vb_call *c, enum vb_kind kind, const void *object);
void vb_call_end_error(struct vb_call *c, int err);
void vb_call_end_count(struct vb_call *c, int cnt);
void vb_call_end(struct vb_call *c);

#endif
