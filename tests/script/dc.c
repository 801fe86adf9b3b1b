/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words of lines about DC: the keys and streams of QPs and work, and the DCETH and DCCETH. The
 * number of a connection is its low half; the high half of an initiator is what it has sent, and of
 * the peers of a target a line may say it.
 */
#include "drill.h"

#include <stdio.h>

#define HIGH 0xffff0000u

/* "key=7" of a target; "streams=2 errored=1 full" (logarithms) of an initiator */
void dc_init(struct drill *d, struct args *args, struct vb_dc_init *dc)
{
	dc->key = world_arg(d, args, "key", 0);
	dc->log_streams = (uint8_t)world_arg(d, args, "streams", 0);
	dc->log_errored = (uint8_t)world_arg(d, args, "errored", 0);
	dc->full_handshake = args_flag(args, "full");
}

/* "to=3 dqpn=0x21 key=7 stream=1" of work */
void dc_take_work(struct drill *d, struct args *args, struct vb_send_wr *wr)
{
	wr->dc_key = world_arg(d, args, "key", 0);
	wr->dc_stream = (uint16_t)world_arg(d, args, "stream", 0);
}

/* "dc_reset stream=1" */
void dc_reset(struct drill *d, struct args *args)
{
	struct script_qp *q = world_qp(d, args);
	uint16_t stream = (uint16_t)world_arg(d, args, "stream", 0);

	work_result(d, args, vb_dci_reset_stream(q->qp, stream));
}

/* "conn=1 sqpn=0x21 channel=2 connect(key=7 first=10 qpn=0x21 full)" */
void dc_take_header(struct drill *d, struct args *args, struct vb_hdr *h, const struct script_qp *q,
		    bool inbound)
{
	const char *text = args_value(args, "connect");
	uint32_t own = inbound ? q->peer_qpn : q->qpn;

	h->dc.channel = (uint8_t)world_arg(d, args, "channel", 0);
	h->dc.sqpn = (uint32_t)world_arg(d, args, "sqpn", own);
	h->dc.connection = (uint32_t)world_arg(d, args, "conn", 1);
	if (inbound && h->dc.connection < 1u << 16)
		h->dc.connection |= q->dc_high;
	if (text == NULL)
		return;

	static char copy[128];
	struct args in;

	snprintf(copy, sizeof copy, "%s", text);
	if (args_split(&in, copy) != NULL)
		drill_fail(d, "malformed connect()");
	h->dc.qpn = (uint32_t)world_arg(d, &in, "qpn", own);
	h->dc.first = vb_psn((uint32_t)world_arg(d, &in, "first", h->psn.v));
	h->dc.key = world_arg(d, &in, "key", 0);
	h->dc.full = args_flag(&in, "full");
	if (args_left(&in) != NULL)
		drill_fail(d, "unknown word \"%s\"", args_left(&in));
}

/* Returns what differs, or NULL. */
const char *dc_differs(struct script_qp *q, const struct vb_hdr *want, const struct vb_hdr *got)
{
	if (q->type == VB_QPT_DCI)
		q->dc_high = got->dc.connection & HIGH;
	if (want->dc.channel != got->dc.channel)
		return "channel";
	if (want->dc.sqpn != got->dc.sqpn)
		return "sqpn";
	if ((want->dc.connection | q->dc_high) != got->dc.connection)
		return "conn";
	if (want->dc.qpn != got->dc.qpn)
		return "qpn";
	if (!vb_psn_eq(want->dc.first, got->dc.first))
		return "first";
	if (want->dc.key != got->dc.key)
		return "key";
	return want->dc.full != got->dc.full ? "full" : NULL;
}

size_t dc_print(const struct vb_hdr *h, char *out, size_t size)
{
	int n = snprintf(out, size, " conn=%#x sqpn=%#x channel=%u", h->dc.connection, h->dc.sqpn,
			 h->dc.channel);

	if (h->opcode == VB_OPCODE_DC_CONNECT && !h->solicited && (size_t)n < size)
		n += snprintf(out + n, size - (size_t)n, " connect(key=%#llx first=%u qpn=%#x%s)",
			      (unsigned long long)h->dc.key, h->dc.first.v, h->dc.qpn,
			      h->dc.full ? " full" : "");
	return (size_t)n;
}
