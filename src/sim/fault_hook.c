/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fault layer at a cable: carries out what it says. Corruption is real where packets have
 * bytes: bits are flipped behind the sender's ICRC, and the receiver finds out by computing it.
 * IBA 7.8.1
 */
#include "sim/priv.h"

#include "wire/icrc.h"

#include <string.h>

static uint32_t packet_icrc(const struct vb_sim_packet *pkt)
{
	struct vb_icrc_udp u = {
	    .src = pkt->path.sgid,
	    .dst = pkt->path.dgid,
	    .sport = pkt->path.udp_sport,
	    .dport = VB_ROCE_PORT,
	    .ip_frag = 0x4000,
	};
	uint32_t crc = vb_icrc_start(&u, pkt->len + VB_ICRC_LEN);

	crc = vb_icrc_headers(crc, pkt->bytes, pkt->hdr_len);
	return vb_icrc_bytes(crc, pkt->bytes + pkt->hdr_len, pkt->len - pkt->hdr_len);
}

bool vb_packet_is_whole(const struct vb_sim_packet *pkt)
{
	return pkt->has_payload && packet_icrc(pkt) == pkt->icrc;
}

struct vb_sim_packet *vb_packet_copy(struct vb_sim *s, const struct vb_sim_packet *pkt)
{
	struct vb_sim_packet *copy = vb_sim_packet_take(s);

	if (copy)
		memcpy(copy, pkt,
		       sizeof *pkt + (pkt->has_payload ? pkt->len : (uint32_t)pkt->hdr_len));
	return copy;
}

void vb_port_judge(struct vb_sim *s, struct vb_sim_port *p, struct vb_sim_packet *pkt,
		   struct vb_fault_fate *fate)
{
	struct vb_hdr hdr = {0};

	/* A packet that is damaged already may not parse; it has opcode 0 and QPN 0 then. */
	(void)vb_hdr_parse(&hdr, pkt->bytes, pkt->has_payload ? pkt->len : pkt->hdr_len, pkt->len);

	struct vb_fault_packet fp = {
	    .dir = p->id & 1 ? VB_FAULT_RX : VB_FAULT_TX,
	    .opcode = hdr.opcode,
	    .dqpn = hdr.dqpn,
	    .psn = hdr.psn,
	    .bytes = pkt->len,
	};

	vb_fault_judge(&p->fault->layer, &fp, s->now, fate);
	pkt->mark = (uint16_t)(fate->hits | (fate->drop ? VB_FAULT_MARK_DROPPED : 0));
}

struct vb_sim_packet *vb_port_suffer(struct vb_sim *s, struct vb_sim_packet *pkt,
				     const struct vb_fault_fate *fate)
{
	struct vb_sim_packet *copy;

	if (fate->mark && (pkt->path.traffic_class & VB_ECN_MASK))
		pkt->path.traffic_class |= VB_ECN_CE;
	copy = fate->copy ? vb_packet_copy(s, pkt) : NULL;
	if (copy)
		copy->mark |= VB_FAULT_MARK_COPY;
	if (fate->corrupt) {
		if (pkt->has_payload) {
			if (!pkt->corrupt)
				pkt->icrc = packet_icrc(pkt);
			vb_fault_corrupt(pkt->bytes, pkt->len, fate->bits);
		}
		pkt->corrupt = true;
	}
	return copy;
}
