/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The retransmission policy as an object: the adaptive ladder step by step, its budget, and the
 * fixed timer beside it. Time is a number here; nothing is sent.
 */
#include "ladder.h"

#include <string.h>

#define LADDER_STEPS_MAX 4096

static void ladder_from(struct ladder *l, const struct vb_recovery *set, uint8_t exp)
{
	ladder_init(l, set, 0, 7, 1);
	l->rto.cur_exp = exp;
}

/* ADP-03, ADP-04, ADP-05, ADP-11, ADP-12, ADP-13, ADP-19, ADP-20, ADP-21, ADP-22: facts A.1's
 * example, from e0 = 13. */
static void ladder__worked_example(void **state)
{
	static const struct {
		uint64_t us;
		enum vb_rto_move move;
	} up[] = {
	    {32768, VB_RTO_ENTERS},   {32768, VB_RTO_DOUBLES},  {65536, VB_RTO_AGAIN},
	    {65536, VB_RTO_DOUBLES},  {131072, VB_RTO_AGAIN},   {131072, VB_RTO_NEXT_RANGE},
	    {262144, VB_RTO_DOUBLES}, {524288, VB_RTO_DOUBLES}, {1048576, VB_RTO_HOLDS},
	    {1048576, VB_RTO_HOLDS},  {1048576, VB_RTO_HOLDS},
	};
	static const struct {
		enum vb_rto_move move;
		uint8_t exp, range;
	} down[] = {
	    {VB_RTO_DECREMENTS, 16, 1}, {VB_RTO_PREV_RANGE, 15, 0}, {VB_RTO_DECREMENTS, 14, 0},
	    {VB_RTO_DECREMENTS, 13, 0}, {VB_RTO_DECREMENTS, 12, 0}, {VB_RTO_STAYS, 12, 0},
	    {VB_RTO_STAYS, 12, 0},
	};
	struct ladder l;

	(void)state;
	ladder_from(&l, &worked, 13);
	for (size_t i = 0; i < sizeof up / sizeof up[0]; i++) {
		assert_int_equal(armed(&l), up[i].us * VB_USEC);
		assert_true(fire(&l));
		assert_int_equal(l.move, up[i].move);
	}
	for (size_t i = 0; i < sizeof down / sizeof down[0]; i++) {
		assert_int_equal(progress(&l), down[i].move);
		assert_int_equal(l.rto.cur_exp, down[i].exp);
		assert_int_equal(l.rto.range, down[i].range);
	}
	assert_int_equal(armed(&l), 16384 * VB_USEC);
}

/* A window held the attempt back until the total was over: its deadline still lies ahead. */
static void ladder__armed_after_the_total(void **state)
{
	struct ladder l;
	vb_time now;

	(void)state;
	ladder_from(&l, &worked, 13);
	(void)armed(&l);
	now = l.rto.since + l.rto.total + VB_MSEC;
	assert_true(vb_rto_arm(&l.rto, &l.rules, now) == now + l.rto.timeout);
}

/* A dead peer is found dead on a host that never lets a process run for long: so many wake-ups in a
 * row are forgiven, and not more. IBA 9.7.6.1.3 */
static void wake_up__forgiven_seven_times(void **state)
{
	struct vb_recovery adaptive = worked;

	(void)state;
	adaptive.profile.qp_total_timeout = true;
	for (int is_adaptive = 0; is_adaptive < 2; is_adaptive++) {
		struct vb_recovery fixed = {0};
		struct ladder l;

		ladder_init(&l, is_adaptive ? &adaptive : &fixed, 8, 0, 1);
		for (int i = 0; i < 7; i++) {
			(void)armed(&l);
			vb_rto_woke(&l.rto);
			assert_true(fire(&l));
		}
		(void)armed(&l);
		vb_rto_woke(&l.rto);
		assert_false(fire(&l));
		(void)progress(&l);
		(void)armed(&l);
		vb_rto_woke(&l.rto);
		assert_true(fire(&l));
	}
}

/* ADP-06, ADP-09: an initial value outside every range fires once. */
static void ladder__initial_value_outside(void **state)
{
	struct vb_recovery set = worked;
	struct ladder l;

	(void)state;
	set.profile.start_range_index = 1;
	ladder_from(&l, &set, 5);
	assert_int_equal(armed(&l), 128 * VB_USEC);
	assert_true(fire(&l));
	assert_int_equal(l.move, VB_RTO_START_RANGE);
	assert_int_equal(l.rto.range, 1);
	assert_int_equal(armed(&l), 262144 * VB_USEC);
	assert_true(fire(&l));
	assert_int_equal(l.move, VB_RTO_DOUBLES);
}

/* ADP-05: the lowest range that matches; ADP-13: entering a range never lowers the timeout. */
static void ladder__overlapping_ranges(void **state)
{
	struct vb_recovery set = worked;
	struct ladder l;

	(void)state;
	set.profile.timeout_range[0] = (struct vb_adp_range){0, VB_ADP_DEC_DIV_2, 1, 12, 6};
	set.profile.timeout_range[1] = (struct vb_adp_range){0, VB_ADP_DEC_DIV_2, 1, 14, 6};
	ladder_from(&l, &set, 15);
	armed(&l);
	assert_true(fire(&l));
	assert_int_equal(l.rto.range, 0);
	assert_int_equal(l.rto.cur_exp, 16);
	assert_true(fire(&l));
	assert_true(fire(&l));
	assert_int_equal(l.move, VB_RTO_NEXT_RANGE);
	assert_int_equal(l.rto.cur_exp, 17);
	/* ... and leaving one downwards never raises it. */
	l.rto.cur_exp = 14;
	assert_int_equal(progress(&l), VB_RTO_PREV_RANGE);
	assert_int_equal(l.rto.cur_exp, 14);
	assert_int_equal(progress(&l), VB_RTO_DECREMENTS);
	assert_int_equal(l.rto.cur_exp, 13);
}

/* ADP-05: a range ends before low + size: the value there lies outside. */
static void ladder__upper_bound_is_exclusive(void **state)
{
	struct vb_recovery set = worked;
	struct ladder l;

	(void)state;
	set.profile.timeout_range[1].range_low_bound = 20;
	ladder_from(&l, &set, 15);
	armed(&l);
	assert_true(fire(&l));
	assert_int_equal(l.move, VB_RTO_ENTERS);
	assert_int_equal(l.rto.range, 0);
	ladder_from(&l, &set, 16);
	armed(&l);
	assert_true(fire(&l));
	assert_int_equal(l.move, VB_RTO_START_RANGE);
	assert_int_equal(l.rto.cur_exp, 12);
	ladder_from(&l, &set, 23);
	armed(&l);
	assert_true(fire(&l));
	assert_int_equal(l.move, VB_RTO_START_RANGE);
}

/* ADP-25: without a profile 4 and 8 ms first, then each value once, 4 ms to 512 ms in two ranges;
 * progress halves the time. */
static void ladder__of_the_emulated_firmware(void **state)
{
	static const struct {
		enum vb_rto_move move;
		uint8_t exp, range;
	} up[] = {
	    {VB_RTO_DOUBLES, 11, 0},    {VB_RTO_DOUBLES, 12, 0}, {VB_RTO_DOUBLES, 13, 0},
	    {VB_RTO_NEXT_RANGE, 14, 1}, {VB_RTO_DOUBLES, 15, 1}, {VB_RTO_DOUBLES, 16, 1},
	    {VB_RTO_DOUBLES, 17, 1},    {VB_RTO_HOLDS, 17, 1},   {VB_RTO_HOLDS, 17, 1},
	};
	static const struct {
		enum vb_rto_move move;
		uint8_t exp, range;
	} down[] = {
	    {VB_RTO_DECREMENTS, 16, 1}, {VB_RTO_DECREMENTS, 15, 1}, {VB_RTO_DECREMENTS, 14, 1},
	    {VB_RTO_PREV_RANGE, 13, 0}, {VB_RTO_DECREMENTS, 12, 0}, {VB_RTO_DECREMENTS, 11, 0},
	    {VB_RTO_DECREMENTS, 10, 0}, {VB_RTO_STAYS, 10, 0},
	};
	struct ladder l;

	(void)state;
	for (uint64_t seed = 0; seed < 64; seed++) {
		ladder_init(&l, &vb_recovery_default, 0, 7, seed);
		assert_uint_in_range(l.rto.cur_exp, 10, 11);
	}
	ladder_from(&l, &vb_recovery_default, 10);
	for (size_t i = 0; i < sizeof up / sizeof up[0]; i++) {
		assert_int_equal(armed(&l), UINT64_C(4000) << (i ? up[i - 1].exp : 10));
		assert_true(fire(&l));
		assert_int_equal(l.move, up[i].move);
		assert_int_equal(l.rto.cur_exp, up[i].exp);
		assert_int_equal(l.rto.range, up[i].range);
	}
	for (size_t i = 0; i < sizeof down / sizeof down[0]; i++) {
		assert_int_equal(progress(&l), down[i].move);
		assert_int_equal(l.rto.cur_exp, down[i].exp);
		assert_int_equal(l.rto.range, down[i].range);
	}
}

/* ADP-11: a retry number of 0 is one use. ADP-14, REG-31: a range has at least one value. */
static void ladder__zero_counts(void **state)
{
	struct vb_recovery set = worked;
	struct ladder l;

	(void)state;
	set.profile.timeout_range[0].timeout_retry_num = 0;
	set.profile.timeout_range[0].range_size = 0;
	ladder_from(&l, &set, 12);
	armed(&l);
	assert_true(fire(&l));
	assert_int_equal(l.move, VB_RTO_NEXT_RANGE);
	assert_int_equal(l.rto.cur_exp, 16);
}

/* REG-29: uses of a value count only when they are consecutive. */
static void ladder__progress_forgets_uses(void **state)
{
	struct ladder l;

	(void)state;
	ladder_from(&l, &worked, 12);
	armed(&l);
	assert_true(fire(&l));
	assert_int_equal(l.move, VB_RTO_ENTERS);
	assert_int_equal(progress(&l), VB_RTO_STAYS);
	armed(&l);
	assert_true(fire(&l));
	assert_int_equal(l.move, VB_RTO_AGAIN);
}

/* ADP-20, ADP-21 with LOW_BOUND: to the low bound at once, then to that of the previous range. */
static void progress__low_bound(void **state)
{
	struct vb_recovery set = worked;
	struct ladder l;

	(void)state;
	set.profile.timeout_range[1].dec_mode = VB_ADP_DEC_LOW_BOUND;
	ladder_from(&l, &set, 18);
	armed(&l);
	assert_true(fire(&l));
	assert_int_equal(progress(&l), VB_RTO_DECREMENTS);
	assert_int_equal(l.rto.cur_exp, 16);
	assert_int_equal(progress(&l), VB_RTO_PREV_RANGE);
	assert_int_equal(l.rto.cur_exp, 12);
}

/* ADP-20: division by 4 is two steps, and never below the low bound. */
static void progress__div_4_stops_at_low_bound(void **state)
{
	struct ladder l;

	(void)state;
	ladder_from(&l, &worked, 17);
	armed(&l);
	l.rto.range = 1;
	assert_int_equal(progress(&l), VB_RTO_DECREMENTS);
	assert_int_equal(l.rto.cur_exp, 16);
}

/* ADP-24, REG-27: prev_range_index may skip a range. */
static void progress__previous_range_skips(void **state)
{
	struct vb_recovery set = worked;
	struct ladder l;

	(void)state;
	set.profile.range_num = 3;
	set.profile.timeout_range[2] = (struct vb_adp_range){0, VB_ADP_DEC_DIV_2, 1, 20, 1};
	ladder_from(&l, &set, 20);
	armed(&l);
	assert_true(fire(&l));
	assert_int_equal(l.rto.range, 2);
	assert_int_equal(progress(&l), VB_RTO_PREV_RANGE);
	assert_int_equal(l.rto.range, 0);
	assert_int_equal(l.rto.cur_exp, 15);
}

/* ADP-19: nothing is decremented before the first timeout. */
static void progress__before_any_timeout(void **state)
{
	struct ladder l;

	(void)state;
	ladder_from(&l, &worked, 15);
	armed(&l);
	assert_int_equal(progress(&l), VB_RTO_STAYS);
	assert_int_equal(l.rto.cur_exp, 15);
}

/* ADP-22: as an option, what was in flight together lowers the timeout once. */
static void progress__per_flight(void **state)
{
	struct vb_recovery set = worked;
	struct ladder l;

	(void)state;
	set.adp_dec_per_flight = true;
	ladder_from(&l, &set, 15);
	armed(&l);
	assert_true(fire(&l));
	assert_int_equal(vb_rto_progress(&l.rto, &l.rules, vb_psn(10), vb_psn(20)),
			 VB_RTO_DECREMENTS);
	assert_int_equal(vb_rto_progress(&l.rto, &l.rules, vb_psn(19), vb_psn(30)), VB_RTO_STAYS);
	assert_int_equal(vb_rto_progress(&l.rto, &l.rules, vb_psn(20), vb_psn(31)),
			 VB_RTO_DECREMENTS);
}

/* ADP-16: the QP's timeout caps the timer, not the place on the ladder. */
static void timeout__capped_by_qp(void **state)
{
	struct ladder l;
	unsigned slot;

	(void)state;
	ladder_init(&l, &worked, 12, 7, 1); /* 16.777 ms */
	l.rto.cur_exp = 13;
	assert_int_equal(armed(&l), UINT64_C(4096) << 12);
	vb_adp_timeout(&l.rto, &l.rules.set, &slot);
	assert_int_equal(slot, 64 + 12);
	for (int i = 0; i < 9; i++) {
		assert_true(fire(&l));
		assert_int_equal(armed(&l), UINT64_C(4096) << 12);
	}
	assert_int_equal(l.rto.cur_exp, 18);
	/* 4 us and 4.096 us are different bases. ADP-10 */
	l.rto.cur_exp = 12;
	assert_int_equal(armed(&l), UINT64_C(4000) << 12);
	vb_adp_timeout(&l.rto, &l.rules.set, &slot);
	assert_int_equal(vb_adp_fired_ns(slot), UINT64_C(4000) << 12);
}

/* ADP-03: exponents of 8 bits overflow everything; the timer is then for ever. */
static void timeout__saturates(void **state)
{
	struct vb_recovery set = worked;
	struct ladder l;

	(void)state;
	set.profile.retx_total_timeout = 255;
	set.profile.time_base = 32768;
	ladder_from(&l, &set, 255);
	assert_true(armed(&l) == VB_NEVER);
	l.rto.cur_exp = 60;
	assert_true(armed(&l) == VB_NEVER);
	l.rto.cur_exp = 38;
	assert_true(armed(&l) == UINT64_C(32768000) << 38);
}

/* ADP-23: never less than 4 us. */
static void timeout__at_least_base_minimum(void **state)
{
	struct ladder l;

	(void)state;
	ladder_from(&l, &worked, 0);
	assert_int_equal(armed(&l), 4000);
	ladder_init(&l, &worked, 1, 7, 1);
	l.rto.cur_exp = 1;
	assert_int_equal(armed(&l), 8000);
}

/* Sum of all timers until the QP gives up without progress. */
static vb_dur spent(struct ladder *l)
{
	vb_time begin = l->now;

	for (int i = 0; i < LADDER_STEPS_MAX; i++) {
		armed(l);
		if (!fire(l))
			return l->now - begin;
	}
	fail_msg("no end after %d timeouts", LADDER_STEPS_MAX);
	return 0;
}

/* ADP-17, ADP-18: both ways of saying how long it may take, by the QP's timeout and retry_cnt
 * (ADP-30) or by the profile; facts E.3: 469.762 ms. */
static void total__both_ways(void **state)
{
	struct vb_recovery set = worked;
	struct ladder l;

	(void)state;
	set.profile.retx_total_timeout = 17;
	ladder_init(&l, &set, 14, 7, 1);
	assert_int_equal(spent(&l), 524288 * VB_USEC);
	set.profile.qp_total_timeout = true;
	ladder_init(&l, &set, 14, 7, 1);
	assert_int_equal(spent(&l), 469762048);
	ladder_init(&l, &set, 14, 0, 1); /* the time of one timeout */
	assert_int_equal(spent(&l), 67108864);
	set.extended_retry_count = 10; /* REG-18 */
	ladder_init(&l, &set, 14, 7, 1);
	assert_int_equal(spent(&l), 671088640);
	/* ADP-17: no timeout of the QP, no total. */
	ladder_init(&l, &set, 0, 7, 1);
	for (int i = 0; i < 1000; i++) {
		armed(&l);
		assert_true(fire(&l));
	}
	assert_true(vb_rto_budget(&l.rto, l.now) == VB_NEVER);
}

/* ADP-18: progress starts the clock anew; so does an RNR NAK, by which the peer shows that it is
 * there, and that leaves the ladder where it is. */
static void total__clock_restarts(void **state)
{
	struct vb_recovery set = worked;
	struct ladder l;

	(void)state;
	set.profile.retx_total_timeout = 15; /* 131 ms */
	ladder_init(&l, &set, 0, 7, 1);
	l.rto.cur_exp = 14;
	assert_int_equal(armed(&l), 65536 * VB_USEC);
	assert_true(fire(&l));
	assert_int_equal(vb_rto_budget(&l.rto, l.now), 65536 * VB_USEC);
	progress(&l);
	assert_true(vb_rto_budget(&l.rto, l.now) == VB_NEVER);
	armed(&l);
	assert_int_equal(vb_rto_budget(&l.rto, l.now), 131072 * VB_USEC);
	assert_true(fire(&l));
	uint8_t exp = l.rto.cur_exp;
	vb_rto_paused(&l.rto);
	assert_int_equal(l.rto.cur_exp, exp);
	l.now += VB_SEC;
	armed(&l);
	assert_int_equal(vb_rto_budget(&l.rto, l.now), 131072 * VB_USEC);
	/* A reported gap is limited by time too, not by a count. */
	for (int i = 0; i < 100; i++)
		assert_true(vb_rto_gap(&l.rto, l.now));
	l.now += 131072 * VB_USEC;
	assert_false(vb_rto_gap(&l.rto, l.now));
}

/* ADP-31: by up to four times, in all. */
static void timeout__stretched(void **state)
{
	struct vb_recovery set = worked;
	struct ladder l;
	vb_dur least = VB_NEVER, most = 0;

	(void)state;
	set.adp_timeout_stretch = VB_STRETCH_MAX;
	ladder_from(&l, &set, 12);
	assert_int_equal(armed(&l), 4 * 16384 * VB_USEC);
	set.adp_timeout_stretch = VB_STRETCH_RANDOM;
	ladder_from(&l, &set, 12);
	for (int i = 0; i < 1000; i++) {
		vb_dur t = armed(&l);

		least = t < least ? t : least;
		most = t > most ? t : most;
	}
	assert_uint_in_range(least, 16384 * VB_USEC, 16600 * VB_USEC);
	assert_uint_in_range(most, 64800 * VB_USEC, 65536 * VB_USEC);
}

/* ADP-26, ADP-28: changed settings count from the next timer on; the clock of the total goes on. */
static void settings__change_at_next_timer(void **state)
{
	struct ladder l;

	(void)state;
	ladder_init(&l, &worked, 14, 7, 1);
	l.rto.cur_exp = 13;
	armed(&l);
	vb_time since = l.rto.since;
	l.rules.set.adp_retx_profile_id = 0;
	l.rules.epoch++;
	assert_true(fire(&l));
	assert_int_equal(l.move, VB_RTO_STAYS);
	assert_int_equal(vb_rto_adopt(&l.rto, &l.rules), VB_RTO_STARTS);
	assert_uint_in_range(armed(&l), UINT64_C(4000) << 10, UINT64_C(4000) << 11); /* ADP-25 */
	assert_int_equal(l.rto.since, since);
	assert_int_equal(vb_rto_adopt(&l.rto, &l.rules), VB_RTO_STAYS);
	l.rules.set.roce_adp_retrans_en = false;
	l.rules.epoch++;
	assert_int_equal(armed(&l), 67108864);
	for (int i = 0; i < 7; i++)
		assert_true(fire(&l));
	assert_false(fire(&l));
}

/* A timeout of the QP below the adapter's least one counts as that one, unless it is lifted. */
static void fixed__least_timeout(void **state)
{
	struct vb_recovery set = {.min_ack_timeout = 12};
	struct ladder l;

	(void)state;
	ladder_init(&l, &set, 8, 7, 1);
	assert_int_equal(armed(&l), UINT64_C(4096) << 12);
	ladder_init(&l, &set, 13, 7, 1);
	assert_int_equal(armed(&l), UINT64_C(4096) << 13);
	ladder_init(&l, &set, 0, 7, 1); /* for ever stays for ever */
	assert_true(armed(&l) == VB_NEVER);
	set.min_ack_timeout_limit_disabled = true;
	ladder_init(&l, &set, 8, 7, 1);
	assert_int_equal(armed(&l), UINT64_C(4096) << 8);
}

/* IBT-80: the fixed timer counts, and reloads with progress. */
static void fixed__counts_retries(void **state)
{
	struct vb_recovery set = {0};
	struct ladder l;

	(void)state;
	ladder_init(&l, &set, 14, 2, 1);
	armed(&l);
	assert_true(fire(&l));
	assert_true(vb_rto_gap(&l.rto, l.now));
	progress(&l);
	assert_true(fire(&l));
	assert_true(fire(&l));
	assert_false(fire(&l));
}

static void move_text__each_has_one(void **state)
{
	(void)state;
	for (unsigned m = 0; m < VB_RTO_MOVE_CNT; m++)
		assert_true(strlen(vb_rto_move_text((enum vb_rto_move)m)) > 3);
	assert_string_equal(vb_rto_move_text(VB_RTO_MOVE_CNT), "?");
}

/* REG-34: the last slot of its kind takes all timers that are longer. */
static void slot__of_the_longest(void **state)
{
	struct vb_rto r = {.cur_exp = 58};
	unsigned slot;

	(void)state;
	for (; r.cur_exp < 80; r.cur_exp++) {
		(void)vb_adp_timeout(&r, &worked, &slot);
		assert_int_equal(slot, r.cur_exp < 61 ? r.cur_exp + 2u : 63);
	}
}

/* REG-18: the QP's own count, set while a timer runs, holds from the next one on. */
static void total__changes_under_way(void **state)
{
	struct vb_recovery set = worked;
	struct ladder l;

	(void)state;
	set.profile.qp_total_timeout = true;
	ladder_init(&l, &set, 14, 7, 1);
	armed(&l);
	vb_rto_set_extended(&l.rto, &l.rules, 2);
	assert_int_equal(vb_rto_budget(&l.rto, l.now), 2 * 67108864);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ladder__worked_example),
	    cmocka_unit_test(ladder__initial_value_outside),
	    cmocka_unit_test(ladder__overlapping_ranges),
	    cmocka_unit_test(ladder__upper_bound_is_exclusive),
	    cmocka_unit_test(ladder__of_the_emulated_firmware),
	    cmocka_unit_test(ladder__zero_counts),
	    cmocka_unit_test(ladder__progress_forgets_uses),
	    cmocka_unit_test(progress__low_bound),
	    cmocka_unit_test(progress__div_4_stops_at_low_bound),
	    cmocka_unit_test(progress__previous_range_skips),
	    cmocka_unit_test(progress__before_any_timeout),
	    cmocka_unit_test(progress__per_flight),
	    cmocka_unit_test(timeout__capped_by_qp),
	    cmocka_unit_test(timeout__saturates),
	    cmocka_unit_test(timeout__at_least_base_minimum),
	    cmocka_unit_test(total__both_ways),
	    cmocka_unit_test(total__clock_restarts),
	    cmocka_unit_test(timeout__stretched),
	    cmocka_unit_test(settings__change_at_next_timer),
	    cmocka_unit_test(ladder__armed_after_the_total),
	    cmocka_unit_test(wake_up__forgiven_seven_times),
	    cmocka_unit_test(fixed__least_timeout),
	    cmocka_unit_test(fixed__counts_retries),
	    cmocka_unit_test(move_text__each_has_one),
	    cmocka_unit_test(slot__of_the_longest),
	    cmocka_unit_test(total__changes_under_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
