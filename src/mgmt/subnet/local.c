/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes of a node that no manager has made, and the traps by which one hears of them. IBA 13.4.9,
 * 14.3.10, 14.3.11, 7.9.4; items FAB-19, FAB-33, FAB-34, LNK-20, MAD-17
 */
#include "mgmt/subnet/priv.h"

#include "wire/be.h"

#include <errno.h>
#include <string.h>

/* Places of a notice's details. FAB-34 */
enum { LOCAL_AT = 5, CAPABILITY_AT = 6, FLAGS_AT = 10, SYSTEM_GUID_AT = 6 };
/* Changes of other things than the capabilities. */
enum { CHANGED_DESCRIPTION = 1, CHANGED_WIDTH = 2, CHANGED_SPEED = 4 };

/* A trap that still waits for its answer says what had changed before as well. The flags of
 * hierarchies and of CapabilityMask2 have no attribute here, and a manager's priority is known to
 * the manager alone, which sends that trap itself. */
static void raise_capability(struct vb_subnet *s, struct vb_subnet_place at, uint16_t flags,
			     vb_time now)
{
	struct vb_subnet_node *n = &s->node[at.node];
	const struct vb_trap *waiting = vb_trap_find(&n->traps, VB_TRAP_CAPABILITY);
	uint8_t details[VB_TRAP_DETAILS_LEN] = {0};

	if (waiting)
		flags |= be16_get(waiting->details + FLAGS_AT);
	details[LOCAL_AT] = flags != 0;
	be32_put(details + CAPABILITY_AT, n->sma.port[at.port].info.cap_mask);
	be16_put(details + FLAGS_AT, flags);
	vb_trap_raise(&n->traps, VB_TRAP_CAPABILITY, details, now);
	vb_subnet_waits(s, n);
}

void vb_subnet_set_manager(struct vb_subnet *s, struct vb_subnet_place at, bool is_manager,
			   vb_time now)
{
	struct vb_port_info *p = &vb_subnet_sma_port(s, at)->info;

	if (((p->cap_mask & VB_CAP_IS_SM) != 0) == is_manager)
		return;
	p->cap_mask ^= VB_CAP_IS_SM;
	raise_capability(s, at, 0, now);
	vb_subnet_changed(s, &s->node[at.node], VB_SMA_MANAGER);
}

/* The port that speaks for a whole node. */
static struct vb_subnet_place speaking_port(const struct vb_subnet *s, uint32_t node)
{
	const struct vb_subnet_node *n = &s->node[node];
	struct vb_subnet_place at = {node, vb_subnet_is_switch(s, node) ? 0 : 1};

	while (at.port != 0 && at.port < n->sma.info.port_cnt &&
	       n->port[at.port].link.state != VB_LINK_ACTIVE)
		at.port++;
	return at;
}

void vb_subnet_set_description(struct vb_subnet *s, uint32_t node, const char *text, vb_time now)
{
	uint8_t *d = s->node[node].sma.description;

	memset(d, 0, VB_SMA_NODE_DESC_LEN);
	for (size_t i = 0; i < VB_SMA_NODE_DESC_LEN && text[i]; i++)
		d[i] = (uint8_t)text[i];
	raise_capability(s, speaking_port(s, node), CHANGED_DESCRIPTION, now);
	vb_subnet_changed(s, &s->node[node], VB_SMA_NAMES);
}

void vb_subnet_set_system_guid(struct vb_subnet *s, uint32_t node, uint64_t guid, vb_time now)
{
	struct vb_subnet_node *n = &s->node[node];
	uint8_t details[VB_TRAP_DETAILS_LEN] = {0};

	n->sma.info.system_guid = guid;
	be64_put(details + SYSTEM_GUID_AT, guid);
	vb_trap_raise(&n->traps, VB_TRAP_SYSTEM_GUID, details, now);
	vb_subnet_waits(s, n);
	vb_subnet_changed(s, n, VB_SMA_NAMES);
}

int vb_subnet_enable(struct vb_subnet *s, struct vb_subnet_place at,
		     const struct vb_subnet_limits *l, vb_time now)
{
	struct vb_port_info *p = &vb_subnet_sma_port(s, at)->info, want = *p;

	if (!vb_subnet_port(s, at)->has_cable)
		return -ENOENT;
	if (l->width)
		want.width_enabled = l->width;
	if ((want.width_enabled & ~p->width_supported) ||
	    (l->speed && !vb_subnet_speeds_enable(&want, l->speed)))
		return -EOPNOTSUPP;
	*p = want;
	vb_subnet_link_train(s, at, now);
	raise_capability(
	    s, at, (uint16_t)((l->width ? CHANGED_WIDTH : 0) | (l->speed ? CHANGED_SPEED : 0)),
	    now);
	return 0;
}

int vb_subnet_flow_silence(struct vb_subnet *s, struct vb_subnet_place at, vb_time now)
{
	struct vb_subnet_node *n = &s->node[at.node];

	/* An active link alone trains again, and it is active afterwards. */
	if (vb_ib_port_link_event(&n->port[at.port].link, VB_LINK_RECOVERY, now) ||
	    vb_ib_port_link_event(&n->port[at.port].link, VB_LINK_RECOVERED, now))
		return -ENETDOWN;
	vb_subnet_raise_silence(s, at, now);
	return 0;
}
