/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts a topology together from its nodes and ends. See build.h. */
#include "fabric/topology/build.h"
#include "fabric/topology/sort.h"

#include <errno.h>
#include <string.h>

static int compare_names(const void *ctx, uint32_t a, uint32_t b)
{
	const struct vb_topo *t = ctx;

	return strcmp(t->node[a].name, t->node[b].name);
}

static int order_names(struct vb_topo_build *b)
{
	struct vb_topo *t = b->t;
	uint32_t *spare = vb_topo_scratch(b, (t->node_cnt + 1) * sizeof *spare);

	t->by_name = vb_topo_keep(b, (t->node_cnt + 1) * sizeof *t->by_name);
	if (!spare || !t->by_name)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->node_cnt; i++)
		t->by_name[i] = i;
	vb_topo_sort(t->by_name, spare, t->node_cnt, compare_names, t);
	for (uint32_t i = 1; i < t->node_cnt; i++) {
		uint32_t first = t->by_name[i - 1], second = t->by_name[i];

		if (compare_names(t, first, second) == 0)
			return REFUSE(b, b->place[second],
				      "there is a node \"%\" in %%line % already",
				      SAY_TEXT(t->node[second].name),
				      SAY_LINE(b->place[first], b->place[second]));
	}
	return 0;
}

/* A controller without a GUID counts on from its node's, as the SRP target of Linux takes the
 * node's; a service without an ID has the GUID of its controller. */
static void name_controllers(const struct vb_topo_node *n)
{
	for (struct vb_topo_ioc *c = n->ioc; c; c = c->next) {
		if (c->profile.guid == 0)
			c->profile.guid = n->node_guid + c->slot - 1;
		for (struct vb_topo_service *s = c->service; s; s = s->next)
			if (s->service.id == 0)
				s->service.id = c->profile.guid;
	}
}

int vb_topo_put_together(struct vb_topo_build *b)
{
	int err = order_names(b);

	if (!err)
		err = vb_topo_join_ends(b);
	if (!err)
		err = vb_topo_give_guids(b);
	for (uint32_t i = 0; !err && i < b->t->node_cnt; i++)
		name_controllers(&b->t->node[i]);
	return err;
}
