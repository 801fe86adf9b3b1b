/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Everything the responder sends, in the order of the requests it answers: READ responses and
 * atomic ACKs from the resource ring, coalesced ACKs with end-to-end credits, NAKs behind the
 * answers that come before them. IBA 9.7.5, 9.7.7; facts B.6
 */
#include "base/assert.h"
#include "core/cc/rate.h"
#include "core/denial.h"
#include "core/rc/rc.h"

#include <errno.h>

/*
 * Receive WQEs by credit code: 0, 1, 2, 3, and then each power of two and one and a half of it, up
 * to 32768. IBA table 48
 */
#define CREDIT_CODE_MAX 30u
#define CREDIT_WQES_MAX 32768u

uint8_t vb_credit_encode(uint32_t wqe_cnt)
{
	uint32_t log2;

	if (wqe_cnt < 2)
		return (uint8_t)wqe_cnt;
	if (wqe_cnt >= CREDIT_WQES_MAX)
		return CREDIT_CODE_MAX;
	log2 = 31 - (uint32_t)__builtin_clz(wqe_cnt);
	return (uint8_t)(2 * log2 + (wqe_cnt >> (log2 - 1) & 1));
}

uint32_t vb_credit_decode(uint8_t code)
{
	if (code > CREDIT_CODE_MAX)
		return UINT32_MAX;
	return code < 2 ? code : (2u + code % 2) << (code / 2 - 1);
}

/* The credits of an ACK: the QP's own receive WQEs; an SRQ promises nothing to one QP. */
static uint8_t credit_code(const struct vb_qp *qp)
{
	/* Nor do receives that lie in a program's memory, uncounted until one is needed. */
	if (qp->srq || qp->ops->takes_srqs || qp->rq.source)
		return VB_CREDIT_UNLIMITED;
	return vb_credit_encode(vb_rq_cnt(&qp->rq));
}

/* An AETH with @credits leaves: when it says that there are none, the next receive is news. */
static void note_credits(struct vb_qp *qp, uint8_t credits)
{
	if (credits != VB_CREDIT_UNLIMITED)
		qp->resp.credit_zero = credits == 0;
}

/* Before ACKs leave: the QP's path with the DSCP that they are to have. REG-08 */
VB_COLD static void set_ack_path(struct vb_qp *qp)
{
	uint8_t ecn = qp->attr.path.traffic_class & VB_ECN_MASK;

	qp->ack_path = qp->attr.path;
	qp->ack_path.traffic_class = (uint8_t)(vb_qp_rules(qp)->set.ack_dscp << 2 | ecn);
}

/* Selective repeat: a report of the missing packets takes the place of an ACK. */
static inline bool report_is_due(const struct vb_qp *qp)
{
	return qp->sr && qp->hca->repeat->misses(qp);
}

/* Answers that are to be given again, or NULL. */
static inline struct vb_run *next_repeat(const struct vb_qp *qp)
{
	return qp->sr ? qp->hca->repeat->next_repeat(qp) : NULL;
}

/* The acknowledgement of @psn: an ACK with credits or a NAK. */
static void emit_ack(struct vb_qp *qp, struct vb_tx_batch *b, uint8_t syndrome, struct vb_psn psn,
		     uint32_t msn)
{
	struct vb_hdr hdr;
	struct vb_tx *tx = vb_tx_begin(b, qp, &hdr, VB_OP_ACK, psn);

	if (vb_qp_rules(qp)->set.ack_dscp_force)
		tx->path = &qp->ack_path;
	hdr.aeth.syndrome = syndrome;
	hdr.aeth.msn = msn & VB_PSN_MASK;
	hdr.selective = qp->sr && qp->hca->repeat->speaks(qp);
	vb_rate_ack_left(qp, tx, &hdr);
	vb_tx_finish(tx, &hdr);
	if (syndrome == VB_NAK_PSN_SEQ && report_is_due(qp))
		qp->hca->repeat->report(qp, tx, credit_code(qp));
}

static void send_ack(struct vb_qp *qp, struct vb_tx_batch *b, uint8_t syndrome, struct vb_psn psn,
		     uint32_t msn, vb_time now)
{
	if (vb_qp_rules(qp)->set.ack_dscp_force)
		set_ack_path(qp);
	emit_ack(qp, b, syndrome, psn, msn);
	if ((syndrome & VB_SYNDROME_CLASS) == VB_SYNDROME_ACK)
		note_credits(qp, syndrome);
	vb_qp_trace(qp, VB_TRACE_PACKET_SENT, now, qp->ops->transport | VB_OP_ACK, psn.v, 0, 0);
	if ((syndrome & VB_SYNDROME_CLASS) != VB_SYNDROME_ACK)
		vb_qp_trace(qp, VB_TRACE_NAK_SENT, now, syndrome, psn.v, msn, 0);
}

/* The PD that the request was for. */
static struct vb_pd *response_pd(const struct vb_qp *qp, const struct vb_resource *r)
{
	return qp->ops->pd_of ? qp->ops->pd_of(qp, r->srqn) : qp->pd;
}

/* The access of a response: the READ that was granted, from @off on. */
static struct vb_remote response_access(const struct vb_qp *qp, const struct vb_resource *r,
					uint64_t off, uint32_t len)
{
	struct vb_remote from = vb_qp_remote(qp, r->rkey, r->va + off, len, VB_ACCESS_REMOTE_READ);

	from.pd = response_pd(qp, r);
	return from;
}

/* Where a response finds its bytes. */
static int response_memory(const struct vb_qp *qp, const struct vb_resource *r, uint64_t off,
			   uint32_t len, uint8_t **p)
{
	struct vb_remote from = response_access(qp, r, off, len);
	int err = vb_mem_remote(&from, p);

	return err ? err : vb_mem_touch(qp->hca, *p, len);
}

static uint8_t response_op(const struct vb_resource *r, const struct vb_run *run)
{
	bool first = vb_psn_eq(run->nxt, run->start);
	bool last = vb_psn_eq(vb_psn_add(run->nxt, 1), run->end);

	if (r->kind == VB_RESOURCE_ATOMIC)
		return VB_OP_ATOMIC_ACK;
	return first ? (last ? VB_OP_READ_RESP_ONLY : VB_OP_READ_RESP_FIRST)
		     : (last ? VB_OP_READ_RESP_LAST : VB_OP_READ_RESP_MIDDLE);
}

/*
 * The next packet of @run, responses of @r: a pure function of its arguments, as a request is. 0;
 * -EACCES: its key is gone; -EFAULT: its memory is.
 */
static int emit_response(const struct vb_qp *qp, const struct vb_resource *r,
			 const struct vb_run *run, struct vb_tx_batch *b)
{
	uint64_t off = (uint64_t)vb_psn_span(r->first, run->nxt) * qp->mtu;
	uint32_t len = 0;
	uint8_t *p = NULL;

	VB_ASSERT(vb_psn_span(r->first, run->nxt) < r->pkts);
	if (r->kind != VB_RESOURCE_ATOMIC) {
		len = r->len - off < qp->mtu ? (uint32_t)(r->len - off) : qp->mtu;
		int err = len ? response_memory(qp, r, off, len, &p) : 0;

		if (err)
			return err;
	}

	struct vb_hdr hdr;
	struct vb_tx *tx = vb_tx_begin(b, qp, &hdr, response_op(r, run), run->nxt);

	if (vb_rate_response_path(qp))
		tx->path = vb_rate_response_path(qp);
	if (vb_hdr_opcode(&hdr)->ext & VB_EXT_AETH) {
		hdr.aeth.syndrome = credit_code(qp);
		hdr.aeth.msn = r->msn & VB_PSN_MASK;
	}
	hdr.atomic_orig = r->orig;
	hdr.selective = qp->sr && qp->hca->repeat->speaks(qp);
	if (len) {
		b->seg[b->seg_cnt++] = (struct vb_seg){p, len};
		tx->seg_cnt = 1;
		tx->payload_len = len;
		hdr.pad = (uint8_t)(-len & 3);
	}
	vb_tx_finish(tx, &hdr);
	return 0;
}

/* Sends the next packet of @run; the QP has a NAK to send instead where that fails. */
static int send_response(struct vb_qp *qp, const struct vb_resource *r, struct vb_run *run,
			 struct vb_tx_batch *b, vb_time now)
{
	struct vb_psn psn = run->nxt;
	uint8_t op = (uint8_t)(qp->ops->transport | response_op(r, run));
	int err = emit_response(qp, r, run, b);

	if (err)
		return err;
	if (vb_opcode[op].ext & VB_EXT_AETH)
		note_credits(qp, credit_code(qp));
	vb_qp_trace(qp, VB_TRACE_PACKET_SENT, now, op, psn.v, b->pkt[b->cnt - 1].payload_len, 0);
	run->nxt = vb_psn_add(psn, 1);
	return 0;
}

VB_COLD static struct vb_denial why_lost(const struct vb_qp *qp, const struct vb_resource *r)
{
	struct vb_denial d = {.check = VB_DENIAL_NONE,
			      .opcode = (uint8_t)(qp->ops->transport | VB_OP_READ_REQUEST),
			      .is_fatal = true,
			      .key = r->rkey,
			      .va = r->va,
			      .len = r->len};
	struct vb_remote from = response_access(qp, r, 0, r->len);

	vb_mem_why_remote(&from, &d);
	if (d.check == VB_DENIAL_NONE)
		d.check = VB_DENIAL_FAULT;
	return d;
}

/* Nothing of @r is to be sent any more; @whole: its last packet has left. */
static void resource_done(struct vb_resource *r, bool whole)
{
	VB_ASSERT(vb_resource_is_pending(r));
	r->state =
	    whole || r->state == VB_RESOURCE_REPEATING ? VB_RESOURCE_ANSWERED : VB_RESOURCE_IDLE;
}

/* Memory that a granted READ reads has been taken away meanwhile: deregistered, or (-EFAULT) only
 * unmapped, which is an error of the responder's own. IBA 9.7.5.2.4 */
VB_COLD static void on_lost_memory(struct vb_qp *qp, const struct vb_resource *r, struct vb_psn psn,
				   int err, vb_time now)
{
	struct vb_responder *resp = &qp->resp;
	struct vb_denial d = why_lost(qp, r);

	vb_denial_trace(qp, &d, now);

	resp->epsn = psn; /* the NAK carries it; nothing is received any more */
	resp->res_pending = 0;
	for (uint32_t i = 0; i < resp->res_cap; i++)
		if (vb_resource_is_pending(&resp->res[i]))
			resource_done(&resp->res[i], false);
	vb_qp_raise(qp, err == -EFAULT ? VB_ASYNC_QP_FATAL : VB_ASYNC_QP_ACCESS_ERR);
	vb_resp_fail(qp, err == -EFAULT ? VB_NAK_REMOTE_OP : VB_NAK_REMOTE_ACCESS, now);
}

/* One response packet: of what is to be answered again, else of @r. */
static void response_emit(struct vb_qp *qp, struct vb_resource *r, struct vb_tx_batch *b,
			  vb_time now)
{
	struct vb_run *repeat = next_repeat(qp);
	struct vb_run *run = repeat ? repeat : &r->run;

	if (repeat) {
		r = vb_resp_resource(&qp->resp, repeat->nxt);
		if (!r) { /* the peer has asked for so much since that it is forgotten */
			qp->hca->repeat->repeat_done(qp);
			return;
		}
	}

	int err = send_response(qp, r, run, b, now);

	if (err) {
		on_lost_memory(qp, r, run->nxt, err, now);
		return;
	}
	vb_rate_response_left(qp, &b->pkt[b->cnt - 1], now);
	if (!vb_psn_eq(run->nxt, run->end))
		return;
	if (repeat) {
		qp->hca->repeat->repeat_done(qp);
	} else {
		resource_done(r, vb_psn_eq(run->end, vb_psn_add(r->first, r->pkts)));
		VB_ASSERT_ALL(qp->resp.res_pending > 0);
		qp->resp.res_pending--;
	}
}

/* The QP's last word before it is silent, or waits: a NAK, or in ERR the ACK of a message whose
 * invalidation has failed. */
static uint8_t last_syndrome(const struct vb_qp *qp)
{
	uint8_t syndrome = qp->resp.nak_syndrome;

	return (syndrome & VB_SYNDROME_CLASS) == VB_SYNDROME_ACK ? credit_code(qp) : syndrome;
}

/* The first packet of the only READ or atomic that waits for its answer, @r, is next. */
static bool begins_answers(const struct vb_responder *resp, const struct vb_resource *r)
{
	return r && resp->res_pending == 1 && vb_psn_eq(r->run.nxt, r->run.start);
}

bool vb_resp_transmit(struct vb_qp *qp, struct vb_tx_batch *b, uint32_t stop, vb_time now)
{
	struct vb_responder *resp = &qp->resp;

	if (!qp->ops->is_acked ||
	    (qp->state != VB_QPS_RTR && qp->state != VB_QPS_RTS && qp->state != VB_QPS_SQD &&
	     !(qp->state == VB_QPS_ERR && vb_resp_owes_nak(resp))))
		return false;
	while (vb_resp_owes(qp) || resp->ack_due || vb_resp_owes_nak(resp)) {
		struct vb_resource *r = vb_resp_pending(qp);

		/* An ACK that was asked for before a READ goes out before its response. */
		bool responds = next_repeat(qp) ||
				(r && !(resp->ack_due && vb_psn_before(resp->ack_psn, r->first)));

		if (responds && vb_rate_holds_response(qp, begins_answers(resp, r), now))
			return false;
		if (!vb_tx_may_emit(qp, b, stop))
			return true;
		if (responds) {
			response_emit(qp, r, b, now);
		} else if (resp->ack_due && !r && !vb_resp_is_silent(resp) && report_is_due(qp)) {
			resp->ack_due = false;
			vb_resp_nak_done(resp);
			send_ack(qp, b, VB_NAK_PSN_SEQ, resp->epsn, resp->msn, now);
		} else if (resp->ack_due) {
			resp->ack_due = false;
			if (r)
				send_ack(qp, b, credit_code(qp), vb_psn_prev(r->first), r->msn - 1,
					 now);
			else
				send_ack(qp, b, credit_code(qp), vb_psn_prev(resp->epsn), resp->msn,
					 now);
		} else {
			vb_resp_nak_done(resp);
			send_ack(qp, b, last_syndrome(qp), resp->epsn, resp->msn, now);
		}
	}
	return false;
}
