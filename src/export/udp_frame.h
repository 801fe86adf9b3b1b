/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * IP and UDP headers of a RoCEv2 packet as it was on the wire, from the fields that the link knows.
 * A field that it cannot know is set as an ordinary sender sets it; none of these enters the ICRC.
 */
#ifndef VB_EXPORT_UDP_FRAME_H
#define VB_EXPORT_UDP_FRAME_H

#include "wire/path.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VB_UDP_FRAME_HEADER_MAX 48 /* IPv6 and UDP */

struct vb_udp_frame {
	struct vb_gid src, dst; /* both IPv4 (mapped) or both IPv6 */
	uint32_t flow_label;    /* IPv6 */
	uint16_t sport, dport;
	uint16_t ip_id;   /* IPv4 */
	uint16_t ip_frag; /* IPv4, of a packet read: flags and offset; an emitted one has DF set */
	uint8_t traffic_class, hop_limit;
	const uint8_t *payload; /* BTH through ICRC */
	uint32_t payload_len;   /* at most 65000 */
};

/* Writes the headers at @out, which has VB_UDP_FRAME_HEADER_MAX bytes. Returns their length. The IP
 * and UDP checksums are right. */
size_t vb_udp_frame_emit(const struct vb_udp_frame *f, uint8_t *out);

/* Reads them, of a captured packet of @len bytes that begins with the IP header. f->payload has
 * *@captured bytes of its payload_len. False: no UDP datagram, or a fragment of one. */
bool vb_udp_frame_read(struct vb_udp_frame *f, const uint8_t *ip, size_t len, uint32_t *captured);

#endif
