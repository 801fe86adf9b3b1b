/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the packets of programs add to the counters of ports, which lie in the map (link/ib/map.h)
 * until somebody asks for them: the agents of nodes have one set, of MADs and data. IBA 16.1.3.5
 */
#include "node/subnet/adapter/adapter.h"

#include "link/ib/route.h"

/* Takes what is there; a program may add more meanwhile. */
static uint64_t counter_take(uint64_t *from)
{
	return __atomic_load_n(from, __ATOMIC_RELAXED)
		   ? __atomic_exchange_n(from, 0, __ATOMIC_RELAXED)
		   : 0;
}

static void count_port(struct vb_subnet_daemon *d, struct vb_subnet_place at)
{
	struct vb_subnet_adapter *a = d->adapter;
	struct vb_ib_map_counters *c = &vb_ib_map_counters(a->map)[vb_subnet_map_port(a, at)];
	struct vb_ib_port *p = &d->subnet.node[at.node].port[at.port].link;
	struct vb_pma_port *pma = &d->subnet.node[at.node].pma.port[at.port];
	struct vb_port_info *info = &vb_subnet_sma_port(&d->subnet, at)->info;
	uint64_t violations = counter_take(&c->pkey_violations);

	p->counters.xmit_data += counter_take(&c->xmit_data);
	p->counters.rcv_data += counter_take(&c->rcv_data);
	p->counters.xmit_packets += counter_take(&c->xmit_packets);
	p->counters.rcv_packets += counter_take(&c->rcv_packets);
	p->counters.xmit_discards += counter_take(&c->xmit_discards);
	p->counters.rcv_discards += counter_take(&c->rcv_discards);
	pma->switch_relay_errors += counter_take(&c->relay_errors);
	pma->xmit_constraint_errors += counter_take(&c->xmit_constraint);
	pma->rcv_constraint_errors += counter_take(&c->rcv_constraint);
	/* It stays at its end. IBA 14.2.5.6 */
	violations += info->pkey_violations;
	info->pkey_violations = (uint16_t)(violations < UINT16_MAX ? violations : UINT16_MAX);
}

void vb_subnet_count(struct vb_subnet_daemon *d, uint32_t node)
{
	struct vb_subnet_adapter *a = d->adapter;

	if (!a)
		return;
	for (uint32_t k = VB_SLOT_FIRST; k <= VB_SLOT_LAST; k++)
		if (a->slot[k].owner)
			(void)vb_ib_routes_add_up(a->map, vb_ib_map_routes(a->map, k), false);
	for (unsigned p = 1; p <= d->subnet.node[node].sma.info.port_cnt; p++)
		count_port(d, (struct vb_subnet_place){node, (uint8_t)p});
}
