/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deadlocks of credits: lanes of outputs that wait for room at the other end of their links, where
 * every packet waits for one of these lanes in its turn. It is decided by what lies where, not by
 * time: a lane is alive when it need not wait, or when a packet in the buffer that it waits for is
 * in a lane that is alive. Lanes left over will wait for ever. IBA 7.6; Dally and Seitz 1987
 */
#ifndef VB_FABRIC_IB_NODE_DEADLOCK_H
#define VB_FABRIC_IB_NODE_DEADLOCK_H

#include "fabric/ib/node/switch.h"

#define VB_DEADLOCK_LANES_MAX 64u

#define VB_IB_NO_HOP UINT32_MAX

/* The outputs of switches to switches, in any order: all that can be in a cycle. The end of each
 * has its index as @hop, that of any other output VB_IB_NO_HOP. */
struct vb_ib_hop {
	struct vb_ib_switch *sw;
	uint32_t port;
	struct vb_ib_switch *far; /* the switch at the other end, and its port there */
	uint32_t far_port;
};

struct vb_deadlock_lane {
	uint32_t hop; /* index of the output */
	uint8_t vl;
};

/* A cycle: each lane waits for the room that a packet in the next one has, the last one for the
 * first. */
struct vb_deadlock {
	uint32_t cnt; /* of the lanes in the cycle, of which those beyond the room are not in it */
	struct vb_deadlock_lane lane[VB_DEADLOCK_LANES_MAX];
};

/*
 * Looks for a deadlock among the @cnt outputs at @hop. @scratch: zeroed memory of cnt * VB_VL_CNT
 * bytes. False: there is none.
 */
bool vb_deadlock_find(const struct vb_ib_hop *hop, uint32_t cnt, uint8_t *scratch,
		      struct vb_deadlock *out);

#endif
