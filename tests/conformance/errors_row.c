/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of errors.def, their words, and the page that is printed from them. */
#include "errors_row.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *const fault_text[] = {
#define FAULT(name, text) [name] = text,
#include "errors_fault.def"
#undef FAULT
};

/* The words of the table. */
enum {
	RESET = VB_QPS_RESET,
	INIT = VB_QPS_INIT,
	RTR = VB_QPS_RTR,
	RTS = VB_QPS_RTS,
	SQD = VB_QPS_SQD,
	SQE = VB_QPS_SQE,
	ERR = VB_QPS_ERR
};
enum {
	SUCCESS = VB_WC_SUCCESS,
	LOC_LEN = VB_WC_LOC_LEN_ERR,
	LOC_QP_OP = VB_WC_LOC_QP_OP_ERR,
	LOC_PROT = VB_WC_LOC_PROT_ERR,
	WR_FLUSH = VB_WC_WR_FLUSH_ERR,
	MW_BIND = VB_WC_MW_BIND_ERR,
	LOC_ACCESS = VB_WC_LOC_ACCESS_ERR,
	REM_INV_REQ = VB_WC_REM_INV_REQ_ERR,
	REM_ACCESS = VB_WC_REM_ACCESS_ERR,
	REM_OP = VB_WC_REM_OP_ERR,
	RETRY_EXC = VB_WC_RETRY_EXC_ERR,
	RNR_RETRY_EXC = VB_WC_RNR_RETRY_EXC_ERR
};
enum {
	CQ_ERR = 1 << VB_ASYNC_CQ_ERR,
	FATAL = 1 << VB_ASYNC_QP_FATAL,
	REQUEST = 1 << VB_ASYNC_QP_REQ_ERR,
	ACCESS = 1 << VB_ASYNC_QP_ACCESS_ERR,
	LIMIT = 1 << VB_ASYNC_SRQ_LIMIT_REACHED,
	LAST_WQE = 1 << VB_ASYNC_QP_LAST_WQE_REACHED
};
/* Events are the responder's; these are the requester's. */
#define OWN(set) ((int64_t)(set) << 32)
#define EVENTS(set) ((set) == NONE ? 0 : (int64_t)(set))

const struct op_kind ops[] = {
    {"SEND", VB_WR_SEND},
    {"SEND with immediate", VB_WR_SEND_IMM},
    {"SEND with invalidate", VB_WR_SEND_INV},
    {"WRITE", VB_WR_RDMA_WRITE},
    {"WRITE with immediate", VB_WR_RDMA_WRITE_IMM},
    {"READ", VB_WR_RDMA_READ},
    {"compare and swap", VB_WR_COMPARE_SWAP},
    {"fetch and add", VB_WR_FETCH_ADD},
    {"ATOMIC WRITE", VB_WR_ATOMIC_WRITE},
    {"bind of a window", VB_WR_BIND_MW},
    {"local invalidate", VB_WR_LOCAL_INV},
    {"FLUSH", VB_WR_FLUSH},
    {"receive", VB_WR_SEND},
};
_Static_assert(sizeof ops / sizeof ops[0] == OP_CNT, "an operation for each bit");

const struct row rows[] = {
#define ROW(fault, transport, ops, req, req_state, resp, resp_state, moved, events, where)         \
	{fault,                                                                                    \
	 transport,                                                                                \
	 ops,                                                                                      \
	 req,                                                                                      \
	 (enum vb_qp_state)(req_state),                                                            \
	 resp,                                                                                     \
	 (enum vb_qp_state)(resp_state),                                                           \
	 moved,                                                                                    \
	 {(uint32_t)(EVENTS(events) >> 32), (uint32_t)EVENTS(events)},                             \
	 where},
#include "errors.def"
#undef ROW
};
const size_t row_cnt = sizeof rows / sizeof rows[0];

size_t op_index(enum op op)
{
	return (size_t)__builtin_ctz(op);
}

enum vb_qp_type type_of(enum transport t)
{
	static const enum vb_qp_type type[] = {
	    [RC] = VB_QPT_RC,         [UC] = VB_QPT_UC,       [UD] = VB_QPT_UD,
	    [RC_SRQ] = VB_QPT_RC,     [XRC] = VB_QPT_XRC_INI, [DC] = VB_QPT_DCI,
	    [DC_STREAM] = VB_QPT_DCI, [UD_GROUP] = VB_QPT_UD, [UD_SRQ] = VB_QPT_UD};

	return type[t];
}

const char *transport_name(enum transport t)
{
	static const char *const name[] = {[RC] = "RC",
					   [UC] = "UC",
					   [UD] = "UD",
					   [RC_SRQ] = "RC, SRQ",
					   [XRC] = "XRC",
					   [DC] = "DC",
					   [DC_STREAM] = "DC, streams",
					   [UD_GROUP] = "UD, group",
					   [UD_SRQ] = "UD, SRQ"};

	return name[t];
}

bool is_errno(int status)
{
	return status < 0 && status != NONE;
}

const char *status_name(int status)
{
	static const struct {
		int status;
		const char *name;
	} all[] = {
	    {SUCCESS, "SUCCESS"},
	    {LOC_LEN, "LOC_LEN_ERR"},
	    {LOC_QP_OP, "LOC_QP_OP_ERR"},
	    {LOC_PROT, "LOC_PROT_ERR"},
	    {WR_FLUSH, "WR_FLUSH_ERR"},
	    {MW_BIND, "MW_BIND_ERR"},
	    {LOC_ACCESS, "LOC_ACCESS_ERR"},
	    {VB_WC_GENERAL_ERR, "GENERAL_ERR"},
	    {REM_INV_REQ, "REM_INV_REQ_ERR"},
	    {REM_ACCESS, "REM_ACCESS_ERR"},
	    {REM_OP, "REM_OP_ERR"},
	    {RETRY_EXC, "RETRY_EXC_ERR"},
	    {RNR_RETRY_EXC, "RNR_RETRY_EXC_ERR"},
	    {NONE, "nothing"},
	    {-EINVAL, "EINVAL"},
	    {-ENOMEM, "ENOMEM"},
	    {-EOPNOTSUPP, "EOPNOTSUPP"},
	};

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (all[i].status == status)
			return all[i].name;
	return "another status";
}

const char *state_name(int state)
{
	static const char *const name[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

	return state >= 0 && state <= ERR ? name[state] : "no state";
}

const char *events_text(uint32_t events, char *to, size_t size)
{
	static const struct {
		uint32_t event;
		const char *name;
	} all[] = {
	    {CQ_ERR, "CQ_ERR"},
	    {FATAL, "QP_FATAL"},
	    {REQUEST, "QP_REQ_ERR"},
	    {ACCESS, "QP_ACCESS_ERR"},
	    {LIMIT, "SRQ_LIMIT_REACHED"},
	    {LAST_WQE, "QP_LAST_WQE_REACHED"},
	    {UINT32_MAX, "another event"},
	};

	snprintf(to, size, "%s", events ? "" : "nothing");
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		if (events & all[i].event)
			snprintf(to + strlen(to), size - strlen(to), "%s%s", *to ? ", " : "",
				 all[i].name);
		events &= ~all[i].event;
	}
	return to;
}

static void print_row(const struct row *r)
{
	char text[200] = "", events[2][EVENTS_TEXT];
	bool at_requester = r->events[REQUESTER] != 0;

	for (size_t i = 0; i < OP_CNT; i++) {
		if (r->ops & 1u << i)
			snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
				 *text ? ", " : "", ops[i].name);
	}
	printf("| %s | %s | %s | %s | %s | %s | %s | %s%s%s | %s |\n", transport_name(r->transport),
	       text, r->req_status == NONE ? "-" : status_name(r->req_status),
	       state_name(r->req_state), r->resp_status == NONE ? "-" : status_name(r->resp_status),
	       state_name(r->resp_state),
	       r->moved == MOVED  ? "moved"
	       : r->moved == KEPT ? "kept"
				  : "part may have moved",
	       at_requester ? "requester's: " : "",
	       at_requester ? events_text(r->events[REQUESTER], events[0], EVENTS_TEXT) : "",
	       r->events[RESPONDER] ? events_text(r->events[RESPONDER], events[1], EVENTS_TEXT)
	       : at_requester       ? ""
				    : "-",
	       r->where);
}

void print_document(void)
{
	puts("# Error semantics\n"
	     "\n"
	     "This page says how an operation with one mistake ends, on both sides. It is\n"
	     "generated from `tests/conformance/errors.def`. The same table is played over\n"
	     "loopback through libibverbs and mlx5dv, and on two hosts of the simulator;\n"
	     "FLUSH, which libibverbs does not have yet, is played there alone. A test checks\n"
	     "that this page is up to date. Rows where posting matters are played twice: by\n"
	     "`ibv_post_send()` and by `ibv_wr_*()`, which posts all requests or none.\n"
	     "[interop.md](interop.md) says where Linux' rdma_rxe differs.\n"
	     "\n"
	     "Requester and responder: the status of the work completion, and the state of the\n"
	     "QP afterwards. EINVAL and ENOMEM are return values of posting (at the responder,\n"
	     "of posting the receive), and `bad_wr` names the request. In ERR all requests\n"
	     "behind are flushed, in order. Data: whether the memory of the operation has\n"
	     "changed. Events: all events of the responder's QP, SRQ and CQ except COMM_EST;\n"
	     "the few events of the requester are marked. Sections are sections of the\n"
	     "InfiniBand Architecture Specification, volume 1.\n"
	     "\n"
	     "\"RC, SRQ\" and \"UD, SRQ\": the responder has a shared receive queue. XRC and DC:\n"
	     "from an initiator to a target, whose windows another QP of its protection domain\n"
	     "has bound. \"DC, streams\": the error belongs to the stream, and later work of\n"
	     "that stream is flushed ([dc.md](dc.md)). \"UD, group\": to a multicast group that\n"
	     "the responder's QP is attached to.");
	for (size_t i = 0; i < row_cnt; i++) {
		const char *text = fault_text[rows[i].fault];

		if (i == 0 || rows[i].fault != rows[i - 1].fault)
			printf("\n## %c%s\n\n"
			       "| | Operations | Requester | its QP | Responder | its QP | Data | "
			       "Events | Written in |\n"
			       "|---|---|---|---|---|---|---|---|---|\n",
			       *text - 'a' + 'A', text + 1);
		print_row(&rows[i]);
	}
}
