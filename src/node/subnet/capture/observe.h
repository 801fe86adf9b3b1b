/* SPDX-License-Identifier: BSD-2-Clause */
/* An observer of a fabric: the rings of its packets (link/ib/capture.h), as `verbena capture` reads
 * them, and the names of the ports that they passed. */
#ifndef VB_NODE_SUBNET_CAPTURE_OBSERVE_H
#define VB_NODE_SUBNET_CAPTURE_OBSERVE_H

#include "link/ib/map.h"
#include "node/shared/shm.h"
#include "node/subnet/call.h"

struct vb_subnet_observer {
	int sock;
	const struct vb_ib_map *map;
	size_t map_size;
	const struct vb_subnet_name *name; /* by number of the node in the map */
	size_t names_size;
	const struct vb_capture_ring *ring;          /* of the fabric's process */
	const struct vb_slot_shm *slot[VB_IB_SLOTS]; /* NULL: there is none */
	/* The node that was asked for: number of its port 0 in the map, and how many follow that.
	 */
	uint32_t first_port, port_cnt;
};

/* Connects to the fabric @name; @node is a node of it, or empty. 0, or a negative errno with a line
 * in @why; then nothing is left behind. */
int vb_subnet_observe(struct vb_subnet_observer *o, const char *name, const char *node, char *why,
		      size_t why_size);
/* Takes in the slots that are new. -EPIPE: the fabric has ended; what is mapped stays. */
int vb_subnet_observe_slots(struct vb_subnet_observer *o);
/* Packets are captured from now on, or no longer. The same errors. */
int vb_subnet_observe_capture(struct vb_subnet_observer *o, bool on);
void vb_subnet_observe_end(struct vb_subnet_observer *o);

#endif
