/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a scenario's network may be cut, and what keeps it in one part. See cut.h. */
#include "scenario/cores/cut.h"

#include "core/control/algorithm/algorithm.h"
#include "sim/parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ON_ONE_CORE "and is run on one core: leave --jobs out"

/* A layer of faults decides for both directions of its cable. */
static void cables_keep(const struct vb_scenario_run *run, const struct vb_scenario *sc, bool *keep)
{
	for (uint32_t i = 0; i < sc->fault_cnt; i++) {
		const struct vb_scenario_fault *f = &sc->fault[i];

		if (f->link < run->topo.link_cnt)
			keep[f->link] = true;
		else if (f->host == UINT32_MAX && f->link == UINT32_MAX)
			memset(keep, true, run->topo.link_cnt);
	}
	for (uint32_t i = 0; run->net && i < run->net->link_cnt; i++)
		keep[i] |= run->net->link[i].error_ppb != 0;
}

static bool is_built_in(const struct verbena_cc_algorithm *a)
{
	return vb_cc_algorithm_find(a->name, strlen(a->name)) == a;
}

static int load_check(const struct vb_scenario *sc, struct part *p)
{
	const char *wrong = vb_load_parts_wrong(&sc->load, NULL, sc->data, 0);

	p->name = "transport";
	p->at.line = 0;
	if (sc->choice.algorithm && !is_built_in(sc->choice.algorithm))
		wrong = "has an algorithm of one's own, which is called by one thread";
	if (wrong)
		return part_refuse(p, -EINVAL, "%s, " ON_ONE_CORE, wrong);
	p->name = "workload";
	for (uint32_t i = 0; i < sc->pattern_cnt; i++) {
		p->number = i + 1;
		p->at = sc->pattern_at[i];
		wrong = vb_load_parts_wrong(&sc->load, &sc->pattern[i], sc->data, 0);
		if (wrong)
			return part_refuse(p, -EINVAL, "%s, " ON_ONE_CORE, wrong);
	}
	p->number = 0;
	return 0;
}

/* The same of a network that has been cut. */
static int pauses_check(const struct vb_scenario *sc, struct part *p, vb_dur lookahead)
{
	p->name = "workload";
	for (uint32_t i = 0; i < sc->pattern_cnt; i++) {
		const char *wrong =
		    vb_load_parts_wrong(&sc->load, &sc->pattern[i], sc->data, lookahead);

		p->number = i + 1;
		p->at = sc->pattern_at[i];
		if (wrong)
			return part_refuse(p, -EINVAL, "%s, %" PRIu64 " ns, " ON_ONE_CORE, wrong,
					   lookahead);
	}
	p->number = 0;
	return 0;
}

static int network_check(const struct vb_scenario *sc, struct part *p)
{
	if (sc->link_kind) {
		p->name = "infiniband";
		p->at = sc->ib_at.line ? sc->ib_at : sc->topology_at;
		return part_refuse(p, -EINVAL,
				   "has links whose credits cross at once, " ON_ONE_CORE);
	}
	p->name = "group";
	p->number = 1;
	p->at = sc->group[0].place;
	if (sc->group_cnt)
		return part_refuse(p, -EINVAL,
				   "has members whose messages are counted together, " ON_ONE_CORE);
	p->number = 0;
	return 0;
}

static int network_cut(const struct vb_scenario_run *run, const struct vb_scenario *sc,
		       const struct part *p, uint16_t *of_node, uint32_t *cnt)
{
	bool *keep = calloc(run->topo.link_cnt, sizeof *keep);

	if (!keep)
		return part_no_memory(p, -ENOMEM);
	cables_keep(run, sc, keep);
	*cnt = vb_sim_partition(&run->topo, sc->jobs, keep, of_node);
	free(keep);
	if (*cnt == 0)
		return part_no_memory(p, -ENOMEM);
	if (*cnt == 1)
		return part_refuse(p, -EINVAL,
				   "cannot be cut: hosts stay with their switches, and so do "
				   "both ends of cables with faults or without delay; leave --jobs "
				   "out");
	return 0;
}

int part_cut(const struct vb_scenario_run *run, const struct vb_scenario *sc, struct part *p,
	     uint16_t **of_node, uint32_t *cnt)
{
	int err;

	*of_node = NULL;
	*cnt = 1;
	if (sc->jobs <= 1)
		return 0;
	err = network_check(sc, p);
	if (!err)
		err = load_check(sc, p);
	if (err)
		return err;
	p->name = "topology";
	p->at = sc->topology_at;
	*of_node = calloc(run->topo.host_cnt + run->topo.switch_cnt, sizeof **of_node);
	if (!*of_node)
		return part_no_memory(p, -ENOMEM);
	err = network_cut(run, sc, p, *of_node, cnt);
	if (!err)
		err = pauses_check(sc, p, vb_sim_partition_lookahead(&run->topo, *of_node));
	if (err) {
		free(*of_node);
		*of_node = NULL;
	}
	return err;
}
