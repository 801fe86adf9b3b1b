/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A 64-bit digest of the events of a run: equal digests, equal runs. Not for secrets. Words are
 * hashed as numbers, so that the order of bytes of a machine does not matter. Each node has a
 * digest of its own events in their order, and that of a run is over those of all nodes: the order
 * of events at different nodes is no part of it, so a network that is run in parts has the same.
 */
#ifndef VB_SIM_DIGEST_H
#define VB_SIM_DIGEST_H

#include "trace/trace.h"

#include <stdint.h>

static inline uint64_t vb_digest_word(uint64_t h, uint64_t w)
{
	h = (h ^ w) * UINT64_C(0x9fb21c651e98df25);
	return h ^ h >> 32;
}

/* The digest @h of a node's events with @ev behind them. */
static inline uint64_t vb_digest_event(uint64_t h, const struct vb_trace_event *ev)
{
	h = vb_digest_word(h, ev->time);
	h = vb_digest_word(h, (uint64_t)ev->node << 32 | ev->qpn);
	h = vb_digest_word(h, (uint64_t)ev->id << 32 | ev->seq);
	for (int i = 0; i < 4; i++)
		h = vb_digest_word(h, ev->arg[i]);
	return h;
}

/* The digest of a run, with those of @cnt nodes at @node. */
static inline uint64_t vb_digest_nodes(const uint64_t *node, uint32_t cnt)
{
	uint64_t h = 0;

	for (uint32_t i = 0; i < cnt; i++)
		h = vb_digest_word(h, node[i]);
	return h;
}

#endif
