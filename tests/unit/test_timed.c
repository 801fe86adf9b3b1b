/* SPDX-License-Identifier: BSD-2-Clause */
/* The queue of what goes on at a time, base/timed.h. */
#include "base/timed.h"

#include "base/list.h"
#include "base/rng.h"
#include "cmocka_env.h"

#include <string.h>

#define THINGS 64u

struct thing {
	uint32_t nr; /* in the order in which they came */
	struct vb_timed timed;
};

static struct thing things[THINGS];

static void put(struct vb_timed_queue *q, uint32_t nr, vb_time at)
{
	things[nr] = (struct thing){.nr = nr, .timed.at = at};
	vb_timed_put(q, &things[nr].timed);
}

static uint32_t take(struct vb_timed_queue *q, vb_time now)
{
	struct vb_timed *t = vb_timed_take(q, now);

	return t ? vb_container_of(t, struct thing, timed)->nr : THINGS;
}

static void take__by_time_and_then_as_they_came(void **state)
{
	struct vb_timed_queue q;

	(void)state;
	vb_timed_init(&q);
	assert_true(vb_timed_due(&q) == VB_NEVER);
	assert_int_equal(take(&q, VB_NEVER), THINGS);
	put(&q, 0, 30);
	put(&q, 1, 10);
	put(&q, 2, 30);
	put(&q, 3, 20);
	put(&q, 4, 10);
	assert_int_equal(vb_timed_due(&q), 10);
	assert_int_equal(take(&q, 9), THINGS);
	assert_int_equal(take(&q, 10), 1);
	assert_int_equal(take(&q, 10), 4);
	assert_int_equal(take(&q, 10), THINGS);
	assert_int_equal(vb_timed_due(&q), 20);
	assert_int_equal(take(&q, 40), 3);
	assert_int_equal(take(&q, 40), 0);
	assert_int_equal(take(&q, 40), 2);
	assert_int_equal(take(&q, 40), THINGS);
	/* The last one that was there was due later. */
	put(&q, 5, 15);
	assert_int_equal(vb_timed_due(&q), 15);
	assert_int_equal(take(&q, 15), 5);
}

/* A thing that was the first is that again, also with a time behind the next one's. */
static void put_first__stays_before_all(void **state)
{
	struct vb_timed_queue q;

	(void)state;
	vb_timed_init(&q);
	put(&q, 0, 10);
	put(&q, 1, 20);
	assert_int_equal(take(&q, 10), 0);
	things[0].timed.at = 50;
	vb_timed_put_first(&q, &things[0].timed);
	assert_int_equal(vb_timed_due(&q), 50);
	assert_int_equal(take(&q, 20), THINGS);
	put(&q, 2, 20);
	put(&q, 3, 5);
	assert_int_equal(take(&q, 5), 3);
	assert_int_equal(take(&q, 50), 0);
	assert_int_equal(take(&q, 50), 1);
	assert_int_equal(take(&q, 50), 2);
	things[2].timed.at = 60;
	vb_timed_put_first(&q, &things[2].timed);
	assert_int_equal(vb_timed_due(&q), 60);
	assert_int_equal(take(&q, 60), 2);
}

/* Each thing is taken at its time, with any others that come and go, and none before one that came
 * earlier for the same time. */
static void take__of_any(void **state)
{
	struct vb_rng rng = vb_rng_stream(1, "timed", 0);
	struct vb_timed_queue q;
	vb_time now = 0, last_at = 0;
	uint32_t in = 0, out = 0, last = 0;

	(void)state;
	vb_timed_init(&q);
	memset(things, 0, sizeof things);
	for (uint32_t step = 0; step < 100000; step++) {
		if (in - out < THINGS && vb_rng_below(&rng, 2)) {
			/* A place that is free again: taken ones leave in another order. */
			uint32_t at = 0;

			while (things[at].nr)
				at++;
			things[at] =
			    (struct thing){.nr = ++in, .timed.at = now + vb_rng_below(&rng, 8)};
			vb_timed_put(&q, &things[at].timed);
			continue;
		}
		now += vb_rng_below(&rng, 3);

		struct vb_timed *t = vb_timed_take(&q, now);

		if (!t) {
			assert_true(vb_timed_due(&q) > now);
			continue;
		}

		struct thing *x = vb_container_of(t, struct thing, timed);

		assert_true(t->at <= now && t->at >= last_at);
		assert_true(t->at > last_at || x->nr > last);
		last_at = t->at;
		last = x->nr;
		x->nr = 0;
		out++;
	}
	assert_true(out > 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(take__by_time_and_then_as_they_came),
	    cmocka_unit_test(put_first__stays_before_all),
	    cmocka_unit_test(take__of_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
