/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of `verbena sim`: running (sim.c), what it says (report.c, lanes.c), what it records
 * (record.c). */
#ifndef VB_CMD_SIM_SIM_H
#define VB_CMD_SIM_SIM_H

#include "cmd/queues/queues.h"
#include "cmd/sim/series/flows.h"
#include "cmd/sim/series/series.h"
#include "cmd/sim/watch.h"
#include "scenario/scenario.h"

#include <stdio.h>

/* progress.c: writes the line to the terminal, or with @end takes it away. */
void vb_sim_progress(const struct vb_scenario *sc, const struct vb_scenario_run *run, bool end);

/* The table at the end of a run; @seconds of real time. */
void vb_sim_print(FILE *f, const struct vb_report *r, double seconds);

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
/* lanes.c: false: it is Ethernet. */
bool vb_sim_lanes_sum(struct vb_sim_lanes *l, const struct vb_scenario_run *run);
/* "at 50.0 us: 12 lane 0 -> 13 lane 0 -> 12", as far as there is room; false: there was none. */
bool vb_sim_deadlock_text(const struct vb_scenario_run *run, char *text, size_t size);

/* lanes.c: the lines of InfiniBand behind it, the member of summary.json, lanes.csv, and
 * routers.csv; of Ethernet nothing. */
void vb_sim_print_lanes(FILE *f, const struct vb_scenario_run *run);
void vb_sim_write_lanes_json(FILE *f, const struct vb_scenario_run *run);
void vb_sim_write_lanes(FILE *f, const struct vb_scenario_run *run, const struct vb_report *r);
void vb_sim_write_routers(FILE *f, const struct vb_scenario_run *run, const struct vb_report *r);

/* summary.json, flows.csv, ports.csv, slowdown.csv and cdf.csv, of InfiniBand also lanes.csv, with
 * routers routers.csv, in @dir. 0, or a negative errno with the file's name in @path. */
int vb_sim_write(const char *dir, const struct vb_scenario_run *run, const struct vb_report *r,
		 struct vb_sim_flows *flows, const struct vb_sim_series *series, char *path,
		 size_t path_len);

/* queues.c: takes HOST.QPN or HOST.QPN@TIME to pieces; with a time the run ends there, @until.
 * False: it is neither. */
bool vb_sim_queues_ask(const char *text, struct vb_queues_log *log, vb_time *until);
/* Prints the queues of the QP that was asked for by @text. Returns an exit status. */
int vb_sim_queues_show(const struct vb_cmd *cmd, const char *text,
		       const struct vb_scenario_run *run, const struct vb_queues_log *log);

/* The records made while a simulation runs. */
struct vb_sim_record {
	FILE *trace; /* JSON lines; NULL: none */
	FILE *pcap;
	void *out;                    /* struct vb_pcapng */
	struct vb_watch *watch;       /* for charts; NULL: none */
	struct vb_sim_series *series; /* as CSV; NULL: none */
	struct vb_queues_log *queues; /* that are shown at the end; NULL: none */
	struct vb_sim *sim;
	uint32_t node, port_idx;
	uint32_t port;      /* of the simulation, set by vb_sim_record_begin() */
	int err;            /* the first failure of a write, negative errno... */
	const char *failed; /* ... and of what */
};

void vb_sim_record_event(void *ctx, const struct vb_trace_event *ev);
void vb_sim_record_packet(void *ctx, uint32_t port, enum vb_cable_tap_dir dir,
			  const struct vb_frame *pkt, vb_time now);
/* Starts the capture of a port that exists. 0 or a negative errno. */
int vb_sim_record_begin(struct vb_sim_record *rec, const struct vb_sim *sim);
/* Ends and closes both files. 0 or the first failure, a negative errno. */
int vb_sim_record_end(struct vb_sim_record *rec);

#endif
