/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes in flight towards one remote address, all QPs together. UDP has no link flow control, so
 * the adapter bounds it: a QP that finds the window full waits here and is let in, in order, as
 * acknowledgements make room.
 */
#include "core/sched/peer.h"
#include "base/assert.h"
#include "core/qp/qp.h"
#include "core/sched/sched.h"

#include <errno.h>
#include <string.h>

#define PEERS_FIRST 8u

static struct vb_peer **bucket_of(struct vb_peer **table, uint32_t cap, const struct vb_gid *gid)
{
	uint64_t half[2];

	memcpy(half, gid->b, sizeof half);
	/* Addresses differ in their last bytes, and a product's middle depends on lower bits only.
	 */
	half[0] ^= half[1];
	half[0] = (half[0] ^ half[0] >> 32) * UINT64_C(0x9fb21c651e98df25);
	return &table[half[0] >> 32 & (cap - 1)];
}

static int table_grow(struct vb_hca *h)
{
	uint32_t cap = h->peer_cap ? h->peer_cap * 2 : PEERS_FIRST;
	struct vb_peer **table = vb_alloc(h, cap * sizeof(struct vb_peer *));

	if (!table)
		return -ENOMEM;
	for (uint32_t i = 0; i < h->peer_cap; i++) {
		while (h->peer[i]) {
			struct vb_peer *p = h->peer[i], **to = bucket_of(table, cap, &p->gid);

			h->peer[i] = p->next;
			p->next = *to;
			*to = p;
		}
	}
	vb_free(h, h->peer);
	h->peer = table;
	h->peer_cap = cap;
	return 0;
}

struct vb_peer *vb_peer_get(struct vb_hca *h, const struct vb_gid *gid)
{
	struct vb_peer *p = h->peer_cap ? *bucket_of(h->peer, h->peer_cap, gid) : NULL;

	while (p && !vb_gid_eq(&p->gid, gid))
		p = p->next;
	if (p) {
		VB_ASSERT_ALL(p->refs > 0);
		p->refs++;
		return p;
	}
	if (h->peer_cnt == h->peer_cap && table_grow(h))
		return NULL;
	p = vb_alloc(h, sizeof *p);
	if (!p)
		return NULL;

	struct vb_peer **bucket = bucket_of(h->peer, h->peer_cap, gid);

	p->gid = *gid;
	p->refs = 1;
	vb_list_init(&p->waiting);
	p->next = *bucket;
	*bucket = p;
	h->peer_cnt++;
	return p;
}

void vb_peer_put(struct vb_hca *h, struct vb_peer *p)
{
	if (!p || --p->refs)
		return;
	VB_ASSERT(p->inflight == 0 && vb_list_is_empty(&p->waiting));

	struct vb_peer **at = bucket_of(h->peer, h->peer_cap, &p->gid);

	while (*at != p) {
		VB_ASSERT(*at);
		at = &(*at)->next;
	}
	*at = p->next;
	VB_ASSERT_ALL(h->peer_cnt > 0);
	h->peer_cnt--;
	vb_free(h, p);
}

void vb_peer_wake(struct vb_hca *h, struct vb_peer *p)
{
	if (!p || vb_list_is_empty(&p->waiting) || p->inflight >= h->cfg.peer_window_bytes)
		return;

	struct vb_qp *qp = vb_container_of(p->waiting.next, struct vb_qp, active);

	VB_ASSERT_ALL(qp->peer == p && !qp->is_active);
	vb_sched_activate(qp);
}

void vb_peer_enter(struct vb_qp *qp, struct vb_peer *p)
{
	uint64_t inflight = qp->req.inflight;

	if (qp->peer)
		qp->peer->inflight -= inflight;
	vb_sched_activate(qp); /* it may wait at the peer that it leaves */
	vb_peer_wake(qp->hca, qp->peer);
	vb_peer_put(qp->hca, qp->peer);
	p->inflight += inflight;
	qp->peer = p;
}

/* Window bytes of everything posted before @psn, which lies in (or right behind) WQE @idx. */
static uint64_t charge_at(const struct vb_qp *qp, uint32_t idx, struct vb_psn psn)
{
	if (idx == qp->sq.tail)
		return qp->req.charge_post;

	const struct vb_swqe *w = vb_sq_at(&qp->sq, idx);

	return w->charge + (uint64_t)vb_psn_span(w->first, psn) * (qp->mtu + VB_PACKET_OVERHEAD);
}

void vb_req_update_inflight(struct vb_qp *qp)
{
	if (!qp->peer)
		return;

	uint64_t now = charge_at(qp, qp->sq.nxt, qp->req.psn_nxt) -
		       charge_at(qp, qp->sq.head, qp->req.psn_una);
	bool fell = now < qp->req.inflight;

	VB_ASSERT_ALL((int64_t)now >= 0);
	VB_ASSERT_ALL(qp->peer->inflight >= qp->req.inflight);
	qp->peer->inflight += now - qp->req.inflight;
	qp->req.inflight = now;
	if (fell)
		vb_peer_wake(qp->hca, qp->peer);
}
