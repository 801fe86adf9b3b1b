/* SPDX-License-Identifier: BSD-2-Clause */
/* Networks and loads drawn by a number, run in one part and in several, for tests that the run is
 * the same: every count of the report, every flow and every port. */
#ifndef VB_TESTS_UNIT_SIM_PARTS_ENV_H
#define VB_TESTS_UNIT_SIM_PARTS_ENV_H

#include "core/control/algorithm/algorithm.h"
#include "sim/load/report.h"
#include "sim/load/tally.h"
#include "sim/parts.h"
#include "sim_net.h"

#define PARTS_FLOWS 4096u

/* A case: the network, the switches, the load, and whether a link changes. */
struct parts_case {
	uint64_t seed;
	uint32_t shape, routing;
	struct vb_load_pattern p;
	enum vb_qp_type type;
	bool lossless, small, marked, dcqcn, hasty, faulty, changes, unequal, stops, hpcc;
	uint32_t records; /* fewer than the flows of a list; 0: enough for all */
};

#define PARTS_PAST 8192u

/* The end of a run. */
struct parts_end {
	struct vb_report r;
	uint32_t flow_cnt, port_cnt;
	struct vb_flow flow[PARTS_FLOWS];
	struct vb_port_stats port[1024];
	/* Flows that have given their records away, in this order. */
	uint32_t past_cnt;
	struct vb_flow past[PARTS_PAST];
	uint32_t lap_cnt;
	struct vb_load_lap lap[4];
};

static inline struct parts_case parts_case_of(uint64_t seed)
{
	struct vb_rng rng = vb_rng_stream(seed, "parts", 0);
	struct parts_case c = {.seed = seed, .shape = vb_rng_below(&rng, 6)};

	c.routing = vb_rng_below(&rng, VB_MULTIPATH_KINDS);
	c.type = vb_rng_below(&rng, 4) == 0   ? VB_QPT_DCI
		 : vb_rng_below(&rng, 4) == 0 ? VB_QPT_XRC_INI
					      : VB_QPT_RC;
	c.lossless = vb_rng_below(&rng, 2);
	c.small = vb_rng_below(&rng, 2);
	c.marked = vb_rng_below(&rng, 2);
	c.dcqcn = vb_rng_below(&rng, 3) == 0;
	c.hasty = vb_rng_below(&rng, 4) == 0;
	c.faulty = vb_rng_below(&rng, 3) == 0;
	c.changes = vb_rng_below(&rng, 3) == 0;
	c.unequal = vb_rng_below(&rng, 2);
	c.stops = vb_rng_below(&rng, 3) == 0;
	c.p.bytes = 1000 + vb_rng_below(&rng, 100000);
	for (uint32_t i = 0; i < VB_LOAD_OP_CNT; i++)
		c.p.mix[i] = vb_rng_below(&rng, 4);
	switch (vb_rng_below(&rng, 4)) {
	case 0:
		c.p.shape = VB_LOAD_INCAST;
		c.p.flows = 5;
		break;
	case 1:
		c.p.shape = VB_LOAD_POISSON;
		c.p.flows = 100;
		c.p.load_ppm = 800000;
		c.p.sizes = &vb_size_hadoop;
		break;
	case 2:
		c.p.shape = VB_LOAD_ALL_TO_ALL;
		c.p.bytes /= 8;
		break;
	default:
		c.p.shape = VB_LOAD_PERMUTATION;
		break;
	}
	/* With records of switches in packets, which cross from part to part. */
	c.hpcc = !c.dcqcn && vb_rng_below(&rng, 3) == 0;
	return c;
}

/* The same with flows that follow from others at once, or from a list, or of UC and UD: what needs
 * the order in which a run on one core comes to things at several hosts. */
static inline struct parts_case parts_case_following(uint64_t seed)
{
	static const struct vb_collective kind[] = {
	    {.kind = VB_ALL_REDUCE, .algorithm = VB_RING},
	    {.kind = VB_ALL_REDUCE, .algorithm = VB_TREE, .chunks = 4},
	    {.kind = VB_ALL_TO_ALL, .algorithm = VB_PAIRWISE},
	    {.kind = VB_MOE, .work = 3000},
	    {.kind = VB_PIPELINE, .microbatches = 6, .work = 2000},
	    {.kind = VB_ALL_TO_ALL, .algorithm = VB_DIRECT},
	};
	struct vb_rng rng = vb_rng_stream(seed, "following", 0);
	struct parts_case c = parts_case_of(seed);

	c.stops = false;
	switch (seed % 8) {
	case 0:
		c.p = (struct vb_load_pattern){
		    .shape = VB_LOAD_PING_PONG, .src = 0, .flows = 40, .bytes = c.p.bytes / 20};
		c.p.dst = 5;
		c.type = seed & 8 ? VB_QPT_UC : c.type;
		break;
	case 1:
		c.p.shape = VB_LOAD_ALL_TO_ALL;
		c.p.bytes /= 8;
		c.p.parallel = 1 + vb_rng_below(&rng, 3);
		break;
	case 2:
	case 3:
		c.p = (struct vb_load_pattern){.shape = VB_LOAD_LIST};
		c.records = 24;
		break;
	case 4:
		c.type = seed & 8 ? VB_QPT_UC : VB_QPT_UD;
		c.records = seed & 16 ? 24 : 0;
		c.p = (struct vb_load_pattern){.shape = c.records ? VB_LOAD_LIST : VB_LOAD_POISSON,
					       .flows = 100,
					       .load_ppm = 800000,
					       .sizes = &vb_size_hadoop,
					       .mix = {1}};
		break;
	default:
		c.p = (struct vb_load_pattern){
		    .shape = VB_LOAD_COLLECTIVE,
		    .collective = kind[vb_rng_below(&rng, sizeof kind / sizeof kind[0])],
		    .bytes = 20000 + vb_rng_below(&rng, 200000),
		    .iterations = 1 + vb_rng_below(&rng, 2),
		    .pause = 1500};
		c.records = seed & 8 ? 256 : 0;
		break;
	}
	return c;
}

/* A list of flows that are drawn: its items, one by one. */
struct parts_list {
	struct vb_rng rng;
	uint32_t hosts, cnt;
	vb_time at;
	bool of_datagrams;
};

static inline int parts_list_next(void *ctx, struct vb_load_item *item)
{
	struct parts_list *l = ctx;

	if (l->cnt++ == 300)
		return 0;
	l->at += vb_rng_below(&l->rng, 1500);
	*item = (struct vb_load_item){.src = vb_rng_below(&l->rng, l->hosts),
				      .bytes = 1 + vb_rng_below(&l->rng, 9000),
				      .start = l->at,
				      .op = l->of_datagrams ? VB_LOAD_SEND : VB_LOAD_OP_CNT};
	item->dst = (item->src + 1 + vb_rng_below(&l->rng, l->hosts - 1)) % l->hosts;
	return 1;
}

static inline void parts_past(void *ctx, const struct vb_flow *f)
{
	struct parts_end *e = ctx;

	assert_true(e->past_cnt < PARTS_PAST);
	memcpy(&e->past[e->past_cnt++], f, sizeof *f);
}

static inline void parts_topology(struct vb_sim_topo *t, const struct parts_case *c)
{
	struct vb_cable host = net_cable(25, 500), fabric = net_cable(c->unequal ? 40 : 25, 700);
	int err;

	switch (c->shape) {
	case 0:
		err = vb_sim_topo_dumbbell(t, &net_memory, 3, 4, &host, &fabric);
		break;
	case 1:
		err = vb_sim_topo_parking_lot(t, &net_memory, 5, 2, &host, &fabric);
		break;
	case 2:
		err = vb_sim_topo_ring(t, &net_memory, 5, 2, &host, &fabric);
		break;
	case 3:
		err = vb_sim_topo_clos(t, &net_memory, 4, 2, 3, &host, &fabric);
		break;
	case 4:
		err = vb_sim_topo_clos3(t, &net_memory, 2, 2, 2, 2, 2, &host, &fabric);
		break;
	default:
		err = vb_sim_topo_fat_tree(t, &net_memory, 4, &host, &fabric);
		break;
	}
	assert_int_equal(err, 0);
}

static inline struct vb_sim_config parts_config(const struct parts_case *c)
{
	struct vb_sim_config cfg = net_config();
	static _Thread_local struct vb_cc_choice choice; /* ranks are threads */

	vb_cc_choice_begin(&choice, vb_cc_algorithm_find("hpcc", strlen("hpcc")),
			   UINT64_C(25000000000));
	cfg.hca.choice = c->hpcc ? &choice : NULL;
	cfg.seed = c->seed;
	cfg.digest = true;
	cfg.reroute = 20000;
	cfg.hca.port[1].active_mtu = VB_MTU_1024;
	cfg.sw.ecn = c->marked;
	cfg.sw.red = (struct vb_red){.kmin = 5000, .kmax = 100000, .pmax_ppm = 100000};
	cfg.sw.buffer.lossless = c->lossless;
	cfg.sw.buffer.xoff_bytes = c->lossless ? 20000 : 0;
	cfg.sw.watchdog = c->small ? 50000 : 0;
	cfg.sw.buffer.bytes = c->lossless ? 2 << 20 : c->small ? 60000 : 1 << 20;
	cfg.sw.queue_bytes = c->small ? 30000 : 0;
	cfg.sw.multipath = (struct vb_multipath_config){
	    .kind = (uint8_t)c->routing, .flowlet_gap = 5000, .flowlet_cnt = 64, .queue_step = 1};
	if (c->dcqcn)
		vb_cc_settings_paper(&cfg.hca.cc, UINT64_C(25000000000));
	return cfg;
}

static inline struct vb_load_config parts_load(const struct parts_case *c)
{
	return (struct vb_load_config){
	    .flows_max = c->records ? c->records : PARTS_FLOWS,
	    .connections_max = PARTS_FLOWS,
	    .message_bytes = 30000,
	    .depth = 4,
	    .type = c->type,
	    .mtu = VB_MTU_1024,
	    .timeout = c->hasty ? 2 : 6,
	    .retry_cnt = c->hasty ? 1 : 7,
	    .rnr_retry = 7,
	    .min_rnr_timer = 1,
	    .rd_atomic = 4,
	    .traffic_class = VB_ECN_ECT0,
	};
}

/* Faults on cables of hosts, and a cable between switches that is apart for a while. */
static inline void parts_disturb(struct net *n, const struct parts_case *c)
{
	struct vb_fault_error e;
	struct vb_fault_spec spec;
	uint32_t last = n->topo.link_cnt - 1;

	if (c->faulty) {
		assert_int_equal(vb_fault_parse("loss=1e-2,reorder=1e-2/3us,dup=1e-2", &spec, &e),
				 0);
		for (uint32_t i = 0; i < 3; i++)
			assert_int_equal(
			    vb_sim_set_cable_fault(n->sim, vb_sim_host_link(n->sim, i), &spec), 0);
	}
	if (c->changes) {
		assert_int_equal(vb_sim_plan_link(n->sim, last, false, 15000), 0);
		assert_int_equal(vb_sim_plan_link(n->sim, last, true, 90000), 0);
		assert_int_equal(
		    vb_sim_plan_link(n->sim, vb_sim_host_link(n->sim, 1), false, 15000), 0);
		assert_int_equal(vb_sim_plan_link(n->sim, vb_sim_host_link(n->sim, 1), true, 60000),
				 0);
	}
}

/* Runs @n to @until; it has more than one part if the driver needs them. */
typedef int parts_run_fn(struct vb_sim *s, vb_time until);

/* Event by event, with all machines in one queue. */
static inline int parts_in_steps(struct vb_sim *s, vb_time until)
{
	while (vb_sim_next(s) <= until && vb_sim_step(s))
		;
	return vb_sim_run(s, until);
}

static inline void parts_note(struct parts_end *e, const struct vb_load *l, struct vb_sim *s)
{
	assert_int_equal(vb_report_make(&e->r, l, s, &net_memory), 0);
	e->flow_cnt = vb_load_flow_cnt(l);
	e->port_cnt = vb_sim_port_cnt(s);
	assert_true(e->port_cnt <= 1024);
	for (uint32_t i = 0; i < e->flow_cnt; i++) {
		memcpy(&e->flow[i], vb_load_flow(l, i), sizeof e->flow[i]);
		/* The lines that it stands in: of two ranks each has the one of its end. */
		e->flow[i].next = e->flow[i].next_in = 0;
	}
	for (uint32_t i = 0; i < e->port_cnt; i++)
		vb_sim_port_stats(s, i, &e->port[i]);
	if (vb_load_graph(l, 0)) {
		const struct vb_load_lap *lap = vb_load_laps(l, 0, &e->lap_cnt);

		assert_true(e->lap_cnt <= 4);
		memcpy(e->lap, lap, e->lap_cnt * sizeof *lap);
	}
}

/* The case in @parts parts; returns how many they were. */
static inline uint32_t parts_play(const struct parts_case *c, uint32_t parts, parts_run_fn *run,
				  struct parts_end *e)
{
	struct vb_sim_config cfg = parts_config(c);
	const struct vb_load_config load = parts_load(c);
	struct parts_list list = {.rng = {c->seed}, .of_datagrams = c->type == VB_QPT_UD};
	const struct vb_load_list items = {parts_list_next, &list};
	struct vb_load_pattern p = c->p;
	static uint16_t part_of[4096];
	struct vb_load *l;
	struct net n;

	parts_topology(&n.topo, c);
	cfg.part_cnt = vb_sim_partition(&n.topo, parts, NULL, part_of);
	cfg.part_of = part_of;
	assert_true(cfg.part_cnt >= 1 && cfg.part_cnt <= parts);
	net_open(&n, &cfg);
	parts_disturb(&n, c);
	assert_int_equal(vb_load_create(&l, n.sim, &load, &net_memory), 0);
	memset(e, 0, sizeof *e);
	list.hosts = n.topo.host_cnt;
	p.list = &items;
	vb_load_watch_past(l, parts_past, e);
	assert_int_equal(vb_tally_keep(l), 0);
	assert_int_equal(vb_load_add(l, &p), 0);
	/* In two runs it is the same one. */
	if (c->stops)
		assert_int_equal(run(n.sim, 40000), 0);
	assert_int_equal(run(n.sim, 500000), 0);
	parts_note(e, l, n.sim);
	vb_load_destroy(l);
	net_close(&n);
	return cfg.part_cnt;
}

static inline void parts_compare(const struct parts_end *a, const struct parts_end *b)
{
	for (uint32_t i = 0; i < a->flow_cnt && i < b->flow_cnt; i++)
		assert_memory_equal(&a->flow[i], &b->flow[i], sizeof a->flow[i]);
	for (uint32_t i = 0; i < a->port_cnt; i++)
		assert_memory_equal(&a->port[i], &b->port[i], sizeof a->port[i]);
	for (uint32_t i = 0; i < a->past_cnt && i < b->past_cnt; i++)
		assert_memory_equal(&a->past[i], &b->past[i], sizeof a->past[i]);
	assert_int_equal(a->r.events, b->r.events);
	assert_int_equal(a->r.digest, b->r.digest);
	assert_memory_equal(a, b, sizeof *a);
}

#endif
