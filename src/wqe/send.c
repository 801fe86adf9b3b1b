/* SPDX-License-Identifier: BSD-2-Clause */
/* Send WQEs, from bytes to work requests. */
#include "wqe/wqe.h"

#include "base/assert.h"

#include <string.h>

/* Where reading is: the rest of the WQE. */
struct reader {
	const uint8_t *at;
	uint32_t left; /* bytes */
};

static const struct {
	bool is_known;
	uint8_t work; /* enum vb_wr_opcode */
} work_of[256] = {
#define WQE_OPCODE(name, number, work_, text) [number] = {true, VB_WR_##work_},
#include "wqe/opcode.def"
#undef WQE_OPCODE
};

const char *vb_wqe_fault_text(enum vb_wqe_fault fault)
{
	static const char *const text[VB_WQE_FAULT_CNT] = {
	    [VB_WQE_GOOD] = "nothing is wrong",
	    [VB_WQE_FAULT_DS] = "DS is not what the opcode needs",
	    [VB_WQE_FAULT_OPCODE] = "the opcode is not known here",
	    [VB_WQE_FAULT_QPN] = "it names another QP",
	    [VB_WQE_FAULT_INDEX] = "its index is not that of its place",
	    [VB_WQE_FAULT_INLINE] = "inline data are longer than the WQE",
	    [VB_WQE_FAULT_SIGNATURE] = "its signature does not go with its bytes",
	    [VB_WQE_FAULT_AV] = "its address leads nowhere",
	    [VB_WQE_FAULT_UMR] = "it neither binds, unbinds nor invalidates a memory window",
	    [VB_WQE_FAULT_RING] = "the doorbell is further than the queue is long",
	};

	return text[fault];
}

uint32_t vb_wqe_blocks(const uint8_t *ctrl)
{
	uint32_t ds = (uint32_t)vb_wqe_get(ctrl, VB_CTRL_DS);

	/* A wrong element takes its own block, and the next one is looked for behind it. */
	if (ds == 0 || ds > VB_WQE_DS_MAX)
		return 1;
	return (ds * VB_WQE_UNIT + VB_WQE_BLOCK - 1) / VB_WQE_BLOCK;
}

uint8_t vb_wqe_signature(const uint8_t *p, size_t len)
{
	uint8_t all = 0;

	for (size_t i = 0; i < len; i++)
		all ^= p[i];
	return (uint8_t)~all;
}

/* The next segment of @bytes, or NULL. */
static const uint8_t *next_segment(struct reader *r, uint32_t bytes)
{
	const uint8_t *s = r->at;

	if (r->left < bytes)
		return NULL;
	r->at += bytes;
	r->left -= bytes;
	return s;
}

static enum vb_wqe_fault read_address(const struct vb_wqe_queue *q, struct reader *r,
				      struct vb_wqe_send *out)
{
	const uint8_t *s;

	if (q->type == VB_QPT_XRC_INI) {
		s = next_segment(r, VB_XRC_BYTES);
		if (!s)
			return VB_WQE_FAULT_DS;
		out->wr.srqn = (uint32_t)vb_wqe_get(s, VB_XRC_SRQN);
	}
	if (q->type != VB_QPT_UD && q->type != VB_QPT_DCI)
		return VB_WQE_GOOD;
	if (r->left < VB_WQE_UNIT)
		return VB_WQE_FAULT_DS;
	/* A DCI's may be its first 16 bytes alone, which name a peer without a GRH. */
	s = next_segment(r, q->type == VB_QPT_DCI && !vb_wqe_get(r->at, VB_AV_EXTENDED)
				? VB_WQE_UNIT
				: VB_AV_BYTES);
	if (!s)
		return VB_WQE_FAULT_DS;
	vb_av_get(s, &out->av);
	out->has_av = true;
	out->wr.dqpn = out->av.dqpn;
	out->wr.qkey = (uint32_t)(out->av.dc_key >> 32);
	out->wr.dc_key = out->av.dc_key;
	return VB_WQE_GOOD;
}

static enum vb_wqe_fault read_remote(struct reader *r, struct vb_send_wr *wr)
{
	const uint8_t *s;

	switch (wr->opcode) {
	case VB_WR_RDMA_WRITE:
	case VB_WR_RDMA_WRITE_IMM:
	case VB_WR_RDMA_READ:
	case VB_WR_COMPARE_SWAP:
	case VB_WR_FETCH_ADD:
		break;
	default:
		return VB_WQE_GOOD;
	}
	s = next_segment(r, VB_RADDR_BYTES);
	if (!s)
		return VB_WQE_FAULT_DS;
	wr->remote_addr = vb_wqe_get(s, VB_RADDR_ADDR);
	wr->rkey = (uint32_t)vb_wqe_get(s, VB_RADDR_RKEY);
	if (wr->opcode != VB_WR_COMPARE_SWAP && wr->opcode != VB_WR_FETCH_ADD)
		return VB_WQE_GOOD;
	s = next_segment(r, VB_ATOMIC_BYTES);
	if (!s)
		return VB_WQE_FAULT_DS;
	/* IBT-42: the value that is swapped in, or added, stands first. */
	if (wr->opcode == VB_WR_FETCH_ADD) {
		wr->compare_add = vb_wqe_get(s, VB_ATOMIC_SWAP_ADD);
	} else {
		wr->swap = vb_wqe_get(s, VB_ATOMIC_SWAP_ADD);
		wr->compare_add = vb_wqe_get(s, VB_ATOMIC_COMPARE);
	}
	return VB_WQE_GOOD;
}

static bool read_inline(struct reader *r, struct vb_wqe_send *out)
{
	const uint8_t *s = r->at;
	uint32_t length = (uint32_t)vb_wqe_get(s, VB_INLINE_LENGTH);
	uint32_t bytes = (VB_INLINE_BYTES + length + VB_WQE_UNIT - 1) & ~(VB_WQE_UNIT - 1);

	if (!next_segment(r, bytes))
		return false;
	out->wr.flags |= VB_SEND_INLINE;
	out->sge[out->wr.sge_cnt++] =
	    (struct vb_sge){.addr = (uintptr_t)(s + VB_INLINE_BYTES), .length = length};
	return true;
}

/* Inline data and pointers are not in one work request of ours: which they are the first says. */
static enum vb_wqe_fault read_data(struct reader *r, struct vb_wqe_send *out)
{
	bool is_first = true, is_inline = false;

	while (r->left >= VB_WQE_UNIT && out->wr.sge_cnt < VB_WQE_SGES_MAX) {
		bool of_inline = vb_wqe_get(r->at, VB_INLINE_FLAG);

		if (!is_first && of_inline != is_inline)
			return VB_WQE_FAULT_INLINE;
		is_first = false;
		is_inline = of_inline;
		if (is_inline) {
			if (!read_inline(r, out))
				return VB_WQE_FAULT_INLINE;
			continue;
		}

		const uint8_t *s = next_segment(r, VB_DATA_BYTES);
		uint32_t length = (uint32_t)vb_wqe_get(s, VB_DATA_LENGTH);

		/* 0 stands for 2^31, which 31 bits have no room for. */
		out->sge[out->wr.sge_cnt++] =
		    (struct vb_sge){.addr = vb_wqe_get(s, VB_DATA_ADDR),
				    .length = length ? length : UINT32_C(1) << 31,
				    .lkey = (uint32_t)vb_wqe_get(s, VB_DATA_LKEY)};
	}
	return VB_WQE_GOOD;
}

static void read_flags(const struct vb_wqe_queue *q, const uint8_t *wqe, struct vb_send_wr *wr)
{
	if (vb_wqe_get(wqe, VB_CTRL_COMPLETE) == VB_WQE_COMPLETE_ALWAYS)
		wr->flags |= VB_SEND_SIGNALED;
	if (vb_wqe_get(wqe, VB_CTRL_SOLICIT))
		wr->flags |= VB_SEND_SOLICITED;
	if (vb_wqe_get(wqe, VB_CTRL_FENCE) & VB_WQE_FENCE_STRONG)
		wr->flags |= VB_SEND_FENCE;
	if (q->type == VB_QPT_DCI)
		wr->dc_stream = (uint16_t)vb_wqe_get(wqe, VB_CTRL_STREAM);
	/* As it is on the wire; an R_Key is a number. */
	memcpy(&wr->imm, wqe + vb_wqe_place[VB_CTRL_IMM].at, sizeof wr->imm);
	wr->inv_rkey = (uint32_t)vb_wqe_get(wqe, VB_CTRL_IMM);
}

static enum vb_wqe_fault check_control(const struct vb_wqe_queue *q, const uint8_t *wqe,
				       uint32_t blocks, uint16_t index)
{
	uint32_t ds = (uint32_t)vb_wqe_get(wqe, VB_CTRL_DS);

	if (ds == 0 || ds > VB_WQE_DS_MAX || ds * VB_WQE_UNIT > blocks * VB_WQE_BLOCK)
		return VB_WQE_FAULT_DS;
	if (vb_wqe_get(wqe, VB_CTRL_INDEX) != index)
		return VB_WQE_FAULT_INDEX;
	if (vb_wqe_get(wqe, VB_CTRL_QPN) != q->qpn)
		return VB_WQE_FAULT_QPN;
	if (q->is_signed && vb_wqe_signature(wqe, ds * VB_WQE_UNIT) != 0)
		return VB_WQE_FAULT_SIGNATURE;
	return VB_WQE_GOOD;
}

bool vb_wqe_read(const struct vb_wqe_queue *q, const uint8_t *wqe, uint32_t blocks, uint16_t index,
		 struct vb_wqe_send *out)
{
	struct reader r = {wqe + VB_CTRL_BYTES, 0};

	VB_ASSERT(blocks > 0 && blocks * VB_WQE_BLOCK <= VB_WQE_BYTES_MAX);
	out->blocks = blocks;
	out->opcode = (uint8_t)vb_wqe_get(wqe, VB_CTRL_OPCODE);
	out->has_av = false;
	out->wr = (struct vb_send_wr){.sge = out->sge,
				      .opcode = (enum vb_wr_opcode)work_of[out->opcode].work};
	out->fault = check_control(q, wqe, blocks, index);
	if (out->fault)
		return false;
	r.left = (uint32_t)vb_wqe_get(wqe, VB_CTRL_DS) * VB_WQE_UNIT - VB_CTRL_BYTES;
	read_flags(q, wqe, &out->wr);
	if (out->opcode == VB_WQE_UMR) {
		out->fault = vb_umr_get(q, r.at, r.left, &out->wr);
		return out->fault == VB_WQE_GOOD;
	}
	if (!work_of[out->opcode].is_known) {
		out->fault = VB_WQE_FAULT_OPCODE;
		return false;
	}
	/* Segments behind a NOP's control segment do not matter. */
	if (out->opcode == VB_WQE_NOP)
		return true;
	out->fault = read_address(q, &r, out);
	if (!out->fault)
		out->fault = read_remote(&r, &out->wr);
	if (!out->fault)
		out->fault = read_data(&r, out);
	return out->fault == VB_WQE_GOOD;
}
