/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fault rules of an engine: whose hold, and what the log tells of them. With a real broker, in a
 * network namespace of its own.
 */
#include "engine_peer.h"
#include "verbs_env.h"

/* The rules that a program was started with hold until somebody sets others for the device. */
static void faults__set_later_replace_own(void **state)
{
	struct vb_broker_observer o;
	struct vb_engine *e;
	char why[256];
	bool is_set = false;

	(void)state;
	setenv("VERBENA_FAULT", "loss=0.001", 1);
	assert_int_equal(vb_engine_acquire(&e, why, sizeof why), 0);
	unsetenv("VERBENA_FAULT");
	assert_string_equal(vb_engine_slot(e)->fault[0].rules.text, "loss=0.001");
	assert_int_equal(vb_broker_observe(&o, false, why, sizeof why), 0);
	assert_int_equal(vb_broker_fault(&o, 0, "dup=0.001", 1), 0);
	for (int i = 0; i < 2000 && !is_set; i++) {
		usleep(10000);
		vb_engine_lock(e);
		is_set = strcmp(vb_engine_slot(e)->fault[0].rules.text, "dup=0.001") == 0;
		vb_engine_unlock(e);
	}
	assert_true(is_set);
	vb_broker_observe_end(&o);
	vb_engine_release(e);
}

/* Rules that a program cannot have are said when it opens the device, and where they are wrong. */
static void faults__wrong_is_said(void **state)
{
	static char text[VB_FAULT_TEXT_MAX + 1];
	struct vb_engine *e;
	char why[256];

	(void)state;
	setenv("VERBENA_FAULT", "loss=0.1,frob=1", 1);
	assert_int_equal(vb_engine_acquire(&e, why, sizeof why), -EINVAL);
	assert_non_null(strstr(why, "VERBENA_FAULT, at character 10: "));
	memset(text, ' ', sizeof text - 1);
	setenv("VERBENA_FAULT", text, 1);
	assert_int_equal(vb_engine_acquire(&e, why, sizeof why), -EINVAL);
	assert_non_null(strstr(why, "VERBENA_FAULT is longer than "));
	setenv("VERBENA_FAULT", "loss=0.001", 1);
	setenv("VERBENA_FAULT_SEED", "0x10", 1);
	assert_int_equal(vb_engine_acquire(&e, why, sizeof why), 0);
	unsetenv("VERBENA_FAULT");
	unsetenv("VERBENA_FAULT_SEED");
	assert_int_equal(vb_engine_slot(e)->fault[0].rules.seed, 16);
	vb_engine_release(e);
}

/* Rules with another seed are other rules: they hit other packets. */
static void faults__another_seed_is_another_rule(void **state)
{
	struct vb_broker_observer o;
	struct vb_engine *e;
	char why[256];

	(void)state;
	assert_int_equal(vb_engine_acquire(&e, why, sizeof why), 0);
	assert_int_equal(vb_broker_observe(&o, false, why, sizeof why), 0);
	for (uint64_t seed = 7; seed < 9; seed++) {
		bool is_set = false;

		assert_int_equal(vb_broker_fault(&o, 0, "dup=0.001", seed), 0);
		for (int i = 0; i < 2000 && !is_set; i++) {
			usleep(10000);
			vb_engine_lock(e);
			is_set = vb_engine_slot(e)->fault[0].rules.seed == seed;
			vb_engine_unlock(e);
		}
		assert_true(is_set);
	}
	vb_broker_observe_end(&o);
	vb_engine_release(e);
}

/* The log of faults says whose packet it was. */
static void faults__log_names_the_process(void **state)
{
	const struct vb_fault_log *log;
	struct peer_info mine;
	struct peer p;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	setenv("VERBENA_FAULT", "loss=1", 1);
	peer_open(&p, pair[0]);
	unsetenv("VERBENA_FAULT");
	/* Connected to itself. */
	mine = (struct peer_info){vb_qp_number(p.qp), vb_mr_rkey(p.mr), (uintptr_t)p.mem};
	assert_int_equal(write(pair[1], &mine, sizeof mine), sizeof mine);
	peer_connect(&p);
	log = &vb_engine_slot(p.e)->fault_log;
	peer_post(&p, VB_WR_RDMA_WRITE, 0, 8, 64, 0);
	while (__atomic_load_n(&log->cnt, __ATOMIC_ACQUIRE) == 0) {
		struct vb_wc wc;

		assert_false(peer_try(&p, &wc));
	}
	assert_int_equal(log->hit[0].pid, getpid());
	assert_int_equal(log->hit[0].event.qpn, mine.qpn);
	peer_close(&p);
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_BROKER_TEST(faults__set_later_replace_own),
	    VERBS_BROKER_TEST(faults__wrong_is_said),
	    VERBS_BROKER_TEST(faults__another_seed_is_another_rule),
	    VERBS_BROKER_TEST(faults__log_names_the_process),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
