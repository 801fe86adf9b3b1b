/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Priority flow control of Ethernet as the policy of a port: a receiver that runs out of memory for
 * a priority sends PAUSE for it, and later RESUME; the sender holds that priority meanwhile. Both
 * are frames, which wait for the frame that has begun. IEEE 802.1Qbb; facts C.4
 */
#ifndef VB_FABRIC_ETH_PFC_H
#define VB_FABRIC_ETH_PFC_H

#include "fabric/port.h"

/* Tells the other end of @p to stop sending priority @prio, or to go on. The port is woken. */
void vb_pfc_send(struct vb_port *p, struct vb_frame_pool *pool, uint8_t prio, bool on);
/* Such a frame has come in by @p. False: it changes nothing. The frame stays the caller's. */
bool vb_pfc_receive(struct vb_port *p, const struct vb_frame *f, vb_time now);

/* After memory was taken for, or given back by, a frame of priority @prio that came in by @p: sends
 * PAUSE or RESUME where the account of @b asks for it. */
void vb_pfc_after_take(struct vb_port *p, const struct vb_buffer *b, struct vb_frame_pool *pool,
		       uint8_t prio);
void vb_pfc_after_give(struct vb_port *p, const struct vb_buffer *b, struct vb_frame_pool *pool,
		       uint8_t prio);

#endif
