/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queues of a QP, copied from the memory of its program (queues.c), to be shown as text, as
 * JSON, or as a page for a browser (queues_show.c). docs/mlx5dv.md
 */
#ifndef VB_CMD_EXPLAIN_QUEUES_H
#define VB_CMD_EXPLAIN_QUEUES_H

#include "wqe/wqe.h"

#include <stdio.h>
#include <sys/types.h>

enum vb_queue_kind { VB_QUEUE_SEND, VB_QUEUE_RECEIVE, VB_QUEUE_SRQ, VB_QUEUE_ENTRIES };

/* A WQE or an entry. */
struct vb_queue_element {
	uint32_t index;
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
	pid_t pid;
	bool is_raw; /* the program writes into them by itself */
	enum vb_qp_type type;
	struct vb_queue_view queue[VB_QUEUE_VIEWS];
	uint32_t queue_cnt;
};

void vb_queues_show_text(FILE *f, const struct vb_queues_view *v);
void vb_queues_show_json(FILE *f, const struct vb_queues_view *v);
/* Writes the page to @path. 0 or a negative errno. */
int vb_queues_show_page(const char *path, const struct vb_queues_view *v);

#endif
