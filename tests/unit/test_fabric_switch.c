/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A switch alone, driven by hand through the calls of a machine: where frames go by their header
 * and the forward tables, what is dropped, marked and paused.
 */
#include "cmocka_env.h"
#include "fabric/switch.h"
#include "fabric_env.h"

#define PORTS 4
#define EVENTS_MAX 64

/* Hosts 0 and 1 hang at ports 0 and 1; hosts 2 to 5 are behind ports 2 and 3. */
struct world {
	struct vb_switch sw;
	struct vb_switch_config cfg;
	struct vb_port port[PORTS], *by_number[PORTS];
	struct vb_ready_list ready;
	struct vb_frame_pool pool;
	struct vb_forward_map map;
	struct vb_forward_site site[6];
	struct vb_hop_set set[2];
	uint32_t hop[2];
	uint32_t event[EVENTS_MAX], event_cnt;
};

static void on_event(void *ctx, const struct vb_trace_event *ev)
{
	struct world *w = ctx;

	if (w->event_cnt < EVENTS_MAX)
		w->event[w->event_cnt++] = ev->id;
}

static int world_open(struct world *w, const struct vb_switch_config *cfg)
{
	int err;

	memset(w, 0, sizeof *w);
	w->cfg = *cfg;
	fabric_pool(&w->pool, false);
	for (uint32_t i = 0; i < PORTS; i++) {
		w->by_number[i] = &w->port[i];
		vb_port_init(&w->port[i], UINT64_C(100000000000), &w->ready);
		vb_cable_init(&w->port[i].cable, 100, 0);
		w->port[i].id = i;
		w->port[i].headroom = 2000;
	}
	err = vb_switch_init(&w->sw, &w->cfg, w->by_number, PORTS, &w->pool);
	for (uint32_t i = 0; i < 6; i++)
		w->site[i] = (struct vb_forward_site){i >= 2, i < 2 ? i : 0};
	w->map = (struct vb_forward_map){VB_FLOW_ADDRESS, 6, w->site};
	w->hop[0] = 2;
	w->hop[1] = 3;
	w->set[1] = (struct vb_hop_set){0, 2};
	w->sw.forward = (struct vb_forward){.map = &w->map, .set = w->set, .hop = w->hop};
	w->sw.trace = (struct vb_trace){.mask = UINT64_MAX, .emit = on_event, .ctx = w};
	return err;
}

static const struct vb_switch_config roomy = {.buffer = {.bytes = 1 << 20, .alpha_1024 = 1024}};

/* Hands the switch a frame for host @to by port @in, at @now. */
static struct vb_frame *give_at(struct world *w, uint32_t in, uint32_t to, uint8_t prio,
				uint32_t len, vb_time now)
{
	struct vb_frame *f = fabric_frame(&w->pool, in, to, prio, len);

	w->sw.machine.ops->handle_packet(&w->sw.machine, in, f, now);
	return f;
}

static struct vb_frame *give(struct world *w, uint32_t in, uint32_t to, uint8_t prio, uint32_t len)
{
	return give_at(w, in, to, prio, len, 0);
}

static struct vb_frame *take(struct world *w, uint32_t out)
{
	return w->sw.machine.ops->poll_transmit(&w->sw.machine, out, 0);
}

static void frame__leaves_by_the_port_of_its_address(void **state)
{
	static struct world w;
	struct vb_frame *f;

	(void)state;
	assert_int_equal(world_open(&w, &roomy), 0);
	assert_true(w.sw.machine.ops->poll_timeout(&w.sw.machine) == VB_NEVER);
	f = give(&w, 0, 1, 0, 100);
	assert_int_equal(w.sw.buffer.used, f->frame_len);
	assert_ptr_equal(vb_ready_take(&w.ready), &w.port[1]);
	assert_null(take(&w, 0));
	assert_ptr_equal(take(&w, 1), f);
	assert_int_equal(w.sw.buffer.used, 0);
	f = give(&w, 3, 0, 0, 100);
	assert_ptr_equal(take(&w, 0), f);
	vb_frame_pool_destroy(&w.pool);
}

/* Flows to one subnet take both ports; a flow always the same one. */
static void hops__are_chosen_by_flow(void **state)
{
	static struct world w;
	uint32_t used[PORTS] = {0};

	(void)state;
	assert_int_equal(world_open(&w, &roomy), 0);
	for (uint32_t i = 0; i < 200; i++) {
		uint32_t hash = vb_flow_hash(VB_FLOW_ADDRESS, VB_FLOW_ADDRESS + 3, (uint16_t)i);
		uint32_t port = vb_forward_port(&w.sw.forward, VB_FLOW_ADDRESS + 3, hash);

		assert_int_equal(port, vb_forward_port(&w.sw.forward, VB_FLOW_ADDRESS + 3, hash));
		used[port]++;
	}
	assert_int_equal(used[2] + used[3], 200);
	assert_uint_in_range(used[2], 70, 130);
	vb_frame_pool_destroy(&w.pool);
}

static void address__that_nobody_has_is_dropped(void **state)
{
	static struct world w;

	(void)state;
	assert_int_equal(world_open(&w, &roomy), 0);
	(void)give(&w, 0, 6, 0, 100);
	w.set[1].cnt = 0;
	(void)give(&w, 0, 3, 0, 100);
	assert_int_equal(w.pool.used, 0);
	assert_int_equal(w.event_cnt, 2);
	assert_int_equal(w.event[0], VB_TRACE_DROPPED);
	vb_frame_pool_destroy(&w.pool);
}

/* A frame to a group leaves by each port of the tree but the one that it came in by. */
static void group__is_copied_to_the_ports_of_its_tree(void **state)
{
	static struct world w;
	static const uint64_t tree[1] = {1 << 0 | 1 << 1 | 1 << 3};
	struct vb_frame *f;

	(void)state;
	assert_int_equal(world_open(&w, &roomy), 0);
	w.sw.forward.tree = tree;
	w.sw.forward.tree_cnt = w.sw.forward.tree_words = 1;
	f = fabric_frame(&w.pool, 1, 0, 0, 100);
	f->to_group = true;
	vb_switch_handle_packet(&w.sw, 1, f, 0);
	assert_int_equal(w.pool.used, 2);
	assert_non_null(take(&w, 0));
	assert_ptr_equal(take(&w, 3), f);
	assert_null(take(&w, 1));
	assert_null(take(&w, 2));
	assert_int_equal(w.sw.buffer.used, 0);
	w.sw.forward.tree_cnt = 0;
	vb_switch_handle_packet(&w.sw, 1, f, 0);
	assert_int_equal(w.pool.used, 1);
	assert_int_equal(w.event[w.event_cnt - 1], VB_TRACE_DROPPED);
	vb_frame_pool_destroy(&w.pool);
}

static void queue__that_is_full_drops(void **state)
{
	static const uint32_t queues[] = {449, 450}; /* frames have 150 bytes */
	static struct world w;
	struct vb_switch_config cfg = roomy;

	(void)state;
	for (uint32_t k = 0; k < 2; k++) {
		cfg.queue_bytes = queues[k];
		assert_int_equal(world_open(&w, &cfg), 0);
		for (uint32_t i = 0; i < 5; i++)
			(void)give(&w, 0, 1, 0, 100);
		assert_int_equal(w.port[1].stats.drops, 3 - k);
		assert_int_equal(w.pool.used, 2 + k);
		vb_frame_pool_destroy(&w.pool);
	}
}

static void frame__is_marked_in_a_long_queue(void **state)
{
	static struct world w;
	struct vb_switch_config cfg = roomy;
	struct vb_frame *first, *second;

	(void)state;
	cfg.ecn = 1;
	cfg.red = (struct vb_red){.kmin = 0, .kmax = 1, .pmax_ppm = 1000000};
	assert_int_equal(world_open(&w, &cfg), 0);
	first = give(&w, 0, 1, 0, 100);
	second = give(&w, 0, 1, 0, 100);
	assert_int_equal(first->path.traffic_class & VB_ECN_MASK, VB_ECN_ECT0);
	assert_int_equal(second->path.traffic_class & VB_ECN_MASK, VB_ECN_CE);
	assert_int_equal(w.port[1].stats.marks, 1);
	vb_frame_pool_destroy(&w.pool);
}

/* A lossless priority that takes too much is told to pause, and to go on when it has drained. */
static void sender__is_paused_and_resumed(void **state)
{
	static struct world w;
	struct vb_switch_config cfg = roomy;
	struct vb_frame *f;

	(void)state;
	cfg.buffer.lossless = 1;
	cfg.buffer.xoff_bytes = 300;
	assert_int_equal(world_open(&w, &cfg), 0);
	(void)give(&w, 0, 1, 0, 100);
	assert_null(w.port[0].control);
	(void)give(&w, 0, 1, 0, 100);
	f = take(&w, 0);
	assert_non_null(f);
	assert_int_equal(f->kind, VB_FRAME_PAUSE);
	assert_true(f->pause_on);
	(void)give(&w, 0, 1, 0, 100); /* into the headroom */
	assert_int_equal(w.port[0].lane[0].in.headroom, 150);
	for (uint32_t i = 0; i < 3; i++)
		assert_non_null(take(&w, 1));
	f = take(&w, 0);
	assert_non_null(f);
	assert_false(f->pause_on);
	/* And one that comes in holds the port, which is an event. */
	f->pause_on = true;
	w.sw.machine.ops->handle_packet(&w.sw.machine, 2, f, 0);
	assert_int_equal(w.port[2].held, 1);
	assert_int_equal(w.event[w.event_cnt - 1], VB_TRACE_PAUSED);
	vb_frame_pool_destroy(&w.pool);
}

/* With marks as packets leave, the queue that one leaves behind decides, and not the one that it
 * found. */
static void frame__is_marked_by_the_queue_it_leaves(void **state)
{
	static struct world w;
	struct vb_switch_config cfg = roomy;
	struct vb_frame *first, *second;

	(void)state;
	cfg.ecn_out = 1;
	cfg.red = (struct vb_red){.kmin = 0, .kmax = 1, .pmax_ppm = 1000000};
	assert_int_equal(world_open(&w, &cfg), 0);
	first = give(&w, 0, 1, 0, 100);
	second = give(&w, 0, 1, 0, 100);
	assert_int_equal(w.port[1].stats.marks, 0);
	assert_ptr_equal(take(&w, 1), first);
	assert_ptr_equal(take(&w, 1), second);
	assert_int_equal(first->path.traffic_class & VB_ECN_MASK, VB_ECN_CE);
	assert_int_equal(second->path.traffic_class & VB_ECN_MASK, VB_ECN_ECT0);
	assert_int_equal(w.port[1].stats.marks, 1);
	/* Other priorities are left alone. */
	first = give(&w, 0, 1, 3, 100);
	(void)give(&w, 0, 1, 3, 100);
	assert_ptr_equal(take(&w, 1), first);
	assert_int_equal(w.port[1].stats.marks, 1);
	vb_frame_pool_destroy(&w.pool);
}

/* A PAUSE or RESUME comes in at @now by port 1, and the port is asked as its holder would. */
static void pause(struct world *w, bool on, vb_time now)
{
	struct vb_frame *f = vb_frame_pool_take(&w->pool);

	assert_non_null(f);
	f->kind = VB_FRAME_PAUSE;
	f->prio = 0;
	f->pause_on = on;
	w->sw.machine.ops->handle_packet(&w->sw.machine, 1, f, now);
	(void)vb_ready_take(&w->ready);
}

static struct vb_frame *take_at(struct world *w, vb_time now)
{
	struct vb_frame *f = w->sw.machine.ops->poll_transmit(&w->sw.machine, 1, now);

	vb_port_handle_timeout(&w->port[1]);
	return f;
}

/* The port is asked when the pause has lasted for the time of the watchdog. Then what waits is
 * dropped, and what comes later, until the other end resumes; its memory is free again. */
static void watchdog__drops_at_a_port_paused_for_too_long(void **state)
{
	static struct world w;
	struct vb_switch_config cfg = roomy;
	struct vb_frame *f;

	(void)state;
	cfg.buffer.lossless = 1;
	cfg.buffer.xoff_bytes = 300;
	cfg.watchdog = 1000;
	assert_int_equal(world_open(&w, &cfg), 0);
	pause(&w, true, 10);
	for (uint32_t i = 0; i < 3; i++)
		(void)give_at(&w, 0, 1, 0, 100, 10);
	(void)give_at(&w, 0, 1, 2, 100, 10); /* another priority, which goes */
	assert_non_null(take_at(&w, 11));
	assert_null(take_at(&w, 11));
	assert_true(w.port[1].pull_at == 1010);
	assert_null(take_at(&w, 1009));
	assert_int_equal(w.port[1].depth_pkts, 3);
	assert_null(take_at(&w, 1010));
	assert_int_equal(w.port[1].depth_pkts, 0);
	assert_int_equal(w.port[1].stats.drops, 3);
	assert_int_equal(w.port[1].storm_cnt, 1);
	assert_int_equal(w.sw.buffer.used, 0);
	assert_true(w.port[1].pull_at == VB_NEVER);
	/* The sender, which had been paused for it, goes on. */
	assert_true(take(&w, 0)->pause_on);
	assert_false(take(&w, 0)->pause_on);
	(void)give_at(&w, 0, 1, 0, 100, 1010);
	assert_null(take_at(&w, 1500));
	assert_int_equal(w.port[1].stats.drops, 4);
	assert_int_equal(w.port[1].storm_cnt, 1);
	pause(&w, false, 2000);
	f = give_at(&w, 0, 1, 0, 100, 2000);
	assert_ptr_equal(take_at(&w, 2000), f);
	/* The next pause has its own time. */
	pause(&w, true, 3000);
	(void)give_at(&w, 0, 1, 0, 100, 3000);
	assert_null(take_at(&w, 3999));
	assert_int_equal(w.port[1].storm_cnt, 1);
	assert_null(take_at(&w, 4000));
	assert_int_equal(w.port[1].storm_cnt, 2);
	vb_frame_pool_destroy(&w.pool);
}

static void watchdog__that_ignores_sends_in_spite_of_a_pause(void **state)
{
	static struct world w;
	struct vb_switch_config cfg = roomy;
	struct vb_frame *first, *second;

	(void)state;
	cfg.buffer.lossless = 1;
	cfg.watchdog = 1000;
	cfg.storm_action = VB_STORM_IGNORE;
	assert_int_equal(world_open(&w, &cfg), 0);
	pause(&w, true, 0);
	first = give(&w, 0, 1, 0, 100);
	second = give(&w, 0, 1, 0, 100);
	assert_null(take_at(&w, 999));
	assert_ptr_equal(take_at(&w, 1000), first);
	assert_ptr_equal(take_at(&w, 5000), second);
	assert_int_equal(w.port[1].storm_cnt, 1);
	assert_int_equal(w.port[1].stats.drops, 0);
	assert_int_equal(w.port[1].stats.paused_ns, 1000);
	vb_frame_pool_destroy(&w.pool);
}

static void memory__smaller_than_what_ports_keep_is_refused(void **state)
{
	static struct world w;
	struct vb_switch_config cfg = roomy;

	(void)state;
	cfg.buffer.lossless = 1;
	cfg.buffer.bytes = 4 * 2000;
	assert_int_equal(world_open(&w, &cfg), -EINVAL);
	cfg.buffer.bytes = 4 * 2000 + 1;
	assert_int_equal(world_open(&w, &cfg), 0);
	assert_int_equal(w.sw.buffer.shared_total, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(frame__leaves_by_the_port_of_its_address),
	    cmocka_unit_test(hops__are_chosen_by_flow),
	    cmocka_unit_test(address__that_nobody_has_is_dropped),
	    cmocka_unit_test(group__is_copied_to_the_ports_of_its_tree),
	    cmocka_unit_test(queue__that_is_full_drops),
	    cmocka_unit_test(frame__is_marked_in_a_long_queue),
	    cmocka_unit_test(sender__is_paused_and_resumed),
	    cmocka_unit_test(frame__is_marked_by_the_queue_it_leaves),
	    cmocka_unit_test(watchdog__drops_at_a_port_paused_for_too_long),
	    cmocka_unit_test(watchdog__that_ignores_sends_in_spite_of_a_pause),
	    cmocka_unit_test(memory__smaller_than_what_ports_keep_is_refused),
	};

	return cmocka_run_group_tests_name("fabric_switch", tests, NULL, NULL);
}
