/* SPDX-License-Identifier: BSD-2-Clause */
/* A remote address and what is in flight towards it, see peer.c. */
#ifndef VB_CORE_SCHED_PEER_H
#define VB_CORE_SCHED_PEER_H

#include "base/list.h"
#include "core/types.h"

struct vb_hca;
struct vb_qp;

/* A remote address and what is in flight towards it. */
struct vb_peer {
	struct vb_peer *next; /* in its bucket */
	struct vb_gid gid;
	uint32_t refs;
	uint64_t inflight;      /* bytes, see charge_at() */
	struct vb_list waiting; /* QPs that wait for room, by vb_qp.active */
};

struct vb_peer *vb_peer_get(struct vb_hca *h, const struct vb_gid *gid);
void vb_peer_put(struct vb_hca *h, struct vb_peer *p);
/* From now on the bytes that @qp has in flight, and all that it sends, are towards @p, whose
 * reference it takes. */
void vb_peer_enter(struct vb_qp *qp, struct vb_peer *p);
/* Lets one waiting QP look again when there is room. */
void vb_peer_wake(struct vb_hca *h, struct vb_peer *p);
/* The QP's bytes in flight have changed. */
void vb_req_update_inflight(struct vb_qp *qp);

#endif
