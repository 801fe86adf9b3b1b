/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fills the forward tables of the switches: where hosts hang, and the next hops to each switch that
 * has hosts, which hops.c finds. The hosts at a switch are its subnet.
 */
#include "base/assert.h"
#include "sim/priv.h"

#include <errno.h>
#include <string.h>

static int map_fill(struct vb_sim *s)
{
	s->map = (struct vb_forward_map){VB_SIM_ADDRESS, s->host_cnt, NULL};
	s->map.site = vb_sim_alloc(s, s->host_cnt * sizeof *s->map.site);
	if (!s->map.site)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->host_cnt; i++) {
		const struct vb_port *p = vb_sim_port(s, vb_sim_peer(s->host[i].port->id));
		const struct vb_switch *sw = vb_sim_switch_at(s, p);

		s->map.site[i] = (struct vb_forward_site){
		    sw ? vb_sim_switch_number(s, sw) : VB_FORWARD_NONE, p->number};
	}
	return 0;
}

/* The tables are one array that switches share. */
static void tables_give(struct vb_sim *s)
{
	for (uint32_t i = 0; i < s->switch_cnt; i++) {
		struct vb_forward *fw = &s->sw[i].forward;

		fw->map = &s->map;
		fw->subnet = i;
		fw->set = s->hop_set + (size_t)i * s->edge_cnt;
		fw->hop = s->hop;
	}
}

/* Tables have room for destinations up to the last switch that has hosts. */
static int sets_create(struct vb_sim *s, bool may_part)
{
	uint8_t *has_hosts = vb_sim_alloc(s, s->switch_cnt);
	int err = has_hosts ? 0 : -ENOMEM;

	s->edge_cnt = 0;
	for (uint32_t i = 0; !err && i < s->host_cnt; i++) {
		uint32_t sw = s->map.site[i].subnet;

		if (sw == VB_FORWARD_NONE)
			continue;
		has_hosts[sw] = 1;
		s->edge_cnt = sw >= s->edge_cnt ? sw + 1 : s->edge_cnt;
	}
	if (!err)
		s->hop_set =
		    vb_sim_alloc(s, (size_t)s->switch_cnt * s->edge_cnt * sizeof *s->hop_set);
	if (s->hop_set)
		err = vb_sim_hops_find(s, has_hosts, may_part);
	else
		err = -ENOMEM;
	tables_give(s);
	vb_sim_free(s, has_hosts);
	return err;
}

/* The state of choices among next hops, where ECMP does not make them. */
static int multipath_create(struct vb_sim *s)
{
	const struct vb_multipath_config *c = &s->cfg.sw.multipath;
	size_t size = vb_multipath_size(c, s->switch_cnt);

	if (c->kind == VB_MULTIPATH_ECMP)
		return 0;
	s->multipath = vb_sim_alloc(s, s->switch_cnt * size);
	if (!s->multipath)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->switch_cnt; i++) {
		s->sw[i].multipath = (struct vb_multipath *)((char *)s->multipath + i * size);
		vb_multipath_init(s->sw[i].multipath, c, s->switch_cnt,
				  vb_rng_stream(s->cfg.seed, "multipath", i));
	}
	return 0;
}

int vb_sim_routes_create(struct vb_sim *s)
{
	int err = map_fill(s);

	if (err || s->switch_cnt == 0)
		return err;
	err = sets_create(s, s->cfg.is_apart);
	return err ? err : multipath_create(s);
}

int vb_sim_routes_follow(struct vb_sim *s)
{
	int err;

	if (s->switch_cnt == 0)
		return 0;
	vb_sim_free(s, s->hop_set);
	vb_sim_free(s, s->hop);
	vb_sim_free(s, s->tree);
	s->hop_set = NULL;
	s->hop = NULL;
	s->tree = NULL;
	s->hop_cnt = s->hop_cap = 0;
	err = sets_create(s, true);
	if (!err && s->ib)
		err = vb_sim_ib_route(s);
	if (!err)
		err = vb_sim_trees_create(s);
	if (!err && s->ib)
		vb_sim_ib_groups_follow(s);
	return err;
}
