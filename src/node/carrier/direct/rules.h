/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rule of nftables by which packets to port 4791 go to the sockets of processes: a map from the
 * bits of the destination QPN that name a narrow slot to a UDP port. It rewrites the destination
 * port of packets that come in, behind the rules of firewalls; nobody else sees that port. Packets
 * of slots that are not in the map go on to port 4791. There is no state and no copy. nft(8);
 * relies on libnftables, which is loaded when somebody wants this.
 */
#ifndef VB_NODE_CARRIER_DIRECT_RULES_H
#define VB_NODE_CARRIER_DIRECT_RULES_H

#include <stddef.h>
#include <stdint.h>

struct vb_carrier_rules {
	void *library, *context;
	int (*run)(void *context, const char *commands);
	const char *(*error)(void *context);
};

/* Makes the rule, and takes away the rule of an earlier shared broker. 0, or a negative errno
 * with a line for the administrator in @why. */
int vb_carrier_rules_open(struct vb_carrier_rules *r, char *why, size_t why_size);
/* Takes the rule away. */
void vb_carrier_rules_close(struct vb_carrier_rules *r);

/* From now on packets of narrow slot @slot go to @port, or with 0 to port 4791. 0 or -EIO. */
int vb_carrier_rules_set(const struct vb_carrier_rules *r, uint32_t slot, uint16_t port);

#endif
