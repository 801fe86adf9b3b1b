/* SPDX-License-Identifier: BSD-2-Clause */
/* The fault middleware, see fault.h. vb_fault_decide() alone decides the fate of each packet. */
#include "link/middle/fault.h"

#include "link/middle/held.h"
#include "link/middle/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RX_PKTS 64
/* Pause before a link that was full is offered again what was held back. */
#define FULL_NS (50 * VB_USEC)

struct port_faults {
	struct vb_fault *fault; /* NULL: none */
	struct vb_trace trace;
};

struct fault_link {
	struct vb_link link; /* first: the link is the object */
	struct vb_fault_link_config cfg;
	struct port_faults port[VB_LINK_PORTS_MAX];
	uint32_t active; /* ports that have rules */
	struct vb_held_queue tx, rx;
	struct vb_list given; /* held packets that the last recv has handed out */
	/* Packets that one call sends at once, and packets that one call has received. */
	struct vb_tx_batch out;
	struct vb_path out_path[VB_TX_BATCH_PKTS];
	struct vb_tx_fate out_fate[VB_TX_BATCH_PKTS];
	struct vb_rx in[RX_PKTS];
	struct vb_path in_path[RX_PKTS];
};

static struct fault_link *fault_of(struct vb_link *l)
{
	return (struct fault_link *)l;
}

static struct vb_fault *faults_of(struct fault_link *l, uint8_t port)
{
	return port < VB_LINK_PORTS_MAX ? l->port[port].fault : NULL;
}

static bool is_tapped(const struct fault_link *l)
{
	return l->cfg.tap && __atomic_load_n(l->cfg.tap_on, __ATOMIC_RELAXED) != 0;
}

static void set_due(struct fault_link *l)
{
	l->link.due = vb_time_min(vb_held_due(&l->tx), vb_held_due(&l->rx));
}

/* Shows a packet that never reaches the wire. */
static void tap_dropped(struct fault_link *l, const struct vb_tx *tx, uint16_t mark)
{
	if (is_tapped(l))
		vb_tap_sent(l->cfg.tap, l->cfg.ctx, tx, mark);
}

/* There was no room to hold a packet back. */
static void refuse_held(struct fault_link *l, const struct vb_tx *tx, uint16_t mark)
{
	vb_count(l->cfg.counters[tx->path->port], VB_COUNTER_port_xmit_discards);
	tap_dropped(l, tx, mark | VB_FAULT_MARK_FULL | VB_FAULT_MARK_DROPPED);
}

/* Sends the gathered packets; those that the link below cannot take now wait for it here. */
static void flush_gathered(struct fault_link *l, vb_time now)
{
	struct vb_tx_batch *b = &l->out;
	uint32_t n = b->cnt ? l->link.lower->ops->send(l->link.lower, b, 0, now) : 0;

	for (; n < b->cnt; n++)
		if (!vb_held_tx(&l->tx, &b->pkt[n], b->pkt[n].path, &l->out_fate[n], now + FULL_NS))
			refuse_held(l, &b->pkt[n], l->out_fate[n].mark);
	b->cnt = 0;
}

static void append_packet(struct fault_link *l, const struct vb_tx *tx, const struct vb_path *path,
			  const struct vb_tx_fate *fate, vb_time now)
{
	struct vb_tx_batch *b = &l->out;

	if (b->cnt == VB_TX_BATCH_PKTS)
		flush_gathered(l, now);
	l->out_path[b->cnt] = *path;
	l->out_fate[b->cnt] = *fate;
	b->pkt[b->cnt] = *tx;
	b->pkt[b->cnt].path = &l->out_path[b->cnt];
	b->cnt++;
}

/* Sends what was held back until now. */
static void release_tx(struct fault_link *l, vb_time now)
{
	struct vb_held *h;

	while ((h = vb_held_take(&l->tx, now)) != NULL) {
		append_packet(l, &h->tx, &h->path, &h->fate, now);
		if (l->link.lower->ops->send(l->link.lower, &l->out, 0, now) == 0) {
			l->out.cnt = 0;
			vb_held_put_back(&l->tx, h, now + FULL_NS);
			return;
		}
		l->out.cnt = 0;
		free(h);
	}
}

static void send_on(struct fault_link *l, const struct vb_tx *tx, const struct vb_path *path,
		    const struct vb_tx_fate *fate, vb_time at, vb_time now)
{
	if (at <= now)
		append_packet(l, tx, path, fate, now);
	else if (!vb_held_tx(&l->tx, tx, path, fate, at))
		refuse_held(l, tx, fate->mark);
}

static void send_judged(struct fault_link *l, struct vb_fault *f, const struct vb_tx *tx,
			vb_time now)
{
	struct vb_fault_packet p = vb_fault_see_sent(tx);
	struct vb_path path = *tx->path;
	struct vb_fault_outcome out;

	vb_fault_decide(f, &p, path.traffic_class, now, &out);
	if (out.cnt == 0) {
		/* In the capture, too, it stands behind those before it. */
		if (is_tapped(l))
			flush_gathered(l, now);
		tap_dropped(l, tx, out.mark);
	}
	for (uint32_t i = 0; i < out.cnt; i++) {
		const struct vb_fault_go *go = &out.go[i];
		struct vb_tx_fate fate = {.damage = go->damage, .mark = go->mark};

		path.traffic_class = go->traffic_class;
		send_on(l, tx, &path, &fate, go->at, now);
	}
}

static uint32_t fault_send(struct vb_link *link, const struct vb_tx_batch *b, uint32_t from,
			   vb_time now)
{
	static const struct vb_tx_fate none;
	struct fault_link *l = fault_of(link);

	if (!l->active && l->tx.cnt == 0)
		return link->lower->ops->send(link->lower, b, from, now);
	release_tx(l, now);
	for (uint32_t i = from; i < b->cnt; i++) {
		struct vb_fault *f = faults_of(l, b->pkt[i].path->port);

		if (f)
			send_judged(l, f, &b->pkt[i], now);
		else
			send_on(l, &b->pkt[i], b->pkt[i].path, &none, now, now);
	}
	flush_gathered(l, now);
	set_due(l);
	return b->cnt - from;
}

/* Hands out what was held back until now. */
static uint32_t release_rx(struct fault_link *l, struct vb_rx *rx, uint32_t cnt, vb_time now)
{
	struct vb_held *h;
	uint32_t n = 0;

	while (n < cnt && (h = vb_held_take(&l->rx, now)) != NULL) {
		rx[n++] = (struct vb_rx){
		    .pkt = h->bytes, .len = h->len, .avail = h->avail, .path = &h->path};
		vb_list_append(&l->given, &h->link);
	}
	return n;
}

/* Shows packet @i of what the link below has received. */
static void tap_received(struct fault_link *l, uint32_t i, const struct vb_rx *rx, uint16_t mark)
{
	vb_link_tap_received(l->link.lower, i, rx, mark);
}

/* A packet whose bits are damaged on the way: its ICRC would have told. */
static void count_damaged(struct fault_link *l, uint8_t port)
{
	vb_count(l->cfg.counters[port], VB_COUNTER_rx_icrc_encapsulated);
	vb_count(l->cfg.counters[port], VB_COUNTER_port_rcv_errors);
}

/* The packet goes on as @go says: now, and is in *to then; later; or not at all, which is a mark.
 */
static uint16_t recv_on(struct fault_link *l, const struct vb_rx *rx, const struct vb_path *path,
			const struct vb_fault_go *go, struct vb_rx *to, uint32_t *n, vb_time now)
{
	if (go->damage) {
		count_damaged(l, path->port);
		return VB_FAULT_MARK_DROPPED;
	}
	if (go->at <= now) {
		to[*n] = *rx;
		to[*n].path = path;
		++*n;
		return 0;
	}
	if (vb_held_rx(&l->rx, rx, path, go->at))
		return 0;
	vb_count(l->cfg.counters[path->port], VB_COUNTER_rx_dropped);
	return VB_FAULT_MARK_FULL | VB_FAULT_MARK_DROPPED;
}

/* Packet @i of what the link below has received. Returns how many of it go on now: 0, 1 or 2. */
static uint32_t recv_judged(struct fault_link *l, uint32_t i, struct vb_rx *to, vb_time now)
{
	struct vb_rx *rx = &l->in[i];
	struct vb_fault *f = faults_of(l, rx->path->port);
	struct vb_path *path = &l->in_path[i];
	struct vb_fault_outcome out = {.cnt = 1, .go[0].traffic_class = rx->path->traffic_class};
	uint16_t lost = VB_FAULT_MARK_DROPPED, full = 0;
	uint32_t n = 0;

	if (f) {
		struct vb_fault_packet p = vb_fault_see(VB_FAULT_RX, rx);

		vb_fault_decide(f, &p, rx->path->traffic_class, now, &out);
	}
	*path = *rx->path;
	path->traffic_class = out.go[0].traffic_class;
	for (uint32_t k = 0; k < out.cnt; k++) {
		uint16_t met = recv_on(l, rx, path, &out.go[k], to, &n, now);

		lost &= met; /* all of it are */
		full |= met & VB_FAULT_MARK_FULL;
	}
	tap_received(l, i, rx, out.mark | lost | full);
	return n;
}

static uint32_t fault_recv(struct vb_link *link, struct vb_rx *rx, uint32_t cnt, vb_time now)
{
	struct fault_link *l = fault_of(link);
	uint32_t n, m;

	if (!l->active && l->tx.cnt == 0 && l->rx.cnt == 0 && vb_list_is_empty(&l->given))
		return link->lower->ops->recv(link->lower, rx, cnt, now);
	vb_held_free(&l->given);
	release_tx(l, now);
	n = release_rx(l, rx, cnt, now);
	/* Each packet may become two. */
	m = (cnt - n) / 2 < RX_PKTS ? (cnt - n) / 2 : RX_PKTS;
	if (n == 0)
		m = link->lower->ops->recv(link->lower, l->in, m, now);
	else
		m = 0;
	for (uint32_t i = 0; i < m; i++)
		n += recv_judged(l, i, rx + n, now);
	set_due(l);
	return n;
}

static void fault_close(struct vb_link *link)
{
	struct fault_link *l = fault_of(link);

	vb_held_free(&l->given);
	vb_held_clear(&l->tx);
	vb_held_clear(&l->rx);
	for (uint32_t i = 0; i < VB_LINK_PORTS_MAX; i++)
		free(l->port[i].fault);
	link->lower->ops->close(link->lower);
	free(l);
}

static const struct vb_link_ops fault_ops = {
    .name = "fault",
    .send = fault_send,
    .recv = fault_recv,
    .close = fault_close,
};

int vb_fault_link_open(struct vb_link **out, const struct vb_fault_link_config *cfg)
{
	struct fault_link *l = calloc(1, sizeof *l);

	if (!l)
		return -ENOMEM;
	l->link = vb_link_before(cfg->lower, &fault_ops);
	l->cfg = *cfg;
	l->out.fate = l->out_fate;
	vb_held_init(&l->tx);
	vb_held_init(&l->rx);
	vb_list_init(&l->given);
	*out = &l->link;
	return 0;
}

int vb_fault_link_set(struct vb_link *link, uint8_t port, const struct vb_fault_spec *spec,
		      uint64_t seed, vb_time now)
{
	struct fault_link *l = fault_of(link);
	struct port_faults *p = &l->port[port];

	l->active -= p->fault != NULL;
	free(p->fault);
	p->fault = spec->rule_cnt ? malloc(sizeof *p->fault) : NULL;
	if (p->fault) {
		vb_fault_init(p->fault, spec, seed, port, now);
		p->trace = (struct vb_trace){.mask = UINT64_C(1) << VB_TRACE_FAULT,
					     .emit = l->cfg.hit,
					     .ctx = l->cfg.ctx,
					     .node = port};
		p->fault->trace = l->cfg.hit ? &p->trace : NULL;
		p->fault->queue_idle = l->cfg.queue_idle ? &l->cfg.queue_idle[port] : NULL;
		l->active++;
	}
	vb_link_tap_later(link->lower, l->active != 0);
	return spec->rule_cnt && !p->fault ? -ENOMEM : 0;
}

const struct vb_fault *vb_fault_link_state(const struct vb_link *link, uint8_t port)
{
	const struct fault_link *l = (const struct fault_link *)link;

	return port < VB_LINK_PORTS_MAX ? l->port[port].fault : NULL;
}
