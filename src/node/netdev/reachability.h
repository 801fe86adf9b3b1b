/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether this host can reach an address now, as its kernel knows; nothing is sent. */
#ifndef VB_NODE_NETDEV_REACHABILITY_H
#define VB_NODE_NETDEV_REACHABILITY_H

#include "explain/explain.h"

/* 0 when there is a way to @to (a link-local address: on interface @ifindex), else an errno:
 * ENETUNREACH, EHOSTUNREACH, EACCES ... */
int vb_reachability_route(const struct vb_gid *to, uint32_t ifindex);

/* Whether @to has resolved to an address of the link. UNKNOWN: it is not on a link of this host, or
 * nobody has tried lately. */
enum vb_neighbour vb_reachability_neighbour(const struct vb_gid *to);

#endif
