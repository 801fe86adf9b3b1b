/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes of one host share an adapter, and with it the numbers of QPs: each has a process slot,
 * and the slot stands in all of its QPNs. So a packet's destination QPN says which process it is
 * for, to the kernel as well (node/store/group.h).
 *
 * A wide slot is the low byte of its QPNs: 2^16 of them. The other low bytes are shared by 32
 * narrow slots each, which the next five bits tell apart: 2^11 QPNs for each of these.
 */
#ifndef VB_BASE_SLOT_H
#define VB_BASE_SLOT_H

#include <stdint.h>

/* 0 and 1 stay the broker's: QP0, QP1. The QPNs of the last number have 0xFFFFFF among them, which
 * is multicast: nobody has it. */
#define VB_SLOT_GSI 1
#define VB_SLOT_FIRST 2
#define VB_SLOT_WIDE 128 /* slots below are wide, slots from here on narrow */
#define VB_SLOT_LAST (VB_SLOT_CNT - 2)
#define VB_SLOT_CNT (VB_SLOT_WIDE + (256 - VB_SLOT_WIDE) * VB_SLOT_SHARE)
#define VB_SLOT_SHARE 32 /* narrow slots of one low byte */
#define VB_SLOT_SHARE_BITS 5
#define VB_SLOT_NARROW_QPNS (1u << (24 - 8 - VB_SLOT_SHARE_BITS)) /* of each narrow slot */

/* Processes that can have a slot at once. */
#define VB_SLOT_PROCESSES (VB_SLOT_LAST - VB_SLOT_FIRST + 1)

/* Always less than VB_SLOT_CNT. */
static inline uint32_t vb_slot_of_qpn(uint32_t qpn)
{
	uint32_t low = qpn & 0xff;

	if (low < VB_SLOT_WIDE)
		return low;
	return VB_SLOT_WIDE + (low - VB_SLOT_WIDE) * VB_SLOT_SHARE + (qpn >> 8) % VB_SLOT_SHARE;
}

/* The same of the destination QPN in the BTH at @bth. IBA 9.2.1 */
static inline uint32_t vb_slot_of_bth(const uint8_t *bth)
{
	return vb_slot_of_qpn((uint32_t)bth[6] << 8 | bth[7]);
}

/* The QPNs of @slot are base + k * stride, k = 0 ... cnt - 1. */
static inline uint32_t vb_slot_qpn_base(uint32_t slot)
{
	uint32_t n = slot - VB_SLOT_WIDE;

	return slot < VB_SLOT_WIDE ? slot
				   : VB_SLOT_WIDE + n / VB_SLOT_SHARE + n % VB_SLOT_SHARE * 256;
}

static inline uint32_t vb_slot_qpn_stride(uint32_t slot)
{
	return slot < VB_SLOT_WIDE ? 256 : 256 * VB_SLOT_SHARE;
}

static inline uint32_t vb_slot_qpn_cnt(uint32_t slot)
{
	return (1u << 24) / vb_slot_qpn_stride(slot);
}

/* The index k of a QPN among the QPNs of its process. */
static inline uint32_t vb_slot_qpn_index(uint32_t qpn)
{
	uint32_t shift = (qpn & 0xff) < VB_SLOT_WIDE ? 8 : 8 + VB_SLOT_SHARE_BITS;

	return (qpn & 0xffffff) >> shift;
}

#endif
