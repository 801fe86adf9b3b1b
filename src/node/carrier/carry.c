/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way of packets through the shared broker: the UDP link checks their ICRC, the QPN names the
 * process, and they go into its ring. A ring that is full loses them, as a network does: a process
 * that does not read harms nobody else. Relies on link/udp/ and link/shm/ring.h.
 */
#include "link/shm/wakeup.h"
#include "link/udp/udp.h"
#include "node/carrier/state.h"
#include "node/host/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Packets of one byte that are carried before the others have their turn. */
#define CARRY_MAX 64u

/* The device by which a packet came is named in the ring by its interface index; here it has a
 * place of the table. With more devices than places, packets of the last ones are dropped. */
static uint8_t find_port(void *ctx, const struct vb_gid *local, uint32_t ifindex)
{
	struct vb_carrier *c = ctx;

	(void)local;
	for (uint8_t i = 1; i < VB_LINK_PORTS_MAX; i++) {
		if (c->ifindex[i] == 0)
			c->ifindex[i] = ifindex;
		if (c->ifindex[i] == ifindex)
			return i;
	}
	return 0;
}

int vb_carrier_byte_open(struct vb_carrier *c, uint32_t i)
{
	static const uint32_t bring = VB_LINK_BRING_ALL;
	struct vb_link_config cfg = {.port_of = find_port, .bring = &bring, .ctx = c};
	int fd = fcntl(c->group.fd[1 + i], F_DUPFD_CLOEXEC, 0), rc;

	if (fd < 0)
		return -errno;
	vb_group_open(&c->group, 1 + i);
	cfg.rx_fd = fd;
	rc = vb_udp_open(&c->byte[i].link, &cfg);
	if (rc) {
		close(fd);
		vb_group_quiet(&c->group, 1 + i);
		return rc;
	}
	rc = vb_carrier_watch(c, c->group.fd[1 + i], VB_CARRIER_BYTE, i);
	if (rc)
		vb_carrier_byte_close(c, i);
	return rc;
}

void vb_carrier_byte_close(struct vb_carrier *c, uint32_t i)
{
	struct vb_link *l = c->byte[i].link;

	vb_carrier_unwatch(c, c->group.fd[1 + i]);
	vb_group_quiet(&c->group, 1 + i);
	l->ops->close(l);
	c->byte[i].link = NULL;
	c->byte[i].has_more = false;
}

/* As link/shm/tx.c does: the message first, and only then the word is taken back. */
static void wake_reader(struct vb_carrier *c, struct vb_carrier_client *p)
{
	uint32_t *asleep = &((struct vb_carried_head *)p->ring.mem)->wakeup.asleep;
	uint32_t turn = __atomic_load_n(asleep, __ATOMIC_SEQ_CST);

	if (turn == 0)
		return;
	(void)vb_wakeup_notify(c->wake_fd, p->token, VB_WAKEUP_WAKE, p->slot, c->token, -1);
	/* It may sleep again already: that is another turn. */
	(void)__atomic_compare_exchange_n(asleep, &turn, 0, false, __ATOMIC_SEQ_CST,
					  __ATOMIC_RELAXED);
}

static void packets_put(struct vb_carrier *c, struct vb_carrier_client *p, const struct vb_tx *tx,
			uint32_t cnt, vb_time now)
{
	struct vb_ring_way way = {*tx->path, c->ifindex[tx->path->port]};
	uint32_t done = 0, n;

	while (done < cnt && (n = vb_ring_put(&p->ring, &way, tx + done, cnt - done, now)) > 0)
		done += n;
	p->carried += done;
	p->dropped += cnt - done;
	if (done)
		wake_reader(c, p);
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
		struct vb_carrier_client *p = c->of_slot[slot];

		/* Packets of one process and one path go together. */
		for (; k < cnt && rx[k].path == rx[from].path && vb_slot_of_bth(rx[k].pkt) == slot;
		     k++)
			n += vb_tx_of_rx(&rx[k], &tx[n], &seg[n]);
		/* Damage may have brought the packets of another byte here: they are not ours to
		 * hand over. */
		if (p && n && (slot - VB_SLOT_WIDE) / VB_SLOT_SHARE == i)
			packets_put(c, p, tx, n, now);
	}
}

bool vb_carrier_carry_more(struct vb_carrier *c)
{
	bool more = false;

	for (uint32_t i = 0; i < VB_CARRIER_BYTES; i++) {
		if (c->byte[i].has_more)
			vb_carrier_carry(c, i);
		more |= c->byte[i].has_more;
	}
	return more;
}
