/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of InfiniBand links: LRH, GRH, both CRCs, flow control packets, speeds and widths.
 * Vector V1 of facts B.3 is a packet of a local link, LRH through ICRC. IBA 7.7, 7.8, 8.3
 */
#include "cmocka_env.h"
#include "wire/hdr.h"
#include "wire/ib/flow.h"
#include "wire/ib/grh.h"
#include "wire/ib/lrh.h"
#include "wire/ib/rate.h"
#include "wire/ib/vcrc.h"
#include "wire/icrc.h"

#include "base/rng.h"

#include <errno.h>

#define V1_LEN 56
#define V1_HDR_LEN 28 /* BTH and RETH */

static const uint8_t v1[V1_LEN] = {
    0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2, 0x0a, 0x20, 0x24, 0x87, 0x00, 0x87,
    0xb1, 0xb3, 0x00, 0x0d, 0xec, 0x2a, 0x01, 0x71, 0x0a, 0x1c, 0x01, 0x5d, 0x40, 0x02,
    0x38, 0xf2, 0x7a, 0x05, 0x00, 0x00, 0x00, 0x0e, 0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c,
    0xfb, 0xa4, 0x72, 0x8b, 0xc0, 0x69, 0x0e, 0xd4, 0x00, 0x00, 0x96, 0x25, 0xb7, 0x5a};

static const struct vb_lrh v1_lrh = {
    .vl = 7, .sl = 1, .lnh = VB_LNH_LOCAL, .dlid = 0x375c, .slid = 0x17d2, .words = 14};

/* LNK-01 */
static void lrh__bytes(void **state)
{
	struct vb_lrh h;
	uint8_t bytes[VB_LRH_LEN];

	(void)state;
	vb_lrh_parse(&h, v1);
	assert_memory_equal(&h, &v1_lrh, sizeof h);
	vb_lrh_emit(&h, bytes);
	assert_memory_equal(bytes, v1, VB_LRH_LEN);

	/* Reserved bits are sent as 0 and ignored. */
	memset(bytes, 0xff, sizeof bytes);
	vb_lrh_parse(&h, bytes);
	assert_int_equal(h.words, 0x07ff);
	assert_int_equal(h.lnh, 3);
	assert_int_equal(h.version, 15);
	vb_lrh_emit(&h, bytes);
	assert_int_equal(bytes[1], 0xf3);
	assert_int_equal(bytes[4], 0x07);
	h.words = 0xffff;
	vb_lrh_emit(&h, bytes);
	assert_int_equal(bytes[4], 0x07);
}

static enum vb_lrh_verdict check_words(uint8_t lnh, uint16_t words, uint32_t mtu)
{
	struct vb_lrh h = {.lnh = lnh, .words = words};

	return vb_lrh_check(&h, words * 4u + 2, mtu);
}

/* LNK-02, LNK-04 */
static void lrh_check__lengths_and_version(void **state)
{
	struct vb_lrh h = v1_lrh;

	(void)state;
	assert_int_equal(vb_lrh_check(&h, V1_LEN + 2, 256), VB_LRH_GOOD);
	assert_int_equal(vb_lrh_check(&h, V1_LEN + 1, 256), VB_LRH_BAD_LENGTH);
	assert_int_equal(vb_lrh_check(&h, V1_LEN + 3, 256), VB_LRH_BAD_LENGTH);
	h.version = 1;
	assert_int_equal(vb_lrh_check(&h, V1_LEN + 2, 256), VB_LRH_BAD_VERSION);

	assert_int_equal(check_words(VB_LNH_RAW, 4, 256), VB_LRH_TOO_SHORT);
	assert_int_equal(check_words(VB_LNH_RAW, 5, 256), VB_LRH_IS_RAW);
	assert_int_equal(check_words(VB_LNH_IPV6, 4, 256), VB_LRH_TOO_SHORT);
	assert_int_equal(check_words(VB_LNH_IPV6, 5, 256), VB_LRH_IS_RAW);
	assert_int_equal(check_words(VB_LNH_LOCAL, 5, 256), VB_LRH_TOO_SHORT);
	assert_int_equal(check_words(VB_LNH_LOCAL, 6, 256), VB_LRH_GOOD);
	assert_int_equal(check_words(VB_LNH_GLOBAL, 15, 256), VB_LRH_TOO_SHORT);
	assert_int_equal(check_words(VB_LNH_GLOBAL, 16, 256), VB_LRH_GOOD);

	for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2) {
		uint16_t longest = (uint16_t)(mtu / 4 + 31);

		assert_int_equal(check_words(VB_LNH_GLOBAL, longest, mtu), VB_LRH_GOOD);
		assert_int_equal(check_words(VB_LNH_GLOBAL, longest + 1, mtu), VB_LRH_TOO_LONG);
	}
}

static struct vb_grh sample_grh(uint32_t words)
{
	struct vb_grh h = {.flow_label = 0x12345,
			   .pay_len = (uint16_t)(words * 4 - 48),
			   .version = 6,
			   .traffic_class = 0xa1,
			   .next_header = 0x1b,
			   .hop_limit = 64};

	for (unsigned i = 0; i < 16; i++) {
		h.sgid.b[i] = (uint8_t)(i + 1);
		h.dgid.b[i] = (uint8_t)(0x80 + i);
	}
	return h;
}

/* LNK-05 */
static void grh__bytes_and_checks(void **state)
{
	struct vb_grh h = sample_grh(30), back;
	uint8_t bytes[VB_GRH_LEN];

	(void)state;
	vb_grh_emit(&h, bytes);
	assert_memory_equal(bytes, ((uint8_t[]){0x6a, 0x11, 0x23, 0x45, 0, 72, 0x1b, 64, 1, 2}),
			    10);
	assert_int_equal(bytes[24], 0x80);
	assert_int_equal(bytes[39], 0x8f);
	vb_grh_parse(&back, bytes);
	assert_memory_equal(&back, &h, sizeof h);
	assert_true(vb_grh_is_good(&h, 30));
	assert_false(vb_grh_is_good(&h, 31));
	assert_false(vb_grh_is_good(&h, 29));
	h.version = 4;
	assert_false(vb_grh_is_good(&h, 30));
	h = sample_grh(30);
	h.next_header = 17;
	assert_false(vb_grh_is_good(&h, 30));
}

static uint32_t icrc_local(const uint8_t *packet)
{
	uint32_t crc = vb_icrc_start_local(packet);

	crc = vb_icrc_headers(crc, packet + VB_LRH_LEN, V1_HDR_LEN);
	return vb_icrc_bytes(crc, packet + VB_LRH_LEN + V1_HDR_LEN,
			     V1_LEN - VB_LRH_LEN - V1_HDR_LEN - VB_ICRC_LEN);
}

/* LNK-07: the lane may change on the way, and FECN and BECN, and nothing else. */
static void icrc_local__masks_lane_and_congestion_bits(void **state)
{
	uint8_t p[V1_LEN];

	(void)state;
	assert_int_equal(icrc_local(v1), vb_icrc_read(v1 + V1_LEN - VB_ICRC_LEN));
	for (unsigned at = 0; at < V1_LEN - VB_ICRC_LEN; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			bool masked = (at == 0 && bit >= 4) || at == VB_LRH_LEN + 4;

			memcpy(p, v1, sizeof p);
			p[at] ^= (uint8_t)(1u << bit);
			if (masked)
				assert_int_equal(icrc_local(p), icrc_local(v1));
			else
				assert_int_not_equal(icrc_local(p), icrc_local(v1));
		}
}

/* LNK-08: the mask by bytes; a router's new LRH and its hop leave the ICRC right. */
static void icrc_global__masks_what_routers_write(void **state)
{
	static const uint8_t masked[VB_GRH_LEN] = {0x0f, 0xff, 0xff, 0xff, 0, 0, 0, 0xff};
	struct vb_grh h = sample_grh(30);
	uint8_t bytes[VB_GRH_LEN], changed[VB_GRH_LEN], ones[VB_LRH_LEN + VB_GRH_LEN];
	uint32_t right;

	(void)state;
	vb_grh_emit(&h, bytes);
	right = vb_icrc_start_global(bytes);
	memset(ones, 0xff, VB_LRH_LEN);
	for (unsigned i = 0; i < VB_GRH_LEN; i++)
		ones[VB_LRH_LEN + i] = bytes[i] | masked[i];
	assert_int_equal(right, vb_icrc_bytes(0xffffffff, ones, sizeof ones));
	for (unsigned at = 0; at < VB_GRH_LEN; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			memcpy(changed, bytes, sizeof changed);
			changed[at] ^= (uint8_t)(1u << bit);
			if (masked[at] >> bit & 1)
				assert_int_equal(vb_icrc_start_global(changed), right);
			else
				assert_int_not_equal(vb_icrc_start_global(changed), right);
		}
}

/* The rule bit by bit, with the polynomial as the standard writes it. */
static uint16_t vcrc_bitwise(const uint8_t *p, size_t len)
{
	uint32_t r = 0xffff, reversed = 0;

	for (size_t i = 0; i < len; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			uint32_t feed = (r >> 15 ^ (uint32_t)(p[i] >> bit)) & 1;

			r = r << 1 & 0xffff;
			if (feed)
				r ^= 0x100b;
		}
	for (unsigned bit = 0; bit < 16; bit++)
		reversed |= (~r >> bit & 1) << (15 - bit);
	return (uint16_t)reversed;
}

/* LNK-09 */
static void vcrc__vector_and_random_bytes(void **state)
{
	struct vb_rng r = vb_rng_stream(1, "vcrc", 0);
	uint8_t bytes[300], out[2];

	(void)state;
	vb_vcrc_put(out, vb_vcrc(v1, V1_LEN));
	assert_memory_equal(out, ((uint8_t[]){0x45, 0xfa}), 2);
	assert_int_equal(vb_vcrc_get(out), vb_vcrc(v1, V1_LEN));
	for (unsigned i = 0; i < 200; i++) {
		size_t len = vb_rng_below(&r, sizeof bytes + 1);

		for (size_t k = 0; k < len; k++)
			bytes[k] = (uint8_t)vb_rng_next(&r);
		assert_int_equal(vb_vcrc(bytes, len), vcrc_bitwise(bytes, len));
	}
}

/* LNK-15 */
static void flow__bytes_crc_and_operations(void **state)
{
	struct vb_flow_packet f = {.op = VB_FLOW_INIT, .vl = 3, .fctbs = 0xabc, .fccl = 0x123},
			      back;
	uint8_t p[VB_FLOW_LEN];

	(void)state;
	vb_flow_emit(&f, p);
	assert_memory_equal(p, ((uint8_t[]){0x1a, 0xbc, 0x31, 0x23}), 4);
	assert_int_equal(vb_vcrc_get(p + 4), vcrc_bitwise(p, 4));
	assert_int_equal(vb_flow_parse(&back, p), 0);
	assert_memory_equal(&back, &f, sizeof f);
	for (unsigned at = 0; at < VB_FLOW_LEN; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			p[at] ^= (uint8_t)(1u << bit);
			assert_int_equal(vb_flow_parse(&back, p), -EBADMSG);
			p[at] ^= (uint8_t)(1u << bit);
		}
	for (unsigned op = 0; op < 16; op++) {
		f.op = (uint8_t)op;
		vb_flow_emit(&f, p);
		assert_int_equal(vb_flow_parse(&back, p), op <= 1 ? 0 : -EPROTONOSUPPORT);
	}
	/* Counts are modulo 4096. */
	f = (struct vb_flow_packet){.fctbs = 0x1fff, .fccl = 0x1001};
	vb_flow_emit(&f, p);
	assert_int_equal(vb_flow_parse(&back, p), 0);
	assert_int_equal(back.fctbs, 0xfff);
	assert_int_equal(back.fccl, 1);
	assert_int_equal(back.op, 0);
}

struct rate_case {
	uint32_t speed, port_info, port_info_ext;
	uint64_t signal, x1, x4, x12; /* Mb/s */
};

/* IBT-85...93, LNK-34: the data rates of the specification, rounded down to Mb/s. */
static void rate__table_of_speeds(void **state)
{
	static const struct rate_case cases[] = {
	    {VB_IB_SDR, 1, 0, 2500, 2000, 8000, 24000},
	    {VB_IB_DDR, 2, 0, 5000, 4000, 16000, 48000},
	    {VB_IB_QDR, 4, 0, 10000, 8000, 32000, 96000},
	    {VB_IB_FDR10, 0, 0, 10312, 10000, 40000, 120000},
	    {VB_IB_FDR, 0, 1, 14062, 13636, 54545, 163636},
	    {VB_IB_EDR, 0, 2, 25781, 25000, 100000, 300000},
	    {VB_IB_HDR, 0, 4, 53125, 50000, 200000, 600000},
	    {VB_IB_NDR, 0, 8, 106250, 100000, 400000, 1200000},
	    {VB_IB_XDR, 0, 16, 212500, 200000, 800000, 2400000},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct rate_case *c = &cases[i];
		const struct vb_ib_speed_row *row = vb_ib_speed_row(c->speed);

		assert_non_null(row);
		assert_int_equal(row->port_info, c->port_info);
		assert_int_equal(row->port_info_ext, c->port_info_ext);
		assert_int_equal(row->signal_bps / 1000000, c->signal);
		assert_int_equal(vb_ib_payload_bps(c->speed, VB_IB_1X) / 1000000, c->x1);
		assert_int_equal(vb_ib_payload_bps(c->speed, VB_IB_4X) / 1000000, c->x4);
		assert_int_equal(vb_ib_payload_bps(c->speed, VB_IB_12X) / 1000000, c->x12);
		assert_int_equal(vb_ib_payload_bps(c->speed, VB_IB_2X),
				 2 * vb_ib_payload_bps(c->speed, VB_IB_1X));
		assert_int_equal(vb_ib_payload_bps(c->speed, VB_IB_8X),
				 8 * vb_ib_payload_bps(c->speed, VB_IB_1X));
	}
	assert_null(vb_ib_speed_row(0));
	assert_null(vb_ib_speed_row(3));
	assert_int_equal(vb_ib_payload_bps(512, VB_IB_4X), 0);
	assert_int_equal(vb_ib_payload_bps(VB_IB_EDR, 3), 0);
}

/* The codes of the verbs, IBT-94; and the symbol by which flow control counts, LNK-19. */
static void rate__codes_and_symbols(void **state)
{
	(void)state;
	assert_int_equal(VB_IB_SDR, 1);
	assert_int_equal(VB_IB_DDR, 2);
	assert_int_equal(VB_IB_QDR, 4);
	assert_int_equal(VB_IB_FDR10, 8);
	assert_int_equal(VB_IB_FDR, 16);
	assert_int_equal(VB_IB_EDR, 32);
	assert_int_equal(VB_IB_HDR, 64);
	assert_int_equal(VB_IB_NDR, 128);
	assert_int_equal(VB_IB_XDR, 256);
	assert_int_equal(VB_IB_1X, 1);
	assert_int_equal(VB_IB_4X, 2);
	assert_int_equal(VB_IB_8X, 4);
	assert_int_equal(VB_IB_12X, 8);
	assert_int_equal(VB_IB_2X, 16);
	assert_int_equal(vb_ib_lanes(VB_IB_2X), 2);
	assert_int_equal(vb_ib_symbol_ps(VB_IB_SDR), 4000);
	assert_int_equal(vb_ib_symbol_ps(VB_IB_EDR), 320);
	assert_int_equal(vb_ib_symbol_ps(5), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lrh__bytes),
	    cmocka_unit_test(lrh_check__lengths_and_version),
	    cmocka_unit_test(grh__bytes_and_checks),
	    cmocka_unit_test(icrc_local__masks_lane_and_congestion_bits),
	    cmocka_unit_test(icrc_global__masks_what_routers_write),
	    cmocka_unit_test(vcrc__vector_and_random_bytes),
	    cmocka_unit_test(flow__bytes_crc_and_operations),
	    cmocka_unit_test(rate__table_of_speeds),
	    cmocka_unit_test(rate__codes_and_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
