/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds which check a refused request did not pass, see core/denial.h. */
#include "core/denial.h"

#include "core/rc/rc.h"

#define FATAL (1u << 16)
#define LOCAL (1u << 17)

void vb_denial_trace(struct vb_qp *qp, const struct vb_denial *d, vb_time now)
{
	uint64_t what = d->check | (uint64_t)d->opcode << 8 | (d->is_fatal ? FATAL : 0) |
			(d->is_local ? LOCAL : 0) | (uint64_t)d->access << 32;

	vb_qp_trace(qp, VB_TRACE_REFUSED, now, what, d->key | (uint64_t)d->len << 32, d->va, d->by);
}

struct vb_denial vb_denial_read(const struct vb_trace_event *ev)
{
	uint64_t what = ev->arg[0];
	uint8_t check = (uint8_t)what;

	return (struct vb_denial){
	    .check = check < VB_DENIAL_CNT ? (enum vb_denial_check)check : VB_DENIAL_NONE,
	    .opcode = (uint8_t)(what >> 8),
	    .is_fatal = what & FATAL,
	    .is_local = what & LOCAL,
	    .access = (uint16_t)(what >> 32),
	    .key = (uint32_t)ev->arg[1],
	    .len = (uint32_t)(ev->arg[1] >> 32),
	    .va = ev->arg[2],
	    .by = ev->arg[3],
	};
}

/* The right that a request of this opcode needs; 0: none, or that of a FLUSH. */
static uint32_t right_of(const struct vb_hdr *hdr)
{
	uint16_t flags = vb_hdr_opcode(hdr)->flags;

	return flags & VB_OP_READ     ? VB_ACCESS_REMOTE_READ
	       : flags & VB_OP_ATOMIC ? VB_ACCESS_REMOTE_ATOMIC
	       : flags & VB_OP_WRITE || (hdr->opcode & VB_OP_MASK) == VB_OP_ATOMIC_WRITE
		   ? VB_ACCESS_REMOTE_WRITE
	       : (hdr->opcode & VB_OP_MASK) == VB_OP_FLUSH ? vb_flush_access(hdr->flush)
							   : 0;
}

/* The memory that the request is for. */
static void name_range(const struct vb_qp *qp, const struct vb_hdr *hdr, uint32_t payload,
		       struct vb_denial *d)
{
	const struct vb_opcode_info *op = vb_hdr_opcode(hdr);

	if (op->ext & VB_EXT_ATOMICETH) {
		d->key = hdr->atomic.rkey;
		d->va = hdr->atomic.va;
		d->len = 8;
	} else if (op->ext & VB_EXT_RETH) {
		d->key = hdr->reth.rkey;
		d->va = hdr->reth.va;
		d->len = hdr->reth.len;
	} else if (op->flags & VB_OP_WRITE) {
		/* Amid a message that was all right so far. */
		d->key = qp->resp.rkey;
		d->va = qp->resp.va;
		d->len = payload;
	}
}

static void check_right(const struct vb_qp *qp, const struct vb_hdr *hdr, struct vb_denial *d)
{
	struct vb_remote r = vb_qp_remote(qp, d->key, d->va, d->len, right_of(hdr));

	/* The bounds, which a FLUSH of a whole region has not, are checked last. */
	vb_mem_why_remote(&r, d);
	/* The peer's address is a multiple of 8, and that of the memory behind it is not. */
	if (d->check == VB_DENIAL_NONE)
		d->check = VB_DENIAL_MISALIGNED;
}

/* Everything that a NAK "invalid request" without a word of its own stands for. */
static void check_request(const struct vb_qp *qp, const struct vb_hdr *hdr, uint32_t payload,
			  struct vb_denial *d)
{
	const struct vb_opcode_info *op = vb_hdr_opcode(hdr);
	uint16_t flags = op->flags;
	/* Of the requests with an answer a READ and a FLUSH may be of any bytes. */
	bool is_aligned = vb_op_is_answered(hdr) && !(flags & VB_OP_READ || op->ext & VB_EXT_FETH);
	uint32_t missing = right_of(hdr) & ~qp->attr.access;

	if (missing) {
		d->check = VB_DENIAL_QP_RIGHT;
		d->access = (uint16_t)missing;
	} else if (flags & (VB_OP_SEND | VB_OP_WRITE) && !(flags & VB_OP_LAST) &&
		   payload < qp->mtu) {
		d->check = VB_DENIAL_PACKET_SHORT;
		d->va = qp->mtu;
		d->by = qp->mtu - payload;
		d->len = 0;
	} else if (is_aligned && d->va % 8) {
		d->check = VB_DENIAL_MISALIGNED;
	} else if (d->len > qp->hca->cfg.limits.msg_size) {
		d->check = VB_DENIAL_MESSAGE_LONG;
	} else {
		d->check = VB_DENIAL_OPERATION;
	}
}

static void check_length(const struct vb_qp *qp, const struct vb_hdr *hdr, uint32_t payload,
			 struct vb_denial *d)
{
	const struct vb_responder *resp = &qp->resp;

	d->check = VB_DENIAL_RETH_LENGTH;
	if (!(vb_hdr_opcode(hdr)->flags & VB_OP_SEND))
		return;
	d->check = VB_DENIAL_RECV_SHORT;
	d->va = resp->rwqe->length;
	d->by = resp->rcvd + payload - resp->rwqe->length;
}

/* The receive's buffers, or the memory itself. */
static void check_memory(const struct vb_qp *qp, const struct vb_hdr *hdr, struct vb_denial *d)
{
	const struct vb_rwqe *w = qp->resp.rwqe;

	if (!qp->resp.rwqe_held && qp->srq && qp->srq->has_failed &&
	    vb_hdr_opcode(hdr)->flags & (VB_OP_SEND | VB_OP_RECV_WQE)) {
		d->check = VB_DENIAL_SRQ_FAILED;
		return;
	}
	if (vb_hdr_opcode(hdr)->flags & VB_OP_SEND) {
		d->is_local = true;
		vb_mem_why_local(vb_recv_pd(qp), w->sge, w->sge_cnt, VB_ACCESS_LOCAL_WRITE, d);
	}
	if (d->check == VB_DENIAL_NONE)
		d->check = VB_DENIAL_FAULT;
}

struct vb_denial vb_denial_find(struct vb_qp *qp, const struct vb_hdr *hdr, const struct vb_rx *rx,
				enum vb_verdict why)
{
	struct vb_denial d = {.opcode = hdr->opcode, .is_fatal = true};
	uint32_t payload;

	(void)vb_rx_payload(hdr, rx, &payload);
	name_range(qp, hdr, payload, &d);
	switch (why) {
	case VB_VERDICT_ACCESS:
		check_right(qp, hdr, &d);
		break;
	case VB_VERDICT_INVALID_REQUEST:
		check_request(qp, hdr, payload, &d);
		break;
	case VB_VERDICT_OVERSIZED:
		d = (struct vb_denial){VB_DENIAL_PACKET_LONG, .opcode = hdr->opcode,
				       .is_fatal = true, .va = qp->mtu, .by = payload - qp->mtu};
		break;
	case VB_VERDICT_LENGTH:
		check_length(qp, hdr, payload, &d);
		break;
	case VB_VERDICT_OPERATION:
		check_memory(qp, hdr, &d);
		break;
	case VB_VERDICT_SEQUENCE:
		d.check = VB_DENIAL_OUT_OF_PLACE;
		break;
	case VB_VERDICT_RESOURCE:
		d.check = VB_DENIAL_READS;
		d.by = qp->resp.res_cap;
		break;
	case VB_VERDICT_XRC:
		d.check = VB_DENIAL_XRC_SRQ;
		d.by = hdr->xrc_srqn;
		break;
	case VB_VERDICT_INVALIDATE:
		d.check = VB_DENIAL_INVALIDATE;
		d.key = hdr->inv_rkey;
		break;
	default:
		break;
	}
	return d;
}
