/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A port notes the last packet whose P_Key or Q_Key no QP took: that packet, whole, and nothing of
 * one before it. core/bad_key.h; traps 257 to 259, IBA 14.2.5.1
 */
#include "core/bad_key.h"
#include "core_env.h"

static struct env env;
static struct vb_bad_keys keys;

static void setup(void)
{
	env_config(&env);
	keys = (struct vb_bad_keys){0};
	env.cfg.port[1].bad_keys = &keys;
	env_open(&env, 16);
}

/* A packet of 8 bytes for @qp that comes by @path. */
static enum vb_verdict arrive(const struct vb_qp *qp, struct vb_hdr h, const struct vb_path *path)
{
	uint8_t pkt[VB_HDR_MAX + 8] = {0};
	struct vb_rx rx = {.pkt = pkt, .path = path};

	h.dqpn = vb_qp_number(qp);
	rx.len = rx.avail = (uint32_t)vb_hdr_emit(&h, pkt) + 8;
	return vb_hca_handle_packet(env.hca, &rx, env.now);
}

static struct vb_bad_key seen(const struct vb_bad_key *k)
{
	struct vb_bad_key to;

	assert_true(vb_bad_key_read(k, &to));
	return to;
}

static struct vb_hdr datagram(uint16_t pkey, uint32_t qkey)
{
	return (struct vb_hdr){.opcode = VB_TRANSPORT_UD | VB_OP_SEND_ONLY,
			       .pkey = pkey,
			       .deth = {.qkey = qkey, .sqpn = 0x55}};
}

/* Each kind of key has its place, with the wrong key. */
static void bad_key__each_kind(void **state)
{
	const struct vb_path path = {.port = 1, .slid = 7, .dlid = 9, .sl = 3};
	struct vb_bad_key k;
	struct vb_qp *ud;

	(void)state;
	setup();
	ud = env_rts(&env, VB_QPT_UD, 2, 0);
	assert_int_equal(arrive(ud, datagram(0x1234, ENV_QKEY), &path), VB_VERDICT_PKEY);
	k = seen(&keys.pkey);
	assert_int_equal(k.key, 0x1234);
	assert_int_equal(k.src_qp, 0x55);
	assert_int_equal(k.dst_qp, vb_qp_number(ud));
	assert_true(k.slid == 7 && k.dlid == 9 && k.sl == 3);
	assert_int_equal(keys.qkey.seq, 0);
	assert_int_equal(arrive(ud, datagram(VB_PKEY_DEFAULT, ENV_QKEY + 1), &path),
			 VB_VERDICT_QKEY);
	assert_int_equal(seen(&keys.qkey).key, ENV_QKEY + 1);
	assert_int_equal(seen(&keys.qkey).src_qp, 0x55);
	assert_int_equal(seen(&keys.pkey).key, 0x1234);
	/* Good packets are not noted. */
	assert_int_equal(env_recv(&env, ud, 1, 64), 0);
	assert_int_equal(arrive(ud, datagram(VB_PKEY_DEFAULT, ENV_QKEY), &path), VB_VERDICT_OK);
	assert_int_equal(keys.pkey.seq, 2);
	assert_int_equal(keys.qkey.seq, 2);
	assert_int_equal(env.counters.v[VB_COUNTER_port_rcv_constraint_errors], 1);
	assert_int_equal(env.counters.v[VB_COUNTER_qkey_viol_cntr], 1);
	env_close(&env);
}

/* A packet without a DETH does not say which QP sent it. */
static void bad_key__without_a_source_qp(void **state)
{
	struct vb_hdr h = datagram(0x1234, 0);
	struct vb_path path = env_path(1);
	struct vb_qp *ud, *rc;

	(void)state;
	setup();
	ud = env_rts(&env, VB_QPT_UD, 2, 0);
	rc = env_rts(&env, VB_QPT_RC, 2, 0x21);
	path.sgid = env_gid(2);
	assert_int_equal(arrive(ud, h, &path), VB_VERDICT_PKEY);
	assert_int_equal(seen(&keys.pkey).src_qp, 0x55);
	h.opcode = VB_TRANSPORT_RC | VB_OP_SEND_ONLY;
	assert_int_equal(arrive(rc, h, &path), VB_VERDICT_PKEY);
	assert_int_equal(seen(&keys.pkey).src_qp, 0);
	assert_int_equal(seen(&keys.pkey).dst_qp, vb_qp_number(rc));
	env_close(&env);
}

/* GIDs are those of a GRH on InfiniBand; without one they are zeros, whatever came before. */
static void bad_key__gids_of_a_grh(void **state)
{
	static const uint8_t none[16];
	struct vb_path path = env_path(1);
	struct vb_bad_key k;
	struct vb_qp *ud;

	(void)state;
	setup();
	ud = env_rts(&env, VB_QPT_UD, 2, 0);
	path.sgid = env_gid(2);
	path.slid = 7;
	path.dlid = 9;
	assert_int_equal(arrive(ud, datagram(0x1234, ENV_QKEY), &path), VB_VERDICT_PKEY);
	k = seen(&keys.pkey);
	assert_memory_equal(k.sgid, path.sgid.b, sizeof k.sgid);
	assert_memory_equal(k.dgid, path.dgid.b, sizeof k.dgid);
	path.sgid = path.dgid = (struct vb_gid){{0}};
	assert_int_equal(arrive(ud, datagram(0x1234, ENV_QKEY), &path), VB_VERDICT_PKEY);
	k = seen(&keys.pkey);
	assert_memory_equal(k.sgid, none, sizeof none);
	assert_memory_equal(k.dgid, none, sizeof none);
	/* RoCE has no GRH, though its packets have GIDs. */
	path = env_path(1);
	path.sgid = env_gid(2);
	assert_int_equal(arrive(ud, datagram(0x1234, ENV_QKEY), &path), VB_VERDICT_PKEY);
	k = seen(&keys.pkey);
	assert_memory_equal(k.sgid, none, sizeof none);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bad_key__each_kind),
	    cmocka_unit_test(bad_key__without_a_source_qp),
	    cmocka_unit_test(bad_key__gids_of_a_grh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
