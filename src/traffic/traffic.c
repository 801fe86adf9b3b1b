/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of traffic in their order, and what is asked of it, see traffic.h. */
#include "traffic/priv.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_SLOT_NS 64

struct vb_traffic *vb_traffic_new(void)
{
	struct vb_traffic *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->host = calloc(HOSTS_MAX, sizeof *t->host);
	t->step = calloc(VB_TRAFFIC_STEPS_MAX, sizeof *t->step);
	t->series.slot_ns = FIRST_SLOT_NS;
	t->series.sums = 1u << VB_TRAFFIC_RATE | 1u << VB_TRAFFIC_RESENT | 1u << VB_TRAFFIC_CNP;
	if (t->host && t->step)
		return t;
	vb_traffic_free(t);
	return NULL;
}

void vb_traffic_free(struct vb_traffic *t)
{
	if (!t)
		return;
	vb_map_free(&t->hosts);
	vb_map_free(&t->ways);
	vb_map_free(&t->pairs);
	vb_series_free(&t->series);
	free(t->seen);
	free(t->rate);
	free(t->host);
	free(t->way);
	free(t->ends);
	free(t->step);
	free(t);
}

static int by_time(const void *va, const void *vb)
{
	const struct seen *a = va, *b = vb;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	/* At the same instant what was sent stands before what arrived. */
	if ((a->flags ^ b->flags) & SEEN_RECEIVED)
		return a->flags & SEEN_RECEIVED ? 1 : -1;
	return a->mate < b->mate ? -1 : a->mate > b->mate;
}

int vb_traffic_play(struct vb_traffic *t)
{
	int rc = vb_traffic_align_clocks(t);

	if (rc || t->seen_cnt == 0)
		return rc;
	qsort(t->seen, t->seen_cnt, sizeof *t->seen, by_time);
	t->first_ns = t->seen[0].at;
	t->length = t->seen[t->seen_cnt - 1].at - t->first_ns;
	for (uint32_t i = 0; i < t->seen_cnt; i++)
		t->seen[i].at -= t->first_ns;
	rc = vb_traffic_match(t);
	if (!rc)
		rc = vb_traffic_find_ends(t);
	if (!rc)
		rc = vb_traffic_play_rates(t);
	return rc ? rc : vb_traffic_play_steps(t);
}

const struct vb_traffic_file *vb_traffic_file(const struct vb_traffic *t, uint32_t i)
{
	return &t->file[i];
}

const struct vb_traffic_sums *vb_traffic_sums(const struct vb_traffic *t)
{
	return &t->sums;
}

const struct vb_series_set *vb_traffic_series(const struct vb_traffic *t)
{
	return &t->series;
}

uint64_t vb_traffic_first_ns(const struct vb_traffic *t)
{
	return t->first_ns;
}

vb_dur vb_traffic_length(const struct vb_traffic *t)
{
	return t->length;
}

uint32_t vb_traffic_step_cnt(const struct vb_traffic *t)
{
	return t->step_cnt;
}

const struct vb_step *vb_traffic_step(const struct vb_traffic *t, uint32_t i)
{
	return &t->step[i];
}

uint32_t vb_traffic_connection_cnt(const struct vb_traffic *t)
{
	return t->connection_cnt;
}

void vb_traffic_ends(const struct vb_traffic *t, uint32_t connection, struct vb_step_ends *out)
{
	*out = t->ends[connection];
}

uint32_t vb_traffic_host_cnt(const struct vb_traffic *t)
{
	return t->host_cnt;
}

const struct vb_gid *vb_traffic_host(const struct vb_traffic *t, uint32_t host, bool *is_twin)
{
	*is_twin = t->host[host].is_twin;
	return &t->host[host].gid;
}
