/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of a pull that the loops over machines have in common: loop.c and window/switch.c. */
#ifndef VB_SIM_WINDOW_PULL_H
#define VB_SIM_WINDOW_PULL_H

#include "base/assert.h"
#include "sim/priv.h"

/* The node of a port whose cable is free was asked for the next frame (p->pulled): puts that on the
 * cable; NULL: there is none. */
static inline void vb_sim_port_send(struct vb_sim *s, struct vb_port *p, struct vb_frame *f,
				    vb_time now)
{
	VB_ASSERT_ALL(p->pulled && p->pull_at <= now);
	p->pulled = false;
	if (f) {
		vb_port_serialise(p, f, now);
		vb_cable_handle_packet(&p->cable, f, now);
		s->hops++;
	}
	vb_port_handle_timeout(p);
}

#endif
