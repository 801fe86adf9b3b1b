/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Captures of a fabric: its process writes the packets that go through it, MADs and in real time
 * data and flow control packets, to a ring of its own; programs write theirs to rings in their
 * slots (link/ib/capture.h). An observer reads all of them. While nobody captures nothing is
 * written; with the last observer all of that memory goes.
 */
#ifndef VB_NODE_SUBNET_CAPTURE_CAPTURE_H
#define VB_NODE_SUBNET_CAPTURE_CAPTURE_H

#include "link/middle/capture.h"
#include "node/subnet/state.h"

struct vb_subnet_capture {
	int ring_fd, names_fd;
	struct vb_capture_ring *ring;
	uint64_t ahead_ns;            /* CLOCK_REALTIME, of CLOCK_MONOTONIC... */
	vb_time ahead_due;            /* ... which is looked at again then */
	uint32_t observers, captures; /* connections that observe, and that capture */
};

/* The calls of a connection. Each returns the status of the answer. */
int vb_subnet_observe_begin(struct vb_subnet_daemon *d, struct vb_subnet_conn *c,
			    struct vb_subnet_answer *answer, struct vb_fds *back);
int vb_subnet_observe_give(struct vb_subnet_daemon *d, const struct vb_subnet_call *call,
			   struct vb_subnet_answer *answer, struct vb_fds *back);
int vb_subnet_capture_switch(struct vb_subnet_daemon *d, struct vb_subnet_conn *c, bool on);

/* The connection ends. */
void vb_subnet_observe_leave(struct vb_subnet_daemon *d, struct vb_subnet_conn *c);

static inline bool vb_subnet_is_captured(const struct vb_subnet_daemon *d)
{
	return d->capture && d->capture->captures;
}

#endif
