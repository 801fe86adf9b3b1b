/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subnet management interface of a node: where an SMP with a directed route goes next. A
 * request counts its hops up and leaves the ports that it came by in its return path; the response
 * counts them down. Either end of the route may be a part with LIDs. IBA 14.2.2; items FAB-09 to
 * FAB-13
 */
#ifndef VB_MGMT_SMI_H
#define VB_MGMT_SMI_H

#include "wire/mad/smp.h"

#include <stdbool.h>
#include <stdint.h>

enum vb_smi_where {
	VB_SMI_DISCARD,
	VB_SMI_AGENT,   /* to the agent of this node: a request */
	VB_SMI_MANAGER, /* to the subnet manager at this node: a response */
	VB_SMI_PORT,    /* out by a port of this node */
	VB_SMI_LID,     /* on by LID, as any LID-routed SMP */
};

struct vb_smi_step {
	enum vb_smi_where where;
	uint8_t port; /* VB_SMI_PORT */
	uint16_t lid; /* VB_SMI_LID */
};

/* The node that has the SMP. */
struct vb_smi_node {
	bool is_switch;
	uint8_t port_cnt; /* ports 1...port_cnt */
};

#define VB_SMI_LOCAL 0 /* "port" of an SMP that this node itself sends */

/*
 * Moves the SMP on by one node: changes its hop pointer and return path, and says where it goes.
 * @in_port is the port by which it came. @lid_routed: its DLID was a LID of this node, not the
 * permissive one.
 */
struct vb_smi_step vb_smi_forward(uint8_t mad[VB_MAD_LEN], const struct vb_smi_node *node,
				  uint8_t in_port, bool lid_routed);

#endif
