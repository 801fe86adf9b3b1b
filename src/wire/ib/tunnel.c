/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of the datagrams of a tunnel, see tunnel.h. */
#include "wire/ib/tunnel.h"

#include "base/assert.h"
#include "wire/be.h"

#include <errno.h>
#include <string.h>

#define MAGIC 0x56424654u /* "VBFT" */
#define VERSION 2

/* Places in the header. */
enum {
	VERSION_AT = 4,
	KIND_AT = 5,
	HOPS_AT = 6,
	FROM_AT = 8,
	TO_AT = 16,
	SEQ_AT = 24,
	LIFE_AT = 32,
	PEER_LIFE_AT = 36,
};
/* Of what an end says of itself. */
enum {
	WIDTHS_AT = 1,
	SPEEDS_AT = 2,
	PORT_AT = 4,
	GUID_AT = 8,
	TABLE_AT = 16,
	HEARD_TABLE_AT = 20,
	HEARD_CNT_AT = 24,
	NAME_LEN_AT = 28,
	NAME_AT = 36,
};
/* Of a part of a table, and of an entry. */
enum { TOTAL_AT = 4, FIRST_AT = 8, CNT_AT = 12 };
enum { ENTRY_GUID_AT = 8, IPV4_AT = 16, LID_AT = 20, ENTRY_HOPS_AT = 22, ROUTER_AT = 24 };

void vb_tunnel_hdr_emit(const struct vb_tunnel_hdr *h, uint8_t out[VB_TUNNEL_HDR_LEN])
{
	VB_ASSERT_ALL(h->kind != 0 && h->kind < VB_TUNNEL_KIND_END && h->from != 0);
	memset(out, 0, VB_TUNNEL_HDR_LEN);
	be32_put(out, MAGIC);
	out[VERSION_AT] = VERSION;
	out[KIND_AT] = h->kind;
	out[HOPS_AT] = h->hops;
	be64_put(out + FROM_AT, h->from);
	be64_put(out + TO_AT, h->to);
	be64_put(out + SEQ_AT, h->seq);
	be32_put(out + LIFE_AT, h->life);
	be32_put(out + PEER_LIFE_AT, h->peer_life);
}

/* Whether a datagram of this kind may have @len bytes behind its header. */
static bool length_fits(uint8_t kind, uint32_t len)
{
	switch (kind) {
	case VB_TUNNEL_HELLO:
		return len == VB_TUNNEL_HELLO_LEN;
	case VB_TUNNEL_FLOW:
		return len == VB_FLOW_LEN;
	case VB_TUNNEL_TABLE:
		return len >= VB_TUNNEL_CHUNK_LEN;
	default:
		return len >= VB_LRH_LEN + VB_BTH_LEN + VB_ICRC_LEN + VB_VCRC_LEN &&
		       len <= VB_TUNNEL_PACKET_MAX;
	}
}

int vb_tunnel_hdr_parse(struct vb_tunnel_hdr *h, const uint8_t *in, uint32_t len)
{
	if (len < VB_TUNNEL_HDR_LEN || be32_get(in) != MAGIC || in[VERSION_AT] != VERSION)
		return -EBADMSG;
	*h = (struct vb_tunnel_hdr){.kind = in[KIND_AT],
				    .hops = in[HOPS_AT],
				    .from = be64_get(in + FROM_AT),
				    .to = be64_get(in + TO_AT),
				    .seq = be64_get(in + SEQ_AT),
				    .life = be32_get(in + LIFE_AT),
				    .peer_life = be32_get(in + PEER_LIFE_AT)};
	if (h->kind == 0 || h->kind >= VB_TUNNEL_KIND_END || h->from == 0 ||
	    !length_fits(h->kind, len - VB_TUNNEL_HDR_LEN))
		return -EBADMSG;
	return 0;
}

void vb_tunnel_hello_emit(const struct vb_tunnel_hello *h, uint8_t out[VB_TUNNEL_HELLO_LEN])
{
	size_t len = 0;

	while (len < VB_TUNNEL_NAME_MAX && h->name[len])
		len++;
	VB_ASSERT_ALL(h->name[len] == 0 || len == VB_TUNNEL_NAME_MAX);
	memset(out, 0, VB_TUNNEL_HELLO_LEN);
	out[0] = h->polls;
	out[WIDTHS_AT] = h->widths;
	be16_put(out + SPEEDS_AT, h->speeds);
	out[PORT_AT] = h->port;
	be64_put(out + GUID_AT, h->guid);
	be32_put(out + TABLE_AT, h->table);
	be32_put(out + HEARD_TABLE_AT, h->heard_table);
	be32_put(out + HEARD_CNT_AT, h->heard_cnt);
	out[NAME_LEN_AT] = (uint8_t)len;
	memcpy(out + NAME_AT, h->name, len);
}

void vb_tunnel_hello_parse(struct vb_tunnel_hello *h, const uint8_t in[VB_TUNNEL_HELLO_LEN])
{
	size_t len = in[NAME_LEN_AT] < VB_TUNNEL_NAME_MAX ? in[NAME_LEN_AT] : VB_TUNNEL_NAME_MAX;

	*h = (struct vb_tunnel_hello){.polls = in[0] != 0,
				      .widths = in[WIDTHS_AT],
				      .speeds = be16_get(in + SPEEDS_AT),
				      .port = in[PORT_AT],
				      .guid = be64_get(in + GUID_AT),
				      .table = be32_get(in + TABLE_AT),
				      .heard_table = be32_get(in + HEARD_TABLE_AT),
				      .heard_cnt = be32_get(in + HEARD_CNT_AT)};
	for (size_t i = 0; i < len; i++) {
		char c = (char)in[NAME_AT + i];

		h->name[i] = '?';
		if (c >= ' ' && c <= '~')
			h->name[i] = c;
	}
}

void vb_tunnel_chunk_emit(const struct vb_tunnel_chunk *c, uint8_t out[VB_TUNNEL_CHUNK_LEN])
{
	VB_ASSERT_ALL(c->cnt <= VB_TUNNEL_ENTRIES && c->first + c->cnt <= c->total);
	memset(out, 0, VB_TUNNEL_CHUNK_LEN);
	be32_put(out, c->table);
	be32_put(out + TOTAL_AT, c->total);
	be32_put(out + FIRST_AT, c->first);
	be16_put(out + CNT_AT, c->cnt);
}

int vb_tunnel_chunk_parse(struct vb_tunnel_chunk *c, const uint8_t *in, uint32_t len)
{
	if (len < VB_TUNNEL_CHUNK_LEN)
		return -EBADMSG;
	*c = (struct vb_tunnel_chunk){.table = be32_get(in),
				      .total = be32_get(in + TOTAL_AT),
				      .first = be32_get(in + FIRST_AT),
				      .cnt = be16_get(in + CNT_AT)};
	if (c->cnt > VB_TUNNEL_ENTRIES ||
	    len != VB_TUNNEL_CHUNK_LEN + (uint32_t)c->cnt * VB_TUNNEL_ENTRY_LEN ||
	    c->first > c->total || c->cnt > c->total - c->first)
		return -EBADMSG;
	return 0;
}

void vb_tunnel_entry_emit(const struct vb_tunnel_entry *e, uint8_t out[VB_TUNNEL_ENTRY_LEN])
{
	memset(out, 0, VB_TUNNEL_ENTRY_LEN);
	be64_put(out, e->prefix);
	be64_put(out + ENTRY_GUID_AT, e->guid);
	be32_put(out + IPV4_AT, e->ipv4);
	be16_put(out + LID_AT, e->lid);
	out[ENTRY_HOPS_AT] = e->hops;
	be64_put(out + ROUTER_AT, e->router);
}

void vb_tunnel_entry_parse(struct vb_tunnel_entry *e, const uint8_t in[VB_TUNNEL_ENTRY_LEN])
{
	*e = (struct vb_tunnel_entry){.prefix = be64_get(in),
				      .guid = be64_get(in + ENTRY_GUID_AT),
				      .ipv4 = be32_get(in + IPV4_AT),
				      .lid = be16_get(in + LID_AT),
				      .hops = in[ENTRY_HOPS_AT],
				      .router = be64_get(in + ROUTER_AT)};
}
