/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of an open rdma_cm: they lie in the socket pair (node/cm/call.h), and whoever receives one
 * has taken it, as by GET_EVENT from a kernel.
 */
#ifndef VB_FILES_CM_EVENT_H
#define VB_FILES_CM_EVENT_H

#include "files/fd.h"
#include "node/cm/call.h"

/*
 * Waits for an event as the descriptor waits, and takes it. Returns 0, or a negative errno: EAGAIN,
 * EINTR; -EPIPE: the pair has come to its end, and the broker tells why.
 */
int vb_cm_event_take(int fd, const struct vb_fd *f, struct vb_cm_answer *event);

/* Takes back what lies in the pair of @fd: at most @cnt numbers of events, to @seq. Returns how
 * many. */
uint32_t vb_cm_event_return(int fd, uint64_t *seq, uint32_t cnt);

/* @fd is about to be closed: a thread that has just taken an event gets to its next wait first, for
 * a millisecond at most. */
void vb_cm_before_close(int fd);

#endif
