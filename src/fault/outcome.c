/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a packet to what becomes of it: what the rules see of its bytes, and what their judgement
 * means for whoever carries it. Simulated cables and live links both ask here, so that a fault is
 * the same in both. See fault.h.
 */
#include "fault/fault.h"

#include "base/assert.h"
#include "wire/mad/mad.h"
#include "wire/opcode.h"

static struct vb_fault_packet packet_see(enum vb_fault_dir dir, const uint8_t *bth, uint32_t bytes)
{
	return (struct vb_fault_packet){
	    .dir = dir,
	    .opcode = bth[0],
	    .dqpn = vb_hdr_dqpn(bth),
	    .psn = vb_psn((uint32_t)bth[9] << 16 | (uint32_t)bth[10] << 8 | bth[11]),
	    .bytes = bytes,
	};
}

/* Whether a packet of @len bytes without ICRC is a MAD. IBA 13.4.2 */
static bool is_mad(const uint8_t *bth, uint32_t len)
{
	return bth[0] == (VB_TRANSPORT_UD | VB_OP_SEND_ONLY) && vb_hdr_dqpn(bth) == VB_QPN_GSI &&
	       len == vb_hdr_len(bth) + VB_MAD_LEN;
}

struct vb_fault_packet vb_fault_see_sent(const struct vb_tx *tx)
{
	struct vb_fault_packet p = packet_see(VB_FAULT_TX, tx->hdr, vb_tx_wire_len(tx));

	/* Only QP1 sends MADs, inline: as one run. */
	if (is_mad(tx->hdr, tx->hdr_len + tx->payload_len) && tx->seg[0].len >= VB_MAD_HDR_LEN)
		p.mad = tx->seg[0].p;
	return p;
}

struct vb_fault_packet vb_fault_see(enum vb_fault_dir dir, const struct vb_rx *rx)
{
	struct vb_fault_packet p = packet_see(dir, rx->pkt, rx->len + VB_ICRC_LEN);

	if (!is_mad(rx->pkt, rx->len))
		return p;
	if (rx->body)
		p.mad = rx->body;
	else if (rx->avail >= rx->len)
		p.mad = rx->pkt + vb_hdr_len(rx->pkt);
	return p;
}

void vb_fault_decide(struct vb_fault *f, const struct vb_fault_packet *p, uint8_t traffic_class,
		     vb_time now, struct vb_fault_outcome *to)
{
	struct vb_fault_fate fate;

	vb_fault_judge(f, p, now, &fate);
	VB_ASSERT_ALL(fate.drop || fate.at >= now);
	VB_ASSERT_ALL((fate.hits & ~(uint32_t)((1u << VB_FAULT_KIND_CNT) - 1)) == 0);
	*to = (struct vb_fault_outcome){.mark = (uint16_t)fate.hits};
	if (fate.drop) {
		to->mark |= VB_FAULT_MARK_DROPPED;
		return;
	}
	/* A sender that is not ECN-capable cannot be told. RFC 3168 5 */
	if (fate.mark && traffic_class & VB_ECN_MASK)
		traffic_class |= VB_ECN_CE;
	to->go[to->cnt++] = (struct vb_fault_go){
	    .at = fate.at,
	    .damage = !fate.corrupt ? 0
		      : fate.bits   ? fate.bits
				    : 1,
	    .mark = to->mark,
	    .traffic_class = traffic_class,
	    .overtaken = fate.hits & 1u << VB_FAULT_REORDER,
	};
	if (!fate.copy)
		return;
	to->go[to->cnt] = to->go[0];
	to->go[to->cnt].damage = 0;
	to->go[to->cnt++].mark |= VB_FAULT_MARK_COPY;
	VB_ASSERT_ALL(to->cnt <= sizeof to->go / sizeof to->go[0]);
}
