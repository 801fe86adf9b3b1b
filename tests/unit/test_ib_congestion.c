/* SPDX-License-Identifier: BSD-2-Clause */
/* Congestion control of InfiniBand: which packets are marked, and how a source follows its table.
 */
#include "cmocka_env.h"
#include "fabric/ib/node/congestion.h"

#include <string.h>

#define RATE UINT64_C(8000000000) /* a byte takes 1 ns */

static union {
	struct vb_frame f;
	uint8_t room[sizeof(struct vb_frame) + 16];
} mem;

static bool is_marked(struct vb_ib_marker *m, const struct vb_ib_congestion *c, uint32_t waiting,
		      bool has_credits)
{
	mem.f.bytes[4] = 0;
	vb_ib_marker_pass(m, c, &mem.f, waiting, has_credits, 77);
	return vb_ib_has_fecn(&mem.f);
}

/* FAB-46 */
static void marker__marks_beyond_its_threshold(void **state)
{
	struct vb_ib_congestion c = {.threshold = 1000};
	struct vb_ib_marker m = {0};

	(void)state;
	assert_false(is_marked(&m, &c, 1000, true));
	assert_true(is_marked(&m, &c, 1001, true));
	/* A packet that waits for credits is a victim. */
	assert_false(is_marked(&m, &c, 1001, false));
	c.marks_victims = true;
	assert_true(is_marked(&m, &c, 1001, false));
	mem.f.prio = VB_VL_MGMT;
	assert_false(is_marked(&m, &c, 1001, true));
	mem.f.prio = 0;
	c.marking_rate = 2;
	for (int i = 1; i <= 9; i++)
		assert_int_equal(is_marked(&m, &c, 5000, true), i % 3 == 0);
	assert_int_equal(m.marks, 5);
	c.threshold = 0;
	assert_false(is_marked(&m, &c, 5000, true));
	/* Short packets are not worth it. */
	c = (struct vb_ib_congestion){.threshold = 1000, .packet_min = 512};
	mem.f.frame_len = 511;
	assert_false(is_marked(&m, &c, 5000, true));
	mem.f.frame_len = 512;
	assert_true(is_marked(&m, &c, 5000, true));
}

/* FAB-45: the last marks are known by their packets. */
static void marker__knows_its_last_marks(void **state)
{
	const struct vb_ib_congestion c = {.threshold = 1};
	struct vb_ib_marker m = {0};

	(void)state;
	for (uint16_t i = 0; i < 20; i++) {
		mem.f.path = (struct vb_path){.slid = i, .dlid = 9, .sl = 3};
		mem.f.bytes[5] = 1;
		mem.f.bytes[7] = (uint8_t)i;
		assert_true(is_marked(&m, &c, 5000, true));
	}
	for (uint16_t i = 5; i < 20; i++) {
		const struct vb_ib_congestion_event *e = &m.last[i % VB_IB_EVENTS];

		assert_true(e->at == 77 && e->slid == i && e->dlid == 9 && e->sl == 3);
		assert_int_equal(e->qpn, 0x10000 + i);
	}
}

static const struct vb_cct by_table = {
    .limit = 10,
    .entry = {[1] = 1, [2] = 1u << VB_CCT_SHIFT | 3, [4] = 2, [10] = 3u << VB_CCT_SHIFT | 8},
    .level = {[0] = {.increase = 4, .timer = 100}, [3] = {.increase = 4, .timer = 100}}};

static void becn(struct vb_ib_source *s, const struct vb_cct *t, uint8_t sl, vb_time now)
{
	mem.f.path.sl = sl;
	vb_ib_source_becn(s, t, &mem.f, now);
}

/* FAB-48 */
static void source__follows_becns_and_the_timer(void **state)
{
	struct vb_ib_source s;

	(void)state;
	memset(&s, 0, sizeof s);
	becn(&s, &by_table, 3, 1000);
	assert_int_equal(vb_ib_source_index(&s, &by_table, 3, 1000), 4);
	assert_int_equal(vb_ib_source_index(&s, &by_table, 2, 1000), 0);
	becn(&s, &by_table, 3, 1000);
	becn(&s, &by_table, 3, 1000);
	assert_int_equal(vb_ib_source_index(&s, &by_table, 3, 1099), 10);
	assert_int_equal(vb_ib_source_index(&s, &by_table, 3, 1100), 9);
	/* A look between two steps loses none of the time. */
	assert_int_equal(vb_ib_source_index(&s, &by_table, 3, 1250), 8);
	assert_int_equal(vb_ib_source_index(&s, &by_table, 3, 1300), 7);
	assert_int_equal(vb_ib_source_index(&s, &by_table, 3, 9000), 0);
	assert_int_equal(s.index_max, 10);
	assert_int_equal(s.becns, 3);
}

/* FAB-48: the timer leads to the least index, and an index that comes to its trigger is an event.
 */
static void source__stays_within_its_bounds(void **state)
{
	static const struct vb_cct_level level = {
	    .increase = 3, .index_min = 2, .trigger = 5, .timer = 100};
	struct vb_cct c = {.limit = 8, .level = {[0] = level, [4] = level}};
	struct vb_ib_source s;

	(void)state;
	memset(&s, 0, sizeof s);
	assert_int_equal(vb_ib_source_index(&s, &c, 4, 1000), 2);
	becn(&s, &c, 4, 1000);
	assert_int_equal(vb_ib_source_index(&s, &c, 4, 1000), 5);
	assert_true(s.events == 1 && s.event_sls == 1 << 4);
	/* It is there already. */
	becn(&s, &c, 4, 1000);
	assert_int_equal(vb_ib_source_index(&s, &c, 4, 1000), 8);
	assert_int_equal(s.events, 1);
	assert_int_equal(vb_ib_source_index(&s, &c, 4, 1500), 3);
	assert_int_equal(vb_ib_source_index(&s, &c, 4, 9000), 2);
	becn(&s, &c, 4, 9000);
	assert_int_equal(s.events, 2);
	becn(&s, &c, 0, 9000);
	assert_int_equal(s.event_sls, 1 << 4 | 1);
	/* A limit that becomes lower holds at once, and is no less than the least index. */
	c.limit = 4;
	assert_int_equal(vb_ib_source_index(&s, &c, 0, 9000), 4);
	c.limit = 1;
	assert_int_equal(vb_ib_source_index(&s, &c, 0, 9000), 1);
	assert_int_equal(vb_ib_source_index(&s, &c, 4, 9000), 1);
}

/* The time from the first packet to the second, at an index; FAB-48 */
static vb_time gap_at(uint16_t index)
{
	static union {
		struct vb_frame f;
		uint8_t room[sizeof(struct vb_frame) + 16];
	} a, b;
	struct vb_ib_source s;
	vb_time at;

	memset(&s, 0, sizeof s);
	s.sl[0].ccti = (struct vb_ccti){index, 1000};
	a.f.frame_len = b.f.frame_len = 998; /* 1000 ns with its gap */
	vb_ib_source_put(&s, &a.f);
	vb_ib_source_put(&s, &b.f);
	assert_ptr_equal(vb_ib_source_take(&s, &by_table, RATE, 1000, &at), &a.f);
	if (s.sl[0].next_at > 1000)
		assert_null(vb_ib_source_take(&s, &by_table, RATE, s.sl[0].next_at - 1, &at));
	else
		at = 1000;
	assert_ptr_equal(vb_ib_source_take(&s, &by_table, RATE, at, &(vb_time){0}), &b.f);
	return at - 1000;
}

static void source__delays_by_the_table(void **state)
{
	(void)state;
	assert_int_equal(gap_at(0), 0); /* the line paces */
	assert_int_equal(gap_at(1), 2000);
	assert_int_equal(gap_at(2), 2500);
	assert_int_equal(gap_at(3), 1000); /* an entry without a delay */
	assert_int_equal(gap_at(4), 3000);
	assert_int_equal(gap_at(10), 2000);
}

/* FAB-47: where QPs have indices, a level has none, and holds nothing back, also what it held when
 * it still had one; back again it begins with nothing. */
static void source__leaves_delays_to_qps(void **state)
{
	static union {
		struct vb_frame f;
		uint8_t room[sizeof(struct vb_frame) + 16];
	} a, b;
	struct vb_cct t = by_table;
	struct vb_ib_source s;
	vb_time at;

	(void)state;
	memset(&s, 0, sizeof s);
	becn(&s, &t, 0, 1000);
	a.f.frame_len = b.f.frame_len = 998;
	vb_ib_source_put(&s, &a.f);
	vb_ib_source_put(&s, &b.f);
	assert_ptr_equal(vb_ib_source_take(&s, &t, RATE, 1000, &at), &a.f);
	assert_null(vb_ib_source_take(&s, &t, RATE, 1000, &at));
	assert_int_equal(at, 4000);
	t.by_qp = true;
	assert_ptr_equal(vb_ib_source_take(&s, &t, RATE, 1000, &at), &b.f);
	becn(&s, &t, 0, 1000);
	becn(&s, &t, 0, 1000);
	assert_int_equal(s.becns, 3);
	assert_int_equal(s.index_max, 4);
	assert_int_equal(vb_ib_source_index(&s, &t, 0, 1000), 0);
	t.by_qp = false;
	assert_int_equal(vb_ib_source_index(&s, &t, 0, 1000), 0);
	becn(&s, &t, 0, 1000);
	assert_int_equal(vb_ib_source_index(&s, &t, 0, 1000), 4);
}

/* FAB-47: FECN, and BECN but in a notification, are marks that the core looks at. The GRH of a
 * datagram, which a program gets, stays as it was sent. */
static void marks__come_to_the_core(void **state)
{
	static const struct {
		uint8_t opcode, bits;
		bool is_marked;
	} rows[] = {{0x04, 0, false},    {0x04, 0x80, true},  {0x11, 0x40, true},
		    {0x2a, 0xc0, true},  {0x80, 0x40, false}, {0x80, 0xc0, true},
		    {0x64, 0x80, false}, {0x64, 0x40, false}, {0xa4, 0x80, true},
		    {0x4d, 0x80, true}};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		mem.f.path = (struct vb_path){.traffic_class = 0x48};
		mem.f.bytes[0] = rows[i].opcode;
		mem.f.bytes[4] = rows[i].bits;
		vb_ib_mark_path(&mem.f);
		assert_int_equal(mem.f.path.traffic_class, rows[i].is_marked ? 0x4b : 0x48);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(marker__marks_beyond_its_threshold),
	    cmocka_unit_test(marker__knows_its_last_marks),
	    cmocka_unit_test(source__follows_becns_and_the_timer),
	    cmocka_unit_test(source__stays_within_its_bounds),
	    cmocka_unit_test(source__delays_by_the_table),
	    cmocka_unit_test(source__leaves_delays_to_qps),
	    cmocka_unit_test(marks__come_to_the_core),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
