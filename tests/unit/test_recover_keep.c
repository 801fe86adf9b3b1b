/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selective repeat at a responder: which packets it keeps that come before their turn, what it
 * reports as missing, and when. REG-07 (selective_repeat_forced_en), IBA 9.7.5.1.3
 */
#include "core/selective/selective.h"
#include "rc_env.h"
#include "wire/be.h"

#define MTU 1024u
#define FIRST 0xfffffau
#define PKTS 8u

static struct vb_qp *start(void)
{
	env_config(&env);
	env.cfg.recovery.selective_repeat_forced_en = true;
	env_open(&env, 256);
	return rts(FIRST, FIRST, 4);
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
	room = env.hca->sr.blocks.free_cnt;
	arrives(qp, 2, false);
	assert_int_equal(qp->sr->kept_cnt, 1);
	assert_int_equal(env.hca->sr.blocks.free_cnt, room);
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

/* The next packet is a report @nr, of @extent packets, in which from @from on every other one is
 * missing, as many as there is room for. */
static void assert_full_report(uint32_t at, uint32_t nr, uint32_t extent, uint32_t from)
{
	const uint8_t *body = b.pkt[0].hdr + VB_BTH_LEN + 4;
	struct vb_hdr h = answer();

	assert_int_equal(h.aeth.syndrome, VB_NAK_PSN_SEQ);
	assert_int_equal(h.psn.v, vb_psn(FIRST + at).v);
	assert_int_equal(b.pkt[0].hdr_len, VB_BTH_LEN + 4 + 12 + 4 * VB_SR_RUNS);
	assert_int_equal(be32_get(body), nr << 16 | extent);
	assert_int_equal(be32_get(body + 4) >> 16, from);
	assert_uint_in_range(be32_get(body + 4) & 0xffff, from + 2 * VB_SR_RUNS - 1,
			     from + 2 * VB_SR_RUNS);
	for (uint32_t i = 0; i < VB_SR_RUNS; i++)
		assert_int_equal(be32_get(body + 12 + 4 * i), (from + 2 * i) << 16 | 1);
}

/* A report has so many runs. When a gap opens, these are the newest, and next time the others have
 * their turn, from the oldest to the newest and again. */
static void report__of_more_runs_than_it_holds(void **state)
{
	static const uint32_t turn[] = {0, 16, 32, 0, 16};
	struct vb_qp *qp = start();

	(void)state;
	for (uint32_t i = 0; i < 3 * VB_SR_RUNS; i++)
		arrives(qp, 2 * i + 1, false);
	assert_full_report(0, 0, 6 * VB_SR_RUNS, 4 * VB_SR_RUNS);
	for (uint32_t i = 0; i < 5; i++) {
		arrives(qp, 1, true);
		assert_full_report(0, 1 + i, 6 * VB_SR_RUNS, turn[i]);
	}
	arrives(qp, 0, false);
	arrives(qp, 2, false);
	assert_full_report(4, 6, 6 * VB_SR_RUNS - 4, 28);
	arrives(qp, 6 * VB_SR_RUNS + 1, false);
	assert_full_report(4, 7, 6 * VB_SR_RUNS - 2, 4 * VB_SR_RUNS - 2);
	arrives(qp, 6 * VB_SR_RUNS + 3, false); /* the newest had their turn just now */
	assert_full_report(4, 8, 6 * VB_SR_RUNS, 0);
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
			assert_int_equal(env.hca->sr.blocks.free_cnt, 0);
			h.psn = vb_psn(2);
			assert_int_equal(env_rx(&env, 2, &h, MTU), VB_VERDICT_PSN);
			assert_int_equal(qp->sr->kept_cnt, 1);
			assert_int_equal(vb_qp_destroy(qp), 0);
			assert_int_equal(env.hca->sr.blocks.free_cnt, 1);
		}
		env_close(&env);
	}
}

/* A QP takes at most four times as much of the pool as it leaves: another one finds room. */
static void keep__leaves_room_for_others(void **state)
{
	struct vb_qp *qp[2];

	(void)state;
	env_config(&env);
	env.cfg.recovery.selective_repeat_forced_en = true;
	env.cfg.limits.ooo_pkts = 10;
	env_open(&env, 256);
	for (int i = 0; i < 2; i++)
		qp[i] = rts(FIRST, FIRST, 4);
	for (uint32_t at = 1; at <= 12; at++)
		arrives(qp[0], at, false);
	assert_int_equal(qp[0]->sr->kept_cnt, 8);
	assert_int_equal(env.hca->sr.blocks.free_cnt, 2);
	arrives(qp[1], 1, false);
	assert_int_equal(qp[1]->sr->kept_cnt, 1);
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

static enum vb_verdict read_arrives(struct vb_qp *qp, uint32_t at, uint32_t pkts)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_READ_REQUEST,
			   .dqpn = vb_qp_number(qp),
			   .psn = vb_psn(FIRST + at),
			   .selective = true};

	h.reth.va = ENV_IOVA;
	h.reth.rkey = vb_mr_rkey(env.mr);
	h.reth.len = pkts * MTU;
	return env_rx(&env, 2, &h, 0);
}

/* The next packet is a report of @extent packets from @at on, with these runs: offset << 16 |
 * count. */
static void assert_report(uint32_t at, uint32_t extent, const uint32_t *run, uint32_t cnt)
{
	const uint8_t *body = b.pkt[0].hdr + VB_BTH_LEN + 4;
	struct vb_hdr h = answer();

	assert_int_equal(h.aeth.syndrome, VB_NAK_PSN_SEQ);
	assert_int_equal(h.psn.v, vb_psn(FIRST + at).v);
	assert_int_equal(be32_get(body) & 0xffff, extent);
	assert_int_equal(b.pkt[0].hdr_len, VB_BTH_LEN + 4 + 12 + 4 * cnt);
	for (uint32_t i = 0; i < cnt; i++)
		assert_int_equal(be32_get(body + 12 + 4 * i), run[i]);
}

/* READs behind a gap are kept, count as arrived with all PSNs of their answers, and are answered in
 * their turn. */
static void keep__reads(void **state)
{
	struct vb_qp *qp = start();

	(void)state;
	assert_int_equal(read_arrives(qp, 1, 3), VB_VERDICT_OK);
	assert_report(0, 4, (const uint32_t[]){0 << 16 | 1}, 1);
	arrives(qp, 4, true);
	assert_report(0, 5, (const uint32_t[]){0 << 16 | 1}, 1);
	assert_int_equal(read_arrives(qp, 6, 2), VB_VERDICT_OK);
	assert_report(0, 8, (const uint32_t[]){0 << 16 | 1, 5 << 16 | 1}, 2);
	assert_int_equal(read_arrives(qp, 6, 2), VB_VERDICT_OK); /* once more */
	assert_int_equal(qp->sr->kept_cnt, 3);
	assert_int_equal(qp->sr->read_cnt, 2);
	arrives(qp, 0, false);
	assert_true(vb_psn_eq(qp->resp.epsn, vb_psn(FIRST + 5)));
	assert_int_equal(qp->sr->kept_cnt, 1);
	assert_int_equal(qp->sr->read_cnt, 1);
	arrives(qp, 5, false);
	assert_true(vb_psn_eq(qp->resp.epsn, vb_psn(FIRST + 8)));
	assert_int_equal(qp->sr->kept_cnt, 0);
	assert_int_equal(qp->sr->read_cnt, 0);
	/* Both answers, without another request. */
	assert_int_equal(qp->resp.res_pending, 2);
	env_close(&env);
}

/* A report of the newest runs begins between READs, too, and never inside one. */
static void report__between_reads(void **state)
{
	struct vb_qp *qp = start();
	uint32_t run[VB_SR_RUNS];

	(void)state;
	for (uint32_t i = 0; i < 3 * VB_SR_RUNS; i++)
		assert_int_equal(read_arrives(qp, 5 * i + 1, 4), VB_VERDICT_OK);
	for (uint32_t i = 0; i < VB_SR_RUNS; i++)
		run[i] = 5 * (2 * VB_SR_RUNS + i) << 16 | 1;
	assert_report(0, 15 * VB_SR_RUNS, run, VB_SR_RUNS);
	/* A page ends with 1024 PSNs, and a READ goes on in the next one. */
	assert_int_equal(read_arrives(qp, 15 * VB_SR_RUNS, 2000), VB_VERDICT_OK);
	arrives(qp, 15 * VB_SR_RUNS + 2001, true);
	(void)answer();
	assert_int_equal(qp->sr->high.v, vb_psn(FIRST + 15 * VB_SR_RUNS + 2002).v);
	env_close(&env);
	/* A READ that goes beyond the window is not kept: no peer has so much in flight. */
	qp = start();
	assert_int_equal(read_arrives(qp, VB_SR_WINDOW - 2, 3), VB_VERDICT_PSN);
	assert_int_equal(qp->sr->kept_cnt, 0);
	assert_int_equal(read_arrives(qp, VB_SR_WINDOW - 2, 2), VB_VERDICT_OK);
	assert_true(vb_psn_eq(qp->sr->high, vb_psn(FIRST + VB_SR_WINDOW)));
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(gap__is_reported_again_to_who_asks),
	    cmocka_unit_test(gap__packet_longer_than_any),
	    cmocka_unit_test(keep__ends_with_the_window),
	    cmocka_unit_test(keep__once),
	    cmocka_unit_test(keep__nothing_amid_a_read),
	    cmocka_unit_test(keep__reads),
	    cmocka_unit_test(report__between_reads),
	    cmocka_unit_test(keep__leaves_room_for_others),
	    cmocka_unit_test(gap__closed_at_its_beginning),
	    cmocka_unit_test(report__of_more_runs_than_it_holds),
	    cmocka_unit_test(keep__as_much_as_the_pool_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
