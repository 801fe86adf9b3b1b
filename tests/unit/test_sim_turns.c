/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The events of a switch that is apart, against a list that is searched, and runs with switches
 * apart against those with all machines in one queue where time goes on for long, where faults come
 * during a run, and where a callback ends it in the middle of a window. test_sim_parts.c has the
 * many networks and loads.
 */
#include "base/rng.h"
#include "sim/window/turns.h"
#include "sim_parts_env.h"

#define EVENTS 26u /* no power of two */

static void turns__come_by_time_and_rank(void **state)
{
	uint64_t key[2 * EVENTS];
	vb_time at[EVENTS];

	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct vb_rng r = vb_rng_stream(seed, "turns", 0);
		struct vb_sim_turns t = {.key = key, .cnt = EVENTS, .base = seed * 1000};

		memset(key, 0xff, sizeof key);
		for (uint32_t i = 0; i < EVENTS; i++)
			at[i] = VB_NEVER;
		for (uint32_t n = 0; n < 2000; n++) {
			uint32_t i = vb_rng_below(&r, EVENTS), first = 0;

			at[i] = vb_rng_below(&r, 5) == 0 ? VB_NEVER : t.base + vb_rng_below(&r, 30);
			vb_turn_set(&t, i, at[i]);
			for (i = 1; i < EVENTS; i++)
				first = at[i] < at[first] ? i : first;
			assert_int_equal(vb_turn_next(&t), at[first]);
			if (at[first] != VB_NEVER)
				assert_int_equal(key[1] & ((1u << VB_TURN_RANK_BITS) - 1), first);
		}
	}
}

/* One that is too far off for a key comes up before its time, and not later. */
static void turn__far_off_comes_up_early(void **state)
{
	uint64_t key[4] = {0, 0, VB_TURN_NEVER, VB_TURN_NEVER};
	struct vb_sim_turns t = {.key = key, .cnt = 2};

	(void)state;
	vb_turn_set(&t, 1, VB_TURN_FAR + 12345);
	assert_int_equal(vb_turn_next(&t), VB_TURN_FAR);
	vb_turn_set(&t, 1, VB_NEVER);
	assert_int_equal(vb_turn_next(&t), VB_NEVER);
}

/* Three flows over two switches, the last of them after an hour: keys have to count anew. */
static uint64_t digest_after(parts_run_fn *run, vb_dur pause)
{
	struct vb_cable cable = net_cable(25, 700);
	struct parts_case c = {.seed = 1, .type = VB_QPT_RC, .lossless = true};
	struct vb_sim_config cfg = parts_config(&c);
	const struct vb_load_config load = parts_load(&c);
	struct vb_report r;
	struct vb_load *l;
	struct net n;

	assert_int_equal(vb_sim_topo_dumbbell(&n.topo, &net_memory, 2, 2, &cable, &cable), 0);
	net_open(&n, &cfg);
	assert_int_equal(vb_load_create(&l, n.sim, &load, &net_memory), 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(vb_load_add_flow(l, i % 2, 2, VB_LOAD_WRITE, 50000, i * pause), 0);
	assert_int_equal(run(n.sim, 4 * pause), 0);
	assert_int_equal(vb_report_make(&r, l, n.sim, &net_memory), 0);
	assert_int_equal(r.done, 3);
	vb_load_destroy(l);
	net_close(&n);
	return r.digest;
}

static void run__over_hours_is_the_same_run(void **state)
{
	(void)state;
	assert_int_equal(digest_after(vb_sim_run, 1800 * VB_SEC),
			 digest_after(parts_in_steps, 1800 * VB_SEC));
}

/* A callback that ends the run at each completion, or puts faults on a cable at the third. */
struct meddler {
	struct net n;
	bool stops, faults, is_stopped;
};

static void meddler_on_completion(void *ctx, uint32_t host, const struct vb_wc *wc, vb_time now)
{
	struct meddler *m = ctx;
	struct vb_fault_spec spec;
	struct vb_fault_error e;

	net_on_completion(&m->n, host, wc, now);
	if (m->faults && m->n.wc_cnt == 3) {
		assert_int_equal(vb_fault_parse("loss=5e-2", &spec, &e), 0);
		assert_int_equal(vb_sim_set_cable_fault(m->n.sim, 4, &spec), 0);
	}
	if (m->stops) {
		vb_sim_stop(m->n.sim);
		m->is_stopped = true;
	}
}

/* Up to the end that was asked for. */
static void go_on(struct meddler *m, bool in_steps)
{
	m->is_stopped = false;
	if (!in_steps)
		assert_int_equal(vb_sim_run(m->n.sim, VB_NEVER), 0);
	while (in_steps && !m->is_stopped && vb_sim_step(m->n.sim))
		;
}

/* Digest and counts of all ports, as of a number. */
static uint64_t state_of(const struct vb_sim *s)
{
	uint64_t h = vb_sim_digest(s) ^ vb_sim_events(s) << 32 ^ vb_sim_hops(s);

	for (uint32_t i = 0; i < vb_sim_port_cnt(s); i++) {
		struct vb_port_stats st;
		uint64_t w[sizeof st / 8];

		vb_sim_port_stats(s, i, &st);
		memcpy(w, &st, sizeof st);
		for (size_t k = 0; k < sizeof w / 8; k++)
			h = (h ^ w[k]) * UINT64_C(0x9fb21c651e98df25) ^ h >> 29;
	}
	return h;
}

static void meddler_open(struct meddler *m)
{
	/* A byte takes a nanosecond, so much happens at the same instant. */
	struct vb_cable cable = net_cable(8, 400);
	struct vb_sim_config cfg = net_config();
	const struct vb_sim_app app = {.ctx = m, .on_completion = meddler_on_completion};

	cfg.digest = true;
	cfg.sw.buffer.lossless = 1;
	cfg.sw.buffer.xoff_bytes = 20000;
	assert_int_equal(vb_sim_topo_dumbbell(&m->n.topo, &net_memory, 3, 2, &cable, &cable), 0);
	net_open(&m->n, &cfg);
	vb_sim_set_app(m->n.sim, &app);
	for (uint32_t i = 0; i < 12; i++)
		net_write(&m->n, i % 3, 3 + i % 2, 4096 * (5 + i / 3 * 4));
}

static void run__that_a_callback_ends_or_changes_is_the_same_run(void **state)
{
	(void)state;
	for (uint32_t i = 1; i < 4; i++) {
		struct meddler *m[2] = {calloc(1, sizeof *m[0]), calloc(1, sizeof *m[0])};
		uint32_t ends = 0;

		for (uint32_t k = 0; k < 2; k++) {
			*m[k] = (struct meddler){.stops = i & 1, .faults = i & 2};
			meddler_open(m[k]);
		}
		do {
			go_on(m[0], false);
			go_on(m[1], true);
			assert_int_equal(vb_sim_now(m[0]->n.sim), vb_sim_now(m[1]->n.sim));
			assert_int_equal(state_of(m[0]->n.sim), state_of(m[1]->n.sim));
			ends++;
		} while (m[0]->is_stopped);
		assert_int_equal(m[0]->n.wc_cnt, 12);
		assert_true(i & 1 ? ends > 10 : ends == 1);
		for (uint32_t k = 0; k < 2; k++) {
			net_close(&m[k]->n);
			free(m[k]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(turns__come_by_time_and_rank),
	    cmocka_unit_test(turn__far_off_comes_up_early),
	    cmocka_unit_test(run__over_hours_is_the_same_run),
	    cmocka_unit_test(run__that_a_callback_ends_or_changes_is_the_same_run),
	};

	return cmocka_run_group_tests_name("sim_turns", tests, NULL, NULL);
}
