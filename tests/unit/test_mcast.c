/* SPDX-License-Identifier: BSD-2-Clause */
/* Multicast groups of the adapter: who is in one gets each packet, and nobody else. IBT-19, IBT-20
 */
#include "core_env.h"

static struct env env;
static const struct vb_gid group = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3}};
static const struct vb_gid other = {{0xff, 0x0e, [15] = 1}};

static void setup(void)
{
	env_config(&env);
	env.cfg.limits.mcast_grp = 2;
	env.cfg.limits.mcast_qp = 3;
	env_open(&env, 64);
}

static enum vb_verdict datagram_to(uint32_t dqpn, const struct vb_gid *to, uint8_t opcode,
				   uint32_t qkey)
{
	struct vb_hdr h = {
	    .opcode = opcode, .dqpn = dqpn, .pkey = VB_PKEY_DEFAULT, .deth = {qkey, 0x77}};
	struct vb_path path = env_path(1);
	uint8_t pkt[VB_HDR_MAX + 8] = {0};
	uint32_t len = (uint32_t)vb_hdr_emit(&h, pkt) + 8;
	struct vb_rx rx = {.pkt = pkt, .len = len, .avail = len, .path = &path};

	path.sgid = env_gid(7);
	path.dgid = *to;
	return vb_hca_handle_packet(env.hca, &rx, 0);
}

static enum vb_verdict datagram(const struct vb_gid *to, uint8_t opcode, uint32_t qkey)
{
	return datagram_to(VB_QPN_MULTICAST, to, opcode, qkey);
}

static enum vb_verdict send_to(const struct vb_gid *to)
{
	return datagram(to, VB_TRANSPORT_UD | VB_OP_SEND_ONLY, ENV_QKEY);
}

static void deliver__to_each_member(void **state)
{
	struct vb_qp *a, *b, *c;

	(void)state;
	setup();
	a = env_rts(&env, VB_QPT_UD, 2, 0x21);
	b = env_rts(&env, VB_QPT_UD, 2, 0x21);
	c = env_rts(&env, VB_QPT_UD, 2, 0x21);
	assert_int_equal(send_to(&group), VB_VERDICT_QPN);
	assert_int_equal(vb_qp_attach_mcast(a, &group, 0), 0);
	assert_int_equal(vb_qp_attach_mcast(b, &group, 0), 0);
	assert_int_equal(vb_qp_attach_mcast(b, &other, 0), 0);
	assert_int_equal(vb_qp_attach_mcast(b, &group, 0), -EEXIST);
	assert_int_equal(env_recv(&env, a, 1, 100), 0);
	assert_int_equal(env_recv(&env, b, 2, 100), 0);
	assert_int_equal(env_recv(&env, c, 3, 100), 0);
	assert_int_equal(send_to(&group), VB_VERDICT_OK);
	assert_int_equal(env_wc(&env, 1, VB_WC_SUCCESS).src_qpn, 0x77);
	assert_int_equal(env_wc(&env, 2, VB_WC_SUCCESS).byte_len, 48);
	env_no_wc(&env);
	/* One has no receive: the other gets it all the same. */
	assert_int_equal(env_recv(&env, b, 4, 100), 0);
	assert_int_equal(send_to(&group), VB_VERDICT_OK);
	(void)env_wc(&env, 4, VB_WC_SUCCESS);
	env_no_wc(&env);
	/* So it is when the one without a receive joined last. */
	assert_int_equal(env_recv(&env, a, 6, 100), 0);
	assert_int_equal(send_to(&group), VB_VERDICT_OK);
	(void)env_wc(&env, 6, VB_WC_SUCCESS);
	env_no_wc(&env);
	assert_int_equal(send_to(&group), VB_VERDICT_NO_RECV_WQE);
	/* Each looks at the Q_Key; and only UD has groups. */
	assert_int_equal(env_recv(&env, a, 5, 100), 0);
	assert_int_equal(datagram(&group, VB_TRANSPORT_UD | VB_OP_SEND_ONLY, ENV_QKEY ^ 1),
			 VB_VERDICT_QKEY);
	assert_int_equal(datagram(&group, VB_TRANSPORT_RC | VB_OP_SEND_ONLY, ENV_QKEY),
			 VB_VERDICT_TRANSPORT);
	assert_int_equal(
	    datagram_to(vb_qp_number(a), &group, VB_TRANSPORT_UD | VB_OP_SEND_ONLY, ENV_QKEY),
	    VB_VERDICT_QPN);
	assert_int_equal(vb_qp_detach_mcast(a, &group, 0), 0);
	assert_int_equal(vb_qp_detach_mcast(a, &group, 0), -EINVAL);
	assert_int_equal(send_to(&group), VB_VERDICT_NO_RECV_WQE);
	env_no_wc(&env);
	env_close(&env); /* with members */
}

/* On InfiniBand a group has an MLID, too, and the QP that sends gets no copy of its own. FAB-57 */
static void deliver__by_mlid_to_all_but_the_sender(void **state)
{
	struct vb_qp *a, *b;
	struct vb_path path = env_path(1);
	uint8_t pkt[VB_HDR_MAX + 8] = {0};
	struct vb_rx rx = {.pkt = pkt, .path = &path};
	struct vb_hdr h = {.opcode = VB_TRANSPORT_UD | VB_OP_SEND_ONLY,
			   .dqpn = VB_QPN_MULTICAST,
			   .pkey = VB_PKEY_DEFAULT};

	(void)state;
	setup();
	a = env_rts(&env, VB_QPT_UD, 2, 0x21);
	b = env_rts(&env, VB_QPT_UD, 2, 0x21);
	h.deth.qkey = ENV_QKEY;
	h.deth.sqpn = vb_qp_number(a);
	path.dgid = group;
	path.slid = 7;
	path.dlid = 0xc001;
	rx.len = rx.avail = (uint32_t)vb_hdr_emit(&h, pkt) + 8;
	assert_int_equal(vb_qp_attach_mcast(a, &group, 0xc001), 0);
	assert_int_equal(env_recv(&env, a, 1, 100), 0);
	assert_int_equal(env_recv(&env, b, 2, 100), 0);
	assert_int_equal(vb_hca_handle_packet(env.hca, &rx, 0), VB_VERDICT_OK);
	env_no_wc(&env);
	assert_int_equal(vb_qp_attach_mcast(b, &group, 0xc002), 0);
	assert_int_equal(vb_hca_handle_packet(env.hca, &rx, 0), VB_VERDICT_OK);
	env_no_wc(&env);
	assert_int_equal(vb_qp_attach_mcast(b, &group, 0xc001), 0);
	assert_int_equal(vb_hca_handle_packet(env.hca, &rx, 0), VB_VERDICT_OK);
	(void)env_wc(&env, 2, VB_WC_SUCCESS);
	env_no_wc(&env);
	/* LNK-06: without a GRH nobody is meant, whatever the MLID. */
	path.dgid = (struct vb_gid){{0}};
	assert_int_equal(env_recv(&env, b, 3, 100), 0);
	assert_int_equal(vb_hca_handle_packet(env.hca, &rx, 0), VB_VERDICT_QPN);
	env_no_wc(&env);
	env_close(&env);
}

static void attach__limits_and_refusals(void **state)
{
	struct vb_gid third = other, found;
	uint16_t lid;
	struct vb_qp *qp[4];

	(void)state;
	setup();
	for (int i = 0; i < 4; i++)
		qp[i] = env_rts(&env, VB_QPT_UD, 2, 0x21);
	for (int i = 0; i < 3; i++)
		assert_int_equal(vb_qp_attach_mcast(qp[i], &group, 0), 0);
	assert_int_equal(vb_qp_attach_mcast(qp[3], &group, 0), -ENOMEM);
	assert_false(vb_qp_mcast_group(qp[3], &found, &lid));
	assert_int_equal(vb_qp_attach_mcast(qp[0], &other, 0), 0);
	third.b[15]++;
	assert_int_equal(vb_qp_attach_mcast(qp[0], &third, 0), -ENOMEM);
	assert_int_equal(vb_qp_detach_mcast(qp[0], &other, 0), 0);
	assert_int_equal(vb_qp_attach_mcast(qp[0], &third, 0), 0);
	assert_int_equal(vb_qp_destroy(qp[0]), -EBUSY);
	for (int i = 0; i < 2; i++) {
		assert_true(vb_qp_mcast_group(qp[0], &found, &lid));
		assert_int_equal(vb_qp_detach_mcast(qp[0], &found, 0), 0);
	}
	assert_int_equal(vb_qp_destroy(qp[0]), 0);

	struct vb_gid unicast = env_gid(7);

	assert_int_equal(vb_qp_attach_mcast(qp[1], &unicast, 0), -EINVAL);
	assert_int_equal(vb_qp_attach_mcast(env_rts(&env, VB_QPT_RC, 2, 0x21), &group, 0), -EINVAL);
	env_close(&env);
}

/* Members get a packet in the order in which they came, also when one of them has left. */
static void detach__keeps_the_order(void **state)
{
	struct vb_qp *qp[3];

	(void)state;
	setup();
	for (uint64_t i = 0; i < 3; i++) {
		qp[i] = env_rts(&env, VB_QPT_UD, 2, 0x21);
		assert_int_equal(vb_qp_attach_mcast(qp[i], &group, 0), 0);
		assert_int_equal(env_recv(&env, qp[i], i, 100), 0);
	}
	assert_int_equal(vb_qp_detach_mcast(qp[0], &group, 0), 0);
	assert_int_equal(send_to(&group), VB_VERDICT_OK);
	(void)env_wc(&env, 1, VB_WC_SUCCESS);
	(void)env_wc(&env, 2, VB_WC_SUCCESS);
	env_no_wc(&env);
	env_close(&env);
}

/* A packet to many that is no datagram is dropped as such, whether or not there is a group. */
static void deliver__no_other_transport(void **state)
{
	(void)state;
	setup();
	assert_int_equal(datagram(&group, VB_TRANSPORT_UC | VB_OP_SEND_ONLY, ENV_QKEY),
			 VB_VERDICT_TRANSPORT);
	assert_int_equal(env.counters.v[VB_COUNTER_rx_dropped], 1);
	assert_int_equal(env.counters.v[VB_COUNTER_rx_qpn_miss], 0);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(deliver__to_each_member),
	    cmocka_unit_test(deliver__by_mlid_to_all_but_the_sender),
	    cmocka_unit_test(attach__limits_and_refusals),
	    cmocka_unit_test(detach__keeps_the_order),
	    cmocka_unit_test(deliver__no_other_transport),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
