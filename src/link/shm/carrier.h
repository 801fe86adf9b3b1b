/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rings of a process that carries the packets of others (link.h). The process looks at the next
 * packet of each ring by itself, and leaves the packet there while it has no room for it. The slot
 * tells the writer of a ring; packets of a writer whose slot has another owner are dropped. The
 * process opens its link by vb_shm_open(), sends by vb_link_copy(), and never calls recv.
 */
#ifndef VB_LINK_SHM_CARRIER_H
#define VB_LINK_SHM_CARRIER_H

#include "link/link.h"
#include "link/shm/ring.h"

/* Takes in the rings that were handed in, and gives up those whose writers have gone, with what is
 * in them. Returns how many there are; they are numbered from 0 on until the next call. */
uint32_t vb_shm_carrier_rings(struct vb_link *l);

uint32_t vb_shm_carrier_cnt(const struct vb_link *l);

/* A ring was handed in that has not been taken in. */
bool vb_shm_carrier_has_news(const struct vb_link *l);
/* Ring @i has a packet. */
bool vb_shm_carrier_has_packets(const struct vb_link *l, uint32_t i);

/* The slot that ring @i is of. */
uint32_t vb_shm_carrier_slot(const struct vb_link *l, uint32_t i);
/* The way of the next packet of ring @i. False: there is none. */
bool vb_shm_carrier_look(struct vb_link *l, uint32_t i, struct vb_ring_way *way);
/* That packet, but for its path. It stays until the next call, or until the ring is given back.
 * False: there is none, as the writer's bytes make no sense. */
bool vb_shm_carrier_take(struct vb_link *l, uint32_t i, struct vb_rx *rx);
/* The writer of ring @i has the room of what was taken again. */
void vb_shm_carrier_give_back(struct vb_link *l, uint32_t i);

#endif
