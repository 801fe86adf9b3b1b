/* SPDX-License-Identifier: BSD-2-Clause */
/* The whole explanation: the most important part first. See explain.h. */
#include "explain/explain.h"
#include "explain/text/denial.h"

#include <inttypes.h>

const char *vb_rank_name(enum vb_explain_rank rank)
{
	static const char *const name[VB_RANK_CNT] = {"failed", "stuck", "waiting", "recovered",
						      "well"};

	return (unsigned)rank < VB_RANK_CNT ? name[rank] : "?";
}

/* The past: all times of trouble together. */
static void tell_past(const struct vb_explain_in *in, struct vb_explanation *out)
{
	const struct vb_qp_history *t = in->history;
	const struct {
		uint64_t cnt;
		const char *name;
	} sum[] = {{t->timeouts, "timeout"},
		   {t->naks, "sequence error NAK"},
		   {t->implied_naks, "implied NAK"},
		   {t->rnr_naks, "RNR NAK"}};
	const char *before = "So far it was sent back by ";
	const struct vb_trace_event *dropped;

	for (size_t i = 0; t->recovered && i < sizeof sum / sizeof sum[0]; i++) {
		if (sum[i].cnt == 0)
			continue;
		if (before[0] == 'S')
			vb_line(&out->what, "%s", before);
		else
			vb_line_more(&out->what, "%s", before);
		vb_line_more(&out->what, "%" PRIu64 " %s%s", sum[i].cnt, sum[i].name,
			     sum[i].cnt == 1 ? "" : "s");
		before = ", ";
	}
	if (before[0] != 'S')
		vb_line_more(&out->what, ", and made progress again %" PRIu64 " time%s.",
			     t->recovered, t->recovered == 1 ? "" : "s");
	dropped = vb_explain_last(t, UINT64_C(1) << VB_TRACE_REFUSED);
	if (dropped && !vb_denial_read(dropped).is_fatal) {
		struct vb_denial d = vb_denial_read(dropped);

		vb_line(&out->what, "It dropped a message of its peer, %s ago. It was ",
			vb_word_ns(vb_time_since(dropped->time, in->now)).s);
		vb_denial_say(&out->what, &d);
		vb_denial_advise(&out->advice, &d);
		out->check = vb_denial_word(&d);
	}
	if (t->rnr_sent)
		vb_line(&out->what,
			"It told its peer %" PRIu64 " time%s that no receive is posted (RNR NAK); "
			"now %s posted.",
			t->rnr_sent, t->rnr_sent == 1 ? "" : "s",
			in->view && in->view->recvs ? "some are" : "none is");
}

/* The failure that the history tells is that of the QP as it is now. */
static bool has_failed(const struct vb_explain_in *in)
{
	const struct vb_qp_view *v = in->view;

	if (v && (v->state == VB_QPS_ERR || v->state == VB_QPS_SQE))
		return true;
	return in->history && in->history->state == VB_QP_HISTORY_FAILED &&
	       (!v || !in->history->is_gone);
}

static void without_view(const struct vb_explain_in *in, struct vb_explanation *out)
{
	const struct vb_qp_history *t = in->history;

	if (t->state == VB_QP_HISTORY_OPEN) {
		out->rank = VB_RANK_STUCK;
		out->cause = t->is_gone ? "destroyed" : "ended";
		vb_line(&out->what, "%s while it waited for %s: %u timeout%s without an answer.",
			t->is_gone ? "It was destroyed or reset" : "Its process ended",
			vb_word_peer(&t->view.attr.path).s, t->view.rto.timeout_cnt,
			t->view.rto.timeout_cnt == 1 ? "" : "s");
		out->cause = vb_explain_silence(in, &t->view, out);
		return;
	}
	out->rank = VB_RANK_TROUBLED;
	out->cause = "recovered";
	vb_line(&out->what, "It is gone; what had gone wrong was overcome.");
}

void vb_explain(const struct vb_explain_in *in, struct vb_explanation *out)
{
	const struct vb_qp_view *v = in->view;

	out->what.cnt = out->advice.cnt = 0;
	out->check = NULL;
	out->rank = VB_RANK_WELL;
	out->cause = "idle";
	if (has_failed(in)) {
		const struct vb_qp_history *t = in->history;

		vb_explain_failure(in, t && t->state == VB_QP_HISTORY_FAILED ? &t->view : v, out);
	} else if (!v) {
		without_view(in, out);
	} else {
		vb_explain_wait(in, v, out);
	}
	if (in->owner == VB_OWNER_STOPPED) {
		vb_line(&out->what,
			"Its own process is stopped (SIGSTOP, a debugger): nothing "
			"moves before it runs again; this is how it stood %s ago.",
			vb_word_ns(vb_time_since(v ? v->at : in->history->at, in->now)).s);
		if (out->rank > VB_RANK_STUCK)
			out->rank = VB_RANK_STUCK;
	}
	if (!in->history)
		return;
	tell_past(in, out);
	if (out->rank == VB_RANK_WELL && in->history->recovered)
		out->rank = VB_RANK_TROUBLED;
}
