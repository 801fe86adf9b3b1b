/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counters of one port, from counters.def. One writer per instance; readers in other processes
 * see each value whole, because it is one aligned 64-bit word.
 */
#ifndef VB_TRACE_COUNTERS_H
#define VB_TRACE_COUNTERS_H

#include <stdint.h>

enum vb_counter_id {
#define COUNTER(name, file, text) VB_COUNTER_##name,
#include "trace/counters.def"
#undef COUNTER
	VB_COUNTER_CNT
};

struct vb_counters {
	uint64_t v[VB_COUNTER_CNT];
};

enum vb_counter_file { VB_COUNTER_PORT, VB_COUNTER_HW };

struct vb_counter_info {
	const char *name, *text;
	enum vb_counter_file file;
};

extern const struct vb_counter_info vb_counter_info[VB_COUNTER_CNT];

/* One plain store each: the writer needs no atomic add, a reader never sees half a word. */
static inline void vb_count_add(struct vb_counters *c, enum vb_counter_id id, uint64_t n)
{
	__atomic_store_n(&c->v[id], c->v[id] + n, __ATOMIC_RELAXED);
}

static inline void vb_count(struct vb_counters *c, enum vb_counter_id id)
{
	vb_count_add(c, id, 1);
}

#endif
