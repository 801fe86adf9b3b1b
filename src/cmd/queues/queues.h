/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queues of a QP (view.c) as an adapter has them in memory: copied from the memory of its
 * program (memory.c), or written as the driver of a simulated adapter would write them
 * (simulated.c). They are shown as text, as JSON, or as a page for a browser (show.c).
 * docs/mlx5dv.md
 */
#ifndef VB_CMD_QUEUES_QUEUES_H
#define VB_CMD_QUEUES_QUEUES_H

#include "cmd/cmd.h"
#include "trace/trace.h"
#include "wqe/wqe.h"

#include <stdio.h>
#include <sys/types.h>

enum vb_queue_kind { VB_QUEUE_SEND, VB_QUEUE_RECEIVE, VB_QUEUE_SRQ, VB_QUEUE_ENTRIES };

/* A WQE, an entry, or an array of a compressed block of entries. */
struct vb_queue_element {
	uint32_t index;
	uint32_t mini_cnt; /* mini entries of an array; 0: it is none */
	bool has_sends;    /* they are of sends */
	bool is_new; /* a WQE that the adapter has not read, an entry that the program has not */
	uint32_t len;
	uint8_t *bytes;
};

struct vb_queue_view {
	enum vb_queue_kind kind;
	const char *name;
	uint32_t cnt, stride; /* elements, or blocks, and their bytes */
	uint32_t record;      /* the doorbell record: posted, or entries read */
	uint32_t seen;        /* the adapter has read so far; not of SRQs and entries */
	bool is_copied;       /* its memory could be read */
	/* In the order of indices, of receives the last posted first; what is new comes behind what
	 * is not, or of receives before it. */
	struct vb_queue_element *element;
	uint32_t element_cnt;
};

#define VB_QUEUE_VIEWS 5u

struct vb_queues_view {
	uint32_t qpn;
	pid_t pid; /* 0: it is a QP of simulated host @host */
	uint32_t host;
	bool is_raw; /* the program writes into them by itself */
	enum vb_qp_type type;
	struct vb_queue_view queue[VB_QUEUE_VIEWS];
	uint32_t queue_cnt;
};

/* Adds a queue and sets its kind and its name; the caller sets the rest. */
struct vb_queue_view *vb_queues_add(struct vb_queues_view *v, enum vb_queue_kind kind,
				    const char *name);
/* Adds an element to @q, whose @len bytes the caller fills; NULL: no memory. */
struct vb_queue_element *vb_queue_element_add(struct vb_queue_view *q, uint32_t index, bool is_new,
					      uint32_t len);
void vb_queues_free(struct vb_queues_view *v);

/* The last completions of a simulated QP, from the events of its run. */
#define VB_QUEUES_LOG 8u
struct vb_queues_log {
	uint32_t host, qpn;
	uint32_t entry_cnt; /* completions of all QPs of the host: it has one CQ */
	uint32_t cnt;       /* of this QP; the last VB_QUEUES_LOG of them are kept */
	struct vb_queues_completion {
		struct vb_wc wc;
		uint32_t entry; /* its number in the CQ */
		uint32_t
		    wqe; /* the number of its work request in the queue that it was posted to */
		uint8_t opcode; /* of a send WQE, as it has it */
	} done[VB_QUEUES_LOG];
};
/* COMPLETION is in the trace mask of the run; @h is the adapter of log->host. */
void vb_queues_log_event(struct vb_queues_log *log, const struct vb_hca *h,
			 const struct vb_trace_event *ev);
/* The queues of the QP of @log as they are now; @cqe: entries of the host's CQ. False: there is no
 * such QP. Ends by vb_queues_free(). */
bool vb_queues_simulated(const struct vb_hca *h, const struct vb_queues_log *log, uint32_t cqe,
			 struct vb_queues_view *to);

/* Shows the queues of QP @qpn as they are in its program's memory, as text, as JSON, or as the page
 * @html unless it is NULL. Returns an exit status. */
int vb_explain_queues(const struct vb_cmd *cmd, uint32_t qpn, bool json, const char *html);

void vb_queues_show_text(FILE *f, const struct vb_queues_view *v);
void vb_queues_show_json(FILE *f, const struct vb_queues_view *v);
/* Writes the page to @path. 0 or a negative errno. */
int vb_queues_show_page(const char *path, const struct vb_queues_view *v);

#endif
