/* SPDX-License-Identifier: BSD-2-Clause */
/* 24-bit serial numbers around every edge. IBA 9.7.1; facts B.5 */
#include "base/psn.h"
#include "cmocka_env.h"

#include "base/rng.h"

static void psn__keeps_24_bits(void **state)
{
	(void)state;
	assert_int_equal(vb_psn(0x1234567).v, 0x234567);
	assert_int_equal(vb_psn(UINT32_MAX).v, 0xffffff);
}

static void psn_add__wraps(void **state)
{
	(void)state;
	assert_int_equal(vb_psn_add(vb_psn(0xffffff), 1).v, 0);
	assert_int_equal(vb_psn_add(vb_psn(0xfffff0), 0x20).v, 0x10);
	assert_int_equal(vb_psn_prev(vb_psn(0)).v, 0xffffff);
	assert_int_equal(vb_psn_prev(vb_psn(1)).v, 0);
}

/* The reference: sign-extend (a - b) << 8, as Linux has it. facts B.5 */
static int32_t diff_by_shift(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) / 256;
}

static void psn_diff__is_signed_distance(void **state)
{
	static const uint32_t edge[] = {0,        1,        2,        0x7ffffe, 0x7fffff,
					0x800000, 0x800001, 0xfffffe, 0xffffff};
	struct vb_rng r = vb_rng_stream(1, "psn", 0);

	(void)state;
	for (unsigned i = 0; i < 9; i++)
		for (unsigned k = 0; k < 9; k++)
			assert_int_equal(vb_psn_diff(vb_psn(edge[i]), vb_psn(edge[k])),
					 diff_by_shift(edge[i], edge[k]));
	for (unsigned i = 0; i < 100000; i++) {
		uint32_t a = vb_rng_below(&r, 1u << 24), b = vb_rng_below(&r, 1u << 24);

		assert_int_equal(vb_psn_diff(vb_psn(a), vb_psn(b)), diff_by_shift(a, b));
	}
	assert_int_equal(vb_psn_diff(vb_psn(0x800000), vb_psn(0)), -0x800000);
	assert_int_equal(vb_psn_diff(vb_psn(0x7fffff), vb_psn(0)), 0x7fffff);
}

static void psn_before__across_the_wrap(void **state)
{
	(void)state;
	assert_true(vb_psn_before(vb_psn(0xffffff), vb_psn(0)));
	assert_false(vb_psn_before(vb_psn(0), vb_psn(0xffffff)));
	assert_false(vb_psn_before(vb_psn(5), vb_psn(5)));
	assert_true(vb_psn_before(vb_psn(0), vb_psn(0x7fffff)));
	/* Exactly half of the space away counts as behind: a duplicate, never the future. */
	assert_true(vb_psn_before(vb_psn(0x800000), vb_psn(0)));
	assert_int_equal(vb_psn_later(vb_psn(0xffffff), vb_psn(2)).v, 2);
	assert_int_equal(vb_psn_later(vb_psn(2), vb_psn(0xffffff)).v, 2);
}

static void psn_span__is_forward_distance(void **state)
{
	(void)state;
	assert_int_equal(vb_psn_span(vb_psn(0xfffffe), vb_psn(3)), 5);
	assert_int_equal(vb_psn_span(vb_psn(3), vb_psn(0xfffffe)), 0xfffffb);
	assert_int_equal(vb_psn_span(vb_psn(7), vb_psn(7)), 0);
	assert_true(vb_psn_eq(vb_psn(0x1000007), vb_psn(7)));
}

static void rng__streams_are_repeatable_and_apart(void **state)
{
	struct vb_rng a = vb_rng_stream(1, "loss", 0), b = vb_rng_stream(1, "loss", 0);
	struct vb_rng c = vb_rng_stream(1, "loss", 1), d = vb_rng_stream(1, "order", 0);
	unsigned hit[8] = {0};

	(void)state;
	for (unsigned i = 0; i < 8000; i++) {
		uint64_t x = vb_rng_next(&a);

		assert_true(x == vb_rng_next(&b));
		assert_true(x != vb_rng_next(&c));
		assert_true(x != vb_rng_next(&d));
		hit[vb_rng_below(&b, 8)]++;
		a = b;
	}
	for (unsigned i = 0; i < 8; i++)
		assert_uint_in_range(hit[i], 900, 1100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(psn__keeps_24_bits),
	    cmocka_unit_test(psn_add__wraps),
	    cmocka_unit_test(psn_diff__is_signed_distance),
	    cmocka_unit_test(psn_before__across_the_wrap),
	    cmocka_unit_test(psn_span__is_forward_distance),
	    cmocka_unit_test(rng__streams_are_repeatable_and_apart),
	};

	return cmocka_run_group_tests_name("psn", tests, NULL, NULL);
}
