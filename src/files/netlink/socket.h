/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A socket of NETLINK_RDMA as a program has it. The program holds a datagram socket that is
 * connected to itself: a request that it sends is answered at once (nldev.h), and the answers lie
 * in the socket's own queue. So poll(2), epoll, O_NONBLOCK, dup(2) and fork(2) are the kernel's.
 */
#ifndef VB_FILES_NETLINK_SOCKET_H
#define VB_FILES_NETLINK_SOCKET_H

#include "files/fd.h"

#include <sys/socket.h>

/* socket(2); @type with SOCK_CLOEXEC and SOCK_NONBLOCK. */
int vb_netlink_open(int type);

/* bind(2), getsockname(2): the address is a struct sockaddr_nl with the port of the socket. */
int vb_netlink_bind(int fd, const struct vb_fd *f, const struct sockaddr *a, socklen_t len);
int vb_netlink_name(const struct vb_fd *f, struct sockaddr *a, socklen_t *len);

/* Answers the messages in @len bytes. Returns @len, or -1 with errno. */
ssize_t vb_netlink_send(int fd, const struct vb_fd *f, const void *p, size_t len);
ssize_t vb_netlink_send_parts(int fd, const struct vb_fd *f, const struct msghdr *m);

/* After @n bytes were received: the sender's address is the kernel's, and there is room for
 * answers that the queue did not take. */
void vb_netlink_received(int fd, struct sockaddr *a, socklen_t *len);

/* Before @fd is closed: forgets answers that nobody will read. */
void vb_netlink_before_close(int fd);

#endif
