/* SPDX-License-Identifier: BSD-2-Clause */
/* Histories: what begins one, what is kept, and who makes room for whom. */
#include "cmocka_env.h"
#include "explain/history/qp_history.h"

static struct vb_trace_event event(enum vb_trace_id id, vb_time at, uint64_t a, uint64_t b,
				   uint64_t c)
{
	return (struct vb_trace_event){.time = at, .qpn = 0x102, .id = id, .arg = {a, b, c}};
}

static void add(struct vb_qp_history *t, enum vb_trace_id id, vb_time at, uint64_t a, uint64_t b,
		uint64_t c)
{
	struct vb_trace_event ev = event(id, at, a, b, c);

	vb_qp_history_add(t, &ev, NULL);
}

static void qp_history__begins_with_trouble_only(void **state)
{
	struct vb_trace_event up = event(VB_TRACE_QP_STATE, 1, VB_QPS_RTR, VB_QPS_RTS, 0);
	struct vb_trace_event fired = event(VB_TRACE_TIMER_FIRED, 1, 5, 7, 4096);

	(void)state;
	assert_false(vb_qp_history_begins(&up));
	assert_true(vb_qp_history_begins(&fired));
	/* Nothing that comes with every packet may be among its events. */
	assert_false(VB_QP_HISTORY_EVENTS >> VB_TRACE_PACKET_SENT & 1);
	assert_false(VB_QP_HISTORY_EVENTS >> VB_TRACE_PACKET_RECEIVED & 1);
	assert_false(VB_QP_HISTORY_EVENTS >> VB_TRACE_TIMER_ARMED & 1);
	assert_false(VB_QP_HISTORY_EVENTS >> VB_TRACE_PROGRESS & 1);
	assert_false(VB_QP_HISTORY_EVENTS >> VB_TRACE_COMPLETION & 1);
}

static void qp_history__keeps_first_and_last(void **state)
{
	static struct vb_qp_history t;

	(void)state;
	memset(&t, 0, sizeof t);
	for (uint32_t i = 0; i < 1000; i++)
		add(&t, VB_TRACE_TIMER_FIRED, 10 + i, i, 0, 1);
	assert_int_equal(t.state, VB_QP_HISTORY_OPEN);
	assert_int_equal(t.timeouts, 1000);
	assert_int_equal(vb_qp_history_kept(&t), VB_QP_HISTORY_FIRST + VB_QP_HISTORY_LAST);
	assert_int_equal(vb_qp_history_left_out(&t),
			 1000 - VB_QP_HISTORY_FIRST - VB_QP_HISTORY_LAST);
	for (uint32_t i = 0; i < VB_QP_HISTORY_FIRST; i++)
		assert_int_equal(vb_qp_history_event(&t, i)->arg[0], i);
	for (uint32_t i = 0; i < VB_QP_HISTORY_LAST; i++)
		assert_int_equal(vb_qp_history_event(&t, VB_QP_HISTORY_FIRST + i)->arg[0],
				 1000 - VB_QP_HISTORY_LAST + i);
}

static void qp_history__progress_ends_it_and_trouble_begins_the_next(void **state)
{
	static struct vb_qp_history t;

	(void)state;
	memset(&t, 0, sizeof t);
	add(&t, VB_TRACE_TIMER_FIRED, 10, 1, 0, 1);
	add(&t, VB_TRACE_REWOUND, 10, 1, 2, VB_REWIND_TIMEOUT);
	add(&t, VB_TRACE_RECOVERED, 20, 3, 1, 10);
	assert_int_equal(t.state, VB_QP_HISTORY_RECOVERED);
	/* Belongs to what is over. */
	add(&t, VB_TRACE_TIMER_MOVED, 21, 1, 0, 1);
	assert_int_equal(t.cnt, 4);
	add(&t, VB_TRACE_TIMER_FIRED, 30, 4, 0, 1);
	assert_int_equal(t.cnt, 1);
	assert_int_equal(t.begun, 30);
	assert_int_equal(t.timeouts, 2);
	assert_int_equal(t.recovered, 1);
}

static void qp_history__nak_and_going_back_are_one_trouble(void **state)
{
	static struct vb_qp_history t;

	(void)state;
	memset(&t, 0, sizeof t);
	add(&t, VB_TRACE_NAK_RECEIVED, 10, 0x21, 5, 0);
	add(&t, VB_TRACE_REWOUND, 10, 5, 6, VB_REWIND_RNR);
	assert_int_equal(t.cnt, 2);
	assert_int_equal(t.rnr_naks, 1);
	assert_int_equal(t.state, VB_QP_HISTORY_OPEN);
}

static void qp_history__failure_keeps_the_view_of_then(void **state)
{
	static struct vb_qp_history t;
	struct vb_qp_view then = {.posted = 3}, after = {.posted = 0};
	struct vb_trace_event failed = event(VB_TRACE_FAILED, 10, VB_WC_REM_ACCESS_ERR, 0x62, 7);
	struct vb_trace_event err = event(VB_TRACE_QP_STATE, 10, VB_QPS_RTS, VB_QPS_ERR, 0);

	(void)state;
	memset(&t, 0, sizeof t);
	vb_qp_history_add(&t, &failed, &then);
	vb_qp_history_add(&t, &err, &after);
	assert_int_equal(t.state, VB_QP_HISTORY_FAILED);
	assert_int_equal(t.view.posted, 3);
	assert_int_equal(t.cnt, 2);
}

static void qp_history__number_used_again_begins_anew(void **state)
{
	static struct vb_qp_history t;

	(void)state;
	memset(&t, 0, sizeof t);
	add(&t, VB_TRACE_FAILED, 10, VB_WC_RETRY_EXC_ERR, 0, 0);
	add(&t, VB_TRACE_QP_STATE, 11, VB_QPS_ERR, VB_QPS_RESET, 0);
	assert_true(t.is_gone);
	/* Made ready again: that is no part of it. */
	add(&t, VB_TRACE_QP_STATE, 12, VB_QPS_RESET, VB_QPS_INIT, 0);
	assert_int_equal(t.cnt, 2);
	add(&t, VB_TRACE_TIMER_FIRED, 13, 1, 0, 1);
	assert_int_equal(t.state, VB_QP_HISTORY_OPEN);
	assert_int_equal(t.cnt, 1);
	assert_false(t.is_gone);
}

static void qp_history__any_bytes_are_safe_to_read(void **state)
{
	static struct vb_qp_history t;

	(void)state;
	memset(&t, 0xff, sizeof t);
	assert_int_equal(vb_qp_history_kept(&t), VB_QP_HISTORY_FIRST + VB_QP_HISTORY_LAST);
	for (uint32_t i = 0; i < vb_qp_history_kept(&t); i++) {
		const struct vb_trace_event *ev = vb_qp_history_event(&t, i);

		assert_true(ev >= t.first && ev < t.last + VB_QP_HISTORY_LAST);
	}
}

static struct vb_qp_history *begin(struct vb_qp_histories *s, uint32_t qpn, enum vb_trace_id id,
				   vb_time at)
{
	struct vb_trace_event ev = {.time = at, .qpn = qpn, .id = id};
	struct vb_qp_history *t = vb_qp_histories_find(s, qpn);

	if (!t)
		t = vb_qp_histories_new(s, qpn);
	vb_qp_history_add(t, &ev, NULL);
	return t;
}

static void qp_histories__find_their_place_again(void **state)
{
	static struct vb_qp_histories s;

	(void)state;
	memset(&s, 0, sizeof s);
	/* As many QPs of one process as there are places: all have one. */
	for (uint32_t k = 0; k < VB_QP_HISTORIES; k++)
		begin(&s, k << 8 | 2, VB_TRACE_TIMER_FIRED, k + 1);
	assert_int_equal(s.lost, 0);
	for (uint32_t k = 0; k < VB_QP_HISTORIES; k++) {
		assert_non_null(vb_qp_histories_find(&s, k << 8 | 2));
		assert_int_equal(vb_qp_histories_find(&s, k << 8 | 2)->qpn, k << 8 | 2);
	}
	assert_null(vb_qp_histories_find(&s, VB_QP_HISTORIES << 8 | 2));
}

static void qp_histories__failures_stay_when_room_is_short(void **state)
{
	static struct vb_qp_histories s;
	uint32_t step = VB_QP_HISTORIES / VB_QP_HISTORY_WAYS; /* QPNs of one set */

	(void)state;
	memset(&s, 0, sizeof s);
	begin(&s, 0, VB_TRACE_FAILED, 1);
	for (uint32_t k = 1; k < VB_QP_HISTORY_WAYS; k++)
		begin(&s, (k * step) << 8, VB_TRACE_TIMER_FIRED, 100 + k);
	begin(&s, (2 * step) << 8, VB_TRACE_RECOVERED, 200);
	/* The recovered one goes first, though it is the newest; then the oldest open one. */
	begin(&s, (100 * step) << 8, VB_TRACE_TIMER_FIRED, 300);
	assert_null(vb_qp_histories_find(&s, (2 * step) << 8));
	begin(&s, (101 * step) << 8, VB_TRACE_TIMER_FIRED, 301);
	assert_null(vb_qp_histories_find(&s, (1 * step) << 8));
	assert_non_null(vb_qp_histories_find(&s, 0));
	assert_int_equal(s.lost, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(qp_history__begins_with_trouble_only),
	    cmocka_unit_test(qp_history__keeps_first_and_last),
	    cmocka_unit_test(qp_history__progress_ends_it_and_trouble_begins_the_next),
	    cmocka_unit_test(qp_history__nak_and_going_back_are_one_trouble),
	    cmocka_unit_test(qp_history__failure_keeps_the_view_of_then),
	    cmocka_unit_test(qp_history__number_used_again_begins_anew),
	    cmocka_unit_test(qp_history__any_bytes_are_safe_to_read),
	    cmocka_unit_test(qp_histories__find_their_place_again),
	    cmocka_unit_test(qp_histories__failures_stay_when_room_is_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
