/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values over time in bounded memory: each series has a fixed number of time slots, which double in
 * length as time goes on and keep the least and the most, or the sum, of what fell into them.
 */
#ifndef VB_EXPORT_SERIES_H
#define VB_EXPORT_SERIES_H

#include "base/time.h"
#include "export/map.h"

#define VB_SERIES_SLOTS 512u
#define VB_SERIES_MAX 1024u /* of a kind */
#define VB_SERIES_KINDS 8u

struct vb_slot {
	uint64_t last; /* of a sum: the sum */
	uint32_t min, max;
	bool used;
};

struct vb_series {
	uint32_t id;
	uint64_t top; /* of a sum: all of it; else the most */
	struct vb_slot slot[VB_SERIES_SLOTS];
};

/* Zeros but for slot_ns and sums: empty. */
struct vb_series_set {
	vb_dur slot_ns;
	vb_time now;
	uint32_t sums; /* bit (1 << kind): values of that kind are added up, and shown per second */
	struct vb_map by_id[VB_SERIES_KINDS];
	struct vb_series *series[VB_SERIES_KINDS][VB_SERIES_MAX];
	uint32_t cnt[VB_SERIES_KINDS];
	int err; /* -ENOMEM: memory ended, the rest is not in it */
};

/* Time goes on, to @now; values are of then. */
void vb_series_reach(struct vb_series_set *s, vb_time now);
/* A value that lasts; or an amount, of a kind that is added up. */
void vb_series_gauge(struct vb_series_set *s, uint32_t kind, uint32_t id, uint32_t v);
void vb_series_add(struct vb_series_set *s, uint32_t kind, uint32_t id, uint32_t amount);
/* Nothing more is to come: puts the series in the order of top, most first. */
void vb_series_end(struct vb_series_set *s);
void vb_series_free(struct vb_series_set *s);

/* Slots that have passed. */
uint32_t vb_series_slot_cnt(const struct vb_series_set *s);
/* The value of slot @i for a line: least and most; a slot in which nothing changed has the value
 * that stood before. Of a sum: per second, twice the same. */
void vb_series_value(const struct vb_series_set *s, uint32_t kind, const struct vb_series *of,
		     uint32_t i, double *lo, double *hi);

#endif
