/* SPDX-License-Identifier: BSD-2-Clause */
/* The topology of a scenario, by its shape or from a file. See part.h. */
#include "scenario/part/part.h"

#include "scenario/fabric/file.h"
#include "scenario/input/nics.h"
#include "wire/hdr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int topology_make(struct vb_sim_topo *t, const struct vb_sim_memory *m,
			 const struct vb_scenario_topology *c)
{
	switch ((enum vb_scenario_shape)c->shape) {
	case VB_SHAPE_PAIR:
		return vb_sim_topo_pair(t, m, &c->cable);
	case VB_SHAPE_STAR:
		return vb_sim_topo_star(t, m, c->hosts, &c->cable);
	case VB_SHAPE_DUMBBELL:
		return vb_sim_topo_dumbbell(t, m, c->left, c->right, &c->cable, &c->fabric);
	case VB_SHAPE_PARKING_LOT:
		return vb_sim_topo_parking_lot(t, m, c->switches, c->hosts, &c->cable, &c->fabric);
	case VB_SHAPE_RING:
		return vb_sim_topo_ring(t, m, c->switches, c->hosts, &c->cable, &c->fabric);
	case VB_SHAPE_CLOS:
		return vb_sim_topo_clos(t, m, c->leaves, c->spines, c->hosts, &c->cable,
					&c->fabric);
	case VB_SHAPE_CLOS3:
		return vb_sim_topo_clos3(t, m, c->pods, c->tors, c->aggs, c->cores, c->hosts,
					 &c->cable, &c->fabric);
	case VB_SHAPE_FAT_TREE:
		return vb_sim_topo_fat_tree(t, m, c->k, &c->cable, &c->fabric);
	}
	return -EINVAL;
}

static int topology_refuse(const struct part *p, int err)
{
	const struct vb_scenario_topology *t = &p->sc->topology;

	if (err != -EINVAL)
		return part_no_memory(p, err);
	if (t->shape == VB_SHAPE_FAT_TREE && t->k % 2)
		return part_refuse(p, err, "is a fat-tree: its k is even, not %u", t->k);
	if (t->shape == VB_SHAPE_RING && t->switches < 3)
		return part_refuse(p, err, "is a ring: of three switches or more");
	return part_refuse(p, err, "is too large: at most %u hosts and switches and %u cables",
			   VB_SIM_TOPO_NODES_MAX, VB_SIM_TOPO_LINKS_MAX);
}

static int fabric_refuse(const struct part *p, int err, const struct vb_fabric_error *e)
{
	char line[24] = "";

	if (err != -EINVAL && !e->text[0])
		return part_no_memory(p, err);
	if (e->line)
		snprintf(line, sizeof line, ", line %u", e->line);
	return part_refuse(p, err, "cannot be made of '%s'%s: %s", e->file, line, e->text);
}

static int fabric_make(struct vb_scenario_run *run, const struct vb_scenario *sc,
		       const struct part *p)
{
	struct vb_fabric_error e;
	struct vb_topo topo;
	char path[VB_FABRIC_PATH], why[256];
	const struct vb_complaint c = {sc->file, p->text, p->len};
	int err;

	if (sc->topology.rate_at.line)
		return vb_complain(&c, sc->topology.rate_at.line, sc->topology.rate_at.column,
				   "rates of InfiniBand are in the topology's file");
	part_path(path, sizeof path, sc, sc->topology.file);
	err = vb_fabric_read_topology(&topo, path, why, sizeof why);
	if (err)
		return part_refuse(p, err, "cannot be read: %s", why);
	run->fabric = calloc(1, sizeof *run->fabric);
	if (!run->fabric) {
		vb_topo_free(&topo);
		return part_no_memory(p, -ENOMEM);
	}
	err = vb_fabric_create(run->fabric, &topo, &sc->topology.cable, &sc->topology.fabric,
			       &run->topo, &run->memory, &e);
	snprintf(e.file, sizeof e.file, "%s", path);
	if (err)
		return fabric_refuse(p, err, &e);
	if (run->topo.router_cnt && !sc->link_kind)
		return part_refuse(
		    p, -EINVAL,
		    "has '%s', a router: it joins subnets of InfiniBand, which takes "
		    "link: infiniband",
		    vb_fabric_router(run->fabric));
	return 0;
}

/* The form of a file, by its beginning; a file that cannot be read is fabric_make()'s to refuse. */
static enum vb_net_form form_of_file(const struct vb_scenario *sc)
{
	char path[VB_FABRIC_PATH], text[4096];
	FILE *f;
	size_t len;

	part_path(path, sizeof path, sc, sc->topology.file);
	f = fopen(path, "re");
	if (!f)
		return VB_NET_FORM_NONE;
	len = fread(text, 1, sizeof text, f);
	fclose(f);
	return vb_net_form_of(text, len);
}

static int net_read(struct vb_scenario_run *run, const struct part *p, enum vb_net_form form)
{
	char path[VB_FABRIC_PATH];
	const struct vb_complaint c = {path, p->text, p->len};
	size_t len;
	int err = 0;
	char *text = part_read_file(p, p->sc->topology.file, VB_TOPO_TEXT_MAX, path, &len, &err);

	if (!text)
		return err;
	run->own_net = calloc(1, sizeof *run->own_net);
	err = run->own_net ? vb_net_parse(run->own_net, form, text, len, &c) : -ENOMEM;
	free(text);
	run->net = run->own_net;
	return err == -ENOMEM ? part_no_memory(p, err) : err;
}

bool part_is_apart(const struct vb_scenario_run *run)
{
	for (uint32_t i = 0; run->nics.host_cnt && i < run->topo.host_cnt; i++)
		if (run->nics.network[i] != run->nics.network[0])
			return true;
	return false;
}

static int net_make(struct vb_scenario_run *run, const struct vb_scenario *sc, const struct part *p)
{
	int err = vb_net_make(run->net, &sc->topology.cable, &sc->topology.fabric, &run->memory,
			      &run->topo);

	if (err)
		return part_no_memory(p, err);
	if (!vb_net_has_nics(run->net))
		return 0;
	run->nics = (struct vb_nics){.host_cnt = run->net->host_cnt,
				     .first = run->net->first,
				     .network = run->net->network,
				     .choice = (enum vb_nic_choice)sc->topology.nics};
	if (sc->link_kind && part_is_apart(run))
		return part_refuse(
		    p, -EINVAL, "has networks that no cable joins: links of InfiniBand take one");
	if (sc->partition_cnt || sc->group_cnt)
		return part_refuse(
		    p, -EINVAL,
		    "has hosts with several NICs, which partitions and groups do not "
		    "tell apart");
	return 0;
}

const struct vb_nics *part_nics(const struct vb_scenario_run *run)
{
	return run->nics.host_cnt ? &run->nics : NULL;
}

uint32_t part_hosts(const struct vb_scenario_run *run)
{
	return run->nics.host_cnt ? run->nics.host_cnt : run->topo.host_cnt;
}

int part_open_routes(struct vb_scenario_run *run, const struct vb_scenario *sc,
		     const struct part *p)
{
	struct vb_fabric_error e;
	char path[VB_FABRIC_PATH];
	int err;

	if (!run->fabric)
		return part_refuse(p, -EINVAL,
				   "of OpenSM take a topology of InfiniBand, as ibnetdiscover "
				   "prints it");
	for (uint32_t i = 0; i < sc->group_cnt; i++)
		run->fabric->mlid[i] = sc->group[i].mlid;
	part_path(path, sizeof path, sc, sc->routes);
	err = vb_fabric_read_routes(run->fabric, path, sc->ib.lanes, &e);
	return err ? fabric_refuse(p, err, &e) : 0;
}

enum { IPV4_LEN = 20, UDP_LEN = 8, RETH_LEN = 16 };

/* A cable that cannot carry the packets of the path MTU. As on an Ethernet interface all headers
 * are in its MTU: the longest with a payload is a WRITE's, over IPv4. */
static int mtu_check(const struct vb_scenario_run *run, const struct part *p)
{
	uint32_t mtu = vb_mtu_bytes(p->sc->load.mtu);
	uint32_t longest = IPV4_LEN + UDP_LEN + VB_BTH_LEN + RETH_LEN + mtu + VB_ICRC_LEN;

	for (uint32_t i = 0; i < run->topo.link_cnt; i++) {
		uint32_t max = run->topo.link[i].cable.mtu;

		if (max && p->sc->link_kind)
			return part_refuse(
			    p, -EINVAL,
			    "has cables with an mtu: links of InfiniBand have that of the "
			    "transport");
		if (max && max < longest)
			return part_refuse(
			    p, -EINVAL,
			    "has cables with an mtu of %u bytes: the transport's mtu of "
			    "%u takes %u",
			    max, mtu, longest);
	}
	return 0;
}

int part_open_topology(struct vb_scenario_run *run, const struct vb_scenario *sc,
		       const struct part *p)
{
	enum vb_net_form form = sc->topology.file[0] ? form_of_file(sc) : VB_NET_FORM_NONE;
	int err = 0;

	run->net = sc->topology.net;
	if (form != VB_NET_FORM_NONE)
		err = net_read(run, p, form);
	if (!err && run->net) {
		err = net_make(run, sc, p);
	} else if (!err && sc->topology.file[0]) {
		err = fabric_make(run, sc, p);
	} else if (!err) {
		err = topology_make(&run->topo, &run->memory, &sc->topology);
		if (err)
			topology_refuse(p, err);
	}
	return err ? err : mtu_check(run, p);
}
