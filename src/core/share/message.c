/* SPDX-License-Identifier: BSD-2-Clause */
/* The messages between the HCAs that share a responder. See migration.h and open.h. */
#include "core/rc/rc.h"
#include "core/share/handle.h"
#include "core/share/migration.h"

#include <errno.h>
#include <string.h>

static struct vb_xrc_pool *pool_of(struct vb_hca *h)
{
	if (!h->xrc_pool)
		h->xrc_pool = vb_alloc(h, sizeof *h->xrc_pool);
	return h->xrc_pool;
}

struct vb_xrc_migration *vb_xrc_migration_new(struct vb_qp *qp)
{
	struct vb_xrc_migration *mig = pool_of(qp->hca) ? vb_alloc(qp->hca, sizeof *mig) : NULL;

	if (mig) {
		vb_list_init(&mig->link);
		mig->qp = qp;
		qp->mig = mig;
	}
	return mig;
}

void vb_xrc_later(struct vb_xrc_migration *mig)
{
	if (vb_list_is_empty(&mig->link))
		vb_list_append(&mig->qp->hca->migrations, &mig->link);
}

int vb_xrc_say(struct vb_xrc_migration *mig, enum vb_xrc_kind kind, bool state,
	       const struct vb_rx *rx)
{
	struct vb_qp *qp = mig->qp;
	struct vb_hca *h = qp->hca;
	struct vb_xrc_msg *m = (struct vb_xrc_msg *)(void *)h->xrc_pool->msg;
	uint8_t *at = (uint8_t *)(m + 1);

	*m = (struct vb_xrc_msg){.magic = VB_XRC_MAGIC,
				 .kind = kind,
				 .qpn = vb_xrc_number(qp),
				 .serial = mig->serial,
				 .name = qp->xrcd->name,
				 .events = kind == VB_XRC_RETURN ? mig->events : 0,
				 .is_migrated = mig->is_migrated};
	if (state) {
		m->state_len = (uint32_t)vb_xrc_state_size(qp);
		vb_xrc_state_put(qp, (struct vb_xrc_state *)(void *)at);
		at += m->state_len;
	}
	if (rx) {
		m->pkt_len = rx->len;
		vb_rx_copy(rx, at);
		at += rx->len;
	}
	return h->cfg.xrc_send(h->cfg.xrc_ctx, mig->peer, m, (size_t)(at - (uint8_t *)m));
}

void vb_xrc_answer(struct vb_hca *h, uint32_t peer, const struct vb_xrc_msg *m,
		   enum vb_xrc_kind kind, bool all)
{
	struct vb_xrc_pool *pool = h->cfg.xrc_send ? pool_of(h) : NULL;
	struct vb_xrc_msg *to = pool ? (struct vb_xrc_msg *)(void *)pool->msg : NULL;
	size_t len = sizeof *m + (all ? m->state_len + m->pkt_len : 0);

	if (!to)
		return;
	memcpy(to, m, len);
	to->kind = kind;
	if (!all)
		to->state_len = to->pkt_len = 0;
	/* Lost, when there is no room: who waits for it asks again, see vb_xrc_probe(). */
	(void)h->cfg.xrc_send(h->cfg.xrc_ctx, peer, to, len);
}

int vb_xrc_send(struct vb_hca *h, uint32_t peer, const struct vb_xrc_msg *m,
		const struct vb_xrc_inquiry *q)
{
	struct {
		struct vb_xrc_msg m;
		struct vb_xrc_inquiry q;
	} out = {.m = *m};

	out.m.magic = VB_XRC_MAGIC;
	out.m.state_len = q ? sizeof *q : 0;
	if (q)
		out.q = *q;
	return h->cfg.xrc_send(h->cfg.xrc_ctx, peer, &out, sizeof out.m + out.m.state_len);
}
