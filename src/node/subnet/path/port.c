/* SPDX-License-Identifier: BSD-2-Clause */
/* The facts of a port for an explanation, see path.h. */
#include "node/subnet/path/path.h"

#include "node/host/clock.h"
#include "wire/be.h"

#include <string.h>

/* Places in the details of trap 256. FAB-35 */
enum { METHOD_AT = 6, ATTR_AT = 8 };

/* The M_Key of a node, which of a switch port 0 has, and the last SMP that it kept out. */
static void key_facts(struct vb_subnet_daemon *d, struct vb_subnet_place at, struct vb_path_port *p)
{
	struct vb_subnet_node *n = &d->subnet.node[at.node];
	uint8_t own = vb_subnet_at_switch(d, at.node) ? 0 : at.port;
	const struct vb_sma_port *s = &n->sma.port[own];
	const struct vb_trap *trap = vb_trap_find(&n->traps, VB_TRAP_MKEY);
	vb_time now = vb_clock_now();

	p->has_mkey = s->info.mkey != 0;
	p->mkey_protect = s->info.mkey_protect;
	p->mkey_lease = s->info.mkey_lease;
	p->mkey_violations = s->info.mkey_violations;
	p->mkey_ends = s->lease_ends == VB_NEVER ? VB_NEVER
		       : s->lease_ends > now     ? s->lease_ends - now
						 : 0;
	if (!trap)
		return;
	p->has_refused = true;
	p->refused_method = trap->details[METHOD_AT];
	p->refused_attr = be16_get(trap->details + ATTR_AT);
}

void vb_subnet_path_port(struct vb_subnet_daemon *d, struct vb_subnet_place at,
			 struct vb_path_port *p)
{
	const struct vb_topo_node *n = &d->topo->node[at.node];
	const struct vb_subnet_port *port = &d->subnet.node[at.node].port[at.port];
	const struct vb_sma_port *s = vb_subnet_sma_port(&d->subnet, at);
	bool is_zero = n->type == VB_NODE_SWITCH && at.port == 0;

	_Static_assert(VB_PATH_PKEYS == VB_SUBNET_PKEYS, "one table");
	memset(p, 0, sizeof *p);
	snprintf(p->node, sizeof p->node, "%s", n->name);
	p->type = n->type;
	p->number = at.port;
	p->lid =
	    n->type == VB_NODE_SWITCH ? d->subnet.node[at.node].sma.port[0].info.lid : s->info.lid;
	p->lmc = s->info.lmc;
	p->sm_lid = s->info.sm_lid;
	p->mtu = s->info.neighbor_mtu;
	p->enforces_in = s->info.enforce_in;
	p->enforces_out = s->info.enforce_out;
	memcpy(p->pkey, s->pkey, sizeof p->pkey);
	p->pkey_violations = s->info.pkey_violations;
	p->qkey_violations = s->info.qkey_violations;
	key_facts(d, at, p);
	if (is_zero || !s->link)
		return;
	p->state = s->link->state;
	p->phys = s->info.phys_state;
	p->lane_cnt = (uint8_t)s->link->config.data_cnt;
	p->has_cable = port->has_cable;
	p->is_plugged = port->is_plugged;
	p->is_away = port->is_away;
	p->not_routed = port->not_routed;
	p->hops_ended = port->hops_ended;
	for (uint32_t i = 0; i < VB_PMA_COUNTERS; i++)
		p->counter[i] = vb_pma_value(&d->subnet.node[at.node].pma.port[at.port],
					     (enum vb_pma_counter)i);
}

void vb_subnet_path_manager(struct vb_subnet_daemon *d, struct vb_path_manager *m)
{
	memset(m, 0, sizeof *m);
	for (uint32_t i = 0; i < d->topo->node_cnt; i++)
		for (unsigned p = 0; p <= d->topo->node[i].port_cnt; p++) {
			struct vb_subnet_place at = {i, (uint8_t)p};
			const struct vb_port_info *info = &vb_subnet_sma_port(&d->subnet, at)->info;

			if (!(info->cap_mask & VB_CAP_IS_SM))
				continue;
			snprintf(m->node, sizeof m->node, "%s", d->topo->node[i].name);
			m->refused = info->mkey ? info->mkey_violations : 0;
			return;
		}
}
