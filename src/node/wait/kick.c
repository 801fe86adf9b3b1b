/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kicks of the progress thread: whether it has to wake because of what another thread did is for
 * src/wait/ to say; here it is carried out, and what a look without the lock needs is published.
 */
#include "node/engine/priv.h"

#include <unistd.h>

void vb_progress_thread_kick(struct vb_engine *e)
{
	if (vb_link_end_nap(e->link))
		return;
	/* Fails only when the counter is at its maximum, and then the thread wakes anyway. */
	(void)!write(e->progress_thread.kick_fd, &(uint64_t){1}, sizeof(uint64_t));
}

static void publish_glance(struct vb_engine *e)
{
	/* A plain store: under the lock there is one writer. */
	atomic_store_explicit(&e->glance, vb_wait_glance(&e->wait), memory_order_relaxed);
}

void vb_progress_thread_notice(struct vb_engine *e, vb_time now)
{
	struct vb_wait_work work = vb_engine_work(e);

	publish_glance(e);
	if (vb_wait_kicks(&e->wait, &work, now))
		vb_progress_thread_kick(e);
}

void vb_engine_arm(struct vb_engine *e, bool is_armed)
{
	vb_wait_arm(&e->wait, is_armed);
}

void vb_engine_expect_sleep(struct vb_engine *e)
{
	bool kick;

	if (e->wait.held == VB_HELD_REQUESTS)
		vb_engine_send_rest(e);
	kick = vb_wait_announce(&e->wait);
	publish_glance(e);
	if (!kick && atomic_load_explicit(&e->progress_thread.napping, memory_order_relaxed))
		kick = vb_wait_kick(&e->wait);
	if (kick)
		vb_progress_thread_kick(e);
}

void vb_progress_thread_yield_wakeup(struct vb_engine *e)
{
	if (e->progress_thread.wakeup == VB_WAKEUP_NAP)
		(void)vb_link_end_nap(e->link);
}
