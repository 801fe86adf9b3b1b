/* SPDX-License-Identifier: BSD-2-Clause */
/* The OpenSM that `verbena fabric up --sm` starts beside a fabric, and ends with it. */
#ifndef VB_CMD_FABRIC_MANAGER_H
#define VB_CMD_FABRIC_MANAGER_H

#include "cmd/cmd.h"
#include "fabric/topology/topology.h"

#include <sys/types.h>

struct vb_manager {
	char folder[64]; /* of its log and its files */
	char node[80];   /* where it is */
	pid_t pid;       /* 0: it does not run */
	/* Both ends of a pipe that is closed when OpenSM ends, -1: nobody waits. The one that
	 * starts it closes [0], the one that waits [1]. */
	int alive[2];
};

/* Finds the program and a node, and makes the folder. False: the user was told why not. */
bool vb_manager_prepare(struct vb_manager *m, const struct vb_cmd *cmd, const struct vb_topo *topo);

/* Starts it for fabric @name, with @more of its options (ends with a NULL); it does not outlive the
 * process that calls. */
void vb_manager_start(struct vb_manager *m, const char *name, const char *const *more);

/* Waits until it has brought the subnet up, @seconds at most. 0; -ECHILD: it has ended; -ETIMEDOUT.
 */
int vb_manager_await(const struct vb_manager *m, uint32_t seconds);

/* The lines of its log that say what is wrong, to stderr. */
void vb_manager_print_errors(const struct vb_manager *m);

/* Ends it, and removes its files. */
void vb_manager_end(struct vb_manager *m);

#endif
