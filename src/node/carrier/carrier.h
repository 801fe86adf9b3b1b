/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shared broker: a process of root that has UDP port 4791 for all users of a host (network
 * namespace). It gives each of their processes a slot, and carries the packets that come for the
 * slot into a ring that this process alone reads (link/shm/carried.h). Everything else that an
 * adapter has is with each user's own broker, where nobody else gets at it.
 *
 * Users do not share a low byte of QPNs: all that have the same one are narrow slots of one user,
 * and a socket of the group takes their packets, so that nobody's packets wait behind another
 * user's. No process but this one has a socket of the group, or can change its program.
 */
#ifndef VB_NODE_CARRIER_CARRIER_H
#define VB_NODE_CARRIER_CARRIER_H

#include <stdint.h>

/* Processes of a user that have slots at once, unless told otherwise. Each has up to 2,048 QPs, and
 * a ring of 2 MiB. */
#define VB_CARRIER_PROCESSES 64u

/*
 * Runs until SIGTERM or SIGINT; @processes is that limit, 1 to VB_SLOT_PROCESSES. Says on standard
 * output that it is ready, and on standard error why it is not. Returns an exit code.
 */
int vb_carrier_main(uint32_t processes);

#endif
