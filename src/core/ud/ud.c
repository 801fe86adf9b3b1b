/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UD: single packets to anyone, guarded by the Q_Key. The first 40 bytes of every receive buffer
 * are the GRH's. QP1, for management, is such a QP. IBA 9.8.3, 11.4.1.2; IBT-14...21
 */
#include "core/cc/point.h"
#include "core/qp/pkey.h"
#include "core/rc/rc.h"

/*
 * Takes a receive WQE with room for @len bytes behind the GRH. A message that is too long is the
 * sender's fault and leaves the QP as it is: it is dropped, and the WQE waits for the next one
 * (class D), unless it is an SRQ's: that one completes in error (class E). IBA 9.9.3.1
 */
static enum vb_verdict ud_take(struct vb_qp *qp, uint32_t len, vb_time now)
{
	const struct vb_rwqe *w = vb_rq_peek(qp->srq ? &qp->srq->rq : &qp->rq);

	if (!w) {
		vb_qp_count(qp, VB_COUNTER_out_of_buffer);
		return VB_VERDICT_NO_RECV_WQE;
	}

	bool fits = VB_GRH_LEN + (uint64_t)len <= w->length;

	if (fits || qp->srq)
		(void)vb_qp_take_rwqe(qp); /* there is one */
	if (fits)
		return VB_VERDICT_OK;
	vb_qp_count(qp, VB_COUNTER_resp_local_length_error);
	if (qp->srq)
		vb_recv_complete_error(qp, VB_WC_LOC_LEN_ERR, VB_VERDICT_LENGTH, now);
	return VB_VERDICT_LENGTH;
}

static enum vb_verdict ud_scatter(struct vb_qp *qp, const struct vb_rx *rx, const uint8_t *payload,
				  uint32_t len, bool has_grh, vb_time now)
{
	const struct vb_rwqe *w = qp->resp.rwqe;
	uint8_t grh[VB_GRH_LEN];

	/* Without a GRH its place in the receive stays as it was. IBA 11.4.1.2 */
	if (has_grh)
		vb_path_emit_grh(rx->path, rx->len + VB_ICRC_LEN, grh);
	if ((has_grh && vb_mem_scatter(vb_recv_pd(qp), w->sge, w->sge_cnt, 0, grh, VB_GRH_LEN)) ||
	    vb_mem_scatter(vb_recv_pd(qp), w->sge, w->sge_cnt, VB_GRH_LEN, payload, len)) {
		vb_recv_complete_error(qp, VB_WC_LOC_PROT_ERR, VB_VERDICT_OPERATION, now);
		return VB_VERDICT_OPERATION;
	}
	return VB_VERDICT_OK;
}

static enum vb_verdict ud_recv(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
			       vb_time now)
{
	uint32_t len;
	const uint8_t *payload = vb_rx_payload(hdr, rx, &len);
	bool has_grh = true;

	/* A multicast packet names no QP. IBT-19 */
	if (hdr->dqpn != VB_QPN_MULTICAST && vb_gid_is_multicast(&rx->path->dgid))
		return VB_VERDICT_QPN;
	if (hdr->deth.qkey != qp->attr.qkey)
		return VB_VERDICT_QKEY;
	if (len > qp->mtu)
		return VB_VERDICT_OVERSIZED;
	if (vb_path_has_lid(rx->path)) {
		has_grh = vb_path_has_grh(rx->path);
		if (hdr->fecn || hdr->becn)
			vb_cc_take_datagram(qp, hdr, rx->path, now);
	}

	enum vb_verdict verdict = ud_take(qp, len, now);

	if (verdict != VB_VERDICT_OK)
		return verdict;
	verdict = ud_scatter(qp, rx, payload, len, has_grh, now);
	if (verdict != VB_VERDICT_OK) {
		vb_qp_enter_err(qp, now);
		return verdict;
	}

	struct vb_wc wc = {
	    .opcode = VB_WC_RECV,
	    .byte_len = len + VB_GRH_LEN, /* IBT-21 */
	    .src_qpn = hdr->deth.sqpn,
	    .flags = has_grh ? VB_WC_GRH : 0,
	    .slid = rx->path->slid,
	    .sl = rx->path->sl,
	    .dlid_path_bits = vb_qp_path_bits(qp, rx->path->dlid),
	    .pkey_index = (uint16_t)vb_qp_pkey_index(qp, hdr->pkey),
	};

	if (vb_hdr_opcode(hdr)->ext & VB_EXT_IMMDT) {
		wc.flags |= VB_WC_WITH_IMM;
		wc.imm = hdr->imm;
	}
	vb_recv_complete(qp, &wc, hdr->solicited, now);
	return VB_VERDICT_OK;
}

const struct vb_transport_ops vb_ud_ops = {
    .transport = VB_TRANSPORT_UD,
    .has_rq = true,
    .dest_bytes = sizeof(struct vb_ud_dest),
    .work_on = VB_WORK_ON_UD,
    .recv = ud_recv,
    .transmit = vb_rc_transmit,
    .on_timer = vb_req_on_timer,
    .on_sqd = vb_req_complete_local,
};

/* No immediate data: IBA 9.8.3 has it for QPs of consumers, and a MAD has no use for it. */
const struct vb_transport_ops vb_gsi_ops = {
    .transport = VB_TRANSPORT_UD,
    .has_rq = true,
    .dest_bytes = sizeof(struct vb_ud_dest),
    .work_on = VB_WORK_ON_GSI,
    .recv = ud_recv,
    .transmit = vb_rc_transmit,
    .on_timer = vb_req_on_timer,
    .on_sqd = vb_req_complete_local,
};
