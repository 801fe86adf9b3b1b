/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values of flows and ports over time, as CSV files that are written while the simulation runs: in
 * each interval of `record.every` a row for each flow that runs and for each port. Memory is
 * bounded by the flows and ports, whatever the time. It looks on and changes nothing of the run.
 */
#ifndef VB_RESULTS_SERIES_SERIES_H
#define VB_RESULTS_SERIES_SERIES_H

#include "scenario/scenario.h"

struct vb_sim_series;

/* Events, and whether packets, have to be watched for them. */
uint64_t vb_sim_series_events(const struct vb_record *rec);
bool vb_sim_series_has_packets(const struct vb_record *rec);

/* Begins the files in @dir, or with @dir NULL texts; @sc, @run and @dir stay as long. 0, or a
 * negative errno with the reason in @err. */
int vb_sim_series_begin(struct vb_sim_series **out, const struct vb_scenario *sc,
			const struct vb_scenario_run *run, const char *dir, char *err,
			size_t err_len);

/* Nothing more happens before @next: writes the intervals that end before it, unless nothing went
 * on in them. */
void vb_sim_series_reach(struct vb_sim_series *s, vb_time next);

void vb_sim_series_event(struct vb_sim_series *s, const struct vb_trace_event *ev);
void vb_sim_series_packet(struct vb_sim_series *s, uint32_t port, enum vb_cable_tap_dir dir,
			  const struct vb_frame *pkt, vb_time now);

/* A flow that is over gives its record away now. */
void vb_sim_series_past(struct vb_sim_series *s, const struct vb_flow *f);

/* Ends the last interval, at @end or with the last packet. */
void vb_sim_series_finish(struct vb_sim_series *s, vb_time end);
/* Of a recorded run: the distribution of queues, for cdf.csv. */
void vb_sim_series_write_cdf(const struct vb_sim_series *s, FILE *f);
/* Copies the text of one of its files, up to the last interval that has ended, to @f. 0; -ENOENT:
 * there is none, or it was begun as a file. */
int vb_sim_series_write(FILE *f, const char *name, struct vb_sim_series *s);
/* The first listed flow that has never been; UINT32_MAX: all have. */
uint32_t vb_sim_series_missing_flow(const struct vb_sim_series *s);

/* Puts the files in their places, or with @err not 0 takes them away, and frees @s. 0, @err, or a
 * negative errno. */
int vb_sim_series_end(struct vb_sim_series *s, int err);

#endif
