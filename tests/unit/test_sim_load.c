/* SPDX-License-Identifier: BSD-2-Clause */
/* Workloads: every shape and operation runs to its end, the bytes are right, the sums are too. */
#include "sim/load/report.h"
#include "sim_net.h"

static const struct vb_load_config load_config = {
    .flows_max = 4096,
    .connections_max = 4096,
    .message_bytes = 16384,
    .depth = 4,
    .type = VB_QPT_RC,
    .mtu = VB_MTU_1024,
    .timeout = 8,
    .retry_cnt = 7,
    .rnr_retry = 7,
    .min_rnr_timer = 1,
    .rd_atomic = 4,
};

struct fixture {
	struct net net;
	struct vb_load *load;
	struct vb_report report;
};

/* 3 leaves, 2 spines, 4 hosts at each leaf. */
static void open_with(struct fixture *f, const struct vb_load_config *load, bool data,
		      const char *fault)
{
	struct vb_sim_config c = net_config();
	struct vb_cable host = net_cable(25, 500), fabric = net_cable(50, 500);

	c.carry_data = data;
	c.digest = true;
	assert_int_equal(vb_sim_topo_clos(&f->net.topo, &net_memory, 3, 2, 4, &host, &fabric), 0);
	net_open(&f->net, &c);
	assert_int_equal(vb_load_create(&f->load, f->net.sim, load, &net_memory), 0);
	if (fault) {
		struct vb_fault_spec spec;
		struct vb_fault_error err;

		assert_int_equal(vb_fault_parse(fault, &spec, &err), 0);
		for (uint32_t i = 0; i < f->net.topo.link_cnt; i++)
			assert_int_equal(vb_sim_set_cable_fault(f->net.sim, i, &spec), 0);
	}
}

static void open_clos(struct fixture *f, bool data, const char *fault)
{
	open_with(f, &load_config, data, fault);
}

static void run(struct fixture *f, const struct vb_load_pattern *p)
{
	assert_int_equal(vb_load_add(f->load, p), 0);
	assert_int_equal(vb_sim_run(f->net.sim, VB_NEVER), 0);
	assert_int_equal(vb_load_failure(f->load), 0);
	assert_int_equal(vb_report_make(&f->report, f->load, f->net.sim, &net_memory), 0);
	assert_int_equal(f->report.done, f->report.flows);
	assert_int_equal(vb_load_damaged(f->load), 0);
}

static void close_clos(struct fixture *f)
{
	vb_load_destroy(f->load);
	net_close(&f->net);
}

static void shape__runs_to_its_end(void **state)
{
	static const struct {
		struct vb_load_pattern p;
		uint32_t flows;
	} t[] = {
	    {{.shape = VB_LOAD_SINGLE, .src = 3, .dst = 9, .bytes = 1000000}, 1},
	    {{.shape = VB_LOAD_INCAST, .dst = 5, .flows = 11, .bytes = 50000}, 11},
	    {{.shape = VB_LOAD_PERMUTATION, .bytes = 100000}, 12},
	    {{.shape = VB_LOAD_ALL_TO_ALL, .bytes = 20000}, 132},
	    {{.shape = VB_LOAD_ALL_TO_ALL, .bytes = 20000, .parallel = 2}, 132},
	    {{.shape = VB_LOAD_COLLECTIVE, .bytes = 120000}, 12 * 22},
	    {{.shape = VB_LOAD_PING_PONG, .src = 1, .dst = 0, .flows = 100, .bytes = 64}, 100},
	    {{.shape = VB_LOAD_POISSON, .flows = 300, .bytes = 5000, .load_ppm = 500000}, 300},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		for (uint32_t op = 0; op < VB_LOAD_OP_CNT; op++) {
			struct fixture f;
			struct vb_load_pattern p = t[i].p;

			p.mix[op] = 1;
			if (op == VB_LOAD_ATOMIC)
				p.bytes = 160;
			open_clos(&f, op % 2 == 0, NULL);
			run(&f, &p);
			assert_int_equal(f.report.flows, t[i].flows);
			close_clos(&f);
		}
	}
}

static void shape__survives_faults(void **state)
{
	static const char *const fault[] = {
	    "loss=2e-3",
	    "reorder=1%/5us",
	    "dup=1%,delay=1us/3us",
	    "corrupt=2e-3,ecn=1%",
	    "burst=1e-3/0.3,blackout=20us/5us/50us",
	};
	struct vb_load_pattern p = {
	    .shape = VB_LOAD_PERMUTATION, .bytes = 200000, .mix = {1, 1, 1, 0}};

	(void)state;
	for (unsigned i = 0; i < sizeof fault / sizeof fault[0]; i++) {
		struct fixture f;

		open_clos(&f, true, fault[i]);
		run(&f, &p);
		close_clos(&f);
	}
}

/* Flows of all operations follow each other on the same connections. */
static void mix__keeps_the_bytes_right(void **state)
{
	struct vb_load_pattern p = {.shape = VB_LOAD_POISSON,
				    .flows = 1000,
				    .bytes = 50000,
				    .load_ppm = 200000,
				    .mix = {8, 8, 8, 1}};
	struct fixture f;

	(void)state;
	open_clos(&f, true, "loss=1e-3,corrupt=1e-3,reorder=1e-3/4us");
	run(&f, &p);
	assert_true(f.report.faults > 10);
	assert_true(f.report.counters.v[VB_COUNTER_retransmitted_packets] > 10);
	close_clos(&f);
}

/* A host that posts receives late refuses messages that come too early, and loses nothing. */
static void receive_delay__is_waited_for(void **state)
{
	struct vb_load_config late = load_config;
	struct vb_load_pattern p = {
	    .shape = VB_LOAD_PERMUTATION, .bytes = 40 * 16384, .mix = {1, 0, 0, 0}};
	struct fixture f;

	(void)state;
	late.receive_delay = 200 * VB_USEC;
	for (int faulty = 0; faulty < 2; faulty++) {
		open_with(&f, &late, true, faulty ? "loss=1e-3" : NULL);
		run(&f, &p);
		assert_true(f.report.counters.v[VB_COUNTER_rnr_nak_retry_err] > 0);
		/* Forty messages through four receives: each is waited for nine times. */
		assert_true(f.report.last_done > 9 * late.receive_delay);
		close_clos(&f);
	}
}

static void report__ideal_is_never_beaten(void **state)
{
	struct fixture f;
	struct vb_load_pattern p = {
	    .shape = VB_LOAD_POISSON, .flows = 500, .sizes = &vb_size_hadoop, .load_ppm = 300000};

	(void)state;
	open_clos(&f, false, NULL);
	run(&f, &p);
	assert_true(f.report.slowdown_milli.min >= 990);
	assert_true(f.report.slowdown_milli.p50 < 3000);
	assert_true(f.report.jain_ppm > 0 && f.report.jain_ppm <= 1000000);
	assert_true(f.report.counters.v[VB_COUNTER_retransmitted_packets] == 0);
	close_clos(&f);
}

/* Percentiles are values that there are, of the nearest rank: of a thousand in any order the one at
 * its place, of a few the one that is next above. */
static void report__spread(void **state)
{
	static uint64_t v[1000];
	struct vb_spread s;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		v[i] = i * 377 % 1000 + 1;
	vb_spread_of(&s, v, 1000);
	assert_true(s.cnt == 1000 && s.min == 1 && s.max == 1000 && s.mean == 500);
	assert_true(s.p50 == 500 && s.p90 == 900 && s.p95 == 950 && s.p99 == 990 && s.p999 == 999);
	for (uint64_t i = 0; i < 3; i++)
		v[i] = 30 - 10 * i;
	vb_spread_of(&s, v, 3);
	assert_true(s.min == 10 && s.p50 == 20 && s.p90 == 30 && s.max == 30 && s.mean == 20);
	vb_spread_of(&s, v, 2); /* ranks 1 and 2 of two */
	assert_true(s.p50 == 10 && s.p90 == 20 && s.p95 == 20 && s.p99 == 20);
	assert_true(vb_nearest_rank(v, 2, 0) == 10 && vb_nearest_rank(v, 2, 501) == 20);
	vb_spread_of(&s, v, 0);
	assert_true(s.cnt == 0 && s.max == 0);
}

/* Slow-down by size: bins end at 1, 2, 5 of each power of ten, their ends belong to them, and each
 * flow is in one. */
static void report__bins(void **state)
{
	static const uint64_t size[] = {0, 1000, 1001, 2000, 5000, 9999, 10000, 10001, 1200000};
	static const uint32_t in[VB_REPORT_BINS] = {2, 2, 1, 2, 1, [10] = 1};
	struct fixture f;

	(void)state;
	assert_true(vb_report_bin_end(0) == 1000 && vb_report_bin_end(1) == 2000);
	assert_true(vb_report_bin_end(5) == 50000 && vb_report_bin_end(18) == 1000000000);
	assert_true(vb_report_bin_end(VB_REPORT_BINS - 1) == UINT64_MAX);
	open_clos(&f, false, NULL);
	for (uint32_t i = 0; i < sizeof size / sizeof size[0]; i++)
		assert_int_equal(vb_load_add_flow(f.load, i, 11, VB_LOAD_WRITE, size[i], 1000 * i),
				 0);
	assert_int_equal(vb_sim_run(f.net.sim, VB_NEVER), 0);
	assert_int_equal(vb_report_make(&f.report, f.load, f.net.sim, &net_memory), 0);
	for (uint32_t i = 0; i < VB_REPORT_BINS; i++)
		assert_int_equal(f.report.slowdown_of_bin[i].cnt, in[i]);
	assert_true(f.report.slowdown_of_bin[10].p95 >= 1000);
	assert_true(f.report.slowdown_of_bin[10].p95 == f.report.slowdown_of_bin[10].max);
	close_clos(&f);
}

/* The time that a flow takes at best: each frame has 62 bytes of headers and CRCs besides its
 * payload and RETH, and 20 of preamble and gap, but for the gap behind the last. Over two cables of
 * 25 Gb/s and 500 ns the first frame takes its time twice. */
static void report__ideal_time(void **state)
{
	struct fixture f;

	(void)state;
	open_clos(&f, false, NULL);
	/* Frames of 1086 bytes take 354 ns each; all three, 3246 bytes with two gaps, 1039 ns. */
	assert_int_equal(vb_sim_ideal_ns(f.net.sim, 0, 1, 3000, 1024), 1000 + 354 + 1039);
	/* The faster cables in between do not hold it up: two frames of 1086 bytes, at 50 Gb/s. */
	assert_int_equal(vb_sim_ideal_ns(f.net.sim, 0, 11, 3000, 1024),
			 2000 + 354 + 2 * 177 + 1039);
	assert_int_equal(vb_sim_ideal_ns(f.net.sim, 0, 1, 0, 1024), 1000 + 27 + 27);
	close_clos(&f);
}

static void report__incast_is_fair(void **state)
{
	struct fixture f;
	struct vb_load_pattern p = {
	    .shape = VB_LOAD_INCAST, .dst = 0, .flows = 3, .hosts = 4, .bytes = 1000000};

	(void)state;
	open_clos(&f, false, NULL);
	run(&f, &p);
	assert_true(f.report.jain_ppm > 990000);
	/* 1024 of 1024 + 82 bytes of a packet are payload. */
	assert_uint_in_range(f.report.goodput_bps, 22500000000, 25000000000 * 1024 / 1106);
	close_clos(&f);
}

/* A run that is stopped has moved what has completed until then. */
static void report__counts_flows_that_are_still_running(void **state)
{
	struct fixture f;
	struct vb_load_pattern p = {
	    .shape = VB_LOAD_INCAST, .dst = 0, .flows = 3, .hosts = 4, .bytes = 100000000};
	struct vb_load_pattern later = {
	    .shape = VB_LOAD_SINGLE, .src = 4, .dst = 5, .bytes = 1000, .start = VB_SEC};
	struct vb_load_config large = load_config;
	uint64_t bytes = 0;

	(void)state;
	large.message_bytes = 200000000; /* no message completes */
	open_with(&f, &large, false, NULL);
	assert_int_equal(vb_load_add(f.load, &p), 0);
	assert_int_equal(vb_load_add(f.load, &later), 0);
	assert_int_equal(vb_sim_run(f.net.sim, 10 * VB_MSEC), 0);
	assert_int_equal(vb_report_make(&f.report, f.load, f.net.sim, &net_memory), 0);
	assert_int_equal(f.report.done, 0);
	assert_int_equal(f.report.failed, 0);
	assert_int_equal(f.report.running, 3);
	assert_true(f.report.jain_ppm > 990000);
	assert_uint_in_range(f.report.goodput_bps, 22500000000, 25000000000 * 1024 / 1106);
	assert_int_equal(f.report.end, 10 * VB_MSEC);
	for (uint32_t i = 0; i < f.report.flows; i++) {
		uint64_t moved = vb_load_flow_completed(f.load, vb_load_flow(f.load, i));

		assert_int_equal(moved % 1024, 0);
		bytes += moved;
	}
	assert_int_equal(f.report.bytes, bytes);
	assert_true(f.report.depth_mean > 0);
	close_clos(&f);
}

/* However short a run is, its goodput is bits over nanoseconds. */
static void report__goodput_of_a_short_run(void **state)
{
	static const uint64_t bytes[] = {1, 64, 124, 1000, 4096};

	(void)state;
	for (unsigned i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
		struct vb_load_pattern p = {
		    .shape = VB_LOAD_SINGLE, .src = 3, .dst = 9, .bytes = bytes[i]};
		struct fixture f;
		uint64_t ns;

		p.mix[VB_LOAD_WRITE] = 1;
		open_clos(&f, false, NULL);
		run(&f, &p);
		ns = f.report.end - f.report.first_start;
		assert_uint_in_range(ns, 1000, 20000);
		assert_int_equal(f.report.goodput_bps, bytes[i] * 8 * VB_SEC / ns);
		close_clos(&f);
	}
}

static void draw__has_the_right_mean(void **state)
{
	struct vb_rng r = vb_rng_stream(1, "test", 0);
	const struct vb_size_dist *dist[] = {&vb_size_websearch, &vb_size_hadoop};
	uint64_t sum = 0, n = 200000;

	(void)state;
	for (uint64_t i = 0; i < n; i++)
		sum += vb_exp_draw(&r) >> 12;
	sum /= n; /* 2^20 */
	assert_uint_in_range(sum, (1 << 20) - (1 << 20) / 100, (1 << 20) + (1 << 20) / 100);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t mean = vb_size_mean(dist[i]), total = 0;

		for (uint64_t k = 0; k < n; k++)
			total += vb_size_draw(dist[i], &r);
		assert_uint_in_range(total / n, mean - mean / 33, mean + mean / 33);
		assert_ptr_equal(vb_size_dist_find(dist[i]->name), dist[i]);
	}
	assert_null(vb_size_dist_find("pareto"));
}

/* A pattern that cannot be is refused, and says why; each bound from both sides. */
static void pattern__each_mistake(void **state)
{
#define SINGLE(from, to, ...)                                                                      \
	{                                                                                          \
		.shape = VB_LOAD_SINGLE, .src = (from), .dst = (to), .bytes = 9, __VA_ARGS__       \
	}
#define INCAST(to, cnt)                                                                            \
	{                                                                                          \
		.shape = VB_LOAD_INCAST, .dst = (to), .flows = (cnt), .bytes = 9                   \
	}
#define POISSON(cnt, load, mean)                                                                   \
	{                                                                                          \
		.shape = VB_LOAD_POISSON, .flows = (cnt), .load_ppm = (load), .bytes = (mean)      \
	}
	static const struct {
		enum vb_qp_type type;
		struct vb_load_pattern p;
		const char *why; /* it begins so; NULL: the pattern is good */
	} rows[] = {
	    {VB_QPT_RC, {.shape = VB_LOAD_PERMUTATION, .hosts = 1, .bytes = 9}, "takes 2 hosts"},
	    {VB_QPT_RC, {.shape = VB_LOAD_PERMUTATION, .hosts = 2, .bytes = 9}, NULL},
	    {VB_QPT_RC, {.shape = VB_LOAD_PERMUTATION, .hosts = 12, .bytes = 9}, NULL},
	    {VB_QPT_RC, {.shape = VB_LOAD_PERMUTATION, .hosts = 13, .bytes = 9}, "takes 2 hosts"},
	    {VB_QPT_RC, {.shape = VB_LOAD_PERMUTATION, .bytes = 9}, NULL},
	    {VB_QPT_RC, {.shape = VB_LOAD_SHAPE_CNT, .bytes = 9}, "has no such shape"},
	    {VB_QPT_RC, SINGLE(0, 1, .mix = {UINT32_MAX}), NULL},
	    {VB_QPT_RC, SINGLE(0, 1, .mix = {UINT32_MAX, 1}), "has a mix with weights"},
	    {VB_QPT_UC, SINGLE(0, 1, .mix = {[VB_LOAD_WRITE] = 1, [VB_LOAD_SEND] = 1}), NULL},
	    {VB_QPT_UC, SINGLE(0, 1, .mix = {[VB_LOAD_READ] = 1}), "mixes READs"},
	    {VB_QPT_UC, SINGLE(0, 1, .mix = {[VB_LOAD_ATOMIC] = 1}), "mixes READs"},
	    {VB_QPT_UD, SINGLE(0, 1, .mix = {[VB_LOAD_SEND] = 2}), NULL},
	    {VB_QPT_UD, SINGLE(0, 1, .mix = {[VB_LOAD_SEND] = 2, [VB_LOAD_WRITE] = 1}),
	     "mixes something"},
	    {VB_QPT_RC, SINGLE(11, 0, .start = 0), NULL},
	    {VB_QPT_RC, SINGLE(0, 11, .start = 0), NULL},
	    {VB_QPT_RC, SINGLE(12, 0, .start = 0), "is from a host"},
	    {VB_QPT_RC, SINGLE(0, 12, .start = 0), "is from a host"},
	    {VB_QPT_RC, SINGLE(3, 3, .start = 0), "is from a host"},
	    {VB_QPT_RC, SINGLE(0, 4, .hosts = 4), "is from a host"},
	    {VB_QPT_RC, INCAST(11, 11), NULL},
	    {VB_QPT_RC, INCAST(12, 1), "is to one"},
	    {VB_QPT_RC, INCAST(0, 0), "has a count of 1 up"},
	    {VB_QPT_RC, INCAST(0, 12), "has a count of 1 up"},
	    {VB_QPT_RC, POISSON(1, 1, 1), NULL},
	    {VB_QPT_RC, POISSON(1, 10000000, 1 << 30), NULL},
	    {VB_QPT_RC, POISSON(1, 0, 9), "has a load"},
	    {VB_QPT_RC, POISSON(1, 10000001, 9), "has a load"},
	    {VB_QPT_RC, POISSON(1, 9, 0), "has flows of 1 byte"},
	    {VB_QPT_RC, POISSON(1, 9, (1 << 30) + 1), "has flows of 1 byte"},
	    {VB_QPT_RC, POISSON(0, 9, 9), "has a count of 1 and"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct vb_load_config c = {.type = rows[i].type};
		const char *why = vb_load_wrong(&c, &rows[i].p, 12);

		if (!why != !rows[i].why ||
		    (why && strncmp(why, rows[i].why, strlen(rows[i].why)) != 0))
			fail_msg("row %zu: %s", i, why ? why : "it is good");
	}
#undef SINGLE
#undef INCAST
#undef POISSON
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(shape__runs_to_its_end),
	    cmocka_unit_test(shape__survives_faults),
	    cmocka_unit_test(mix__keeps_the_bytes_right),
	    cmocka_unit_test(receive_delay__is_waited_for),
	    cmocka_unit_test(report__spread),
	    cmocka_unit_test(report__bins),
	    cmocka_unit_test(report__ideal_time),
	    cmocka_unit_test(report__ideal_is_never_beaten),
	    cmocka_unit_test(report__incast_is_fair),
	    cmocka_unit_test(report__counts_flows_that_are_still_running),
	    cmocka_unit_test(report__goodput_of_a_short_run),
	    cmocka_unit_test(draw__has_the_right_mean),
	    cmocka_unit_test(pattern__each_mistake),
	};

	return cmocka_run_group_tests_name("sim_load", tests, NULL, NULL);
}
