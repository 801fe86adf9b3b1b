/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selective repeat of requests: what a responder reports as missing and when, and what a requester
 * makes of a report. One that says what cannot be is no report, and the requester goes back.
 * REG-07 (selective_repeat_forced_en), IBA 9.7.5.1.3
 */
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

/* A NAK with a report: of @extent PSNs from FIRST + @at on, @cnt runs are missing. */
static void report_from(struct vb_qp *qp, uint32_t at, uint32_t extent, const struct run *run,
			uint32_t cnt)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_ACK,
			   .dqpn = vb_qp_number(qp),
			   .pkey = VB_PKEY_DEFAULT,
			   .psn = vb_psn(FIRST + at),
			   .selective = true,
			   .aeth.syndrome = VB_NAK_PSN_SEQ};
	struct vb_path path = env_path(2);
	uint8_t pkt[VB_HDR_MAX + 4 * (1 + VB_SR_RUNS)];
	uint32_t len = vb_hdr_emit(&h, pkt);

	path.sgid = env_gid(2);
	path.dgid = env_gid(1);
	be32_put(pkt + len, extent);
	len += 4;
	for (uint32_t i = 0; i < cnt; i++, len += 4)
		be32_put(pkt + len, (uint32_t)run[i].at << 16 | run[i].cnt);

	struct vb_rx rx = {.pkt = pkt, .len = len, .avail = len, .path = &path};

	(void)vb_hca_handle_packet(env.hca, &rx, env.now);
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
	    {PKTS + 1, 1, {{0, 1}}},         {PKTS, 1, {{1, 1}}}, {PKTS, 2, {{0, 1}, {1, 1}}},
	    {PKTS, 2, {{0, 2}, {1, 1}}},     {PKTS, 1, {{0, 0}}}, {PKTS, 1, {{0, PKTS + 1}}},
	    {VB_SR_WINDOW + 1, 1, {{0, 1}}},
	};
	static const uint32_t all[PKTS] = {0, 1, 2, 3, 4, 5, 6, 7};

	(void)state;
	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
		report(requester(), c[i].extent, c[i].run, c[i].cnt);
		assert_sent(all, PKTS);
		env_close(&env);
	}
}

static void arrives(struct vb_qp *qp, uint32_t at, bool asks)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_WRITE_ONLY,
			   .dqpn = vb_qp_number(qp),
			   .psn = vb_psn(FIRST + at),
			   .selective = true,
			   .ack_req = asks};

	h.reth.va = ENV_IOVA;
	h.reth.rkey = vb_mr_rkey(env.mr);
	h.reth.len = 8;
	(void)env_rx(&env, 2, &h, 8);
}

/* A gap is reported once, and to whoever asks: its sender may wait for that. */
static void gap__is_reported_again_to_who_asks(void **state)
{
	struct vb_qp *qp = start();

	(void)state;
	arrives(qp, 0, true);
	assert_int_equal(answer().aeth.syndrome & 0x60, 0);
	arrives(qp, 2, false);
	assert_int_equal(answer().aeth.syndrome, VB_NAK_PSN_SEQ);
	arrives(qp, 3, false);
	assert_int_equal(env_tx(&env, &b), 0);
	arrives(qp, 4, true);
	assert_int_equal(answer().aeth.syndrome, VB_NAK_PSN_SEQ);
	env_close(&env);
}

/* A packet that is too long has no place beyond a gap: it is not kept. The longest has all headers
 * and 4096 bytes of payload and padding. */
static void gap__packet_longer_than_any(void **state)
{
	static const uint32_t longest = VB_HDR_MAX + 4096;
	static uint8_t pkt[VB_HDR_MAX + 9000];
	struct vb_qp *qp = start();
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_SEND_MIDDLE,
			   .dqpn = vb_qp_number(qp),
			   .pkey = VB_PKEY_DEFAULT,
			   .psn = vb_psn(FIRST + 1),
			   .selective = true};
	struct vb_path path = env_path(2);
	struct vb_rx rx = {.pkt = pkt, .path = &path};

	(void)state;
	(void)vb_hdr_emit(&h, pkt);
	path.sgid = env_gid(2);
	path.dgid = env_gid(1);
	arrives(qp, 2, false);
	assert_int_equal(qp->sr->kept_cnt, 1);
	rx.len = rx.avail = longest + 4;
	(void)vb_hca_handle_packet(env.hca, &rx, env.now);
	assert_int_equal(qp->sr->kept_cnt, 1);
	rx.len = rx.avail = longest;
	(void)vb_hca_handle_packet(env.hca, &rx, env.now);
	assert_int_equal(qp->sr->kept_cnt, 2);
	env_close(&env);
}

/* A responder keeps VB_SR_WINDOW packets from the expected one on: the next has the place of that
 * one, and is neither kept nor reported. */
static void keep__ends_with_the_window(void **state)
{
	struct vb_qp *qp = start();
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_WRITE_MIDDLE,
			   .dqpn = vb_qp_number(qp),
			   .selective = true};

	(void)state;
	h.psn = vb_psn(FIRST + VB_SR_WINDOW);
	assert_int_equal(env_rx(&env, 2, &h, MTU), VB_VERDICT_PSN);
	assert_int_equal(qp->sr->kept_cnt, 0);
	assert_true(vb_psn_eq(qp->sr->high, vb_psn(FIRST)));
	h.psn = vb_psn(FIRST + VB_SR_WINDOW - 1);
	assert_int_equal(env_rx(&env, 2, &h, MTU), VB_VERDICT_OK);
	assert_int_equal(qp->sr->kept_cnt, 1);
	assert_true(vb_psn_eq(qp->sr->high, vb_psn(FIRST + VB_SR_WINDOW)));
	env_close(&env);
}

/* A responder keeps a packet once, however often it comes. */
static void keep__once(void **state)
{
	struct vb_qp *qp = start();
	uint32_t room;

	(void)state;
	arrives(qp, 2, false);
	room = env.hca->sr_pool.free_cnt;
	arrives(qp, 2, false);
	assert_int_equal(qp->sr->kept_cnt, 1);
	assert_int_equal(env.hca->sr_pool.free_cnt, room);
	env_close(&env);
}

/* A READ takes the PSNs of its answer: packets kept with those PSNs were no requests. */
static void keep__nothing_amid_a_read(void **state)
{
	struct vb_qp *qp = start();
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_READ_REQUEST,
			   .dqpn = vb_qp_number(qp),
			   .psn = vb_psn(FIRST),
			   .selective = true};

	(void)state;
	arrives(qp, 1, false);
	arrives(qp, 2, false);
	assert_int_equal(qp->sr->kept_cnt, 2);
	h.reth.va = ENV_IOVA;
	h.reth.rkey = vb_mr_rkey(env.mr);
	h.reth.len = 3 * MTU;
	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_OK);
	assert_int_equal(qp->sr->kept_cnt, 0);
	env_close(&env);
}

/* The first packets of a gap came before its report: the rest is reported, and packets behind it
 * are kept as ever. */
static void gap__closed_at_its_beginning(void **state)
{
	struct vb_qp *qp = start();
	struct vb_hdr h;

	(void)state;
	arrives(qp, 2, false);
	arrives(qp, 0, false);
	arrives(qp, 4, false);
	assert_int_equal(qp->sr->kept_cnt, 2);
	h = answer();
	assert_int_equal(h.aeth.syndrome, VB_NAK_PSN_SEQ);
	assert_int_equal(h.psn.v, vb_psn(FIRST + 1).v);
	env_close(&env);
	/* The same without packets behind it. */
	qp = start();
	arrives(qp, 2, false);
	arrives(qp, 0, false);
	h = answer();
	assert_int_equal(h.aeth.syndrome, VB_NAK_PSN_SEQ);
	assert_int_equal(h.psn.v, vb_psn(FIRST + 1).v);
	env_close(&env);
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

/* More packets are missing than fit: the rest is sent when there is room, without those that are
 * known already. */
static void report__of_more_than_there_is_room_for(void **state)
{
	struct vb_mr_attr attr = {.length = 1 << 20, .access = ENV_ACCESS};
	struct vb_sge sge = {0, (VB_SR_HOLES + 36) * MTU, 0};
	struct vb_send_wr wr = {.sge = &sge, .sge_cnt = 1, .opcode = VB_WR_RDMA_WRITE};
	const struct run all = {0, VB_SR_HOLES + 36}, rest = {0, 10 + 36};
	struct vb_qp *qp = requester();
	struct vb_mr *wide;
	uint32_t sent = 0;

	(void)state;
	report_from(qp, PKTS, 0, NULL, 0);
	assert_int_equal(vb_mr_create(env.pd, &attr, &wide), 0);
	sge.lkey = vb_mr_lkey(wide);
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	while (env_tx(&env, &b))
		sent += b.cnt;
	assert_int_equal(sent, VB_SR_HOLES + 36);
	report_from(qp, PKTS, VB_SR_HOLES + 36, &all, 1);
	for (sent = 0; env_tx(&env, &b); sent += b.cnt)
		continue;
	assert_int_equal(sent, VB_SR_HOLES);
	/* All but the last ten packets arrived. */
	report_from(qp, PKTS + VB_SR_HOLES - 10, 10 + 36, &rest, 1);
	assert_true(env_tx(&env, &b) > 0);
	assert_int_equal(env_hdr(&b.pkt[0]).psn.v, vb_psn(FIRST + PKTS + VB_SR_HOLES).v);
	for (sent = b.cnt; env_tx(&env, &b); sent += b.cnt)
		continue;
	assert_int_equal(sent, 36);
	env_close(&env);
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

/* The last of the packets that are sent again asks for an ACK, those before it do not. */
static void report__last_of_what_is_sent_again_asks(void **state)
{
	const struct run run[] = {{0, 1}, {3, 2}};

	(void)state;
	report(requester(), PKTS, run, 2);
	assert_sent((const uint32_t[]){0, 3, 4}, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(env_hdr(&b.pkt[i]).ack_req, i == 2);
	env_close(&env);
}

/* The next packet is a report of @extent packets in which every other one is missing, as many as
 * there is room for. */
static void assert_full_report(uint32_t at, uint32_t extent)
{
	const uint8_t *body = b.pkt[0].hdr + VB_BTH_LEN + 4;
	struct vb_hdr h = answer();

	assert_int_equal(h.aeth.syndrome, VB_NAK_PSN_SEQ);
	assert_int_equal(h.psn.v, vb_psn(FIRST + at).v);
	assert_int_equal(b.pkt[0].hdr_len, VB_BTH_LEN + 4 + 4 + 4 * VB_SR_RUNS);
	assert_int_equal(be32_get(body), extent);
	for (uint32_t i = 0; i < VB_SR_RUNS; i++)
		assert_int_equal(be32_get(body + 4 + 4 * i), 2 * i << 16 | 1);
}

/* A report has so many runs. It goes to the highest packet that has arrived all the same, and the
 * next one names what had no room. */
static void report__of_more_runs_than_it_holds(void **state)
{
	struct vb_qp *qp = start();

	(void)state;
	for (uint32_t i = 0; i < VB_SR_RUNS + 2; i++)
		arrives(qp, 2 * i + 1, false);
	assert_full_report(0, 2 * (VB_SR_RUNS + 2));
	arrives(qp, 0, false);
	arrives(qp, 2, false);
	assert_full_report(4, 2 * VB_SR_RUNS);
	env_close(&env);
}

/* A report that is full says nothing of what lies behind its last run: packets that the next one
 * names there are missing too. */
static void report__full_ends_with_its_last_run(void **state)
{
	struct vb_mr_attr attr = {.length = 1 << 20, .access = ENV_ACCESS};
	struct vb_sge sge = {0, 40 * MTU, 0};
	struct vb_send_wr wr = {.sge = &sge, .sge_cnt = 1, .opcode = VB_WR_RDMA_WRITE};
	struct run run[VB_SR_RUNS];
	struct vb_qp *qp = start();
	struct vb_mr *wide;
	uint32_t sent = 0;

	(void)state;
	assert_int_equal(vb_mr_create(env.pd, &attr, &wide), 0);
	sge.lkey = vb_mr_lkey(wide);
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	while (env_tx(&env, &b))
		sent += b.cnt;
	assert_int_equal(sent, 40);
	for (uint16_t i = 0; i < VB_SR_RUNS; i++)
		run[i] = (struct run){(uint16_t)(2 * i), 1};
	report(qp, 40, run, VB_SR_RUNS);
	assert_int_equal(env_tx(&env, &b), VB_SR_RUNS);
	run[0] = (struct run){0, 1};
	report_from(qp, 2 * VB_SR_RUNS, 40 - 2 * VB_SR_RUNS, run, 1);
	assert_sent((const uint32_t[]){2 * VB_SR_RUNS}, 1);
	env_close(&env);
}

/* The pool bounds what all QPs keep: a packet without room is dropped, and comes again. A QP that
 * goes gives its part of it back, and an adapter without a pool offers nothing. */
static void keep__as_much_as_the_pool_has(void **state)
{
	struct vb_hdr h = {
	    .opcode = VB_TRANSPORT_RC | VB_OP_WRITE_MIDDLE, .psn = vb_psn(0), .selective = true};
	struct vb_qp *qp;

	(void)state;
	for (uint32_t room = 0; room < 2; room++) {
		env_config(&env);
		env.cfg.recovery.selective_repeat_forced_en = true;
		env.cfg.limits.ooo_pkts = room;
		env_open(&env, 256);
		qp = rts(FIRST, FIRST, 4);
		assert_int_equal(qp->sr != NULL, room);
		if (room) {
			h.dqpn = vb_qp_number(qp);
			assert_int_equal(env_rx(&env, 2, &h, MTU), VB_VERDICT_OK);
			assert_int_equal(env.hca->sr_pool.free_cnt, 0);
			h.psn = vb_psn(2);
			assert_int_equal(env_rx(&env, 2, &h, MTU), VB_VERDICT_PSN);
			assert_int_equal(qp->sr->kept_cnt, 1);
			assert_int_equal(vb_qp_destroy(qp), 0);
			assert_int_equal(env.hca->sr_pool.free_cnt, 1);
		}
		env_close(&env);
	}
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

/* Reports of a wrap ago, when PSNs were others, hide nothing of what is missing now. */
static void report__behind_one_of_long_ago(void **state)
{
	const struct run run[] = {{0, 1}, {3, 1}};
	struct vb_qp *qp = requester();

	(void)state;
	qp->sr->psn_told = vb_psn(FIRST + 0x700000);
	report(qp, PKTS, run, 2);
	assert_sent((const uint32_t[]){0, 3}, 2);
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
	    cmocka_unit_test(gap__is_reported_again_to_who_asks),
	    cmocka_unit_test(gap__packet_longer_than_any),
	    cmocka_unit_test(keep__ends_with_the_window),
	    cmocka_unit_test(keep__once),
	    cmocka_unit_test(keep__nothing_amid_a_read),
	    cmocka_unit_test(gap__closed_at_its_beginning),
	    cmocka_unit_test(report__later_ones_do_not_renew_the_wait),
	    cmocka_unit_test(report__of_more_than_there_is_room_for),
	    cmocka_unit_test(report__what_is_sent_again_is_paced),
	    cmocka_unit_test(agreement__not_by_an_old_packet),
	    cmocka_unit_test(report__last_of_what_is_sent_again_asks),
	    cmocka_unit_test(report__of_more_runs_than_it_holds),
	    cmocka_unit_test(report__full_ends_with_its_last_run),
	    cmocka_unit_test(keep__as_much_as_the_pool_has),
	    cmocka_unit_test(report__with_padding),
	    cmocka_unit_test(report__behind_one_of_long_ago),
	    cmocka_unit_test(report__is_traced),
	    cmocka_unit_test(report__of_memory_that_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
