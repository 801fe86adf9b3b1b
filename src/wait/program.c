/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program's threads: whether they poll, sleep, or are away, and what one does that polls in
 * vain. See wait.h.
 *
 * A machine is oversubscribed when more programs poll than there are processors. A program that
 * polls in vain there keeps a processor from those it waits for, and from a progress thread that
 * would read what it has sent. First it only lets others run. When that takes long, others did run:
 * for a while a program that does nothing but poll sleeps in its polls until a packet comes, a
 * moment at most. Then it is asked again, and the while doubles for as long as the answer is the
 * same. A program that does something else between two polls is not held up. The progress thread
 * stays parked for longer in the meantime, because a program that polls may have to wait for a
 * processor, and to take its packets from it would only make two threads of one. Not with a silent
 * link, where a descriptor alone does not tell who waits.
 */
#include "wait/wait.h"

#include "base/assert.h"
#include "wait/scale.h"

void vb_wait_init(struct vb_wait *w, uint32_t slow, bool is_silent)
{
	*w = (struct vb_wait){.slow = slow, .is_silent = is_silent};
}

static bool polls_steadily(const struct vb_wait *w)
{
	return w->polls >= VB_WAIT_POLLS_MIN;
}

bool vb_wait_is_oversubscribed(const struct vb_wait *w, vb_time now)
{
	return w->oversubscribed_until &&
	       now < w->oversubscribed_until + VB_WAIT_OVERSUBSCRIBED_POLLS_NS;
}

enum vb_wait_program vb_wait_program(const struct vb_wait *w, vb_time now)
{
	bool is_oversubscribed = vb_wait_is_oversubscribed(w, now);
	vb_dur recent = is_oversubscribed ? VB_WAIT_OVERSUBSCRIBED_POLLS_NS
					  : vb_wait_scaled(w, VB_WAIT_POLLS_GAP_NS);
	vb_dur ago = vb_time_since(w->progress_at, now);

	if (w->sleeper != VB_SLEEPER_NONE)
		return VB_PROGRAM_SLEEPS;
	if (ago < recent && !w->announced && (is_oversubscribed || polls_steadily(w)))
		return VB_PROGRAM_POLLS;
	return w->announced || w->armed ? VB_PROGRAM_ARMED : VB_PROGRAM_AWAY;
}

uint32_t vb_wait_poll(struct vb_wait *w, uint64_t self, vb_time now)
{
	vb_dur ago = vb_time_since(w->progress_at, now);

	w->announced = false;
	w->idle_polls++;
	if (ago >= vb_wait_scaled(w, VB_WAIT_IDLE_GAP_NS) || w->poller != self)
		w->idle_polls = 0;
	if (ago < vb_wait_scaled(w, VB_WAIT_POLLS_GAP_NS))
		w->polls += w->polls < VB_WAIT_POLLS_MAX;
	else
		w->polls /= 4;
	w->poller = self;
	vb_wait_judge(w, now);
	return w->idle_polls >= VB_WAIT_IDLE_POLLS_MIN && !w->is_silent ? VB_WAIT_LOOKS : 1;
}

bool vb_wait_polled(struct vb_wait *w, uint32_t cnt, uint32_t looks, vb_time end)
{
	VB_ASSERT_ALL(looks != 0);
	w->in_vain += looks;
	w->progress_at = end;
	w->progress_cnt++;
	if (!cnt)
		return false;
	w->in_vain = w->idle_polls = 0;
	if (w->thread == VB_THREAD_PARKED || !polls_steadily(w))
		return false;
	/* The thread sleeps on when there is nothing left to read, and does not know for what it
	 * was woken: so it is told. */
	w->outrun += w->outrun < VB_WAIT_OUTRUN_MAX;
	return w->outrun == VB_WAIT_OUTRUN_MAX && vb_wait_kick(w);
}

void vb_wait_found(struct vb_wait *w)
{
	w->in_vain = w->idle_polls = 0;
}

enum vb_wait_idle vb_wait_found_nothing(struct vb_wait *w)
{
	/* The one that is to read may be waiting for this very processor. */
	bool held_up = w->held_up;

	if (w->oversubscribed_until && w->idle_polls >= VB_WAIT_IDLE_POLLS_MIN)
		return w->progress_at < w->oversubscribed_until ? VB_IDLE_NAP : VB_IDLE_YIELD;
	w->held_up = false;
	return held_up || w->in_vain > VB_WAIT_IN_VAIN_MAX ? VB_IDLE_YIELD : VB_IDLE_RETURN;
}

void vb_wait_yielded(struct vb_wait *w, vb_time before, vb_time after)
{
	vb_dur length = w->oversubscribed_for * 2;

	w->oversubscribed_until = w->oversubscribed_for = 0;
	if (w->is_silent || vb_time_since(before, after) < vb_wait_scaled(w, VB_WAIT_OTHERS_RAN_NS))
		return;
	if (length < VB_WAIT_OVERSUBSCRIBED_MIN_NS)
		length = VB_WAIT_OVERSUBSCRIBED_MIN_NS;
	if (length > VB_WAIT_OVERSUBSCRIBED_MAX_NS)
		length = VB_WAIT_OVERSUBSCRIBED_MAX_NS;
	w->oversubscribed_until = after + length;
	w->oversubscribed_for = length;
}

vb_time vb_wait_idle_until(const struct vb_wait *w, const struct vb_wait_work *work, vb_time now)
{
	vb_dur most = vb_wait_scaled(w, VB_WAIT_IDLE_NAP_NS);

	/* A receiver that is full and pacing have timers only. */
	if (most > VB_WAIT_OVERSUBSCRIBED_POLLS_NS / 2)
		most = VB_WAIT_OVERSUBSCRIBED_POLLS_NS / 2;
	return vb_time_min(now + most, vb_wait_due(w, work, now, VB_WAIT_LEEWAY_NS));
}

void vb_wait_idled(struct vb_wait *w, vb_time now)
{
	w->progress_at = now;
}

/* It looks once more, and that look shall not make it late. */
static void forget_oversubscription(struct vb_wait *w)
{
	vb_wait_found(w);
	w->held_up = false;
	w->oversubscribed_until = w->oversubscribed_for = 0;
}

void vb_wait_arm(struct vb_wait *w, bool is_armed)
{
	VB_ASSERT(is_armed || w->armed);
	w->armed += is_armed ? 1 : UINT32_MAX;
}

bool vb_wait_announce(struct vb_wait *w)
{
	w->handover = w->announced = true;
	w->polls = 0;
	forget_oversubscription(w);
	return w->thread == VB_THREAD_PARKED && vb_wait_kick(w);
}

bool vb_wait_sleep(struct vb_wait *w)
{
	if (w->sleeper != VB_SLEEPER_NONE)
		return false;
	w->sleeper = VB_SLEEPER_AWAKE;
	forget_oversubscription(w);
	return true;
}

void vb_wait_park(struct vb_wait *w)
{
	VB_ASSERT(w->sleeper == VB_SLEEPER_AWAKE);
	w->sleeper = VB_SLEEPER_PARKED;
}

void vb_wait_unpark(struct vb_wait *w)
{
	VB_ASSERT(w->sleeper == VB_SLEEPER_PARKED || w->sleeper == VB_SLEEPER_WOKEN);
	w->sleeper = VB_SLEEPER_AWAKE;
}

bool vb_wait_wake(struct vb_wait *w)
{
	if (w->sleeper != VB_SLEEPER_PARKED)
		return false;
	w->sleeper = VB_SLEEPER_WOKEN;
	return true;
}

bool vb_wait_sleep_end(struct vb_wait *w)
{
	VB_ASSERT(w->sleeper == VB_SLEEPER_AWAKE);
	w->sleeper = VB_SLEEPER_NONE;
	/* It parked for a program that polled; of what this one does next nothing is known. */
	return w->thread == VB_THREAD_PARKED && vb_wait_kick(w);
}
