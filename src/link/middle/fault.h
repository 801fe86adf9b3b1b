/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Middleware that does to live packets what the fault layer says (fault/fault.h): it stands between
 * the engine and the links and drops, doubles, delays, reorders, marks and damages packets in
 * both directions. Without rules it hands every call through.
 *
 * Packets that are held back are copied, and their number is bounded: a packet that does not fit is
 * dropped and counted, as a full queue on a cable would.
 */
#ifndef VB_LINK_MIDDLE_FAULT_H
#define VB_LINK_MIDDLE_FAULT_H

#include "fault/fault.h"
#include "link/link.h"

/* Packets that may be held back, of each direction. */
#define VB_FAULT_HELD_MAX 4096u

struct vb_fault_link_config {
	struct vb_link *lower; /* a link that taps; this one owns it from then on */
	struct vb_counters *counters[VB_LINK_PORTS_MAX]; /* by HCA port */
	void (*tap)(void *ctx, const struct vb_link_tap *t);
	const uint32_t *tap_on;
	/* By HCA port, where rules of all processes keep their one queue; NULL: each has its own.
	 */
	vb_time *queue_idle;
	/* Gets a FAULT event for each hit, its node the HCA port. */
	void (*hit)(void *ctx, const struct vb_trace_event *ev);
	void *ctx;
};

/* Returns 0 and the link in *out, or -ENOMEM. */
int vb_fault_link_open(struct vb_link **out, const struct vb_fault_link_config *cfg);

/* The rules of HCA port @port from @now on, instead of its old ones; none in @spec: no faults.
 * Packets that are held back go on as decided. -ENOMEM: the port has no rules now. */
int vb_fault_link_set(struct vb_link *l, uint8_t port, const struct vb_fault_spec *spec,
		      uint64_t seed, vb_time now);

/* The state of the rules of HCA port @port, with their counts so far; NULL: there are none. */
const struct vb_fault *vb_fault_link_state(const struct vb_link *l, uint8_t port);

#endif
