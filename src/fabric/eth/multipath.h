/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Next hops of a switch of Ethernet where the hash of the flow alone does not choose among them, as
 * it does in forward.h (ECMP). Packets of a flow may take several ways then and arrive out of
 * order. It relies on the hops that the forward tables have, asks for them with each packet, and so
 * follows the tables when they change. RFC 2991
 */
#ifndef VB_FABRIC_ETH_MULTIPATH_H
#define VB_FABRIC_ETH_MULTIPATH_H

#include "base/rng.h"
#include "fabric/forward.h"
#include "fabric/port.h"

enum vb_multipath_kind {
	VB_MULTIPATH_ECMP,     /* the hash of the flow. RFC 2992 */
	VB_MULTIPATH_SPRAY,    /* each packet takes the next one in turn, for its subnet */
	VB_MULTIPATH_RANDOM,   /* each packet takes one at random. Dixit et al., INFOCOM 2013 */
	VB_MULTIPATH_FLOWLET,  /* a pause of the flow allows a new choice. LetFlow, NSDI 2017 */
	VB_MULTIPATH_ADAPTIVE, /* the one whose queue is the shortest now */
	VB_MULTIPATH_WEIGHTED, /* the hash, in proportion to rates. WCMP, EuroSys 2014 */
	VB_MULTIPATH_KINDS
};

#define VB_FLOWLETS_MAX (1u << 20)

struct vb_multipath_config {
	uint8_t kind;         /* enum vb_multipath_kind */
	bool same_hash;       /* all switches mix the hash of a flow alike */
	uint64_t hash_seed;   /* from which they mix it; 0: the seed of the run */
	vb_dur flowlet_gap;   /* a pause longer than this ends a flowlet */
	uint32_t flowlet_cnt; /* entries of the table of each switch, 1 to VB_FLOWLETS_MAX */
	uint32_t queue_step;  /* ADAPTIVE: lengths of queues are compared in so many bytes, 1 on */
	uint8_t random_ties;  /* ... and one of equal hops is drawn at random, not by the hash */
};

/* Flows that share an entry are one flow to the switch: the table is bounded, and hashed. */
struct vb_flowlet {
	vb_time until; /* a packet from then on begins a new flowlet */
	uint32_t pick; /* chooses of any set of hops: the part of it as of 2^32 */
};

/* The state of one switch. */
struct vb_multipath {
	const struct vb_multipath_config *cfg;
	struct vb_rng rng;
	uint32_t *turn; /* SPRAY: by subnet */
	uint32_t subnet_cnt;
	struct vb_flowlet *flowlet; /* FLOWLET */
};

/* Bytes of it in a network of so many subnets. */
size_t vb_multipath_size(const struct vb_multipath_config *c, uint32_t subnets);
/* @m is so much zeroed memory; @c stays the caller's and is there as long. */
void vb_multipath_init(struct vb_multipath *m, const struct vb_multipath_config *c,
		       uint32_t subnets, struct vb_rng rng);

/* The number of the port, of those at @port, by which @f leaves; VB_FORWARD_NONE: there is no way.
 */
uint32_t vb_multipath_port(struct vb_multipath *m, const struct vb_forward *fw,
			   struct vb_port *const *port, const struct vb_frame *f, vb_time now);

#endif
