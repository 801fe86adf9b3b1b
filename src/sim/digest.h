/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A 64-bit digest of a stream of events: equal digests, equal runs. Not for secrets. Words are
 * hashed as numbers, so that the order of bytes of a machine does not matter.
 */
#ifndef VB_SIM_DIGEST_H
#define VB_SIM_DIGEST_H

#include "trace/trace.h"

#include <stdint.h>

struct vb_digest {
	uint64_t h;
	uint64_t events;
};

static inline uint64_t vb_digest_word(uint64_t h, uint64_t w)
{
	h = (h ^ w) * UINT64_C(0x9fb21c651e98df25);
	return h ^ h >> 32;
}

static inline void vb_digest_event(struct vb_digest *d, const struct vb_trace_event *ev)
{
	uint64_t h = d->h;

	h = vb_digest_word(h, ev->time);
	h = vb_digest_word(h, (uint64_t)ev->node << 32 | ev->qpn);
	h = vb_digest_word(h, (uint64_t)ev->id << 32 | ev->seq);
	for (int i = 0; i < 4; i++)
		h = vb_digest_word(h, ev->arg[i]);
	d->h = h;
	d->events++;
}

#endif
