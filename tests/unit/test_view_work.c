/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The work requests of a QP, waiting and done, as `verbena explain --wqe` reads them from the
 * queues of the adapter itself. core/view.h
 */
#include "core/view.h"
#include "dc_env.h"

#define SLOTS 16u

static void open_env(void)
{
	env_config(&env);
	env_open(&env, 256);
}

static struct vb_work_span sends_of(const struct vb_qp *qp)
{
	struct vb_work_span s;

	assert_true(vb_hca_view_sends(env.hca, vb_qp_number(qp), &s));
	return s;
}

static struct vb_work_span receives_of(const struct vb_qp *qp)
{
	struct vb_work_span s;

	assert_true(vb_hca_view_receives(env.hca, vb_qp_number(qp), &s));
	return s;
}

static struct vb_send_view send_of(const struct vb_qp *qp, uint32_t i)
{
	struct vb_send_view v;

	vb_hca_view_send(env.hca, vb_qp_number(qp), i, &v);
	return v;
}

static void assert_span(struct vb_work_span s, uint32_t first, uint32_t done, uint32_t next,
			uint32_t end)
{
	assert_int_equal(s.first, first);
	assert_int_equal(s.done, done);
	assert_int_equal(s.next, next);
	assert_int_equal(s.end, end);
}

/* Sends are posted, then sent, then done; those that are done stay until their place is used again.
 */
static void sends__as_far_as_they_are(void **state)
{
	struct vb_qp *qp;
	uint32_t n;

	(void)state;
	open_env();
	qp = env_rts(&env, VB_QPT_RC, 2, 0x21);
	assert_int_equal(sends_of(qp).slots, SLOTS);
	assert_int_equal(sends_of(qp).sges, 4);
	assert_false(sends_of(qp).is_srq);
	assert_span(sends_of(qp), 0, 0, 0, 0);
	for (n = 0; n < 3; n++)
		assert_int_equal(env_send(&env, qp, n, VB_WR_RDMA_WRITE, 8), 0);
	assert_span(sends_of(qp), 0, 0, 0, 3);
	assert_int_equal(env_tx(&env, &b), 3);
	assert_span(sends_of(qp), 0, 0, 3, 3);
	vb_send_complete(qp, VB_WC_SUCCESS, 0, env.now);
	assert_span(sends_of(qp), 0, 1, 3, 3);
	for (; n < SLOTS + 1; n++)
		assert_int_equal(env_send(&env, qp, n, VB_WR_RDMA_WRITE, 8), 0);
	assert_span(sends_of(qp), 1, 1, 3, SLOTS + 1);
	assert_int_equal(send_of(qp, 1).wr.wr_id, 1);
	assert_int_equal(send_of(qp, SLOTS).wr.wr_id, SLOTS);
	env_close(&env);
}

/* A request is shown as it was posted. */
static void send__as_it_was_posted(void **state)
{
	struct vb_sge sge[2];
	struct vb_send_wr wr = {.wr_id = 77,
				.sge = sge,
				.sge_cnt = 2,
				.opcode = VB_WR_RDMA_WRITE_IMM,
				.flags = VB_SEND_SIGNALED | VB_SEND_SOLICITED,
				.imm = 0x01020304,
				.remote_addr = 0x123456789a,
				.rkey = 0x4711};
	struct vb_send_view v;
	struct vb_qp *qp;

	(void)state;
	open_env();
	qp = env_rts(&env, VB_QPT_RC, 2, 0x21);
	sge[0] = env_sge(&env, 8, 16);
	sge[1] = env_sge(&env, 64, 32);
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	v = send_of(qp, 0);
	assert_int_equal(v.wr.wr_id, 77);
	assert_int_equal(v.wr.opcode, VB_WR_RDMA_WRITE_IMM);
	assert_int_equal(v.wr.flags, VB_SEND_SIGNALED | VB_SEND_SOLICITED);
	assert_int_equal(v.wr.imm, 0x01020304);
	assert_true(v.wr.remote_addr == 0x123456789a);
	assert_int_equal(v.wr.rkey, 0x4711);
	assert_int_equal(v.wr.sge_cnt, 2);
	assert_memory_equal(v.wr.sge, sge, sizeof sge);
	assert_false(v.has_path);
	env_close(&env);
}

/* The operands of atomics, which their completion does not have. */
static void send__operands(void **state)
{
	struct vb_sge sge;
	struct vb_send_wr wr = {.sge = &sge,
				.sge_cnt = 1,
				.opcode = VB_WR_COMPARE_SWAP,
				.flags = VB_SEND_SIGNALED,
				.remote_addr = 0x1000,
				.compare_add = 0x1122334455667788,
				.swap = 0x99aabbccddeeff00};
	struct vb_send_view v;
	struct vb_qp *qp;

	(void)state;
	open_env();
	qp = env_rts(&env, VB_QPT_RC, 2, 0x21);
	sge = env_sge(&env, 0, 8);
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	v = send_of(qp, 0);
	assert_true(v.wr.compare_add == wr.compare_add);
	assert_true(v.wr.swap == wr.swap);
	env_close(&env);
}

/* Inline data are one SGE, in the queue itself. */
static void send__inline(void **state)
{
	static const char text[] = "goes along";
	struct vb_sge sge = {.addr = (uintptr_t)text, .length = sizeof text};
	struct vb_send_wr wr = {.sge = &sge,
				.sge_cnt = 1,
				.opcode = VB_WR_SEND,
				.flags = VB_SEND_SIGNALED | VB_SEND_INLINE};
	struct vb_send_view v;
	struct vb_qp *qp;

	(void)state;
	open_env();
	qp = env_rts(&env, VB_QPT_RC, 2, 0x21);
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	vb_hca_view_send(env.hca, vb_qp_number(qp), 0, &v);
	assert_int_equal(v.wr.sge_cnt, 1);
	assert_ptr_equal(v.wr.sge, &v.inlined);
	assert_int_equal(v.inlined.length, sizeof text);
	assert_true(v.inlined.addr != sge.addr);
	assert_string_equal((const char *)(uintptr_t)v.inlined.addr, text);
	env_close(&env);
}

/* A datagram says where it goes. */
static void send__of_a_datagram(void **state)
{
	struct vb_ah ah;
	struct vb_sge sge;
	struct vb_send_wr wr = {.sge = &sge,
				.sge_cnt = 1,
				.opcode = VB_WR_SEND,
				.flags = VB_SEND_SIGNALED,
				.ah = &ah,
				.dqpn = 0x4321,
				.qkey = 0x11112222};
	struct vb_send_view v;
	struct vb_qp *qp;

	(void)state;
	open_env();
	ah = (struct vb_ah){.pd = env.pd, .path = env_path(9)};
	qp = env_rts(&env, VB_QPT_UD, 2, 0);
	sge = env_sge(&env, 0, 8);
	assert_int_equal(vb_qp_post_send(qp, &wr, 0), 0);
	v = send_of(qp, 0);
	assert_true(v.has_path);
	assert_memory_equal(&v.path.dgid, &ah.path.dgid, sizeof ah.path.dgid);
	assert_int_equal(v.wr.dqpn, 0x4321);
	assert_int_equal(v.wr.qkey, 0x11112222);
	assert_null(v.wr.ah);
	env_close(&env);
}

/* Work of an initiator of DC, of the stream with the oldest work, with the target's key. */
static void send__of_an_initiator(void **state)
{
	struct vb_send_view v;
	struct vb_qp *dci;

	(void)state;
	setup();
	dci = initiator((struct vb_dc_init){.log_streams = 2, .log_errored = 2});
	assert_int_equal(post(dci, 5, VB_WR_RDMA_WRITE, 8, 0x987, KEY, 3), 0);
	assert_int_equal(post(dci, 6, VB_WR_RDMA_WRITE, 8, 0x988, KEY + 1, 1), 0);
	assert_span(sends_of(dci), 0, 0, 0, 1);
	v = send_of(dci, 0);
	assert_int_equal(v.wr.wr_id, 5);
	assert_int_equal(v.wr.dqpn, 0x987);
	assert_true(v.wr.dc_key == KEY);
	assert_int_equal(v.wr.dc_stream, 3);
	assert_true(v.has_path);
	env_close(&env);
}

/* Receives are the QP's own, or those of its SRQ. */
static void receives__of_the_qp_and_of_its_srq(void **state)
{
	struct vb_recv_wr wr;
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_rts(&env, VB_QPT_UD, 2, 0);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(env_recv(&env, qp, 40 + i, 100 + (uint32_t)i), 0);
	assert_span(receives_of(qp), 0, 0, 0, 3);
	assert_int_equal(receives_of(qp).slots, SLOTS);
	assert_int_equal(receives_of(qp).sges, 4);
	assert_false(receives_of(qp).is_srq);
	vb_hca_view_receive(env.hca, vb_qp_number(qp), 2, &wr);
	assert_int_equal(wr.wr_id, 42);
	assert_int_equal(wr.sge_cnt, 1);
	assert_int_equal(wr.sge[0].length, 102);
	/* One is taken. */
	assert_int_equal(env_rx(&env, 2,
				&(struct vb_hdr){.opcode = VB_TRANSPORT_UD | VB_OP_SEND_ONLY,
						 .dqpn = vb_qp_number(qp),
						 .deth.qkey = ENV_QKEY},
				8),
			 VB_VERDICT_OK);
	assert_span(receives_of(qp), 0, 1, 1, 3);
	qp = env_qp(&env, VB_QPT_RC, srq);
	post_srq(9, 64);
	assert_true(receives_of(qp).is_srq);
	assert_span(receives_of(qp), 0, 0, 0, 1);
	vb_hca_view_receive(env.hca, vb_qp_number(qp), 0, &wr);
	assert_int_equal(wr.wr_id, 9);
	assert_int_equal(wr.sge[0].length, 64);
	env_close(&env);
}

/* Without a queue there are no slots, and without a QP there is no answer. */
static void queues__that_do_not_exist(void **state)
{
	struct vb_work_span s;
	struct vb_qp *dct;

	(void)state;
	setup();
	dct = target(KEY);
	assert_int_equal(sends_of(dct).slots, 0);
	assert_false(vb_hca_view_sends(env.hca, 0x99999, &s));
	assert_false(vb_hca_view_receives(env.hca, 0x99999, &s));
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sends__as_far_as_they_are),
	    cmocka_unit_test(send__as_it_was_posted),
	    cmocka_unit_test(send__operands),
	    cmocka_unit_test(send__inline),
	    cmocka_unit_test(send__of_a_datagram),
	    cmocka_unit_test(send__of_an_initiator),
	    cmocka_unit_test(receives__of_the_qp_and_of_its_srq),
	    cmocka_unit_test(queues__that_do_not_exist),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
