/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last packet whose identification was not believed. Alone it is taken for a damaged one; but
 * when the next packet of its sender has skipped as many numbers, both were sent so, and the kept
 * packet goes on in front of that one. So a sender whose counter other packets advance loses
 * nothing. There is one such packet, whoever sent it: nothing grows with what arrives.
 * docs/wire.md
 */
#include "link/udp/priv.h"

#include <string.h>

/* The next packet of a sender that is at work comes within this time. */
#define KEEP_NS VB_SEC

static bool is_of_sender(const struct vb_udp_stray *s, const struct vb_path *p)
{
	return s->path.udp_sport == p->udp_sport && vb_gid_eq(&s->path.sgid, &p->sgid);
}

void vb_udp_stray_drop(struct vb_udp *u)
{
	struct vb_udp_stray *s = &u->rx.stray;

	s->state = VB_UDP_STRAY_NONE;
	vb_count(s->counters, VB_COUNTER_rx_icrc_encapsulated);
	vb_count(s->counters, VB_COUNTER_port_rcv_errors);
}

void vb_udp_stray_look(struct vb_udp *u)
{
	struct vb_udp_stray *s = &u->rx.stray;

	if (s->state == VB_UDP_STRAY_LENT)
		s->state = VB_UDP_STRAY_NONE;
	else if (s->state == VB_UDP_STRAY_KEPT && vb_time_since(s->heard, u->rx.now) >= KEEP_NS)
		vb_udp_stray_drop(u);
}

bool vb_udp_stray_keep(struct vb_udp *u, const uint8_t *pkt, uint32_t len, uint16_t id,
		       uint16_t frag)
{
	struct vb_udp_stray *s = &u->rx.stray;

	/* Somebody may still look at the packet that was here. */
	if (s->state >= VB_UDP_STRAY_DUE || len > sizeof s->pkt)
		return false;
	if (s->state == VB_UDP_STRAY_KEPT)
		vb_udp_stray_drop(u);
	s->state = VB_UDP_STRAY_KEPT;
	s->path = u->rx.origin.path;
	s->counters = u->rx.origin.counters;
	s->seen = u->rx.origin.udp;
	s->seen.ip_id = id;
	s->seen.ip_frag = frag;
	s->heard = u->rx.now;
	s->len = len;
	memcpy(s->pkt, pkt, len);
	return true;
}

void vb_udp_stray_judge(struct vb_udp *u, uint16_t id, uint16_t frag, bool has_skipped)
{
	struct vb_udp_stray *s = &u->rx.stray;
	uint16_t ahead = (uint16_t)(id - s->seen.ip_id);

	if (s->state != VB_UDP_STRAY_KEPT || !is_of_sender(s, &u->rx.origin.path))
		return;
	if (has_skipped && frag == s->seen.ip_frag &&
	    vb_udp_sender_reaches(ahead, vb_time_since(s->heard, u->rx.now)))
		s->state = VB_UDP_STRAY_DUE;
	else
		vb_udp_stray_drop(u);
}

void vb_udp_stray_take(struct vb_udp *u, struct vb_rx *out)
{
	struct vb_udp_stray *s = &u->rx.stray;

	s->state = VB_UDP_STRAY_LENT;
	vb_count(s->counters, VB_COUNTER_rx_ip_id_solved);
	*out = (struct vb_rx){.pkt = s->pkt,
			      .len = s->len - VB_ICRC_LEN,
			      .avail = s->len - VB_ICRC_LEN,
			      .path = &s->path};
}
