/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Virtual time: everything that can happen next is a packet's arrival, a deadline of an HCA, or
 * something that a test wants to do. See world.h.
 */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* wr_id: what it names, then which one. */
#define WR_RECV (UINT64_C(1) << 63)

_Noreturn void die(const struct world *w, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "seed %llu, at %llu ns, after %llu packets: ", (unsigned long long)w->seed,
		(unsigned long long)w->now, (unsigned long long)w->net.sent);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static void *host_alloc(void *ctx, size_t size)
{
	struct host *h = ctx;

	h->alloc_cnt++;
	return test_alloc(size);
}

static void host_free(void *ctx, void *p)
{
	struct host *h = ctx;

	if (!p)
		return;
	CHECK(h->w, h->alloc_cnt > 0);
	h->alloc_cnt--;
	free(p);
}

struct vb_path path_to(const struct host *from, const struct host *to)
{
	return (struct vb_path){.sgid = net_gid(from->idx),
				.dgid = net_gid(to->idx),
				.udp_sport = 0xc000,
				.port = 1,
				.hop_limit = 64};
}

/* One line per event, for `--verbose`. */
static void print_event(void *ctx, const struct vb_trace_event *ev)
{
	const struct vb_trace_info *info = &vb_trace_info[ev->id];

	(void)ctx;
	printf("%12llu host %u qp %06x %s", (unsigned long long)ev->time, ev->node, ev->qpn,
	       info->name);
	for (int i = 0; i < 4 && *info->arg[i]; i++)
		printf(" %s=%llu", info->arg[i], (unsigned long long)ev->arg[i]);
	if (ev->id == VB_TRACE_PACKET_SENT || ev->id == VB_TRACE_PACKET_RECEIVED)
		printf(" (%s)", vb_opcode[ev->arg[0] & 0xff].name);
	if (ev->id == VB_TRACE_PACKET_RECEIVED)
		printf(" %s", vb_verdict_name((enum vb_verdict)ev->arg[3]));
	putchar('\n');
}

static void host_open(struct world *w, uint32_t idx, const struct world_config *cfg)
{
	struct host *h = &w->host[idx];
	struct vb_hca_config c = {
	    .limits = vb_limits_default,
	    .seed = vb_rng_next(&w->rng),
	    .qpn_base = 2 + idx,
	    .qpn_stride = 256,
	    .qpn_first = vb_rng_below(&w->rng, 1 << 16),
	    .port_cnt = 1,
	    .port[1] = {.active_mtu = VB_MTU_4096, .pkey = {VB_PKEY_DEFAULT}},
	    .peer_window_bytes = cfg->peer_window_bytes,
	    .read_piece_bytes = cfg->read_piece_bytes,
	    .recovery = cfg->any_recovery ? random_recovery(&w->settings_rng) : cfg->recovery,
	    .trace = {.mask = w->verbose ? UINT64_MAX : 0, .emit = print_event, .node = idx},
	    .alloc = host_alloc,
	    .free = host_free,
	    .alloc_ctx = h,
	};

	/* So few that they run out at times. */
	c.limits.ooo_pkts = cfg->any_recovery ? vb_rng_below(&w->settings_rng, 100) : 64;
	if (cfg->ooo_pkts)
		c.limits.ooo_pkts = cfg->ooo_pkts;
	c.port[1].counters = &h->counters;
	if (cfg->trace.emit) {
		c.trace = cfg->trace;
		c.trace.node = idx;
	}
	h->w = w;
	h->idx = idx;
	CHECK(w, vb_hca_create(&h->hca, &c, w->now) == 0);
	CHECK(w, vb_pd_create(h->hca, &h->pd) == 0);
	h->cq_cnt = cfg->cq_cnt;
	for (uint32_t i = 0; i < h->cq_cnt; i++) {
		h->cq[i].host = h;
		h->cq[i].event_driven = cfg->event_driven;
		CHECK(w, vb_cq_create(h->hca, 16384, &h->cq[i], &h->cq[i].cq) == 0);
	}
	if (cfg->srq) {
		h->srq_pool = test_alloc(sizeof *h->srq_pool);
		pool_open(h->srq_pool, h, rng_range(&w->rng, 4, 64));
		CHECK(w, vb_srq_create(h->pd, 64, SGE_MAX, 0, h->srq_pool, &h->srq_pool->srq) == 0);
	}
}

void world_open(struct world *w, const struct world_config *cfg)
{
	w->host_cnt = cfg->host_cnt;
	w->any_recovery = cfg->any_recovery;
	w->settings_rng = vb_rng_stream(w->seed, "settings", 0);
	for (uint32_t i = 0; i < w->host_cnt; i++)
		host_open(w, i, cfg);
}

void world_add_side(struct world *w, struct side *s, struct host *host, uint32_t buffers)
{
	s->w = w;
	s->host = host;
	s->idx = w->side_cnt;
	CHECK(w, w->side_cnt < SIDES_MAX);
	w->side[w->side_cnt++] = s;
	s->next_act = VB_NEVER;
	s->scq = &host->cq[vb_rng_below(&w->rng, host->cq_cnt)];
	s->rcq = &host->cq[vb_rng_below(&w->rng, host->cq_cnt)];
	s->init.send_cq = s->scq->cq;
	s->init.recv_cq = s->rcq->cq;
	s->init.owner = s;
	s->pool = host->srq_pool;
	if (s->pool)
		s->init.srq = s->pool->srq;

	struct vb_qp_cap want = s->init.cap;

	CHECK(w, vb_qp_create(host->pd, &s->init, &s->qp) == 0);
	CHECK(w, s->init.cap.max_send_wr >= want.max_send_wr &&
		     s->init.cap.max_send_sge >= want.max_send_sge &&
		     s->init.cap.max_inline_data >= want.max_inline_data);
	CHECK(w, s->pool || s->init.cap.max_recv_wr >= want.max_recv_wr);
	if (!s->pool) {
		s->pool = test_alloc(sizeof *s->pool);
		pool_open(s->pool, host, buffers);
		s->pool->qp = s->qp;
	}
}

/* Posts one receive buffer, in pieces; returns false when all are posted. */
static bool pool_post(struct world *w, struct pool *p)
{
	uint32_t i = vb_rng_below(&w->rng, p->cnt);

	if (p->posted == p->cnt)
		return false;
	while (p->buf[i].posted)
		i = (i + 1) % p->cnt;

	struct buffer *b = &p->buf[i];

	b->sge_cnt = slot_split(&w->rng, &p->mem, i, MSG_MAX + VB_GRH_LEN, SGE_MAX, b->sge);

	struct vb_recv_wr wr = {WR_RECV | (uint64_t)p->idx << 32 | i, b->sge, b->sge_cnt};

	CHECK(w, (p->srq ? vb_srq_post(p->srq, &wr) : vb_qp_post_recv(p->qp, &wr, w->now)) == 0);
	b->posted = true;
	p->posted++;
	return true;
}

static void pool_act(struct world *w, struct pool *p)
{
	uint32_t n = rng_range(&w->rng, 1, p->cnt);

	p->next_post = VB_NEVER;
	while (!p->stopped && n--)
		if (!pool_post(w, p))
			return;
	if (!p->stopped && p->posted < p->cnt)
		p->next_post = w->now + 1 + vb_rng_below(&w->rng, (uint32_t)w->recv_gap + 1);
}

static void judge(struct world *w, const struct queue *q, const struct vb_wc *wc)
{
	uint32_t idx = (uint32_t)(wc->wr_id >> 32 & 0x7fffffff);

	w->completions++;
	if (!(wc->wr_id & WR_RECV)) {
		CHECK(w, idx < w->side_cnt && w->side[idx]->scq == q);
		CHECK(w, wc->qpn == vb_qp_number(w->side[idx]->qp));
		w->on_wc(w, w->side[idx], wc, NULL, 0);
		return;
	}
	for (uint32_t i = 0; i < w->side_cnt; i++) {
		struct side *s = w->side[i];

		if (s->host != q->host || vb_qp_number(s->qp) != wc->qpn)
			continue;
		CHECK(w, s->rcq == q && s->pool->idx == idx);
		CHECK(w, (uint32_t)wc->wr_id < s->pool->cnt);
		CHECK(w, s->pool->buf[(uint32_t)wc->wr_id].posted);
		w->on_wc(w, s, wc, s->pool, (uint32_t)wc->wr_id);
		return;
	}
	die(w, "a completion of QP %#x, which does not exist", wc->qpn);
}

static void queue_poll(struct world *w, struct queue *q)
{
	struct vb_wc wc[8];
	int n;

	if (q->event_driven && q->awaits)
		return;
	/* As a program does it: arm, then take what came before, then sleep. */
	if (q->event_driven)
		vb_cq_arm(q->cq, false);
	while ((n = vb_cq_poll(q->cq, wc, (int)rng_range(&w->rng, 1, 8))) != 0) {
		CHECK(w, n > 0 && n <= 8);
		for (int i = 0; i < n; i++)
			judge(w, q, &wc[i]);
	}
	q->awaits = q->event_driven;
}

/* Takes events and completions. */
static void host_drain(struct host *h)
{
	struct world *w = h->w;
	struct vb_event ev;

	while (vb_hca_poll_event(h->hca, &ev)) {
		if (ev.kind == VB_EVENT_CQ_NOTIFY) {
			struct queue *q = ev.owner;

			CHECK(w, q->awaits);
			q->awaits = false;
		} else if (w->on_async) {
			w->on_async(w, ev.owner, ev.async);
		} else {
			die(w, "async event %d, and nothing happened", ev.async);
		}
	}
	for (uint32_t i = 0; i < h->cq_cnt; i++)
		queue_poll(w, &h->cq[i]);
}

static void host_transmit(struct host *h)
{
	struct vb_tx_batch b;

	/* Judging completions may give it more to send. */
	for (uint32_t idle = 0; vb_hca_has_transmit(h->hca); idle = b.cnt ? 0 : idle + 1) {
		CHECK(h->w, idle < 100);
		b.cnt = b.seg_cnt = 0;
		vb_hca_poll_transmit(h->hca, &b, h->w->now);
		for (uint32_t i = 0; i < b.cnt; i++)
			net_send(&h->w->net, h->idx, &b.pkt[i], h->w->now);
		host_drain(h);
	}
}

vb_time world_next(const struct world *w)
{
	vb_time t = net_next(&w->net);

	for (uint32_t i = 0; i < w->host_cnt; i++)
		t = vb_time_min(t, vb_hca_poll_timeout(w->host[i].hca));
	for (uint32_t i = 0; i < w->side_cnt; i++)
		t = vb_time_min(t, w->side[i]->next_act);
	for (uint32_t i = 0; i < w->pool_cnt; i++)
		t = vb_time_min(t, w->pool[i]->next_post);
	return t;
}

/* Other settings, with everything under way. */
static void settings_change(struct world *w)
{
	struct host *h = &w->host[vb_rng_below(&w->settings_rng, w->host_cnt)];
	struct vb_recovery set = random_recovery(&w->settings_rng);

	CHECK(w, vb_hca_set_recovery(h->hca, &set, w->now) == 0);
}

void world_step(struct world *w)
{
	vb_time next = world_next(w);
	struct net_packet *p;

	if (next == VB_NEVER)
		die(w, "stuck: work is left and nothing will ever happen");
	if (next > w->now)
		w->now = next;
	if (w->any_recovery && vb_rng_below(&w->settings_rng, 500) == 0)
		settings_change(w);
	while ((p = net_take(&w->net, w->now))) {
		struct vb_rx rx = {
		    .pkt = p->bytes, .len = p->len, .avail = p->len, .path = &p->path};
		struct host *h = &w->host[p->dst];

		CHECK(w, vb_hca_handle_packet(h->hca, &rx, w->now) < VB_VERDICT_CNT);
		free(p);
		host_drain(h);
	}
	for (uint32_t i = 0; i < w->host_cnt; i++) {
		if (vb_hca_poll_timeout(w->host[i].hca) <= w->now)
			vb_hca_handle_timeout(w->host[i].hca, w->now);
		CHECK(w, vb_hca_poll_timeout(w->host[i].hca) > w->now);
		host_drain(&w->host[i]);
	}
	for (uint32_t i = 0; i < w->side_cnt; i++) {
		if (w->side[i]->next_act <= w->now) {
			w->side[i]->next_act = VB_NEVER;
			w->act(w->side[i]);
		}
	}
	for (uint32_t i = 0; i < w->pool_cnt; i++)
		if (w->pool[i]->next_post <= w->now)
			pool_act(w, w->pool[i]);
	for (uint32_t i = 0; i < w->host_cnt; i++)
		host_transmit(&w->host[i]);
}

static void host_close(struct host *h)
{
	struct world *w = h->w;

	/* An HCA takes what is left with it; half of the runs leave it everything. */
	if (h->srq_pool && rng_chance(&w->rng, 50))
		CHECK(w, vb_srq_destroy(h->srq_pool->srq) == 0);
	vb_hca_destroy(h->hca);
	if (h->alloc_cnt)
		die(w, "%llu allocations were not freed", (unsigned long long)h->alloc_cnt);
	free(h->srq_pool);
}

void world_close(struct world *w)
{
	/* Honest peers are never taken for those who repeat READs for the answers' sake. */
	for (uint32_t i = 0; i < w->host_cnt; i++)
		CHECK(w, w->host[i].counters.v[VB_COUNTER_rx_read_refused] == 0);
	for (uint32_t i = 0; i < w->side_cnt; i++)
		CHECK(w, vb_qp_destroy(w->side[i]->qp) == 0);
	for (uint32_t i = 0; i < w->pool_cnt; i++) {
		mem_check(w, &w->pool[i]->mem);
		mem_close(&w->pool[i]->mem);
		free(w->pool[i]->buf);
	}
	for (uint32_t i = 0; i < w->side_cnt; i++)
		if (!w->host[w->side[i]->host->idx].srq_pool)
			free(w->side[i]->pool);
	for (uint32_t i = 0; i < w->host_cnt; i++)
		host_close(&w->host[i]);
	net_free(&w->net);
}
