/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cables and the training of links: what both ends agree on, and what a change of a link's state
 * brings about. IBA 5.6.4, 7.2.7; items LNK-31 to LNK-35, FAB-04, FAB-32
 */
#include "mgmt/subnet/priv.h"

#include "wire/ib/rate.h"

#include <errno.h>
#include <string.h>

#define EXT_SPEED_NONE 30 /* of LinkSpeedExtEnabled. IBA 14.2.5.6 */

/* All speeds up to @best, as bits of enum vb_ib_speed; FDR10 is a vendor's. */
static uint32_t speeds_up_to(uint32_t best)
{
	return ((best << 1) - 1) & ~(uint32_t)VB_IB_FDR10;
}

/* The fields of PortInfo for a set of speeds. */
static void speed_fields(uint32_t speeds, uint8_t *plain, uint8_t *extended)
{
	*plain = *extended = 0;
	for (uint32_t code = VB_IB_SDR; code <= VB_IB_XDR; code <<= 1) {
		const struct vb_ib_speed_row *row = vb_ib_speed_row(code);

		if (!row || !(speeds & code))
			continue;
		*plain |= row->port_info;
		*extended |= row->port_info_ext;
	}
}

/* The set of speeds that fields of PortInfo mean. */
static uint32_t speed_set(uint8_t plain, uint8_t extended)
{
	uint32_t speeds = 0;

	for (uint32_t code = VB_IB_SDR; code <= VB_IB_XDR; code <<= 1) {
		const struct vb_ib_speed_row *row = vb_ib_speed_row(code);

		if (row && ((row->port_info & plain) || (row->port_info_ext & extended)))
			speeds |= code;
	}
	return speeds;
}

bool vb_subnet_speeds_enable(struct vb_port_info *p, uint16_t speed)
{
	if (!(speed_set(p->speed_supported, p->ext_speed_supported) & speed))
		return false;
	speed_fields(speeds_up_to(speed), &p->speed_enabled, &p->ext_speed_enabled);
	if (p->ext_speed_enabled == 0 && p->ext_speed_supported != 0)
		p->ext_speed_enabled = EXT_SPEED_NONE;
	return true;
}

void vb_subnet_port_support(struct vb_port_info *p, uint16_t speed, uint8_t width)
{
	speed_fields(speeds_up_to(speed), &p->speed_supported, &p->ext_speed_supported);
	p->speed_enabled = p->speed_supported;
	p->ext_speed_enabled = p->ext_speed_supported;
	p->width_supported = width | VB_IB_1X;
	p->width_enabled = p->width_supported;
}

void vb_subnet_link_changed(struct vb_subnet *s, struct vb_subnet_place at, vb_time now)
{
	struct vb_subnet_node *n = &s->node[at.node];
	uint8_t details[VB_TRAP_DETAILS_LEN] = {0};

	vb_subnet_changed(s, n, VB_SMA_STATE);
	if (!vb_subnet_is_switch(s, at.node))
		return;
	n->sma.sw.port_state_change = 1;
	/* Before there was a manager nobody has to hear of it: it will look at all links anyway. */
	if (vb_subnet_port(s, at)->link.state > VB_LINK_INIT || n->sma.port[0].info.sm_lid == 0)
		return;
	vb_trap_raise(&n->traps, VB_TRAP_LINK_STATE, details, now);
	vb_subnet_waits(s, n);
}

/* Where the details have the port. FAB-33 */
#define ERROR_PORT_AT 4

void vb_subnet_link_error(struct vb_subnet *s, struct vb_subnet_place at, uint16_t trap,
			  vb_time now)
{
	const struct vb_port_info *p = &vb_subnet_sma_port(s, at)->info;
	uint8_t details[VB_TRAP_DETAILS_LEN] = {[ERROR_PORT_AT] = at.port};

	if ((trap == VB_TRAP_LINK_INTEGRITY ? p->local_errors : p->overrun_errors) == 0)
		return;
	vb_trap_raise(&s->node[at.node].traps, trap, details, now);
	vb_subnet_waits(s, &s->node[at.node]);
}

void vb_subnet_raise_silence(struct vb_subnet *s, struct vb_subnet_place at, vb_time now)
{
	struct vb_subnet_node *n = &s->node[at.node];
	const uint8_t details[VB_TRAP_DETAILS_LEN] = {[ERROR_PORT_AT] = at.port};

	vb_trap_raise(&n->traps, VB_TRAP_FLOW_WATCHDOG, details, now);
	vb_subnet_waits(s, n);
}

/* Whether a counter has grown beyond what was told, which it is now. */
static bool counter_grew(uint64_t now, uint64_t *told)
{
	bool grew = now != *told;

	*told = now;
	return grew;
}

void vb_subnet_tell_errors(struct vb_subnet *s, struct vb_subnet_place at, vb_time now)
{
	struct vb_subnet_port *p = vb_subnet_port(s, at);
	const struct vb_ib_counters *c = &p->link.counters;

	if (counter_grew(c->link_integrity_errors, &p->told_integrity))
		vb_subnet_link_error(s, at, VB_TRAP_LINK_INTEGRITY, now);
	if (counter_grew(c->excessive_overruns, &p->told_overruns))
		vb_subnet_link_error(s, at, VB_TRAP_BUFFER_OVERRUN, now);
	if (counter_grew(c->flow_silences, &p->told_silences))
		vb_subnet_raise_silence(s, at, now);
}

static void port_down(struct vb_subnet *s, struct vb_subnet_place at, vb_time now)
{
	struct vb_subnet_port *p = vb_subnet_port(s, at);
	struct vb_port_info *info = &vb_subnet_sma_port(s, at)->info;

	if (info->phys_state != VB_PHYS_DISABLED && info->phys_state != VB_PHYS_SLEEP)
		info->phys_state = VB_PHYS_POLLING;
	if (vb_ib_port_link_event(&p->link, VB_LINK_LOST, now) == 0)
		vb_subnet_link_changed(s, at, now);
}

static void port_up(struct vb_subnet *s, struct vb_subnet_place at, uint32_t speed, uint32_t width,
		    vb_time now)
{
	struct vb_subnet_port *p = vb_subnet_port(s, at);
	struct vb_port_info *info = &vb_subnet_sma_port(s, at)->info;

	speed_fields(speed, &info->speed_active, &info->ext_speed_active);
	/* At an extended speed the other field says that of 10 Gb/s. IBA 14.2.5.6 */
	if (info->speed_active == 0)
		info->speed_active = vb_ib_speed_row(VB_IB_QDR)->port_info;
	info->width_active = (uint8_t)width;
	info->phys_state = VB_PHYS_LINK_UP;
	p->link.config.symbol_ps = vb_ib_symbol_ps(speed);
	if (vb_ib_port_link_event(&p->link, VB_LINK_TRAINED, now) == 0)
		vb_subnet_link_changed(s, at, now);
}

static uint32_t enabled_speeds(const struct vb_port_info *p)
{
	uint8_t ext = p->ext_speed_enabled == EXT_SPEED_NONE
			  ? 0
			  : p->ext_speed_enabled & p->ext_speed_supported;

	return speed_set(p->speed_enabled & p->speed_supported, ext);
}

/* The end in another fabric polls, too. LNK-35 */
static void link_try_away(struct vb_subnet *s, struct vb_subnet_place at, vb_time now)
{
	struct vb_subnet_port *p = vb_subnet_port(s, at);
	struct vb_subnet_far near = vb_subnet_near_end(s, at);
	uint32_t speed = vb_link_common_speed(near.speeds, p->far.speeds);
	uint32_t width = vb_link_common_width(near.widths, p->far.widths);

	if (p->is_plugged && p->far.is_there && speed != 0 && width != 0 &&
	    vb_subnet_sma_port(s, at)->info.phys_state == VB_PHYS_POLLING)
		port_up(s, at, speed, width, now);
}

/* Both ends poll and hear each other: the link comes up with what they have in common. */
static void link_try(struct vb_subnet *s, struct vb_subnet_place at, vb_time now)
{
	struct vb_subnet_port *p = vb_subnet_port(s, at);
	struct vb_port_info *a = &vb_subnet_sma_port(s, at)->info;
	struct vb_port_info *b = &vb_subnet_sma_port(s, p->peer)->info;
	uint32_t speed =
	    vb_link_common_speed(enabled_speeds(a) & speeds_up_to(p->speed), enabled_speeds(b));
	uint32_t width =
	    vb_link_common_width(a->width_enabled & (p->width | VB_IB_1X), b->width_enabled);

	if (!p->is_plugged || a->phys_state != VB_PHYS_POLLING ||
	    b->phys_state != VB_PHYS_POLLING || speed == 0 || width == 0)
		return;
	port_up(s, at, speed, width, now);
	port_up(s, p->peer, speed, width, now);
}

void vb_subnet_link_train(struct vb_subnet *s, struct vb_subnet_place at, vb_time now)
{
	struct vb_subnet_port *p = vb_subnet_port(s, at);

	if (!p->has_cable)
		return;
	port_down(s, at, now);
	if (p->is_away) {
		/* The other end hears of it first. */
		p->falls++;
		p->far.is_there = false;
		return;
	}
	port_down(s, p->peer, now);
	link_try(s, at, now);
}

/* The port gets one end of a cable. */
static void cable_put(struct vb_subnet *s, struct vb_subnet_place at, struct vb_subnet_place peer,
		      uint16_t speed, uint8_t width)
{
	struct vb_subnet_port *p = vb_subnet_port(s, at);

	p->has_cable = p->is_plugged = true;
	p->peer = peer;
	p->speed = speed;
	p->width = width;
	vb_subnet_port_support(&vb_subnet_sma_port(s, at)->info, speed, width);
}

int vb_subnet_join(struct vb_subnet *s, struct vb_subnet_place a, struct vb_subnet_place b,
		   uint16_t speed, uint8_t width, vb_time now)
{
	struct vb_subnet_port *pa = vb_subnet_port(s, a), *pb = vb_subnet_port(s, b);

	if (pa->has_cable || pb->has_cable || pa == pb)
		return -EBUSY;
	if (!vb_ib_speed_row(speed) || vb_ib_lanes(width) == 0)
		return -EINVAL;
	cable_put(s, a, b, speed, width);
	cable_put(s, b, a, speed, width);
	link_try(s, a, now);
	return 0;
}

int vb_subnet_join_away(struct vb_subnet *s, struct vb_subnet_place at, uint16_t speed,
			uint8_t width, vb_time now)
{
	struct vb_subnet_port *p = vb_subnet_port(s, at);

	(void)now;
	if (p->has_cable)
		return -EBUSY;
	if (!vb_ib_speed_row(speed) || vb_ib_lanes(width) == 0)
		return -EINVAL;
	cable_put(s, at, at, speed, width);
	p->is_away = true;
	p->far.is_there = false;
	return 0;
}

void vb_subnet_part_away(struct vb_subnet *s, struct vb_subnet_place at, vb_time now)
{
	struct vb_subnet_port *p = vb_subnet_port(s, at);

	VB_ASSERT_ALL(p->is_away);
	vb_subnet_link_train(s, at, now);
	p->has_cable = p->is_plugged = p->is_away = false;
	vb_subnet_changed(s, &s->node[at.node], VB_SMA_STATE);
}

struct vb_subnet_far vb_subnet_near_end(struct vb_subnet *s, struct vb_subnet_place at)
{
	const struct vb_subnet_port *p = vb_subnet_port(s, at);
	const struct vb_port_info *info = &vb_subnet_sma_port(s, at)->info;

	return (struct vb_subnet_far){
	    .is_there = p->is_plugged && (info->phys_state == VB_PHYS_POLLING ||
					  info->phys_state == VB_PHYS_LINK_UP),
	    .speeds = (uint16_t)(enabled_speeds(info) & speeds_up_to(p->speed)),
	    .widths = (uint8_t)(info->width_enabled & (p->width | VB_IB_1X))};
}

void vb_subnet_far_end(struct vb_subnet *s, struct vb_subnet_place at,
		       const struct vb_subnet_far *far, bool restarted, vb_time now)
{
	struct vb_subnet_port *p = vb_subnet_port(s, at);

	VB_ASSERT_ALL(p->is_away);
	if (restarted || !far->is_there)
		port_down(s, at, now);
	p->far = *far;
	link_try_away(s, at, now);
}

int vb_subnet_plug(struct vb_subnet *s, struct vb_subnet_place at, bool plugged, vb_time now)
{
	struct vb_subnet_port *p = vb_subnet_port(s, at);

	if (!p->has_cable)
		return -ENOENT;
	if (p->is_plugged == plugged)
		return 0;
	p->is_plugged = vb_subnet_port(s, p->peer)->is_plugged = plugged; /* its own, if away */
	vb_subnet_link_train(s, at, now);
	return 0;
}

int vb_subnet_limit(struct vb_subnet *s, struct vb_subnet_place at,
		    const struct vb_subnet_limits *l, vb_time now)
{
	struct vb_subnet_port *p = vb_subnet_port(s, at), *peer;

	if (!p->has_cable)
		return -ENOENT;
	peer = vb_subnet_port(s, p->peer);
	if (l->speed)
		p->speed = peer->speed = l->speed;
	if (l->width)
		p->width = peer->width = l->width;
	vb_subnet_link_train(s, at, now);
	return 0;
}
