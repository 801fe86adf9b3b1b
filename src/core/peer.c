/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is in flight towards one remote address, all QPs together. UDP has no link flow control, so
 * the adapter bounds it: a QP that finds the window full waits here and is let in, in order, as
 * acknowledgements make room.
 */
#include "core/priv.h"

struct vb_peer *vb_peer_get(struct vb_hca *h, const struct vb_gid *gid)
{
	for (struct vb_list *l = h->peers.next; l != &h->peers; l = l->next) {
		struct vb_peer *p = vb_container_of(l, struct vb_peer, link);

		if (vb_gid_eq(&p->gid, gid)) {
			p->refs++;
			return p;
		}
	}

	struct vb_peer *p = vb_alloc(h, sizeof *p);

	if (!p)
		return NULL;
	p->gid = *gid;
	p->refs = 1;
	vb_list_init(&p->waiting);
	vb_list_append(&h->peers, &p->link);
	return p;
}

void vb_peer_put(struct vb_hca *h, struct vb_peer *p)
{
	if (!p || --p->refs)
		return;
	assert(p->inflight == 0 && vb_list_is_empty(&p->waiting));
	vb_list_remove(&p->link);
	vb_free(h, p);
}

void vb_peer_wake(struct vb_hca *h, struct vb_peer *p)
{
	if (!p || vb_list_is_empty(&p->waiting) || p->inflight >= h->cfg.peer_window_bytes)
		return;

	struct vb_qp *qp = vb_container_of(p->waiting.next, struct vb_qp, active);

	vb_sched_activate(qp);
}
