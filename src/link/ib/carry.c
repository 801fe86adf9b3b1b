/* SPDX-License-Identifier: BSD-2-Clause */
/* Handing packets to the fabric's process, see carry.h. */
#include "link/ib/carry.h"

bool vb_ib_is_carried(const struct vb_ib_map *m, uint32_t number, const struct vb_tx *tx)
{
	const struct vb_ib_map_port *p;
	uint16_t dlid = tx->path->dlid;

	if (m->carrier == 0 || number >= m->port_cnt)
		return false;
	p = &vb_ib_map_ports(m)[number];
	return p->lid == 0 || dlid < p->lid || dlid >= p->lid + (1u << (p->lmc & 7));
}

uint32_t vb_ib_carry_credit(struct vb_link *lower, const struct vb_ib_map *m, vb_time now)
{
	uint32_t credit;

	/* Where there is nobody, packets get lost. */
	if (!vb_link_rx_credit(lower, m->carrier, now, &credit))
		return UINT32_MAX;
	return credit;
}

/* It is damaged on the wire, and dropped by whoever gets it. */
static bool is_damaged(const struct vb_tx_batch *b, uint32_t i)
{
	return b->fate && b->fate[i].damage;
}

uint32_t vb_ib_carry(struct vb_link *lower, const struct vb_ib_map *m, uint32_t number,
		     const struct vb_tx_batch *b, uint32_t from, uint32_t *to, vb_time now)
{
	const struct vb_link_copy whom = {m->carrier, vb_ib_map_ports(m)[number].number};
	uint32_t credit = vb_ib_carry_credit(lower, m, now), end = from;

	for (*to = from; *to < b->cnt && b->pkt[*to].path == b->pkt[from].path &&
			 is_damaged(b, *to) == is_damaged(b, from);)
		++*to;
	if (is_damaged(b, from))
		return *to - from;
	for (; end < *to; end++) {
		uint32_t len = vb_tx_wire_len(&b->pkt[end]);

		if (credit < len)
			break;
		credit -= len;
	}
	return end > from ? vb_link_copy(lower, b, from, end, whom, now) : 0;
}
