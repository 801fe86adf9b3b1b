/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory windows in send queues: UMR WQEs that bind, unbind or invalidate one, as rdma-core's mlx5
 * provider writes them for ibv_bind_mw(), BIND_MW and LOCAL_INV. A UMR can change memory keys in
 * other ways, for keys that this adapter does not have; such a WQE is a fault. IBA 10.6.7
 */
#include "wqe/wqe.h"

/* The parts of a key that a UMR changes: MLX5_WQE_UMR_CTRL_MKEY_MASK_... */
#define MASK_LENGTH (UINT64_C(1) << 0)
#define MASK_START (UINT64_C(1) << 6)
#define MASK_KEY (UINT64_C(1) << 13)
#define MASK_QPN (UINT64_C(1) << 14)
#define MASK_RIGHTS (UINT64_C(0xf) << 18)
#define MASK_FREE (UINT64_C(1) << 29)
#define MASK_ALWAYS (MASK_FREE | MASK_KEY)
#define MASK_RANGE (MASK_LENGTH | MASK_START | MASK_RIGHTS)

#define ANY_QPN 0xffffffu
/* Of one range, filled up to 64 bytes. */
#define RANGE_UNITS (VB_KLM_BYTES / VB_WQE_UNIT)

static const struct {
	uint32_t access;
	enum vb_wqe_field field;
} rights[] = {
    {VB_ACCESS_REMOTE_ATOMIC, VB_MKEY_ATOMIC},
    {VB_ACCESS_REMOTE_WRITE, VB_MKEY_WRITE},
    {VB_ACCESS_REMOTE_READ, VB_MKEY_READ},
    {VB_ACCESS_LOCAL_WRITE, VB_MKEY_LOCAL_WRITE},
};
#define RIGHTS_CNT (sizeof rights / sizeof rights[0])

/* The work request gives its window a range; others take the range away. */
static bool has_range(const struct vb_send_wr *wr)
{
	return wr->opcode == VB_WR_BIND_MW && wr->swap != 0;
}

static bool is_type2(const struct vb_send_wr *wr)
{
	return wr->opcode == VB_WR_LOCAL_INV || VB_MW_BIND_TYPE(wr->compare_add) == 2;
}

uint32_t vb_umr_bytes(const struct vb_send_wr *wr)
{
	return VB_UMR_BYTES + VB_MKEY_BYTES + (has_range(wr) ? VB_KLM_BYTES : 0);
}

static void put_control(const struct vb_send_wr *wr, uint8_t *s)
{
	uint64_t mask = MASK_ALWAYS | (is_type2(wr) ? MASK_QPN : 0);

	vb_wqe_put(s, VB_UMR_INLINE, 1);
	vb_wqe_put(s, VB_UMR_OFFSET, 1);
	if (has_range(wr)) {
		vb_wqe_put(s, VB_UMR_CHECK_FREE, is_type2(wr));
		vb_wqe_put(s, VB_UMR_RANGES, RANGE_UNITS);
		mask |= MASK_RANGE;
	} else {
		vb_wqe_put(s, VB_UMR_CHECK_QPN, is_type2(wr));
	}
	vb_wqe_put(s, VB_UMR_MASK, mask);
}

static void put_key(const struct vb_wqe_queue *q, const struct vb_send_wr *wr, uint8_t *s)
{
	uint32_t access = (uint32_t)(wr->compare_add >> 32);

	vb_wqe_put(s, VB_MKEY_QPN, has_range(wr) && is_type2(wr) ? q->qpn : ANY_QPN);
	vb_wqe_put(s, VB_MKEY_KEY, wr->opcode == VB_WR_BIND_MW ? wr->compare_add : 0);
	if (!has_range(wr)) {
		vb_wqe_put(s, VB_MKEY_FREE, 1);
		return;
	}
	for (uint32_t i = 0; i < RIGHTS_CNT; i++)
		vb_wqe_put(s, rights[i].field, (access & rights[i].access) != 0);
	vb_wqe_put(s, VB_MKEY_START, access & VB_ACCESS_ZERO_BASED ? 0 : wr->remote_addr);
	vb_wqe_put(s, VB_MKEY_LENGTH, wr->swap);
}

void vb_umr_put(const struct vb_wqe_queue *q, const struct vb_send_wr *wr, uint8_t *to)
{
	uint8_t *klm = to + VB_UMR_BYTES + VB_MKEY_BYTES;

	put_control(wr, to);
	put_key(q, wr, to + VB_UMR_BYTES);
	if (!has_range(wr))
		return;
	vb_wqe_put(klm, VB_KLM_LENGTH, wr->swap);
	vb_wqe_put(klm, VB_KLM_LKEY, wr->imm);
	vb_wqe_put(klm, VB_KLM_ADDR, wr->remote_addr);
}

/* Reads the range into @wr. A range that no window can have is a fault. */
static enum vb_wqe_fault read_range(const uint8_t *mkey, const uint8_t *klm, struct vb_send_wr *wr)
{
	uint64_t start = vb_wqe_get(mkey, VB_MKEY_START);
	uint64_t access = 0;

	wr->imm = (uint32_t)vb_wqe_get(klm, VB_KLM_LKEY);
	wr->remote_addr = vb_wqe_get(klm, VB_KLM_ADDR);
	wr->swap = vb_wqe_get(klm, VB_KLM_LENGTH);
	if (!wr->swap || wr->swap != vb_wqe_get(mkey, VB_MKEY_LENGTH) ||
	    (start && start != wr->remote_addr))
		return VB_WQE_FAULT_UMR;
	for (uint32_t i = 0; i < RIGHTS_CNT; i++)
		if (vb_wqe_get(mkey, rights[i].field))
			access |= rights[i].access;
	if (start != wr->remote_addr)
		access |= VB_ACCESS_ZERO_BASED;
	wr->compare_add |= access << 32;
	return VB_WQE_GOOD;
}

enum vb_wqe_fault vb_umr_get(const struct vb_wqe_queue *q, const uint8_t *from, uint32_t bytes,
			     struct vb_send_wr *wr)
{
	const uint8_t *mkey = from + VB_UMR_BYTES, *klm = mkey + VB_MKEY_BYTES;
	uint64_t mask;
	bool is_free, of_qp;

	if (bytes < VB_UMR_BYTES + VB_MKEY_BYTES)
		return VB_WQE_FAULT_DS;
	mask = vb_wqe_get(from, VB_UMR_MASK);
	is_free = vb_wqe_get(mkey, VB_MKEY_FREE);
	of_qp = mask & MASK_QPN;
	if ((mask & ~MASK_QPN) != (MASK_ALWAYS | (is_free ? 0 : MASK_RANGE)))
		return VB_WQE_FAULT_UMR;
	if (is_free && of_qp) {
		wr->opcode = VB_WR_LOCAL_INV;
		return VB_WQE_GOOD;
	}
	wr->opcode = VB_WR_BIND_MW;
	wr->rkey = wr->inv_rkey;
	wr->imm = 0;
	wr->compare_add = vb_mw_bind_key(of_qp ? 2 : 1, (uint8_t)vb_wqe_get(mkey, VB_MKEY_KEY));
	if (is_free)
		return VB_WQE_GOOD;
	if (bytes < vb_umr_bytes(&(struct vb_send_wr){.opcode = VB_WR_BIND_MW, .swap = 1}))
		return VB_WQE_FAULT_DS;
	if (!vb_wqe_get(from, VB_UMR_INLINE) || vb_wqe_get(from, VB_UMR_RANGES) != RANGE_UNITS)
		return VB_WQE_FAULT_UMR;
	if (of_qp && vb_wqe_get(mkey, VB_MKEY_QPN) != q->qpn)
		return VB_WQE_FAULT_QPN;
	return read_range(mkey, klm, wr);
}
