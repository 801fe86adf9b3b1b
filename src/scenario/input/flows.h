/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists of flows that a user brings. They are read as the simulation goes on, a line at a time, so
 * that a list of millions takes no more memory than a short one. Two forms: the text that
 * simulations of RDMA with ns-3 have, of which the first line is the number of flows and each other
 * one "source destination priority port bytes seconds"; and CSV with a line of column names.
 */
#ifndef VB_SCENARIO_INPUT_FLOWS_H
#define VB_SCENARIO_INPUT_FLOWS_H

#include "scenario/input/net.h"
#include "sim/load/load.h"

#include <stdio.h>

struct vb_flows_config {
	const struct vb_net *net;   /* hosts have its names; NULL: they have numbers */
	const struct vb_nics *nics; /* where hosts have several; else NULL */
	uint32_t hosts;             /* the first so many take part */
	enum vb_qp_type type;
	bool is_infiniband;
	uint8_t traffic_class; /* the lower 5 bits are those of flows that have a priority alone */
	bool has_class;        /* all flows have that of their pattern: priorities say nothing */
};

struct vb_flows;

/* Takes @f, also after an error. The name is c->file, and the complaint may be about the first
 * lines. 0, -ENOMEM or -EINVAL. */
int vb_flows_open(struct vb_flows **out, FILE *f, const struct vb_flows_config *cfg,
		  const struct vb_complaint *c);
void vb_flows_close(struct vb_flows *l);

/* The flows of the list, in turn: with a struct vb_flows as @ctx. -EINVAL: there is a complaint. */
int vb_flows_next(void *ctx, struct vb_load_item *item);
/* The complaint about a line; "": there was none. */
const char *vb_flows_complaint(const struct vb_flows *l);

/* Reads all of it and goes back to the first flow. 0 with their number, or -EINVAL. */
int vb_flows_check(struct vb_flows *l, uint64_t *cnt);
/* The list for a pattern. */
const struct vb_load_list *vb_flows_list(const struct vb_flows *l);

#endif
