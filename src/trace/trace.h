/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Typed events of the transport, from events.def. An event is a fixed-size record without pointers:
 * it can sit in a ring, a file or a digest unchanged. Formatting happens elsewhere (src/export).
 */
#ifndef VB_TRACE_TRACE_H
#define VB_TRACE_TRACE_H

#include "base/time.h"

#include <stdbool.h>
#include <stdint.h>

enum vb_trace_id {
#define EVENT(name, a, b, c, d, text) VB_TRACE_##name,
#include "trace/events.def"
#undef EVENT
	VB_TRACE_CNT
};

struct vb_trace_event {
	vb_time time;
	uint32_t node, qpn; /* 0: not applicable */
	uint32_t id;        /* enum vb_trace_id */
	uint32_t seq;       /* per node; a gap shows what was lost */
	uint64_t arg[4];    /* as the row of events.def names them */
};
_Static_assert(sizeof(struct vb_trace_event) == 56, "no padding: the record is hashed");

struct vb_trace {
	uint64_t mask; /* bit (1 << id): the event is wanted; 0 switches tracing off */
	void (*emit)(void *ctx, const struct vb_trace_event *ev);
	void *ctx;
	uint32_t node; /* put into each event */
	uint32_t seq;
};

struct vb_trace_info {
	const char *name, *arg[4], *text;
};
extern const struct vb_trace_info vb_trace_info[VB_TRACE_CNT];

/* Records an event; one test when it is not wanted. */
static inline void vb_trace(struct vb_trace *t, enum vb_trace_id id, uint32_t qpn, vb_time now,
			    uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	if (!(t->mask >> id & 1))
		return;
	struct vb_trace_event ev = {.time = now,
				    .node = t->node,
				    .qpn = qpn,
				    .id = id,
				    .seq = t->seq++,
				    .arg = {a, b, c, d}};
	t->emit(t->ctx, &ev);
}

#endif
