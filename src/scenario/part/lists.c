/* SPDX-License-Identifier: BSD-2-Clause */
/* The lists of a scenario: faults, changes of links, groups, workloads. See part.h. */
#include "scenario/part/part.h"

#include <errno.h>

/* Faults that the cable has already stay: faults that meet on a cable add up. */
static int fault_add(struct vb_scenario_run *run, const struct part *p, uint32_t link,
		     const struct vb_fault_spec *spec)
{
	int err = vb_sim_add_cable_fault(run->sim, link, spec);

	if (err == -E2BIG)
		return part_refuse(p, err, "is one too many: cable %u has more than %d rules then",
				   link, VB_FAULT_RULES_MAX);
	return err ? part_no_memory(p, err) : 0;
}

/* The host of the simulation that is the first NIC of a host. */
static uint32_t first_nic(const struct vb_scenario_run *run, uint32_t host)
{
	return run->nics.host_cnt ? run->nics.first[host] : host;
}

static int fault_put(struct vb_scenario_run *run, const struct part *p,
		     const struct vb_scenario_fault *f)
{
	int err = 0;

	if (f->host != UINT32_MAX) {
		if (f->host >= part_hosts(run))
			return part_refuse(p, -EINVAL, "is of host %u: there are 0 to %u", f->host,
					   part_hosts(run) - 1);
		for (uint32_t i = first_nic(run, f->host); !err && i < first_nic(run, f->host + 1);
		     i++)
			err = fault_add(run, p, vb_sim_host_link(run->sim, i), &f->spec);
	} else if (f->link != UINT32_MAX) {
		if (f->link >= run->topo.link_cnt)
			return part_refuse(p, -EINVAL, "is of cable %u: there are 0 to %u", f->link,
					   run->topo.link_cnt - 1);
		err = fault_add(run, p, f->link, &f->spec);
	} else {
		for (uint32_t i = 0; !err && i < run->topo.link_cnt; i++)
			err = fault_add(run, p, i, &f->spec);
	}
	return err;
}

static int link_plan(struct vb_scenario_run *run, const struct part *p, uint32_t link,
		     const struct vb_scenario_link *l)
{
	int err = vb_sim_plan_link(run->sim, link, false, l->down);

	if (!err && l->up != VB_NEVER)
		err = vb_sim_plan_link(run->sim, link, true, l->up);
	return err ? part_no_memory(p, err) : 0;
}

static int link_put(struct vb_scenario_run *run, const struct part *p,
		    const struct vb_scenario_link *l)
{
	int err = 0;

	if (l->host == UINT32_MAX && l->link >= run->topo.link_cnt)
		return part_refuse(p, -EINVAL, "is of cable %u: there are 0 to %u", l->link,
				   run->topo.link_cnt - 1);
	if (l->host == UINT32_MAX)
		return link_plan(run, p, l->link, l);
	if (l->host >= part_hosts(run))
		return part_refuse(p, -EINVAL, "is of host %u: there are 0 to %u", l->host,
				   part_hosts(run) - 1);
	for (uint32_t i = first_nic(run, l->host); !err && i < first_nic(run, l->host + 1); i++)
		err = link_plan(run, p, vb_sim_host_link(run->sim, i), l);
	return err;
}

/* Its members are hosts of its partition, and its table leads to them. */
static int group_check(struct vb_scenario_run *run, const struct part *p,
		       const struct vb_scenario_group *g)
{
	uint32_t number = p->number - 1, cnt = g->has_members ? g->member_cnt : run->topo.host_cnt;
	uint32_t first = g->has_members ? g->member[0] : 0;
	uint16_t pkey = g->pkey ? g->pkey : VB_PKEY_DEFAULT;
	struct vb_fabric_error e;
	int err;

	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t host = g->has_members ? g->member[i] : i;

		if (host >= run->topo.host_cnt)
			return part_refuse(p, -EINVAL, "has host %u: there are 0 to %u", host,
					   run->topo.host_cnt - 1);
		if (vb_sim_pkey_find(run->sim, host, pkey) == UINT16_MAX)
			return part_refuse(p, -EINVAL,
					   "has host %u, which is not in partition 0x%04x", host,
					   pkey);
		if (vb_sim_subnet(run->sim, host) != vb_sim_subnet(run->sim, first))
			return part_refuse(p, -EINVAL,
					   "has host %u and host %u, which are in two subnets: "
					   "no router sends on what goes to a group",
					   first, host);
	}
	if (!g->mlid)
		return 0;
	err =
	    vb_fabric_check_group(run->fabric, number, g->has_members ? g->member : NULL, cnt, &e);
	if (err == -EINVAL)
		return part_refuse(p, err, "does not go with MLID 0x%04x of the routes: %s",
				   g->mlid, e.text);
	return err ? part_no_memory(p, err) : 0;
}

static int group_put(struct vb_scenario_run *run, const struct part *p,
		     const struct vb_scenario_group *g)
{
	const struct vb_load_group_config c = {.member = g->has_members ? g->member : NULL,
					       .member_cnt = g->member_cnt,
					       .pkey = g->pkey};
	int err = group_check(run, p, g);

	if (err)
		return err;
	err = vb_load_add_group(run->load, &c);
	return err ? part_no_memory(p, err) : 0;
}

/* The losses of cables that come with their topology. */
static int losses_put(struct vb_scenario_run *run, const struct part *p)
{
	int err = 0;

	for (uint32_t i = 0; run->net && !err && i < run->net->link_cnt; i++) {
		struct vb_fault_error wrong;
		struct vb_fault_spec spec;
		char text[32];

		if (run->net->link[i].error_ppb == 0)
			continue;
		snprintf(text, sizeof text, "loss=%uppb", run->net->link[i].error_ppb);
		err = vb_fault_parse(text, &spec, &wrong);
		if (!err)
			err = fault_add(run, p, i, &spec);
	}
	return err;
}

int part_open_lists(struct vb_scenario_run *run, const struct vb_scenario *sc, struct part *p)
{
	int err = losses_put(run, p);

	p->name = "fault";
	for (uint32_t i = 0; !err && i < sc->fault_cnt; i++) {
		p->number = i + 1;
		p->at = sc->fault[i].place;
		err = fault_put(run, p, &sc->fault[i]);
	}
	p->name = "link";
	for (uint32_t i = 0; !err && i < sc->link_cnt; i++) {
		p->number = i + 1;
		p->at = sc->link[i].place;
		err = link_put(run, p, &sc->link[i]);
	}
	p->name = "group";
	for (uint32_t i = 0; !err && i < sc->group_cnt; i++) {
		p->number = i + 1;
		p->at = sc->group[i].place;
		err = group_put(run, p, &sc->group[i]);
	}
	p->name = "workload";
	for (uint32_t i = 0; !err && i < sc->pattern_cnt; i++) {
		p->number = i + 1;
		p->at = sc->pattern_at[i];
		err = part_open_pattern(run, p, i);
	}
	return err;
}
