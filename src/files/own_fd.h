/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A descriptor that this library keeps open in a program which may close it, or have its number for
 * a file of its own, at any time: it has a high number, and its inode tells whether it is still
 * there. A process that was forked has it too but does not own it.
 */
#ifndef VB_FILES_OWN_FD_H
#define VB_FILES_OWN_FD_H

#include <stdbool.h>
#include <sys/types.h>

struct vb_own_fd {
	int fd;
	ino_t ino;
	pid_t pid;
};

#define VB_OWN_FD_NONE                                                                             \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* Takes over @fd. */
void vb_own_fd_take(struct vb_own_fd *h, int fd);

/* Whether this process opened it. */
bool vb_own_fd_is_ours(const struct vb_own_fd *h);

/* ... and it is there. */
bool vb_own_fd_is_there(const struct vb_own_fd *h);

/* Closes it, if it is there. */
void vb_own_fd_drop(struct vb_own_fd *h);

/* The inode of @fd, a socket; 0: it is none. */
ino_t vb_socket_inode(int fd);

#endif
