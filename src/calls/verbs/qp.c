/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs. ibv_create_qp(3), ibv_modify_qp(3) */
#include "calls/next.h"
#include "calls/show.h"
#include "calls/verbs/destroy.h"
#include "calls/verbs/extended.h"

#include <stdlib.h>

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct vb_call c;
	struct ibv_qp *qp;

	vb_call_begin(&c, "ibv_create_qp");
	vb_call_object(&c, "pd", VB_KIND_PD, pd);
	vb_call_name(&c, "qp_type", vb_names_qp_type, init->qp_type);
	vb_call_object(&c, "send_cq", VB_KIND_CQ, init->send_cq);
	vb_call_object(&c, "recv_cq", VB_KIND_CQ, init->recv_cq);
	if (init->srq)
		vb_call_object(&c, "srq", VB_KIND_SRQ, init->srq);
	vb_call_qp_cap(&c, "cap", &init->cap);
	vb_call_number(&c, "sq_sig_all", init->sq_sig_all);
	vb_call_go(&c);
	qp = vb_next_verbs()->ibv_create_qp(pd, init);
	vb_call_done(&c);
	if (qp) {
		vb_call_results(&c);
		vb_call_qp_cap(&c, "cap", &init->cap);
	}
	vb_call_end_object(&c, VB_KIND_QP, qp);
	return qp;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_modify_qp");
	vb_call_object(&c, "qp", VB_KIND_QP, qp);
	vb_call_qp_attr(&c, attr, mask);
	vb_call_go(&c);
	rc = vb_next_verbs()->ibv_modify_qp(qp, attr, mask);
	vb_call_done(&c);
	vb_call_end_error(&c, rc);
	return rc;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_query_qp");
	vb_call_object(&c, "qp", VB_KIND_QP, qp);
	vb_call_flags(&c, "attr_mask", (unsigned)mask, vb_names_attr);
	vb_call_go(&c);
	rc = vb_next_verbs()->ibv_query_qp(qp, attr, mask, init);
	vb_call_done(&c);
	if (!rc) {
		vb_call_results(&c);
		vb_call_qp_attr(&c, attr, mask | IBV_QP_STATE);
	}
	vb_call_end_error(&c, rc);
	return rc;
}

static int destroy_qp(struct ibv_qp *qp)
{
	struct vb_initiator *i = vb_calls_take_out_initiator(qp);
	int rc = vb_next_verbs()->ibv_destroy_qp(qp);

	if (i && rc)
		vb_calls_put_back_initiator(i);
	else
		free(i);
	return rc;
}

VB_CALLS_DESTROY(, ibv_destroy_qp, "ibv_destroy_qp", destroy_qp, ibv_qp, VB_KIND_QP, "qp")

static void mcast_begin(struct vb_call *c, const char *verb, struct ibv_qp *qp,
			const union ibv_gid *gid, uint16_t lid)
{
	vb_call_begin(c, verb);
	vb_call_object(c, "qp", VB_KIND_QP, qp);
	vb_call_gid(c, "gid", gid);
	vb_call_number(c, "lid", lid);
	vb_call_go(c);
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct vb_call c;
	int rc;

	mcast_begin(&c, "ibv_attach_mcast", qp, gid, lid);
	rc = vb_next_verbs()->ibv_attach_mcast(qp, gid, lid);
	vb_call_done(&c);
	vb_call_end_error(&c, rc);
	return rc;
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct vb_call c;
	int rc;

	mcast_begin(&c, "ibv_detach_mcast", qp, gid, lid);
	rc = vb_next_verbs()->ibv_detach_mcast(qp, gid, lid);
	vb_call_done(&c);
	vb_call_end_error(&c, rc);
	return rc;
}
