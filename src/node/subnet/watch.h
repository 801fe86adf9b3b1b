/* SPDX-License-Identifier: BSD-2-Clause */
/* The events of a fabric, as lines for its watchers: `verbena fabric watch`. */
#ifndef VB_NODE_SUBNET_WATCH_H
#define VB_NODE_SUBNET_WATCH_H

#include "node/subnet/state.h"

/* @c gets a line, one message each, of all that happens from now on. 0 or -ENOMEM. */
int vb_subnet_watch_begin(struct vb_subnet_daemon *d, struct vb_subnet_conn *c);

/* Tells of @changes, enum vb_sma_change, of @node. */
void vb_subnet_watch_changes(struct vb_subnet_daemon *d, uint32_t node, uint32_t changes);
/* Tells of the trap in @mad, which @node sends. */
void vb_subnet_watch_trap(struct vb_subnet_daemon *d, uint32_t node, const uint8_t mad[VB_MAD_LEN]);

/* The tunnel at the port to @peer has an event: "S-0000 port 3: the other end of the tunnel, PEER,
 * @what". */
void vb_subnet_watch_tunnel(struct vb_subnet_daemon *d, struct vb_subnet_place at, const char *peer,
			    const char *what);

#endif
