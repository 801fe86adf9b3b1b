/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MADs as packets of a link, where a cable leads to another fabric, and for captures: LRH, GRH if
 * there is one, BTH, DETH, the MAD, ICRC and VCRC. SMPs on a directed part of their route have the
 * permissive LID at both ends. Packets that come are hostile: each length, CRC and header is
 * checked. IBA 13.5.3, 14.2.2, 7.8; items FAB-12, LNK-01 to LNK-10, LNK-12, LNK-13
 */
#include "mgmt/subnet/priv.h"

#include "wire/hdr.h"
#include "wire/ib/grh.h"
#include "wire/ib/vcrc.h"
#include "wire/icrc.h"

#include <errno.h>
#include <string.h>

#define OPCODE_UD_SEND_ONLY 0x64

#define DETH_LEN 8
#define BODY_LEN (VB_BTH_LEN + DETH_LEN + VB_MAD_LEN)
#define MTU 256u /* of VL15 and of all that QP1 sends */

static struct vb_path path_of(const struct vb_subnet_mad *m)
{
	struct vb_path p = {.slid = m->by_path ? VB_LID_PERMISSIVE : m->slid,
			    .dlid = m->by_path ? VB_LID_PERMISSIVE : m->dlid,
			    .sl = m->sl,
			    .traffic_class = m->traffic_class,
			    .flow_label = m->flow_label,
			    .hop_limit = m->hop_limit};

	memcpy(p.sgid.b, m->sgid, sizeof p.sgid.b);
	memcpy(p.dgid.b, m->dgid, sizeof p.dgid.b);
	return p;
}

static uint32_t packet_icrc(const uint8_t *packet, uint32_t bth_at)
{
	uint32_t crc = bth_at > VB_LRH_LEN ? vb_icrc_start_global(packet + VB_LRH_LEN)
					   : vb_icrc_start_local(packet);

	return vb_icrc_headers(crc, packet + bth_at, BODY_LEN);
}

uint32_t vb_subnet_mad_emit(const struct vb_subnet_mad *m, uint8_t out[VB_SUBNET_PACKET_MAX])
{
	const struct vb_path path = path_of(m);
	uint32_t at = VB_LRH_LEN + (m->has_grh ? VB_GRH_LEN : 0);
	uint32_t len = at + BODY_LEN + VB_ICRC_LEN;
	uint8_t hdr[VB_HDR_MAX];
	struct vb_lrh lrh = {.vl = m->vl,
			     .sl = m->sl,
			     .lnh = m->has_grh ? VB_LNH_GLOBAL : VB_LNH_LOCAL,
			     .dlid = path.dlid,
			     .slid = path.slid,
			     .words = (uint16_t)(len / 4)};
	struct vb_hdr h = {.opcode = OPCODE_UD_SEND_ONLY,
			   .pkey = m->pkey,
			   .dqpn = m->dst_qp,
			   .deth = {.qkey = m->qkey, .sqpn = m->src_qp}};

	_Static_assert(VB_LRH_LEN + BODY_LEN + VB_ICRC_LEN + VB_VCRC_LEN == VB_SMP_LEN, "LNK-13");
	vb_lrh_emit(&lrh, out);
	if (m->has_grh)
		vb_path_emit_grh(&path, BODY_LEN + VB_ICRC_LEN, out + VB_LRH_LEN);
	(void)vb_hdr_emit(&h, hdr);
	memcpy(out + at, hdr, VB_BTH_LEN + DETH_LEN);
	memcpy(out + at + VB_BTH_LEN + DETH_LEN, m->mad, VB_MAD_LEN);
	vb_icrc_finish(packet_icrc(out, at), out + len - VB_ICRC_LEN);
	vb_vcrc_put(out + len, vb_vcrc(out, len));
	return len + VB_VCRC_LEN;
}

/* The GRH. False: it is not good. LNK-05 */
static bool grh_read(struct vb_subnet_mad *m, const uint8_t *in, uint32_t words)
{
	struct vb_grh grh;

	vb_grh_parse(&grh, in);
	if (!vb_grh_is_good(&grh, words))
		return false;
	m->has_grh = true;
	memcpy(m->sgid, grh.sgid.b, sizeof m->sgid);
	memcpy(m->dgid, grh.dgid.b, sizeof m->dgid);
	m->flow_label = grh.flow_label;
	m->traffic_class = grh.traffic_class;
	m->hop_limit = grh.hop_limit;
	return true;
}

int vb_subnet_mad_parse(struct vb_subnet_mad *m, const uint8_t *in, uint32_t len)
{
	uint32_t at = VB_LRH_LEN, body;
	struct vb_lrh lrh;
	struct vb_hdr h;

	if (len != VB_SMP_LEN && len != VB_SUBNET_PACKET_MAX)
		return -EBADMSG;
	vb_lrh_parse(&lrh, in);
	body = len - VB_ICRC_LEN - VB_VCRC_LEN;
	if (vb_lrh_check(&lrh, len, MTU) != VB_LRH_GOOD ||
	    (len == VB_SMP_LEN) != (lrh.lnh == VB_LNH_LOCAL) ||
	    vb_vcrc(in, len - VB_VCRC_LEN) != vb_vcrc_get(in + len - VB_VCRC_LEN))
		return -EBADMSG;
	*m = (struct vb_subnet_mad){.on_qp0 = lrh.vl == VB_VL_MGMT,
				    .vl = lrh.vl,
				    .sl = lrh.sl,
				    .slid = lrh.slid,
				    .dlid = lrh.dlid};
	if (lrh.lnh == VB_LNH_GLOBAL) {
		/* SMPs have none. LNK-13 */
		if (m->on_qp0 || !grh_read(m, in + at, lrh.words))
			return -EBADMSG;
		at += VB_GRH_LEN;
	}
	if (vb_hdr_parse(&h, in + at, body - at, body - at) != VB_VERDICT_OK ||
	    h.opcode != OPCODE_UD_SEND_ONLY || h.pad != 0 ||
	    packet_icrc(in, at) != vb_icrc_read(in + body))
		return -EBADMSG;
	m->pkey = h.pkey;
	m->dst_qp = h.dqpn;
	m->src_qp = h.deth.sqpn;
	m->qkey = h.deth.qkey;
	memcpy(m->mad, in + at + VB_BTH_LEN + DETH_LEN, VB_MAD_LEN);
	return 0;
}
