/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The SO_REUSEPORT group on UDP port 4791: one socket per slot, socket k of the group is slot k. A
 * classic BPF program finds the slot in the destination QPN of the BTH (base/slot.h), so that the
 * kernel gives each packet to the process that owns its QP, without privilege and without a hop.
 */
#ifndef VB_NODE_STORE_GROUP_H
#define VB_NODE_STORE_GROUP_H

#include "node/shared/shm.h"

struct vb_group {
	uint32_t cnt; /* sockets so far: slots 0 ... cnt - 1 */
	/* Of the shared broker, made all at once: one socket for all narrow slots of a low byte,
	 * number low byte - VB_SLOT_WIDE + 1, and a last one for QP1. */
	bool by_byte;
	int fd[VB_SLOT_CNT];
};

void vb_group_init(struct vb_group *g);

/* A socket that nobody can send to, for a process that has none of port 4791. The descriptor, or a
 * negative errno. */
int vb_group_no_socket(void);
/* A socket of port @port alone, with a large buffer. The descriptor, or a negative errno. */
int vb_group_own_socket(uint16_t port);

/* 0 when UDP port 4791 is free, -EADDRINUSE when anybody has it, or another negative errno. */
int vb_group_probe(void);

/* Makes the sockets of the next @cnt slots, quiet. Returns 0 or a negative errno; then there is
 * none of them. */
int vb_group_grow(struct vb_group *g, uint32_t cnt);

/* Takes the newest @cnt sockets back, which leaves the numbers of the others. */
void vb_group_shrink(struct vb_group *g, uint32_t cnt);

/* Takes over the socket of the next slot from an earlier broker. */
int vb_group_adopt(struct vb_group *g, int fd);

/* Empties socket @slot and gives it a large buffer: it has an owner from now on. */
void vb_group_open(struct vb_group *g, uint32_t slot);

/* Takes the buffer away: packets to a slot without owner cost no memory. */
void vb_group_quiet(struct vb_group *g, uint32_t slot);

void vb_group_close(struct vb_group *g);

#endif
