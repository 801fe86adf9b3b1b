/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena explain --html`: the page (cmd/page/page.h) of live QPs, of what the adapter keeps of
 * them: why each is where it is, and the rare events of its last time of trouble as a ladder.
 */
#include "cmd/page/page.h"
#include "cmd/explain/explain.h"
#include "cmd/whole_file.h"

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
	uint32_t cnt;
	vb_time first; /* of all events */
	struct vb_step *step;
	uint32_t step_cnt;
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
	    .host = 2 * i, .qpn = k->qpn, .timeouts = k->tale.timeouts, .why = k->why};
	if (k->has_tale)
		out->row_cnt = vb_timeline(&k->tale, k->in.view, out->row);
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

/* When what the first timer of a tale waits for was sent. */
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

/* -ENOMEM, or 0. */
static int make_steps(struct explain_page *e)
{
	uint32_t room = 1;

	for (uint32_t i = 0; i < e->cnt; i++) {
		const struct vb_tale *t = &case_at(e, i)->tale;

		for (uint32_t n = 0; n < vb_tale_kept(t); n++, room += STEPS_OF_EVENT) {
			const struct vb_trace_event *ev = vb_tale_event(t, n);

			e->first = vb_time_min(
			    e->first, ev->id == VB_TRACE_TIMER_FIRED ? sent_at(ev) : ev->time);
		}
	}
	e->step = calloc(room, sizeof *e->step);
	if (!e->step)
		return -ENOMEM;
	for (uint32_t i = 0; i < e->cnt; i++) {
		const struct vb_tale *t = &case_at(e, i)->tale;

		for (uint32_t n = 0; n < vb_tale_kept(t); n++)
			add_event(e, i, vb_tale_event(t, n), n == 0);
	}
	qsort(e->step, e->step_cnt, sizeof *e->step, by_time);
	return 0;
}

static void fill_items(struct vb_page *p, const struct explain_page *e)
{
	uint64_t of_rank[VB_RANK_CNT] = {0}, timeouts = 0, naks = 0, implied = 0, rnr = 0;

	for (uint32_t i = 0; i < e->cnt; i++) {
		const struct vb_qp_case *k = case_at(e, i);

		of_rank[k->why.rank]++;
		timeouts += k->tale.timeouts;
		naks += k->tale.naks;
		implied += k->tale.implied_naks;
		rnr += k->tale.rnr_naks;
	}
	vb_page_item(p, "QPs", "%u", e->cnt);
	for (int r = 0; r < VB_RANK_CNT; r++)
		if (of_rank[r])
			vb_page_item(p, vb_rank_name((enum vb_explain_rank)r), "%" PRIu64,
				     of_rank[r]);
	vb_page_item(p, "Timeouts", "%" PRIu64, timeouts);
	vb_page_item(p, "NAKs", "%" PRIu64 ", implied %" PRIu64 ", RNR %" PRIu64, naks, implied,
		     rnr);
}

static int write_page(FILE *f, struct explain_page *e)
{
	static struct vb_page_charts charts;
	struct vb_page p = {
	    .title = "QPs of this host",
	    .left_out =
		"Made of what the adapter keeps of QPs that run: the timers, NAKs and going "
		"back of the last time of trouble of each, the first 16 and the last 64 of "
		"these events. Level arrows have the time at this end. All packets are in the "
		"page of verbena capture --report.",
	    .ladder = "What went wrong, one by one",
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

	strftime(clock, sizeof clock, "%Y-%m-%d %H:%M:%S", localtime_r(&seconds, &tm));
	snprintf(p.subtitle, sizeof p.subtitle, "as they stood at %s", clock);
	if (e->step_cnt)
		vb_page_text(p.subtitle, sizeof p.subtitle, "; the first event was %s before",
			     vb_word_ns(vb_time_since(e->first, e->c->now)).s);
	fill_items(&p, e);
	return vb_page_write(f, &p);
}

int vb_explain_page(const char *path, const struct vb_qp_cases *c, const uint32_t *which,
		    uint32_t cnt)
{
	struct explain_page e = {.c = c, .which = which, .cnt = cnt, .first = VB_NEVER};
	struct vb_whole_file w;
	int err = make_steps(&e);

	if (!err)
		err = vb_whole_file_begin(&w, path);
	if (!err)
		err = vb_whole_file_end(&w, write_page(w.f, &e));
	free(e.step);
	return err;
}
