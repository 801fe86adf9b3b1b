/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena explain`: what is gathered of the QPs of this host (explain_gather.c) and how it is
 * shown (explain_show.c, explain_draw.c).
 */
#ifndef VB_CMD_EXPLAIN_H
#define VB_CMD_EXPLAIN_H

#include "cmd/cmd.h"
#include "cmd/explain_draw.h"
#include "node/broker.h"

#include <stdio.h>

/* A QP of a program that runs, or the tale of one of a program that has ended. */
struct vb_qp_case {
	uint32_t qpn, pid;
	char comm[16];   /* printable */
	char device[32]; /* its name; empty: not known */
	bool has_view, has_tale;
	vb_time ended; /* the process; 0: it is there */
	struct vb_qp_view view;
	struct vb_tale tale;
	struct vb_peer_facts peer;
	struct vb_qp_view peer_qp; /* peer.qp points here */
	char faults[VB_FAULT_TEXT_MAX];
	struct vb_explain_in in;
	struct vb_explanation why;
};

struct vb_qp_cases {
	struct vb_qp_case *at;
	uint32_t cnt, room;
	uint32_t unseen;   /* QPs of which there was no view */
	uint32_t lost;     /* tales thrown away */
	uint32_t mute_cnt; /* processes that did not answer */
	vb_time now;
	uint64_t real_ns; /* CLOCK_REALTIME at now */
};

/* Gathers everything, with QP @qpn (0: none) in any case. 0, or a negative errno with a line in
 * @why; -ENOTCONN: no program uses the adapter, and none has lately. */
int vb_explain_gather(struct vb_qp_cases *c, uint32_t qpn, char *why, size_t why_size);

/* How @k stands, for tables: the view, or else how it was when the tale ended. */
static inline const struct vb_qp_view *vb_case_view(const struct vb_qp_case *k)
{
	return k->has_view ? &k->view : &k->tale.view;
}

/* The cases @which, as a table, in words, or as JSON. */
void vb_explain_show_table(FILE *f, const struct vb_qp_cases *c, const uint32_t *which,
			   uint32_t cnt);
void vb_explain_show(FILE *f, const struct vb_qp_cases *c, const struct vb_qp_case *k);
void vb_explain_show_json(FILE *f, const struct vb_qp_cases *c, const uint32_t *which,
			  uint32_t cnt);

#endif
