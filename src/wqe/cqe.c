/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion entries. IBT-44...IBT-57 */
#include "wqe/wqe.h"

#include "base/assert.h"

#include <string.h>

uint8_t vb_cqe_syndrome(enum vb_wc_status status)
{
	switch (status) {
#define SYNDROME(name, number, text)                                                               \
	case VB_WC_##name:                                                                         \
		return (number);
#include "wqe/syndrome.def"
#undef SYNDROME
	default: /* to the verbs every other number is a general error */
		return 0xff;
	}
}

const char *vb_cqe_syndrome_text(uint32_t syndrome)
{
	switch (syndrome) {
#define SYNDROME(name, number, text)                                                               \
	case (number):                                                                             \
		return text;
#include "wqe/syndrome.def"
#undef SYNDROME
	default:
		return "general error";
	}
}

const char *vb_cqe_kind_text(uint32_t kind)
{
	static const char *const text[] = {
	    [VB_CQE_REQUEST] = "sent",
	    [VB_CQE_WRITE_IMM] = "received WRITE with immediate",
	    [VB_CQE_SEND] = "received SEND",
	    [VB_CQE_SEND_IMM] = "received SEND with immediate",
	    [VB_CQE_SEND_INV] = "received SEND with invalidate",
	    [VB_CQE_REQUEST_ERROR] = "send failed",
	    [VB_CQE_RECEIVE_ERROR] = "receive failed",
	    [VB_CQE_INVALID] = "none",
	};

	return kind < sizeof text / sizeof text[0] && text[kind] ? text[kind] : "unknown";
}

static enum vb_cqe_kind kind_of(const struct vb_cqe *c)
{
	const struct vb_wc *wc = c->wc;

	if (wc->status != VB_WC_SUCCESS)
		return c->is_send ? VB_CQE_REQUEST_ERROR : VB_CQE_RECEIVE_ERROR;
	if (c->is_send)
		return VB_CQE_REQUEST;
	if (wc->opcode == VB_WC_RECV_RDMA_WITH_IMM)
		return VB_CQE_WRITE_IMM;
	if (wc->flags & VB_WC_WITH_INV)
		return VB_CQE_SEND_INV;
	return wc->flags & VB_WC_WITH_IMM ? VB_CQE_SEND_IMM : VB_CQE_SEND;
}

static void write_received(const struct vb_cqe *c, uint8_t *to)
{
	const struct vb_wc *wc = c->wc;

	vb_wqe_put(to, VB_CQE_SRQN, c->srqn);
	if (wc->flags & VB_WC_WITH_INV)
		vb_wqe_put(to, VB_CQE_IMM, wc->imm);
	else if (wc->flags & VB_WC_WITH_IMM)
		memcpy(to + vb_wqe_place[VB_CQE_IMM].at, &wc->imm, sizeof wc->imm);
	else
		vb_wqe_put(to, VB_CQE_IMM, wc->pkey_index);
	vb_wqe_put(to, VB_CQE_GRH, wc->flags & VB_WC_GRH ? 1 : 0);
	if (!c->is_datagram)
		return;
	vb_wqe_put(to, VB_CQE_SRC_QPN, wc->src_qpn);
	vb_wqe_put(to, VB_CQE_SL, wc->sl);
	vb_wqe_put(to, VB_CQE_SLID, wc->slid);
	vb_wqe_put(to, VB_CQE_PATH_BITS, wc->dlid_path_bits);
}

/* Of entries without such data the bytes have another meaning, to datagrams alone. */
static uint32_t write_data(const struct vb_cqe *c, uint8_t *to)
{
	if (!c->data)
		return 0;
	VB_ASSERT(c->wc->byte_len <= c->data_max && c->data_max <= VB_CQE_BYTES);
	VB_ASSERT(!c->is_datagram);
	memcpy(c->data_max > VB_CQE_DATA ? to - VB_CQE_BYTES : to, c->data, c->wc->byte_len);
	return c->data_max / VB_CQE_DATA;
}

uint8_t vb_cqe_write(const struct vb_cqe *c, uint32_t owner, uint8_t *to)
{
	const struct vb_wc *wc = c->wc;
	enum vb_cqe_kind kind = kind_of(c);
	uint32_t scatter;

	VB_ASSERT(owner <= 1);
	/* The last byte says whose the entry is, and changes last. */
	memset(to, 0, VB_CQE_BYTES - 1);
	vb_wqe_put(to, VB_CQE_QPN, wc->qpn);
	vb_wqe_put(to, VB_CQE_WORK, c->is_send ? c->work : 0);
	vb_wqe_put(to, VB_CQE_COUNTER, c->counter);
	if (wc->status != VB_WC_SUCCESS) {
		vb_wqe_put(to, VB_ERROR_SRQN, c->srqn);
		vb_wqe_put(to, VB_ERROR_VENDOR, wc->vendor_err);
		vb_wqe_put(to, VB_ERROR_SYNDROME, vb_cqe_syndrome(wc->status));
	} else {
		vb_wqe_put(to, VB_CQE_LENGTH, wc->byte_len);
		vb_wqe_put(to, VB_CQE_TIME, wc->time);
		if (!c->is_send)
			write_received(c, to);
	}
	scatter = write_data(c, to);
	return (uint8_t)((unsigned)kind << 4 | scatter << 2 | (c->solicited ? 2u : 0) | owner);
}
