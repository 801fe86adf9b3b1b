/* SPDX-License-Identifier: BSD-2-Clause */
/* A scenario becomes a simulation. See scenario.h. */
#include "scenario/scenario.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void *memory_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void memory_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static int topology_make(struct vb_topo *t, const struct vb_sim_memory *m,
			 const struct vb_scenario_topology *c)
{
	switch ((enum vb_scenario_shape)c->shape) {
	case VB_SHAPE_PAIR:
		return vb_topo_pair(t, m, &c->cable);
	case VB_SHAPE_STAR:
		return vb_topo_star(t, m, c->hosts, &c->cable);
	case VB_SHAPE_DUMBBELL:
		return vb_topo_dumbbell(t, m, c->left, c->right, &c->cable, &c->fabric);
	case VB_SHAPE_PARKING_LOT:
		return vb_topo_parking_lot(t, m, c->switches, c->hosts, &c->cable, &c->fabric);
	case VB_SHAPE_CLOS:
		return vb_topo_clos(t, m, c->leaves, c->spines, c->hosts, &c->cable, &c->fabric);
	case VB_SHAPE_CLOS3:
		return vb_topo_clos3(t, m, c->pods, c->tors, c->aggs, c->cores, c->hosts, &c->cable,
				     &c->fabric);
	case VB_SHAPE_FAT_TREE:
		return vb_topo_fat_tree(t, m, c->k, &c->cable, &c->fabric);
	}
	return -EINVAL;
}

/* Says why, and closes what is open. */
static int give_up(struct vb_scenario_run *run, int err, const char *what, char *text, size_t len)
{
	snprintf(text, len, "%s: %s", what,
		 err == -EINVAL ? "it does not fit the network" : strerror(-err));
	vb_scenario_close(run);
	return err;
}

static int sim_make(struct vb_scenario_run *run, const struct vb_scenario *sc,
		    const struct vb_scenario_watch *watch)
{
	struct vb_sim_config c = {
	    .seed = sc->seed,
	    .topo = &run->topo,
	    .sw = sc->sw,
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

	c.hca.limits.rd_atomic = 128;
	if (watch) {
		c.trace_mask = watch->trace_mask;
		c.on_event = watch->on_event;
		c.on_packet = watch->on_packet;
		c.trace_ctx = watch->ctx;
	}
	return vb_sim_create(&run->sim, &c);
}

static int fault_put(struct vb_scenario_run *run, const struct vb_scenario_fault *f)
{
	int err = 0;

	if (f->host != UINT32_MAX)
		return vb_sim_set_host_fault(run->sim, f->host, &f->spec);
	if (f->link != UINT32_MAX)
		return vb_sim_set_cable_fault(run->sim, f->link, &f->spec);
	for (uint32_t i = 0; !err && i < run->topo.link_cnt; i++)
		err = vb_sim_set_cable_fault(run->sim, i, &f->spec);
	return err;
}

int vb_scenario_open(struct vb_scenario_run *run, const struct vb_scenario *sc,
		     const struct vb_scenario_watch *watch, char *err, size_t err_len)
{
	struct vb_load_config load = sc->load;
	char what[64];
	int bad;

	*run = (struct vb_scenario_run){.memory = {memory_alloc, memory_free, NULL}};
	bad = topology_make(&run->topo, &run->memory, &sc->topology);
	if (bad)
		return give_up(run, bad, "topology", err, err_len);
	bad = sim_make(run, sc, watch);
	if (bad == -EINVAL) {
		snprintf(err, err_len,
			 "switch: the buffer of %u bytes is smaller than the reserves "
			 "and headroom of its ports, or kmin is above kmax",
			 sc->sw.buffer.bytes);
		vb_scenario_close(run);
		return bad;
	}
	if (bad)
		return give_up(run, bad, "simulation", err, err_len);
	load.connections_max = load.flows_max;
	bad = vb_load_create(&run->load, run->sim, &load, &run->memory);
	if (bad)
		return give_up(run, bad, "transport", err, err_len);
	for (uint32_t i = 0; i < sc->fault_cnt; i++) {
		bad = fault_put(run, &sc->fault[i]);
		snprintf(what, sizeof what, "fault %u", i + 1);
		if (bad)
			return give_up(run, bad, what, err, err_len);
	}
	for (uint32_t i = 0; i < sc->pattern_cnt; i++) {
		bad = vb_load_add(run->load, &sc->pattern[i]);
		snprintf(what, sizeof what, "workload %u", i + 1);
		if (bad)
			return give_up(run, bad, what, err, err_len);
	}
	return 0;
}

void vb_scenario_close(struct vb_scenario_run *run)
{
	if (run->load)
		vb_load_destroy(run->load);
	if (run->sim)
		vb_sim_destroy(run->sim);
	vb_topo_free(&run->topo);
	*run = (struct vb_scenario_run){0};
}
