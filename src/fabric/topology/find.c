/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds nodes by name, description and GUID. */
#include "fabric/topology/build.h"
#include "fabric/topology/lex.h"
#include "fabric/topology/topology.h"

#include <string.h>

uint32_t vb_topo_index(const struct vb_topo *t, const char *name)
{
	uint32_t from = 0, to = t->node_cnt;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;
		int way = strcmp(name, t->node[t->by_name[middle]].name);

		if (way == 0)
			return t->by_name[middle];
		if (way < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return VB_TOPO_NO_PEER;
}

static const struct vb_topo_node *find_description(const struct vb_topo *t, const char *desc,
						   uint32_t *cnt)
{
	const struct vb_topo_node *found = NULL;

	*cnt = 0;
	for (uint32_t i = 0; i < t->node_cnt; i++) {
		if (strcmp(t->node[i].desc, desc) == 0) {
			found = &t->node[i];
			(*cnt)++;
		}
	}
	return found;
}

static const struct vb_topo_node *find_guid(const struct vb_topo *t, uint64_t guid)
{
	const struct vb_topo_node *found = NULL;

	for (uint32_t i = 0; i < t->node_cnt; i++) {
		const struct vb_topo_node *n = &t->node[i];

		if (n->node_guid == guid)
			return n;
		for (uint32_t p = 0; p <= n->port_cnt; p++)
			found = n->port[p].guid == guid ? n : found;
	}
	return found;
}

const struct vb_topo_node *vb_topo_find(const struct vb_topo *t, const char *name)
{
	struct vb_lex l = {name, name, name + strlen(name)};
	uint32_t index = vb_topo_index(t, name), cnt;
	const struct vb_topo_node *n;
	bool prefixed = l.end - l.at > 2 && name[0] == '0' && (name[1] == 'x' || name[1] == 'X');
	uint64_t guid;

	if (index != VB_TOPO_NO_PEER)
		return &t->node[index];
	n = find_description(t, name, &cnt);
	if (cnt > 0)
		return cnt == 1 ? n : NULL;
	if (!prefixed && l.end - l.at != 16)
		return NULL;
	return vb_lex_hex(&l, &guid) && l.at == l.end && guid ? find_guid(t, guid) : NULL;
}
