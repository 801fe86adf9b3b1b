/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How GET_EVENT on an open rdma_cm waits: on a byte in the socket pair (node/cm/call.h), unless the
 * broker has just said that there are events.
 */
#ifndef VB_FILES_CM_EVENT_H
#define VB_FILES_CM_EVENT_H

#include "files/fd.h"

/* The broker says that @events wait on the channel that @token names. */
void vb_cm_event_note(uint64_t token, uint32_t events);

/* Takes the bytes of @cnt events that are no longer there. */
void vb_cm_event_drain(int fd, uint32_t cnt);

/* Around each GET_EVENT. */
void vb_cm_event_begin(const struct vb_fd *f);
void vb_cm_event_end(void);

/* Waits as the descriptor waits. Returns 0, or a negative errno: EAGAIN, EINTR. */
int vb_cm_event_await(int fd, const struct vb_fd *f);

/*
 * GET_EVENT has failed with @err, a negative errno: EAGAIN, another thread took the event; EBADF,
 * another thread has closed the channel. 0: the next event is waited for, or a negative errno.
 */
int vb_cm_event_again(int fd, const struct vb_fd *f, int err);

/* @fd is about to be closed: a thread that has just taken an event gets to its next wait first, for
 * a millisecond at most. */
void vb_cm_before_close(int fd);

#endif
