/* SPDX-License-Identifier: BSD-2-Clause */
/* The device table of a node: its ports as the subnet manager has set them, see adapter.h. */
#include "node/subnet/adapter/adapter.h"

#include "node/netdev/devices.h"
#include "node/subnet/live/live.h"
#include "wire/ib/rate.h"

#include <stdio.h>
#include <string.h>

#define MBPS_PER_UNIT 100u /* of the nominal rates */

const struct vb_ib_speed_row *vb_subnet_speed_of(const struct vb_port_info *p)
{
	const struct vb_ib_speed_row *best = vb_ib_speed_row(VB_IB_SDR);

	for (uint32_t code = VB_IB_SDR; code <= VB_IB_XDR; code <<= 1) {
		const struct vb_ib_speed_row *row = vb_ib_speed_row(code);

		if (row && ((row->port_info_ext & p->ext_speed_active) ||
			    (!p->ext_speed_active && (row->port_info & p->speed_active))))
			best = row;
	}
	return best;
}

static void gids_write(struct vb_device *dev, const struct vb_sma_port *p)
{
	for (uint32_t i = 0; i < p->info.guid_cap && i < VB_GIDS_MAX; i++) {
		struct vb_gid_entry *e = &dev->gid[i];

		if (p->guid[i] == 0)
			continue;
		e->type = VB_GID_IB;
		vb_sma_gid(p, i, e->gid.b);
	}
}

static struct vb_device_ib port_view(const struct vb_sma_port *p)
{
	return (struct vb_device_ib){
	    .state = p->link->state,
	    .phys_state = p->info.phys_state,
	    .lmc = p->info.lmc,
	    .sm_sl = p->info.sm_sl,
	    .vl_cap = p->info.vl_cap,
	    .mtu_cap = p->info.mtu_cap,
	    .init_reply = p->info.init_reply,
	    .subnet_timeout = p->info.subnet_timeout,
	    .width = p->info.width_active ? p->info.width_active : VB_IB_4X,
	    .gid_cnt = p->info.guid_cap,
	    .pkey_cnt = VB_SUBNET_PKEYS,
	    .lid = p->info.lid,
	    .sm_lid = p->info.sm_lid,
	    .speed = vb_subnet_speed_of(&p->info)->code,
	    .cap_mask = p->info.cap_mask,
	};
}

static void port_write(struct vb_subnet_daemon *d, struct vb_subnet_place at, struct vb_device *dev)
{
	const struct vb_topo_node *n = &d->topo->node[at.node];
	const struct vb_sma_port *p = vb_subnet_sma_port(&d->subnet, at);

	memset(dev, 0, sizeof *dev);
	dev->ib = port_view(p);
	dev->ib.number = at.port;
	dev->ib.port_cnt = n->port_cnt < VB_DEVICES_MAX ? n->port_cnt : VB_DEVICES_MAX;
	dev->ib.reregisters = p->reregisters;
	dev->ib.map_port = vb_subnet_map_port(d->adapter, at);
	dev->ib.system_guid = d->subnet.node[at.node].sma.info.system_guid;
	snprintf(dev->name, sizeof dev->name, "verbena0");
	dev->ifindex = 1; /* the entry is in use */
	if (d->live)
		vb_subnet_live_cct(d, at, &dev->cct);
	dev->active_mtu = p->info.neighbor_mtu;
	dev->is_up = p->link->state >= VB_LINK_ACTIVE;
	dev->speed_mbps =
	    vb_subnet_speed_of(&p->info)->nominal * vb_ib_lanes(dev->ib.width) * MBPS_PER_UNIT;
	dev->guid = n->node_guid;
	gids_write(dev, p);
	_Static_assert(VB_SUBNET_PKEYS == VB_PORT_PKEYS_MAX, "one table");
	memcpy(dev->pkey, p->pkey, VB_SUBNET_PKEYS * sizeof *p->pkey);
}

bool vb_subnet_table_write(struct vb_subnet_daemon *d, uint32_t node, struct vb_host_shm *table)
{
	static struct vb_device next[VB_DEVICES_MAX];
	uint32_t cnt = d->topo->node[node].port_cnt;

	memcpy(next, table->device, sizeof next);
	if (cnt > VB_DEVICES_MAX)
		cnt = VB_DEVICES_MAX;
	for (uint32_t i = 0; i < cnt; i++)
		port_write(d, (struct vb_subnet_place){node, (uint8_t)(i + 1)}, &next[i]);
	/* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): padding was zero, and stays so */
	if (table->device_cnt == cnt && memcmp(next, table->device, sizeof next) == 0)
		return false;
	vb_host_write_begin(table);
	memcpy(table->device, next, sizeof next);
	table->device_cnt = cnt;
	table->generation++;
	vb_host_write_end(table);
	return true;
}
