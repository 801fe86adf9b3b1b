/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes as they come from a file. See trace.h. */
#include "scenario/input/chakra/trace.h"

#include "base/assert.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const vb_chakra_type_name[VB_CHAKRA_TYPES] = {
    [0] = "INVALID_NODE",
    [VB_CHAKRA_METADATA] = "METADATA_NODE",
    [VB_CHAKRA_MEM_LOAD] = "MEM_LOAD_NODE",
    [VB_CHAKRA_MEM_STORE] = "MEM_STORE_NODE",
    [VB_CHAKRA_COMP] = "COMP_NODE",
    [VB_CHAKRA_SEND] = "COMM_SEND_NODE",
    [VB_CHAKRA_RECV] = "COMM_RECV_NODE",
    [VB_CHAKRA_COLL] = "COMM_COLL_NODE",
};

static const char *const number_name[VB_CHAKRA_NUMBERS] = {
    [VB_CHAKRA_SIZE] = "comm_size",      [VB_CHAKRA_SRC] = "comm_src",
    [VB_CHAKRA_DST] = "comm_dst",        [VB_CHAKRA_TAG] = "comm_tag",
    [VB_CHAKRA_COMM_TYPE] = "comm_type", [VB_CHAKRA_NUM_OPS] = "num_ops",
    [VB_CHAKRA_IS_CPU] = "is_cpu_op",
};

#define BUCKETS (2 * VB_CHAKRA_GROUPS_MAX) /* at most half of them are in use */

static bool word_is(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && memcmp(text, word, len) == 0;
}

uint64_t vb_chakra_word(const char *text, size_t len)
{
	for (uint64_t i = 1; i < VB_CHAKRA_TYPES; i++)
		if (word_is(text, len, vb_chakra_type_name[i]))
			return i;
	return 0;
}

int vb_chakra_complain(const struct vb_chakra *t, uint32_t rank, uint64_t place, const char *fmt,
		       ...)
{
	char why[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	snprintf(t->c->text, t->c->size,
		 t->is_json ? "%s.%u.json:%" PRIu64 ": %s" : "%s.%u.et: byte %" PRIu64 ": %s",
		 t->c->file, rank, place, why);
	return -EINVAL;
}

int vb_chakra_refuse(const struct vb_chakra *t, const struct vb_chakra_node *n, const char *fmt,
		     ...)
{
	char why[240];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	return vb_chakra_complain(t, n->rank, n->place, "node %" PRIu64 " %s", n->id, why);
}

bool vb_chakra_room(void **list, uint32_t cnt, uint32_t *room, size_t size)
{
	uint32_t more = *room ? 2 * *room : 64;
	void *p;

	if (cnt < *room)
		return true;
	p = realloc(*list, more * size);
	if (!p)
		return false;
	*list = p;
	*room = more;
	return true;
}

struct vb_chakra_node *vb_chakra_begin(struct vb_chakra *t, uint64_t place, int *err)
{
	struct vb_chakra_node *n;

	*err = -ENOMEM;
	if (t->node_cnt == VB_GRAPH_OPS_MAX) {
		*err = vb_chakra_complain(t, t->rank_cnt, place, "there are more than %u nodes",
					  VB_GRAPH_OPS_MAX);
		return NULL;
	}
	if (!vb_chakra_room((void **)&t->node, t->node_cnt, &t->node_room, sizeof *t->node))
		return NULL;
	*err = 0;
	n = &t->node[t->node_cnt++];
	*n = (struct vb_chakra_node){.place = place, .dep = t->dep_cnt, .rank = t->rank_cnt};
	return n;
}

int vb_chakra_dep(struct vb_chakra *t, uint64_t id, uint64_t place)
{
	VB_ASSERT(t->node_cnt > 0);
	if (t->dep_cnt == VB_GRAPH_EDGES_MAX)
		return vb_chakra_complain(t, t->rank_cnt, place,
					  "there are more than %u requirements",
					  VB_GRAPH_EDGES_MAX);
	if (!vb_chakra_room((void **)&t->dep, t->dep_cnt, &t->dep_room, sizeof *t->dep))
		return -ENOMEM;
	t->dep[t->dep_cnt++] = id;
	t->node[t->node_cnt - 1].dep_cnt++;
	return 0;
}

/* FNV-1a. */
static uint32_t name_hash(const char *name, size_t len)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)name[i]) * 16777619u;
	return h;
}

/* The number of the group of that name, + 1, which is new if need be. 0, -ENOMEM or -EINVAL. */
static int group_find(struct vb_chakra *t, const char *name, size_t len, uint64_t place,
		      uint32_t *group)
{
	uint32_t at = name_hash(name, len) & (BUCKETS - 1);
	char *copy;

	if (!t->bucket)
		t->bucket = calloc(BUCKETS, sizeof *t->bucket);
	if (!t->bucket)
		return -ENOMEM;
	for (; t->bucket[at]; at = (at + 1) & (BUCKETS - 1)) {
		*group = t->bucket[at];
		if (word_is(name, len, t->group[*group - 1]))
			return 0;
	}
	if (t->group_cnt == VB_CHAKRA_GROUPS_MAX)
		return vb_chakra_complain(t, t->rank_cnt, place,
					  "there are more than %u process groups",
					  VB_CHAKRA_GROUPS_MAX);
	copy = malloc(len + 1);
	if (!copy ||
	    !vb_chakra_room((void **)&t->group, t->group_cnt, &t->group_room, sizeof *t->group)) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, name, len);
	copy[len] = '\0';
	t->group[t->group_cnt] = copy;
	*group = t->bucket[at] = ++t->group_cnt;
	return 0;
}

/* The group of a collective, by a name or by dimensions. */
static int group_attr(struct vb_chakra *t, struct vb_chakra_node *n, const struct vb_chakra_attr *a,
		      uint64_t place)
{
	if (word_is(a->name, a->name_len, "involved_dim")) {
		if (a->bool_cnt > 64)
			return vb_chakra_complain(t, n->rank, place,
						  "involved_dim has more than 64 dimensions");
		n->dim_cnt = (uint8_t)a->bool_cnt;
		n->dims = a->bools;
	}
	if (!word_is(a->name, a->name_len, "pg_name"))
		return 0;
	if (a->kind != VB_CHAKRA_TEXT || memchr(a->text, '\0', a->text_len))
		return vb_chakra_complain(t, n->rank, place, "pg_name is no text");
	/* PyTorch names the group of all "0". */
	if (a->text_len == 0 || word_is(a->text, a->text_len, "0"))
		return 0;
	return group_find(t, a->text, a->text_len, place, &n->group);
}

int vb_chakra_attr(struct vb_chakra *t, const struct vb_chakra_attr *a, uint64_t place)
{
	struct vb_chakra_node *n = &t->node[t->node_cnt - 1];
	int bad = group_attr(t, n, a, place);

	VB_ASSERT(t->node_cnt > 0);
	for (uint32_t i = 0; !bad && i < VB_CHAKRA_NUMBERS; i++) {
		if (!word_is(a->name, a->name_len, number_name[i]) &&
		    !(i == VB_CHAKRA_NUM_OPS && word_is(a->name, a->name_len, "flops")))
			continue;
		if (a->kind != VB_CHAKRA_WHOLE)
			return vb_chakra_complain(t, n->rank, place,
						  "%.*s is no whole number from 0 on",
						  (int)a->name_len, a->name);
		n->number[i] = a->number;
		n->has |= (uint8_t)(1u << i);
	}
	return bad;
}

vb_dur vb_chakra_duration(const struct vb_chakra *t, const struct vb_chakra_node *n)
{
	__extension__ typedef unsigned __int128 wide;
	uint64_t ops = n->type == VB_CHAKRA_COMP ? n->number[VB_CHAKRA_NUM_OPS] : 0;
	wide ns;

	if (n->micros || ops == 0)
		return n->micros <= VB_GRAPH_TIME_MAX / VB_USEC ? n->micros * VB_USEC : VB_NEVER;
	if (t->ops_per_s == 0)
		return VB_NEVER;
	ns = ((wide)ops * VB_SEC + t->ops_per_s - 1) / t->ops_per_s;
	return ns <= VB_GRAPH_TIME_MAX ? (vb_dur)ns : VB_NEVER;
}
