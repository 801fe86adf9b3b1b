/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The invariant CRC of RoCEv2 and InfiniBand. Over UDP it covers a pseudo header (8 bytes 0xFF for
 * the absent LRH, IP and UDP with the fields that routers may change set to ones), on InfiniBand
 * the LRH and the GRH with such fields set to ones; then the BTH with resv8a set to ones, and
 * everything behind it through the pad. IBA 7.8.1, A17.3.2; facts B.3
 *
 * A receiver on a UDP socket sees every covered field but the IPv4 identification. The CRC is
 * linear, so vb_icrc_solve_id() finds the identification that makes a packet's ICRC right.
 */
#ifndef VB_WIRE_ICRC_H
#define VB_WIRE_ICRC_H

#include "wire/ib/lrh.h"
#include "wire/path.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VB_ROCE_PORT 4791

/* The values that the pseudo header takes from outside the BTH. */
struct vb_icrc_udp {
	struct vb_gid src, dst; /* both IPv4 (mapped) or both IPv6 */
	uint16_t sport, dport;
	uint16_t ip_id;   /* IPv4 only */
	uint16_t ip_frag; /* IPv4 only: flags and fragment offset; 0x4000 is DF */
};

/* CRC state (not complemented at the end) over the pseudo header of a UDP datagram with
 * @udp_payload bytes, that is BTH through ICRC. */
uint32_t vb_icrc_start(const struct vb_icrc_udp *u, uint32_t udp_payload);

/* The same of a packet on an InfiniBand link: over its LRH, when no GRH follows it, else over the
 * LRH, which routers write again, and the GRH. The bytes behind them continue. LNK-07, LNK-08 */
uint32_t vb_icrc_start_local(const uint8_t lrh[VB_LRH_LEN]);
uint32_t vb_icrc_start_global(const uint8_t grh[VB_GRH_LEN]);

/* Continues over the headers at @hdr, masking resv8a of the BTH. @len >= VB_BTH_LEN. */
uint32_t vb_icrc_headers(uint32_t crc, const uint8_t *hdr, size_t len);

/* The same over headers and what follows them in one piece, in memory that may be written: resv8a
 * is set for the time of the call. */
uint32_t vb_icrc_packet(uint32_t crc, uint8_t *pkt, size_t len);

/* The same of headers and of @len bytes, which others may be writing to and which are copied to
 * behind them. */
uint32_t vb_icrc_packet_copy(uint32_t crc, uint8_t *pkt, size_t hdr_len, const void *from,
			     size_t len);

/* Continues over plain bytes (payload and pad). */
uint32_t vb_icrc_bytes(uint32_t crc, const void *p, size_t len);

/* Copies @len bytes, which others may be writing to, and continues over the copy. */
uint32_t vb_icrc_copy(uint32_t crc, uint8_t *to, const void *from, size_t len);

/* Writes the final ICRC in wire order (4 bytes). */
void vb_icrc_finish(uint32_t crc, uint8_t *out);

/* Reads an ICRC from the wire into the form of a CRC state, for comparison. */
uint32_t vb_icrc_read(const uint8_t *in);

/*
 * The IPv4 identification with which a packet's ICRC is right. @computed is the state that came out
 * with identification @guess, @received that of the packet, @behind the number of CRC-covered bytes
 * behind the identification. False when no identification fits: the packet is corrupt.
 */
bool vb_icrc_solve_id(uint32_t computed, uint32_t received, uint16_t guess, size_t behind,
		      uint16_t *id);

/* CRC-covered bytes behind the IPv4 identification for a datagram of @udp_payload bytes (BTH
 * through ICRC). */
size_t vb_icrc_behind_id(uint32_t udp_payload);

#endif
