/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines that make objects and change them: hca, mr, dereg, srq, qp, modify_qp, destroy_qp. */
#include "drill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN_HOST 1
#define PEER_HOST 2
#define PEER_QPN 0x21

static void pkeys_read(struct drill *d, const char *pkeys)
{
	memset(d->cfg.port[1].pkey, 0, sizeof d->cfg.port[1].pkey);
	for (unsigned i = 0; i < VB_PKEYS_MAX && *pkeys != '\0'; i++) {
		char *end;

		d->cfg.port[1].pkey[i] = (uint16_t)strtoul(pkeys, &end, 0);
		pkeys = end + (*end == '|');
	}
}

/* "pkeys table=0xffff|0|0x8001": the P_Key table changes, at any time. */
void objects_pkeys(struct drill *d, struct args *args)
{
	const char *pkeys = args_value(args, "table");

	if (d->hca == NULL || pkeys == NULL)
		drill_fail(d, "which table, of which adapter?");
	pkeys_read(d, pkeys);
	work_result(d, args, vb_hca_set_port(d->hca, 1, &d->cfg.port[1]));
}

/* "hca pkeys=0xffff|0x8001 cqe=16 window=65536 read_piece=4096 rd_atomic=16": before all else. */
void objects_hca(struct drill *d, struct args *args)
{
	const char *pkeys = args_value(args, "pkeys");

	if (d->hca != NULL)
		drill_fail(d, "the adapter exists already");
	if (pkeys != NULL)
		pkeys_read(d, pkeys);
	d->cqe = (uint32_t)world_arg(d, args, "cqe", d->cqe);
	d->cfg.peer_window_bytes = (uint32_t)world_arg(d, args, "window", 0);
	d->cfg.read_piece_bytes = (uint32_t)world_arg(d, args, "read_piece", 0);
	world_create(d);
}

/* "mr X len=4096 access=local_write|remote_read other_pd" */
void objects_mr(struct drill *d, struct args *args)
{
	bool foreign = args_flag(args, "other_pd");
	struct arg *name = args_next_word(args);
	const char *access = args_value(args, "access");
	uint64_t len = world_arg(d, args, "len", 4096);

	world_create(d);
	if (name == NULL || name->val != NULL)
		drill_fail(d, "which name?");
	world_add_region(d, foreign ? d->other_pd : d->pd, name->key, len,
			 name_set(d, name_access, access != NULL ? access : "all"));
}

void objects_dereg(struct drill *d, struct args *args)
{
	struct arg *name = args_next_word(args);
	struct region *r = name != NULL ? world_region(d, name->key) : NULL;

	if (r == NULL || r->mr == NULL)
		drill_fail(d, "no such region");
	work_result(d, args, vb_mr_destroy(r->mr));
	r->mr = NULL;
}

/* "srq wr=16 limit=4": the one SRQ of the script. */
void objects_srq(struct drill *d, struct args *args)
{
	uint32_t limit = (uint32_t)world_arg(d, args, "limit", 0);
	uint32_t wr = (uint32_t)world_arg(d, args, "wr", 16);

	world_create(d);
	if (d->srq != NULL)
		work_result(d, args, vb_srq_set_limit(d->srq, limit));
	else
		work_result(d, args, vb_srq_create(d->pd, wr, 4, limit, NULL, &d->srq));
}

/* Attributes that the words in @args name, into @a; returns their mask. */
static uint32_t take_attr(struct drill *d, struct args *args, struct vb_qp_attr *a)
{
	uint32_t mask = 0;
	const char *text;

#define TAKE(key, bit, field, type)                                                                \
	if ((text = args_value(args, key)) != NULL) {                                              \
		a->field = (type)world_number(d, text);                                            \
		mask |= (bit);                                                                     \
	}
	if ((text = args_value(args, "mtu")) != NULL) {
		uint64_t bytes = world_number(d, text);

		for (a->path_mtu = VB_MTU_256; vb_mtu_bytes(a->path_mtu) < bytes;)
			a->path_mtu++;
		mask |= VB_QP_PATH_MTU;
	}
	if ((text = args_value(args, "access")) != NULL) {
		a->access = name_set(d, name_access, text);
		mask |= VB_QP_ACCESS_FLAGS;
	}
	TAKE("psn", VB_QP_SQ_PSN, sq_psn, uint32_t)
	TAKE("epsn", VB_QP_RQ_PSN, rq_psn, uint32_t)
	TAKE("qkey", VB_QP_QKEY, qkey, uint32_t)
	TAKE("dqpn", VB_QP_DEST_QPN, dest_qpn, uint32_t)
	TAKE("pkey_index", VB_QP_PKEY_INDEX, pkey_index, uint16_t)
	TAKE("port", VB_QP_PORT, port, uint8_t)
	TAKE("ack_timeout", VB_QP_TIMEOUT, timeout, uint8_t)
	TAKE("retry_cnt", VB_QP_RETRY_CNT, retry_cnt, uint8_t)
	TAKE("rnr_retry", VB_QP_RNR_RETRY, rnr_retry, uint8_t)
	TAKE("min_rnr_timer", VB_QP_MIN_RNR_TIMER, min_rnr_timer, uint8_t)
	TAKE("max_rd_atomic", VB_QP_MAX_QP_RD_ATOMIC, max_rd_atomic, uint8_t)
	TAKE("max_dest_rd_atomic", VB_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic, uint8_t)
#undef TAKE
	return mask;
}

static enum vb_qp_state state_of(struct drill *d, const char *text)
{
	int v = name_value(name_state, text);

	if (v < 0)
		drill_fail(d, "\"%s\" is no state", text);
	return (enum vb_qp_state)v;
}

static void must(struct drill *d, const char *what, int rc)
{
	if (rc != 0)
		drill_fail(d, "%s: %d", what, rc);
}

/* The attributes that each step up to RTS requires. facts B.4 */
static uint32_t step_mask(enum vb_qp_type type, enum vb_qp_state to)
{
	bool requests = type == VB_QPT_RC || type == VB_QPT_XRC_INI || type == VB_QPT_DCI;
	bool responds = type == VB_QPT_RC || type == VB_QPT_XRC_TGT;

	switch (to) {
	case VB_QPS_INIT:
		return VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT |
		       (type == VB_QPT_UD ? VB_QP_QKEY : VB_QP_ACCESS_FLAGS);
	case VB_QPS_RTR:
		if (type == VB_QPT_UD)
			return VB_QP_STATE;
		if (type == VB_QPT_DCI)
			return VB_QP_STATE | VB_QP_PATH_MTU;
		if (type == VB_QPT_DCT)
			return VB_QP_STATE | VB_QP_PATH_MTU | VB_QP_AV | VB_QP_MIN_RNR_TIMER;
		return VB_QP_STATE | VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN | VB_QP_RQ_PSN |
		       (responds ? VB_QP_MAX_DEST_RD_ATOMIC | VB_QP_MIN_RNR_TIMER : 0u);
	default:
		return VB_QP_STATE | VB_QP_SQ_PSN | (requests || responds ? VB_QP_TIMEOUT : 0u) |
		       (requests ? VB_QP_RETRY_CNT | VB_QP_RNR_RETRY | VB_QP_MAX_QP_RD_ATOMIC : 0u);
	}
}

static void create_qp(struct drill *d, struct args *args, struct script_qp *q)
{
	struct vb_qp_init init = {
	    .type = q->type,
	    .send_cq = d->cq,
	    .recv_cq = d->cq,
	    .srq = args_flag(args, "srq") ? d->srq : NULL,
	    .sq_sig_all = args_flag(args, "sig_all"),
	    .owner = q,
	};

	init.cap.max_send_wr = (uint32_t)world_arg(d, args, "send_wr", 64);
	init.cap.max_recv_wr = (uint32_t)world_arg(d, args, "recv_wr", 64);
	init.cap.max_send_sge = (uint32_t)world_arg(d, args, "send_sge", 4);
	init.cap.max_recv_sge = (uint32_t)world_arg(d, args, "recv_sge", 4);
	init.cap.max_inline_data = (uint32_t)world_arg(d, args, "inline", 64);
	if (q->type == VB_QPT_XRC_TGT) {
		init.send_cq = NULL;
		init.cap = (struct vb_qp_cap){0};
		init.xrcd = xrc_domain(d, false);
	}
	if (q->type == VB_QPT_XRC_TGT || q->type == VB_QPT_XRC_INI || q->type == VB_QPT_DCI) {
		init.recv_cq = NULL;
		init.cap.max_recv_wr = init.cap.max_recv_sge = 0;
	}
	if (q->type == VB_QPT_DCT)
		init.cap = (struct vb_qp_cap){0};
	dc_init(d, args, &init.dc);
	must(d, "vb_qp_create", vb_qp_create(init.xrcd != NULL ? NULL : d->pd, &init, &q->qp));
	q->qpn = vb_qp_number(q->qp);
}

/*
 * "qp RC name=a mtu=1024 psn=0 epsn=0 ack_timeout=14 retry_cnt=7 ... state=RTS": a new QP, taken
 * up to that state. Its peer is QP 0x21 (0x22 of the second QP, ...) of host 2.
 */
void objects_qp(struct drill *d, struct args *args)
{
	struct script_qp *q = &d->qp[d->qp_cnt];
	struct arg *type = args_next_word(args);
	const char *name = args_value(args, "name"), *state = args_value(args, "state");
	enum vb_qp_state last = state != NULL ? state_of(d, state) : VB_QPS_RTS;
	bool ipv6 = args_flag(args, "ipv6");
	struct vb_qp_attr a = {.path_mtu = VB_MTU_1024,
			       .access = (uint32_t)name_value(name_access, "all"),
			       .port = 1,
			       .timeout = 14,
			       .retry_cnt = 7,
			       .rnr_retry = 7,
			       .min_rnr_timer = 12,
			       .max_rd_atomic = 16,
			       .max_dest_rd_atomic = 16,
			       .qkey = 0x11111111};

	world_create(d);
	if (type == NULL || d->qp_cnt == QPS_MAX)
		drill_fail(d, "which type? or too many QPs");
	if (name_value(name_qp_type, type->key) < 0)
		drill_fail(d, "\"%s\" is no type of QP", type->key);
	q->type = (enum vb_qp_type)name_value(name_qp_type, type->key);
	snprintf(q->name, sizeof q->name, "%s", name != NULL ? name : "a");
	q->peer_qpn = PEER_QPN + d->qp_cnt;
	q->path = args_flag(args, "lids") ? cm_way(d, false, true)
					  : (struct vb_path){.sgid = world_gid(OWN_HOST, ipv6),
							     .dgid = world_gid(PEER_HOST, ipv6),
							     .port = 1,
							     .hop_limit = 64};
	a.path = q->path;
	a.dest_qpn = q->peer_qpn;
	create_qp(d, args, q);
	take_attr(d, args, &a);
	q->peer_qpn = a.dest_qpn;
	for (a.qp_state = VB_QPS_INIT; a.qp_state <= last && last <= VB_QPS_RTS; a.qp_state++)
		must(d, "vb_qp_modify",
		     vb_qp_modify(q->qp, &a, step_mask(q->type, a.qp_state), d->now));
	d->qp_cnt++;
}

/* "modify_qp state=SQD notify retry_cnt=3 = -EINVAL": exactly the attributes named. */
void objects_modify_qp(struct drill *d, struct args *args)
{
	struct script_qp *q = world_qp(d, args);
	struct vb_qp_attr a = {.path = q->path};
	uint32_t mask = take_attr(d, args, &a);
	const char *text;

	if ((text = args_value(args, "state")) != NULL) {
		a.qp_state = state_of(d, text);
		mask |= VB_QP_STATE;
	}
	if ((text = args_value(args, "cur_state")) != NULL) {
		a.cur_qp_state = state_of(d, text);
		mask |= VB_QP_CUR_STATE;
	}
	if (args_flag(args, "av"))
		mask |= VB_QP_AV;
	if (args_flag(args, "notify")) {
		a.en_sqd_async_notify = 1;
		mask |= VB_QP_EN_SQD_ASYNC_NOTIFY;
	}
	if (args_flag(args, "alternate")) {
		a.alt = cm_alternate(d);
		a.path_mig_state = VB_MIG_REARM;
		mask |= VB_QP_ALT_PATH | VB_QP_PATH_MIG_STATE;
	}
	work_result(d, args, vb_qp_modify(q->qp, &a, mask, d->now));
}

void objects_destroy_qp(struct drill *d, struct args *args)
{
	struct script_qp *q = world_qp(d, args);

	work_result(d, args, vb_qp_destroy(q->qp));
	q->name[0] = '\0';
}
