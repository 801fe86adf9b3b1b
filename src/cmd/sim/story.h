/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Histories of the simulated QPs that timed out or failed (explain/history/qp_history.h), for the
 * page of a run and for `verbena sim --explain`: the same that `verbena explain` tells of live
 * ones. Of more than there is room for, those that failed stay.
 */
#ifndef VB_CMD_SIM_STORY_H
#define VB_CMD_SIM_STORY_H

#include "explain/explain.h"
#include "scenario/scenario.h"

#include <stdio.h>

#define VB_STORIES_MAX 64u

struct vb_story {
	uint32_t host;
	struct vb_qp_history history;
};

/* The QP that is asked for: its history begins with any trouble, and stays. Zeros: none. */
struct vb_story_ask {
	uint32_t host, qpn;
};

struct vb_stories {
	const struct vb_scenario_run *run;
	struct vb_story_ask ask;
	uint32_t cnt;
	bool is_full; /* there were more; those that failed take the places of others */
	struct vb_story story[VB_STORIES_MAX];
};

/* An event of the run; s->run is set. */
void vb_stories_event(struct vb_stories *s, const struct vb_trace_event *ev);

/* Puts them in order: those that failed, those without an end, those that recovered. */
void vb_stories_end(struct vb_stories *s);

/* Why the QP of @story is where it is at the end of the run. */
void vb_story_explain(const struct vb_stories *s, const struct vb_story *story,
		      struct vb_explanation *out);

/* All of them, a line each; or, when a QP is asked for, that one in words with a drawing. False:
 * the run has no such QP, and nothing is written. */
bool vb_stories_show(FILE *f, const struct vb_stories *s);

#endif
