/* SPDX-License-Identifier: BSD-2-Clause */
/* Send WQEs, from work requests to bytes: what a driver does when verbs post. */
#include "wqe/wqe.h"

#include "base/assert.h"

#include <string.h>

static const uint8_t opcode_of[VB_WR_CNT] = {
#define WQE_OPCODE(name, number, work, text) [VB_WR_##work] = (number),
#include "wqe/opcode.def"
#undef WQE_OPCODE
    [VB_WR_LOCAL_INV] = VB_WQE_UMR,
    [VB_WR_BIND_MW] = VB_WQE_UMR,
};

/* Where writing is. */
struct writer {
	uint8_t *to;
	uint32_t at;
};

static uint8_t *add_segment(struct writer *w, uint32_t bytes)
{
	uint8_t *s = w->to + w->at;

	VB_ASSERT(w->at + bytes <= VB_WQE_BYTES_MAX);
	memset(s, 0, bytes);
	w->at += bytes;
	return s;
}

static uint32_t address_bytes(enum vb_qp_type type)
{
	switch (type) {
	case VB_QPT_UD:
	case VB_QPT_DCI:
		return VB_AV_BYTES;
	case VB_QPT_XRC_INI:
		return VB_XRC_BYTES;
	default:
		return 0;
	}
}

static uint32_t inline_segment_bytes(uint32_t length)
{
	return (VB_INLINE_BYTES + length + VB_WQE_UNIT - 1) & ~(VB_WQE_UNIT - 1);
}

/* Drivers reckon with a bind in each place of such queues. */
static bool has_windows(enum vb_qp_type type)
{
	return type == VB_QPT_RC || type == VB_QPT_UC || type == VB_QPT_XRC_INI;
}

uint32_t vb_wqe_send_bytes(enum vb_qp_type type, uint32_t sges, uint32_t inline_bytes)
{
	uint32_t data = sges * VB_DATA_BYTES, in = inline_segment_bytes(inline_bytes);
	/* An atomic has one SGE at most. */
	uint32_t op = type == VB_QPT_UD ? 0 : VB_RADDR_BYTES + VB_ATOMIC_BYTES;
	uint32_t all;

	if (has_windows(type))
		op = VB_UMR_BYTES + VB_MKEY_BYTES + VB_KLM_BYTES;
	all = VB_CTRL_BYTES + address_bytes(type) + op + (data > in ? data : in);

	return (all + VB_WQE_BLOCK - 1) & ~(VB_WQE_BLOCK - 1);
}

static void write_control(const struct vb_wqe_queue *q, const struct vb_send_wr *wr, uint16_t index,
			  uint8_t *s)
{
	vb_wqe_put(s, VB_CTRL_INDEX, index);
	vb_wqe_put(s, VB_CTRL_OPCODE, opcode_of[wr->opcode]);
	vb_wqe_put(s, VB_CTRL_QPN, q->qpn);
	vb_wqe_put(s, VB_CTRL_STREAM, q->type == VB_QPT_DCI ? wr->dc_stream : 0);
	vb_wqe_put(s, VB_CTRL_FENCE, wr->flags & VB_SEND_FENCE ? VB_WQE_FENCE_STRONG : 0);
	vb_wqe_put(s, VB_CTRL_COMPLETE, wr->flags & VB_SEND_SIGNALED ? VB_WQE_COMPLETE_ALWAYS : 0);
	vb_wqe_put(s, VB_CTRL_SOLICIT, wr->flags & VB_SEND_SOLICITED ? 1 : 0);
	if (wr->opcode == VB_WR_SEND_INV || wr->opcode == VB_WR_LOCAL_INV)
		vb_wqe_put(s, VB_CTRL_IMM, wr->inv_rkey);
	else if (wr->opcode == VB_WR_BIND_MW)
		vb_wqe_put(s, VB_CTRL_IMM, wr->rkey);
	else if (wr->opcode == VB_WR_SEND_IMM || wr->opcode == VB_WR_RDMA_WRITE_IMM)
		memcpy(s + vb_wqe_place[VB_CTRL_IMM].at, &wr->imm, sizeof wr->imm);
}

static void write_address(const struct vb_wqe_queue *q, const struct vb_send_wr *wr,
			  const struct vb_av *av, struct writer *w)
{
	struct vb_av to;

	if (q->type == VB_QPT_XRC_INI)
		vb_wqe_put(add_segment(w, VB_XRC_BYTES), VB_XRC_SRQN, wr->srqn);
	if (address_bytes(q->type) != VB_AV_BYTES)
		return;
	to = av ? *av : (struct vb_av){.dlid = 0};
	to.extended = true;
	to.dqpn = wr->dqpn;
	to.dc_key = q->type == VB_QPT_UD ? (uint64_t)wr->qkey << 32 : wr->dc_key;
	vb_av_put(add_segment(w, VB_AV_BYTES), &to);
}

static void write_remote(const struct vb_send_wr *wr, struct writer *w)
{
	bool is_atomic = wr->opcode == VB_WR_COMPARE_SWAP || wr->opcode == VB_WR_FETCH_ADD;
	uint8_t *s;

	if (!is_atomic && wr->opcode != VB_WR_RDMA_WRITE && wr->opcode != VB_WR_RDMA_WRITE_IMM &&
	    wr->opcode != VB_WR_RDMA_READ)
		return;
	s = add_segment(w, VB_RADDR_BYTES);
	vb_wqe_put(s, VB_RADDR_ADDR, wr->remote_addr);
	vb_wqe_put(s, VB_RADDR_RKEY, wr->rkey);
	if (!is_atomic)
		return;
	s = add_segment(w, VB_ATOMIC_BYTES);
	vb_wqe_put(s, VB_ATOMIC_SWAP_ADD,
		   wr->opcode == VB_WR_FETCH_ADD ? wr->compare_add : wr->swap);
	vb_wqe_put(s, VB_ATOMIC_COMPARE, wr->opcode == VB_WR_FETCH_ADD ? 0 : wr->compare_add);
}

static void put_data(uint8_t *s, const struct vb_sge *sge)
{
	vb_wqe_put(s, VB_DATA_LENGTH, sge->length);
	vb_wqe_put(s, VB_DATA_LKEY, sge->lkey);
	vb_wqe_put(s, VB_DATA_ADDR, sge->addr);
}

static void write_inline(const struct vb_send_wr *wr, uint32_t length, struct writer *w)
{
	uint8_t *s = add_segment(w, inline_segment_bytes(length)), *to = s + VB_INLINE_BYTES;

	vb_wqe_put(s, VB_INLINE_FLAG, 1);
	vb_wqe_put(s, VB_INLINE_LENGTH, length);
	for (uint32_t i = 0; i < wr->sge_cnt; i++) {
		if (wr->sge[i].length)
			memcpy(to, (const void *)(uintptr_t)wr->sge[i].addr, wr->sge[i].length);
		to += wr->sge[i].length;
	}
}

/* SGEs without bytes are left out: 0 would be 2^31. */
static void write_data(const struct vb_send_wr *wr, uint64_t length, struct writer *w)
{
	if (wr->flags & VB_SEND_INLINE) {
		if (length)
			write_inline(wr, (uint32_t)length, w);
		return;
	}
	for (uint32_t i = 0; i < wr->sge_cnt; i++) {
		if (wr->sge[i].length)
			put_data(add_segment(w, VB_DATA_BYTES), &wr->sge[i]);
	}
}

uint32_t vb_wqe_write(const struct vb_wqe_queue *q, const struct vb_send_wr *wr,
		      const struct vb_av *av, uint16_t index, uint8_t *to)
{
	struct writer w = {to, 0};
	uint64_t length = 0;
	uint32_t fixed = VB_CTRL_BYTES + address_bytes(q->type) + VB_RADDR_BYTES + VB_ATOMIC_BYTES;

	for (uint32_t i = 0; i < wr->sge_cnt; i++)
		length += wr->sge[i].length;
	if (wr->sge_cnt > VB_WQE_SGES_MAX ||
	    (wr->flags & VB_SEND_INLINE && length > VB_WQE_BYTES_MAX) ||
	    fixed + (wr->flags & VB_SEND_INLINE ? inline_segment_bytes((uint32_t)length)
						: wr->sge_cnt * VB_DATA_BYTES) >
		VB_WQE_DS_MAX * VB_WQE_UNIT)
		return 0;
	write_control(q, wr, index, add_segment(&w, VB_CTRL_BYTES));
	if (wr->opcode == VB_WR_LOCAL_INV || wr->opcode == VB_WR_BIND_MW) {
		vb_umr_put(q, wr, add_segment(&w, vb_umr_bytes(wr)));
	} else if (wr->opcode != VB_WR_NOP) {
		write_address(q, wr, av, &w);
		write_remote(wr, &w);
		write_data(wr, length, &w);
	}
	vb_wqe_put(to, VB_CTRL_DS, w.at / VB_WQE_UNIT);
	if (q->is_signed)
		vb_wqe_put(to, VB_CTRL_SIGNATURE, vb_wqe_signature(to, w.at));
	return vb_wqe_blocks(to);
}
