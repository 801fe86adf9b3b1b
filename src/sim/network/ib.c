/* SPDX-License-Identifier: BSD-2-Clause */
/* The InfiniBand of a simulated network: its ports and switches, and who looks for deadlocks. */
#include "sim/priv.h"

#include <errno.h>
#include <string.h>

#define PORTS_MAX 254u
#define HOSTS_MAX 49000u /* unicast LIDs */
/* A symbol is 8 bits on each of the lanes of a 4X link: in ps at 1 bit/s. */
#define SYMBOL_PS (8 * 4 * UINT64_C(1000000000000))
#define HEADERS_MAX (31 * 4 + VB_VCRC_LEN)
#define WEIGHT_ALIKE 16    /* blocks of each lane where nothing is said */
#define WATCH_NS 50000u    /* from one look for deadlocks to the next */
#define LIMIT_BLOCKS 2047u /* that credits can count at once. IBA 7.9.4.3 */

static struct vb_ib_end *end_of(const struct vb_sim *s, const struct vb_port *p)
{
	return p->at_host ? ((struct vb_nic *)p->owner)->ib
			  : &s->ib->sw[s->switch_of[p->id]].end[p->number];
}

static void arbiter_fill(struct vb_arbiter *a, const struct vb_sim_ib_config *c)
{
	for (uint32_t t = VB_ARB_HIGH; t < VB_ARB_PRIORITY_CNT; t++) {
		struct vb_arb_entry entry[VB_VL_DATA_MAX];
		uint32_t cnt = 0;

		for (uint32_t vl = 0; vl < c->lanes; vl++)
			if (c->weight[t][vl])
				entry[cnt++] = (struct vb_arb_entry){(uint8_t)vl, c->weight[t][vl]};
		/* Each lane has to be in some table, or it would never send. */
		for (uint32_t vl = 0; t == VB_ARB_LOW && vl < c->lanes; vl++)
			if (!c->weight[VB_ARB_LOW][vl] && !c->weight[VB_ARB_HIGH][vl])
				entry[cnt++] = (struct vb_arb_entry){(uint8_t)vl, WEIGHT_ALIKE};
		vb_arbiter_set_table(a, t, entry, cnt);
	}
	a->high_limit = c->high_limit;
}

/* At a switch, and at no router: packets have no life there in live fabrics either. */
static bool is_at_switch(const struct vb_sim *s, const struct vb_port *line)
{
	return !line->at_host && !vb_sim_is_router(s, s->switch_of[line->id]);
}

static void end_create(struct vb_sim *s, struct vb_ib_end *e, struct vb_port *line)
{
	const struct vb_sim_ib_config *c = &s->cfg.ib;
	struct vb_ib_port_config p = {
	    .mtu = vb_mtu_bytes(s->cfg.hca.port[1].active_mtu),
	    .data_cnt = c->lanes,
	    .symbol_ps = SYMBOL_PS / line->rate_bps,
	    .hoq_life = c->hoq_life,
	    .lifetime = c->lifetime > VB_HOQ_LIFE_MAX ? 0 : vb_ib_life(c->lifetime),
	    .stall_count = c->stall_count,
	    .is_switch = is_at_switch(s, line),
	    .cuts_through = c->cut_through && !line->at_host};

	p.symbol_ps += p.symbol_ps == 0;
	for (uint32_t vl = 0; vl < VB_VL_CNT; vl++)
		p.capacity[vl] = c->lane_bytes / VB_BLOCK_LEN < LIMIT_BLOCKS
				     ? c->lane_bytes / VB_BLOCK_LEN
				     : LIMIT_BLOCKS;
	vb_ib_end_init(e, &p, line, &s->pool);
	arbiter_fill(&e->port.arbiter, c);
	e->flow_loss_ppm = c->flow_loss_ppm;
	e->rng = vb_rng_stream(s->cfg.seed, "flow", line->id);
	e->hop = VB_IB_NO_HOP;
	vb_ib_end_set_link(e, true, 0);
	/* It says how much room it has. */
	(void)vb_ready_take(&s->ready);
	line->pull_at = 0;
	vb_eventq_set(&s->events, s->host_cnt + line->id, 0);
}

static void map_fill(struct vb_sl2vl *m, const struct vb_sim_ib_config *c)
{
	for (uint32_t sl = 0; sl < VB_SL_CNT; sl++)
		m->vl[sl] = (uint8_t)(c->lane_of_sl[sl] ? c->lane_of_sl[sl] - 1u : sl % c->lanes);
}

static void hosts_create(struct vb_sim *s)
{
	s->nics.sl2vl = s->ib->sl2vl;
	if (s->cfg.ib.routes && s->cfg.ib.routes->host_sl2vl) {
		s->nics.sl2vl = s->cfg.ib.routes->host_sl2vl;
		s->nics.sl2vl_step = 1;
	}
	for (uint32_t i = 0; i < s->host_cnt; i++) {
		end_create(s, &s->ib->end[i], s->host[i].port);
		vb_nic_set_infiniband(&s->host[i], &s->ib->end[i]);
	}
}

/* The most ports that a switch has. */
static uint32_t ports_max(const struct vb_sim *s)
{
	uint32_t most = 1;

	for (uint32_t i = 0; i < s->switch_cnt; i++)
		most = s->sw[i].port_cnt > most ? s->sw[i].port_cnt : most;
	return most;
}

static void switches_create(struct vb_sim *s)
{
	const struct vb_sim_ib_routes *routes = s->cfg.ib.routes;
	struct vb_sim_ib *ib = s->ib;
	struct vb_ib_end *e = ib->end + s->host_cnt;
	uint32_t lids = vb_sim_lid_cap(s);

	for (uint32_t i = 0; i < s->switch_cnt; i++) {
		uint32_t ports = s->sw[i].port_cnt;

		for (uint32_t p = 0; p < ports; p++)
			end_create(s, &e[p], s->sw[i].port[p]);
		vb_ib_switch_init(&ib->sw[i], e, ports);
		ib->sw[i].damage_ppm = s->cfg.ib.damage_ppm;
		ib->sw[i].rng = vb_rng_stream(s->cfg.seed, "damage", i);
		ib->sw[i].sl2vl = routes && routes->sl2vl ? routes->sl2vl[i] : ib->sl2vl;
		ib->sw[i].forward = (struct vb_lid_forward){.unicast = ib->lft + (size_t)i * lids,
							    .unicast_cap = (uint16_t)lids,
							    .unicast_top = (uint16_t)(lids - 1)};
		if (vb_sim_is_router(s, i))
			ib->sw[i].router = &s->subnets->router[i - s->subnets->router_first];
		e += ports;
	}
}

static void hops_create(struct vb_sim *s)
{
	struct vb_sim_ib *ib = s->ib;

	for (uint32_t i = 0; i < s->port_cnt; i++) {
		const struct vb_port *p = &s->port[i], *far = &s->port[vb_sim_peer(i)];

		if (p->at_host || far->at_host)
			continue;
		end_of(s, p)->hop = ib->hop_cnt;
		ib->hop[ib->hop_cnt++] =
		    (struct vb_ib_hop){&ib->sw[s->switch_of[p->id]], p->number,
				       &ib->sw[s->switch_of[far->id]], far->number};
	}
}

static bool config_is_good(const struct vb_sim *s)
{
	const struct vb_sim_ib_config *c = &s->cfg.ib;
	uint32_t packet = vb_mtu_bytes(s->cfg.hca.port[1].active_mtu) + HEADERS_MAX;

	return c->lanes >= 1 && c->lanes <= VB_VL_DATA_MAX && s->host_cnt <= HOSTS_MAX &&
	       ports_max(s) <= PORTS_MAX && c->lane_bytes / VB_BLOCK_LEN >= vb_blocks(packet);
}

static int congestion_create(struct vb_sim *s)
{
	struct vb_sim_ib *ib = s->ib;

	ib->source = vb_sim_alloc(s, s->host_cnt * sizeof *ib->source);
	ib->marker = vb_sim_alloc(s, (s->port_cnt + 1) * sizeof *ib->marker);
	return ib->source && ib->marker ? 0 : -ENOMEM;
}

/* Sources of hosts, and their adapters know the same; markers of the ports of switches; routers
 * make no marks. */
static int congestion_give(struct vb_sim *s)
{
	struct vb_sim_ib *ib = s->ib;
	struct vb_ib_marker *m = ib->marker;
	int err = 0;

	for (uint32_t i = 0; !err && ib->source && i < s->host_cnt; i++) {
		const struct vb_cct_rules rules = {.table = s->cfg.ib.cct,
						   .rate_bps = s->host[i].port->rate_bps};

		ib->end[i].source = &ib->source[i];
		ib->end[i].cct = &s->cfg.ib.cct;
		ib->end[i].inject_at = VB_NEVER;
		err = vb_hca_set_port_cct(s->host[i].hca, 1, &rules);
	}
	for (uint32_t i = 0; ib->marker && i < s->switch_cnt; i++) {
		for (uint32_t p = 0; p < ib->sw[i].port_cnt && !vb_sim_is_router(s, i); p++)
			ib->sw[i].end[p].congestion = &s->cfg.ib.congestion;
		ib->sw[i].marker = m;
		m += ib->sw[i].port_cnt;
	}
	return err;
}

/* P_Keys at the ports of switches that lead to hosts: those of the host. LNK-37 */
static int gates_create(struct vb_sim *s)
{
	struct vb_sim_ib *ib = s->ib;
	uint32_t enforce = s->cfg.ib.enforce, n = 0;

	if (!ib->pkey || enforce == VB_SIM_ENFORCE_OFF)
		return 0;
	ib->gate = vb_sim_alloc(s, (s->port_cnt + 1) * sizeof *ib->gate);
	if (!ib->gate)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->switch_cnt; i++) {
		ib->sw[i].gate = &ib->gate[n];
		for (uint32_t p = 0; p < s->sw[i].port_cnt; p++, n++) {
			const struct vb_port *port = s->sw[i].port[p];
			const struct vb_port *far = &s->port[vb_sim_peer(port->id)];
			uint32_t host;

			if (!port->to_host)
				continue;
			host = vb_sim_host_number(s, (const struct vb_nic *)far->owner);
			ib->gate[n] =
			    (struct vb_ib_gate){.pkey = ib->pkey + (size_t)host * VB_SIM_PKEYS,
						.pkey_cnt = VB_SIM_PKEYS,
						.enforces_in = enforce != VB_SIM_ENFORCE_OUT,
						.enforces_out = enforce != VB_SIM_ENFORCE_IN};
		}
	}
	return 0;
}

int vb_sim_ib_create(struct vb_sim *s)
{
	size_t most = ports_max(s), lids = vb_sim_lid_cap(s);
	struct vb_sim_ib *ib;
	int err;

	if (!config_is_good(s))
		return -EINVAL;
	ib = s->ib = vb_sim_alloc(s, sizeof *ib);
	if (!ib)
		return -ENOMEM;
	ib->deadlock_at = VB_NEVER;
	ib->end = vb_sim_alloc(s, (s->host_cnt + s->port_cnt) * sizeof *ib->end);
	ib->sw = vb_sim_alloc(s, (s->switch_cnt + 1) * sizeof *ib->sw);
	ib->lft = vb_sim_alloc(s, (s->switch_cnt + 1) * lids);
	ib->sl2vl = vb_sim_alloc(s, most * most * sizeof *ib->sl2vl);
	ib->hop = vb_sim_alloc(s, (s->port_cnt + 1) * sizeof *ib->hop);
	ib->scratch = vb_sim_alloc(s, (s->port_cnt + 1) * VB_VL_CNT);
	if (s->cfg.ib.congestion.threshold && congestion_create(s))
		return -ENOMEM;
	if (s->cfg.ib.pkey) {
		size_t bytes = (size_t)s->host_cnt * VB_SIM_PKEYS * sizeof *ib->pkey;

		ib->pkey = vb_sim_alloc(s, bytes);
		if (!ib->pkey)
			return -ENOMEM;
		memcpy(ib->pkey, s->cfg.ib.pkey, bytes);
	}
	if (!ib->end || !ib->sw || !ib->lft || !ib->sl2vl || !ib->hop || !ib->scratch)
		return -ENOMEM;
	for (size_t i = 0; i < most * most; i++)
		map_fill(&ib->sl2vl[i], &s->cfg.ib);
	hosts_create(s);
	switches_create(s);
	hops_create(s);
	err = congestion_give(s);
	if (err || gates_create(s))
		return err ? err : -ENOMEM;
	vb_eventq_set(&s->events, vb_sim_watch_id(s), WATCH_NS);
	err = vb_sim_subnets_check(s);
	return err ? err : vb_sim_ib_route(s);
}

void vb_sim_ib_destroy(struct vb_sim *s)
{
	struct vb_sim_ib *ib = s->ib;

	if (!ib)
		return;
	vb_sim_free(s, ib->end);
	vb_sim_free(s, ib->sw);
	vb_sim_free(s, ib->lft);
	vb_sim_free(s, ib->sl2vl);
	vb_sim_free(s, ib->hop);
	vb_sim_free(s, ib->layer);
	vb_sim_free(s, ib->scratch);
	vb_sim_free(s, ib->pkey);
	vb_sim_free(s, ib->gate);
	vb_sim_free(s, ib->mft);
	vb_sim_free(s, ib->member);
	vb_sim_free(s, ib->source);
	vb_sim_free(s, ib->marker);
	vb_sim_free(s, ib);
}

void vb_sim_ib_set_link(struct vb_sim *s, const struct vb_port *p, bool up)
{
	if (p->at_host)
		vb_nic_set_link((struct vb_nic *)p->owner, up, s->now);
	else
		vb_ib_switch_set_link(&s->ib->sw[s->switch_of[p->id]], p->number, up, s->now);
}

void vb_sim_ib_watch(struct vb_sim *s)
{
	struct vb_sim_ib *ib = s->ib;

	if (ib->deadlock_at == VB_NEVER &&
	    vb_deadlock_find(ib->hop, ib->hop_cnt, ib->scratch, &ib->deadlock)) {
		ib->deadlock_at = s->now;
		for (uint32_t i = 0; i < ib->deadlock.cnt && i < VB_DEADLOCK_LANES_MAX; i++) {
			const struct vb_ib_hop *h = &ib->hop[ib->deadlock.lane[i].hop];

			ib->deadlock.lane[i].hop = h->sw->end[h->port].line->id;
		}
	}
	vb_eventq_set(&s->events, vb_sim_watch_id(s), s->now + WATCH_NS);
}

bool vb_sim_ib_is_over(const struct vb_sim *s)
{
	/* Packets with a life leave a deadlock in the end. */
	if (s->ib->deadlock_at != VB_NEVER && s->cfg.ib.hoq_life > VB_HOQ_LIFE_MAX &&
	    s->cfg.ib.lifetime > VB_HOQ_LIFE_MAX)
		return true;
	return s->pool.used == s->pool.flow && s->waiting_cnt == 0 && s->timer_at == VB_NEVER &&
	       s->turn_at == VB_NEVER && s->change_cnt == 0;
}

static void router_stats(const struct vb_sim *s, uint32_t port, struct vb_sim_ib_stats *st)
{
	const struct vb_ib_end *e = end_of(s, &s->port[port]);

	st->lid = s->subnets->lid[port];
	st->prefix = vb_sim_prefix(s->subnets->of_link[port / 2]);
	st->misrouted = e->misrouted;
	st->not_routed = e->not_routed;
	st->hops_ended = e->hops_ended;
}

static void switch_stats(const struct vb_sim *s, uint32_t port, struct vb_sim_ib_stats *st)
{
	const struct vb_ib_switch *sw;

	if (s->port[port].at_host)
		return;
	if (vb_sim_is_router(s, s->switch_of[port]))
		router_stats(s, port, st);
	sw = &s->ib->sw[s->switch_of[port]];
	for (uint32_t p = 0; p < sw->port_cnt; p++)
		st->relay_errors += sw->end[p].relay_errors;
	st->damaged = sw->damaged;
	if (sw->gate) {
		st->rcv_constraint_errors = sw->gate[s->port[port].number].rcv_constraint_errors;
		st->xmit_constraint_errors = sw->gate[s->port[port].number].xmit_constraint_errors;
	}
}

static const struct vb_hca *hca_of(const struct vb_sim *s, uint32_t port)
{
	return ((const struct vb_nic *)s->port[port].owner)->hca;
}

bool vb_sim_ib_port_stats(const struct vb_sim *s, uint32_t port, struct vb_sim_ib_stats *st)
{
	const struct vb_ib_end *e;

	if (!s->ib)
		return false;
	e = end_of(s, &s->port[port]);
	*st = (struct vb_sim_ib_stats){.counters = e->port.counters,
				       .flow_sent = e->flow_sent,
				       .lane_cnt = e->port.config.data_cnt,
				       .capacity = e->port.config.capacity[0]};
	if (e->source) {
		st->becns = e->source->becns;
		st->strays = e->source->strays;
		st->index_max =
		    e->cct->by_qp ? vb_hca_cct_index_max(hca_of(s, port), 1) : e->source->index_max;
	} else if (s->ib->marker) {
		const struct vb_ib_switch *sw = &s->ib->sw[s->switch_of[port]];

		st->marks = sw->marker[s->port[port].number].marks;
	}
	switch_stats(s, port, st);
	if (e->port.waits_since != VB_NEVER)
		st->counters.xmit_wait_ns += vb_time_since(e->port.waits_since, s->now);
	memcpy(st->lane, e->lane, sizeof st->lane);
	return true;
}

vb_dur vb_sim_credit_wait_ns(const struct vb_sim *s, uint32_t port, vb_time at)
{
	const struct vb_ib_port *p = &end_of(s, &s->port[port])->port;

	VB_ASSERT_ALL(s->ib && port < s->port_cnt);
	return p->counters.xmit_wait_ns +
	       (p->waits_since == VB_NEVER ? 0 : vb_time_since(p->waits_since, at));
}

uint32_t vb_sim_lane_used(const struct vb_sim *s, uint32_t port, uint8_t vl)
{
	return end_of(s, &s->port[port])->port.lane[vl].rx.used;
}

const struct vb_deadlock *vb_sim_deadlock(const struct vb_sim *s, vb_time *at)
{
	if (!s->ib || s->ib->deadlock_at == VB_NEVER)
		return NULL;
	*at = s->ib->deadlock_at;
	return &s->ib->deadlock;
}
