/* SPDX-License-Identifier: BSD-2-Clause */
/* The declarations that the files of a subnet share. */
#ifndef VB_MGMT_SUBNET_PRIV_H
#define VB_MGMT_SUBNET_PRIV_H

#include "base/assert.h"
#include "mgmt/subnet.h"
#include "wire/ib/hop.h"

#define QP1 1u
#define PKEY_DEFAULT 0xffff /* the first P_Key of a port; full member. IBA 10.9.1.2 */

/* The owner has to hear of @changes. */
void vb_subnet_changed(struct vb_subnet *s, struct vb_subnet_node *n, uint32_t changes);

/* The node's deadlines may have changed. */
void vb_subnet_waits(struct vb_subnet *s, struct vb_subnet_node *n);

/* A link has another state than before: PortStateChange of a switch. When it went down or came up,
 * trap 128 as well. */
void vb_subnet_link_changed(struct vb_subnet *s, struct vb_subnet_place at, vb_time now);

/* walk.c: carries a MAD that comes in by port m->at, as vb_subnet_carry() does. */
bool vb_subnet_enter(struct vb_subnet *s, struct vb_subnet_mad *m, vb_time now);

/* key.c: whether port @at of a switch lets the MAD in, or out, by its P_Key; counts one that it
 * does not. */
bool vb_subnet_bars(struct vb_subnet *s, const struct vb_subnet_mad *m, struct vb_subnet_place at,
		    bool is_out, vb_time now);
/* Whether QP1 of the port where the MAD is takes its P_Key and its Q_Key; counts one that it does
 * not.
 */
bool vb_subnet_keys_fit(struct vb_subnet *s, const struct vb_subnet_mad *m, vb_time now);

/* router.c: the decision of the router at whose port @m is, whose LID it has. VB_HOP_ON: the MAD
 * has its new headers, and leaves by port *out. VB_HOP_HERE: it is for the router. A packet that is
 * dropped is counted. */
enum vb_hop_fate vb_subnet_route(struct vb_subnet *s, struct vb_subnet_mad *m, uint8_t *out);

/* Trap VB_TRAP_FLOW_WATCHDOG of the port. */
void vb_subnet_raise_silence(struct vb_subnet *s, struct vb_subnet_place at, vb_time now);

/* The link of @at went down by what was set there: its other end loses it, and both train. */
void vb_subnet_link_train(struct vb_subnet *s, struct vb_subnet_place at, vb_time now);

/* A port does all speeds up to @speed, one lane and @width. */
void vb_subnet_port_support(struct vb_port_info *p, uint16_t speed, uint8_t width);

/* All speeds up to @speed are enabled. False: the port does not support that. */
bool vb_subnet_speeds_enable(struct vb_port_info *p, uint16_t speed);

static inline struct vb_subnet_port *vb_subnet_port(struct vb_subnet *s, struct vb_subnet_place at)
{
	VB_ASSERT_ALL(at.node < s->node_cnt && at.port <= s->node[at.node].sma.info.port_cnt);
	return &s->node[at.node].port[at.port];
}

static inline bool vb_subnet_is_switch(const struct vb_subnet *s, uint32_t node)
{
	VB_ASSERT_ALL(node < s->node_cnt);
	return s->node[node].sma.info.type == VB_NODE_SWITCH;
}

#endif
