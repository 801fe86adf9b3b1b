/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BTH and extension headers to and from bytes. Which extension headers a packet has is a column of
 * the opcode table; the order in which they stand is the order of the statements here.
 *
 * Reserved fields are written as zero and not looked at, but for the selective bit. IBA 9.2, 9.3;
 * facts B.2
 */
#include "wire/hdr.h"
#include "base/assert.h"

#include "wire/be.h"

#include <string.h>

/* BTH byte 1, byte 4 and byte 8. */
#define BTH_SE 0x80
#define BTH_MIGREQ 0x40
#define BTH_PAD_SHIFT 4
#define BTH_TVER 0x0f
#define BTH_FECN 0x80
#define BTH_BECN 0x40
#define BTH_ACKREQ 0x80
#define BTH_SELECTIVE 0x40

#define DCCETH_FULL 1 /* flags of the DCCETH */
#define CNP_RESERVED_LEN 16

static const char *const verdict_name[VB_VERDICT_CNT] = {
#define VERDICT(name, text) #name,
#include "wire/verdict.def"
#undef VERDICT
};

const char *vb_verdict_name(enum vb_verdict v)
{
	return (unsigned)v < VB_VERDICT_CNT ? verdict_name[v] : "?";
}

uint32_t vb_hdr_dqpn(const uint8_t *bth)
{
	return be24_get(bth + 5);
}

static void parse_bth(struct vb_hdr *h, const uint8_t *p)
{
	h->opcode = p[0];
	h->solicited = p[1] & BTH_SE;
	h->migrated = p[1] & BTH_MIGREQ;
	h->pad = p[1] >> BTH_PAD_SHIFT & VB_PAD_MAX;
	h->pkey = be16_get(p + 2);
	h->fecn = p[4] & BTH_FECN;
	h->becn = p[4] & BTH_BECN;
	h->dqpn = vb_hdr_dqpn(p);
	h->ack_req = p[8] & BTH_ACKREQ;
	h->selective = p[8] & BTH_SELECTIVE;
	h->psn = vb_psn(be24_get(p + 9));
}

/* Of a DC_CONNECT only: the extension that a disconnect lacks. facts B.8 */
static size_t dcceth_len(const struct vb_hdr *h)
{
	return h->opcode == VB_OPCODE_DC_CONNECT && !h->solicited ? VB_DCCETH_LEN : 0;
}

uint32_t vb_hdr_len(const uint8_t *bth)
{
	const struct vb_hdr h = {.opcode = bth[0], .solicited = bth[1] & BTH_SE};

	return vb_hdr_opcode(&h)->hdr_len + (uint32_t)dcceth_len(&h);
}

static void parse_dc(struct vb_hdr *h, const uint8_t *p)
{
	h->dc.channel = p[0];
	h->dc.sqpn = be24_get(p + 1);
	h->dc.connection = be32_get(p + 4);
	if (!dcceth_len(h))
		return;
	h->dc.qpn = be24_get(p + 8);
	h->dc.full = p[11] & DCCETH_FULL;
	h->dc.first = vb_psn(be24_get(p + 12));
	h->dc.key = be64_get(p + 16);
}

static void parse_ext(struct vb_hdr *h, uint32_t ext, const uint8_t *p)
{
	if (ext & VB_EXT_DCETH) {
		parse_dc(h, p);
		p += 8;
	}
	if (ext & VB_EXT_XRCETH) {
		h->xrc_srqn = be24_get(p + 1);
		p += 4;
	}
	if (ext & VB_EXT_DETH) {
		h->deth.qkey = be32_get(p);
		h->deth.sqpn = be24_get(p + 5);
		p += 8;
	}
	if (ext & VB_EXT_FETH) {
		h->flush = be32_get(p);
		p += 4;
	}
	if (ext & VB_EXT_RETH) {
		h->reth.va = be64_get(p);
		h->reth.rkey = be32_get(p + 8);
		h->reth.len = be32_get(p + 12);
		p += 16;
	}
	if (ext & VB_EXT_ATOMICETH) {
		h->atomic.va = be64_get(p);
		h->atomic.rkey = be32_get(p + 8);
		h->atomic.swap_add = be64_get(p + 12);
		h->atomic.compare = be64_get(p + 20);
		p += 28;
	}
	if (ext & VB_EXT_AETH) {
		h->aeth.syndrome = p[0];
		h->aeth.msn = be24_get(p + 1);
		p += 4;
	}
	if (ext & VB_EXT_ATOMICACKETH) {
		h->atomic_orig = be64_get(p);
		p += 8;
	}
	if (ext & VB_EXT_IMMDT) {
		memcpy(&h->imm, p, 4);
		p += 4;
	}
	if (ext & VB_EXT_IETH)
		h->inv_rkey = be32_get(p);
}

/* An ACK has no payload, but that of a peer with selective repeat may have a report. */
static bool may_report(const struct vb_hdr *h, size_t padded)
{
	return h->selective && (h->opcode & VB_OP_MASK) == VB_OP_ACK && padded <= VB_REPORT_MAX;
}

enum vb_verdict vb_hdr_parse(struct vb_hdr *h, const uint8_t *buf, size_t avail, size_t len)
{
	size_t there = avail < len ? avail : len;
	const struct vb_opcode_info *op;

	*h = (struct vb_hdr){.opcode = there > 0 ? buf[0] : 0};
	if (there < VB_BTH_LEN)
		return VB_VERDICT_TRUNCATED;
	parse_bth(h, buf);
	op = vb_hdr_opcode(h);
	if (op->name == NULL)
		return VB_VERDICT_OPCODE;
	if (buf[1] & BTH_TVER)
		return VB_VERDICT_TVER;
	if (there < op->hdr_len + dcceth_len(h))
		return VB_VERDICT_TRUNCATED;

	/* Payload and pad together are whole words, and the pad is never more than them. */
	size_t padded = len - op->hdr_len - dcceth_len(h);

	if (padded % 4 != 0 || h->pad > padded)
		return VB_VERDICT_PAD;
	if (padded != 0 && !(op->flags & VB_OP_PAYLOAD) && !may_report(h, padded))
		return VB_VERDICT_PAD;
	VB_ASSERT_ALL(op->hdr_len >= VB_BTH_LEN && op->hdr_len + dcceth_len(h) <= VB_HDR_MAX);
	parse_ext(h, op->ext, buf + VB_BTH_LEN);
	return VB_VERDICT_OK;
}

static void emit_bth(const struct vb_hdr *h, uint8_t *p)
{
	p[0] = h->opcode;
	p[1] = (uint8_t)((h->solicited ? BTH_SE : 0) | (h->migrated ? BTH_MIGREQ : 0) |
			 (h->pad & VB_PAD_MAX) << BTH_PAD_SHIFT);
	be16_put(p + 2, h->pkey);
	p[4] = (uint8_t)((h->fecn ? BTH_FECN : 0) | (h->becn ? BTH_BECN : 0));
	be24_put(p + 5, h->dqpn);
	p[8] = (uint8_t)((h->ack_req ? BTH_ACKREQ : 0) | (h->selective ? BTH_SELECTIVE : 0));
	be24_put(p + 9, h->psn.v);
}

static void emit_dc(const struct vb_hdr *h, uint8_t *p)
{
	p[0] = h->dc.channel;
	be24_put(p + 1, h->dc.sqpn);
	be32_put(p + 4, h->dc.connection);
	if (!dcceth_len(h))
		return;
	VB_ASSERT_ALL(h->dc.qpn <= 0xffffff && h->dc.first.v <= VB_PSN_MASK);
	be24_put(p + 8, h->dc.qpn);
	p[11] = h->dc.full ? DCCETH_FULL : 0;
	be24_put(p + 12, h->dc.first.v);
	p[15] = 0;
	be64_put(p + 16, h->dc.key);
}

static void emit_ext(const struct vb_hdr *h, uint32_t ext, uint8_t *p)
{
	const uint8_t *end = p + vb_hdr_opcode(h)->hdr_len - VB_BTH_LEN;

	if (ext & VB_EXT_DCETH) {
		emit_dc(h, p);
		p += 8;
	}
	if (ext & VB_EXT_XRCETH) {
		be32_put(p, h->xrc_srqn & 0xffffff);
		p += 4;
	}
	if (ext & VB_EXT_DETH) {
		be32_put(p, h->deth.qkey);
		be32_put(p + 4, h->deth.sqpn & 0xffffff);
		p += 8;
	}
	if (ext & VB_EXT_FETH) {
		be32_put(p, h->flush);
		p += 4;
	}
	if (ext & VB_EXT_RETH) {
		be64_put(p, h->reth.va);
		be32_put(p + 8, h->reth.rkey);
		be32_put(p + 12, h->reth.len);
		p += 16;
	}
	if (ext & VB_EXT_ATOMICETH) {
		be64_put(p, h->atomic.va);
		be32_put(p + 8, h->atomic.rkey);
		be64_put(p + 12, h->atomic.swap_add);
		be64_put(p + 20, h->atomic.compare);
		p += 28;
	}
	if (ext & VB_EXT_AETH) {
		VB_ASSERT_ALL(h->aeth.msn <= 0xffffff);
		p[0] = h->aeth.syndrome;
		be24_put(p + 1, h->aeth.msn);
		p += 4;
	}
	if (ext & VB_EXT_ATOMICACKETH) {
		be64_put(p, h->atomic_orig);
		p += 8;
	}
	if (ext & VB_EXT_IMMDT) {
		memcpy(p, &h->imm, 4);
		p += 4;
	}
	if (ext & VB_EXT_IETH) {
		be32_put(p, h->inv_rkey);
		p += 4;
	}
	if (ext & VB_EXT_CNP) {
		memset(p, 0, CNP_RESERVED_LEN);
		p += CNP_RESERVED_LEN;
	}
	/* The columns of the table say the same. */
	VB_ASSERT_ALL(p == end);
	(void)p;
	(void)end;
}

size_t vb_hdr_emit(const struct vb_hdr *h, uint8_t *buf)
{
	const struct vb_opcode_info *op = vb_hdr_opcode(h);

	VB_ASSERT_ALL(op->name && op->hdr_len + dcceth_len(h) <= VB_HDR_MAX);
	VB_ASSERT_ALL(h->pkey <= 0xffff && h->dqpn <= 0xffffff && h->psn.v <= VB_PSN_MASK);
	emit_bth(h, buf);
	emit_ext(h, op->ext, buf + VB_BTH_LEN);
	return op->hdr_len + dcceth_len(h);
}
