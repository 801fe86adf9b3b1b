/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posting RC work and executing it in the reference model: a responder carries requests out in the
 * order in which they were posted (IBA 9.7.4), so the model may do so at once. The order does not
 * cover a READ that is repeated after later requests were executed: requests that would change the
 * bytes that it reads carry a fence, as the standard asks of programs (IBA 10.8.3.3).
 */
#include "rc.h"

#include <stdlib.h>

static struct request *rc_request(struct rc_side *s, uint64_t n)
{
	return &s->sq[n % s->depth];
}

bool rc_has_room(const struct rc_side *s)
{
	return s->posted - s->retired < s->depth;
}

static bool overlaps_read(struct rc_side *s, uint32_t off, uint32_t len)
{
	for (uint64_t n = s->retired; n < s->posted; n++) {
		const struct request *r = rc_request(s, n);

		if (r->opcode == VB_WR_RDMA_READ && off < r->read_off + r->read_len &&
		    r->read_off < off + len)
			return true;
	}
	return false;
}

static void expect_message(struct rc_side *peer, struct message m, const uint8_t *data)
{
	struct world *w = peer->s.w;

	CHECK(w, peer->in_tail - peer->in_head < peer->in_cap);
	m.data = test_alloc(m.len);
	if (m.len)
		memcpy(m.data, data, m.len);
	peer->in[peer->in_tail++ % peer->in_cap] = m;
}

/* The slot as it must be once @len bytes at @data have been returned to it. */
static uint8_t *expect_image(struct rc_side *s, const struct request *r, const struct vb_sge *sge,
			     uint32_t sge_cnt, const uint8_t *data, uint32_t len)
{
	uint8_t *image = test_alloc(SLOT_BYTES);

	memset(slot_at(&s->local, r->slot), CANARY, SLOT_BYTES);
	slot_image(&s->local, r->slot, sge, sge_cnt, data, len, image);
	return image;
}

static void execute_atomic(struct rc_side *s, struct vb_send_wr *wr, struct request *r,
			   uint32_t off)
{
	struct rc_side *peer = (struct rc_side *)s->s.peer;
	struct vb_rng *rng = &s->s.w->rng;
	uint64_t old, new;

	memcpy(&old, peer->shadow + off, sizeof old);
	wr->compare_add = vb_rng_next(rng);
	wr->swap = vb_rng_next(rng);
	if (wr->opcode == VB_WR_FETCH_ADD) {
		new = old + wr->compare_add;
	} else {
		if (rng_chance(rng, 50))
			wr->compare_add = old;
		new = old == wr->compare_add ? wr->swap : old;
	}
	memcpy(peer->shadow + off, &new, sizeof new);
	r->image = expect_image(s, r, wr->sge, wr->sge_cnt, (uint8_t *)&old, sizeof old);
}

static void execute_rdma(struct rc_side *s, struct vb_send_wr *wr, struct request *r, uint32_t len,
			 const uint8_t *data)
{
	struct rc_side *peer = (struct rc_side *)s->s.peer;
	struct vb_rng *rng = &s->s.w->rng;
	bool atomic = wr->opcode == VB_WR_COMPARE_SWAP || wr->opcode == VB_WR_FETCH_ADD;
	uint32_t off = vb_rng_below(rng, REGION_BYTES - len + 1);

	if (atomic || wr->opcode == VB_WR_ATOMIC_WRITE)
		off &= ~7u;
	wr->remote_addr = peer->region.iova + off;
	wr->rkey = peer->rkey;
	if (wr->opcode == VB_WR_RDMA_READ) {
		r->read_off = off;
		r->read_len = len;
		r->image = expect_image(s, r, wr->sge, wr->sge_cnt, peer->shadow + off, len);
		return;
	}
	if (overlaps_read(s, off, len))
		wr->flags |= VB_SEND_FENCE;
	if (atomic)
		execute_atomic(s, wr, r, off);
	else if (len)
		memcpy(peer->shadow + off, data, len);
}

void rc_post(struct rc_side *s, enum vb_wr_opcode opcode, uint32_t len, bool signaled)
{
	struct world *w = s->s.w;
	struct vb_rng *rng = &w->rng;
	struct request *r = rc_request(s, s->posted);
	bool returns = opcode >= VB_WR_RDMA_READ && opcode <= VB_WR_FETCH_ADD;
	bool inlined = !returns && opcode != VB_WR_ATOMIC_WRITE &&
		       len <= s->s.init.cap.max_inline_data && rng_chance(rng, 50);
	bool is_write = opcode == VB_WR_RDMA_WRITE || opcode == VB_WR_RDMA_WRITE_IMM;
	struct vb_sge sge[SGE_MAX];
	uint8_t data[MSG_MAX];

	if (opcode == VB_WR_COMPARE_SWAP || opcode == VB_WR_FETCH_ADD ||
	    opcode == VB_WR_ATOMIC_WRITE)
		len = 8;
	CHECK(w, rc_has_room(s) && len <= MSG_MAX);
	*r = (struct request){.wr_id = (uint64_t)s->s.idx << 32 | (uint32_t)s->posted,
			      .opcode = opcode,
			      .signaled = signaled || s->s.init.sq_sig_all,
			      .slot = (uint32_t)(s->posted % s->depth)};

	struct vb_send_wr wr = {.wr_id = r->wr_id, .opcode = opcode, .sge = sge};

	wr.sge_cnt = slot_split(rng, &s->local, r->slot, len, s->s.init.cap.max_send_sge, sge);
	wr.flags = (signaled ? VB_SEND_SIGNALED : 0u) | (inlined ? VB_SEND_INLINE : 0u) |
		   (rng_chance(rng, 10) ? VB_SEND_SOLICITED : 0u) |
		   (rng_chance(rng, 10) ? VB_SEND_FENCE : 0u);
	wr.imm = (uint32_t)vb_rng_next(rng);
	for (uint32_t i = 0; i < len; i++)
		data[i] = (uint8_t)vb_rng_next(rng);
	slot_store(&s->local, sge, wr.sge_cnt, data);
	if (opcode != VB_WR_SEND && opcode != VB_WR_SEND_IMM)
		execute_rdma(s, &wr, r, len, data);
	if (!returns && opcode != VB_WR_RDMA_WRITE && opcode != VB_WR_ATOMIC_WRITE)
		expect_message((struct rc_side *)s->s.peer,
			       (struct message){.len = len,
						.is_write = is_write,
						.has_imm = opcode != VB_WR_SEND,
						.solicited = wr.flags & VB_SEND_SOLICITED,
						.imm = wr.imm},
			       data);
	if (inlined) /* inline data is named by its address, whatever the region's iova */
		for (uint32_t i = 0; i < wr.sge_cnt; i++)
			sge[i].addr = (uintptr_t)s->local.base + (sge[i].addr - s->local.iova);
	CHECK(w, vb_qp_post_send(s->s.qp, &wr, w->now) == 0);
	if (inlined)
		memset(slot_at(&s->local, r->slot), 0xee, SLOT_BYTES);
	memset(sge, 0xee, sizeof sge);
	s->unsignaled = r->signaled ? 0 : s->unsignaled + 1;
	s->posted++;
}

void rc_post_doomed(struct rc_side *s, struct vb_send_wr *wr, enum vb_wc_status status)
{
	struct world *w = s->s.w;
	struct request *r = rc_request(s, s->posted);

	CHECK(w, rc_has_room(s) && status != VB_WC_SUCCESS);
	*r = (struct request){.wr_id = (uint64_t)s->s.idx << 32 | (uint32_t)s->posted,
			      .opcode = wr->opcode,
			      .signaled = wr->flags & VB_SEND_SIGNALED,
			      .status = status};
	wr->wr_id = r->wr_id;
	CHECK(w, vb_qp_post_send(s->s.qp, wr, w->now) == 0);
	s->posted++;
}
