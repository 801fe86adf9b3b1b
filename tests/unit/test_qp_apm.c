/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Automatic path migration: two adapters with two ports each on an InfiniBand subnet, whose cables
 * are cut, in virtual time. IBA 17.2.8; IBT-37, IBT-63
 */
#include "apm_env.h"

/* @who goes by port 2, and has said so once. */
static void expect_migrated(int who)
{
	struct vb_qp_attr a;
	struct vb_path path = lid_path(who, 2);

	env_event(&end[who], VB_EVENT_ASYNC_QP, VB_ASYNC_PATH_MIG);
	env_no_event(&end[who]);
	vb_qp_query(qp[who], &a);
	assert_int_equal(a.path_mig_state, VB_MIG_MIGRATED);
	assert_int_equal(a.port, 2);
	assert_int_equal(a.pkey_index, 1);
	assert_int_equal(a.timeout, 9);
	assert_true(a.av[0] == 0xa0 && a.av[1] == 2);
	assert_true(vb_path_same_ends(&a.path, &path) && a.path.sl == 3 && a.path.port == 2);
	assert_false(a.alt.is_loaded);
}

/* The states, and the bit that says them. IBA 17.2.8.1 */
static void rearm__waits_for_the_peer(void **state)
{
	(void)state;
	open_ends(VB_QPT_RC);
	message(A, 1);
	assert_true(said_migrated[A] && said_migrated[B]);
	load_and_rearm(A);
	assert_int_equal(mig_state(A), VB_MIG_REARM);
	/* The peer is MIGRATED still: what it says does not arm. */
	message(A, 2);
	assert_true(!said_migrated[A] && said_migrated[B]);
	assert_int_equal(mig_state(A), VB_MIG_REARM);
	assert_int_equal(mig_state(B), VB_MIG_MIGRATED);
	load_and_rearm(B);
	message(B, 3);
	assert_int_equal(mig_state(A), VB_MIG_ARMED);
	assert_int_equal(mig_state(B), VB_MIG_ARMED);
	env_no_event(&end[A]);
	env_no_event(&end[B]);
	close_ends();
}

/* The retries on the path are used up: both go on by the other one, and nothing is lost or doubled.
 * The retries begin anew, by the alternate timeout. */
static void armed__migrates_when_retries_end(void **state)
{
	uint32_t sent;

	(void)state;
	open_armed(VB_QPT_RC);
	is_cut[1] = true;
	for (uint64_t i = 2; i < 6; i++)
		post(A, i, 3000);
	settle();
	sent = (uint32_t)end[A].counters.v[VB_COUNTER_local_ack_timeout_err];
	pass(10 * VB_SEC);
	for (uint64_t i = 2; i < 6; i++)
		expect_message(A, i);
	assert_int_equal(end[A].counters.v[VB_COUNTER_local_ack_timeout_err] - sent, 8);
	assert_int_equal(end[A].counters.v[VB_COUNTER_retry_exceeded_err], 0);
	expect_migrated(A);
	expect_migrated(B);
	assert_int_equal(qp[A]->rto.retry_left, 7);
	assert_int_equal(qp[A]->rto.attr_timeout, 9);
	message(B, 7);
	assert_true(said_migrated[A] && said_migrated[B]);
	env_no_wc(&end[A]);
	env_no_wc(&end[B]);
	close_ends();
}

/* A READ that had its answer lost, too. */
static void armed__migrates_with_a_read(void **state)
{
	struct vb_sge sge;
	struct vb_send_wr wr = {.wr_id = 5,
				.sge = &sge,
				.sge_cnt = 1,
				.opcode = VB_WR_RDMA_READ,
				.flags = VB_SEND_SIGNALED,
				.remote_addr = ENV_IOVA};

	(void)state;
	open_armed(VB_QPT_RC);
	sge = env_sge(&end[A], 0, 4000);
	wr.rkey = vb_mr_rkey(end[B].mr);
	end[B].mem[10] = 0x5eed;
	end[A].mem[10] = 0;
	is_cut[1] = true;
	assert_int_equal(vb_qp_post_send(qp[A], &wr, end[A].now), 0);
	pass(10 * VB_SEC);
	(void)env_wc(&end[A], 5, VB_WC_SUCCESS);
	assert_int_equal(end[A].mem[10], 0x5eed);
	expect_migrated(A);
	expect_migrated(B);
	close_ends();
}

/* A QP that is not armed fails as ever. */
static void rearm__does_not_migrate(void **state)
{
	(void)state;
	open_ends(VB_QPT_RC);
	load_and_rearm(A);
	is_cut[1] = true;
	post(A, 2, 100);
	pass(10 * VB_SEC);
	(void)env_wc(&end[A], 2, VB_WC_RETRY_EXC_ERR);
	env_no_event(&end[A]);
	assert_int_equal(vb_qp_get_state(qp[A]), VB_QPS_ERR);
	/* Nor does one whose QP has ended. */
	vb_hca_port_failed(end[A].hca, 1, end[A].now);
	env_no_event(&end[A]);
	close_ends();
}

/* The consumer asks: what was in flight on the old path leaves again by the new one. */
static void armed__migrates_when_asked(void **state)
{
	struct vb_qp_attr a = {.path_mig_state = VB_MIG_MIGRATED};
	static struct vb_tx_batch b;

	(void)state;
	open_armed(VB_QPT_RC);
	post(A, 2, 3000);
	assert_int_equal(env_tx(&end[A], &b), 3); /* lost */
	assert_int_equal(modify(A, &a, VB_QP_PATH_MIG_STATE), 0);
	settle();
	expect_message(A, 2);
	expect_migrated(A);
	expect_migrated(B);
	/* To say so again changes nothing. */
	assert_int_equal(modify(A, &a, VB_QP_PATH_MIG_STATE), 0);
	env_no_event(&end[A]);
	close_ends();
}

static void port_set_down(int who, uint8_t port, bool is_down)
{
	struct vb_hca_port p = end[who].cfg.port[port];

	p.is_down = is_down;
	assert_int_equal(vb_hca_set_port(end[who].hca, port, &p), 0);
}

/* The port goes down: nobody waits for retries. One whose alternate path is of that port stays, and
 * so does one whose alternate path is of a port that is down as well. */
static void armed__migrates_when_its_port_fails(void **state)
{
	(void)state;
	open_armed(VB_QPT_RC);
	vb_hca_port_failed(end[A].hca, 2, end[A].now);
	env_no_event(&end[A]);
	port_set_down(A, 2, true);
	vb_hca_port_failed(end[A].hca, 1, end[A].now);
	env_no_event(&end[A]);
	assert_int_equal(mig_state(A), VB_MIG_ARMED);
	port_set_down(A, 2, false);
	is_cut[1] = true;
	post(A, 2, 3000);
	settle();
	vb_hca_port_failed(end[A].hca, 1, end[A].now);
	settle();
	expect_message(A, 2);
	assert_int_equal(end[A].counters.v[VB_COUNTER_local_ack_timeout_err], 0);
	expect_migrated(A);
	expect_migrated(B);
	close_ends();
}

/* A peer that migrates to another path than this QP's alternate: it is told nothing, and this
 * consumer hears of it. */
static void armed__refuses_another_path(void **state)
{
	struct vb_qp_attr a;

	(void)state;
	open_ends(VB_QPT_RC);
	load_and_rearm(A);
	a = attr_of(B);
	a.alt.path.dlid = 99;
	assert_int_equal(modify(B, &a, VB_QP_ALT_PATH | VB_QP_PATH_MIG_STATE), 0);
	message(A, 1);
	assert_int_equal(mig_state(B), VB_MIG_ARMED);
	is_cut[1] = true;
	post(A, 2, 100);
	pass(10 * VB_SEC);
	(void)env_wc(&end[A], 2, VB_WC_RETRY_EXC_ERR);
	env_event(&end[A], VB_EVENT_ASYNC_QP, VB_ASYNC_PATH_MIG);
	env_event(&end[B], VB_EVENT_ASYNC_QP, VB_ASYNC_PATH_MIG_ERR);
	env_no_event(&end[B]);
	assert_int_equal(verdict[B], VB_VERDICT_SOURCE);
	assert_int_equal(mig_state(B), VB_MIG_ARMED);
	env_no_wc(&end[B]);
	close_ends();
}

/* A packet that says MigReq 1 by the path itself, or in another partition, migrates nobody; of one
 * in another partition the consumer does not even hear. */
static void armed__checks_the_packet(void **state)
{
	struct vb_hdr h = {.opcode = VB_TRANSPORT_RC | VB_OP_SEND_ONLY, .migrated = true};

	(void)state;
	open_armed(VB_QPT_RC);
	for (int i = 0; i < 3; i++) {
		struct vb_path path = lid_path(A, i == 0 ? 1 : 2);
		uint8_t pkt[VB_HDR_MAX];

		h.dqpn = qp[B]->qpn;
		h.pkey = i == 1 ? 0x8001 : VB_PKEY_DEFAULT;
		if (i == 2)
			path.port = 1;

		uint32_t len = (uint32_t)vb_hdr_emit(&h, pkt);
		struct vb_rx rx = {.pkt = pkt, .len = len, .avail = len, .path = &path};

		assert_int_equal(vb_hca_handle_packet(end[B].hca, &rx, end[B].now),
				 VB_VERDICT_SOURCE);
		if (i != 1)
			env_event(&end[B], VB_EVENT_ASYNC_QP, VB_ASYNC_PATH_MIG_ERR);
		env_no_event(&end[B]);
		assert_int_equal(mig_state(B), VB_MIG_ARMED);
	}
	message(A, 2);
	close_ends();
}

/* The peer has seen this QP in REARM and migrates before it has said a word. */
static void rearm__follows_the_peer(void **state)
{
	struct vb_qp_attr a = {.path_mig_state = VB_MIG_MIGRATED};

	(void)state;
	open_ends(VB_QPT_RC);
	load_and_rearm(A);
	load_and_rearm(B);
	assert_int_equal(modify(A, &a, VB_QP_PATH_MIG_STATE), 0);
	message(A, 1);
	expect_migrated(A);
	expect_migrated(B);
	close_ends();
}

/* And back: a new alternate path has to be loaded before REARM. */
static void migrated__is_armed_again(void **state)
{
	struct vb_qp_attr a;

	(void)state;
	open_armed(VB_QPT_RC);
	is_cut[1] = true;
	post(B, 2, 100);
	pass(10 * VB_SEC);
	expect_message(B, 2);
	expect_migrated(A);
	expect_migrated(B);
	a = attr_of(A);
	assert_int_equal(modify(A, &a, VB_QP_PATH_MIG_STATE), -EINVAL);
	is_cut[1] = false;
	for (int who = A; who <= B; who++) {
		a = attr_of(who);
		a.alt = alternate(who, 1);
		assert_int_equal(modify(who, &a, VB_QP_ALT_PATH | VB_QP_PATH_MIG_STATE), 0);
	}
	message(B, 3);
	assert_int_equal(mig_state(A), VB_MIG_ARMED);
	is_cut[2] = true;
	post(A, 4, 100);
	pass(10 * VB_SEC);
	expect_message(A, 4);
	for (int who = A; who <= B; who++) {
		env_event(&end[who], VB_EVENT_ASYNC_QP, VB_ASYNC_PATH_MIG);
		vb_qp_query(qp[who], &a);
		assert_int_equal(a.port, 1);
	}
	close_ends();
}

/* UC has no retries: it migrates when it is asked, and follows its peer. */
static void uc__migrates(void **state)
{
	struct vb_qp_attr a = {.path_mig_state = VB_MIG_MIGRATED};

	(void)state;
	open_ends(VB_QPT_UC);
	load_and_rearm(A);
	load_and_rearm(B);
	message(A, 1);
	assert_int_equal(mig_state(B), VB_MIG_ARMED);
	message(B, 2);
	assert_int_equal(mig_state(A), VB_MIG_ARMED);
	is_cut[1] = true;
	assert_int_equal(modify(A, &a, VB_QP_PATH_MIG_STATE), 0);
	message(A, 3);
	expect_migrated(A);
	expect_migrated(B);
	close_ends();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rearm__waits_for_the_peer),
	    cmocka_unit_test(armed__migrates_when_retries_end),
	    cmocka_unit_test(armed__migrates_with_a_read),
	    cmocka_unit_test(rearm__does_not_migrate),
	    cmocka_unit_test(armed__migrates_when_asked),
	    cmocka_unit_test(armed__migrates_when_its_port_fails),
	    cmocka_unit_test(armed__refuses_another_path),
	    cmocka_unit_test(armed__checks_the_packet),
	    cmocka_unit_test(rearm__follows_the_peer),
	    cmocka_unit_test(migrated__is_armed_again),
	    cmocka_unit_test(uc__migrates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
