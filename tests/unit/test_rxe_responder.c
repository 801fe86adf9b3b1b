/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requests that an rdma_rxe requester sent (tests/data/rxe), fed into our responder in the
 * order in which they arrived: it gives the answers that the rdma_rxe responder gave, opcode, PSN,
 * syndrome, MSN and length. Where it does not, the difference and its reason stand in the table
 * below. IBA 9.7.4, 9.7.5
 */
#include "replay.h"

#define ANSWERS_MAX 4096

struct answer {
	uint8_t opcode, syndrome;
	uint32_t psn, msn, len;
};

struct answers {
	struct answer a[ANSWERS_MAX];
	uint32_t cnt;
};

/* Answers that only one of the two gives, apart from those that the network lost or duplicated. */
static const struct difference {
	const char *name;
	uint8_t theirs, ours; /* opcode, or syndrome of an ACK; 0xff: nothing */
	uint32_t cnt;
	const char *why;
} differences[] = {
    {"rc_nak_length", VB_NAK_REMOTE_OP, VB_NAK_INVALID_REQUEST, 1,
     "a SEND longer than its receive is an invalid request (IBA 9.7.5.2); rxe says operational "
     "error"},
    {"rc_rnr", VB_NAK_PSN_SEQ, 0xff, 2,
     "what follows a request that drew an RNR NAK is dropped in silence (IBA 9.7.5.2); rxe adds "
     "a sequence NAK"},
    {"rc_reorder", VB_OP_READ_RESP_MIDDLE, VB_OP_READ_RESP_FIRST, 1, "see the next one"},
    {"rc_reorder", VB_OP_READ_RESP_LAST, VB_OP_READ_RESP_ONLY, 1,
     "a READ asked for again from its middle on is a request of its own, and its answer begins "
     "with First or Only (IBA 9.7.5.1); rxe counts on from the first request"},
};
#define DIFFERENCES (sizeof differences / sizeof differences[0])

static void take_answer(void *ctx, const struct vb_hdr *h, uint32_t len)
{
	struct answers *to = ctx;

	if (!(vb_hdr_opcode(h)->flags & VB_OP_RESPONSE))
		return;
	assert_true(to->cnt < ANSWERS_MAX);
	to->a[to->cnt++] = (struct answer){.opcode = h->opcode,
					   .syndrome = h->aeth.syndrome,
					   .psn = h->psn.v,
					   .msn = h->aeth.msn,
					   .len = len};
}

/* Whether the captured responder answered this PSN's request by an RNR NAK before it came again. */
static bool was_rnr(const struct replay *r, size_t from, struct vb_psn psn)
{
	struct vb_hdr h;

	for (size_t i = from + 1; i < r->c->cnt; i++) {
		if (replay_is_request(r, i, &h)) {
			if (vb_psn_eq(h.psn, psn))
				return false;
		} else if (replay_is_response(r, i, &h) && vb_psn_eq(h.psn, psn) &&
			   vb_hdr_opcode(&h)->ext & VB_EXT_AETH &&
			   (h.aeth.syndrome & VB_SYNDROME_CLASS) == VB_SYNDROME_RNR) {
			return true;
		}
	}
	return false;
}

/* A capture does not show when receives were posted; the answers do. */
static void post_receive(struct replay *r, size_t i, const struct vb_hdr *h, uint32_t *posted)
{
	const struct vb_opcode_info *op = vb_hdr_opcode(h);
	struct vb_sge sge = {.length = r->how->recv_len ? r->how->recv_len : REPLAY_LOCAL,
			     .lkey = vb_mr_lkey(r->local)};
	struct vb_recv_wr wr = {.sge = &sge, .sge_cnt = 1};
	bool wants = (op->flags & VB_OP_SEND && op->flags & VB_OP_FIRST) ||
		     (op->flags & VB_OP_WRITE && op->flags & VB_OP_RECV_WQE);
	struct vb_wc wc;

	while (vb_cq_poll(r->cq, &wc, 1) == 1)
		*posted -= wc.opcode >= VB_WC_RECV && *posted;
	if (!wants || *posted || was_rnr(r, i, h->psn))
		return;
	if (vb_srq_post(r->srq, &wr) == 0)
		++*posted;
}

/* The window of the capture whose key a SEND with Invalidate takes away. */
static void bind_window(struct replay *r)
{
	struct vb_hdr h;
	struct vb_mw *mw;

	for (size_t i = 0; i < r->c->cnt; i++) {
		uint32_t k = 0;

		if (!replay_is_request(r, i, &h) || !(vb_hdr_opcode(&h)->ext & VB_EXT_IETH))
			continue;
		while (k < r->key_cnt && r->key[k].theirs != h.inv_rkey)
			k++;
		assert_true(k < r->key_cnt);
		assert_int_equal(vb_mw_create(r->pd, 2, &mw), 0);

		uint32_t rkey = vb_mw_rkey(mw);
		struct vb_send_wr wr = {.opcode = VB_WR_BIND_MW,
					.rkey = rkey,
					.imm = vb_mr_lkey(r->mr),
					.remote_addr = r->lowest,
					.swap = r->highest - r->lowest,
					.compare_add = (uint64_t)VB_ACCESS_REMOTE_WRITE << 32 |
						       ((rkey + 1) & 0xff)};

		assert_int_equal(vb_qp_post_send(r->qp, &wr, r->now), 0);
		r->key[k].ours = (rkey & ~0xffu) | ((rkey + 1) & 0xff);
		return;
	}
}

static void play(struct replay *r, struct answers *theirs, struct answers *ours)
{
	uint32_t posted = 0;
	struct vb_hdr h;

	replay_open(r, true);
	bind_window(r);
	replay_drain(r, take_answer, ours);
	for (size_t i = 0; i < r->c->cnt; i++) {
		if (replay_is_response(r, i, &h)) {
			take_answer(theirs, &h, replay_payload(&r->c->pkt[i], &h));
		} else if (replay_is_request(r, i, &h)) {
			post_receive(r, i, &h, &posted);
			replay_feed(r, i);
			replay_drain(r, take_answer, ours);
		}
	}
	replay_close(r);
}

static bool answer_eq(const struct answer *a, const struct answer *b)
{
	return a->opcode == b->opcode && a->syndrome == b->syndrome && a->psn == b->psn &&
	       a->msn == b->msn && a->len == b->len;
}

static int answer_order(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct answer));
}

/* The longest common subsequence, so that one answer more or less is one difference. */
static uint16_t common[ANSWERS_MAX / 4 + 1][ANSWERS_MAX / 4 + 1];
static uint32_t seen[DIFFERENCES][2];

static uint8_t kind_of(const struct answer *a)
{
	return (a->opcode & VB_OP_MASK) == VB_OP_ACK ? a->syndrome : a->opcode & VB_OP_MASK;
}

static bool is_twice(const struct answers *in, const struct answer *a)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < in->cnt; i++)
		n += answer_eq(&in->a[i], a);
	return n > 1;
}

static void differ(const struct replay *r, const struct answers *in, const struct answer *a,
		   bool is_ours)
{
	if ((r->how->is_lossy && is_ours) || (r->how->is_duplicated && !is_ours && is_twice(in, a)))
		return;
	for (size_t i = 0; i < DIFFERENCES; i++) {
		const struct difference *d = &differences[i];

		if (strcmp(d->name, r->how->name) == 0 &&
		    (is_ours ? d->ours : d->theirs) == kind_of(a)) {
			seen[i][is_ours]++;
			return;
		}
	}
	fail_msg("%s: only %s: %s psn %u syndrome 0x%02x msn %u length %u", r->how->name,
		 is_ours ? "ours" : "theirs", vb_opcode[a->opcode].name, a->psn, a->syndrome,
		 a->msn, a->len);
}

static void compare(const struct replay *r, struct answers *theirs, struct answers *ours)
{
	uint32_t n = theirs->cnt, m = ours->cnt, i = 0, k = 0;

	assert_true(n <= ANSWERS_MAX / 4 && m <= ANSWERS_MAX / 4);
	if (r->how->is_lossy || r->how->is_duplicated || r->how->is_reordered) {
		qsort(theirs->a, n, sizeof *theirs->a, answer_order);
		qsort(ours->a, m, sizeof *ours->a, answer_order);
	}
	memset(common, 0, sizeof common);
	for (i = n; i-- > 0;)
		for (k = m; k-- > 0;)
			common[i][k] = answer_eq(&theirs->a[i], &ours->a[k])
					   ? (uint16_t)(common[i + 1][k + 1] + 1)
				       : common[i + 1][k] > common[i][k + 1] ? common[i + 1][k]
									     : common[i][k + 1];
	for (i = k = 0; i < n || k < m;) {
		if (i < n && k < m && answer_eq(&theirs->a[i], &ours->a[k]))
			i++, k++;
		else if (k == m || (i < n && common[i + 1][k] >= common[i][k + 1]))
			differ(r, theirs, &theirs->a[i++], false);
		else
			differ(r, ours, &ours->a[k++], true);
	}
}

static void responder__answers_as_rxe(void **state)
{
	static struct answers theirs, ours;
	static struct replay r;
	uint32_t total = 0;

	(void)state;
	for (size_t i = 0; i < REPLAY_CASES; i++) {
		char path[512];
		struct capture c;
		size_t from = 0, flows = 0;

		if (replay_cases[i].no_responder)
			continue;
		snprintf(path, sizeof path, "%s/rxe/%s.pcapng", TEST_DATA, replay_cases[i].name);
		assert_int_equal(capture_read(&c, path), 0);
		while (replay_next(&r, &c, &replay_cases[i], &from)) {
			memset(&theirs, 0, sizeof theirs);
			memset(&ours, 0, sizeof ours);
			play(&r, &theirs, &ours);
			total += theirs.cnt;
			compare(&r, &theirs, &ours);
			flows++;
		}
		assert_true(flows > 0);
		capture_free(&c);
	}
	for (size_t i = 0; i < DIFFERENCES; i++) {
		assert_int_equal(seen[i][0], differences[i].cnt);
		assert_int_equal(seen[i][1], differences[i].ours == 0xff ? 0 : differences[i].cnt);
		print_message("differs in %s: %s\n", differences[i].name, differences[i].why);
	}
	print_message("%u answers\n", total);
	assert_true(total > 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(responder__answers_as_rxe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
