/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The record that this process leaves for `verbena explain` in its slot memory: histories of QPs in
 * trouble and what sending met, as they happen, so that they are there when the process is stopped
 * or killed; and how its QPs stand when somebody asks.
 */
#include "explain/text/refusal.h"
#include "node/control/probe.h"
#include "node/engine/priv.h"

#include <stdio.h>
#include <string.h>

static void write_begin(struct vb_explain_shm *x)
{
	__atomic_store_n(&x->seq, x->seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void write_end(struct vb_explain_shm *x)
{
	__atomic_store_n(&x->seq, x->seq + 1, __ATOMIC_RELEASE);
}

/* A QP came to state @to: notes to whom it is connected. */
static void note_state(struct vb_engine *e, uint32_t qpn, enum vb_qp_state to, vb_time now)
{
	struct vb_slot_shm *s = e->broker.shm;
	struct vb_qp_entry *at = &s->qp_entry[vb_slot_qpn_index(qpn) % VB_QP_ENTRIES];
	struct vb_qp_view v;

	if (!vb_hca_view(e->hca, qpn, now, &v))
		return;
	write_begin(&s->explain);
	/* The state is told before it is taken: one that goes to RESET still has its attributes. */
	*at = (struct vb_qp_entry){.qpn = qpn,
				   .dest_qpn = v.attr.dest_qpn,
				   .rq_psn = v.attr.rq_psn,
				   .type = (uint16_t)v.type,
				   .state = (uint8_t)to,
				   .dgid = v.attr.path.dgid,
				   .at = now};
	write_end(&s->explain);
}

void vb_engine_follow_probes(struct vb_engine *e)
{
	e->is_probed = vb_probe_is_wanted();
	vb_hca_set_trace(e->hca,
			 VB_QP_HISTORY_EVENTS | (e->is_probed ? vb_probe_events() : 0) |
			     (e->rates.has_cnps ? UINT64_C(1) << VB_TRACE_CNP_RECEIVED : 0));
}

void vb_engine_follow_capture(struct vb_engine *e)
{
	bool captures = __atomic_load_n(&e->broker.shm->capture.enabled, __ATOMIC_RELAXED);

	if (captures == e->rates.has_cnps)
		return;
	e->rates.has_cnps = captures;
	vb_engine_follow_probes(e);
}

void vb_engine_tell(void *ctx, const struct vb_trace_event *event)
{
	struct vb_engine *e = ctx;
	struct vb_explain_shm *x = &e->broker.shm->explain;
	struct vb_trace_event ev = *event;
	struct vb_qp_view view;
	struct vb_qp_history *t;

	/* A call that destroys a QP passes no time. */
	if (ev.time == 0)
		ev.time = vb_clock_now();
	vb_probe(&ev);
	if (ev.id == VB_TRACE_CNP_RECEIVED)
		vb_engine_note_cnp(e, ev.qpn, ev.time);
	if (!(VB_QP_HISTORY_EVENTS >> ev.id & 1))
		return;
	if (ev.id == VB_TRACE_QP_STATE)
		note_state(e, ev.qpn, (enum vb_qp_state)ev.arg[1], ev.time);
	t = vb_qp_histories_find(&x->histories, ev.qpn);
	if (!t && !vb_qp_history_begins(&ev))
		return;

	bool known = vb_hca_view(e->hca, ev.qpn, ev.time, &view);

	write_begin(x);
	if (!t)
		t = vb_qp_histories_new(&x->histories, ev.qpn);
	vb_qp_history_add(t, &ev, known ? &view : NULL);
	write_end(x);
}

void vb_engine_note_refusal(void *ctx, const struct vb_gid *to, int err)
{
	struct vb_engine *e = ctx;
	struct vb_explain_shm *x = &e->broker.shm->explain;
	struct vb_send_error *at = &x->error[0];

	for (uint32_t i = 0; i < VB_SEND_ERRORS; i++) {
		struct vb_send_error *s = &x->error[i];

		if (s->err && vb_gid_eq(&s->gid, to)) {
			at = s;
			break;
		}
		/* A free place has the time 0. */
		if (s->at < at->at)
			at = s;
	}
	write_begin(x);
	if (!at->err || !vb_gid_eq(&at->gid, to))
		*at = (struct vb_send_error){.gid = *to};
	at->err = err;
	at->cnt++;
	at->at = vb_clock_now();
	write_end(x);
}

void vb_engine_refusal(struct vb_engine *e, char *to, size_t size)
{
	const struct vb_refusal last = vb_hca_take_refusal(e->hca);

	vb_refusal_words(&last, to, size);
}

void vb_engine_note_refused(struct vb_engine *e, int err, const char *text)
{
	struct vb_explain_shm *x = &e->broker.shm->explain;
	struct vb_refused *r = &x->refused[(x->refused_cnt - 1) % VB_REFUSED_CNT];
	bool again = x->refused_cnt && r->err == err && strcmp(r->text, text) == 0;

	write_begin(x);
	if (!again) {
		r = &x->refused[x->refused_cnt++ % VB_REFUSED_CNT];
		r->cnt = 0;
		snprintf(r->text, sizeof r->text, "%s", text);
	}
	r->err = err;
	r->cnt++;
	r->at = vb_clock_now();
	write_end(x);
}

static void add_view(struct vb_engine *e, uint32_t qpn, vb_time now)
{
	struct vb_explain_shm *x = &e->broker.shm->explain;

	if (x->view_cnt < VB_VIEWS && vb_hca_view(e->hca, qpn, now, &x->view[x->view_cnt]))
		x->view_cnt++;
}

/* When there are more QPs than views: those that have something to tell. */
static bool has_trouble(const struct vb_engine *e, uint32_t qpn)
{
	struct vb_explain_shm *x = &e->broker.shm->explain;

	return vb_qp_histories_find(&x->histories, qpn) != NULL;
}

void vb_engine_answer(struct vb_engine *e)
{
	struct vb_explain_shm *x = &e->broker.shm->explain;
	const struct vb_host_shm *host = e->broker.host;
	uint32_t asked = __atomic_load_n(&host->explain_asked, __ATOMIC_ACQUIRE);
	uint32_t wanted = __atomic_load_n(&host->explain_qpn, __ATOMIC_RELAXED), qpn;
	vb_time now = vb_clock_now();

	if (asked == x->answered)
		return;
	write_begin(x);
	x->view_cnt = x->qp_cnt = 0;
	x->link_full = !vb_backlog_is_empty(&e->backlog);
	add_view(e, wanted, now);
	for (int pass = 0; pass < 2; pass++) {
		uint32_t pos = 0;

		while ((qpn = vb_hca_next_qpn(e->hca, &pos)) != 0) {
			x->qp_cnt += pass == 0;
			if (qpn != wanted && has_trouble(e, qpn) == (pass == 0))
				add_view(e, qpn, now);
		}
	}
	__atomic_store_n(&x->answered, asked, __ATOMIC_RELAXED);
	write_end(x);
}
