/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_modify_qp() and ibv_query_qp(): the attributes, with the numbers passed through. */
#include "verbs/priv.h"
#include "verbs/ring/ring.h"

#include <string.h>

/*
 * The path of a connection. Both ends use one UDP source port, from the flow label or the two QPNs,
 * so that all its packets take one way through the network. facts B.1
 */
static int connection_path(struct vb_ibv_context *c, const struct vb_ibv_qp *qp,
			   const struct ibv_qp_attr *attr, int mask, struct vb_qp_attr *core)
{
	struct vb_path *path = &core->path;
	struct vb_qp_attr now;
	int err = vb_ibv_path(c, &attr->ah_attr, path);

	if (err)
		return err;
	vb_qp_query(qp->core, &now);
	path->udp_sport = vb_udp_sport(path->flow_label, qp->ibv.qp_num,
				       mask & IBV_QP_DEST_QPN ? attr->dest_qp_num : now.dest_qpn);
	core->path_kbps = vb_ibv_path_kbps(c, &attr->ah_attr);
	memcpy(core->av, &attr->ah_attr, sizeof attr->ah_attr);
	return 0;
}

/* The path that a connection may migrate to. A port number that is none is refused by the kernel
 * as well, and so are two that differ. */
static int alternate_path(struct vb_ibv_context *c, const struct ibv_qp_attr *attr,
			  struct vb_qp_attr *core)
{
	struct vb_alt_path *alt = &core->alt;
	int err;

	if (!vb_ibv_is_ib(c))
		return 0; /* the core says why there is none */
	if (attr->alt_port_num != attr->alt_ah_attr.port_num)
		return VB_IBV_WHY(EINVAL,
				  "alt_port_num is %u, and alt_ah_attr.port_num is %u (IBA "
				  "11.2.5.2)",
				  attr->alt_port_num, attr->alt_ah_attr.port_num);
	err = vb_ibv_path(c, &attr->alt_ah_attr, &alt->path);
	if (err)
		return err;
	alt->kbps = vb_ibv_path_kbps(c, &attr->alt_ah_attr);
	memcpy(alt->av, &attr->alt_ah_attr, sizeof attr->alt_ah_attr);
	alt->pkey_index = attr->alt_pkey_index;
	alt->timeout = attr->alt_timeout;
	return 0;
}

static struct vb_qp_attr attr_to_core(struct vb_ibv_context *c, const struct ibv_qp_attr *attr)
{
	return (struct vb_qp_attr){
	    .qp_state = (enum vb_qp_state)attr->qp_state,
	    .cur_qp_state = (enum vb_qp_state)attr->cur_qp_state,
	    .path_mtu = (enum vb_mtu)attr->path_mtu,
	    .qkey = attr->qkey,
	    .rq_psn = attr->rq_psn,
	    .sq_psn = attr->sq_psn,
	    .dest_qpn = attr->dest_qp_num,
	    .access = attr->qp_access_flags,
	    .pkey_index = attr->pkey_index,
	    .en_sqd_async_notify = attr->en_sqd_async_notify,
	    .max_rd_atomic = attr->max_rd_atomic,
	    .max_dest_rd_atomic = attr->max_dest_rd_atomic,
	    .min_rnr_timer = attr->min_rnr_timer,
	    /* 0 is no port of the HCA and is refused there. */
	    .port = vb_ibv_port(c, attr->port_num)
			? (uint8_t)(c->port + attr->port_num - VB_IBV_PORT)
			: 0,
	    .timeout = attr->timeout,
	    .retry_cnt = attr->retry_cnt,
	    .rnr_retry = attr->rnr_retry,
	    .path_mig_state = (enum vb_mig_state)attr->path_mig_state,
	};
}

_Static_assert(sizeof(struct ibv_ah_attr) <= VB_QP_AV_MAX, "the core keeps it");

/* A target of another process: asks what it is like, or sets what @mask says first. Returns 0 or an
 * errno. */
static int ask_target(struct vb_ibv_context *c, const struct vb_ibv_qp *qp, struct vb_qp_attr *attr,
		      int mask)
{
	struct vb_xrc_ask a = {.mask = (uint32_t)mask, .attr = *attr};
	int err = vb_engine_ask_target(c->engine, qp->xrcd->core, qp->ibv.qp_num, &a);

	*attr = a.attr;
	return err ? VB_IBV_WHY(-err,
				"the process that has the target refused or did not answer: %s "
				"(ibv_open_qp(3))",
				strerrordesc_np(-err))
		   : 0;
}

/* Programs set up both ends of XRC as they do RC; of each, what only the other has is ignored, as
 * the kernel does. */
static int known_attrs(enum ibv_qp_type type, int mask)
{
	if (type == IBV_QPT_XRC_SEND)
		return mask & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (type == IBV_QPT_XRC_RECV)
		return mask & ~(IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
	return mask;
}

/*
 * Whether packets are received before the QP goes from @from to @to, and sent after it: on the way
 * to ERR or RESET, what was received before is acknowledged all the same, and what was posted fails
 * at once; from SQD sending goes on. A QP that only begins has neither, and a program that makes
 * connections calls this three times for each.
 */
static bool moves_packets(enum ibv_qp_state from, enum ibv_qp_state to)
{
	return to != IBV_QPS_INIT && to != IBV_QPS_RTR &&
	       !(to == IBV_QPS_RTS && from == IBV_QPS_RTR);
}

int ibv_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask)
{
	struct vb_ibv_qp *qp = (struct vb_ibv_qp *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);
	struct vb_qp_attr core = attr_to_core(c, attr);
	int err = 0, path_err = 0;
	bool moves = true;

	if (vb_ibv_check(ibv, VB_OBJECT_QP))
		return vb_ibv_refuse(NULL, ENOENT, "ibv_modify_qp");
	mask = known_attrs(ibv->qp_type, mask);
	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_modify_qp");
	if (mask & IBV_QP_AV)
		err = path_err = connection_path(c, qp, attr, mask, &core);
	if (!err && (mask & IBV_QP_ALT_PATH))
		err = path_err = alternate_path(c, attr, &core);
	if (mask & IBV_QP_STATE)
		moves = moves_packets(ibv->state, attr->qp_state);
	if (!err && moves && (mask & IBV_QP_STATE))
		vb_engine_flush(c->engine);
	if (!err)
		vb_engine_reload(c->engine);
	if (!err && qp->is_remote)
		err = ask_target(c, qp, &core, mask);
	else if (!err)
		err = -vb_qp_modify(qp->core, &core, (uint32_t)mask, vb_clock_now());
	if (err && !path_err && !qp->is_remote)
		(void)vb_ibv_why_core(c, err);
	if (!err) {
		if (mask & IBV_QP_STATE)
			ibv->state = attr->qp_state;
		if (qp->hw && mask & IBV_QP_STATE)
			vb_ring_qp_modified(qp->hw, vb_clock_now());
		if (moves)
			vb_engine_progress(c->engine);
	}
	vb_ibv_leave(c);
	if (err)
		return vb_ibv_refuse(c, err, "ibv_modify_qp of QP 0x%06x", ibv->qp_num);
	return 0;
}

/* Returns 0 or an errno. */
static int set_rate(struct vb_ibv_qp *qp, uint32_t kbps, uint32_t burst)
{
	struct vb_ibv_context *c = vb_ibv_ctx(qp->ibv.context);

	if (!vb_ibv_enter(c))
		return EIO;

	int err = -vb_qp_set_rate(qp->core, kbps, burst, vb_clock_now());

	if (err)
		(void)vb_ibv_why_core(c, err);
	vb_engine_progress(c->engine);
	vb_ibv_leave(c);
	return err;
}

/* The typical size of packets changes nothing: each is counted as what it is. */
int vb_ibv_modify_qp_rate_limit(struct ibv_qp *ibv, struct ibv_qp_rate_limit_attr *attr)
{
	if (vb_ibv_check(ibv, VB_OBJECT_QP))
		return vb_ibv_refuse(NULL, ENOENT, "ibv_modify_qp_rate_limit");

	int err = attr->comp_mask
		      ? VB_IBV_WHY(EINVAL, "comp_mask is 0x%x, not 0", attr->comp_mask)
		      : set_rate((struct vb_ibv_qp *)ibv, attr->rate_limit, attr->max_burst_sz);

	return err ? vb_ibv_refuse(vb_ibv_ctx(ibv->context), err,
				   "ibv_modify_qp_rate_limit of QP 0x%06x", ibv->qp_num)
		   : 0;
}

/* A port of the HCA as the context numbers them. */
static uint8_t port_shown(const struct vb_ibv_context *c, uint8_t port)
{
	return port ? (uint8_t)(port - c->port + VB_IBV_PORT) : 0;
}

static void attr_show(struct ibv_qp_attr *to, const struct vb_qp_attr *a,
		      const struct vb_ibv_qp *qp)
{
	const struct vb_ibv_context *c = vb_ibv_ctx(qp->ibv.context);

	memset(to, 0, sizeof *to);
	to->qp_state = (enum ibv_qp_state)a->qp_state;
	to->cur_qp_state = (enum ibv_qp_state)a->cur_qp_state;
	to->path_mtu = (enum ibv_mtu)a->path_mtu;
	to->path_mig_state = (enum ibv_mig_state)a->path_mig_state;
	to->qkey = a->qkey;
	to->rq_psn = a->rq_psn;
	to->sq_psn = a->sq_psn;
	to->dest_qp_num = a->dest_qpn;
	to->qp_access_flags = a->access;
	to->cap.max_send_wr = qp->cap.max_send_wr;
	to->cap.max_recv_wr = qp->cap.max_recv_wr;
	to->cap.max_send_sge = qp->cap.max_send_sge;
	to->cap.max_recv_sge = qp->cap.max_recv_sge;
	to->cap.max_inline_data = qp->cap.max_inline_data;
	memcpy(&to->ah_attr, a->av, sizeof to->ah_attr);
	to->pkey_index = a->pkey_index;
	to->en_sqd_async_notify = a->en_sqd_async_notify;
	to->sq_draining = a->sq_draining;
	to->max_rd_atomic = a->max_rd_atomic;
	to->max_dest_rd_atomic = a->max_dest_rd_atomic;
	to->min_rnr_timer = a->min_rnr_timer;
	to->port_num = port_shown(c, a->port);
	to->timeout = a->timeout;
	to->retry_cnt = a->retry_cnt;
	to->rnr_retry = a->rnr_retry;
	memcpy(&to->alt_ah_attr, a->alt.av, sizeof to->alt_ah_attr);
	to->alt_pkey_index = a->alt.pkey_index;
	to->alt_port_num = port_shown(c, a->alt.path.port);
	to->alt_timeout = a->alt.timeout;
	to->rate_limit = vb_qp_rate(qp->core);
}

/* Everything is answered, whatever the mask. */
int ibv_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	struct vb_ibv_qp *qp = (struct vb_ibv_qp *)ibv;
	struct vb_ibv_context *c = vb_ibv_ctx(ibv->context);
	struct vb_qp_attr core = {0};
	int err = 0;

	(void)mask;
	if (vb_ibv_check(ibv, VB_OBJECT_QP))
		return vb_ibv_refuse(NULL, ENOENT, "ibv_query_qp");
	if (!vb_ibv_enter(c))
		return vb_ibv_refuse(c, EIO, "ibv_query_qp");
	if (qp->is_remote)
		err = ask_target(c, qp, &core, 0);
	else
		vb_qp_query(qp->core, &core);
	if (!err) {
		attr_show(attr, &core, qp);
		ibv->state = attr->qp_state;
	}
	vb_ibv_leave(c);
	if (err)
		return vb_ibv_refuse(c, err, "ibv_query_qp of QP 0x%06x", ibv->qp_num);
	*init = (struct ibv_qp_init_attr){
	    .qp_context = ibv->qp_context,
	    .send_cq = ibv->send_cq,
	    .recv_cq = ibv->recv_cq,
	    .srq = ibv->srq,
	    .cap = attr->cap,
	    .qp_type = ibv->qp_type,
	    .sq_sig_all = qp->sq_sig_all,
	};
	return 0;
}
