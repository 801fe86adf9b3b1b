/* SPDX-License-Identifier: BSD-2-Clause */
/* The rates that congestion control allowed the QPs, from the comments in captures. */
#include "traffic/priv.h"

#include <errno.h>
#include <stdlib.h>

#define UNKNOWN (NONE - 1)

int vb_traffic_add_rates(struct vb_traffic *t, const char *comments, uint64_t packet_ns)
{
	struct vb_rate_note n;

	while (vb_rate_comment_read(&comments, &n)) {
		if (t->rate_cnt == RATES_MAX)
			return 0;
		if (t->rate_cnt == t->rate_room) {
			uint32_t room = t->rate_room ? 2 * t->rate_room : 1024;
			struct rate *r = realloc(t->rate, room * sizeof *r);

			if (!r)
				return -ENOMEM;
			t->rate = r;
			t->rate_room = room;
		}
		t->rate[t->rate_cnt++] = (struct rate){
		    .at = vb_time_since(n.before, packet_ns), .note = n, .file = t->file_cnt};
	}
	return 0;
}

static int by_time(const void *va, const void *vb)
{
	const struct rate *a = va, *b = vb;

	return a->at < b->at ? -1 : a->at > b->at;
}

/* Everything known of the rates of one end. */
struct end_rates {
	struct rate first;
	bool is_known, has_changed;
};

static bool is_other(const struct vb_rate_note *a, const struct vb_rate_note *b)
{
	return a->rate_kbps != b->rate_kbps || a->target_kbps != b->target_kbps ||
	       a->alpha != b->alpha;
}

/* The end of a connection with this address and QPN, as series count; NONE: it sent nothing. */
static uint32_t end_of(const struct vb_traffic *t, const struct vb_rate_note *n)
{
	for (uint32_t i = 0; i < 2 * t->connection_cnt; i++)
		if (t->ends[i / 2].qpn[i & 1] == n->qpn &&
		    vb_gid_eq(&t->host[t->ends[i / 2].host[i & 1]].gid, &n->gid))
			return i;
	return NONE;
}

/* The end that @r is about; NONE: it sent nothing. -ENOMEM through *err. */
static uint32_t find_end(const struct vb_traffic *t, struct vb_map *ends, const struct rate *r,
			 int *err)
{
	uint64_t key = vb_traffic_hash(r->note.qpn, &r->note.gid, sizeof r->note.gid);
	uint32_t end = vb_map_get(ends, key);

	if (end == NONE) {
		end = end_of(t, &r->note);
		/* UNKNOWN, so that it is not looked for again. */
		if (!vb_map_put(ends, key, end == NONE ? UNKNOWN : end))
			*err = -ENOMEM;
	}
	return end == UNKNOWN ? NONE : end;
}

static void play_rate(struct vb_traffic *t, uint32_t end, const struct rate *r)
{
	struct vb_series_set *s = &t->series;

	vb_series_reach(s, vb_time_since(t->first_ns, r->at));
	vb_series_gauge(s, VB_TRAFFIC_CC_RATE, end, r->note.rate_kbps);
	vb_series_gauge(s, VB_TRAFFIC_CC_TARGET, end, r->note.target_kbps);
	vb_series_gauge(s, VB_TRAFFIC_CC_ALPHA, end, r->note.alpha);
}

/* An end at which nothing ever changed, such as one that only receives, has its line only where
 * there is no other end: charts have few. */
int vb_traffic_play_rates(struct vb_traffic *t)
{
	struct end_rates *known = calloc((size_t)2 * t->connection_cnt + 1, sizeof *known);
	struct vb_map ends = {0};
	bool any = false;
	int err = known ? 0 : -ENOMEM;

	if (t->rate_cnt)
		qsort(t->rate, t->rate_cnt, sizeof *t->rate, by_time);
	for (uint32_t i = 0; !err && i < t->rate_cnt; i++) {
		uint32_t end = find_end(t, &ends, &t->rate[i], &err);
		struct end_rates *k = end == NONE ? NULL : &known[end];

		if (!k)
			continue;
		if (!k->is_known)
			k->first = t->rate[i];
		k->is_known = true;
		k->has_changed |= is_other(&k->first.note, &t->rate[i].note);
		any |= k->has_changed;
	}
	for (uint32_t i = 0; !err && i < t->rate_cnt; i++) {
		uint32_t end = find_end(t, &ends, &t->rate[i], &err);

		if (end == NONE || (any && !known[end].has_changed))
			continue;
		/* It is noted when it changes: so it was before. */
		if (known[end].is_known) {
			known[end].first.at = t->first_ns;
			play_rate(t, end, &known[end].first);
			known[end].is_known = false;
		}
		play_rate(t, end, &t->rate[i]);
	}
	vb_map_free(&ends);
	free(known);
	return err;
}
