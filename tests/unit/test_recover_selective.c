/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selective repeat of answers against a peer that loses them at random, behind pipes that keep the
 * order: each is sent again as often as it was lost and no more, and its account runs full without
 * harm at either end. REG-07 (selective_repeat_forced_en), IBA 9.7.5.1.3
 */
#include "base/rng.h"
#include "core/selective/selective.h"
#include "rc_env.h"

#define MTU 256u
#define PIPE 32u /* steps that a packet takes */
#define FIRST 0xffffc0u
#define PKTS_MAX 512u
#define RUNS_MAX 256u

struct run {
	uint32_t at, end, start; /* from FIRST on */
	bool atomic;
};

/* A packet on its way; psn.v is from FIRST on. */
struct under_way {
	struct vb_hdr hdr;
	uint32_t due; /* step */
};

struct pipe {
	struct under_way pkt[RUNS_MAX];
	uint32_t head, tail; /* run freely */
};

/* The peer: what it is asked, and what it answers, one packet a step. */
struct peer {
	struct vb_rng rng;
	uint32_t loss;                /* percent */
	struct run todo[2][RUNS_MAX]; /* repeats, and what is asked for the first time */
	uint32_t head[2], tail[2];
	uint32_t seen; /* requested so far */
	struct pipe requests, responses;
	uint32_t sent[PKTS_MAX], lost[PKTS_MAX];
};

static struct peer peer;
static struct vb_mr *wide; /* of a length only */

static void pipe_put(struct pipe *p, const struct vb_hdr *h, uint32_t now)
{
	assert_true(p->tail - p->head < RUNS_MAX);
	p->pkt[p->tail++ % RUNS_MAX] = (struct under_way){*h, now + PIPE};
}

/* The next packet that has arrived, or NULL. */
static struct vb_hdr *pipe_take(struct pipe *p, uint32_t now)
{
	struct under_way *u = &p->pkt[p->head % RUNS_MAX];

	if (p->head == p->tail || u->due > now)
		return NULL;
	p->head++;
	return &u->hdr;
}

static bool draws_loss(void)
{
	return vb_rng_below(&peer.rng, 100) < peer.loss;
}

static void peer_asked(const struct vb_hdr *h)
{
	bool atomic = (h->opcode & VB_OP_MASK) == VB_OP_FETCH_ADD;
	uint32_t at = h->psn.v, pkts = atomic ? 1 : (h->reth.len + MTU - 1) / MTU;
	bool fresh = at >= peer.seen;

	if (!fresh && draws_loss()) {
		for (uint32_t i = 0; i < pkts; i++) {
			peer.sent[at + i]++;
			peer.lost[at + i]++;
		}
		return;
	}
	assert_true(at <= peer.seen && at + pkts <= PKTS_MAX);
	if (fresh)
		peer.seen = at + pkts;
	assert_true(peer.tail[fresh] - peer.head[fresh] < RUNS_MAX);
	peer.todo[fresh][peer.tail[fresh]++ % RUNS_MAX] = (struct run){at, at + pkts, at, atomic};
}

/* The next response, if there is one; false: none, or it is lost. */
static bool peer_answers(struct vb_hdr *h)
{
	bool fresh = peer.head[0] == peer.tail[0];

	if (peer.head[fresh] == peer.tail[fresh])
		return false;

	struct run *r = &peer.todo[fresh][peer.head[fresh] % RUNS_MAX];
	bool first = r->at == r->start, last = r->at + 1 == r->end;
	uint8_t op = r->atomic       ? VB_OP_ATOMIC_ACK
		     : first && last ? VB_OP_READ_RESP_ONLY
		     : first         ? VB_OP_READ_RESP_FIRST
		     : last          ? VB_OP_READ_RESP_LAST
				     : VB_OP_READ_RESP_MIDDLE;

	*h = (struct vb_hdr){
	    .opcode = VB_TRANSPORT_RC | op, .psn = {r->at}, .selective = true, .aeth.syndrome = 31};
	peer.sent[r->at]++;
	if (last)
		peer.head[fresh]++;
	if (!draws_loss()) {
		r->at++;
		return true;
	}
	peer.lost[r->at++]++;
	return false;
}

static struct vb_qp *start(uint64_t seed, uint32_t loss)
{
	struct vb_mr_attr attr = {.length = 1 << 30, .access = ENV_ACCESS};
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_qp *qp;

	env_config(&env);
	env.cfg.recovery.selective_repeat_forced_en = true;
	env_open(&env, 256);
	assert_int_equal(vb_mr_create(env.pd, &attr, &wide), 0);
	qp = env_qp(&env, VB_QPT_RC, NULL);
	a.sq_psn = a.rq_psn = FIRST;
	a.path_mtu = VB_MTU_256;
	a.max_rd_atomic = a.max_dest_rd_atomic = 16;
	env_up(&env, qp, &a, VB_QPS_RTS);
	peer = (struct peer){.rng = vb_rng_stream(seed, "peer", 0), .loss = loss};
	return qp;
}

static void post(struct vb_qp *qp, uint64_t id, uint32_t pkts)
{
	struct vb_sge sge = {id << 20, pkts ? pkts * MTU : 8, vb_mr_lkey(wide)};
	struct vb_send_wr wr = {.wr_id = id,
				.sge = &sge,
				.sge_cnt = 1,
				.opcode = pkts ? VB_WR_RDMA_READ : VB_WR_FETCH_ADD,
				.flags = VB_SEND_SIGNALED};

	assert_int_equal(vb_qp_post_send(qp, &wr, env.now), 0);
}

/* Step @n. False: nothing is under way any more. */
static bool step(struct vb_qp *qp, uint32_t n)
{
	struct vb_hdr *in, out;

	while ((in = pipe_take(&peer.requests, n)))
		peer_asked(in);
	if (peer_answers(&out))
		pipe_put(&peer.responses, &out, n);
	while ((in = pipe_take(&peer.responses, n))) {
		bool atomic = (in->opcode & VB_OP_MASK) == VB_OP_ATOMIC_ACK;

		in->psn = vb_psn(FIRST + in->psn.v);
		in->dqpn = vb_qp_number(qp);
		(void)env_rx(&env, 2, in, atomic ? 0 : MTU);
	}
	for (uint32_t i = 0, cnt = env_tx(&env, &b); i < cnt; i++) {
		out = env_hdr(&b.pkt[i]);
		out.psn.v = vb_psn_span(vb_psn(FIRST), out.psn);
		pipe_put(&peer.requests, &out, n);
	}
	return peer.requests.head != peer.requests.tail ||
	       peer.responses.head != peer.responses.tail || peer.head[0] != peer.tail[0] ||
	       peer.head[1] != peer.tail[1];
}

/* READs of all lengths and atomics, all at once. Returns how often a timer was needed. */
static uint32_t exchange(uint64_t seed, uint32_t loss)
{
	struct vb_qp *qp = start(seed, loss);
	uint32_t pkts = 0, timeouts = 0, n = 0;
	struct vb_wc wc;

	for (uint64_t id = 0; id < 12; id++) {
		uint32_t len = vb_rng_below(&peer.rng, 42);

		post(qp, id, len);
		pkts += len ? len : 1; /* an atomic */
	}
	for (uint64_t id = 0; id < 12;) {
		bool busy = step(qp, ++n);

		assert_true(n < 1000000);
		while (vb_cq_poll(env.cq, &wc, 1) == 1) {
			assert_int_equal(wc.status, VB_WC_SUCCESS);
			assert_int_equal(wc.wr_id, id++);
		}
		if (busy || id == 12)
			continue;
		env.now = vb_hca_poll_timeout(env.hca);
		assert_true(env.now != VB_NEVER);
		vb_hca_handle_timeout(env.hca, env.now);
		timeouts++;
	}
	for (uint32_t i = 0; timeouts == 0 && i < pkts; i++)
		if (peer.sent[i] != peer.lost[i] + 1)
			fail_msg("seed %lu: answer %u was sent %u times and lost %u times", seed, i,
				 peer.sent[i], peer.lost[i]);
	assert_int_equal(qp->sr->gap_cnt + qp->sr->due_cnt + qp->sr->got_cnt, 0);
	assert_int_equal(qp->sr->page_cnt, 0);
	env_close(&env);
	return timeouts;
}

static void answers__are_repeated_as_often_as_they_are_lost(void **state)
{
	uint32_t without = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++)
		without += exchange(seed, 1 + (uint32_t)(seed % 15)) == 0;
	for (uint64_t seed = 0; seed < 50; seed++)
		exchange(seed, 25);
	print_message("%u of 300 without a timer\n", without);
	assert_true(without > 150);
}

/* Every other answer is lost: each is asked for once. */
static void answers__every_other_one_lost(void **state)
{
	struct vb_qp *qp;
	uint32_t asked = 0, n = 0;
	struct vb_hdr h;
	struct vb_wc wc;

	(void)state;
	qp = start(1, 0);
	post(qp, 1, 400);
	assert_int_equal(env_tx(&env, &b), 1);
	for (uint32_t i = 1; i < 400; i += 2) {
		h = (struct vb_hdr){.opcode = VB_TRANSPORT_RC | (i == 399 ? VB_OP_READ_RESP_LAST
									  : VB_OP_READ_RESP_MIDDLE),
				    .dqpn = vb_qp_number(qp),
				    .psn = vb_psn(FIRST + i),
				    .selective = true,
				    .aeth.syndrome = 31};
		assert_int_equal(env_rx(&env, 2, &h, MTU), VB_VERDICT_OK);
		asked += env_tx(&env, &b);
	}
	assert_int_equal(asked, 200);
	for (uint32_t i = 0; i < 400; i += 2) {
		h = (struct vb_hdr){.opcode = VB_TRANSPORT_RC | VB_OP_READ_RESP_ONLY,
				    .dqpn = vb_qp_number(qp),
				    .psn = vb_psn(FIRST + i),
				    .selective = true,
				    .aeth.syndrome = 31};
		n += env_rx(&env, 2, &h, MTU) == VB_VERDICT_OK;
		asked += env_tx(&env, &b);
	}
	assert_int_equal(n, 200);
	assert_int_equal(asked, 200);
	assert_int_equal(vb_cq_poll(env.cq, &wc, 1), 1);
	assert_int_equal(wc.status, VB_WC_SUCCESS);
	env_close(&env);
}

/* Requests for answers that are missing are numbered, also after 2^32 of them. */
static void answers__asked_for_very_often(void **state)
{
	struct vb_qp *qp;
	struct vb_wc wc;

	(void)state;
	qp = start(1, 0);
	post(qp, 1, 4);
	assert_int_equal(env_tx(&env, &b), 1);
	qp->sr->order = qp->sr->order_here = UINT32_MAX;
	for (uint32_t i = 1; i <= 4; i++) {
		struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | (i == 4   ? VB_OP_READ_RESP_ONLY
								: i == 3 ? VB_OP_READ_RESP_LAST
									 : VB_OP_READ_RESP_MIDDLE),
				   .dqpn = vb_qp_number(qp),
				   .psn = vb_psn(FIRST + i % 4),
				   .selective = true,
				   .aeth.syndrome = 31};

		assert_int_equal(env_rx(&env, 2, &h, MTU), VB_VERDICT_OK);
		assert_int_equal(env_tx(&env, &b), i == 1); /* the first, once */
	}
	assert_int_equal(qp->sr->due_cnt, 0);
	assert_int_equal(vb_cq_poll(env.cq, &wc, 1), 1);
	assert_int_equal(wc.status, VB_WC_SUCCESS);
	env_close(&env);
}

/* Answer @at of a READ of several packets. Returns how many requests leave then. */
static uint32_t answered(struct vb_qp *qp, uint32_t at)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC |
				     (at ? VB_OP_READ_RESP_MIDDLE : VB_OP_READ_RESP_FIRST),
			   .dqpn = vb_qp_number(qp),
			   .psn = vb_psn(FIRST + at),
			   .selective = true,
			   .aeth.syndrome = 31};

	assert_int_equal(env_rx(&env, 2, &h, MTU), VB_VERDICT_OK);
	return env_tx(&env, &b);
}

/* An answer that comes sooner than any can that was asked for again was on its way already, and
 * says nothing of what was asked for before. */
static void answers__late_and_repeated(void **state)
{
	(void)state;
	for (int late = 0; late < 2; late++) {
		struct vb_qp *qp = start(1, 0);
		vb_time from = env.now;

		post(qp, 1, 8);
		assert_int_equal(env_tx(&env, &b), 1);
		env.now = from + 50 * VB_USEC;
		assert_int_equal(answered(qp, 1), 1); /* for 0 */
		assert_int_equal(answered(qp, 3), 1); /* for 2 */
		assert_int_equal(qp->sr->rtt_min, 50 * VB_USEC);
		env.now += late ? 49 * VB_USEC : 50 * VB_USEC;
		assert_int_equal(answered(qp, 2), late ? 0 : 1); /* for 0 once more */
		env_close(&env);
	}
}

/* When sending goes back, nothing is missing any more: what was asked for leaves again by itself.
 */
static void answers__of_before_the_timeout(void **state)
{
	struct vb_qp *qp = start(1, 0);

	(void)state;
	post(qp, 1, 8);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(answered(qp, 3), 1);
	assert_int_equal(qp->sr->gap_cnt, 3);
	while (qp->sr->gap_cnt) {
		env.now = vb_hca_poll_timeout(env.hca);
		assert_true(env.now != VB_NEVER);
		vb_hca_handle_timeout(env.hca, env.now);
		if (qp->sr->gap_cnt)
			(void)env_tx(&env, &b);
	}
	assert_int_equal(env_tx(&env, &b), 1);
	for (uint32_t at = 0; at < 3; at++)
		assert_int_equal(answered(qp, at), 0);
	assert_int_equal(qp->sr->gap_cnt, 0);
	env_close(&env);
}

/* @qp is asked for the answers [@at, @at + @pkts) of what it has at address 0. */
static void ask(struct vb_qp *qp, uint32_t at, uint32_t pkts, enum vb_verdict verdict)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_READ_REQUEST,
			   .dqpn = vb_qp_number(qp),
			   .psn = vb_psn(FIRST + at),
			   .selective = true,
			   .ack_req = true};

	h.reth.va = (uint64_t)at * MTU;
	h.reth.rkey = vb_mr_rkey(wide);
	h.reth.len = pkts * MTU;
	assert_int_equal(env_rx(&env, 2, &h, 0), verdict);
}

/* The next batch, which answers [@at, ...); returns how many. */
static uint32_t answers(uint32_t at)
{
	uint32_t cnt = env_tx(&env, &b);

	for (uint32_t i = 0; i < cnt; i++)
		assert_int_equal(env_hdr(&b.pkt[i]).psn.v, vb_psn(FIRST + at + i).v);
	return cnt;
}

/* A peer asks again and again before anything leaves: so many are remembered, the rest dropped. */
static void repeats__more_than_there_is_room_for(void **state)
{
	struct vb_qp *qp = start(1, 0);
	uint32_t cnt = 0, more;

	(void)state;
	ask(qp, 0, 4, VB_VERDICT_OK);
	assert_int_equal(answers(0), 4);
	for (uint32_t i = 0; i < 3 * VB_SR_REPEATS; i++)
		ask(qp, 0, 1, VB_VERDICT_DUPLICATE);
	while ((more = env_tx(&env, &b)) > 0)
		cnt += more;
	/* ... and the last of them by the resource itself. */
	assert_int_equal(cnt, VB_SR_REPEATS + 1);
	env_close(&env);
}

/* While a READ is being answered: what is asked again comes first, what is on its way anyway is not
 * sent twice, and asking for all of the rest is to start there. */
static void repeats__of_a_read_under_way(void **state)
{
	struct vb_qp *qp = start(1, 0);
	uint32_t sent, cnt = 0, more;

	(void)state;
	ask(qp, 0, 300, VB_VERDICT_OK);
	sent = answers(0);
	assert_uint_in_range(sent, 10, 100);
	ask(qp, 200, 50, VB_VERDICT_DUPLICATE);
	ask(qp, 5, 1, VB_VERDICT_DUPLICATE);
	assert_true(env_tx(&env, &b) > 1);
	assert_int_equal(env_hdr(&b.pkt[0]).psn.v, vb_psn(FIRST + 5).v);
	assert_int_equal(env_hdr(&b.pkt[1]).psn.v, vb_psn(FIRST + sent).v);
	ask(qp, 2, 298, VB_VERDICT_DUPLICATE);
	sent = 2 + answers(2);
	/* Too many for the account, but the READ goes on. */
	for (uint32_t i = 0; i < 2 * VB_SR_REPEATS; i++)
		ask(qp, 1, 1, VB_VERDICT_DUPLICATE);
	for (cnt = 0; (more = env_tx(&env, &b)) > 0;)
		cnt += more;
	assert_int_equal(cnt, VB_SR_REPEATS + 300 - sent);
	env_close(&env);
}

/* READs are requested in pieces, so that what is in flight can be kept. */
static void read__in_pieces(void **state)
{
	struct vb_qp *qp = start(1, 0);

	(void)state;
	post(qp, 1, 3 * VB_SR_RING);
	assert_int_equal(env_tx(&env, &b), 15);
	for (uint32_t i = 0; i < 15; i++) {
		struct vb_hdr h = env_hdr(&b.pkt[i]);

		assert_int_equal(h.reth.len, VB_SR_PIECE * MTU);
		assert_int_equal(h.psn.v, vb_psn(FIRST + i * VB_SR_PIECE).v);
	}
	env_close(&env);
}

/* The numbers of requests wrap: what was asked for before the wrap is older all the same. */
static void answers__numbers_wrap(void **state)
{
	struct vb_qp *qp = start(1, 0);

	(void)state;
	post(qp, 1, 8);
	assert_int_equal(env_tx(&env, &b), 1);
	env.now += 50 * VB_USEC;
	qp->sr->order = UINT32_MAX;
	qp->sr->order_here = UINT32_MAX - 5;
	assert_int_equal(answered(qp, 1), 1); /* for 0, the last number */
	assert_int_equal(answered(qp, 3), 1); /* for 2, number 1 */
	env.now += 50 * VB_USEC;
	assert_int_equal(answered(qp, 2), 1); /* for 0 once more */
	env_close(&env);
}

/* An answer out of the middle of what is missing leaves what is before and behind it, to be filled.
 */
static void answers__in_the_middle_of_a_gap(void **state)
{
	struct vb_qp *qp = start(1, 0);

	(void)state;
	post(qp, 1, 9);
	assert_int_equal(env_tx(&env, &b), 1);
	env.now += 50 * VB_USEC;
	assert_int_equal(answered(qp, 7), 1);
	assert_int_equal(qp->sr->gap_cnt, 7);
	(void)answered(qp, 3);
	assert_int_equal(qp->sr->gap_cnt, 6);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(vb_sr_is(qp, vb_psn(FIRST + i), VB_SR_HOLE), i != 3 && i != 7);
	for (uint32_t i = 0; i < 3; i++)
		(void)answered(qp, i);
	assert_int_equal(qp->req.psn_una.v, FIRST + 4);
	assert_int_equal(qp->sr->gap_cnt, 3);
	env_close(&env);
}

/* PSNs that were missing half of all PSNs ago, while nothing was since, hide nothing. */
static void answers__missing_long_ago(void **state)
{
	(void)state;
	for (uint32_t ago = 1; ago <= VB_PSN_MASK; ago += VB_PSN_HALF / 4) {
		struct vb_qp *qp = start(1, 0);

		qp->sr->psn_seen = qp->sr->psn_high = vb_psn(FIRST - ago);
		post(qp, 1, 8);
		assert_int_equal(env_tx(&env, &b), 1);
		env.now += 50 * VB_USEC;
		assert_int_equal(answered(qp, 1), 1);
		assert_int_equal(env_hdr(&b.pkt[0]).psn.v, FIRST);
		assert_int_equal(env_hdr(&b.pkt[0]).reth.len, MTU);
		env_close(&env);
	}
}

/* Nor do they when it is an ACK of what was sent behind a READ that tells that answers miss. */
static void answers__missing_before_an_acknowledgement(void **state)
{
	(void)state;
	for (uint32_t ago = 1; ago <= VB_PSN_MASK; ago += VB_PSN_HALF / 4) {
		struct vb_qp *qp = start(1, 0);
		struct vb_hdr ack = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
				     .dqpn = vb_qp_number(qp),
				     .psn = vb_psn(FIRST + 8),
				     .selective = true,
				     .aeth.syndrome = 31};

		qp->sr->psn_seen = qp->sr->psn_high = vb_psn(FIRST - ago);
		post(qp, 1, 8);
		assert_int_equal(env_send(&env, qp, 2, VB_WR_SEND, 8), 0);
		assert_int_equal(env_tx(&env, &b), 2);
		env.now += 50 * VB_USEC;
		assert_int_equal(env_rx(&env, 2, &ack, 0), VB_VERDICT_OK);
		assert_int_equal(env_tx(&env, &b), 1);
		assert_int_equal(env_hdr(&b.pkt[0]).psn.v, FIRST);
		assert_int_equal(env_hdr(&b.pkt[0]).reth.len, 8 * MTU);
		assert_int_equal(qp->sr->rtt_min, 50 * VB_USEC);
		env_close(&env);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(answers__are_repeated_as_often_as_they_are_lost),
	    cmocka_unit_test(answers__every_other_one_lost),
	    cmocka_unit_test(answers__asked_for_very_often),
	    cmocka_unit_test(answers__late_and_repeated),
	    cmocka_unit_test(answers__of_before_the_timeout),
	    cmocka_unit_test(repeats__more_than_there_is_room_for),
	    cmocka_unit_test(repeats__of_a_read_under_way),
	    cmocka_unit_test(read__in_pieces),
	    cmocka_unit_test(answers__numbers_wrap),
	    cmocka_unit_test(answers__in_the_middle_of_a_gap),
	    cmocka_unit_test(answers__missing_long_ago),
	    cmocka_unit_test(answers__missing_before_an_acknowledgement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
