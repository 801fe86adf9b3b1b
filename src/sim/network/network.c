/* SPDX-License-Identifier: BSD-2-Clause */
/* The machines of a simulated network, made from a topology, and the faults of its cables. See
 * sim.h. */
#include "base/assert.h"
#include "sim/priv.h"

#include <errno.h>
#include <string.h>

#define RATE_MIN UINT64_C(1000000)
#define RATE_MAX UINT64_C(10000000000000)

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

/* Of a port, by the formula of PFC unless it is given. The longest frame: payload of the MTU behind
 * the longest headers. */
static uint32_t port_headroom(const struct vb_sim_config *c, uint64_t rate_bps, vb_dur delay)
{
	uint32_t mtu = vb_mtu_bytes(c->hca.port[1].active_mtu);
	uint32_t frame = VB_FRAME_OVERHEAD + 40 + 8 + VB_HDR_MAX + mtu + VB_ICRC_LEN;

	return c->sw.buffer.headroom_bytes ? c->sw.buffer.headroom_bytes
					   : vb_pfc_headroom(rate_bps, delay, frame);
}

uint64_t vb_sim_buffer_kept(const struct vb_sim_config *c)
{
	const struct vb_sim_topo *t = c->topo;
	uint64_t *kept = c->memory.alloc(c->memory.ctx, (t->switch_cnt + 1) * sizeof *kept);
	uint64_t most = 0;

	for (uint32_t i = 0; kept && i < 2 * t->link_cnt; i++) {
		const struct vb_sim_topo_link *l = &t->link[i / 2];
		uint32_t node = i & 1 ? l->b : l->a;

		if (node < t->host_cnt)
			continue;
		kept[node - t->host_cnt] += vb_switch_port_kept(
		    &c->sw.buffer, port_headroom(c, l->cable.rate_bps, l->cable.delay));
		most = kept[node - t->host_cnt] > most ? kept[node - t->host_cnt] : most;
	}
	c->memory.free(c->memory.ctx, kept);
	return most;
}

struct vb_cable_hooks *vb_sim_cable_hooks(struct vb_sim *s, struct vb_port *p)
{
	struct vb_cable_hooks *h = p->cable.hooks;

	if (h)
		return h;
	h = vb_sim_alloc(s, sizeof *h);
	if (!h)
		return NULL;
	*h = (struct vb_cable_hooks){
	    .pool = &vb_sim_of_port(s, p->id)->pool,
	    .dir = p->id & 1 ? VB_FAULT_RX : VB_FAULT_TX,
	    .tap = s->cfg.on_packet,
	    .ctx = s->cfg.trace_ctx,
	    .id = p->id,
	    .far_id = vb_sim_peer(p->id),
	};
	return p->cable.hooks = h;
}

static int port_create(struct vb_sim *s, uint32_t id)
{
	const struct vb_sim_topo *t = s->cfg.topo;
	const struct vb_cable *cable = &t->link[id / 2].cable;
	uint32_t node = vb_sim_node_at(t, id), far = vb_sim_node_at(t, vb_sim_peer(id));
	struct vb_port *p = &s->port[id];

	if (cable->rate_bps < RATE_MIN || cable->rate_bps > RATE_MAX ||
	    cable->delay > 1000 * VB_SEC || node == far || node >= s->host_cnt + s->switch_cnt)
		return -EINVAL;
	vb_port_init(p, cable->rate_bps, &s->ready);
	vb_cable_init(&p->cable, cable->delay, cable->mtu);
	p->id = id;
	p->at_host = node < s->host_cnt;
	p->to_host = far < s->host_cnt;
	p->rng = vb_rng_stream(s->cfg.seed, "red", id);
	p->headroom = port_headroom(&s->cfg, p->rate_bps, cable->delay);
	if ((cable->mtu || s->cfg.on_packet) && !vb_sim_cable_hooks(s, p))
		return -ENOMEM;
	return 0;
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

/* The algorithm of the adapters asks for records of switches, which those of Ethernet make. */
static bool needs_telemetry(const struct vb_sim_config *cfg)
{
	const struct vb_cc_choice *c = cfg->hca.choice;

	return c && c->algorithm && c->algorithm->needs & VERBENA_CC_NEEDS_INT && !cfg->ib.is_used;
}

void vb_sim_pool_init(struct vb_sim *s)
{
	size_t bytes = VB_HDR_MAX;

	if (s->cfg.carry_data)
		bytes += vb_mtu_bytes(s->cfg.hca.port[1].active_mtu) + VB_PAD_MAX;
	bytes += sizeof(struct vb_frame);
	if (needs_telemetry(&s->cfg)) {
		bytes = (bytes + 7) & ~(size_t)7;
		s->cfg.sw.telemetry_at = s->nics.telemetry_at = (uint32_t)bytes;
		bytes += sizeof(struct vb_telemetry);
	}
	s->pool = (struct vb_frame_pool){
	    .stride = (bytes + 63) & ~(size_t)63,
	    .max = s->cfg.packets_max,
	    .alloc = s->cfg.memory.alloc,
	    .release = s->cfg.memory.free,
	    .alloc_ctx = s->cfg.memory.ctx,
	};
	s->nics.pool = &s->pool;
	s->nics.carry_data = s->cfg.carry_data;
	s->nics.address = s->cfg.ib.is_used ? VB_SIM_LID : VB_SIM_ADDRESS;
	s->nics.cnt = s->host_cnt;
}

/* Where the first of what is aligned to @align is, whatever the allocator aligns to. */
static void *memory_align(void *mem, size_t align)
{
	return mem ? (char *)mem + (align - (uintptr_t)mem % align) % align : NULL;
}

int vb_sim_ports_create(struct vb_sim *s)
{
	int err = 0;

	s->port_mem = vb_sim_alloc(s, (s->port_cnt + 1) * sizeof *s->port);
	s->port = memory_align(s->port_mem, _Alignof(struct vb_port));
	if (!s->port)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < s->port_cnt; i++)
		err = port_create(s, i);
	return err;
}

void vb_sim_ports_destroy(struct vb_sim *s)
{
	for (uint32_t i = 0; s->port && i < s->port_cnt; i++) {
		struct vb_cable_hooks *h = s->port[i].cable.hooks;

		if (h && !(i & 1))
			vb_sim_free(s, h->fault);
		vb_sim_free(s, h);
	}
	vb_sim_free(s, s->port_mem);
}

int vb_sim_network_create(struct vb_sim *s)
{
	int err;

	vb_sim_pool_init(s);
	s->host_mem = vb_sim_alloc(s, (s->host_cnt + 1) * sizeof *s->host);
	s->host = memory_align(s->host_mem, _Alignof(struct vb_nic));
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
	return err || !s->cfg.ib.is_used ? err : vb_sim_ib_create(s);
}

void vb_sim_network_destroy(struct vb_sim *s)
{
	vb_sim_ib_destroy(s);
	vb_sim_subnets_destroy(s);
	for (uint32_t i = 0; s->host && i < s->host_cnt; i++)
		vb_nic_destroy(&s->host[i]);
	vb_sim_cut_destroy(s);
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
