/* SPDX-License-Identifier: BSD-2-Clause */
/* PAUSE and RESUME frames. See pfc.h. */
#include "fabric/eth/pfc.h"

#include "base/cold.h"
#include <assert.h>

static void control_add(struct vb_port *p, struct vb_frame *f)
{
	struct vb_frame **end = &p->control;

	while (*end) /* hardly ever one, two of each priority at most */
		end = &(*end)->next;
	*end = f;
	f->next = NULL;
}

VB_APART void vb_pfc_send(struct vb_port *p, struct vb_frame_pool *pool, uint8_t prio, bool on)
{
	struct vb_frame *f = vb_frame_pool_take(pool);

	if (!f)
		return;
	f->kind = VB_FRAME_PAUSE;
	f->prio = prio;
	f->pause_on = on;
	f->frame_len = VB_FRAME_MIN;
	if (on)
		p->stats.pauses_sent++;
	control_add(p, f);
	vb_port_wake(p);
}

bool vb_pfc_receive(struct vb_port *p, const struct vb_frame *f, vb_time now)
{
	assert(f->kind == VB_FRAME_PAUSE && f->prio < VB_PRIORITY_CNT);
	return vb_port_hold(p, f->prio, f->pause_on, now);
}

void vb_pfc_after_take(struct vb_port *p, const struct vb_buffer *b, struct vb_frame_pool *pool,
		       uint8_t prio)
{
	struct vb_buffer_account *a = &p->lane[prio].in;

	if (!vb_buffer_wants_pause(b, a))
		return;
	a->paused = true;
	vb_pfc_send(p, pool, prio, true);
}

void vb_pfc_after_give(struct vb_port *p, const struct vb_buffer *b, struct vb_frame_pool *pool,
		       uint8_t prio)
{
	struct vb_buffer_account *a = &p->lane[prio].in;

	if (!vb_buffer_wants_resume(b, a))
		return;
	a->paused = false;
	vb_pfc_send(p, pool, prio, false);
}
