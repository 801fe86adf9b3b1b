/* SPDX-License-Identifier: BSD-2-Clause */
/* The limiter: its rate in the long run and in any window, what it carries and what it forgets. */
#include "base/rng.h"
#include "cmocka_env.h"
#include "core/cc/cc.h"

static struct vb_cc_settings limited(uint32_t clk)
{
	return (struct vb_cc_settings){
	    .hw_rate_throttle_en = true,
	    .speed_limiter_en = true,
	    .cc_clk_hz = clk,
	    .dcqcn_max_rate = VB_CC_RATE_MAX,
	    .dcqcn_min_rate = 1,
	};
}

/* Sends whatever may leave, each packet when the limiter says; bytes sent in @span. */
static uint64_t bytes_in(struct vb_cc *cc, const struct vb_cc_settings *s, uint32_t pkt,
			 vb_time from, vb_dur span)
{
	vb_time now = from;
	uint64_t bytes = 0;

	while (now < from + span) {
		vb_time at = vb_cc_send_at(cc, s, now);

		if (at > now) {
			now = at;
			continue;
		}
		vb_cc_on_sent(cc, s, pkt, now);
		bytes += pkt;
	}
	return bytes;
}

/* CC-01, CC-33: within 0.1 % of the register from 1 to 65,535 units, at any clock. */
static void rate__exact(void **state)
{
	static const uint32_t clk[] = {250000000, 322265625, 200000000};

	(void)state;
	for (uint32_t next = 1, units = 0; units < VB_CC_RATE_MAX; next = next * 3 / 2 + 1) {
		units = next < VB_CC_RATE_MAX ? next : VB_CC_RATE_MAX;
		for (size_t c = 0; c < sizeof clk / sizeof clk[0]; c++) {
			struct vb_cc_settings s = limited(clk[c]);
			struct vb_cc cc = {0};
			uint32_t pkt = c == 1 ? 4138 : 1066;
			/* 5000 packets, so that the one at the end counts for 0.02 %. */
			double per_ns = units * (double)clk[c] / 1024e9;
			vb_dur span = (vb_dur)(5000 * pkt / per_ns);

			vb_cc_reset(&cc, &s, 0);
			vb_cc_set_rate(&cc, &s, (uint16_t)units, 0);

			double got = (double)bytes_in(&cc, &s, pkt, 0, span);
			double want = per_ns * (double)span;

			assert_true(got >= want * 0.9995 && got <= want * 1.0005);
		}
	}
	struct vb_cc_settings s = limited(250000000);
	struct vb_cc cc = {0};

	vb_cc_reset(&cc, &s, 0);
	vb_cc_set_rate(&cc, &s, 65535, 0);
	uint64_t got = bytes_in(&cc, &s, 300, 0, 10 * VB_MSEC);

	assert_uint_in_range(got, UINT64_C(159838000),
			     UINT64_C(160158000)); /* 65535 / 4096 ns, 0.1 % */
}

/* CC-01: in any span no more than its windows allow, and a packet. */
static void window__never_exceeded(void **state)
{
	struct vb_rng g = vb_rng_stream(3, "test", 0);

	(void)state;
	for (int run = 0; run < 200; run++) {
		struct vb_cc_settings s = limited(250000000);
		struct vb_cc cc = {0};
		uint16_t units = (uint16_t)(1 + vb_rng_below(&g, 65535));
		vb_time now = 0, begin = 0;
		uint64_t sum = 0;

		vb_cc_reset(&cc, &s, 0);
		vb_cc_set_rate(&cc, &s, units, 0);
		for (int i = 0; i < 500; i++) {
			vb_time at = vb_cc_send_at(&cc, &s, now);

			if (at > now)
				now = at + vb_rng_below(&g, 3) * vb_rng_below(&g, 9000);
			if (vb_rng_below(&g, 20) == 0) {
				begin = now;
				sum = 0;
			}
			vb_cc_on_sent(&cc, &s, 1066, now);
			sum += 1066;
			/* The windows touched: the span, and a part of one at each end. */
			assert_true((sum - 1066) * 4096 <= (now - begin + 2 * 4096) * units + 4096);
			now += vb_rng_below(&g, 50);
		}
	}
}

/* Idle time is forgotten but for a window; with GSO batches, for as long as a burst. */
static void idle__is_not_saved(void **state)
{
	struct vb_cc_settings s = limited(250000000);
	struct vb_cc cc = {0};

	(void)state;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_set_rate(&cc, &s, 10000, 0);
	assert_uint_in_range(bytes_in(&cc, &s, 1000, VB_SEC, 1), 11000, 11000);
	s.limiter_burst_ns = 40960;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_set_rate(&cc, &s, 10000, 0);
	assert_uint_in_range(bytes_in(&cc, &s, 1000, VB_SEC, 1), 101000, 101000);
	/* A QP that waits does so for half a burst, and then sends a GSO batch. */
	vb_time at = vb_cc_send_at(&cc, &s, VB_SEC);

	assert_uint_in_range(at, VB_SEC + 20480, VB_SEC + 20480 + 410);
	assert_uint_in_range(bytes_in(&cc, &s, 1000, at, 1), 50000, 52000);
	/* The mean is the same. */
	assert_uint_in_range(bytes_in(&cc, &s, 1000, at, 100 * VB_MSEC), 244000000, 244250000);
}

/* CC-60: bytes owed at a slow rate are paid at the new one. */
static void rate__raised_while_waiting(void **state)
{
	struct vb_cc_settings s = limited(250000000);
	struct vb_cc cc = {0};

	(void)state;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_set_rate(&cc, &s, 1, 0);
	vb_cc_on_sent(&cc, &s, 1000, 0);
	assert_int_equal(vb_cc_send_at(&cc, &s, 0), 4096000);
	vb_cc_set_rate(&cc, &s, 100, 96000);
	assert_int_equal(vb_cc_send_at(&cc, &s, 96000), 136000);
	/* A register of 0 is the minimum. */
	s.dcqcn_min_rate = 50;
	vb_cc_set_rate(&cc, &s, 0, 96000);
	assert_int_equal(vb_cc_send_at(&cc, &s, 96000), 176000);
	/* So is one that was set before the minimum was. */
	s.dcqcn_min_rate = 1;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_set_rate(&cc, &s, 1, 0);
	s.dcqcn_min_rate = 50;
	vb_cc_on_sent(&cc, &s, 1000, 0);
	assert_int_equal(vb_cc_send_at(&cc, &s, 0), 81920);
}

/* The bytes charged to the window that ends now. */
static void bytes__of_window(void **state)
{
	struct vb_cc_settings s = limited(250000000);
	struct vb_cc cc = {0};

	(void)state;
	vb_cc_reset(&cc, &s, VB_SEC);
	vb_cc_set_rate(&cc, &s, 4096, VB_SEC); /* a byte each ns */
	assert_int_equal(vb_limiter_bytes(&cc, &s, VB_SEC + 5000), 0);
	vb_cc_on_sent(&cc, &s, 1000, VB_SEC + 5000);
	assert_int_equal(vb_limiter_bytes(&cc, &s, VB_SEC + 5000), 1000);
	assert_int_equal(vb_limiter_bytes(&cc, &s, VB_SEC + 5400), 600);
	assert_int_equal(vb_limiter_bytes(&cc, &s, VB_SEC + 6000), 0);
	s.cc_clk_hz = 0;
	assert_int_equal(vb_limiter_bytes(&cc, &s, VB_SEC), 0);
}

/* The cost of a packet follows its size, the rate, its floor and the clock, whatever the one before
 * was. CC-33, CC-60 */
static void cost__of_each_packet(void **state)
{
	static const uint32_t size[] = {1066, 1082, 1066, 66}, clk[] = {250000000, 322265625};
	static const uint16_t units[] = {1, 6553, 6554, 65535}, least[] = {0, 1, 7000};
	struct vb_rng g = vb_rng_stream(5, "test", 0);
	struct vb_cc_settings s = limited(clk[0]);
	struct vb_cc cc = {0};
	uint64_t q15 = 0; /* of the account: ns / 2^15 */

	(void)state;
	vb_cc_reset(&cc, &s, 0);
	for (int i = 0; i < 20000; i++) {
		uint32_t bytes = size[vb_rng_below(&g, 4)];

		/* At the account's own instant: nothing is owed that a new rate would change. */
		if (vb_rng_below(&g, 8) == 0) {
			s.cc_clk_hz = clk[vb_rng_below(&g, 2)];
			s.dcqcn_min_rate = least[vb_rng_below(&g, 3)];
			vb_cc_set_rate(&cc, &s, units[vb_rng_below(&g, 4)], cc.next);
		}

		uint64_t rate = cc.cc_rate > s.dcqcn_min_rate ? cc.cc_rate : s.dcqcn_min_rate;
		uint64_t num = bytes * UINT64_C(1024000000000), den = rate * s.cc_clk_hz;

		q15 += (num / den << 15) + (num % den << 15) / den;
		vb_cc_on_sent(&cc, &s, bytes, cc.next);
		assert_int_equal(cc.next, q15 >> 15);
		assert_int_equal(cc.next_q15, q15 & 0x7fff);
	}
}

/* As by division; spans as long as they get. */
static void exceeds__what_it_costs(void **state)
{
	struct vb_rng g = vb_rng_stream(6, "test", 0);
	uint32_t longer = 0;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		struct vb_cc_settings s = limited(1000000 + vb_rng_below(&g, 3999000001));
		struct vb_cc cc = {.cc_rate = (uint16_t)(vb_rng_next(&g) >> vb_rng_below(&g, 64))};
		uint32_t bytes = vb_rng_below(&g, (1u << 20) + 1);
		uint64_t per = (cc.cc_rate ? cc.cc_rate : 1u) * (uint64_t)s.cc_clk_hz;
		vb_dur cost = bytes * UINT64_C(1024000000000) / per;
		vb_dur span = i % 3 == 0   ? cost
			      : i % 3 == 1 ? cost - (cost != 0)
					   : vb_rng_next(&g) >> vb_rng_below(&g, 64);

		assert_int_equal(vb_limiter_exceeds(&cc, &s, bytes, span), cost > span);
		assert_false(vb_limiter_exceeds(&cc, &s, bytes, VB_NEVER));
		longer += cost > span;
	}
	assert_uint_in_range(longer, 33000, 99000);
}

/* A least rate of 0 counts as 1, also for a QP whose rate a register made 0. CC-60 */
static void rate__of_0_counts_as_1(void **state)
{
	struct vb_cc_settings one = limited(250000000), none = one;
	struct vb_cc least = {.cc_rate = 1}, zero = {.cc_rate = 0};

	(void)state;
	none.dcqcn_min_rate = 0;
	for (int i = 0; i < 3; i++) {
		vb_limiter_charge(&least, &one, 1066, 0);
		vb_limiter_charge(&zero, &none, 1066, 0);
		assert_true(least.next > 0);
		assert_int_equal(zero.next, least.next);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rate__exact),
	    cmocka_unit_test(window__never_exceeded),
	    cmocka_unit_test(idle__is_not_saved),
	    cmocka_unit_test(rate__raised_while_waiting),
	    cmocka_unit_test(bytes__of_window),
	    cmocka_unit_test(cost__of_each_packet),
	    cmocka_unit_test(exceeds__what_it_costs),
	    cmocka_unit_test(rate__of_0_counts_as_1),
	};

	return cmocka_run_group_tests_name("cc_limiter", tests, NULL, NULL);
}
