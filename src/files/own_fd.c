/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors that are kept open among the program's, see own_fd.h. */
#include "files/own_fd.h"

#include "files/next.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Above what programs use, and below what select(2) can have. */
#define HIGH_NUMBER 900

ino_t vb_socket_inode(int fd)
{
	struct stat st;

	return fd >= 0 && VB_NEXT(fstat)(fd, &st) == 0 && S_ISSOCK(st.st_mode) ? st.st_ino : 0;
}

void vb_own_fd_take(struct vb_own_fd *h, int fd)
{
	int high = VB_NEXT(fcntl)(fd, F_DUPFD_CLOEXEC, HIGH_NUMBER);

	if (high >= 0) {
		VB_NEXT(close)(fd);
		fd = high;
	}
	*h = (struct vb_own_fd){.fd = fd, .ino = vb_socket_inode(fd), .pid = getpid()};
}

bool vb_own_fd_is_ours(const struct vb_own_fd *h)
{
	return h->fd >= 0 && h->pid == getpid();
}

bool vb_own_fd_is_there(const struct vb_own_fd *h)
{
	return vb_own_fd_is_ours(h) && vb_socket_inode(h->fd) == h->ino;
}

void vb_own_fd_drop(struct vb_own_fd *h)
{
	if (h->fd >= 0 && vb_socket_inode(h->fd) == h->ino)
		VB_NEXT(close)(h->fd);
	h->fd = -1;
}
