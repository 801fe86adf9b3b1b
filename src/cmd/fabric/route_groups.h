/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups for `verbena fabric route`: OpenSM makes tables of a group when it has members.
 * Programs that join are started at the nodes of a fabric, and stay until the tables are there.
 */
#ifndef VB_CMD_FABRIC_ROUTE_GROUPS_H
#define VB_CMD_FABRIC_ROUTE_GROUPS_H

#include "cmd/fabric/route_files.h"
#include "node/subnet/daemon.h"

#include <signal.h>
#include <sys/types.h>

#define VB_ROUTE_GROUPS_MAX 32u
#define VB_ROUTE_MEMBERS_MAX 250u /* of all groups: each is a program with verbs */

struct vb_route_groups {
	const struct vb_route_files *files; /* where OpenSM leaves its tables */
	const struct vb_subnet_daemon *daemon;
	const char *fabric;                      /* its name */
	const volatile sig_atomic_t *is_stopped; /* nobody waits any more */
	pid_t member[VB_ROUTE_MEMBERS_MAX];
	uint32_t member_cnt;
	uint16_t mlid[VB_ROUTE_GROUPS_MAX];
	uint32_t cnt;
};

/* Joins the nodes of @list, names with commas between them, to one more group, and waits until
 * OpenSM has made the tables; tells the user the MLID. Not 0: the user was told why not. */
int vb_route_group_join(struct vb_route_groups *g, const char *list);

/* Ends the programs. */
void vb_route_groups_end(struct vb_route_groups *g);

#endif
