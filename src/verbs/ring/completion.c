/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues in a program's memory: each entry of the core's is written there as well. How
 * far the program has read, its doorbell record says. IBT-44...57
 */
#include "verbs/ring/ring.h"

#include <infiniband/mlx5dv.h>
#include <stdlib.h>
#include <string.h>

#define PLACE_MASK 0xffffffu     /* bits of a place that records and doorbells have */
#define ARM_SOLICITED (1u << 24) /* MLX5_CQ_DB_REQ_NOT_SOL */

static uint32_t owner_of(const struct vb_ring_cq *r, uint32_t place)
{
	return place & r->cnt ? 1 : 0;
}

/* The bytes of @c at @place, seen from now on, or as part of a block. */
static void entry_write(struct vb_ring_cq *r, uint32_t place, const struct vb_cqe *c)
{
	uint8_t *entry = vb_ring_entry(r, place), made[VB_CQE_BYTES];

	if (!r->block) {
		vb_ring_entry_release(entry, vb_cqe_write(c, owner_of(r, place), entry));
		return;
	}
	made[VB_CQE_BYTES - 1] = vb_cqe_write(c, owner_of(r, place), made);
	vb_ring_block_take(r, place, made, c->solicited || c->wc->status != VB_WC_SUCCESS);
}

static void entry_added(struct vb_cq_mirror *m, uint32_t place, struct vb_wc *wc, bool solicited)
{
	struct vb_ring_cq *r = vb_container_of(m, struct vb_ring_cq, mirror);
	struct vb_ring_slot *s = (struct vb_ring_slot *)(uintptr_t)wc->wr_id;
	struct vb_cqe c = {.wc = wc, .solicited = solicited};
	uint8_t data[VB_CQE_BYTES];

	if (s) {
		c.data_max = r->entry_bytes > VB_CQE_BYTES ? VB_CQE_BYTES : VB_CQE_DATA;
		c.data = vb_ring_scatter_get(s, wc, data, c.data_max) ? data : NULL;
		c.counter = s->counter;
		c.is_send = s->is_send;
		c.work = s->work;
		/* Of an SRQ the sender is named to whom it is a datagram's. */
		c.is_datagram = s->is_datagram || (s->srq && wc->src_qpn);
		c.srqn = s->srq ? vb_srq_number(s->srq->srq->core) : 0;
		wc->wr_id = s->wr_id;
	}
	entry_write(r, place, &c);
	if (s && s->is_custom)
		wc->opcode = (enum vb_wc_opcode)MLX5DV_WC_RAW_WQE;
	if (s && s->srq)
		vb_ring_srq_put(s->srq, s->counter);
	if (!r->is_raw)
		return;
	/* A QP that is in error now flushes what is posted later, of which no doorbell may tell. */
	if (wc->status != VB_WC_SUCCESS)
		vb_bells_wake(vb_ibv_ctx(r->cq->ibv.context)->engine);
	else
		vb_bells_note(vb_ibv_ctx(r->cq->ibv.context)->engine);
}

static uint32_t entries_taken(struct vb_cq_mirror *m, uint32_t head, uint32_t tail)
{
	struct vb_ring_cq *r = vb_container_of(m, struct vb_ring_cq, mirror);
	uint32_t ahead = (vb_record_get(r->record, VB_RECORD_READ) - head) & PLACE_MASK;

	return r->is_raw && ahead <= tail - head ? head + ahead : head;
}

static void entries_polled(struct vb_cq_mirror *m, uint32_t head)
{
	struct vb_ring_cq *r = vb_container_of(m, struct vb_ring_cq, mirror);

	vb_record_put(r->record, VB_RECORD_READ, head & PLACE_MASK);
}

static void entry_moved(struct vb_cq_mirror *m, uint32_t from, uint32_t to)
{
	struct vb_ring_cq *r = vb_container_of(m, struct vb_ring_cq, mirror);
	const uint8_t *old = vb_ring_entry(r, from);
	uint8_t last = old[VB_CQE_BYTES - 1];

	memcpy(vb_ring_entry_begin(r, to), vb_ring_entry_begin(r, from), r->entry_bytes - 1);
	vb_ring_entry_release(vb_ring_entry(r, to), (uint8_t)((last & ~1u) | owner_of(r, to)));
}

/* Entries that are gone look as if they had never been. */
static void entries_cut(struct vb_cq_mirror *m, uint32_t tail, uint32_t was)
{
	struct vb_ring_cq *r = vb_container_of(m, struct vb_ring_cq, mirror);

	for (uint32_t i = tail; i != was; i++)
		vb_ring_entry_release(vb_ring_entry(r, i),
				      (uint8_t)(VB_CQE_INVALID << 4 | (owner_of(r, i) ^ 1)));
}

/* Whether the entry at @place is one that a CQ that is armed for solicited ones waits for. */
static bool is_solicited(const struct vb_ring_cq *r, uint32_t place)
{
	const uint8_t *e = vb_ring_entry(r, place);
	uint64_t kind = vb_wqe_get(e, VB_CQE_OPCODE);

	return vb_wqe_get(e, VB_CQE_SOLICIT) || kind == VB_CQE_REQUEST_ERROR ||
	       kind == VB_CQE_RECEIVE_ERROR;
}

static bool has_solicited(const struct vb_ring_cq *r, uint32_t from, uint32_t tail)
{
	for (uint32_t i = from; i != tail; i++)
		if (r->block ? vb_ring_block_is_solicited(r, i) : is_solicited(r, i))
			return true;
	return false;
}

/* The doorbell: in the upper half a sequence number, what is asked for and how far was read, in the
 * lower half the CQ. */
static void arm_bell(struct vb_bell *b, uint64_t value, vb_time now)
{
	struct vb_ring_cq *r = vb_container_of(b, struct vb_ring_cq, bell);
	uint32_t word = (uint32_t)(be64toh(value) >> 32), tail = vb_cq_tail(r->cq->core);
	bool solicited = word & ARM_SOLICITED;
	uint32_t unread = (tail - word) & PLACE_MASK;

	(void)now;
	vb_cq_arm(r->cq->core, solicited);
	vb_ibv_cq_watch(r->cq, true);
	/* Entries that came since the program looked last count. */
	if (unread && unread <= r->cnt && (!solicited || has_solicited(r, tail - unread, tail)))
		vb_cq_tell(r->cq->core);
}

static int entries_new(struct vb_ring_cq *r, uint32_t cnt)
{
	size_t size = (size_t)cnt * r->entry_bytes + VB_RECORD_BYTES;
	uint8_t *mem = vb_ring_memory_get(size);

	if (!mem)
		return ENOMEM;
	r->mem = mem;
	r->mem_size = size;
	r->cnt = cnt;
	r->record = mem + (size_t)cnt * r->entry_bytes;
	for (uint32_t i = 0; i < cnt; i++)
		vb_ring_entry(r, i)[VB_CQE_BYTES - 1] = VB_CQE_INVALID << 4;
	return 0;
}

int vb_ring_cq_make(struct vb_ibv_cq *cq)
{
	struct vb_ring_cq *r = calloc(1, sizeof *r);
	int err;

	if (!r)
		return ENOMEM;
	r->cq = cq;
	r->entry_bytes = VB_CQE_BYTES;
	r->bell.rung = arm_bell;
	r->mirror = (struct vb_cq_mirror){.added = entry_added,
					  .taken = entries_taken,
					  .polled = entries_polled,
					  .moved = entry_moved,
					  .cut = entries_cut};
	err = entries_new(r, vb_cq_size(cq->core));
	if (err) {
		free(r);
		return err;
	}
	cq->hw = r;
	vb_cq_set_mirror(cq->core, &r->mirror);
	return 0;
}

int vb_ring_cq_show(struct vb_ring_cq *r)
{
	uint32_t tail = vb_cq_tail(r->cq->core);
	int err;

	if (r->is_raw)
		return 0;
	if (r->compresses) {
		err = vb_ring_block_make(r);
		if (err)
			return err;
		for (uint32_t i = vb_cq_head(r->cq->core); i != tail; i++)
			vb_ring_block_note(r, i, is_solicited(r, i));
	}
	r->is_raw = r->mirror.is_read_elsewhere = true;
	vb_ring_show_cq(r);
	return 0;
}

int vb_ring_cq_widen(struct vb_ring_cq *r, uint32_t entry_bytes)
{
	struct vb_ring_cq old = *r;
	int err;

	r->entry_bytes = entry_bytes;
	err = entries_new(r, old.cnt);
	if (err)
		*r = old;
	else
		vb_ring_memory_put(old.mem, old.mem_size);
	vb_ring_show_cq(r);
	return err;
}

void vb_ring_cq_free(struct vb_ring_cq *r, struct vb_engine *e)
{
	if (!r)
		return;
	vb_bell_close(e, &r->bell);
	vb_ring_block_free(r->block);
	vb_ring_memory_put(r->mem, r->mem_size);
	free(r);
}

int vb_ring_cq_resize(struct vb_ring_cq *r, uint32_t cqe)
{
	struct vb_ring_cq old = *r;
	uint32_t head = vb_cq_head(r->cq->core), cnt = vb_cq_tail(r->cq->core) - head;
	int err = 0;

	if (r->is_raw)
		return VB_IBV_WHY(EBUSY,
				  "the program reads the queue by itself and knows its size");
	if (cqe <= vb_limits_default.cqe)
		err = entries_new(r, vb_ring_pow2(cqe));
	if (!err)
		err = -vb_cq_resize(r->cq->core, cqe);
	if (err) {
		if (r->mem != old.mem)
			vb_ring_memory_put(r->mem, r->mem_size);
		*r = old;
		return err;
	}
	/* The core counts places from 0 again. */
	for (uint32_t i = 0; i < cnt; i++) {
		memcpy(vb_ring_entry_begin(r, i), vb_ring_entry_begin(&old, head + i),
		       r->entry_bytes);
		vb_ring_entry(r, i)[VB_CQE_BYTES - 1] &= 0xfe;
	}
	vb_ring_memory_put(old.mem, old.mem_size);
	vb_ring_show_cq(r);
	return 0;
}
