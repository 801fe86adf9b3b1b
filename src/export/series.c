/* SPDX-License-Identifier: BSD-2-Clause */
/* Values over time, see series.h. */
#include "export/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_sum(const struct vb_series_set *s, uint32_t kind)
{
	return s->sums >> kind & 1;
}

static void slot_join(bool sum, struct vb_slot *to, const struct vb_slot *a,
		      const struct vb_slot *b)
{
	struct vb_slot s = a->used ? *a : *b;

	if (a->used && b->used) {
		s.last = sum ? a->last + b->last : b->last;
		s.min = a->min < b->min ? a->min : b->min;
		s.max = a->max > b->max ? a->max : b->max;
	}
	*to = s;
}

/* Slots of twice the length, until @now is inside. */
void vb_series_reach(struct vb_series_set *s, vb_time now)
{
	s->now = now;
	while (now / s->slot_ns >= VB_SERIES_SLOTS) {
		s->slot_ns *= 2;
		for (uint32_t k = 0; k < VB_SERIES_KINDS; k++) {
			for (uint32_t i = 0; i < s->cnt[k]; i++) {
				struct vb_slot *t = s->series[k][i]->slot;

				for (uint32_t j = 0; j < VB_SERIES_SLOTS / 2; j++)
					slot_join(is_sum(s, k), &t[j], &t[2 * j], &t[2 * j + 1]);
				memset(&t[VB_SERIES_SLOTS / 2], 0, sizeof *t * VB_SERIES_SLOTS / 2);
			}
		}
	}
}

static struct vb_series *series_of(struct vb_series_set *s, uint32_t kind, uint32_t id)
{
	uint32_t i = vb_map_get(&s->by_id[kind], (uint64_t)id + 1);
	struct vb_series *made;

	if (i != VB_MAP_NONE)
		return s->series[kind][i];
	if (s->cnt[kind] == VB_SERIES_MAX)
		return NULL;
	made = calloc(1, sizeof *made);
	if (!made || !vb_map_put(&s->by_id[kind], (uint64_t)id + 1, s->cnt[kind])) {
		free(made);
		s->err = -ENOMEM;
		return NULL;
	}
	made->id = id;
	s->series[kind][s->cnt[kind]++] = made;
	return made;
}

void vb_series_gauge(struct vb_series_set *s, uint32_t kind, uint32_t id, uint32_t v)
{
	struct vb_series *of = series_of(s, kind, id);

	if (!of)
		return;

	struct vb_slot *slot = &of->slot[s->now / s->slot_ns];

	if (!slot->used || v < slot->min)
		slot->min = v;
	if (!slot->used || v > slot->max)
		slot->max = v;
	slot->last = v;
	slot->used = true;
	of->top = v > of->top ? v : of->top;
}

void vb_series_add(struct vb_series_set *s, uint32_t kind, uint32_t id, uint32_t amount)
{
	struct vb_series *of = series_of(s, kind, id);

	if (!of)
		return;
	of->slot[s->now / s->slot_ns].last += amount;
	of->slot[s->now / s->slot_ns].used = true;
	of->top += amount;
}

static int by_top(const void *va, const void *vb)
{
	const struct vb_series *a = *(struct vb_series *const *)va;
	const struct vb_series *b = *(struct vb_series *const *)vb;

	return a->top != b->top ? (a->top < b->top ? 1 : -1) : a->id < b->id ? -1 : a->id > b->id;
}

void vb_series_end(struct vb_series_set *s)
{
	for (uint32_t k = 0; k < VB_SERIES_KINDS; k++)
		qsort(s->series[k], s->cnt[k], sizeof s->series[k][0], by_top);
}

void vb_series_free(struct vb_series_set *s)
{
	for (uint32_t k = 0; k < VB_SERIES_KINDS; k++) {
		for (uint32_t i = 0; i < s->cnt[k]; i++)
			free(s->series[k][i]);
		vb_map_free(&s->by_id[k]);
		s->cnt[k] = 0;
	}
}

uint32_t vb_series_slot_cnt(const struct vb_series_set *s)
{
	return (uint32_t)(s->now / s->slot_ns) + 1;
}

void vb_series_value(const struct vb_series_set *s, uint32_t kind, const struct vb_series *of,
		     uint32_t i, double *lo, double *hi)
{
	const struct vb_slot *slot = &of->slot[i];

	if (is_sum(s, kind)) {
		*lo = *hi = (double)slot->last * 1e9 / (double)s->slot_ns;
		return;
	}
	if (slot->used) {
		*lo = slot->min;
		*hi = slot->max;
		return;
	}
	while (i > 0 && !of->slot[i].used)
		i--;
	*lo = *hi = (double)of->slot[i].last;
}
