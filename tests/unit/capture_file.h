/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The RoCEv2 packets of a pcapng file, read by hand so that nothing of the code under test is used:
 * section header, interface description and enhanced packet blocks, Ethernet, IPv4 and IPv6.
 */
#ifndef VB_TESTS_CAPTURE_FILE_H
#define VB_TESTS_CAPTURE_FILE_H

#include "packets.h"

#include <stdlib.h>

struct captured {
	struct packet p; /* p.title is the file's name */
	uint64_t time;   /* in the file's own units, microseconds or nanoseconds */
	uint32_t number; /* of the packet in the file, from 1 */
};

struct capture {
	struct captured *pkt;
	size_t cnt;
};

static inline uint32_t capture_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return v; /* the files were written on little-endian machines, as these tests run on */
}

/* An Ethernet frame. Returns true when it is RoCEv2. */
static inline bool capture_dissect(struct packet *p, const uint8_t *frame, size_t len)
{
	unsigned type;
	size_t want;

	if (len < 14 + 28 + 16 || len - 14 > sizeof p->ip)
		return false;
	type = packet_u16(frame + 12);
	if (type != 0x0800 && type != 0x86dd)
		return false;
	memcpy(p->ip, frame + 14, len - 14);
	/* Short frames are padded. */
	want = type == 0x0800 ? packet_u16(p->ip + 2) : 40 + packet_u16(p->ip + 4);
	p->ip_len = want < len - 14 ? want : len - 14;
	packet_dissect(p);
	return p->udp.dport == 4791;
}

static inline uint8_t *capture_bytes(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	uint8_t *b = NULL;
	long n;

	if (f && fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) > 0) {
		rewind(f);
		b = malloc((size_t)n);
		*len = fread(b, 1, (size_t)n, f);
	}
	if (f)
		fclose(f);
	return b;
}

/* Returns 0, or -1 when the file is not there. */
static inline int capture_read(struct capture *c, const char *path)
{
	size_t len = 0, at = 0;
	uint8_t *b = capture_bytes(path, &len);
	uint32_t number = 0;

	*c = (struct capture){0};
	if (!b)
		return -1;
	c->pkt = calloc(len / 64 + 1, sizeof *c->pkt);
	while (at + 12 <= len && capture_u32(b + at + 4) >= 12) {
		uint32_t type = capture_u32(b + at), size = capture_u32(b + at + 4);

		if (size > len - at)
			break;
		if (type == 6 && size >= 32) {
			struct captured *p = &c->pkt[c->cnt];
			uint32_t caplen = capture_u32(b + at + 20);

			number++;
			if (caplen <= size - 32 && capture_dissect(&p->p, b + at + 28, caplen)) {
				p->time = (uint64_t)capture_u32(b + at + 12) << 32 |
					  capture_u32(b + at + 16);
				p->number = number;
				c->cnt++;
			}
		}
		at += size;
	}
	free(b);
	return 0;
}

static inline void capture_free(struct capture *c)
{
	free(c->pkt);
}

#endif
