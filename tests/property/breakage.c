/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The effect of an error on a connection: a healthy one gets one request that must fail, with good
 * ones behind it. The failing request has its own status, everything behind it is flushed in order,
 * and receive buffers of a QP in ERR come back. IBA 10.3.1.7, 10.10.2
 */
#include "rc.h"
#include "scenarios.h"

#include <stdlib.h>

enum breakage {
	BAD_RKEY,
	OUT_OF_BOUNDS_READ,
	BAD_LKEY,
	TOO_LONG,
	MISALIGNED_ATOMIC,
	DEAD_NETWORK,
	NO_RECEIVE,
	LOCAL_ERR,
	BREAKAGE_CNT
};

/* The doomed request of each kind, its status, and that of the receive buffer that is concerned. */
static const struct kind {
	enum vb_wr_opcode opcode;
	enum vb_wc_status status, recv_status;
	bool peer_fails;
} kinds[BREAKAGE_CNT] = {
    [BAD_RKEY] = {VB_WR_RDMA_WRITE, VB_WC_REM_ACCESS_ERR, VB_WC_WR_FLUSH_ERR, true},
    [OUT_OF_BOUNDS_READ] = {VB_WR_RDMA_READ, VB_WC_REM_ACCESS_ERR, VB_WC_WR_FLUSH_ERR, true},
    [BAD_LKEY] = {VB_WR_SEND, VB_WC_LOC_PROT_ERR, VB_WC_WR_FLUSH_ERR, false},
    [TOO_LONG] = {VB_WR_SEND, VB_WC_REM_INV_REQ_ERR, VB_WC_LOC_LEN_ERR, true},
    [MISALIGNED_ATOMIC] = {VB_WR_FETCH_ADD, VB_WC_REM_INV_REQ_ERR, VB_WC_WR_FLUSH_ERR, true},
    [DEAD_NETWORK] = {VB_WR_RDMA_WRITE, VB_WC_RETRY_EXC_ERR, VB_WC_WR_FLUSH_ERR, false},
    [NO_RECEIVE] = {VB_WR_SEND, VB_WC_RNR_RETRY_EXC_ERR, VB_WC_WR_FLUSH_ERR, false},
    [LOCAL_ERR] = {VB_WR_RDMA_WRITE, VB_WC_WR_FLUSH_ERR, VB_WC_WR_FLUSH_ERR, false},
};

static void step_until_idle(struct world *w)
{
	vb_time bound = w->now + 60 * VB_SEC;

	w->side[0]->next_act = w->now + 1; /* work posted since the last step gets one */
	while (world_next(w) != VB_NEVER && w->now < bound)
		world_step(w);
	CHECK(w, w->now < bound);
}

/* More bytes than a receive buffer takes, all from one place. */
static uint32_t long_sges(struct rc_side *s, struct vb_sge *sge, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		sge[i] = (struct vb_sge){s->local.iova, SLOT_BYTES, vb_mr_lkey(s->local.mr)};
	return cnt;
}

static void post_doomed(struct rc_side *s, enum breakage b)
{
	struct rc_side *peer = (struct rc_side *)s->s.peer;
	struct vb_sge sge[SGE_MAX] = {{s->local.iova, 8, vb_mr_lkey(s->local.mr)}};
	struct vb_send_wr wr = {.opcode = kinds[b].opcode,
				.sge = sge,
				.sge_cnt = 1,
				.flags = rng_chance(&s->s.w->rng, 50) ? VB_SEND_SIGNALED : 0,
				.remote_addr = peer->region.iova,
				.rkey = peer->rkey};

	switch (b) {
	case BAD_RKEY:
		wr.rkey ^= 1u << vb_rng_below(&s->s.w->rng, 32);
		break;
	case OUT_OF_BOUNDS_READ:
		wr.remote_addr += REGION_BYTES - rng_range(&s->s.w->rng, 0, 7);
		break;
	case BAD_LKEY:
		sge[0].lkey ^= 0x100;
		break;
	case TOO_LONG:
		wr.sge_cnt = long_sges(s, sge, s->s.init.cap.max_send_sge);
		break;
	case MISALIGNED_ATOMIC:
		wr.remote_addr += rng_range(&s->s.w->rng, 1, 7);
		break;
	default:
		break;
	}
	rc_post_doomed(s, &wr, kinds[b].status);
	/* And what must be flushed behind it. */
	wr = (struct vb_send_wr){.opcode = VB_WR_SEND};
	for (uint32_t n = vb_rng_below(&s->s.w->rng, 4); n && rc_has_room(s); n--)
		rc_post_doomed(s, &wr, VB_WC_WR_FLUSH_ERR);
}

static void stop_pools(struct world *w)
{
	for (uint32_t i = 0; i < w->pool_cnt; i++)
		w->pool[i]->stopped = true;
}

/* Takes every receive buffer of @s away by messages. */
static void use_up_receives(struct rc_side *s, struct rc_side *peer)
{
	struct world *w = s->s.w;

	while (peer->s.pool->posted) {
		rc_post(s, VB_WR_SEND, 1, true);
		step_until_idle(w);
	}
}

static void check_broken(struct rc_side *s, bool fails)
{
	struct world *w = s->s.w;

	CHECK(w, vb_qp_get_state(s->s.qp) == (fails ? VB_QPS_ERR : VB_QPS_RTS));
	CHECK(w, s->posted == s->retired && s->in_head == s->in_tail);
	if (fails)
		CHECK(w, s->s.pool->posted == 0);
}

static void break_connection(struct world *w, struct rc_side *s, enum breakage b)
{
	struct rc_side *peer = (struct rc_side *)s->s.peer;

	rc_post(s, VB_WR_RDMA_WRITE, 100, true);
	step_until_idle(w);
	stop_pools(w);
	if (b == NO_RECEIVE)
		use_up_receives(s, peer);
	s->breaks = peer->breaks = true;
	s->recv_status = VB_WC_WR_FLUSH_ERR;
	peer->recv_status = kinds[b].recv_status;
	w->net.cut = b == DEAD_NETWORK;
	if (b == LOCAL_ERR) {
		struct vb_qp_attr a = {.qp_state = VB_QPS_ERR};

		CHECK(w, vb_qp_modify(s->s.qp, &a, VB_QP_STATE, w->now) == 0);
	}
	post_doomed(s, b);
	step_until_idle(w);
	check_broken(s, true);
	check_broken(peer, kinds[b].peer_fails);
}

uint64_t breakage_run(uint64_t seed)
{
	struct world w = {.seed = seed, .rng = vb_rng_stream(seed, "breakage", 0)};
	struct world_config cfg = {.host_cnt = rng_range(&w.rng, 1, 2),
				   .cq_cnt = rng_range(&w.rng, 1, CQS_MAX),
				   .event_driven = rng_chance(&w.rng, 50)};
	struct rc_params p = {
	    .depth_min = 2, .depth_max = 8, .rnr_retry = (uint8_t)vb_rng_below(&w.rng, 4)};

	w.timeout_exp = (uint8_t)rng_range(&w.rng, 8, 12);
	w.net.rng = vb_rng_stream(seed, "net", 0);
	w.net.delay_min = w.net.delay_max = VB_USEC;
	w.on_wc = rc_on_wc;
	w.on_async = rc_on_async;
	w.act = rc_act;
	world_open(&w, &cfg);
	rc_connect(&w, &p);

	struct rc_side *side[2] = {(struct rc_side *)w.side[0], (struct rc_side *)w.side[1]};

	break_connection(&w, side[0], (enum breakage)vb_rng_below(&w.rng, BREAKAGE_CNT));
	rc_close(side[0]);
	rc_close(side[1]);
	world_close(&w);
	free(side[0]);
	free(side[1]);
	return w.completions;
}
