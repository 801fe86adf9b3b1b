/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The room in the receive sockets and rings of this host, and how far they have been read: the
 * core's callbacks find_home, rx_credit and unanswered. See link/flow.h and vb_link_rx_credit().
 */
#include "link/flow.h"
#include "node/engine/priv.h"

#include <sys/socket.h>

/* A socket that nobody has read for so long is not waited for: its owner is stopped or gone. */
#define STUCK_NS (100 * VB_MSEC)
/* ... and that its ACKs are not missed. On a busy machine a process may well not run for the
 * former. */
#define UNANSWERED_MAX_NS (500 * VB_MSEC)

/* Of a receive buffer: a part that is full at once, whoever else sends, is in the caches. */
#define ALONE_MAX (512u << 10)
/* The part of it, in eighths, that many may use up, each with so many parts of that: many may look
 * at the same time, and for small datagrams the kernel charges more than is counted here. */
#define MOST_EIGHTHS 3u
#define MOST_MAX (3u << 20)
#define SHARES 12u
/* GSO batches that such a part has room for, so that one can follow another. */
#define SHARE_BATCHES 4u
/* A peer of another host may have a smaller buffer than ours. */
#define WINDOW_MIN (128u << 10)

static uint32_t at_most(uint64_t v, uint32_t most)
{
	return v < most ? (uint32_t)v : most;
}

uint32_t vb_engine_size_flow(struct vb_engine *e, int rx_fd)
{
	int got = 0;
	socklen_t len = sizeof got;
	uint32_t size;

	/* Rings alone: the link sets the limit. */
	if (e->broker.fabric)
		return UINT32_MAX;
	if (getsockopt(rx_fd, SOL_SOCKET, SO_RCVBUF, &got, &len) || got < 0)
		got = 0;
	size = (uint32_t)got < 2 * WINDOW_MIN ? 2 * WINDOW_MIN : (uint32_t)got;
	e->flow.alone = at_most(size / 4, ALONE_MAX);
	e->flow.most = at_most((uint64_t)size * MOST_EIGHTHS / 8, MOST_MAX);
	e->flow.share = e->flow.most / SHARES;
	e->flow.gso = at_most(VB_FLOW_BATCH_MAX, e->flow.share / SHARE_BATCHES);
	/* Half of it: the kernel charges the memory around a packet too, and we are not the only
	 * sender. */
	return 2 * e->flow.alone;
}

uint16_t vb_engine_find_home(void *ctx, const struct vb_path *path)
{
	struct vb_engine *e = ctx;
	bool is_here = e->broker.fabric != NULL; /* in a fabric there are no other hosts */

	if (!is_here && path->port != 0 && path->port <= VB_DEVICES_MAX)
		is_here = vb_addr_find(&e->addr, &path->dgid,
				       e->devices.device[path->port - 1].ifindex) != 0;
	return vb_home(e->addr.generation, is_here);
}

/* True when what goes to @slot on @path goes to a process of this host. */
static bool is_local(struct vb_engine *e, const struct vb_path *path, uint32_t slot)
{
	uint16_t home = path->home;

	if (__builtin_expect(!vb_home_is_known(home, e->addr.generation), 0))
		home = vb_engine_find_home(e, path);
	return vb_home_is_here(home) && (!e->broker.carried || e->broker.is_direct) &&
	       (e->broker.fabric ||
		__atomic_load_n(&e->broker.host->taken[slot], __ATOMIC_RELAXED) == VB_SLOT_TAKEN);
}

bool vb_engine_unanswered(void *ctx, const struct vb_path *path, uint32_t dqpn, vb_time now)
{
	struct vb_engine *e = ctx;
	uint32_t slot = vb_slot_of_qpn(dqpn);
	struct vb_flow_watch *w = &e->watch[slot];
	uint64_t answered = __atomic_load_n(&e->broker.flow[slot].answered, __ATOMIC_RELAXED);

	if (!is_local(e, path, slot))
		return false;
	if ((int64_t)(e->flow_own[slot].last - answered) <= 0) {
		w->unanswered_since = 0;
		return false;
	}
	/* Resends, which go to a receiver that stands as well, do not begin its time again. */
	if (w->unanswered_since && answered == w->unanswered_at)
		return now - w->unanswered_since <= UNANSWERED_MAX_NS;
	w->unanswered_at = answered;
	w->unanswered_since = now;
	return true;
}

/* Where there are several senders, each has something of its own in the queue: its acknowledgement
 * is what tells when to look again, and so nobody has to be woken for what others have sent. */
static uint32_t credit_among_others(struct vb_engine *e, uint32_t slot, uint64_t backlog)
{
	struct vb_flow_watch *w = &e->watch[slot];
	const struct vb_flow_own *own = &e->flow_own[slot];
	uint64_t queued;

	if ((int64_t)(own->last - w->taken) <= 0)
		w->own_read = own->bytes;
	queued = own->bytes - w->own_read;
	if (backlog + VB_PAYLOAD_MAX > e->flow.most)
		return 0;
	/* The last of it is for those that have nothing there: nobody tells them to look again. */
	if (queued == 0)
		return at_most((e->flow.most - backlog + VB_PAYLOAD_MAX) / 2, e->flow.share);
	if (backlog + e->flow.share > e->flow.most || queued + VB_PAYLOAD_MAX > e->flow.share)
		return 0;
	return (uint32_t)(e->flow.share - queued);
}

/*
 * Bytes that a socket with @backlog of them can take from this process; less than a packet of the
 * largest MTU is none. One sender alone keeps a receiver busy with what the caches hold.
 */
static uint32_t rx_credit_of(struct vb_engine *e, uint32_t slot, uint64_t backlog)
{
	uint32_t alone = 0, among;

	if (backlog + VB_PAYLOAD_MAX <= e->flow.alone)
		alone = (uint32_t)(e->flow.alone - backlog);
	if (alone >= e->flow.share)
		return alone;
	among = credit_among_others(e, slot, backlog);
	return alone > among ? alone : among;
}

uint32_t vb_engine_rx_credit(void *ctx, const struct vb_path *path, uint32_t dqpn, vb_time now)
{
	struct vb_engine *e = ctx;
	uint32_t slot = vb_slot_of_qpn(dqpn);
	const struct vb_flow *f = &e->broker.flow[slot];
	struct vb_flow_watch *w = &e->watch[slot];

	/* Another host: the transport's own window has to do. Or nobody. */
	if (!is_local(e, path, slot))
		return UINT32_MAX;

	uint32_t credit;

	if (vb_link_rx_credit(e->link, dqpn, now, &credit))
		return credit;

	/* A count that the receiver has just written is far away: the last one seen will do while
	 * it leaves much room. */
	uint64_t backlog = vb_flow_backlog(f, w->taken), seen = w->taken;

	if (backlog > e->flow.alone / 4) {
		w->taken = __atomic_load_n(&f->taken, __ATOMIC_RELAXED);
		backlog = vb_flow_backlog(f, w->taken);
	}
	credit = rx_credit_of(e, slot, backlog);
	if (credit || w->taken != seen)
		w->since = now;
	else if (now - w->since > STUCK_NS)
		return UINT32_MAX;
	if (credit < e->flow.gso)
		e->wait.held_up = true;
	return credit;
}
