/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection of this process by which the broker takes commands of rdma_cm. node/cm/call.h */
#ifndef VB_FILES_CM_SESSION_H
#define VB_FILES_CM_SESSION_H

#include "node/cm/call.h"

#include <stdbool.h>
#include <stddef.h>

/* Held around all that follows but what says otherwise; one call is under way at a time. */
void vb_cm_lock(void);
void vb_cm_unlock(void);

/*
 * Connects where this process has no connection: at first, after fork(2), and when a call has found
 * that the broker has ended. Returns the number of the connection, which grows with each new one,
 * or a negative errno with a line in @why.
 */
int64_t vb_cm_session(char *why, size_t why_size);

/* Whether the broker of the connection has not ended. */
bool vb_cm_is_alive(void);
/* The same without the lock; false also where only who has it can tell. */
bool vb_cm_seems_alive(void);

/* Whether an event of the broker with @number is one of the broker that serves now, to which it
 * connects where that of the connection has ended. A process without a connection believes it. It
 * takes the lock itself, where it needs it. */
bool vb_cm_is_of_broker(uint64_t number);

/* A number for the next command, which no other command of any process has. */
uint64_t vb_cm_serial(void);

/* Sends @call, with descriptor @fd unless it is -1, and waits for the answer. Returns 0 or a
 * negative errno; -EPIPE: the broker ended, and a new connection may have more luck. */
int vb_cm_call(const struct vb_cm_call *call, int fd, struct vb_cm_answer *answer);

/*
 * Posts @call, a command that was granted, to the broker of connection @number: it is carried out
 * before whatever else the broker is asked for. False: it is not, and the caller makes a call of it
 * as it is then, under a serial that may be known.
 */
bool vb_cm_post(struct vb_cm_call *call, int64_t number);

#endif
