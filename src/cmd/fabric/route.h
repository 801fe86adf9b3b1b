/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena fabric route`: the routes that OpenSM gives a topology, as files for the simulator and
 * for ibdmchk. */
#ifndef VB_CMD_FABRIC_ROUTE_H
#define VB_CMD_FABRIC_ROUTE_H

#include "cmd/cmd.h"
#include "fabric/topology/topology.h"

struct vb_fabric_route {
	const char *engine;      /* as `opensm -R` takes it */
	const char *out;         /* folder of the files */
	const char *const *more; /* of OpenSM's options; ends with a NULL */
	/* Multicast groups: each a list of hosts that join, with commas between their names. */
	const char *const *group;
	uint32_t group_cnt;
};

/* Runs a fabric of @topo with OpenSM, whose log and tables it reads. Returns the exit status. */
int vb_fabric_route(const struct vb_cmd *cmd, const struct vb_topo *topo,
		    const struct vb_fabric_route *r);

#endif
