/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The OpenSMs that `verbena fabric up --sm` starts: one in each subnet of the fabric. Where there
 * are several subnets, or the user gives the prefix of the first one, each gets a prefix of its
 * own, and its OpenSM the routers that lead to the others (PREFIX ROUTES in opensm(8)). Where other
 * fabrics are joined later, the managers hear which routers lead to the subnets there. FAB-07
 */
#ifndef VB_CMD_FABRIC_MANAGERS_H
#define VB_CMD_FABRIC_MANAGERS_H

#include "cmd/fabric/manager.h"
#include "node/subnet/daemon.h"

/* Subnets that get a manager. */
#define VB_MANAGERS_MAX 16u

struct vb_managers {
	struct vb_manager manager[VB_MANAGERS_MAX];
	uint64_t guid[VB_MANAGERS_MAX];   /* of the port where it is; 0: the only one needs none */
	uint64_t prefix[VB_MANAGERS_MAX]; /* of its subnet; 0: OpenSM's default */
	char *routes[VB_MANAGERS_MAX];    /* what it was told of them; NULL: what it began with */
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

/* The fabric has been joined to others, or no longer is: the managers read their routes again,
 * where these have changed. @ctx is the managers; a call of vb_subnet_daemon_tell_routes(). */
void vb_managers_reroute(void *ctx, const struct vb_subnet_routes *r);

/* Waits until all subnets are up, @seconds at most for each. 0, or the result of
 * vb_manager_await() for the manager that failed, which is *which then. */
int vb_managers_await(const struct vb_managers *all, uint32_t seconds,
		      const struct vb_manager **which);

/* Ends them, and removes their files. */
void vb_managers_end(struct vb_managers *all);

#endif
