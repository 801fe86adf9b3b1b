/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ICRC against the vectors of facts B.3, against captured packets, and against a bit-by-bit CRC
 * that shares nothing with the code under test: it masks a copy of the whole packet in place.
 * Solving for the IPv4 identification. IBA 7.8.1, A17.3.2
 */
#include "cmocka_env.h"
#include "packets.h"
#include "wire/hdr.h"
#include "wire/icrc.h"

#include "base/rng.h"

/* The CRC register, fed bit by bit, least significant bit of a byte first. */
static uint32_t crc_bitwise(uint32_t reg, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			uint32_t feed = (reg ^ (uint32_t)(p[i] >> bit)) & 1;

			reg >>= 1;
			if (feed)
				reg ^= 0xedb88320;
		}
	return reg;
}

/* The ICRC that @p should have, least significant byte first on the wire. */
static uint32_t icrc_bitwise(const struct packet *p)
{
	static const uint8_t lrh[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	uint8_t m[PACKET_MAX];

	memcpy(m, p->ip, p->ip_len);
	if (m[0] >> 4 == 4) {
		m[1] = m[8] = m[10] = m[11] = 0xff;
	} else {
		m[0] |= 0x0f;
		m[1] = m[2] = m[3] = m[7] = 0xff;
	}
	m[p->bth_at - 2] = m[p->bth_at - 1] = 0xff;
	m[p->bth_at + 4] = 0xff;
	return ~crc_bitwise(crc_bitwise(0xffffffff, lrh, 8), m, p->ip_len - 4);
}

/* The state that the code under test computes with the fields in @u. */
static uint32_t icrc_state(const struct packet *p, const struct vb_icrc_udp *u)
{
	const uint8_t *bth = packet_bth(p);
	uint32_t n = packet_udp_payload(p), hdr_len = vb_opcode[bth[0]].hdr_len;
	uint32_t crc = vb_icrc_start(u, n);

	crc = vb_icrc_headers(crc, bth, hdr_len);
	return vb_icrc_bytes(crc, bth + hdr_len, n - VB_ICRC_LEN - hdr_len);
}

static void check_icrc(const struct packet *p)
{
	const uint8_t *wire = p->ip + p->ip_len - 4;
	uint32_t crc = icrc_state(p, &p->udp), want = icrc_bitwise(p);
	uint8_t out[4];

	vb_icrc_finish(crc, out);
	assert_memory_equal(out, wire, 4);
	assert_int_equal(vb_icrc_read(wire), crc);
	assert_int_equal(
	    (uint32_t)(wire[0] | wire[1] << 8 | wire[2] << 16) | (uint32_t)wire[3] << 24, want);
}

static void icrc__captured_packets(void **state)
{
	(void)state;
	assert_int_equal(packet_for_each(check_icrc), 42);
}

/* V1 of facts B.3: a packet of a local InfiniBand link. The LRH's VL is masked, nothing else. */
static void icrc__vector_1_infiniband_local(void **state)
{
	static const uint8_t lrh[8] = {0xf0, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2};
	static const uint8_t pkt[44] = {0x0a, 0x20, 0x24, 0x87, 0x00, 0x87, 0xb1, 0xb3, 0x00,
					0x0d, 0xec, 0x2a, 0x01, 0x71, 0x0a, 0x1c, 0x01, 0x5d,
					0x40, 0x02, 0x38, 0xf2, 0x7a, 0x05, 0x00, 0x00, 0x00,
					0x0e, 0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c, 0xfb, 0xa4,
					0x72, 0x8b, 0xc0, 0x69, 0x0e, 0xd4, 0x00, 0x00};
	static const uint8_t want[4] = {0x96, 0x25, 0xb7, 0x5a};
	uint32_t crc = vb_icrc_bytes(0xffffffff, lrh, sizeof lrh);
	uint8_t out[4];

	(void)state;
	crc = vb_icrc_headers(crc, pkt, 28);
	crc = vb_icrc_bytes(crc, pkt + 28, sizeof pkt - 28);
	vb_icrc_finish(crc, out);
	assert_memory_equal(out, want, 4);
}

/* V2 and V3 of facts B.3; they are in packets.txt too, here with their ICRC by value. */
static const struct packet *found[2];
static struct packet copy[2];

static void pick_vectors(const struct packet *p)
{
	static const uint8_t v2[4] = {0x78, 0xf3, 0x53, 0xf3}, v3[4] = {0x82, 0xfd, 0x00, 0x2a};
	const uint8_t *wire = p->ip + p->ip_len - 4;
	int i = memcmp(wire, v2, 4) == 0 ? 0 : memcmp(wire, v3, 4) == 0 ? 1 : -1;

	if (i >= 0) {
		copy[i] = *p;
		found[i] = &copy[i];
	}
}

static void icrc__vectors_2_and_3_rocev2(void **state)
{
	(void)state;
	packet_for_each(pick_vectors);
	assert_non_null(found[0]);
	assert_non_null(found[1]);
	check_icrc(found[0]);
	check_icrc(found[1]);
	assert_int_equal(found[0]->udp.ip_id, 1144);
	assert_int_equal(packet_bth(found[1])[0], VB_OPCODE_CNP);
}

/* The fields that routers change do not change the ICRC; everything else does. */
static void icrc__covers_all_but_the_masked_bits(void **state)
{
	static struct packet p;
	FILE *f = fopen(TEST_DATA "/packets.txt", "r");

	(void)state;
	assert_non_null(f);
	assert_true(packet_read(f, &p));
	fclose(f);
	uint32_t right = icrc_state(&p, &p.udp);

	for (size_t at = p.bth_at; at < p.ip_len - 4; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			p.ip[at] ^= (uint8_t)(1u << bit);
			if (at == p.bth_at + 4)
				assert_int_equal(icrc_state(&p, &p.udp), right);
			else if (at != p.bth_at) /* the opcode says where the headers end */
				assert_int_not_equal(icrc_state(&p, &p.udp), right);
			p.ip[at] ^= (uint8_t)(1u << bit);
		}
}

/* One call over the packet or many calls over its parts: the same state. */
static void icrc__parts_add_up(void **state)
{
	struct vb_rng r = vb_rng_stream(1, "icrc", 0);
	uint8_t pkt[4200];

	(void)state;
	for (unsigned i = 0; i < sizeof pkt; i++)
		pkt[i] = (uint8_t)vb_rng_next(&r);
	for (unsigned i = 0; i < 300; i++) {
		size_t len = 12 + vb_rng_below(&r, sizeof pkt - 12), cut = 12, at;
		uint32_t whole = vb_icrc_headers(0x12345678, pkt, len);

		cut += vb_rng_below(&r, (uint32_t)(len - 11));
		uint32_t crc = vb_icrc_headers(0x12345678, pkt, cut);

		for (at = cut; at < len;) {
			size_t n = 1 + vb_rng_below(&r, (uint32_t)(len - at));

			crc = vb_icrc_bytes(crc, pkt + at, n);
			at += n;
		}
		assert_int_equal(crc, whole);
		assert_int_equal(vb_icrc_bytes(crc, pkt, 0), crc);
	}
}

static void check_solve(const struct packet *p)
{
	static const uint16_t guesses[] = {0, 1, 0x8000, 0x00ff, 0xff00, 0xffff};
	uint32_t n = packet_udp_payload(p), received = vb_icrc_read(p->ip + p->ip_len - 4);
	struct vb_icrc_udp u = p->udp;
	uint16_t id;

	if (p->ip[0] >> 4 != 4)
		return;
	for (unsigned i = 0; i < 6; i++) {
		u.ip_id = guesses[i];
		assert_true(vb_icrc_solve_id(icrc_state(p, &u), received, u.ip_id,
					     vb_icrc_behind_id(n), &id));
		assert_int_equal(id, p->udp.ip_id);
	}
}

static void icrc_solve_id__finds_the_id_of_captured_packets(void **state)
{
	(void)state;
	assert_int_equal(packet_for_each(check_solve), 42);
}

static void icrc_solve_id__finds_any_id_from_any_guess(void **state)
{
	struct vb_rng r = vb_rng_stream(1, "solve", 0);
	uint8_t pkt[9000] = {0x04};
	struct vb_icrc_udp u = {.sport = 0xc123, .dport = VB_ROCE_PORT, .ip_frag = 0x4000};

	(void)state;
	u.src.b[10] = u.src.b[11] = u.dst.b[10] = u.dst.b[11] = 0xff;
	for (unsigned i = 0; i < 20000; i++) {
		uint32_t len = 12 + vb_rng_below(&r, sizeof pkt - 12), udp_payload = len + 4;
		uint16_t guess = (uint16_t)vb_rng_next(&r), truth = (uint16_t)vb_rng_next(&r), id;

		u.ip_id = guess;
		uint32_t computed = vb_icrc_headers(vb_icrc_start(&u, udp_payload), pkt, len);

		u.ip_id = truth;
		uint32_t right = vb_icrc_headers(vb_icrc_start(&u, udp_payload), pkt, len);

		assert_true(
		    vb_icrc_solve_id(computed, right, guess, vb_icrc_behind_id(udp_payload), &id));
		assert_int_equal(id, truth);
	}
}

/* Of random damage about one in 2^16 looks like another identification; of single bits none. */
static void icrc_solve_id__refuses_corruption(void **state)
{
	static struct packet p;
	FILE *f = fopen(TEST_DATA "/packets.txt", "r");
	struct vb_rng r = vb_rng_stream(1, "corrupt", 0);
	unsigned fooled = 0;
	uint16_t id;

	(void)state;
	assert_non_null(f);
	for (unsigned i = 0; i < 4; i++)
		assert_true(packet_read(f, &p));
	fclose(f);
	uint32_t received = vb_icrc_read(p.ip + p.ip_len - 4), n = packet_udp_payload(&p);
	size_t behind = vb_icrc_behind_id(n);

	for (size_t at = p.bth_at + 12; at < p.ip_len - 4; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			p.ip[at] ^= (uint8_t)(1u << bit);
			assert_false(vb_icrc_solve_id(icrc_state(&p, &p.udp), received, p.udp.ip_id,
						      behind, &id));
			p.ip[at] ^= (uint8_t)(1u << bit);
		}
	for (unsigned i = 0; i < 100000; i++)
		fooled += vb_icrc_solve_id((uint32_t)vb_rng_next(&r), received, 0, behind, &id);
	assert_uint_in_range(fooled, 0, 10);
	assert_false(vb_icrc_solve_id(received, received, 0, SIZE_MAX - 2, &id));
	assert_false(vb_icrc_solve_id(received, received, 0, 1u << 20, &id));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(icrc__captured_packets),
	    cmocka_unit_test(icrc__vector_1_infiniband_local),
	    cmocka_unit_test(icrc__vectors_2_and_3_rocev2),
	    cmocka_unit_test(icrc__covers_all_but_the_masked_bits),
	    cmocka_unit_test(icrc__parts_add_up),
	    cmocka_unit_test(icrc_solve_id__finds_the_id_of_captured_packets),
	    cmocka_unit_test(icrc_solve_id__finds_any_id_from_any_guess),
	    cmocka_unit_test(icrc_solve_id__refuses_corruption),
	};

	return cmocka_run_group_tests_name("icrc", tests, NULL, NULL);
}
