/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A writer of pcapng files (draft-ietf-opsawg-pcapng): one section, interfaces of raw IP packets,
 * nanosecond timestamps, the direction of each packet, and statistics at the end.
 */
#ifndef VB_EXPORT_PCAPNG_H
#define VB_EXPORT_PCAPNG_H

#include "export/udp_frame.h"

#include <stdbool.h>
#include <stdio.h>

struct vb_pcapng {
	FILE *f;
	uint32_t interface_cnt;
};

/* Starts a section. All calls return 0 or a negative errno of the write. */
int vb_pcapng_begin(struct vb_pcapng *p, FILE *f, const char *application);

/* The first header of an interface's packets: an IP header, or an LRH. The link type of InfiniBand,
 * 247, is none that Wireshark 4.0 reads; of ERF it reads records of InfiniBand. */
enum vb_pcapng_link { VB_PCAPNG_IP = 101, VB_PCAPNG_INFINIBAND = 197 };

/* Adds an interface; its number is the count of those before it. @speed_bps 0: unknown. */
int vb_pcapng_interface(struct vb_pcapng *p, const char *name, const char *description,
			uint64_t speed_bps, enum vb_pcapng_link link);

/* Adds a packet of interface @interface. @time_ns: since 1970. @comment may be NULL; each of its
 * lines, of which there are VB_PCAPNG_COMMENTS at most, is a comment of its own. */
#define VB_PCAPNG_COMMENTS 5u
#define VB_PCAPNG_COMMENT_MAX 160u /* bytes of a line; the rest is cut */
int vb_pcapng_packet(struct vb_pcapng *p, uint32_t interface, uint64_t time_ns, bool sent,
		     const struct vb_udp_frame *frame, const char *comment);

/* A packet of InfiniBand, by its type of ERF record: LRH through VCRC, or a flow control packet. */
enum vb_pcapng_infiniband { VB_PCAPNG_IB_PACKET = 21, VB_PCAPNG_IB_LINK_PACKET = 25 };

/* The same of a packet of InfiniBand that is @len bytes. */
int vb_pcapng_bytes(struct vb_pcapng *p, uint32_t interface, uint64_t time_ns, bool sent,
		    enum vb_pcapng_infiniband type, const uint8_t *bytes, uint32_t len,
		    const char *comment);

/* Adds the statistics of an interface: packets captured, packets lost before they were. */
int vb_pcapng_statistics(struct vb_pcapng *p, uint32_t interface, uint64_t time_ns,
			 uint64_t captured, uint64_t lost);

#endif
