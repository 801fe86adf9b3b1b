/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Atomics are carried out once each, and each has its own result. Two ends count in each other's
 * memory: a FETCH_ADD of 1 must return how many were posted before it, and so must a COMPARE_SWAP
 * of n by n + 1. Between them are READs in pieces of what WRITEs have just left there, and SENDs.
 * The network loses, doubles and reorders; copies come as late as seconds. Ends are frozen, also in
 * the middle of a batch that leaves, or only answer late, so that requests and their repetitions
 * come together. IBA 9.7.4.5, 9.7.5.1.3
 */
#include "scenarios.h"
#include "world.h"

#include <stdlib.h>

#define DEPTH 64u
#define RECVS 32u
#define BLOCKS 4u
#define BLOCK_BYTES 4096u
#define INBOX 4096u

enum kind { ADDED, SWAPPED, WRITTEN, READ_BACK, SENT };

/* One region of an end, open to the other. */
struct area {
	uint64_t sum, swapped;
	uint64_t result[DEPTH];
	uint8_t block[BLOCKS][BLOCK_BYTES], written[BLOCKS][BLOCK_BYTES], back[BLOCKS][BLOCK_BYTES];
	uint8_t out[BLOCK_BYTES], in[RECVS][BLOCK_BYTES];
};

struct end {
	struct host *host;
	struct end *peer;
	struct vb_qp *qp;
	struct mem mem;
	struct area *a;
	struct {
		enum kind kind;
		uint64_t number;
	} post[DEPTH];
	uint64_t posted, done, to_post;
	uint64_t adds, swaps, blocks, blocks_done, sends, received;
	vb_time frozen, thaws, busy; /* VB_NEVER: it is not frozen; sends nothing before busy */
	struct net_packet *inbox[INBOX];
	uint32_t inbox_cnt;
};

struct counting {
	struct world w;
	struct end end[2];
	uint8_t rd;
	enum vb_mtu mtu;
	uint32_t loss, dup, reorder, very_late; /* percent, very_late per mille */
	vb_dur reorder_max, late_max, freeze_gap, freeze_max, busy_max;
	vb_time next_freeze;
	bool gave_up;
};

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static uint32_t length_of(uint64_t number)
{
	uint64_t x = mix(number + 77);

	return 8 + (uint32_t)(x >> 8) % (BLOCK_BYTES >> x % 8);
}

static void fill(uint8_t *p, uint64_t number, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = (uint8_t)(mix(number + i / 8) >> i % 8 * 8);
}

static uint64_t at_peer(const struct end *e, const void *mine)
{
	return e->peer->mem.iova + (uint64_t)((const uint8_t *)mine - (const uint8_t *)e->a);
}

static void post(struct counting *c, struct end *e, enum kind kind, uint64_t number,
		 struct vb_send_wr *wr, void *p, uint32_t len)
{
	struct vb_sge sge = {e->mem.iova + (uint64_t)((uint8_t *)p - (uint8_t *)e->a), len,
			     vb_mr_lkey(e->mem.mr)};

	wr->sge = &sge;
	wr->sge_cnt = 1;
	wr->wr_id = e->posted;
	wr->flags = VB_SEND_SIGNALED;
	wr->rkey = vb_mr_rkey(e->peer->mem.mr);
	e->post[e->posted % DEPTH].kind = kind;
	e->post[e->posted % DEPTH].number = number;
	e->posted++;
	e->to_post -= e->to_post > 0;
	CHECK(&c->w, vb_qp_post_send(e->qp, wr, c->w.now) == 0);
}

static void post_atomic(struct counting *c, struct end *e, enum kind kind)
{
	uint64_t n = kind == ADDED ? e->adds++ : e->swaps++;
	uint64_t *result = &e->a->result[e->posted % DEPTH];
	struct vb_send_wr wr = {.opcode = kind == ADDED ? VB_WR_FETCH_ADD : VB_WR_COMPARE_SWAP,
				.remote_addr =
				    at_peer(e, kind == ADDED ? &e->a->sum : &e->a->swapped),
				.compare_add = kind == ADDED ? 1 : n,
				.swap = n + 1};

	*result = UINT64_MAX;
	post(c, e, kind, n, &wr, result, 8);
}

static void post_block(struct counting *c, struct end *e)
{
	uint64_t n = e->blocks++;
	struct vb_send_wr wr = {.opcode = VB_WR_RDMA_WRITE,
				.remote_addr = at_peer(e, e->a->block[n % BLOCKS])};

	fill(e->a->written[n % BLOCKS], n, length_of(n));
	post(c, e, WRITTEN, n, &wr, e->a->written[n % BLOCKS], length_of(n));
	wr.opcode = VB_WR_RDMA_READ;
	post(c, e, READ_BACK, n, &wr, e->a->back[n % BLOCKS], length_of(n));
}

static void post_some(struct counting *c, struct end *e)
{
	struct vb_rng *r = &c->w.rng;
	uint32_t burst = rng_range(r, 0, 16);

	while (e->to_post && burst-- && e->posted - e->done + 2 <= DEPTH && !c->gave_up) {
		uint32_t what = vb_rng_below(r, 10);

		if (what == 0 && e->blocks - e->blocks_done < BLOCKS) {
			post_block(c, e);
		} else if (what <= 2) {
			struct vb_send_wr wr = {.opcode = VB_WR_SEND_IMM,
						.imm = (uint32_t)e->sends};

			post(c, e, SENT, e->sends, &wr, e->a->out, length_of(e->sends));
			e->sends++;
		} else {
			post_atomic(c, e, what & 1 ? ADDED : SWAPPED);
		}
	}
}

static void post_recv(struct counting *c, struct end *e, uint64_t i)
{
	struct vb_sge sge = {e->mem.iova + (uint64_t)(e->a->in[i] - (uint8_t *)e->a), BLOCK_BYTES,
			     vb_mr_lkey(e->mem.mr)};
	struct vb_recv_wr wr = {i, &sge, 1};

	CHECK(&c->w, vb_qp_post_recv(e->qp, &wr, c->w.now) == 0);
}

static void take_done(struct counting *c, struct end *e)
{
	struct area *a = e->a;
	uint64_t slot = e->done % DEPTH, n = e->post[slot].number;
	uint8_t want[BLOCK_BYTES];

	switch (e->post[slot].kind) {
	case ADDED:
	case SWAPPED:
		if (a->result[slot] != n)
			die(&c->w, "end %u: %s %llu returned %llu", e->host->idx,
			    e->post[slot].kind == ADDED ? "FETCH_ADD" : "COMPARE_SWAP",
			    (unsigned long long)n, (unsigned long long)a->result[slot]);
		break;
	case READ_BACK:
		fill(want, n, length_of(n));
		CHECK(&c->w, memcmp(want, a->back[n % BLOCKS], length_of(n)) == 0);
		e->blocks_done++;
		break;
	default:
		break;
	}
	e->done++;
}

static void take(struct counting *c, struct end *e, const struct vb_wc *wc)
{
	c->w.completions++;
	if (c->gave_up)
		return;
	/* Faults are as they come: eight may hit the same packet. */
	if (wc->status == VB_WC_RETRY_EXC_ERR) {
		c->gave_up = true;
		return;
	}
	CHECK(&c->w, wc->status == VB_WC_SUCCESS);
	if (wc->opcode & VB_WC_RECV) {
		CHECK(&c->w,
		      wc->imm == (uint32_t)e->received && wc->byte_len == length_of(e->received));
		e->received++;
		post_recv(c, e, wc->wr_id);
		return;
	}
	CHECK(&c->w, wc->wr_id == e->done && e->done < e->posted);
	take_done(c, e);
}

static void drain(struct counting *c, struct end *e)
{
	struct vb_event ev;
	struct vb_wc wc[8];
	int n;

	while (vb_hca_poll_event(e->host->hca, &ev))
		CHECK(&c->w, c->gave_up || ev.kind != VB_EVENT_CQ_NOTIFY);
	while ((n = vb_cq_poll(e->host->cq[0].cq, wc, 8)) > 0)
		for (int i = 0; i < n; i++)
			take(c, e, &wc[i]);
}

static void send_faulty(struct counting *c, struct end *e, const struct vb_tx *tx, vb_time at)
{
	struct net *n = &c->w.net;
	bool very_late = vb_rng_below(&c->w.rng, 1000) < c->very_late;

	n->dup = very_late ? 100 : c->dup;
	n->reorder_max = very_late ? c->late_max : c->reorder_max;
	/* The packet itself is not so late: that would be a loss. */
	n->reorder = very_late ? 0 : c->reorder;
	net_send(n, e->host->idx, tx, at);
}

static void freeze(struct counting *c, struct end *e, vb_dur span)
{
	if (e->frozen != VB_NEVER)
		return;
	e->frozen = c->w.now;
	e->thaws = c->w.now + span;
}

static vb_dur random_span(struct counting *c)
{
	return 1 + vb_rng_below(&c->w.rng, (uint32_t)c->freeze_max);
}

static void transmit(struct counting *c, struct end *e)
{
	struct vb_tx_batch b;
	uint32_t i;

	for (uint32_t k = 0; k < 16 && vb_hca_has_transmit(e->host->hca); k++) {
		b.cnt = b.seg_cnt = 0;
		vb_hca_poll_transmit(e->host->hca, &b, c->w.now);

		/* Frozen behind packet @cut of it: the others leave when it is thawed. */
		uint32_t cut = c->freeze_gap && b.cnt && vb_rng_below(&c->w.rng, 5000) == 0
				   ? vb_rng_below(&c->w.rng, b.cnt)
				   : b.cnt;

		for (i = 0; i < cut; i++)
			send_faulty(c, e, &b.pkt[i], c->w.now);
		if (cut < b.cnt)
			freeze(c, e, random_span(c));
		for (; i < b.cnt; i++)
			send_faulty(c, e, &b.pkt[i], e->thaws);
		drain(c, e);
		if (cut < b.cnt)
			return;
	}
}

static void handle(struct counting *c, struct end *e, struct net_packet *p)
{
	struct vb_rx rx = {.pkt = p->bytes, .len = p->len, .avail = p->len, .path = &p->path};

	CHECK(&c->w, vb_hca_handle_packet(e->host->hca, &rx, c->w.now) < VB_VERDICT_CNT);
	memset(p->bytes, 0xee, p->len);
	free(p);
	if (rng_chance(&c->w.rng, 50))
		drain(c, e);
}

static void thaw(struct counting *c, struct end *e)
{
	if (rng_chance(&c->w.rng, 80))
		vb_hca_add_gap(e->host->hca, c->w.now - e->frozen);
	e->frozen = VB_NEVER;
	for (uint32_t i = 0; i < e->inbox_cnt; i++) {
		handle(c, e, e->inbox[i]);
		if (rng_chance(&c->w.rng, 5))
			transmit(c, e);
	}
	e->inbox_cnt = 0;
}

static vb_time next_of(const struct counting *c)
{
	vb_time t = net_next(&c->w.net);

	if (c->freeze_gap && !c->w.net.healed)
		t = vb_time_min(t, c->next_freeze);
	for (uint32_t i = 0; i < 2; i++) {
		const struct end *e = &c->end[i];

		if (e->frozen != VB_NEVER) {
			t = vb_time_min(t, e->thaws);
			continue;
		}
		t = vb_time_min(t, vb_hca_poll_timeout(e->host->hca));
		if (vb_hca_has_transmit(e->host->hca) || (e->to_post && e->posted == e->done))
			t = vb_time_min(t, e->busy);
	}
	return t;
}

static void maybe_freeze(struct counting *c)
{
	struct vb_rng *r = &c->w.rng;
	uint32_t which = rng_range(r, 1, 3);
	vb_dur span = random_span(c);

	if (!c->freeze_gap || c->w.net.healed || c->w.now < c->next_freeze)
		return;
	c->next_freeze = c->w.now + span + vb_rng_below(r, (uint32_t)c->freeze_gap);
	for (uint32_t i = 0; i < 2; i++)
		if (which >> i & 1)
			freeze(c, &c->end[i], span);
}

static void step_end(struct counting *c, struct end *e)
{
	struct vb_rng *r = &c->w.rng;

	if (e->frozen != VB_NEVER && e->thaws > c->w.now)
		return;
	if (e->frozen != VB_NEVER)
		thaw(c, e);
	if (vb_hca_poll_timeout(e->host->hca) <= c->w.now)
		vb_hca_handle_timeout(e->host->hca, c->w.now);
	drain(c, e);
	if (e->busy > c->w.now)
		return;
	post_some(c, e);
	transmit(c, e);
	e->busy = c->w.now + 1;
	if (c->busy_max && rng_chance(r, 3))
		e->busy += vb_rng_below(r, (uint32_t)c->busy_max);
}

static void step(struct counting *c)
{
	vb_time next = next_of(c);
	struct net_packet *p;

	if (next == VB_NEVER)
		die(&c->w, "stuck: work is left and nothing will ever happen");
	if (next > c->w.now)
		c->w.now = next;
	maybe_freeze(c);
	while ((p = net_take(&c->w.net, c->w.now))) {
		struct end *e = &c->end[p->dst];

		if (e->frozen == VB_NEVER)
			handle(c, e, p);
		else if (e->inbox_cnt < INBOX)
			e->inbox[e->inbox_cnt++] = p;
		else
			free(p);
	}
	step_end(c, &c->end[0]);
	step_end(c, &c->end[1]);
}

static void end_open(struct counting *c, uint32_t i)
{
	struct end *e = &c->end[i];
	struct vb_qp_init init = {.type = VB_QPT_RC, .cap = {DEPTH, RECVS, 1, 1, 0}, .owner = e};

	e->host = &c->w.host[i];
	e->peer = &c->end[!i];
	e->frozen = VB_NEVER;
	init.send_cq = init.recv_cq = e->host->cq[0].cq;
	CHECK(&c->w, vb_qp_create(e->host->pd, &init, &e->qp) == 0);
	mem_open(&e->mem, e->host, sizeof *e->a,
		 VB_ACCESS_LOCAL_WRITE | VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ |
		     VB_ACCESS_REMOTE_ATOMIC,
		 true);
	e->a = (struct area *)(void *)e->mem.base;
	memset(e->a, 0, sizeof *e->a);
}

static void end_connect(struct counting *c, struct end *e, uint32_t psn, uint32_t peer_psn)
{
	struct vb_rng *r = &c->w.rng;
	struct vb_qp_attr a = {
	    .qp_state = VB_QPS_INIT,
	    .port = 1,
	    .access = VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ | VB_ACCESS_REMOTE_ATOMIC,
	    .path = path_to(e->host, e->peer->host),
	    .path_mtu = c->mtu,
	    .dest_qpn = vb_qp_number(e->peer->qp),
	    .rq_psn = peer_psn,
	    .sq_psn = psn,
	    .max_dest_rd_atomic = rng_chance(r, 80) ? c->rd : (uint8_t)(c->rd + 3),
	    .max_rd_atomic = c->rd,
	    .min_rnr_timer = 1,
	    .timeout = c->w.timeout_exp,
	    .retry_cnt = 7,
	    .rnr_retry = 7,
	};
	uint32_t init = VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_ACCESS_FLAGS;
	uint32_t rtr = VB_QP_STATE | VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN | VB_QP_RQ_PSN |
		       VB_QP_MAX_DEST_RD_ATOMIC | VB_QP_MIN_RNR_TIMER;
	uint32_t rts = VB_QP_STATE | VB_QP_TIMEOUT | VB_QP_RETRY_CNT | VB_QP_RNR_RETRY |
		       VB_QP_SQ_PSN | VB_QP_MAX_QP_RD_ATOMIC;

	CHECK(&c->w, vb_qp_modify(e->qp, &a, init, c->w.now) == 0);
	a.qp_state = VB_QPS_RTR;
	CHECK(&c->w, vb_qp_modify(e->qp, &a, rtr, c->w.now) == 0);
	a.qp_state = VB_QPS_RTS;
	CHECK(&c->w, vb_qp_modify(e->qp, &a, rts, c->w.now) == 0);
	for (uint32_t i = 0; i < RECVS; i++)
		post_recv(c, e, i);
}

static uint32_t pick(struct vb_rng *r, const uint32_t *of, uint32_t cnt)
{
	return of[vb_rng_below(r, cnt)];
}
#define PICK(r, ...)                                                                               \
	pick(r, (const uint32_t[]){__VA_ARGS__},                                                   \
	     sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void random_faults(struct counting *c)
{
	struct vb_rng *r = &c->w.rng;
	struct net *n = &c->w.net;
	vb_dur t;

	c->w.timeout_exp = (uint8_t)rng_range(r, 10, 14);
	t = vb_ack_timeout_ns(c->w.timeout_exp);
	n->rng = vb_rng_stream(c->w.seed, "net", 0);
	n->loss = c->loss = PICK(r, 0, 1, 5);
	c->dup = PICK(r, 0, 2, 30);
	c->reorder = PICK(r, 0, 2, 20);
	c->reorder_max = PICK(r, 2000, 100000, 3000000);
	c->very_late = PICK(r, 0, 2, 50);
	c->late_max = PICK(r, 1000000, 50000000, 2000000000);
	n->delay_min = rng_range(r, 100, 20000);
	n->delay_max = n->delay_min + PICK(r, 0, 100, 20000);
	c->freeze_gap = PICK(r, 0, 1, 50) * t;
	c->freeze_max = 2 * t;
	c->busy_max = PICK(r, 0, 3000, 200000);
}

static void both_open(struct counting *c, uint64_t requests)
{
	struct vb_rng *r = &c->w.rng;
	bool at_wrap = rng_chance(r, 70);
	uint32_t psn[2] = {0xfffff0, 0xfffff0};
	struct world_config cfg = {
	    .host_cnt = 2,
	    .cq_cnt = 1,
	    .peer_window_bytes = PICK(r, 0, 0, 20000),
	    .read_piece_bytes = PICK(r, 0, 0, 1024),
	    .recovery = {.roce_adp_retrans_en = rng_chance(r, 60),
			 .roce_tx_window_en = rng_chance(r, 15),
			 .roce_slow_restart_en = rng_chance(r, 30),
			 .selective_repeat_forced_en = rng_chance(r, 15),
			 .tx_window_bytes = 8000},
	};

	world_open(&c->w, &cfg);
	c->rd = (uint8_t)PICK(r, 1, 2, 8, 8, 16);
	c->mtu = (enum vb_mtu)rng_range(r, VB_MTU_256, VB_MTU_4096);
	for (uint32_t i = 0; i < 2; i++) {
		end_open(c, i);
		c->end[i].to_post = i == 0 || rng_chance(r, 75) ? requests : 0;
		if (!at_wrap)
			psn[i] = (uint32_t)vb_rng_next(r) & VB_PSN_MASK;
	}
	for (uint32_t i = 0; i < 2; i++)
		end_connect(c, &c->end[i], psn[i], psn[!i]);
}

static bool is_done(const struct end *e)
{
	return !e->to_post && e->posted == e->done;
}

/* The peer has carried out each request that completed once, and none twice. */
static void check_end(struct counting *c, struct end *e)
{
	const struct area *there = e->peer->a;

	if (c->gave_up) {
		CHECK(&c->w, there->sum <= e->adds && there->swapped <= e->swaps);
		return;
	}
	CHECK(&c->w, there->sum == e->adds && there->swapped == e->swaps);
	CHECK(&c->w, e->peer->received == e->sends);
}

uint64_t atomics_run(uint64_t seed, uint64_t requests, uint64_t *atomics, uint64_t *gave_up)
{
	struct counting *c = test_alloc(sizeof *c);
	uint64_t completions;

	c->w.seed = seed;
	c->w.rng = vb_rng_stream(seed, "atomics", 0);
	random_faults(c);
	both_open(c, requests);
	while (!c->gave_up && !(is_done(&c->end[0]) && is_done(&c->end[1])))
		step(c);
	c->w.net.healed = true;
	/* Late copies change nothing any more. */
	while (next_of(c) != VB_NEVER && (!c->gave_up || net_next(&c->w.net) != VB_NEVER))
		step(c);
	check_end(c, &c->end[0]);
	check_end(c, &c->end[1]);
	for (uint32_t i = 0; i < 2; i++) {
		struct end *e = &c->end[i];

		mem_check(&c->w, &e->mem);
		*atomics += e->adds + e->swaps;
		CHECK(&c->w, vb_qp_destroy(e->qp) == 0);
		mem_close(&e->mem);
	}
	*gave_up += c->gave_up;
	/* A late copy of a READ is no honest peer's request. */
	c->w.host[0].counters.v[VB_COUNTER_rx_read_refused] = 0;
	c->w.host[1].counters.v[VB_COUNTER_rx_read_refused] = 0;
	completions = c->w.completions;
	world_close(&c->w);
	free(c);
	return completions;
}
