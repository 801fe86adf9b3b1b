/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selective repeat at the requester: the account of what is missing, by PSN. Marks stand in words
 * of 64 PSNs, so what is next is found by words, and each PSN has its place: nothing is searched
 * for. Pages come from the pool where something is missing, and go back when the oldest outstanding
 * PSN has passed. See selective.h.
 */
#include "base/assert.h"
#include "core/selective/pool.h"
#include "core/selective/selective.h"

#include <string.h>

#define REORDER_MAX 512u /* packets */

static uint32_t page_of(struct vb_psn psn)
{
	return psn.v % VB_SR_RING / VB_SR_HOLE_PSNS;
}

static struct vb_sr_hole_page *page_at(const struct vb_qp *qp, uint32_t i)
{
	uint32_t page = qp->sr->page[i];

	return page ? vb_sr_at(&qp->hca->sr.holes, page - 1) : NULL;
}

static uint64_t bit_of(struct vb_psn psn)
{
	return UINT64_C(1) << psn.v % 64;
}

static uint32_t word_of(struct vb_psn psn)
{
	return psn.v % VB_SR_HOLE_PSNS / 64;
}

bool vb_sr_is(const struct vb_qp *qp, struct vb_psn psn, enum vb_sr_mark mark)
{
	const struct vb_sr_hole_page *p = page_at(qp, page_of(psn));

	return p && p->mark[mark][word_of(psn)] & bit_of(psn);
}

/* The page of @psn, which there is. */
static struct vb_sr_hole_page *page_with(struct vb_qp *qp, struct vb_psn psn)
{
	struct vb_sr_hole_page *p = page_at(qp, page_of(psn));

	VB_ASSERT(p);
	return p;
}

static struct vb_sr_hole *hole_at(struct vb_qp *qp, uint32_t place)
{
	return &page_with(qp, vb_psn(place))->hole[place % VB_SR_HOLE_PSNS];
}

struct vb_sr_hole *vb_sr_hole_at(struct vb_qp *qp, struct vb_psn psn)
{
	VB_ASSERT_ALL(vb_sr_is(qp, psn, VB_SR_HOLE));
	return hole_at(qp, psn.v % VB_SR_RING);
}

bool vb_sr_has_room(struct vb_qp *qp, struct vb_psn psn)
{
	struct vb_sr_pool *pool = &qp->hca->sr.holes;
	uint16_t *page = &qp->sr->page[page_of(psn)];
	struct vb_sr_hole_page *p;

	if (*page)
		return true;
	if (pool->free_cnt == 0)
		return false;
	*page = (uint16_t)(vb_sr_take(pool) + 1);
	p = page_with(qp, psn);
	memset(p->mark, 0, sizeof p->mark);
	qp->sr->page_cnt++;
	return true;
}

static void page_give(struct vb_qp *qp, uint32_t i)
{
	VB_ASSERT(qp->sr->page[i] && qp->sr->page_cnt > 0);
	vb_sr_give(&qp->hca->sr.holes, qp->sr->page[i] - 1u);
	qp->sr->page[i] = 0;
	qp->sr->page_cnt--;
}

static struct vb_sr_list *list_of(struct vb_qp *qp, struct vb_psn psn)
{
	return &qp->sr->list[vb_sr_is(qp, psn, VB_SR_ANSWER)];
}

/* The hole @psn leaves the list. */
static void list_unlink(struct vb_qp *qp, struct vb_psn psn)
{
	struct vb_sr_list *list = list_of(qp, psn);
	uint32_t place = psn.v % VB_SR_RING;
	const struct vb_sr_hole *h = hole_at(qp, place);

	VB_ASSERT(list->cnt > 0);
	list->cnt--;
	if (list->cnt == 0)
		return;
	if (place == list->head)
		list->head = h->next;
	else
		hole_at(qp, h->prev)->next = h->next;
	if (place == list->tail)
		list->tail = h->prev;
	else
		hole_at(qp, h->next)->prev = h->prev;
}

static void list_append(struct vb_qp *qp, struct vb_psn psn)
{
	struct vb_sr_list *list = list_of(qp, psn);
	uint16_t place = (uint16_t)(psn.v % VB_SR_RING);

	if (list->cnt == 0) {
		list->head = place;
	} else {
		hole_at(qp, list->tail)->next = place;
		hole_at(qp, place)->prev = list->tail;
	}
	list->tail = place;
	list->cnt++;
	VB_ASSERT_ALL(list->cnt <= qp->sr->hole_cnt + qp->sr->gap_cnt);
}

static bool is_listed(const struct vb_qp *qp, struct vb_psn psn)
{
	return !vb_sr_is(qp, psn, VB_SR_DUE) && !vb_sr_is(qp, psn, VB_SR_LATE);
}

static void mark_due(struct vb_qp *qp, struct vb_psn psn)
{
	struct vb_sr *sr = qp->sr;

	page_with(qp, psn)->mark[VB_SR_DUE][word_of(psn)] |= bit_of(psn);
	if (sr->due_cnt == 0 || vb_psn_before(psn, sr->due_from))
		sr->due_from = psn;
	sr->due_cnt++;
}

void vb_sr_hole_add(struct vb_qp *qp, struct vb_psn psn, bool is_answer)
{
	struct vb_sr_hole_page *p = page_with(qp, psn);

	VB_ASSERT_ALL(!vb_sr_is(qp, psn, VB_SR_HOLE) && !vb_sr_is(qp, psn, VB_SR_GOT));
	p->mark[VB_SR_HOLE][word_of(psn)] |= bit_of(psn);
	if (is_answer) {
		p->mark[VB_SR_ANSWER][word_of(psn)] |= bit_of(psn);
		qp->sr->gap_cnt++;
	} else {
		qp->sr->hole_cnt++;
	}
	mark_due(qp, psn);
}

void vb_sr_hole_lost(struct vb_qp *qp, struct vb_psn psn)
{
	VB_ASSERT_ALL(vb_sr_is(qp, psn, VB_SR_HOLE));
	if (vb_sr_is(qp, psn, VB_SR_DUE))
		return;
	if (is_listed(qp, psn))
		list_unlink(qp, psn);
	page_with(qp, psn)->mark[VB_SR_LATE][word_of(psn)] &= ~bit_of(psn);
	mark_due(qp, psn);
}

void vb_sr_hole_sent(struct vb_qp *qp, struct vb_psn psn, struct vb_psn stamp, vb_time now)
{
	struct vb_sr *sr = qp->sr;
	struct vb_sr_hole *hole = vb_sr_hole_at(qp, psn);

	VB_ASSERT(vb_sr_is(qp, psn, VB_SR_DUE) && sr->due_cnt > 0);
	page_with(qp, psn)->mark[VB_SR_DUE][word_of(psn)] &= ~bit_of(psn);
	sr->due_cnt--;
	hole->stamp = stamp;
	hole->order = sr->order++;
	hole->at = now;
	list_append(qp, psn);
}

void vb_sr_hole_remove(struct vb_qp *qp, struct vb_psn psn)
{
	struct vb_sr *sr = qp->sr;
	struct vb_sr_hole_page *p = page_with(qp, psn);
	uint32_t word = word_of(psn);
	uint64_t bit = bit_of(psn);

	VB_ASSERT_ALL(p->mark[VB_SR_HOLE][word] & bit);
	if (p->mark[VB_SR_DUE][word] & bit)
		sr->due_cnt--;
	else if (is_listed(qp, psn))
		list_unlink(qp, psn);
	if (p->mark[VB_SR_ANSWER][word] & bit)
		sr->gap_cnt--;
	else
		sr->hole_cnt--;
	for (int mark = VB_SR_HOLE; mark <= VB_SR_ANSWER; mark++)
		p->mark[mark][word] &= ~bit;
}

void vb_sr_hole_filled(struct vb_qp *qp, struct vb_psn psn)
{
	struct vb_sr *sr = qp->sr;
	const struct vb_sr_hole *hole = vb_sr_hole_at(qp, psn);
	uint32_t *order = vb_sr_is(qp, psn, VB_SR_ANSWER) ? &sr->order_here : &sr->order_there;

	if (!vb_sr_is(qp, psn, VB_SR_DUE)) {
		sr->refilled = true;
		if ((int32_t)(hole->order - *order) > 0)
			*order = hole->order;
	}
	vb_sr_hole_remove(qp, psn);
}

void vb_sr_hole_came(struct vb_qp *qp, struct vb_psn psn, vb_time now)
{
	struct vb_sr *sr = qp->sr;
	vb_dur took = vb_time_since(vb_sr_hole_at(qp, psn)->at, now);

	if (vb_sr_is(qp, psn, VB_SR_DUE) || took < sr->rtt_min) {
		/* It was on its way. */
		sr->reorder = 2 * sr->reorder + 4;
		if (sr->reorder > REORDER_MAX)
			sr->reorder = REORDER_MAX;
	} else {
		sr->reorder -= sr->reorder / 16;
		vb_sr_took(sr, took);
	}
	vb_sr_hole_filled(qp, psn);
}

/* The first PSN from @psn on with @mark, or one not before @end where there is none before it. */
static struct vb_psn next_marked(const struct vb_qp *qp, struct vb_psn psn, struct vb_psn end,
				 enum vb_sr_mark mark)
{
	while (vb_psn_before(psn, end)) {
		const struct vb_sr_hole_page *p = page_at(qp, page_of(psn));
		uint32_t step = VB_SR_HOLE_PSNS - psn.v % VB_SR_HOLE_PSNS;

		if (p) {
			uint64_t word = p->mark[mark][word_of(psn)] >> psn.v % 64;

			if (word)
				return vb_psn_add(psn, (uint32_t)__builtin_ctzll(word));
			step = 64 - psn.v % 64;
		}
		psn = vb_psn_add(psn, step);
	}
	return psn;
}

struct vb_psn vb_sr_hole_next(const struct vb_qp *qp, struct vb_psn psn, struct vb_psn end)
{
	return next_marked(qp, psn, end, VB_SR_HOLE);
}

void vb_sr_holes_late(struct vb_qp *qp, bool are_answers, struct vb_psn high, vb_time now)
{
	struct vb_sr *sr = qp->sr;
	struct vb_sr_list *list = &sr->list[are_answers];
	uint32_t order = are_answers ? sr->order_here : sr->order_there;

	while (list->cnt) {
		struct vb_psn una = qp->req.psn_una;
		struct vb_psn psn = vb_psn_add(una, (list->head - una.v) % VB_SR_RING);
		const struct vb_sr_hole *h = vb_sr_hole_at(qp, psn);

		if (!vb_psn_before(h->stamp, high) &&
		    ((int32_t)(h->order - order) >= 0 || vb_time_since(h->at, now) < sr->rtt_min))
			return;
		if (are_answers) {
			vb_sr_hole_lost(qp, psn);
			continue;
		}
		list_unlink(qp, psn);
		page_with(qp, psn)->mark[VB_SR_LATE][word_of(psn)] |= bit_of(psn);
	}
}

struct vb_psn vb_sr_hole_news(const struct vb_qp *qp, struct vb_psn psn, struct vb_psn end)
{
	while (vb_psn_before(psn, end)) {
		const struct vb_sr_hole_page *p = page_at(qp, page_of(psn));
		uint32_t i = word_of(psn);

		if (!p)
			return psn;

		uint64_t known = p->mark[VB_SR_HOLE][i] | p->mark[VB_SR_GOT][i];
		uint64_t word = (~known | p->mark[VB_SR_LATE][i]) >> psn.v % 64;

		if (word)
			return vb_psn_add(psn, (uint32_t)__builtin_ctzll(word));
		psn = vb_psn_add(psn, 64 - psn.v % 64);
	}
	return psn;
}

struct vb_psn vb_sr_hole_due(struct vb_qp *qp)
{
	struct vb_sr *sr = qp->sr;

	VB_ASSERT(sr->due_cnt > 0);
	sr->due_from = next_marked(qp, sr->due_from, qp->req.psn_max, VB_SR_DUE);
	VB_ASSERT(vb_psn_before(sr->due_from, qp->req.psn_max));
	return sr->due_from;
}

void vb_sr_got_set(struct vb_qp *qp, struct vb_psn psn)
{
	VB_ASSERT_ALL(!vb_sr_is(qp, psn, VB_SR_GOT) && !vb_sr_is(qp, psn, VB_SR_HOLE));
	page_with(qp, psn)->mark[VB_SR_GOT][word_of(psn)] |= bit_of(psn);
	qp->sr->got_cnt++;
}

void vb_sr_got_clear(struct vb_qp *qp, struct vb_psn psn)
{
	VB_ASSERT(qp->sr->got_cnt > 0);
	page_with(qp, psn)->mark[VB_SR_GOT][word_of(psn)] &= ~bit_of(psn);
	qp->sr->got_cnt--;
}

/* Takes the marks of @bits of a word away; @psn is the first PSN of the word. */
static void word_clear(struct vb_qp *qp, struct vb_sr_hole_page *p, struct vb_psn psn,
		       uint64_t bits)
{
	uint32_t word = word_of(psn);
	uint64_t got = p->mark[VB_SR_GOT][word] & bits;

	for (uint64_t holes = p->mark[VB_SR_HOLE][word] & bits; holes; holes &= holes - 1)
		vb_sr_hole_filled(qp, vb_psn_add(psn, (uint32_t)__builtin_ctzll(holes)));
	p->mark[VB_SR_GOT][word] &= ~got;
	qp->sr->got_cnt -= (uint32_t)__builtin_popcountll(got);
}

void vb_sr_trim(struct vb_qp *qp, struct vb_psn una)
{
	struct vb_sr *sr = qp->sr;
	struct vb_psn psn = sr->trimmed;

	sr->trimmed = una;
	if (sr->page_cnt == 0)
		return;
	VB_ASSERT(vb_psn_span(psn, una) <= VB_SR_RING);
	while (vb_psn_before(psn, una)) {
		uint32_t skip = psn.v % VB_SR_HOLE_PSNS, left = vb_psn_span(psn, una);
		struct vb_sr_hole_page *p = page_at(qp, page_of(psn));

		if (!p) {
			psn = vb_psn_add(psn, VB_SR_HOLE_PSNS - skip);
			continue;
		}

		uint32_t bit = psn.v % 64, cnt = left < 64 - bit ? left : 64 - bit;
		uint64_t bits = (cnt == 64 ? ~UINT64_C(0) : (UINT64_C(1) << cnt) - 1) << bit;

		word_clear(qp, p, vb_psn(psn.v - bit), bits);
		psn = vb_psn_add(psn, cnt);
		if (psn.v % VB_SR_HOLE_PSNS == 0)
			page_give(qp, page_of(vb_psn_prev(psn)));
	}
	if (sr->hole_cnt + sr->gap_cnt + sr->got_cnt == 0)
		vb_sr_holes_end(qp);
}

void vb_sr_holes_forget(struct vb_qp *qp)
{
	struct vb_sr *sr = qp->sr;

	VB_ASSERT(sr->page_cnt == 0 || vb_psn_eq(sr->trimmed, qp->req.psn_una));
	sr->trimmed = qp->req.psn_una;
	for (uint32_t i = 0; i < VB_SR_HOLE_PAGES && sr->page_cnt; i++) {
		struct vb_sr_hole_page *p = page_at(qp, i);

		if (p)
			memset(p->mark, 0, VB_SR_GOT * sizeof p->mark[0]);
	}
	sr->hole_cnt = sr->gap_cnt = sr->due_cnt = 0;
	sr->list[0].cnt = sr->list[1].cnt = 0;
	if (sr->got_cnt == 0)
		vb_sr_holes_end(qp);
}

void vb_sr_holes_end(struct vb_qp *qp)
{
	for (uint32_t i = 0; i < VB_SR_HOLE_PAGES && qp->sr->page_cnt; i++) {
		if (qp->sr->page[i])
			page_give(qp, i);
	}
	VB_ASSERT(qp->sr->page_cnt == 0);
}
