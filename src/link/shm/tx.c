/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sending by shared memory: finds the process a packet is for, makes the ring to it, and wakes it.
 * A packet that is not for a process of this host, or has to be damaged on the wire, goes on to the
 * link below.
 */
#include "link/guard.h"
#include "link/memory.h"
#include "link/middle/tap.h"
#include "link/shm/priv.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A ring is full for new requests when so much of it waits; the rest is for answers. */
#define FULL_BYTES (VB_RING_BYTES / 4 * 3)
/* A ring to a carrier (link.h) is full much sooner: the carrier has the queues of the network. */
#define CARRIER_BYTES (128u << 10)
/* As UDP would send it, see udp/priv.h; and a port for callers that ask for none. IBA A17.4.5.1
 */
#define HOP_LIMIT 64
#define UDP_SPORT 0xc000

void vb_shm_peer_forget(struct vb_shm_peer *p)
{
	if (p->token == 0)
		return;
	vb_memory_unmap(p->ring.mem, VB_RING_MAP_BYTES);
	if (p->unannounced >= 0)
		close(p->unannounced);
	*p = (struct vb_shm_peer){.token = 0};
}

/* Hands the ring in. False: not yet. */
static bool ring_announce(struct vb_shm *s, uint32_t slot, vb_time now)
{
	struct vb_shm_peer *p = &s->peer[slot];
	int rc = vb_wakeup_notify(s->wakeup_fd, p->token, VB_WAKEUP_RING, s->cfg.slot, s->token,
				  p->unannounced);

	/* Anybody can fill the queue of a wakeup endpoint, but only who shares this memory can have
	 * its owner empty it. A receiver that does not for long gets its packets by UDP. */
	if (rc == 0 || rc == -EAGAIN)
		__atomic_fetch_add(&s->cfg.wakeup[slot].rings, 1, __ATOMIC_RELEASE);
	if (rc == -EAGAIN && !vb_ring_is_stuck(&p->ring, now))
		return false;
	close(p->unannounced);
	p->unannounced = -1;
	/* Nobody lives there, or this process has no more of something: UDP it is. */
	if (rc) {
		vb_memory_unmap(p->ring.mem, VB_RING_MAP_BYTES);
		p->ring.mem = NULL;
	}
	return true;
}

static void make_ring(struct vb_shm *s, uint32_t slot, uint64_t token, vb_time now)
{
	struct vb_shm_peer *p = &s->peer[slot];
	void *mem;
	int fd;

	vb_shm_peer_forget(p);
	p->token = token;
	p->unannounced = -1;
	p->ring.since = now;
	fd = vb_memory_create(VB_MEMORY_RING, VB_RING_HEAD_BYTES + VB_RING_BYTES);
	if (fd < 0)
		return;
	if (vb_memory_map_ring(fd, VB_RING_HEAD_BYTES, VB_RING_BYTES, &mem)) {
		close(fd);
		return;
	}
	p->ring.mem = mem;
	p->unannounced = fd;
	(void)ring_announce(s, slot, now);
}

/* The process of @slot, if shared memory reaches it, else NULL. */
static struct vb_shm_peer *peer_at(struct vb_shm *s, uint32_t slot, vb_time now)
{
	uint64_t token = vb_shm_token_of(s, slot);

	if (token == 0)
		return NULL;
	if (s->peer[slot].token != token)
		make_ring(s, slot, token, now);
	return s->peer[slot].ring.mem ? &s->peer[slot] : NULL;
}

/* The process that the packet is for, in the same way. */
static struct vb_shm_peer *peer_of(struct vb_shm *s, const struct vb_tx *tx, vb_time now)
{
	if (!vb_link_is_here(&s->cfg, tx->path))
		return NULL;
	return peer_at(s, vb_slot_of_bth(tx->hdr), now);
}

static void count_sent(struct vb_shm *s, const struct vb_tx *pkt, uint32_t n)
{
	struct vb_counters *c = s->cfg.counters[pkt->path->port];
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < n; i++)
		bytes += vb_tx_wire_len(&pkt[i]);
	vb_count_add(c, VB_COUNTER_port_xmit_packets, n);
	vb_count_add(c, VB_COUNTER_port_xmit_data, bytes / 4);
	vb_count_add(c, VB_COUNTER_unicast_xmit_packets, n);
}

static void tap_sent(struct vb_shm *s, const struct vb_ring_way *way, const struct vb_tx *pkt,
		     const struct vb_tx_fate *fate, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct vb_tx tx = pkt[i];

		tx.path = &way->path;
		vb_tap_sent(s->cfg.tap, s->cfg.ctx, &tx, fate ? fate[i].mark : 0);
	}
}

/* If the reader sleeps. A reader that waits at its wakeup endpoint gets a message, and only then
 * its word is taken back. */
static void wake_reader(struct vb_shm *s, uint32_t slot, const struct vb_shm_peer *p)
{
	struct vb_wakeup *d = &s->cfg.wakeup[slot];
	uint32_t turn = __atomic_load_n(&d->asleep, __ATOMIC_SEQ_CST);

	if (turn == 0)
		return;
	if (turn & VB_WAKEUP_NAPS) {
		(void)vb_wakeup_end_nap(d, turn);
		return;
	}
	/* That there is no room for another message wakes as well. */
	(void)vb_wakeup_notify(s->wakeup_fd, p->token, VB_WAKEUP_WAKE, s->cfg.slot, s->token, -1);
	(void)__atomic_compare_exchange_n(&d->asleep, &turn, 0, false, __ATOMIC_SEQ_CST,
					  __ATOMIC_RELAXED);
}

/* Where packets go: the way of the first holds for all. */
struct dest {
	struct vb_shm_peer *peer;
	uint32_t slot;
	struct vb_ring_way way;
};

static struct dest dest_of(struct vb_shm *s, struct vb_shm_peer *p, uint32_t slot,
			   const struct vb_tx *pkt)
{
	struct dest d = {p, slot, {*pkt->path, s->cfg.ifindex[pkt->path->port]}};

	if (d.way.path.hop_limit == 0 && !vb_path_has_lid(&d.way.path))
		d.way.path.hop_limit = HOP_LIMIT;
	if (d.way.path.udp_sport == 0)
		d.way.path.udp_sport = UDP_SPORT;
	return d;
}

/* Packets from @from on for one slot on one path, none of which is to be damaged. */
static uint32_t run_length(const struct vb_tx_batch *b, uint32_t from)
{
	const struct vb_tx *first = &b->pkt[from];
	uint32_t n = 1;

	while (from + n < b->cnt && b->pkt[from + n].path == first->path &&
	       vb_slot_of_bth(b->pkt[from + n].hdr) == vb_slot_of_bth(first->hdr) &&
	       !(b->fate && b->fate[from + n].damage))
		n++;
	return n;
}

/* Packets that are put into a ring. */
struct put {
	struct vb_ring_tx *ring;
	const struct vb_ring_way *way;
	const struct vb_tx *pkt;
	uint32_t cnt, done;
	vb_time now;
};

static void put_packets(void *arg)
{
	struct put *p = arg;

	p->done = vb_ring_put(p->ring, p->way, p->pkt, p->cnt, p->now);
}

/* Writes @cnt packets of @pkt into the ring of @d. Returns how many are written; 0: there is no
 * room now. *is_lost: nor will there be any, or their memory is gone. */
static uint32_t fill_ring(struct vb_shm *s, const struct dest *d, const struct vb_tx *pkt,
			  uint32_t cnt, vb_time now, bool *is_lost)
{
	struct vb_shm_peer *p = d->peer;
	bool is_gone = false; /* the memory of a packet, since it was made */
	struct put put = {&p->ring, &d->way, pkt, cnt, 0, now};

	*is_lost = false;
	if (p->unannounced < 0 || ring_announce(s, d->slot, now)) {
		if (!p->ring.mem)
			return 0; /* the next attempt goes by UDP */
		is_gone = vb_guard_run(put_packets, &put) != 0;
	}
	if (put.done)
		wake_reader(s, d->slot, p);
	else
		*is_lost = is_gone || vb_ring_is_stuck(&p->ring, now);
	return put.done;
}

/* Sends packets of @b from @from on to @p. Returns how many are done with; 0: there is no room. */
static uint32_t send_ring(struct vb_shm *s, struct vb_shm_peer *p, const struct vb_tx_batch *b,
			  uint32_t from, vb_time now)
{
	const struct vb_tx *pkt = &b->pkt[from];
	struct dest d = dest_of(s, p, vb_slot_of_bth(pkt->hdr), pkt);
	uint32_t cnt = run_length(b, from), n;
	bool is_lost;

	n = fill_ring(s, &d, pkt, cnt, now, &is_lost);
	if (is_lost) {
		/* As if a socket's buffer were full. */
		vb_count_add(s->cfg.counters[pkt->path->port], VB_COUNTER_port_xmit_discards, cnt);
		return cnt;
	}
	if (n == 0)
		return 0;
	count_sent(s, pkt, n);
	if (vb_shm_is_tapped(s))
		tap_sent(s, &d.way, pkt, b->fate ? b->fate + from : NULL, n);
	return n;
}

uint32_t vb_shm_copy(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from, uint32_t to,
		     struct vb_link_copy whom, vb_time now)
{
	struct vb_shm *s = vb_shm_of(l);
	struct vb_shm_peer *p = peer_at(s, whom.slot, now);
	uint32_t i = from, n;
	struct dest d;
	bool is_lost;

	if (!p)
		return to - from;
	d = dest_of(s, p, whom.slot, &b->pkt[from]);
	d.way.ifindex = whom.port;
	for (; i < to; i += n) {
		n = fill_ring(s, &d, &b->pkt[i], to - i, now, &is_lost);
		if (n == 0)
			break;
	}
	return i - from;
}

/* The peer whose ring packet @i of @b goes to. NULL: it goes by the link below, as does a damaged
 * packet: its ICRC is wrong, and so it has to have one. */
static struct vb_shm_peer *ring_of(struct vb_shm *s, const struct vb_tx_batch *b, uint32_t i,
				   vb_time now)
{
	return b->fate && b->fate[i].damage ? NULL : peer_of(s, &b->pkt[i], now);
}

uint32_t vb_shm_send(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from, vb_time now)
{
	struct vb_shm *s = vb_shm_of(l);
	uint32_t i = from;

	while (i < b->cnt) {
		struct vb_shm_peer *p = ring_of(s, b, i, now);
		uint32_t to = i + 1;

		if (p) {
			uint32_t n = send_ring(s, p, b, i, now);

			if (n == 0)
				break;
			i += n;
			continue;
		}
		while (to < b->cnt && !ring_of(s, b, to, now))
			to++;
		i += vb_link_send_part(s->link.lower, &s->out, b, i, to, now);
		if (i < to)
			break;
	}
	return i - from;
}

bool vb_shm_rx_credit(struct vb_link *l, uint32_t dqpn, vb_time now, uint32_t *credit)
{
	struct vb_shm *s = vb_shm_of(l);
	uint32_t slot = vb_slot_of_qpn(dqpn), backlog;
	struct vb_shm_peer *p = &s->peer[slot];
	uint64_t token = vb_shm_token_of(s, slot);

	if (token == 0 || (token == p->token && !p->ring.mem))
		return false;
	*credit = FULL_BYTES;
	if (token != p->token)
		return true;
	/* Nothing is lost to a carrier that stands still: its fabric does, too. */
	if (slot == s->cfg.carrier && slot != 0) {
		backlog = vb_ring_backlog_now(&p->ring, now);
		*credit = backlog < CARRIER_BYTES ? CARRIER_BYTES - backlog : 0;
		return true;
	}
	backlog = vb_ring_backlog(&p->ring, now);
	if (backlog + VB_PAYLOAD_MAX <= FULL_BYTES)
		*credit = FULL_BYTES - backlog;
	else
		*credit = vb_ring_is_stuck(&p->ring, now) ? UINT32_MAX : 0;
	return true;
}
