/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles of a target in other HCAs than the one that made it, its owner. A handle is a target QP
 * that nobody addresses and that stays in RESET: events of the target are raised for it, and
 * queries and changes of the target are asked of the owner. The target lives at its
 * owner as long as anybody has it open, and ends with that HCA; then its handles are told.
 * ibv_open_qp(3), IBA A14.2
 *
 * Questions are asked again until there is an answer, and carry a number by which the owner knows
 * a question that it has answered. A message lost to a full mailbox is found by the probes: each
 * handle says once a second that it is there, and the owner asks a process that has the target
 * open.
 */
#ifndef VB_CORE_SHARE_OPEN_H
#define VB_CORE_SHARE_OPEN_H

#include "core/share/migration.h"

/* Behind an OPEN, an ASK and an ANSWER. */
struct vb_xrc_inquiry {
	_Alignas(8) struct vb_qp_attr attr; /* to be set; as of the answer */
	uint32_t mask;                      /* of what is to be set; 0: nothing */
	uint32_t opens;                     /* OPEN, and the answer to it */
	int32_t err;                        /* ANSWER: 0 or a negative errno */
	uint32_t rsv;
};
_Static_assert(sizeof(struct vb_xrc_inquiry) % 8 == 0, "a message is a multiple of 8");

/* Another HCA that has the target open. */
struct vb_xrc_opener {
	struct vb_list link;
	uint32_t peer;   /* its slot */
	uint32_t events; /* it was not told them yet; bit (1 << enum vb_async) */
	uint32_t serial; /* of what it has last set, 0: nothing... */
	int32_t err;     /* ... and what became of that */
};

struct vb_xrc_openers {
	struct vb_list link; /* in hca->openers while one of them has to be told something */
	struct vb_qp *qp;
	struct vb_list list; /* of struct vb_xrc_opener */
	bool is_orphan;      /* nobody here has the target any more */
};

/* Events that an owner tells of, and a handle believes. */
#define VB_XRC_TOLD                                                                                \
	(VB_XRC_EVENTS | 1u << VB_ASYNC_COMM_EST | 1u << VB_ASYNC_PATH_MIG |                       \
	 1u << VB_ASYNC_PATH_MIG_ERR)

/* A message of the kinds from VB_XRC_OPEN on; as vb_xrc_take_message(). */
int vb_xrc_open_take(struct vb_hca *h, uint32_t peer, const struct vb_xrc_msg *m, vb_time now);

/* Each HCA that has @qp, a target, open hears of @ev at the next vb_xrc_run(). */
void vb_xrc_tell_openers(struct vb_qp *qp, enum vb_async ev);
/* Tells what was not told yet. */
void vb_xrc_openers_run(struct vb_hca *h);

/* Once a second, for each handle and each target that is open elsewhere. */
void vb_xrc_open_probe(struct vb_qp *qp);

/* The consumer is done with @qp, a target or a handle. True: others have it open, so it stays. */
bool vb_xrc_outlives(struct vb_qp *qp);

/* The target ends, whoever has it open. */
void vb_xrc_end_openers(struct vb_qp *qp);

static inline bool vb_xrc_is_orphan(const struct vb_qp *qp)
{
	return qp->openers && qp->openers->is_orphan;
}

#endif
