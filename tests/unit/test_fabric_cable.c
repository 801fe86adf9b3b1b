/* SPDX-License-Identifier: BSD-2-Clause */
/* One direction of a cable alone: time, order, MTU, faults, and that it can be taken apart. */
#include "cmocka_env.h"
#include "fabric/cable.h"
#include "fabric_env.h"

static struct vb_frame_pool pool;
static uint32_t seen_sent, seen_received;

static void tap_count(void *ctx, uint32_t id, enum vb_cable_tap_dir dir, const struct vb_frame *f,
		      vb_time now)
{
	(void)ctx, (void)f, (void)now;
	assert_int_equal(id, dir == VB_CABLE_SENT ? 6 : 7);
	seen_sent += dir == VB_CABLE_SENT;
	seen_received += dir == VB_CABLE_RECEIVED;
}

/* A frame of @len bytes whose last bit leaves at @done. */
static struct vb_frame *frame_leaving(uint32_t len, vb_time done)
{
	struct vb_frame *f = fabric_frame(&pool, 0, 1, 0, len);

	f->flight.at = done;
	return f;
}

static struct vb_cable_hooks hooks_with(struct vb_cable_fault *fault, const char *rules)
{
	struct vb_cable_hooks h = {
	    .pool = &pool, .dir = VB_FAULT_TX, .tap = tap_count, .id = 6, .far_id = 7};

	seen_sent = seen_received = 0;
	if (rules) {
		struct vb_fault_error err;
		struct vb_fault_spec spec;

		assert_int_equal(vb_fault_parse(rules, &spec, &err), 0);
		vb_fault_init(&fault->layer, &spec, 1, 0, 0);
		h.fault = fault;
	}
	return h;
}

static void frame__arrives_after_the_delay_and_in_order(void **state)
{
	struct vb_cable_end c;
	struct vb_frame *a, *b;

	(void)state;
	fabric_pool(&pool, false);
	vb_cable_init(&c, 500, 0);
	assert_true(vb_cable_poll_timeout(&c) == VB_NEVER);
	assert_null(vb_cable_poll_transmit(&c, 1000));
	a = frame_leaving(100, 10);
	b = frame_leaving(100, 20);
	vb_cable_handle_packet(&c, a, 0);
	vb_cable_handle_packet(&c, b, 10);
	assert_int_equal(vb_cable_poll_timeout(&c), 510);
	assert_null(vb_cable_poll_transmit(&c, 509));
	assert_ptr_equal(vb_cable_poll_transmit(&c, 510), a);
	assert_int_equal(vb_cable_poll_timeout(&c), 520);
	assert_ptr_equal(vb_cable_poll_transmit(&c, 600), b);
	assert_true(vb_cable_poll_timeout(&c) == VB_NEVER);
	vb_frame_pool_destroy(&pool);
}

static void frame__too_long_for_the_mtu_is_lost(void **state)
{
	struct vb_cable_end c;
	struct vb_cable_hooks h = hooks_with(NULL, NULL);
	struct vb_frame *fits, *longer;

	(void)state;
	fabric_pool(&pool, false);
	vb_cable_init(&c, 5, 200);
	c.hooks = &h;
	fits = frame_leaving(200 - 20 - 8 - VB_ICRC_LEN, 10);
	longer = frame_leaving(200 - 20 - 8 - VB_ICRC_LEN + 4, 20);
	vb_cable_handle_packet(&c, fits, 0);
	vb_cable_handle_packet(&c, longer, 10);
	assert_int_equal(h.lost, 1);
	assert_int_equal(pool.used, 1);
	assert_ptr_equal(vb_cable_poll_transmit(&c, 100), fits);
	assert_null(vb_cable_poll_transmit(&c, 100));
	assert_int_equal(seen_sent, 2);
	assert_int_equal(seen_received, 1);
	vb_frame_pool_destroy(&pool);
}

/* Each fault is carried out: what comes out at the other end, and what the frame tells of it. */
static void fault__is_carried_out(void **state)
{
	static struct vb_cable_fault fault;
	static const struct {
		const char *rules;
		uint32_t arrive;
		vb_time at;
		bool corrupt, marked;
	} row[] = {
	    {"loss=1", 0, 0, false, false},        {"dup=1", 2, 15, false, false},
	    {"delay=100ns", 1, 115, false, false}, {"reorder=1/40ns", 1, 55, false, false},
	    {"corrupt=1", 1, 15, true, false},     {"ecn=1", 1, 15, false, true},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof row / sizeof row[0]; i++) {
		struct vb_cable_hooks h = hooks_with(&fault, row[i].rules);
		struct vb_cable_end c;
		struct vb_frame *f;
		uint32_t cnt = 0;

		fabric_pool(&pool, true);
		vb_cable_init(&c, 5, 0);
		c.hooks = &h;
		f = frame_leaving(64, 10);
		f->path.traffic_class = VB_ECN_ECT0;
		vb_cable_handle_packet(&c, f, 0);
		for (; vb_cable_poll_timeout(&c) != VB_NEVER; cnt++) {
			assert_int_equal(vb_cable_poll_timeout(&c), row[i].at);
			f = vb_cable_poll_transmit(&c, row[i].at);
			assert_non_null(f);
			assert_int_equal(vb_frame_is_whole(f), !row[i].corrupt);
			assert_int_equal(f->path.traffic_class == VB_ECN_CE, row[i].marked);
			assert_true(f->mark != 0);
			assert_int_equal(!(f->mark & VB_FAULT_MARK_COPY), cnt == 0);
		}
		assert_int_equal(cnt, row[i].arrive);
		assert_int_equal(h.lost, row[i].arrive == 0);
		vb_frame_pool_destroy(&pool);
	}
}

static void frame__that_is_held_back_is_overtaken(void **state)
{
	static struct vb_cable_fault fault;
	struct vb_cable_hooks h = hooks_with(&fault, "reorder=1/40ns:nth=2");
	struct vb_frame *f[4];
	struct vb_cable_end c;

	(void)state;
	fabric_pool(&pool, false);
	vb_cable_init(&c, 5, 0);
	c.hooks = &h;
	for (uint32_t i = 0; i < 4; i++) {
		f[i] = frame_leaving(64, 10 * (i + 1));
		vb_cable_handle_packet(&c, f[i], 10 * i);
	}
	assert_ptr_equal(vb_cable_poll_transmit(&c, 100), f[0]);
	assert_ptr_equal(vb_cable_poll_transmit(&c, 100), f[2]);
	assert_ptr_equal(vb_cable_poll_transmit(&c, 100), f[3]);
	assert_int_equal(vb_cable_poll_timeout(&c), 65);
	assert_ptr_equal(vb_cable_poll_transmit(&c, 100), f[1]);
	vb_frame_pool_destroy(&pool);
}

static void cable__taken_apart_loses_what_is_on_it(void **state)
{
	struct vb_cable_hooks h = hooks_with(NULL, NULL);
	struct vb_cable_end c;
	struct vb_frame *f;

	(void)state;
	fabric_pool(&pool, false);
	vb_cable_init(&c, 1000, 0);
	c.hooks = &h;
	vb_cable_handle_packet(&c, frame_leaving(64, 10), 0);
	vb_cable_handle_packet(&c, frame_leaving(64, 20), 10);
	vb_cable_set_down(&c, true);
	assert_int_equal(h.lost, 2);
	assert_true(vb_cable_poll_timeout(&c) == VB_NEVER);
	vb_cable_handle_packet(&c, frame_leaving(64, 40), 30);
	assert_int_equal(h.lost, 3);
	assert_int_equal(pool.used, 0);
	vb_cable_set_down(&c, false);
	f = frame_leaving(64, 60);
	vb_cable_handle_packet(&c, f, 50);
	assert_int_equal(vb_cable_poll_timeout(&c), 1060);
	assert_ptr_equal(vb_cable_poll_transmit(&c, 1060), f);
	vb_frame_pool_destroy(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(frame__arrives_after_the_delay_and_in_order),
	    cmocka_unit_test(frame__too_long_for_the_mtu_is_lost),
	    cmocka_unit_test(fault__is_carried_out),
	    cmocka_unit_test(frame__that_is_held_back_is_overtaken),
	    cmocka_unit_test(cable__taken_apart_loses_what_is_on_it),
	};

	return cmocka_run_group_tests_name("fabric_cable", tests, NULL, NULL);
}
