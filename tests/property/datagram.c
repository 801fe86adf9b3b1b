/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UC and UD: what arrives is a whole message that was sent, or nothing. Sends complete in order
 * whatever becomes of them; without faults and with enough receive buffers all of them arrive.
 * IBA 9.8, IBT-12, IBT-14
 */
#include "scenarios.h"
#include "world.h"

#include <stdlib.h>

#define MESSAGES 40u
#define LEN_MAX 4096u

struct sent {
	uint8_t data[LEN_MAX];
	uint32_t len, imm;
	enum vb_wr_opcode opcode;
	bool has_wrong_qkey;
	uint32_t arrived;
};

struct datagram_side {
	struct side s; /* first */
	struct mem local,
	    region; /* region: one place of LEN_MAX bytes for each message of the peer */
	uint32_t rkey;
	struct vb_ah ah;
	struct sent sent[MESSAGES];
	uint32_t posted, completed;
	uint32_t newest; /* of the peer's messages that has arrived, plus one */
	vb_dur gap;
};

static bool is_write(const struct sent *m)
{
	return m->opcode == VB_WR_RDMA_WRITE || m->opcode == VB_WR_RDMA_WRITE_IMM;
}

static bool has_imm(const struct sent *m)
{
	return m->opcode == VB_WR_SEND_IMM || m->opcode == VB_WR_RDMA_WRITE_IMM;
}

static void datagram_post(struct datagram_side *s)
{
	struct world *w = s->s.w;
	struct vb_rng *r = &w->rng;
	struct datagram_side *peer = (struct datagram_side *)s->s.peer;
	struct sent *m = &s->sent[s->posted];
	bool ud = s->s.init.type == VB_QPT_UD;
	struct vb_sge sge[SGE_MAX];

	m->opcode = ud ? (rng_chance(r, 50) ? VB_WR_SEND : VB_WR_SEND_IMM)
		       : (enum vb_wr_opcode)vb_rng_below(r, VB_WR_SEND_IMM + 1);
	m->len = rng_chance(r, 30) ? vb_rng_below(r, 9) : vb_rng_below(r, LEN_MAX + 1);
	m->imm = (uint32_t)vb_rng_next(r);
	m->has_wrong_qkey = ud && rng_chance(r, 10);
	for (uint32_t i = 0; i < m->len; i++)
		m->data[i] = (uint8_t)vb_rng_next(r);

	struct vb_send_wr wr = {.wr_id = (uint64_t)s->s.idx << 32 | s->posted,
				.opcode = m->opcode,
				.sge = sge,
				.flags = VB_SEND_SIGNALED,
				.imm = m->imm,
				.remote_addr = peer->region.iova + s->posted * LEN_MAX,
				.rkey = peer->rkey,
				.ah = &s->ah,
				.dqpn = vb_qp_number(peer->s.qp),
				.qkey = m->has_wrong_qkey ? 0x1235 : 0x1234};

	wr.sge_cnt = slot_split(r, &s->local, s->posted, m->len, SGE_MAX, sge);
	slot_store(&s->local, sge, wr.sge_cnt, m->data);
	CHECK(w, vb_qp_post_send(s->s.qp, &wr, w->now) == 0);
	s->posted++;
}

static void datagram_act(struct side *side)
{
	struct datagram_side *s = (struct datagram_side *)side;

	for (uint32_t n = rng_range(&side->w->rng, 1, 8); n && s->posted < MESSAGES; n--)
		datagram_post(s);
	if (s->posted < MESSAGES)
		side->next_act = side->w->now + vb_rng_below(&side->w->rng, (uint32_t)s->gap + 1);
}

/* True when buffer @i holds message @m as @wc says. */
static bool holds(const struct datagram_side *s, const struct vb_wc *wc, const struct pool *p,
		  uint32_t i, const struct sent *m)
{
	bool ud = s->s.init.type == VB_QPT_UD;
	uint32_t len = m->len + (ud ? VB_GRH_LEN : 0);
	uint8_t data[SLOT_BYTES], image[SLOT_BYTES];
	uint32_t shown = is_write(m) ? 0 : len;

	if (m->opcode == VB_WR_RDMA_WRITE || m->has_wrong_qkey ||
	    wc->opcode != (is_write(m) ? VB_WC_RECV_RDMA_WITH_IMM : VB_WC_RECV) ||
	    !!(wc->flags & VB_WC_WITH_IMM) != has_imm(m) || (has_imm(m) && wc->imm != m->imm) ||
	    wc->byte_len != len)
		return false;
	if (ud) {
		struct vb_path path = path_to(s->s.peer->host, s->s.host);
		uint32_t wire =
		    VB_BTH_LEN + 8 + (has_imm(m) ? 4 : 0) + ((m->len + 3) & ~3u) + VB_ICRC_LEN;

		vb_path_emit_grh(&path, wire, data);
	}
	/* A UC message that broke off leaves its bytes in the buffer, which the next one gets. */
	if (!ud)
		shown = slot_gather(&p->mem, p->buf[i].sge, p->buf[i].sge_cnt, data);
	if (ud || !is_write(m))
		memcpy(data + (ud ? VB_GRH_LEN : 0), m->data, m->len);
	slot_image(&p->mem, i, p->buf[i].sge, p->buf[i].sge_cnt, data, shown, image);
	return memcmp(slot_at(&p->mem, i), image, SLOT_BYTES) == 0;
}

static void datagram_on_wc(struct world *w, struct side *side, const struct vb_wc *wc,
			   struct pool *pool, uint32_t buffer)
{
	struct datagram_side *s = (struct datagram_side *)side;
	struct datagram_side *peer = (struct datagram_side *)side->peer;
	bool in_order = !w->net.dup && !w->net.reorder;
	bool ud = side->init.type == VB_QPT_UD;

	CHECK(w, wc->status == VB_WC_SUCCESS);
	if (!pool) {
		CHECK(w, (uint32_t)wc->wr_id == s->completed && s->completed < s->posted);
		s->completed++;
		return;
	}
	CHECK(w, !ud || (wc->flags & VB_WC_GRH && wc->src_qpn == vb_qp_number(side->peer->qp)));
	for (uint32_t k = in_order ? s->newest : 0; k < peer->posted; k++) {
		struct sent *m = &peer->sent[k];

		if (!holds(s, wc, pool, buffer, m))
			continue;
		if (is_write(m) && memcmp(s->region.base + k * LEN_MAX, m->data, m->len))
			die(w, "a WRITE with immediate completed before its bytes were there");
		m->arrived++;
		s->newest = k + 1;
		pool_took(pool, buffer);
		return;
	}
	die(w, "side %u received %u bytes that are no message of its peer", side->idx,
	    wc->byte_len);
}

static void modify(struct datagram_side *s, enum vb_qp_state state, uint32_t mask,
		   struct vb_qp_attr *a)
{
	a->qp_state = state;
	CHECK(s->s.w, vb_qp_modify(s->s.qp, a, VB_QP_STATE | mask, s->s.w->now) == 0);
}

static void side_open(struct world *w, struct datagram_side *s, struct host *host,
		      enum vb_qp_type type)
{
	uint32_t access = VB_ACCESS_LOCAL_WRITE | VB_ACCESS_REMOTE_WRITE;

	s->s.init = (struct vb_qp_init){.type = type,
					.cap = {.max_send_wr = MESSAGES,
						.max_recv_wr = 64,
						.max_send_sge = SGE_MAX,
						.max_recv_sge = SGE_MAX}};
	world_add_side(w, &s->s, host, 64);
	mem_open(&s->local, host, MESSAGES * SLOT_BYTES, VB_ACCESS_LOCAL_WRITE, true);
	mem_open(&s->region, host, MESSAGES * LEN_MAX, access, true);
	s->rkey = vb_mr_rkey(s->region.mr);
	s->gap = vb_rng_below(&w->rng, 20000);
	s->s.next_act = w->now;
}

static void side_connect(struct datagram_side *s, enum vb_mtu mtu)
{
	struct vb_qp_attr a = {.port = 1,
			       .qkey = 0x1234,
			       .access = VB_ACCESS_REMOTE_WRITE,
			       .path = path_to(s->s.host, s->s.peer->host),
			       .path_mtu = mtu,
			       .dest_qpn = vb_qp_number(s->s.peer->qp),
			       .rq_psn = 0xfffff0,
			       .sq_psn = 0xfffff0};
	bool ud = s->s.init.type == VB_QPT_UD;

	s->ah = (struct vb_ah){.pd = s->s.host->pd, .path = a.path};
	modify(s, VB_QPS_INIT,
	       VB_QP_PKEY_INDEX | VB_QP_PORT | (ud ? VB_QP_QKEY : VB_QP_ACCESS_FLAGS), &a);
	modify(s, VB_QPS_RTR, ud ? 0 : VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN | VB_QP_RQ_PSN,
	       &a);
	modify(s, VB_QPS_RTS, VB_QP_SQ_PSN, &a);
}

/* Every byte of a region is what it was, or what some message was to write there. */
static void check_region(const struct datagram_side *s)
{
	const struct datagram_side *peer = (const struct datagram_side *)s->s.peer;

	for (uint32_t k = 0; k < MESSAGES; k++) {
		for (uint32_t i = 0; i < LEN_MAX; i++) {
			uint8_t b = s->region.base[k * LEN_MAX + i];
			const struct sent *m = &peer->sent[k];

			CHECK(s->s.w,
			      b == CANARY || (is_write(m) && i < m->len && b == m->data[i]));
		}
	}
}

static void side_close(struct datagram_side *s, bool all_arrive)
{
	struct world *w = s->s.w;

	CHECK(w, s->posted == MESSAGES && s->completed == MESSAGES);
	for (uint32_t k = 0; all_arrive && k < MESSAGES; k++) {
		const struct sent *m = &s->sent[k];

		CHECK(w, m->arrived == (m->opcode != VB_WR_RDMA_WRITE && !m->has_wrong_qkey));
	}
	check_region(s);
	mem_check(w, &s->local);
	mem_check(w, &s->region);
	mem_close(&s->local);
	mem_close(&s->region);
}

uint64_t datagram_run(uint64_t seed)
{
	struct world w = {.seed = seed, .rng = vb_rng_stream(seed, "datagram", 0)};
	struct world_config cfg = {.host_cnt = rng_range(&w.rng, 1, 2),
				   .cq_cnt = rng_range(&w.rng, 1, CQS_MAX),
				   .event_driven = rng_chance(&w.rng, 50)};
	struct datagram_side *side[2] = {test_alloc(sizeof **side), test_alloc(sizeof **side)};
	enum vb_qp_type type = rng_chance(&w.rng, 50) ? VB_QPT_UC : VB_QPT_UD;
	enum vb_mtu mtu = (enum vb_mtu)rng_range(&w.rng, VB_MTU_256, VB_MTU_4096);
	bool faults = rng_chance(&w.rng, 70);

	w.net.rng = vb_rng_stream(seed, "net", 0);
	w.net.delay_min = w.net.delay_max = VB_USEC;
	w.net.reorder_max = 30 * VB_USEC;
	if (faults) {
		w.net.loss = vb_rng_below(&w.rng, 20);
		w.net.dup = rng_chance(&w.rng, 50) ? vb_rng_below(&w.rng, 20) : 0;
		w.net.reorder = rng_chance(&w.rng, 50) ? vb_rng_below(&w.rng, 20) : 0;
		w.recv_gap = vb_rng_below(&w.rng, 30000);
	}
	w.on_wc = datagram_on_wc;
	w.act = datagram_act;
	world_open(&w, &cfg);
	for (int i = 0; i < 2; i++)
		side_open(&w, side[i], &w.host[vb_rng_below(&w.rng, w.host_cnt)], type);
	side[0]->s.peer = &side[1]->s;
	side[1]->s.peer = &side[0]->s;
	for (int i = 0; i < 2; i++)
		side_connect(side[i], mtu);
	while (world_next(&w) != VB_NEVER)
		world_step(&w);
	for (int i = 0; i < 2; i++)
		side_close(side[i], !faults);
	world_close(&w);
	for (int i = 0; i < 2; i++)
		free(side[i]);
	return w.completions;
}
