/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues and their channels, shared receive queues. ibv_create_cq(3), ibv_create_srq(3)
 */
#include "calls/next.h"
#include "calls/show.h"
#include "calls/verbs/destroy.h"

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct vb_call c;
	struct ibv_comp_channel *channel;

	vb_call_begin(&c, "ibv_create_comp_channel");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_go(&c);
	channel = vb_next_verbs()->ibv_create_comp_channel(context);
	vb_call_done(&c);
	if (channel) {
		vb_call_results(&c);
		vb_call_number(&c, "fd", channel->fd);
	}
	vb_call_end_object(&c, VB_KIND_CHANNEL, channel);
	return channel;
}

VB_CALLS_DESTROY_ENTRY(ibv_destroy_comp_channel, ibv_comp_channel, VB_KIND_CHANNEL, "channel")

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	struct vb_call c;
	struct ibv_cq *cq;

	vb_call_begin(&c, "ibv_create_cq");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_number(&c, "cqe", cqe);
	vb_call_object(&c, "channel", VB_KIND_CHANNEL, channel);
	vb_call_number(&c, "comp_vector", comp_vector);
	vb_call_go(&c);
	cq = vb_next_verbs()->ibv_create_cq(context, cqe, cq_context, channel, comp_vector);
	vb_call_done(&c);
	if (cq) {
		vb_call_results(&c);
		vb_call_number(&c, "cqe", cq->cqe);
	}
	vb_call_end_object(&c, VB_KIND_CQ, cq);
	return cq;
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_resize_cq");
	vb_call_object(&c, "cq", VB_KIND_CQ, cq);
	vb_call_number(&c, "cqe", cqe);
	vb_call_go(&c);
	rc = vb_next_verbs()->ibv_resize_cq(cq, cqe);
	vb_call_done(&c);
	vb_call_end_error(&c, rc);
	return rc;
}

VB_CALLS_DESTROY_ENTRY(ibv_destroy_cq, ibv_cq, VB_KIND_CQ, "cq")

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_get_cq_event");
	vb_call_object(&c, "channel", VB_KIND_CHANNEL, channel);
	vb_call_go(&c);
	rc = vb_next_verbs()->ibv_get_cq_event(channel, cq, cq_context);
	vb_call_done(&c);
	if (!rc) {
		vb_call_results(&c);
		vb_call_object(&c, "cq", VB_KIND_CQ, *cq);
	}
	vb_call_end_error(&c, rc);
	return rc;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned nevents)
{
	struct vb_call c;

	vb_call_begin(&c, "ibv_ack_cq_events");
	vb_call_object(&c, "cq", VB_KIND_CQ, cq);
	vb_call_number(&c, "nevents", nevents);
	vb_call_go(&c);
	vb_next_verbs()->ibv_ack_cq_events(cq, nevents);
	vb_call_done(&c);
	vb_call_end(&c);
}

static void srq_attr_show(struct vb_call *c, const struct ibv_srq_attr *attr)
{
	vb_call_number(c, "max_wr", attr->max_wr);
	vb_call_number(c, "max_sge", attr->max_sge);
	vb_call_number(c, "srq_limit", attr->srq_limit);
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct vb_call c;
	struct ibv_srq *srq;

	vb_call_begin(&c, "ibv_create_srq");
	vb_call_object(&c, "pd", VB_KIND_PD, pd);
	srq_attr_show(&c, &init->attr);
	vb_call_go(&c);
	srq = vb_next_verbs()->ibv_create_srq(pd, init);
	vb_call_done(&c);
	if (srq) {
		vb_call_results(&c);
		srq_attr_show(&c, &init->attr);
	}
	vb_call_end_object(&c, VB_KIND_SRQ, srq);
	return srq;
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	static const struct vb_name bits[] = {
	    {IBV_SRQ_MAX_WR, "MAX_WR"}, {IBV_SRQ_LIMIT, "LIMIT"}, {0, NULL}};
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_modify_srq");
	vb_call_object(&c, "srq", VB_KIND_SRQ, srq);
	if (mask & IBV_SRQ_MAX_WR)
		vb_call_number(&c, "max_wr", attr->max_wr);
	if (mask & IBV_SRQ_LIMIT)
		vb_call_number(&c, "srq_limit", attr->srq_limit);
	vb_call_flags(&c, "srq_attr_mask", (unsigned)mask, bits);
	vb_call_go(&c);
	rc = vb_next_verbs()->ibv_modify_srq(srq, attr, mask);
	vb_call_done(&c);
	vb_call_end_error(&c, rc);
	return rc;
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_query_srq");
	vb_call_object(&c, "srq", VB_KIND_SRQ, srq);
	vb_call_go(&c);
	rc = vb_next_verbs()->ibv_query_srq(srq, attr);
	vb_call_done(&c);
	if (!rc) {
		vb_call_results(&c);
		srq_attr_show(&c, attr);
	}
	vb_call_end_error(&c, rc);
	return rc;
}

VB_CALLS_DESTROY_ENTRY(ibv_destroy_srq, ibv_srq, VB_KIND_SRQ, "srq")
