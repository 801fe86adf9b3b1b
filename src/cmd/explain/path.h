/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena explain --fabric NAME --path FROM TO` and `--node NODE`: what the fabric's process knows
 * of the way, in words or as JSON.
 */
#ifndef VB_CMD_EXPLAIN_PATH_H
#define VB_CMD_EXPLAIN_PATH_H

#include "cmd/cmd.h"
#include "explain/path/path.h"

#include <stdio.h>

/* A packet whose way is asked for; texts as the user writes them. */
struct vb_explain_path {
	const char *from, *to; /* nodes, "NODE" or "NODE:PORT"; @to NULL: the DLID says it */
	int sl, pkey, dlid;    /* less than 0: not given */
	uint32_t mtu;          /* bytes; 0: any */
};

/* Asks for the way and the way back. Returns how many views are in @v, or a negative errno with a
 * line in @why. */
int vb_explain_path_ask(const char *fabric, const struct vb_explain_path *p,
			struct vb_path_view v[2], char *why, size_t why_size);
/* The same with @question in the words of node/subnet/path/path.h. */
int vb_explain_path_question(const char *fabric, const char *question, struct vb_path_view v[2],
			     char *why, size_t why_size);

/* Both print, and return the status of the command. */
int vb_explain_path_run(const struct vb_cmd *cmd, const char *fabric,
			const struct vb_explain_path *p, bool json);
int vb_explain_node_run(const struct vb_cmd *cmd, const char *fabric, const char *node, bool json);

/* One way: a line, its links, and why it works or does not. */
void vb_explain_path_show(FILE *f, const struct vb_path_view *v);
void vb_explain_path_json(FILE *f, const struct vb_path_view *v);

#endif
