/* SPDX-License-Identifier: BSD-2-Clause */
/* What an HCA does for all the responders that it shares. See loan.h and open.h. */
#include "core/share/loan.h"
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
		return vb_xrc_borrower_take(h, peer, m, now);
	vb_xrc_owner_take(h, peer, m, now);
	return 0;
}

bool vb_xrc_waits(const struct vb_hca *h)
{
	return !vb_list_is_empty(&h->loans) || !vb_list_is_empty(&h->openers);
}

bool vb_xrc_run(struct vb_hca *h, vb_time now)
{
	struct vb_list todo;

	vb_xrc_openers_run(h);
	vb_list_init(&todo);
	while (!vb_list_is_empty(&h->loans)) {
		struct vb_list *l = h->loans.next;

		vb_list_remove(l);
		vb_list_append(&todo, l);
	}
	while (!vb_list_is_empty(&todo)) {
		struct vb_xrc_loan *loan = vb_container_of(todo.next, struct vb_xrc_loan, link);

		vb_list_remove(&loan->link);
		if (loan->borrows ? vb_xrc_borrower_run(loan, now) : vb_xrc_owner_run(loan, now))
			vb_xrc_later(loan);
	}
	return vb_xrc_waits(h);
}

void vb_xrc_probe(struct vb_hca *h, vb_time now)
{
	for (uint32_t i = 0; i < h->qp_cap; i++) {
		struct vb_xrc_loan *loan = h->qp[i] ? h->qp[i]->loan : NULL;

		if (loan && loan->borrows) {
			vb_xrc_borrower_probe(loan, now);
		} else if (loan && loan->is_lent) {
			vb_xrc_owner_probe(loan, now);
		}
		if (h->qp[i])
			vb_xrc_open_probe(h->qp[i]);
	}
}
