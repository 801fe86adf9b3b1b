/* SPDX-License-Identifier: BSD-2-Clause */
/* The send queue and its WQEs, see sq.c. IBA 10.8.2 */
#ifndef VB_CORE_QP_SQ_H
#define VB_CORE_QP_SQ_H

#include "base/psn.h"
#include "core/tx/wr.h"
#include "core/types.h"

struct vb_qp;

/* Where a WQE goes, behind it in its slot where the transport has such a thing (dest_bytes). */
struct vb_ud_dest {
	struct vb_path path;
	uint32_t dqpn, qkey;
	uint32_t kbps; /* of the address handle */
	uint32_t rsv;
};
_Static_assert(sizeof(struct vb_ud_dest) % 8 == 0, "the SGEs are behind it");

struct vb_xrc_dest {
	uint32_t srqn, rsv;
};

/* A send WQE. Packet k of it is a function of this, the MTU and k alone. */
struct vb_swqe {
	uint64_t wr_id;
	uint64_t remote_addr;
	uint64_t compare_add, swap;
	uint64_t charge; /* window bytes of all WQEs before it, see charge_at() */
	uint32_t length;
	uint32_t rkey;
	uint32_t imm; /* or the R_Key to invalidate */
	struct vb_psn first;
	uint32_t pkts; /* PSNs it takes; 0 for local work */
	uint32_t rsn;  /* receive-consuming messages up to and with this one */
	uint16_t sge_cnt;
	uint8_t opcode;  /* enum vb_wr_opcode */
	uint8_t flags;   /* set of enum vb_send_flag, and VB_SWQE_RAN */
	uint8_t status;  /* enum vb_wc_status it is bound to fail with, found when it was posted */
	uint16_t traits; /* set of enum vb_work_trait, of its opcode */
};

#define VB_SWQE_RAN 0x80 /* local work that was done and only waits for its turn to complete */

struct vb_sq {
	uint8_t *slots;
	size_t stride;
	uint32_t mask;
	uint32_t head; /* oldest WQE not completed */
	uint32_t nxt;  /* WQE that holds psn_nxt, or is local and due */
	uint32_t tail; /* next to post; all three run freely */
	uint32_t wr_max, sge_max, inline_max;
	bool is_placed; /* the ring is in memory of the caller */
};

/* sq.c */
static inline struct vb_swqe *vb_sq_at(const struct vb_sq *sq, uint32_t idx)
{
	return (struct vb_swqe *)(sq->slots + (size_t)(idx & sq->mask) * sq->stride);
}
int vb_sq_init(struct vb_qp *qp, const struct vb_qp_cap *cap);
void vb_sq_free(struct vb_qp *qp);

/* Where a WQE goes, behind it: to be written while it is posted, to be read after. */
static inline void *vb_swqe_put_dest(struct vb_swqe *w)
{
	return w + 1;
}
static inline const void *vb_swqe_dest(const struct vb_swqe *w)
{
	return w + 1;
}
static inline const struct vb_ud_dest *vb_swqe_ud(const struct vb_swqe *w)
{
	return (const struct vb_ud_dest *)vb_swqe_dest(w);
}
static inline bool vb_swqe_is_local(const struct vb_swqe *w)
{
	return w->traits & VB_WORK_LOCAL;
}
static inline bool vb_swqe_wants_response(const struct vb_swqe *w)
{
	return w->traits & VB_WORK_ANSWERED;
}
static inline bool vb_swqe_takes_recv(const struct vb_swqe *w)
{
	return w->traits & VB_WORK_TAKES_RECV;
}
static inline struct vb_psn vb_swqe_end(const struct vb_swqe *w)
{
	return vb_psn_add(w->first, w->pkts);
}

#endif
