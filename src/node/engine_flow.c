/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the receive sockets and rings of this host can take, and what they have been read of: the
 * core's callbacks room and unread. See link/flow.h and link/shm.h.
 */
#include "link/shm.h"
#include "node/engine_priv.h"

/* A socket that nobody has read for so long is not waited for: its owner is stopped or gone. */
#define STUCK_NS (100 * VB_MSEC)
/* ... and that its ACKs are not missed. On a busy machine a process may well not run for the
 * former. */
#define UNREAD_MAX_NS (500 * VB_MSEC)
#define MTU_MAX_BYTES 4096u

/* True when a packet of the largest MTU may not fit any more: whoever has one waits. */
static bool is_full(const struct vb_engine *e, uint64_t backlog)
{
	return backlog + MTU_MAX_BYTES > e->flow_limit;
}

static bool is_local(struct vb_engine *e, const struct vb_path *path)
{
	return vb_addr_find(&e->addr, &path->dgid, e->devices.device[path->port - 1].ifindex) != 0;
}

bool vb_engine_unread(void *ctx, const struct vb_path *path, uint32_t dqpn, vb_time now)
{
	struct vb_engine *e = ctx;
	uint8_t slot = (uint8_t)dqpn;
	struct vb_flow_watch *w = &e->watch[slot];
	uint64_t taken = __atomic_load_n(&e->broker.flow[slot].taken, __ATOMIC_RELAXED);

	if (!is_local(e, path))
		return false;
	if ((int64_t)(e->flow_last[slot] - taken) <= 0) {
		w->unread_since = 0;
		return false;
	}
	/* Resends, which go to a receiver that stands as well, do not begin its time anew. */
	if (w->unread_since && taken == w->unread_taken)
		return now - w->unread_since <= UNREAD_MAX_NS;
	w->unread_taken = taken;
	w->unread_since = now;
	return true;
}

uint32_t vb_engine_room(void *ctx, const struct vb_path *path, uint32_t dqpn, vb_time now)
{
	struct vb_engine *e = ctx;
	uint8_t slot = (uint8_t)dqpn;
	const struct vb_flow *f = &e->broker.flow[slot];
	struct vb_flow_watch *w = &e->watch[slot];

	if (!is_local(e, path))
		return UINT32_MAX; /* another host: the transport's own window has to do */

	uint32_t room;

	if (e->shm && vb_shm_room(e->shm, dqpn, now, &room))
		return room;

	/* A count that the receiver has just written is far away: the last one seen will do while
	 * it leaves much room. */
	uint64_t backlog = vb_flow_backlog(f, w->taken);

	if (backlog > e->flow_limit / 4) {
		uint64_t taken = __atomic_load_n(&f->taken, __ATOMIC_RELAXED);
		bool is_stuck = taken == w->taken && is_full(e, backlog);

		if (is_stuck && now - w->since > STUCK_NS)
			return UINT32_MAX;
		if (!is_stuck)
			w->since = now;
		w->taken = taken;
		backlog = vb_flow_backlog(f, taken);
	} else {
		w->since = now;
	}
	if (!is_full(e, backlog))
		return (uint32_t)(e->flow_limit - backlog);
	atomic_store_explicit(&e->held_up, true, memory_order_relaxed);
	return 0;
}
