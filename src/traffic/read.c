/* SPDX-License-Identifier: BSD-2-Clause */
/* The packets of captures: from link layer to BTH, each as a struct seen. */
#include "traffic/priv.h"

#include "export/udp_frame.h"
#include "fault/fault.h"
#include "traffic/comment/fault.h"
#include "traffic/mad_kind.h"
#include "traffic/pcap_reader.h"
#include "wire/hdr.h"
#include "wire/icrc.h"
#include "wire/mad/mad.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ETHERTYPE_VLAN 0x8100u
#define ETHERTYPE_QINQ 0x88a8u
#define ETHERNET_LEN 14u
#define VLAN_LEN 4u
#define SLL_LEN 16u
#define SLL2_LEN 20u
#define SLL_OUTGOING 4u      /* PACKET_OUTGOING of Linux */
#define PACKET_LONGEST 4500u /* headers and the longest payload: a longer one was not sent so */

static uint32_t get_be16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

/* The header of `tcpdump -i any`, which tells the direction. */
static uint32_t cooked_header(struct vb_pcap_packet *p)
{
	bool is_old = p->link == VB_PCAP_SLL;

	if (p->len < SLL2_LEN)
		return UINT32_MAX;
	if (p->dir == VB_PCAP_DIR_UNKNOWN)
		p->dir = (is_old ? get_be16(p->data) : p->data[10]) == SLL_OUTGOING
			     ? VB_PCAP_SENT
			     : VB_PCAP_RECEIVED;
	return is_old ? SLL_LEN : SLL2_LEN;
}

/* Bytes before the IP header; more than p->len: there is none. */
static uint32_t link_header(struct vb_pcap_packet *p)
{
	uint32_t at = ETHERNET_LEN;

	switch (p->link) {
	case VB_PCAP_NULL:
	case VB_PCAP_LOOP:
		return 4;
	case VB_PCAP_ETHERNET:
		while (at + VLAN_LEN <= p->len && (get_be16(p->data + at - 2) == ETHERTYPE_VLAN ||
						   get_be16(p->data + at - 2) == ETHERTYPE_QINQ))
			at += VLAN_LEN;
		return at;
	case VB_PCAP_SLL:
	case VB_PCAP_SLL2:
		return cooked_header(p);
	case VB_PCAP_RAW:
	case VB_PCAP_IPV4:
	case VB_PCAP_IPV6:
		return 0;
	default:
		return UINT32_MAX;
	}
}

/* Bytes that do not change on the way. The ICRC, where it was captured, speaks for all others. */
static uint64_t packet_key(const struct vb_udp_frame *u, uint32_t captured)
{
	uint8_t bth[VB_BTH_LEN];
	uint64_t h = vb_traffic_hash(u->sport, &u->src, sizeof u->src);

	memcpy(bth, u->payload, sizeof bth);
	bth[4] = 0; /* FECN and BECN */
	h = vb_traffic_hash(h, &u->dst, sizeof u->dst);
	h = vb_traffic_hash(h, bth, sizeof bth);
	if (captured == u->payload_len)
		h = vb_traffic_hash(h, u->payload + captured - VB_ICRC_LEN, VB_ICRC_LEN);
	return h;
}

static struct seen *seen_new(struct vb_traffic *t)
{
	if (t->seen_cnt == t->seen_room) {
		uint32_t room = t->seen_room ? 2 * t->seen_room : 4096;
		struct seen *s = realloc(t->seen, room * sizeof *s);

		if (!s)
			return NULL;
		t->seen = s;
		t->seen_room = room;
	}
	return &t->seen[t->seen_cnt];
}

/* The way of a packet with headers @h; NONE: no memory, or too many. */
static uint32_t way_of(struct vb_traffic *t, const struct vb_udp_frame *u, const struct vb_hdr *h)
{
	uint32_t src = vb_traffic_host_of(t, &u->src, false);
	uint32_t dst = vb_traffic_host_of(t, &u->dst, false), ext = vb_hdr_opcode(h)->ext, sqpn, w;

	if (src == NONE || dst == NONE)
		return NONE;
	sqpn = ext & VB_EXT_DETH ? h->deth.sqpn : ext & VB_EXT_DCETH ? h->dc.sqpn : 0;
	w = vb_traffic_way(t, src, dst, h->dqpn, sqpn);
	if (w != NONE && t->way[w].sport == 0)
		t->way[w].sport = u->sport;
	return w;
}

/* The kind of the MAD that a packet to QP1 carries; 0: it is no such packet. */
static uint32_t mad_of(const struct vb_udp_frame *u, uint32_t captured, const struct vb_hdr *h)
{
	uint32_t at = vb_hdr_len(u->payload);

	if (!(vb_hdr_opcode(h)->ext & VB_EXT_DETH) || h->dqpn != 1 || h->deth.qkey != VB_MAD_QKEY ||
	    captured < at + VB_MAD_HDR_LEN)
		return 0;
	return vb_mad_kind(u->payload + at);
}

static int add_packet(struct vb_traffic *t, const struct vb_pcap_packet *p,
		      const struct vb_udp_frame *u, uint32_t captured, const struct vb_hdr *h)
{
	struct seen *s = seen_new(t);
	uint32_t way = s ? way_of(t, u, h) : NONE, op = vb_hdr_opcode(h)->flags;
	bool is_read = op & VB_OP_READ && op & VB_OP_REQUEST;

	if (!s)
		return -ENOMEM;
	if (way == NONE)
		return t->host_cnt == HOSTS_MAX || t->way_cnt == WAYS_MAX ? -E2BIG : -ENOMEM;
	*s = (struct seen){
	    .at = p->time_ns,
	    .key = packet_key(u, captured),
	    .way = way,
	    .mate = t->seen_cnt,
	    .psn = h->psn.v,
	    .more = is_read ? h->reth.len : h->aeth.msn,
	    .bytes = u->payload_len + (vb_gid_is_ipv4(&u->src) ? 28 : 48),
	    .payload = (uint16_t)(u->payload_len - VB_ICRC_LEN - vb_hdr_len(u->payload) - h->pad),
	    .mark = vb_fault_comment_read(p->comment),
	    .opcode = h->opcode,
	    .syndrome = h->aeth.syndrome,
	    .file = (uint8_t)t->file_cnt};
	if (s->more == 0)
		s->more = mad_of(u, captured, h);
	s->flags = (uint8_t)((p->dir == VB_PCAP_SENT ? SEEN_SENT : 0) |
			     (p->dir == VB_PCAP_RECEIVED ? SEEN_RECEIVED : 0) |
			     ((u->traffic_class & VB_ECN_MASK) == VB_ECN_CE ? SEEN_CE : 0) |
			     (h->ack_req ? SEEN_ACK_REQ : 0));
	if (!(op & VB_OP_LAST) && s->payload > t->way[way].mtu)
		t->way[way].mtu = s->payload;
	t->file[t->file_cnt].has_directions |= p->dir != VB_PCAP_DIR_UNKNOWN;
	t->seen_cnt++;
	return vb_traffic_add_rates(t, p->comment, p->time_ns);
}

/* Reads a captured packet. A packet that is not of RoCEv2 is counted only. */
static int take_packet(struct vb_traffic *t, struct vb_pcap_packet *p)
{
	struct vb_traffic_file *of = &t->file[t->file_cnt];
	uint32_t skip = link_header(p), captured;
	struct vb_udp_frame u;
	struct vb_hdr h;

	if (skip > p->len || !vb_udp_frame_read(&u, p->data + skip, p->len - skip, &captured) ||
	    u.dport != VB_ROCE_PORT || captured < VB_BTH_LEN ||
	    u.payload_len < VB_BTH_LEN + VB_ICRC_LEN) {
		of->others++;
		return 0;
	}
	if (u.payload_len > PACKET_LONGEST) {
		of->batches++;
		return 0;
	}
	if (vb_hdr_parse(&h, u.payload, captured, u.payload_len - VB_ICRC_LEN) != VB_VERDICT_OK) {
		of->others++;
		return 0;
	}
	of->packets++;
	return add_packet(t, p, &u, captured, &h);
}

static int read_packets(struct vb_traffic *t, struct vb_pcap_reader *r, char *why, size_t why_size)
{
	struct vb_pcap_packet p;
	int rc;

	while ((rc = vb_pcap_next(r, &p)) > 0) {
		if (t->seen_cnt == VB_TRAFFIC_PACKETS_MAX) {
			t->sums.is_full = true;
			return 0;
		}
		rc = take_packet(t, &p);
		if (rc) {
			snprintf(why, why_size, "offset %" PRIu64 ": %s", r->offset,
				 rc == -E2BIG ? "more hosts or QPs than a page can show"
					      : "no memory");
			return rc;
		}
	}
	if (rc < 0)
		snprintf(why, why_size, "offset %" PRIu64 ": %s", r->offset, r->why);
	return rc;
}

int vb_traffic_read(struct vb_traffic *t, FILE *f, char *why, size_t why_size)
{
	struct vb_traffic_file *of = &t->file[t->file_cnt];
	struct vb_pcap_reader r;
	int rc = vb_pcap_open(&r, f);

	if (rc)
		snprintf(why, why_size, "%s", r.why);
	else
		rc = read_packets(t, &r, why, why_size);
	of->lost = r.dropped;
	of->is_cut = r.is_cut;
	vb_pcap_close(&r);
	if (!rc)
		t->file_cnt++;
	return rc;
}
