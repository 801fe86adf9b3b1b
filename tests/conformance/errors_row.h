/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of errors.def as rows, the words that it is written in, and their names. */
#ifndef VB_TESTS_CONFORMANCE_ERRORS_ROW_H
#define VB_TESTS_CONFORMANCE_ERRORS_ROW_H

#include "errors.h"

enum fault {
#define FAULT(name, text) name,
#include "errors_fault.def"
#undef FAULT
};
extern const char *const fault_text[];

enum op {
	SEND = 1 << 0,
	SEND_IMM = 1 << 1,
	SEND_INV = 1 << 2,
	WRITE = 1 << 3,
	WRITE_IMM = 1 << 4,
	READ = 1 << 5,
	CAS = 1 << 6,
	FAA = 1 << 7,
	ATOMIC_WRITE = 1 << 8,
	BIND = 1 << 9,
	LOCAL_INV = 1 << 10,
	FLUSH = 1 << 11,
	RECEIVE = 1 << 12 /* posting one; nothing is posted at the requester */
};
struct op_kind {
	const char *name;
	enum vb_wr_opcode opcode;
};
/* In the order of the bits of enum op. */
extern const struct op_kind ops[];
#define OP_CNT 13u

/*
 * RC_SRQ, UD_SRQ: the responder's QP has an SRQ. XRC, DC: from an initiator to a target and its
 * SRQ; DC_STREAM: the initiator has streams. UD_GROUP: to a multicast group, of which the responder
 * is.
 */
enum transport { RC, UC, UD, RC_SRQ, XRC, DC, DC_STREAM, UD_GROUP, UD_SRQ };

enum moved { KEPT, MOVED, ANY };

#define NONE NOTHING

struct row {
	enum fault fault;
	enum transport transport;
	uint32_t ops; /* set of enum op */
	int req_status;
	enum vb_qp_state req_state;
	int resp_status;
	enum vb_qp_state resp_state;
	enum moved moved;
	uint32_t events[SIDES]; /* sets of 1 << enum vb_async */
	const char *where;
};
extern const struct row rows[];
extern const size_t row_cnt;

size_t op_index(enum op op);
enum vb_qp_type type_of(enum transport t);
const char *transport_name(enum transport t);
/* Of a completion; negative: the errno of posting (is_errno()), or NOTHING. */
bool is_errno(int status);
const char *status_name(int status);
const char *state_name(int state);
/* Writes the names of the events to @to, and returns it. */
const char *events_text(uint32_t events, char *to, size_t size);
#define EVENTS_TEXT 200u

/* Prints docs/error-semantics.md. */
void print_document(void);

#endif
