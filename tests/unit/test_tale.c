/* SPDX-License-Identifier: BSD-2-Clause */
/* Tales: what begins one, what is kept, and who makes room for whom. */
#include "cmocka_env.h"
#include "explain/history/tale.h"

static struct vb_trace_event event(enum vb_trace_id id, vb_time at, uint64_t a, uint64_t b,
				   uint64_t c)
{
	return (struct vb_trace_event){.time = at, .qpn = 0x102, .id = id, .arg = {a, b, c}};
}

static void add(struct vb_tale *t, enum vb_trace_id id, vb_time at, uint64_t a, uint64_t b,
		uint64_t c)
{
	struct vb_trace_event ev = event(id, at, a, b, c);

	vb_tale_add(t, &ev, NULL);
}

static void tale__begins_with_trouble_only(void **state)
{
	struct vb_trace_event up = event(VB_TRACE_QP_STATE, 1, VB_QPS_RTR, VB_QPS_RTS, 0);
	struct vb_trace_event fired = event(VB_TRACE_TIMER_FIRED, 1, 5, 7, 4096);

	(void)state;
	assert_false(vb_tale_begins(&up));
	assert_true(vb_tale_begins(&fired));
	/* Nothing that comes with every packet may be among its events. */
	assert_false(VB_TALE_EVENTS >> VB_TRACE_PACKET_SENT & 1);
	assert_false(VB_TALE_EVENTS >> VB_TRACE_PACKET_RECEIVED & 1);
	assert_false(VB_TALE_EVENTS >> VB_TRACE_TIMER_ARMED & 1);
	assert_false(VB_TALE_EVENTS >> VB_TRACE_PROGRESS & 1);
	assert_false(VB_TALE_EVENTS >> VB_TRACE_COMPLETION & 1);
}

static void tale__keeps_first_and_last(void **state)
{
	static struct vb_tale t;

	(void)state;
	memset(&t, 0, sizeof t);
	for (uint32_t i = 0; i < 1000; i++)
		add(&t, VB_TRACE_TIMER_FIRED, 10 + i, i, 0, 1);
	assert_int_equal(t.state, VB_TALE_OPEN);
	assert_int_equal(t.timeouts, 1000);
	assert_int_equal(vb_tale_kept(&t), VB_TALE_FIRST + VB_TALE_LAST);
	assert_int_equal(vb_tale_left_out(&t), 1000 - VB_TALE_FIRST - VB_TALE_LAST);
	for (uint32_t i = 0; i < VB_TALE_FIRST; i++)
		assert_int_equal(vb_tale_event(&t, i)->arg[0], i);
	for (uint32_t i = 0; i < VB_TALE_LAST; i++)
		assert_int_equal(vb_tale_event(&t, VB_TALE_FIRST + i)->arg[0],
				 1000 - VB_TALE_LAST + i);
}

static void tale__progress_ends_it_and_trouble_begins_the_next(void **state)
{
	static struct vb_tale t;

	(void)state;
	memset(&t, 0, sizeof t);
	add(&t, VB_TRACE_TIMER_FIRED, 10, 1, 0, 1);
	add(&t, VB_TRACE_REWOUND, 10, 1, 2, VB_REWIND_TIMEOUT);
	add(&t, VB_TRACE_RECOVERED, 20, 3, 1, 10);
	assert_int_equal(t.state, VB_TALE_RECOVERED);
	/* Belongs to what is over. */
	add(&t, VB_TRACE_TIMER_MOVED, 21, 1, 0, 1);
	assert_int_equal(t.cnt, 4);
	add(&t, VB_TRACE_TIMER_FIRED, 30, 4, 0, 1);
	assert_int_equal(t.cnt, 1);
	assert_int_equal(t.begun, 30);
	assert_int_equal(t.timeouts, 2);
	assert_int_equal(t.recovered, 1);
}

static void tale__nak_and_going_back_are_one_trouble(void **state)
{
	static struct vb_tale t;

	(void)state;
	memset(&t, 0, sizeof t);
	add(&t, VB_TRACE_NAK_RECEIVED, 10, 0x21, 5, 0);
	add(&t, VB_TRACE_REWOUND, 10, 5, 6, VB_REWIND_RNR);
	assert_int_equal(t.cnt, 2);
	assert_int_equal(t.rnr_naks, 1);
	assert_int_equal(t.state, VB_TALE_OPEN);
}

static void tale__failure_keeps_the_view_of_then(void **state)
{
	static struct vb_tale t;
	struct vb_qp_view then = {.posted = 3}, after = {.posted = 0};
	struct vb_trace_event failed = event(VB_TRACE_FAILED, 10, VB_WC_REM_ACCESS_ERR, 0x62, 7);
	struct vb_trace_event err = event(VB_TRACE_QP_STATE, 10, VB_QPS_RTS, VB_QPS_ERR, 0);

	(void)state;
	memset(&t, 0, sizeof t);
	vb_tale_add(&t, &failed, &then);
	vb_tale_add(&t, &err, &after);
	assert_int_equal(t.state, VB_TALE_FAILED);
	assert_int_equal(t.view.posted, 3);
	assert_int_equal(t.cnt, 2);
}

static void tale__number_used_again_begins_anew(void **state)
{
	static struct vb_tale t;

	(void)state;
	memset(&t, 0, sizeof t);
	add(&t, VB_TRACE_FAILED, 10, VB_WC_RETRY_EXC_ERR, 0, 0);
	add(&t, VB_TRACE_QP_STATE, 11, VB_QPS_ERR, VB_QPS_RESET, 0);
	assert_true(t.is_gone);
	/* Made ready again: that is no part of it. */
	add(&t, VB_TRACE_QP_STATE, 12, VB_QPS_RESET, VB_QPS_INIT, 0);
	assert_int_equal(t.cnt, 2);
	add(&t, VB_TRACE_TIMER_FIRED, 13, 1, 0, 1);
	assert_int_equal(t.state, VB_TALE_OPEN);
	assert_int_equal(t.cnt, 1);
	assert_false(t.is_gone);
}

static void tale__any_bytes_are_safe_to_read(void **state)
{
	static struct vb_tale t;

	(void)state;
	memset(&t, 0xff, sizeof t);
	assert_int_equal(vb_tale_kept(&t), VB_TALE_FIRST + VB_TALE_LAST);
	for (uint32_t i = 0; i < vb_tale_kept(&t); i++) {
		const struct vb_trace_event *ev = vb_tale_event(&t, i);

		assert_true(ev >= t.first && ev < t.last + VB_TALE_LAST);
	}
}

static struct vb_tale *begin(struct vb_tales *s, uint32_t qpn, enum vb_trace_id id, vb_time at)
{
	struct vb_trace_event ev = {.time = at, .qpn = qpn, .id = id};
	struct vb_tale *t = vb_tales_find(s, qpn);

	if (!t)
		t = vb_tales_new(s, qpn);
	vb_tale_add(t, &ev, NULL);
	return t;
}

static void tales__find_their_place_again(void **state)
{
	static struct vb_tales s;

	(void)state;
	memset(&s, 0, sizeof s);
	/* As many QPs of one process as there are places: all have one. */
	for (uint32_t k = 0; k < VB_TALES; k++)
		begin(&s, k << 8 | 2, VB_TRACE_TIMER_FIRED, k + 1);
	assert_int_equal(s.lost, 0);
	for (uint32_t k = 0; k < VB_TALES; k++) {
		assert_non_null(vb_tales_find(&s, k << 8 | 2));
		assert_int_equal(vb_tales_find(&s, k << 8 | 2)->qpn, k << 8 | 2);
	}
	assert_null(vb_tales_find(&s, VB_TALES << 8 | 2));
}

static void tales__failures_stay_when_room_is_short(void **state)
{
	static struct vb_tales s;
	uint32_t step = VB_TALES / VB_TALE_WAYS; /* QPNs of one set */

	(void)state;
	memset(&s, 0, sizeof s);
	begin(&s, 0, VB_TRACE_FAILED, 1);
	for (uint32_t k = 1; k < VB_TALE_WAYS; k++)
		begin(&s, (k * step) << 8, VB_TRACE_TIMER_FIRED, 100 + k);
	begin(&s, (2 * step) << 8, VB_TRACE_RECOVERED, 200);
	/* The recovered one goes first, though it is the newest; then the oldest open one. */
	begin(&s, (100 * step) << 8, VB_TRACE_TIMER_FIRED, 300);
	assert_null(vb_tales_find(&s, (2 * step) << 8));
	begin(&s, (101 * step) << 8, VB_TRACE_TIMER_FIRED, 301);
	assert_null(vb_tales_find(&s, (1 * step) << 8));
	assert_non_null(vb_tales_find(&s, 0));
	assert_int_equal(s.lost, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tale__begins_with_trouble_only),
	    cmocka_unit_test(tale__keeps_first_and_last),
	    cmocka_unit_test(tale__progress_ends_it_and_trouble_begins_the_next),
	    cmocka_unit_test(tale__nak_and_going_back_are_one_trouble),
	    cmocka_unit_test(tale__failure_keeps_the_view_of_then),
	    cmocka_unit_test(tale__number_used_again_begins_anew),
	    cmocka_unit_test(tale__any_bytes_are_safe_to_read),
	    cmocka_unit_test(tales__find_their_place_again),
	    cmocka_unit_test(tales__failures_stay_when_room_is_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
