/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DC: an initiator and targets of one adapter that talk to each other, and what a target does when
 * it serves as many initiators as it can, when they go, and when they mean it ill. docs/dc.md;
 * IBT-25, facts B.8
 */
#include "core/view.h"
#include "dc_env.h"

#define CONN 0x50001u /* the number of a connection */

static enum vb_verdict connect(struct vb_qp *dct, uint8_t host, uint32_t qpn, uint32_t connection,
			       uint64_t key)
{
	struct vb_hdr h = {.opcode = VB_OPCODE_DC_CONNECT,
			   .dqpn = vb_qp_number(dct),
			   .dc = {.sqpn = qpn, .connection = connection, .qpn = qpn, .key = key}};

	return env_rx(&env, host, &h, 0);
}

static enum vb_verdict disconnect(struct vb_qp *dct, uint8_t host, uint32_t qpn,
				  uint32_t connection)
{
	struct vb_hdr h = {.opcode = VB_OPCODE_DC_CONNECT,
			   .solicited = true,
			   .dqpn = vb_qp_number(dct),
			   .dc = {.sqpn = qpn, .connection = connection}};

	return env_rx(&env, host, &h, 0);
}

/* A WRITE that has the PSN @psn. */
static enum vb_verdict write8(struct vb_qp *dct, uint8_t host, uint32_t qpn, uint32_t psn,
			      uint32_t rkey)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_DC | VB_OP_WRITE_ONLY,
			   .dqpn = vb_qp_number(dct),
			   .psn = vb_psn(psn),
			   .ack_req = true,
			   .reth = {.va = ENV_IOVA, .rkey = rkey, .len = 8},
			   .dc = {.sqpn = qpn, .connection = CONN}};

	return env_rx(&env, host, &h, 8);
}

/* The syndrome of the one answer that leaves now, and that it goes to QP @qpn of @host. */
static uint8_t answer(uint8_t host, uint32_t qpn)
{
	struct vb_gid to = env_gid(host);

	assert_int_equal(env_tx(&env, &b), 1);

	struct vb_hdr h = env_hdr(&b.pkt[0]);

	assert_int_equal(h.dqpn, qpn);
	assert_true(vb_gid_eq(&b.pkt[0].path->dgid, &to));
	return h.aeth.syndrome;
}

static void run_all(bool full)
{
	uint32_t sent = 0, rcvd = 0;
	struct vb_qp *dct[2], *dci;
	struct vb_wc wc;

	setup();
	dct[0] = target(KEY);
	dct[1] = target(KEY + 1);
	dci = initiator((struct vb_dc_init){.full_handshake = full});
	for (uint32_t i = 0; i < 6; i++)
		post_srq(100 + i, 1024);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(post(dci, i, i % 2 ? VB_WR_SEND : VB_WR_SEND_IMM, 100 * i,
				      vb_qp_number(dct[i / 2 % 2]), KEY + i / 2 % 2, 0),
				 0);
	env_loop(&env);
	while (vb_cq_poll(env.cq, &wc, 1) == 1) {
		assert_int_equal(wc.status, VB_WC_SUCCESS);
		if (wc.wr_id < 100) {
			assert_int_equal(wc.wr_id, sent++);
			continue;
		}
		assert_int_equal(wc.wr_id, 100 + rcvd);
		assert_int_equal(wc.qpn, vb_qp_number(dct[rcvd / 2 % 2]));
		assert_int_equal(wc.src_qpn, vb_qp_number(dci));
		assert_int_equal(wc.byte_len, 100 * rcvd);
		assert_int_equal(wc.flags, rcvd % 2 ? 0 : VB_WC_WITH_IMM);
		rcvd++;
	}
	assert_int_equal(sent + rcvd, 12);
	env.mem[ENV_MEM / 2 / 8] = 39;
	assert_int_equal(post(dci, 1, VB_WR_FETCH_ADD, 8, vb_qp_number(dct[0]), KEY, 0), 0);
	assert_int_equal(post(dci, 2, VB_WR_RDMA_READ, 8, vb_qp_number(dct[1]), KEY + 1, 0), 0);
	env_loop(&env);
	(void)env_wc(&env, 1, VB_WC_SUCCESS);
	(void)env_wc(&env, 2, VB_WC_SUCCESS);
	assert_int_equal(env.mem[0], 42);

	struct vb_gid to = env_gid(1);
	struct vb_qp_view view;

	/* Its view names the target that it talked to last. */
	assert_true(vb_hca_view(env.hca, vb_qp_number(dci), env.now, &view));
	assert_int_equal(view.attr.dest_qpn, vb_qp_number(dct[1]));
	assert_true(vb_gid_eq(&view.attr.path.dgid, &to));
	env_close(&env);
}

static void dc__one_initiator_two_targets_half(void **state)
{
	(void)state;
	run_all(false);
}

static void dc__one_initiator_two_targets_full(void **state)
{
	(void)state;
	run_all(true);
}

static struct vb_denial denied;

static void note_event(void *ctx, const struct vb_trace_event *ev)
{
	(void)ctx;
	denied = vb_denial_read(ev);
}

/* An initiator that was refused the connection fails; one with streams only in the stream. The
 * target says why. */
static void dci__wrong_key(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct vb_dc_init dc = {.full_handshake = i & 1};
		struct vb_qp *dct, *dci;

		if (i & 2)
			dc.log_streams = dc.log_errored = 2;
		setup();
		env.hca->cfg.trace =
		    (struct vb_trace){.mask = UINT64_C(1) << VB_TRACE_REFUSED, .emit = note_event};
		denied = (struct vb_denial){.check = VB_DENIAL_NONE};
		dct = target(KEY);
		dci = initiator(dc);
		post_srq(9, 64);
		assert_int_equal(post(dci, 1, VB_WR_SEND, 8, vb_qp_number(dct), KEY ^ 1, 1), 0);
		assert_int_equal(post(dci, 2, VB_WR_SEND, 8, vb_qp_number(dct), KEY, 2), 0);
		env_loop(&env);
		/* The other stream does not wait for the answer to the first. */
		if (i == 2)
			(void)env_wc(&env, 9, VB_WC_SUCCESS);
		(void)env_wc(&env, 1, VB_WC_REM_ACCESS_ERR);
		assert_int_equal(denied.check, VB_DENIAL_DC_KEY);
		assert_int_equal(denied.opcode, VB_OPCODE_DC_CONNECT);
		assert_true(denied.is_fatal);
		if (i == 3)
			(void)env_wc(&env, 9, VB_WC_SUCCESS);
		(void)env_wc(&env, 2, i & 2 ? VB_WC_SUCCESS : VB_WC_WR_FLUSH_ERR);
		env_no_wc(&env);
		assert_int_equal(vb_qp_get_state(dci), i & 2 ? VB_QPS_RTS : VB_QPS_ERR);
		assert_int_equal(vb_qp_get_state(dct), VB_QPS_RTR);
		env_close(&env);
	}
}

/* Connections are numbered anew by every initiator, also by one that has another's QPN. */
static void dci__connections_differ(void **state)
{
	uint32_t seen[8];

	(void)state;
	setup();
	for (int i = 0; i < 8; i++) {
		struct vb_qp *dci = initiator((struct vb_dc_init){0});

		assert_int_equal(post(dci, 1, VB_WR_SEND, 8, 0x77, KEY, 0), 0);
		assert_int_equal(env_tx(&env, &b), 2);
		seen[i] = env_hdr(&b.pkt[0]).dc.connection;
		assert_int_equal(env_hdr(&b.pkt[1]).dc.connection, seen[i]);
		for (int k = 0; k < i; k++)
			assert_int_not_equal(seen[k] >> 16, seen[i] >> 16);
		assert_int_equal(vb_qp_destroy(dci), 0);
	}
	env_close(&env);
}

/* Posts a WRITE to @dct that leaves from @host's address. */
static void post_from(struct vb_qp *dci, uint8_t host, const struct vb_qp *dct)
{
	struct vb_ah ah = {.pd = env.pd, .path = env_path(1)};
	struct vb_sge sge = env_sge(&env, 0, 8);
	struct vb_send_wr wr = {.wr_id = host,
				.sge = &sge,
				.sge_cnt = 1,
				.opcode = VB_WR_RDMA_WRITE,
				.flags = VB_SEND_SIGNALED,
				.remote_addr = ENV_IOVA + ENV_MEM / 2,
				.rkey = vb_mr_rkey(env.mr),
				.ah = &ah,
				.dqpn = vb_qp_number(dct),
				.dc_key = KEY};

	ah.path.sgid = env_gid(host);
	assert_int_equal(vb_qp_post_send(dci, &wr, env.now), 0);
}

/* Work for the same target from another of our addresses is another connection, from there. */
static void dci__connects_anew_from_another_address(void **state)
{
	const struct vb_gid other = env_gid(5);
	struct vb_qp *dct, *dci;
	uint32_t connection, n;

	(void)state;
	setup();
	dct = target(KEY);
	dci = initiator((struct vb_dc_init){0});
	post_from(dci, 1, dct);
	env_loop(&env);
	(void)env_wc(&env, 1, VB_WC_SUCCESS);
	connection = dci->dc_connection;
	post_from(dci, 5, dct);
	n = env_tx(&env, &b);
	assert_true(n > 0);
	assert_true(vb_gid_eq(&b.pkt[n - 1].path->sgid, &other));
	assert_int_not_equal(env_hdr(&b.pkt[n - 1]).dc.connection, connection);
	env_close(&env);
}

/*
 * A target that serves as many as it can asks others to wait. It does not grow, whoever asks and
 * however often, and takes somebody else's place for nobody.
 */
static void dct__is_full(void **state)
{
	uint32_t rkey, blocks;
	struct vb_qp *dct;

	(void)state;
	setup();
	dct = target(KEY);
	rkey = vb_mr_rkey(env.mr);
	blocks = env.blocks;
	for (uint32_t i = 0; i < VB_DCT_CONTEXTS; i++)
		assert_int_equal(connect(dct, 2, i, CONN, KEY), VB_VERDICT_OK);
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(connect(dct, 3, i, CONN, KEY), VB_VERDICT_RESOURCE);
		assert_int_equal(answer(3, i), VB_SYNDROME_RNR | 1);
		assert_int_equal(connect(dct, 4, i, CONN, 0), VB_VERDICT_ACCESS);
		assert_int_equal(answer(4, i), VB_NAK_REMOTE_ACCESS);
		assert_int_equal(write8(dct, 3, i, 0, rkey), VB_VERDICT_SOURCE);
	}
	assert_int_equal(env.blocks, blocks);
	for (uint32_t i = 0; i < VB_DCT_CONTEXTS; i++) {
		assert_int_equal(write8(dct, 2, i, 0, rkey), VB_VERDICT_OK);
		assert_int_equal(answer(2, i), VB_SYNDROME_ACK | VB_CREDIT_UNLIMITED);
	}
	/* A place becomes free by a disconnect. */
	assert_int_equal(disconnect(dct, 2, 17, CONN), VB_VERDICT_OK);
	assert_int_equal(connect(dct, 3, 5, CONN, KEY), VB_VERDICT_OK);
	assert_int_equal(connect(dct, 3, 6, CONN, KEY), VB_VERDICT_RESOURCE);
	assert_int_equal(answer(3, 6), VB_SYNDROME_RNR | 1);
	env_close(&env);
}

/* Answers that were not sent yet when others are refused: only the newest goes. */
static void dct__refusals_at_once(void **state)
{
	struct vb_qp *dct;

	(void)state;
	setup();
	dct = target(KEY);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(connect(dct, 3, i, CONN, 0), VB_VERDICT_ACCESS);
	assert_int_equal(answer(3, 99), VB_NAK_REMOTE_ACCESS);
	assert_int_equal(env_tx(&env, &b), 0);
	/* Destroyed with one to say. */
	assert_int_equal(connect(dct, 3, 1, CONN, 0), VB_VERDICT_ACCESS);
	assert_int_equal(vb_qp_destroy(dct), 0);
	assert_int_equal(env_tx(&env, &b), 0);
	env_close(&env);
}

/* Initiators that are silent for long, or failed and silent, make place; the longest first. */
static void dct__silent_initiators_go(void **state)
{
	uint32_t rkey;
	struct vb_qp *dct;

	(void)state;
	setup();
	dct = target(KEY);
	rkey = vb_mr_rkey(env.mr);
	for (uint32_t i = 0; i < VB_DCT_CONTEXTS; i++) {
		env.now = i;
		assert_int_equal(connect(dct, 2, i, CONN, KEY), VB_VERDICT_OK);
	}
	assert_int_equal(write8(dct, 2, 7, 0, rkey + 1), VB_VERDICT_ACCESS);
	assert_int_equal(answer(2, 7), VB_NAK_REMOTE_ACCESS);
	env.now += VB_DCT_FAILED_IDLE - 1;
	assert_int_equal(connect(dct, 3, 1, CONN, KEY), VB_VERDICT_RESOURCE);
	(void)answer(3, 1);
	env.now += 1;
	assert_int_equal(connect(dct, 3, 1, CONN, KEY), VB_VERDICT_OK);
	assert_int_equal(write8(dct, 2, 7, 0, rkey), VB_VERDICT_SOURCE);
	/* Number 0 says something, so number 1 is the first to go. */
	assert_int_equal(write8(dct, 2, 0, 0, rkey), VB_VERDICT_OK);
	(void)answer(2, 0);
	env.now = VB_DCT_IDLE;
	assert_int_equal(connect(dct, 3, 2, CONN, KEY), VB_VERDICT_RESOURCE);
	(void)answer(3, 2);
	env.now = VB_DCT_IDLE + 1;
	assert_int_equal(connect(dct, 3, 2, CONN, KEY), VB_VERDICT_OK);
	assert_int_equal(write8(dct, 2, 1, 0, rkey), VB_VERDICT_SOURCE);
	assert_int_equal(connect(dct, 3, 3, CONN, KEY), VB_VERDICT_RESOURCE);
	env_close(&env);
}

/* An initiator that asks again has said something, too. */
static void dct__connect_again_is_a_sign_of_life(void **state)
{
	struct vb_qp *dct;

	(void)state;
	setup();
	dct = target(KEY);
	for (uint32_t i = 0; i < VB_DCT_CONTEXTS; i++)
		assert_int_equal(connect(dct, 2, i, CONN, KEY), VB_VERDICT_OK);
	env.now = VB_DCT_IDLE;
	assert_int_equal(connect(dct, 2, 0, CONN, KEY), VB_VERDICT_DUPLICATE);
	env.now = VB_DCT_IDLE + 1;
	assert_int_equal(connect(dct, 3, 1, CONN, KEY), VB_VERDICT_OK);
	assert_int_equal(write8(dct, 2, 0, 0, vb_mr_rkey(env.mr)), VB_VERDICT_OK);
	env_close(&env);
}

/* Where several have been silent for long, it is the longest that goes. */
static void dct__longest_silent_goes(void **state)
{
	struct vb_qp *dct;

	(void)state;
	setup();
	dct = target(KEY);
	for (uint32_t i = 0; i < VB_DCT_CONTEXTS; i++) {
		env.now = i == 5 ? 0 : i + 1;
		assert_int_equal(connect(dct, 2, i, CONN, KEY), VB_VERDICT_OK);
	}
	env.now = VB_DCT_IDLE + VB_DCT_CONTEXTS + 1;
	assert_int_equal(connect(dct, 3, 1, CONN, KEY), VB_VERDICT_OK);
	for (uint32_t i = 0; i < VB_DCT_CONTEXTS; i++)
		assert_int_equal(write8(dct, 2, i, 0, vb_mr_rkey(env.mr)),
				 i == 5 ? VB_VERDICT_SOURCE : VB_VERDICT_OK);
	env_close(&env);
}

/* A CQ that is full ends a target with all its connections, in the middle of whatever it does. */
static void dct__cq_overrun(void **state)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_DC | VB_OP_SEND_FIRST,
			   .dc = {.sqpn = 1, .connection = CONN}};
	struct vb_qp *dct;

	(void)state;
	for (int how = 0; how < 2; how++) {
		env_config(&env);
		env_open(&env, 1);
		assert_int_equal(vb_srq_create(env.pd, 256, 4, 0, NULL, &srq), 0);
		dct = target(KEY);
		h.dqpn = vb_qp_number(dct);
		for (uint32_t i = 1; i <= 3; i++) {
			post_srq(i, 2048);
			h.dc.sqpn = i;
			assert_int_equal(connect(dct, 2, i, CONN, KEY), VB_VERDICT_OK);
			assert_int_equal(env_rx(&env, 2, &h, 1024), VB_VERDICT_OK);
		}
		/* The first flush fills the CQ, the second overruns it. */
		assert_int_equal(disconnect(dct, 2, 1, CONN), VB_VERDICT_OK);
		assert_int_equal(how ? connect(dct, 2, 2, CONN + 1, KEY)
				     : disconnect(dct, 2, 2, CONN),
				 how ? VB_VERDICT_QP_STATE : VB_VERDICT_OK);
		assert_int_equal(vb_qp_get_state(dct), VB_QPS_ERR);
		assert_int_equal(env_tx(&env, &b), 0);
		env_close(&env);
	}
}

/* A target that was reset knows nobody; initiators that it knew connect anew. */
static void dct__reset_forgets(void **state)
{
	struct vb_qp *dct, *dci;
	struct vb_qp_attr a = env_attr(1, 0);

	(void)state;
	setup();
	dct = target(KEY);
	dci = initiator((struct vb_dc_init){0});
	assert_int_equal(post(dci, 1, VB_WR_RDMA_WRITE, 8, vb_qp_number(dct), KEY, 0), 0);
	env_loop(&env);
	(void)env_wc(&env, 1, VB_WC_SUCCESS);
	assert_int_equal(env_modify(&env, dct, &a, VB_QPS_RESET), 0);
	env_up(&env, dct, &a, VB_QPS_RTR);
	assert_int_equal(post(dci, 2, VB_WR_RDMA_WRITE, 8, vb_qp_number(dct), KEY, 0), 0);
	env_loop(&env);
	env_no_wc(&env);
	env.now = vb_hca_poll_timeout(env.hca);
	vb_hca_handle_timeout(env.hca, env.now);
	env.now = vb_hca_poll_timeout(env.hca);
	vb_hca_handle_timeout(env.hca, env.now);
	env_loop(&env);
	(void)env_wc(&env, 2, VB_WC_SUCCESS);
	env_close(&env);
}

/* The first of the packets that leave now arrives, the others are lost. */
static void first_packet_arrives(void)
{
	uint8_t pkt[VB_HDR_MAX + 4096 + 3];
	struct vb_rx rx = {.pkt = pkt};

	assert_true(env_tx(&env, &b) > 1);
	rx.path = b.pkt[0].path;
	memcpy(pkt, b.pkt[0].hdr, b.pkt[0].hdr_len);
	rx.len = b.pkt[0].hdr_len;
	for (uint32_t k = 0; k < b.pkt[0].seg_cnt; k++) {
		memcpy(pkt + rx.len, b.pkt[0].seg[k].p, b.pkt[0].seg[k].len);
		rx.len += b.pkt[0].seg[k].len;
	}
	rx.avail = rx.len;
	assert_int_equal(vb_hca_handle_packet(env.hca, &rx, env.now), VB_VERDICT_OK);
}

/* Nor does the receive of a message that arrived in part complete: a reset forgets it. IBA 10.3.1
 */
static void dct__reset_in_a_message(void **state)
{
	for (int reset = 0; reset < 2; reset++) {
		struct vb_qp_attr a = env_attr(1, 0);
		struct vb_qp *dct, *dci;

		(void)state;
		setup();
		dct = target(KEY);
		dci = initiator((struct vb_dc_init){0});
		assert_int_equal(post(dci, 1, VB_WR_RDMA_WRITE, 8, vb_qp_number(dct), KEY, 0), 0);
		env_loop(&env);
		(void)env_wc(&env, 1, VB_WC_SUCCESS);
		post_srq(7, 2048);
		assert_int_equal(post(dci, 2, VB_WR_SEND, 2048, vb_qp_number(dct), KEY, 0), 0);
		first_packet_arrives();
		vb_cq_arm(env.cq, false);
		assert_int_equal(env_modify(&env, dct, &a, reset ? VB_QPS_RESET : VB_QPS_ERR), 0);
		/* Nobody is woken for nothing. */
		assert_int_equal(env.cq->armed != 0, reset);
		if (!reset)
			(void)env_wc(&env, 7, VB_WC_WR_FLUSH_ERR);
		env_no_wc(&env);
		env_close(&env);
	}
}

/* An address handle of another PD is found out whatever the request is. IBA 10.2.2.2 */
static void dci__address_handle_of_another_pd(void **state)
{
	static const enum vb_wr_opcode op[] = {VB_WR_SEND, VB_WR_RDMA_READ, VB_WR_COMPARE_SWAP,
					       VB_WR_FETCH_ADD, VB_WR_ATOMIC_WRITE};
	struct vb_pd *other;
	struct vb_qp *dct;

	(void)state;
	setup();
	dct = target(KEY);
	assert_int_equal(vb_pd_create(env.hca, &other), 0);
	for (size_t i = 0; i < sizeof op / sizeof op[0]; i++) {
		struct vb_qp *dci = initiator((struct vb_dc_init){0});
		struct vb_sge sge = env_sge(&env, 0, 8);
		struct vb_ah ah = {.pd = other, .path = env_path(1)};
		struct vb_send_wr wr = {.wr_id = i,
					.sge = &sge,
					.sge_cnt = 1,
					.opcode = op[i],
					.remote_addr = ENV_IOVA + ENV_MEM / 2,
					.rkey = vb_mr_rkey(env.mr),
					.ah = &ah,
					.dqpn = vb_qp_number(dct),
					.dc_key = KEY};

		assert_int_equal(vb_qp_post_send(dci, &wr, env.now), 0);
		env_loop(&env);
		(void)env_wc(&env, i, VB_WC_LOC_QP_OP_ERR);
		assert_int_equal(vb_qp_get_state(dci), VB_QPS_ERR);
	}
	env_close(&env);
}

/* Congestion: a target tells the initiator of marks, and that, with whom it is connected, counts.
 */
static void dc__marks_and_cnps(void **state)
{
	struct vb_hdr h = {.opcode = VB_OPCODE_CNP, .becn = true};
	struct vb_qp *dct, *dci;
	struct vb_path path;
	uint8_t pkt[VB_HDR_MAX + 8] = {0};
	struct vb_rx rx = {.pkt = pkt, .path = &path};

	(void)state;
	env_config(&env);
	vb_cc_settings_paper(&env.cfg.cc, UINT64_C(40000000000));
	env_open(&env, 64);
	assert_int_equal(vb_srq_create(env.pd, 256, 4, 0, NULL, &srq), 0);
	dct = target(KEY);
	assert_int_equal(connect(dct, 2, 0x21, CONN, KEY), VB_VERDICT_OK);
	h = (struct vb_hdr){.opcode = VB_TRANSPORT_DC | VB_OP_WRITE_ONLY,
			    .pkey = VB_PKEY_DEFAULT,
			    .dqpn = vb_qp_number(dct),
			    .reth = {.va = ENV_IOVA, .rkey = vb_mr_rkey(env.mr), .len = 8},
			    .dc = {.sqpn = 0x21, .connection = CONN}};
	rx.len = rx.avail = (uint32_t)vb_hdr_emit(&h, pkt) + 8;
	path = env_path(1);
	path.sgid = env_gid(2);
	path.traffic_class = VB_ECN_CE;
	assert_int_equal(vb_hca_handle_packet(env.hca, &rx, 0), VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 1);
	h = env_hdr(&b.pkt[0]);
	assert_int_equal(h.opcode, VB_OPCODE_CNP);
	assert_int_equal(h.dqpn, 0x21);
	assert_true(vb_gid_eq(&b.pkt[0].path->dgid, &path.sgid));

	/* An initiator of this adapter, to host 1 alone. */
	dci = initiator((struct vb_dc_init){0});
	h = (struct vb_hdr){.opcode = VB_OPCODE_CNP, .becn = true, .dqpn = vb_qp_number(dci)};
	assert_int_equal(env_rx(&env, 1, &h, 0), VB_VERDICT_SOURCE);
	assert_int_equal(post(dci, 1, VB_WR_RDMA_WRITE, 8, vb_qp_number(dct), KEY, 0), 0);
	assert_int_equal(env_tx(&env, &b), 1);
	/* The connect has its share of the rate. */
	env.now = vb_hca_poll_timeout(env.hca);
	vb_hca_handle_timeout(env.hca, env.now);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(b.pkt[0].path->traffic_class & VB_ECN_MASK, VB_ECN_ECT0);
	assert_int_equal(env_rx(&env, 2, &h, 0), VB_VERDICT_SOURCE);
	assert_int_equal(env.counters.v[VB_COUNTER_rp_cnp_handled], 0);
	assert_int_equal(env_rx(&env, 1, &h, 0), VB_VERDICT_OK);
	assert_int_equal(env.counters.v[VB_COUNTER_rp_cnp_handled], 1);
	env_close(&env);
}

/* An initiator has no receive queue, as a target has none that is its own. */
static void post_recv__of_dc(void **state)
{
	const struct vb_recv_wr wr = {.wr_id = 1};
	struct vb_qp *qp[2];

	(void)state;
	setup();
	qp[0] = initiator((struct vb_dc_init){0});
	qp[1] = target(KEY);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(vb_qp_post_recv(qp[i], &wr, env.now), -EINVAL);
		assert_int_equal(vb_hca_take_refusal(env.hca).rule, VB_REFUSAL_RECV_QP);
	}
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(dc__one_initiator_two_targets_half),
	    cmocka_unit_test(dc__one_initiator_two_targets_full),
	    cmocka_unit_test(dci__wrong_key),
	    cmocka_unit_test(dci__connections_differ),
	    cmocka_unit_test(dci__connects_anew_from_another_address),
	    cmocka_unit_test(post_recv__of_dc),
	    cmocka_unit_test(dct__is_full),
	    cmocka_unit_test(dct__refusals_at_once),
	    cmocka_unit_test(dct__silent_initiators_go),
	    cmocka_unit_test(dct__connect_again_is_a_sign_of_life),
	    cmocka_unit_test(dct__longest_silent_goes),
	    cmocka_unit_test(dct__cq_overrun),
	    cmocka_unit_test(dct__reset_forgets),
	    cmocka_unit_test(dct__reset_in_a_message),
	    cmocka_unit_test(dci__address_handle_of_another_pd),
	    cmocka_unit_test(dc__marks_and_cnps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
