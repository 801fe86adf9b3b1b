/* SPDX-License-Identifier: BSD-2-Clause */
/* The descriptors that the shared broker's loop waits for. epoll(7) */
#include "node/carrier/state.h"

#include <errno.h>
#include <sys/epoll.h>

int vb_carrier_watch(struct vb_carrier *c, int fd, enum vb_carrier_source source, uint32_t index)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = (uint64_t)source << 32 | index};

	/* Each ring is an event, and nobody reads the eventfd: its user has the same open file, can
	 * make it block and take the ring back before a read. */
	if (source == VB_CARRIER_ON_ASK)
		ev.events |= EPOLLET;
	return epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

void vb_carrier_mute(struct vb_carrier *c, int fd, enum vb_carrier_source source, uint32_t index)
{
	struct epoll_event ev = {.data.u64 = (uint64_t)source << 32 | index};

	(void)epoll_ctl(c->epoll_fd, EPOLL_CTL_MOD, fd, &ev);
}

void vb_carrier_unwatch(struct vb_carrier *c, int fd)
{
	(void)epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}
