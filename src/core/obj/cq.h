/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues, see cq.c. IBA 10.8.2 */
#ifndef VB_CORE_OBJ_CQ_H
#define VB_CORE_OBJ_CQ_H

#include "base/list.h"
#include "core/obj/event.h"
#include "core/types.h"

struct vb_hca;
struct vb_cq_mirror;

struct vb_cq {
	struct vb_hca *hca;
	struct vb_list link; /* in hca->cqs */
	struct vb_event_source ev;
	struct vb_wc *ring;
	uint32_t mask, head, tail; /* head: next to poll; both run freely */
	uint32_t number, refs;
	enum { VB_CQ_UNARMED, VB_CQ_ARMED_SOLICITED, VB_CQ_ARMED } armed;
	struct vb_cq_mirror *mirror; /* NULL: none */
	bool overrun, is_placed;     /* placed: the ring is in memory of the caller */
	/* Moderation: while the CQ is in hca->held, its event waits for more entries or for due. */
	uint16_t mod_cnt; /* 0: none */
	uint32_t held_cnt;
	vb_dur mod_period;
	vb_time due, newest; /* newest: of all entries */
	struct vb_list held;
};

/*
 * Adds a completion. 0; -EOVERFLOW: the CQ is in error, and the QP that completes must not go on;
 * -ENOSPC: the same, and this was the completion too many: all QPs on it end.
 */
int vb_cq_add(struct vb_cq *cq, const struct vb_wc *wc, bool solicited);
/* Takes the completions of a QP that is being destroyed out of the queue. */
void vb_cq_forget_qp(struct vb_cq *cq, const struct vb_qp *qp);
/* Events of moderated CQs that time brings. */
void vb_cq_on_time(struct vb_hca *h, vb_time now);

#endif
