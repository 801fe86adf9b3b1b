/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The descriptor store: a unix socket connected to itself whose receive queue holds copies of every
 * descriptor the broker owns. Whoever has one descriptor of the store keeps all of them open
 * without using up descriptors of its own, and can take them out again by peeking. Each client has
 * one, so that the broker's sockets and memory outlive a broker that was killed.
 */
#ifndef VB_NODE_FD_STORE_H
#define VB_NODE_FD_STORE_H

#include "node/broker_msg.h"

enum vb_fd_store_kind { VB_FD_STORE_HOST = 1, VB_FD_STORE_SLOT };

struct vb_fd_store_item {
	uint32_t magic;
	uint32_t kind; /* enum vb_fd_store_kind */
	uint32_t slot; /* SLOT: fd[0] is the socket, fd[1] slot memory if there are two */
};

/* Returns the descriptor of an empty descriptor store, or a negative errno. */
int vb_fd_store_create(void);

/* Puts copies of @fds behind what is there. */
int vb_fd_store_put(int fd_store, enum vb_fd_store_kind kind, uint32_t slot,
		    const struct vb_fds *fds);

/*
 * Calls @each with every item, in the order in which they were put; it owns the descriptors and
 * stops the walk by returning a negative errno. The descriptor store keeps its own. -EINVAL: not a
 * descriptor store.
 */
int vb_fd_store_walk(int fd_store,
		     int (*each)(void *ctx, const struct vb_fd_store_item *item,
				 struct vb_fds *fds),
		     void *ctx);

#endif
