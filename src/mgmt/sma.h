/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subnet management agent of a node: answers the SMPs of a subnet manager, from the node's
 * attributes and the ports of its links, and carries out what they set. It is a function of the SMP
 * and the time; the owner of the node sends the answers, raises the events and trains the links.
 * IBA 14.2; items FAB-03, FAB-14 to FAB-29
 */
#ifndef VB_MGMT_SMA_H
#define VB_MGMT_SMA_H

#include "base/time.h"
#include "fabric/ib/forward.h"
#include "fabric/ib/port.h"
#include "wire/mad/smp.h"

#include <stdbool.h>
#include <stdint.h>

#define VB_SMA_NODE_DESC_LEN 64

/* Bits of PortInfo's CapabilityMask that the agent obeys. IBA 14.2.5.6 */
#define VB_CAP_SL_MAPPING (1u << 6)
#define VB_CAP_LED_INFO (1u << 9)

struct vb_sma_port {
	struct vb_ib_port *link;  /* NULL: port 0 of a switch, which has none */
	struct vb_port_info info; /* fields of the link and the node are filled in on the way out */
	uint64_t *guid;           /* info.guid_cap entries; the first one is the port's own */
	uint16_t *pkey;           /* node.pkey_cap entries */
	struct vb_sl2vl *sl2vl;   /* of a switch one for each input port, else one */
	struct vb_arb_entry arb[VB_ARB_PRIORITY_CNT][VB_ARB_ENTRY_MAX];
	vb_time lease_ends;   /* of the M_Key, VB_NEVER: no countdown. FAB-17 */
	uint32_t reregisters; /* times that a manager has asked clients to register again. FAB-24 */
	bool led;
};

struct vb_sma_node {
	struct vb_node_info info;
	struct vb_switch_info sw;       /* of switches */
	struct vb_lid_forward *forward; /* of switches */
	struct vb_sma_port *port;       /* by number; the first one is that of a switch */
	uint8_t description[VB_SMA_NODE_DESC_LEN];
};

/* The changes by an SMP, for the owner of the node. FAB-23 */
enum vb_sma_change {
	VB_SMA_LID = 1 << 0,        /* LID or LMC: event LID_CHANGE */
	VB_SMA_MANAGER = 1 << 1,    /* LID or SL of the manager: SM_CHANGE */
	VB_SMA_GID = 1 << 2,        /* prefix or GUIDs: GID_CHANGE */
	VB_SMA_PKEY = 1 << 3,       /* PKEY_CHANGE */
	VB_SMA_REREGISTER = 1 << 4, /* CLIENT_REREGISTER */
	VB_SMA_STATE = 1 << 5,     /* PORT_ACTIVE or PORT_ERR, by the link's state before and now */
	VB_SMA_TRAIN = 1 << 6,     /* the link has to train, with what is enabled now */
	VB_SMA_MKEY_TRAP = 1 << 7, /* trap 256: an SMP with a wrong M_Key was refused */
	VB_SMA_SET = 1 << 8,       /* something was set, tables for example; raised by a subnet */
	VB_SMA_NAMES = 1 << 9,     /* description or SystemImageGUID, by a subnet. FAB-34 */
};

struct vb_sma_result {
	bool respond;     /* the MAD is the answer now */
	uint32_t changes; /* enum vb_sma_change */
	uint8_t port;     /* of the changes */
};

/*
 * Handles an SMP that came by @in_port, of a class that this agent serves, and makes the answer of
 * it. A response, or a request with a wrong M_Key, has none. SMInfo is not answered here: it is the
 * manager's, and the owner asks for it first.
 */
struct vb_sma_result vb_sma_handle(struct vb_sma_node *node, uint8_t mad[VB_MAD_LEN],
				   uint8_t in_port, vb_time now);

/* The GID at @index of the port, that of its own GUID where the index is none. IBA 4.1.1; FAB-56 */
static inline void vb_sma_gid(const struct vb_sma_port *p, uint32_t index, uint8_t gid[16])
{
	uint64_t guid = p->guid[index < p->info.guid_cap ? index : 0];

	for (unsigned i = 0; i < 8; i++) {
		gid[i] = (uint8_t)(p->info.prefix >> (56 - 8 * i));
		gid[8 + i] = (uint8_t)(guid >> (56 - 8 * i));
	}
}

/* When a lease of an M_Key ends, VB_NEVER: none runs. Its end lifts the protection. FAB-17 */
vb_time vb_sma_poll_timeout(const struct vb_sma_node *node);
void vb_sma_handle_timeout(struct vb_sma_node *node, vb_time now);

#endif
