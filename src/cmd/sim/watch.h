/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A report's parts beyond the sums: rates, queues and unacknowledged packets over time, and the
 * packets one by one. All of it is bounded: series have a fixed number of time slots that double in
 * length as the run goes on and keep the least and the most of what fell into them, and of packets
 * only the first ones are kept, and some that went wrong later.
 */
#ifndef VB_CMD_SIM_WATCH_H
#define VB_CMD_SIM_WATCH_H

#include "cmd/sim/story.h"
#include "export/series.h"
#include "export/step.h"
#include "scenario/scenario.h"

#define VB_WATCH_STEPS_MAX 20000u
#define VB_WATCH_STEPS_FIRST 16000u /* the room behind them is for what went wrong */

enum vb_watch_kind {
	VB_WATCH_RATE,   /* by host: bytes of frames that arrived at it in the slot */
	VB_WATCH_QUEUE,  /* by port of a switch: bytes waiting */
	VB_WATCH_WINDOW, /* by QP (2 * connection + side): PSNs sent and not acknowledged */
	VB_WATCH_BUFFER, /* by input of an InfiniBand switch and lane (VB_WATCH_LANE): blocks in use
			  */
	VB_WATCH_KIND_CNT
};

#define VB_WATCH_LANE(port, vl) ((port)*VB_VL_CNT + (vl))

struct vb_watch;

/* NULL: no memory. Call vb_watch_begin() once the simulation is there. */
struct vb_watch *vb_watch_new(void);
void vb_watch_begin(struct vb_watch *w, const struct vb_scenario_run *run);
/* The history of this QP is wanted in any case. */
void vb_watch_ask(struct vb_watch *w, struct vb_story_ask ask);
void vb_watch_free(struct vb_watch *w);
/* -ENOMEM: memory ended, the rest of the run is not in it. */
int vb_watch_error(const struct vb_watch *w);

#define VB_WATCH_EVENTS                                                                            \
	(UINT64_C(1) << VB_TRACE_TIMER_FIRED | UINT64_C(1) << VB_TRACE_REWOUND |                   \
	 UINT64_C(1) << VB_TRACE_COMPLETION | UINT64_C(1) << VB_TRACE_DROPPED |                    \
	 UINT64_C(1) << VB_TRACE_RETRY_ENDED | VB_QP_HISTORY_EVENTS)
void vb_watch_event(struct vb_watch *w, const struct vb_trace_event *ev);
void vb_watch_packet(struct vb_watch *w, uint32_t port, enum vb_cable_tap_dir dir,
		     const struct vb_frame *pkt, vb_time now);

/* Nothing more is to come: puts the series in order. */
void vb_watch_end(struct vb_watch *w);

/* The results: series of each enum vb_watch_kind; steps. */
const struct vb_series_set *vb_watch_series(const struct vb_watch *w);
uint32_t vb_watch_step_cnt(const struct vb_watch *w);
const struct vb_step *vb_watch_step(const struct vb_watch *w, uint32_t i);
/* The QPs that timed out or failed. */
const struct vb_stories *vb_watch_stories(const struct vb_watch *w);
/* Steps for which there was no room. */
uint64_t vb_watch_left_out(const struct vb_watch *w);

#endif
