/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The chest: a unix socket connected to itself whose receive queue holds copies of every descriptor
 * the broker owns. Whoever has one descriptor of the chest keeps all of them open without using up
 * descriptors of its own, and can take them out again by peeking. Each client has one, so that the
 * broker's sockets and memory outlive a broker that was killed.
 */
#ifndef VB_NODE_CHEST_H
#define VB_NODE_CHEST_H

#include "node/broker_msg.h"

enum vb_chest_kind { VB_CHEST_HOST = 1, VB_CHEST_SLOT };

struct vb_chest_item {
	uint32_t magic;
	uint32_t kind; /* enum vb_chest_kind */
	uint32_t slot; /* SLOT: fd[0] is the socket, fd[1] slot memory if there are two */
};

/* Returns the descriptor of an empty chest, or a negative errno. */
int vb_chest_create(void);

/* Puts copies of @fds behind what is there. */
int vb_chest_put(int chest, enum vb_chest_kind kind, uint32_t slot, const struct vb_fds *fds);

/*
 * Calls @each with every item, in the order in which they were put; it owns the descriptors and
 * stops the walk by returning a negative errno. The chest keeps its own. -EINVAL: not a chest.
 */
int vb_chest_walk(int chest,
		  int (*each)(void *ctx, const struct vb_chest_item *item, struct vb_fds *fds),
		  void *ctx);

#endif
