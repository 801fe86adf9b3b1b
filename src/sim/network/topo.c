/* SPDX-License-Identifier: BSD-2-Clause */
/* Builders of topologies. See topo.h. */
#include "sim/network/topo.h"

#include <errno.h>

static int topo_begin(struct vb_sim_topo *t, const struct vb_sim_memory *m, uint64_t hosts,
		      uint64_t switches, uint64_t links)
{
	*t = (struct vb_sim_topo){.memory = *m};
	if (hosts == 0 || links == 0 || hosts + switches > VB_SIM_TOPO_NODES_MAX ||
	    links > VB_SIM_TOPO_LINKS_MAX)
		return -EINVAL;
	t->link = m->alloc(m->ctx, links * sizeof *t->link);
	if (!t->link)
		return -ENOMEM;
	t->host_cnt = (uint32_t)hosts;
	t->switch_cnt = (uint32_t)switches;
	return 0;
}

static void nodes_join(struct vb_sim_topo *t, uint32_t a, uint32_t b, const struct vb_cable *cable)
{
	t->link[t->link_cnt++] = (struct vb_sim_topo_link){a, b, *cable};
}

/* Node number of switch @i. */
static uint32_t switch_node(const struct vb_sim_topo *t, uint32_t i)
{
	return t->host_cnt + i;
}

int vb_sim_topo_pair(struct vb_sim_topo *t, const struct vb_sim_memory *m,
		     const struct vb_cable *cable)
{
	int err = topo_begin(t, m, 2, 0, 1);

	if (!err)
		nodes_join(t, 0, 1, cable);
	return err;
}

int vb_sim_topo_star(struct vb_sim_topo *t, const struct vb_sim_memory *m, uint32_t hosts,
		     const struct vb_cable *cable)
{
	int err = topo_begin(t, m, hosts, 1, hosts);

	for (uint32_t i = 0; !err && i < hosts; i++)
		nodes_join(t, i, switch_node(t, 0), cable);
	return err;
}

int vb_sim_topo_dumbbell(struct vb_sim_topo *t, const struct vb_sim_memory *m, uint32_t left,
			 uint32_t right, const struct vb_cable *cable, const struct vb_cable *trunk)
{
	int err = topo_begin(t, m, (uint64_t)left + right, 2, (uint64_t)left + right + 1);

	for (uint32_t i = 0; !err && i < left + right; i++)
		nodes_join(t, i, switch_node(t, i >= left), cable);
	if (!err)
		nodes_join(t, switch_node(t, 0), switch_node(t, 1), trunk);
	return err;
}

int vb_sim_topo_parking_lot(struct vb_sim_topo *t, const struct vb_sim_memory *m, uint32_t switches,
			    uint32_t hosts, const struct vb_cable *cable,
			    const struct vb_cable *trunk)
{
	uint64_t n = (uint64_t)switches * hosts;
	int err = topo_begin(t, m, n, switches, n + switches);

	for (uint32_t i = 0; !err && i < n; i++)
		nodes_join(t, i, switch_node(t, i / hosts), cable);
	for (uint32_t i = 0; !err && i + 1 < switches; i++)
		nodes_join(t, switch_node(t, i), switch_node(t, i + 1), trunk);
	return err;
}

int vb_sim_topo_ring(struct vb_sim_topo *t, const struct vb_sim_memory *m, uint32_t switches,
		     uint32_t hosts, const struct vb_cable *cable, const struct vb_cable *trunk)
{
	uint64_t n = (uint64_t)switches * hosts;
	int err = switches < 3 ? -EINVAL : topo_begin(t, m, n, switches, n + switches);

	for (uint32_t i = 0; !err && i < n; i++)
		nodes_join(t, i, switch_node(t, i / hosts), cable);
	for (uint32_t i = 0; !err && i < switches; i++)
		nodes_join(t, switch_node(t, i), switch_node(t, (i + 1) % switches), trunk);
	return err;
}

int vb_sim_topo_clos(struct vb_sim_topo *t, const struct vb_sim_memory *m, uint32_t leaves,
		     uint32_t spines, uint32_t hosts, const struct vb_cable *cable,
		     const struct vb_cable *fabric)
{
	uint64_t n = (uint64_t)leaves * hosts;
	int err = topo_begin(t, m, n, (uint64_t)leaves + spines, n + (uint64_t)leaves * spines);

	for (uint32_t i = 0; !err && i < n; i++)
		nodes_join(t, i, switch_node(t, i / hosts), cable);
	for (uint32_t i = 0; !err && i < leaves; i++) {
		for (uint32_t j = 0; j < spines; j++)
			nodes_join(t, switch_node(t, i), switch_node(t, leaves + j), fabric);
	}
	return err;
}

int vb_sim_topo_clos3(struct vb_sim_topo *t, const struct vb_sim_memory *m, uint32_t pods,
		      uint32_t tors, uint32_t aggs, uint32_t cores, uint32_t hosts,
		      const struct vb_cable *cable, const struct vb_cable *fabric)
{
	uint64_t tor_cnt = (uint64_t)pods * tors, agg_cnt = (uint64_t)pods * aggs;
	uint64_t n = tor_cnt * hosts;
	int err = topo_begin(t, m, n, tor_cnt + agg_cnt + (uint64_t)aggs * cores,
			     n + tor_cnt * aggs + agg_cnt * cores);

	if (err)
		return err;
	for (uint32_t i = 0; i < n; i++)
		nodes_join(t, i, switch_node(t, i / hosts), cable);
	for (uint32_t i = 0; i < tor_cnt; i++) {
		for (uint32_t j = 0; j < aggs; j++)
			nodes_join(t, switch_node(t, i),
				   switch_node(t, (uint32_t)tor_cnt + i / tors * aggs + j), fabric);
	}
	for (uint32_t i = 0; i < agg_cnt; i++) {
		for (uint32_t j = 0; j < cores; j++)
			nodes_join(
			    t, switch_node(t, (uint32_t)tor_cnt + i),
			    switch_node(t, (uint32_t)(tor_cnt + agg_cnt) + i % aggs * cores + j),
			    fabric);
	}
	return 0;
}

int vb_sim_topo_fat_tree(struct vb_sim_topo *t, const struct vb_sim_memory *m, uint32_t k,
			 const struct vb_cable *cable, const struct vb_cable *fabric)
{
	if (k < 2 || k % 2 || k > 128)
		return -EINVAL;
	return vb_sim_topo_clos3(t, m, k, k / 2, k / 2, k / 2, k / 2, cable, fabric);
}

void vb_sim_topo_free(struct vb_sim_topo *t)
{
	if (t->link)
		t->memory.free(t->memory.ctx, t->link);
	if (t->subnet)
		t->memory.free(t->memory.ctx, t->subnet);
	t->link = NULL;
	t->subnet = NULL;
}
