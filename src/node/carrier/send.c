/* SPDX-License-Identifier: BSD-2-Clause */
/* MADs as packets of QP1, and those that the shared broker sends itself. IBA 13.4.3, IBT-19 */
#include "node/carrier/state.h"
#include "node/host/clock.h"
#include "wire/hdr.h"

#define HOP_LIMIT 64
#define PKEY_DEFAULT 0xffff

void vb_carrier_mad_frame(struct vb_tx *tx, const struct vb_path *path, const struct vb_seg *seg,
			  uint8_t seg_cnt)
{
	static uint32_t psn;
	const struct vb_hdr h = {.opcode = VB_TRANSPORT_UD | VB_OP_SEND_ONLY,
				 .pkey = PKEY_DEFAULT,
				 .dqpn = VB_QPN_GSI,
				 .psn = vb_psn(psn++),
				 .deth = {VB_MAD_QKEY, VB_QPN_GSI}};

	*tx = (struct vb_tx){.path = path, .seg = seg, .seg_cnt = seg_cnt};
	for (uint8_t i = 0; i < seg_cnt; i++)
		tx->payload_len += seg[i].len;
	tx->hdr_len = (uint8_t)vb_hdr_emit(&h, tx->hdr);
}

void vb_carrier_mad_send(struct vb_carrier *c, const struct vb_path *path,
			 const uint8_t mad[VB_MAD_LEN], uint32_t len)
{
	static const uint8_t zeros[VB_PAYLOAD_MAX - VB_MAD_LEN];
	static struct vb_tx_batch b = {.cnt = 1};
	struct vb_path out = *path;

	out.hop_limit = HOP_LIMIT;
	out.udp_sport = vb_udp_sport(0, VB_QPN_GSI, VB_QPN_GSI);
	b.seg[0] = (struct vb_seg){mad, VB_MAD_LEN};
	b.seg[1] = (struct vb_seg){zeros, len - VB_MAD_LEN};
	vb_carrier_mad_frame(&b.pkt[0], &out, b.seg, len > VB_MAD_LEN ? 2 : 1);
	/* One that finds no room is lost: its peer asks again. */
	(void)c->gsi.link->ops->send(c->gsi.link, &b, 0, vb_clock_now());
}
