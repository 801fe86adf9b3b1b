/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parsing and writing of BTH and extension headers: field positions by hand-made bytes, refusals,
 * round trips of random headers and of captured packets. IBA 9.2, 9.3; facts B.2
 */
#include "cmocka_env.h"
#include "packets.h"
#include "wire/hdr.h"

#include "base/rng.h"

#include <stdlib.h>

static void hdr_parse__bth_fields(void **state)
{
	static const uint8_t pkt[] = {0x04, 0xe0, 0x80, 0x01, 0xc0, 0x12, 0x34, 0x56,
				      0x80, 0xab, 0xcd, 0xef, 'a',  'b',  0,    0};
	struct vb_hdr h;

	(void)state;
	assert_int_equal(vb_hdr_parse(&h, pkt, sizeof pkt, sizeof pkt), VB_VERDICT_OK);
	assert_int_equal(h.opcode, 0x04);
	assert_true(h.solicited && h.migrated && h.fecn && h.becn && h.ack_req);
	assert_int_equal(h.pad, 2);
	assert_int_equal(h.pkey, 0x8001);
	assert_int_equal(h.dqpn, 0x123456);
	assert_int_equal(h.psn.v, 0xabcdef);
}

/* Each flag is its own bit: one set at a time changes one bit on the wire. */
static void hdr_emit__one_bit_per_flag(void **state)
{
	static const struct {
		unsigned at;
		uint8_t bit;
	} place[] = {{1, 0x80}, {1, 0x40}, {4, 0x80}, {4, 0x40}, {8, 0x80}, {8, 0x40}};
	uint8_t zero[VB_HDR_MAX], buf[VB_HDR_MAX];

	(void)state;
	vb_hdr_emit(&(struct vb_hdr){.opcode = 0x04}, zero);
	for (unsigned i = 0; i < 6; i++) {
		struct vb_hdr h = {.opcode = 0x04,
				   .solicited = i == 0,
				   .migrated = i == 1,
				   .fecn = i == 2,
				   .becn = i == 3,
				   .ack_req = i == 4,
				   .selective = i == 5};

		assert_int_equal(vb_hdr_emit(&h, buf), 12);
		buf[place[i].at] ^= place[i].bit;
		assert_memory_equal(buf, zero, 12);
	}
}

/* IBT-42: swap_add stands before compare. */
static void hdr_emit__atomic_eth_order(void **state)
{
	struct vb_hdr h = {.opcode = 0x13,
			   .atomic = {.va = 0x0102030405060708,
				      .swap_add = 0x1112131415161718,
				      .compare = 0x2122232425262728,
				      .rkey = 0x0a0b0c0d}};
	static const uint8_t want[28] = {1,    2,    3,    4,    5,    6,    7,    8,    0x0a, 0x0b,
					 0x0c, 0x0d, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
					 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28};
	uint8_t buf[VB_HDR_MAX];

	(void)state;
	assert_int_equal(vb_hdr_emit(&h, buf), 40);
	assert_memory_equal(buf + 12, want, sizeof want);
}

/* The XRC form of a WRITE with immediate: XRCETH, RETH, ImmDt. IBT-22 */
static void hdr_emit__xrceth_reth_immdt(void **state)
{
	struct vb_hdr h = {.opcode = 0xab,
			   .xrc_srqn = 0x998877,
			   .reth = {.va = 0x0102030405060708, .rkey = 0x31323334, .len = 0x41}};
	static const uint8_t want[24] = {0,    0x99, 0x88, 0x77, 1, 2, 3, 4,    5,   6,   7,   8,
					 0x31, 0x32, 0x33, 0x34, 0, 0, 0, 0x41, 'i', 'm', 'm', '!'};
	uint8_t buf[VB_HDR_MAX];

	(void)state;
	memcpy(&h.imm, "imm!", 4); /* opaque: the bytes go out as they are */
	assert_int_equal(vb_hdr_emit(&h, buf), 36);
	assert_memory_equal(buf + 12, want, sizeof want);
}

static void hdr_emit__deth_aeth_ieth(void **state)
{
	static const uint8_t deth[8] = {0x80, 1, 0, 0, 0, 0x12, 0x34, 0x56};
	static const uint8_t aeth[12] = {0x62, 0xab, 0xcd, 0xef, 1, 2, 3, 4, 5, 6, 7, 8};
	static const uint8_t ieth[4] = {0xde, 0xad, 0xbe, 0xef};
	uint8_t buf[VB_HDR_MAX];

	(void)state;
	vb_hdr_emit(&(struct vb_hdr){.opcode = 0x64, .deth = {0x80010000, 0x123456}}, buf);
	assert_memory_equal(buf + 12, deth, sizeof deth);
	vb_hdr_emit(&(struct vb_hdr){.opcode = 0x12,
				     .aeth = {VB_NAK_REMOTE_ACCESS, 0xabcdef},
				     .atomic_orig = 0x0102030405060708},
		    buf);
	assert_memory_equal(buf + 12, aeth, sizeof aeth);
	vb_hdr_emit(&(struct vb_hdr){.opcode = 0x17, .inv_rkey = 0xdeadbeef}, buf);
	assert_memory_equal(buf + 12, ieth, sizeof ieth);
}

/* IBT-10: five NAK codes in one class, RNR NAK in a class of its own. */
static void syndrome__classes(void **state)
{
	static const uint8_t nak[] = {VB_NAK_PSN_SEQ, VB_NAK_INVALID_REQUEST, VB_NAK_REMOTE_ACCESS,
				      VB_NAK_REMOTE_OP, VB_NAK_INVALID_RD};

	(void)state;
	for (uint8_t i = 0; i < 5; i++) {
		assert_int_equal(nak[i] & VB_SYNDROME_CLASS, VB_SYNDROME_NAK);
		assert_int_equal(nak[i] & VB_SYNDROME_VALUE, i);
	}
	assert_int_equal(VB_SYNDROME_RNR & VB_SYNDROME_CLASS, 0x20);
}

static void hdr_parse__refuses_every_truncation(void **state)
{
	(void)state;
	for (unsigned op = 0; op < 256; op++) {
		const uint8_t bth[2] = {(uint8_t)op};
		size_t full = vb_hdr_len(bth);
		struct vb_hdr h = {.opcode = (uint8_t)op}, back;

		if (vb_opcode[op].name == NULL)
			continue;
		for (size_t len = 0; len <= full; len++) {
			/* Exactly as much memory as claimed, so that a sanitizer sees any excess.
			 */
			uint8_t whole[VB_HDR_MAX], *exact = malloc(len + 1);

			assert_non_null(exact);
			vb_hdr_emit(&h, whole);
			memcpy(exact + 1, whole, len);
			enum vb_verdict v = vb_hdr_parse(&back, exact + 1, len, len);

			assert_int_equal(v, len < full ? VB_VERDICT_TRUNCATED : VB_VERDICT_OK);
			/* Bytes that the packet claims and that are not there do not help. */
			v = vb_hdr_parse(&back, exact + 1, len, full);
			assert_int_equal(v, len < full ? VB_VERDICT_TRUNCATED : VB_VERDICT_OK);
			free(exact);
		}
	}
}

static void hdr_parse__refuses_unknown_opcodes_and_versions(void **state)
{
	uint8_t buf[VB_HDR_MAX] = {0};
	struct vb_hdr h;

	(void)state;
	buf[7] = 0x42;
	for (unsigned op = 0; op < 256; op++) {
		buf[0] = (uint8_t)op;
		enum vb_verdict v = vb_hdr_parse(
		    &h, buf, sizeof buf, vb_opcode[op].name != NULL ? vb_hdr_len(buf) : sizeof buf);

		assert_int_equal(v, vb_opcode[op].name != NULL ? VB_VERDICT_OK : VB_VERDICT_OPCODE);
		assert_int_equal(h.opcode, op);
		assert_int_equal(h.dqpn, 0x42);
	}
	for (uint8_t tver = 1; tver < 16; tver++) {
		buf[0] = 0x04;
		buf[1] = tver;
		assert_int_equal(vb_hdr_parse(&h, buf, 12, 12), VB_VERDICT_TVER);
	}
}

/* A report may stand behind an ACK of a peer with selective repeat, and behind nothing else. */
static void hdr_parse__report_behind_ack(void **state)
{
	uint8_t buf[256] = {0x11};
	struct vb_hdr h;

	(void)state;
	buf[8] = 0x40;
	assert_int_equal(vb_hdr_parse(&h, buf, sizeof buf, 16 + VB_REPORT_MAX), VB_VERDICT_OK);
	assert_true(h.selective);
	assert_int_equal(vb_hdr_parse(&h, buf, sizeof buf, 16 + VB_REPORT_MAX + 4), VB_VERDICT_PAD);
	assert_int_equal(vb_hdr_parse(&h, buf, sizeof buf, 16 + 3), VB_VERDICT_PAD);
	buf[8] = 0;
	assert_int_equal(vb_hdr_parse(&h, buf, sizeof buf, 16 + 8), VB_VERDICT_PAD);
	buf[0] = 0x12; /* an atomic ACK */
	buf[8] = 0x40;
	assert_int_equal(vb_hdr_parse(&h, buf, sizeof buf, 24 + 8), VB_VERDICT_PAD);
}

static void hdr_parse__pad_and_payload_must_fit(void **state)
{
	uint8_t buf[64];
	struct vb_hdr h;

	(void)state;
	memset(buf, 0, sizeof buf);
	for (uint8_t pad = 0; pad < 4; pad++)
		for (size_t payload = 0; payload <= 12; payload++) {
			bool fits = payload % 4 == 0 && pad <= payload;

			buf[0] = 0x04;
			buf[1] = (uint8_t)(pad << 4);
			assert_int_equal(vb_hdr_parse(&h, buf, sizeof buf, 12 + payload),
					 fits ? VB_VERDICT_OK : VB_VERDICT_PAD);
			/* An ACK carries nothing behind its headers. */
			buf[0] = 0x11;
			fits = payload == 0 && pad == 0;
			assert_int_equal(vb_hdr_parse(&h, buf, sizeof buf, 16 + payload),
					 fits ? VB_VERDICT_OK : VB_VERDICT_PAD);
		}
}

/* In simulation a packet may have a length without bytes. */
static void hdr_parse__payload_may_be_absent(void **state)
{
	uint8_t buf[VB_HDR_MAX];
	struct vb_hdr h = {.opcode = 0x06, .reth = {.len = 1 << 20}}, back;
	size_t n = vb_hdr_emit(&h, buf);

	(void)state;
	assert_int_equal(vb_hdr_parse(&back, buf, n, n + 4096), VB_VERDICT_OK);
	assert_int_equal(back.reth.len, 1 << 20);
}

static void random_hdr(struct vb_rng *r, uint8_t opcode, struct vb_hdr *h)
{
	uint32_t ext = vb_opcode[opcode].ext;
	uint32_t bits = (uint32_t)vb_rng_next(r);

	*h = (struct vb_hdr){.opcode = opcode,
			     .solicited = bits & 1,
			     .migrated = bits & 2,
			     .ack_req = bits & 4,
			     .fecn = bits & 8,
			     .becn = bits & 16,
			     .selective = bits & 128,
			     .pkey = (uint16_t)(bits >> 16),
			     .dqpn = vb_rng_below(r, 1u << 24),
			     .psn = vb_psn((uint32_t)vb_rng_next(r))};
	if (vb_opcode[opcode].flags & VB_OP_PAYLOAD)
		h->pad = bits >> 5 & 3;
	if (ext & VB_EXT_XRCETH)
		h->xrc_srqn = vb_rng_below(r, 1u << 24);
	if (ext & VB_EXT_DCETH) {
		h->dc.sqpn = vb_rng_below(r, 1u << 24);
		h->dc.connection = (uint32_t)vb_rng_next(r);
	}
	if (opcode == VB_OPCODE_DC_CONNECT && !h->solicited) {
		h->dc.full = bits & 256;
		h->dc.qpn = vb_rng_below(r, 1u << 24);
		h->dc.first = vb_psn((uint32_t)vb_rng_next(r));
		h->dc.key = vb_rng_next(r);
	}
	if (ext & VB_EXT_DETH) {
		h->deth.qkey = (uint32_t)vb_rng_next(r);
		h->deth.sqpn = vb_rng_below(r, 1u << 24);
	}
	if (ext & VB_EXT_FETH)
		h->flush = vb_rng_below(r, 64);
	if (ext & VB_EXT_RETH) {
		h->reth.va = vb_rng_next(r);
		h->reth.rkey = (uint32_t)vb_rng_next(r);
		h->reth.len = (uint32_t)vb_rng_next(r);
	}
	if (ext & VB_EXT_ATOMICETH) {
		h->atomic.va = vb_rng_next(r);
		h->atomic.rkey = (uint32_t)vb_rng_next(r);
		h->atomic.swap_add = vb_rng_next(r);
		h->atomic.compare = vb_rng_next(r);
	}
	if (ext & VB_EXT_AETH) {
		h->aeth.syndrome = (uint8_t)vb_rng_next(r);
		h->aeth.msn = vb_rng_below(r, 1u << 24);
	}
	if (ext & VB_EXT_ATOMICACKETH)
		h->atomic_orig = vb_rng_next(r);
	if (ext & VB_EXT_IMMDT)
		h->imm = (uint32_t)vb_rng_next(r);
	if (ext & VB_EXT_IETH)
		h->inv_rkey = (uint32_t)vb_rng_next(r);
}

static void assert_hdr_equal(const struct vb_hdr *a, const struct vb_hdr *b)
{
	assert_int_equal(a->opcode, b->opcode);
	assert_int_equal(a->pad, b->pad);
	assert_int_equal(a->solicited, b->solicited);
	assert_int_equal(a->migrated, b->migrated);
	assert_int_equal(a->ack_req, b->ack_req);
	assert_int_equal(a->fecn, b->fecn);
	assert_int_equal(a->becn, b->becn);
	assert_int_equal(a->selective, b->selective);
	assert_int_equal(a->pkey, b->pkey);
	assert_int_equal(a->dqpn, b->dqpn);
	assert_int_equal(a->psn.v, b->psn.v);
	assert_int_equal(a->xrc_srqn, b->xrc_srqn);
	assert_int_equal(a->dc.sqpn, b->dc.sqpn);
	assert_int_equal(a->dc.connection, b->dc.connection);
	assert_int_equal(a->dc.full, b->dc.full);
	assert_int_equal(a->dc.qpn, b->dc.qpn);
	assert_int_equal(a->dc.first.v, b->dc.first.v);
	assert_true(a->dc.key == b->dc.key);
	assert_int_equal(a->deth.qkey, b->deth.qkey);
	assert_int_equal(a->deth.sqpn, b->deth.sqpn);
	assert_int_equal(a->flush, b->flush);
	assert_true(a->reth.va == b->reth.va);
	assert_int_equal(a->reth.rkey, b->reth.rkey);
	assert_int_equal(a->reth.len, b->reth.len);
	assert_true(a->atomic.va == b->atomic.va);
	assert_true(a->atomic.swap_add == b->atomic.swap_add);
	assert_true(a->atomic.compare == b->atomic.compare);
	assert_int_equal(a->atomic.rkey, b->atomic.rkey);
	assert_int_equal(a->aeth.syndrome, b->aeth.syndrome);
	assert_int_equal(a->aeth.msn, b->aeth.msn);
	assert_true(a->atomic_orig == b->atomic_orig);
	assert_int_equal(a->imm, b->imm);
	assert_int_equal(a->inv_rkey, b->inv_rkey);
}

/* parse(emit(h)) = h, for every opcode. */
static void hdr__random_round_trip(void **state)
{
	struct vb_rng r = vb_rng_stream(1, "hdr", 0);

	(void)state;
	for (unsigned i = 0; i < 64 * 1000; i++) {
		uint8_t opcode = (uint8_t)vb_rng_next(&r), buf[VB_HDR_MAX + 4];
		struct vb_hdr h, back;

		if (vb_opcode[opcode].name == NULL)
			continue;
		random_hdr(&r, opcode, &h);
		size_t n = vb_hdr_emit(&h, buf);
		size_t len = n + (h.pad != 0 ? 4 : 0);

		assert_int_equal(n, vb_hdr_len(buf));
		assert_int_equal(vb_hdr_parse(&back, buf, n, len), VB_VERDICT_OK);
		assert_hdr_equal(&h, &back);
	}
}

static void check_reemit(const struct packet *p)
{
	size_t len = packet_udp_payload(p) - VB_ICRC_LEN;
	uint8_t buf[VB_HDR_MAX];
	struct vb_hdr h;

	assert_int_equal(vb_hdr_parse(&h, packet_bth(p), len, len), VB_VERDICT_OK);
	assert_memory_equal(packet_bth(p), buf, vb_hdr_emit(&h, buf));
}

/* emit(parse(b)) = b, for packets of the kernel's rxe, of a host of the rig and of a NIC. */
static void hdr__captured_packets_round_trip(void **state)
{
	(void)state;
	assert_int_equal(packet_for_each(check_reemit), 42);
}

static void verdict_name__each_has_one(void **state)
{
	(void)state;
	assert_string_equal(vb_verdict_name(VB_VERDICT_OK), "OK");
	assert_string_equal(vb_verdict_name(VB_VERDICT_RESOURCE), "RESOURCE");
	assert_string_equal(vb_verdict_name(VB_VERDICT_CNT), "?");
	assert_int_equal(VB_VERDICT_OK, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(hdr_parse__bth_fields),
	    cmocka_unit_test(hdr_emit__one_bit_per_flag),
	    cmocka_unit_test(hdr_emit__atomic_eth_order),
	    cmocka_unit_test(hdr_emit__xrceth_reth_immdt),
	    cmocka_unit_test(hdr_emit__deth_aeth_ieth),
	    cmocka_unit_test(syndrome__classes),
	    cmocka_unit_test(hdr_parse__refuses_every_truncation),
	    cmocka_unit_test(hdr_parse__refuses_unknown_opcodes_and_versions),
	    cmocka_unit_test(hdr_parse__pad_and_payload_must_fit),
	    cmocka_unit_test(hdr_parse__report_behind_ack),
	    cmocka_unit_test(hdr_parse__payload_may_be_absent),
	    cmocka_unit_test(hdr__random_round_trip),
	    cmocka_unit_test(hdr__captured_packets_round_trip),
	    cmocka_unit_test(verdict_name__each_has_one),
	};

	return cmocka_run_group_tests_name("hdr", tests, NULL, NULL);
}
