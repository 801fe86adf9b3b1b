/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the parts of the map of a fabric lie, see map.h. */
#include "link/ib/map.h"

#define LINE 64u

static uint64_t place_next(uint64_t *end, uint64_t bytes, uint64_t align)
{
	uint64_t at = (*end + align - 1) / align * align;

	*end = at + bytes;
	return at;
}

void vb_ib_map_lay_out(struct vb_ib_map *m, uint32_t node_cnt, uint32_t port_cnt, uint32_t lft_cnt,
		       uint32_t lanes_cnt, uint64_t page)
{
	uint64_t end = sizeof *m;

	m->magic = VB_IB_MAP_MAGIC;
	m->version = VB_IB_MAP_VERSION;
	m->node_cnt = node_cnt;
	m->port_cnt = port_cnt;
	m->lft_cnt = lft_cnt;
	m->lanes_cnt = lanes_cnt;
	m->nodes_at = place_next(&end, sizeof(struct vb_ib_map_node) * (uint64_t)node_cnt, LINE);
	m->ports_at = place_next(&end, sizeof(struct vb_ib_map_port) * (uint64_t)port_cnt, LINE);
	m->lanes_at = place_next(&end, sizeof(struct vb_ib_map_lanes) * (uint64_t)lanes_cnt, LINE);
	m->lfts_at = place_next(&end, VB_IB_LIDS * (uint64_t)lft_cnt, LINE);
	m->mfts_at = place_next(
	    &end, sizeof(struct vb_ib_map_mask) * VB_IB_MULTICASTS * (uint64_t)lft_cnt, LINE);
	m->counters_at =
	    place_next(&end, sizeof(struct vb_ib_map_counters) * (uint64_t)port_cnt, page);
	m->shared_at = m->counters_at;
	m->routes_at = place_next(&end, sizeof(struct vb_ib_routes) * (uint64_t)VB_IB_SLOTS, page);
	m->size = (end + page - 1) / page * page;
}

bool vb_ib_map_is_whole(const struct vb_ib_map *m, uint64_t size, uint64_t page)
{
	struct vb_ib_map want = {.generation = 0};

	if (size < sizeof *m || m->magic != VB_IB_MAP_MAGIC || m->version != VB_IB_MAP_VERSION)
		return false;
	vb_ib_map_lay_out(&want, m->node_cnt, m->port_cnt, m->lft_cnt, m->lanes_cnt, page);
	return m->size == size && want.size == size && m->shared_at == want.shared_at &&
	       m->nodes_at == want.nodes_at && m->ports_at == want.ports_at &&
	       m->lanes_at == want.lanes_at && m->lfts_at == want.lfts_at &&
	       m->mfts_at == want.mfts_at && m->counters_at == want.counters_at &&
	       m->routes_at == want.routes_at;
}
