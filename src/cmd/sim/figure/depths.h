/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The distribution of the queues of switches, for a figure: the bytes that wait at each port at the
 * ends of intervals in which packets moved. Sizes are kept to a thirty-second part, so memory is
 * bounded; ports that never had a queue take none.
 */
#ifndef VB_CMD_SIM_FIGURE_DEPTHS_H
#define VB_CMD_SIM_FIGURE_DEPTHS_H

#include "export/map.h"
#include "results/series/queue_class.h"
#include "scenario/scenario.h"

#define VB_DEPTHS_PORTS 256u /* that are told apart; the first ones that have a queue */

struct vb_depths_port {
	uint32_t port;             /* of the simulation */
	uint64_t sum, most, waits; /* bytes of all samples, of one; samples in which bytes waited */
	uint64_t cnt[VB_QUEUE_CLASSES];
};

/* Zeros but for every: nothing has been seen. */
struct vb_depths {
	const struct vb_scenario_run *run;
	vb_dur every;
	vb_time next;
	bool has_moved; /* a packet, in this interval; set by whoever sees packets */
	uint64_t samples;
	uint32_t port_cnt;
	struct vb_depths_port *port[VB_DEPTHS_PORTS];
	struct vb_map place; /* in it, of a port + 1 */
	int err;             /* -ENOMEM: some ports are missing */
};

void vb_depths_begin(struct vb_depths *d, const struct vb_scenario_run *run);
/* Nothing more happens before @next. */
void vb_depths_reach(struct vb_depths *d, vb_time next);
/* Puts ports in the order of their mean, the longest queue first. */
void vb_depths_end(struct vb_depths *d);
/* Of a port: how many sizes have a share, after each the share of time in which no more waited.
 * @bytes and @share have room for VB_QUEUE_CLASSES. */
uint32_t vb_depths_steps(const struct vb_depths *d, const struct vb_depths_port *p, double *bytes,
			 double *share);
void vb_depths_free(struct vb_depths *d);

#endif
