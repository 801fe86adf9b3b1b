/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The forward tables of a switch: by which of its ports a frame leaves. An address belongs to a
 * subnet, which is all that hangs at one switch; that one knows the port of each, every other one
 * has a set of next hops for the subnet, from which the hash of the flow chooses (ECMP). A frame to
 * a group leaves by each port of the group's tree but its port of entry. The code that
 * knows the shape of the fabric fills the tables. RFC 2992
 */
#ifndef VB_FABRIC_FORWARD_H
#define VB_FABRIC_FORWARD_H

#include <stddef.h>
#include <stdint.h>

#define VB_FORWARD_NONE UINT32_MAX

/* Where an address hangs: all that a switch asks about it, side by side. */
struct vb_forward_site {
	uint32_t subnet; /* VB_FORWARD_NONE: at no switch */
	uint32_t port;   /* number, of the switch of that subnet */
};

/* The addresses of a fabric, one behind the other: one table for all its switches. */
struct vb_forward_map {
	uint32_t first, cnt;
	struct vb_forward_site *site;
};

/* Next hops: hop[first ... first + cnt - 1] of the table. */
struct vb_hop_set {
	uint32_t first, cnt;
};

struct vb_forward {
	const struct vb_forward_map *map;
	uint32_t subnet;              /* of the switch itself */
	uint32_t salt;                /* each switch mixes the hash its own way */
	const struct vb_hop_set *set; /* by subnet */
	const uint32_t *hop;          /* numbers of ports; switches may share the array */
	/* Trees without a loop, which groups share: bit n of tree_words words says that port n is
	 * in the tree. Tree i begins at tree[i * tree_words]. */
	const uint64_t *tree;
	uint32_t tree_cnt, tree_words;
};

/* The ports of the tree for the group with that address; NULL: there is no tree. */
static inline const uint64_t *vb_forward_group(const struct vb_forward *fw, uint32_t group)
{
	if (fw->tree_cnt == 0)
		return NULL;
	return &fw->tree[(size_t)(group * 0x9e3779b1u >> 8) % fw->tree_cnt * fw->tree_words];
}

/* The ports that lead to @address: their number, and where they are in *ports; 0: no way there. */
static inline uint32_t vb_forward_hops(const struct vb_forward *fw, uint32_t address,
				       const uint32_t **ports)
{
	uint32_t i = address - fw->map->first;

	if (i >= fw->map->cnt)
		return 0;

	const struct vb_forward_site *to = &fw->map->site[i];

	if (to->subnet == fw->subnet) {
		*ports = &to->port;
		return 1;
	}
	if (to->subnet == VB_FORWARD_NONE)
		return 0;
	*ports = &fw->hop[fw->set[to->subnet].first];
	return fw->set[to->subnet].cnt;
}

/* Each switch mixes the hash of a flow its own way, so that the choices of two tiers are
 * independent. */
static inline uint32_t vb_forward_mix(const struct vb_forward *fw, uint32_t hash)
{
	uint32_t x = (hash ^ fw->salt) * 0x9e3779b1u;

	x = (x ^ x >> 15) * 0x85ebca77u;
	return x ^ x >> 13;
}

/* The number of the port by which a frame to @address leaves; VB_FORWARD_NONE: there is no way. */
static inline uint32_t vb_forward_port(const struct vb_forward *fw, uint32_t address, uint32_t hash)
{
	const uint32_t *ports;
	uint32_t cnt = vb_forward_hops(fw, address, &ports);

	if (cnt == 0)
		return VB_FORWARD_NONE;

	/* Of one port the hash makes that one: as many packets have one as have a choice, in no
	 * order. */
	return ports[(uint32_t)((uint64_t)vb_forward_mix(fw, hash) * cnt >> 32)];
}

#endif
