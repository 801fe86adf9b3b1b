/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls on sockets: those of a socket of NETLINK_RDMA go to it, all others on, after one look into
 * the table of fd.h. socket(2), bind(2), send(2), recv(2)
 */
#include "files/calls.h"
#include "files/cm/cm.h"
#include "files/netlink/socket.h"
#include "files/next.h"
#include "files/umad/umad.h"

#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

static bool is_netlink(int fd, struct vb_fd *f)
{
	return !vb_fd_is_plain(fd) && vb_fd_get(fd, f) == VB_FD_NETLINK;
}

/* NETLINK_RDMA of the kernel tells of the kernel's devices, of which this program is to see none.
 */
int socket(int domain, int type, int protocol)
{
	if (domain == AF_NETLINK && protocol == NETLINK_RDMA)
		return vb_netlink_open(type);
	return VB_NEXT(socket)(domain, type, protocol);
}

/* Addresses are unions of pointers in glibc's declarations. */
int bind(int fd, __CONST_SOCKADDR_ARG a, socklen_t len)
{
	struct vb_fd f;

	return is_netlink(fd, &f) ? vb_netlink_bind(fd, &f, a.__sockaddr__, len)
				  : VB_NEXT(bind)(fd, a, len);
}

int getsockname(int fd, __SOCKADDR_ARG a, socklen_t *len)
{
	struct vb_fd f;

	return is_netlink(fd, &f) ? vb_netlink_name(&f, a.__sockaddr__, len)
				  : VB_NEXT(getsockname)(fd, a, len);
}

/* Options of netlink(7) choose what is told of errors, and groups, where nothing is ever said. */
int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	struct vb_fd f;

	if (level == SOL_NETLINK && is_netlink(fd, &f))
		return 0;
	return VB_NEXT(setsockopt)(fd, level, name, value, len);
}

ssize_t send(int fd, const void *p, size_t len, int flags)
{
	struct vb_fd f;

	return is_netlink(fd, &f) ? vb_netlink_send(fd, &f, p, len)
				  : VB_NEXT(send)(fd, p, len, flags);
}

ssize_t sendto(int fd, const void *p, size_t len, int flags, __CONST_SOCKADDR_ARG to,
	       socklen_t to_len)
{
	struct vb_fd f;

	return is_netlink(fd, &f) ? vb_netlink_send(fd, &f, p, len)
				  : VB_NEXT(sendto)(fd, p, len, flags, to, to_len);
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	struct vb_fd f;

	return is_netlink(fd, &f) ? vb_netlink_send_parts(fd, &f, m)
				  : VB_NEXT(sendmsg)(fd, m, flags);
}

ssize_t recv(int fd, void *p, size_t len, int flags)
{
	struct vb_fd f;
	ssize_t n = VB_NEXT(recv)(fd, p, len, flags);

	if (n >= 0 && is_netlink(fd, &f))
		vb_netlink_received(fd, NULL, NULL);
	return n;
}

ssize_t recvfrom(int fd, void *p, size_t len, int flags, __SOCKADDR_ARG from, socklen_t *from_len)
{
	struct vb_fd f;
	socklen_t room = from.__sockaddr__ && from_len ? *from_len : 0;
	ssize_t n = VB_NEXT(recvfrom)(fd, p, len, flags, from, from_len);

	if (n >= 0 && is_netlink(fd, &f)) {
		vb_netlink_received(fd, from.__sockaddr__, &room);
		if (from_len)
			*from_len = room;
	}
	return n;
}

ssize_t __recv_chk(int fd, void *p, size_t len, size_t size, int flags)
{
	return vb_fd_is_plain(fd) ? VB_NEXT(__recv_chk)(fd, p, len, size, flags)
				  : recv(fd, p, len, flags);
}

ssize_t __recvfrom_chk(int fd, void *p, size_t len, size_t size, int flags, struct sockaddr *from,
		       socklen_t *from_len)
{
	return vb_fd_is_plain(fd) ? VB_NEXT(__recvfrom_chk)(fd, p, len, size, flags, from, from_len)
				  : recvfrom(fd, p, len, flags, from, from_len);
}

/* Descriptors that come from another process may be an open rdma_cm or umad file. */
static void adopt_all(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = CMSG_LEN(0); at + sizeof(int) <= c->cmsg_len; at += sizeof(int)) {
			int fd;

			memcpy(&fd, (char *)c + at, sizeof fd);
			vb_fd_forget(fd);
			vb_cm_adopt(fd);
			vb_umad_adopt(fd);
		}
	}
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	struct vb_fd f;
	socklen_t room = m->msg_name ? m->msg_namelen : 0;
	ssize_t n = VB_NEXT(recvmsg)(fd, m, flags);

	if (n >= 0 && m->msg_controllen)
		adopt_all(m);
	if (n >= 0 && is_netlink(fd, &f)) {
		vb_netlink_received(fd, m->msg_name, &room);
		m->msg_namelen = room;
	}
	return n;
}
