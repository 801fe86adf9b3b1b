/* SPDX-License-Identifier: BSD-2-Clause */
/* Histories of simulated QPs, see story.h. */
#include "cmd/sim/story.h"
#include "cmd/explain/draw.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool begins_trouble(const struct vb_trace_event *ev)
{
	return ev->id == VB_TRACE_TIMER_FIRED || ev->id == VB_TRACE_RETRY_ENDED ||
	       ev->id == VB_TRACE_FAILED;
}

static bool is_asked(const struct vb_stories *s, uint32_t host, uint32_t qpn)
{
	return s->ask.qpn && s->ask.host == host && s->ask.qpn == qpn;
}

static struct vb_story *find_story(struct vb_stories *s, uint32_t host, uint32_t qpn)
{
	for (uint32_t i = 0; i < s->cnt; i++)
		if (s->story[i].host == host && s->story[i].history.qpn == qpn)
			return &s->story[i];
	return NULL;
}

/* A place for a history that may take that of one in state @most at most; NULL: there is none. */
static struct vb_story *place_story(struct vb_stories *s, uint32_t host,
				    enum vb_qp_history_state most)
{
	struct vb_story *least = NULL;

	if (s->cnt < VB_STORIES_MAX) {
		least = &s->story[s->cnt++];
	} else {
		s->is_full = true;
		for (uint32_t i = 0; i < s->cnt; i++) {
			const struct vb_qp_history *a = &s->story[i].history;

			if (a->state > (uint32_t)most || is_asked(s, s->story[i].host, a->qpn))
				continue;
			if (!least || a->state < least->history.state ||
			    (a->state == least->history.state && a->at < least->history.at))
				least = &s->story[i];
		}
		if (!least)
			return NULL;
	}
	memset(least, 0, sizeof *least);
	least->host = host;
	return least;
}

/* Ranks a history that begins with @ev: a history that is over counts least, a failure most. */
static enum vb_qp_history_state story_worth(const struct vb_stories *s,
					    const struct vb_trace_event *ev)
{
	if (is_asked(s, ev->node, ev->qpn))
		return VB_QP_HISTORY_FAILED;
	return ev->id == VB_TRACE_TIMER_FIRED ? VB_QP_HISTORY_RECOVERED : VB_QP_HISTORY_OPEN;
}

void vb_stories_event(struct vb_stories *s, const struct vb_trace_event *ev)
{
	struct vb_story *story;
	struct vb_qp_view view;
	bool known;

	if (!(VB_QP_HISTORY_EVENTS >> ev->id & 1))
		return;
	story = find_story(s, ev->node, ev->qpn);
	if (!story && !begins_trouble(ev) && !is_asked(s, ev->node, ev->qpn))
		return;
	if (!story)
		story = place_story(s, ev->node, story_worth(s, ev));
	if (!story)
		return;
	known = vb_hca_view(vb_sim_hca(s->run->sim, ev->node), ev->qpn, ev->time, &view);
	vb_qp_history_add(&story->history, ev, known ? &view : NULL);
}

static int by_weight(const void *va, const void *vb)
{
	const struct vb_qp_history *a = &((const struct vb_story *)va)->history;
	const struct vb_qp_history *b = &((const struct vb_story *)vb)->history;

	if (a->state != b->state)
		return a->state > b->state ? -1 : 1;
	if (a->timeouts != b->timeouts)
		return a->timeouts > b->timeouts ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

void vb_stories_end(struct vb_stories *s)
{
	qsort(s->story, s->cnt, sizeof s->story[0], by_weight);
}

void vb_story_explain(const struct vb_stories *s, const struct vb_story *story,
		      struct vb_explanation *out)
{
	static struct vb_qp_view view, other;
	struct vb_peer_facts peer = {.there = VB_PEER_UNKNOWN};
	struct vb_explain_in in = {
	    .now = vb_sim_now(s->run->sim), .history = &story->history, .peer = &peer};
	uint32_t there;

	if (vb_hca_view(vb_sim_hca(s->run->sim, story->host), story->history.qpn, in.now, &view))
		in.view = &view;
	there = vb_sim_receiver(s->run->sim, story->host, &story->history.view.attr.path);
	if (there < s->run->topo.host_cnt) {
		bool found = vb_hca_view(vb_sim_hca(s->run->sim, there),
					 story->history.view.attr.dest_qpn, in.now, &other);

		peer.there = found ? VB_PEER_QP : VB_PEER_NO_QP;
		peer.qp = found ? &other : NULL;
	}
	vb_explain(&in, out);
}

static void show_all(FILE *f, const struct vb_stories *s)
{
	static struct vb_explanation why;

	fprintf(f, "\n%-12s %8s %5s  %-10s %s\n", "HOST.QPN", "TIMEOUTS", "NAKS", "IT IS",
		"BECAUSE");
	for (uint32_t i = 0; i < s->cnt; i++) {
		const struct vb_qp_history *t = &s->story[i].history;
		char name[32];
		uint32_t line;

		vb_story_explain(s, &s->story[i], &why);
		/* The line about the past stands last. */
		line = why.rank == VB_RANK_TROUBLED ? why.what.cnt - 1 : 0;
		snprintf(name, sizeof name, "%" PRIu32 ".%" PRIu32, s->story[i].host, t->qpn);
		fprintf(f, "%-12s %8" PRIu64 " %5" PRIu64 "  %-10s %s\n", name, t->timeouts,
			t->naks + t->implied_naks + t->rnr_naks, vb_rank_name(why.rank),
			why.what.cnt ? why.what.text[line] : "");
	}
	if (s->cnt == 0)
		fputs("no QP timed out or failed\n", f);
	if (s->is_full)
		fprintf(f,
			"There were more; of %u the histories are kept, and of those that failed "
			"first.\n",
			VB_STORIES_MAX);
}

bool vb_stories_show(FILE *f, const struct vb_stories *s)
{
	static struct vb_row row[VB_ROWS_MAX];
	static struct vb_explanation why;
	struct vb_story none = {.host = s->ask.host, .history = {.qpn = s->ask.qpn}};
	const struct vb_story *story = &none;
	struct vb_qp_view view;
	uint32_t cnt;
	char from[sizeof(struct vb_word) + 20] = "";

	if (s->ask.qpn == 0) {
		show_all(f, s);
		return true;
	}
	for (uint32_t i = 0; i < s->cnt; i++)
		if (is_asked(s, s->story[i].host, s->story[i].history.qpn))
			story = &s->story[i];
	if (s->ask.host >= s->run->topo.host_cnt ||
	    !vb_hca_view(vb_sim_hca(s->run->sim, s->ask.host), s->ask.qpn, vb_sim_now(s->run->sim),
			 &view))
		return false;
	vb_story_explain(s, story, &why);
	cnt = vb_timeline(&story->history, &view, row);
	fprintf(f, "\nQP %" PRIu32 ".%" PRIu32 ", %s: %s\n", s->ask.host, s->ask.qpn,
		vb_word_type(view.type), vb_rank_name(why.rank));
	if (cnt)
		snprintf(from, sizeof from, "%s of virtual time", vb_word_ns(row[0].at).s);
	vb_explain_draw(f, &why, row, cnt, from);
	return true;
}
