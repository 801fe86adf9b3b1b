/* SPDX-License-Identifier: BSD-2-Clause */
/* Graphs between hosts around one switch, as a load runs them. */
#ifndef VB_TESTS_UNIT_GRAPH_ENV_H
#define VB_TESTS_UNIT_GRAPH_ENV_H

#include "sim/load/graph/graph.h"
#include "sim/load/report.h"
#include "sim_net.h"

#define GRAPH_GBPS 100u
#define GRAPH_DELAY 1000u /* of each cable, ns */

static const struct vb_load_config graph_load = {
    .flows_max = 1u << 16,
    .connections_max = 1u << 16,
    .message_bytes = 1u << 20,
    .depth = 16,
    .type = VB_QPT_RC,
    .mtu = VB_MTU_4096,
    .timeout = 14,
    .retry_cnt = 7,
    .rnr_retry = 7,
    .min_rnr_timer = 1,
    .rd_atomic = 4,
};

struct graph_world {
	struct net net;
	struct vb_load *load;
	struct vb_report report;
	struct vb_graph *graph; /* that graph_close() destroys, or NULL */
};

static inline void graph_open(struct graph_world *w, uint32_t hosts, const struct vb_load_config *l,
			      bool data)
{
	struct vb_cable cable = net_cable(GRAPH_GBPS, GRAPH_DELAY);
	struct vb_sim_config c = net_config();

	w->graph = NULL;
	c.carry_data = data;
	c.digest = true;
	assert_int_equal(vb_sim_topo_star(&w->net.topo, &net_memory, hosts, &cable), 0);
	net_open(&w->net, &c);
	assert_int_equal(vb_load_create(&w->load, w->net.sim, l ? l : &graph_load, &net_memory), 0);
}

static inline void graph_close(struct graph_world *w)
{
	vb_load_destroy(w->load);
	net_close(&w->net);
	vb_graph_destroy(w->graph);
}

/* To its end, without a failure. */
static inline void graph_run(struct graph_world *w, const struct vb_load_pattern *p)
{
	assert_int_equal(vb_load_add(w->load, p), 0);
	assert_int_equal(vb_sim_run(w->net.sim, VB_NEVER), 0);
	assert_int_equal(vb_load_failure(w->load), 0);
	assert_int_equal(vb_load_damaged(w->load), 0);
	assert_int_equal(vb_report_make(&w->report, w->load, w->net.sim, &net_memory), 0);
	assert_int_equal(w->report.done, w->report.flows);
}

/* Iteration @i of the first pattern. */
static inline struct vb_load_lap graph_lap(const struct graph_world *w, uint32_t i)
{
	uint32_t cnt;
	const struct vb_load_lap *lap = vb_load_laps(w->load, 0, &cnt);

	assert_true(i < cnt);
	return lap[i];
}

#endif
