/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why a QP ended: retries used up, a request that the peer refused or that could not be sent, a
 * request of the peer that was refused here. IBA 9.9, 11.6.2
 */
#include "explain/explain.h"
#include "explain/text/denial.h"

#include "wire/hdr.h"

#include <inttypes.h>

#define BIT(id) (UINT64_C(1) << (id))

/* The meaning of a completion status other than the two of retries, and the advice. */
static const struct reason {
	uint32_t status; /* enum vb_wc_status */
	const char *cause, *what, *advice;
} reasons[] = {
    {VB_WC_LOC_LEN_ERR, "local-length", "the message is longer than the QP may send",
     "Messages are at most 2 GiB, on UD one path MTU."},
    {VB_WC_LOC_QP_OP_ERR, "local-operation", "the QP cannot carry it out as it is set up",
     "READs and atomics need max_rd_atomic > 0 on this side (ibv_modify_qp to RTS)."},
    {VB_WC_LOC_PROT_ERR, "local-protection",
     "the local buffer is not usable: an L_Key that is unknown or of another PD, a range outside "
     "its region, or a region without IBV_ACCESS_LOCAL_WRITE where data comes in",
     "Compare addr, length and lkey of the work request with what ibv_reg_mr returned, and see "
     "that the region is still registered."},
    {VB_WC_MW_BIND_ERR, "bind", "the memory window or key could not be bound or invalidated",
     "Check rights, range and PD of the region, and that the window or key is in the state that "
     "the request needs."},
    {VB_WC_BAD_RESP_ERR, "bad-response", "the answer is not one that a responder may give",
     "Look at the packets with 'verbena capture'; the peer's adapter breaks the protocol or the "
     "two sides differ in path MTU."},
    {VB_WC_REM_INV_REQ_ERR, "peer-invalid-request",
     "the peer's QP cannot accept it: a message longer than the posted receive, an operation that "
     "it does not support or allow, a misaligned atomic, or more READs than it has room for",
     "Compare the length with the receive buffer, max_rd_atomic here with max_dest_rd_atomic "
     "there, and qp_access_flags of the peer's QP."},
    {VB_WC_REM_ACCESS_ERR, "peer-access",
     "the peer has no such R_Key, or the range is not inside its region, or the right is missing "
     "on the region or on its QP; or, with DC, the target has another key",
     "Compare remote_addr and rkey with what the peer's ibv_reg_mr returned (still registered, "
     "same PD as its QP?), and see that region and QP (qp_access_flags) have "
     "IBV_ACCESS_REMOTE_WRITE, _READ or _ATOMIC."},
    {VB_WC_REM_OP_ERR, "peer-operation", "the peer could not complete it, for reasons of its own",
     "See the peer's completions, and 'verbena explain' there: its receive buffer may not be "
     "usable."},
    {VB_WC_REM_INV_RD_REQ_ERR, "peer-rd", "the peer calls it an invalid RD request",
     "RD is not in use anywhere; look at the packets with 'verbena capture'."},
};

static const struct reason *reason_of(uint32_t status)
{
	for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
		if (reasons[i].status == status)
			return &reasons[i];
	return NULL;
}

const struct vb_trace_event *vb_explain_last(const struct vb_qp_history *t, uint64_t mask)
{
	for (uint32_t i = t ? vb_qp_history_kept(t) : 0; i-- > 0;) {
		const struct vb_trace_event *ev = vb_qp_history_event(t, i);

		if (mask & BIT(ev->id & 63))
			return ev;
	}
	return NULL;
}

static void tell_age(const struct vb_explain_in *in, vb_time at, struct vb_explanation *out)
{
	vb_line_more(&out->what, ", %s ago", vb_word_ns(vb_time_since(at, in->now)).s);
}

void vb_explain_settings(const struct vb_qp_view *v, struct vb_lines *l)
{
	const struct vb_rto *r = &v->rto;
	const struct vb_adp_profile *p = vb_recovery_profile(&v->set);

	vb_line(l, "Its settings: timeout %s", vb_word_timeout(r->attr_timeout).s);
	if (r->cap_exp != r->attr_timeout)
		vb_line_more(l, ", raised to %s by the adapter's least",
			     vb_word_timeout(r->cap_exp).s);
	vb_line_more(l, ", retry_cnt %u, rnr_retry %u%s; ", r->attr_retry, v->attr.rnr_retry,
		     v->attr.rnr_retry == 7 ? " (for ever)" : "");
	if (!r->adaptive) {
		vb_line_more(l, "fixed timers (roce_adp_retrans_en=0)");
		return;
	}
	vb_line_more(l, "adaptive timers, profile %u (base %u us", v->set.adp_retx_profile_id,
		     p->time_base);
	if (r->range == VB_RTO_NO_RANGE)
		vb_line_more(l, ", still at the value it drew");
	else
		vb_line_more(l, ", range %u of %u", r->range, p->range_num);
	vb_line_more(l, "), in all %s without progress%s", vb_word_ns(r->total).s,
		     p->qp_total_timeout ? " (timeout times retry_cnt)" : " (retx_total_timeout)");
}

/* The work request that failed, or was the oldest when the QP gave up. */
static void tell_request(const struct vb_qp_view *v, struct vb_explanation *out)
{
	bool is_remote = v->wr_opcode == VB_WR_RDMA_WRITE || v->wr_opcode == VB_WR_RDMA_WRITE_IMM ||
			 v->wr_opcode == VB_WR_RDMA_READ || v->wr_opcode == VB_WR_COMPARE_SWAP ||
			 v->wr_opcode == VB_WR_FETCH_ADD;

	if (v->posted == 0)
		return;
	vb_line(&out->what, "It was %s of %s (wr_id %" PRIu64 ", PSN %u", vb_word_wr(v->wr_opcode),
		vb_word_bytes(v->length).s, v->wr_id, v->psn_una);
	if (is_remote)
		vb_line_more(&out->what, ", remote address 0x%" PRIx64 ", R_Key 0x%x",
			     v->remote_addr, v->rkey);
	vb_line_more(&out->what, ")");
	if (v->posted > 1)
		vb_line_more(&out->what, "; %u more waited behind it and were flushed",
			     v->posted - 1);
	vb_line_more(&out->what, ".");
}

static void advise_timers(const struct vb_qp_view *v, struct vb_explanation *out)
{
	vb_line(&out->advice,
		"If the peer is there and only slow, give it longer: %s in ibv_modify_qp%s.",
		v->rto.adaptive && !vb_recovery_profile(&v->set)->qp_total_timeout
		    ? "a larger timeout"
		    : "a larger timeout or retry_cnt",
		!v->rto.adaptive ? ""
		: vb_recovery_profile(&v->set)->qp_total_timeout
		    ? ", or a profile with its own total (verbena reg, retx_total_timeout)"
		    : ", and retx_total_timeout of the profile (verbena reg)");
}

static void retries_ended(const struct vb_explain_in *in, const struct vb_qp_view *v,
			  const struct vb_trace_event *ev, struct vb_explanation *out)
{
	struct vb_word to = vb_word_peer(&v->attr.path);
	uint64_t why = ev->arg[0], timeouts = ev->arg[1];

	vb_line(&out->what, "IBV_WC_RETRY_EXC_ERR: ");
	if (why == VB_REWIND_TIMEOUT) {
		vb_line_more(&out->what, "no answer from %s: %" PRIu64 " timeout%s in %s", to.s,
			     timeouts, timeouts == 1 ? "" : "s", vb_word_ns(ev->arg[2]).s);
		tell_age(in, ev->time, out);
		vb_line_more(&out->what, ".");
		out->cause = vb_explain_silence(in, v, out);
	} else {
		vb_line_more(&out->what,
			     "%s reported the packet with PSN %u missing%s again and again until "
			     "the retries were used up, %s after it was sent first",
			     to.s, (unsigned)ev->arg[3],
			     why == VB_REWIND_IMPLIED_NAK ? ", by what it answered," : "",
			     vb_word_ns(ev->arg[2]).s);
		tell_age(in, ev->time, out);
		vb_line_more(&out->what, ". It is there, and gets some packets but not that one.");
		vb_line(&out->advice, "Look for loss on the way: 'verbena counters' "
				      "(out_of_sequence there, packet_seq_err here), 'verbena "
				      "fault'; a smaller path MTU if only long packets are lost.");
		out->cause = "gap";
	}
	tell_request(v, out);
	vb_explain_settings(v, &out->what);
	advise_timers(v, out);
}

static void rnr_ended(const struct vb_explain_in *in, const struct vb_qp_view *v,
		      const struct vb_trace_event *ev, struct vb_explanation *out)
{
	const struct vb_trace_event *nak = vb_explain_last(in->history, BIT(VB_TRACE_NAK_RECEIVED));
	uint32_t cnt = vb_qp_history_left_out(in->history);

	for (uint32_t i = 0; i < vb_qp_history_kept(in->history); i++) {
		const struct vb_trace_event *e = vb_qp_history_event(in->history, i);

		cnt += e->id == VB_TRACE_NAK_RECEIVED &&
		       (e->arg[0] & VB_SYNDROME_CLASS) == VB_SYNDROME_RNR;
	}
	vb_line(&out->what,
		"IBV_WC_RNR_RETRY_EXC_ERR: the peer at %s has posted no receive for it: %s%u RNR "
		"NAK%s",
		vb_word_peer(&v->attr.path).s, vb_qp_history_left_out(in->history) ? "about " : "",
		cnt, cnt == 1 ? "" : "s");
	tell_age(in, ev->time, out);
	vb_line_more(&out->what, ".");
	if (nak)
		vb_line_more(&out->what, " Each asked for a pause of %s (min_rnr_timer there).",
			     vb_word_ns(vb_rnr_timer_ns(nak->arg[0] & VB_SYNDROME_VALUE)).s);
	tell_request(v, out);
	vb_explain_settings(v, &out->what);
	vb_line(&out->advice, "Post receives there before this side sends, and post them again as "
			      "they complete (ibv_post_recv, ibv_post_srq_recv).");
	vb_line(&out->advice,
		"To wait longer: rnr_retry %u here (7: for ever), and a larger min_rnr_timer on "
		"the peer's QP.",
		v->attr.rnr_retry);
	out->cause = "rnr";
}

static void denied_there(const struct vb_denial *d, struct vb_explanation *out)
{
	vb_line(&out->what, "The other QP says why. It was ");
	vb_denial_say(&out->what, d);
	vb_denial_advise(&out->advice, d);
	out->check = vb_denial_word(d);
}

static void request_failed(const struct vb_explain_in *in, const struct vb_qp_view *v,
			   const struct vb_trace_event *ev, struct vb_explanation *out)
{
	uint32_t status = (uint32_t)ev->arg[0];
	const struct reason *r = reason_of(status);
	bool is_refused = status == VB_WC_REM_ACCESS_ERR || status == VB_WC_REM_INV_REQ_ERR ||
			  status == VB_WC_REM_OP_ERR;
	bool is_denied = is_refused && in->peer && vb_denial_word(&in->peer->denial);

	vb_line(&out->what, "%s: %s", vb_word_status(status),
		is_denied ? "the peer refused it"
		: r       ? r->what
			  : "a work request could not be carried out");
	tell_age(in, ev->time, out);
	vb_line_more(&out->what, ".");
	if ((ev->arg[1] & VB_SYNDROME_CLASS) == VB_SYNDROME_NAK && is_refused)
		vb_line(&out->what, "%s answered \"%s\".", vb_word_peer(&v->attr.path).s,
			vb_word_nak(ev->arg[1]).s);
	tell_request(v, out);
	if (is_denied)
		denied_there(&in->peer->denial, out);
	if (!is_denied && r)
		vb_line(&out->advice, "%s", r->advice);
	out->cause = r ? r->cause : "request";
}

/* @denied and @nak: the refusal, and the NAK that told the peer of it, or NULL: a SEND whose
 * invalidation fails is acknowledged. */
static void refused_here(const struct vb_explain_in *in, const struct vb_qp_view *v,
			 const struct vb_trace_event *denied, const struct vb_trace_event *nak,
			 struct vb_explanation *out)
{
	struct vb_denial d = vb_denial_read(denied);

	vb_line(&out->what, "It refused a request of its peer at %s",
		vb_word_peer(&v->attr.path).s);
	if (nak)
		vb_line_more(&out->what, " with \"%s\" (PSN %u)", vb_word_nak(nak->arg[0]).s,
			     (unsigned)nak->arg[1]);
	tell_age(in, denied->time, out);
	vb_line_more(&out->what, ", and is in the error state since.");
	vb_line(&out->what, "It was ");
	vb_denial_say(&out->what, &d);
	vb_denial_advise(&out->advice, &d);
	out->check = vb_denial_word(&d);
	out->cause =
	    nak && nak->arg[0] == VB_NAK_REMOTE_ACCESS ? "refused-access" : "refused-request";
}

/* An error state without a history of why. */
static void tell_untold(const struct vb_qp_view *v, struct vb_explanation *out)
{
	if (v->cq_overrun) {
		vb_line(&out->what, "One of its completion queues overflowed: completions are "
				    "lost, so its QPs are in the error state.");
		vb_line(&out->advice, "Make the CQ larger (ibv_create_cq), or poll it more often; "
				      "it has to hold all that can be outstanding.");
		out->cause = "cq-overrun";
	} else {
		vb_line(&out->what,
			"It is in %s, and nothing failed: the program moved it there "
			"(ibv_modify_qp).",
			vb_word_state(v->state));
		out->cause = "moved";
	}
}

void vb_explain_failure(const struct vb_explain_in *in, const struct vb_qp_view *v,
			struct vb_explanation *out)
{
	const struct vb_qp_history *t = in->history;
	bool failed = t && t->state == VB_QP_HISTORY_FAILED;
	const struct vb_trace_event *ended =
	    failed ? vb_explain_last(t, BIT(VB_TRACE_RETRY_ENDED)) : NULL;
	const struct vb_trace_event *request_ev =
	    failed ? vb_explain_last(t, BIT(VB_TRACE_FAILED)) : NULL;
	const struct vb_trace_event *denied =
	    failed ? vb_explain_last(t, BIT(VB_TRACE_REFUSED)) : NULL;

	out->rank = VB_RANK_FAILED;
	if (ended && ended->arg[0] == VB_REWIND_RNR)
		rnr_ended(in, v, ended, out);
	else if (ended)
		retries_ended(in, v, ended, out);
	else if (request_ev)
		request_failed(in, v, request_ev, out);
	else if (denied)
		refused_here(in, v, denied, vb_explain_last(t, BIT(VB_TRACE_NAK_SENT)), out);
	else
		tell_untold(v, out);
}
