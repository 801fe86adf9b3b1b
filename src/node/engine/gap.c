/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time in which this process did not run: a debugger, the freezer of a cgroup, a virtual machine
 * that was paused, or more programs than processors. The core must not charge it to peers, which
 * had nobody to answer to.
 *
 * A gap is the time from when the engine meant to be at work to when it was. It means to be when
 * its next timer is due, or when the progress thread planned to look; so a freeze that begins and
 * ends within one planned sleep looks like that sleep and is not seen. The progress thread plans
 * none longer than VB_PROGRESS_TICK_NS while a timer runs.
 */
#include "node/engine/priv.h"

void vb_engine_note_gap(struct vb_engine *e, vb_time now)
{
	const struct vb_wait *w = &e->wait;
	/* While the thread is parked the application polls, or the thread soon finds that it does
	 * not. */
	vb_time planned =
	    w->thread == VB_THREAD_PARKED ? e->ran_at + w->slow * VB_ENGINE_GAP_MIN_NS : w->wake_at;
	vb_time meant = vb_time_min(planned, vb_hca_poll_timeout(e->hca));
	vb_dur gap;

	if (meant < e->ran_at)
		meant = e->ran_at;
	gap = vb_time_since(meant, now);
	if (gap >= VB_ENGINE_GAP_MIN_NS)
		vb_hca_add_gap(e->hca, gap);
}
