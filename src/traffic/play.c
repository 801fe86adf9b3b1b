/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Plays the packets in the order of time: packets sent again and why, packets not acknowledged,
 * how long answers take; and the steps of the packet sequence. Played twice: the first time marks
 * the packets near what went wrong, whose steps are wanted when not all can be kept.
 *
 * Why a requester goes back (IBA 9.9.2.4) is told by what it heard since it last did: a NAK, an RNR
 * NAK, a READ response that skips one; else its timer fired, which ran since something was sent
 * with nothing before it, was sent again, or was acknowledged.
 */
#include "traffic/priv.h"

#include "fault/fault.h"
#include "wire/hdr.h"

struct player {
	struct vb_traffic *t;
	bool is_first; /* the time that marks */
	uint32_t i;    /* the packet at hand */
	bool trouble;  /* something went wrong with it */
	bool keep_all;
	uint32_t kept_before; /* packets before this one are marked */
};

static uint32_t end_id(const struct way *w)
{
	return 2 * w->connection + w->side;
}

static struct vb_step *step_new(struct player *p, enum vb_step_kind kind, const struct way *w)
{
	struct vb_traffic *t = p->t;
	const struct seen *s = &t->seen[p->i];
	struct vb_step *k;

	if (p->is_first)
		return NULL;
	if (!(s->flags & SEEN_KEPT) || t->step_cnt == VB_TRAFFIC_STEPS_MAX) {
		t->sums.left_out++;
		return NULL;
	}
	k = &t->step[t->step_cnt++];
	*k = (struct vb_step){.kind = (uint8_t)kind,
			      .at = s->at,
			      .end = s->at,
			      .connection = w->connection,
			      .side = w->side};
	return k;
}

/* PSNs that a request takes up: a READ those of its responses. IBA 9.7.3.1 */
static uint32_t psns_of(const struct vb_traffic *t, const struct way *w, const struct seen *s)
{
	uint32_t mtu = w->back == NONE ? 0 : t->way[w->back].mtu;

	if (!(vb_opcode[s->opcode].flags & VB_OP_READ) || s->more == 0 || mtu == 0)
		return 1;
	/* 2 GiB are the most that a message has, 2^23 PSNs the most that may be outstanding. */
	return 1 + (s->more - 1) / mtu < VB_PSN_HALF ? 1 + (s->more - 1) / mtu : 1;
}

static void go_back(struct player *p, struct way *w, const struct seen *s)
{
	enum vb_traffic_why why = w->rnr       ? VB_TRAFFIC_RNR
				  : w->nak     ? VB_TRAFFIC_NAK
				  : w->skipped ? VB_TRAFFIC_IMPLIED_NAK
					       : VB_TRAFFIC_TIMEOUT;
	vb_dur ran = vb_time_since(vb_time_max(w->begun_at, w->heard_at), s->at) / 1000;
	struct vb_step *k;

	w->rnr = w->nak = w->skipped = false;
	w->begun_at = s->at;
	p->trouble = true;
	if (p->is_first)
		p->t->sums.rewinds[why]++;
	if (why == VB_TRAFFIC_TIMEOUT) {
		k = step_new(p, VB_STEP_TIMER, w);
		if (k) {
			k->a = s->psn;
			k->b = VB_STEP_UNKNOWN;
			k->c = ran < UINT32_MAX ? (uint32_t)ran : UINT32_MAX;
		}
	}
	k = step_new(p, VB_STEP_REWOUND, w);
	if (k) {
		k->a = s->psn;
		k->b = w->cur.v;
		k->c = why;
	}
}

/* A request leaves. True: not for the first time. */
static bool request_sent(struct player *p, struct way *w, const struct seen *s)
{
	struct vb_psn psn = vb_psn(s->psn), after = vb_psn_add(psn, psns_of(p->t, w, s));
	bool resent;

	if (!w->begun) {
		w->begun = true;
		w->una = w->nxt = w->cur = psn;
	}
	resent = vb_psn_diff(psn, w->nxt) < 0;
	if (vb_psn_eq(w->una, w->nxt))
		w->begun_at = s->at;
	if (vb_psn_diff(psn, w->cur) < 0)
		go_back(p, w, s);
	w->cur = after;
	w->nxt = vb_psn_later(w->nxt, after);
	/* One request at a time is timed; the answer of one that was sent twice says nothing. */
	if (w->is_timed && resent && vb_psn_diff(psn, w->timed) <= 0)
		w->is_timed = false;
	if (!w->is_timed && !resent &&
	    (s->flags & SEEN_ACK_REQ || vb_opcode[s->opcode].flags & (VB_OP_READ | VB_OP_ATOMIC))) {
		w->is_timed = true;
		w->timed = vb_psn_prev(after);
		w->timed_at = s->at;
	}
	if (p->is_first)
		vb_series_gauge(&p->t->series, VB_TRAFFIC_WINDOW, end_id(w),
				(uint32_t)vb_psn_diff(w->nxt, w->una));
	return resent;
}

/* An answer arrives at the end where way @w begins. */
static void answer_heard(struct player *p, struct way *w, const struct seen *s)
{
	uint32_t op = vb_opcode[s->opcode].flags, class = s->syndrome & VB_SYNDROME_CLASS;
	struct vb_psn psn = vb_psn(s->psn), una;

	if (op & VB_OP_READ) {
		/* The first of a message may follow anything, the others their like. */
		w->skipped |=
		    !(op & VB_OP_FIRST) && w->responds && vb_psn_diff(psn, w->response) > 0;
		w->response = vb_psn_add(psn, 1);
		w->responds = true;
	}
	w->rnr |= class == VB_SYNDROME_RNR;
	w->nak |= class == VB_SYNDROME_NAK;
	p->trouble |= class != VB_SYNDROME_ACK;
	/* A NAK acknowledges what is before its PSN. IBA 9.7.5.1.1 */
	una = class == VB_SYNDROME_ACK ? vb_psn_add(psn, 1) : psn;
	if (!w->begun || vb_psn_diff(una, w->una) <= 0 || vb_psn_diff(una, w->nxt) > 0)
		return;
	w->una = una;
	w->heard_at = s->at;
	if (!p->is_first)
		return;
	vb_series_gauge(&p->t->series, VB_TRAFFIC_WINDOW, end_id(w),
			(uint32_t)vb_psn_diff(w->nxt, una));
	if (w->is_timed && vb_psn_diff(una, w->timed) > 0) {
		vb_dur took = vb_time_since(w->timed_at, s->at);

		vb_series_gauge(&p->t->series, VB_TRAFFIC_ANSWER, end_id(w),
				took < UINT32_MAX ? (uint32_t)took : UINT32_MAX);
		w->is_timed = false;
	}
}

/* True: it left, and did not come to where everything that comes is captured. */
static bool is_lost(const struct vb_traffic *t, const struct seen *s)
{
	const struct host *h = &t->host[t->way[s->way].dst];

	if (s->mark & VB_FAULT_MARK_DROPPED)
		return true;
	return s->mate == NONE && s->flags & SEEN_SENT && h->receives && s->at >= h->first &&
	       s->at <= h->last;
}

/* True: a switch, or a fault, has marked it on its way. */
static bool is_marked(const struct seen *s, const struct seen *end)
{
	return (s->flags | (end ? end->flags : 0)) & SEEN_CE ||
	       (s->mark | (end ? end->mark : 0)) >> VB_FAULT_ECN & 1;
}

static void count_packet(struct player *p, const struct way *w, const struct seen *s,
			 const struct seen *end, bool resent)
{
	struct vb_traffic_sums *n = &p->t->sums;
	uint16_t mark = s->mark | (end ? end->mark : 0);
	uint32_t class = s->syndrome & VB_SYNDROME_CLASS;

	n->packets++;
	n->bytes += s->bytes;
	n->resent += resent;
	n->marked_ce += is_marked(s, end);
	n->damaged += mark >> VB_FAULT_CORRUPT & 1;
	if (mark & VB_FAULT_MARK_DROPPED)
		n->lost_to_faults++;
	else
		n->lost += is_lost(p->t, s);
	if (vb_seen_response(s)) {
		n->naks += class == VB_SYNDROME_NAK;
		n->rnr_naks += class == VB_SYNDROME_RNR;
	}
	vb_series_add(&p->t->series, VB_TRAFFIC_RATE, end_id(w), s->bytes);
	if (resent)
		vb_series_add(&p->t->series, VB_TRAFFIC_RESENT, end_id(w), 1);
	if (vb_opcode_is_cnp(s->opcode)) {
		n->cnps++;
		vb_series_add(&p->t->series, VB_TRAFFIC_CNP, end_id(w) ^ 1, 1);
	}
}

static void show_packet(struct player *p, const struct way *w, const struct seen *s,
			const struct seen *end, bool resent)
{
	uint16_t mark = s->mark | (end ? end->mark : 0);
	struct vb_step *k = step_new(p, VB_STEP_PACKET, w);

	if (!k)
		return;
	k->end = end ? vb_time_max(end->at, s->at) : s->at;
	k->a = s->psn;
	k->b = s->payload;
	k->c = vb_opcode[s->opcode].ext & (VB_EXT_AETH | VB_EXT_DETH) ? s->more : 0;
	k->opcode = s->opcode;
	k->syndrome = s->syndrome;
	k->faults = mark & ((1u << VB_FAULT_KIND_CNT) - 1);
	k->flags = resent ? VB_STEP_RESENT : 0;
	if (is_marked(s, end))
		k->flags |= VB_STEP_CE;
	if (mark >> VB_FAULT_CORRUPT & 1)
		k->flags |= VB_STEP_CORRUPT;
	if (is_lost(p->t, s) || (end && end->mark & VB_FAULT_MARK_DROPPED))
		k->flags |= VB_STEP_LOST;
	else if (!end)
		k->flags |= s->flags & SEEN_RECEIVED ? VB_STEP_START_UNSEEN : VB_STEP_END_UNSEEN;
}

static void play_first(struct player *p, struct seen *s)
{
	struct way *w = &p->t->way[s->way];
	const struct seen *end = s->mate == NONE ? NULL : &p->t->seen[s->mate];
	uint16_t mark = s->mark | (end ? end->mark : 0);
	bool resent = false;

	/* The second one that a fault made of a packet was not sent by the QP. */
	if (vb_seen_request(s) && !(s->mark & VB_FAULT_MARK_COPY))
		resent = request_sent(p, w, s);
	if (end == NULL && vb_seen_response(s) && w->back != NONE && !is_lost(p->t, s))
		answer_heard(p, &p->t->way[w->back], s);
	p->trouble |=
	    resent || is_lost(p->t, s) || mark & (VB_FAULT_MARK_DROPPED | 1u << VB_FAULT_CORRUPT);
	if (p->is_first)
		count_packet(p, w, s, end, resent);
	show_packet(p, w, s, end, resent);
}

/* Marks the packets about the one at hand, until steps for all that are marked fill the room. */
static void keep_around(struct player *p, uint32_t *room)
{
	struct vb_traffic *t = p->t;
	uint32_t from = p->i > VB_TRAFFIC_AROUND ? p->i - VB_TRAFFIC_AROUND : 0;
	uint32_t to = p->i + VB_TRAFFIC_AROUND;

	if (from < p->kept_before)
		from = p->kept_before;
	for (; from <= to && from < t->seen_cnt && *room; from++, (*room)--)
		t->seen[from].flags |= SEEN_KEPT;
	if (from > p->kept_before)
		p->kept_before = from;
}

static void play_all(struct player *p)
{
	struct vb_traffic *t = p->t;
	uint32_t room = VB_TRAFFIC_STEPS_MAX;

	for (uint32_t i = 0; i < t->way_cnt; i++) {
		struct way *w = &t->way[i];

		w->begun = w->nak = w->rnr = w->skipped = w->is_timed = w->responds = false;
		w->begun_at = w->heard_at = 0;
	}
	for (p->i = 0; p->i < t->seen_cnt; p->i++) {
		struct seen *s = &t->seen[p->i];
		struct way *back =
		    t->way[s->way].back == NONE ? NULL : &t->way[t->way[s->way].back];

		if (p->is_first)
			vb_series_reach(&t->series, s->at);
		p->trouble = false;
		if (vb_seen_first(s))
			play_first(p, s);
		else if (vb_seen_response(s) && back && !(s->mark & VB_FAULT_MARK_DROPPED))
			answer_heard(p, back, s);
		if (!p->is_first)
			continue;
		if (p->keep_all || p->i < VB_TRAFFIC_STEPS_FIRST) {
			s->flags |= SEEN_KEPT;
			p->kept_before = p->i + 1;
			room -= room > 0;
		}
		if (p->trouble && !p->keep_all)
			keep_around(p, &room);
	}
}

int vb_traffic_play_steps(struct vb_traffic *t)
{
	struct player p = {.t = t, .is_first = true};

	/* Each event at an end takes a step, too. */
	p.keep_all = t->seen_cnt - t->sums.both_ends < VB_TRAFFIC_STEPS_MAX * 3 / 4;
	play_all(&p);
	p.is_first = false;
	play_all(&p);
	vb_series_end(&t->series);
	return t->series.err;
}
