/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes of Chakra traces, which both forms are read into: see chakra.h. Numbers of fields, types
 * and collectives are the schema's (et_def.proto). */
#ifndef VB_SCENARIO_INPUT_CHAKRA_TRACE_H
#define VB_SCENARIO_INPUT_CHAKRA_TRACE_H

#include "scenario/input/chakra/chakra.h"

enum vb_chakra_type {
	VB_CHAKRA_METADATA = 1,
	VB_CHAKRA_MEM_LOAD,
	VB_CHAKRA_MEM_STORE,
	VB_CHAKRA_COMP,
	VB_CHAKRA_SEND,
	VB_CHAKRA_RECV,
	VB_CHAKRA_COLL,
	VB_CHAKRA_TYPES
};

/* Attributes with numbers that count. */
enum vb_chakra_number {
	VB_CHAKRA_SIZE,
	VB_CHAKRA_SRC,
	VB_CHAKRA_DST,
	VB_CHAKRA_TAG,
	VB_CHAKRA_COMM_TYPE,
	VB_CHAKRA_NUM_OPS,
	VB_CHAKRA_IS_CPU,
	VB_CHAKRA_NUMBERS
};

struct vb_chakra_node {
	uint64_t id;
	uint64_t micros;
	uint64_t place; /* the first byte, or the line, of its message */
	uint64_t number[VB_CHAKRA_NUMBERS];
	uint32_t dep, dep_cnt; /* what it requires */
	uint32_t op;           /* in the graph, as that is made */
	uint32_t rank;
	uint8_t type;
	uint8_t has; /* bits of enum vb_chakra_number */
	/* Of a collective: the dimensions that it is about, in the order of dims, dim_cnt of them;
	 * 0: all. */
	uint8_t dim_cnt;
	uint64_t dims;
	uint32_t group; /* the number of its name + 1; 0: it has none, as that of all ranks */
};

/* One attribute: its name and its value. A form of a trace says as much of the value as it has. */
struct vb_chakra_attr {
	const char *name, *text; /* text: a string */
	size_t name_len, text_len;
	enum { VB_CHAKRA_NOTHING, VB_CHAKRA_WHOLE, VB_CHAKRA_TEXT, VB_CHAKRA_OTHER } kind;
	uint64_t number;   /* of VB_CHAKRA_WHOLE */
	uint64_t bools;    /* of a list of bools the first 64, */
	uint32_t bool_cnt; /* and how many it has */
};

/* One more of a list of bools. */
static inline void vb_chakra_bool(struct vb_chakra_attr *a, bool is)
{
	if (a->bool_cnt < 64)
		a->bools |= (uint64_t)is << a->bool_cnt;
	a->bool_cnt++;
}

/* The time that a node takes, ns; VB_NEVER: none can be told of its num_ops. */
vb_dur vb_chakra_duration(const struct vb_chakra *t, const struct vb_chakra_node *n);

/* join.c: the kind of a comm_type, and its name ("": there is none); -1: no algorithm is there. */
int vb_chakra_collective_kind(uint64_t comm_type, const char **name);
/* For makers of graphs: the messages of all collectives. 0, -ENOMEM, -E2BIG, or -EINVAL with a
 * complaint. */
int vb_chakra_join(struct vb_chakra *t, const struct vb_collective *how, struct vb_graph *g);

/* The numbers of what has a name there; 0: nothing has that name. */
extern const char *const vb_chakra_type_name[VB_CHAKRA_TYPES];
uint64_t vb_chakra_word(const char *text, size_t len);

/* Room for one more than @cnt of @size bytes in *@list, which has *@room. False: no memory. */
bool vb_chakra_room(void **list, uint32_t cnt, uint32_t *room, size_t size);

/* Begins a node. NULL, -ENOMEM or, with a complaint, -EINVAL in @err. */
struct vb_chakra_node *vb_chakra_begin(struct vb_chakra *t, uint64_t place, int *err);
/* Of the node that began last. @place is for complaints. */
int vb_chakra_dep(struct vb_chakra *t, uint64_t id, uint64_t place);
int vb_chakra_attr(struct vb_chakra *t, const struct vb_chakra_attr *a, uint64_t place);

/* Complains about a place of a rank's file, or about a node; returns -EINVAL. */
__attribute__((format(printf, 4, 5))) int
vb_chakra_complain(const struct vb_chakra *t, uint32_t rank, uint64_t place, const char *fmt, ...);
__attribute__((format(printf, 3, 4))) int
vb_chakra_refuse(const struct vb_chakra *t, const struct vb_chakra_node *n, const char *fmt, ...);

/* proto.c, json.c: all nodes of one file. */
int vb_chakra_read_proto(struct vb_chakra *t, const uint8_t *text, size_t len);
int vb_chakra_read_json(struct vb_chakra *t, const char *text, size_t len);

#endif
