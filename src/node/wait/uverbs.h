/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /dev/infiniband/uverbsN and descriptors of events, for a copy of libibverbs that is not this
 * library: the verbs have what a file of that kind answers (verbs/provider/). src/files/
 * stands before the calls of the C library and asks here; in a program that has no verbs nobody
 * answers.
 */
#ifndef VB_NODE_WAIT_UVERBS_H
#define VB_NODE_WAIT_UVERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct vb_uverbs_calls {
	/* A copy is about to look for drivers of the devices that it has found. */
	void (*offer)(void);
	/* A command or an ioctl on an open file. Bytes taken, or a negative errno. */
	ssize_t (*command)(int fd, const void *from, size_t len);
	/* The next event of @fd, which may wait. Bytes, a negative errno; -ENOENT: @fd is none. */
	ssize_t (*read_event)(int fd, void *to, size_t len);
	/* The program closes @fd, a descriptor of events. */
	void (*close_event)(int fd);
};

/* NULL: the verbs are not in this program. */
extern const struct vb_uverbs_calls *_Atomic vb_uverbs_calls;

/* A copy has asked for a device file, by NETLINK_RDMA: it looks for drivers next. */
void vb_uverbs_offer(void);
/* Whether that has been: such a copy tries an ioctl first, and goes on without. */
bool vb_uverbs_is_offered(void);

/* Set by src/files/: @fd gives events from now on. 0 or a negative errno. */
extern int (*_Atomic vb_uverbs_enter_event)(int fd);

#endif
