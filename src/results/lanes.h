/* SPDX-License-Identifier: BSD-2-Clause */
/* The results of a simulated run that InfiniBand alone has: lanes, credits, routers, deadlocks. */
#ifndef VB_RESULTS_LANES_H
#define VB_RESULTS_LANES_H

#include "scenario/scenario.h"

#include <stdio.h>

/* Sums over all ports of InfiniBand. */
struct vb_sim_lanes {
	uint64_t wait_ns, wait_most_ns; /* for credits; at one port */
	uint64_t overruns, discards, flow, marks, becns;
	uint64_t barred_in, barred_out; /* packets, by the P_Keys of ports of switches */
	uint64_t bad, ended_bad;        /* packets with errors; with the end of a bad one */
	uint32_t index_max;             /* of congestion control */
	/* Ports of routers; packets that left by them, and those that went no further. */
	uint32_t router_ports;
	uint64_t routed, not_routed, hops_ended, misrouted;
	uint32_t lane_cnt, capacity;
	struct vb_ib_lane_stats lane[VB_VL_DATA_MAX];
};
/* False: it is Ethernet. */
bool vb_sim_lanes_sum(struct vb_sim_lanes *l, const struct vb_scenario_run *run);
/* "at 50.0 us: 12 lane 0 -> 13 lane 0 -> 12", as far as there is room; false: there was none. */
bool vb_sim_deadlock_text(const struct vb_scenario_run *run, char *text, size_t size);

/* The lines of InfiniBand behind the table of a run, the member of summary.json, lanes.csv, and
 * routers.csv; of Ethernet nothing. */
void vb_sim_print_lanes(FILE *f, const struct vb_scenario_run *run);
void vb_sim_write_lanes_json(FILE *f, const struct vb_scenario_run *run);
void vb_sim_write_lanes(FILE *f, const struct vb_scenario_run *run, const struct vb_report *r);
void vb_sim_write_routers(FILE *f, const struct vb_scenario_run *run, const struct vb_report *r);

#endif
