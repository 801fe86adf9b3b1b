/* SPDX-License-Identifier: BSD-2-Clause */
/* The ports of a simulated network with their cables, and the pool of its frames: of a whole
 * network or of a part of it. See sim.h. */
#include "base/assert.h"
#include "sim/priv.h"

#include <errno.h>
#include <string.h>

#define RATE_MIN UINT64_C(1000000)
#define RATE_MAX UINT64_C(10000000000000)

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
void *vb_sim_align(void *mem, size_t align)
{
	return mem ? (char *)mem + (align - (uintptr_t)mem % align) % align : NULL;
}

int vb_sim_ports_create(struct vb_sim *s)
{
	int err = 0;

	s->port_mem = vb_sim_alloc(s, (s->port_cnt + 1) * sizeof *s->port);
	s->port = vb_sim_align(s->port_mem, _Alignof(struct vb_port));
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
