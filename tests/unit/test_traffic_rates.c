/* SPDX-License-Identifier: BSD-2-Clause */
/* Rates that congestion control allowed QPs: comments of captures, and the series they become. */
#include "fault/fault.h"
#include "traffic/comment/rate.h"
#include "traffic_env.h"

/* A rate in a comment is read as it was written; other lines, and rates that do not fit, are
 * not. */
static void rates__comments_are_read_back(void **state)
{
	struct vb_rate_note n = {.gid = address(A),
				 .qpn = 0xabcdef,
				 .rate_kbps = 9765625,
				 .target_kbps = UINT32_MAX - 295,
				 .alpha = 1023,
				 .before = 999999999},
			    got;
	char text[VB_RATE_COMMENT_MAX], lines[400];
	const char *at;

	(void)state;
	vb_rate_comment(&n, text);
	at = text;
	assert_false(vb_rate_comment_read(&at, &got)); /* more than any rate */
	n.target_kbps = 12500000;
	vb_rate_comment(&n, text);
	assert_string_equal(text, "dcqcn: 10.9.0.1 QP 0xabcdef rate 9765.625 Mb/s target "
				  "12500.000 Mb/s alpha 1023/1024, 999999999 ns before");
	snprintf(lines, sizeof lines, "fault: loss\n%s\nsomebody's\n%s", text, text);
	at = lines;
	for (int i = 0; i < 2; i++) {
		memset(&got, 0, sizeof got);
		assert_true(vb_rate_comment_read(&at, &got));
		assert_memory_equal(&got, &n, sizeof n);
	}
	assert_false(vb_rate_comment_read(&at, &got));
	for (int i = 0; i < 16; i++)
		n.gid.b[i] = (uint8_t)(0xf0 + i);
	vb_rate_comment(&n, text);
	assert_true(strlen(text) < VB_PCAPNG_COMMENT_MAX);
	at = text;
	assert_true(vb_rate_comment_read(&at, &got));
	assert_memory_equal(&got.gid, &n.gid, sizeof n.gid);
	at = "dcqcn: 10.9.0.1 QP 0xabcdef rate 1.000 Mb/s target 1.000 Mb/s alpha 1024/1024, 1 ns "
	     "before";
	assert_false(vb_rate_comment_read(&at, &got));
}

/* Both ends' captures: a rate is that of the end with this address and number, in the time of the
 * first capture. */
static void rates__become_series_of_their_end(void **state)
{
	struct file a, b;
	struct vb_rate_note n = {.gid = address(B),
				 .qpn = QPN_B,
				 .rate_kbps = 5000,
				 .target_kbps = 6000,
				 .alpha = 77,
				 .before = 1000};
	char text[VB_RATE_COMMENT_MAX], other[VB_RATE_COMMENT_MAX], lines[400];

	(void)state;
	vb_rate_comment(&n, text);
	n.qpn = 0x777777; /* of nobody */
	vb_rate_comment(&n, other);
	snprintf(lines, sizeof lines, "fault: delay\n%s\n%s", other, text);
	begin_file(&a);
	begin_file(&b);
	for (uint32_t i = 1; i <= 3; i++) {
		struct pkt w = WRITE(10 * i, i), ack = ANSWER(10 * i + 2, i, 0);

		put(&a, &w);
		put(&a, &ack);
		w.sent = false;
		ack.sent = true;
		/* The clock of the second one is 500 s ahead. */
		w.us += 500000001;
		ack.us += 499999999;
		w.comment = i == 2 ? lines : NULL;
		put(&b, &w);
		put(&b, &ack);
	}

	struct vb_traffic *t = play(&a, &b);
	const struct vb_series_set *s = vb_traffic_series(t);

	assert_int_equal(s->cnt[VB_TRAFFIC_CC_RATE], 1);
	assert_int_equal(s->series[VB_TRAFFIC_CC_RATE][0]->id, 1);
	assert_int_equal(s->series[VB_TRAFFIC_CC_RATE][0]->top, 5000);
	assert_int_equal(s->series[VB_TRAFFIC_CC_TARGET][0]->top, 6000);
	assert_int_equal(s->series[VB_TRAFFIC_CC_ALPHA][0]->top, 77);
	/* 10 us after the first packet, and not minutes. */
	assert_uint_in_range(vb_traffic_length(t), 20000, 30000);
	assert_true(find_step(t, VB_STEP_PACKET, 2)->faults & 1u << VB_FAULT_DELAY);
	vb_traffic_free(t);
}

/* Adds a line about a QP that has @kbps in all. */
static void add_note(char *lines, size_t size, const char *ip, uint32_t qpn, uint32_t kbps,
		     uint64_t before)
{
	struct vb_rate_note n = {.gid = address(ip),
				 .qpn = qpn,
				 .rate_kbps = kbps,
				 .target_kbps = kbps,
				 .alpha = 1,
				 .before = before};
	size_t at = strlen(lines);

	vb_rate_comment(&n, lines + at);
	at += strlen(lines + at);
	snprintf(lines + at, size - at, "\n");
}

/* Notes are put in the order of their time; the first one holds from the beginning. An end at which
 * nothing changes has no line beside one at which something does, and a number alone names no end.
 */
static void rates__in_the_order_of_time(void **state)
{
	char lines[8 * VB_RATE_COMMENT_MAX] = "";
	struct file a;
	double lo, hi;

	(void)state;
	add_note(lines, sizeof lines, A, QPN_A, 3000, 0);
	add_note(lines, sizeof lines, A, QPN_A, 2000, 1500000);
	add_note(lines, sizeof lines, B, QPN_A, 9500, 0);
	add_note(lines, sizeof lines, B, QPN_B, 9000, 1000);
	add_note(lines, sizeof lines, B, QPN_B, 9000, 0);
	begin_file(&a);
	for (uint32_t i = 1; i <= 3; i++) {
		struct pkt w = WRITE(1000 * i, i), ack = ANSWER(1000 * i + 2, i, 0);

		w.comment = i == 3 ? lines : NULL;
		put(&a, &w);
		put(&a, &ack);
	}

	struct vb_traffic *t = play(&a, NULL);
	const struct vb_series_set *s = vb_traffic_series(t);
	const struct vb_series *of = s->series[VB_TRAFFIC_CC_RATE][0];

	assert_int_equal(s->cnt[VB_TRAFFIC_CC_RATE], 1);
	assert_int_equal(of->id, 0);
	assert_int_equal(of->top, 3000);
	vb_series_value(s, VB_TRAFFIC_CC_RATE, of, 0, &lo, &hi);
	assert_true(lo == 2000 && hi == 2000);
	vb_series_value(s, VB_TRAFFIC_CC_RATE, of, (uint32_t)(2 * VB_MSEC / s->slot_ns), &lo, &hi);
	assert_true(lo == 3000 && hi == 3000);
	vb_traffic_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rates__comments_are_read_back),
	    cmocka_unit_test(rates__become_series_of_their_end),
	    cmocka_unit_test(rates__in_the_order_of_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
