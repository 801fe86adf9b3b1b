/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that wait for the descriptors of completion channels by poll(2), select(2) or epoll(7).
 * The thread that does so makes progress itself meanwhile, as one in ibv_get_cq_event() does, so
 * that a packet wakes one thread and not two: see watch.c. src/files/poll.c stands before
 * those calls.
 */
#ifndef VB_NODE_WAIT_WATCH_H
#define VB_NODE_WAIT_WATCH_H

#include "base/time.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Descriptors of the program that are waited for at once, at most. */
#define VB_WATCH_MAX 8

struct vb_watch {
	int fd;
	uint32_t events; /* of epoll(7) */
};

/* CQs of this process that are armed and have a channel. While there is none, nobody watches. */
extern _Atomic uint32_t vb_watch_armed;

/* @fd is the descriptor of a completion channel, or is that no more. */
void vb_watch_channel(int fd, bool is_channel);
/* @fd has been put into the epoll instance @epoll_fd. */
void vb_watch_nest(int epoll_fd, int fd);
/* True if @fd is a channel's, or an epoll instance that was given one. A number that another file
 * took meanwhile may be taken for what it was: then its thread makes progress, too, and no harm is
 * done. */
bool vb_watch_is_channel(int fd);
bool vb_watch_has_channel(int epoll_fd);

/*
 * Waits until one of @cnt descriptors may be ready, or until @until, and makes progress meanwhile;
 * @mask is the signal mask of that wait, NULL: as it is. 0: the caller looks; EINTR: a handler ran;
 * EBUSY, or another errno: the caller has to wait by itself.
 */
int vb_watch_wait(const struct vb_watch *w, uint32_t cnt, vb_time until, const sigset_t *mask);

#endif
