/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The history of one QP, of bounded size: the events of its last time of trouble, the first and
 * the last of them when there are too many, how often there was trouble before, and how the QP
 * stood after the last event. The transport's rare events alone make it, so that a QP without
 * trouble has no history and pays nothing.
 *
 * A time of trouble begins with the first thing that goes wrong and ends with progress
 * (RECOVERED); the next thing that goes wrong begins the next one.
 */
#ifndef VB_EXPLAIN_HISTORY_QP_HISTORY_H
#define VB_EXPLAIN_HISTORY_QP_HISTORY_H

#include "core/view.h"
#include "trace/trace.h"

#define VB_QP_HISTORY_FIRST 16u
#define VB_QP_HISTORY_LAST 64u

/* The events that histories are made of; of none of them is there one for each packet. */
#define VB_QP_HISTORY_EVENTS                                                                       \
	(UINT64_C(1) << VB_TRACE_QP_STATE | UINT64_C(1) << VB_TRACE_TIMER_FIRED |                  \
	 UINT64_C(1) << VB_TRACE_REWOUND | UINT64_C(1) << VB_TRACE_NAK_SENT |                      \
	 UINT64_C(1) << VB_TRACE_NAK_RECEIVED | UINT64_C(1) << VB_TRACE_TIMER_MOVED |              \
	 UINT64_C(1) << VB_TRACE_RETRY_ENDED | UINT64_C(1) << VB_TRACE_SLOW_RESTART |              \
	 UINT64_C(1) << VB_TRACE_MISSING | UINT64_C(1) << VB_TRACE_RECOVERED |                     \
	 UINT64_C(1) << VB_TRACE_FAILED | UINT64_C(1) << VB_TRACE_REFUSED |                        \
	 UINT64_C(1) << VB_TRACE_MIGRATED)

enum vb_qp_history_state {
	VB_QP_HISTORY_NONE,      /* this place is free */
	VB_QP_HISTORY_RECOVERED, /* all is well again */
	VB_QP_HISTORY_OPEN,      /* trouble, and no end of it yet */
	VB_QP_HISTORY_FAILED, /* a request failed, or the QP refused one of the peer's for good */
};

struct vb_qp_history {
	uint32_t state; /* enum vb_qp_history_state */
	uint32_t qpn;
	uint32_t cnt;      /* events of this time of trouble, kept or not */
	uint32_t is_gone;  /* 1: the QP was reset or destroyed after that */
	vb_time begun, at; /* its first event, and the last one */
	/* All times of trouble together, this one included. */
	uint64_t timeouts, naks, implied_naks, rnr_naks, rnr_sent, recovered;
	struct vb_qp_view view; /* after the last event, or when the QP failed */
	struct vb_trace_event first[VB_QP_HISTORY_FIRST], last[VB_QP_HISTORY_LAST];
};

/* True when @ev, of a QP without a history, is reason to begin one. */
bool vb_qp_history_begins(const struct vb_trace_event *ev);

/* Adds an event of VB_QP_HISTORY_EVENTS. @view: how the QP stands; NULL: as before. A zeroed
 * history begins with ev->qpn. */
void vb_qp_history_add(struct vb_qp_history *t, const struct vb_trace_event *ev,
		       const struct vb_qp_view *view);

/* The events that are kept, in order: number @i, less than vb_qp_history_kept(). Between number
 * VB_QP_HISTORY_FIRST - 1 and the next one, vb_qp_history_left_out() are missing. Safe for any
 * bytes. */
uint32_t vb_qp_history_kept(const struct vb_qp_history *t);
uint32_t vb_qp_history_left_out(const struct vb_qp_history *t);
const struct vb_trace_event *vb_qp_history_event(const struct vb_qp_history *t, uint32_t i);

/* Makes a view that another program wrote safe to use: impossible bools and MTUs become valid. */
void vb_view_heal(struct vb_qp_view *v);

/*
 * The histories of one process, in sets of VB_QP_HISTORY_WAYS by QPN. A place without bit in @used
 * was never touched, so that places without a history cost no memory where zero pages are free.
 */
#define VB_QP_HISTORIES 512u
#define VB_QP_HISTORY_WAYS 8u
struct vb_qp_histories {
	uint64_t used[VB_QP_HISTORIES / 64];
	uint32_t lost; /* histories thrown away for others */
	uint32_t rsv;
	struct vb_qp_history history[VB_QP_HISTORIES];
};

/* Place @i (less than VB_QP_HISTORIES), or NULL when nothing was ever there. */
const struct vb_qp_history *vb_qp_histories_at(const struct vb_qp_histories *s, uint32_t i);
/* The history of @qpn, or NULL. */
struct vb_qp_history *vb_qp_histories_find(struct vb_qp_histories *s, uint32_t qpn);
/* A cleared place for a history of @qpn, which has none: a free one, or that of the history that
 * says least: recovered before open before failed, the oldest first. */
struct vb_qp_history *vb_qp_histories_new(struct vb_qp_histories *s, uint32_t qpn);

#endif
