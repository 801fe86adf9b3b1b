/* SPDX-License-Identifier: BSD-2-Clause */
/* The figures of docs/congestion-control.md, each a function; main.c lists them. */
#ifndef VB_BENCH_FIGURES_H
#define VB_BENCH_FIGURES_H

#include "lab.h"
#include "plot.h"

/* Where scenarios are and figures go, and the room that one figure at a time needs. */
struct lab {
	const char *scenarios, *out;
	struct vb_scenario sc;
	struct lab_seen seen;
	struct plot plot;
};

/* Reads a scenario into sc; runs it. Both end the program with a message when they fail. */
void figure_read(struct lab *lab, const char *name);
const struct lab_seen *figure_run(struct lab *lab, const char *what, struct lab_view view,
				  uint32_t samples);

extern const struct vb_chart_axis figure_time, figure_rate, figure_queue;

/* flows.c: who gets what. */
int figure_fairness(struct lab *lab);    /* D-06 */
int figure_victim(struct lab *lab);      /* D-07 */
int figure_two_flows(struct lab *lab);   /* D-03, D-04 */
int figure_sweeps(struct lab *lab);      /* D-08 */
int figure_parking_lot(struct lab *lab); /* D-13 */
int figure_samples(struct lab *lab);     /* D-22, D-23 */
/* queue.c: what the queue and the link do. */
int figure_incast(struct lab *lab);      /* D-09 */
int figure_queue_cdf(struct lab *lab);   /* D-10 */
int figure_many_flows(struct lab *lab);  /* D-20 */
int figure_fixed_point(struct lab *lab); /* D-21 */

#endif
