/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process that runs a fabric: the nodes of a topology with their agents, the open files of
 * programs at these nodes, and the trees by which these see their device. One thread, one loop.
 */
#ifndef VB_NODE_SUBNET_DAEMON_H
#define VB_NODE_SUBNET_DAEMON_H

#include "fabric/topology/topology.h"

#include <stddef.h>
#include <stdint.h>

struct vb_subnet_daemon;
struct vb_routers;

/* The routers that the fabric knows, its own and those of fabrics that are joined to it, and the
 * prefixes of the subnets that they have ports in. */
struct vb_subnet_routes {
	const struct vb_routers *routers;
	const uint64_t *prefix;
	uint32_t prefix_cnt;
};

/* Makes the fabric @name of @topo, which stays the caller's and has to stay as it is. Nobody
 * reaches it yet. Returns 0 or a negative errno with a line in @why. */
int vb_subnet_daemon_open(struct vb_subnet_daemon **out, const char *name,
			  const struct vb_topo *topo, char *why, size_t why_size);

/* The data of programs takes time from now on, @scale times as much as the links say. No program
 * may have asked for the adapter. */
void vb_subnet_daemon_set_real_time(struct vb_subnet_daemon *d, uint32_t scale);

/* The fabric is part @part, up to 255, of several that are joined by tunnels: its addresses are
 * 10.@part.x.y from now on. */
void vb_subnet_daemon_set_part(struct vb_subnet_daemon *d, uint32_t part);

/* @told is called while the fabric is served, each time that its tunnels may lead to other subnets
 * than before. */
void vb_subnet_daemon_tell_routes(struct vb_subnet_daemon *d,
				  void (*told)(void *ctx, const struct vb_subnet_routes *r),
				  void *ctx);

/* Serves until DOWN is called or a signal that ends programs comes. Returns 0 or a negative errno.
 */
int vb_subnet_daemon_serve(struct vb_subnet_daemon *d);

void vb_subnet_daemon_close(struct vb_subnet_daemon *d);

#endif
