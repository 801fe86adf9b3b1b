/* SPDX-License-Identifier: BSD-2-Clause */
/* A scenario becomes a simulation. See scenario.h. */
#include "scenario/part/part.h"

#include "scenario/arena.h"
#include "scenario/cores/cut.h"
#include "scenario/input/flows.h"
#include "scenario/input/sizes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LIST_CONNECTIONS (1u << 20)

/* @kept: the memory of a switch that its ports keep. */
static int sim_refuse(const struct part *p, int err, uint64_t kept)
{
	const struct vb_switch_config *sw = &p->sc->sw;

	if (err != -EINVAL)
		return part_no_memory(p, err);
	if (sw->red.kmin > sw->red.kmax)
		return part_refuse(p, err, "has a kmin of %u bytes above its kmax of %u",
				   sw->red.kmin, sw->red.kmax);
	return part_refuse(p, err,
			   "has a buffer of %u bytes, and its ports keep %" PRIu64
			   " for reserves and headroom: give it more, or them less",
			   sw->buffer.bytes, kept);
}

static struct vb_sim_ib_config ib_make(const struct vb_scenario *sc,
				       const struct vb_scenario_run *run)
{
	struct vb_sim_ib_config c = sc->ib;

	c.is_used = sc->link_kind != 0;
	if (sc->routes[0])
		c.routes = &run->fabric->routes;
	for (uint32_t sl = 0; sl < VB_SL_CNT; sl++)
		c.lane_of_sl[sl] = (uint8_t)(sc->lane_of_sl[sl] + 1); /* unsaid becomes 0 */
	return c;
}

static int ib_refuse(const struct part *p, int err)
{
	if (err == -EXDEV)
		return part_refuse(p, -EINVAL,
				   "has two subnets whose packets come from one router and go to "
				   "another: let the ways between them lead through the same ones");
	if (err != -EINVAL)
		return part_no_memory(p, err);
	return part_refuse(
	    p, err,
	    "takes a buffer for a packet with its headers, switches of at most 254 ports, "
	    "49000 hosts at most, and for layers as many lanes as there are layers");
}

/* One more entry of the table of a host. */
static int pkey_add(const struct vb_scenario_run *run, const struct part *p, uint16_t *table,
		    uint32_t host, uint16_t pkey)
{
	uint32_t i = 0;

	if (host >= run->topo.host_cnt)
		return part_refuse(p, -EINVAL, "has host %u: there are 0 to %u", host,
				   run->topo.host_cnt - 1);
	table += (size_t)host * VB_SIM_PKEYS;
	while (i < VB_SIM_PKEYS && table[i])
		i++;
	if (i == VB_SIM_PKEYS)
		return part_refuse(p, -EINVAL, "is one too many for host %u: it is in %u others",
				   host, VB_SIM_PKEYS);
	table[i] = pkey;
	return 0;
}

/* The P_Key tables of hosts, to be freed; those that no partition lists are in the default one. */
static int pkeys_make(const struct vb_scenario_run *run, const struct vb_scenario *sc,
		      struct part *p, uint16_t **out)
{
	uint16_t *table = calloc(run->topo.host_cnt, VB_SIM_PKEYS * sizeof *table);
	int bad = 0;

	*out = table;
	if (!table)
		return part_no_memory(p, -ENOMEM);
	p->name = "partition";
	for (uint32_t i = 0; !bad && i < sc->partition_cnt; i++) {
		const struct vb_scenario_partition *part = &sc->partition[i];

		p->number = i + 1;
		p->at = part->place;
		for (uint32_t k = 0; !bad && k < part->member_cnt; k++)
			bad = pkey_add(run, p, table, part->member[k], part->pkey);
		for (uint32_t k = 0; !bad && k < part->limited_cnt; k++)
			bad = pkey_add(run, p, table, part->limited[k], part->pkey & 0x7fff);
	}
	for (uint32_t i = 0; !bad && i < run->topo.host_cnt; i++)
		if (table[i * VB_SIM_PKEYS] == 0)
			table[i * VB_SIM_PKEYS] = VB_PKEY_DEFAULT;
	p->number = 0;
	return bad;
}

/* The properties of a simulation that have been found out before. */
struct found {
	uint16_t *pkey, *part_of;
	uint32_t part_cnt;
};

static int sim_make(struct vb_scenario_run *run, const struct vb_scenario *sc,
		    const struct vb_scenario_watch *watch, const struct found *found,
		    uint64_t *kept)
{
	struct vb_sim_config c = {
	    .seed = sc->seed,
	    .topo = &run->topo,
	    .is_apart = part_is_apart(run),
	    .sw = sc->sw,
	    .ib = ib_make(sc, run),
	    .reroute = sc->topology.reroute,
	    .hca = {.limits = vb_limits_default,
		    .port[1] = {.active_mtu = sc->load.mtu},
		    .peer_window_bytes = sc->window_bytes,
		    .recovery = sc->recovery,
		    .cc = sc->cc,
		    .choice = sc->choice.algorithm ? &run->choice : NULL},
	    .cqe = 16, /* the load reserves more */
	    .packets_max = sc->packets_max,
	    .carry_data = sc->data,
	    .digest = true,
	    .memory = run->memory,
	    .part_cnt = found->part_cnt,
	    .part_of = found->part_of,
	};

	run->choice = sc->choice;
	c.ib.pkey = found->pkey;
	c.hca.limits.rd_atomic = 128;
	if (watch) {
		c.trace_mask = watch->trace_mask;
		c.on_event = watch->on_event;
		c.on_packet = watch->on_packet;
		c.trace_ctx = watch->ctx;
	}

	int err = vb_sim_create(&run->sim, &c);

	*kept = err == -EINVAL ? vb_sim_buffer_kept(&c) : 0;
	return err;
}

/* A flow has a connection at most. Of lists and graphs flows give their records away, and
 * connections stay for others between the same hosts; the table is memory only as far as it is
 * used. */
static uint32_t connections_max(const struct vb_scenario *sc)
{
	uint32_t max = sc->load.flows_max;

	for (uint32_t i = 0; i < sc->pattern_cnt; i++)
		if ((sc->pattern[i].shape == VB_LOAD_LIST ||
		     sc->pattern[i].shape == VB_LOAD_COLLECTIVE ||
		     sc->pattern[i].shape == VB_LOAD_GRAPH) &&
		    max < LIST_CONNECTIONS)
			max = LIST_CONNECTIONS;
	return max;
}

static int make_part(struct vb_scenario_run *run, const struct vb_scenario *sc,
		     const struct vb_scenario_watch *watch, struct part *p)
{
	struct vb_load_config load = sc->load;
	struct found found = {.pkey = NULL};
	uint64_t kept;
	int err;

	p->at = sc->topology_at;
	p->name = "topology";
	err = part_open_topology(run, sc, p);
	if (err)
		return err;
	p->at = sc->ib_at;
	p->name = "routes";
	err = sc->routes[0] ? part_open_routes(run, sc, p) : 0;
	if (!err && sc->partition_cnt)
		err = pkeys_make(run, sc, p, &found.pkey);
	if (!err)
		err = part_cut(run, sc, p, &found.part_of, &found.part_cnt);
	if (err) {
		free(found.pkey);
		return err;
	}
	p->at = sc->topology_at;
	if (sc->switch_at.line)
		p->at = sc->switch_at;
	p->name = "switch";
	err = sim_make(run, sc, watch, &found, &kept);
	free(found.pkey);
	free(found.part_of);
	if (err && sc->link_kind) {
		p->at = sc->ib_at.line ? sc->ib_at : sc->topology_at;
		p->name = "infiniband";
		return ib_refuse(p, err);
	}
	if (err)
		return sim_refuse(p, err, kept);
	load.connections_max = connections_max(sc);
	load.nics = part_nics(run);
	p->at.line = 0;
	p->name = "transport";
	err = vb_load_create(&run->load, run->sim, &load, &run->memory);
	if (err)
		return part_no_memory(p, err);
	return part_open_lists(run, sc, p);
}

int vb_scenario_open(struct vb_scenario_run *run, const struct vb_scenario *sc,
		     const struct vb_scenario_watch *watch, char *err, size_t err_len)
{
	struct part p = {.sc = sc, .text = err, .len = err_len};
	int bad;

	*run = (struct vb_scenario_run){.arena = vb_arena_create()};
	if (!run->arena) {
		snprintf(err, err_len, "%s: no memory", sc->file);
		return -ENOMEM;
	}
	run->memory = vb_arena_memory(run->arena);
	bad = make_part(run, sc, watch, &p);
	if (bad)
		vb_scenario_close(run);
	return bad;
}

void vb_scenario_close(struct vb_scenario_run *run)
{
	if (run->load)
		vb_load_destroy(run->load);
	if (run->sim)
		vb_sim_destroy(run->sim);
	if (run->fabric)
		vb_fabric_free(run->fabric);
	if (run->own_net)
		vb_net_free(run->own_net);
	free(run->own_net);
	free(run->fabric);
	for (uint32_t i = 0; i < VB_LOAD_PATTERNS_MAX; i++) {
		vb_sizes_free(run->sizes[i]);
		vb_flows_close(run->flows[i]);
		vb_graph_destroy(run->graph[i]);
	}
	if (run->arena) {
		vb_sim_topo_free(&run->topo);
		vb_arena_destroy(run->arena);
	}
	*run = (struct vb_scenario_run){0};
}

void vb_scenario_failure(const struct vb_scenario_run *run, const struct vb_scenario *sc, char *why,
			 size_t size)
{
	snprintf(why, size, "more than %u flows%s: give the scenario a larger \"flows\"",
		 sc->load.flows_max, run->flows_listed ? " at once" : "");
	for (uint32_t i = 0; i < VB_LOAD_PATTERNS_MAX; i++)
		if (run->flows[i] && vb_flows_complaint(run->flows[i])[0])
			snprintf(why, size, "%s", vb_flows_complaint(run->flows[i]));
}
