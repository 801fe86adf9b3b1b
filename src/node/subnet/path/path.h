/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The facts for `verbena explain` of a fabric and for `verbena fabric show --route`
 * (explain/path/path.h): the way of a packet from one node to another, by the walk that the packets
 * of programs take (link/ib/route.h), with the ports on it as the managers have set them and as
 * they count; or all ports of a node.
 */
#ifndef VB_NODE_SUBNET_PATH_PATH_H
#define VB_NODE_SUBNET_PATH_PATH_H

#include "explain/path/path.h"
#include "node/subnet/adapter/adapter.h"

#include <stdio.h>

/* A packet whose way is asked for. */
struct vb_subnet_question {
	struct vb_subnet_place from, to;
	bool has_to, has_dlid, has_pkey;
	/* Without has_pkey: its place in the table of @from, or the first one that @to lets pass.
	 */
	uint8_t pkey_index;
	bool has_common_pkey;
	uint8_t path_bits; /* added to the LID of @to, below 2^LMC */
	uint16_t dlid, pkey;
	uint8_t sl, mtu; /* @mtu: code; 0: any */
	uint8_t hop_limit;
	uint64_t prefix, guid; /* of its DGID; guid 0: no GRH */
};

/* question.c: reads "sl=3 pkey=0x8001 (or index=1) dlid=7 mtu=5 hops=255 prefix=0x1
 * guid=0x2\tFROM\tTO", where all but FROM may be missing, or TO be empty; a node may be followed by
 * ":PORT". @text is changed. 0, or a negative errno with a line in @why. */
int vb_subnet_question_read(struct vb_subnet_daemon *d, char *text, struct vb_subnet_question *q,
			    char *why, size_t why_size);

/* Reads the numbers of a struct vb_subnet_way_key (view/view.h), in the order of its fields. The
 * adapter has to be there. */
int vb_subnet_question_of_ports(const struct vb_subnet_daemon *d, const char *text,
				struct vb_subnet_question *q, char *why, size_t why_size);

/* way.c: walks, and fills in the view. The adapter has to be there. */
void vb_subnet_path_view(struct vb_subnet_daemon *d, const struct vb_subnet_question *q,
			 struct vb_path_view *v);
/* The question for the way back; false: nothing is sent there. */
bool vb_subnet_question_turn(const struct vb_subnet_daemon *d, const struct vb_path_view *v,
			     const struct vb_subnet_question *q, struct vb_subnet_question *back);

/* tree.c: the links of a copy of a multicast packet, from port @to of the map back to the sender's.
 */
struct vb_subnet_tree_way {
	uint32_t out[VB_PATH_HOPS_MAX]; /* ports that it leaves by, the last one first */
	uint32_t cnt;
	uint32_t end, at; /* enum vb_path_end, and the port of the map */
	bool is_reached;  /* the last of @out is the sender's: copies come to the switch of @to */
};
void vb_subnet_tree_way(const struct vb_ib_map *m, const struct vb_ib_key *key, uint32_t to,
			struct vb_subnet_tree_way *w);
/* enum vb_path_end of a fate in the map, enum vb_ib_fate. */
uint32_t vb_subnet_path_end(uint32_t fate);

/* port.c: the facts of a port, whose counters are up to date. */
void vb_subnet_path_port(struct vb_subnet_daemon *d, struct vb_subnet_place at,
			 struct vb_path_port *p);
/* A node at which a subnet manager is. */
void vb_subnet_path_manager(struct vb_subnet_daemon *d, struct vb_path_manager *m);

/* answer.c: the commands "path" and "node" of `verbena explain`, and "way" of `verbena fabric
 * show`: records to @out. "path" writes one struct vb_path_view, or two with the way back; "way"
 * one; "node" a struct vb_subnet_node_answer for each port. */
int vb_subnet_answer_path(struct vb_subnet_daemon *d, char *arguments, FILE *out, char *why,
			  size_t why_size);
int vb_subnet_answer_way(struct vb_subnet_daemon *d, const char *numbers, FILE *out, char *why,
			 size_t why_size);
int vb_subnet_answer_node(struct vb_subnet_daemon *d, const char *name, FILE *out, char *why,
			  size_t why_size);

struct vb_subnet_node_answer {
	struct vb_path_manager manager;
	struct vb_path_port port, far;
};

#endif
