/* SPDX-License-Identifier: BSD-2-Clause */
/* The simulator inside a program: cables, faults, RED, rates and flows are changed on the way. */
#include "library_env.h"

static void set_cable__cuts_and_joins(void **state)
{
	struct verbena_sim *s = sim_open(TWO_TO_ONE);
	uint64_t before;

	(void)state;
	assert_int_equal(verbena_sim_advance(s, 200 * US), 0);
	assert_int_equal(verbena_sim_set_cable(s, 0, 0), 0);
	assert_int_equal(verbena_sim_advance(s, 400 * US), 0);
	before = flow_at(s, 0).completed;
	assert_int_equal(verbena_sim_advance(s, 700 * US), 0);
	assert_int_equal(flow_at(s, 0).completed, before);
	assert_true(flow_at(s, 1).completed > before);
	assert_int_equal(verbena_sim_set_cable(s, 0, 1), 0);
	assert_int_equal(verbena_sim_advance(s, VERBENA_SIM_NEVER), 0);
	assert_int_equal(flow_at(s, 0).state, VERBENA_SIM_DONE);
	assert_true(flow_at(s, 0).done > 700 * US);
	assert_int_equal(verbena_sim_set_cable(s, 3, 0), -ERANGE);
	check_error(s, "there is no cable 3: there are 3");
	for (int i = 0; i < 512; i++)
		assert_int_equal(verbena_sim_set_cable(s, 0, i & 1), 0);
	assert_int_equal(verbena_sim_set_cable(s, 0, 1), -ENOSPC);
	check_error(s, "too many changes");
	verbena_sim_close(s);
}

static void set_fault__loses_until_it_is_taken_away(void **state)
{
	struct verbena_sim *s = sim_open(TWO_TO_ONE);

	(void)state;
	assert_int_equal(verbena_sim_set_fault(s, 1, "loss=1"), 0);
	assert_int_equal(verbena_sim_advance(s, 500 * US), 0);
	assert_int_equal(flow_at(s, 1).completed, 0);
	assert_int_equal(verbena_sim_set_fault(s, 1, ""), 0);
	assert_int_equal(verbena_sim_advance(s, VERBENA_SIM_NEVER), 0);
	assert_int_equal(flow_at(s, 1).state, VERBENA_SIM_DONE);
	assert_int_equal(verbena_sim_set_fault(s, 1, "los=1"), -EINVAL);
	check_error(s, "\"los=1\", column 1: ");
	assert_int_equal(verbena_sim_set_fault(s, 3, ""), -ERANGE);
	verbena_sim_close(s);
}

static uint64_t marks_at(struct verbena_sim *s, uint64_t to)
{
	struct verbena_sim_port p;

	assert_int_equal(verbena_sim_advance(s, to), 0);
	assert_int_equal(verbena_sim_port(s, 5, &p, sizeof p), 0);
	return p.marked;
}

static void set_ecn__moves_the_thresholds(void **state)
{
	struct verbena_sim *s = sim_open(TWO_TO_ONE_OF("20MB"));
	uint64_t before = marks_at(s, 300 * US);

	(void)state;
	assert_true(before > 0);
	assert_int_equal(verbena_sim_set_ecn(s, 0, 0, 0), 0);
	assert_int_equal(marks_at(s, 5 * MS), before);
	assert_int_equal(verbena_sim_set_ecn(s, 1000, 2000, 1000000), 0);
	assert_true(marks_at(s, 6 * MS) > before);
	assert_int_equal(verbena_sim_set_ecn(s, 2, 1, 0), -EINVAL);
	check_error(s, "kmin 2 is above kmax 1");
	assert_int_equal(verbena_sim_set_ecn(s, 1, 2, 1000001), -EINVAL);
	verbena_sim_close(s);
	s = sim_open("{link: infiniband, workload: [{shape: single, from: 0, to: 1, bytes: 4kB}]}");
	assert_int_equal(verbena_sim_set_ecn(s, 1, 2, 1), -ENOTSUP);
	check_error(s, "InfiniBand");
	verbena_sim_close(s);
}

static void set_rate__limits_a_qp(void **state)
{
	struct verbena_sim *s = sim_open(ONE_FLOW);
	struct verbena_sim_qp q;
	uint64_t before;

	(void)state;
	assert_int_equal(verbena_sim_advance(s, 100 * US), 0);
	assert_int_equal(verbena_sim_set_rate(s, 0, 1000000000), 0);
	assert_int_equal(verbena_sim_advance(s, 200 * US), 0);
	before = flow_at(s, 0).completed;
	assert_int_equal(verbena_sim_advance(s, 1200 * US), 0);
	assert_uint_in_range(flow_at(s, 0).completed - before, 105000, 126000);
	assert_int_equal(verbena_sim_qp(s, 0, &q, sizeof q), 0);
	assert_int_equal(q.rate, 1000000000);
	assert_int_equal(verbena_sim_set_rate(s, 0, 0), 0);
	before = flow_at(s, 0).completed;
	assert_int_equal(verbena_sim_advance(s, 2200 * US), 0);
	assert_true(flow_at(s, 0).completed - before > 1000000);
	assert_int_equal(verbena_sim_set_rate(s, 0, 1), -EINVAL);
	check_error(s, "QP 0 cannot be limited to 1 bit/s");
	assert_int_equal(verbena_sim_set_rate(s, 0, UINT64_C(1) << 62), -EINVAL);
	assert_int_equal(verbena_sim_set_rate(s, 2, 1), -ERANGE);
	verbena_sim_close(s);
}

static void add_flow__runs_among_the_others(void **state)
{
	struct verbena_sim *s = sim_open(
	    "{flows: 3, topology: {hosts: 3, cable: {rate: 10Gbps, delay: 1us}}, workload: "
	    "[{shape: single, from: 0, to: 1, bytes: 10kB}]}");

	(void)state;
	assert_int_equal(verbena_sim_advance(s, MS), 0);
	assert_int_equal(verbena_sim_add_flow(s, 1, 2, VERBENA_SIM_READ, 50000, 2 * MS), 1);
	assert_int_equal(verbena_sim_add_flow(s, 2, 0, VERBENA_SIM_SEND, 50000, MS), 2);
	assert_int_equal(flow_at(s, 2).op, VERBENA_SIM_SEND);
	assert_false(sim_state(s).is_finished);
	assert_int_equal(verbena_sim_advance(s, VERBENA_SIM_NEVER), 0);
	assert_int_equal(flow_at(s, 1).state, VERBENA_SIM_DONE);
	assert_true(flow_at(s, 1).done > 2 * MS && flow_at(s, 2).done < 2 * MS);
	assert_int_equal(verbena_sim_add_flow(s, 1, 2, VERBENA_SIM_READ, 1, 9 * MS), -ENOSPC);
	check_error(s, "there are 3 flows");
	verbena_sim_close(s);
}

static void add_flow__refuses(void **state)
{
	struct verbena_sim *s = sim_open(TWO_TO_ONE);

	(void)state;
	assert_int_equal(verbena_sim_advance(s, MS), 0);
	assert_int_equal(verbena_sim_add_flow(s, 3, 0, VERBENA_SIM_SEND, 1, MS), -EINVAL);
	check_error(s, "two hosts of 3");
	assert_int_equal(verbena_sim_add_flow(s, 0, 3, VERBENA_SIM_SEND, 1, MS), -EINVAL);
	assert_int_equal(verbena_sim_add_flow(s, 1, 1, VERBENA_SIM_SEND, 1, MS), -EINVAL);
	assert_int_equal(verbena_sim_add_flow(s, 0, 1, 4, 1, MS), -EINVAL);
	assert_int_equal(verbena_sim_add_flow(s, 0, 1, VERBENA_SIM_SEND, 1, MS - 1), -EINVAL);
	assert_int_equal(verbena_sim_advance(s, VERBENA_SIM_NEVER), 0);
	verbena_sim_close(s);
}

/* The same changes at the same times give the same run. */
static void changes__are_repeatable(void **state)
{
	uint64_t digest[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct verbena_sim *s = sim_open(TWO_TO_ONE);

		assert_int_equal(verbena_sim_advance(s, 100 * US), 0);
		assert_int_equal(verbena_sim_set_fault(s, 0, "loss=10%"), 0);
		assert_int_equal(verbena_sim_set_cable(s, 1, 0), 0);
		assert_int_equal(verbena_sim_advance(s, 150 * US), 0);
		assert_int_equal(verbena_sim_set_cable(s, 1, 1), 0);
		assert_int_equal(verbena_sim_add_flow(s, 2, 1, VERBENA_SIM_WRITE, 70000, 160 * US),
				 2);
		assert_int_equal(verbena_sim_advance(s, VERBENA_SIM_NEVER), 0);
		digest[i] = sim_state(s).digest;
		verbena_sim_close(s);
	}
	assert_int_equal(digest[0], digest[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(set_cable__cuts_and_joins),
	    cmocka_unit_test(set_fault__loses_until_it_is_taken_away),
	    cmocka_unit_test(set_ecn__moves_the_thresholds),
	    cmocka_unit_test(set_rate__limits_a_qp),
	    cmocka_unit_test(add_flow__runs_among_the_others),
	    cmocka_unit_test(add_flow__refuses),
	    cmocka_unit_test(changes__are_repeatable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
