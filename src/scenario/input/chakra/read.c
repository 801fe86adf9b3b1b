/* SPDX-License-Identifier: BSD-2-Clause */
/* The file of a rank: its nodes in the order of their ids, and what they require. See chakra.h. */
#include "base/assert.h"
#include "scenario/input/chakra/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static int node_compare(const void *a, const void *b)
{
	const struct vb_chakra_node *n = a, *m = b;

	if (n->id != m->id)
		return n->id < m->id ? -1 : 1;
	return (n->place > m->place) - (n->place < m->place);
}

static int id_compare(const void *key, const void *node)
{
	uint64_t id = *(const uint64_t *)key, other = ((const struct vb_chakra_node *)node)->id;

	return (id > other) - (id < other);
}

/* The requirements of the nodes of a rank become places in t->node. */
static int deps_find(struct vb_chakra *t, uint32_t first)
{
	uint32_t cnt = t->node_cnt - first;

	for (uint32_t i = first; i < t->node_cnt; i++) {
		const struct vb_chakra_node *n = &t->node[i];

		if (i > first && t->node[i - 1].id == n->id)
			return vb_chakra_refuse(t, n, "is there twice");
		for (uint32_t k = n->dep; k < n->dep + n->dep_cnt; k++) {
			const struct vb_chakra_node *before =
			    bsearch(&t->dep[k], t->node + first, cnt, sizeof *t->node, id_compare);

			if (!before)
				return vb_chakra_refuse(
				    t, n, "requires node %" PRIu64 ", which is not there",
				    t->dep[k]);
			t->dep[k] = (uint64_t)(before - t->node);
		}
	}
	return 0;
}

int vb_chakra_read(struct vb_chakra *t, const void *text, size_t len)
{
	uint32_t first = t->node_cnt;
	int bad;

	VB_ASSERT(len <= VB_CHAKRA_TEXT_MAX && t->rank_cnt < VB_GRAPH_RANKS_MAX);
	if (!vb_chakra_room((void **)&t->first, t->rank_cnt + 1, &t->first_room, sizeof *t->first))
		return -ENOMEM;
	t->first[t->rank_cnt] = first;
	bad = t->is_json ? vb_chakra_read_json(t, text, len) : vb_chakra_read_proto(t, text, len);
	if (bad)
		return bad;
	if (t->node_cnt > first)
		qsort(t->node + first, t->node_cnt - first, sizeof *t->node, node_compare);
	bad = deps_find(t, first);
	if (!bad)
		t->first[++t->rank_cnt] = t->node_cnt;
	return bad;
}

void vb_chakra_free(struct vb_chakra *t)
{
	free(t->node);
	free(t->dep);
	free(t->first);
	for (uint32_t i = 0; i < t->group_cnt; i++)
		free(t->group[i]);
	free(t->group);
	free(t->bucket);
}
