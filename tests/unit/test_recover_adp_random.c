/* SPDX-License-Identifier: BSD-2-Clause */
/* Chance in the adaptive ladder: what is drawn, and what holds whatever the profile is. */
#include "ladder.h"

/* ADP-01, ADP-02, ADP-07: all values of the window and no other, about equally often; two QPs
 * differ with probability 1 - 1/size. */
static void initial__drawn_from_window(void **state)
{
	enum { QPS = 4000 };
	unsigned cnt[4] = {0}, differ = 0, last = 0;
	struct vb_rto_rules rules = {.set = worked};
	struct vb_rto r;

	(void)state;
	for (uint32_t qpn = 0; qpn < QPS; qpn++) {
		vb_rto_reset(&r, &rules, 14, 7, vb_rng_stream(99, "adp", qpn));
		assert_uint_in_range(r.cur_exp, 12, 15);
		cnt[r.cur_exp - 12]++;
		differ += qpn && r.cur_exp != last;
		last = r.cur_exp;
	}
	for (int i = 0; i < 4; i++)
		assert_uint_in_range(cnt[i], QPS / 4 - 110, QPS / 4 + 110); /* 4 sigma */
	assert_uint_in_range(differ, QPS * 3 / 4 - 110, QPS * 3 / 4 + 110);
	rules.set.profile.timeout_init_range_size = 0;
	vb_rto_reset(&r, &rules, 14, 7, vb_rng_stream(99, "adp", 1));
	assert_int_equal(r.cur_exp, 12);
	/* The same seed and QP: the same draw. */
	rules.set.profile.timeout_init_range_size = 200;
	vb_rto_reset(&r, &rules, 14, 7, vb_rng_stream(99, "adp", 1));
	last = r.cur_exp;
	vb_rto_reset(&r, &rules, 14, 7, vb_rng_stream(99, "adp", 1));
	assert_int_equal(r.cur_exp, last);
}

static uint32_t below(struct vb_rng *g, uint32_t n)
{
	return vb_rng_below(g, n);
}

static struct vb_recovery random_settings(struct vb_rng *g)
{
	struct vb_recovery set = {.roce_adp_retrans_en = true, .adp_retx_profile_id = 1};
	struct vb_adp_profile *p = &set.profile;
	unsigned low = below(g, 6);

	p->qp_total_timeout = below(g, 2);
	p->range_num = (uint8_t)(1 + below(g, VB_ADP_RANGES_MAX));
	p->start_range_index = (uint8_t)below(g, p->range_num);
	p->time_unit = VB_ADP_TIME_USEC;
	p->time_base = (uint16_t)(4u << below(g, 3));
	p->retx_total_timeout = (uint8_t)(4 + below(g, 16));
	p->timeout_init_low_bound = (uint8_t)below(g, 12);
	p->timeout_init_range_size = (uint8_t)below(g, 5);
	for (int i = 0; i < p->range_num; i++) {
		p->timeout_range[i] = (struct vb_adp_range){
		    .prev_range_index = (uint8_t)(i ? below(g, (uint32_t)i) : 0),
		    .dec_mode = (uint8_t)below(g, 3),
		    .timeout_retry_num = (uint16_t)below(g, 4),
		    .range_low_bound = (uint8_t)low,
		    .range_size = (uint8_t)below(g, 6),
		};
		low += 1 + below(g, 5);
	}
	return set;
}

/* Properties, over random profiles: without progress the timeout never falls, no timer exceeds the
 * cap, the QP gives up exactly at its total; progress never raises the timeout and its exponent
 * stays where a range or the initial window has it. ADP-12, ADP-16, ADP-18, ADP-20 */
static void ladder__properties(void **state)
{
	struct vb_rng g = vb_rng_stream(5, "test", 0);

	(void)state;
	for (int run = 0; run < 5000; run++) {
		struct vb_recovery set = random_settings(&g);
		uint8_t timeout = (uint8_t)(1 + below(&g, 10)), retry = (uint8_t)(1 + below(&g, 7));
		struct ladder l;

		ladder_init(&l, &set, timeout, retry, (uint64_t)run);
		vb_dur cap = UINT64_C(4096) << timeout;
		vb_dur total = set.profile.qp_total_timeout ? cap * retry
							    : set.profile.time_base * VB_USEC
								  << set.profile.retx_total_timeout;
		vb_time begin = l.now;
		bool entered = false;

		for (;;) {
			uint8_t before = l.rto.cur_exp;

			assert_uint_in_range(armed(&l), 1, cap);
			assert_true(l.fires <= begin + total);
			if (!fire(&l))
				break;
			/* The start range may lie below an initial value outside the ranges. */
			assert_true(l.rto.cur_exp >= before || !entered);
			entered = true;
		}
		assert_int_equal(l.now, begin + total);
		for (int i = 0; entered && i < 60; i++) {
			uint8_t before = l.rto.cur_exp;

			progress(&l);
			assert_true(l.rto.cur_exp <= before);
			assert_true(l.rto.range < set.profile.range_num);
		}
		if (entered)
			assert_int_equal(progress(&l), VB_RTO_STAYS);
	}
}

/* D-34: N QPs that lose together try again at about s(1 - (1 - 1/s)^N) different instants. */
static void initial__desynchronizes(void **state)
{
	struct vb_rto_rules rules = {.set = worked};
	unsigned runs = 2000, sum = 0;

	(void)state;
	rules.set.profile.timeout_init_range_size = 8;
	for (unsigned run = 0; run < runs; run++) {
		unsigned seen = 0;

		for (uint32_t qpn = 0; qpn < 8; qpn++) {
			struct vb_rto r;

			vb_rto_reset(&r, &rules, 14, 7, vb_rng_stream(run, "adp", qpn));
			seen |= 1u << (r.cur_exp - 12);
		}
		sum += (unsigned)__builtin_popcount(seen);
	}
	/* 8 (1 - (7/8)^8) = 5.2512; sigma of one run is below 1. */
	assert_uint_in_range(sum, runs * 515 / 100, runs * 535 / 100);
}

/* An initial value beyond what a ladder can climb is the highest that there is. ADP-01, ADP-03 */
static void initial__saturates(void **state)
{
	struct vb_recovery set = worked;
	struct ladder l;

	(void)state;
	set.profile.timeout_init_low_bound = set.profile.timeout_init_range_size = UINT8_MAX;
	for (uint64_t seed = 0; seed < 20; seed++) {
		ladder_init(&l, &set, 0, 7, seed);
		assert_int_equal(l.rto.cur_exp, UINT8_MAX);
	}
}

/* A range that reaches beyond the highest value ends with it. ADP-03, ADP-21 */
static void lower__into_a_range_that_saturates(void **state)
{
	struct vb_adp_profile p = worked.profile;
	struct vb_rto r = {.cur_exp = 210, .range = 1};

	(void)state;
	p.timeout_range[0].range_low_bound = 200;
	p.timeout_range[0].range_size = 100;
	p.timeout_range[1] = (struct vb_adp_range){.prev_range_index = 0,
						   .dec_mode = VB_ADP_DEC_DIV_2,
						   .range_low_bound = 210,
						   .range_size = 1};
	assert_int_equal(vb_adp_lower(&r, &p), VB_RTO_PREV_RANGE);
	assert_int_equal(r.cur_exp, 210);
	assert_int_equal(r.range, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(initial__drawn_from_window),
	    cmocka_unit_test(initial__desynchronizes),
	    cmocka_unit_test(ladder__properties),
	    cmocka_unit_test(initial__saturates),
	    cmocka_unit_test(lower__into_a_range_that_saturates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
