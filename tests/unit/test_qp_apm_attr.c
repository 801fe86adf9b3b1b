/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Alternate paths and migration states as ibv_modify_qp() takes and refuses them. IBA 11.2.5.2;
 * IBT-37
 */
#include "apm_env.h"

/* IBT-37: the alternate path goes with each transition that may have it, and is seen by a query. */
static void modify__takes_an_alternate_path(void **state)
{
	static const enum vb_qp_state states[] = {VB_QPS_RTR, VB_QPS_RTS, VB_QPS_SQD};
	struct vb_qp_attr a, got;

	(void)state;
	open_end(A);
	open_end(B);
	qp[A] = env_qp(&end[A], VB_QPT_RC, NULL);
	qp[B] = env_qp(&end[B], VB_QPT_RC, NULL);
	a = attr_of(A);
	assert_int_equal(env_modify(&end[A], qp[A], &a, VB_QPS_INIT), 0);
	assert_int_equal(modify(A, &a, VB_QP_ALT_PATH), -EINVAL);
	for (size_t i = 0; i < 3; i++) {
		uint32_t mask = env_mask(qp[A], states[i]);

		a.qp_state = states[i];
		assert_int_equal(modify(A, &a, i == 2 ? mask : mask | VB_QP_ALT_PATH), 0);
		a.alt.timeout++;
		if (i > 0) {
			assert_int_equal(modify(A, &a, VB_QP_ALT_PATH | VB_QP_PATH_MIG_STATE), 0);
			assert_int_equal(mig_state(A), VB_MIG_REARM);
		}
	}
	vb_qp_query(qp[A], &got);
	assert_true(got.alt.is_loaded);
	assert_int_equal(got.alt.timeout, a.alt.timeout);
	assert_int_equal(got.alt.pkey_index, 1);
	assert_memory_equal(&got.alt.path, &a.alt.path, sizeof a.alt.path);
	assert_memory_equal(got.alt.av, a.alt.av, sizeof a.alt.av);
	/* RESET forgets it. */
	a.qp_state = VB_QPS_RESET;
	assert_int_equal(modify(A, &a, VB_QP_STATE), 0);
	vb_qp_query(qp[A], &got);
	assert_true(!got.alt.is_loaded && got.alt.path.dlid == 0);
	assert_int_equal(got.path_mig_state, VB_MIG_MIGRATED);
	close_ends();
}

static void modify__refuses_what_no_path_is(void **state)
{
	const uint32_t both = VB_QP_ALT_PATH | VB_QP_PATH_MIG_STATE;
	struct vb_qp_attr a;

	(void)state;
	open_ends(VB_QPT_RC);
	a = attr_of(A);
	a.alt.path.port = 3;
	assert_int_equal(modify(A, &a, both), -EINVAL);
	a = attr_of(A);
	a.alt.pkey_index = 2;
	assert_int_equal(modify(A, &a, both), -EINVAL);
	a = attr_of(A);
	a.alt.timeout = 32;
	assert_int_equal(modify(A, &a, both), -EINVAL);
	a = attr_of(A);
	a.alt.path.dlid = 0;
	assert_int_equal(modify(A, &a, both), -EINVAL);
	/* The other port's MTU is smaller than that of the path. */
	end[A].cfg.port[2].active_mtu = VB_MTU_512;
	assert_int_equal(vb_hca_set_port(end[A].hca, 2, &end[A].cfg.port[2]), 0);
	a = attr_of(A);
	assert_int_equal(modify(A, &a, both), -EINVAL);
	/* Nobody but the peer's packets arms, and REARM needs a path. */
	assert_int_equal(modify(A, &a, VB_QP_PATH_MIG_STATE), -EINVAL);
	a.path_mig_state = VB_MIG_ARMED;
	assert_int_equal(modify(A, &a, VB_QP_PATH_MIG_STATE), -EINVAL);
	a.path_mig_state = (enum vb_mig_state)3;
	assert_int_equal(modify(A, &a, VB_QP_PATH_MIG_STATE), -EINVAL);
	/* Nor does a path that comes with it. */
	end[A].cfg.port[2].active_mtu = end[A].cfg.port[1].active_mtu;
	assert_int_equal(vb_hca_set_port(end[A].hca, 2, &end[A].cfg.port[2]), 0);
	a.path_mig_state = VB_MIG_ARMED;
	assert_int_equal(modify(A, &a, both), -EINVAL);
	assert_false(qp[A]->attr.alt.is_loaded);
	a.path_mig_state = VB_MIG_REARM;
	assert_int_equal(modify(A, &a, both), 0);
	a.path_mig_state = VB_MIG_ARMED;
	assert_int_equal(modify(A, &a, VB_QP_PATH_MIG_STATE), -EINVAL);
	assert_int_equal(mig_state(A), VB_MIG_REARM);
	close_ends();
}

/* ARMED, which a query tells, may be said back. */
static void modify__armed_stays_armed(void **state)
{
	struct vb_qp_attr a = {.path_mig_state = VB_MIG_ARMED};

	(void)state;
	open_armed(VB_QPT_RC);
	assert_int_equal(modify(A, &a, VB_QP_PATH_MIG_STATE), 0);
	assert_int_equal(mig_state(A), VB_MIG_ARMED);
	close_ends();
}

/* Memory that runs out changes nothing, and what was got is given back. */
static void modify__without_memory(void **state)
{
	struct vb_qp_attr a, got;

	(void)state;
	open_ends(VB_QPT_RC);
	a = attr_of(A);
	a.alt.path.dlid = 77; /* a receiver that is not known yet */
	end[A].fail_at = end[A].calls + 1;
	assert_int_equal(modify(A, &a, VB_QP_ALT_PATH | VB_QP_PATH_MIG_STATE), -ENOMEM);
	vb_qp_query(qp[A], &got);
	assert_true(!got.alt.is_loaded && got.path_mig_state == VB_MIG_MIGRATED);
	/* One path after the other, each with a receiver of its own. */
	for (uint16_t lid = 70; lid < 75; lid++) {
		a.alt.path.dlid = lid;
		assert_int_equal(modify(A, &a, VB_QP_ALT_PATH | VB_QP_PATH_MIG_STATE), 0);
	}
	close_ends();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(modify__takes_an_alternate_path),
	    cmocka_unit_test(modify__refuses_what_no_path_is),
	    cmocka_unit_test(modify__armed_stays_armed),
	    cmocka_unit_test(modify__without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
