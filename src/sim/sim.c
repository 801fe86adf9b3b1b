/* SPDX-License-Identifier: BSD-2-Clause */
/* A simulation from creation to end: the loop over machines in virtual time. See sim.h. */
#include "sim/priv.h"

#include <errno.h>

#define RATE_MIN UINT64_C(1000000)
#define RATE_MAX UINT64_C(10000000000000)

void vb_sim_on_trace(void *ctx, const struct vb_trace_event *ev)
{
	struct vb_sim *s = ctx;

	if (s->cfg.digest)
		vb_digest_event(&s->digest, ev);
	if (s->cfg.on_event && s->cfg.trace_mask >> ev->id & 1)
		s->cfg.on_event(s->cfg.trace_ctx, ev);
}

struct vb_trace vb_sim_trace_of(struct vb_sim *s, uint32_t node)
{
	return (struct vb_trace){
	    .mask = s->cfg.digest     ? UINT64_MAX
		    : s->cfg.on_event ? s->cfg.trace_mask
				      : 0,
	    .emit = vb_sim_on_trace,
	    .ctx = s,
	    .node = node,
	};
}

struct vb_sim_packet *vb_sim_packet_take(struct vb_sim *s)
{
	struct vb_sim_packet *pkt = vb_sim_pool_take(&s->pool);

	if (!pkt)
		s->failure = -ENOMEM;
	return pkt;
}

static void pool_init(struct vb_sim *s)
{
	size_t bytes = VB_HDR_MAX;

	if (s->cfg.carry_data)
		bytes += vb_mtu_bytes(s->cfg.hca.port[1].active_mtu) + VB_PAD_MAX;
	s->pool = (struct vb_sim_pool){
	    .stride = (sizeof(struct vb_sim_packet) + bytes + 63) & ~(size_t)63,
	    .max = s->cfg.packets_max,
	    .alloc = s->cfg.memory.alloc,
	    .release = s->cfg.memory.free,
	    .alloc_ctx = s->cfg.memory.ctx,
	};
}

static int port_create(struct vb_sim *s, uint32_t id, const struct vb_topo_link *l)
{
	struct vb_sim_port *p = &s->port[id];

	if (l->cable.rate_bps < RATE_MIN || l->cable.rate_bps > RATE_MAX ||
	    l->cable.delay > 1000 * VB_SEC || l->a == l->b)
		return -EINVAL;
	p->id = id;
	p->owner = id & 1 ? l->b : l->a;
	p->rate_bps = l->cable.rate_bps;
	p->delay = l->cable.delay;
	p->mtu = l->cable.mtu;
	p->to_host = (id & 1 ? l->a : l->b) < s->host_cnt;
	p->pull_at = p->flight.at = VB_NEVER;
	p->rng = vb_rng_stream(s->cfg.seed, "red", id);
	if (p->owner >= s->host_cnt + s->switch_cnt)
		return -EINVAL;
	if (p->owner < s->host_cnt) {
		if (s->host[p->owner].port != VB_SIM_NONE)
			return -EINVAL;
		s->host[p->owner].port = id;
	}
	return 0;
}

static int network_create(struct vb_sim *s)
{
	const struct vb_topo *t = s->cfg.topo;
	int err = 0;

	for (uint32_t i = 0; i < s->host_cnt; i++)
		s->host[i].port = VB_SIM_NONE;
	for (uint32_t i = 0; !err && i < s->port_cnt; i++)
		err = port_create(s, i, &t->link[i / 2]);
	for (uint32_t i = 0; !err && i < s->host_cnt; i++) {
		if (s->host[i].port == VB_SIM_NONE)
			return -EINVAL;

		uint32_t port = vb_sim_peer(s->host[i].port), node = s->port[port].owner;

		s->site[i] = (struct vb_sim_site){
		    node < s->host_cnt ? VB_SIM_NONE : node - s->host_cnt, port};
		err = vb_host_create(s, i);
	}
	for (uint32_t i = 0; !err && i < s->switch_cnt; i++)
		err = vb_switch_create(s, i);
	return err ? err : vb_routes_create(s);
}

int vb_sim_create(struct vb_sim **out, const struct vb_sim_config *cfg)
{
	const struct vb_sim_memory *m = &cfg->memory;
	uint32_t machines = cfg->topo->host_cnt + 2 * cfg->topo->link_cnt + 1;

	if (cfg->cqe == 0 || cfg->packets_max == 0 || cfg->hca.port[1].active_mtu < VB_MTU_256 ||
	    cfg->hca.port[1].active_mtu > VB_MTU_4096 || cfg->sw.red.kmin > cfg->sw.red.kmax ||
	    cfg->sw.red.pmax_ppm > 1000000)
		return -EINVAL;

	struct vb_sim *s = m->alloc(m->ctx, sizeof *s);

	if (!s)
		return -ENOMEM;
	s->cfg = *cfg;
	s->host_cnt = cfg->topo->host_cnt;
	s->switch_cnt = cfg->topo->switch_cnt;
	s->port_cnt = 2 * cfg->topo->link_cnt;
	s->dirty_first = VB_SIM_NONE;
	s->host = vb_sim_alloc(s, s->host_cnt * sizeof *s->host);
	s->site = vb_sim_alloc(s, s->host_cnt * sizeof *s->site);
	s->sw = vb_sim_alloc(s, (s->switch_cnt + 1) * sizeof *s->sw);
	s->port_mem = vb_sim_alloc(s, (s->port_cnt + 1) * sizeof *s->port);
	if (s->port_mem) /* whatever the allocator aligns to */
		s->port = (struct vb_sim_port *)(((uintptr_t)s->port_mem +
						  _Alignof(struct vb_sim_port) - 1) /
						 _Alignof(struct vb_sim_port) *
						 _Alignof(struct vb_sim_port));
	pool_init(s);

	void *heap = vb_sim_alloc(s, vb_eventq_size(machines));
	int err = -ENOMEM;

	if (heap)
		vb_eventq_init(&s->events, heap, machines);
	s->eventq_mem = heap;
	if (s->host && s->site && s->sw && s->port && heap)
		err = network_create(s);
	if (err) {
		vb_sim_destroy(s);
		return err;
	}
	s->cfg.topo = NULL; /* the caller's */
	*out = s;
	return 0;
}

void vb_sim_destroy(struct vb_sim *s)
{
	for (uint32_t i = 0; s->host && i < s->host_cnt; i++) {
		if (s->host[i].hca)
			vb_hca_destroy(s->host[i].hca);
	}
	for (uint32_t i = 0; s->port && i < s->port_cnt; i += 2)
		vb_sim_free(s, s->port[i].fault);
	vb_sim_pool_destroy(&s->pool);
	vb_sim_free(s, s->eventq_mem);
	vb_sim_free(s, s->route);
	vb_sim_free(s, s->route_ports);
	vb_sim_free(s, s->host);
	vb_sim_free(s, s->site);
	vb_sim_free(s, s->sw);
	vb_sim_free(s, s->port_mem);
	s->cfg.memory.free(s->cfg.memory.ctx, s);
}

void vb_sim_set_app(struct vb_sim *s, const struct vb_sim_app *app)
{
	s->app = *app;
}

static uint32_t timer_id(const struct vb_sim *s)
{
	return s->host_cnt + s->port_cnt;
}

void vb_sim_set_timer(struct vb_sim *s, vb_time at)
{
	vb_eventq_set(&s->events, timer_id(s), at < s->now ? s->now : at);
}

void vb_sim_touch(struct vb_sim *s, uint32_t host)
{
	vb_host_mark(s, host);
}

/* How many turns ahead each step of look_ahead() is. The lines of ports have many turns to come in,
 * those of packets and QPs would be gone again. */
enum { AHEAD_WAY, AHEAD_PACKET, AHEAD_PORT = 9 };

/* The port behind a machine number, or NULL. */
static const struct vb_sim_port *port_of(const struct vb_sim *s, uint32_t id)
{
	return id - s->host_cnt < s->port_cnt ? &s->port[id - s->host_cnt] : NULL;
}

/* The lines of a port that a packet touches on its way out. */
static inline void look_at_queues(const struct vb_sim_port *p)
{
	__builtin_prefetch(&p->busy_until);
	__builtin_prefetch(&p->rate_bps);
	__builtin_prefetch(&p->depth);
	__builtin_prefetch(&p->lane[0]);
}

/* The lines of a port that a hop touches, and of the other end, where what arrives comes in. */
static void look_at_port(const struct vb_sim *s, const struct vb_sim_port *p)
{
	const struct vb_sim_port *in = &s->port[vb_sim_peer(p->id)];

	look_at_queues(p);
	__builtin_prefetch(&in->rate_bps);
	__builtin_prefetch(&in->lane[0]);
}

/* What arrives and what waits there. */
static void look_at_packets(const struct vb_sim_port *p)
{
	__builtin_prefetch(p->flight.next);
	__builtin_prefetch(p->lane[0].fifo.head);
	if (p->to_host)
		__builtin_prefetch((const char *)p->flight.next + 64);
}

/* Where what arrives goes: to another port, or into an adapter, which says where it will look, as
 * one that sends does. */
static void look_at_way(const struct vb_sim *s, const struct vb_sim_port *p)
{
	const struct vb_sim_packet *pkt = p->flight.next;

	if (p->pull_at <= p->flight.at && p->owner < s->host_cnt)
		vb_hca_expect_transmit(s->host[p->owner].hca);
	if (!pkt || p->flight.at > p->pull_at || pkt->kind != VB_SIM_ROCE)
		return;

	uint32_t node = s->port[vb_sim_peer(p->id)].owner;

	if (node < s->host_cnt) {
		vb_hca_expect_packet(s->host[node].hca, pkt->bytes, pkt->hdr_len);
	} else if (pkt->dst != VB_SIM_ALL) {
		const struct vb_sim_port *out = vb_switch_route(s, node - s->host_cnt, pkt);

		if (out)
			look_at_queues(out);
	}
}

/*
 * Brings into the cache what the machines next in line at this instant will touch. Each step needs
 * what the step before has brought, and has a machine's time or two: the port, then the packets
 * that arrive there and wait there, then the QP or the port that those go to.
 */
static void look_ahead(const struct vb_sim *s)
{
	const struct vb_eventq *q = &s->events;
	const struct vb_sim_port *p;

	/* As a short line begins, those that are seen for the first time, or were long ago. */
	for (uint32_t i = vb_eventq_news(q) < AHEAD_PORT ? 0 : AHEAD_PORT; i <= AHEAD_PORT; i++) {
		if ((p = port_of(s, vb_eventq_ahead(q, i))) != NULL)
			look_at_port(s, p);
	}
	if ((p = port_of(s, vb_eventq_ahead(q, AHEAD_PACKET))) != NULL)
		look_at_packets(p);
	if ((p = port_of(s, vb_eventq_ahead(q, AHEAD_WAY))) != NULL)
		look_at_way(s, p);
}

/* The first machine in line does what is due. */
static void event_run(struct vb_sim *s)
{
	uint32_t id = vb_eventq_take(&s->events);

	s->now = s->events.now;
	s->event_cnt++;
	look_ahead(s);
	if (id < s->host_cnt) {
		vb_host_timeout(s, id);
	} else if (id < timer_id(s)) {
		vb_port_run(s, &s->port[id - s->host_cnt]);
	} else {
		if (s->app.on_timer)
			s->app.on_timer(s->app.ctx, s->now);
	}
	if (s->dirty_first != VB_SIM_NONE)
		vb_hosts_settle(s);
}

bool vb_sim_step(struct vb_sim *s)
{
	vb_hosts_settle(s);
	if (vb_eventq_next(&s->events) == VB_NEVER || s->failure)
		return false;
	event_run(s);
	return true;
}

int vb_sim_run(struct vb_sim *s, vb_time until)
{
	s->stop = false;
	vb_hosts_settle(s);
	while (!s->failure && !s->stop) {
		vb_time next = vb_eventq_next(&s->events);

		if (next > until || next == VB_NEVER)
			break;
		event_run(s);
	}
	if (!s->failure && !s->stop && until != VB_NEVER && s->now < until)
		s->now = until;
	return s->failure;
}

void vb_sim_stop(struct vb_sim *s)
{
	s->stop = true;
}

static int fault_set(struct vb_sim *s, uint32_t link, const struct vb_fault_spec *spec)
{
	struct vb_sim_port *a = &s->port[2 * link], *b = &s->port[2 * link + 1];
	struct vb_sim_cable_fault *f = NULL;

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

int vb_sim_set_cable_fault(struct vb_sim *s, uint32_t link, const struct vb_fault_spec *spec)
{
	return link < s->port_cnt / 2 ? fault_set(s, link, spec) : -EINVAL;
}

int vb_sim_add_cable_fault(struct vb_sim *s, uint32_t link, const struct vb_fault_spec *spec)
{
	const struct vb_sim_cable_fault *there;
	struct vb_fault_spec sum = {.rule_cnt = 0};

	if (link >= s->port_cnt / 2)
		return -EINVAL;
	there = s->port[2 * link].fault;
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
	const struct vb_sim_cable_fault *f = s->port[2 * link].fault;

	return f ? &f->layer : NULL;
}
