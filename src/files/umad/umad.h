/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Open /dev/infiniband/umadN and issmN of a node of a fabric, and umadN of a RoCE device of the
 * host (node/umad/host.h), where the broker is in the place of the fabric's process. The descriptor
 * that a program has open is one end of a pair of sockets, so that poll(2), O_NONBLOCK, fork(2) and
 * a last close do what they should. A write that cannot be refused goes by this socket; other
 * writes, and ioctls, are calls to the fabric's process. MAD-01 to MAD-05, MAD-11, MAD-14 to
 * MAD-17, MAD-23
 */
#ifndef VB_FILES_UMAD_UMAD_H
#define VB_FILES_UMAD_UMAD_H

#include "files/fd.h"
#include "files/path/tree.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/types.h>

/* Whether this process is at a node of a fabric. */
bool vb_umad_has_fabric(void);

/* Connects for as long as the descriptor that is returned stays open. @root becomes the path of the
 * node's tree. Returns a negative errno with @why. */
int vb_umad_attach(char *root, size_t root_size, char *why, size_t why_size);

/* open(2), read(2), write(2), ioctl(2). */
int vb_umad_open(const struct vb_tree_path *p, int flags);
ssize_t vb_umad_read(int fd, const struct vb_fd *f, void *to, size_t len);
ssize_t vb_umad_write(int fd, const struct vb_fd *f, const void *from, size_t len);
int vb_umad_ioctl(const struct vb_fd *f, unsigned long request, void *arg);

/*
 * The device of an open file goes when its fabric ends: the other end of the pair of sockets
 * closes. A kernel shows that by POLLERR alone, so what poll(2) found of @n descriptors is changed
 * to it, and what epoll_wait(2) found, by the data of the files that were put into the instance.
 * For select(2) both are the same. MAD-16
 */
extern atomic_bool vb_umad_is_used; /* this process has had such a file */
void vb_umad_polled(struct pollfd *p, nfds_t n);
static inline int vb_umad_poll_end(struct pollfd *p, nfds_t n, int ready)
{
	if (ready > 0 && atomic_load_explicit(&vb_umad_is_used, memory_order_relaxed))
		vb_umad_polled(p, n);
	return ready;
}
/* @fd has been put into the epoll instance @epoll_fd, or has other data there now. */
void vb_umad_watched(int epoll_fd, int fd, epoll_data_t data);
void vb_umad_epolled(int epoll_fd, struct epoll_event *ev, int n);
static inline int vb_umad_epoll_end(int epoll_fd, struct epoll_event *ev, int ready)
{
	if (ready > 0 && atomic_load_explicit(&vb_umad_is_used, memory_order_relaxed))
		vb_umad_epolled(epoll_fd, ev, ready);
	return ready;
}
/* Whether the device of the open file is gone. */
bool vb_umad_is_gone(int fd);

/* A descriptor that another process handed over may be such a file: then it is entered. */
void vb_umad_adopt(int fd);

#endif
