/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selective repeat of requests: what a requester makes of a report of what is missing. One that
 * says what cannot be is no report, and the requester goes back. REG-07
 * (selective_repeat_forced_en), IBA 9.7.5.1.3
 */
#include "core/selective/pool.h"
#include "core/selective/selective.h"
#include "rc_env.h"
#include "wire/be.h"

#define MTU 1024u
#define FIRST 0xfffffau
#define PKTS 8u

struct run {
	uint16_t at, cnt; /* from FIRST on */
};

static struct vb_qp *start(void)
{
	env_config(&env);
	env.cfg.recovery.selective_repeat_forced_en = true;
	env_open(&env, 256);
	return rts(FIRST, FIRST, 4);
}

static uint16_t number; /* of the next report */

/* A NAK with a report: of @extent PSNs from FIRST + @at on, @cnt runs of [@from, @to) are missing.
 */
static void report_range(struct vb_qp *qp, uint32_t at, uint32_t extent, struct run range,
			 const struct run *run, uint32_t cnt)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
			   .dqpn = vb_qp_number(qp),
			   .pkey = VB_PKEY_DEFAULT,
			   .psn = vb_psn(FIRST + at),
			   .selective = true,
			   .aeth.syndrome = VB_NAK_PSN_SEQ};
	struct vb_path path = env_path(2);
	uint8_t pkt[VB_HDR_MAX + 4 * (3 + VB_SR_RUNS)];
	uint32_t len = vb_hdr_emit(&h, pkt);

	path.sgid = env_gid(2);
	path.dgid = env_gid(1);
	be32_put(pkt + len, (uint32_t)number++ << 16 | extent);
	be32_put(pkt + len + 4, (uint32_t)range.at << 16 | range.cnt);
	be32_put(pkt + len + 8, VB_CREDIT_UNLIMITED);
	len += 12;
	for (uint32_t i = 0; i < cnt; i++, len += 4)
		be32_put(pkt + len, (uint32_t)run[i].at << 16 | run[i].cnt);

	struct vb_rx rx = {.pkt = pkt, .len = len, .avail = len, .path = &path};

	(void)vb_hca_handle_packet(env.hca, &rx, env.now);
}

static void report_from(struct vb_qp *qp, uint32_t at, uint32_t extent, const struct run *run,
			uint32_t cnt)
{
	report_range(qp, at, extent, (struct run){0, (uint16_t)extent}, run, cnt);
}

static void report(struct vb_qp *qp, uint32_t extent, const struct run *run, uint32_t cnt)
{
	report_from(qp, 0, extent, run, cnt);
}

/* A requester whose message of PKTS packets has left, to a peer that speaks selective repeat. */
static struct vb_qp *requester(void)
{
	struct vb_qp *qp = start();
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
			   .dqpn = vb_qp_number(qp),
			   .psn = vb_psn(FIRST - 1),
			   .selective = true,
			   .aeth.syndrome = 31};

	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, PKTS * MTU), 0);
	assert_int_equal(env_tx(&env, &b), PKTS);
	(void)env_rx(&env, 2, &h, 0);
	assert_int_equal(env_tx(&env, &b), 0);
	return qp;
}

static void assert_sent(const uint32_t *at, uint32_t cnt)
{
	assert_int_equal(env_tx(&env, &b), cnt);
	for (uint32_t i = 0; i < cnt; i++)
		assert_int_equal(env_hdr(&b.pkt[i]).psn.v, vb_psn(FIRST + at[i]).v);
}

static struct vb_trace_event traced[4];
static uint32_t traced_cnt;

static void note_event(void *ctx, const struct vb_trace_event *ev)
{
	(void)ctx;
	assert_true(traced_cnt < 4);
	traced[traced_cnt++] = *ev;
}

/* A trace tells of each packet that is sent again what it is. */
static void report__what_is_sent_again_is_traced(void **state)
{
	static const struct {
		uint32_t at;
		uint8_t opcode;
	} sent[] = {{0, VB_OP_WRITE_FIRST}, {3, VB_OP_WRITE_MIDDLE}, {PKTS - 1, VB_OP_WRITE_LAST}};
	const struct run run[] = {{0, 1}, {3, 1}, {PKTS - 1, 1}};
	struct vb_qp *qp = requester();

	(void)state;
	traced_cnt = 0;
	env.hca->cfg.trace =
	    (struct vb_trace){.mask = UINT64_C(1) << VB_TRACE_PACKET_SENT, .emit = note_event};
	report(qp, PKTS, run, 3);
	while (env_tx(&env, &b))
		;
	assert_int_equal(traced_cnt, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(traced[i].arg[0], VB_TRANSPORT_RC | sent[i].opcode);
		assert_int_equal(traced[i].arg[1], vb_psn(FIRST + sent[i].at).v);
		assert_int_equal(traced[i].arg[2], MTU);
		assert_int_equal(traced[i].arg[3], 1);
	}
	env_close(&env);
}

static void report__what_is_missing_is_sent_again(void **state)
{
	const struct run run[] = {{0, 1}, {3, 2}};

	(void)state;
	report(requester(), PKTS, run, 2);
	assert_sent((const uint32_t[]){0, 3, 4}, 3);
	assert_sent(NULL, 0);
	env_close(&env);
}

/* It ends behind the last packet that was sent, begins with what is expected, and its runs are
 * apart from each other. */
static void report__that_cannot_be(void **state)
{
	static const struct {
		uint32_t extent, cnt;
		struct run run[2];
	} c[] = {
	    {PKTS + 1, 1, {{0, 1}}},     {PKTS, 1, {{1, 1}}}, {PKTS, 2, {{0, 1}, {1, 1}}},
	    {PKTS, 2, {{0, 2}, {1, 1}}}, {PKTS, 1, {{0, 0}}}, {PKTS, 1, {{0, PKTS + 1}}},
	    {UINT16_MAX, 1, {{0, 1}}},
	};
	static const uint32_t all[PKTS] = {0, 1, 2, 3, 4, 5, 6, 7};

	(void)state;
	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
		report(requester(), c[i].extent, c[i].run, c[i].cnt);
		assert_sent(all, PKTS);
		env_close(&env);
	}
}

/* The wait begins with the first report of a gap, not with later ones: the timer fires if nothing
 * sent again arrives. */
static void report__later_ones_do_not_renew_the_wait(void **state)
{
	const struct run run[] = {{0, 1}, {3, 1}};
	struct vb_qp *qp = requester();
	vb_time due;

	(void)state;
	env.now = VB_MSEC;
	report(qp, 2, run, 1);
	assert_sent((const uint32_t[]){0}, 1);
	due = qp->timer[VB_TIMER_ACK];
	assert_true(due > VB_MSEC + 67 * VB_MSEC);
	env.now = 2 * VB_MSEC;
	report(qp, PKTS, run, 2);
	assert_sent((const uint32_t[]){3}, 1);
	assert_int_equal(qp->timer[VB_TIMER_ACK], due);
	env_close(&env);
}

/* A requester whose message of @pkts packets has left, from FIRST on. */
static struct vb_qp *long_requester(uint32_t pkts)
{
	struct vb_mr_attr attr = {.length = 1 << 30, .access = ENV_ACCESS};
	struct vb_sge sge = {0, pkts * MTU, 0};
	struct vb_send_wr wr = {.sge = &sge, .sge_cnt = 1, .opcode = VB_WR_RDMA_WRITE};
	struct vb_qp *qp = start();
	struct vb_mr *wide;
	uint32_t sent = 0;

	assert_int_equal(vb_mr_create(env.pd, &attr, &wide), 0);
	sge.lkey = vb_mr_lkey(wide);
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	while (env_tx(&env, &b))
		sent += b.cnt;
	assert_int_equal(sent, pkts);
	return qp;
}

/* All that leaves now; the first and the last of it are FIRST + @at and FIRST + @to. */
static void assert_sent_all(uint32_t at, uint32_t to)
{
	uint32_t next = at;

	while (env_tx(&env, &b)) {
		for (uint32_t i = 0; i < b.cnt; i++)
			assert_int_equal(env_hdr(&b.pkt[i]).psn.v, vb_psn(FIRST + next++).v);
	}
	assert_int_equal(next, to + 1);
}

/* All that is in flight may be missing, and one report is enough to have it sent again. */
static void report__of_all_but_the_last(void **state)
{
	const struct run all = {0, VB_SR_WINDOW - 2};
	struct vb_qp *qp = long_requester(VB_SR_WINDOW - 1);

	(void)state;
	report(qp, VB_SR_WINDOW - 1, &all, 1);
	assert_int_equal(qp->sr->hole_cnt, VB_SR_WINDOW - 2);
	assert_sent_all(0, VB_SR_WINDOW - 3);
	report(qp, VB_SR_WINDOW - 1, &all, 1); /* what is known already */
	assert_sent(NULL, 0);
	env_close(&env);
}

/* The pages of all QPs are so many: where they end, the rest waits for another report. */
static void report__of_more_than_there_is_room_for(void **state)
{
	const struct run all = {0, 4 * VB_SR_HOLE_PSNS};
	struct vb_qp *qp = long_requester(5 * VB_SR_HOLE_PSNS);
	uint32_t page_of_first = VB_SR_HOLE_PSNS - vb_psn(FIRST).v % VB_SR_HOLE_PSNS;
	struct vb_sr_pool *pool = &env.hca->sr.holes;

	(void)state;
	while (pool->free_cnt > 2)
		(void)vb_sr_take(pool);
	report(qp, 5 * VB_SR_HOLE_PSNS, &all, 1);
	assert_int_equal(pool->free_cnt, 0);
	assert_sent_all(0, page_of_first + VB_SR_HOLE_PSNS - 1);
	env_close(&env);
}

/* A report says nothing of what lies outside of the part that it is about. */
static void report__of_a_part(void **state)
{
	const struct run ends[] = {{0, 1}, {39, 1}}, later[] = {{20, 1}};
	struct vb_qp *qp = long_requester(50);

	(void)state;
	report_range(qp, 0, 50, (struct run){0, 10}, ends, 1);
	assert_sent((const uint32_t[]){0}, 1);
	report_range(qp, 0, 50, (struct run){30, 40}, ends + 1, 1);
	assert_sent((const uint32_t[]){39}, 1);
	report_range(qp, 0, 50, (struct run){20, 30}, later, 1);
	assert_sent((const uint32_t[]){20}, 1);
	assert_int_equal(qp->sr->hole_cnt, 3);
	report_range(qp, 0, 50, (struct run){10, 40}, NULL, 0);
	assert_int_equal(qp->sr->hole_cnt, 1);
	env_close(&env);
}

/* A report that was overtaken names nothing, but what it says has arrived has. */
static void report__that_was_overtaken(void **state)
{
	const struct run run[] = {{0, 1}, {3, 1}, {5, 1}};
	struct vb_qp *qp = requester();

	(void)state;
	number = 100;
	report(qp, PKTS, run, 2);
	qp->sr->rtt_min = VB_SEC;
	assert_sent((const uint32_t[]){0, 3}, 2);
	for (uint16_t old = 100; old > 98; old--) {
		number = old;
		report(qp, PKTS, run, 3);
		assert_sent(NULL, 0);
	}
	number = 99;
	report(qp, PKTS, run, 1);
	assert_int_equal(qp->sr->hole_cnt, 1);
	number = 101;
	report(qp, PKTS, run, 1);
	qp->sr->reorder = 0; /* 3 came sooner than a round trip takes */
	report(qp, PKTS, run, 3);
	assert_sent((const uint32_t[]){3, 5}, 2);
	env_close(&env);
}

/* A packet that arrives sooner than a round trip after it was sent again was overtaken on its way:
 * the newest ones are not sent again at once then, until the next report or for good. */
static void report__of_packets_that_are_out_of_order(void **state)
{
	const struct run run[] = {{0, 1}, {3, 1}, {45, 1}};
	struct vb_qp *qp = long_requester(50);

	(void)state;
	report(qp, 10, run, 2);
	assert_sent((const uint32_t[]){0, 3}, 2);
	qp->sr->rtt_min = 50 * VB_USEC;
	env.now += 49 * VB_USEC;
	report(qp, 46, run, 1); /* 3 was on its way */
	assert_int_equal(qp->sr->reorder, 4);
	report_range(qp, 0, 48, (struct run){40, 48}, run + 2, 1);
	assert_sent(NULL, 0);
	report_range(qp, 0, 50, (struct run){40, 50}, run + 2, 1);
	assert_sent((const uint32_t[]){45}, 1);
	env.now += 50 * VB_USEC;
	qp->sr->reorder = 32;
	report_range(qp, 0, 50, (struct run){40, 50}, NULL, 0); /* 45 was lost */
	assert_int_equal(qp->sr->reorder, 30);
	env_close(&env);
}

/* A packet that was sent again is lost once more when something that was sent again after it has
 * arrived, and a round trip has passed. */
static void report__of_what_was_overtaken(void **state)
{
	const struct run run[] = {{0, 1}, {3, 1}, {5, 1}};

	(void)state;
	for (int late = 0; late < 2; late++) {
		struct vb_qp *qp = requester();

		report(qp, PKTS, run, 3);
		qp->sr->rtt_min = qp->sr->rtt = 50 * VB_USEC;
		assert_sent((const uint32_t[]){0, 3, 5}, 3);
		env.now += late ? 50 * VB_USEC : 49 * VB_USEC;
		report(qp, PKTS, run, 2);
		assert_sent((const uint32_t[]){0, 3}, late ? 2 : 0);
		report(qp, PKTS, run, 2);
		assert_sent(NULL, 0);
		env_close(&env);
	}
}

/* The rate of a QP paces retransmissions, too. ibv_modify_qp_rate_limit(3) */
static void report__what_is_sent_again_is_paced(void **state)
{
	const struct run run[] = {{0, 1}, {3, 2}};
	struct vb_qp *qp = requester();

	(void)state;
	assert_int_equal(vb_qp_set_rate(qp, 8000, 1, env.now), 0); /* 1 us a byte */
	report(qp, PKTS, run, 2);
	for (uint32_t i = 0; i < 3; i++) {
		assert_sent((const uint32_t[]){i ? 2 + i : 0}, 1);
		assert_sent(NULL, 0);
		env.now += 1200 * VB_USEC;
		vb_hca_handle_timeout(env.hca, env.now);
	}
	assert_sent(NULL, 0);
	env_close(&env);
}

/* A packet of before the first that can be outstanding decides nothing about selective repeat: the
 * first that is accepted does. core/selective/selective.h */
static void agreement__not_by_an_old_packet(void **state)
{
	const struct run run[] = {{0, 1}};
	struct vb_qp *qp = start();
	struct vb_hdr old = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
			     .dqpn = vb_qp_number(qp),
			     .psn = vb_psn(FIRST - 1),
			     .aeth.syndrome = 31};

	(void)state;
	assert_int_equal(env_send(&env, qp, 1, VB_WR_RDMA_WRITE, PKTS * MTU), 0);
	assert_int_equal(env_tx(&env, &b), PKTS);
	assert_int_equal(env_rx(&env, 2, &old, 0), VB_VERDICT_DUPLICATE);
	report(qp, PKTS, run, 1);
	assert_sent((const uint32_t[]){0}, 1);
	assert_sent(NULL, 0);
	env_close(&env);
}

/* Each packet that is sent again asks for an ACK: nothing may be behind it. */
static void report__what_is_sent_again_asks(void **state)
{
	const struct run run[] = {{0, 1}, {3, 2}};

	(void)state;
	report(requester(), PKTS, run, 2);
	assert_sent((const uint32_t[]){0, 3, 4}, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(env_hdr(&b.pkt[i]).ack_req);
	env_close(&env);
}

/* A report is words: one with padding is none, and the requester goes back. */
static void report__with_padding(void **state)
{
	static const uint32_t all[PKTS] = {0, 1, 2, 3, 4, 5, 6, 7};
	struct vb_qp *qp = requester();
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
			   .dqpn = vb_qp_number(qp),
			   .pkey = VB_PKEY_DEFAULT,
			   .psn = vb_psn(FIRST),
			   .pad = 1,
			   .selective = true,
			   .aeth.syndrome = VB_NAK_PSN_SEQ};
	struct vb_path path = env_path(2);
	uint8_t pkt[VB_HDR_MAX + 8];
	uint32_t len = vb_hdr_emit(&h, pkt);
	struct vb_rx rx = {.pkt = pkt, .len = len + 8, .avail = len + 8, .path = &path};

	(void)state;
	path.sgid = env_gid(2);
	path.dgid = env_gid(1);
	be32_put(pkt + len, PKTS);
	be32_put(pkt + len + 4, 1);
	(void)vb_hca_handle_packet(env.hca, &rx, env.now);
	assert_sent(all, PKTS);
	env_close(&env);
}

/* A trace tells what a report says: from where to where it goes, how much is missing, and how much
 * of that is to be sent again. trace/events.def */
static void report__is_traced(void **state)
{
	const struct run run[] = {{0, 1}, {3, 2}};
	struct vb_qp *qp = requester();

	(void)state;
	traced_cnt = 0;
	env.hca->cfg.trace =
	    (struct vb_trace){.mask = UINT64_C(1) << VB_TRACE_MISSING, .emit = note_event};
	report(qp, 2, run, 1);
	(void)env_tx(&env, &b);
	report(qp, PKTS - 1, run, 2);
	assert_int_equal(traced_cnt, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(traced[i].arg[0], FIRST);
		assert_int_equal(traced[i].arg[1], vb_psn(FIRST + (i ? PKTS - 1 : 2)).v);
		assert_int_equal(traced[i].arg[2], i ? 3 : 1);
		assert_int_equal(traced[i].arg[3], i ? 2 : 1);
	}
	env_close(&env);
}

/* The memory of a reported packet is gone: the requester goes back, and fails there. */
static void report__of_memory_that_is_gone(void **state)
{
	const struct run run[] = {{0, 1}};
	struct vb_qp *qp = requester();

	(void)state;
	report(qp, PKTS, run, 1);
	assert_int_equal(vb_mr_destroy(env.mr), 0);
	(void)env_tx(&env, &b);
	(void)env_wc(&env, 1, VB_WC_LOC_PROT_ERR);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(report__what_is_missing_is_sent_again),
	    cmocka_unit_test(report__what_is_sent_again_is_traced),
	    cmocka_unit_test(report__that_cannot_be),
	    cmocka_unit_test(report__later_ones_do_not_renew_the_wait),
	    cmocka_unit_test(report__of_more_than_there_is_room_for),
	    cmocka_unit_test(report__what_is_sent_again_is_paced),
	    cmocka_unit_test(agreement__not_by_an_old_packet),
	    cmocka_unit_test(report__what_is_sent_again_asks),
	    cmocka_unit_test(report__of_all_but_the_last),
	    cmocka_unit_test(report__of_a_part),
	    cmocka_unit_test(report__that_was_overtaken),
	    cmocka_unit_test(report__of_what_was_overtaken),
	    cmocka_unit_test(report__of_packets_that_are_out_of_order),
	    cmocka_unit_test(report__with_padding),
	    cmocka_unit_test(report__is_traced),
	    cmocka_unit_test(report__of_memory_that_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
