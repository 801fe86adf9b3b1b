/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why a QP is where it is, in plain sentences, with what can be done about it; and what happened to
 * it as a list of dated lines. Made of a view of the QP (core/view.h), its history (qp_history.h)
 * and what is known of the other end. Nothing here looks anything up: the caller does.
 */
#ifndef VB_EXPLAIN_EXPLAIN_H
#define VB_EXPLAIN_EXPLAIN_H

#include "core/denial.h"
#include "explain/history/qp_history.h"
#include "explain/text/words.h"
#include "wire/mad/vendor.h"

enum vb_explain_rank {
	VB_RANK_FAILED,   /* a request failed, or the QP is in an error state */
	VB_RANK_STUCK,    /* nothing moves, and will not by itself soon */
	VB_RANK_WAITING,  /* waits for something that is about to come */
	VB_RANK_TROUBLED, /* all is well now, after there was trouble */
	VB_RANK_WELL,
	VB_RANK_CNT
};
/* "failed", "stuck", ... */
const char *vb_rank_name(enum vb_explain_rank rank);

/* The object under the QPN that a QP sends to. */
enum vb_peer_there {
	VB_PEER_UNKNOWN,    /* on another host, of which nothing is known */
	VB_PEER_NO_PROCESS, /* on this host: no process has such QPNs now */
	VB_PEER_NO_QP,      /* ... the process has no QP with this number */
	VB_PEER_QP,         /* ... there it is */
};

/* The kind of answer when the adapter at the peer's address was asked, on another host. */
enum vb_far { VB_FAR_UNASKED, VB_FAR_SILENT, VB_FAR_FOREIGN /* no Verbena */, VB_FAR_ANSWERED };

enum vb_neighbour { VB_NEIGHBOUR_UNKNOWN, VB_NEIGHBOUR_RESOLVED, VB_NEIGHBOUR_SILENT };

/* The facts about the other end of a connection beyond what its packets say. Zeros: none. */
struct vb_peer_facts {
	enum vb_peer_there there;
	uint32_t pid; /* NO_QP, QP: the process */
	char comm[16];
	bool is_stopped;             /* ... does not run: SIGSTOP, a debugger */
	const struct vb_qp_view *qp; /* QP, and its process said how it stands; else NULL */
	enum vb_neighbour neighbour; /* its address on this link; a gateway's says nothing */
	int route_errno;             /* 0, or why this host cannot send there now */
	int send_errno;              /* the last error of sending to its address; 0: none */
	uint64_t send_err_cnt;       /* ... how often */
	vb_time send_err_at;
	uint32_t answered_qpn;   /* another QP that this address answers; 0: none is known */
	struct vb_denial denial; /* the request that the QP there says it refused */
	enum vb_far far;
	struct vb_vendor_qp far_qp; /* ANSWERED: its answer... */
	bool far_drops_long;        /* ... and none to a packet as long as the path MTU */
};

/* Of the process that has the QP. */
enum vb_owner { VB_OWNER_RUNS, VB_OWNER_STOPPED, VB_OWNER_ENDED };

struct vb_path_view;

struct vb_explain_in {
	vb_time now;
	const struct vb_qp_view
	    *view; /* how it stands; NULL: it is gone, the history is all there is */
	const struct vb_qp_history *history; /* NULL: it has none */
	const struct vb_peer_facts *peer;
	enum vb_owner owner;
	bool link_full; /* the process has packets that its link does not take now */
	/* Of a QP at a node of an InfiniBand fabric: the way of its packets, and that of the
	 * answers, as the tables stand now. */
	const struct vb_path_view *way;
	uint32_t way_cnt;   /* 0, 1 or 2 */
	const char *faults; /* fault rules that its packets meet; NULL or empty: none */
	uint64_t fault_hits;
};

struct vb_explanation {
	enum vb_explain_rank rank;
	const char *cause;      /* a word for programs, "retry.refused"; see docs/explain.md */
	struct vb_lines what;   /* the first one is the headline */
	struct vb_lines advice; /* the steps that can help */
	const char *check; /* which check of a responder said no, "key-stale"; NULL: not known */
};

void vb_explain(const struct vb_explain_in *in, struct vb_explanation *out);

/* The parts of it: failure.c, wait.c, peer.c. Each appends to @out and sets rank and cause. */
void vb_explain_failure(const struct vb_explain_in *in, const struct vb_qp_view *v,
			struct vb_explanation *out);
void vb_explain_wait(const struct vb_explain_in *in, const struct vb_qp_view *v,
		     struct vb_explanation *out);
/* Why there may be no answer. Returns the word for it. */
const char *vb_explain_silence(const struct vb_explain_in *in, const struct vb_qp_view *v,
			       struct vb_explanation *out);
/* The same of an adapter at @to that was asked and gave no answer; @p has what sending met, the
 * route and the neighbour. */
const char *vb_explain_unanswered(const struct vb_peer_facts *p, const struct vb_gid *to,
				  struct vb_explanation *out);
/* way.c: why the way there, or back, is broken; with @is_late only what holds packets up there.
 * NULL: nothing does, or it is not known. */
const char *vb_explain_way(const struct vb_explain_in *in, bool is_late,
			   struct vb_explanation *out);
/* Nothing is wrong with the ways: the line that says so. */
const char *vb_explain_way_unknown(const struct vb_explain_in *in, struct vb_explanation *out);
/* One line: timers and retries of @v as they are set. */
void vb_explain_settings(const struct vb_qp_view *v, struct vb_lines *l);
/* The last event of the history with one of the ids in @mask; NULL: there is none. */
const struct vb_trace_event *vb_explain_last(const struct vb_qp_history *t, uint64_t mask);

/* A line of what happened. */
enum vb_row_kind {
	VB_ROW_SENT,     /* sent, and its timer set */
	VB_ROW_TIMEOUT,  /* a timer that ran from @from to @at */
	VB_ROW_NAK,      /* received */
	VB_ROW_REFUSED,  /* a NAK sent */
	VB_ROW_RESENT,   /* sending went back, or a report of what is missing was followed */
	VB_ROW_PROGRESS, /* the peer answered */
	VB_ROW_END,      /* gave up, failed, changed state */
	VB_ROW_OTHER,
	VB_ROW_GAP,  /* events that were not kept */
	VB_ROW_NEXT, /* still to come: a timer that runs until @at */
	VB_ROW_KIND_CNT
};
struct vb_row {
	vb_time at, from; /* from == at: an instant */
	enum vb_row_kind kind;
	char text[200];
};
#define VB_ROWS_MAX (VB_QP_HISTORY_FIRST + VB_QP_HISTORY_LAST + 4u)
/* The history's events in words, timeouts together with what they led to; @view (may be NULL) is
 * how the QP stands now. Returns how many rows there are, at most VB_ROWS_MAX. */
uint32_t vb_timeline(const struct vb_qp_history *t, const struct vb_qp_view *view,
		     struct vb_row *row);

#endif
