/* SPDX-License-Identifier: BSD-2-Clause */
/* IP and UDP headers for captures: RFC 791, RFC 8200, RFC 768, RFC 1071 (checksum). */
#include "export/udp_frame.h"

#include <string.h>

#define IP4_LEN 20
#define IP6_LEN 40
#define UDP_LEN 8
#define PROTO_UDP 17
#define IP4_DF 0x4000

static void put_be16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put_be32(uint8_t *p, uint32_t v)
{
	put_be16(p, v >> 16);
	put_be16(p + 2, v);
}

/*
 * Adds up the 16-bit words of @p as this machine reads them, two at once. One's complement sums do
 * not depend on byte order until the end (RFC 1071 2.B). Only the last piece may have odd length.
 */
static uint64_t sum_words(uint64_t sum, const uint8_t *p, size_t len)
{
	for (; len >= 4; p += 4, len -= 4) {
		uint32_t w;

		memcpy(&w, p, sizeof w);
		sum += w;
	}
	if (len) {
		uint32_t w = 0;

		memcpy(&w, p, len);
		sum += w;
	}
	return sum;
}

/* The checksum as it stands in memory. */
static uint16_t sum_fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void emit_ip4(const struct vb_udp_frame *f, uint8_t *p, uint32_t udp_len)
{
	p[0] = 0x45;
	p[1] = f->traffic_class;
	put_be16(p + 2, IP4_LEN + udp_len);
	put_be16(p + 4, f->ip_id);
	put_be16(p + 6, IP4_DF);
	p[8] = f->hop_limit;
	p[9] = PROTO_UDP;
	memcpy(p + 12, f->src.b + 12, 4);
	memcpy(p + 16, f->dst.b + 12, 4);
	uint16_t check = sum_fold(sum_words(0, p, IP4_LEN));
	memcpy(p + 10, &check, sizeof check);
}

static void emit_ip6(const struct vb_udp_frame *f, uint8_t *p, uint32_t udp_len)
{
	put_be32(p, 6u << 28 | (uint32_t)f->traffic_class << 20 | (f->flow_label & 0xfffff));
	put_be16(p + 4, udp_len);
	p[6] = PROTO_UDP;
	p[7] = f->hop_limit;
	memcpy(p + 8, f->src.b, 16);
	memcpy(p + 24, f->dst.b, 16);
}

size_t vb_udp_frame_emit(const struct vb_udp_frame *f, uint8_t *out)
{
	bool ip4 = vb_gid_is_ipv4(&f->dst);
	size_t ip_len = ip4 ? IP4_LEN : IP6_LEN, addr_len = ip4 ? 8 : 32;
	uint32_t udp_len = UDP_LEN + f->payload_len;
	uint8_t *udp = out + ip_len, pseudo[4];
	uint64_t sum;

	memset(out, 0, ip_len + UDP_LEN);
	if (ip4)
		emit_ip4(f, out, udp_len);
	else
		emit_ip6(f, out, udp_len);
	put_be16(udp, f->sport);
	put_be16(udp + 2, f->dport);
	put_be16(udp + 4, udp_len);
	/* Pseudo header: protocol and length, the addresses (the last ones of either IP header). */
	put_be16(pseudo, PROTO_UDP);
	put_be16(pseudo + 2, udp_len);
	sum = sum_words(0, pseudo, sizeof pseudo);
	sum = sum_words(sum, udp - addr_len, addr_len + UDP_LEN);
	uint16_t check = sum_fold(sum_words(sum, f->payload, f->payload_len));
	if (check == 0)
		check = 0xffff; /* 0 means that there is none */
	memcpy(udp + 6, &check, sizeof check);
	return ip_len + UDP_LEN;
}

static uint16_t get_be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static bool read_ip4(struct vb_udp_frame *f, const uint8_t *p, size_t len, size_t *ip_len)
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	if (len < IP4_LEN)
		return false;
	*ip_len = (size_t)(p[0] & 15) * 4;
	f->traffic_class = p[1];
	f->ip_id = get_be16(p + 4);
	f->ip_frag = get_be16(p + 6);
	f->hop_limit = p[8];
	memcpy(f->src.b, mapped, sizeof mapped);
	memcpy(f->dst.b, mapped, sizeof mapped);
	memcpy(f->src.b + 12, p + 12, 4);
	memcpy(f->dst.b + 12, p + 16, 4);
	/* More fragments, or not the first. */
	return *ip_len >= IP4_LEN && p[9] == PROTO_UDP && !(f->ip_frag & 0x3fff);
}

static bool read_ip6(struct vb_udp_frame *f, const uint8_t *p, size_t len, size_t *ip_len)
{
	if (len < IP6_LEN)
		return false;
	*ip_len = IP6_LEN;
	f->traffic_class = (uint8_t)(get_be16(p) >> 4);
	f->flow_label = (uint32_t)(p[1] & 15) << 16 | get_be16(p + 2);
	f->hop_limit = p[7];
	memcpy(f->src.b, p + 8, 16);
	memcpy(f->dst.b, p + 24, 16);
	return p[6] == PROTO_UDP;
}

bool vb_udp_frame_read(struct vb_udp_frame *f, const uint8_t *ip, size_t len, uint32_t *captured)
{
	size_t ip_len = 0;
	bool ok;

	memset(f, 0, sizeof *f);
	if (len == 0)
		return false;
	ok = ip[0] >> 4 == 4   ? read_ip4(f, ip, len, &ip_len)
	     : ip[0] >> 4 == 6 ? read_ip6(f, ip, len, &ip_len)
			       : false;
	if (!ok || len < ip_len + UDP_LEN || get_be16(ip + ip_len + 4) < UDP_LEN)
		return false;
	f->sport = get_be16(ip + ip_len);
	f->dport = get_be16(ip + ip_len + 2);
	f->payload = ip + ip_len + UDP_LEN;
	f->payload_len = get_be16(ip + ip_len + 4) - UDP_LEN;
	len -= ip_len + UDP_LEN;
	*captured = len < f->payload_len ? (uint32_t)len : f->payload_len;
	return true;
}
