/* SPDX-License-Identifier: BSD-2-Clause */
/* Reaching the broker: what clients and observers have in common. */
#ifndef VB_NODE_CLIENT_DIAL_H
#define VB_NODE_CLIENT_DIAL_H

#include "base/time.h"
#include "node/client/msg.h"

#include <stdbool.h>

/*
 * How long a broker is waited for. It starts in a tenth of a second of a processor's time, and
 * makes its sysfs tree again, ten thousand system calls, when functions come or go; a machine with
 * many busy programs gives it little. The end of a broker is seen at once, so patience costs
 * nothing, and a kernel would not give up either: a program's rdma_disconnect() must not fail
 * because its broker was killed and the next one is late.
 */
#define VB_BROKER_PATIENCE_NS (40 * VB_SEC)

/* One attempt to connect. Returns a socket, -ECONNREFUSED when no broker runs, or another negative
 * errno with @why. */
int vb_broker_connect_once(char *why, size_t why_size);

/*
 * Connects, sends @m, and receives the answer into @m and @fds; does so again when the broker ends
 * meanwhile. @start: starts a broker when there is none. Returns the socket, or a negative errno
 * with a line for the user in @why.
 */
int vb_broker_dial(struct vb_broker_msg *m, struct vb_fds *fds, bool start, char *why,
		   size_t why_size);

/* Receives a message, waiting until @deadline. Returns 0, -ETIMEDOUT, -ECONNRESET when the broker
 * closed, or another negative errno. */
int vb_broker_await(int sock, struct vb_broker_msg *m, struct vb_fds *fds, vb_time deadline);

#endif
