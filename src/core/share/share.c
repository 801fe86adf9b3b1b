/* SPDX-License-Identifier: BSD-2-Clause */
/* The work of an HCA for all the responders that it shares. See migration.h and open.h. */
#include "core/share/migration.h"
#include "core/share/open.h"

#include <errno.h>

int vb_xrc_take_message(struct vb_hca *h, uint32_t peer, const void *msg, size_t len, vb_time now)
{
	const struct vb_xrc_msg *m = msg;

	if (!h->cfg.xrc_send || len < sizeof *m || len > VB_XRC_MSG_MAX ||
	    m->magic != VB_XRC_MAGIC || m->kind >= VB_XRC_KINDS || m->state_len % 8 ||
	    m->state_len > len || m->pkt_len > VB_XRC_PKT_MAX ||
	    sizeof *m + m->state_len + m->pkt_len != len || m->name.ino == 0 ||
	    peer >= VB_XRC_PEERS)
		return -EPROTO;
	if (m->kind >= VB_XRC_OPEN)
		return vb_xrc_open_take(h, peer, m, now);
	if (m->kind < VB_XRC_RETURN)
		return vb_xrc_holder_take(h, peer, m, now);
	vb_xrc_owner_take(h, peer, m, now);
	return 0;
}

bool vb_xrc_waits(const struct vb_hca *h)
{
	return !vb_list_is_empty(&h->migrations) || !vb_list_is_empty(&h->openers);
}

bool vb_xrc_run(struct vb_hca *h, vb_time now)
{
	struct vb_list todo;

	vb_xrc_openers_run(h);
	vb_list_init(&todo);
	while (!vb_list_is_empty(&h->migrations)) {
		struct vb_list *l = h->migrations.next;

		vb_list_remove(l);
		vb_list_append(&todo, l);
	}
	while (!vb_list_is_empty(&todo)) {
		struct vb_xrc_migration *mig =
		    vb_container_of(todo.next, struct vb_xrc_migration, link);

		vb_list_remove(&mig->link);
		if (!mig->is_holder)
			vb_xrc_owner_run(mig, now);
		else if (vb_xrc_holder_run(mig, now))
			vb_xrc_later(mig);
	}
	return vb_xrc_waits(h);
}

void vb_xrc_probe(struct vb_hca *h, vb_time now)
{
	for (uint32_t i = 0; i < h->qp_cap; i++) {
		struct vb_xrc_migration *mig = h->qp[i] ? h->qp[i]->mig : NULL;

		if (mig && mig->is_holder) {
			vb_xrc_holder_probe(mig, now);
		} else if (mig && mig->is_migrated) {
			vb_xrc_owner_probe(mig, now);
		}
		if (h->qp[i])
			vb_xrc_open_probe(h->qp[i]);
	}
}
