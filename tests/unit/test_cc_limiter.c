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
	for (uint32_t units = 1; units <= VB_CC_RATE_MAX; units = units * 3 / 2 + 1) {
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

	assert_in_range(got, UINT64_C(159838000), UINT64_C(160158000)); /* 65535 / 4096 ns, 0.1 % */
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

/* Idle time is forgotten but for a window; with trains, for as long as a burst. */
static void idle__is_not_saved(void **state)
{
	struct vb_cc_settings s = limited(250000000);
	struct vb_cc cc = {0};

	(void)state;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_set_rate(&cc, &s, 10000, 0);
	assert_in_range(bytes_in(&cc, &s, 1000, VB_SEC, 1), 11000, 11000);
	s.limiter_burst_ns = 40960;
	vb_cc_reset(&cc, &s, 0);
	vb_cc_set_rate(&cc, &s, 10000, 0);
	assert_in_range(bytes_in(&cc, &s, 1000, VB_SEC, 1), 101000, 101000);
	/* Who waits does so for half a burst, and then sends a train. */
	vb_time at = vb_cc_send_at(&cc, &s, VB_SEC);

	assert_in_range(at, VB_SEC + 20480, VB_SEC + 20480 + 410);
	assert_in_range(bytes_in(&cc, &s, 1000, at, 1), 50000, 52000);
	/* The mean is the same. */
	assert_in_range(bytes_in(&cc, &s, 1000, at, 100 * VB_MSEC), 244000000, 244250000);
}

/* CC-60: what is owed at a slow rate is paid at the new one. */
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
}

/* What is charged to the window that ends now. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rate__exact),        cmocka_unit_test(window__never_exceeded),
	    cmocka_unit_test(idle__is_not_saved), cmocka_unit_test(rate__raised_while_waiting),
	    cmocka_unit_test(bytes__of_window),
	};

	return cmocka_run_group_tests_name("cc_limiter", tests, NULL, NULL);
}
