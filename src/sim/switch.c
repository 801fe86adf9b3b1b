/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An output-queued switch: where a packet goes (ECMP by flow), whether there is room (shared
 * memory, drop-tail), whether it is marked (RED), and whether its sender is to pause (PFC). facts
 * C.4
 */
#include "sim/priv.h"

#include <errno.h>

/* Why a packet was dropped; argument of the DROPPED event. */
enum drop_why { DROP_BUFFER, DROP_QUEUE, DROP_NO_ROUTE };

/* Of a port, by the formula of PFC unless it is given. The longest frame: payload of the MTU behind
 * the longest headers. */
static uint32_t port_headroom(const struct vb_sim_config *c, uint64_t rate_bps, vb_dur delay)
{
	uint32_t mtu = vb_mtu_bytes(c->hca.port[1].active_mtu);
	uint32_t frame = VB_FRAME_OVERHEAD + 40 + 8 + VB_HDR_MAX + mtu + VB_ICRC_LEN;

	return c->sw.buffer.headroom_bytes ? c->sw.buffer.headroom_bytes
					   : vb_pfc_headroom(rate_bps, delay, frame);
}

/* What a port keeps for itself of its switch's memory. */
static uint64_t port_kept(const struct vb_buffer_config *c, uint32_t headroom)
{
	uint32_t lossless = (uint32_t)__builtin_popcount(c->lossless);

	return (uint64_t)headroom * lossless + (uint64_t)c->reserve_bytes * (lossless + 1);
}

uint64_t vb_sim_buffer_kept(const struct vb_sim_config *c)
{
	const struct vb_topo *t = c->topo;
	uint64_t *kept = c->memory.alloc(c->memory.ctx, (t->switch_cnt + 1) * sizeof *kept);
	uint64_t most = 0;

	for (uint32_t i = 0; kept && i < 2 * t->link_cnt; i++) {
		const struct vb_topo_link *l = &t->link[i / 2];
		uint32_t node = i & 1 ? l->b : l->a;

		if (node < t->host_cnt)
			continue;
		kept[node - t->host_cnt] +=
		    port_kept(&c->sw.buffer, port_headroom(c, l->cable.rate_bps, l->cable.delay));
		most = kept[node - t->host_cnt] > most ? kept[node - t->host_cnt] : most;
	}
	c->memory.free(c->memory.ctx, kept);
	return most;
}

int vb_switch_create(struct vb_sim *s, uint32_t idx)
{
	struct vb_sim_switch *sw = &s->sw[idx];
	const struct vb_buffer_config *c = &s->cfg.sw.buffer;
	uint64_t kept = 0;

	for (uint32_t i = 0; i < s->port_cnt; i++) {
		struct vb_sim_port *p = &s->port[i];

		if (p->owner != s->host_cnt + idx)
			continue;
		p->headroom = port_headroom(&s->cfg, p->rate_bps, p->delay);
		kept += port_kept(c, p->headroom);
	}
	if (kept >= c->bytes)
		return -EINVAL;
	sw->buffer.cfg = *c;
	sw->buffer.shared_total = c->bytes - kept;
	sw->trace = vb_sim_trace_of(s, s->host_cnt + idx);

	struct vb_rng r = vb_rng_stream(s->cfg.seed, "ecmp", idx);

	sw->salt = (uint32_t)vb_rng_next(&r);
	return 0;
}

struct vb_sim_port *vb_switch_route(const struct vb_sim *s, uint32_t idx,
				    const struct vb_sim_packet *pkt)
{
	const struct vb_sim_site *to = &s->site[pkt->dst];

	if (to->edge == idx)
		return &s->port[to->port];
	if (to->edge == VB_SIM_NONE)
		return NULL;

	const struct vb_sim_route *r = &s->route[(size_t)idx * s->switch_cnt + to->edge];

	if (r->cnt == 0)
		return NULL;

	/* Each switch mixes the hash its own way, so that the choices of two tiers are independent.
	 * Of one port it makes that one: as many packets have one as have a choice, in no order.
	 */
	uint32_t x = (pkt->hash ^ s->sw[idx].salt) * 0x9e3779b1u;

	x = (x ^ x >> 15) * 0x85ebca77u;
	x ^= x >> 13;
	return &s->port[s->route_ports[r->first + (uint32_t)((uint64_t)x * r->cnt >> 32)]];
}

static void drop(struct vb_sim *s, uint32_t idx, struct vb_sim_port *out, enum drop_why why,
		 struct vb_sim_packet *pkt)
{
	if (out) {
		out->stats.drops++;
		out->stats.drop_bytes += pkt->frame;
	}
	vb_trace(&s->sw[idx].trace, VB_TRACE_DROPPED, 0, s->now, out ? out->id : 0, why, pkt->frame,
		 out ? out->lane[pkt->prio].bytes : 0);
	vb_sim_pool_give(&s->pool, pkt);
}

static void mark(struct vb_sim *s, uint32_t idx, struct vb_sim_port *out, struct vb_sim_packet *pkt)
{
	uint32_t depth = out->lane[pkt->prio].bytes;

	if (!(s->cfg.sw.ecn >> pkt->prio & 1) || !(pkt->path.traffic_class & VB_ECN_MASK) ||
	    !vb_red_marks(&s->cfg.sw.red, depth, &out->rng))
		return;
	pkt->path.traffic_class |= VB_ECN_CE;
	out->stats.marks++;
	vb_trace(&s->sw[idx].trace, VB_TRACE_MARKED, 0, s->now, out->id, pkt->prio, depth, 0);
}

static void forward(struct vb_sim *s, uint32_t idx, struct vb_sim_port *in,
		    struct vb_sim_packet *pkt)
{
	struct vb_sim_port *out = vb_switch_route(s, idx, pkt);
	struct vb_buffer *buffer = &s->sw[idx].buffer;
	struct vb_buffer_account *a = &in->lane[pkt->prio].in;
	bool lossless = buffer->cfg.lossless >> pkt->prio & 1;

	if (!out) {
		drop(s, idx, NULL, DROP_NO_ROUTE, pkt);
		return;
	}
	out->stats.arrivals++;
	if (!lossless && s->cfg.sw.queue_bytes &&
	    out->lane[pkt->prio].bytes + pkt->frame > s->cfg.sw.queue_bytes) {
		drop(s, idx, out, DROP_QUEUE, pkt);
		return;
	}
	if (!vb_buffer_take(buffer, a, pkt->prio, in->headroom, pkt->frame, &pkt->in_headroom)) {
		drop(s, idx, out, DROP_BUFFER, pkt);
		return;
	}
	pkt->in = in->id;
	mark(s, idx, out, pkt);
	vb_port_enqueue(s, out, pkt);
	if (lossless && vb_buffer_wants_pause(buffer, a)) {
		a->paused = true;
		vb_port_pause_frame(s, in, pkt->prio, true);
	}
	vb_port_kick(s, out);
}

void vb_switch_receive(struct vb_sim *s, uint32_t idx, struct vb_sim_port *in,
		       struct vb_sim_packet *pkt)
{
	if (pkt->dst != VB_SIM_ALL) {
		forward(s, idx, in, pkt);
		return;
	}

	uint32_t from = vb_host_of(&pkt->path.sgid);

	for (uint32_t i = 0; i < s->host_cnt; i++) {
		struct vb_sim_packet *copy = i == from ? NULL : vb_packet_copy(s, pkt);

		if (!copy)
			continue;
		copy->dst = i;
		forward(s, idx, in, copy);
	}
	vb_sim_pool_give(&s->pool, pkt);
}

void vb_switch_release(struct vb_sim *s, uint32_t idx, struct vb_sim_packet *pkt)
{
	struct vb_buffer *buffer = &s->sw[idx].buffer;
	struct vb_sim_port *in = &s->port[pkt->in];
	struct vb_buffer_account *a = &in->lane[pkt->prio].in;

	vb_buffer_give(buffer, a, pkt->frame, pkt->in_headroom);
	if (vb_buffer_wants_resume(buffer, a)) {
		a->paused = false;
		vb_port_pause_frame(s, in, pkt->prio, false);
	}
}
