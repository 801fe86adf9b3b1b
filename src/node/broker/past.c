/* SPDX-License-Identifier: BSD-2-Clause */
/* Histories of processes that are gone, see past.h. The content of slot memory is another program's
 * word: it is copied, never followed. */
#include "node/broker/past.h"

#include "node/host/clock.h"

#include <string.h>

static const struct vb_send_error *error_of(const struct vb_explain_shm *shm,
					    const struct vb_gid *gid)
{
	for (uint32_t i = 0; i < VB_SEND_ERRORS; i++)
		if (shm->error[i].err && vb_gid_eq(&shm->error[i].gid, gid))
			return &shm->error[i];
	return NULL;
}

static void take_history(struct vb_past *p, const struct vb_slot_shm *shm,
			 const struct vb_qp_history *t, vb_time now)
{
	struct vb_past_qp *to = &p->history[p->next % VB_PAST_QPS];
	const struct vb_send_error *err = error_of(&shm->explain, &t->view.attr.path.dgid);
	uint32_t port;

	p->next = (p->next + 1) % VB_PAST_QPS;
	memset(to, 0, sizeof *to);
	to->ended = now;
	to->pid = shm->pid;
	to->slot = shm->slot;
	memcpy(to->comm, shm->comm, sizeof to->comm);
	to->history = *t;
	if (err)
		to->error = *err;
	/* Read once: a child of the process may still write there. */
	port = __atomic_load_n(&t->view.attr.port, __ATOMIC_RELAXED);
	if (port >= 1 && port <= VB_DEVICES_MAX)
		(void)vb_fault_status_read(shm, port - 1, &to->fault);
}

/* The number of the newest history that did not end well of those older than @before, or as old and
 * behind number @last; or VB_QP_HISTORIES. */
static uint32_t newest_history(const struct vb_explain_shm *shm, vb_time before, uint32_t last)
{
	uint32_t best = VB_QP_HISTORIES;

	for (uint32_t i = 0; i < VB_QP_HISTORIES; i++) {
		const struct vb_qp_history *t = vb_qp_histories_at(&shm->histories, i);

		if (!t || (t->state != VB_QP_HISTORY_FAILED && t->state != VB_QP_HISTORY_OPEN) ||
		    t->at > before || (t->at == before && i <= last))
			continue;
		if (best == VB_QP_HISTORIES || t->at > shm->histories.history[best].at)
			best = i;
	}
	return best;
}

void vb_past_take(struct vb_past *p, const struct vb_slot_shm *shm)
{
	vb_time now = vb_clock_now(), before = VB_NEVER;
	uint32_t i = VB_QP_HISTORIES;

	for (uint32_t n = 0; n < VB_PAST_PER_PROCESS; n++) {
		i = newest_history(&shm->explain, before, i);
		if (i == VB_QP_HISTORIES)
			return;
		before = shm->explain.histories.history[i].at;
		take_history(p, shm, &shm->explain.histories.history[i], now);
	}
}

vb_time vb_past_until(const struct vb_past *p)
{
	vb_time last = 0;

	for (uint32_t i = 0; i < VB_PAST_QPS; i++)
		if (p->history[i].ended > last)
			last = p->history[i].ended;
	return last ? last + VB_PAST_NS : 0;
}
