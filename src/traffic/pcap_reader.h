/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads captures of any origin, one packet after the other: pcapng (draft-ietf-opsawg-pcapng) with
 * any number of sections and interfaces, and classic pcap, in either byte order. Files are hostile:
 * every length is checked, and memory is bounded.
 */
#ifndef VB_TRAFFIC_PCAP_READER_H
#define VB_TRAFFIC_PCAP_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define VB_PCAP_INTERFACES_MAX 256u
#define VB_PCAP_COMMENT_MAX 1024u    /* of all comments of a packet */
#define VB_PCAP_BLOCK_MAX (1u << 19) /* of a packet; other blocks of any length are passed over */

/* Link types that captures of IP have. */
enum vb_pcap_link {
	VB_PCAP_NULL = 0,
	VB_PCAP_ETHERNET = 1,
	VB_PCAP_RAW = 101,
	VB_PCAP_LOOP = 108,
	VB_PCAP_SLL = 113,
	VB_PCAP_IPV4 = 228,
	VB_PCAP_IPV6 = 229,
	VB_PCAP_SLL2 = 276,
};

enum vb_pcap_dir { VB_PCAP_DIR_UNKNOWN, VB_PCAP_RECEIVED, VB_PCAP_SENT };

struct vb_pcap_packet {
	uint64_t time_ns; /* since 1970 */
	uint32_t link;    /* enum vb_pcap_link, or another one */
	enum vb_pcap_dir dir;
	const uint8_t *data;
	uint32_t len, wire_len;            /* captured; as it was */
	char comment[VB_PCAP_COMMENT_MAX]; /* each comment is a line */
};

struct vb_pcap_interface {
	uint16_t link;
	uint8_t resolution; /* digits of a second, or with the upper bit set bits of one */
};

/* The members are the reader's own but for those with a comment. */
struct vb_pcap_reader {
	FILE *f;
	uint64_t offset; /* of the block, or of the record, that was read last */
	uint64_t at;
	uint64_t dropped; /* packets that the capture itself says it lost */
	bool is_cut;      /* the file ends in the middle of a block, which is left out */
	char why[120];    /* what is wrong with it, after a negative errno */
	bool is_classic, is_swapped, is_nano;
	uint32_t interface_cnt;
	struct vb_pcap_interface interface[VB_PCAP_INTERFACES_MAX];
	uint8_t *block; /* VB_PCAP_BLOCK_MAX bytes */
};

/* Begins with @f, which stays the caller's. 0; -EINVAL: no capture; -ENOMEM; another errno of the
 * read. To be closed in any case. */
int vb_pcap_open(struct vb_pcap_reader *r, FILE *f);
/* The next packet, whose bytes stay until the next call. 1; 0: no more; -EINVAL or an errno of the
 * read. */
int vb_pcap_next(struct vb_pcap_reader *r, struct vb_pcap_packet *p);
void vb_pcap_close(struct vb_pcap_reader *r);

#endif
