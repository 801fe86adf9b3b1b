/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The OpenSMs that `verbena fabric up --sm` starts: one in each subnet of the fabric. Where there
 * are several subnets, or the user gives the prefix of the first one, each gets a prefix of its
 * own, and its OpenSM the routers that lead to the others (PREFIX ROUTES in opensm(8)). With a
 * prefix of the user's, other fabrics may be joined: paths to prefixes that this fabric does not
 * have lead to whatever router the subnet has then. FAB-07
 */
#ifndef VB_CMD_FABRIC_MANAGERS_H
#define VB_CMD_FABRIC_MANAGERS_H

#include "cmd/fabric/manager.h"

/* Subnets that get a manager. */
#define VB_MANAGERS_MAX 16u

struct vb_managers {
	struct vb_manager manager[VB_MANAGERS_MAX];
	uint64_t guid[VB_MANAGERS_MAX];   /* of the port where it is; 0: the only one needs none */
	uint64_t prefix[VB_MANAGERS_MAX]; /* of its subnet; 0: OpenSM's default */
	uint32_t cnt;
};

/* Finds a place in each subnet, and writes the files of the managers. @prefix: of the first subnet,
 * as the user gives it, 0: he does not. False: the user was told why not, and nothing is left. */
bool vb_managers_prepare(struct vb_managers *all, const struct vb_cmd *cmd,
			 const struct vb_topo *topo, uint64_t prefix);

/* Says where they are. */
void vb_managers_print(const struct vb_managers *all);

/* Makes the pipes by which vb_managers_await() hears that one has ended. */
void vb_managers_connect(struct vb_managers *all);

/* Starts them for fabric @name; they do not outlive the process that calls. */
void vb_managers_start(struct vb_managers *all, const char *name);

/* Waits until all subnets are up, @seconds at most for each. 0, or the result of
 * vb_manager_await() for the manager that failed, which is *which then. */
int vb_managers_await(const struct vb_managers *all, uint32_t seconds,
		      const struct vb_manager **which);

/* Ends them, and removes their files. */
void vb_managers_end(struct vb_managers *all);

#endif
