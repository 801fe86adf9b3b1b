/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The progress thread: when it waits for packets, when it parks, and when it is kicked. See wait.h.
 */
#include "wait/wait.h"

#include "base/assert.h"
#include "wait/scale.h"

/*
 * When the thread has to be there. A program that polls serves timers as it comes by, and a sleeper
 * when they are due; those of pacing and of full receivers are many and short: both get a while for
 * them.
 */
static vb_time thread_due(const struct vb_wait *w, const struct vb_wait_work *work, vb_time now)
{
	bool is_active = w->sleeper != VB_SLEEPER_NONE ||
			 (!w->announced && vb_time_since(w->progress_at, now) <
					       vb_wait_scaled(w, VB_WAIT_NAP_MAX_NS));

	return vb_wait_due(w, work, now, is_active ? VB_WAIT_LEEWAY_NS : 0);
}

void vb_wait_plan(struct vb_wait *w, const struct vb_wait_work *work, vb_time now, vb_time latest)
{
	vb_dur ago = vb_time_since(w->progress_at, now),
	       most = vb_wait_scaled(w, VB_WAIT_NAP_MAX_NS);

	VB_ASSERT(w->thread != VB_THREAD_STEPS);
	if (w->thread == VB_THREAD_PARKED) {
		/* Naps end by themselves. */
		w->wake_at = VB_NEVER;
		return;
	}
	w->wake_at = vb_time_min(thread_due(w, work, now), latest);
	/* So that nothing an active program leaves undone takes long to be noticed. */
	if (ago < most)
		w->wake_at = vb_time_min(w->wake_at, now + most);
	/* So that the timer of each request need not be told to the thread. */
	else if (ago < VB_WAIT_ACTIVE_NS)
		w->wake_at = vb_time_min(w->wake_at, now + vb_wait_scaled(w, VB_WAIT_WATCH_NS));
	/* So that a freeze is told from waiting for the peer. */
	else if (work->timer != VB_NEVER)
		w->wake_at = vb_time_min(w->wake_at, now + vb_wait_scaled(w, VB_WAIT_TICK_NS));
}

/* The program takes what arrives. Not at once after it has said that it stops that. */
static bool program_takes(const struct vb_wait *w, vb_time now)
{
	return vb_wait_program(w, now) == VB_PROGRAM_POLLS && !w->handover;
}

/* It was woken for a packet which the program takes, or has taken. */
static void count_outrun(struct vb_wait *w)
{
	w->outrun += VB_WAIT_OUTRUN_MAX / 2;
	if (w->outrun > VB_WAIT_OUTRUN_MAX)
		w->outrun = VB_WAIT_OUTRUN_MAX;
}

bool vb_wait_woke(struct vb_wait *w, const struct vb_wait_work *work, bool packet, vb_time now)
{
	bool polls = program_takes(w, now), handover = w->handover;
	bool due = vb_wait_due(w, work, now, 0) <= now;

	VB_ASSERT(w->thread != VB_THREAD_STEPS);
	w->kicked = false;
	if (w->thread == VB_THREAD_PARKED && polls)
		return false;
	if (w->thread == VB_THREAD_PARKED)
		w->outrun = 0;
	/* A program that polls for its completions and then waits on memory is fast at every other
	 * packet, no more. */
	if (packet && polls)
		count_outrun(w);
	else if (packet)
		w->outrun = 0;
	if (!handover &&
	    ((polls && vb_wait_is_oversubscribed(w, now)) || w->outrun == VB_WAIT_OUTRUN_MAX)) {
		w->thread = VB_THREAD_PARKED;
		return false;
	}
	w->thread = VB_THREAD_ON_DUTY;
	if (w->held == VB_HELD_REQUESTS && due)
		w->trust = 0;
	w->handover = false;
	if (!packet && !handover && !due)
		return false;
	w->thread = VB_THREAD_STEPS;
	return true;
}

void vb_wait_stepped(struct vb_wait *w, bool packet, bool received, vb_time now)
{
	VB_ASSERT(w->thread == VB_THREAD_STEPS);
	w->thread = VB_THREAD_ON_DUTY;
	if (received && vb_time_since(w->progress_at, now) > VB_WAIT_PASSIVE_NS)
		w->thread = VB_THREAD_LOOKS_ON;
	/* However long it took to get here, the program has been faster. */
	if (!received && packet && vb_wait_program(w, now) == VB_PROGRAM_POLLS) {
		count_outrun(w);
		if (w->outrun == VB_WAIT_OUTRUN_MAX)
			w->thread = VB_THREAD_PARKED;
	}
}

bool vb_wait_kicks(struct vb_wait *w, const struct vb_wait_work *work, vb_time now)
{
	vb_time due;

	if (w->thread == VB_THREAD_PARKED &&
	    (w->held != VB_HELD_REQUESTS || w->trust >= VB_WAIT_TRUST_MIN ||
	     vb_wait_is_oversubscribed(w, now)))
		return false;
	/* A reply that is expected comes, or its acknowledgement leaves, a little late for once. */
	due = w->held == VB_HELD_ANSWER ? now + vb_wait_scaled(w, VB_WAIT_NAP_MAX_NS)
					: thread_due(w, work, now);
	return due < w->wake_at && vb_wait_kick(w);
}

bool vb_wait_looks_on(struct vb_wait *w)
{
	if (w->thread != VB_THREAD_LOOKS_ON)
		return false;
	w->thread = VB_THREAD_ON_DUTY;
	if (!w->look_on_skip)
		return true;
	w->look_on_skip--;
	return false;
}

void vb_wait_looked_on(struct vb_wait *w, bool found)
{
	if (found) {
		w->look_on_in_vain = 0;
		return;
	}
	w->look_on_skip = 1u << w->look_on_in_vain;
	w->look_on_in_vain += w->look_on_in_vain < VB_WAIT_LOOK_ON_SKIP_MAX;
}

uint64_t vb_wait_glance(const struct vb_wait *w)
{
	return w->progress_cnt << 1 | (w->polls >= VB_WAIT_POLLS_MIN);
}

void vb_nap_begin(struct vb_nap *n, const struct vb_wait *w, vb_time now)
{
	*n = (struct vb_nap){.length = vb_wait_scaled(w, VB_WAIT_NAP_MIN_NS),
			     .most = vb_wait_scaled(w, VB_WAIT_NAP_MAX_NS),
			     .seen = vb_wait_glance(w)};
	/* A program that has armed a CQ may stop polling any time, and its event shall not be late.
	 */
	if (w->armed)
		n->most = n->length;
	if (vb_wait_is_oversubscribed(w, now)) {
		n->once = true;
		n->length = vb_time_since(now, w->progress_at + VB_WAIT_OVERSUBSCRIBED_POLLS_NS);
	}
}

bool vb_nap_goes_on(struct vb_nap *n, uint64_t glance, bool is_held)
{
	bool came = glance >> 1 != n->seen >> 1, polls = glance & 1;

	n->busy = !came && is_held ? n->busy + 1 : 0;
	n->seen = glance;
	n->length = vb_time_min(n->length * 2, n->most);
	return !n->once && ((came && polls) || (n->busy && n->busy <= VB_WAIT_BUSY_MAX));
}
