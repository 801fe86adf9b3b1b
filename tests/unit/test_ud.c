/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UD and what guards every receive: all Q_Keys that are nearly right, all kinds of P_Key, and what
 * a completion tells of a datagram. IBA 9.8.3, 10.9.3, 11.4.2.1; IBT-16, IBT-17, IBT-21,
 * IBT-50...56, IBT-81
 */
#include "core_env.h"

static struct env env;
static struct vb_qp *qp;

static void setup(uint16_t pkey)
{
	struct vb_qp_attr a = env_attr(2, 0x21);

	env_config(&env);
	env.cfg.port[1].pkey[3] = pkey;
	env_open(&env, 64);
	a.pkey_index = 3;
	qp = env_qp(&env, VB_QPT_UD, NULL);
	env_up(&env, qp, &a, VB_QPS_RTS);
}

static enum vb_verdict datagram(struct vb_hdr h, uint32_t len)
{
	h.opcode |= VB_TRANSPORT_UD;
	h.dqpn = vb_qp_number(qp);
	return env_rx(&env, 2, &h, len);
}

static void qkey__every_bit_counts(void **state)
{
	(void)state;
	setup(VB_PKEY_DEFAULT);
	assert_int_equal(env_recv(&env, qp, 1, 100), 0);
	for (uint32_t bit = 0; bit < 32; bit++)
		assert_int_equal(datagram((struct vb_hdr){.opcode = VB_OP_SEND_ONLY,
							  .deth.qkey = ENV_QKEY ^ 1u << bit},
					  8),
				 VB_VERDICT_QKEY);
	env_no_wc(&env);
	assert_int_equal(
	    datagram((struct vb_hdr){.opcode = VB_OP_SEND_ONLY, .deth.qkey = ENV_QKEY}, 8),
	    VB_VERDICT_OK);
	(void)env_wc(&env, 1, VB_WC_SUCCESS);
	env_close(&env);
}

/* Low 15 bits alike and not 0, one side at least a full member. */
static void pkey__every_pair(void **state)
{
	static const uint16_t keys[] = {0x0001, 0x8001, 0x0002, 0x8002, 0x7fff, 0xffff, 0x8000};
	uint64_t drops = 0;

	(void)state;
	for (size_t own = 0; own < 6; own++) { /* 0x8000 is none that a QP can have */
		setup(keys[own]);
		for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
			bool ok = (keys[i] & 0x7fff) == (keys[own] & 0x7fff) &&
				  ((keys[i] | keys[own]) & 0x8000);

			if (ok)
				assert_int_equal(env_recv(&env, qp, i, 100), 0);
			assert_int_equal(datagram((struct vb_hdr){.opcode = VB_OP_SEND_ONLY,
								  .pkey = keys[i],
								  .deth.qkey = ENV_QKEY},
						  8),
					 ok ? VB_VERDICT_OK : VB_VERDICT_PKEY);
			drops = env.counters.v[VB_COUNTER_port_rcv_constraint_errors];
			if (ok)
				(void)env_wc(&env, i, VB_WC_SUCCESS);
			env_no_wc(&env);
		}
		assert_true(drops == (keys[own] & 0x8000 ? 5 : 6));
		env_close(&env);
	}
}

/* IBT-50...56: what of a completion has a meaning on RoCE is told, and the rest is 0. */
static void completion__tells_of_the_datagram(void **state)
{
	struct vb_wc wc;

	(void)state;
	setup(0x8001);
	assert_int_equal(env_recv(&env, qp, 1, 1000), 0);

	struct vb_hdr h = {.opcode = VB_TRANSPORT_UD | VB_OP_SEND_ONLY_IMM,
			   .dqpn = vb_qp_number(qp),
			   .pkey = 0x8001,
			   .imm = 0x01020304,
			   .deth = {ENV_QKEY, 0xabcdef}};
	struct vb_path path = env_path(1);
	uint8_t pkt[VB_HDR_MAX + 100] = {0};
	uint32_t len = (uint32_t)vb_hdr_emit(&h, pkt) + 100;
	struct vb_rx rx = {.pkt = pkt, .len = len, .avail = len, .path = &path};

	path.sgid = env_gid(7);
	path.sl = 5;
	assert_int_equal(vb_hca_handle_packet(env.hca, &rx, 0), VB_VERDICT_OK);
	wc = env_wc(&env, 1, VB_WC_SUCCESS);
	assert_int_equal(wc.opcode, VB_WC_RECV);
	assert_int_equal(wc.byte_len, 140); /* with the GRH. IBT-21 */
	assert_int_equal(wc.qpn, vb_qp_number(qp));
	assert_int_equal(wc.src_qpn, 0xabcdef);
	assert_int_equal(wc.pkey_index, 3);
	assert_int_equal(wc.slid, 0);
	assert_int_equal(wc.sl, 5);
	assert_int_equal(wc.dlid_path_bits, 0);
	assert_int_equal(wc.flags, VB_WC_GRH | VB_WC_WITH_IMM);
	assert_int_equal(wc.imm, 0x01020304);
	env_close(&env);
}

/* InfiniBand: LIDs and what LMC leaves of them; a GRH, or 40 bytes that stay as they were. LNK-06
 */
static void completion__tells_of_lids(void **state)
{
	(void)state;
	for (int has_grh = 0; has_grh < 2; has_grh++) {
		struct vb_path path = {.port = 1, .slid = 0x105, .dlid = 0x22b, .sl = 3};
		struct vb_hdr h = {.opcode = VB_TRANSPORT_UD | VB_OP_SEND_ONLY,
				   .pkey = VB_PKEY_DEFAULT,
				   .deth = {ENV_QKEY, 0xabcdef}};
		uint8_t pkt[VB_HDR_MAX + 100] = {0};
		struct vb_rx rx = {.pkt = pkt, .path = &path};
		const uint8_t *at = (uint8_t *)env.mem + ENV_MEM / 2;
		struct vb_wc wc;

		setup(VB_PKEY_DEFAULT);
		env.hca->cfg.port[1].lmc = 2;
		if (has_grh) {
			path.sgid = env_gid(7);
			path.dgid = env_gid(1);
		}
		memset(env.mem, 0xa5, sizeof env.mem);
		assert_int_equal(env_recv(&env, qp, 1, 200), 0);
		h.dqpn = vb_qp_number(qp);
		rx.len = rx.avail = (uint32_t)vb_hdr_emit(&h, pkt) + 100;
		assert_int_equal(vb_hca_handle_packet(env.hca, &rx, 0), VB_VERDICT_OK);
		wc = env_wc(&env, 1, VB_WC_SUCCESS);
		assert_int_equal(wc.byte_len, 140);
		assert_int_equal(wc.slid, 0x105);
		assert_int_equal(wc.dlid_path_bits, 3);
		assert_int_equal(wc.sl, 3);
		assert_int_equal(wc.flags, has_grh ? VB_WC_GRH : 0);
		for (int i = 0; i < 40 && !has_grh; i++)
			assert_int_equal(at[i], 0xa5);
		/* Next header: BTH follows, without UDP. IBA 8.3 */
		if (has_grh) {
			assert_int_equal(at[6], 0x1b);
			assert_int_equal(at[5], rx.len + 4);
		}
		env_close(&env);
	}
}

/* Room for the message and its 40 bytes, to the byte. IBT-43 */
static void receive__fits_exactly(void **state)
{
	(void)state;
	for (uint32_t len = 0; len < 12; len++) {
		setup(VB_PKEY_DEFAULT);
		assert_int_equal(env_recv(&env, qp, 1, 40 + len), 0);
		assert_int_equal(
		    datagram((struct vb_hdr){.opcode = VB_OP_SEND_ONLY, .deth.qkey = ENV_QKEY},
			     len),
		    VB_VERDICT_OK);
		assert_int_equal(env_wc(&env, 1, VB_WC_SUCCESS).byte_len, 40 + len);
		assert_int_equal(env_recv(&env, qp, 2, 39 + len), 0);
		assert_int_equal(
		    datagram((struct vb_hdr){.opcode = VB_OP_SEND_ONLY, .deth.qkey = ENV_QKEY},
			     len),
		    VB_VERDICT_LENGTH);
		/* Dropped: the next message takes the receive. Class D, IBA 9.9.3.1 */
		assert_int_equal(vb_qp_get_state(qp), VB_QPS_RTS);
		if (len) {
			assert_int_equal(datagram((struct vb_hdr){.opcode = VB_OP_SEND_ONLY,
								  .deth.qkey = ENV_QKEY},
						  len - 1),
					 VB_VERDICT_OK);
			assert_int_equal(env_wc(&env, 2, VB_WC_SUCCESS).byte_len, 39 + len);
		}
		env_close(&env);
	}
}

/* The memory of the receive WQE is gone: a protection error, and the end of the QP. */
static void receive__into_memory_that_is_gone(void **state)
{
	(void)state;
	setup(VB_PKEY_DEFAULT);
	assert_int_equal(env_recv(&env, qp, 1, 100), 0);
	assert_int_equal(vb_mr_destroy(env.mr), 0);
	assert_int_equal(
	    datagram((struct vb_hdr){.opcode = VB_OP_SEND_ONLY, .deth.qkey = ENV_QKEY}, 8),
	    VB_VERDICT_OPERATION);
	(void)env_wc(&env, 1, VB_WC_LOC_PROT_ERR);
	assert_int_equal(vb_qp_get_state(qp), VB_QPS_ERR);
	env_close(&env);
}

/* The MTU of the port bounds a datagram in both directions. IBT-16 */
static void receive__longer_than_the_mtu(void **state)
{
	(void)state;
	setup(VB_PKEY_DEFAULT);
	assert_int_equal(env_recv(&env, qp, 1, ENV_MEM / 2), 0);
	qp->mtu = 1024;
	assert_int_equal(
	    datagram((struct vb_hdr){.opcode = VB_OP_SEND_ONLY, .deth.qkey = ENV_QKEY}, 1025),
	    VB_VERDICT_OVERSIZED);
	env_no_wc(&env);
	assert_int_equal(
	    datagram((struct vb_hdr){.opcode = VB_OP_SEND_ONLY, .deth.qkey = ENV_QKEY}, 1024),
	    VB_VERDICT_OK);
	(void)env_wc(&env, 1, VB_WC_SUCCESS);
	env_close(&env);
}

/* A QP receives from RTR on, in SQD and SQE too, and not in ERR. IBT-30 */
static void receive__states(void **state)
{
	static const bool receives[VB_QPS_CNT] = {
	    [VB_QPS_RTR] = true, [VB_QPS_RTS] = true, [VB_QPS_SQD] = true, [VB_QPS_SQE] = true};

	(void)state;
	for (unsigned s = 0; s < VB_QPS_CNT; s++) {
		setup(VB_PKEY_DEFAULT);
		assert_int_equal(env_recv(&env, qp, 1, 100), 0);
		qp->state = (enum vb_qp_state)s;
		assert_int_equal(
		    datagram((struct vb_hdr){.opcode = VB_OP_SEND_ONLY, .deth.qkey = ENV_QKEY}, 8),
		    receives[s] ? VB_VERDICT_OK : VB_VERDICT_QP_STATE);
		assert_int_equal(vb_cq_is_empty(env.cq), !receives[s]);
		env_close(&env);
	}
}

/* A datagram that is too long for a receive of an SRQ ends that receive, not the QP, and is
 * counted. Class E, IBA 9.9.3.1 */
static void receive__too_short_of_an_srq(void **state)
{
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_srq *srq;
	struct vb_sge sge;

	(void)state;
	env_config(&env);
	env_open(&env, 64);
	assert_int_equal(vb_srq_create(env.pd, 4, 1, 0, NULL, &srq), 0);
	sge = env_sge(&env, 0, 47); /* 40 of them are the GRH's */
	assert_int_equal(vb_srq_post(srq, &(struct vb_recv_wr){1, &sge, 1}), 0);
	qp = env_qp(&env, VB_QPT_UD, srq);
	env_up(&env, qp, &a, VB_QPS_RTS);
	assert_int_equal(
	    datagram((struct vb_hdr){.opcode = VB_OP_SEND_ONLY, .deth.qkey = ENV_QKEY}, 8),
	    VB_VERDICT_LENGTH);
	assert_int_equal(env_wc(&env, 1, VB_WC_LOC_LEN_ERR).vendor_err, VB_VERDICT_LENGTH);
	assert_int_equal(vb_qp_get_state(qp), VB_QPS_RTS);
	assert_int_equal(env.counters.v[VB_COUNTER_resp_local_length_error], 1);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(qkey__every_bit_counts),
	    cmocka_unit_test(pkey__every_pair),
	    cmocka_unit_test(completion__tells_of_the_datagram),
	    cmocka_unit_test(completion__tells_of_lids),
	    cmocka_unit_test(receive__fits_exactly),
	    cmocka_unit_test(receive__into_memory_that_is_gone),
	    cmocka_unit_test(receive__longer_than_the_mtu),
	    cmocka_unit_test(receive__states),
	    cmocka_unit_test(receive__too_short_of_an_srq),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
