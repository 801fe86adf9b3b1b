/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counts that packets of programs add to the counters of ports. These lie in the map
 * (link/ib/map.h) until somebody asks; an agent has one set, of MADs and data. IBA 16.1.3.5
 */
#include "node/subnet/adapter/adapter.h"

#include "link/ib/route.h"
#include "node/host/clock.h"
#include "node/subnet/live/live.h"

#include <string.h>

/* Takes what is there; a program may add more meanwhile. */
static uint64_t counter_take(uint64_t *from)
{
	return __atomic_load_n(from, __ATOMIC_RELAXED)
		   ? __atomic_exchange_n(from, 0, __ATOMIC_RELAXED)
		   : 0;
}

/* A port of a switch has barred packets, of which @last, as vb_ib_barred() has it, was the last
 * one. */
static void raise_barred(struct vb_subnet_daemon *d, struct vb_subnet_place at, uint64_t last)
{
	const struct vb_subnet_bad_key k = {.slid = (uint16_t)(last >> 48),
					    .dlid = (uint16_t)(last >> 32),
					    .key = (uint16_t)(last >> 16),
					    .sl = (uint8_t)last};

	vb_subnet_bad_key(&d->subnet, at, VB_TRAP_SWITCH_PKEY, &k, vb_clock_now());
}

static void count_port(struct vb_subnet_daemon *d, struct vb_subnet_place at)
{
	struct vb_subnet_adapter *a = d->adapter;
	struct vb_ib_map_counters *c = &vb_ib_map_counters(a->map)[vb_subnet_map_port(a, at)];
	struct vb_subnet_port *port = &d->subnet.node[at.node].port[at.port];
	struct vb_ib_port *p = &port->link;
	struct vb_pma_port *pma = &d->subnet.node[at.node].pma.port[at.port];
	uint64_t out, in;

	p->counters.xmit_data += counter_take(&c->xmit_data);
	p->counters.rcv_data += counter_take(&c->rcv_data);
	p->counters.xmit_packets += counter_take(&c->xmit_packets);
	p->counters.rcv_packets += counter_take(&c->rcv_packets);
	p->counters.xmit_discards += counter_take(&c->xmit_discards);
	p->counters.rcv_discards += counter_take(&c->rcv_discards);
	pma->multicast_xmit_packets += counter_take(&c->multicast_xmit);
	pma->multicast_rcv_packets += counter_take(&c->multicast_rcv);
	pma->switch_relay_errors += counter_take(&c->relay_errors);
	port->not_routed += counter_take(&c->not_routed);
	port->hops_ended += counter_take(&c->hops_ended);
	out = counter_take(&c->xmit_constraint);
	pma->xmit_constraint_errors += out;
	in = counter_take(&c->rcv_constraint);
	pma->rcv_constraint_errors += in;
	if (out + in)
		raise_barred(d, at, __atomic_load_n(&c->barred, __ATOMIC_RELAXED));
	vb_subnet_tell_errors(&d->subnet, at, vb_clock_now());
}

/* It stays at its end. IBA 14.2.5.6 */
static void violations_add(uint16_t *to, uint64_t n)
{
	*to = (uint16_t)(n < UINT16_MAX - (uint64_t)*to ? *to + n : UINT16_MAX);
}

static void raise_violation(struct vb_subnet_daemon *d, struct vb_subnet_place at, uint16_t trap,
			    const struct vb_bad_key *from)
{
	struct vb_subnet_bad_key k = {.has_qps = true};
	struct vb_bad_key last;

	if (!vb_bad_key_read(from, &last))
		return; /* more of them come, and are told of */
	k.slid = last.slid;
	k.dlid = last.dlid;
	k.key = last.key;
	k.sl = last.sl & 0xf;
	k.src_qp = last.src_qp & 0xffffff;
	k.dst_qp = last.dst_qp & 0xffffff;
	memcpy(k.sgid, last.sgid, sizeof k.sgid);
	memcpy(k.dgid, last.dgid, sizeof k.dgid);
	vb_subnet_bad_key(&d->subnet, at, trap, &k, vb_clock_now());
}

/* P_Keys and Q_Keys that the QPs of slot @s did not take, for PortInfo of their port. FAB-37 */
static void count_violations(struct vb_subnet_daemon *d, struct vb_subnet_slot *s, uint32_t node)
{
	uint32_t cnt = d->subnet.node[node].sma.info.port_cnt;

	for (uint32_t i = 1; i <= cnt && i <= VB_HCA_PORTS_MAX; i++) {
		struct vb_subnet_place at = {node, (uint8_t)i};
		struct vb_port_info *info = &vb_subnet_sma_port(&d->subnet, at)->info;
		const struct vb_counters *c = &s->shm->counters[i];
		uint64_t pkey =
		    __atomic_load_n(&c->v[VB_COUNTER_port_rcv_constraint_errors], __ATOMIC_RELAXED);
		uint64_t qkey = __atomic_load_n(&c->v[VB_COUNTER_qkey_viol_cntr], __ATOMIC_RELAXED);

		if (pkey != s->bad_pkey[i])
			raise_violation(d, at, VB_TRAP_PKEY, &s->shm->bad_keys[i].pkey);
		if (qkey != s->bad_qkey[i])
			raise_violation(d, at, VB_TRAP_QKEY, &s->shm->bad_keys[i].qkey);
		violations_add(&info->pkey_violations, pkey - s->bad_pkey[i]);
		violations_add(&info->qkey_violations, qkey - s->bad_qkey[i]);
		s->bad_pkey[i] = pkey;
		s->bad_qkey[i] = qkey;
	}
}

/* The last @cnt events of QPs that the program of a slot tells of, as the log of port @port has
 * them. Returns their service levels, as bits. The program's word goes no further than the fields
 * of a log. */
static uint16_t log_events(struct vb_cca_node *cca, uint8_t port, const struct vb_cct_events *is,
			   uint64_t cnt)
{
	uint16_t levels = 0;

	for (uint64_t n = cnt; n > 0; n--) {
		const struct vb_cct_event *e = &is->last[(is->cnt - n) % VB_CCT_EVENTS];
		const struct vb_ibcc_event to = {.slid = e->lid,
						 .sl = e->sl & 0xf,
						 .service = e->service & 0xf,
						 .qp = e->qpn & 0xffffff,
						 .remote_qp = e->remote_qpn & 0xffffff};

		levels |= (uint16_t)(1u << to.sl);
		vb_cca_note_event(cca, port, &to, e->at);
	}
	return levels;
}

/* Indices of QPs of slot @s that came to their triggers. FAB-47, FAB-48 */
static void count_indices(struct vb_subnet_daemon *d, struct vb_subnet_slot *s, uint32_t node)
{
	uint32_t cnt = d->subnet.node[node].sma.info.port_cnt;
	struct vb_cca_node *cca = &d->subnet.node[node].cca;

	for (uint32_t i = 1; i <= cnt && i <= VB_HCA_PORTS_MAX; i++) {
		struct vb_cct_events is;
		uint64_t more;
		uint16_t levels;

		if (!vb_cct_events_read(&s->shm->cct_events[i], &is))
			continue; /* more of them come */
		more = is.cnt - s->cct_events[i];
		s->cct_events[i] = is.cnt;
		levels =
		    log_events(cca, (uint8_t)i, &is, more < VB_CCT_EVENTS ? more : VB_CCT_EVENTS);
		vb_cca_note(cca, (uint8_t)i, more, levels);
	}
}

static void count_slot(struct vb_subnet_daemon *d, struct vb_subnet_slot *s, uint32_t node)
{
	count_violations(d, s, node);
	count_indices(d, s, node);
}

void vb_subnet_count(struct vb_subnet_daemon *d, uint32_t node)
{
	struct vb_subnet_adapter *a = d->adapter;

	if (!a)
		return;
	for (uint32_t k = VB_SLOT_FIRST; k <= VB_IB_SLOT_LAST; k++) {
		const struct vb_subnet_conn *owner = a->slot[k].owner;

		if (!owner)
			continue;
		(void)vb_ib_routes_add_up(a->map, vb_ib_map_routes(a->map, k), false);
		if (owner->seat->index == node)
			count_slot(d, &a->slot[k], node);
	}
	for (unsigned p = 1; p <= d->subnet.node[node].sma.info.port_cnt; p++) {
		if (d->live)
			vb_subnet_live_count(d, (struct vb_subnet_place){node, (uint8_t)p});
		count_port(d, (struct vb_subnet_place){node, (uint8_t)p});
	}
}
