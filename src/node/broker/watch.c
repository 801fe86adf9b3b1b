/* SPDX-License-Identifier: BSD-2-Clause */
/* The descriptors that the loop waits for. epoll(7) */
#include "node/broker/state.h"

#include <errno.h>
#include <sys/epoll.h>

int vb_broker_watch(struct vb_broker *b, int fd, enum vb_broker_source source, uint32_t index)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = (uint64_t)source << 32 | index};

	return epoll_ctl(b->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

int vb_broker_watch_room(struct vb_broker *b, int fd, enum vb_broker_source source, uint32_t index,
			 bool on)
{
	struct epoll_event ev = {.events = on ? EPOLLIN | EPOLLOUT : EPOLLIN,
				 .data.u64 = (uint64_t)source << 32 | index};

	return epoll_ctl(b->epoll_fd, EPOLL_CTL_MOD, fd, &ev) ? -errno : 0;
}

void vb_broker_unwatch(struct vb_broker *b, int fd)
{
	(void)epoll_ctl(b->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}
