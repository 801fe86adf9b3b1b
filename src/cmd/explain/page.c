/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena explain --html`: the page (cmd/page/page.h) of live QPs, of what the adapter keeps of
 * them: why each is where it is, the rare events of its last time of trouble as a ladder, and rates
 * over time (rates.h).
 */
#include "cmd/page/page.h"
#include "cmd/explain/explain.h"
#include "cmd/explain/rates.h"
#include "export/file/whole_file.h"

#include "wire/hdr.h"
#include "wire/opcode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct explain_page {
	const struct vb_qp_cases *c;
	const uint32_t *which;
	uint32_t cnt;     /* QPs that have a story... */
	uint32_t all_cnt; /* ... and with those that have values over time alone */
	vb_time first;    /* what times count from: the first event, or value */
	struct vb_step *step;
	uint32_t step_cnt;
	struct vb_explain_rates rates;
};

static const struct vb_qp_case *case_at(const struct explain_page *e, uint32_t i)
{
	return &e->c->at[e->which[i]];
}

/* Each QP has two places of its own: its address, and that of its peer, which may be the same. */
static void qp_ends(const struct vb_page *p, uint32_t connection, struct vb_step_ends *out)
{
	const struct explain_page *e = p->ctx;
	const struct vb_qp_case *k = case_at(e, connection);
	const struct vb_qp_view *v = vb_case_view(k);

	*out = (struct vb_step_ends){.host = {2 * connection, 2 * connection + 1},
				     .qpn = {k->qpn, v->attr.dest_qpn}};
}

static const char *host_name(const struct vb_page *p, uint32_t host)
{
	static char name[sizeof(struct vb_word) + 16];
	const struct explain_page *e = p->ctx;
	const struct vb_qp_view *v = vb_case_view(case_at(e, host / 2));
	bool is_peer = host & 1;
	const struct vb_gid *gid = is_peer ? &v->attr.path.dgid : &v->attr.path.sgid;

	snprintf(name, sizeof name, "%s%s", vb_word_gid(gid).s, is_peer ? ", the peer" : "");
	return name;
}

static void fill_story(const struct vb_page *p, uint32_t i, struct vb_page_story *out)
{
	const struct explain_page *e = p->ctx;
	const struct vb_qp_case *k = case_at(e, i);

	*out = (struct vb_page_story){
	    .host = 2 * i, .qpn = k->qpn, .timeouts = k->history.timeouts, .why = k->why};
	if (k->has_history)
		out->row_cnt = vb_timeline(&k->history, k->in.view, out->row);
	for (uint32_t r = 0; r < out->row_cnt; r++) {
		out->row[r].from = vb_time_since(e->first, out->row[r].from);
		out->row[r].at = vb_time_since(e->first, out->row[r].at);
	}
}

static struct vb_step *step_new(struct explain_page *e, uint32_t connection, uint8_t kind,
				vb_time at)
{
	struct vb_step *s = &e->step[e->step_cnt++];

	at = vb_time_since(e->first, at);
	*s = (struct vb_step){.kind = kind, .at = at, .end = at, .connection = connection};
	return s;
}

/* Requests from @psn on leave; no event tells of their arrival. */
static void add_requests(struct explain_page *e, uint32_t i, vb_time at, uint64_t psn, bool again)
{
	struct vb_step *s = step_new(e, i, VB_STEP_PACKET, at);

	s->a = (uint32_t)psn;
	s->opcode = VB_STEP_REQUESTS;
	s->flags = VB_STEP_END_UNSEEN | (again ? VB_STEP_RESENT : 0);
}

/* An answer that came, or one that left. */
static void add_answer(struct explain_page *e, uint32_t i, vb_time at, uint32_t psn,
		       uint64_t syndrome, bool came)
{
	struct vb_step *s = step_new(e, i, VB_STEP_PACKET, at);

	s->a = psn;
	s->opcode = VB_TRANSPORT_RC | VB_OP_ACK;
	s->syndrome = (uint8_t)syndrome;
	s->side = came;
	s->flags = came ? VB_STEP_START_UNSEEN : VB_STEP_END_UNSEEN;
}

/* When what the first timer of a history waits for was sent. */
static vb_time sent_at(const struct vb_trace_event *ev)
{
	return ev->time - (ev->arg[2] < ev->time ? ev->arg[2] : 0);
}

#define STEPS_OF_EVENT 2u /* at most */

static void add_event(struct explain_page *e, uint32_t i, const struct vb_trace_event *ev,
		      bool is_first)
{
	struct vb_step *s;

	switch (ev->id) {
	case VB_TRACE_TIMER_FIRED:
		if (is_first)
			add_requests(e, i, sent_at(ev), ev->arg[0], false);
		s = step_new(e, i, VB_STEP_TIMER, ev->time);
		s->a = (uint32_t)ev->arg[0];
		s->b = VB_STEP_UNKNOWN;
		s->c = (uint32_t)(ev->arg[2] / 1000 < UINT32_MAX ? ev->arg[2] / 1000 : UINT32_MAX);
		break;
	case VB_TRACE_REWOUND:
		s = step_new(e, i, VB_STEP_REWOUND, ev->time);
		s->a = (uint32_t)ev->arg[0];
		s->b = (uint32_t)ev->arg[1];
		s->c = (uint32_t)ev->arg[2];
		/* After an RNR NAK that is only when the pause is over. */
		if (ev->arg[2] != VB_REWIND_RNR)
			add_requests(e, i, ev->time, ev->arg[0], true);
		break;
	case VB_TRACE_NAK_RECEIVED:
	case VB_TRACE_NAK_SENT:
		add_answer(e, i, ev->time, (uint32_t)ev->arg[1], ev->arg[0],
			   ev->id == VB_TRACE_NAK_RECEIVED);
		break;
	case VB_TRACE_RECOVERED:
		add_answer(e, i, ev->time, ((uint32_t)ev->arg[0] - 1) & VB_PSN_MASK, 0, true);
		break;
	case VB_TRACE_RETRY_ENDED:
		s = step_new(e, i, VB_STEP_GAVE_UP, ev->time);
		s->a = (uint32_t)ev->arg[0];
		break;
	case VB_TRACE_FAILED:
		s = step_new(e, i, VB_STEP_COMPLETION, ev->time);
		s->a = (uint32_t)ev->arg[0];
		break;
	default:
		break;
	}
}

static int by_time(const void *va, const void *vb)
{
	const struct vb_step *a = va, *b = vb;

	return a->at != b->at ? (a->at < b->at ? -1 : 1) : 0;
}

/* How many events there are; notes when the first one was. */
static uint32_t find_first(struct explain_page *e)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < e->cnt; i++) {
		const struct vb_qp_history *t = &case_at(e, i)->history;

		for (uint32_t n = 0; n < vb_qp_history_kept(t); n++, cnt++) {
			const struct vb_trace_event *ev = vb_qp_history_event(t, n);

			e->first = vb_time_min(
			    e->first, ev->id == VB_TRACE_TIMER_FIRED ? sent_at(ev) : ev->time);
		}
	}
	return cnt;
}

/* Values over time may begin before the first event, and entries of recorders before those. */
static int gather_rates(struct explain_page *e)
{
	const struct vb_explain_rates *r = &e->rates;
	int err = vb_explain_rates(&e->rates, e->c, e->which, e->all_cnt, e->first);

	e->first = vb_time_min(e->first, r->from);
	for (uint32_t i = 0; i < r->recorder_cnt; i++)
		e->first =
		    vb_time_min(e->first, vb_dfx_usec_of(r->recorder[i].window.entry[0]) * VB_USEC);
	return err;
}

/* -ENOMEM, or 0. */
static int make_steps(struct explain_page *e)
{
	uint32_t room = 1 + STEPS_OF_EVENT * find_first(e);
	int err = gather_rates(e);

	if (err)
		return err;
	e->step = calloc(room, sizeof *e->step);
	if (!e->step)
		return -ENOMEM;
	for (uint32_t i = 0; i < e->cnt; i++) {
		const struct vb_qp_history *t = &case_at(e, i)->history;

		for (uint32_t n = 0; n < vb_qp_history_kept(t); n++)
			add_event(e, i, vb_qp_history_event(t, n), n == 0);
	}
	qsort(e->step, e->step_cnt, sizeof *e->step, by_time);
	return 0;
}

static void name_qp(const void *ctx, uint32_t id, char *name, size_t len)
{
	const struct vb_qp_case *k = case_at(ctx, id);

	snprintf(name, len, "%s QP 0x%06" PRIx32, vb_word_gid(&vb_case_view(k)->attr.path.sgid).s,
		 k->qpn);
}

/* The entries of the recorders of QPs. */
static int chart_recorders(struct vb_page_charts *c, const struct explain_page *e)
{
	static const struct vb_chart like = {
	    .title = "Rate, event by event, that recorders have (verbena dfx)",
	    .style = VB_CHART_STEP,
	    .x = {.name = "time", .unit = "µs"},
	    .y = {.name = "rate", .unit = "Gb/s"}};

	if (e->rates.recorder_cnt)
		vb_page_chart_new(c, &like);
	for (uint32_t i = 0; i < e->rates.recorder_cnt; i++) {
		const struct vb_explain_recorder *r = &e->rates.recorder[i];
		const struct vb_dfx_window *w = &r->window;
		double *v = vb_page_line_new(c, w->cnt);

		if (!v)
			return -ENOMEM;
		c->line[c->chart_cnt - 1][i].lo = NULL;
		name_qp(e, r->place, c->name[c->chart_cnt - 1][i],
			sizeof c->name[c->chart_cnt - 1][i]);
		for (uint32_t k = 0; k < w->cnt; k++) {
			uint64_t us = vb_dfx_usec_of(w->entry[k]);

			v[k] = (double)us - (double)e->first / 1e3;
			v[w->cnt + k] = (double)vb_cc_bps(
					    (uint32_t)vb_dfx_rate_of(w->entry[k]) << 8, w->clk_hz) /
					1e9;
		}
	}
	return 0;
}

static int make_charts(struct vb_page_charts *c, const struct explain_page *e)
{
#define OVER_TIME(text, what, its_unit)                                                            \
	{                                                                                          \
		.title = (text), .x = {.name = "time", .unit = "µs"},                              \
		.y = {.name = (what), .unit = (its_unit)},                                         \
	}
	static const struct vb_page_kind kinds[] = {
	    {OVER_TIME("Acknowledged by the peer", "rate", "PSNs/s"), VB_EXPLAIN_ACKED, 1, name_qp},
	    {OVER_TIME("Requests of the peer", "rate", "PSNs/s"), VB_EXPLAIN_EXPECTED, 1, name_qp},
	    {OVER_TIME("Rate that congestion control allows", "rate", "Gb/s"), VB_EXPLAIN_RATE, 1e6,
	     name_qp},
	    {OVER_TIME("Target rate", "rate", "Gb/s"), VB_EXPLAIN_TARGET, 1e6, name_qp},
	    {OVER_TIME("Alpha, the congestion that it has seen", "alpha", ""), VB_EXPLAIN_ALPHA,
	     1024, name_qp},
	};
#undef OVER_TIME
	int rc = 0;

	memset(c, 0, sizeof *c);
	for (size_t k = 0; rc >= 0 && k < sizeof kinds / sizeof kinds[0]; k++)
		rc = vb_page_over_time(c, &e->rates.series, &kinds[k], e);
	if (e->rates.from != VB_NEVER)
		c->from_us = (double)(e->rates.from - e->first) / 1e3;
	return rc < 0 ? rc : chart_recorders(c, e);
}

static void fill_items(struct vb_page *p, const struct explain_page *e)
{
	uint64_t of_rank[VB_RANK_CNT] = {0}, timeouts = 0, naks = 0, implied = 0, rnr = 0;

	for (uint32_t i = 0; i < e->all_cnt; i++) {
		const struct vb_qp_case *k = case_at(e, i);

		of_rank[k->why.rank]++;
		timeouts += k->history.timeouts;
		naks += k->history.naks;
		implied += k->history.implied_naks;
		rnr += k->history.rnr_naks;
	}
	vb_page_item(p, "QPs", "%u", e->all_cnt);
	for (int r = 0; r < VB_RANK_CNT; r++)
		if (of_rank[r])
			vb_page_item(p, vb_rank_name((enum vb_explain_rank)r), "%" PRIu64,
				     of_rank[r]);
	vb_page_item(p, "Timeouts", "%" PRIu64, timeouts);
	vb_page_item(p, "NAKs", "%" PRIu64 ", implied %" PRIu64 ", RNR %" PRIu64, naks, implied,
		     rnr);
	for (uint32_t i = 0; i < e->rates.recorder_cnt; i++) {
		const struct vb_explain_recorder *r = &e->rates.recorder[i];
		const struct vb_dfx_window *w = &r->window;
		char name[40];

		snprintf(name, sizeof name, "Recorder of QP 0x%06" PRIx32,
			 case_at(e, r->place)->qpn);
		vb_page_item(p, name,
			     "%u cuts, %u increases by bytes, %u by time; %" PRIu64
			     " came after it was full",
			     w->decreases, w->byte_increases, w->timer_increases, w->overflow);
	}
}

static int write_page(FILE *f, struct explain_page *e)
{
	static struct vb_page_charts charts;
	struct vb_page p = {
	    .title = "QPs of this host",
	    .left_out =
		"Made of what the adapter keeps of QPs that run: the timers, NAKs and going "
		"back of the last time of trouble of each, the first 16 and the last 64 of "
		"these events. Level arrows have the time at this end. Charts show up to eight "
		"QPs, from 10 s before the first of these events on, or the last 10 s; a QP is "
		"looked at each 10 ms at most. All packets are in the page of verbena capture "
		"--report.",
	    .ladder = "Events of the last trouble, one by one",
	    .charts = &charts,
	    .step = e->step,
	    .step_cnt = e->step_cnt,
	    .host_name = host_name,
	    .host_cnt = 2 * e->cnt,
	    .ends = qp_ends,
	    .story = fill_story,
	    .story_cnt = e->cnt,
	    .ctx = e};
	uint64_t real = e->c->real_ns;
	time_t seconds = (time_t)(real / VB_SEC);
	char clock[40];
	struct tm tm;
	int err;

	strftime(clock, sizeof clock, "%Y-%m-%d %H:%M:%S", localtime_r(&seconds, &tm));
	snprintf(p.subtitle, sizeof p.subtitle, "as they stood at %s", clock);
	if (e->first != VB_NEVER)
		vb_page_text(p.subtitle, sizeof p.subtitle, "; times begin %s before",
			     vb_word_ns(vb_time_since(e->first, e->c->now)).s);
	fill_items(&p, e);
	err = make_charts(&charts, e);
	if (!err)
		err = vb_page_write(f, &p);
	vb_page_charts_free(&charts);
	return err;
}

int vb_explain_page(const char *path, const struct vb_qp_cases *c, const uint32_t *which,
		    uint32_t cnt, uint32_t all_cnt)
{
	static struct explain_page e;
	struct vb_whole_file w;
	int err;

	e = (struct explain_page){
	    .c = c, .which = which, .cnt = cnt, .all_cnt = all_cnt, .first = VB_NEVER};
	err = make_steps(&e);

	if (!err)
		err = vb_whole_file_begin(&w, path);
	if (!err)
		err = vb_whole_file_end(&w, write_page(w.f, &e));
	free(e.step);
	vb_explain_rates_free(&e.rates);
	return err;
}
