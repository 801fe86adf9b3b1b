/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Closing a device takes what is left in it along, as the kernel does: otherwise the adapter would
 * go on to serve memory, and raise events for objects, that are nobody's.
 */
#include "verbs/priv.h"
#include "verbs/ring/ring.h"

#include <assert.h>
#include <stdlib.h>

/* Takes the first object off the list @member of the contexts of @f; NULL when there is none. */
#define TAKE(f, member, type)                                                                      \
	((type *)take_first(f, offsetof(struct vb_ibv_context, member), offsetof(type, link)))

static void *take_first(struct vb_ibv_file *f, size_t list, size_t link)
{
	for (struct vb_list *i = f->contexts.next; i != &f->contexts; i = i->next) {
		struct vb_ibv_context *c = vb_container_of(i, struct vb_ibv_context, in_file);
		struct vb_list *l = (struct vb_list *)(void *)((char *)c + list);

		if (vb_list_is_empty(l))
			continue;
		l = l->next;
		/* The object taken before is off the list when it is freed, which the analyser
		 * does not see. */
		vb_list_remove(l); /* NOLINT(clang-analyzer-unix.Malloc) */
		return (char *)l - link;
	}
	return NULL;
}

/* Queue pairs and what they use. The memory of their rings is the application's. */
static int destroy_queues(struct vb_ibv_file *f, struct vb_engine *e)
{
	struct vb_slot_shm *slot = vb_engine_slot(e);
	struct vb_ibv_srq *srq;
	struct vb_ibv_qp *qp;
	struct vb_ibv_cq *cq;
	struct vb_ibv_xrcd *x;
	int err = 0;

	while ((qp = TAKE(f, qps, struct vb_ibv_qp))) {
		vb_ibv_detach_all(qp);
		if (vb_ibv_target_put(qp)) {
			err |= vb_qp_destroy(qp->core);
			vb_ibv_qp_delist(e, qp);
		}
		if (qp->ibv.qp_type != IBV_QPT_XRC_RECV)
			vb_ibv_pd_drop(qp->ibv.pd);
		if (qp->hw)
			vb_ring_qp_free(qp->hw, e);
		vb_wr_batch_free(qp->batch);
		free(qp->dv);
		vb_object_free(qp);
	}
	while ((srq = TAKE(f, srqs, struct vb_ibv_srq))) {
		err |= vb_srq_destroy(srq->core);
		vb_ring_srq_free(srq->hw);
		if (srq->xrcd)
			srq->xrcd->user_cnt--;
		vb_ibv_pd_drop(srq->ibv.pd);
		vb_object_free(srq);
	}
	while ((cq = TAKE(f, cqs, struct vb_ibv_cq))) {
		err |= vb_cq_destroy(cq->core);
		vb_ring_cq_free(cq->hw, e);
		vb_ibv_cq_watch(cq, false);
		slot->cq_cnt--;
		if (cq->parent)
			vb_ibv_pd_drop(cq->parent);
		vb_object_free(cq);
	}
	while ((x = TAKE(f, xrcds, struct vb_ibv_xrcd)))
		err |= vb_ibv_xrcd_free(x);
	return err;
}

static int destroy_memory(struct vb_ibv_file *f)
{
	struct vb_ibv_mw *mw;
	struct vb_ibv_mr *mr;
	struct vb_ibv_dm *dm;
	int err = 0;

	while ((mw = TAKE(f, mws, struct vb_ibv_mw))) {
		err |= vb_mw_destroy(mw->core);
		vb_ibv_pd_drop(mw->ibv.pd);
		vb_object_free(mw);
	}
	while ((mr = TAKE(f, mrs, struct vb_ibv_mr)))
		err |= vb_ibv_mr_free(mr);
	while ((dm = TAKE(f, dms, struct vb_ibv_dm))) {
		vb_ibv_dm_mem_put(dm->mem);
		vb_object_free(dm);
	}
	return err;
}

/* Parent domains before what they are made of; address handles are the application's to free. */
static int destroy_domains(struct vb_ibv_file *f)
{
	struct vb_list later;
	struct vb_ibv_pd *pd;
	struct vb_ibv_td *td;
	int err = 0;

	vb_list_init(&later);
	while ((pd = TAKE(f, pds, struct vb_ibv_pd))) {
		pd->user_cnt = pd->parent ? 0 : pd->user_cnt;
		if (pd->parent)
			err |= vb_ibv_pd_free(pd);
		else
			vb_list_append(&later, &pd->link);
	}
	while (!vb_list_is_empty(&later)) {
		pd = vb_container_of(later.next, struct vb_ibv_pd, link);
		vb_list_remove(&pd->link);
		pd->user_cnt = 0;
		err |= vb_ibv_pd_free(pd);
	}
	while ((td = TAKE(f, tds, struct vb_ibv_td)))
		vb_object_free(td);
	return err;
}

void vb_ibv_destroy_all(struct vb_ibv_file *f)
{
	struct vb_ibv_context *first =
	    vb_container_of(f->contexts.next, struct vb_ibv_context, in_file);
	struct vb_ibv_comp_cntr *cntr;
	struct vb_ibv_channel *ch;
	/* Users before what they use, so nothing is busy. */
	int err = destroy_queues(f, first->engine);

	while ((cntr = TAKE(f, comp_cntrs, struct vb_ibv_comp_cntr)))
		vb_object_free(cntr);
	err |= destroy_memory(f);
	err |= destroy_domains(f);
	while ((ch = TAKE(f, channels, struct vb_ibv_channel))) {
		vb_evq_close(&ch->events);
		vb_object_free(ch);
	}
	assert(!err);
	(void)err;
}
