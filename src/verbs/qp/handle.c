/* SPDX-License-Identifier: BSD-2-Clause */
/* A QP as the program holds it: its fields, and the lists and tables that know it. */
#include "verbs/priv.h"

void vb_ibv_qp_show(struct vb_ibv_qp *qp, struct ibv_context *context,
		    const struct ibv_qp_init_attr *init)
{
	qp->ibv.context = context;
	qp->ibv.qp_context = init->qp_context;
	qp->ibv.send_cq = init->send_cq;
	qp->ibv.recv_cq = init->recv_cq;
	qp->ibv.srq = init->srq;
	qp->ibv.state = IBV_QPS_RESET;
	qp->ibv.qp_type = init->qp_type;
	qp->sq_sig_all = init->sq_sig_all != 0;
	pthread_mutex_init(&qp->ibv.mutex, NULL);
	pthread_cond_init(&qp->ibv.cond, NULL);
	vb_evq_node_init(&qp->async, VB_EVQ_QP);
	vb_list_init(&qp->handles);
}

void vb_ibv_qp_enlist(struct vb_ibv_context *c, struct vb_ibv_qp *qp)
{
	struct vb_slot_shm *slot = vb_engine_slot(c->engine);

	qp->ibv.qp_num = vb_qp_number(qp->core);
	qp->ibv.handle = qp->ibv.qp_num;
	vb_ibv_name(&qp->ibv);
	vb_list_append(&c->qps, &qp->link);
	slot->qp_cnt++;
	qp->csr_index = vb_engine_index_qp(c->engine, qp->ibv.qp_num, c->dev->index);
	slot->qpn_next = vb_slot_qpn_index(qp->ibv.qp_num) + 1;
}

void vb_ibv_qp_delist(struct vb_engine *e, const struct vb_ibv_qp *qp)
{
	if (qp->is_remote)
		return;
	vb_engine_slot(e)->qp_cnt--;
	vb_engine_unindex_qp(e, qp->csr_index, qp->ibv.qp_num);
}
