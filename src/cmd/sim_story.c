/* SPDX-License-Identifier: BSD-2-Clause */
/* Tales of simulated QPs, see sim_story.h. */
#include "cmd/sim_story.h"

#include <stdlib.h>
#include <string.h>

static bool begins(const struct vb_trace_event *ev)
{
	return ev->id == VB_TRACE_TIMER_FIRED || ev->id == VB_TRACE_RETRY_ENDED ||
	       ev->id == VB_TRACE_FAILED;
}

static struct vb_story *find(struct vb_stories *s, uint32_t host, uint32_t qpn)
{
	for (uint32_t i = 0; i < s->cnt; i++)
		if (s->story[i].host == host && s->story[i].tale.qpn == qpn)
			return &s->story[i];
	return NULL;
}

static struct vb_story *place(struct vb_stories *s, uint32_t host)
{
	struct vb_story *least = &s->story[0];

	if (s->cnt < VB_STORIES_MAX) {
		least = &s->story[s->cnt++];
	} else {
		for (uint32_t i = 1; i < s->cnt; i++) {
			const struct vb_tale *a = &s->story[i].tale, *b = &least->tale;

			if (a->state < b->state || (a->state == b->state && a->at < b->at))
				least = &s->story[i];
		}
		s->lost++;
	}
	memset(least, 0, sizeof *least);
	least->host = host;
	return least;
}

void vb_stories_event(struct vb_stories *s, const struct vb_trace_event *ev)
{
	struct vb_story *story;
	struct vb_qp_view view;
	bool known;

	if (!(VB_TALE_EVENTS >> ev->id & 1))
		return;
	story = find(s, ev->node, ev->qpn);
	if (!story && !begins(ev))
		return;
	if (!story)
		story = place(s, ev->node);
	known = vb_hca_view(vb_sim_hca(s->run->sim, ev->node), ev->qpn, ev->time, &view);
	vb_tale_add(&story->tale, ev, known ? &view : NULL);
}

static int by_weight(const void *va, const void *vb)
{
	const struct vb_tale *a = &((const struct vb_story *)va)->tale;
	const struct vb_tale *b = &((const struct vb_story *)vb)->tale;

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

/* The host that has the address @gid, or UINT32_MAX. */
static uint32_t host_of(const struct vb_stories *s, const struct vb_gid *gid)
{
	for (uint32_t i = 0; i < s->run->topo.host_cnt; i++) {
		struct vb_gid own = vb_sim_gid(i);

		if (vb_gid_eq(&own, gid))
			return i;
	}
	return UINT32_MAX;
}

void vb_story_explain(const struct vb_stories *s, const struct vb_story *story,
		      struct vb_explanation *out)
{
	static struct vb_qp_view view, other;
	struct vb_peer_facts peer = {.there = VB_PEER_UNKNOWN};
	struct vb_explain_in in = {
	    .now = vb_sim_now(s->run->sim), .tale = &story->tale, .peer = &peer};
	uint32_t there;

	if (vb_hca_view(vb_sim_hca(s->run->sim, story->host), story->tale.qpn, in.now, &view))
		in.view = &view;
	there = host_of(s, &story->tale.view.attr.path.dgid);
	if (there != UINT32_MAX) {
		bool found = vb_hca_view(vb_sim_hca(s->run->sim, there),
					 story->tale.view.attr.dest_qpn, in.now, &other);

		peer.there = found ? VB_PEER_QP : VB_PEER_NO_QP;
		peer.qp = found ? &other : NULL;
	}
	vb_explain(&in, out);
}
