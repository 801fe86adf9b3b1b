/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The forwarding tables of an InfiniBand switch: by which port a packet with a unicast LID leaves,
 * and to which ports one with a multicast LID is copied. The subnet manager fills them. IBA 18.2.4;
 * items FAB-01, FAB-02
 */
#ifndef VB_FABRIC_IB_FORWARD_H
#define VB_FABRIC_IB_FORWARD_H

#include <stdbool.h>
#include <stdint.h>

#define VB_PORT_NONE 255     /* entry of a forwarding table: the packet is dropped */
#define VB_MFT_MASK_PORTS 16 /* ports of one word of a multicast entry */
#define VB_MFT_POSITIONS 16  /* words of an entry: 255 ports and port 0 */

/* Port @port is bit @port % 16 of word @port / 16. */
struct vb_port_mask {
	uint16_t word[VB_MFT_POSITIONS];
};

struct vb_lid_forward {
	uint8_t *unicast;                    /* a port for each LID up to @unicast_cap */
	struct vb_port_mask *multicast;      /* a mask for each LID from 0xC000 on */
	uint16_t unicast_cap, multicast_cap; /* entries */
	uint16_t unicast_top;                /* LinearFDBTop: the last LID that is forwarded */
	uint16_t multicast_top;              /* MulticastFDBTop, 0: all entries count */
	uint8_t multicast_primary; /* DefaultMulticastPrimaryPort of LIDs without an entry */
	uint8_t multicast_other;   /* ... and of those that came by that port */
};

static inline bool vb_port_mask_has(const struct vb_port_mask *m, uint8_t port)
{
	return m->word[port / VB_MFT_MASK_PORTS] >> port % VB_MFT_MASK_PORTS & 1;
}

/* The port of a packet to @dlid that came by @in_port; 0 is the switch itself, VB_PORT_NONE: it is
 * dropped and counted as PortRcvSwitchRelayErrors. @dlid is a unicast LID. */
uint8_t vb_lid_forward_unicast(const struct vb_lid_forward *f, uint16_t dlid, uint8_t in_port);

/* The ports to which a packet to @dlid is copied, without @in_port. False: to none. @dlid is a
 * multicast LID. */
bool vb_lid_forward_multicast(const struct vb_lid_forward *f, uint16_t dlid, uint8_t in_port,
			      struct vb_port_mask *out);

#endif
