/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets for the capture that have not been in a datagram, see tap.h. */
#include "link/middle/tap.h"

#include "link/guard.h"
#include "wire/hdr.h"

#include <string.h>

#define IPV4_DF 0x4000

/* The envelope of @p; segments and direction are the caller's. */
static struct vb_link_tap path_envelope(const struct vb_path *p, struct vb_seg *piece)
{
	return (struct vb_link_tap){.udp = {.src = p->sgid,
					    .dst = p->dgid,
					    .sport = p->udp_sport,
					    .dport = VB_ROCE_PORT,
					    .ip_frag = IPV4_DF},
				    .flow_label = p->flow_label,
				    .port = p->port,
				    .traffic_class = p->traffic_class,
				    .hop_limit = p->hop_limit,
				    .seg = piece};
}

void vb_tap_sent(vb_tap_fn *tap, void *ctx, const struct vb_tx *tx, uint16_t mark)
{
	struct vb_seg piece[3];
	struct vb_link_tap t = path_envelope(tx->path, piece);
	uint8_t payload[VB_PAYLOAD_MAX], trailer[VB_PAD_MAX + VB_ICRC_LEN] = {0};
	uint32_t crc;

	t.sent = true;
	t.mark = mark;
	crc = vb_icrc_headers(vb_icrc_start(&t.udp, vb_tx_wire_len(tx)), tx->hdr, tx->hdr_len);
	piece[t.seg_cnt++] = (struct vb_seg){tx->hdr, tx->hdr_len};
	/* The program may have taken its memory away. */
	if (vb_guard_copy_payload(payload, tx))
		memset(payload, 0, tx->payload_len);
	crc = vb_icrc_bytes(crc, payload, tx->payload_len);
	piece[t.seg_cnt++] = (struct vb_seg){payload, tx->payload_len};
	crc = vb_icrc_bytes(crc, trailer, tx->pad);
	vb_icrc_finish(crc, trailer + tx->pad);
	piece[t.seg_cnt++] = (struct vb_seg){trailer, tx->pad + (uint32_t)VB_ICRC_LEN};
	tap(ctx, &t);
}

void vb_tap_received(vb_tap_fn *tap, void *ctx, const struct vb_rx *rx, uint16_t mark)
{
	struct vb_seg piece[3];
	struct vb_link_tap t = path_envelope(rx->path, piece);
	uint8_t icrc[VB_ICRC_LEN];
	uint32_t crc;

	t.mark = mark;
	crc = vb_icrc_headers(vb_icrc_start(&t.udp, rx->len + VB_ICRC_LEN), rx->pkt, rx->avail);
	piece[t.seg_cnt++] = (struct vb_seg){rx->pkt, rx->avail};
	if (rx->body) {
		crc = vb_icrc_bytes(crc, rx->body, rx->len - rx->avail);
		piece[t.seg_cnt++] = (struct vb_seg){rx->body, rx->len - rx->avail};
	}
	vb_icrc_finish(crc, icrc);
	piece[t.seg_cnt++] = (struct vb_seg){icrc, VB_ICRC_LEN};
	tap(ctx, &t);
}
