/* SPDX-License-Identifier: BSD-2-Clause */
/* The in-flight window of a QP: a ramp begins with the first packets and ends at the window. */
#include "cmocka_env.h"
#include "core/recover/window.h"

#define MTU 1024u

static struct vb_rto_rules rules(uint32_t window_pkts)
{
	return (struct vb_rto_rules){.set = {.roce_tx_window_en = window_pkts != 0,
					     .roce_slow_restart_en = true,
					     .tx_window_bytes = window_pkts * MTU,
					     .slow_restart_bytes = 4 * MTU}};
}

static struct vb_window window(uint32_t pkts)
{
	struct vb_rto_rules r = rules(pkts);
	struct vb_window w;

	vb_window_reset(&w, &r, MTU, vb_psn(0), 0);
	return w;
}

static void ramp__ends_at_what_was_in_flight(void **state)
{
	struct vb_rto_rules r = rules(0);
	struct vb_window w = window(0);

	(void)state;
	assert_false(vb_window_ramp(&w, &r, MTU, 4));
	assert_true(vb_window_ramp(&w, &r, MTU, 100));
	assert_int_equal(w.pkts, 4);
	assert_false(vb_window_grow(&w, 95));
	assert_true(vb_window_grow(&w, 1));
	assert_int_equal(w.pkts, 0);
}

static void ramp__is_no_longer_than_the_window(void **state)
{
	struct vb_rto_rules r = rules(20);
	struct vb_window w = window(20);

	(void)state;
	assert_int_equal(w.pkts, 20);
	assert_true(vb_window_ramp(&w, &r, MTU, 100));
	assert_int_equal(w.pkts, 4);
	assert_false(vb_window_grow(&w, 15));
	assert_int_equal(w.pkts, 19);
	assert_true(vb_window_grow(&w, 1));
	assert_int_equal(w.pkts, 20);
	/* One that begins with as much as the window has is none. */
	r = rules(3);
	w = window(3);
	assert_false(vb_window_ramp(&w, &r, MTU, 100));
	assert_int_equal(w.pkts, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ramp__ends_at_what_was_in_flight),
	    cmocka_unit_test(ramp__is_no_longer_than_the_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
