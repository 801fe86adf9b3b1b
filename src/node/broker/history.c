/* SPDX-License-Identifier: BSD-2-Clause */
/* Tales of processes that are gone, see history.h. What is in slot memory is another program's
 * word: it is copied, never followed. */
#include "node/broker/history.h"

#include "node/client/dial.h"

#include <string.h>

static const struct vb_send_error *error_of(const struct vb_explain_shm *shm,
					    const struct vb_gid *gid)
{
	for (uint32_t i = 0; i < VB_SEND_ERRORS; i++)
		if (shm->error[i].err && vb_gid_eq(&shm->error[i].gid, gid))
			return &shm->error[i];
	return NULL;
}

static void take_tale(struct vb_history *p, const struct vb_slot_shm *shm, const struct vb_tale *t,
		      vb_time now)
{
	struct vb_history_tale *to = &p->tale[p->next % VB_HISTORY_TALES];
	const struct vb_send_error *err = error_of(&shm->explain, &t->view.attr.path.dgid);
	uint32_t port;

	p->next = (p->next + 1) % VB_HISTORY_TALES;
	memset(to, 0, sizeof *to);
	to->ended = now;
	to->pid = shm->pid;
	to->slot = shm->slot;
	memcpy(to->comm, shm->comm, sizeof to->comm);
	to->tale = *t;
	if (err)
		to->error = *err;
	/* Read once: a child of the process may still write there. */
	port = __atomic_load_n(&t->view.attr.port, __ATOMIC_RELAXED);
	if (port >= 1 && port <= VB_DEVICES_MAX)
		(void)vb_fault_status_read(shm, port - 1, &to->fault);
}

/* The number of the newest tale older than @before that did not end well, or VB_TALES. */
static uint32_t newest_tale(const struct vb_explain_shm *shm, vb_time before)
{
	uint32_t best = VB_TALES;

	for (uint32_t i = 0; i < VB_TALES; i++) {
		const struct vb_tale *t = vb_tales_at(&shm->tales, i);

		if (!t || (t->state != VB_TALE_FAILED && t->state != VB_TALE_OPEN) ||
		    t->at >= before)
			continue;
		if (best == VB_TALES || t->at > shm->tales.tale[best].at)
			best = i;
	}
	return best;
}

void vb_history_take(struct vb_slots *s, uint32_t k)
{
	const struct vb_slot_shm *shm = s->slot[k].shm;
	vb_time now = vb_broker_clock(), before = VB_NEVER;

	for (uint32_t n = 0; n < VB_HISTORY_PER_PROCESS; n++) {
		uint32_t i = newest_tale(&shm->explain, before);

		if (i == VB_TALES)
			return;
		before = shm->explain.tales.tale[i].at;
		take_tale(vb_slots_past(s), shm, &shm->explain.tales.tale[i], now);
	}
}

vb_time vb_history_until(const struct vb_history *p)
{
	vb_time last = 0;

	for (uint32_t i = 0; i < VB_HISTORY_TALES; i++)
		if (p->tale[i].ended > last)
			last = p->tale[i].ended;
	return last ? last + VB_HISTORY_NS : 0;
}
