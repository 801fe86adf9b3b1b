/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end of a cable as a machine. A port is pulled: when the cable is free it fetches the next
 * packet, from its queues at a switch and from the adapter's core at a host, so that whoever paces
 * or holds back does it by not having a packet. IEEE 802.3, 802.1Qbb
 */
#include "sim/priv.h"

#define NS_BITS UINT64_C(8000000000) /* ns per second times bits per byte */

static void depth_change(struct vb_sim *s, struct vb_sim_port *p)
{
	vb_dur dt = s->now - p->depth_since;

	p->stats.byte_ns += dt * p->depth;
	p->stats.pkt_ns += dt * p->depth_pkts;
	p->depth_since = s->now;
}

void vb_port_enqueue(struct vb_sim *s, struct vb_sim_port *p, struct vb_sim_packet *pkt)
{
	struct vb_sim_lane *q = &p->lane[pkt->prio];

	depth_change(s, p);
	vb_sim_fifo_push(&q->fifo, pkt);
	q->bytes += pkt->frame;
	p->waiting |= (uint8_t)(1u << pkt->prio);
	p->depth += pkt->frame;
	p->depth_pkts++;
	if (p->depth > p->stats.depth_max)
		p->stats.depth_max = p->depth;
}

struct vb_sim_packet *vb_port_dequeue(struct vb_sim *s, struct vb_sim_port *p)
{
	uint32_t may = p->waiting & (uint32_t)~p->paused;

	if (may == 0)
		return NULL;

	/* Strict priority, the highest first. */
	uint32_t prio = 31u - (uint32_t)__builtin_clz(may);
	struct vb_sim_lane *q = &p->lane[prio];
	struct vb_sim_packet *pkt = vb_sim_fifo_pop(&q->fifo);

	depth_change(s, p);
	q->bytes -= pkt->frame;
	p->waiting =
	    (uint8_t)(p->waiting & ~(1u << prio)) | (uint8_t)((q->fifo.head != NULL) << prio);
	p->depth -= pkt->frame;
	p->depth_pkts--;
	return pkt;
}

static struct vb_sim_packet *port_next(struct vb_sim *s, struct vb_sim_port *p)
{
	if (p->control.head)
		return vb_sim_fifo_pop(&p->control);
	if (p->owner < s->host_cnt)
		return vb_host_pull(s, p->owner);

	struct vb_sim_packet *pkt = vb_port_dequeue(s, p);

	if (pkt)
		vb_switch_release(s, p->owner - s->host_cnt, pkt);
	return pkt;
}

static bool port_has_more(const struct vb_sim *s, const struct vb_sim_port *p)
{
	if (p->control.head || (p->waiting & (uint32_t)~p->paused))
		return true;
	return p->owner < s->host_cnt && vb_host_has_more(s, p->owner);
}

/* Puts a packet on the cable before those that arrive later, which a fault has held back. */
static void flight_insert(struct vb_sim_port *p, struct vb_sim_packet *pkt)
{
	struct vb_sim_packet *after = p->flight_tail;

	while (after && after->at > pkt->at)
		after = after == p->flight.next ? NULL : after->prev;

	struct vb_sim_link *link = after ? &after->behind : &p->flight;

	pkt->prev = after;
	pkt->behind = *link;
	pkt->behind.next->prev = pkt;
	*link = (struct vb_sim_link){pkt, pkt->at};
}

/*
 * Puts a packet on the cable, behind those that arrive no later. Each packet knows when the one
 * behind it arrives, and the port when the last one does, so that neither taking one nor adding one
 * reads another, which has long left the cache.
 */
static void flight_add(struct vb_sim_port *p, struct vb_sim_packet *pkt)
{
	if (p->tail_at > pkt->at) { /* never of one that has arrived */
		flight_insert(p, pkt);
		return;
	}

	struct vb_sim_link *end = p->flight.next ? &p->flight_tail->behind : &p->flight;

	pkt->prev = p->flight_tail;
	pkt->behind = (struct vb_sim_link){NULL, VB_NEVER};
	*end = (struct vb_sim_link){pkt, pkt->at};
	p->flight_tail = pkt;
	p->tail_at = pkt->at;
}

static void port_tap(const struct vb_sim *s, const struct vb_sim_port *p,
		     const struct vb_sim_packet *pkt)
{
	if (s->cfg.on_packet && pkt->kind == VB_SIM_ROCE)
		s->cfg.on_packet(s->cfg.trace_ctx, p->id, VB_SIM_TAP_SENT, pkt, s->now);
}

/* Faults are the cable's: the port shows what it has sent, and what becomes of it. */
static void port_launch(struct vb_sim *s, struct vb_sim_port *p, struct vb_sim_packet *pkt)
{
	bool fits = !p->mtu || pkt->frame - VB_FRAME_OVERHEAD <= p->mtu;
	bool is_judged = fits && p->fault && pkt->kind == VB_SIM_ROCE;
	struct vb_sim_packet *copy = NULL;
	struct vb_fault_fate fate;

	pkt->mark = 0;
	if (is_judged)
		vb_port_judge(s, p, pkt, &fate);
	port_tap(s, p, pkt);
	if (!fits || (is_judged && fate.drop)) {
		p->stats.faults++;
		vb_sim_pool_give(&s->pool, pkt);
		return;
	}
	pkt->at = p->busy_until + p->delay;
	if (is_judged) {
		pkt->at += fate.at - s->now;
		copy = vb_port_suffer(s, pkt, &fate);
	}
	if (!is_judged || !(fate.hits & 1u << VB_FAULT_REORDER)) {
		if (pkt->at < p->last_at)
			pkt->at = p->last_at;
		p->last_at = pkt->at;
	}
	flight_add(p, pkt);
	if (copy) {
		port_tap(s, p, copy);
		copy->at = pkt->at;
		flight_add(p, copy);
	}
}

static void port_transmit(struct vb_sim *s, struct vb_sim_port *p)
{
	p->sending = true;

	struct vb_sim_packet *pkt = port_next(s, p);

	p->sending = false;
	p->pull_at = VB_NEVER;
	if (!pkt)
		return;

	/* Exact on average: back to back, the fraction of a nanosecond goes over to the next. */
	uint64_t time = (pkt->frame + VB_FRAME_GAP) * NS_BITS;

	if (p->busy_until == s->now)
		time += p->carry;
	p->busy_until = s->now + time / p->rate_bps;
	p->carry = time % p->rate_bps;
	p->stats.tx_pkts++;
	p->stats.tx_bytes += pkt->frame;
	s->hops++;
	port_launch(s, p, pkt);
	if (port_has_more(s, p))
		p->pull_at = p->busy_until;
}

static void port_arm(struct vb_sim *s, struct vb_sim_port *p)
{
	vb_eventq_set(&s->events, s->host_cnt + p->id, vb_time_min(p->flight.at, p->pull_at));
}

void vb_port_kick(struct vb_sim *s, struct vb_sim_port *p)
{
	if (p->sending || p->pull_at != VB_NEVER)
		return;
	if (p->busy_until <= s->now)
		port_transmit(s, p);
	else
		p->pull_at = p->busy_until;
	port_arm(s, p);
}

void vb_port_pause_frame(struct vb_sim *s, struct vb_sim_port *p, uint8_t prio, bool on)
{
	struct vb_sim_packet *pkt = vb_sim_packet_take(s);

	if (!pkt)
		return;
	pkt->kind = VB_SIM_PAUSE;
	pkt->prio = prio;
	pkt->pause_on = on;
	pkt->frame = VB_FRAME_MIN;
	if (on)
		p->stats.pauses_sent++;
	vb_sim_fifo_push(&p->control, pkt);
	vb_port_kick(s, p);
}

/* A pause frame has arrived at the end @p of a cable. */
static void port_on_pause(struct vb_sim *s, struct vb_sim_port *p, uint8_t prio, bool on)
{
	uint8_t bit = (uint8_t)(1u << prio);
	uint32_t node = p->owner;

	if (!(p->paused & bit) == !on)
		return;
	if (node >= s->host_cnt)
		vb_trace(&s->sw[node - s->host_cnt].trace, VB_TRACE_PAUSED, 0, s->now, p->id, prio,
			 on, 0);
	if (on) {
		p->paused |= bit;
		p->paused_since[prio] = s->now;
	} else {
		p->paused &= (uint8_t)~bit;
		p->stats.paused_ns += s->now - p->paused_since[prio];
		vb_port_kick(s, p);
	}
}

static void port_deliver(struct vb_sim *s, struct vb_sim_port *p)
{
	struct vb_sim_packet *pkt = p->flight.next;
	struct vb_sim_port *in = &s->port[vb_sim_peer(p->id)];

	p->flight = pkt->behind;
	if (pkt->kind == VB_SIM_PAUSE) {
		port_on_pause(s, in, pkt->prio, pkt->pause_on);
		vb_sim_pool_give(&s->pool, pkt);
		return;
	}
	if (s->cfg.on_packet)
		s->cfg.on_packet(s->cfg.trace_ctx, in->id, VB_SIM_TAP_RECEIVED, pkt, s->now);
	if (in->owner < s->host_cnt)
		vb_host_receive(s, in->owner, pkt);
	else
		vb_switch_receive(s, in->owner - s->host_cnt, in, pkt);
}

void vb_port_run(struct vb_sim *s, struct vb_sim_port *p)
{
	while (p->flight.at <= s->now)
		port_deliver(s, p);
	if (p->pull_at <= s->now)
		port_transmit(s, p);
	port_arm(s, p);
}

void vb_port_stats_update(const struct vb_sim *s, const struct vb_sim_port *p,
			  struct vb_port_stats *st)
{
	vb_dur dt = s->now - p->depth_since;

	*st = p->stats;
	st->byte_ns += dt * p->depth;
	st->pkt_ns += dt * p->depth_pkts;
	for (uint32_t i = 0; i < VB_SIM_PRIOS; i++) {
		if (p->paused >> i & 1)
			st->paused_ns += s->now - p->paused_since[i];
	}
}
