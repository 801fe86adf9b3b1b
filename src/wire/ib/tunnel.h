/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Datagrams of a tunnel, by which a cable of an InfiniBand fabric leads to another host: the header
 * that all have, what an end says of itself, and the table of addresses behind it. They are UDP
 * payloads of this project's own form; packets and flow control packets in them are as on a link
 * (lrh.h, flow.h). No standard describes it. LNK-20
 *
 * Whoever sends names the number that the receiver has drawn: who does not know it is not heard.
 */
#ifndef VB_WIRE_IB_TUNNEL_H
#define VB_WIRE_IB_TUNNEL_H

#include "wire/hdr.h"
#include "wire/ib/flow.h"
#include "wire/ib/lrh.h"
#include "wire/packet.h"

#include <stdbool.h>
#include <stdint.h>

#define VB_TUNNEL_HDR_LEN 40
#define VB_TUNNEL_NAME_MAX 64 /* bytes of a node's name */
#define VB_TUNNEL_HELLO_LEN (36 + VB_TUNNEL_NAME_MAX)
#define VB_TUNNEL_CHUNK_LEN 16 /* of a part of the table, before its entries */
#define VB_TUNNEL_ENTRY_LEN 32
#define VB_TUNNEL_ENTRIES 42u /* in a datagram: it fits an Ethernet frame */
/* The longest packet, LRH through VCRC, and the longest datagram. */
#define VB_TUNNEL_PACKET_MAX                                                                       \
	(VB_LRH_LEN + VB_GRH_LEN + VB_HDR_MAX + VB_PAYLOAD_MAX + VB_PAD_MAX + 1 + VB_ICRC_LEN +    \
	 VB_VCRC_LEN)
#define VB_TUNNEL_MAX (VB_TUNNEL_HDR_LEN + VB_TUNNEL_PACKET_MAX)

enum vb_tunnel_kind {
	VB_TUNNEL_HELLO = 1, /* struct vb_tunnel_hello */
	VB_TUNNEL_PACKET,    /* a packet of data, LRH through VCRC */
	VB_TUNNEL_FLOW,      /* a flow control packet */
	VB_TUNNEL_MAD,       /* a management packet, LRH through VCRC, which needs no credits */
	VB_TUNNEL_TABLE,     /* struct vb_tunnel_chunk and its entries */
	VB_TUNNEL_KIND_END
};

struct vb_tunnel_hdr {
	uint8_t kind;       /* enum vb_tunnel_kind */
	uint8_t hops;       /* of a management packet: tunnels that it has passed */
	uint64_t from, to;  /* numbers of sender and receiver; @to 0: not known yet */
	uint64_t seq;       /* counts up by one from the sender's first datagram on */
	uint32_t life;      /* of the sender's link: another one each time that it goes down... */
	uint32_t peer_life; /* ... and the receiver's, as the sender has heard it */
};

/* An end's word about itself, in each period. */
struct vb_tunnel_hello {
	bool polls;      /* the port wants a link, and hears the other end */
	uint8_t widths;  /* that it has enabled: bits of enum vb_ib_width... */
	uint16_t speeds; /* ... and of enum vb_ib_speed */
	uint8_t port;    /* its number... */
	uint64_t guid;   /* ... and the GUID of its node */
	/* Of its table of addresses, whose version is another one each time that it changes; and
	 * how many entries it has, from the first one on, of the receiver's table of that version.
	 */
	uint32_t table, heard_table, heard_cnt;
	char name[VB_TUNNEL_NAME_MAX + 1]; /* of its node */
};

/* Entries @first to @first + @cnt - 1 of the @total of a table. */
struct vb_tunnel_chunk {
	uint32_t table; /* its version */
	uint32_t total, first;
	uint16_t cnt;
};

/* A port that is reached through the tunnel. */
struct vb_tunnel_entry {
	uint64_t prefix, guid; /* its first GID */
	uint32_t ipv4;         /* its address, in host order; 0: none */
	uint16_t lid;          /* 0: none yet */
	uint8_t hops;          /* tunnels on the way there, from the sender's fabric on */
	/* The GUID of its node, if that is a router and the port carries data: ports of one router
	 * have one. FAB-06 */
	uint64_t router;
};

void vb_tunnel_hdr_emit(const struct vb_tunnel_hdr *h, uint8_t out[VB_TUNNEL_HDR_LEN]);
/* Reads the header of a datagram of @len bytes, and checks that what its kind has behind it may be
 * of this length. -EBADMSG: it is none, or of another version. */
int vb_tunnel_hdr_parse(struct vb_tunnel_hdr *h, const uint8_t *in, uint32_t len);

/* The bytes behind the header. A name that is too long is cut. */
void vb_tunnel_hello_emit(const struct vb_tunnel_hello *h, uint8_t out[VB_TUNNEL_HELLO_LEN]);
/* Bytes of the name that do not print become '?'. */
void vb_tunnel_hello_parse(struct vb_tunnel_hello *h, const uint8_t in[VB_TUNNEL_HELLO_LEN]);

void vb_tunnel_chunk_emit(const struct vb_tunnel_chunk *c, uint8_t out[VB_TUNNEL_CHUNK_LEN]);
/* Of the @len bytes behind the header. -EBADMSG: they are not @cnt entries, or the entries are not
 * among @total. */
int vb_tunnel_chunk_parse(struct vb_tunnel_chunk *c, const uint8_t *in, uint32_t len);

void vb_tunnel_entry_emit(const struct vb_tunnel_entry *e, uint8_t out[VB_TUNNEL_ENTRY_LEN]);
void vb_tunnel_entry_parse(struct vb_tunnel_entry *e, const uint8_t in[VB_TUNNEL_ENTRY_LEN]);

#endif
