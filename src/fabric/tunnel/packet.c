/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames as bytes of a link and back, see packet.h. LNK-01 to LNK-10 */
#include "fabric/tunnel/packet.h"

#include "base/assert.h"
#include "fabric/ib/lane.h"
#include "wire/ib/grh.h"
#include "wire/ib/vcrc.h"
#include "wire/icrc.h"

#include <errno.h>
#include <string.h>

/* The ICRC of BTH through pad, behind an LRH and, if the LNH says so, a GRH. */
static uint32_t packet_icrc(const uint8_t *packet, bool has_grh, const uint8_t *bth,
			    uint32_t hdr_len, uint32_t len)
{
	uint32_t crc =
	    has_grh ? vb_icrc_start_global(packet + VB_LRH_LEN) : vb_icrc_start_local(packet);

	crc = vb_icrc_headers(crc, bth, hdr_len);
	return vb_icrc_bytes(crc, bth + hdr_len, len - hdr_len);
}

uint32_t vb_tunnel_packet_emit(const struct vb_frame *f, uint8_t *out)
{
	bool has_grh = vb_path_has_grh(&f->path);
	uint32_t at = VB_LRH_LEN + (has_grh ? VB_GRH_LEN : 0);
	struct vb_lrh lrh = {.vl = f->prio,
			     .sl = f->path.sl,
			     .lnh = has_grh ? VB_LNH_GLOBAL : VB_LNH_LOCAL,
			     .dlid = f->path.dlid,
			     .slid = f->path.slid,
			     .words = (uint16_t)((f->frame_len - VB_VCRC_LEN) / 4)};

	VB_ASSERT_ALL(f->kind == VB_FRAME_DATA && f->has_payload && f->prio < VB_VL_DATA_MAX);
	if (f->len % 4 != 0 || f->hdr_len > f->len ||
	    at + f->len + VB_ICRC_LEN + VB_VCRC_LEN > VB_TUNNEL_PACKET_MAX)
		return 0;
	vb_lrh_emit(&lrh, out);
	if (has_grh)
		vb_path_emit_grh(&f->path, f->len + VB_ICRC_LEN, out + VB_LRH_LEN);
	memcpy(out + at, f->bytes, f->len);
	vb_icrc_finish(packet_icrc(out, has_grh, out + at, f->hdr_len, f->len), out + at + f->len);
	at += f->len + VB_ICRC_LEN;
	vb_vcrc_put(out + at, vb_vcrc(out, at));
	return at + VB_VCRC_LEN;
}

/* LRH and GRH. Returns where the BTH is; 0: they are not good. */
static uint32_t routes_parse(struct vb_path *path, uint8_t *vl, const uint8_t *in, uint32_t len)
{
	struct vb_lrh lrh;
	struct vb_grh grh;
	uint32_t at = VB_LRH_LEN;

	if (len < VB_LRH_LEN + VB_BTH_LEN + VB_ICRC_LEN + VB_VCRC_LEN)
		return 0;
	vb_lrh_parse(&lrh, in);
	if (vb_lrh_check(&lrh, len, VB_PAYLOAD_MAX) != VB_LRH_GOOD || lrh.vl == VB_VL_MGMT ||
	    lrh.dlid == 0)
		return 0;
	*path = (struct vb_path){.slid = lrh.slid, .dlid = lrh.dlid, .sl = lrh.sl, .port = 1};
	*vl = lrh.vl;
	if (lrh.lnh != VB_LNH_GLOBAL)
		return at;
	vb_grh_parse(&grh, in + at);
	if (!vb_grh_is_good(&grh, lrh.words))
		return 0;
	path->sgid = grh.sgid;
	path->dgid = grh.dgid;
	path->flow_label = grh.flow_label;
	path->traffic_class = grh.traffic_class;
	path->hop_limit = grh.hop_limit;
	/* One whose DGID is zero cannot be told from none. */
	return vb_path_has_grh(path) ? at + VB_GRH_LEN : 0;
}

int vb_tunnel_packet_parse(struct vb_frame *f, const uint8_t *in, uint32_t len)
{
	struct vb_path path;
	struct vb_hdr h;
	struct vb_seg seg;
	struct vb_tx tx;
	uint8_t vl = 0;
	uint32_t at = routes_parse(&path, &vl, in, len), body, hdr_len;

	f->kind = VB_FRAME_DATA; /* the pool counts those that are not */
	if (at == 0 || vb_vcrc(in, len - VB_VCRC_LEN) != vb_vcrc_get(in + len - VB_VCRC_LEN))
		return -EBADMSG;
	body = len - at - VB_ICRC_LEN - VB_VCRC_LEN;
	if (vb_hdr_parse(&h, in + at, body, body) != VB_VERDICT_OK)
		return -EBADMSG;
	hdr_len = vb_hdr_len(in + at);
	if (hdr_len < VB_BTH_LEN || hdr_len > VB_HDR_MAX || hdr_len + h.pad > body ||
	    body - hdr_len - h.pad > VB_PAYLOAD_MAX)
		return -EBADMSG;
	if (packet_icrc(in, at > VB_LRH_LEN, in + at, hdr_len, body) !=
	    vb_icrc_read(in + at + body))
		return -EBADMSG;
	seg = (struct vb_seg){in + at + hdr_len, body - hdr_len - h.pad};
	tx = (struct vb_tx){.path = &path,
			    .seg = &seg,
			    .payload_len = seg.len,
			    .seg_cnt = 1,
			    .pad = h.pad,
			    .hdr_len = (uint8_t)hdr_len};
	memcpy(tx.hdr, in + at, hdr_len);
	vb_frame_fill(f, &tx, true);
	f->prio = vl;
	VB_ASSERT_ALL(f->frame_len == len);
	return 0;
}
