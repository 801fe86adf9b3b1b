/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Plays each row of errors.def for each of its operations, and says where what happened differs.
 *
 *   PROGRAM [DEVICE]     plays all; DEVICE where the functions are those of libibverbs
 *   PROGRAM --document   prints docs/error-semantics.md
 */
#include "errors.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum fault {
#define FAULT(name, text) name,
#include "errors.def"
#undef FAULT
};

static const char *const fault_text[] = {
#define FAULT(name, text) [name] = text,
#include "errors.def"
#undef FAULT
};

/* The words of the table. */
enum op {
	SEND = 1,
	SEND_IMM = 2,
	SEND_INV = 4,
	WRITE = 8,
	WRITE_IMM = 16,
	READ = 32,
	CAS = 64,
	FAA = 128
};
enum { RC = VB_QPT_RC, UC = VB_QPT_UC, UD = VB_QPT_UD };
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
	LOC_PROT = VB_WC_LOC_PROT_ERR,
	WR_FLUSH = VB_WC_WR_FLUSH_ERR,
	REM_INV_REQ = VB_WC_REM_INV_REQ_ERR,
	REM_ACCESS = VB_WC_REM_ACCESS_ERR,
	REM_OP = VB_WC_REM_OP_ERR,
	RETRY_EXC = VB_WC_RETRY_EXC_ERR,
	RNR_RETRY_EXC = VB_WC_RNR_RETRY_EXC_ERR
};
enum { REQUEST = VB_ASYNC_QP_REQ_ERR, ACCESS = VB_ASYNC_QP_ACCESS_ERR };
enum { NONE = NOTHING };
enum moved { KEPT, MOVED, ANY };

static const struct {
	const char *name;
	enum vb_wr_opcode opcode;
} ops[] = {
    {"SEND", VB_WR_SEND},
    {"SEND with immediate", VB_WR_SEND_IMM},
    {"SEND with invalidate", VB_WR_SEND_INV},
    {"WRITE", VB_WR_RDMA_WRITE},
    {"WRITE with immediate", VB_WR_RDMA_WRITE_IMM},
    {"READ", VB_WR_RDMA_READ},
    {"compare and swap", VB_WR_COMPARE_SWAP},
    {"fetch and add", VB_WR_FETCH_ADD},
};

#define OP_CNT (sizeof ops / sizeof ops[0])

static const struct row {
	enum fault fault;
	enum vb_qp_type type;
	unsigned ops; /* set of enum op */
	int req_status;
	enum vb_qp_state req_state;
	int resp_status;
	enum vb_qp_state resp_state;
	enum moved moved;
	int event;
	const char *where;
} rows[] = {
#define ROW(fault, type, ops, req, req_state, resp, resp_state, moved, event, where)               \
	{fault, (enum vb_qp_type)(type),        ops,   req,   (enum vb_qp_state)(req_state),       \
	 resp,  (enum vb_qp_state)(resp_state), moved, event, where},
#include "errors.def"
#undef ROW
};

#define ROW_CNT (sizeof rows / sizeof rows[0])
#define TAKES_RECEIVE (SEND | SEND_IMM | SEND_INV | WRITE_IMM)
#define ATOMIC (CAS | FAA)
#define INTO_REQUESTER (READ | ATOMIC)
#define LEN 64u
#define GRH_LEN 40u

/* A case under way. */
struct play {
	const struct row *row;
	enum op op;
	struct setup setup;
	uint32_t access[SIDES];      /* of the region that the work names */
	struct region region[SIDES]; /* that region, or what its keys are taken from */
	struct region receive;       /* of the receive buffer */
	struct work work, recv;
	uint32_t posts, receives;
	uint8_t before[SIDES][BLOCK];
	bool is_wrong;
};

static const char *status_name(int status)
{
	switch (status) {
	case SUCCESS:
		return "SUCCESS";
	case LOC_LEN:
		return "LOC_LEN_ERR";
	case LOC_PROT:
		return "LOC_PROT_ERR";
	case WR_FLUSH:
		return "WR_FLUSH_ERR";
	case REM_INV_REQ:
		return "REM_INV_REQ_ERR";
	case REM_ACCESS:
		return "REM_ACCESS_ERR";
	case REM_OP:
		return "REM_OP_ERR";
	case RETRY_EXC:
		return "RETRY_EXC_ERR";
	case RNR_RETRY_EXC:
		return "RNR_RETRY_EXC_ERR";
	case NONE:
		return "nothing";
	case -EINVAL:
		return "EINVAL";
	case -ENOMEM:
		return "ENOMEM";
	default:
		return "another status";
	}
}

static const char *state_name(int state)
{
	static const char *const name[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

	return state >= 0 && state <= ERR ? name[state] : "no state";
}

static const char *event_name(int event)
{
	return event == NONE      ? "nothing"
	       : event == REQUEST ? "QP_REQ_ERR"
	       : event == ACCESS  ? "QP_ACCESS_ERR"
				  : "another event";
}

static const char *type_name(enum vb_qp_type type)
{
	return type == VB_QPT_RC ? "RC" : type == VB_QPT_UC ? "UC" : "UD";
}

static size_t op_index(enum op op)
{
	return (size_t)__builtin_ctz(op);
}

static void wrong(struct play *p, const char *what, const char *is, const char *should)
{
	if (!p->is_wrong)
		printf("%s %s, %s:\n", type_name(p->row->type), ops[op_index(p->op)].name,
		       fault_text[p->row->fault]);
	p->is_wrong = true;
	printf("    %s: %s, should be %s\n", what, is, should);
}

/* What must be known before the QPs are made. */
static void plan(struct play *p)
{
	const uint32_t all =
	    VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ | VB_ACCESS_REMOTE_ATOMIC;

	p->setup = (struct setup){p->row->type, all, {VB_QPS_RTS, VB_QPS_RTS}};
	p->access[REQUESTER] = VB_ACCESS_LOCAL_WRITE;
	p->access[RESPONDER] = VB_ACCESS_LOCAL_WRITE | all;
	p->receives = 2;
	p->posts = 1;
	switch (p->row->fault) {
	case LOCAL_RIGHT:
		p->access[REQUESTER] = 0;
		break;
	case REGION_RIGHT:
		p->access[RESPONDER] = VB_ACCESS_LOCAL_WRITE;
		break;
	case QP_RIGHT:
		p->setup.qp_access = 0;
		break;
	case RECEIVE_NONE:
		p->receives = 0;
		break;
	case PEER_RESET:
		p->setup.state[RESPONDER] = VB_QPS_RESET;
		p->receives = 0;
		break;
	case PEER_INIT:
		p->setup.state[RESPONDER] = VB_QPS_INIT;
		break;
	case PEER_ERR:
		p->setup.state[RESPONDER] = VB_QPS_ERR;
		break;
	case IN_RESET:
		p->setup.state[REQUESTER] = VB_QPS_RESET;
		break;
	case IN_INIT:
		p->setup.state[REQUESTER] = VB_QPS_INIT;
		break;
	case IN_RTR:
		p->setup.state[REQUESTER] = VB_QPS_RTR;
		break;
	case IN_ERR:
		p->setup.state[REQUESTER] = VB_QPS_ERR;
		break;
	case IN_SQD:
		p->setup.state[REQUESTER] = VB_QPS_SQD;
		break;
	case QUEUE_FULL:
		p->setup.state[REQUESTER] = VB_QPS_SQD; /* nothing completes meanwhile */
		p->posts = QUEUE_WRS + 1;
		break;
	default:
		break;
	}
}

/* The key that a region had. */
static void make_stale(struct region *r)
{
	deregister_region(r);
	r->handle = NULL;
}

static void prepare_regions(struct play *p)
{
	enum fault f = p->row->fault;

	p->region[REQUESTER] = register_region(REQUESTER, f == LKEY_PD, p->access[REQUESTER]);
	p->region[RESPONDER] = register_region(RESPONDER, f == RKEY_PD, p->access[RESPONDER]);
	p->receive = register_region(RESPONDER, f == RECEIVE_PD,
				     f == RECEIVE_RIGHT ? 0 : VB_ACCESS_LOCAL_WRITE);
	if (f == LKEY_STALE)
		make_stale(&p->region[REQUESTER]);
	if (f == RKEY_STALE)
		make_stale(&p->region[RESPONDER]);
}

static void prepare_work(struct play *p)
{
	uint8_t *here = block_of(REQUESTER) + REGION, *there = block_of(RESPONDER) + REGION;
	enum fault f = p->row->fault;
	struct work *w = &p->work;
	uint32_t step = p->op & ATOMIC ? 8 : 1;

	*w = (struct work){
	    .opcode = ops[op_index(p->op)].opcode,
	    .addr = here,
	    .len = p->op & ATOMIC ? 8 : LEN,
	    .lkey = p->region[REQUESTER].lkey,
	    .sge_cnt = 1,
	    .rkey = p->region[RESPONDER].rkey,
	    .inv_rkey = p->region[RESPONDER].rkey,
	    .qkey = QKEY,
	};
	switch (f) {
	case LKEY_WRONG:
		w->lkey ^= 0x5a5a5500;
		break;
	case LOCAL_LOW:
		w->addr = here - 1;
		break;
	case LOCAL_HIGH:
		w->addr = here + REGION - w->len + 1;
		break;
	case RKEY_WRONG:
		w->rkey ^= 0x5a5a5500;
		break;
	case REMOTE_LOW:
		there -= step;
		break;
	case REMOTE_HIGH:
		there += REGION - w->len + step;
		break;
	case MISALIGNED:
		there += 4;
		break;
	case ZERO_LENGTH:
		w->len = w->sge_cnt = 0;
		w->rkey ^= 0x5a5a5500;
		break;
	case INVALIDATE_WRONG:
		w->inv_rkey ^= 0x5a5a5500;
		break;
	case SGES:
		w->sge_cnt = SGE_MAX + 1;
		w->len = 8;
		break;
	case INLINE_LONG:
		w->flags = VB_SEND_INLINE;
		w->len = INLINE_MAX + 1;
		break;
	case TOO_LONG:
		w->len = mtu_bytes() + 1;
		break;
	case QKEY_WRONG:
		w->qkey = QKEY + 1;
		break;
	default:
		break;
	}
	w->remote_addr = address_of(RESPONDER, there);
}

static void prepare_receive(struct play *p)
{
	p->recv = (struct work){.addr = block_of(RESPONDER) + REGION,
				.len = LEN + (p->row->type == VB_QPT_UD ? GRH_LEN : 0),
				.lkey = p->receive.lkey,
				.sge_cnt = 1};
	switch (p->row->fault) {
	case RECEIVE_SHORT:
		p->recv.len--;
		break;
	case RECEIVE_LKEY:
		p->recv.lkey ^= 0x5a5a5500;
		break;
	case RECEIVE_HIGH:
		p->recv.addr += REGION - p->recv.len + 1;
		break;
	default:
		break;
	}
}

/* Whether posting went as the row says. */
static bool post(struct play *p)
{
	int want = p->row->req_status < 0 && p->row->req_status != NONE ? -p->row->req_status : 0;

	for (uint32_t i = 0; i < p->posts; i++) {
		bool bad = false, last = i == p->posts - 1;
		int err;

		p->work.wr_id = 1 + i;
		err = post_send(&p->work, &bad);
		if (err != (last ? want : 0)) {
			wrong(p, "posting", strerror(err), strerror(last ? want : 0));
			return false;
		}
		if (err && !bad)
			wrong(p, "bad_wr", "another request", "the one that was refused");
	}
	return want == 0;
}

static void check_side(struct play *p, enum side side, int status, uint64_t wr_id)
{
	const char *who = side == REQUESTER ? "requester" : "responder";
	struct done done[DONE_MAX];
	uint32_t cnt = completions_of(side, done, DONE_MAX);
	int got = cnt ? (int)done[0].status : NONE;

	if (got != status)
		wrong(p, who, status_name(got), status_name(status));
	if (cnt && done[0].wr_id != wr_id)
		wrong(p, who, "completes another request first", "the first one");
	/* Behind an error, what is queued is flushed, in order. */
	for (uint32_t i = 1; i < cnt; i++) {
		if (done[i].wr_id != wr_id + i)
			wrong(p, who, "out of order", "in order");
		if (done[i].status != VB_WC_WR_FLUSH_ERR && status != SUCCESS)
			wrong(p, who, "completes on after an error", "flushed");
	}
}

/* SUCCESS at the responder means a completion only where a receive is taken. */
static int resp_status(const struct play *p)
{
	bool silent = p->row->resp_status == SUCCESS && !(p->op & TAKES_RECEIVE);

	return silent ? NONE : p->row->resp_status;
}

static void check_data(struct play *p)
{
	enum side to = p->op & INTO_REQUESTER ? REQUESTER : RESPONDER;
	bool changed = memcmp(p->before[to], block_of(to), BLOCK) != 0;

	if (memcmp(p->before[!to], block_of(!to), BLOCK) != 0 && !(p->op & ATOMIC && p->row->moved))
		wrong(p, "memory", "changed at the other side", "as it was");
	if (p->row->moved != ANY && changed != (p->row->moved == MOVED))
		wrong(p, "data", changed ? "moved" : "kept", changed ? "kept" : "moved");
	if (memcmp(p->before[to], block_of(to), REGION) != 0 ||
	    memcmp(p->before[to] + 2 * REGION, block_of(to) + 2 * REGION, REGION) != 0)
		wrong(p, "memory", "changed outside of the region", "as it was");
}

static void check(struct play *p, bool posted)
{
	const struct row *row = p->row;
	uint32_t want[SIDES] = {posted && row->req_status != NONE, resp_status(p) != NONE};
	int event;

	settle(want);
	check_side(p, REQUESTER, posted ? row->req_status : NONE, 1);
	check_side(p, RESPONDER, resp_status(p), 100);
	check_data(p);
	if (state_of(REQUESTER) != row->req_state)
		wrong(p, "requester's QP", state_name(state_of(REQUESTER)),
		      state_name(row->req_state));
	if (state_of(RESPONDER) != row->resp_state)
		wrong(p, "responder's QP", state_name(state_of(RESPONDER)),
		      state_name(row->resp_state));
	event = event_of(RESPONDER);
	if (event != row->event)
		wrong(p, "responder's event", event_name(event), event_name(row->event));
}

static void fill(struct play *p)
{
	for (int side = 0; side < SIDES; side++) {
		for (uint32_t i = 0; i < BLOCK; i++)
			block_of((enum side)side)[i] =
			    (uint8_t)(i * 7 + (side ? 0x80 : 1) + (i >> 8));
		memcpy(p->before[side], block_of((enum side)side), BLOCK);
	}
}

static bool play(const struct row *row, enum op op)
{
	static struct play p;

	p = (struct play){.row = row, .op = op};
	plan(&p);
	open_world(&p.setup);
	fill(&p);
	prepare_regions(&p);
	prepare_work(&p);
	prepare_receive(&p);
	for (uint32_t i = 0; i < p.receives; i++) {
		int err;

		p.recv.wr_id = 100 + i;
		err = post_receive(RESPONDER, &p.recv);
		if (err)
			wrong(&p, "posting a receive", strerror(err), strerror(0));
	}
	check(&p, post(&p));
	for (int side = 0; side < SIDES; side++)
		deregister_region(&p.region[side]);
	deregister_region(&p.receive);
	close_world();
	return !p.is_wrong;
}

static void document_row(const struct row *r)
{
	char text[200] = "";

	for (size_t i = 0; i < OP_CNT; i++) {
		if (r->ops & 1u << i)
			snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
				 *text ? ", " : "", ops[i].name);
	}
	printf("| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", type_name(r->type), text,
	       r->req_status == NONE ? "-" : status_name(r->req_status), state_name(r->req_state),
	       r->resp_status == NONE ? "-" : status_name(r->resp_status),
	       state_name(r->resp_state),
	       r->moved == MOVED  ? "moved"
	       : r->moved == KEPT ? "kept"
				  : "part may have moved",
	       r->event == NONE ? "-" : event_name(r->event), r->where);
}

static void document(void)
{
	puts("# Error semantics\n\n"
	     "What becomes of an operation with one thing wrong, on both sides. Generated from\n"
	     "`tests/conformance/errors.def`, which is played over loopback by way of libibverbs, "
	     "and on two\n"
	     "hosts of the simulator; a test checks that this page is up to date.\n\n"
	     "Requester and responder: the status of the work completion (EINVAL, ENOMEM: what "
	     "posting\n"
	     "returns, `bad_wr` naming the request), and the state of the QP afterwards. In ERR "
	     "all that is\n"
	     "queued behind is flushed, in order. Data: whether the memory that the operation goes "
	     "to has\n"
	     "changed. The event is the responder's. Sections are those of the InfiniBand "
	     "Architecture\n"
	     "Specification, volume 1.");
	for (size_t i = 0; i < ROW_CNT; i++) {
		const char *text = fault_text[rows[i].fault];

		if (i == 0 || rows[i].fault != rows[i - 1].fault)
			printf("\n## %c%s\n\n"
			       "| | Operations | Requester | its QP | Responder | its QP | Data | "
			       "Event | Written in |\n"
			       "|---|---|---|---|---|---|---|---|---|\n",
			       *text - 'a' + 'A', text + 1);
		document_row(&rows[i]);
	}
}

int main(int argc, char **argv)
{
	uint32_t passed = 0, failed = 0;

	if (argc == 2 && strcmp(argv[1], "--document") == 0) {
		document();
		return 0;
	}
	open_device(argc > 1 ? argv[1] : NULL);
	for (size_t i = 0; i < ROW_CNT; i++) {
		for (size_t k = 0; k < OP_CNT; k++) {
			if (!(rows[i].ops & 1u << k))
				continue;
			if (play(&rows[i], (enum op)(1u << k)))
				passed++;
			else
				failed++;
		}
	}
	close_device();
	printf("%u passed, %u failed\n", passed, failed);
	return failed ? 1 : 0;
}
