/* SPDX-License-Identifier: BSD-2-Clause */
/* The fault middleware, see fault.h. What each packet meets is decided by vb_fault_judge() alone.
 */
#include "link/middle/fault.h"

#include "link/middle/held.h"
#include "link/middle/tap.h"
#include "wire/mad/mad.h"
#include "wire/opcode.h"

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
	/* What one call sends at once, and what one call has received. */
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

/* Whether a packet of @len bytes without ICRC is a MAD. IBA 13.4.2 */
static bool is_mad(const uint8_t *bth, uint32_t len)
{
	return bth[0] == (VB_TRANSPORT_UD | VB_OP_SEND_ONLY) && vb_hdr_dqpn(bth) == VB_QPN_GSI &&
	       len == vb_hdr_len(bth) + VB_MAD_LEN;
}

/* The MAD in a packet, or NULL. */
static const uint8_t *sent_mad(const struct vb_tx *tx)
{
	/* Only QP1 sends them, inline: as one run. */
	if (!is_mad(tx->hdr, tx->hdr_len + tx->payload_len) || tx->seg[0].len < VB_MAD_HDR_LEN)
		return NULL;
	return tx->seg[0].p;
}

static const uint8_t *received_mad(const struct vb_rx *rx)
{
	if (!is_mad(rx->pkt, rx->len))
		return NULL;
	return rx->body ? rx->body : rx->pkt + vb_hdr_len(rx->pkt);
}

static void judge_packet(struct vb_fault *f, enum vb_fault_dir dir, const uint8_t *bth,
			 uint32_t bytes, const uint8_t *mad, vb_time now,
			 struct vb_fault_fate *fate)
{
	struct vb_fault_packet p = {
	    .dir = dir,
	    .opcode = bth[0],
	    .mad = mad,
	    .dqpn = vb_hdr_dqpn(bth),
	    .psn = vb_psn((uint32_t)bth[9] << 16 | (uint32_t)bth[10] << 8 | bth[11]),
	    .bytes = bytes,
	};

	vb_fault_judge(f, &p, now, fate);
}

static uint8_t marked_class(uint8_t traffic_class, const struct vb_fault_fate *fate)
{
	/* Who is not ECN-capable cannot be marked. RFC 3168 5 */
	return fate->mark && traffic_class & VB_ECN_MASK ? traffic_class | VB_ECN_CE
							 : traffic_class;
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

/* Sends what has gathered; what the link below cannot take now waits for it here. */
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
	struct vb_path path = *tx->path;
	struct vb_tx_fate to = {0};
	struct vb_fault_fate fate;

	judge_packet(f, VB_FAULT_TX, tx->hdr, vb_tx_wire_len(tx), sent_mad(tx), now, &fate);
	to.mark = (uint16_t)fate.hits;
	if (fate.drop) {
		/* In the capture, too, it stands behind those before it. */
		if (is_tapped(l))
			flush_gathered(l, now);
		tap_dropped(l, tx, to.mark | VB_FAULT_MARK_DROPPED);
		return;
	}
	path.traffic_class = marked_class(path.traffic_class, &fate);
	if (fate.corrupt)
		to.damage = fate.bits ? fate.bits : 1;
	send_on(l, tx, &path, &to, fate.at, now);
	to.mark |= VB_FAULT_MARK_COPY;
	if (fate.copy)
		send_on(l, tx, &path, &to, fate.at, now);
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

/* Holds back one or two of a packet; what there is no room for is dropped. The mark it deserves. */
static uint16_t hold_rx(struct fault_link *l, const struct vb_rx *rx, const struct vb_path *path,
			uint32_t copies, vb_time at)
{
	uint32_t held = 0;

	while (held < copies && vb_held_rx(&l->rx, rx, path, at))
		held++;
	vb_count_add(l->cfg.counters[path->port], VB_COUNTER_rx_dropped, copies - held);
	return (uint16_t)((held < copies ? VB_FAULT_MARK_FULL : 0) |
			  (held == 0 ? VB_FAULT_MARK_DROPPED : 0));
}

/* Packet @i of what the link below has received. Returns how many of it go on now: 0, 1 or 2. */
static uint32_t recv_judged(struct fault_link *l, uint32_t i, struct vb_rx *to, vb_time now)
{
	struct vb_rx *rx = &l->in[i];
	struct vb_fault *f = faults_of(l, rx->path->port);
	struct vb_path *path = &l->in_path[i];
	struct vb_fault_fate fate;
	uint32_t n = 0, copies;
	uint16_t mark;

	if (!f) {
		tap_received(l, i, rx, 0);
		*to = *rx;
		return 1;
	}
	judge_packet(f, VB_FAULT_RX, rx->pkt, rx->len, received_mad(rx), now, &fate);
	mark = (uint16_t)fate.hits;
	if (fate.corrupt) {
		/* As if its bits had been damaged on the way: the ICRC would have told. */
		vb_count(l->cfg.counters[rx->path->port], VB_COUNTER_rx_icrc_encapsulated);
		vb_count(l->cfg.counters[rx->path->port], VB_COUNTER_port_rcv_errors);
		fate.drop = true;
	}
	*path = *rx->path;
	path->traffic_class = marked_class(path->traffic_class, &fate);
	copies = fate.drop ? 0 : fate.copy ? 2 : 1;
	if (fate.drop)
		mark |= VB_FAULT_MARK_DROPPED;
	else if (fate.at > now)
		mark |= hold_rx(l, rx, path, copies, fate.at);
	else
		for (; n < copies; n++)
			to[n] = *rx;
	tap_received(l, i, rx, mark);
	for (uint32_t k = 0; k < n; k++)
		to[k].path = path;
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
