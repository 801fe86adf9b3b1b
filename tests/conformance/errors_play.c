/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Plays each row of errors.def for each of its operations, and says where what happened differs.
 *
 *   PROGRAM [DEVICE [QUIET [CASE...]]]  plays all; DEVICE where the functions are those of
 *       libibverbs, ms in which nothing more comes (5), cases that it does not survive
 *   PROGRAM --document                  prints docs/error-semantics.md
 */
#include "errors_row.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAKES_RECEIVE (SEND | SEND_IMM | SEND_INV | WRITE_IMM)
#define ATOMIC (CAS | FAA)
#define OF_8_BYTES (ATOMIC | ATOMIC_WRITE)
#define LOCAL_WORK (BIND | LOCAL_INV)
#define INTO_REQUESTER (READ | ATOMIC)
/* A window is of a part of the region. */
#define WINDOW_AT (REGION / 4)
#define WINDOW_LEN (REGION / 2)
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
	struct window window;        /* of the requester for its local work, else the responder's */
	uint32_t window_rkey;        /* that the work names */
	struct work work, recv;
	uint32_t posts, receives;
	uint8_t before[SIDES][BLOCK];
	bool is_wrong;
};

static void case_name(const struct row *row, enum op op, char *to, size_t size)
{
	snprintf(to, size, "%s %s, %s", transport_name(row->transport), ops[op_index(op)].name,
		 fault_text[row->fault]);
}

static void wrong(struct play *p, const char *what, const char *is, const char *should)
{
	char name[200];

	case_name(p->row, p->op, name, sizeof name);
	if (!p->is_wrong)
		printf("%s:\n", name);
	p->is_wrong = true;
	printf("    %s: %s, should be %s\n", what, is, should);
}

/* What must be known before the QPs are made. */
static void plan(struct play *p)
{
	const uint32_t all =
	    VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ | VB_ACCESS_REMOTE_ATOMIC;

	p->setup = (struct setup){.type = type_of(p->row->transport),
				  .has_srq = p->row->transport == RC_SRQ,
				  .qp_access = all,
				  .state = {VB_QPS_RTS, VB_QPS_RTS}};
	p->access[REQUESTER] = VB_ACCESS_LOCAL_WRITE;
	p->access[RESPONDER] = VB_ACCESS_LOCAL_WRITE | VB_ACCESS_MW_BIND | all;
	if (p->op & LOCAL_WORK)
		p->access[REQUESTER] = p->access[RESPONDER];
	p->receives = 2;
	p->posts = 1;
	switch (p->row->fault) {
	case LOCAL_RIGHT:
		p->access[REQUESTER] = p->op & BIND ? VB_ACCESS_MW_BIND : 0;
		break;
	case BIND_RIGHT:
		p->access[REQUESTER] &= ~(uint32_t)VB_ACCESS_MW_BIND;
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
	case QUEUE_FULL: /* where nothing completes meanwhile */
		p->setup.state[REQUESTER] = VB_QPS_SQD;
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

/* The side whose memory a window of the case is of. */
static enum side window_side(const struct play *p)
{
	return p->op & LOCAL_WORK ? REQUESTER : RESPONDER;
}

/* 0: the case has none. */
static uint8_t window_type(const struct play *p)
{
	switch (p->row->fault) {
	case WINDOW_1:
	case WINDOW_REBOUND:
	case INVALIDATE_WINDOW_1:
		return 1;
	case WINDOW_2:
	case WINDOW_LOW:
	case WINDOW_HIGH:
	case WINDOW_RIGHT:
	case WINDOW_UNBOUND:
	case WINDOW_STALE:
	case WINDOW_INVALIDATED:
	case WINDOW_OTHER_QP:
		return 2;
	default:
		return p->op & LOCAL_WORK ? 2 : 0;
	}
}

static void prepare_post(struct play *p, const struct work *w)
{
	enum side side = window_side(p);
	uint32_t want[SIDES] = {side == REQUESTER, side == RESPONDER};
	struct done done[DONE_MAX];
	bool bad;
	int err = post_send(side, w, &bad);

	if (err) {
		wrong(p, "posting before", strerror(err), strerror(0));
		return;
	}
	settle(want);
	if (completions_of(side, done, DONE_MAX) != 1 || done[0].status != VB_WC_SUCCESS)
		wrong(p, "work before", "failed", "SUCCESS");
	forget_completions();
}

static struct work bind_work(struct play *p, uint32_t access)
{
	enum side side = window_side(p);

	return (struct work){.opcode = VB_WR_BIND_MW,
			     .addr = block_of(side) + REGION + WINDOW_AT,
			     .len = WINDOW_LEN,
			     .window = &p->window,
			     .region = &p->region[side],
			     .access = access,
			     .by_other_qp = p->row->fault == WINDOW_OTHER_QP};
}

static bool can_bind(const struct play *p)
{
	return p->setup.state[window_side(p)] == VB_QPS_RTS && p->setup.type != VB_QPT_UD;
}

static void prepare_window(struct play *p)
{
	uint32_t access = VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ | VB_ACCESS_REMOTE_ATOMIC;
	enum fault f = p->row->fault;
	uint8_t type = window_type(p);
	struct work w;

	if (!type)
		return;
	if (f == WINDOW_RIGHT)
		access = p->op & READ ? VB_ACCESS_REMOTE_WRITE : VB_ACCESS_REMOTE_READ;
	w = bind_work(p, access);
	p->window = allocate_window(window_side(p), f == WINDOW_PD, type);
	if (p->op & BIND ? f == WINDOW_BOUND : f != WINDOW_UNBOUND && can_bind(p))
		prepare_post(p, &w);
	p->window_rkey = p->window.rkey;
	if (f == WINDOW_REBOUND)
		prepare_post(p, &w);
	if (f == WINDOW_STALE)
		free_window(&p->window);
	if (f == WINDOW_INVALIDATED) {
		w = (struct work){.opcode = VB_WR_LOCAL_INV, .inv_rkey = p->window.rkey};
		prepare_post(p, &w);
	}
}

/* What is wrong with the request itself. @there: the address at the responder. */
static void spoil_work(const struct play *p, struct work *w, uint8_t **there)
{
	uint8_t *here = block_of(REQUESTER) + REGION;
	uint32_t step = p->op & OF_8_BYTES ? 8 : 1;

	switch (p->row->fault) {
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
	case WINDOW_LOW:
		*there -= step;
		break;
	case REMOTE_HIGH:
		*there += REGION - w->len + step;
		break;
	case WINDOW_HIGH:
		*there += WINDOW_LEN - w->len + step;
		break;
	case MISALIGNED:
		*there += 4;
		break;
	case ZERO_LENGTH:
		w->len = w->sge_cnt = 0;
		w->rkey ^= 0x5a5a5500;
		break;
	case LENGTH_WRONG:
		w->len = 4;
		break;
	case INVALIDATE_WRONG:
		w->inv_rkey ^= 0x5a5a5500;
		break;
	case INVALIDATE_REGION:
		w->inv_rkey = p->region[window_side(p)].rkey;
		break;
	case SRQ_WRONG:
		w->srqn_error = 0x5a5a5a;
		break;
	case INLINE_LONG:
		w->flags = VB_SEND_INLINE;
		w->len = send_room().inline_bytes + 1;
		break;
	case AH_PD:
		w->of_other_pd = true;
		break;
	case MESSAGE_MAX:
		w->len = message_max() + 1;
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
}

static void prepare_work(struct play *p)
{
	uint8_t *there = block_of(RESPONDER) + REGION;
	struct work *w = &p->work;

	*w = p->op & BIND ? bind_work(p, VB_ACCESS_REMOTE_READ | VB_ACCESS_REMOTE_WRITE)
			  : (struct work){.addr = block_of(REQUESTER) + REGION,
					  .len = p->op & OF_8_BYTES ? 8 : LEN,
					  .sge_cnt = p->op & LOCAL_INV ? 0 : 1};
	w->opcode = ops[op_index(p->op)].opcode;
	w->lkey = p->region[REQUESTER].lkey;
	w->rkey = w->inv_rkey = p->region[RESPONDER].rkey;
	w->qkey = QKEY;
	if (window_type(p)) {
		w->rkey = w->inv_rkey = p->window_rkey;
		there += WINDOW_AT;
	}
	spoil_work(p, w, &there);
	w->remote_addr = address_of(RESPONDER, there);
	if (p->row->fault == QUEUE_FULL)
		p->posts = send_room().wrs + 1;
	if (p->row->fault == SGES)
		w->sge_cnt = send_room().sges + 1;
	if (p->row->fault == SGES || p->row->fault == QUEUE_FULL)
		w->len = 8;
}

static void prepare_receive(struct play *p)
{
	p->recv = (struct work){.addr = block_of(RESPONDER) + REGION,
				.len = LEN + (p->setup.type == VB_QPT_UD ? GRH_LEN : 0),
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
		err = post_send(REQUESTER, &p->work, &bad);
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
		if (done[i].status != VB_WC_WR_FLUSH_ERR && status != VB_WC_SUCCESS)
			wrong(p, who, "completes on after an error", "flushed");
	}
}

/* SUCCESS at the responder means a completion only where a receive is taken. */
static int resp_status(const struct play *p)
{
	bool silent = p->row->resp_status == VB_WC_SUCCESS && !(p->op & TAKES_RECEIVE);

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
	prepare_window(&p);
	prepare_work(&p);
	prepare_receive(&p);
	for (uint32_t i = 0; i < p.receives; i++) {
		int err;

		p.recv.wr_id = 100 + i;
		err = post_receive(&p.recv);
		if (err)
			wrong(&p, "posting a receive", strerror(err), strerror(0));
	}
	if (p.row->fault == SRQ_LIMIT)
		set_srq_limit(p.receives);
	check(&p, post(&p));
	if (p.window.handle)
		free_window(&p.window);
	for (int side = 0; side < SIDES; side++)
		deregister_region(&p.region[side]);
	deregister_region(&p.receive);
	close_world();
	return !p.is_wrong;
}

static bool is_left_out(const struct row *row, enum op op, char **argv, int argc)
{
	char name[200];

	case_name(row, op, name, sizeof name);
	for (int i = 3; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	uint32_t passed = 0, failed = 0, skipped = 0;

	if (argc == 2 && strcmp(argv[1], "--document") == 0) {
		print_document();
		return 0;
	}
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* an adapter may not come back from a case */
	open_device(argc > 1 ? argv[1] : NULL, argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 5);
	for (size_t i = 0; i < row_cnt; i++) {
		for (size_t k = 0; k < OP_CNT; k++) {
			if (!(rows[i].ops & 1u << k))
				continue;
			if (!device_has(type_of(rows[i].transport), ops[k].opcode) ||
			    is_left_out(&rows[i], (enum op)(1u << k), argv, argc))
				skipped++;
			else if (play(&rows[i], (enum op)(1u << k)))
				passed++;
			else
				failed++;
		}
	}
	close_device();
	printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
	return failed ? 1 : 0;
}
