/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Plays each row of errors.def for each of its operations, and says where what happened differs.
 *
 *   PROGRAM [DEVICE [QUIET [PATIENCE [CASE...]]]]  plays all; DEVICE where the functions are those
 *       of libibverbs, ms in which nothing more comes (2), ms that something may take that must
 *       come (10000), cases that it does not survive
 *   PROGRAM --document                  prints docs/error-semantics.md
 */
#include "errors_case.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void case_name(const struct row *row, enum op op, bool builds, char *to, size_t size)
{
	snprintf(to, size, "%s %s%s, %s", transport_name(row->transport), ops[op_index(op)].name,
		 builds ? " by ibv_wr_*" : "", fault_text[row->fault]);
}

void wrong(struct play *p, const char *what, const char *is, const char *should)
{
	char name[200];

	case_name(p->row, p->op, p->setup.builds, name, sizeof name);
	if (!p->is_wrong)
		printf("%s:\n", name);
	p->is_wrong = true;
	printf("    %s: %s, should be %s\n", what, is, should);
}

/* Whether posting went as the row says, where so many are taken when it fails. */
static bool check_posting(struct play *p, const char *what, int status, int err, uint32_t should,
			  uint32_t taken)
{
	int want = is_errno(status) ? -status : 0;

	if (err != want) {
		wrong(p, what, strerror(err), strerror(want));
		return false;
	}
	if (err && taken != should)
		wrong(p, "bad_wr", "another request", "the one that was refused");
	return true;
}

/* False: not so. */
static bool post(struct play *p)
{
	uint32_t taken = 0;
	int err = 0;

	if (p->receives)
		err = post_receives(&p->recv, p->receives, &taken);
	(void)check_posting(p, "posting a receive", p->row->resp_status, err, p->receives - 1,
			    taken);
	if (p->row->fault == SRQ_LIMIT)
		set_srq_limit(p->receives);
	err = 0;
	if (p->posts)
		err = post_send(REQUESTER, &p->work, p->posts, &p->taken);
	/* The last one of a list is refused, and named; ibv_wr_*(3) posts all or none. */
	return check_posting(p, "posting", p->row->req_status, err,
			     p->setup.builds ? 0 : p->posts - 1, p->taken);
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

/* The status of the completion: NONE for a refused request. SUCCESS at the responder means a
 * completion only where a receive is taken. */
static int completes(const struct play *p, enum side side)
{
	int status = side == REQUESTER ? p->row->req_status : p->row->resp_status;
	bool silent = side == RESPONDER && status == VB_WC_SUCCESS && !(p->op & TAKES_RECEIVE);

	return silent || is_errno(status) ? NONE : status;
}

static void check_data(struct play *p)
{
	enum side to = p->op & (READ | ATOMIC) ? REQUESTER : RESPONDER;
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
	int ends[SIDES] = {posted ? completes(p, REQUESTER) : NONE, completes(p, RESPONDER)};
	/* A request that was not posted is not waited for either. */
	struct awaited a = {
	    .done = {posted && ends[REQUESTER] != NONE, posted && ends[RESPONDER] != NONE}};
	char is[EVENTS_TEXT], should[EVENTS_TEXT];

	memcpy(a.events, posted ? row->events : (uint32_t[SIDES]){0}, sizeof a.events);
	/* That a WRITE of UC has arrived, nothing but its bytes says. */
	if (posted && p->setup.type == VB_QPT_UC && p->op & WRITE && row->moved == MOVED) {
		a.moved = p->there;
		a.was = p->before[RESPONDER][a.moved - block_of(RESPONDER)];
	}
	settle(&a);
	empty_cqs();
	check_side(p, REQUESTER, ends[REQUESTER], p->work.wr_id);
	check_side(p, RESPONDER, ends[RESPONDER], p->recv.wr_id);
	check_data(p);
	if (state_of(REQUESTER) != row->req_state)
		wrong(p, "requester's QP", state_name(state_of(REQUESTER)),
		      state_name(row->req_state));
	if (state_of(RESPONDER) != row->resp_state)
		wrong(p, "responder's QP", state_name(state_of(RESPONDER)),
		      state_name(row->resp_state));
	for (int side = 0; side < SIDES; side++) {
		uint32_t events = events_of((enum side)side);

		if (events != row->events[side])
			wrong(p, side == REQUESTER ? "requester's events" : "responder's events",
			      events_text(events, is, sizeof is),
			      events_text(row->events[side], should, sizeof should));
	}
}

/* The requests before the refused one, and nothing else, are in the queue: they are flushed. */
static void check_queue(struct play *p)
{
	struct awaited a = {.done = {[REQUESTER] = p->taken}};
	struct done done[DONE_MAX];
	uint32_t cnt;

	end_qp(REQUESTER);
	settle(&a);
	cnt = completions_of(REQUESTER, done, DONE_MAX);
	if (cnt != p->taken)
		wrong(p, "the queue", "has other requests", "those before the refused one");
	for (uint32_t i = 0; i < cnt; i++) {
		if (done[i].wr_id != p->work.wr_id + i || done[i].status != VB_WC_WR_FLUSH_ERR)
			wrong(p, "the queue", "not flushed in order", "flushed in order");
	}
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

static bool play(const struct row *row, enum op op, bool builds)
{
	static struct play p;

	p = (struct play){.row = row, .op = op, .setup.builds = builds};
	case_plan(&p);
	open_world(&p.setup);
	fill(&p);
	case_prepare(&p);
	check(&p, post(&p));
	if (row->fault == QUEUE_FULL)
		check_queue(&p);
	case_end(&p);
	close_world();
	return !p.is_wrong;
}

/* Rows for which it matters how posting is done. */
static bool is_of_posting(enum fault f)
{
	return f == NO_FAULT || f == IN_RESET || f == IN_INIT || f == IN_RTR || f == IN_ERR ||
	       f == IN_SQD || f == SGES || f == INLINE_LONG || f == QUEUE_FULL;
}

static bool is_left_out(const struct row *row, enum op op, bool builds, char **argv, int argc)
{
	char name[200];

	case_name(row, op, builds, name, sizeof name);
	for (int i = 4; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return false;
}

static uint32_t number(int argc, char **argv, int i, uint32_t otherwise)
{
	return argc > i ? (uint32_t)strtoul(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	uint32_t passed = 0, failed = 0, skipped = 0;

	if (argc == 2 && strcmp(argv[1], "--document") == 0) {
		print_document();
		return 0;
	}
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* an adapter may not come back from a case */
	open_device(argc > 1 ? argv[1] : NULL, number(argc, argv, 2, 2),
		    number(argc, argv, 3, 10000));
	for (size_t i = 0; i < row_cnt; i++) {
		enum vb_qp_type type = type_of(rows[i].transport);
		bool both = is_of_posting(rows[i].fault) && device_builds(type);

		for (size_t k = 0; k < OP_CNT * 2; k++) {
			enum op op = (enum op)(1u << k / 2);
			bool builds = k % 2, can = device_has(type, ops[k / 2].opcode);

			if (!(rows[i].ops & (uint32_t)op) || (builds && !(both && can)))
				continue;
			if (!can || is_left_out(&rows[i], op, builds, argv, argc))
				skipped++;
			else if (play(&rows[i], op, builds))
				passed++;
			else
				failed++;
		}
	}
	close_device();
	printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
	return failed ? 1 : 0;
}
