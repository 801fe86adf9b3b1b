/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The descriptor store: a unix socket connected to itself whose receive queue holds copies of every
 * descriptor the broker owns. A process that has one descriptor of the store keeps all of them open
 * without using up descriptors of its own, and can take them out again by peeking. Each client has
 * one, so that the broker's sockets and memory outlive a broker that was killed.
 */
#ifndef VB_NODE_STORE_FD_STORE_H
#define VB_NODE_STORE_FD_STORE_H

#include "node/client/msg.h"

#include <stdbool.h>

enum vb_fd_store_kind {
	VB_FD_STORE_HOST = 1,
	VB_FD_STORE_SLOT,     /* sockets of slots from @slot on, then as many memories of slots */
	VB_FD_STORE_CM,       /* the connection manager's memory, node/cm/memory.h */
	VB_FD_STORE_CARRIED,  /* memory of slot @slot, whose packets the shared broker receives */
	VB_FD_STORE_CHANNELS, /* another store, whose items are all CHANNEL */
	VB_FD_STORE_CHANNEL,  /* the broker's end of a channel */
};

struct vb_fd_store_item {
	uint32_t magic;
	uint32_t kind;  /* enum vb_fd_store_kind */
	uint32_t slot;  /* SLOT: the first one's number; CHANNELS: which one; CHANNEL: the channel's
			   index */
	uint32_t rsv;   /* 0 */
	uint64_t token; /* CHANNEL: node/cm/call.h */
};

/* Returns the descriptor of an empty descriptor store, or a negative errno. */
int vb_fd_store_create(void);

/* Puts copies of @fds behind what is there. */
int vb_fd_store_put(int fd_store, enum vb_fd_store_kind kind, uint32_t slot,
		    const struct vb_fds *fds);

/* As vb_fd_store_put(), for a channel. */
int vb_fd_store_put_channel(int fd_store, uint32_t index, uint64_t token, int fd);

/*
 * Takes out the oldest @cnt items but puts those that @stays says of back behind the others. An
 * item is there at every moment. 0 or a negative errno.
 */
int vb_fd_store_sift(int fd_store, uint32_t cnt,
		     bool (*stays)(void *ctx, const struct vb_fd_store_item *item), void *ctx);

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
