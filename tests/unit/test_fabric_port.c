/* SPDX-License-Identifier: BSD-2-Clause */
/* A port alone: order of priorities, holding, serialisation, waking, PAUSE frames. */
#include "cmocka_env.h"
#include "fabric/eth/pfc.h"
#include "fabric_env.h"

struct world {
	struct vb_port port;
	struct vb_ready_list ready;
	struct vb_frame_pool pool;
};

static void world_open(struct world *w, uint64_t gbps)
{
	memset(w, 0, sizeof *w);
	fabric_pool(&w->pool, false);
	vb_port_init(&w->port, gbps * UINT64_C(1000000000), &w->ready);
	vb_cable_init(&w->port.cable, 100, 0);
}

static struct vb_frame *put(struct world *w, uint8_t prio, uint32_t len, vb_time now)
{
	struct vb_frame *f = fabric_frame(&w->pool, 0, 1, prio, len);

	vb_port_handle_packet(&w->port, f, now);
	return f;
}

static void frame__of_the_highest_priority_goes_first(void **state)
{
	static struct world w;
	struct vb_frame *low, *high, *high2;

	(void)state;
	world_open(&w, 100);
	assert_null(vb_port_poll_transmit(&w.port, 0));
	low = put(&w, 1, 200, 0);
	high = put(&w, 6, 200, 0);
	high2 = put(&w, 6, 200, 0);
	assert_int_equal(w.port.depth, 3 * low->frame_len);
	assert_ptr_equal(vb_port_poll_transmit(&w.port, 0), high);
	assert_ptr_equal(vb_port_poll_transmit(&w.port, 0), high2);
	assert_ptr_equal(vb_port_poll_transmit(&w.port, 0), low);
	assert_null(vb_port_poll_transmit(&w.port, 0));
	assert_int_equal(w.port.depth, 0);
	vb_frame_pool_destroy(&w.pool);
}

static void priority__that_is_held_lets_others_pass(void **state)
{
	static struct world w;
	struct vb_port_stats st;
	struct vb_frame *low, *high;

	(void)state;
	world_open(&w, 100);
	low = put(&w, 0, 200, 0);
	high = put(&w, 3, 200, 0);
	assert_true(vb_port_hold(&w.port, 3, true, 10));
	assert_false(vb_port_hold(&w.port, 3, true, 11));
	assert_ptr_equal(vb_port_poll_transmit(&w.port, 20), low);
	assert_null(vb_port_poll_transmit(&w.port, 20));
	assert_null(w.ready.first);
	assert_true(vb_port_hold(&w.port, 3, false, 60));
	assert_ptr_equal(w.ready.first, &w.port);
	assert_ptr_equal(vb_port_poll_transmit(&w.port, 60), high);
	assert_true(vb_port_hold(&w.port, 3, true, 70));
	assert_true(vb_port_hold(&w.port, 3, false, 80));
	vb_port_stats_at(&w.port, 100, &st);
	assert_int_equal(st.paused_ns, 60);
	assert_int_equal(st.byte_ns,
			 (uint64_t)low->frame_len * 20 + (uint64_t)high->frame_len * 60);
	assert_int_equal(st.pkt_ns, 80);
	vb_frame_pool_destroy(&w.pool);
}

/* The time of a frame is that of its bytes and the gap, exact on average. */
static void serialise__keeps_the_fraction(void **state)
{
	static struct world w;
	struct vb_frame *f;
	vb_time now = 0;

	(void)state;
	world_open(&w, 3);
	f = fabric_frame(&w.pool, 0, 1, 0, 100);
	for (uint32_t i = 0; i < 300; i++) {
		vb_port_serialise(&w.port, f, now);
		assert_int_equal(f->flight.at, w.port.busy_until);
		now = w.port.busy_until;
	}
	assert_int_equal(now, (uint64_t)(f->frame_len + VB_FRAME_GAP) * 8 * 300 / 3);
	assert_int_equal(w.port.stats.tx_pkts, 300);
	vb_frame_pool_destroy(&w.pool);
}

static void wake__lists_a_port_once(void **state)
{
	static struct world w;
	static struct vb_port other;

	(void)state;
	world_open(&w, 100);
	vb_port_init(&other, 1, &w.ready);
	assert_null(vb_ready_take(&w.ready));
	vb_port_wake(&w.port);
	vb_port_wake(&other);
	vb_port_wake(&w.port);
	w.port.busy_until = 77;
	assert_ptr_equal(vb_ready_take(&w.ready), &w.port);
	assert_int_equal(vb_port_poll_timeout(&w.port), 77);
	vb_port_wake(&w.port); /* it will be asked at 77 */
	assert_ptr_equal(vb_ready_take(&w.ready), &other);
	assert_null(vb_ready_take(&w.ready));
	vb_port_handle_timeout(&w.port);
	assert_true(vb_port_poll_timeout(&w.port) == VB_NEVER);
	(void)put(&w, 0, 100, 77);
	vb_port_handle_timeout(&w.port);
	assert_int_equal(vb_port_poll_timeout(&w.port), 77);
	vb_frame_pool_destroy(&w.pool);
}

static void pause__goes_before_data_and_holds_the_other_end(void **state)
{
	static struct world a, b;
	struct vb_frame *data, *f;

	(void)state;
	world_open(&a, 100);
	world_open(&b, 100);
	data = put(&a, 7, 100, 0);
	vb_pfc_send(&a.port, &a.pool, 5, true);
	vb_pfc_send(&a.port, &a.pool, 5, false);
	assert_int_equal(a.port.stats.pauses_sent, 1);
	f = vb_port_poll_transmit(&a.port, 0);
	assert_int_equal(f->kind, VB_FRAME_PAUSE);
	assert_int_equal(f->frame_len, VB_FRAME_MIN);
	assert_true(vb_pfc_receive(&b.port, f, 10));
	assert_int_equal(b.port.held, 1 << 5);
	assert_false(vb_pfc_receive(&b.port, f, 11));
	f = vb_port_poll_transmit(&a.port, 0);
	assert_true(vb_pfc_receive(&b.port, f, 12));
	assert_int_equal(b.port.held, 0);
	assert_ptr_equal(vb_port_poll_transmit(&a.port, 0), data);
	vb_frame_pool_destroy(&a.pool);
	vb_frame_pool_destroy(&b.pool);
}

/* While all have something to send, bytes go by weight, whatever the sizes of the frames; a strict
 * priority goes before them; and what one leaves is shared by the others. */
static void weights__share_what_strict_priorities_leave(void **state)
{
	static struct world w;
	static const struct vb_schedule schedule = {.weight = {[0] = 1, [1] = 3, [4] = 4}};
	static const uint32_t len[VB_PRIORITY_CNT] = {[0] = 1000, [1] = 60, [4] = 333};
	uint64_t bytes[VB_PRIORITY_CNT] = {0}, all = 0;
	struct vb_frame *f;

	(void)state;
	world_open(&w, 100);
	w.port.schedule = &schedule;
	w.port.weighted = true;
	(void)put(&w, 0, len[0], 0);
	(void)put(&w, 1, len[1], 0);
	(void)put(&w, 4, len[4], 0);
	for (uint32_t i = 0; i < 100000; i++) {
		f = vb_port_poll_transmit(&w.port, 0);
		assert_non_null(f);
		bytes[f->prio] += f->frame_len;
		all += f->frame_len;
		vb_port_handle_packet(&w.port, f, 0);
		if (w.port.depth_pkts < 6)
			(void)put(&w, f->prio, len[f->prio], 0);
	}
	for (uint32_t i = 0; i < VB_PRIORITY_CNT; i++)
		assert_uint_in_range(bytes[i] * 8, all * schedule.weight[i] * 99 / 100,
				     all * schedule.weight[i] * 101 / 100);
	f = put(&w, 2, 100, 0);
	assert_ptr_equal(vb_port_poll_transmit(&w.port, 0), f);
	/* One that is held leaves its share to the others. */
	assert_true(vb_port_hold(&w.port, 4, true, 0));
	memset(bytes, 0, sizeof bytes);
	for (uint32_t i = 0; i < 100000; i++) {
		f = vb_port_poll_transmit(&w.port, 0);
		assert_non_null(f);
		bytes[f->prio] += f->frame_len;
		vb_port_handle_packet(&w.port, f, 0);
	}
	assert_int_equal(bytes[4], 0);
	assert_uint_in_range(bytes[1], bytes[0] * 3 * 99 / 100, bytes[0] * 3 * 101 / 100);
	vb_frame_pool_destroy(&w.pool);
}

/* A priority that had nothing to send begins with one turn, and not with those that it left. */
static void weights__idle_turns_are_not_saved(void **state)
{
	static struct world w;
	static const struct vb_schedule schedule = {.weight = {[0] = 40, [1] = 40}};
	uint32_t row = 0, most = 0;

	(void)state;
	world_open(&w, 100);
	w.port.schedule = &schedule;
	w.port.weighted = true;
	for (uint32_t i = 0; i < 60; i++)
		(void)put(&w, 1, 1000, 0);
	(void)put(&w, 0, 1000, 0);
	for (uint32_t i = 0; i < 20; i++) /* its only frame is among these */
		assert_non_null(vb_port_poll_transmit(&w.port, 0));
	assert_int_equal(w.port.waiting, 1 << 1);
	for (uint32_t i = 0; i < 60; i++)
		(void)put(&w, 0, 1000, 0);
	for (struct vb_frame *f; (f = vb_port_poll_transmit(&w.port, 0)) && w.port.waiting == 3;) {
		row = f->prio == 0 ? row + 1 : 0;
		most = row > most ? row : most;
	}
	/* A turn is 40 * 256 bytes, and a part of a frame may be left of the one before. */
	assert_uint_in_range(most, 10, 11);
	vb_frame_pool_destroy(&w.pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(frame__of_the_highest_priority_goes_first),
	    cmocka_unit_test(priority__that_is_held_lets_others_pass),
	    cmocka_unit_test(serialise__keeps_the_fraction),
	    cmocka_unit_test(wake__lists_a_port_once),
	    cmocka_unit_test(weights__share_what_strict_priorities_leave),
	    cmocka_unit_test(weights__idle_turns_are_not_saved),
	    cmocka_unit_test(pause__goes_before_data_and_holds_the_other_end),
	};

	return cmocka_run_group_tests_name("fabric_port", tests, NULL, NULL);
}
