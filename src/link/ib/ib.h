/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The link of a port of an InfiniBand fabric: it stands before the shared-memory link, finds the
 * way of each packet through the fabric by its map (map.h), hands on those that arrive, and counts
 * all. Under the shared-memory link there is nothing else: nowhere.c.
 */
#ifndef VB_LINK_IB_IB_H
#define VB_LINK_IB_IB_H

#include "link/ib/map.h"
#include "link/link.h"
#include "link/middle/capture.h"

/* The configuration that vb_link_config.fabric points to. */
struct vb_ib_link_config {
	const struct vb_ib_map *map;
	size_t map_size;                 /* of the mapping, for its owner */
	struct vb_ib_routes *routes;     /* of this process, in the map */
	struct vb_capture_ring *capture; /* of this process; NULL: nobody captures its packets */
	/* By HCA port: its number in the map, VB_IB_NOWHERE: there is none. Entry 0 is unused. */
	uint32_t port[VB_LINK_PORTS_MAX];
};

/* The driver of cfg->fabric, before cfg->lower. -ENOMEM, -EINVAL: there is no fabric. */
int vb_ib_link_open(struct vb_link **out, const struct vb_link_config *cfg);

/* A link to nobody: a packet sent there is a discard of its port. */
int vb_nowhere_open(struct vb_link **out, const struct vb_link_config *cfg);

#endif
