/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a packet goes to or came from. The core treats it as a value; the link turns it into
 * UDP/IP (RoCEv2) or LRH/GRH (InfiniBand) and back.
 */
#ifndef VB_WIRE_PATH_H
#define VB_WIRE_PATH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A GID, network byte order. RoCEv2: an IPv6 address, or ::ffff:a.b.c.d for IPv4. IBA A17.4.2 */
struct vb_gid {
	uint8_t b[16];
};

#define VB_GRH_LEN 40

/* By LID where @dlid is not 0: an InfiniBand packet, whose GIDs are zero when it has no GRH. */
struct vb_path {
	struct vb_gid sgid;    /* of the sender */
	struct vb_gid dgid;    /* of the receiver */
	uint32_t flow_label;   /* 20 bits */
	uint16_t udp_sport;    /* RoCEv2 source port; 0: the link derives none and uses its own */
	uint16_t slid, dlid;   /* InfiniBand only */
	uint8_t port;          /* local HCA port, 1... */
	uint8_t sl;            /* 0...15 */
	uint8_t traffic_class; /* DSCP in bits 7:2, ECN in bits 1:0, as sent or received */
	uint8_t hop_limit;
	/* Not on the wire: whether the receiver is on this host, as its sender has found once, and
	 * by which table of addresses (link/home.h). 0: nobody has looked. */
	uint16_t home;
};

#define VB_ECN_MASK 0x03
#define VB_ECN_ECT0 0x02
#define VB_ECN_CE 0x03

static inline bool vb_gid_eq(const struct vb_gid *a, const struct vb_gid *b)
{
	return memcmp(a->b, b->b, sizeof a->b) == 0;
}

/* True for ::ffff:a.b.c.d, the GID of an IPv4 address. */
static inline bool vb_gid_is_ipv4(const struct vb_gid *g)
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	return memcmp(g->b, mapped, sizeof mapped) == 0;
}

/* True for ff00::/8 and ::ffff:224.0.0.0/100. */
static inline bool vb_gid_is_multicast(const struct vb_gid *g)
{
	return g->b[0] == 0xff || (vb_gid_is_ipv4(g) && g->b[12] >> 4 == 0xe);
}

/* A packet of InfiniBand: it goes by LID. */
static inline bool vb_path_has_lid(const struct vb_path *p)
{
	return p->dlid != 0;
}

/* GIDs travel with the packet: a GRH on InfiniBand, the IP header of RoCE. IBA 8.2.1 */
static inline bool vb_path_has_grh(const struct vb_path *p)
{
	static const struct vb_gid none;

	return !vb_path_has_lid(p) || !vb_gid_eq(&p->dgid, &none);
}

/* @a and @b lead from one address to one address. */
static inline bool vb_path_same_ends(const struct vb_path *a, const struct vb_path *b)
{
	return a->slid == b->slid && a->dlid == b->dlid && vb_gid_eq(&a->sgid, &b->sgid) &&
	       vb_gid_eq(&a->dgid, &b->dgid);
}

/* A packet that came by @from is from where packets by @own go. IBA 9.6.1.5 */
static inline bool vb_path_is_back(const struct vb_path *from, const struct vb_path *own)
{
	return from->slid == own->dlid && from->dlid == own->slid &&
	       vb_gid_eq(&from->sgid, &own->dgid) && vb_gid_eq(&from->dgid, &own->sgid);
}

/* A message that came by @from is from whoever @own leads to. On InfiniBand that is said by LIDs,
 * for it may have no GRH. */
static inline bool vb_path_is_from(const struct vb_path *from, const struct vb_path *own)
{
	return vb_path_has_lid(own) ? from->slid == own->dlid : vb_gid_eq(&from->sgid, &own->dgid);
}

/* The GID that stands for the receiver alone, to tell receivers apart: its own, or one that nobody
 * has, with its LID. */
static inline struct vb_gid vb_path_receiver(const struct vb_path *p)
{
	struct vb_gid g = p->dgid;

	if (!vb_path_has_grh(p)) {
		g.b[14] = (uint8_t)(p->dlid >> 8);
		g.b[15] = (uint8_t)p->dlid;
	}
	return g;
}

/*
 * The UDP source port of a connection: from the flow label if there is one, else from both QPNs, so
 * that both directions use one port and ECMP spreads QPs. Range 0xC000...0xFFFF. facts B.1
 */
uint16_t vb_udp_sport(uint32_t flow_label, uint32_t qpn, uint32_t dqpn);

/* The path of an answer to what came by @path. */
struct vb_path vb_path_back(const struct vb_path *path);

/*
 * Writes the VB_GRH_LEN bytes in front of a UD message at @grh: on InfiniBand the GRH, over IPv6
 * the IPv6 header, over IPv4 20 zero bytes and the IPv4 header (IBT-21). @len counts BTH through
 * ICRC.
 */
void vb_path_emit_grh(const struct vb_path *p, uint32_t len, uint8_t *grh);

/* Reads them back: addresses, traffic class, hop limit and, of IPv6, the flow label; the rest of
 * the path is 0. -EINVAL: neither header. */
int vb_path_parse_grh(struct vb_path *p, const uint8_t *grh);

#endif
