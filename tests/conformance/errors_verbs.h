/* SPDX-License-Identifier: BSD-2-Clause */
/* DC by way of mlx5dv, for errors_verbs.c. docs/dc.md */
#ifndef VB_TESTS_CONFORMANCE_ERRORS_VERBS_H
#define VB_TESTS_CONFORMANCE_ERRORS_VERBS_H

#include "errors.h"

#include <infiniband/verbs.h>

/* Where a work request of an initiator goes. */
struct dc_to {
	struct ibv_ah *ah;
	uint32_t dctn;
	uint64_t key;
};

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

/* Whether there are mlx5dv's functions, of which none is linked: asked before the others. */
bool dc_is_there(void);
/* An initiator, or a target with the SRQ of @init. NULL: errno says why. */
struct ibv_qp *dc_create(struct ibv_context *context, struct ibv_qp_init_attr_ex *init,
			 enum vb_qp_type type, bool has_streams);
/* One work request. 0 or an errno. */
int dc_post(struct ibv_qp *qp, const struct work *work, const struct dc_to *to);

#endif
