/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes of one host share an adapter, and with it the numbers of QPs: each has a process slot,
 * and the QPNs whose low byte is the slot. So a packet's destination QPN says which process it is
 * for, to the kernel as well (node/store/group.h).
 */
#ifndef VB_LINK_SLOT_H
#define VB_LINK_SLOT_H

#include <stdint.h>

/* 0, 1 and 255 stay the broker's: QP0, QP1, multicast. */
#define VB_SLOT_GSI 1
#define VB_SLOT_FIRST 2
#define VB_SLOT_LAST 254
#define VB_SLOT_CNT 256

static inline uint8_t vb_slot_of_qpn(uint32_t qpn)
{
	return (uint8_t)qpn;
}

#endif
