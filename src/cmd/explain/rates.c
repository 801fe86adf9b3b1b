/* SPDX-License-Identifier: BSD-2-Clause */
/* Values over time of live QPs, see rates.h. */
#include "cmd/explain/rates.h"

#include "base/psn.h"
#include "cmd/reg/csr_access.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* As wide as a few samples of one process. */
#define SLOT_NS (20 * VB_MSEC)
/* Before the first event, or of QPs without one before the last sample, so much is shown. */
#define BEFORE_NS (10 * VB_SEC)

struct gather {
	struct vb_explain_rates *r;
	const struct vb_qp_cases *c;
	const uint32_t *which;
	uint32_t cnt;
	struct vb_map place; /* by QPN */
	struct vb_broker_observer o;
	struct vb_qp_sample *sample;
	uint32_t sample_cnt, sample_room;
	struct vb_qp_sample *before; /* by place: the one before; at 0: none yet */
};

/* Copies the samples of one process that are of QPs that are wanted. */
static int take_samples(struct gather *g, const struct vb_rates_shm *from)
{
	uint64_t end = __atomic_load_n(&from->cnt, __ATOMIC_ACQUIRE);
	struct vb_qp_sample s;

	for (uint64_t at = vb_rates_first(from); at < end; at++) {
		if (!vb_rates_read(from, at, &s) || !s.qpn || s.at > g->c->now ||
		    vb_map_get(&g->place, s.qpn) == VB_MAP_NONE)
			continue;
		if (g->sample_cnt == g->sample_room) {
			uint32_t room = g->sample_room ? 2 * g->sample_room : 1024;
			struct vb_qp_sample *to = realloc(g->sample, room * sizeof *to);

			if (!to)
				return -ENOMEM;
			g->sample = to;
			g->sample_room = room;
		}
		g->sample[g->sample_cnt++] = s;
	}
	return 0;
}

static uint32_t kbps_of(uint16_t units, uint32_t clk_hz)
{
	uint64_t kbps = vb_cc_bps((uint32_t)units << 8, clk_hz) / 1000;

	return kbps < UINT32_MAX ? (uint32_t)kbps : UINT32_MAX;
}

/* @amount came about evenly from @from to @to. */
static void spread_amount(struct gather *g, enum vb_explain_series kind, uint32_t place,
			  vb_time from, vb_time to, uint32_t amount)
{
	struct vb_series_set *s = &g->r->series;
	vb_dur all = to > from ? to - from : 1;
	uint32_t done = 0;

	if (!amount)
		return;
	while (done < amount) {
		vb_time end = (from / s->slot_ns + 1) * s->slot_ns;
		uint32_t upto = amount;

		if (end < to)
			upto = (uint32_t)((double)amount * (1 - (double)(to - end) / (double)all));
		vb_series_reach(s, from);
		vb_series_add(s, kind, place, upto > done ? upto - done : 0);
		done = upto > done ? upto : done;
		from = end;
	}
}

/* PSNs from @a to @b; backwards: the QP was made ready again. */
static uint32_t psns_since(uint32_t a, uint32_t b)
{
	int32_t d = vb_psn_diff(vb_psn(b & VB_PSN_MASK), vb_psn(a & VB_PSN_MASK));

	return d > 0 ? (uint32_t)d : 0;
}

static void add_sample(struct gather *g, const struct vb_qp_sample *s)
{
	uint32_t place = vb_map_get(&g->place, s->qpn);
	struct vb_qp_sample *was = &g->before[place];
	vb_time at = s->at - g->r->from;

	if (was->at && s->at >= was->at) {
		vb_time from = was->at > g->r->from ? was->at - g->r->from : 0;

		spread_amount(g, VB_EXPLAIN_ACKED, place, from, at,
			      psns_since(was->psn_una, s->psn_una));
		spread_amount(g, VB_EXPLAIN_EXPECTED, place, from, at,
			      psns_since(was->epsn, s->epsn));
	}
	*was = *s;
	vb_series_reach(&g->r->series, at);
	if (!s->clk_hz)
		return;
	vb_series_gauge(&g->r->series, VB_EXPLAIN_RATE, place, kbps_of(s->rate, s->clk_hz));
	vb_series_gauge(&g->r->series, VB_EXPLAIN_TARGET, place, kbps_of(s->target, s->clk_hz));
	vb_series_gauge(&g->r->series, VB_EXPLAIN_ALPHA, place, s->alpha);
}

/* The samples near the first event and behind it become series. */
static void make_series(struct gather *g, vb_time first)
{
	struct vb_explain_rates *r = g->r;
	vb_time last = 0, oldest = VB_NEVER, since;

	for (uint32_t i = 0; i < g->sample_cnt; i++)
		last = vb_time_max(last, g->sample[i].at);
	since = vb_time_min(first, last);
	since -= vb_time_min(since, BEFORE_NS);
	for (uint32_t i = 0; i < g->sample_cnt; i++)
		if (g->sample[i].at >= since)
			oldest = vb_time_min(oldest, g->sample[i].at);
	r->from = oldest;
	if (oldest == VB_NEVER)
		return;
	/* How wide slots are at last decides over which of them an amount is spread. */
	vb_series_reach(&r->series, last - oldest);
	for (uint32_t i = 0; i < g->sample_cnt; i++)
		if (g->sample[i].at >= since)
			add_sample(g, &g->sample[i]);
	vb_series_reach(&r->series, last - oldest);
	vb_series_end(&r->series);
}

/* The words of a QP that make up its window; the entries stay. */
enum { CLOCK, COUNTS, OVERFLOW, ENTRIES };

static bool look_at_recorder(struct vb_broker_observer *o, const struct vb_qp_case *k,
			     struct vb_dfx_window *w)
{
	static const char *const names[] = {"QP_CLOCK", "DFX_CNT", "DFX_OVERFLOW"};
	struct vb_broker_csr csr = {.method = VB_BROKER_CSR_LOOK};
	uint32_t index = vb_broker_qp_index(o, k->qpn);
	char why[VB_BROKER_TEXT_MAX];

	if (!index || !k->device[0])
		return false;
	memcpy(csr.device, k->device, sizeof csr.device);
	for (uint32_t i = 0; i < ENTRIES; i++)
		csr.access[csr.cnt++].at =
		    vb_csr_address(vb_csr_by_name(names[i], strlen(names[i])), index);
	for (uint32_t i = 0; i < VB_DFX_ENTRIES; i++)
		csr.access[csr.cnt++].at = VB_CSR_DFX_INFO + (index - 1) * VB_CSR_STRIDE;
	if (vb_broker_csr_access(o, &csr, why, sizeof why))
		return false;
	*w = (struct vb_dfx_window){.clk_hz = (uint32_t)csr.access[CLOCK].word,
				    .decreases = csr.access[COUNTS].word & 0xffff,
				    .byte_increases = csr.access[COUNTS].word >> 16 & 0xffff,
				    .timer_increases = csr.access[COUNTS].word >> 32 & 0xffff,
				    .overflow = csr.access[OVERFLOW].word};
	for (uint32_t i = 0; i < VB_DFX_ENTRIES; i++)
		if (vb_dfx_event_of(csr.access[ENTRIES + i].word) != VB_CSR_DFX_NONE)
			w->entry[w->cnt++] = csr.access[ENTRIES + i].word;
	return w->cnt != 0;
}

/* Of QPs that are controlled, as a QP without control records nothing. */
static void look_at_recorders(struct gather *g)
{
	struct vb_explain_rates *r = g->r;

	for (uint32_t i = 0; i < g->cnt && r->recorder_cnt < VB_EXPLAIN_RECORDERS; i++) {
		const struct vb_qp_case *k = &g->c->at[g->which[i]];
		struct vb_explain_recorder *to = &r->recorder[r->recorder_cnt];

		if (k->ended || k->in.owner != VB_OWNER_RUNS || !g->before[i].clk_hz ||
		    !look_at_recorder(&g->o, k, &to->window))
			continue;
		to->place = i;
		r->recorder_cnt++;
	}
}

static int gather_rates(struct gather *g, vb_time first)
{
	int rc = 0;

	for (uint32_t i = 0; i < g->cnt; i++)
		/* The first in the table is the one that lives. */
		if (vb_map_get(&g->place, g->c->at[g->which[i]].qpn) == VB_MAP_NONE &&
		    !vb_map_put(&g->place, g->c->at[g->which[i]].qpn, i))
			return -ENOMEM;
	for (uint32_t k = VB_SLOT_FIRST; k < VB_SLOT_CNT && !rc; k++)
		if (g->o.slot[k])
			rc = take_samples(g, &g->o.slot[k]->rates);
	if (rc)
		return rc;
	make_series(g, first);
	look_at_recorders(g);
	return g->r->series.err;
}

int vb_explain_rates(struct vb_explain_rates *r, const struct vb_qp_cases *c, const uint32_t *which,
		     uint32_t cnt, vb_time first)
{
	struct gather g = {.r = r, .c = c, .which = which, .cnt = cnt};
	char why[512];
	int rc;

	*r = (struct vb_explain_rates){
	    .from = VB_NEVER,
	    .series = {.slot_ns = SLOT_NS,
		       .sums = 1u << VB_EXPLAIN_ACKED | 1u << VB_EXPLAIN_EXPECTED}};
	if (cnt == 0 || vb_broker_observe(&g.o, false, why, sizeof why))
		return 0;
	g.before = calloc(cnt, sizeof *g.before);
	rc = g.before ? 0 : -ENOMEM;
	if (!rc && vb_broker_observe_slots(&g.o) == 0)
		rc = gather_rates(&g, first);
	vb_broker_observe_end(&g.o);
	vb_map_free(&g.place);
	free(g.sample);
	free(g.before);
	return rc;
}

void vb_explain_rates_free(struct vb_explain_rates *r)
{
	vb_series_free(&r->series);
}
