/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of counters and events, and the event hook. */
#include "cmocka_env.h"
#include "trace/counters.h"
#include "trace/trace.h"

#include <ctype.h>
#include <string.h>

static void counter_info__names_are_unique_and_plain(void **state)
{
	(void)state;
	for (unsigned i = 0; i < VB_COUNTER_CNT; i++) {
		const char *name = vb_counter_info[i].name;

		assert_non_null(name);
		assert_true(strlen(vb_counter_info[i].text) > 0);
		for (const char *c = name; *c != '\0'; c++)
			assert_true(islower((unsigned char)*c) || isdigit((unsigned char)*c) ||
				    *c == '_');
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(name, vb_counter_info[k].name);
	}
	assert_int_equal(vb_counter_info[VB_COUNTER_port_xmit_data].file, VB_COUNTER_PORT);
	assert_int_equal(vb_counter_info[VB_COUNTER_out_of_sequence].file, VB_COUNTER_HW);
}

static void count__adds(void **state)
{
	struct vb_counters c = {{0}};

	(void)state;
	vb_count(&c, VB_COUNTER_out_of_buffer);
	vb_count_add(&c, VB_COUNTER_out_of_buffer, 5);
	assert_int_equal(c.v[VB_COUNTER_out_of_buffer], 6);
	assert_int_equal(c.v[VB_COUNTER_out_of_sequence], 0);
}

struct seen {
	struct vb_trace_event ev[4];
	unsigned cnt;
};

static void on_event(void *ctx, const struct vb_trace_event *ev)
{
	struct seen *s = ctx;

	assert_uint_in_range(s->cnt, 0, 3);
	s->ev[s->cnt++] = *ev;
}

static void trace__passes_wanted_events_only(void **state)
{
	struct seen s = {.cnt = 0};
	struct vb_trace t = {
	    .mask = UINT64_C(1) << VB_TRACE_REWOUND, .emit = on_event, .ctx = &s, .node = 3};

	(void)state;
	vb_trace(&t, VB_TRACE_PACKET_SENT, 7, 100, 1, 2, 3, 4);
	vb_trace(&t, VB_TRACE_REWOUND, 7, 100, 1, 2, 3, 4);
	vb_trace(&t, VB_TRACE_REWOUND, 8, 200, 5, 6, 7, 8);
	assert_int_equal(s.cnt, 2);
	assert_int_equal(s.ev[0].id, VB_TRACE_REWOUND);
	assert_int_equal(s.ev[0].node, 3);
	assert_int_equal(s.ev[0].qpn, 7);
	assert_int_equal(s.ev[0].time, 100);
	assert_int_equal(s.ev[1].seq, s.ev[0].seq + 1);
	assert_int_equal(s.ev[1].arg[3], 8);
}

static void trace_info__every_event_is_described(void **state)
{
	(void)state;
	assert_true(VB_TRACE_CNT <= 64); /* the mask has 64 bits */
	for (unsigned i = 0; i < VB_TRACE_CNT; i++) {
		assert_true(strlen(vb_trace_info[i].name) > 0);
		assert_true(strlen(vb_trace_info[i].text) > 0);
		for (unsigned a = 1; a < 4; a++) /* used arguments come first */
			assert_false(vb_trace_info[i].arg[a][0] != '\0' &&
				     vb_trace_info[i].arg[a - 1][0] == '\0');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(counter_info__names_are_unique_and_plain),
	    cmocka_unit_test(count__adds),
	    cmocka_unit_test(trace__passes_wanted_events_only),
	    cmocka_unit_test(trace_info__every_event_is_described),
	};

	return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
