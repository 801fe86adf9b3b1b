/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RC connections: their random attributes, the rhythm of posting, and the judgement of completions.
 * See rc.h.
 */
#include "rc.h"

#include <stdlib.h>

/* A PSN to start from: half of them just below the wrap. IBA 9.7.1 */
static uint32_t random_psn(struct vb_rng *r)
{
	uint32_t psn = (uint32_t)vb_rng_next(r) & VB_PSN_MASK;

	return rng_chance(r, 50) ? psn | 0xffffe0 : psn;
}

static void side_open(struct world *w, struct rc_side *s, const struct rc_params *p, bool posts)
{
	struct vb_rng *r = &w->rng;
	struct host *host = &w->host[vb_rng_below(r, w->host_cnt)];

	s->depth = rng_range(r, p->depth_min, p->depth_max);
	s->rd_atomic = rng_range(r, 1, 16);
	s->gap = p->gap;
	s->len_max = p->len_max;
	s->sqd = p->sqd;
	s->rnr_retry = p->rnr_retry;
	s->to_post = posts ? p->requests : 0;
	s->s.init = (struct vb_qp_init){
	    .type = VB_QPT_RC,
	    .cap = {.max_send_wr = s->depth,
		    .max_recv_wr = 32,
		    .max_send_sge = rng_range(r, 1, SGE_MAX),
		    .max_recv_sge = SGE_MAX,
		    .max_inline_data = vb_rng_below(r, 257)},
	    .sq_sig_all = rng_chance(r, 25),
	};
	world_add_side(w, &s->s, host, rng_range(r, 1, 32));
	/* The HCA may give more; never more SGEs than the test has room for. */
	s->s.init.cap.max_send_sge =
	    s->s.init.cap.max_send_sge < SGE_MAX ? s->s.init.cap.max_send_sge : SGE_MAX;
	mem_open(&s->local, host, s->depth * SLOT_BYTES, VB_ACCESS_LOCAL_WRITE, rng_chance(r, 50));
	mem_open(&s->region, host, REGION_BYTES,
		 VB_ACCESS_LOCAL_WRITE | VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ |
		     VB_ACCESS_REMOTE_ATOMIC,
		 true);
	s->rkey = vb_mr_rkey(s->region.mr);
	for (uint32_t i = 0; i < REGION_BYTES; i++)
		s->region.base[i] = (uint8_t)vb_rng_next(r);
	s->shadow = test_alloc(REGION_BYTES);
	memcpy(s->shadow, s->region.base, REGION_BYTES);
	s->sq = test_alloc(s->depth * sizeof *s->sq);
	for (int i = 0; i < VB_WR_CNT; i++)
		s->weight[i] =
		    (i <= VB_WR_FETCH_ADD || i == VB_WR_ATOMIC_WRITE) && rng_chance(r, 70)
			? rng_range(r, 1, 10)
			: 0;
	if (posts)
		s->s.next_act = w->now;
}

static void side_connect(struct rc_side *s, uint32_t rq_psn, uint32_t sq_psn, enum vb_mtu mtu)
{
	struct world *w = s->s.w;
	struct rc_side *peer = (struct rc_side *)s->s.peer;
	struct vb_qp_attr a = {
	    .qp_state = VB_QPS_INIT,
	    .port = 1,
	    .access = VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ | VB_ACCESS_REMOTE_ATOMIC,
	    .path = path_to(s->s.host, peer->s.host),
	    .path_mtu = mtu,
	    .dest_qpn = vb_qp_number(peer->s.qp),
	    .rq_psn = rq_psn,
	    .sq_psn = sq_psn,
	    .max_dest_rd_atomic = (uint8_t)rng_range(&w->rng, peer->rd_atomic, 16),
	    .max_rd_atomic = (uint8_t)s->rd_atomic,
	    .min_rnr_timer = (uint8_t)rng_range(&w->rng, 1, 10),
	    .timeout = w->timeout_exp,
	    .retry_cnt = 7,
	    .rnr_retry = s->rnr_retry,
	};
	uint32_t init = VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_ACCESS_FLAGS;
	uint32_t rtr = VB_QP_STATE | VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN | VB_QP_RQ_PSN |
		       VB_QP_MAX_DEST_RD_ATOMIC | VB_QP_MIN_RNR_TIMER;
	uint32_t rts = VB_QP_STATE | VB_QP_TIMEOUT | VB_QP_RETRY_CNT | VB_QP_RNR_RETRY |
		       VB_QP_SQ_PSN | VB_QP_MAX_QP_RD_ATOMIC;

	CHECK(w, vb_qp_modify(s->s.qp, &a, init, w->now) == 0);
	a.qp_state = VB_QPS_RTR;
	CHECK(w, vb_qp_modify(s->s.qp, &a, rtr, w->now) == 0);
	a.qp_state = VB_QPS_RTS;
	CHECK(w, vb_qp_modify(s->s.qp, &a, rts, w->now) == 0);
}

void rc_connect(struct world *w, const struct rc_params *p)
{
	struct rc_side *a = test_alloc(sizeof *a), *b = test_alloc(sizeof *b);
	uint32_t psn_a = random_psn(&w->rng), psn_b = random_psn(&w->rng);
	enum vb_mtu mtu = (enum vb_mtu)rng_range(&w->rng, VB_MTU_256, VB_MTU_4096);

	side_open(w, a, p, true);
	side_open(w, b, p, p->bidirectional);
	a->s.peer = &b->s;
	b->s.peer = &a->s;
	/* Everything that the peer can have posted, but for what it knows to have arrived. */
	a->in_cap = b->depth + 1;
	b->in_cap = a->depth + 1;
	a->in = test_alloc(a->in_cap * sizeof *a->in);
	b->in = test_alloc(b->in_cap * sizeof *b->in);
	side_connect(a, psn_b, psn_a, mtu);
	side_connect(b, psn_a, psn_b, mtu);
}

bool rc_is_done(const struct rc_side *s)
{
	return !s->to_post && s->posted == s->retired && s->in_head == s->in_tail;
}

static enum vb_wr_opcode random_opcode(struct rc_side *s)
{
	uint32_t sum = 0, at;

	for (int i = 0; i < VB_WR_CNT; i++)
		sum += s->weight[i];
	if (!sum)
		return VB_WR_SEND;
	at = vb_rng_below(&s->s.w->rng, sum);
	for (int i = 0;; i++) {
		if (at < s->weight[i])
			return (enum vb_wr_opcode)i;
		at -= s->weight[i];
	}
}

/* Lengths: many short ones, and the neighbourhood of multiples of every MTU. */
static uint32_t random_len(struct rc_side *s)
{
	struct vb_rng *r = &s->s.w->rng;
	uint32_t len;

	switch (vb_rng_below(r, 4)) {
	case 0:
		len = vb_rng_below(r, 9);
		break;
	case 1:
		len = vb_rng_below(r, 600);
		break;
	case 2:
		len = rng_range(r, 1, 64) * 256 + vb_rng_below(r, 3) - 1;
		break;
	default:
		len = vb_rng_below(r, MSG_MAX + 1);
	}
	return len < s->len_max ? len : s->len_max;
}

static void maybe_visit_sqd(struct rc_side *s)
{
	struct world *w = s->s.w;
	struct vb_qp_attr a = {.qp_state = VB_QPS_SQD, .en_sqd_async_notify = 1};

	if (!s->sqd || vb_qp_get_state(s->s.qp) != VB_QPS_RTS || !rng_chance(&w->rng, 2))
		return;
	CHECK(w, vb_qp_modify(s->s.qp, &a, VB_QP_STATE | VB_QP_EN_SQD_ASYNC_NOTIFY, w->now) == 0);
}

void rc_on_async(struct world *w, void *owner, enum vb_async async)
{
	struct rc_side *s = owner;
	struct vb_qp_attr a = {.qp_state = VB_QPS_RTS};

	if (async == VB_ASYNC_COMM_EST || s->breaks)
		return;
	if (async != VB_ASYNC_SQ_DRAINED)
		die(w, "async event %d, and nothing happened", async);
	/* Drained: everything sent has been acknowledged. IBT-34 */
	CHECK(w, vb_qp_get_state(s->s.qp) == VB_QPS_SQD);
	CHECK(w, vb_qp_unacked(s->s.qp) == 0);
	CHECK(w, vb_qp_modify(s->s.qp, &a, VB_QP_STATE, w->now) == 0);
}

void rc_act(struct side *side)
{
	struct rc_side *s = (struct rc_side *)side;
	struct world *w = side->w;
	uint32_t burst = rng_range(&w->rng, 1, 8);

	maybe_visit_sqd(s);
	while (s->to_post && rc_has_room(s) && burst--) {
		s->to_post--;
		/* Unsignaled ones need a signaled one behind them, while there is room for it. */
		bool signaled = rng_chance(&w->rng, 50) || !s->to_post ||
				s->unsignaled + 1 >= (s->depth + 1) / 2;

		rc_post(s, random_opcode(s), random_len(s), signaled);
	}
	if (s->to_post && rc_has_room(s))
		side->next_act = w->now + vb_rng_below(&w->rng, (uint32_t)s->gap + 1);
}

/* A receive completion: the next message that the peer sent, whole, once, and nothing beside it. */
static void rc_received(struct rc_side *s, const struct vb_wc *wc, struct pool *p, uint32_t i)
{
	struct world *w = s->s.w;
	uint8_t image[SLOT_BYTES];

	if (s->breaks && wc->status != VB_WC_SUCCESS) {
		CHECK(w, wc->status == s->recv_status);
		s->recv_status = VB_WC_WR_FLUSH_ERR;
		pool_took(p, i);
		return;
	}
	if (s->in_head == s->in_tail)
		die(w, "side %u: a message that nobody sent", s->s.idx);

	struct message *m = &s->in[s->in_head++ % s->in_cap];

	CHECK(w, wc->status == VB_WC_SUCCESS);
	CHECK(w, wc->opcode == (m->is_write ? VB_WC_RECV_RDMA_WITH_IMM : VB_WC_RECV));
	CHECK(w, wc->byte_len == m->len);
	CHECK(w, (wc->flags & (VB_WC_WITH_IMM | VB_WC_WITH_INV | VB_WC_GRH)) ==
		     (m->has_imm ? VB_WC_WITH_IMM : 0));
	CHECK(w, !m->has_imm || wc->imm == m->imm);
	slot_image(&p->mem, i, p->buf[i].sge, p->buf[i].sge_cnt, m->data, m->is_write ? 0 : m->len,
		   image);
	if (memcmp(slot_at(&p->mem, i), image, SLOT_BYTES))
		die(w, "side %u: a received message of %u bytes differs", s->s.idx, m->len);
	free(m->data);
	m->data = NULL;
	pool_took(p, i);
}

static void retire(struct rc_side *s, struct request *r)
{
	if (r->image && memcmp(slot_at(&s->local, r->slot), r->image, SLOT_BYTES))
		die(s->s.w, "side %u: request %llu (opcode %d) returned wrong bytes", s->s.idx,
		    (unsigned long long)s->retired, r->opcode);
	free(r->image);
	r->image = NULL;
	s->retired++;
}

void rc_on_wc(struct world *w, struct side *side, const struct vb_wc *wc, struct pool *pool,
	      uint32_t buffer)
{
	static const enum vb_wc_opcode opcode[VB_WR_CNT] = {
	    [VB_WR_RDMA_WRITE] = VB_WC_RDMA_WRITE,
	    [VB_WR_RDMA_WRITE_IMM] = VB_WC_RDMA_WRITE,
	    [VB_WR_SEND] = VB_WC_SEND,
	    [VB_WR_SEND_IMM] = VB_WC_SEND,
	    [VB_WR_RDMA_READ] = VB_WC_RDMA_READ,
	    [VB_WR_COMPARE_SWAP] = VB_WC_COMP_SWAP,
	    [VB_WR_FETCH_ADD] = VB_WC_FETCH_ADD,
	    [VB_WR_ATOMIC_WRITE] = VB_WC_ATOMIC_WRITE,
	};
	struct rc_side *s = (struct rc_side *)side;

	if (pool) {
		rc_received(s, wc, pool, buffer);
		return;
	}
	/* Completions come in the order of posting; an unsignaled request has none of its own. */
	while (s->retired < s->posted && s->sq[s->retired % s->depth].wr_id != wc->wr_id) {
		CHECK(w, !s->sq[s->retired % s->depth].signaled);
		retire(s, &s->sq[s->retired % s->depth]);
	}
	CHECK(w, s->retired < s->posted);

	struct request *r = &s->sq[s->retired % s->depth];

	if (wc->status != r->status)
		die(w, "side %u: request %llu ended with status %d instead of %d, vendor_err %u",
		    s->s.idx, (unsigned long long)s->retired, wc->status, r->status,
		    wc->vendor_err);
	/* An error is always told. IBA 10.7.3.1 */
	CHECK(w, r->status != VB_WC_SUCCESS || (r->signaled && wc->opcode == opcode[r->opcode]));
	retire(s, r);
	if (side->next_act == VB_NEVER && s->to_post)
		side->next_act = w->now + vb_rng_below(&w->rng, (uint32_t)s->gap + 1);
}

void rc_close(struct rc_side *s)
{
	struct world *w = s->s.w;

	if (memcmp(s->region.base, s->shadow, REGION_BYTES))
		die(w, "side %u: remote memory is not what the requests make of it", s->s.idx);
	mem_check(w, &s->region);
	mem_check(w, &s->local);
	mem_close(&s->region);
	mem_close(&s->local);
	for (uint64_t n = s->retired; n < s->posted; n++)
		free(s->sq[n % s->depth].image);
	for (uint32_t i = s->in_head; i != s->in_tail; i++)
		free(s->in[i % s->in_cap].data);
	free(s->sq);
	free(s->in);
	free(s->shadow);
}
