/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The laboratory of docs/congestion-control.md: runs a scenario of scenarios/dcqcn and says what a
 * stretch of it came to, and how rates and the queue went over time. The figures of the page are
 * made from it (figures.c), and the unit tests hold the same numbers to the published ones.
 */
#ifndef VB_BENCH_LAB_H
#define VB_BENCH_LAB_H

#include "scenario/scenario.h"

#define LAB_HOSTS 32u    /* that can be looked at in one run */
#define LAB_POINTS 2000u /* samples of a stretch */

/* Which part of a run, and whose share of it. @from @last are hosts that send, @to receives. */
struct lab_view {
	vb_time begin, end;
	uint32_t to, from, last;
};

struct lab_seen {
	uint64_t drops, pauses; /* pauses: within the stretch */
	uint64_t marks;         /* within the stretch, at the port to the receiver */
	uint64_t cnps;          /* sent by the receiver, since the start */
	double share;           /* of the receiver's link: frames without preamble and gap */
	double queue;           /* bytes in the queue towards it, mean, and what 90 % of samples */
	double queue_p90;       /* do not exceed */
	double queue_dev;       /* standard deviation of the samples */
	double jain;            /* fairness of what the hosts sent */
	double gbps[LAB_HOSTS]; /* sent by host */
	/* Samples at equal distances. */
	uint32_t cnt;
	double ms[LAB_POINTS], bytes[LAB_POINTS];
	double rate[LAB_HOSTS][LAB_POINTS]; /* Gb/s since the sample before */
};

/* Reads FOLDER/NAME.yaml. 0, or -EINVAL with the reason in @err. */
int lab_read(struct vb_scenario *sc, const char *folder, const char *name, char *err, size_t len);

/* Runs @sc to the end of @view; @cnt samples of the stretch. 0, or a negative errno with the reason
 * in @err. */
int lab_run(struct lab_seen *seen, const struct vb_scenario *sc, const struct lab_view *view,
	    uint32_t cnt, char *err, size_t len);

/* p* = cbrt(R_AI N^2 / (tau C^2) (1/B + N/(T C))^2), the share of marked packets at which @n flows
 * at 40 Gb/s with the paper's values rest; in packets of @mtu bytes and seconds, tau 50 us. D-21 */
double lab_fixed_point(unsigned n, unsigned mtu);

#endif
