/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of a fabric: whole texts, and topologies as `verbena fabric up` reads them. */
#ifndef VB_SCENARIO_FABRIC_FILE_H
#define VB_SCENARIO_FABRIC_FILE_H

#include "fabric/topology/topology.h"

/* Zeroed memory of the heap, for whatever takes such functions. */
void *vb_topology_alloc(void *ctx, size_t size);
void vb_topology_free(void *ctx, void *p);

/* Reads all of @path, at most @max bytes; to be freed. NULL with errno. */
char *vb_fabric_read_text(const char *path, size_t max, size_t *len);

/* Reads a file with a topology, or where there is no such file a shape. The names of files that its
 * lines include begin at its folder. 0, or a negative errno with a line in @why. */
int vb_fabric_read_topology(struct vb_topo *topo, const char *arg, char *why, size_t why_size);

/* The same; nodes without a GUID have those from @guid_base on, 0: VB_TOPO_GUID_BASE. */
int vb_fabric_read_topology_at(struct vb_topo *topo, const char *arg, uint64_t guid_base, char *why,
			       size_t why_size);

#endif
