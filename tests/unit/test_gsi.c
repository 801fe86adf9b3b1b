/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QP1, the QP for management of each port: its number, its Q_Key, and the P_Keys that it takes.
 * IBA 3.5.7, 10.2.4.1, 10.9.8; IBT-19, IBT-99, FAB-37
 */
#include "core_env.h"

#define MAD_BYTES 256u

static struct env env;

static void setup(void)
{
	env_config(&env);
	env.cfg.port_cnt = 2;
	env.cfg.port[1].pkey[2] = 0x0007;
	env.cfg.port[2] = env.cfg.port[1];
	env_open(&env, 64);
}

static int gsi_create(uint8_t port, struct vb_qp **out)
{
	struct vb_qp_init init = {
	    .type = VB_QPT_GSI,
	    .send_cq = env.cq,
	    .recv_cq = env.cq,
	    .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_inline_data = MAD_BYTES},
	    .port = port};

	return vb_qp_create(env.pd, &init, out);
}

static int gsi_modify(struct vb_qp *qp, enum vb_qp_state to, uint32_t qkey, uint32_t mask)
{
	struct vb_qp_attr a = {.qp_state = to, .qkey = qkey, .sq_psn = 5};

	return vb_qp_modify(qp, &a, VB_QP_STATE | mask, env.now);
}

static struct vb_qp *gsi_rts(uint8_t port)
{
	struct vb_qp *qp;

	assert_int_equal(gsi_create(port, &qp), 0);
	assert_int_equal(gsi_modify(qp, VB_QPS_INIT, VB_QKEY_GSI, VB_QP_PKEY_INDEX | VB_QP_QKEY),
			 0);
	assert_int_equal(gsi_modify(qp, VB_QPS_RTR, 0, 0), 0);
	assert_int_equal(gsi_modify(qp, VB_QPS_RTS, 0, VB_QP_SQ_PSN), 0);
	return qp;
}

/* A MAD from @host to QP @dqpn of port @port. */
static enum vb_verdict mad_comes(uint8_t port, uint32_t dqpn, uint16_t pkey, uint32_t qkey)
{
	uint8_t pkt[VB_HDR_MAX + MAD_BYTES];
	struct vb_hdr h = {.opcode = VB_TRANSPORT_UD | VB_OP_SEND_ONLY,
			   .pkey = pkey,
			   .dqpn = dqpn,
			   .deth = {.qkey = qkey, .sqpn = VB_QPN_GSI}};
	struct vb_path from = {
	    .sgid = env_gid(2), .dgid = env_gid(1), .port = port, .hop_limit = 64};
	uint32_t len = vb_hdr_emit(&h, pkt);
	struct vb_rx rx = {.pkt = pkt, .path = &from};

	memset(pkt + len, 0x5a, MAD_BYTES);
	rx.len = rx.avail = len + MAD_BYTES;
	return vb_hca_handle_packet(env.hca, &rx, env.now);
}

/* IBT-99: the number 1 is that of each port's QP1, and of no other QP. */
static void number__one_of_each_port(void **state)
{
	struct vb_qp *one, *two, *third;

	(void)state;
	setup();
	assert_int_equal(gsi_create(1, &one), 0);
	assert_int_equal(gsi_create(2, &two), 0);
	assert_int_equal(vb_qp_number(one), VB_QPN_GSI);
	assert_int_equal(vb_qp_number(two), VB_QPN_GSI);
	assert_int_equal(gsi_create(1, &third), -EBUSY);
	assert_int_equal(gsi_create(0, &third), -EINVAL);
	assert_int_equal(gsi_create(3, &third), -EINVAL);
	assert_null(vb_qp_find(env.hca, VB_QPN_GSI));
	assert_int_equal(vb_qp_destroy(one), 0);
	assert_int_equal(gsi_create(1, &third), 0);
	env_close(&env);
}

/* A packet for QP1 is for that of the port by which it came, also after a RESET. */
static void packet__goes_to_the_port(void **state)
{
	struct vb_qp *one, *two;
	struct vb_wc wc;

	(void)state;
	setup();
	one = gsi_rts(1);
	two = gsi_rts(2);
	assert_int_equal(env_recv(&env, one, 1, 40 + MAD_BYTES), 0);
	assert_int_equal(env_recv(&env, two, 2, 40 + MAD_BYTES), 0);
	assert_int_equal(mad_comes(2, VB_QPN_GSI, 0xffff, VB_QKEY_GSI), VB_VERDICT_OK);
	wc = env_wc(&env, 2, VB_WC_SUCCESS);
	assert_int_equal(wc.byte_len, 40 + MAD_BYTES);
	assert_int_equal(wc.src_qpn, VB_QPN_GSI);
	assert_int_equal(mad_comes(1, VB_QPN_GSI, 0xffff, VB_QKEY_GSI), VB_VERDICT_OK);
	(void)env_wc(&env, 1, VB_WC_SUCCESS);
	assert_int_equal(gsi_modify(two, VB_QPS_RESET, 0, 0), 0);
	assert_int_equal(gsi_modify(two, VB_QPS_INIT, VB_QKEY_GSI, VB_QP_PKEY_INDEX | VB_QP_QKEY),
			 0);
	assert_int_equal(gsi_modify(two, VB_QPS_RTR, 0, 0), 0);
	assert_int_equal(env_recv(&env, two, 3, 40 + MAD_BYTES), 0);
	assert_int_equal(mad_comes(2, VB_QPN_GSI, 0xffff, VB_QKEY_GSI), VB_VERDICT_OK);
	(void)env_wc(&env, 3, VB_WC_SUCCESS);
	env_close(&env);
}

/* IBT-19: the Q_Key of QP1 is 0x80010000 and cannot be another. */
static void qkey__is_well_known(void **state)
{
	struct vb_qp *qp;

	(void)state;
	setup();
	assert_int_equal(gsi_create(1, &qp), 0);
	assert_int_equal(gsi_modify(qp, VB_QPS_INIT, ENV_QKEY, VB_QP_PKEY_INDEX | VB_QP_QKEY),
			 -EINVAL);
	assert_int_equal(vb_qp_destroy(qp), 0);
	qp = gsi_rts(1);
	assert_int_equal(env_recv(&env, qp, 1, 40 + MAD_BYTES), 0);
	assert_int_equal(mad_comes(1, VB_QPN_GSI, 0xffff, ENV_QKEY), VB_VERDICT_QKEY);
	assert_int_equal(mad_comes(1, VB_QPN_GSI, 0xffff, VB_QKEY_GSI), VB_VERDICT_OK);
	(void)env_wc(&env, 1, VB_WC_SUCCESS);
	env_close(&env);
}

/* FAB-37: QP1 takes what any entry of the port's table takes, and says which one did. */
static void pkey__any_of_the_table(void **state)
{
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = gsi_rts(1);
	for (uint64_t i = 1; i <= 2; i++)
		assert_int_equal(env_recv(&env, qp, i, 40 + MAD_BYTES), 0);
	assert_int_equal(mad_comes(1, VB_QPN_GSI, 0x8007, VB_QKEY_GSI), VB_VERDICT_OK);
	assert_int_equal(env_wc(&env, 1, VB_WC_SUCCESS).pkey_index, 2);
	assert_int_equal(mad_comes(1, VB_QPN_GSI, 0x0007, VB_QKEY_GSI), VB_VERDICT_PKEY);
	assert_int_equal(mad_comes(1, VB_QPN_GSI, 0x8009, VB_QKEY_GSI), VB_VERDICT_PKEY);
	assert_int_equal(mad_comes(1, VB_QPN_GSI, 0x7fff, VB_QKEY_GSI), VB_VERDICT_OK);
	assert_int_equal(env_wc(&env, 2, VB_WC_SUCCESS).pkey_index, 0);
	env_close(&env);
}

/* CMP-01: a MAD leaves as UD SEND ONLY from QPN 1 with QP1's Q_Key and the PSN that is next. */
static void mad__as_it_leaves(void **state)
{
	static uint8_t mad[MAD_BYTES];
	static struct vb_tx_batch b;
	struct vb_ah ah = {.path = env_path(2)};
	struct vb_sge sge = {(uint64_t)(uintptr_t)mad, sizeof mad, 0};
	struct vb_send_wr wr = {.wr_id = 9,
				.sge = &sge,
				.sge_cnt = 1,
				.opcode = VB_WR_SEND,
				.flags = VB_SEND_SIGNALED | VB_SEND_INLINE,
				.ah = &ah,
				.dqpn = VB_QPN_GSI,
				.qkey = VB_QKEY_GSI};
	struct vb_qp *qp;
	struct vb_hdr h;

	(void)state;
	setup();
	qp = gsi_rts(1);
	ah.pd = env.pd;
	for (uint32_t k = 0; k < 2; k++) {
		assert_int_equal(vb_qp_post_send(qp, &wr, env.now), 0);
		b.cnt = b.seg_cnt = 0;
		assert_int_equal(vb_hca_poll_transmit(env.hca, &b, env.now), 1);
		assert_int_equal(
		    vb_hdr_parse(&h, b.pkt[0].hdr, b.pkt[0].hdr_len, b.pkt[0].hdr_len + MAD_BYTES),
		    VB_VERDICT_OK);
		assert_int_equal(h.opcode, VB_TRANSPORT_UD | VB_OP_SEND_ONLY);
		assert_int_equal(h.psn.v, 5 + k);
		assert_int_equal(h.pkey, 0xffff);
		assert_int_equal(h.dqpn, VB_QPN_GSI);
		assert_int_equal(h.deth.sqpn, VB_QPN_GSI);
		assert_int_equal(h.deth.qkey, VB_QKEY_GSI);
		assert_int_equal(b.pkt[0].payload_len, MAD_BYTES);
		(void)env_wc(&env, 9, VB_WC_SUCCESS);
	}
	wr.opcode = VB_WR_SEND_IMM;
	assert_int_equal(vb_qp_post_send(qp, &wr, env.now), -EINVAL);
	env_close(&env);
}

/* A completion names the entry of the table whose P_Key the packet had: QP1 has none of its own.
 * IBA 10.9.8 */
static void completion__names_the_pkey(void **state)
{
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = gsi_rts(1);
	for (uint64_t i = 0; i < 2; i++)
		assert_int_equal(env_recv(&env, qp, i, 40 + MAD_BYTES), 0);
	assert_int_equal(mad_comes(1, VB_QPN_GSI, 0x8007, VB_QKEY_GSI), VB_VERDICT_OK);
	assert_int_equal(env_wc(&env, 0, VB_WC_SUCCESS).pkey_index, 2);
	assert_int_equal(mad_comes(1, VB_QPN_GSI, 0xffff, VB_QKEY_GSI), VB_VERDICT_OK);
	assert_int_equal(env_wc(&env, 1, VB_WC_SUCCESS).pkey_index, 0);
	env_close(&env);
}

/* QP1 is in no table. The place that the queue of deadlines has for it comes back when it goes. */
static void destroy__gives_its_deadline_back(void **state)
{
	uint32_t room = 0;

	(void)state;
	setup();
	for (uint32_t i = 0; i < 100; i++) {
		assert_int_equal(vb_qp_destroy(gsi_rts(1)), 0);
		if (i)
			assert_int_equal(env.hca->heap_cap, room);
		room = env.hca->heap_cap;
	}
	env_close(&env);
}

/* A CQ that overruns ends all QPs on it, those of ports that have done nothing too. IBA 11.6.3.1 */
static void overrun__ends_each_port(void **state)
{
	struct vb_qp *one, *two, *idle;
	struct vb_wc wc[2];

	(void)state;
	setup();
	one = gsi_rts(1);
	two = gsi_rts(2);
	assert_int_equal(vb_cq_resize(env.cq, 1), 0);
	for (uint64_t i = 0; i < 2; i++) {
		assert_int_equal(env_recv(&env, two, i, VB_GRH_LEN + MAD_BYTES), 0);
		assert_int_equal(mad_comes(2, VB_QPN_GSI, 0xffff, VB_QKEY_GSI), VB_VERDICT_OK);
		assert_int_equal(vb_qp_get_state(one), i ? VB_QPS_ERR : VB_QPS_RTS);
	}
	assert_int_equal(vb_qp_get_state(two), VB_QPS_ERR);
	env_event(&env, VB_EVENT_ASYNC_CQ, VB_ASYNC_CQ_ERR);
	env_event(&env, VB_EVENT_ASYNC_QP, VB_ASYNC_QP_FATAL);
	env_event(&env, VB_EVENT_ASYNC_QP, VB_ASYNC_QP_FATAL);
	env_no_event(&env);
	assert_int_equal(vb_cq_poll(env.cq, wc, 2), 1);
	/* One with a CQ of its own goes on; that of the last port is looked at as well. */
	assert_int_equal(vb_qp_destroy(one), 0);
	assert_int_equal(vb_qp_destroy(two), 0);
	assert_int_equal(vb_hca_set_port(env.hca, VB_HCA_PORTS_MAX, &env.cfg.port[1]), 0);
	assert_int_equal(vb_cq_create(env.hca, 1, NULL, &env.cq), 0);
	one = gsi_rts(1);
	two = gsi_rts(VB_HCA_PORTS_MAX);
	assert_int_equal(vb_cq_create(env.hca, 1, NULL, &env.cq), 0);
	idle = gsi_rts(2);
	for (uint64_t i = 0; i < 2; i++) {
		assert_int_equal(env_recv(&env, one, i, VB_GRH_LEN + MAD_BYTES), 0);
		assert_int_equal(mad_comes(1, VB_QPN_GSI, 0xffff, VB_QKEY_GSI), VB_VERDICT_OK);
	}
	assert_int_equal(vb_qp_get_state(one), VB_QPS_ERR);
	assert_int_equal(vb_qp_get_state(two), VB_QPS_ERR);
	assert_int_equal(vb_qp_get_state(idle), VB_QPS_RTS);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(number__one_of_each_port),
	    cmocka_unit_test(packet__goes_to_the_port),
	    cmocka_unit_test(qkey__is_well_known),
	    cmocka_unit_test(pkey__any_of_the_table),
	    cmocka_unit_test(mad__as_it_leaves),
	    cmocka_unit_test(completion__names_the_pkey),
	    cmocka_unit_test(destroy__gives_its_deadline_back),
	    cmocka_unit_test(overrun__ends_each_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
