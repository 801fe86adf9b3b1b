/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets as others send them, to a link of udp_world.h: from a plain socket, which shows as little
 * of its IPv4 identification as any, so that the ICRC alone says which one it had.
 */
#ifndef VB_TESTS_UNIT_UDP_FORGED_H
#define VB_TESTS_UNIT_UDP_FORGED_H

#include "udp_world.h"

/* A made-up packet from a plain socket, its ICRC made with identification @id and flags @frag. */
struct forged {
	int fd;
	struct vb_path path;
	uint16_t sport;
	uint32_t len;
	uint8_t pkt[320];
};

static inline void forge_icrc(struct forged *o, const struct vb_path *path, uint16_t id,
			      uint16_t frag)
{
	struct vb_icrc_udp u = {.src = path->sgid,
				.dst = path->dgid,
				.sport = o->sport,
				.dport = VB_ROCE_PORT,
				.ip_id = id,
				.ip_frag = frag};
	uint32_t crc;

	crc = vb_icrc_headers(vb_icrc_start(&u, o->len), o->pkt, VB_BTH_LEN);
	crc = vb_icrc_bytes(crc, o->pkt + VB_BTH_LEN, o->len - VB_BTH_LEN - VB_ICRC_LEN);
	vb_icrc_finish(crc, o->pkt + o->len - VB_ICRC_LEN);
}

static inline void forge(struct forged *o, const struct vb_path *path, uint16_t id, uint16_t frag,
			 uint32_t payload)
{
	bool ipv4 = vb_gid_is_ipv4(&path->dgid);
	struct sockaddr_in in = {.sin_family = AF_INET,
				 .sin_port = htons(VB_ROCE_PORT),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6,
				   .sin6_port = htons(VB_ROCE_PORT),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_in6 name = {0};
	socklen_t len = sizeof name;

	o->fd = socket(ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM, 0);
	if (ipv4)
		assert_int_equal(connect(o->fd, (struct sockaddr *)&in, sizeof in), 0);
	else
		assert_int_equal(connect(o->fd, (struct sockaddr *)&in6, sizeof in6), 0);
	assert_int_equal(getsockname(o->fd, (struct sockaddr *)&name, &len), 0);
	o->sport = ntohs(name.sin6_port);
	o->len = VB_BTH_LEN + payload + VB_ICRC_LEN;
	for (uint32_t i = 0; i < o->len; i++)
		o->pkt[i] = (uint8_t)(i * 5);
	forge_icrc(o, path, id, frag);
}

static inline void forged_send(const struct forged *o)
{
	assert_int_equal(send(o->fd, o->pkt, o->len, 0), o->len);
}

#endif
