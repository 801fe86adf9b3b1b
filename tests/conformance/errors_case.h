/* SPDX-License-Identifier: BSD-2-Clause */
/* A case of the matrix: a row of errors.def with one of its operations. */
#ifndef VB_TESTS_CONFORMANCE_ERRORS_CASE_H
#define VB_TESTS_CONFORMANCE_ERRORS_CASE_H

#include "errors_row.h"

#define TAKES_RECEIVE (SEND | SEND_IMM | SEND_INV | WRITE_IMM)
#define ATOMIC (CAS | FAA)
#define LOCAL_WORK (BIND | LOCAL_INV)

/* A case under way. */
struct play {
	const struct row *row;
	enum op op;
	struct setup setup;
	uint32_t access[SIDES];      /* of the region that the work names */
	struct region region[SIDES]; /* that region, or what its keys are taken from */
	struct region receive;       /* of the receive buffer */
	struct window window;        /* of the requester for its local work, else the responder's */
	uint32_t window_rkey;        /* that the work names */
	struct work work, recv;
	const uint8_t *there; /* the responder's memory that the work names */
	uint32_t posts, receives;
	uint32_t taken; /* of the posts */
	uint8_t before[SIDES][BLOCK];
	bool is_wrong;
};

void case_name(const struct row *row, enum op op, bool builds, char *to, size_t size);
/* Says that something was not as the row has it. */
void wrong(struct play *p, const char *what, const char *is, const char *should);

/* The parts that must be known before the QPs are made: p->setup, of which @builds is given, and
 * the parts that follow from it. */
void case_plan(struct play *p);
/* With the world open: regions, windows, and the requests. */
void case_prepare(struct play *p);
void case_end(struct play *p);

#endif
