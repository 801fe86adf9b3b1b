/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shared broker: a process of root that has UDP port 4791 for all users of a host (network
 * namespace). It gives each of their processes a slot, and carries the packets that come for the
 * slot into a ring that this process alone reads (link/carried/carried.h). It has QP1 as well, and
 * carries each management datagram to the broker of the user whom it is for (gsi.c). Everything
 * else that an adapter has is with each user's own broker, where nobody else gets at it.
 *
 * Users do not share a low byte of QPNs: all that have the same one are narrow slots of one user,
 * and a socket of the group takes their packets, so that nobody's packets wait behind another
 * user's. No process but this one has a socket of the group, or can change its program.
 */
#ifndef VB_NODE_CARRIER_CARRIER_H
#define VB_NODE_CARRIER_CARRIER_H

#include "base/slot.h"
#include "fault/fault.h"
#include "link/carried/status.h"

/* Unless told otherwise. Each process has up to 2,048 QPs, and a ring of 2 MiB. */
#define VB_CARRIER_PROCESSES 64u
#define VB_CARRIER_QPS VB_SLOT_NARROW_QPNS
#define VB_CARRIER_SERVICES_MAX 1024u
#define VB_CARRIER_SERVICES VB_CARRIER_SERVICES_MAX
#define VB_CARRIER_GROUPS 256u
#define VB_CARRIER_GROUPS_MAX 65536u
#define VB_CARRIER_MEMORY_MAX 65536u

/* The limits are those of each user: 1 to VB_SLOT_PROCESSES, to VB_CARRIER_QPS, and so on. */
struct vb_carrier_options {
	struct vb_carrier_limits limits;
	struct vb_fault_spec faults; /* that packets meet which come to any user */
	const char *fault_text;      /* the same in words */
	uint64_t fault_seed;
	bool is_direct; /* the kernel steers packets to processes: direct/direct.h */
};

/*
 * Runs until SIGTERM or SIGINT. Listens at the descriptor that a service manager has handed in, if
 * one has (sd_listen_fds(3)). Says on standard output that it is ready, and on standard error why
 * it is not. Returns an exit code.
 */
int vb_carrier_main(const struct vb_carrier_options *options);

#endif
