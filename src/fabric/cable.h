/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One direction of a cable as a machine: the frames put on it at this end that have not arrived at
 * the other one, in the order of arrival. Frames take the time of propagation; faults and the MTU
 * are the cable's, and a frame that they take away never arrives.
 *
 * A plain cable loses nothing. Faults and observers are in the hooks.
 */
#ifndef VB_FABRIC_CABLE_H
#define VB_FABRIC_CABLE_H

#include "base/list.h"
#include "fabric/frame.h"
#include "fault/fault.h"

/* Where a frame stands when the tap sees it. */
enum vb_cable_tap_dir { VB_CABLE_SENT, VB_CABLE_RECEIVED };

/* The faults of a cable, of both directions, and where their events go. */
struct vb_cable_fault {
	struct vb_fault layer;
	struct vb_trace trace;
};

struct vb_cable_hooks {
	struct vb_frame_pool *pool;   /* where lost frames go, and second ones come from */
	struct vb_cable_fault *fault; /* NULL: none */
	enum vb_fault_dir dir;
	/* Each data frame as it starts, with port @id, and as it arrives, with port @far_id. */
	void (*tap)(void *ctx, uint32_t id, enum vb_cable_tap_dir dir, const struct vb_frame *f,
		    vb_time now);
	void *ctx;
	uint32_t id, far_id;
	uint64_t lost; /* frames */
	/* Takes each frame that goes on the cable, with the port and its arrival in flight.at: the
	 * other end is in another simulation. There are no faults then. NULL: it is here. */
	void (*leave)(void *ctx, uint32_t id, struct vb_frame *f);
	void *leave_ctx;
};

struct vb_cable_end {
	struct vb_timed_queue flight; /* frames on the cable, by arrival */
	vb_time last_at;              /* arrival of the last frame that keeps the order */
	vb_dur delay;
	struct vb_cable_hooks *hooks; /* NULL: nothing happens to frames, and nobody looks */
	uint32_t mtu;                 /* with hooks: longest IP packet; 0: any */
	bool down;                    /* with hooks: there is no other end */
};

void vb_cable_init(struct vb_cable_end *c, vb_dur delay, uint32_t mtu);

/* A frame starts at @now; its last bit leaves at f->flight.at. */
void vb_cable_handle_packet(struct vb_cable_end *c, struct vb_frame *f, vb_time now);
/* The next frame that has arrived at the other end; NULL: none has. */
struct vb_frame *vb_cable_poll_transmit(struct vb_cable_end *c, vb_time now);

/* The next frame that will arrive; NULL: there is none. */
static inline struct vb_frame *vb_cable_next(const struct vb_cable_end *c)
{
	struct vb_timed *t = c->flight.first.next;

	return t ? vb_container_of(t, struct vb_frame, flight) : NULL;
}

/* When it arrives. */
static inline vb_time vb_cable_poll_timeout(const struct vb_cable_end *c)
{
	return vb_timed_due(&c->flight);
}

/* Nothing happens to a cable but that frames arrive. */
static inline void vb_cable_handle_timeout(struct vb_cable_end *c, vb_time now)
{
	(void)c, (void)now;
}

/* Takes it apart, or joins it again. Frames on it are lost; with hooks only. */
void vb_cable_set_down(struct vb_cable_end *c, bool down);

#endif
