/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of errors_verbs.c that are in files of their own. */
#ifndef VB_TESTS_CONFORMANCE_ERRORS_VERBS_H
#define VB_TESTS_CONFORMANCE_ERRORS_VERBS_H

#include "errors.h"

#include <infiniband/verbs.h>

/* Where work requests go that are built by ibv_wr_*(3). */
struct destination {
	enum vb_qp_type type; /* of the QP that sends them; the rest is for UD, XRC and DC */
	struct ibv_ah *ah;
	uint32_t qpn, qkey, srqn;
	uint64_t dc_key;
};
/* For ibv_qp_init_attr_ex.send_ops_flags: all that the type has. */
uint64_t built_ops(enum vb_qp_type type, bool has_atomic_write);
/* Whether the device makes such QPs. */
bool built_are_there(struct ibv_context *context, enum vb_qp_type type, bool has_atomic_write);
/* @cnt requests with consecutive wr_ids and the same SGEs. 0 or an errno: none was posted. */
int built_post(struct ibv_qp *qp, const struct work *w, uint32_t cnt, const struct ibv_sge *sge,
	       const struct destination *to);

/* Binds of one window, one after the other, as post_send(). */
int bind_post(struct ibv_qp *qp, const struct work *work, uint32_t cnt, uint32_t *taken);

/*
 * A CQ of few entries, and a QP of datagrams to itself, which nothing receives, that completes into
 * it until it is full, or has overrun (errors_verbs_cq.c).
 */
struct filler {
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq; /* NULL: no such thing */
	struct ibv_ah *ah;
	struct ibv_qp *qp;
	uint32_t told; /* events that the CQ has given */
};
/* The CQ, or NULL. */
struct ibv_cq *filler_open(struct filler *f, struct ibv_pd *pd);
/* @to: the way to itself. @patience_ms: how long a completion may take. */
bool filler_fill(struct filler *f, struct ibv_ah_attr *to, enum cq_room room, int patience_ms);
bool filler_close(struct filler *f);

/* DC, docs/dc.md. */
/* Whether there are mlx5dv's functions, of which none is linked: asked before the others. */
bool dc_is_there(void);
/* An initiator, or a target with the SRQ of @init. NULL: errno says why. */
struct ibv_qp *dc_create(struct ibv_context *context, struct ibv_qp_init_attr_ex *init,
			 enum vb_qp_type type, bool has_streams);
void dc_set_destination(struct ibv_qp_ex *ex, const struct destination *to);

#endif
