/* SPDX-License-Identifier: BSD-2-Clause */
/* The events of a history as lines. A timeout, what it did to the timer and the going back it
 * caused are one line. */
#include "explain/explain.h"
#include "explain/text/denial.h"

#include "wire/hdr.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct writer {
	const struct vb_qp_history *history;
	struct vb_row *row;
	uint32_t cnt;
	uint32_t i;     /* the event at hand */
	uint32_t fired; /* timers since the last progress */
	vb_time last;   /* the row before */
};

__attribute__((format(printf, 5, 6))) static void
add(struct writer *w, enum vb_row_kind kind, vb_time from, vb_time at, const char *fmt, ...)
{
	struct vb_row *r;
	va_list ap;

	if (w->cnt == VB_ROWS_MAX)
		return;
	r = &w->row[w->cnt++];
	r->kind = kind;
	r->from = from;
	r->at = at;
	va_start(ap, fmt);
	vsnprintf(r->text, sizeof r->text, fmt, ap);
	va_end(ap);
	w->last = at;
}

__attribute__((format(printf, 2, 3))) static void more(struct writer *w, const char *fmt, ...)
{
	struct vb_row *r = &w->row[w->cnt - 1];
	size_t len = strlen(r->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->text + len, sizeof r->text - len, fmt, ap);
	va_end(ap);
}

/* The event behind the one at hand if it is @id at the same instant; it is taken. */
static const struct vb_trace_event *take_following(struct writer *w, uint32_t id)
{
	const struct vb_trace_event *now = vb_qp_history_event(w->history, w->i);
	const struct vb_trace_event *next = w->i + 1 < vb_qp_history_kept(w->history)
						? vb_qp_history_event(w->history, w->i + 1)
						: NULL;

	if (!next || next->id != id || next->time != now->time)
		return NULL;
	w->i++;
	return next;
}

static void write_move(struct writer *w, const struct vb_trace_event *ev)
{
	const struct vb_adp_profile *p = vb_recovery_profile(&w->history->view.set);
	unsigned exp = (unsigned)ev->arg[2];
	vb_dur t = exp < 32 ? (p->time_base * VB_USEC) << exp : VB_NEVER;
	vb_dur cap = vb_ack_timeout_ns(w->history->view.rto.cap_exp);

	more(w, "; timer %s: %s", vb_rto_move_text((enum vb_rto_move)ev->arg[0]), vb_word_ns(t).s);
	if (cap < t)
		more(w, ", cut to %s by the QP's timeout", vb_word_ns(cap).s);
	if (ev->arg[3] != VB_RTO_NO_RANGE)
		more(w, " (range %u)", (unsigned)ev->arg[3]);
}

/* The PSN was sent when the wait began, or, where that is not known, a timer's length before. */
static void write_sent(struct writer *w, const struct vb_trace_event *ev, vb_time at)
{
	const struct vb_qp_history *t = w->history;
	vb_time since = t->view.rto.since;
	bool is_first = t->timeouts && t->recovered == 0 && t->view.rto.adaptive &&
			vb_qp_history_left_out(t) == 0;

	if (t->state != VB_QP_HISTORY_RECOVERED && since != VB_NEVER && since < at)
		at = since;
	add(w, VB_ROW_SENT, at, at, "PSN %u sent; timer of %s set%s", (unsigned)ev->arg[0],
	    vb_word_ns(ev->arg[2]).s, is_first ? ", the initial value it drew" : "");
}

static void write_fired(struct writer *w, const struct vb_trace_event *ev)
{
	vb_time from = ev->time - (ev->arg[2] < ev->time ? ev->arg[2] : ev->time);
	const struct vb_trace_event *next;

	if (w->cnt == 0)
		write_sent(w, ev, from);
	/* The end of all retries may come before that of the timer's own length. */
	if (from < w->last || w->fired == 0)
		from = w->last;
	w->fired++;
	add(w, VB_ROW_TIMEOUT, from, ev->time, "timeout %u: nothing heard for %s", w->fired,
	    vb_word_ns(vb_time_since(from, ev->time)).s);
	next = take_following(w, VB_TRACE_TIMER_MOVED);
	if (next)
		write_move(w, next);
	if (take_following(w, VB_TRACE_SLOW_RESTART))
		more(w, "; slow restart");
	next = take_following(w, VB_TRACE_REWOUND);
	if (next)
		more(w, "; sent again from PSN %u on", (unsigned)next->arg[0]);
	if (ev->arg[3] != VB_NEVER)
		more(w, "; %s left in all", vb_word_ns(ev->arg[3]).s);
	else if (!w->history->view.rto.adaptive)
		more(w, "; %u retr%s left", ev->arg[1] ? (unsigned)ev->arg[1] - 1 : 0,
		     ev->arg[1] == 2 ? "y" : "ies");
}

static void write_rewound(struct writer *w, const struct vb_trace_event *ev)
{
	static const char *const why[VB_REWIND_CNT] = {
	    [VB_REWIND_TIMEOUT] = "a timeout",
	    [VB_REWIND_NAK] = "a NAK",
	    [VB_REWIND_IMPLIED_NAK] = "an answer that skips one (implied NAK)",
	    [VB_REWIND_RNR] = "an RNR NAK",
	    [VB_REWIND_MIGRATED] = "the migration to another path",
	};

	add(w, VB_ROW_RESENT, ev->time, ev->time, "sent again from PSN %u on, because of %s",
	    (unsigned)ev->arg[0], ev->arg[2] < VB_REWIND_CNT ? why[ev->arg[2]] : "?");
}

/* How long the timeline is so far. The core's own count begins again after an RNR NAK. */
static vb_dur waited_for(const struct writer *w, const struct vb_trace_event *ev)
{
	return w->cnt ? vb_time_since(w->row[0].at, ev->time) : ev->arg[2];
}

static void write_recovered(struct writer *w, const struct vb_trace_event *ev)
{
	const struct vb_trace_event *next;

	add(w, VB_ROW_PROGRESS, ev->time, ev->time, "the peer acknowledged up to PSN %u, after %s",
	    ((unsigned)ev->arg[0] - 1) & VB_PSN_MASK, vb_word_ns(waited_for(w, ev)).s);
	w->fired = 0;
	next = take_following(w, VB_TRACE_TIMER_MOVED);
	if (next)
		write_move(w, next);
}

static void write_ended(struct writer *w, const struct vb_trace_event *ev)
{
	const struct vb_trace_event *next = take_following(w, VB_TRACE_FAILED);

	add(w, VB_ROW_END, ev->time, ev->time, "gave up after %s: %s",
	    vb_word_ns(waited_for(w, ev)).s,
	    vb_word_status(next ? (uint32_t)next->arg[0] : VB_WC_RETRY_EXC_ERR));
}

static void write_state(struct writer *w, const struct vb_trace_event *ev)
{
	add(w, VB_ROW_END, ev->time, ev->time, "state %s, from %s%s",
	    vb_word_state((enum vb_qp_state)ev->arg[1]),
	    vb_word_state((enum vb_qp_state)ev->arg[0]),
	    ev->arg[1] == VB_QPS_RESET ? ": reset or destroyed" : "");
}

static void write_nak(struct writer *w, const struct vb_trace_event *ev)
{
	bool rnr = (ev->arg[0] & VB_SYNDROME_CLASS) == VB_SYNDROME_RNR;
	const struct vb_trace_event *next;

	add(w, VB_ROW_NAK, ev->time, ev->time, "the peer answered: %s, at PSN %u",
	    vb_word_nak(ev->arg[0]).s, (unsigned)ev->arg[1]);
	if (take_following(w, VB_TRACE_SLOW_RESTART))
		more(w, "; slow restart");
	next = take_following(w, VB_TRACE_REWOUND);
	if (next)
		more(w, "; sent again from PSN %u on%s", (unsigned)next->arg[0],
		     rnr ? ", after that pause" : "");
}

static void write_refused(struct writer *w, const struct vb_trace_event *ev)
{
	struct vb_denial d = vb_denial_read(ev);
	struct vb_lines l = {.cnt = 0};

	vb_line(&l, "%s the peer's ", d.is_fatal ? "refused" : "dropped");
	vb_denial_say(&l, &d);
	add(w, VB_ROW_REFUSED, ev->time, ev->time, "%s", l.text[0]);
}

static void write_migrated(struct writer *w, const struct vb_trace_event *ev)
{
	static const char *const why[VB_APM_CNT] = {
	    [VB_APM_RETRIES] = "the retries were used up",
	    [VB_APM_PEER] = "the peer has migrated",
	    [VB_APM_CONSUMER] = "the program asked for it",
	    [VB_APM_PORT] = "the port is down",
	};

	add(w, VB_ROW_OTHER, ev->time, ev->time,
	    "migrated to the alternate path, port %u, LID %u to %u, because %s",
	    (unsigned)ev->arg[0], (unsigned)ev->arg[1], (unsigned)ev->arg[2],
	    ev->arg[3] < VB_APM_CNT ? why[ev->arg[3]] : "?");
}

static void write_other(struct writer *w, const struct vb_trace_event *ev)
{
	static const char *const ramp[VB_RAMP_CNT] = {"slow restart after a loss, to a window of",
						      "slow restart after a pause, to a window of",
						      "slow restart is done; the window is"};

	switch (ev->id) {
	case VB_TRACE_NAK_RECEIVED:
		write_nak(w, ev);
		break;
	case VB_TRACE_REFUSED:
		write_refused(w, ev);
		break;
	case VB_TRACE_NAK_SENT:
		add(w, VB_ROW_REFUSED, ev->time, ev->time, "answered the peer: %s, at PSN %u",
		    vb_word_nak(ev->arg[0]).s, (unsigned)ev->arg[1]);
		break;
	case VB_TRACE_MISSING:
		add(w, VB_ROW_RESENT, ev->time, ev->time,
		    "the peer misses %u packets from PSN %u on; only these are sent again",
		    (unsigned)ev->arg[2], (unsigned)ev->arg[0]);
		break;
	case VB_TRACE_SLOW_RESTART:
		if (ev->arg[0] == VB_RAMP_END && ev->arg[1] == 0)
			add(w, VB_ROW_OTHER, ev->time, ev->time,
			    "slow restart is done: no window any more");
		else
			add(w, VB_ROW_OTHER, ev->time, ev->time, "%s %u packets",
			    ev->arg[0] < VB_RAMP_CNT ? ramp[ev->arg[0]] : "window of",
			    (unsigned)ev->arg[1]);
		break;
	case VB_TRACE_TIMER_MOVED:
		add(w, VB_ROW_OTHER, ev->time, ev->time, "progress");
		write_move(w, ev);
		break;
	case VB_TRACE_MIGRATED:
		write_migrated(w, ev);
		break;
	case VB_TRACE_FAILED:
		add(w, VB_ROW_END, ev->time, ev->time, "the work request failed: %s",
		    vb_word_status((uint32_t)ev->arg[0]));
		break;
	default:
		break;
	}
}

static void write_event(struct writer *w, const struct vb_trace_event *ev)
{
	switch (ev->id) {
	case VB_TRACE_TIMER_FIRED:
		write_fired(w, ev);
		break;
	case VB_TRACE_REWOUND:
		write_rewound(w, ev);
		break;
	case VB_TRACE_RECOVERED:
		write_recovered(w, ev);
		break;
	case VB_TRACE_RETRY_ENDED:
		write_ended(w, ev);
		break;
	case VB_TRACE_QP_STATE:
		write_state(w, ev);
		break;
	default:
		write_other(w, ev);
		break;
	}
}

/* A wait that began before the first event of its history, as where one NAK ends it: the line of
 * its begin. A timer's own line says it too. */
static void write_begin(struct writer *w)
{
	const struct vb_qp_history *t = w->history;
	uint32_t cnt = vb_qp_history_kept(t), i = 0;

	while (i < cnt && vb_qp_history_event(t, i)->id != VB_TRACE_RECOVERED &&
	       vb_qp_history_event(t, i)->id != VB_TRACE_RETRY_ENDED)
		i++;
	if (i == cnt || vb_qp_history_event(t, 0)->id == VB_TRACE_TIMER_FIRED)
		return;

	const struct vb_trace_event *end = vb_qp_history_event(t, i);
	vb_time at = end->time - (end->arg[2] < end->time ? end->arg[2] : end->time);

	if (at < vb_qp_history_event(t, 0)->time)
		add(w, VB_ROW_SENT, at, at, "sent what is acknowledged late, or never");
}

/* The events to come, of a QP that is still at it. */
static void write_next(struct writer *w, const struct vb_qp_view *v)
{
	/* The view may be older than the last events: the events to come then have come. */
	if (v->is_rnr_wait && v->rnr_at != VB_NEVER && v->rnr_at >= w->last)
		add(w, VB_ROW_NEXT, w->last, v->rnr_at,
		    "to come: sends again, unless a receive is "
		    "missing still");
	else if (!v->is_rnr_wait && v->ack_at != VB_NEVER && v->ack_at >= w->last &&
		 v->rto.timeout_cnt)
		add(w, VB_ROW_NEXT, w->last, v->ack_at, "to come: timeout %u, after %s",
		    v->rto.timeout_cnt + 1, vb_word_ns(v->rto.timeout).s);
}

/* Timeouts among the events that are not kept, and before them. */
static uint32_t fired_before(const struct vb_qp_history *t)
{
	uint32_t cnt = t->view.rto.timeout_cnt;

	for (uint32_t i = VB_QP_HISTORY_FIRST; i < vb_qp_history_kept(t); i++)
		cnt -= cnt && vb_qp_history_event(t, i)->id == VB_TRACE_TIMER_FIRED;
	return cnt;
}

/* Of NAKs in a row that say the same, the first two and the last one are kept. */
static uint32_t condense_naks(struct vb_row *row, uint32_t cnt)
{
	uint32_t to = 0, end;

	for (uint32_t i = 0; i < cnt; i = end) {
		uint32_t run;

		for (end = i + 1; end < cnt && row[i].kind == VB_ROW_NAK &&
				  row[end].kind == VB_ROW_NAK &&
				  strcmp(row[end].text, row[i].text) == 0;)
			end++;
		run = end - i;
		for (uint32_t k = 0; k < run; k++) {
			if (run < 5 || k < 2 || k == run - 1) {
				row[to++] = row[i + k];
			} else if (k == 2) {
				struct vb_row *r = &row[to++];

				r->from = r->at = row[i + k].at;
				r->kind = VB_ROW_GAP;
				snprintf(r->text, sizeof r->text, "%u more like that", run - 3);
			}
		}
	}
	return to;
}

uint32_t vb_timeline(const struct vb_qp_history *t, const struct vb_qp_view *view,
		     struct vb_row *row)
{
	struct writer w = {.history = t, .row = row};
	uint32_t gone = vb_qp_history_left_out(t);

	write_begin(&w);
	for (w.i = 0; w.i < vb_qp_history_kept(t); w.i++) {
		if (w.i == VB_QP_HISTORY_FIRST && gone) {
			add(&w, VB_ROW_GAP, w.last, w.last, "%u events in between are not kept",
			    gone);
			w.fired = fired_before(t);
		}
		write_event(&w, vb_qp_history_event(t, w.i));
	}
	if (view && t->state == VB_QP_HISTORY_OPEN && !t->is_gone)
		write_next(&w, view);
	return condense_naks(row, w.cnt);
}
