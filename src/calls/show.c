/* SPDX-License-Identifier: BSD-2-Clause */
/* Structures of verbs, see show.h. */
#include "calls/show.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Longer lists end with how many there are. */
#define LIST_MAX 16

void vb_call_name(struct vb_call *c, const char *name, const struct vb_name *names, uint64_t value)
{
	const char *word = vb_name_of(names, value);

	if (word)
		vb_call_word(c, name, word);
	else
		vb_call_number(c, name, (int64_t)value);
}

void vb_call_port_attr(struct vb_call *c, const struct ibv_port_attr *attr)
{
	vb_call_results(c);
	vb_call_name(c, "state", vb_names_port_state, attr->state);
	vb_call_name(c, "active_mtu", vb_names_mtu, attr->active_mtu);
	vb_call_number(c, "gid_tbl_len", attr->gid_tbl_len);
	vb_call_number(c, "pkey_tbl_len", attr->pkey_tbl_len);
	vb_call_number(c, "lid", attr->lid);
}

void vb_call_device_attr(struct vb_call *c, const struct ibv_device_attr *attr)
{
	vb_call_results(c);
	vb_call_number(c, "max_qp", attr->max_qp);
	vb_call_number(c, "max_qp_wr", attr->max_qp_wr);
	vb_call_number(c, "max_sge", attr->max_sge);
	vb_call_number(c, "max_cqe", attr->max_cqe);
	vb_call_number(c, "max_mr", attr->max_mr);
	vb_call_number(c, "max_qp_rd_atom", attr->max_qp_rd_atom);
	vb_call_number(c, "phys_port_cnt", attr->phys_port_cnt);
}

void vb_call_ah_attr(struct vb_call *c, const char *name, const struct ibv_ah_attr *attr)
{
	vb_call_open(c, name, '{');
	if (attr->is_global) {
		vb_call_gid(c, "dgid", &attr->grh.dgid);
		vb_call_number(c, "sgid_index", attr->grh.sgid_index);
		vb_call_number(c, "hop_limit", attr->grh.hop_limit);
		vb_call_number(c, "traffic_class", attr->grh.traffic_class);
		vb_call_hex(c, "flow_label", attr->grh.flow_label);
	} else {
		vb_call_number(c, "is_global", 0);
	}
	vb_call_number(c, "dlid", attr->dlid);
	vb_call_number(c, "sl", attr->sl);
	vb_call_number(c, "port_num", attr->port_num);
	vb_call_close(c, '}');
}

void vb_call_qp_cap(struct vb_call *c, const char *name, const struct ibv_qp_cap *cap)
{
	vb_call_open(c, name, '{');
	vb_call_number(c, "max_send_wr", cap->max_send_wr);
	vb_call_number(c, "max_recv_wr", cap->max_recv_wr);
	vb_call_number(c, "max_send_sge", cap->max_send_sge);
	vb_call_number(c, "max_recv_sge", cap->max_recv_sge);
	vb_call_number(c, "max_inline_data", cap->max_inline_data);
	vb_call_close(c, '}');
}

/* Attributes that are numbers. */
static void qp_numbers(struct vb_call *c, const struct ibv_qp_attr *a, int mask)
{
	const struct {
		int bit;
		const char *name;
		uint32_t value;
	} number[] = {
	    {IBV_QP_PKEY_INDEX, "pkey_index", a->pkey_index},
	    {IBV_QP_PORT, "port_num", a->port_num},
	    {IBV_QP_TIMEOUT, "timeout", a->timeout},
	    {IBV_QP_RETRY_CNT, "retry_cnt", a->retry_cnt},
	    {IBV_QP_RNR_RETRY, "rnr_retry", a->rnr_retry},
	    {IBV_QP_RQ_PSN, "rq_psn", a->rq_psn},
	    {IBV_QP_SQ_PSN, "sq_psn", a->sq_psn},
	    {IBV_QP_MAX_QP_RD_ATOMIC, "max_rd_atomic", a->max_rd_atomic},
	    {IBV_QP_MAX_DEST_RD_ATOMIC, "max_dest_rd_atomic", a->max_dest_rd_atomic},
	    {IBV_QP_MIN_RNR_TIMER, "min_rnr_timer", a->min_rnr_timer},
	    {IBV_QP_EN_SQD_ASYNC_NOTIFY, "en_sqd_async_notify", a->en_sqd_async_notify},
	    {IBV_QP_RATE_LIMIT, "rate_limit", a->rate_limit},
	};

	for (unsigned i = 0; i < sizeof number / sizeof number[0]; i++)
		if (mask & number[i].bit)
			vb_call_number(c, number[i].name, number[i].value);
}

void vb_call_qp_attr(struct vb_call *c, const struct ibv_qp_attr *a, int mask)
{
	vb_call_open(c, "attr", '{');
	if (mask & IBV_QP_STATE)
		vb_call_name(c, "qp_state", vb_names_qp_state, a->qp_state);
	if (mask & IBV_QP_CUR_STATE)
		vb_call_name(c, "cur_qp_state", vb_names_qp_state, a->cur_qp_state);
	if (mask & IBV_QP_PATH_MTU)
		vb_call_name(c, "path_mtu", vb_names_mtu, a->path_mtu);
	if (mask & IBV_QP_DEST_QPN)
		vb_call_hex(c, "dest_qp_num", a->dest_qp_num);
	if (mask & IBV_QP_QKEY)
		vb_call_hex(c, "qkey", a->qkey);
	if (mask & IBV_QP_ACCESS_FLAGS)
		vb_call_flags(c, "qp_access_flags", a->qp_access_flags, vb_names_access);
	if (mask & IBV_QP_CAP)
		vb_call_qp_cap(c, "cap", &a->cap);
	if (mask & IBV_QP_AV)
		vb_call_ah_attr(c, "ah_attr", &a->ah_attr);
	qp_numbers(c, a, mask);
	vb_call_close(c, '}');
	vb_call_flags(c, "attr_mask", (unsigned)mask, vb_names_attr);
}

void vb_call_sge_list(struct vb_call *c, const struct ibv_sge *sge, int cnt)
{
	vb_call_open(c, "sg_list", '[');
	for (int i = 0; i < cnt && i < LIST_MAX; i++) {
		vb_call_open(c, NULL, '{');
		vb_call_hex(c, "addr", sge[i].addr);
		vb_call_number(c, "length", sge[i].length);
		vb_call_hex(c, "lkey", sge[i].lkey);
		vb_call_close(c, '}');
	}
	vb_call_close(c, ']');
	if (cnt > LIST_MAX)
		vb_call_number(c, "num_sge", cnt);
}

/* The address that the opcode says, or that a datagram goes to. */
static void send_target(struct vb_call *c, enum ibv_qp_type type, const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
		vb_call_hex(c, "remote_addr", wr->wr.rdma.remote_addr);
		vb_call_hex(c, "rkey", wr->wr.rdma.rkey);
		return;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		vb_call_hex(c, "remote_addr", wr->wr.atomic.remote_addr);
		vb_call_hex(c, "rkey", wr->wr.atomic.rkey);
		vb_call_hex(c, "compare_add", wr->wr.atomic.compare_add);
		if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP)
			vb_call_hex(c, "swap", wr->wr.atomic.swap);
		return;
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		vb_call_hex(c, "invalidate_rkey", wr->invalidate_rkey);
		return;
	default:
		break;
	}
	if (type != IBV_QPT_UD)
		return;
	vb_call_object(c, "ah", VB_KIND_AH, wr->wr.ud.ah);
	vb_call_hex(c, "remote_qpn", wr->wr.ud.remote_qpn);
	vb_call_hex(c, "remote_qkey", wr->wr.ud.remote_qkey);
}

void vb_call_send_list(struct vb_call *c, enum ibv_qp_type type, const struct ibv_send_wr *wr)
{
	int cnt = 0;

	vb_call_open(c, "wr", '[');
	for (; wr && cnt < LIST_MAX; wr = wr->next, cnt++) {
		vb_call_open(c, NULL, '{');
		vb_call_number(c, "wr_id", (int64_t)wr->wr_id);
		vb_call_name(c, "opcode", vb_names_opcode, wr->opcode);
		vb_call_flags(c, "send_flags", wr->send_flags, vb_names_send);
		vb_call_sge_list(c, wr->sg_list, wr->num_sge);
		send_target(c, type, wr);
		if (wr->opcode == IBV_WR_SEND_WITH_IMM || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
			vb_call_hex(c, "imm_data", be32toh(wr->imm_data));
		vb_call_close(c, '}');
	}
	vb_call_close(c, ']');
	if (wr)
		vb_call_word(c, "and", "more");
}

void vb_call_recv_list(struct vb_call *c, const struct ibv_recv_wr *wr)
{
	int cnt = 0;

	vb_call_open(c, "wr", '[');
	for (; wr && cnt < LIST_MAX; wr = wr->next, cnt++) {
		vb_call_open(c, NULL, '{');
		vb_call_number(c, "wr_id", (int64_t)wr->wr_id);
		vb_call_sge_list(c, wr->sg_list, wr->num_sge);
		vb_call_close(c, '}');
	}
	vb_call_close(c, ']');
	if (wr)
		vb_call_word(c, "and", "more");
}

/* Of a completion in error only the ID, the status and the QP count. ibv_poll_cq(3) */
static void wc_show(struct vb_call *c, const struct ibv_wc *wc)
{
	vb_call_open(c, NULL, '{');
	vb_call_number(c, "wr_id", (int64_t)wc->wr_id);
	vb_call_name(c, "status", vb_names_wc_status, wc->status);
	vb_call_hex(c, "qp_num", wc->qp_num);
	if (wc->status == IBV_WC_SUCCESS) {
		vb_call_name(c, "opcode", vb_names_wc_opcode, wc->opcode);
		vb_call_number(c, "byte_len", wc->byte_len);
		if (wc->wc_flags)
			vb_call_flags(c, "wc_flags", wc->wc_flags, vb_names_wc_flags);
		if (wc->wc_flags & IBV_WC_WITH_IMM)
			vb_call_hex(c, "imm_data", be32toh(wc->imm_data));
		if (wc->wc_flags & IBV_WC_WITH_INV)
			vb_call_hex(c, "invalidated_rkey", wc->invalidated_rkey);
	} else if (wc->vendor_err) {
		vb_call_number(c, "vendor_err", wc->vendor_err);
	}
	vb_call_close(c, '}');
}

/* How many at the beginning of the list are equal, in what is shown and more. */
static int equal_completions(const struct ibv_wc *wc, int cnt)
{
	const size_t size = offsetof(struct ibv_wc, dlid_path_bits) + sizeof wc->dlid_path_bits;
	int same = 1;

	while (same < cnt && memcmp(&wc[same], wc, size) == 0)
		same++;
	return same;
}

/* For people, equal ones are shown once, with their number; programs count by themselves. */
void vb_call_wc_list(struct vb_call *c, const struct ibv_wc *wc, int cnt)
{
	char more[32];

	vb_call_open(c, "wc", '[');
	for (int i = 0, same, shown = 0; i < cnt && shown < LIST_MAX; i += same, shown++) {
		same = c->json ? 1 : equal_completions(&wc[i], cnt - i);
		wc_show(c, &wc[i]);
		snprintf(more, sizeof more, "%d more", same - 1);
		if (same > 1)
			vb_call_word(c, NULL, more);
	}
	vb_call_close(c, ']');
}

void vb_call_bind_info(struct vb_call *c, const struct ibv_mw_bind_info *info)
{
	vb_call_object(c, "mr", VB_KIND_MR, info->mr);
	vb_call_hex(c, "addr", info->addr);
	vb_call_number(c, "length", (int64_t)info->length);
	vb_call_flags(c, "mw_access_flags", info->mw_access_flags, vb_names_access);
}

void vb_call_end_region(struct vb_call *c, const struct ibv_mr *mr)
{
	if (mr) {
		vb_call_results(c);
		vb_call_hex(c, "lkey", mr->lkey);
		vb_call_hex(c, "rkey", mr->rkey);
	}
	vb_call_end_object(c, VB_KIND_MR, mr);
}
