/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the bytes of a datagram: headers, payload, pad and ICRC of each packet, one packet behind
 * the other, so that a GSO batch is one run of memory. Payload is copied and read for the
 * ICRC in one go, which costs little more than reading it; and the kernel copies one long run
 * faster than a gather list. IBA 7.8.1, A17
 *
 * Payload is the application's memory, and it may write there while a packet is made: the ICRC is
 * that of the bytes that leave. It may also have taken the memory away since the packet was made:
 * so this runs under the guard (link/guard.h).
 */
#include "link/udp/priv.h"

#include "fault/fault.h"

#include <assert.h>
#include <string.h>

/* For what one field changes, which does not depend on the rest: a CRC is linear. */
static const struct vb_icrc_udp any_ipv4 = {.src.b = {[10] = 0xff, [11] = 0xff}}, any_ipv6;

void vb_udp_icrc_init(struct vb_udp_icrc *c)
{
	struct vb_icrc_udp in = any_ipv4;
	uint32_t zero = vb_icrc_start(&in, 0);

	memset(c, 0, sizeof *c);
	for (uint32_t k = 0; k < 256; k++) {
		in.ip_id = (uint16_t)(k << 8);
		c->id_delta[0][k] = vb_icrc_start(&in, 0) ^ zero;
		in.ip_id = (uint16_t)k;
		c->id_delta[1][k] = vb_icrc_start(&in, 0) ^ zero;
	}
}

struct vb_udp_pseudo vb_udp_pseudo(const struct vb_icrc_udp *in)
{
	return (struct vb_udp_pseudo){.state = vb_icrc_start(in, 0),
				      .is_ipv6 = !vb_gid_is_ipv4(&in->src)};
}

static uint32_t compute_len_delta(bool is_ipv6, uint32_t len)
{
	const struct vb_icrc_udp *any = is_ipv6 ? &any_ipv6 : &any_ipv4;

	return vb_icrc_start(any, len) ^ vb_icrc_start(any, 0);
}

/* Packets are made of words; others, which no sender makes, are not worth a table. */
static uint32_t len_delta(struct vb_udp_icrc *c, bool is_ipv6, uint32_t len)
{
	uint32_t *delta;

	if (len % 4 || len / 4 >= VB_UDP_ICRC_WORDS)
		return compute_len_delta(is_ipv6, len);
	delta = &c->len_delta[is_ipv6][len / 4];
	if (!*delta)
		*delta = compute_len_delta(is_ipv6, len);
	return *delta;
}

uint32_t vb_udp_icrc_start(struct vb_udp_icrc *c, const struct vb_udp_pseudo *p, uint32_t len,
			   uint16_t id)
{
	uint32_t state = p->state ^ len_delta(c, p->is_ipv6, len);

	return p->is_ipv6 ? state : state ^ c->id_delta[0][id >> 8] ^ c->id_delta[1][id & 0xff];
}

/* Headers and payload at @at, for the ICRC to be computed over both at once. */
static uint8_t *put_short(const struct vb_tx *tx, uint8_t *at, uint32_t *crc)
{
	uint8_t *p = at + tx->hdr_len;

	for (uint32_t i = 0; i < tx->seg_cnt; i++) {
		memcpy(p, tx->seg[i].p, tx->seg[i].len);
		p += tx->seg[i].len;
	}
	memset(p, 0, VB_PAD_MAX);
	p += tx->pad;
	*crc = vb_icrc_packet(*crc, at, (size_t)(p - at));
	return p;
}

/* The ICRC is computed as the payload is copied. */
static uint8_t *put_long(const struct vb_tx *tx, uint8_t *at, uint32_t *crc)
{
	uint8_t *p = at + tx->hdr_len + tx->seg[0].len;

	*crc = vb_icrc_packet_copy(*crc, at, tx->hdr_len, tx->seg[0].p, tx->seg[0].len);
	for (uint32_t i = 1; i < tx->seg_cnt; i++) {
		*crc = vb_icrc_copy(*crc, p, tx->seg[i].p, tx->seg[i].len);
		p += tx->seg[i].len;
	}
	memset(p, 0, VB_PAD_MAX);
	*crc = vb_icrc_bytes(*crc, p, tx->pad);
	return p + tx->pad;
}

void vb_udp_frame(struct vb_udp_tx *x, const struct vb_tx *pkt, uint32_t cnt,
		  const struct vb_udp_sending *how, struct vb_udp_icrc *c)
{
	uint8_t *at = how->first ? x->frame_at[how->first] : x->frame;
	uint32_t k = how->first;
	uint16_t id = how->ip_id;

	for (uint32_t i = 0; i < cnt; i++, k++) {
		const struct vb_tx *tx = &pkt[i];
		uint32_t crc = vb_udp_icrc_start(c, how->pseudo, vb_tx_wire_len(tx), id);

		assert(tx->payload_len <= VB_PAYLOAD_MAX);
		x->frame_at[k] = at;
		memcpy(at, tx->hdr, sizeof tx->hdr); /* all of it: a length known beforehand */
		at = (tx->payload_len <= VB_UDP_SHORT_MAX ? put_short : put_long)(tx, at, &crc);
		assert(at == x->frame_at[k] + vb_tx_wire_len(tx) - VB_ICRC_LEN);
		vb_icrc_finish(crc, at);
		at += VB_ICRC_LEN;
		if (how->fate && how->fate[i].damage)
			vb_fault_corrupt(x->frame_at[k], tx->hdr_len, how->fate[i].damage);
		id = (uint16_t)(id + how->step);
	}
	x->frame_at[k] = at;
}
