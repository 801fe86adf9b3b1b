/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receiving by shared memory: takes in rings, reads them in turn, and looks at the link below,
 * often only while something comes from there.
 */
#include "link/memory.h"
#include "link/middle/tap.h"
#include "link/shm/priv.h"

#include <unistd.h>

/* While packets come by shared memory alone, the link below is looked at not with every recv: the
 * look is a system call, and costs more than a packet. The pause between looks doubles while they
 * find nothing, after so many in a row have. */
#define LOOK_MIN_NS (10 * VB_USEC)
#define LOOK_DOUBLINGS 5u
#define LOOKS_IN_VAIN 32u
/* So long nobody sleeps without a look at it. */
#define NAP_NS (500 * VB_USEC)
#define SHM_ALONE_NS (20 * VB_MSEC)
/* Wakeups that are taken at a time: a sender that goes on is heard again later. */
#define WAKEUPS_MAX 64u

void vb_shm_source_forget(struct vb_shm *s, uint32_t i)
{
	vb_memory_unmap(s->source[i].ring.mem, VB_RING_MAP_BYTES);
	s->source[i] = s->source[--s->source_cnt];
}

void vb_shm_forget_gone(struct vb_shm *s)
{
	for (uint32_t i = 0; i < s->source_cnt;) {
		const struct vb_shm_source *o = &s->source[i];

		if (o->ring.is_broken ||
		    (vb_shm_token_of(s, o->slot) != o->token && !vb_ring_has_packets(&o->ring)))
			vb_shm_source_forget(s, i);
		else
			i++;
	}
}

/* A process hands in one ring, and a slot has two owners at most: this one and the last, whose
 * packets may still be waiting. */
static bool has_place(const struct vb_shm *s, const struct vb_wakeup_msg *k)
{
	uint32_t of_slot = 0;

	for (uint32_t i = 0; i < s->source_cnt; i++) {
		if (s->source[i].slot != k->slot)
			continue;
		if (s->source[i].token == k->token)
			return false;
		of_slot++;
	}
	return of_slot < 2;
}

static void take_in(struct vb_shm *s, const struct vb_wakeup_msg *k, int fd)
{
	void *mem;

	vb_shm_forget_gone(s);
	if (!has_place(s, k) || s->source_cnt == VB_SHM_RINGS_MAX ||
	    vb_memory_map_ring(fd, VB_RING_HEAD_BYTES, VB_RING_BYTES, &mem))
		return;
	s->source[s->source_cnt++] =
	    (struct vb_shm_source){.token = k->token, .slot = (uint16_t)k->slot, .ring.mem = mem};
}

/* A ring that was handed in comes by a message that has not been taken. */
static bool has_handed_in(const struct vb_shm *s)
{
	return __atomic_load_n(&s->cfg.wakeup[s->cfg.slot].rings, __ATOMIC_ACQUIRE) != s->rings;
}

/* Messages to wake come one at a time; of several each ends a wait. */
static void take_wakeups(struct vb_shm *s, bool all)
{
	struct vb_wakeup_msg k;
	uint32_t n = 0;
	int fd;

	for (; n < WAKEUPS_MAX && vb_wakeup_take(s->wakeup_fd, &k, &fd); n++) {
		if (k.kind == VB_WAKEUP_RING && fd >= 0)
			take_in(s, &k, fd);
		if (fd >= 0)
			close(fd);
		if (!all && !has_handed_in(s))
			break;
	}
	if (n == WAKEUPS_MAX)
		s->rings--; /* the rest with the next recv */
	/* A thread that sleeps at the wakeup endpoint may not have seen the message that was just
	 * taken away. */
	if (s->parks)
		(void)vb_wakeup_park(&s->cfg.wakeup[s->cfg.slot], &s->turn, VB_WAKEUP_WAITS);
}

static void count_received(const struct vb_link_config *cfg, const struct vb_rx *rx, uint32_t n)
{
	struct vb_counters *c = cfg->counters[rx->path->port];
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < n; i++)
		bytes += rx[i].len + VB_ICRC_LEN;
	vb_count_add(c, VB_COUNTER_port_rcv_packets, n);
	vb_count_add(c, VB_COUNTER_port_rcv_data, bytes / 4);
	vb_count_add(c,
		     vb_gid_is_multicast(&rx->path->dgid) ? VB_COUNTER_multicast_rcv_packets
							  : VB_COUNTER_unicast_rcv_packets,
		     n);
}

uint32_t vb_shm_take_batch(const struct vb_link_config *cfg, struct vb_ring_rx *ring,
			   struct vb_shm_taken *to, struct vb_rx *rx, uint32_t *budget)
{
	struct vb_path *path = &to->path[to->cnt];
	struct vb_ring_way way;
	uint32_t n = 0;
	bool is_ours;

	if (!vb_ring_begin(ring, &way))
		return 0;
	*path = way.path;
	/* Of a multicast packet the writer knows by which port it comes. */
	path->port = way.ifindex < VB_LINK_PORTS_MAX ? (uint8_t)way.ifindex : 0;
	path->port = cfg->port_of_path ? cfg->port_of_path(cfg->ctx, path)
				       : cfg->port_of(cfg->ctx, &path->dgid, way.ifindex);
	is_ours = path->port != 0 && path->port < VB_LINK_PORTS_MAX;
	while (*budget && vb_ring_take(ring, &rx[n], to->copy[to->cnt])) {
		--*budget;
		rx[n].path = path;
		if (!is_ours)
			continue;
		n++;
		to->cnt++;
	}
	if (ring->is_broken && is_ours)
		vb_count(cfg->counters[path->port], VB_COUNTER_port_rcv_errors);
	if (n)
		count_received(cfg, rx, n);
	return n;
}

/* Looks at @cnt packets at most, whatever becomes of them: how many there are is the writers' word.
 */
static uint32_t recv_rings(struct vb_shm *s, struct vb_rx *rx, uint32_t cnt)
{
	uint32_t total = 0, budget = cnt;

	for (uint32_t k = 0; k < s->source_cnt && budget; k++) {
		struct vb_shm_source *o = &s->source[(s->first + k) % s->source_cnt];

		while (budget && vb_ring_has_packets(&o->ring))
			total +=
			    vb_shm_take_batch(&s->cfg, &o->ring, &s->taken, rx + total, &budget);
	}
	if (s->source_cnt > 1)
		s->first = (s->first + 1) % s->source_cnt;
	return total;
}

/* Whether to look at the link below. */
static bool is_look_due(const struct vb_shm *s, vb_time now)
{
	uint32_t more = s->look_in_vain - LOOKS_IN_VAIN;

	return s->look_in_vain < LOOKS_IN_VAIN || vb_time_since(s->packet_at, now) > SHM_ALONE_NS ||
	       vb_time_since(s->look_at, now) >= LOOK_MIN_NS << more;
}

static uint32_t recv_lower(struct vb_shm *s, struct vb_rx *rx, uint32_t cnt, vb_time now)
{
	uint32_t n = s->link.lower->ops->recv(s->link.lower, rx, cnt, now);

	s->look_at = now;
	s->look_in_vain =
	    n ? 0 : s->look_in_vain + (s->look_in_vain < LOOKS_IN_VAIN + LOOK_DOUBLINGS);
	return n;
}

void vb_shm_take_rings(struct vb_shm *s)
{
	uint32_t rings = __atomic_load_n(&s->cfg.wakeup[s->cfg.slot].rings, __ATOMIC_ACQUIRE);

	if (rings == s->rings)
		return;
	s->rings = rings;
	take_wakeups(s, true);
}

uint32_t vb_shm_recv(struct vb_link *l, struct vb_rx *rx, uint32_t cnt, vb_time now)
{
	struct vb_shm *s = vb_shm_of(l);
	/* Full rings leave a place for what comes by the link below. */
	uint32_t most = cnt - cnt / 4, n;

	for (uint32_t i = 0; i < s->source_cnt; i++)
		vb_ring_give_back(&s->source[i].ring);
	s->taken.cnt = 0;
	vb_shm_take_rings(s);
	n = recv_rings(s, rx, most < VB_SHM_RX_PKTS ? most : VB_SHM_RX_PKTS);
	if (n)
		s->packet_at = now;
	if (vb_shm_is_tapped(s) && !s->tap_later)
		for (uint32_t i = 0; i < n; i++)
			vb_tap_received(s->cfg.tap, s->cfg.ctx, &rx[i], 0);
	s->looked_below = n < cnt && is_look_due(s, now);
	if (s->looked_below)
		n += recv_lower(s, rx + n, cnt - n, now);
	return n;
}

bool vb_shm_has_packets(const struct vb_link *l)
{
	const struct vb_shm *s = vb_shm_of_const(l);

	if (has_handed_in(s))
		return true;
	for (uint32_t i = 0; i < s->source_cnt; i++)
		if (vb_ring_has_packets(&s->source[i].ring))
			return true;
	return vb_link_has_packets(l->lower);
}

/* The link below is not looked at each time. */
bool vb_shm_is_emptied(const struct vb_link *l)
{
	const struct vb_shm *s = vb_shm_of_const(l);

	return s->looked_below && vb_link_is_emptied(l->lower) && !vb_shm_has_packets(l);
}

void vb_shm_park(struct vb_link *l, bool on)
{
	struct vb_shm *s = vb_shm_of(l);

	vb_link_park(l->lower, on);
	if (on) {
		s->parks = true;
		(void)vb_wakeup_park(&s->cfg.wakeup[s->cfg.slot], &s->turn, VB_WAKEUP_WAITS);
		return;
	}
	vb_wakeup_unpark(&s->cfg.wakeup[s->cfg.slot]);
	if (!s->parks)
		return;
	/* The descriptor may have shown either: see what it was. */
	s->parks = false;
	take_wakeups(s, false);
	s->look_at = 0;
}

uint32_t vb_shm_begin_nap(struct vb_link *l, vb_time now)
{
	struct vb_shm *s = vb_shm_of(l);

	if (vb_time_since(s->packet_at, now) > SHM_ALONE_NS || s->look_in_vain < LOOKS_IN_VAIN)
		return 0;
	return vb_wakeup_park(&s->cfg.wakeup[s->cfg.slot], &s->turn, VB_WAKEUP_NAPS);
}

void vb_shm_nap(struct vb_link *l, uint32_t word, vb_dur d)
{
	struct vb_shm *s = vb_shm_of(l);

	vb_wakeup_nap(&s->cfg.wakeup[s->cfg.slot], word, d < NAP_NS ? d : NAP_NS);
}

bool vb_shm_end_nap(struct vb_link *l)
{
	struct vb_shm *s = vb_shm_of(l);
	struct vb_wakeup *d = &s->cfg.wakeup[s->cfg.slot];
	uint32_t word = __atomic_load_n(&d->asleep, __ATOMIC_RELAXED);

	return (word & VB_WAKEUP_NAPS) != 0 && vb_wakeup_end_nap(d, word);
}

void vb_shm_tap_later(struct vb_link *l, bool on)
{
	vb_shm_of(l)->tap_later = on;
	vb_link_tap_later(l->lower, on);
}

void vb_shm_tap_received(struct vb_link *l, uint32_t i, const struct vb_rx *rx, uint16_t mark)
{
	struct vb_shm *s = vb_shm_of(l);

	if (i >= s->taken.cnt)
		vb_link_tap_received(l->lower, i - s->taken.cnt, rx, mark);
	else if (vb_shm_is_tapped(s))
		vb_tap_received(s->cfg.tap, s->cfg.ctx, rx, mark);
}
