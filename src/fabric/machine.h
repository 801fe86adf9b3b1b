/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls that all machines of a fabric have in common: a frame is given to them, frames are
 * fetched from them, and they say when to look at them again. A machine calls no other one and
 * reads no clock; the holder of machines carries frames from one to the next and passes the time:
 * the simulator in virtual time, a live fabric by the wall clock, a test by hand.
 *
 * Every machine has these four calls under its own name, vb_port_handle_packet() and so on. A node,
 * which is held by somebody who does not know what it is (a switch, an adapter), begins with a
 * struct vb_machine and has them in a table.
 */
#ifndef VB_FABRIC_MACHINE_H
#define VB_FABRIC_MACHINE_H

#include "base/time.h"

#include <stdint.h>

struct vb_frame;
struct vb_machine;

/* How far ahead a machine expects a frame. */
enum vb_expect {
	VB_EXPECT_SOON, /* some machines come before: the tables that lead to what it touches */
	VB_EXPECT_NEXT, /* the memory that it touches */
};

struct vb_machine_ops {
	/* A frame has come in by port number @port. It is the machine's now. */
	void (*handle_packet)(struct vb_machine *m, uint32_t port, struct vb_frame *f, vb_time now);
	/* The next frame that leaves by @port, which is the caller's then; NULL: there is none. */
	struct vb_frame *(*poll_transmit)(struct vb_machine *m, uint32_t port, vb_time now);
	/* When to call handle_timeout(); VB_NEVER: there is no need. */
	vb_time (*poll_timeout)(const struct vb_machine *m);
	void (*handle_timeout)(struct vb_machine *m, vb_time now);
	/* @f will come in by @port, or if it is NULL a frame will be fetched there: brings what
	 * that touches into the cache. */
	void (*expect)(const struct vb_machine *m, uint32_t port, const struct vb_frame *f,
		       enum vb_expect when);
};

struct vb_machine {
	const struct vb_machine_ops *ops;
};

/* Calls for the table of a machine that has no deadline, ... */
static inline vb_time vb_machine_never_due(const struct vb_machine *m)
{
	(void)m;
	return VB_NEVER;
}

static inline void vb_machine_no_timeout(struct vb_machine *m, vb_time now)
{
	(void)m, (void)now;
}

/* ... and of one that brings nothing into the cache. */
static inline void vb_machine_no_expect(const struct vb_machine *m, uint32_t port,
					const struct vb_frame *f, enum vb_expect when)
{
	(void)m, (void)port, (void)f, (void)when;
}

#endif
