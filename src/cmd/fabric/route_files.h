/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of `verbena fabric route`: from the folder of OpenSM into that of the user. */
#ifndef VB_CMD_FABRIC_ROUTE_FILES_H
#define VB_CMD_FABRIC_ROUTE_FILES_H

#include "cmd/cmd.h"
#include "fabric/topology/topology.h"
#include "scenario/fabric/fabric.h"

#define VB_ROUTE_TABLES "opensm-lfts.dump"
#define VB_ROUTE_MAPS "opensm-sl2vl.dump"
#define VB_ROUTE_LEVELS "opensm.psl"
#define VB_ROUTE_GROUPS "opensm.mcfdbs"
#define VB_ROUTE_LAST "opensm-subnet.lst" /* that OpenSM writes */

struct vb_route_files {
	const struct vb_cmd *cmd;
	const char *from, *to; /* folders */
	const struct vb_topo *topo;
};

bool vb_route_file_is_there(const char *folder, const char *name);
/* The text of a file, to be freed; NULL: it cannot be read. */
char *vb_route_file_read(const char *folder, const char *name, size_t max);

/* The fabric as the simulator sees it, with the tables that are there. Not 0: the user was told; it
 * is to be freed in any case. */
int vb_route_fabric_read(const struct vb_route_files *f, struct vb_fabric *fabric);

/* Asks the subnet administrator of fabric @name, from @node, for the service levels of the paths
 * between hosts, and writes them into the folder that files come from. Not 0: the user was told. */
int vb_route_ask_levels(const struct vb_route_files *f, const char *name, const char *node);

/* Reads what OpenSM left, as the simulator does, and copies it. Not 0: the user was told. */
int vb_route_files_put(const struct vb_route_files *f, const char *engine);

#endif
