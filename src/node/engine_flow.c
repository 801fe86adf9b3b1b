/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the receive sockets and rings of this host can take: the core's room callback. See
 * link/flow.h and link/shm.h.
 */
#include "link/shm.h"
#include "node/engine_priv.h"

/* A socket that nobody has read for so long is not waited for: its owner is stopped or gone. */
#define STUCK_NS (100 * VB_MSEC)
#define MTU_MAX_BYTES 4096u

/* True when a packet of the largest MTU may not fit any more: whoever has one waits. */
static bool is_full(const struct vb_engine *e, uint64_t backlog)
{
	return backlog + MTU_MAX_BYTES > e->flow_limit;
}

uint32_t vb_engine_room(void *ctx, const struct vb_path *path, uint32_t dqpn, vb_time now)
{
	struct vb_engine *e = ctx;
	uint8_t slot = (uint8_t)dqpn;
	const struct vb_flow *f = &e->broker.flow[slot];
	struct vb_flow_watch *w = &e->watch[slot];

	if (!vb_addr_find(&e->addr, &path->dgid, e->devices.device[path->port - 1].ifindex))
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
