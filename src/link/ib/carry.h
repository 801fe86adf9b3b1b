/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets that the fabric's process carries, in real time: they go to it whole, and what becomes of
 * them is decided and counted there. Its room is the credit that ends at the sender.
 */
#ifndef VB_LINK_IB_CARRY_H
#define VB_LINK_IB_CARRY_H

#include "link/ib/ib.h"

/* The packet @tx, which leaves by port @number of the map, does not stay at that port. */
bool vb_ib_is_carried(const struct vb_ib_map *m, uint32_t number, const struct vb_tx *tx);

/*
 * Hands the packets of @b from @from on that have the path of the first to the fabric's process, by
 * @lower. Returns how many are done with; *to: the first one of another path. Fewer than up to that
 * only when there is no room.
 */
uint32_t vb_ib_carry(struct vb_link *lower, const struct vb_ib_map *m, uint32_t number,
		     const struct vb_tx_batch *b, uint32_t from, uint32_t *to, vb_time now);

/* The bytes that the fabric's process can take now. */
uint32_t vb_ib_carry_credit(struct vb_link *lower, const struct vb_ib_map *m, vb_time now);

#endif
