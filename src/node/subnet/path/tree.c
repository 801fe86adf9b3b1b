/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way of a copy of a multicast packet to one of the ports that are to get it, found back from
 * there in the tree that the tables give (link/ib/route.h). FAB-02
 */
#include "node/subnet/path/path.h"

#include "link/ib/route.h"

static struct vb_ib_tree tree;

uint32_t vb_subnet_path_end(uint32_t fate)
{
	static const uint8_t ends[] = {
	    [VB_IB_ARRIVES] = VB_PATH_ARRIVES,
	    [VB_IB_LOST] = VB_PATH_ELSEWHERE,
	    [VB_IB_NO_WAY] = VB_PATH_NO_WAY,
	    [VB_IB_SENT_NOT] = VB_PATH_SENT_NOT,
	    [VB_IB_RECEIVED_NOT] = VB_PATH_RECEIVED_NOT,
	    [VB_IB_BARRED_OUT] = VB_PATH_BARRED_OUT,
	    [VB_IB_BARRED_IN] = VB_PATH_BARRED_IN,
	    [VB_IB_NOT_ROUTED] = VB_PATH_NOT_ROUTED,
	    [VB_IB_HOPS_ENDED] = VB_PATH_HOPS_ENDED,
	    [VB_IB_PASSES] = VB_PATH_END_CNT,
	};

	return fate < sizeof ends ? ends[fate] : VB_PATH_END_CNT;
}

/* The branch that left by port @out, or could not; VB_IB_NOWHERE: there is none. */
static uint32_t branch_by(uint32_t out)
{
	for (uint32_t i = 0; i < tree.branch_cnt; i++) {
		const struct vb_ib_branch *b = &tree.branch[i];

		if (b->hop.out == out || (b->hop.out == VB_IB_NOWHERE && b->at == out))
			return i;
	}
	return VB_IB_NOWHERE;
}

/* The branch by which the packet came to @node, which copies it, or has no ports for the group. */
static uint32_t branch_to(const struct vb_ib_map *m, uint32_t node)
{
	uint32_t found = VB_IB_NOWHERE;

	for (uint32_t i = 0; i < tree.branch_cnt; i++) {
		if (vb_ib_map_ports(m)[tree.branch[i].at].node != node)
			continue;
		if (tree.branch[i].fate == VB_IB_PASSES)
			return i;
		if (tree.branch[i].fate == VB_IB_NO_WAY)
			found = i;
	}
	return found;
}

void vb_subnet_tree_way(const struct vb_ib_map *m, const struct vb_ib_key *key, uint32_t to,
			struct vb_subnet_tree_way *w)
{
	const struct vb_ib_map_port *ports = vb_ib_map_ports(m);
	uint32_t out = to == key->port ? to : ports[to].peer, i;

	*w = (struct vb_subnet_tree_way){.end = VB_PATH_ARRIVES, .at = to};
	if (out >= m->port_cnt)
		out = key->port;
	vb_ib_walk_tree(m, key, &tree);
	i = branch_by(out);
	if (i == VB_IB_NOWHERE) {
		w->end = VB_PATH_NO_COPY;
		w->at = out;
	} else if (tree.branch[i].fate != VB_IB_ARRIVES && tree.branch[i].fate != VB_IB_PASSES) {
		w->end = vb_subnet_path_end(tree.branch[i].fate);
		w->at = tree.branch[i].at;
	}
	while (w->cnt < VB_PATH_HOPS_MAX) {
		w->out[w->cnt++] = out;
		i = branch_to(m, ports[out].node);
		if (out == key->port || i == VB_IB_NOWHERE)
			break;
		out = tree.branch[i].hop.out;
	}
	w->is_reached = out == key->port;
}
