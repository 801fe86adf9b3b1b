/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends of connections. See ends.h. */
#include "results/series/ends.h"

#include <errno.h>

static uint64_t key_of(uint32_t host, uint32_t qpn)
{
	return (uint64_t)host << 32 | qpn;
}

static void learn_connections(struct vb_ends *e, uint32_t cnt)
{
	for (; e->connection_cnt < cnt; e->connection_cnt++)
		for (int side = 0; side < 2; side++) {
			uint32_t host, qpn;

			vb_load_end(e->load, e->connection_cnt, side, &host, &qpn);
			/* A group is no end: others send to it as well. */
			if (host != UINT32_MAX &&
			    !vb_map_put(&e->map, key_of(host, qpn),
					2 * e->connection_cnt + (uint32_t)side))
				e->err = -ENOMEM;
		}
}

uint32_t vb_end_of(struct vb_ends *e, uint32_t host, uint32_t qpn)
{
	uint32_t cnt = vb_load_connection_cnt(e->load);

	if (e->connection_cnt < cnt)
		learn_connections(e, cnt);
	return vb_map_get(&e->map, key_of(host, qpn));
}

uint32_t vb_end_origin(struct vb_ends *e, uint32_t host, const struct vb_frame *pkt,
		       const struct vb_hdr *hdr)
{
	uint32_t receiver = vb_sim_receiver(e->sim, host, &pkt->path), to;

	if (receiver == UINT32_MAX)
		return vb_hdr_opcode(hdr)->ext & VB_EXT_DETH ? vb_end_of(e, host, hdr->deth.sqpn)
							     : VB_END_NONE;
	to = vb_end_of(e, receiver, hdr->dqpn);
	return to == VB_END_NONE ? VB_END_NONE : to ^ 1;
}

uint32_t vb_end_psns(const struct vb_ends *e, const struct vb_hdr *hdr)
{
	uint32_t mtu = vb_load_mtu_bytes(e->load);

	if (!(vb_hdr_opcode(hdr)->flags & VB_OP_READ) || hdr->reth.len == 0)
		return 1;
	return (hdr->reth.len + mtu - 1) / mtu;
}

void vb_ends_free(struct vb_ends *e)
{
	vb_map_free(&e->map);
}
