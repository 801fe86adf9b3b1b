/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets between the rings of programs and the ports of their nodes, see live.h. A program's
 * packet stays in its ring while its port has no room for it. A packet that has arrived stays in
 * the port's buffer while the program's ring has no room. So credits reach from program to program.
 * The slot tells the node and the port of a program; the program's own word does not count. Items
 * LNK-03, LNK-21, FAB-57
 */
#include "link/shm/carrier.h"
#include "node/subnet/live/live.h"
#include "wire/ib/lrh.h"

#include <string.h>

/* Packets of one ring in a row. */
#define TURN_PKTS 32u

/* The program that has the slot, NULL: none. */
static const struct vb_subnet_conn *owner_of(const struct vb_subnet_daemon *d, uint32_t slot)
{
	return slot < VB_IB_SLOTS ? d->adapter->slot[slot].owner : NULL;
}

static bool lid_is_of(const struct vb_ib_map_port *p, uint16_t lid)
{
	return p->lid != 0 && lid >= p->lid && lid < p->lid + (1u << (p->lmc & 7));
}

/* The number of port @port of the program's node, by which it sends; VB_IB_NOWHERE: it has none. */
static uint32_t port_of_owner(const struct vb_subnet_daemon *d, const struct vb_subnet_conn *owner,
			      uint32_t port)
{
	const struct vb_subnet_node *n;

	if (!owner)
		return VB_IB_NOWHERE;
	n = &d->subnet.node[owner->seat->index];
	if (port == 0 || port > n->sma.info.port_cnt)
		return VB_IB_NOWHERE;
	return vb_subnet_map_port(d->adapter,
				  (struct vb_subnet_place){owner->seat->index, (uint8_t)port});
}

/* The bytes that the program of @slot has room for; UINT32_MAX: it is not waited for. */
static uint32_t room_of(struct vb_subnet_live *v, uint32_t slot, vb_time wall)
{
	uint32_t credit;

	return vb_link_rx_credit(v->link, slot, wall, &credit) ? credit : UINT32_MAX;
}

/* Hands the packet to the program of @slot, at its port @port. False: it has no room yet. */
static bool program_give(struct vb_subnet_live *v, const struct vb_tx *tx, uint32_t slot,
			 uint8_t port, vb_time wall)
{
	const struct vb_link_copy whom = {(uint16_t)slot, port};
	uint32_t room = room_of(v, slot, wall);

	if (room == 0)
		return false;
	v->out.cnt = 1;
	v->out.fate = NULL;
	v->out.pkt[0] = *tx;
	return vb_link_copy(v->link, &v->out, 0, 1, whom, wall) == 1 || room == UINT32_MAX;
}

/* The program of slot @k is at @node, and listens to the multicast LID. */
static bool program_listens(const struct vb_subnet_daemon *d, uint32_t k, uint32_t node,
			    uint16_t lid)
{
	const struct vb_subnet_conn *c = owner_of(d, k);
	uint32_t entry = (uint32_t)lid - VB_LID_MULTICAST;

	return c && c->seat->index == node && entry < VB_IB_MULTICASTS &&
	       (__atomic_load_n(&vb_ib_map_routes(d->adapter->map, k)->group[entry / 64],
				__ATOMIC_RELAXED) >>
		    entry % 64 &
		1);
}

/* Hands copies to all programs at @at that listen. False: some have no room yet, and none gets it.
 */
static bool group_give(struct vb_subnet_daemon *d, struct vb_subnet_place at,
		       const struct vb_tx *tx, vb_time wall)
{
	uint16_t lid = tx->path->dlid;

	for (uint32_t k = VB_SLOT_FIRST; k <= VB_IB_SLOT_LAST; k++)
		if (program_listens(d, k, at.node, lid) && room_of(d->live, k, wall) == 0)
			return false;
	for (uint32_t k = VB_SLOT_FIRST; k <= VB_IB_SLOT_LAST; k++)
		if (program_listens(d, k, at.node, lid))
			(void)program_give(d->live, tx, k, at.port, wall);
	return true;
}

/* The packet in a frame, with @seg for its payload. */
static struct vb_tx frame_packet(const struct vb_frame *f, struct vb_seg *seg)
{
	struct vb_tx tx = {.path = &f->path,
			   .seg = seg,
			   .payload_len = vb_frame_payload_len(f),
			   .seg_cnt = 1,
			   .pad = f->pad,
			   .hdr_len = f->hdr_len};

	*seg = (struct vb_seg){f->bytes + f->hdr_len, tx.payload_len};
	memcpy(tx.hdr, f->bytes, f->hdr_len);
	return tx;
}

/* Hands over the packet that arrived at the port. False: the program has no room for it yet. */
static bool arrived_give(struct vb_subnet_daemon *d, uint32_t number, const struct vb_frame *f,
			 vb_time wall)
{
	const struct vb_ib_map_port *p = &vb_ib_map_ports(d->adapter->map)[number];
	const struct vb_subnet_conn *owner;
	uint32_t slot = vb_slot_of_bth(f->bytes);
	struct vb_seg seg;
	struct vb_tx tx = frame_packet(f, &seg);

	if (f->path.dlid >= VB_LID_MULTICAST)
		return group_give(d, (struct vb_subnet_place){p->node, p->number}, &tx, wall);
	owner = owner_of(d, slot);
	/* Another LID, or a QP that is not here: nobody counts it. LNK-03 */
	if (!owner || owner->seat->index != p->node || !lid_is_of(p, f->path.dlid))
		return true;
	return program_give(d->live, &tx, slot, p->number, wall);
}

bool vb_subnet_live_deliver(struct vb_subnet_daemon *d, vb_time wall)
{
	struct vb_subnet_live *v = d->live;
	bool moved = false;

	v->some_waits = false;
	for (uint32_t i = 0; i < v->hca_cnt; i++) {
		const struct vb_frame *f;

		while ((f = vb_ib_hca_peek(&v->hca[i])) != NULL) {
			if (!arrived_give(d, v->number[i], f, wall)) {
				v->some_waits = true;
				break;
			}
			vb_ib_net_take(&v->net, v->number[i]);
			moved = true;
		}
	}
	return moved;
}

/* The packet that a program sends by port @number, as its ring has it. False: it makes no sense. */
static bool packet_read(const struct vb_ib_map_port *p, const struct vb_ring_way *way,
			const struct vb_rx *rx, struct vb_tx *tx, struct vb_seg *seg)
{
	if (!lid_is_of(p, way->path.slid) || !vb_tx_of_rx(rx, tx, seg))
		return false;
	tx->path = &way->path;
	return true;
}

/* Port @number has room for the next packet of a program, and those who hear it at the same node as
 * well. */
static bool port_has_room(struct vb_subnet_daemon *d, uint32_t number, const struct vb_path *path,
			  vb_time wall)
{
	const struct vb_ib_map_port *p = &vb_ib_map_ports(d->adapter->map)[number];
	struct vb_subnet_live *v = d->live;

	if (!vb_ib_hca_has_room(v->net.port[number].hca, path->sl) ||
	    !vb_ib_net_has_frames(&v->net))
		return false;
	for (uint32_t k = VB_SLOT_FIRST; path->dlid >= VB_LID_MULTICAST && k <= VB_IB_SLOT_LAST;
	     k++)
		if (program_listens(d, k, p->node, path->dlid) && room_of(v, k, wall) == 0)
			return false;
	return true;
}

/* One packet of ring @i. False: there is none, or no room, which @is_last does not ask for as long
 * as there are frames. */
static bool ring_move(struct vb_subnet_daemon *d, uint32_t i, bool is_last, vb_time wall)
{
	struct vb_subnet_live *v = d->live;
	const struct vb_ib_map_port *p;
	struct vb_ring_way way;
	struct vb_seg seg;
	struct vb_rx rx;
	struct vb_tx tx;
	uint32_t number;

	if (!vb_shm_carrier_look(v->link, i, &way))
		return false;
	number = port_of_owner(d, owner_of(d, vb_shm_carrier_slot(v->link, i)), way.ifindex);
	if (number != VB_IB_NOWHERE && (is_last ? !vb_ib_net_has_frames(&v->net)
						: !port_has_room(d, number, &way.path, wall))) {
		v->is_held[i] = true;
		return false;
	}
	if (!vb_shm_carrier_take(v->link, i, &rx))
		return false;
	if (number == VB_IB_NOWHERE)
		return true;
	p = &vb_ib_map_ports(d->adapter->map)[number];
	if (!packet_read(p, &way, &rx, &tx, &seg)) {
		v->net.end[number].port.counters.xmit_discards++;
		return true;
	}
	/* The sender's own port hears what goes to a group. */
	if (way.path.dlid >= VB_LID_MULTICAST && p->may_send)
		(void)group_give(d, (struct vb_subnet_place){p->node, p->number}, &tx, wall);
	(void)vb_ib_net_send(&v->net, number, &tx);
	return true;
}

bool vb_subnet_live_send(struct vb_subnet_daemon *d, vb_time wall)
{
	struct vb_subnet_live *v = d->live;
	uint32_t cnt = vb_shm_carrier_rings(v->link);
	bool moved = false;

	v->some_held = false;
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t n = 0;

		v->is_held[i] = false;
		while (n < TURN_PKTS && ring_move(d, i, false, wall))
			n++;
		vb_shm_carrier_give_back(v->link, i);
		v->some_held |= v->is_held[i];
		moved |= n != 0;
	}
	return moved;
}

void vb_subnet_live_flush(struct vb_subnet_daemon *d, uint32_t slot, vb_time wall)
{
	struct vb_subnet_live *v = d->live;
	uint32_t cnt = vb_shm_carrier_rings(v->link);

	for (uint32_t i = 0; i < cnt; i++)
		while (vb_shm_carrier_slot(v->link, i) == slot && ring_move(d, i, true, wall))
			;
}

bool vb_subnet_live_is_sent(const struct vb_subnet_live *v)
{
	uint32_t cnt;

	if (vb_shm_carrier_has_news(v->link))
		return true;
	cnt = vb_shm_carrier_cnt(v->link);
	for (uint32_t i = 0; i < cnt; i++)
		if (!v->is_held[i] && vb_shm_carrier_has_packets(v->link, i))
			return true;
	return false;
}
