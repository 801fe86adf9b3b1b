/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of `verbena sim`: running (sim.c), the line of its progress (progress.c), queues at the
 * end (queues.c), what it records (record.c). The results of a run are in results/. */
#ifndef VB_CMD_SIM_SIM_H
#define VB_CMD_SIM_SIM_H

#include "cmd/queues/queues.h"
#include "cmd/sim/figure/depths.h"
#include "cmd/sim/watch.h"
#include "results/series/series.h"
#include "scenario/cores/ranks.h"
#include "scenario/scenario.h"

#include <stdio.h>

/* ranks.c: the processes that run the scenario together; without --ranks there is one. */
struct vb_sim_ranks {
	struct vb_rank_link link;
	void *library;
	void (*close)(int status);
};

/* Begins with MPI. Returns an exit status. */
int vb_sim_ranks_open(const struct vb_cmd *cmd, struct vb_sim_ranks *r);
/* The network has as many parts as there are ranks. Returns an exit status. */
int vb_sim_ranks_check(const struct vb_cmd *cmd, const struct vb_sim_ranks *r,
		       const struct vb_scenario_run *run);
/* Runs the part of this rank; 0 or a negative errno, -ENOMEM without a message. */
int vb_sim_ranks_run(const struct vb_cmd *cmd, const struct vb_sim_ranks *r,
		     const struct vb_scenario_run *run, vb_time until,
		     const struct vb_team_watch *watch);
/* Ends with it; a @status that is not 0 ends all ranks. */
void vb_sim_ranks_close(struct vb_sim_ranks *r, int status);

/* progress.c: seconds of the clock, and of the processor in this process, as the benchmarks count
 * them: other work of the machine is no part of it. */
double vb_sim_seconds_now(void);
double vb_sim_processor_seconds(void);
/* progress.c: writes the line to the terminal, or with @end takes it away. */
void vb_sim_progress(const struct vb_scenario *sc, const struct vb_scenario_run *run, bool end);

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
	struct vb_depths *depths;     /* for figures; NULL: none */
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
