/* SPDX-License-Identifier: BSD-2-Clause */
/* Binds, for errors_verbs.c: type 1 by a verb of its own, type 2 by work requests. IBA 10.6.7.2 */
#include "errors_verbs.h"

/* The region may be gone. */
static int post_one(struct ibv_qp *qp, const struct work *work, uint32_t *taken)
{
	const struct region *r = work->region;
	struct ibv_mw *mw = work->window->handle;
	struct ibv_mr mr = r->handle
			       ? *(struct ibv_mr *)r->handle
			       : (struct ibv_mr){qp->context, qp->pd, work->addr, REGION, 0, 0, 0};
	struct ibv_mw_bind_info info = {&mr, (uintptr_t)work->addr, work->len, work->access};
	struct ibv_mw_bind bind = {work->wr_id, IBV_SEND_SIGNALED, info};
	struct ibv_send_wr wr = {.wr_id = work->wr_id,
				 .opcode = IBV_WR_BIND_MW,
				 .send_flags = IBV_SEND_SIGNALED,
				 .bind_mw = {mw, ibv_inc_rkey(mw->rkey), info}};
	struct ibv_send_wr *refused = NULL;
	int err;

	mr.lkey = r->lkey ^ work->region_error;
	mr.rkey = r->rkey ^ work->region_error;
	if (work->window->type == 1) {
		err = ibv_bind_mw(qp, mw, &bind);
		*taken = !err;
	} else {
		err = ibv_post_send(qp, &wr, &refused);
		*taken = err && refused == &wr ? 0 : 1;
		if (!err)
			mw->rkey = wr.bind_mw.rkey;
	}
	work->window->rkey = mw->rkey;
	return err;
}

int bind_post(struct ibv_qp *qp, const struct work *work, uint32_t cnt, uint32_t *taken)
{
	struct work next = *work;
	uint32_t one;
	int err = 0;

	for (*taken = 0; *taken < cnt && !err; *taken += one, next.wr_id++)
		err = post_one(qp, &next, &one);
	return err;
}
