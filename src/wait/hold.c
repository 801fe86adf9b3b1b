/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends that wait for company, so that one GSO batch replaces several: work requests for the next
 * ones, and an acknowledgement for a reply. See wait.h.
 *
 * On an idle connection the first packet leaves at once. While there is work in flight a posted
 * request can wait for the next step, which is never far: the program polls for the completions of
 * what is in flight. The progress thread sends what the program does not come back for.
 *
 * A program that drains its queue before it posts the next list begins each list on an idle
 * connection. Its first packet would leave alone: one send of three where bench/run.py's "rate"
 * keeps 128 messages of 8 bytes in flight. So where lists have followed such a first request again
 * and again, and the program polls after each, the first request waits for its list.
 *
 * A program that posts a reply as soon as it has a message makes two sends of what could be one:
 * first the acknowledgement, then the reply. So while replies have come promptly again and again,
 * what there is to send after receiving waits a little for the next.
 */
#include "wait/wait.h"

#include "base/assert.h"
#include "wait/scale.h"

static bool expects_list(const struct vb_wait *w)
{
	return w->list_score >= VB_WAIT_LIST_SCORE_MIN && w->trust >= VB_WAIT_TRUST_MIN &&
	       !w->is_silent;
}

/* The first request of an idle connection has left, or waits, and the program comes again: with the
 * next one of a list, or not. */
static void count_list(struct vb_wait *w, bool goes_on)
{
	if (!w->begins_list)
		return;
	w->begins_list = false;
	if (!goes_on)
		w->list_score = 0;
	else
		w->list_score += w->list_score < VB_WAIT_LIST_SCORE_MIN;
}

static bool doorbell_sends(const struct vb_wait *w, enum vb_wait_flight flight, vb_time now)
{
	if (w->request_cnt >= VB_WAIT_HELD_REQUESTS_MAX ||
	    vb_time_since(w->held_since, now) >= vb_wait_scaled(w, VB_WAIT_HELD_POST_NS))
		return true;
	if (flight == VB_FLIGHT_UNKNOWN)
		return vb_time_since(w->doorbell_at, now) >=
		       vb_wait_scaled(w, VB_WAIT_BURST_GAP_NS);
	return flight == VB_FLIGHT_NONE && !expects_list(w);
}

static void count_reply(struct vb_wait *w, vb_time now)
{
	if (w->awaits_reply &&
	    vb_time_since(w->answered_at, now) < vb_wait_scaled(w, VB_WAIT_REPLY_PROMPT_NS))
		w->reply_score += w->reply_score < VB_WAIT_REPLY_SCORE_MIN;
	w->awaits_reply = false;
}

bool vb_wait_doorbell(struct vb_wait *w, enum vb_wait_flight flight, uint64_t self, vb_time now)
{
	w->announced = false;
	w->poller = self;
	count_list(w, vb_time_since(w->doorbell_at, now) < vb_wait_scaled(w, VB_WAIT_BURST_GAP_NS));
	w->begins_list = flight == VB_FLIGHT_NONE && w->held == VB_HELD_NOTHING;
	if (w->held != VB_HELD_REQUESTS) {
		VB_ASSERT(w->request_cnt == 0);
		w->held = VB_HELD_REQUESTS;
		w->held_since = now;
	}
	w->request_cnt++;
	if (!doorbell_sends(w, flight, now))
		return false;
	count_reply(w, now);
	if (w->request_cnt > 1)
		vb_wait_judge(w, now);
	return true;
}

void vb_wait_posted(struct vb_wait *w, vb_time now)
{
	w->doorbell_at = w->progress_at = now;
}

void vb_wait_judge(struct vb_wait *w, vb_time now)
{
	count_list(w, false);
	if (w->held != VB_HELD_REQUESTS)
		return;
	if (vb_time_since(w->held_since, now) <= vb_wait_scaled(w, VB_WAIT_HELD_MAX_NS))
		w->trust += w->trust < VB_WAIT_TRUST_MIN;
	else
		w->trust = 0;
}

bool vb_wait_holds(struct vb_wait *w, bool received, vb_time now)
{
	if (w->held == VB_HELD_REQUESTS)
		return false;
	if (received && w->held == VB_HELD_NOTHING && w->reply_score >= VB_WAIT_REPLY_SCORE_MIN) {
		w->held = VB_HELD_ANSWER;
		w->held_since = now;
	}
	return w->held == VB_HELD_ANSWER &&
	       vb_time_since(w->held_since, now) < vb_wait_scaled(w, VB_WAIT_REPLY_HOLD_NS);
}

void vb_wait_sent(struct vb_wait *w)
{
	w->held = VB_HELD_NOTHING;
	w->request_cnt = 0;
}

void vb_wait_unreplied(struct vb_wait *w, bool was_held, vb_time now)
{
	if (was_held || w->awaits_reply)
		w->reply_score /= 2;
	w->awaits_reply = !was_held;
	w->answered_at = now;
}

vb_time vb_wait_due(const struct vb_wait *w, const struct vb_wait_work *work, vb_time now,
		    vb_dur leeway)
{
	/* Timers wait while an answer is held: packets that stop them may travel with it. */
	vb_time timer = w->held == VB_HELD_ANSWER ? VB_NEVER : vb_time_after(work->timer, leeway);
	vb_time due = vb_time_min(timer, work->other);

	if (due <= now || work->is_full)
		return due;
	switch (w->held) {
	case VB_HELD_ANSWER:
		return vb_time_min(due, w->held_since + vb_wait_scaled(w, VB_WAIT_REPLY_HOLD_NS));
	case VB_HELD_REQUESTS:
		return vb_time_min(due, w->held_since + vb_wait_scaled(w, VB_WAIT_HELD_MAX_NS));
	default:
		return work->has_transmit ? now : due;
	}
}
