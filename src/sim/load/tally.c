/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums over flows that are no more. See tally.h. */
#include "sim/load/tally.h"

#include "base/assert.h"
#include "sim/load/priv.h"

#include <errno.h>
#include <string.h>

#define STEP_BITS 10u
#define STEPS (1u << STEP_BITS)                /* of a power of two */
#define PLACES ((64u - STEP_BITS + 1) * STEPS) /* small numbers have one each */
#define RATE_MAX (1u << 20)

/* How often values were there. */
struct histogram {
	uint64_t cnt, sum, min, max;
	uint32_t in[PLACES];
};

struct vb_tally {
	uint64_t cnt, done, failed, running, bytes;
	vb_time first_start, last_done;
	/* Of rates, each shifted so that the greatest has 20 bits. */
	uint64_t rates, rate_sum, rate_squares;
	uint32_t rate_shift;
	struct histogram fct, slowdown[VB_REPORT_BINS];
};

static uint32_t place_of(uint64_t v)
{
	uint32_t high = v < STEPS ? STEP_BITS : 63 - (uint32_t)__builtin_clzll(v);
	uint32_t shift = high - STEP_BITS, place = shift * STEPS + (uint32_t)(v >> shift);

	VB_ASSERT_ALL(place < PLACES);
	return place;
}

/* The middle of the values at a place. */
static uint64_t value_at(uint32_t place)
{
	uint32_t shift = place < 2 * STEPS ? 0 : place / STEPS - 1;
	uint64_t low = (uint64_t)(place - shift * STEPS) << shift;

	return low + ((UINT64_C(1) << shift) >> 1);
}

static void histogram_add(struct histogram *h, uint64_t v)
{
	if (h->cnt++ == 0 || v < h->min)
		h->min = v;
	if (v > h->max)
		h->max = v;
	h->sum += v;
	h->in[place_of(v)]++;
}

static void histogram_merge(struct histogram *to, const struct histogram *h)
{
	if (h->cnt == 0)
		return;
	if (to->cnt == 0 || h->min < to->min)
		to->min = h->min;
	if (h->max > to->max)
		to->max = h->max;
	to->cnt += h->cnt;
	to->sum += h->sum;
	for (uint32_t i = 0; i < PLACES; i++)
		to->in[i] += h->in[i];
}

/* The nearest rank, rounded up, as vb_nearest_rank() has it of sorted values. */
static uint64_t rank_value(const struct histogram *h, uint32_t milli)
{
	uint64_t rank = (h->cnt * milli + 999) / 1000, seen = 0, v;
	uint32_t place = 0;

	while (seen + h->in[place] < rank)
		seen += h->in[place++];
	VB_ASSERT_ALL(place < PLACES && h->in[place] > 0);
	v = value_at(place);
	if (v < h->min)
		return h->min;
	return v > h->max ? h->max : v;
}

static void histogram_spread(struct vb_spread *s, const struct histogram *h)
{
	*s = (struct vb_spread){.cnt = h->cnt};
	if (h->cnt == 0)
		return;
	s->mean = h->sum / h->cnt;
	s->min = h->min;
	s->max = h->max;
	s->p50 = rank_value(h, 500);
	s->p90 = rank_value(h, 900);
	s->p95 = rank_value(h, 950);
	s->p99 = rank_value(h, 990);
	s->p999 = rank_value(h, 999);
}

static void rate_add(struct vb_tally *t, uint64_t rate)
{
	while (rate >> t->rate_shift >= RATE_MAX || t->rate_squares >> 62) {
		t->rate_shift++;
		t->rate_sum >>= 1;
		t->rate_squares >>= 2;
	}
	rate >>= t->rate_shift;
	t->rates++;
	t->rate_sum += rate;
	t->rate_squares += rate * rate;
}

static void flow_add(struct vb_tally *t, const struct vb_load *l, const struct vb_flow *f)
{
	bool done = vb_flow_is_done(f), running = vb_flow_is_running(f);

	t->cnt++;
	t->done += done;
	t->running += running;
	t->failed += f->status != VB_WC_SUCCESS;
	t->first_start = vb_time_min(t->first_start, f->start);
	if (done || running) {
		t->bytes += vb_load_flow_completed(l, f);
		rate_add(t, vb_flow_rate(l, f, vb_sim_now(l->sim)));
	}
	if (!done)
		return;
	if (f->done > t->last_done)
		t->last_done = f->done;
	histogram_add(&t->fct, f->done - f->start);
	histogram_add(&t->slowdown[vb_report_bin(f->bytes)], vb_flow_slowdown_milli(l, l->sim, f));
}

static void past_add(void *ctx, const struct vb_flow *f)
{
	struct vb_load *l = ctx;

	flow_add(l->tally, l, f);
}

int vb_tally_keep(struct vb_load *l)
{
	if (l->tally)
		return 0;
	l->tally = l->memory.alloc(l->memory.ctx, sizeof *l->tally);
	if (!l->tally)
		return -ENOMEM;
	l->tally->first_start = VB_NEVER;
	l->watcher[1] = (struct vb_load_watcher){past_add, l};
	return 0;
}

bool vb_tally_is_used(const struct vb_load *l)
{
	return l->tally && l->tally->cnt > 0;
}

/* Slow-downs by size: bins, classes of them, and all. @h is room for sums. */
static void slowdowns_report(struct vb_report *r, const struct vb_tally *t, struct histogram *h)
{
	uint64_t end = 10000;
	uint32_t bin = 0;

	for (uint32_t i = 0; i < VB_REPORT_BINS; i++)
		histogram_spread(&r->slowdown_of_bin[i], &t->slowdown[i]);
	for (uint32_t c = 0; c < VB_REPORT_SIZES; c++, end *= 10) {
		bool is_last = c + 1 == VB_REPORT_SIZES;

		memset(h, 0, sizeof *h);
		for (; bin < VB_REPORT_BINS && (is_last || vb_report_bin_end(bin) <= end); bin++)
			histogram_merge(h, &t->slowdown[bin]);
		histogram_spread(&r->slowdown_of_size[c], h);
	}
	VB_ASSERT_ALL(bin == VB_REPORT_BINS);
	memset(h, 0, sizeof *h);
	for (uint32_t i = 0; i < VB_REPORT_BINS; i++)
		histogram_merge(h, &t->slowdown[i]);
	histogram_spread(&r->slowdown_milli, h);
}

static uint64_t fairness_ppm(const struct vb_tally *t)
{
	uint64_t mean, square;

	if (t->rates == 0)
		return 0;
	mean = t->rate_sum / t->rates;
	square = t->rate_squares / t->rates;
	return square ? mean * mean * 1000000 / square : 0;
}

int vb_tally_report(struct vb_report *r, const struct vb_load *l,
		    const struct vb_sim_memory *memory)
{
	struct vb_tally *t = memory->alloc(memory->ctx, sizeof *t + sizeof(struct histogram));

	if (!t)
		return -ENOMEM;
	memcpy(t, l->tally, sizeof *t);
	for (uint32_t i = 0; i < vb_load_flow_cnt(l); i++)
		flow_add(t, l, vb_load_flow(l, i));
	r->flows = (uint32_t)t->cnt;
	r->done = (uint32_t)t->done;
	r->failed = (uint32_t)t->failed;
	r->running = (uint32_t)t->running;
	r->bytes = t->bytes;
	r->first_start = t->first_start;
	r->last_done = t->last_done;
	r->jain_ppm = fairness_ppm(t);
	histogram_spread(&r->fct_ns, &t->fct);
	slowdowns_report(r, t, (struct histogram *)(void *)(t + 1));
	memory->free(memory->ctx, t);
	return 0;
}
