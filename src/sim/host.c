/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A host: the shipped adapter and the NIC around it. The NIC fetches one packet at a time from the
 * core, when the cable can take it, and puts those of a paused priority aside.
 */
#include "sim/priv.h"

#include <errno.h>
#include <string.h>

#define WC_BATCH 16

struct vb_gid vb_sim_gid(uint32_t host)
{
	uint32_t n = host + 1; /* 10.0.0.1 ... */

	return (struct vb_gid){{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, (uint8_t)(n >> 16),
				(uint8_t)(n >> 8), (uint8_t)n}};
}

uint32_t vb_host_of(const struct vb_gid *gid)
{
	return ((uint32_t)gid->b[13] << 16 | (uint32_t)gid->b[14] << 8 | gid->b[15]) - 1;
}

struct vb_path vb_sim_path(uint32_t from, uint32_t to, uint16_t udp_sport, uint8_t traffic_class)
{
	return (struct vb_path){
	    .sgid = vb_sim_gid(from),
	    .dgid = vb_sim_gid(to),
	    .udp_sport = udp_sport,
	    .port = 1,
	    .traffic_class = traffic_class,
	    .hop_limit = 64,
	};
}

int vb_host_create(struct vb_sim *s, uint32_t host)
{
	struct vb_sim_host *h = &s->host[host];
	struct vb_hca_config c = s->cfg.hca;
	struct vb_rng rng = vb_rng_stream(s->cfg.seed, "host", host);

	c.seed = vb_rng_next(&rng);
	c.qpn_base = 0;
	c.qpn_stride = 1;
	c.qpn_first = 0x11;
	c.port_cnt = 1;
	if (c.port[1].pkey[0] == 0)
		c.port[1].pkey[0] = VB_PKEY_DEFAULT;
	c.port[1].counters = &h->counters;
	c.trace = vb_sim_trace_of(s, host);
	c.alloc = s->cfg.memory.alloc;
	c.free = s->cfg.memory.free;
	c.alloc_ctx = s->cfg.memory.ctx;
	h->deadline = VB_NEVER;

	int err = vb_hca_create(&h->hca, &c, 0);

	if (!err)
		err = vb_pd_create(h->hca, &h->pd);
	return err ? err : vb_cq_create(h->hca, s->cfg.cqe, NULL, &h->cq);
}

void vb_host_mark(struct vb_sim *s, uint32_t host)
{
	struct vb_sim_host *h = &s->host[host];

	if (h->dirty)
		return;
	h->dirty = true;
	h->dirty_next = VB_SIM_NONE;
	if (s->dirty_first == VB_SIM_NONE)
		s->dirty_first = host;
	else
		s->host[s->dirty_last].dirty_next = host;
	s->dirty_last = host;
}

static void take_completions(struct vb_sim *s, uint32_t host)
{
	struct vb_sim_host *h = &s->host[host];
	struct vb_wc wc[WC_BATCH];

	while (!vb_cq_is_empty(h->cq)) {
		int n = vb_cq_poll(h->cq, wc, WC_BATCH);

		for (int i = 0; i < n; i++) {
			if (s->app.on_completion)
				s->app.on_completion(s->app.ctx, host, &wc[i], s->now);
		}
		if (n <= 0)
			break;
	}
}

static void host_settle(struct vb_sim *s, uint32_t host)
{
	struct vb_sim_host *h = &s->host[host];
	struct vb_event ev;

	take_completions(s, host);
	while (vb_hca_poll_event(h->hca, &ev)) {
		if (s->app.on_async)
			s->app.on_async(s->app.ctx, host, &ev, s->now);
	}
	if (vb_hca_has_transmit(h->hca))
		vb_port_kick(s, &s->port[h->port]);

	vb_time deadline = vb_hca_poll_timeout(h->hca);

	if (deadline != h->deadline) {
		h->deadline = deadline;
		vb_eventq_set(&s->events, host, deadline);
	}
}

void vb_hosts_settle(struct vb_sim *s)
{
	while (s->dirty_first != VB_SIM_NONE) {
		uint32_t host = s->dirty_first;

		s->dirty_first = s->host[host].dirty_next;
		s->host[host].dirty = false;
		host_settle(s, host);
	}
}

void vb_host_timeout(struct vb_sim *s, uint32_t host)
{
	struct vb_sim_host *h = &s->host[host];

	h->deadline = VB_NEVER;
	vb_hca_handle_timeout(h->hca, s->now);
	vb_host_mark(s, host);
}

static void host_take(struct vb_sim *s, uint32_t host, const struct vb_sim_packet *pkt)
{
	struct vb_sim_host *h = &s->host[host];
	struct vb_counters *c = &h->counters;
	struct vb_rx rx = {
	    .pkt = pkt->bytes,
	    .len = pkt->len,
	    .avail = pkt->has_payload ? pkt->len : pkt->hdr_len,
	    .path = &pkt->path,
	};

	vb_count(c, VB_COUNTER_port_rcv_packets);
	vb_count_add(c, VB_COUNTER_port_rcv_data, (pkt->len + VB_ICRC_LEN) / 4);
	(void)vb_hca_handle_packet(h->hca, &rx, s->now);
	vb_host_mark(s, host);
}

void vb_host_receive(struct vb_sim *s, uint32_t host, struct vb_sim_packet *pkt)
{
	struct vb_counters *c = &s->host[host].counters;

	if (pkt->corrupt && !vb_packet_is_whole(pkt)) {
		vb_count(c, VB_COUNTER_rx_icrc_encapsulated);
		vb_count(c, VB_COUNTER_port_rcv_errors);
	} else {
		host_take(s, host, pkt);
	}
	vb_sim_pool_give(&s->pool, pkt);
}

static uint32_t flow_hash(uint32_t src, uint32_t dst, uint16_t sport)
{
	uint64_t x = ((uint64_t)src << 32 | dst) ^ (uint64_t)sport << 16;

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)(x >> 32);
}

static void copy_payload(struct vb_sim_packet *pkt, const struct vb_tx *tx)
{
	uint8_t *to = pkt->bytes + tx->hdr_len;

	for (uint32_t i = 0; i < tx->seg_cnt; i++) {
		if (tx->seg[i].p)
			memcpy(to, tx->seg[i].p, tx->seg[i].len);
		else
			memset(to, 0, tx->seg[i].len);
		to += tx->seg[i].len;
	}
	memset(to, 0, tx->pad);
}

static struct vb_sim_packet *packet_of(struct vb_sim *s, uint32_t host, const struct vb_tx *tx)
{
	struct vb_sim_packet *pkt = vb_sim_packet_take(s);

	if (!pkt)
		return NULL;
	pkt->kind = VB_SIM_ROCE;
	pkt->path = *tx->path;
	pkt->path.port = 1; /* the receiver's */
	pkt->dst = vb_gid_is_multicast(&tx->path->dgid) ? VB_SIM_ALL : vb_host_of(&tx->path->dgid);
	pkt->hash = flow_hash(host, pkt->dst, tx->path->udp_sport);
	pkt->prio = vb_sim_priority(tx->path);
	pkt->pad = tx->pad;
	pkt->len = tx->hdr_len + tx->payload_len + tx->pad;
	pkt->frame = vb_sim_frame(tx->path, pkt->len);
	pkt->corrupt = false;
	pkt->hdr_len = tx->hdr_len;
	/* Without a payload the headers are the whole packet. */
	pkt->has_payload = s->cfg.carry_data;
	memcpy(pkt->bytes, tx->hdr, tx->hdr_len);
	if (pkt->has_payload)
		copy_payload(pkt, tx);
	return pkt;
}

/* One packet from the core, or NULL. */
static struct vb_sim_packet *host_fetch(struct vb_sim *s, uint32_t host)
{
	struct vb_sim_host *h = &s->host[host];
	struct vb_tx_batch *b = &s->batch;

	/* A batch with room for one: the core appends to what is there. */
	b->cnt = VB_TX_BATCH_PKTS - 1;
	b->seg_cnt = 0;
	vb_host_mark(s, host);
	if (vb_hca_poll_transmit(h->hca, b, s->now) != VB_TX_BATCH_PKTS)
		return NULL;

	const struct vb_tx *tx = &b->pkt[VB_TX_BATCH_PKTS - 1];
	struct vb_sim_packet *pkt = packet_of(s, host, tx);

	if (!pkt)
		return NULL;
	vb_count(&h->counters, VB_COUNTER_port_xmit_packets);
	vb_count_add(&h->counters, VB_COUNTER_port_xmit_data, (pkt->len + VB_ICRC_LEN) / 4);
	/* What goes to many also goes to the members of this host. IBA 10.5.2 */
	if (pkt->dst == VB_SIM_ALL)
		host_take(s, host, pkt);
	if (pkt->dst == VB_SIM_ALL || (pkt->dst < s->host_cnt && pkt->dst != host))
		return pkt;
	vb_count(&h->counters, VB_COUNTER_port_xmit_discards);
	vb_sim_pool_give(&s->pool, pkt);
	return NULL;
}

struct vb_sim_packet *vb_host_pull(struct vb_sim *s, uint32_t host)
{
	struct vb_sim_host *h = &s->host[host];
	struct vb_sim_port *p = &s->port[h->port];
	struct vb_sim_packet *pkt = vb_port_dequeue(s, p);

	if (pkt) {
		h->staged--;
		return pkt;
	}
	while (h->staged < VB_SIM_STAGED_MAX && vb_hca_has_transmit(h->hca) && !s->failure) {
		pkt = host_fetch(s, host);
		if (!pkt || !(p->paused >> pkt->prio & 1))
			return pkt;
		vb_port_enqueue(s, p, pkt);
		h->staged++;
	}
	return NULL;
}

bool vb_host_has_more(const struct vb_sim *s, uint32_t host)
{
	const struct vb_sim_host *h = &s->host[host];

	return h->staged < VB_SIM_STAGED_MAX && vb_hca_has_transmit(h->hca);
}
