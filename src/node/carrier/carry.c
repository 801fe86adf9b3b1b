/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way of packets through the shared broker: the UDP link checks their ICRC, the QPN names the
 * process, and they go into its ring. A ring that is full loses them, as a network does: a process
 * that does not read harms nobody else. Relies on link/udp/ and link/shm/ring.h.
 */
#include "link/shm/wakeup.h"
#include "node/carrier/state.h"
#include "node/host/clock.h"

/* Packets of one byte that are carried before the others have their turn. */
#define CARRY_MAX 64u

/* As link/shm/tx.c does: the message first, and only then the word is taken back. */
static void wake_reader(struct vb_carrier *c, struct vb_carrier_client *p)
{
	uint32_t *asleep = &((struct vb_carried_head *)p->ring.mem)->wakeup.asleep;
	uint32_t turn = __atomic_load_n(asleep, __ATOMIC_SEQ_CST);

	if (turn == 0)
		return;
	(void)vb_wakeup_notify(c->wake_fd, p->token, VB_WAKEUP_WAKE, p->slot, 0, -1);
	/* It may sleep again already: that is another turn. */
	(void)__atomic_compare_exchange_n(asleep, &turn, 0, false, __ATOMIC_SEQ_CST,
					  __ATOMIC_RELAXED);
}

uint32_t vb_carrier_put(struct vb_carrier *c, struct vb_carrier_client *p, const struct vb_tx *tx,
			uint32_t cnt, vb_time now)
{
	struct vb_ring_way way = {*tx->path, c->slots.host->device[tx->path->port - 1].ifindex};
	struct vb_carrier_counts *counts = &c->kept->user[p->user].counts;
	bool is_gsi = p->op == VB_CARRIER_QP1;
	uint32_t done = 0, n;

	while (done < cnt && (n = vb_ring_put(&p->ring, &way, tx + done, cnt - done, now)) > 0)
		done += n;
	*(is_gsi ? &counts->gsi_carried : &counts->carried) += done;
	*(is_gsi ? &counts->gsi_dropped : &counts->dropped) += cnt - done;
	if (done)
		wake_reader(c, p);
	return done;
}

/* Packets of a group: to each member. */
static void packets_copy(struct vb_carrier *c, const struct vb_carrier_byte *b,
			 const struct vb_tx *tx, uint32_t cnt, vb_time now)
{
	uint32_t ifindex = c->slots.host->device[tx->path->port - 1].ifindex;

	for (uint32_t i = 0; i < b->member_cnt; i++)
		if (b->member[i].ifindex == ifindex &&
		    vb_gid_eq(&b->member[i].gid, &tx->path->dgid))
			(void)vb_carrier_put(c, &c->client[b->member[i].client], tx, cnt, now);
}

/* Packets of byte @i, of one path and slot. */
static void packets_carry(struct vb_carrier *c, uint32_t i, uint32_t slot, const struct vb_tx *tx,
			  uint32_t cnt, vb_time now)
{
	if (vb_gid_is_multicast(&tx->path->dgid))
		packets_copy(c, &c->byte[i], tx, cnt, now);
	/* A GSO batch came to the byte of its first packet: others of it may be for a process of
	 * another byte. */
	else if (slot < VB_SLOT_WIDE || !c->of_slot[slot])
		c->misdirected += cnt;
	else
		(void)vb_carrier_put(c, c->of_slot[slot], tx, cnt, now);
}

void vb_carrier_carry(struct vb_carrier *c, uint32_t i)
{
	static struct vb_rx rx[CARRY_MAX];
	static struct vb_tx tx[CARRY_MAX];
	static struct vb_seg seg[CARRY_MAX];
	struct vb_link *l = c->byte[i].link;
	vb_time now = vb_clock_now();
	uint32_t cnt = l ? l->ops->recv(l, rx, CARRY_MAX, now) : 0;

	c->byte[i].has_more = l && !vb_link_is_emptied(l);

	for (uint32_t k = 0; k < cnt;) {
		uint32_t slot = vb_slot_of_bth(rx[k].pkt), n = 0, from = k;

		/* Packets of one process and one path go together. */
		for (; k < cnt && rx[k].path == rx[from].path && vb_slot_of_bth(rx[k].pkt) == slot;
		     k++)
			n += vb_tx_of_rx(&rx[k], &tx[n], &seg[n]);
		if (n)
			packets_carry(c, i, slot, tx, n, now);
	}
}
