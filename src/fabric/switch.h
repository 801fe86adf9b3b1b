/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An output-queued switch as a machine: where a frame goes (forward.h,
 * eth/multipath.h), whether there is room
 * (shared memory, drop-tail), whether it is marked (RED), and whether its sender is to pause
 * (eth/pfc.h). facts C.4
 */
#ifndef VB_FABRIC_SWITCH_H
#define VB_FABRIC_SWITCH_H

#include "base/red.h"
#include "fabric/eth/multipath.h"
#include "fabric/forward.h"
#include "fabric/port.h"
#include "trace/trace.h"

struct vb_switch_config {
	struct vb_buffer_config buffer;
	uint32_t queue_bytes; /* drop-tail limit of an egress queue of a lossy priority; 0: none */
	uint8_t ecn;          /* bit p: RED marks in priority p, by the queue that a packet finds */
	uint8_t ecn_out;      /* ... by the queue that it leaves behind */
	uint8_t storm_action; /* enum vb_storm_action */
	struct vb_red red;
	struct vb_schedule schedule; /* of every port */
	struct vb_multipath_config multipath;
	/* The watchdog of PFC: a port and priority paused for so long has a pause storm; 0: there
	 * is none. */
	vb_dur watchdog;
	/* Where frames have a struct vb_telemetry, bytes from their beginning: the switch adds a
	 * record of itself to those of data. 0: they have none. */
	uint32_t telemetry_at;
};

/* In a pause storm, which lasts until the other end resumes, packets of the priority are dropped,
 * or go as if there were no pause. */
enum vb_storm_action { VB_STORM_DROP, VB_STORM_IGNORE };

/* Why a frame was dropped; argument of the DROPPED event. */
enum vb_drop_why { VB_DROP_BUFFER, VB_DROP_QUEUE, VB_DROP_NO_ROUTE, VB_DROP_STORM };

struct vb_switch {
	struct vb_machine machine; /* first: the machine is the switch */
	struct vb_port **port;     /* by number */
	struct vb_forward forward;
	struct vb_buffer buffer;
	const struct vb_switch_config *cfg;
	struct vb_frame_pool *pool;
	uint32_t port_cnt;
	struct vb_multipath *multipath; /* NULL: ECMP */
	struct vb_trace trace;
};

/* The bytes of its switch's memory that a port keeps for itself. */
uint64_t vb_switch_port_kept(const struct vb_buffer_config *c, uint32_t headroom);

/*
 * Makes a switch of the @port_cnt ports at @port, whose headroom is set; array, configuration and
 * pool stay the caller's and are there as long as the switch. Forward tables, trace and what other
 * choices than ECMP need (multipath) are filled in by the caller. -EINVAL: the memory is smaller
 * than what the ports keep of it.
 */
int vb_switch_init(struct vb_switch *sw, const struct vb_switch_config *cfg, struct vb_port **port,
		   uint32_t port_cnt, struct vb_frame_pool *pool);

/* It asks ports for no more than their frames: no watchdog, no marks by the queue that a packet
 * leaves behind, no telemetry. */
static inline bool vb_switch_is_plain(const struct vb_switch *sw)
{
	return !sw->cfg->watchdog && !sw->cfg->ecn_out && !sw->cfg->telemetry_at;
}

/* The four calls, for those who know that it is a switch. */
void vb_switch_handle_packet(struct vb_switch *sw, uint32_t port, struct vb_frame *f, vb_time now);
/* Of one that is plain. */
struct vb_frame *vb_switch_poll_transmit(struct vb_switch *sw, uint32_t port, vb_time now);
/* It does nothing by itself. */
static inline vb_time vb_switch_poll_timeout(const struct vb_switch *sw)
{
	(void)sw;
	return VB_NEVER;
}

static inline void vb_switch_handle_timeout(struct vb_switch *sw, vb_time now)
{
	(void)sw, (void)now;
}

#endif
