/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QPs that timed out or were sent NAKs, as captured packets tell: each as rows, as `verbena
 * explain` has them of live ones.
 */
#include "cmd/capture/page.h"

#include "base/psn.h"
#include "wire/hdr.h"
#include "wire/opcode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* An answer that arrived. */
static bool is_answer(const struct vb_step *s)
{
	return s->kind == VB_STEP_PACKET && vb_opcode[s->opcode].ext & VB_EXT_AETH &&
	       !(s->flags & VB_STEP_LOST);
}

static uint32_t answer_class(const struct vb_step *s)
{
	return s->syndrome & VB_SYNDROME_CLASS;
}

/* The end that a step is about: that of the requester. */
static uint32_t end_of(const struct vb_step *s)
{
	return 2 * s->connection + (is_answer(s) ? s->side ^ 1u : s->side);
}

static void count_step(struct vb_capture_story *k, const struct vb_step *s)
{
	k->timeouts += s->kind == VB_STEP_TIMER;
	k->resent += s->kind == VB_STEP_PACKET && s->flags & VB_STEP_RESENT;
	if (!is_answer(s))
		return;
	k->naks += answer_class(s) == VB_SYNDROME_NAK;
	k->rnr_naks += answer_class(s) == VB_SYNDROME_RNR;
}

static uint64_t story_weight(const struct vb_capture_story *k)
{
	return k->timeouts * 1000 + k->naks + k->rnr_naks;
}

static int by_weight(const void *va, const void *vb)
{
	const struct vb_capture_story *a = va, *b = vb;
	uint64_t wa = story_weight(a), wb = story_weight(b);

	if (wa != wb)
		return wa > wb ? -1 : 1;
	return a->connection < b->connection ? -1 : a->connection > b->connection;
}

int vb_capture_stories_find(struct vb_capture_stories *s, const struct vb_traffic *t)
{
	uint32_t ends = 2 * vb_traffic_connection_cnt(t), cnt = 0;
	struct vb_capture_story *all = calloc((size_t)ends + 1, sizeof *all);

	memset(s, 0, sizeof *s);
	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < vb_traffic_step_cnt(t); i++)
		count_step(&all[end_of(vb_traffic_step(t, i))], vb_traffic_step(t, i));
	for (uint32_t i = 0; i < ends; i++) {
		all[i].connection = i / 2;
		all[i].side = i & 1;
		if (story_weight(&all[i]))
			all[cnt++] = all[i];
	}
	qsort(all, cnt, sizeof *all, by_weight);
	s->is_full = cnt > VB_CAPTURE_STORIES_MAX;
	s->cnt = s->is_full ? VB_CAPTURE_STORIES_MAX : cnt;
	memcpy(s->at, all, s->cnt * sizeof *all);
	free(all);
	return 0;
}

struct teller {
	struct vb_page_story *out;
	uint64_t timeouts; /* since the last progress */
	uint64_t unsaid;   /* rows for which there was no room */
	bool went_back;    /* and heard no progress since, */
	struct vb_psn psn; /* from this one on */
	struct vb_row *last;
};

__attribute__((format(printf, 5, 6))) static void
add_row(struct teller *w, enum vb_row_kind kind, vb_time from, vb_time at, const char *fmt, ...)
{
	va_list ap;

	w->last = NULL;
	if (w->out->row_cnt >= VB_ROWS_MAX - 1) {
		w->unsaid++;
		return;
	}
	w->last = &w->out->row[w->out->row_cnt++];
	w->last->kind = kind;
	w->last->from = from;
	w->last->at = at;
	va_start(ap, fmt);
	vsnprintf(w->last->text, sizeof w->last->text, fmt, ap);
	va_end(ap);
}

static void tell_timer(struct teller *w, const struct vb_step *s)
{
	vb_dur ran = (vb_dur)s->c * 1000;
	vb_time from = s->at - (ran < s->at ? ran : s->at);

	if (w->out->row_cnt == 0)
		add_row(w, VB_ROW_SENT, from, from, "sent, or heard from last");
	w->timeouts++;
	add_row(w, VB_ROW_TIMEOUT, from, s->at, "timeout %" PRIu64 ": nothing heard for %s",
		w->timeouts, vb_word_ns(ran).s);
}

static void tell_rewound(struct teller *w, const struct vb_step *s)
{
	w->went_back = true;
	w->psn = vb_psn(s->a);
	if (w->last && w->last->kind != VB_ROW_PROGRESS && w->last->kind != VB_ROW_RESENT) {
		vb_page_text(w->last->text, sizeof w->last->text,
			     s->at - w->last->at > VB_USEC ? "; %s later sent again from PSN %u on"
							   : "; %ssent again from PSN %u on",
			     s->at - w->last->at > VB_USEC ? vb_word_ns(s->at - w->last->at).s : "",
			     s->a);
		return;
	}
	add_row(w, VB_ROW_RESENT, s->at, s->at, "sent again from PSN %u on", s->a);
}

static void tell_answer(struct teller *w, const struct vb_step *s)
{
	if (answer_class(s) != VB_SYNDROME_ACK) {
		add_row(w, VB_ROW_NAK, s->end, s->end, "the peer answered: %s, at PSN %u",
			vb_word_nak(s->syndrome).s, s->a);
	} else if (w->went_back && vb_psn_diff(vb_psn(s->a), w->psn) >= 0) {
		add_row(w, VB_ROW_PROGRESS, s->end, s->end, "the peer acknowledged up to PSN %u",
			s->a);
		w->went_back = false;
		w->timeouts = 0;
	}
}

static const char *plural_ending(uint64_t cnt)
{
	return cnt == 1 ? "" : "s";
}

void vb_capture_story_tell(const struct vb_capture_story *s, const struct vb_traffic *t,
			   struct vb_page_story *out)
{
	struct teller w = {.out = out};
	struct vb_step_ends e;

	memset(out, 0, sizeof *out);
	vb_traffic_ends(t, s->connection, &e);
	out->host = e.host[s->side];
	out->qpn = e.qpn[s->side];
	out->timeouts = s->timeouts;
	for (uint32_t i = 0; i < vb_traffic_step_cnt(t); i++) {
		const struct vb_step *k = vb_traffic_step(t, i);

		if (end_of(k) != 2 * s->connection + s->side)
			continue;
		if (k->kind == VB_STEP_TIMER)
			tell_timer(&w, k);
		else if (k->kind == VB_STEP_REWOUND)
			tell_rewound(&w, k);
		else if (is_answer(k))
			tell_answer(&w, k);
	}
	if (w.unsaid) {
		struct vb_row *r = &out->row[out->row_cnt++];

		*r = (struct vb_row){.kind = VB_ROW_GAP, .from = r[-1].at, .at = r[-1].at};
		snprintf(r->text, sizeof r->text, "%" PRIu64 " more events", w.unsaid);
	}
	out->why.rank = w.went_back ? VB_RANK_STUCK : VB_RANK_TROUBLED;
	vb_line(&out->why.what,
		"It timed out %" PRIu64 " time%s, heard %" PRIu64 " NAK%s and %" PRIu64
		" RNR NAK%s, and sent %" PRIu64 " packet%s again%s.",
		s->timeouts, plural_ending(s->timeouts), s->naks, plural_ending(s->naks),
		s->rnr_naks, plural_ending(s->rnr_naks), s->resent, plural_ending(s->resent),
		w.went_back ? "; after the last time the capture has no answer" : "");
}
