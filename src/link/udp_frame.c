/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From packets to what a send gathers: headers, payload, pad and ICRC. Long payload is read twice
 * where it is, here for the ICRC and by the kernel, and copied by the kernel alone; short payload
 * is copied here, which is cheaper than to have the kernel gather it. IBA 7.8.1, A17
 *
 * Payload is the application's memory. What it writes to long payload while a packet is being sent
 * may spoil the ICRC, and then the receiver drops the packet and the transport sends it again.
 * Memory that it registered has to stay mapped until deregistered, for this adapter has no pages of
 * its own pinned: unmapped earlier, the send is refused (EFAULT, a discard) if the kernel finds it,
 * and is a SIGSEGV in the application's process if it is found here.
 */
#include "link/udp_priv.h"

#include "fault/fault.h"

#include <string.h>

_Static_assert(VB_UDP_IOV_MAX <= 1024, "UIO_MAXIOV");

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

/* Appends to the gather list; bytes right behind those before join them, if they may. */
static void gather(struct vb_udp_tx *x, const void *p, size_t len, bool may_join)
{
	struct iovec *last = &x->iov[x->iov_cnt];

	if (may_join && x->iov_cnt != 0 && (uint8_t *)last[-1].iov_base + last[-1].iov_len == p) {
		last[-1].iov_len += len;
		return;
	}
	*last = (struct iovec){(void *)(uintptr_t)p, len};
	x->iov_cnt++;
}

/* Ends the packet at @at: pad and ICRC. */
static uint8_t *put_trailer(uint8_t *at, uint32_t pad, uint32_t crc)
{
	vb_icrc_finish(crc, at + pad);
	return at + pad + VB_ICRC_LEN;
}

/* Headers, payload, pad and ICRC in one piece at @at. Returns the place behind it. */
static uint8_t *frame_short(struct vb_udp_tx *x, const struct vb_tx *tx, uint8_t *at, uint32_t crc,
			    bool may_join)
{
	uint8_t *p = at + tx->hdr_len;

	for (uint32_t i = 0; i < tx->seg_cnt; i++) {
		memcpy(p, tx->seg[i].p, tx->seg[i].len);
		p += tx->seg[i].len;
	}
	memset(p, 0, VB_PAD_MAX);
	crc = vb_icrc_packet(crc, at, (size_t)(p - at) + tx->pad);
	p = put_trailer(p, tx->pad, crc);
	gather(x, at, (size_t)(p - at), may_join);
	return p;
}

/* Headers at @at, pad and ICRC behind them, payload from where it is. */
static uint8_t *frame_long(struct vb_udp_tx *x, const struct vb_tx *tx, uint8_t *at, uint32_t crc,
			   bool may_join)
{
	uint8_t *trailer = at + tx->hdr_len, *end;

	gather(x, at, tx->hdr_len, may_join);
	crc = vb_icrc_packet(crc, at, tx->hdr_len);
	for (uint32_t i = 0; i < tx->seg_cnt; i++) {
		crc = vb_icrc_bytes(crc, tx->seg[i].p, tx->seg[i].len);
		gather(x, tx->seg[i].p, tx->seg[i].len, false);
	}
	memset(trailer, 0, VB_PAD_MAX);
	crc = vb_icrc_bytes(crc, trailer, tx->pad);
	end = put_trailer(trailer, tx->pad, crc);
	gather(x, trailer, (size_t)(end - trailer), false);
	return end;
}

void vb_udp_frame(struct vb_udp_tx *x, const struct vb_tx *pkt, uint32_t cnt,
		  const struct vb_udp_sending *how, struct vb_udp_icrc *c)
{
	uint8_t *at = how->first ? x->frame_at[how->first] : x->frame;
	uint32_t k = how->first;
	uint16_t id = how->ip_id;

	if (k == 0)
		x->iov_cnt = 0;
	for (uint32_t i = 0; i < cnt; i++, k++) {
		const struct vb_tx *tx = &pkt[i];
		uint32_t crc = vb_udp_icrc_start(c, how->pseudo, vb_tx_wire_len(tx), id);

		x->frame_at[k] = at;
		x->iov_at[k] = (uint16_t)x->iov_cnt;
		memcpy(at, tx->hdr, sizeof tx->hdr); /* all of it: a length known beforehand */
		at = (tx->payload_len <= VB_UDP_COPY_MAX ? frame_short : frame_long)(
		    x, tx, at, crc, how->is_one && i != 0);
		if (how->fate && how->fate[i].damage)
			vb_fault_corrupt(x->frame_at[k], tx->hdr_len, how->fate[i].damage);
		id = (uint16_t)(id + how->step);
	}
	x->frame_at[k] = at;
	x->iov_at[k] = (uint16_t)x->iov_cnt;
}

uint32_t vb_udp_frame_pieces(const struct vb_udp_tx *x, const struct vb_tx *tx, uint32_t k,
			     struct vb_seg *piece)
{
	const uint8_t *at = x->frame_at[k];
	uint32_t len = (uint32_t)(x->frame_at[k + 1] - at), n = 0;

	if (tx->payload_len <= VB_UDP_COPY_MAX) {
		piece[n++] = (struct vb_seg){at, len};
		return n;
	}
	piece[n++] = (struct vb_seg){at, tx->hdr_len};
	for (uint32_t i = 0; i < tx->seg_cnt; i++)
		piece[n++] = tx->seg[i];
	piece[n++] = (struct vb_seg){at + tx->hdr_len, len - tx->hdr_len};
	return n;
}
