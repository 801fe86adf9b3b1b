/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The port's side of a quantum: which packets of a QP leave together as a GSO batch, and how much
 * the receiver can take, where the link knows that (receiver credit: a receiver on the same host
 * whose socket or ring is nearly full). The requester asks here and knows nothing of either.
 */
#ifndef VB_CORE_EGRESS_EGRESS_H
#define VB_CORE_EGRESS_EGRESS_H

#include "base/time.h"
#include "wire/packet.h"

#include <stdbool.h>
#include <stdint.h>

struct vb_hca;
struct vb_qp;
struct vb_swqe;

/* One quantum of one QP. */
struct vb_egress {
	struct vb_tx_batch *b;
	uint32_t from;   /* packets in @b when the quantum began */
	uint32_t stop;   /* it ends when @b holds so many */
	uint32_t gso;    /* packets that had better leave together now; 1: one by itself */
	uint32_t left;   /* packets left of the GSO batch under way */
	uint64_t credit; /* bytes that the receiver can take; UINT64_MAX: nobody was asked yet */
	bool is_plain;   /* packets leave one by one, and nobody knows of credit */
};

/* A QP keeps this from quantum to quantum. */
struct vb_egress_wait {
	bool batch;     /* its GSO batch had no place, and is first in the next vb_tx_batch */
	vb_time gso_at; /* since when a GSO batch waits for receiver credit; 0: none does */
};

static inline struct vb_egress vb_egress_begin(struct vb_tx_batch *b, uint32_t stop, bool is_plain)
{
	return (struct vb_egress){.b = b,
				  .from = b->cnt,
				  .stop = stop,
				  .gso = 1,
				  .credit = UINT64_MAX,
				  .is_plain = is_plain};
}

/* True while the receiver cannot take the next packet of @w, or not the whole of the GSO batch that
 * begins with it: the QP's block is VB_BLOCK_RX_CREDIT, and a timer lets it look again. @w: NULL
 * for a packet that is sent again by itself. */
bool vb_egress_ask(struct vb_egress *out, struct vb_qp *qp, const struct vb_swqe *w, vb_time now);

static inline bool vb_egress_is_short(struct vb_egress *out, struct vb_qp *qp,
				      const struct vb_swqe *w, vb_time now)
{
	return !out->is_plain && vb_egress_ask(out, qp, w, now);
}

/* True when the packets that had better leave together have a place in this quantum. */
bool vb_egress_find_place(struct vb_egress *out, struct vb_qp *qp);

static inline bool vb_egress_fits(struct vb_egress *out, struct vb_qp *qp)
{
	return out->gso == 1 || vb_egress_find_place(out, qp);
}

/* The last packet in the batch has left: what it took of receiver credit, and of the QP's rate. */
void vb_egress_passed(struct vb_egress *out, struct vb_qp *qp, vb_time now);

/* Asks whether the receiver of @path, which the caller is about to have packets sent by, is on this
 * host; path.home says it then. */
void vb_egress_find_home(const struct vb_hca *h, struct vb_path *path);

/* @cnt packets of the WQE have left, 0 or 1. */
static inline void vb_egress_advance(struct vb_egress *out, uint32_t cnt)
{
	out->left = (out->left ? out->left : out->gso) - cnt;
}

#endif
