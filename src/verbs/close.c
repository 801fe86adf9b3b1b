/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Closing a device takes what is left in it along, as the kernel does: otherwise the adapter would
 * go on to serve memory, and raise events for objects, that are nobody's.
 */
#include "verbs/priv.h"

#include <assert.h>
#include <stdlib.h>

/* Takes the first object off @list; NULL when there is none. */
#define TAKE(list, type) ((type *)take_first(list, offsetof(type, link)))

static void *take_first(struct vb_list *list, size_t offset)
{
	struct vb_list *l = list->next;

	if (l == list)
		return NULL;
	/* What was taken before is off the list when it is freed, which the analyser does not see.
	 */
	vb_list_remove(l); /* NOLINT(clang-analyzer-unix.Malloc) */
	return (char *)l - offset;
}

void vb_ibv_destroy_all(struct vb_ibv_context *c)
{
	struct vb_slot_shm *slot = vb_engine_slot(c->engine);
	struct vb_ibv_channel *ch;
	struct vb_ibv_srq *srq;
	struct vb_ibv_qp *qp;
	struct vb_ibv_mw *mw;
	struct vb_ibv_mr *mr;
	struct vb_ibv_cq *cq;
	struct vb_ibv_pd *pd;
	int err = 0;

	/* Users before what they use, so nothing is busy. */
	while ((qp = TAKE(&c->qps, struct vb_ibv_qp))) {
		err |= vb_qp_destroy(qp->core);
		slot->qp_cnt--;
		vb_wr_batch_free(qp->batch);
		free(qp);
	}
	while ((srq = TAKE(&c->srqs, struct vb_ibv_srq))) {
		err |= vb_srq_destroy(srq->core);
		free(srq);
	}
	while ((mw = TAKE(&c->mws, struct vb_ibv_mw))) {
		err |= vb_mw_destroy(mw->core);
		free(mw);
	}
	while ((mr = TAKE(&c->mrs, struct vb_ibv_mr))) {
		err |= vb_mr_destroy(mr->core);
		slot->mr_cnt--;
		free(mr);
	}
	while ((cq = TAKE(&c->cqs, struct vb_ibv_cq))) {
		err |= vb_cq_destroy(cq->core);
		slot->cq_cnt--;
		free(cq);
	}
	while ((pd = TAKE(&c->pds, struct vb_ibv_pd))) {
		err |= vb_pd_destroy(pd->core);
		free(pd);
	}
	while ((ch = TAKE(&c->channels, struct vb_ibv_channel))) {
		vb_evq_close(&ch->events);
		free(ch);
	}
	assert(!err);
	(void)err;
}
