/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The results of a run: completion times, goodput, fairness, queues, pauses, and retransmissions by
 * cause. All numbers are integers; ratios are in the unit that their name ends with.
 *
 * Percentiles are of the nearest rank, rounded up: the value in place ceil(q n) of n values in
 * order. It is one of them, the least for which at least the share q is not above it.
 */
#ifndef VB_SIM_LOAD_REPORT_H
#define VB_SIM_LOAD_REPORT_H

#include "sim/load/load.h"

struct vb_spread {
	uint64_t cnt, mean, min, p50, p90, p95, p99, p999, max;
};

#define VB_REPORT_SIZES 5
/* Finer ones, as publications show slow-down by size: up to 1, 2, 5, 10 ... kB and 1 GB; above. */
#define VB_REPORT_BINS 20

struct vb_report {
	uint32_t flows, done, failed;
	uint32_t running; /* flows that have begun, and neither are done nor failed */
	uint64_t bytes;   /* of flows that are done, and what was acknowledged of those that run */
	vb_time first_start, last_done;
	vb_time end;             /* last_done, or now while flows are running */
	uint64_t goodput_bps;    /* bytes over the time from first_start to end */
	uint64_t jain_ppm;       /* of the mean rates of these flows; 1000000 is equal */
	struct vb_spread fct_ns; /* from posting to the last completion */
	/* FCT over what it would be alone in the network, in thousandths; all flows, and by size:
	 * up to 10 kB, 100 kB, 1 MB, 10 MB, and more. */
	struct vb_spread slowdown_milli, slowdown_of_size[VB_REPORT_SIZES];
	struct vb_spread slowdown_of_bin[VB_REPORT_BINS]; /* thousandths, too */
	struct vb_counters counters;                      /* sums over all hosts */
	uint64_t drops, marks, faults, pauses, paused_ns;
	uint64_t storms; /* pauses that a watchdog has found too long */
	/* Messages to groups; those that members should have received, and have. */
	uint64_t group_sent, group_due, group_received;
	uint64_t depth_max;  /* bytes, the fullest port */
	uint64_t depth_mean; /* bytes, at the port with the highest mean */
	uint64_t hops, events, digest;
};

/* Sums up; -ENOMEM. May be called at any time. */
int vb_report_make(struct vb_report *r, const struct vb_load *l, const struct vb_sim *sim,
		   const struct vb_sim_memory *memory);

/* Bits per second, exact to one in spans up to 17 s, and to 2^-30 of the rate beyond; @ns > 0. */
uint64_t vb_report_bps(uint64_t bytes, vb_dur ns);

/* Sorts @v and takes its spread. */
void vb_spread_of(struct vb_spread *s, uint64_t *v, size_t cnt);
void vb_values_sort(uint64_t *v, size_t cnt);
/* The percentile of @cnt > 0 sorted values: @milli / 1000 of them are not above it. */
uint64_t vb_nearest_rank(const uint64_t *v, size_t cnt, uint32_t milli);

/* The size up to which flows are in a bin; UINT64_MAX: any. */
uint64_t vb_report_bin_end(uint32_t bin);
uint32_t vb_report_bin(uint64_t bytes);

/* All of it completed without an error. */
bool vb_flow_is_done(const struct vb_flow *f);
/* Of a flow that is done. */
uint64_t vb_flow_slowdown_milli(const struct vb_load *l, const struct vb_sim *sim,
				const struct vb_flow *f);

/* Mean rate in bits per microsecond of a flow that is done or, at @now, runs; at least 1. */
uint64_t vb_flow_rate(const struct vb_load *l, const struct vb_flow *f, vb_time now);

/* It has begun, and neither is done nor failed. */
bool vb_flow_is_running(const struct vb_flow *f);

/* Time that a flow would take alone. */
vb_dur vb_flow_ideal_ns(const struct vb_load *l, const struct vb_sim *sim, const struct vb_flow *f);

#endif
