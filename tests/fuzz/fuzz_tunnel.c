/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any datagrams to the end of a tunnel, and what they have in them to a port, to the management of
 * a subnet and to the table of addresses: whole ones of the other end, those of strangers, with
 * right CRCs and with any. A sender that does not name the number of this end changes nothing.
 * Packets that are taken have the same meaning when they are written and read again; nothing is
 * lost of the memory of frames. LNK-05, LNK-09, LNK-13, LNK-20
 *
 * Input: steps: a byte for the kind and what the kind needs (absent bytes are 0).
 */
#include "fabric/ib/node/net.h"
#include "fabric/tunnel/packet.h"
#include "fabric/tunnel/table.h"
#include "fabric/tunnel/tunnel.h"
#include "input.h"
#include "mgmt/subnet.h"
#include "wire/ib/vcrc.h"
#include "wire/icrc.h"

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len);

#define OWN UINT64_C(0x1234567890abcdef)
#define PEER UINT64_C(0x1111)
#define BODY_MAX 400u

struct world {
	struct fuzz_input in;
	struct vb_ib_net net;
	struct vb_ib_hca hca;
	struct vb_tunnel end;
	struct vb_tunnel_table table;
	uint64_t seq;
	vb_time now;
};

static void *fuzz_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void fuzz_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static void packet_take(struct world *w, const uint8_t *body, uint32_t len)
{
	struct vb_frame *f = vb_frame_pool_take(&w->net.pool), *again;
	uint8_t bytes[VB_TUNNEL_PACKET_MAX];
	uint32_t n;

	if (!f)
		return;
	if (vb_tunnel_packet_parse(f, body, len)) {
		vb_frame_pool_give(&w->net.pool, f);
		return;
	}
	again = vb_frame_pool_take(&w->net.pool);
	if (again) {
		n = vb_tunnel_packet_emit(f, bytes);
		require(n == len && vb_tunnel_packet_parse(again, bytes, n) == 0);
		require(again->len == f->len && again->path.dlid == f->path.dlid &&
			memcmp(again->bytes, f->bytes, f->len) == 0);
		vb_frame_pool_give(&w->net.pool, again);
	}
	vb_ib_net_arrive(&w->net, 0, f);
}

static void mad_take(const uint8_t *body, uint32_t len)
{
	struct vb_subnet_mad m, again;
	uint8_t bytes[VB_SUBNET_PACKET_MAX];

	if (vb_subnet_mad_parse(&m, body, len))
		return;
	m.vl = m.on_qp0 ? VB_VL_MGMT : 0;
	require(vb_subnet_mad_emit(&m, bytes) == len);
	require(vb_subnet_mad_parse(&again, bytes, len) == 0);
	require(memcmp(again.mad, m.mad, sizeof m.mad) == 0 && again.dst_qp == m.dst_qp &&
		again.dlid == m.dlid && again.has_grh == m.has_grh);
}

static void datagram_take(struct world *w, const uint8_t *bytes, uint32_t len)
{
	const struct vb_tunnel before = w->end;
	const uint8_t *body = bytes + VB_TUNNEL_HDR_LEN;
	struct vb_tunnel_hdr h;
	uint32_t events = 0;
	enum vb_tunnel_verdict v = vb_tunnel_receive(&w->end, bytes, len, &h, &events);

	if (v == VB_TUNNEL_MALFORMED || v == VB_TUNNEL_FOREIGN)
		require(events == 0 && w->end.peer == before.peer && w->end.heard == before.heard &&
			w->end.is_met == before.is_met && w->end.peer_life == before.peer_life);
	if (events & VB_TUNNEL_LOST)
		vb_tunnel_table_clear(&w->table, true);
	if (v != VB_TUNNEL_COUNTS)
		return;
	len -= VB_TUNNEL_HDR_LEN;
	if (h.kind == VB_TUNNEL_PACKET)
		packet_take(w, body, len);
	else if (h.kind == VB_TUNNEL_MAD)
		mad_take(body, len);
	else if (h.kind == VB_TUNNEL_FLOW)
		(void)vb_ib_net_arrive_flow(&w->net, 0, body);
	else if (h.kind == VB_TUNNEL_TABLE)
		(void)vb_tunnel_table_hear(&w->table, body, len);
	require(w->table.theirs.cnt <= VB_TUNNEL_TABLE_MAX &&
		w->table.coming.cnt <= w->table.coming.room);
}

/* Length and CRCs as they have to be. */
static void packet_mend(uint8_t *p, uint32_t len)
{
	uint32_t at = VB_LRH_LEN, body, hdr_len, crc;

	p[1] = (uint8_t)((p[1] & ~3) | (p[0] & 1 ? VB_LNH_GLOBAL : VB_LNH_LOCAL));
	p[0] &= 0xf0;
	p[4] = (uint8_t)((len - 2) / 4 >> 8);
	p[5] = (uint8_t)((len - 2) / 4);
	if ((p[1] & 3) == VB_LNH_GLOBAL && len > at + VB_GRH_LEN + VB_BTH_LEN + 6) {
		uint32_t pay = len - 2 - at - VB_GRH_LEN;

		p[at] = 0x60;
		p[at + 4] = (uint8_t)(pay >> 8);
		p[at + 5] = (uint8_t)pay;
		p[at + 6] = 0x1b;
		at += VB_GRH_LEN;
	}
	body = len - at - VB_ICRC_LEN - VB_VCRC_LEN;
	p[at + 1] &= 0xf0; /* the version of the transport */
	hdr_len = vb_hdr_len(p + at);
	if (hdr_len < VB_BTH_LEN || hdr_len > body)
		hdr_len = VB_BTH_LEN;
	crc = at > VB_LRH_LEN ? vb_icrc_start_global(p + VB_LRH_LEN) : vb_icrc_start_local(p);
	crc = vb_icrc_headers(crc, p + at, hdr_len);
	crc = vb_icrc_bytes(crc, p + at + hdr_len, body - hdr_len);
	vb_icrc_finish(crc, p + at + body);
	vb_vcrc_put(p + len - 2, vb_vcrc(p, len - 2));
}

/* One of the other end, which knows our number: any body, or one that is mended. */
static void peer_step(struct world *w, uint8_t kind, bool is_mended)
{
	uint8_t bytes[VB_TUNNEL_HDR_LEN + BODY_MAX];
	uint32_t len = take_byte(&w->in) * 4u % (BODY_MAX - 40) + 26;
	struct vb_tunnel_hdr h = {.kind = kind,
				  .from = PEER + (take_byte(&w->in) & 1),
				  .to = OWN,
				  .seq = ++w->seq,
				  .life = 1u + (take_byte(&w->in) == 0xff),
				  .peer_life = w->end.life};

	if (kind == VB_TUNNEL_HELLO)
		len = VB_TUNNEL_HELLO_LEN;
	if (kind == VB_TUNNEL_FLOW)
		len = VB_FLOW_LEN;
	if (kind == VB_TUNNEL_MAD)
		len = len & 4 ? VB_SMP_LEN : VB_SUBNET_PACKET_MAX;
	vb_tunnel_hdr_emit(&h, bytes);
	take_bytes(&w->in, bytes + VB_TUNNEL_HDR_LEN, len);
	if (is_mended && (kind == VB_TUNNEL_PACKET || kind == VB_TUNNEL_MAD))
		packet_mend(bytes + VB_TUNNEL_HDR_LEN, len);
	if (is_mended && kind == VB_TUNNEL_HELLO)
		bytes[VB_TUNNEL_HDR_LEN] = 1;
	datagram_take(w, bytes, VB_TUNNEL_HDR_LEN + len);
}

static void stranger_step(struct world *w)
{
	uint8_t bytes[VB_TUNNEL_HDR_LEN + BODY_MAX];
	uint32_t len = take_byte(&w->in) % (VB_TUNNEL_HDR_LEN + BODY_MAX / 2);

	take_bytes(&w->in, bytes, len);
	datagram_take(w, bytes, len);
}

static void net_step(struct world *w)
{
	struct vb_frame *f;

	w->now += (vb_dur)take_byte(&w->in) * VB_USEC;
	(void)vb_ib_net_run(&w->net, w->now, 1000);
	while ((f = vb_ib_net_poll_away(&w->net)) != NULL)
		vb_frame_pool_give(&w->net.pool, f);
	while (vb_ib_hca_peek(&w->hca))
		vb_ib_net_take(&w->net, 0);
}

static void one_step(struct world *w)
{
	uint8_t kind = take_byte(&w->in), hello[VB_TUNNEL_HDR_LEN + VB_TUNNEL_HELLO_LEN];

	switch (kind & 7) {
	case 0:
		stranger_step(w);
		break;
	case 1:
	case 2:
	case 3:
	case 4:
		peer_step(w, (uint8_t)(1 + (kind >> 3) % 5), kind & 4);
		break;
	case 5:
		(void)vb_tunnel_tick(&w->end, kind >> 4);
		break;
	case 6:
		net_step(w);
		break;
	default:
		if (kind & 8)
			vb_tunnel_new_life(&w->end);
		while (vb_tunnel_poll_hello(&w->end, hello))
			;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len)
{
	const struct vb_ib_net_config cfg = {.port_cnt = 1,
					     .packets_max = 512,
					     .payload_max = VB_PAYLOAD_MAX,
					     .alloc = fuzz_alloc,
					     .free = fuzz_free};
	struct vb_ib_port_config c = {.mtu = 4096, .data_cnt = 4, .symbol_ps = 4000};
	struct world w = {.in = {in, len}, .table = {.alloc = fuzz_alloc, .free = fuzz_free}};

	for (unsigned vl = 0; vl < VB_VL_CNT; vl++)
		c.capacity[vl] = 100;
	require(vb_ib_net_open(&w.net, &cfg) == 0);
	vb_ib_net_add_hca(&w.net, &w.hca, 0, &c);
	vb_ib_net_set_rate(&w.net, 0, UINT64_C(8000000000));
	vb_ib_net_set_away(&w.net, 0, true, 100);
	vb_ib_net_set_state(&w.net, 0, VB_LINK_ACTIVE, false);
	vb_tunnel_init(&w.end, OWN);
	w.end.mine.polls = true;
	while (w.in.len > 0)
		one_step(&w);
	w.now += VB_SEC;
	net_step(&w);
	require(w.net.pool.used == 0 && w.net.pool.flow == 0);
	vb_ib_net_close(&w.net);
	vb_tunnel_table_clear(&w.table, false);
	return 0;
}
