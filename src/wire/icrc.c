/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ICRC: CRC-32 over what a packet looks like with the changing fields set to ones. A CRC state here
 * is the bare register. IBA 7.8.1, A17.3.2; facts B.3
 */
#include "wire/icrc.h"

#include "base/assert.h"
#include "wire/be.h"
#include "wire/crc.h"
#include "wire/hdr.h"

#include <string.h>

#define IPV4_HDR_LEN 20
#define IPV6_HDR_LEN 40
#define UDP_HDR_LEN 8
#define IPPROTO_NUM_UDP 17

#define STATE_INITIAL 0xffffffffu
/* The state behind the 8 bytes 0xFF that stand for the LRH. */
#define STATE_AFTER_LRH 0xdebb20e3u

/* Offset of the byte that holds FECN and BECN, the only masked one of a BTH. */
#define BTH_RESV8A 4

static size_t pseudo_ipv4(const struct vb_icrc_udp *u, uint32_t udp_len, uint8_t *p)
{
	p[0] = 0x45;
	p[1] = 0xff; /* TOS */
	be16_put(p + 2, (uint16_t)(IPV4_HDR_LEN + udp_len));
	be16_put(p + 4, u->ip_id);
	be16_put(p + 6, u->ip_frag);
	p[8] = 0xff; /* TTL */
	p[9] = IPPROTO_NUM_UDP;
	be16_put(p + 10, 0xffff); /* checksum */
	memcpy(p + 12, u->src.b + 12, 4);
	memcpy(p + 16, u->dst.b + 12, 4);
	return IPV4_HDR_LEN;
}

static size_t pseudo_ipv6(const struct vb_icrc_udp *u, uint32_t udp_len, uint8_t *p)
{
	be32_put(p, 0x6fffffff); /* traffic class, flow label */
	be16_put(p + 4, (uint16_t)udp_len);
	p[6] = IPPROTO_NUM_UDP;
	p[7] = 0xff; /* hop limit */
	memcpy(p + 8, u->src.b, 16);
	memcpy(p + 24, u->dst.b, 16);
	return IPV6_HDR_LEN;
}

uint32_t vb_icrc_start(const struct vb_icrc_udp *u, uint32_t udp_payload)
{
	uint8_t pseudo[IPV6_HDR_LEN + UDP_HDR_LEN];
	uint32_t udp_len = UDP_HDR_LEN + udp_payload;
	size_t n = vb_gid_is_ipv4(&u->src) ? pseudo_ipv4(u, udp_len, pseudo)
					   : pseudo_ipv6(u, udp_len, pseudo);

	VB_ASSERT_ALL(udp_len <= UINT16_MAX);
	be16_put(pseudo + n, u->sport);
	be16_put(pseudo + n + 2, u->dport);
	be16_put(pseudo + n + 4, (uint16_t)udp_len);
	be16_put(pseudo + n + 6, 0xffff); /* checksum */
	return vb_crc32(STATE_AFTER_LRH, pseudo, n + UDP_HDR_LEN);
}

uint32_t vb_icrc_start_local(const uint8_t lrh[VB_LRH_LEN])
{
	uint8_t masked[VB_LRH_LEN];

	memcpy(masked, lrh, sizeof masked);
	masked[0] |= 0xf0; /* VL */
	return vb_crc32(STATE_INITIAL, masked, sizeof masked);
}

uint32_t vb_icrc_start_global(const uint8_t grh[VB_GRH_LEN])
{
	uint8_t masked[VB_GRH_LEN];

	memcpy(masked, grh, sizeof masked);
	masked[0] |= 0x0f; /* traffic class, flow label */
	masked[1] = masked[2] = masked[3] = 0xff;
	masked[7] = 0xff; /* hop limit */
	return vb_crc32(STATE_AFTER_LRH, masked, sizeof masked);
}

uint32_t vb_icrc_headers(uint32_t crc, const uint8_t *hdr, size_t len)
{
	uint8_t masked[VB_HDR_MAX];
	size_t n = len < sizeof masked ? len : sizeof masked;

	memcpy(masked, hdr, n);
	masked[BTH_RESV8A] = 0xff;
	crc = vb_crc32(crc, masked, n);
	return len > n ? vb_crc32(crc, hdr + n, len - n) : crc;
}

uint32_t vb_icrc_packet(uint32_t crc, uint8_t *pkt, size_t len)
{
	uint8_t resv8a = pkt[BTH_RESV8A];

	VB_ASSERT_ALL(len >= VB_BTH_LEN);
	pkt[BTH_RESV8A] = 0xff;
	crc = vb_crc32(crc, pkt, len);
	pkt[BTH_RESV8A] = resv8a;
	return crc;
}

uint32_t vb_icrc_packet_copy(uint32_t crc, uint8_t *pkt, size_t hdr_len, const void *from,
			     size_t len)
{
	uint8_t resv8a = pkt[BTH_RESV8A];

	VB_ASSERT_ALL(hdr_len >= VB_BTH_LEN);
	pkt[BTH_RESV8A] = 0xff;
	crc = vb_crc32_copy(crc, hdr_len, pkt + hdr_len, from, len);
	pkt[BTH_RESV8A] = resv8a;
	return crc;
}

uint32_t vb_icrc_bytes(uint32_t crc, const void *p, size_t len)
{
	return len != 0 ? vb_crc32(crc, p, len) : crc;
}

uint32_t vb_icrc_copy(uint32_t crc, uint8_t *to, const void *from, size_t len)
{
	return len != 0 ? vb_crc32_copy(crc, 0, to, from, len) : crc;
}

void vb_icrc_finish(uint32_t crc, uint8_t *out)
{
	uint32_t v = ~crc;

	out[0] = (uint8_t)v;
	out[1] = (uint8_t)(v >> 8);
	out[2] = (uint8_t)(v >> 16);
	out[3] = (uint8_t)(v >> 24);
}

uint32_t vb_icrc_read(const uint8_t *in)
{
	return ~((uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 |
		 (uint32_t)in[3] << 24);
}

size_t vb_icrc_behind_id(uint32_t udp_payload)
{
	VB_ASSERT_ALL(udp_payload >= VB_BTH_LEN + VB_ICRC_LEN);
	return IPV4_HDR_LEN - 6 + UDP_HDR_LEN + udp_payload - VB_ICRC_LEN;
}

/*
 * Polynomials over GF(2) modulo the CRC polynomial, bit 31 the coefficient of x^0. Feeding n zero
 * bytes to a register multiplies it by x^8n, so going back over them multiplies by x^-8n: at most
 * one product for each bit of n.
 */
#define POLY 0xedb88320u

static uint32_t gf_mul(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (unsigned i = 0; i < 32; i++) {
		product ^= b & (0u - (a >> 31));
		a <<= 1;
		b = b >> 1 ^ (POLY & (0u - (b & 1)));
	}
	return product;
}

/* x^-8, and each next one the square of the one before. */
static const uint32_t rewind_bytes[] = {
    0x6567cb95, 0xd7125358, 0x5b358fd3, 0x2e9bb40b, 0x12a59a49, 0x8df9403d,
    0x5139de12, 0xba340226, 0x29c45641, 0x12fbc105, 0xecd30c55, 0x3755ebd8,
    0x24ee460c, 0x23783fcf, 0x479933fc, 0xa39442a5, 0x9ea0056d, 0xf42608f6,
};
#define REWIND_BITS (sizeof rewind_bytes / sizeof rewind_bytes[0])

bool vb_icrc_solve_id(uint32_t computed, uint32_t received, uint16_t guess, size_t behind,
		      uint16_t *id)
{
	/* The wrong identification's effect on the register, taken back to before its 2 bytes. */
	uint32_t diff = computed ^ received;
	size_t back = behind + 2;

	if (back >> REWIND_BITS != 0)
		return false;
	for (unsigned bit = 0; bit < REWIND_BITS; bit++)
		if (back >> bit & 1)
			diff = gf_mul(rewind_bytes[bit], diff);
	if (diff >> 16 != 0)
		return false;
	/* A register takes bytes in at its low end, so the first byte is the lowest. */
	*id = guess ^ (uint16_t)((diff & 0xff) << 8 | diff >> 8);
	return true;
}
