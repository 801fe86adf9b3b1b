/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A topology that is being made: nodes are added, ends of cables are added, then all is put
 * together, which finds the names of peers, compares both ends of each cable, and gives GUIDs.
 */
#ifndef VB_FABRIC_TOPOLOGY_BUILD_H
#define VB_FABRIC_TOPOLOGY_BUILD_H

#include "fabric/topology/say.h"
#include "fabric/topology/topology.h"

/* Memory that is given back all at once. */
struct vb_topo_chunk {
	struct vb_topo_chunk *next;
	size_t size, used;
	uint64_t bytes[];
};

/* Where something was said. Line 0: nowhere, it is a shape. */
struct vb_topo_place {
	const char *file;
	uint32_t line;
};

/* One end of a cable, as it was said. Zero in a field that was not said. */
struct vb_topo_end {
	uint32_t node;
	uint8_t port;
	uint8_t peer_port;
	bool silent;         /* nobody said it: the other end did */
	uint8_t width;       /* bits of enum vb_ib_width */
	uint8_t usual_width; /* where neither end says one */
	uint16_t speed;      /* bits of enum vb_ib_speed */
	uint16_t usual_speed;
	uint16_t peer_lid;
	uint32_t peer;         /* index of the node, when peer_name is NULL */
	const char *peer_name; /* of a node, or "MODULE@NAME" of an alias */
	uint64_t peer_guid;    /* of the port */
	uint32_t other;        /* index of the other end */
	struct vb_topo_place place;
};

/* ibsim: another name of a port. */
struct vb_topo_alias {
	const char *name; /* "MODULE@NAME" */
	uint32_t node;
	uint8_t port;
	struct vb_topo_place place;
};

struct vb_topo_build {
	const struct vb_topo_config *cfg;
	struct vb_topo *t;
	struct vb_topo_chunk *scratch; /* until the end of the work */
	struct vb_topo_place *place;   /* of each node */
	struct vb_topo_end *end;
	struct vb_topo_alias *alias;
	uint32_t node_room, end_cnt, end_room, alias_cnt, alias_room;
	uint32_t port_cnt; /* of all nodes */
	char *why;
	size_t why_size;
};

void vb_topo_begin(struct vb_topo_build *b, struct vb_topo *t, const struct vb_topo_config *cfg,
		   char *why, size_t why_size);
/* Frees what was for the work only, and after an error all; returns @err. */
int vb_topo_end_work(struct vb_topo_build *b, int err);

/* Zeroed memory, or NULL. */
void *vb_topo_keep(struct vb_topo_build *b, size_t size);    /* as long as the topology */
void *vb_topo_scratch(struct vb_topo_build *b, size_t size); /* as long as the work */

/* A node without GUIDs and cables, its description is its name. @out: valid until the next one. */
int vb_topo_add_node(struct vb_topo_build *b, uint8_t type, const char *name, size_t name_len,
		     uint32_t port_cnt, struct vb_topo_place place, struct vb_topo_node **out);
/* An end at a port that exists. A port has one. */
int vb_topo_add_end(struct vb_topo_build *b, const struct vb_topo_end *end);
int vb_topo_add_alias(struct vb_topo_build *b, const struct vb_topo_alias *alias);

/* Three arguments for "%%line %": the line, with its file when that is another one than that of
 * @here, where the sentence begins with it. */
#define SAY_LINE(other, here)                                                                      \
	SAY_TEXT((other).file && (other).file != (here).file ? (other).file : ""),                 \
	    SAY_TEXT((other).file && (other).file != (here).file ? ", " : ""),                     \
	    SAY_DEC((other).line)

/* After the last of them. */
int vb_topo_put_together(struct vb_topo_build *b);
/* The index of a node by its name, VB_TOPO_NO_PEER: there is none. */
uint32_t vb_topo_index(const struct vb_topo *t, const char *name);
/* Steps of it. */
int vb_topo_join_ends(struct vb_topo_build *b);
int vb_topo_give_guids(struct vb_topo_build *b);

/* Writes "FILE, line N, column M: " and the sentence; @column 0: without it. Returns -EINVAL. */
int vb_topo_refuse(struct vb_topo_build *b, struct vb_topo_place place, size_t column,
		   const char *template, const struct vb_say_arg *arg);
#define REFUSE(b, place, template, ...)                                                            \
	vb_topo_refuse((b), (place), 0, (template), (const struct vb_say_arg[]){__VA_ARGS__})

#endif
