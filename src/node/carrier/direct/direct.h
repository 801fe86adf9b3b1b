/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets of processes without the hop through the shared broker, where its administrator wants
 * that (`--direct`) and it may change nftables: a process gets a socket of a port of its own beside
 * its ring, and the kernel hands it the packets of its slot (rules.h). The socket is bound by the
 * shared broker, which holds it as well, so the port is nobody else's while the rule is there. Its
 * owner, as firewalls see it, is the user. QP1 and multicast groups go by rings as before.
 */
#ifndef VB_NODE_CARRIER_DIRECT_DIRECT_H
#define VB_NODE_CARRIER_DIRECT_DIRECT_H

#include "node/carrier/state.h"

/* 0, or a negative errno with a line for the administrator in @why. */
int vb_carrier_direct_open(struct vb_carrier *c, char *why, size_t why_size);
void vb_carrier_direct_close(struct vb_carrier *c);

/* Makes the socket of @p, which has a slot, and steers its packets there. Where that does not work
 * p->rx_fd stays -1, and the packets come by the ring. */
void vb_carrier_direct_give(struct vb_carrier *c, struct vb_carrier_client *p);
/* Before the slot is another process's. */
void vb_carrier_direct_take_back(struct vb_carrier *c, struct vb_carrier_client *p);

#endif
