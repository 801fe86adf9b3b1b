/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The descriptor store, see fd_store.h. Relies on unix(7): a datagram socket connected to itself
 * takes messages regardless of net.unix.max_dgram_qlen and refuses those of strangers; SO_PEEK_OFF
 * lets MSG_PEEK walk the queue, and peeking at a message duplicates its descriptors.
 */
#include "node/store/fd_store.h"

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FD_STORE_MAGIC 0x56424354u
/* Room for an item of each wide slot, and one for each low byte that narrow slots share; wmem_max's
 * default suffices too. */
#define FD_STORE_SNDBUF (1 << 20)

int vb_fd_store_create(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t len = sizeof a;
	int size = FD_STORE_SNDBUF;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	/* An address of the family alone asks the kernel for a free abstract name. */
	if (bind(fd, (struct sockaddr *)&a, offsetof(struct sockaddr_un, sun_path)) ||
	    getsockname(fd, (struct sockaddr *)&a, &len) ||
	    connect(fd, (struct sockaddr *)&a, len) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size)) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return fd;
}

int vb_fd_store_put(int fd_store, enum vb_fd_store_kind kind, uint32_t slot,
		    const struct vb_fds *fds)
{
	struct vb_fd_store_item item = {.magic = FD_STORE_MAGIC, .kind = kind, .slot = slot};

	return vb_fds_send(fd_store, &item, sizeof item, fds);
}

int vb_fd_store_put_channel(int fd_store, uint32_t index, uint64_t token, int fd)
{
	struct vb_fd_store_item item = {
	    .magic = FD_STORE_MAGIC, .kind = VB_FD_STORE_CHANNEL, .slot = index, .token = token};
	const struct vb_fds fds = {.cnt = 1, .fd = {fd}};

	return vb_fds_send(fd_store, &item, sizeof item, &fds);
}

/* The oldest item, which stays in the store when @flags has MSG_PEEK. */
static int item_take(int fd_store, struct vb_fd_store_item *item, struct vb_fds *fds, int flags)
{
	ssize_t n = vb_fds_recv(fd_store, item, sizeof *item, fds, flags | MSG_DONTWAIT);

	if (n < 0)
		return (int)n;
	if (n == sizeof *item && item->magic == FD_STORE_MAGIC)
		return 0;
	vb_fds_close(fds);
	return -EINVAL;
}

int vb_fd_store_sift(int fd_store, uint32_t cnt,
		     bool (*stays)(void *ctx, const struct vb_fd_store_item *item), void *ctx)
{
	int off = -1; /* peeks see the oldest item, not the one behind the last peek */

	if (setsockopt(fd_store, SOL_SOCKET, SO_PEEK_OFF, &off, sizeof off))
		return -errno;
	for (uint32_t i = 0; i < cnt; i++) {
		struct vb_fd_store_item item;
		struct vb_fds fds;
		int rc = item_take(fd_store, &item, &fds, MSG_PEEK);

		if (!rc && stays(ctx, &item))
			rc = vb_fds_send(fd_store, &item, sizeof item, &fds);
		vb_fds_close(&fds);
		if (!rc)
			rc = item_take(fd_store, &item, &fds, 0);
		if (rc)
			return rc;
		vb_fds_close(&fds);
	}
	return 0;
}

int vb_fd_store_walk(int fd_store,
		     int (*each)(void *ctx, const struct vb_fd_store_item *item,
				 struct vb_fds *fds),
		     void *ctx)
{
	int off = 0, family = 0;
	socklen_t len = sizeof family;

	if (getsockopt(fd_store, SOL_SOCKET, SO_DOMAIN, &family, &len) || family != AF_UNIX ||
	    setsockopt(fd_store, SOL_SOCKET, SO_PEEK_OFF, &off, sizeof off))
		return -EINVAL;
	for (;;) {
		struct vb_fd_store_item item;
		struct vb_fds fds;
		int rc = item_take(fd_store, &item, &fds, MSG_PEEK);

		if (rc)
			return rc == -EAGAIN ? 0 : rc;
		rc = each(ctx, &item, &fds);
		if (rc < 0)
			return rc;
	}
}
