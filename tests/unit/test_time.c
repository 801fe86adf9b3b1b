/* SPDX-License-Identifier: BSD-2-Clause */
/* Saturation of deadlines, and the local ACK timeout. IBA 9.7.6.1.3; facts B.5, E.3 */
#include "base/time.h"
#include "cmocka_env.h"

static void time_after__saturates(void **state)
{
	(void)state;
	assert_true(vb_time_after(5, 7) == 12);
	assert_true(vb_time_after(5, VB_NEVER) == VB_NEVER);
	assert_true(vb_time_after(VB_NEVER, 0) == VB_NEVER);
	assert_true(vb_time_after(VB_NEVER - 3, 3) == VB_NEVER);
	assert_true(vb_time_after(VB_NEVER - 3, 4) == VB_NEVER);
	assert_true(vb_time_after(VB_NEVER - 3, 2) == VB_NEVER - 1);
}

static void time_since__never_negative(void **state)
{
	(void)state;
	assert_true(vb_time_since(10, 25) == 15);
	assert_true(vb_time_since(25, 10) == 0);
	assert_true(vb_time_min(VB_NEVER, 3) == 3);
}

static void ack_timeout__doubles_from_4096_ns(void **state)
{
	(void)state;
	assert_true(vb_ack_timeout_ns(0) == VB_NEVER);
	assert_true(vb_ack_timeout_ns(1) == 8192);
	for (uint8_t e = 1; e < 31; e++)
		assert_true(vb_ack_timeout_ns((uint8_t)(e + 1)) == 2 * vb_ack_timeout_ns(e));
	/* facts E.3: exponent 14 is 67.108864 ms, and seven of them 469.762 ms */
	assert_true(vb_ack_timeout_ns(14) == 67108864);
	assert_true(7 * vb_ack_timeout_ns(14) / 1000 == 469762);
	/* facts B.5: exponent 31 is 8796 s */
	assert_true(vb_ack_timeout_ns(31) / VB_SEC == 8796);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(time_after__saturates),
	    cmocka_unit_test(time_since__never_negative),
	    cmocka_unit_test(ack_timeout__doubles_from_4096_ns),
	};

	return cmocka_run_group_tests_name("time", tests, NULL, NULL);
}
