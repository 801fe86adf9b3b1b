/* SPDX-License-Identifier: BSD-2-Clause */
/* Looking on before one sleeps: always while it pays, ever more seldom when it is in vain. */
#include "base/spin.h"
#include "cmocka_env.h"

/* Waits that are left out until the next one for which one looks on. */
static unsigned waits_left_out(struct vb_spin *s)
{
	unsigned n = 0;

	while (!vb_spin_wanted(s))
		n++;
	return n;
}

static void spin__while_it_pays(void **state)
{
	struct vb_spin s = {0};

	(void)state;
	for (int i = 0; i < 5; i++) {
		assert_int_equal(waits_left_out(&s), 0);
		vb_spin_done(&s, true);
	}
}

static void spin__in_vain(void **state)
{
	struct vb_spin s = {0};

	(void)state;
	for (unsigned n = 1; n <= VB_SPIN_STREAK_MAX; n++) {
		vb_spin_done(&s, false);
		assert_int_equal(waits_left_out(&s), 1u << n);
	}
	vb_spin_done(&s, false);
	assert_int_equal(waits_left_out(&s), 1u << VB_SPIN_STREAK_MAX);
	/* It pays again. */
	vb_spin_done(&s, true);
	assert_int_equal(waits_left_out(&s), 0);
	vb_spin_done(&s, false);
	assert_int_equal(waits_left_out(&s), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(spin__while_it_pays),
	    cmocka_unit_test(spin__in_vain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
