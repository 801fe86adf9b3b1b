/* SPDX-License-Identifier: BSD-2-Clause */
/* The machines of a simulated network, made from a topology, and the faults of its cables. See
 * sim.h. */
#include "base/assert.h"
#include "sim/parts.h"
#include "sim/priv.h"
#include "sim/window/window.h"

#include <errno.h>
#include <string.h>

static void on_trace(void *ctx, const struct vb_trace_event *ev)
{
	struct vb_sim *s = ctx;

	VB_ASSERT_ALL(ev->node < vb_sim_trace_nodes(s));
	if (s->cfg.digest)
		s->digest[ev->node] = vb_digest_event(s->digest[ev->node], ev);
	if (s->cfg.on_event && s->cfg.trace_mask >> ev->id & 1)
		s->cfg.on_event(s->cfg.trace_ctx, ev);
}

struct vb_trace vb_sim_trace_of(struct vb_sim *s, uint32_t node)
{
	return (struct vb_trace){
	    .mask = s->cfg.digest     ? UINT64_MAX
		    : s->cfg.on_event ? s->cfg.trace_mask
				      : 0,
	    .emit = on_trace,
	    .ctx = s,
	    .node = node,
	};
}
/* Each host has the one port of its cable. */
static int hosts_plug(struct vb_sim *s)
{
	for (uint32_t i = 0; i < s->port_cnt; i++) {
		struct vb_port *p = vb_sim_port(s, i);
		uint32_t node = vb_sim_node_at(s->cfg.topo, i);

		if (!p->at_host)
			continue;
		if (s->host[node].port)
			return -EINVAL;
		s->host[node].port = p;
	}
	return 0;
}

static uint32_t host_address(const struct vb_sim *s, uint32_t host)
{
	return s->cfg.ib.is_used ? vb_sim_lid(s, host) : VB_SIM_ADDRESS + host;
}

static int host_create(struct vb_sim *s, uint32_t host)
{
	struct vb_hca_config c = s->cfg.hca;
	struct vb_rng rng = vb_rng_stream(s->cfg.seed, "host", host);

	c.seed = vb_rng_next(&rng);
	c.trace = vb_sim_trace_of(s, host);
	c.alloc = s->cfg.memory.alloc;
	c.free = s->cfg.memory.free;
	c.alloc_ctx = s->cfg.memory.ctx;
	/* On a fabric each QP has a number of its own, by which a port knows copies of its own
	 * packets to groups. FAB-57 */
	if (s->cfg.ib.is_used) {
		c.qpn_stride = s->host_cnt;
		c.qpn_base = host;
	}
	if (s->cfg.ib.pkey)
		memcpy(c.port[1].pkey, s->cfg.ib.pkey + (size_t)host * VB_SIM_PKEYS,
		       VB_SIM_PKEYS * sizeof c.port[1].pkey[0]);
	return vb_nic_init(&s->host[host], &c, s->host[host].port, &vb_sim_of_node(s, host)->nics,
			   host_address(s, host), s->cfg.cqe);
}

static int switch_create(struct vb_sim *s, uint32_t idx, struct vb_port **port, uint32_t port_cnt)
{
	struct vb_switch *sw = &s->sw[idx];
	const struct vb_multipath_config *m = &s->cfg.sw.multipath;
	struct vb_rng r = vb_rng_stream(m->hash_seed ? m->hash_seed : s->cfg.seed, "ecmp",
					m->same_hash ? 0 : idx);
	int err = vb_switch_init(sw, &s->cfg.sw, port, port_cnt,
				 &vb_sim_of_node(s, s->host_cnt + idx)->pool);

	sw->trace = vb_sim_trace_of(s, s->host_cnt + idx);
	sw->forward.salt = (uint32_t)vb_rng_next(&r);
	return err;
}

/* Ports of a switch have numbers in the order of cables. */
static int switches_create(struct vb_sim *s)
{
	uint32_t *end = vb_sim_alloc(s, (s->switch_cnt + 1) * sizeof *end);
	uint32_t at = 0;
	int err = end ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < s->port_cnt; i++)
		if (!s->port[i].at_host)
			end[vb_sim_node_at(s->cfg.topo, i) - s->host_cnt]++;
	for (uint32_t i = 0; !err && i < s->switch_cnt; i++) {
		uint32_t cnt = end[i];

		end[i] = at;
		at += cnt;
	}
	for (uint32_t i = 0; !err && i < s->port_cnt; i++)
		if (!s->port[i].at_host) {
			s->switch_of[i] = vb_sim_node_at(s->cfg.topo, i) - s->host_cnt;
			s->switch_port[end[s->switch_of[i]]++] = vb_sim_port(s, i);
		}
	at = 0;
	for (uint32_t i = 0; !err && i < s->switch_cnt; i++) {
		err = switch_create(s, i, s->switch_port + at, end[i] - at);
		VB_ASSERT_ALL(end[i] >= at && end[i] <= s->port_cnt);
		at = end[i];
	}
	vb_sim_free(s, end);
	return err;
}
int vb_sim_network_create(struct vb_sim *s)
{
	int err;

	vb_sim_pool_init(s);
	s->host_mem = vb_sim_alloc(s, (s->host_cnt + 1) * sizeof *s->host);
	s->host = vb_sim_align(s->host_mem, _Alignof(struct vb_nic));
	s->sw = vb_sim_alloc(s, (s->switch_cnt + 1) * sizeof *s->sw);
	s->switch_port = vb_sim_alloc(s, (s->port_cnt + 1) * sizeof(struct vb_port *));
	s->switch_of = vb_sim_alloc(s, (s->port_cnt + 1) * sizeof *s->switch_of);
	s->digest = vb_sim_alloc(s, vb_sim_trace_nodes(s) * sizeof *s->digest);
	if (!s->digest || !s->host || !s->sw || !s->switch_port || !s->switch_of)
		return -ENOMEM;
	err = vb_sim_ports_create(s);
	if (!err)
		err = vb_sim_cut_create(s);
	if (!err)
		err = hosts_plug(s);
	if (!err)
		err = vb_sim_subnets_create(s);
	if (s->subnets)
		s->nics.cnt = s->subnets->lid_cap - VB_SIM_LID;
	for (uint32_t i = 0; !err && i < s->host_cnt; i++)
		err = s->host[i].port ? host_create(s, i) : -EINVAL;
	if (!err)
		err = switches_create(s);
	if (!err)
		err = vb_sim_routes_create(s);
	if (!err)
		err = vb_sim_trees_create(s);
	if (!err)
		vb_sim_cut_share(s);
	if (!err && s->cfg.ib.is_used)
		return vb_sim_ib_create(s);
	for (uint32_t i = 0; !err && i < vb_sim_part_cnt(s); i++)
		err = vb_sim_apart_create(s->cut ? s->cut->part[i] : s);
	return err;
}

void vb_sim_network_destroy(struct vb_sim *s)
{
	vb_sim_ib_destroy(s);
	vb_sim_subnets_destroy(s);
	for (uint32_t i = 0; s->host && i < s->host_cnt; i++)
		vb_nic_destroy(&s->host[i]);
	vb_sim_cut_destroy(s);
	vb_sim_apart_destroy(s);
	vb_sim_ports_destroy(s);
	vb_frame_pool_destroy(&s->pool);
	vb_sim_free(s, s->map.site);
	vb_sim_free(s, s->hop_set);
	vb_sim_free(s, s->hop);
	vb_sim_free(s, s->tree);
	vb_sim_free(s, s->multipath);
	vb_sim_free(s, s->change);
	vb_sim_free(s, s->host_mem);
	vb_sim_free(s, s->sw);
	vb_sim_free(s, s->switch_port);
	vb_sim_free(s, s->switch_of);
	vb_sim_free(s, s->digest);
}

static int fault_set(struct vb_sim *s, uint32_t link, const struct vb_fault_spec *spec)
{
	struct vb_cable_hooks *a = vb_sim_cable_hooks(s, vb_sim_port(s, 2 * link)),
			      *b = vb_sim_cable_hooks(s, vb_sim_port(s, 2 * link + 1));
	struct vb_cable_fault *f = NULL;

	if (!a || !b)
		return -ENOMEM;
	if (a->leave)
		return -EXDEV;
	vb_sim_apart_end(vb_sim_of_port(s, 2 * link));
	if (spec) {
		f = vb_sim_alloc(s, sizeof *f);
		if (!f)
			return -ENOMEM;
		vb_fault_init(&f->layer, spec, s->cfg.seed, link, s->now);
		f->trace = vb_sim_trace_of(s, s->host_cnt + s->switch_cnt + link);
		f->layer.trace = &f->trace;
	}
	vb_sim_free(s, a->fault);
	a->fault = b->fault = f;
	return 0;
}

static struct vb_cable_fault *fault_at(const struct vb_sim *s, uint32_t link)
{
	const struct vb_cable_hooks *h = vb_sim_port(s, 2 * link)->cable.hooks;

	return h ? h->fault : NULL;
}

int vb_sim_set_cable_fault(struct vb_sim *s, uint32_t link, const struct vb_fault_spec *spec)
{
	return link < s->port_cnt / 2 ? fault_set(s, link, spec) : -EINVAL;
}

int vb_sim_add_cable_fault(struct vb_sim *s, uint32_t link, const struct vb_fault_spec *spec)
{
	const struct vb_cable_fault *there;
	struct vb_fault_spec sum = {.rule_cnt = 0};

	if (link >= s->port_cnt / 2)
		return -EINVAL;
	there = fault_at(s, link);
	if (there)
		sum = there->layer.spec;
	if (spec->rule_cnt > VB_FAULT_RULES_MAX - sum.rule_cnt)
		return -E2BIG;
	memcpy(sum.rule + sum.rule_cnt, spec->rule, spec->rule_cnt * sizeof spec->rule[0]);
	sum.rule_cnt += spec->rule_cnt;
	return fault_set(s, link, &sum);
}

const struct vb_fault *vb_sim_cable_fault(const struct vb_sim *s, uint32_t link)
{
	const struct vb_cable_fault *f = fault_at(s, link);

	return f ? &f->layer : NULL;
}
