/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machines of a fabric in real time, see live.h: made of the topology, set as a subnet manager
 * sets the subnet (mgmt/subnet.h), and counted there. Congestion control is what its manager has
 * set at switches and adapters. IBA A10.4; items LNK-22 to LNK-30, LNK-36 to LNK-39, FAB-45 to
 * FAB-48
 */
#include "node/host/clock.h"
#include "node/subnet/live/live.h"
#include "wire/ib/rate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* 10 m of cable, and the hundred nanoseconds that a switch takes. */
#define CABLE_NS 150u
/* Frames in a fabric at once: of 4.5 KB, so 280 MB at most. */
#define PACKETS_MAX 65536u
/* Of lanes that no manager has given one. */
#define WEIGHT_ALIKE 16u
/* A threshold of 15 is 2 KiB, each next one 2 KiB more; a lane's buffer has 32 KiB. FAB-46 */
#define THRESHOLD_CNT 16u
#define THRESHOLD_BYTES 2048u
#define PACKET_UNIT 64u
#define TIMER_NS 1024u
#define VICTIM_BYTES 32u

static bool node_is(const struct vb_subnet_daemon *d, uint32_t node, enum vb_node_type type)
{
	return d->topo->node[node].type == type;
}

/* It sends on packets of others: a switch or a router. */
static bool node_relays(const struct vb_subnet_daemon *d, uint32_t node)
{
	return node_is(d, node, VB_NODE_SWITCH) || node_is(d, node, VB_NODE_ROUTER);
}

static int tables_alloc(struct vb_subnet_daemon *d, struct vb_subnet_live *v, uint32_t ports)
{
	size_t maps = 0, hcas = 0, nodes = d->topo->node_cnt;

	for (uint32_t i = 0; i < nodes; i++) {
		size_t cnt = d->topo->node[i].port_cnt;

		v->sw_cnt += node_relays(d, i);
		hcas += node_relays(d, i) ? 0 : cnt;
		maps += node_relays(d, i) ? cnt * cnt : 0;
	}
	v->sw = calloc(v->sw_cnt + 1, sizeof *v->sw);
	v->router = calloc(nodes + 1, sizeof *v->router);
	v->hca = calloc(hcas + 1, sizeof *v->hca);
	v->number = calloc(hcas + 1, sizeof *v->number);
	v->sl2vl = calloc(maps + 1, sizeof *v->sl2vl);
	v->sl2vl_at = calloc(nodes + 1, sizeof *v->sl2vl_at);
	v->marks = calloc(ports, sizeof *v->marks);
	v->marker = calloc(ports, sizeof *v->marker);
	v->gate = calloc(ports, sizeof *v->gate);
	v->downs = calloc(ports, sizeof *v->downs);
	v->seen = calloc(ports, sizeof *v->seen);
	return v->sw && v->router && v->hca && v->number && v->sl2vl && v->sl2vl_at && v->marks &&
		       v->marker && v->gate && v->downs && v->seen
		   ? 0
		   : -ENOMEM;
}

void vb_subnet_live_unmake(struct vb_subnet_live *v)
{
	vb_ib_net_close(&v->net);
	free(v->sw);
	free(v->router);
	free(v->hca);
	free(v->number);
	free(v->sl2vl);
	free(v->sl2vl_at);
	free(v->marks);
	free(v->marker);
	free(v->gate);
	free(v->downs);
	free(v->seen);
}

static uint32_t port_number(const struct vb_subnet_daemon *d, uint32_t node, uint8_t port)
{
	return vb_subnet_map_port(d->adapter, (struct vb_subnet_place){node, port});
}

static void switch_make(struct vb_subnet_daemon *d, struct vb_subnet_live *v,
			struct vb_ib_switch *sw, uint32_t node)
{
	uint32_t first = port_number(d, node, 1), cnt = d->topo->node[node].port_cnt;

	vb_ib_net_add_switch(&v->net, sw, first, cnt, &d->subnet.node[node].port[1].link.config);
	sw->sl2vl = v->sl2vl + v->sl2vl_at[node];
	sw->marker = v->marker + first;
	sw->gate = v->gate + first;
	for (uint32_t i = first; i < first + cnt; i++)
		v->net.end[i].congestion = &v->marks[i];
	if (node_is(d, node, VB_NODE_ROUTER)) {
		v->router[node] = (struct vb_ib_router){&v->routers, node};
		sw->router = &v->router[node];
	}
}

/* A program at the node of the adapter has the QP's slot: whose QPs are there the program alone
 * knows. */
static bool slot_is_there(void *ctx, const struct vb_ib_hca *h, uint32_t qpn)
{
	const struct vb_subnet_daemon *d = ctx;
	uint32_t number = d->live->number[h - d->live->hca];
	uint32_t slot = vb_slot_of_qpn(qpn);
	const struct vb_subnet_conn *owner =
	    slot < VB_IB_SLOTS ? d->adapter->slot[slot].owner : NULL;

	return owner && owner->seat->index == vb_ib_map_ports(d->adapter->map)[number].node;
}

static void adapter_make(struct vb_subnet_daemon *d, struct vb_subnet_live *v, uint32_t node)
{
	for (uint8_t p = 1; p <= d->topo->node[node].port_cnt; p++) {
		uint32_t number = port_number(d, node, p);

		struct vb_ib_hca *hca = &v->hca[v->hca_cnt];

		v->number[v->hca_cnt++] = number;
		vb_ib_net_add_hca(&v->net, hca, number, &d->subnet.node[node].port[p].link.config);
		hca->has_qp = slot_is_there;
		hca->ctx = d;
	}
}

static void cables_join(struct vb_subnet_daemon *d, struct vb_subnet_live *v)
{
	for (uint32_t i = 0; i < d->topo->node_cnt; i++)
		for (uint8_t p = 1; p <= d->topo->node[i].port_cnt; p++) {
			const struct vb_subnet_port *port = &d->subnet.node[i].port[p];

			if (port->has_cable && !port->is_away)
				vb_ib_net_join(&v->net, port_number(d, i, p),
					       port_number(d, port->peer.node, port->peer.port),
					       CABLE_NS);
		}
}

int vb_subnet_live_make(struct vb_subnet_daemon *d, struct vb_subnet_live *v)
{
	const struct vb_ib_net_config cfg = {.port_cnt = d->adapter->map->port_cnt,
					     .packets_max = PACKETS_MAX,
					     .payload_max = VB_PAYLOAD_MAX,
					     .alloc = d->subnet.alloc,
					     .free = d->subnet.free,
					     .ctx = d->subnet.alloc_ctx};
	uint32_t maps = 0, switches = 0;
	int rc = vb_ib_net_open(&v->net, &cfg);

	if (!rc)
		rc = tables_alloc(d, v, cfg.port_cnt);
	if (rc)
		return rc;
	v->routers = vb_subnet_map_routers(d);
	for (uint32_t i = 0; i < d->topo->node_cnt; i++) {
		uint32_t cnt = d->topo->node[i].port_cnt;

		v->sl2vl_at[i] = maps;
		if (!node_relays(d, i)) {
			adapter_make(d, v, i);
			continue;
		}
		if (cnt)
			switch_make(d, v, &v->sw[switches++], i);
		maps += cnt * cnt;
	}
	cables_join(d, v);
	for (uint32_t i = 0; i < d->topo->node_cnt; i++)
		vb_subnet_live_follow(d, i);
	return 0;
}

/* The tables as a manager has set them; before it does, all lanes alike. */
static void arbiter_follow(struct vb_arbiter *to, const struct vb_arbiter *from, uint32_t lanes)
{
	static const enum vb_arb_priority all[] = {VB_ARB_HIGH, VB_ARB_LOW};
	struct vb_arb_entry alike[VB_VL_DATA_MAX];
	bool is_set = false;

	for (size_t t = 0; t < sizeof all / sizeof all[0]; t++)
		for (uint32_t i = 0; i < from->table[t].cnt; i++)
			is_set |= from->table[t].entry[i].weight != 0 &&
				  from->table[t].entry[i].vl < lanes;
	for (uint32_t vl = 0; vl < lanes; vl++)
		alike[vl] = (struct vb_arb_entry){(uint8_t)vl, WEIGHT_ALIKE};
	for (size_t t = 0; t < sizeof all / sizeof all[0]; t++) {
		const struct vb_arb_entry *want = from->table[t].entry;
		uint32_t cnt = from->table[t].cnt;

		if (!is_set) {
			want = alike;
			cnt = all[t] == VB_ARB_LOW ? lanes : 0;
		}
		if (to->table[t].cnt != cnt ||
		    memcmp(to->table[t].entry, want, cnt * sizeof *want) != 0)
			vb_arbiter_set_table(to, all[t], want, cnt);
	}
	to->high_limit = from->high_limit;
}

static void config_follow(struct vb_ib_port_config *to, const struct vb_ib_port_config *from,
			  uint8_t lifetime)
{
	to->lifetime = lifetime > VB_HOQ_LIFE_MAX ? 0 : vb_ib_life(lifetime);
	to->mtu = from->mtu;
	to->mtu_cap = from->mtu_cap;
	to->symbol_ps = from->symbol_ps;
	to->hoq_life = from->hoq_life;
	to->stall_count = from->stall_count;
	to->filter_raw_in = from->filter_raw_in;
	to->filter_raw_out = from->filter_raw_out;
	to->local_errors = from->local_errors;
	to->overrun_errors = from->overrun_errors;
}

static void gate_follow(struct vb_ib_gate *g, const struct vb_sma_port *p)
{
	g->pkey = p->pkey;
	g->pkey_cnt = VB_SUBNET_PKEYS;
	g->enforces_in = p->info.enforce_in;
	g->enforces_out = p->info.enforce_out;
}

static bool port_has_bit(const uint8_t mask[VICTIM_BYTES], uint8_t port)
{
	return mask[VICTIM_BYTES - 1 - port / 8] >> port % 8 & 1;
}

/* How output @port of a switch marks: as it says of this port, or of all. FAB-46 */
static void marks_follow(struct vb_ib_congestion *to, const struct vb_cca_node *cca, uint8_t port)
{
	const struct vb_ibcc_port_setting *own = &cca->sw_port[port];
	bool has_own = own->valid && !own->starves;
	uint8_t threshold = has_own ? own->threshold : cca->sw.threshold;

	to->threshold = threshold ? (THRESHOLD_CNT - threshold) * THRESHOLD_BYTES : 0;
	to->packet_min = (has_own ? own->packet_size : cca->sw.packet_size) * PACKET_UNIT;
	to->marking_rate = has_own ? own->marking_rate : cca->sw.marking_rate;
	to->marks_victims = port_has_bit(cca->sw.victims, port);
}

/* How a port of an adapter slows down; timers are slower by @scale. FAB-47, FAB-48 */
static void cct_read(struct vb_cct *to, const struct vb_cca_port *cca, uint32_t scale)
{
	_Static_assert(VB_CCT_LEN == VB_CCA_BLOCKS * VB_IBCC_ENTRIES, "one table");
	to->by_qp = !(cca->ca.port_control & VB_IBCC_BY_LEVEL);
	to->limit = cca->limit;
	memcpy(to->entry, cca->entry, sizeof to->entry);
	for (uint32_t sl = 0; sl < VB_CCT_LEVELS; sl++) {
		const struct vb_ibcc_level *l = &cca->ca.level[sl];

		to->level[sl] = (struct vb_cct_level){.timer = l->timer * (vb_dur)TIMER_NS * scale,
						      .increase = l->increase,
						      .index_min = l->index_min,
						      .trigger = l->trigger};
	}
}

static uint64_t rate_of(const struct vb_port_info *p)
{
	return vb_ib_payload_bps(vb_subnet_speed_of(p)->code,
				 p->width_active ? p->width_active : VB_IB_4X);
}

static void port_follow(struct vb_subnet_daemon *d, struct vb_subnet_place at)
{
	struct vb_subnet_live *v = d->live;
	const struct vb_ib_port *link = &d->subnet.node[at.node].port[at.port].link;
	const struct vb_sma_port *sma = vb_subnet_sma_port(&d->subnet, at);
	const struct vb_cca_node *cca = &d->subnet.node[at.node].cca;
	uint32_t number = vb_subnet_map_port(d->adapter, at);
	struct vb_ib_end *e = &v->net.end[number];

	/* Of an adapter the lifetime counts for nothing. */
	config_follow(&e->port.config, &link->config, d->subnet.node[at.node].sma.sw.life_time);
	vb_ib_net_set_lanes(&v->net, number, link->config.data_cnt);
	arbiter_follow(&e->port.arbiter, &link->arbiter, link->config.data_cnt);
	vb_ib_net_set_rate(&v->net, number, rate_of(&sma->info));
	if (v->net.port[number].hca) {
		v->net.port[number].hca->sl2vl = sma->sl2vl[0];
		cct_read(&v->net.port[number].hca->cct, &cca->port[at.port], 1);
	} else {
		gate_follow(&v->gate[number], sma);
		if (node_is(d, at.node, VB_NODE_SWITCH))
			marks_follow(&v->marks[number], cca, at.port);
	}
	vb_ib_net_set_away(&v->net, number, d->subnet.node[at.node].port[at.port].is_away,
			   CABLE_NS);
	vb_ib_net_set_state(&v->net, number, link->state,
			    link->counters.link_downed != v->downs[number]);
	v->downs[number] = link->counters.link_downed;
}

/* QPs wait by the clock, which is faster than the time of the links. FAB-47 */
void vb_subnet_live_cct(struct vb_subnet_daemon *d, struct vb_subnet_place at,
			struct vb_cct_rules *to)
{
	const struct vb_sma_port *sma = vb_subnet_sma_port(&d->subnet, at);

	cct_read(&to->table, &d->subnet.node[at.node].cca.port[at.port], d->live->scale);
	to->rate_bps = rate_of(&sma->info) / d->live->scale;
}

/* A switch has a map of each output for each input, port 0 among them; a router one of each output.
 */
static void maps_follow(struct vb_subnet_daemon *d, uint32_t node)
{
	const struct vb_sma_port *p = d->subnet.node[node].sma.port;
	uint32_t cnt = d->topo->node[node].port_cnt;
	bool by_input = node_is(d, node, VB_NODE_SWITCH);
	struct vb_sl2vl *to = d->live->sl2vl + d->live->sl2vl_at[node];

	for (uint32_t in = 0; in < cnt; in++)
		for (uint32_t out = 0; out < cnt; out++)
			to[in * cnt + out] = p[out + 1].sl2vl[by_input ? in + 1 : 0];
}

void vb_subnet_live_follow(struct vb_subnet_daemon *d, uint32_t node)
{
	uint32_t cnt = d->topo->node[node].port_cnt;

	if (!d->live || cnt == 0)
		return;
	if (node_is(d, node, VB_NODE_SWITCH))
		d->live->net.port[port_number(d, node, 1)].sw->forward =
		    d->subnet.node[node].forward;
	if (node_relays(d, node))
		maps_follow(d, node);
	for (uint32_t p = 1; p <= cnt; p++)
		port_follow(d, (struct vb_subnet_place){node, (uint8_t)p});
}

/* The difference that has come to a count since it was last taken. */
static uint64_t count_take(uint64_t now, uint64_t *seen)
{
	uint64_t more = now - *seen;

	*seen = now;
	return more;
}

static void barred_take(struct vb_subnet_daemon *d, struct vb_subnet_place at,
			const struct vb_ib_gate *g, struct vb_subnet_live_seen *seen)
{
	struct vb_pma_port *pma = &d->subnet.node[at.node].pma.port[at.port];
	uint64_t in = count_take(g->rcv_constraint_errors, &seen->barred_in);
	uint64_t out = count_take(g->xmit_constraint_errors, &seen->barred_out);
	const struct vb_subnet_bad_key k = {
	    .slid = g->last.slid, .dlid = g->last.dlid, .key = g->last.pkey, .sl = g->last.sl};

	pma->rcv_constraint_errors += in;
	pma->xmit_constraint_errors += out;
	if (in + out)
		vb_subnet_bad_key(&d->subnet, at, VB_TRAP_SWITCH_PKEY, &k, vb_clock_now());
}

/* Events of congestion come into the log of the node: an output that marks, an index at its
 * trigger. FAB-45 */
static void congestion_take(struct vb_subnet_daemon *d, struct vb_subnet_place at, uint32_t number)
{
	struct vb_subnet_live *v = d->live;
	struct vb_cca_node *cca = &d->subnet.node[at.node].cca;
	const struct vb_ib_hca *h = v->net.port[number].hca;
	const struct vb_ib_congestion_event *last = h ? h->source.last : v->marker[number].last;
	uint64_t all = h ? h->source.events : v->marker[number].marks;
	uint64_t more = count_take(all, &v->seen[number].congestion);

	vb_cca_note(cca, at.port, more, h ? h->source.event_sls : 0);
	for (uint64_t n = more < VB_IB_EVENTS ? more : VB_IB_EVENTS; n > 0; n--) {
		const struct vb_ib_congestion_event *e = &last[(all - n) % VB_IB_EVENTS];
		const struct vb_ibcc_event is = {
		    .slid = e->slid, .dlid = e->dlid, .sl = e->sl, .qp = e->qpn};

		vb_cca_note_event(cca, at.port, &is, vb_subnet_live_wall(v, e->at));
	}
}

void vb_subnet_live_count(struct vb_subnet_daemon *d, struct vb_subnet_place at)
{
	struct vb_subnet_live *v = d->live;
	uint32_t number = vb_subnet_map_port(d->adapter, at);
	const struct vb_ib_end *e = &v->net.end[number];
	struct vb_ib_counters now = e->port.counters;
	struct vb_subnet_port *port = &d->subnet.node[at.node].port[at.port];
	struct vb_ib_counters *to = &port->link.counters;
	struct vb_pma_port *pma = &d->subnet.node[at.node].pma.port[at.port];
	struct vb_subnet_live_seen *seen = &v->seen[number];
	uint64_t downs = to->link_downed;

	if (e->port.waits_since != VB_NEVER)
		now.xmit_wait_ns += vb_time_since(e->port.waits_since, v->net.now);
	/* A wait that ended because its packet was dropped has not been added up. */
	if (now.xmit_wait_ns < seen->counters.xmit_wait_ns)
		now.xmit_wait_ns = seen->counters.xmit_wait_ns;
#define COUNTER(name, meaning) to->name += count_take(now.name, &seen->counters.name);
#include "fabric/ib/counter.def"
#undef COUNTER
	to->link_downed = downs; /* the subnet counts that itself */
	pma->switch_relay_errors += count_take(e->relay_errors, &seen->relay_errors);
	port->not_routed += count_take(e->not_routed, &seen->not_routed);
	port->hops_ended += count_take(e->hops_ended, &seen->hops_ended);
	pma->multicast_xmit_packets += count_take(e->multicast_xmit, &seen->multicast_xmit);
	pma->multicast_rcv_packets += count_take(e->multicast_rcv, &seen->multicast_rcv);
	if (!v->net.port[number].hca)
		barred_take(d, at, &v->gate[number], seen);
	congestion_take(d, at, number);
}
