/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device management agent of a target channel adapter: tells which I/O controllers are in its
 * slots and which services they offer. It serves nothing else: the controllers themselves are
 * programs, if any run at the node. IBA 16.3; items FAB-08, FAB-49
 */
#ifndef VB_MGMT_DEVICE_DEVICE_H
#define VB_MGMT_DEVICE_DEVICE_H

#include "fabric/topology/topology.h"
#include "wire/mad/subnet/device.h"

#include <stdbool.h>
#include <stdint.h>

/* Of a port, as a manager sets them. */
struct vb_device_port {
	uint8_t trap[VB_IO_TRAP_LEN]; /* where traps would go. IBA 13.4.8.1 */
};

struct vb_device_node {
	const struct vb_topo_ioc *ioc; /* by slot; NULL: the node has no such agent */
	struct vb_device_port *port;   /* by number */
	uint8_t port_cnt;
	uint8_t resp_time; /* 4.096 us * 2^n */
};

/* Answers a MAD of VB_MAD_CLASS_DEVICE that came in at port @in_port of a node with controllers.
 * True: it is the answer now. False: there is none, since it is neither Get nor Set. */
bool vb_device_handle(struct vb_device_node *node, uint8_t mad[VB_MAD_LEN], uint8_t in_port);

#endif
