/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * VL arbitration: which data lane of an InfiniBand port sends next. Two tables of lanes and weights
 * are served, each by weighted round robin; the low one gets a turn when the high one has nothing
 * to send or has sent its limit. IBA 7.6.9; items LNK-23 to LNK-26
 *
 * An entry gets its whole weight each time its turn comes. It is passed over, and loses nothing,
 * while its lane has no packet or no credit for its first packet.
 */
#ifndef VB_FABRIC_IB_ARBITER_H
#define VB_FABRIC_IB_ARBITER_H

#include "fabric/ib/lane.h"

#include <stdbool.h>
#include <stdint.h>

#define VB_ARB_ENTRY_MAX 64
#define VB_ARB_HIGH_UNLIMITED 255 /* HighLimit: the low table never interrupts the high one */

enum vb_arb_priority { VB_ARB_HIGH, VB_ARB_LOW, VB_ARB_PRIORITY_CNT };

struct vb_arb_entry {
	uint8_t vl;
	uint8_t weight; /* blocks of 64 bytes, 0: the entry is not used */
};

struct vb_arb_table {
	struct vb_arb_entry entry[VB_ARB_ENTRY_MAX];
	uint8_t cnt;  /* entries, 0 to 64 */
	uint8_t at;   /* whose turn it is */
	int32_t left; /* of its weight, blocks; 0 or less: the next one's turn begins */
};

struct vb_arbiter {
	struct vb_arb_table table[VB_ARB_PRIORITY_CNT];
	uint8_t high_limit; /* units of 4096 bytes; 0: one packet */
	uint32_t high_sent; /* blocks of the high table since the low one had its turn */
};

/* A lane that may send, and the entry that says so. */
struct vb_arb_choice {
	uint8_t vl;
	uint8_t priority; /* enum vb_arb_priority */
	uint8_t entry;
};

/* Writes the entries of a table, up to VB_ARB_ENTRY_MAX of them; the first one's turn begins. */
void vb_arbiter_set_table(struct vb_arbiter *a, enum vb_arb_priority priority,
			  const struct vb_arb_entry *entry, uint32_t cnt);

/*
 * Chooses the lane that sends next. Bit n of @ready says that lane n is operational, has a packet,
 * and has the credits for it. False: none may send. Nothing changes.
 */
bool vb_arbiter_choose(const struct vb_arbiter *a, uint16_t ready, struct vb_arb_choice *choice);

/* The packet of that choice leaves, of @blocks. @ready is as it was. */
void vb_arbiter_sent(struct vb_arbiter *a, const struct vb_arb_choice *choice, uint32_t blocks,
		     uint16_t ready);

#endif
