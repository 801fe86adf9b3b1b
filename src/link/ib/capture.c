/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of a fabric in the ring of a capture, and read back from there, see capture.h. */
#include "link/ib/capture.h"

#include "link/guard.h"
#include "wire/hdr.h"
#include "wire/ib/flow.h"
#include "wire/ib/vcrc.h"
#include "wire/icrc.h"

#include <string.h>

/* Of one record: with the longest packet they fit into it. A packet with more links has more
 * records. */
#define HOPS_PER_RECORD 512u
#define GRH_HOP_LIMIT_AT 7

_Static_assert(sizeof(struct vb_capture_rec) + sizeof(struct vb_ib_capture_head) +
		       HOPS_PER_RECORD * sizeof(struct vb_ib_hop) + VB_IB_CAPTURED_MAX <=
		   VB_CAPTURE_REC_MAX,
	       "a record has room for it");

void vb_ib_capture_put(struct vb_capture_ring *ring, const struct vb_ib_hop *hop, uint32_t cnt,
		       const struct vb_ib_capture_packet *p)
{
	for (uint32_t i = 0; i < cnt; i += HOPS_PER_RECORD) {
		uint32_t n = cnt - i < HOPS_PER_RECORD ? cnt - i : HOPS_PER_RECORD;
		const struct vb_ib_capture_head head = {.hop_cnt = n};
		const struct vb_seg seg[] = {{&head, sizeof head},
					     {hop + i, (uint32_t)(n * sizeof *hop)},
					     {p->bytes, p->len}};
		struct vb_capture_rec rec = {.time_ns = p->time_ns, .mark = p->mark};

		vb_capture_put(ring, &rec, seg, sizeof seg / sizeof seg[0]);
	}
}

/* The packet as its port sends it, but for the lane, LRH through ICRC. Returns its length. */
static uint32_t packet_emit(const struct vb_tx *tx, uint8_t *out)
{
	bool has_grh = vb_path_has_grh(tx->path);
	uint32_t at = VB_LRH_LEN + (has_grh ? VB_GRH_LEN : 0), len = vb_tx_wire_len(tx), crc;
	uint8_t *payload = out + at + tx->hdr_len;
	const struct vb_lrh lrh = {.sl = tx->path->sl,
				   .lnh = has_grh ? VB_LNH_GLOBAL : VB_LNH_LOCAL,
				   .dlid = tx->path->dlid,
				   .slid = tx->path->slid,
				   .words = (uint16_t)((at + len) / 4)};

	vb_lrh_emit(&lrh, out);
	if (has_grh)
		vb_path_emit_grh(tx->path, len, out + VB_LRH_LEN);
	memcpy(out + at, tx->hdr, tx->hdr_len);
	/* The program may have taken its memory away. */
	if (vb_guard_copy_payload(payload, tx))
		memset(payload, 0, tx->payload_len);
	memset(payload + tx->payload_len, 0, tx->pad);
	crc = has_grh ? vb_icrc_start_global(out + VB_LRH_LEN) : vb_icrc_start_local(out);
	crc = vb_icrc_headers(crc, out + at, tx->hdr_len);
	crc = vb_icrc_bytes(crc, payload, tx->payload_len + tx->pad);
	vb_icrc_finish(crc, payload + tx->payload_len + tx->pad);
	return at + len;
}

static void packets_put(struct vb_capture_ring *ring, const struct vb_ib_hop *hop, uint32_t cnt,
			const struct vb_tx_batch *b, uint32_t i, uint64_t time_ns)
{
	uint8_t bytes[VB_IB_CAPTURED_MAX];
	const struct vb_ib_capture_packet p = {.bytes = bytes,
					       .len = packet_emit(&b->pkt[i], bytes),
					       .time_ns = time_ns,
					       .mark = b->fate ? b->fate[i].mark : 0};

	vb_ib_capture_put(ring, hop, cnt, &p);
}

void vb_ib_capture_route(struct vb_capture_ring *ring, const struct vb_ib_route *r,
			 const struct vb_tx_batch *b, uint32_t from, uint32_t to, uint64_t time_ns)
{
	for (uint32_t i = from; r->hop_cnt && i < to; i++)
		packets_put(ring, r->hop, r->hop_cnt, b, i, time_ns);
}

void vb_ib_capture_tree(struct vb_capture_ring *ring, const struct vb_ib_tree *t,
			const struct vb_tx_batch *b, uint32_t from, uint32_t to, uint64_t time_ns)
{
	struct vb_ib_hop hop[HOPS_PER_RECORD];

	for (uint32_t i = from; i < to; i++) {
		uint32_t cnt = 0;

		for (uint32_t k = 0; k < t->branch_cnt; k++) {
			if (t->branch[k].hop.out != VB_IB_NOWHERE)
				hop[cnt++] = t->branch[k].hop;
			if (cnt == HOPS_PER_RECORD || (cnt && k + 1 == t->branch_cnt)) {
				packets_put(ring, hop, cnt, b, i, time_ns);
				cnt = 0;
			}
		}
	}
}

/* All headers that are written again are there. */
static bool has_headers(const struct vb_ib_captured *c)
{
	struct vb_lrh lrh;

	if (c->len < VB_LRH_LEN || c->len > VB_IB_CAPTURED_MAX - VB_VCRC_LEN)
		return false;
	vb_lrh_parse(&lrh, c->packet);
	return lrh.lnh != VB_LNH_GLOBAL || c->len >= VB_LRH_LEN + VB_GRH_LEN;
}

bool vb_ib_captured_parse(struct vb_ib_captured *c, const uint8_t *bytes, uint32_t len)
{
	struct vb_ib_capture_head head;
	size_t before;

	if (len < sizeof head)
		return false;
	memcpy(&head, bytes, sizeof head);
	before = sizeof head + (size_t)head.hop_cnt * sizeof(struct vb_ib_hop);
	if (head.hop_cnt == 0 || head.hop_cnt > HOPS_PER_RECORD || before > len)
		return false;
	*c = (struct vb_ib_captured){.hops = bytes + sizeof head,
				     .packet = bytes + before,
				     .hop_cnt = head.hop_cnt,
				     .len = len - (uint32_t)before};
	return vb_ib_captured_is_flow(c) || has_headers(c);
}

struct vb_ib_hop vb_ib_captured_hop(const struct vb_ib_captured *c, uint32_t i)
{
	struct vb_ib_hop hop;

	memcpy(&hop, c->hops + (size_t)i * sizeof hop, sizeof hop);
	return hop;
}

bool vb_ib_captured_is_flow(const struct vb_ib_captured *c)
{
	return c->len == VB_FLOW_LEN;
}

uint32_t vb_ib_captured_emit(const struct vb_ib_captured *c, const struct vb_ib_hop *hop,
			     uint8_t *out)
{
	struct vb_lrh lrh;

	memcpy(out, c->packet, c->len);
	if (vb_ib_captured_is_flow(c))
		return c->len;
	vb_lrh_parse(&lrh, out);
	lrh.vl = hop->vl;
	if (hop->routers && lrh.lnh == VB_LNH_GLOBAL) {
		lrh.slid = hop->slid;
		lrh.dlid = hop->dlid;
		out[VB_LRH_LEN + GRH_HOP_LIMIT_AT] -= hop->routers;
	}
	vb_lrh_emit(&lrh, out);
	vb_vcrc_put(out + c->len, vb_vcrc(out, c->len));
	return c->len + VB_VCRC_LEN;
}
