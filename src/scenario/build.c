/* SPDX-License-Identifier: BSD-2-Clause */
/* A scenario becomes a simulation. See scenario.h. */
#include "scenario/scenario.h"

#include "scenario/arena.h"
#include "scenario/fabric/file.h"
#include "wire/hdr.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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

/* The part of a scenario that a refusal is about. */
struct part {
	const struct vb_scenario *sc;
	struct vb_scenario_place at;
	const char *name;
	uint32_t number; /* from 1; 0: there is but one */
	char *text;
	size_t len;
};

/* "FILE:LINE:COLUMN: workload 2 ..."; returns @err. */
__attribute__((format(printf, 3, 4))) static int refuse(const struct part *p, int err,
							const char *fmt, ...)
{
	char number[16] = "", why[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	if (p->number)
		snprintf(number, sizeof number, " %u", p->number);
	if (p->at.line)
		snprintf(p->text, p->len, "%s:%u:%u: %s%s %s", p->sc->file, p->at.line,
			 p->at.column, p->name, number, why);
	else
		snprintf(p->text, p->len, "%s: %s%s %s", p->sc->file, p->name, number, why);
	return err;
}

static int no_memory(const struct part *p, int err)
{
	return refuse(p, err, "cannot be made: %s", strerror(-err));
}

static int topology_refuse(const struct part *p, int err)
{
	const struct vb_scenario_topology *t = &p->sc->topology;

	if (err != -EINVAL)
		return no_memory(p, err);
	if (t->shape == VB_SHAPE_FAT_TREE && t->k % 2)
		return refuse(p, err, "is a fat-tree: its k is even, not %u", t->k);
	if (t->shape == VB_SHAPE_RING && t->switches < 3)
		return refuse(p, err, "is a ring: of three switches or more");
	return refuse(p, err, "is too large: at most %u hosts and switches and %u cables",
		      VB_SIM_TOPO_NODES_MAX, VB_SIM_TOPO_LINKS_MAX);
}

/* @kept: the memory of a switch that its ports keep. */
static int sim_refuse(const struct part *p, int err, uint64_t kept)
{
	const struct vb_switch_config *sw = &p->sc->sw;

	if (err != -EINVAL)
		return no_memory(p, err);
	if (sw->red.kmin > sw->red.kmax)
		return refuse(p, err, "has a kmin of %u bytes above its kmax of %u", sw->red.kmin,
			      sw->red.kmax);
	return refuse(p, err,
		      "has a buffer of %u bytes, and its ports keep %" PRIu64
		      " for reserves and headroom: give it more, or them less",
		      sw->buffer.bytes, kept);
}

/* Names of files begin at the folder of the scenario. */
static void path_make(char *path, size_t size, const struct vb_scenario *sc, const char *name)
{
	const char *slash = strrchr(sc->file, '/');

	snprintf(path, size, "%.*s%s", slash && name[0] != '/' ? (int)(slash + 1 - sc->file) : 0,
		 sc->file, name);
}

static int fabric_refuse(const struct part *p, int err, const struct vb_fabric_error *e)
{
	char line[24] = "";

	if (err != -EINVAL && !e->text[0])
		return no_memory(p, err);
	if (e->line)
		snprintf(line, sizeof line, ", line %u", e->line);
	return refuse(p, err, "cannot be made of '%s'%s: %s", e->file, line, e->text);
}

static int fabric_make(struct vb_scenario_run *run, const struct vb_scenario *sc,
		       const struct part *p)
{
	struct vb_fabric_error e;
	struct vb_topo topo;
	char path[VB_FABRIC_PATH], why[256];
	int err;

	path_make(path, sizeof path, sc, sc->topology.file);
	err = vb_fabric_read_topology(&topo, path, why, sizeof why);
	if (err)
		return refuse(p, err, "cannot be read: %s", why);
	run->fabric = calloc(1, sizeof *run->fabric);
	if (!run->fabric) {
		vb_topo_free(&topo);
		return no_memory(p, -ENOMEM);
	}
	err = vb_fabric_create(run->fabric, &topo, &sc->topology.cable, &sc->topology.fabric,
			       &run->topo, &run->memory, &e);
	snprintf(e.file, sizeof e.file, "%s", path);
	if (err)
		return fabric_refuse(p, err, &e);
	if (run->topo.router_cnt && !sc->link_kind)
		return refuse(p, -EINVAL,
			      "has '%s', a router: it joins subnets of InfiniBand, which takes "
			      "link: infiniband",
			      vb_fabric_router(run->fabric));
	return 0;
}

static int routes_make(struct vb_scenario_run *run, const struct vb_scenario *sc,
		       const struct part *p)
{
	struct vb_fabric_error e;
	char path[VB_FABRIC_PATH];
	int err;

	for (uint32_t i = 0; i < sc->group_cnt; i++)
		run->fabric->mlid[i] = sc->group[i].mlid;
	path_make(path, sizeof path, sc, sc->routes);
	err = vb_fabric_read_routes(run->fabric, path, sc->ib.lanes, &e);
	return err ? fabric_refuse(p, err, &e) : 0;
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
		return refuse(p, -EINVAL,
			      "has two subnets whose packets come from one router and go to "
			      "another: let the ways between them lead through the same ones");
	if (err != -EINVAL)
		return no_memory(p, err);
	return refuse(
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
		return refuse(p, -EINVAL, "has host %u: there are 0 to %u", host,
			      run->topo.host_cnt - 1);
	table += (size_t)host * VB_SIM_PKEYS;
	while (i < VB_SIM_PKEYS && table[i])
		i++;
	if (i == VB_SIM_PKEYS)
		return refuse(p, -EINVAL, "is one too many for host %u: it is in %u others", host,
			      VB_SIM_PKEYS);
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
		return no_memory(p, -ENOMEM);
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

static int sim_make(struct vb_scenario_run *run, const struct vb_scenario *sc,
		    const struct vb_scenario_watch *watch, const uint16_t *pkey, uint64_t *kept)
{
	struct vb_sim_config c = {
	    .seed = sc->seed,
	    .topo = &run->topo,
	    .sw = sc->sw,
	    .ib = ib_make(sc, run),
	    .reroute = sc->topology.reroute,
	    .hca = {.limits = vb_limits_default,
		    .port[1] = {.active_mtu = sc->load.mtu},
		    .peer_window_bytes = sc->window_bytes,
		    .recovery = sc->recovery,
		    .cc = sc->cc},
	    .cqe = 4096,
	    .packets_max = sc->packets_max,
	    .carry_data = sc->data,
	    .digest = true,
	    .memory = run->memory,
	};

	c.ib.pkey = pkey;
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

/* Faults that the cable has already stay: faults that meet on a cable add up. */
static int fault_add(struct vb_scenario_run *run, const struct part *p, uint32_t link,
		     const struct vb_fault_spec *spec)
{
	int err = vb_sim_add_cable_fault(run->sim, link, spec);

	if (err == -E2BIG)
		return refuse(p, err, "is one too many: cable %u has more than %d rules then", link,
			      VB_FAULT_RULES_MAX);
	return err ? no_memory(p, err) : 0;
}

static int fault_put(struct vb_scenario_run *run, const struct part *p,
		     const struct vb_scenario_fault *f)
{
	int err = 0;

	if (f->host != UINT32_MAX) {
		if (f->host >= run->topo.host_cnt)
			return refuse(p, -EINVAL, "is of host %u: there are 0 to %u", f->host,
				      run->topo.host_cnt - 1);
		err = fault_add(run, p, vb_sim_host_link(run->sim, f->host), &f->spec);
	} else if (f->link != UINT32_MAX) {
		if (f->link >= run->topo.link_cnt)
			return refuse(p, -EINVAL, "is of cable %u: there are 0 to %u", f->link,
				      run->topo.link_cnt - 1);
		err = fault_add(run, p, f->link, &f->spec);
	} else {
		for (uint32_t i = 0; !err && i < run->topo.link_cnt; i++)
			err = fault_add(run, p, i, &f->spec);
	}
	return err;
}

static int link_put(struct vb_scenario_run *run, const struct part *p,
		    const struct vb_scenario_link *l)
{
	uint32_t link = l->link;
	int err;

	if (l->host != UINT32_MAX) {
		if (l->host >= run->topo.host_cnt)
			return refuse(p, -EINVAL, "is of host %u: there are 0 to %u", l->host,
				      run->topo.host_cnt - 1);
		link = vb_sim_host_link(run->sim, l->host);
	} else if (link >= run->topo.link_cnt) {
		return refuse(p, -EINVAL, "is of cable %u: there are 0 to %u", link,
			      run->topo.link_cnt - 1);
	}
	err = vb_sim_plan_link(run->sim, link, false, l->down);
	if (!err && l->up != VB_NEVER)
		err = vb_sim_plan_link(run->sim, link, true, l->up);
	return err ? no_memory(p, err) : 0;
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
			return refuse(p, -EINVAL, "has host %u: there are 0 to %u", host,
				      run->topo.host_cnt - 1);
		if (vb_sim_pkey_find(run->sim, host, pkey) == UINT16_MAX)
			return refuse(p, -EINVAL, "has host %u, which is not in partition 0x%04x",
				      host, pkey);
		if (vb_sim_subnet(run->sim, host) != vb_sim_subnet(run->sim, first))
			return refuse(p, -EINVAL,
				      "has host %u and host %u, which are in two subnets: "
				      "no router sends on what goes to a group",
				      first, host);
	}
	if (!g->mlid)
		return 0;
	err =
	    vb_fabric_check_group(run->fabric, number, g->has_members ? g->member : NULL, cnt, &e);
	if (err == -EINVAL)
		return refuse(p, err, "does not go with MLID 0x%04x of the routes: %s", g->mlid,
			      e.text);
	return err ? no_memory(p, err) : 0;
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
	return err ? no_memory(p, err) : 0;
}

static int pattern_put(struct vb_scenario_run *run, const struct part *p,
		       const struct vb_load_pattern *pattern)
{
	const struct vb_scenario *sc = p->sc;
	const char *wrong = vb_load_wrong(&sc->load, pattern, run->topo.host_cnt);
	int err;

	if (wrong)
		return refuse(p, -EINVAL, "%s; hosts are 0 to %u", wrong, run->topo.host_cnt - 1);
	wrong = vb_load_group_wrong(run->load, pattern);
	if (wrong)
		return refuse(p, -EINVAL, "%s; there are %u", wrong, sc->group_cnt);
	err = vb_load_add(run->load, pattern);
	if (err && vb_load_flow_cnt(run->load) == sc->load.flows_max)
		return refuse(p, err,
			      "has more flows than %u: give the scenario a larger \"flows\"",
			      sc->load.flows_max);
	return err ? no_memory(p, err) : 0;
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
			return refuse(
			    p, -EINVAL,
			    "has cables with an mtu: links of InfiniBand have that of the "
			    "transport");
		if (max && max < longest)
			return refuse(p, -EINVAL,
				      "has cables with an mtu of %u bytes: the transport's mtu of "
				      "%u takes %u",
				      max, mtu, longest);
	}
	return 0;
}

/* Faults, changes of links, groups and workloads, in this order. */
static int lists_put(struct vb_scenario_run *run, const struct vb_scenario *sc, struct part *p)
{
	int err = 0;

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
		err = pattern_put(run, p, &sc->pattern[i]);
	}
	return err;
}

static int make_part(struct vb_scenario_run *run, const struct vb_scenario *sc,
		     const struct vb_scenario_watch *watch, struct part *p)
{
	struct vb_load_config load = sc->load;
	uint16_t *pkey = NULL;
	uint64_t kept;
	int err;

	p->at = sc->topology_at;
	p->name = "topology";
	if (sc->topology.file[0]) {
		err = fabric_make(run, sc, p);
	} else {
		err = topology_make(&run->topo, &run->memory, &sc->topology);
		if (err)
			topology_refuse(p, err);
	}
	if (!err)
		err = mtu_check(run, p);
	if (err)
		return err;
	p->at = sc->ib_at;
	p->name = "routes";
	err = sc->routes[0] ? routes_make(run, sc, p) : 0;
	if (!err && sc->partition_cnt)
		err = pkeys_make(run, sc, p, &pkey);
	if (err) {
		free(pkey);
		return err;
	}
	p->at = sc->topology_at;
	if (sc->switch_at.line)
		p->at = sc->switch_at;
	p->name = "switch";
	err = sim_make(run, sc, watch, pkey, &kept);
	free(pkey);
	if (err && sc->link_kind) {
		p->at = sc->ib_at.line ? sc->ib_at : sc->topology_at;
		p->name = "infiniband";
		return ib_refuse(p, err);
	}
	if (err)
		return sim_refuse(p, err, kept);
	load.connections_max = load.flows_max;
	p->at.line = 0;
	p->name = "transport";
	err = vb_load_create(&run->load, run->sim, &load, &run->memory);
	if (err)
		return no_memory(p, err);
	return lists_put(run, sc, p);
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
	free(run->fabric);
	if (run->arena) {
		vb_sim_topo_free(&run->topo);
		vb_arena_destroy(run->arena);
	}
	*run = (struct vb_scenario_run){0};
}
