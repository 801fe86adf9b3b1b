/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The traps of a node: notices to the subnet manager of what it did not ask for, repeated until it
 * says that it has heard them. IBA 13.4.9, 14.3; items FAB-30, FAB-32 to FAB-36
 */
#ifndef VB_MGMT_TRAP_H
#define VB_MGMT_TRAP_H

#include "base/time.h"
#include "wire/mad/smp.h"

#include <stdbool.h>
#include <stdint.h>

#define VB_TRAP_LINK_STATE 128     /* a link of a switch changed its state */
#define VB_TRAP_LINK_INTEGRITY 129 /* LocalLinkIntegrityErrors: beyond its threshold */
#define VB_TRAP_BUFFER_OVERRUN 130 /* ExcessiveBufferOverrunErrors: the same */
#define VB_TRAP_FLOW_WATCHDOG 131  /* no flow control packets from the neighbour for too long */
#define VB_TRAP_CAPABILITY 144     /* CapabilityMask, the node's description, what is enabled */
#define VB_TRAP_SYSTEM_GUID 145    /* SystemImageGUID */
#define VB_TRAP_MKEY 256           /* an SMP had a wrong M_Key */
#define VB_TRAP_DETAILS_LEN 54
#define VB_TRAP_PKEY 257        /* a packet had a P_Key that is not the port's or the QP's */
#define VB_TRAP_QKEY 258        /* a datagram had another Q_Key than its QP */
#define VB_TRAP_SWITCH_PKEY 259 /* a P_Key that a port of a switch lets neither in nor out */
#define VB_TRAPS_MAX 8

struct vb_trap {
	uint16_t number; /* 0: there is none */
	uint16_t count;  /* of repetitions */
	uint64_t tid;
	vb_time due;
	uint8_t details[VB_TRAP_DETAILS_LEN];
};

struct vb_traps {
	struct vb_trap trap[VB_TRAPS_MAX];
	uint64_t tid;
	vb_time not_before; /* the node may not send another one before. FAB-30 */
};

/* Raises a trap; the LID in @details is filled in when it is sent. One of this number that still
 * waits for its answer has these details from now on and is sent again. */
void vb_trap_raise(struct vb_traps *t, uint16_t number, const uint8_t details[VB_TRAP_DETAILS_LEN],
		   vb_time now);

/* The one of this number that waits for its answer, or NULL. */
struct vb_trap *vb_trap_find(struct vb_traps *t, uint16_t number);

/* The manager has heard trap @tid. */
void vb_trap_repress(struct vb_traps *t, uint64_t tid);

/* When a trap is to be sent, VB_NEVER: none is. */
vb_time vb_traps_poll_timeout(const struct vb_traps *t);

/* Makes the MAD of a trap that is due: of a node of type @producer with this LID. It is due again
 * after @interval, and so is every other one. False: none is. */
bool vb_traps_poll(struct vb_traps *t, uint8_t mad[VB_MAD_LEN], uint8_t producer, uint16_t lid,
		   vb_dur interval, vb_time now);

#endif
