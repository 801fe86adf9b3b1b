/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The contexts of a DC target: it tells initiators apart, an initiator makes room for another, and
 * a new initiator finds nothing of the last one in its context. docs/dc.md; IBT-25
 */
#include "dc_env.h"

#define CONN 0x50001u
#define QPN 0x77u

/* A packet of initiator QPN with @h that comes by @path. */
static enum vb_verdict arrive(struct vb_qp *dct, struct vb_hdr h, const struct vb_path *path,
			      uint32_t len)
{
	uint8_t pkt[VB_HDR_MAX + 64] = {0};
	struct vb_rx rx = {.pkt = pkt, .path = path};

	h.dqpn = vb_qp_number(dct);
	h.pkey = VB_PKEY_DEFAULT;
	h.dc.sqpn = h.dc.qpn = QPN;
	rx.len = rx.avail = (uint32_t)vb_hdr_emit(&h, pkt) + len;
	return vb_hca_handle_packet(env.hca, &rx, env.now);
}

static enum vb_verdict connect(struct vb_qp *dct, const struct vb_path *path, uint32_t connection)
{
	return arrive(dct,
		      (struct vb_hdr){.opcode = VB_OPCODE_DC_CONNECT,
				      .dc = {.connection = connection, .key = KEY}},
		      path, 0);
}

/* A request for 8 bytes with the first PSN of the connection. */
static enum vb_verdict ask(struct vb_qp *dct, const struct vb_path *path, uint32_t connection,
			   uint8_t op)
{
	struct vb_hdr h = {.opcode = (uint8_t)(VB_TRANSPORT_DC | op),
			   .ack_req = true,
			   .reth = {.va = ENV_IOVA, .rkey = vb_mr_rkey(env.mr), .len = 8},
			   .dc.connection = connection};

	return arrive(dct, h, path, op == VB_OP_WRITE_ONLY ? 8 : 0);
}

static struct vb_path from_host(uint8_t host)
{
	struct vb_path path = env_path(1);

	path.sgid = env_gid(host);
	return path;
}

/* InfiniBand: QP numbers belong to a port, and a port of several LIDs has a connection at each
 * LID. */
static void dct__lids_tell_connections_apart(void **state)
{
	const struct vb_path path = {.port = 1, .slid = 7, .dlid = 9};
	struct vb_path other = path, elsewhere = path;
	struct vb_qp *dct;

	(void)state;
	setup();
	dct = target(KEY);
	other.slid = 8;
	elsewhere.dlid = 10;
	assert_int_equal(connect(dct, &path, CONN), VB_VERDICT_OK);
	assert_int_equal(connect(dct, &path, CONN), VB_VERDICT_DUPLICATE);
	assert_int_equal(connect(dct, &other, CONN), VB_VERDICT_OK);
	assert_int_equal(ask(dct, &elsewhere, CONN, VB_OP_WRITE_ONLY), VB_VERDICT_SOURCE);
	assert_int_equal(ask(dct, &path, CONN, VB_OP_WRITE_ONLY), VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(b.pkt[0].path->dlid, 7);
	assert_int_equal(ask(dct, &other, CONN, VB_OP_WRITE_ONLY), VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(b.pkt[0].path->dlid, 8);
	env_close(&env);
}

/* A disconnected initiator makes room before one that was silent, however long. */
static void dct__who_has_left_goes_first(void **state)
{
	struct vb_qp *dct;

	(void)state;
	setup();
	dct = target(KEY);
	for (uint8_t i = 0; i < VB_DCT_CONTEXTS; i++) {
		struct vb_path path = from_host((uint8_t)(2 + i));

		assert_int_equal(connect(dct, &path, CONN), VB_VERDICT_OK);
		env.now++;
	}
	env.now += 2 * VB_DCT_IDLE;

	struct vb_path left = from_host(2 + 40), next = from_host(200);
	struct vb_hdr bye = {
	    .opcode = VB_OPCODE_DC_CONNECT, .solicited = true, .dc.connection = CONN};

	assert_int_equal(arrive(dct, bye, &left, 0), VB_VERDICT_OK);
	assert_int_equal(connect(dct, &next, CONN), VB_VERDICT_OK);
	for (uint8_t i = 0; i < VB_DCT_CONTEXTS; i++) {
		struct vb_path silent = from_host((uint8_t)(2 + i));

		if (i != 40)
			assert_int_equal(ask(dct, &silent, CONN, VB_OP_WRITE_ONLY), VB_VERDICT_OK);
	}
	env_close(&env);
}

/* An unanswered READ of one connection takes nothing from the next connection. */
static void dct__next_connection_has_all_resources(void **state)
{
	struct vb_path path = from_host(2);
	struct vb_qp *dct;

	(void)state;
	setup();
	dct = target(KEY);
	assert_int_equal(connect(dct, &path, CONN), VB_VERDICT_OK);
	assert_int_equal(ask(dct, &path, CONN, VB_OP_READ_REQUEST), VB_VERDICT_OK);
	assert_int_equal(connect(dct, &path, CONN + 1), VB_VERDICT_OK);
	assert_int_equal(ask(dct, &path, CONN + 1, VB_OP_READ_REQUEST), VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(env_hdr(&b.pkt[0]).dc.connection, CONN + 1);
	env_close(&env);
}

/* A CNP owed to one connection is not sent to the next. CC-04 */
static void dct__next_connection_is_owed_no_cnp(void **state)
{
	struct vb_path path = from_host(2), marked = path;
	struct vb_qp *dct;

	(void)state;
	env_config(&env);
	vb_cc_settings_paper(&env.cfg.cc, UINT64_C(40000000000));
	env_open(&env, 64);
	assert_int_equal(vb_srq_create(env.pd, 256, 4, 0, NULL, &srq), 0);
	dct = target(KEY);
	marked.traffic_class = VB_ECN_CE;
	assert_int_equal(connect(dct, &path, CONN), VB_VERDICT_OK);
	assert_int_equal(ask(dct, &marked, CONN, VB_OP_WRITE_ONLY), VB_VERDICT_OK);
	assert_int_equal(connect(dct, &path, CONN + 1), VB_VERDICT_OK);
	assert_int_equal(ask(dct, &path, CONN + 1, VB_OP_WRITE_ONLY), VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(env_hdr(&b.pkt[0]).opcode, VB_TRANSPORT_DC | VB_OP_ACK);
	/* Its own mark draws a CNP at once: the interval is its own. */
	assert_int_equal(connect(dct, &path, CONN + 2), VB_VERDICT_OK);
	assert_int_equal(ask(dct, &marked, CONN + 2, VB_OP_WRITE_ONLY), VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 2);
	assert_int_equal(env_hdr(&b.pkt[0]).opcode, VB_OPCODE_CNP);
	env_close(&env);
}

/* InfiniBand at 8 Gb/s: at index 2 a packet waits twice its own time behind the one before. */
static void set_rules(bool by_qp)
{
	struct vb_cct_rules r = {.table = {.by_qp = by_qp, .limit = 2, .entry = {[2] = 2}},
				 .rate_bps = UINT64_C(8000000000)};

	r.table.level[0] = (struct vb_cct_level){.timer = VB_SEC, .increase = 2};
	assert_int_equal(vb_hca_set_port_cct(env.hca, 1, &r), 0);
}

static void open_by_lid(void)
{
	env_config(&env);
	env.cfg.cc.np_en = true;
	env_open(&env, 64);
	set_rules(true);
	assert_int_equal(vb_srq_create(env.pd, 256, 4, 0, NULL, &srq), 0);
	env.now = 1000;
}

/* FAB-47: a notification for a target is about the READ responses that go where it comes from. */
static void dct__contexts_have_indices(void **state)
{
	const struct vb_path hot = {.port = 1, .slid = 7, .dlid = 9};
	const struct vb_path cold = {.port = 1, .slid = 8, .dlid = 9};
	const struct vb_path nobody = {.port = 1, .slid = 6, .dlid = 9};
	const struct vb_hdr cnp = {.opcode = VB_OPCODE_CNP_IB, .becn = true};
	struct vb_hdr read = {.opcode = VB_TRANSPORT_DC | VB_OP_READ_REQUEST,
			      .reth = {.va = ENV_IOVA, .len = 3072},
			      .dc.connection = CONN};
	struct vb_qp *dct;

	(void)state;
	open_by_lid();
	read.reth.rkey = vb_mr_rkey(env.mr);
	dct = target(KEY);
	assert_int_equal(connect(dct, &hot, CONN), VB_VERDICT_OK);
	assert_int_equal(connect(dct, &cold, CONN), VB_VERDICT_OK);
	assert_int_equal(arrive(dct, cnp, &nobody, 0), VB_VERDICT_SOURCE);
	assert_int_equal(arrive(dct, cnp, &hot, 0), VB_VERDICT_OK);
	assert_int_equal(env.counters.v[VB_COUNTER_rp_cnp_handled], 1);
	assert_int_equal(arrive(dct, read, &hot, 0), VB_VERDICT_OK);
	assert_int_equal(arrive(dct, read, &cold, 0), VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 1 + 3);
	/* Three times LRH, BTH, DCETH, AETH, payload, ICRC, VCRC, start and end. */
	env.now += 3 * (8 + 12 + 8 + 4 + 1024 + 4 + 2 + 2);
	assert_int_equal(vb_hca_poll_timeout(env.hca), env.now);
	vb_hca_handle_timeout(env.hca, env.now);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(b.pkt[0].path->dlid, hot.slid);
	/* Service levels have indices now: the context waits no longer. */
	assert_int_equal(env_tx(&env, &b), 0);
	set_rules(false);
	assert_int_equal(env_tx(&env, &b), 1);
	env_close(&env);
}

/* FAB-47: an initiator tells the target of marked responses, and nobody else. */
static void dci__tells_of_marks(void **state)
{
	struct vb_ah ah = {.path = {.port = 1, .slid = 9, .dlid = 7}};
	struct vb_path from = {.port = 1, .slid = 7, .dlid = 9, .traffic_class = VB_ECN_CE};
	struct vb_sge sge;
	struct vb_send_wr wr = {.sge = &sge,
				.sge_cnt = 1,
				.opcode = VB_WR_RDMA_WRITE,
				.remote_addr = ENV_IOVA,
				.ah = &ah,
				.dqpn = 0x55,
				.dc_key = KEY};
	uint8_t pkt[VB_HDR_MAX];
	struct vb_rx rx = {.pkt = pkt, .path = &from};
	struct vb_hdr h;
	struct vb_qp *dci;

	(void)state;
	open_by_lid();
	ah.pd = env.pd;
	sge = env_sge(&env, 0, 8);
	dci = initiator((struct vb_dc_init){0});
	assert_int_equal(vb_qp_post_send(dci, &wr, env.now), 0);
	assert_int_equal(env_tx(&env, &b), 2);
	h = env_hdr(&b.pkt[1]);
	h = (struct vb_hdr){.opcode = VB_TRANSPORT_DC | VB_OP_ACK,
			    .pkey = VB_PKEY_DEFAULT,
			    .fecn = true,
			    .becn = true,
			    .dqpn = vb_qp_number(dci),
			    .psn = h.psn,
			    .aeth.syndrome = VB_CREDIT_UNLIMITED,
			    .dc = {.sqpn = 0x55, .connection = h.dc.connection}};
	rx.len = rx.avail = (uint32_t)vb_hdr_emit(&h, pkt);
	from.slid = 8;
	assert_int_equal(vb_hca_handle_packet(env.hca, &rx, env.now), VB_VERDICT_SOURCE);
	assert_int_equal(env_tx(&env, &b), 0);
	from.slid = 7;
	assert_int_equal(vb_hca_handle_packet(env.hca, &rx, env.now), VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 1);
	h = env_hdr(&b.pkt[0]);
	assert_int_equal(h.opcode, VB_OPCODE_CNP_IB);
	assert_int_equal(h.dqpn, 0x55);
	assert_int_equal(b.pkt[0].path->dlid, 7);
	assert_int_equal(dci->cc.cct.ccti.index, 2);
	env_close(&env);
}

/* Packets of a connection come to the address that the connect came to. */
static void dct__hears_at_one_address(void **state)
{
	struct vb_path path = from_host(2), elsewhere = path;
	struct vb_qp *dct;

	(void)state;
	setup();
	dct = target(KEY);
	elsewhere.dgid = env_gid(5);
	assert_int_equal(connect(dct, &path, CONN), VB_VERDICT_OK);
	assert_int_equal(ask(dct, &elsewhere, CONN, VB_OP_WRITE_ONLY), VB_VERDICT_SOURCE);
	assert_int_equal(ask(dct, &path, CONN, VB_OP_WRITE_ONLY), VB_VERDICT_OK);
	env_close(&env);
}

/* A response is nothing to a target: its connection goes on. */
static void dct__takes_no_responses(void **state)
{
	struct vb_path path = from_host(2);
	struct vb_hdr ack = {
	    .opcode = VB_TRANSPORT_DC | VB_OP_ACK, .aeth.syndrome = 31, .dc.connection = CONN};
	struct vb_qp *dct;

	(void)state;
	setup();
	dct = target(KEY);
	assert_int_equal(connect(dct, &path, CONN), VB_VERDICT_OK);
	assert_int_equal(arrive(dct, ack, &path, 0), VB_VERDICT_UNEXPECTED);
	assert_int_equal(ask(dct, &path, CONN, VB_OP_WRITE_ONLY), VB_VERDICT_OK);
	env_close(&env);
}

/* Answers leave by the source port that the connect came from. docs/dc.md */
static void dct__answers_by_the_port_of_the_connect(void **state)
{
	struct vb_path path = from_host(2);
	struct vb_qp *dct;

	(void)state;
	setup();
	dct = target(KEY);
	path.udp_sport = 0xd123;
	assert_int_equal(connect(dct, &path, CONN), VB_VERDICT_OK);
	assert_int_equal(ask(dct, &path, CONN, VB_OP_WRITE_ONLY), VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(b.pkt[0].path->udp_sport, 0xd123);
	env_close(&env);
}

/* A disconnect that comes late, of an earlier connection, ends no newer one. */
static void dct__late_disconnect(void **state)
{
	struct vb_hdr bye = {
	    .opcode = VB_OPCODE_DC_CONNECT, .solicited = true, .dc.connection = CONN};
	struct vb_path path = from_host(2);
	struct vb_qp *dct;

	(void)state;
	setup();
	dct = target(KEY);
	assert_int_equal(connect(dct, &path, CONN), VB_VERDICT_OK);
	assert_int_equal(connect(dct, &path, CONN + 1), VB_VERDICT_OK);
	assert_int_equal(arrive(dct, bye, &path, 0), VB_VERDICT_DUPLICATE);
	assert_int_equal(ask(dct, &path, CONN + 1, VB_OP_WRITE_ONLY), VB_VERDICT_OK);
	env_close(&env);
}

/* A target is not the one that congestion slows down: its answers say that they may not be marked.
 * docs/congestion-control.md */
static void dct__answers_may_not_be_marked(void **state)
{
	struct vb_path path = from_host(2);
	struct vb_qp *dct;

	(void)state;
	env_config(&env);
	vb_cc_settings_paper(&env.cfg.cc, UINT64_C(40000000000));
	env_open(&env, 64);
	assert_int_equal(vb_srq_create(env.pd, 256, 4, 0, NULL, &srq), 0);
	dct = target(KEY);
	assert_int_equal(connect(dct, &path, CONN), VB_VERDICT_OK);
	assert_int_equal(ask(dct, &path, CONN, VB_OP_READ_REQUEST), VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(b.pkt[0].path->traffic_class & VB_ECN_MASK, 0);
	env_close(&env);
}

/* The low half of a connection's number wraps: what comes behind 0xffff is newer. docs/dc.md */
static void dct__connections_wrap(void **state)
{
	struct vb_path path = from_host(2);
	struct vb_qp *dct;

	(void)state;
	setup();
	dct = target(KEY);
	assert_int_equal(connect(dct, &path, 0x5ffff), VB_VERDICT_OK);
	assert_int_equal(connect(dct, &path, 0x50000), VB_VERDICT_OK);
	assert_int_equal(connect(dct, &path, 0x5ffff), VB_VERDICT_DUPLICATE);
	assert_int_equal(ask(dct, &path, 0x50000, VB_OP_WRITE_ONLY), VB_VERDICT_OK);
	env_close(&env);
}

/* A connect that waits for its answer has that of the PSN before its first, at once. docs/dc.md */
static void dct__answers_a_full_handshake(void **state)
{
	const struct vb_path from = from_host(2);
	struct vb_hdr h = {
	    .opcode = VB_OPCODE_DC_CONNECT,
	    .dc = {.connection = CONN, .key = KEY, .full = true, .first = vb_psn(0)}};
	struct vb_qp *dct;

	(void)state;
	setup();
	dct = target(KEY);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(arrive(dct, h, &from, 0),
				 again ? VB_VERDICT_DUPLICATE : VB_VERDICT_OK);
		assert_int_equal(env_tx(&env, &b), 1);
		assert_int_equal(env_hdr(&b.pkt[0]).opcode, VB_TRANSPORT_DC | VB_OP_ACK);
		assert_int_equal(env_hdr(&b.pkt[0]).psn.v, VB_PSN_MASK);
	}
	env_close(&env);
}

/* A target that has ended says nothing any more, not even the no that it owed. */
static void dct__owes_nothing_when_it_has_ended(void **state)
{
	struct vb_path path = from_host(2);

	(void)state;
	for (int reset = 0; reset < 2; reset++) {
		struct vb_hdr h = {.opcode = VB_OPCODE_DC_CONNECT,
				   .dc = {.connection = CONN, .key = KEY + 1}};
		struct vb_qp_attr a = {0};
		struct vb_qp *dct;

		setup();
		dct = target(KEY);
		assert_int_equal(arrive(dct, h, &path, 0), VB_VERDICT_ACCESS);
		assert_int_equal(env_modify(&env, dct, &a, reset ? VB_QPS_RESET : VB_QPS_ERR), 0);
		assert_int_equal(env_tx(&env, &b), 0);
		env_close(&env);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(dct__lids_tell_connections_apart),
	    cmocka_unit_test(dct__who_has_left_goes_first),
	    cmocka_unit_test(dct__next_connection_has_all_resources),
	    cmocka_unit_test(dct__next_connection_is_owed_no_cnp),
	    cmocka_unit_test(dct__contexts_have_indices),
	    cmocka_unit_test(dci__tells_of_marks),
	    cmocka_unit_test(dct__hears_at_one_address),
	    cmocka_unit_test(dct__takes_no_responses),
	    cmocka_unit_test(dct__answers_by_the_port_of_the_connect),
	    cmocka_unit_test(dct__late_disconnect),
	    cmocka_unit_test(dct__answers_may_not_be_marked),
	    cmocka_unit_test(dct__connections_wrap),
	    cmocka_unit_test(dct__answers_a_full_handshake),
	    cmocka_unit_test(dct__owes_nothing_when_it_has_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
