/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes into the header parser. An accepted one must keep its promises: lengths that cannot
 * underflow, and headers that are written again as they were but for reserved bits.
 *
 * Input: 2 bytes that say how much longer than its bytes the packet is (absent payload), the
 * packet.
 */
#include "wire/hdr.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len);

#define require(cond)                                                                              \
	do {                                                                                       \
		if (!(cond))                                                                       \
			abort();                                                                   \
	} while (0)

/* Sets the reserved fields of the headers at @p to what is written: zero. */
static void clear_reserved(uint8_t *p, const struct vb_opcode_info *op)
{
	uint8_t *ext = p + VB_BTH_LEN;

	p[4] &= 0xc0;
	p[8] &= 0xc0; /* the AckReq and the selective bit */
	if (op->ext & VB_EXT_XRCETH) {
		ext[0] = 0;
		ext += 4;
	}
	if (op->ext & VB_EXT_DETH)
		ext[4] = 0;
	if (op->ext & VB_EXT_CNP)
		memset(ext, 0, 16);
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len)
{
	uint8_t again[VB_HDR_MAX], was[VB_HDR_MAX];
	struct vb_hdr h;
	size_t absent, pkt_len;

	if (len < 2)
		return 0;
	absent = (size_t)(in[0] | in[1] << 8);
	in += 2;
	len -= 2;
	pkt_len = len + absent;
	enum vb_verdict v = vb_hdr_parse(&h, in, len, pkt_len);

	require(v < VB_VERDICT_CNT);
	require(vb_verdict_name(v) != NULL);
	if (v != VB_VERDICT_OK)
		return 0;
	const struct vb_opcode_info *op = vb_hdr_opcode(&h);

	require(op->name != NULL);
	size_t hdr_len = vb_hdr_len(in);

	require(hdr_len <= len);
	require(hdr_len + h.pad <= pkt_len);
	size_t behind = pkt_len - hdr_len;
	bool is_report = h.selective && (h.opcode & VB_OP_MASK) == VB_OP_ACK;

	require((op->flags & VB_OP_PAYLOAD) || behind == 0 ||
		(is_report && behind <= VB_REPORT_MAX));
	require(vb_hdr_emit(&h, again) == hdr_len);
	memcpy(was, in, hdr_len);
	clear_reserved(was, op);
	if (hdr_len > op->hdr_len) { /* the DCCETH */
		was[VB_BTH_LEN + 8 + 3] &= 1;
		was[VB_BTH_LEN + 8 + 7] = 0;
	}
	require(memcmp(was, again, hdr_len) == 0);
	return 0;
}
