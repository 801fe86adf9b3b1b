/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The captured packets of tests/data/packets.txt: an IP packet each, dissected here by hand so that
 * nothing of the code under test is used to read them.
 */
#ifndef VB_TESTS_PACKETS_H
#define VB_TESTS_PACKETS_H

#include "wire/icrc.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define PACKET_MAX 4400

struct packet {
	char title[128];
	uint8_t ip[PACKET_MAX]; /* IP header through ICRC */
	size_t ip_len;
	size_t bth_at;          /* offset of the BTH */
	struct vb_icrc_udp udp; /* what the pseudo header takes */
};

static inline unsigned packet_u16(const uint8_t *p)
{
	return (unsigned)(p[0] << 8 | p[1]);
}

static inline const uint8_t *packet_bth(const struct packet *p)
{
	return p->ip + p->bth_at;
}

/* BTH through ICRC. */
static inline uint32_t packet_udp_payload(const struct packet *p)
{
	return (uint32_t)(p->ip_len - p->bth_at);
}

static inline void packet_dissect(struct packet *p)
{
	const uint8_t *ip = p->ip;

	memset(&p->udp, 0, sizeof p->udp);
	if (ip[0] >> 4 == 4) {
		p->bth_at = 28;
		p->udp.ip_id = (uint16_t)packet_u16(ip + 4);
		p->udp.ip_frag = (uint16_t)packet_u16(ip + 6);
		p->udp.src.b[10] = p->udp.src.b[11] = 0xff;
		p->udp.dst.b[10] = p->udp.dst.b[11] = 0xff;
		memcpy(p->udp.src.b + 12, ip + 12, 4);
		memcpy(p->udp.dst.b + 12, ip + 16, 4);
	} else {
		p->bth_at = 48;
		memcpy(p->udp.src.b, ip + 8, 16);
		memcpy(p->udp.dst.b, ip + 24, 16);
	}
	p->udp.sport = (uint16_t)packet_u16(ip + p->bth_at - 8);
	p->udp.dport = (uint16_t)packet_u16(ip + p->bth_at - 6);
}

/* The next packet of @f into @p; false at the end. */
static inline bool packet_read(FILE *f, struct packet *p)
{
	static char line[2 * PACKET_MAX + 2];

	while (fgets(line, sizeof line, f) != NULL) {
		if (line[0] == '#') {
			snprintf(p->title, sizeof p->title, "%.*s", (int)strcspn(line + 2, "\n"),
				 line + 2);
			continue;
		}
		if (line[0] == '\n')
			continue;
		p->ip_len = 0;
		for (const char *c = line; p->ip_len < PACKET_MAX; c += 2) {
			unsigned byte;

			if (sscanf(c, "%2x", &byte) != 1)
				break;
			p->ip[p->ip_len++] = (uint8_t)byte;
		}
		packet_dissect(p);
		return true;
	}
	return false;
}

/* Runs @check on every packet; returns how many there were. */
static inline unsigned packet_for_each(void (*check)(const struct packet *p))
{
	static struct packet p;
	FILE *f = fopen(TEST_DATA "/packets.txt", "r");
	unsigned cnt = 0;

	if (f == NULL)
		return 0;
	while (packet_read(f, &p)) {
		check(&p);
		cnt++;
	}
	fclose(f);
	return cnt;
}

#endif
