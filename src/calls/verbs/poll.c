/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions that are read field by field. ibv_create_cq_ex(3) */
#include "calls/verbs/extended.h"

#include "calls/show.h"

/* The operations of a CQ as libverbena.so made them; these are the same in all. */
static struct ibv_cq_ex next;

static int show_completion(struct vb_call *c, struct ibv_cq_ex *cq, int rc)
{
	if (!rc) {
		vb_call_results(c);
		vb_call_number(c, "wr_id", (int64_t)cq->wr_id);
		vb_call_name(c, "status", vb_names_wc_status, cq->status);
		if (cq->status == IBV_WC_SUCCESS)
			vb_call_name(c, "opcode", vb_names_wc_opcode, ibv_wc_read_opcode(cq));
	}
	vb_call_end_error(c, rc);
	return rc;
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_start_poll");
	vb_call_object(&c, "cq", VB_KIND_CQ, cq);
	vb_call_go(&c);
	rc = next.start_poll(cq, attr);
	vb_call_done(&c);
	return show_completion(&c, cq, rc);
}

static int next_poll(struct ibv_cq_ex *cq)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_next_poll");
	vb_call_object(&c, "cq", VB_KIND_CQ, cq);
	vb_call_go(&c);
	rc = next.next_poll(cq);
	vb_call_done(&c);
	return show_completion(&c, cq, rc);
}

static void end_poll(struct ibv_cq_ex *cq)
{
	struct vb_call c;

	vb_call_begin(&c, "ibv_end_poll");
	vb_call_object(&c, "cq", VB_KIND_CQ, cq);
	vb_call_go(&c);
	next.end_poll(cq);
	vb_call_done(&c);
	vb_call_end(&c);
}

void vb_calls_take_cq(struct ibv_cq_ex *cq)
{
	if (!next.start_poll)
		next = *cq;
	VB_CALLS_TAKE(cq->start_poll, start_poll);
	VB_CALLS_TAKE(cq->next_poll, next_poll);
	VB_CALLS_TAKE(cq->end_poll, end_poll);
}
