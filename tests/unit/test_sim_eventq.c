/* SPDX-License-Identifier: BSD-2-Clause */
/* The queue of deadlines against a list that is searched. */
#include "base/rng.h"
#include "cmocka_env.h"
#include "sim/eventq.h"

#include <stdlib.h>

#define IDS 300u

static uint32_t first_of(const vb_time *at)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < IDS; i++) {
		if (at[i] < at[best])
			best = i;
	}
	return best;
}

static vb_time draw_time(struct vb_rng *r, vb_time now)
{
	switch (vb_rng_below(r, 6)) {
	case 0:
		return now;
	case 1:
		return now + vb_rng_below(r, 3);
	case 2:
		return now + VB_EVENTQ_SLOTS - 1 + vb_rng_below(r, 3);
	case 3:
		return now + vb_rng_below(r, 1000000);
	case 4:
		return VB_NEVER;
	default:
		return now + vb_rng_below(r, VB_EVENTQ_SLOTS);
	}
}

static void eventq__is_ordered_by_time_and_id(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct vb_rng r = vb_rng_stream(seed, "eventq", 0);
		void *mem = calloc(1, vb_eventq_size(IDS));
		struct vb_eventq q;
		vb_time at[IDS];

		vb_eventq_init(&q, mem, IDS);
		for (uint32_t i = 0; i < IDS; i++)
			at[i] = VB_NEVER;
		for (uint32_t n = 0; n < 5000; n++) {
			uint32_t first = first_of(at);

			assert_int_equal(vb_eventq_next(&q), at[first]);
			if (at[first] != VB_NEVER && vb_rng_below(&r, 2)) {
				assert_int_equal(vb_eventq_take(&q), first);
				assert_int_equal(q.now, at[first]);
				at[first] = VB_NEVER;
			} else {
				uint32_t id = vb_rng_below(&r, IDS);

				at[id] = draw_time(&r, q.now);
				vb_eventq_set(&q, id, at[id]);
			}
		}
		free(mem);
	}
}

static void eventq__takes_many_machines_of_one_instant(void **state)
{
	const uint32_t n = 20000;
	void *mem = calloc(1, vb_eventq_size(n));
	struct vb_eventq q;

	(void)state;
	vb_eventq_init(&q, mem, n);
	for (uint32_t i = n; i-- > 0;)
		vb_eventq_set(&q, i, 1000);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(vb_eventq_take(&q), i);
	assert_int_equal(vb_eventq_next(&q), VB_NEVER);
	free(mem);
}

/* The ids in line now, and behind them the ids of the next instant, as far as nothing changes. */
static void eventq__tells_who_is_next(void **state)
{
	const uint32_t now[] = {7, 2, 40}, then[] = {31, 8, 5, 250};
	void *mem = calloc(1, vb_eventq_size(IDS));
	struct vb_eventq q;

	(void)state;
	vb_eventq_init(&q, mem, IDS);
	for (uint32_t i = 0; i < 3; i++)
		vb_eventq_set(&q, now[i], 10);
	for (uint32_t i = 0; i < 4; i++)
		vb_eventq_set(&q, then[i], 12);
	assert_int_equal(vb_eventq_take(&q), 2);

	const uint32_t ahead[] = {7, 40, 5, 8, 31, 250, UINT32_MAX};

	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(vb_eventq_ahead(&q, i), ahead[i]);
	/* One id joins the next line, one leaves it for an earlier time, one leaves the queue. */
	vb_eventq_set(&q, 6, 12);
	vb_eventq_set(&q, 8, 11);
	vb_eventq_set(&q, 7, VB_NEVER);

	const uint32_t turns[] = {40, 8, 5, 6, 31, 250};

	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(vb_eventq_take(&q), turns[i]);
	assert_int_equal(vb_eventq_ahead(&q, 0), UINT32_MAX);
	free(mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(eventq__is_ordered_by_time_and_id),
	    cmocka_unit_test(eventq__tells_who_is_next),
	    cmocka_unit_test(eventq__takes_many_machines_of_one_instant),
	};

	return cmocka_run_group_tests_name("sim_eventq", tests, NULL, NULL);
}
