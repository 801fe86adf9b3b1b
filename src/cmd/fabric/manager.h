/* SPDX-License-Identifier: BSD-2-Clause */
/* An OpenSM that `verbena fabric` starts beside a fabric, and ends with it. */
#ifndef VB_CMD_FABRIC_MANAGER_H
#define VB_CMD_FABRIC_MANAGER_H

#include "cmd/cmd.h"
#include "fabric/topology/topology.h"

#include <sys/types.h>

struct vb_manager {
	char folder[64]; /* of its log and its files */
	char node[80];   /* where it is */
	pid_t pid;       /* 0: it does not run */
	/* A pipe whose writing end OpenSM keeps open until it ends; -1: nobody waits for that. The
	 * process that starts OpenSM closes its own writing end, alive[1], then; the process that
	 * waits closes alive[1] before it waits. */
	int alive[2];
};

/* The first host with a cable, where a manager may be. NULL: there is none. */
const struct vb_topo_node *vb_manager_choose(const struct vb_topo *topo);

/* Finds the program, which is to be at @n, and makes the folder. False: the user was told why not,
 * as well where @n is NULL. */
bool vb_manager_prepare(struct vb_manager *m, const struct vb_cmd *cmd,
			const struct vb_topo_node *n);

/* Starts it for fabric @name, with @more of its options (ends with a NULL); it does not outlive the
 * process that calls. */
void vb_manager_start(struct vb_manager *m, const char *name, const char *const *more);

/* Waits until it has brought the subnet up, @seconds at most. 0; -ECHILD: it has ended; -ETIMEDOUT.
 */
int vb_manager_await(const struct vb_manager *m, uint32_t seconds);

/* The text of its log, to be freed; NULL: it cannot be read. */
char *vb_manager_log(const struct vb_manager *m);

/* The lines of its log that say what is wrong, to stderr. */
void vb_manager_print_errors(const struct vb_manager *m);

/* Ends it, and removes its files. */
void vb_manager_end(struct vb_manager *m);

#endif
