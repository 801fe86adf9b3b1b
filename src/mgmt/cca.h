/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The congestion control agent of a node: keeps what a manager sets, of a switch how its outputs
 * mark, of each port of an adapter how it slows down, and guards it by the CC_Key. They take effect
 * where data takes time (fabric/ib/node/congestion.h), and the owner of the node tells of events
 * there. IBA A10.4; item FAB-45
 */
#ifndef VB_MGMT_CCA_H
#define VB_MGMT_CCA_H

#include "base/time.h"
#include "wire/mad/pma.h"
#include "wire/mad/subnet/congestion.h"

#include <stdbool.h>
#include <stdint.h>

#define VB_CCA_BLOCKS 2u /* of the table of an adapter's port */

/* The notice of a wrong key that waits for its answer. */
struct vb_cca_trap {
	bool is_raised;
	uint16_t count; /* of repetitions */
	uint64_t tid;
	vb_time due;
	struct vb_ibcc_key_trap details;
};

struct vb_cca_port {
	struct vb_ibcc_key_info key;
	vb_time lease_ends;            /* of key.protect; VB_NEVER: no countdown */
	struct vb_class_traps trap_to; /* as a manager has said */
	struct vb_cca_trap trap;
	struct vb_ibcc_ca_setting ca;
	uint16_t limit, entry[VB_CCA_BLOCKS * VB_IBCC_ENTRIES];
	struct vb_ibcc_log log; /* what is to be told; of a switch at port 0, of all its ports */
};

struct vb_cca_node {
	struct vb_cca_port *port; /* by number; of a switch there is port 0 alone */
	struct vb_ibcc_switch_setting sw;
	struct vb_ibcc_port_setting *sw_port; /* of a switch, by number; else NULL */
	uint8_t port_cnt;
	uint8_t resp_time; /* 4.096 us * 2^n */
	uint64_t tid;      /* of the last trap */
};

/* The sender of a request. */
struct vb_cca_sender {
	uint16_t slid;
	uint32_t qpn;
	uint64_t prefix, guid; /* of its SGID; 0: the request has no GRH */
};

/*
 * Answers a MAD of VB_MAD_CLASS_IBCC that came in at port @in_port. True: it is the answer now.
 * False: there is none, since it is neither Get nor Set, or has a wrong key, which is counted, and
 * told to whom ClassPortInfo names.
 */
bool vb_cca_handle(struct vb_cca_node *node, uint8_t mad[VB_MAD_LEN], uint8_t in_port,
		   const struct vb_cca_sender *from, vb_time now);

/* When a trap is to be sent, VB_NEVER: none is. */
vb_time vb_cca_poll_timeout(const struct vb_cca_node *node);
/* Makes the MAD of the trap of port @port that is due: of a node of type @producer, by a port with
 * this LID; the port's trap_to is its address. It is due again after @interval. False: none is.
 * IBA 13.4.9 */
bool vb_cca_poll_trap(struct vb_cca_node *node, uint8_t port, uint8_t mad[VB_MAD_LEN],
		      uint8_t producer, uint16_t lid, vb_dur interval, vb_time now);

/* Port @port had @events more: of a switch, packets that were marked there; of an adapter, indices
 * that came to their trigger, at service levels @sls. They are in the log until that is read. */
void vb_cca_note(struct vb_cca_node *node, uint8_t port, uint64_t events, uint16_t sls);
/* One of them, when it was @at. The log has the last ones. */
void vb_cca_note_event(struct vb_cca_node *node, uint8_t port, const struct vb_ibcc_event *e,
		       vb_time at);

#endif
