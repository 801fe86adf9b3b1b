/* SPDX-License-Identifier: BSD-2-Clause */
/* The reason why a QP that has not failed waits, and until when. */
#include "explain/explain.h"

#include "wire/hdr.h"

#include <inttypes.h>

/* Without progress for this long, a receiver without room is more than the flow control of a QP
 * that works. */
#define FLOW_NS (100 * VB_MSEC)

/* The meaning of each vb_block. */
static const struct block {
	const char *cause, *what, *advice;
	enum vb_explain_rank rank;
} blocks[VB_BLOCK_CNT] = {
    [VB_BLOCK_NONE] = {"turn", "It is about to send.", NULL, VB_RANK_WAITING},
    [VB_BLOCK_EMPTY] = {"turn",
			"The adapter has not looked at the work posted last: it leaves with "
			"the next doorbell, poll or timer.",
			NULL, VB_RANK_WAITING},
    [VB_BLOCK_FENCE] = {"fence",
			"The next work request has IBV_SEND_FENCE, so it waits for the "
			"READs and atomics before it to be answered.",
			"That is what the fence asks for; without IBV_SEND_FENCE it would go on.",
			VB_RANK_WAITING},
    [VB_BLOCK_RD_ATOMIC] = {"rd-atomic",
			    "As many READs and atomics are under way as max_rd_atomic "
			    "allows; the next one waits for an answer.",
			    "A larger max_rd_atomic here and max_dest_rd_atomic there allow more "
			    "at once (ibv_modify_qp).",
			    VB_RANK_WAITING},
    [VB_BLOCK_CREDIT] = {"credit",
			 "The peer has told that it has no receive posted for the next "
			 "message (end-to-end credits); the message waits until it has.",
			 "Post receives there (ibv_post_recv).", VB_RANK_STUCK},
    [VB_BLOCK_WINDOW] = {"peer-window",
			 "As much is in flight to that address as its receive "
			 "buffer is taken to hold, by all QPs of this program "
			 "together; it goes on as that is acknowledged.",
			 NULL, VB_RANK_WAITING},
    [VB_BLOCK_RX_CREDIT] =
	{"receiver-full",
	 "The receiving program on this host has not taken what it "
	 "got: its socket is nearly full, so nothing more is sent "
	 "before it reads.",
	 "See what the receiving program does: it has to poll, or to be let run.", VB_RANK_STUCK},
    [VB_BLOCK_PSN_WINDOW] = {"psn-window",
			     "As many packets are in flight as PSNs, or the peer's "
			     "room behind a gap, allow; it goes on with the next "
			     "acknowledgement.",
			     NULL, VB_RANK_WAITING},
    [VB_BLOCK_TX_WINDOW] = {"tx-window",
			    "The QP's own window is full; it goes on with the next "
			    "acknowledgement.",
			    "The window is set by roce_tx_window_en and roce_slow_restart_en "
			    "(verbena reg, ROCE_ACCL), or by an algorithm of congestion control "
			    "(verbena run --cc).",
			    VB_RANK_WAITING},
    [VB_BLOCK_RATE] = {"rate", "Congestion control paces it.",
		       "See 'verbena counters' (rp_cnp_handled): the network marks packets.",
		       VB_RANK_WAITING},
    [VB_BLOCK_PACE] = {"paced", "It keeps to the rate that its program has set.",
		       "The program sets it with ibv_modify_qp_rate_limit().", VB_RANK_WAITING},
    [VB_BLOCK_OST] = {"outstanding",
		      "Congestion control limits its outstanding work requests; the next one is "
		      "begun when the oldest is complete.",
		      "The limit is set by tx_wqe_ost_limit_en ('verbena csr', DCQCN_CONTROL).",
		      VB_RANK_WAITING},
    [VB_BLOCK_MASK] = {"masked", "Its send queue is masked (sq_arb_mask): nothing new is begun.",
		       "Take the mask away: sq_arb_mask=0 in its QP_CONTROL ('verbena csr').",
		       VB_RANK_STUCK},
    [VB_BLOCK_CONNECT] = {"connect",
			  "The next work request is for another target or stream, so it waits for "
			  "the answers to those before it, or for the answer to its connect.",
			  "Each change of the target costs that; with 'verbena run --dc half' the "
			  "answer to the connect is not waited for.",
			  VB_RANK_WAITING},
    [VB_BLOCK_STATE] = {"sqd", "It is in SQD: what was begun is finished, nothing new is begun.",
			"Move it back to RTS (ibv_modify_qp).", VB_RANK_STUCK},
    [VB_BLOCK_FAILED] = {"fails-next",
			 "The next work request cannot be sent and fails as soon as "
			 "those before it have completed.",
			 NULL, VB_RANK_WAITING},
};

static void next_timer(const struct vb_explain_in *in, const struct vb_qp_view *v,
		       struct vb_explanation *out)
{
	if (v->ack_at == VB_NEVER) {
		if (v->unacked && v->rto.timeout == VB_NEVER) {
			vb_line(&out->what, "No timer runs: timeout 0 means to wait for ever.");
			vb_line(&out->advice, "A timeout other than 0 (ibv_modify_qp) would find "
					      "out that the peer is gone.");
		}
		return;
	}
	if (v->ack_at <= in->now) /* a process that does not run fires none */
		vb_line(&out->what, "Its timer of %s is due.", vb_word_ns(v->rto.timeout).s);
	else
		vb_line(&out->what,
			"Its timer of %s fires in %s; then all since PSN %u is sent "
			"again.",
			vb_word_ns(v->rto.timeout).s,
			vb_word_ns(vb_time_since(in->now, v->ack_at)).s, v->psn_una);
	vb_dur left = vb_rto_budget(&v->rto, in->now);

	if (v->rto.adaptive && left != VB_NEVER)
		vb_line_more(&out->what, " Without progress it gives up in %s.",
			     vb_word_ns(left).s);
	else if (!v->rto.adaptive)
		vb_line_more(&out->what, " It may do so %u more time%s.", v->rto.retry_left,
			     v->rto.retry_left == 1 ? "" : "s");
}

/* Everything is sent and no answer is there yet. */
static void wait_ack(const struct vb_explain_in *in, const struct vb_qp_view *v,
		     struct vb_explanation *out)
{
	struct vb_word to = vb_word_peer(&v->attr.path);
	vb_dur waits = v->rto.since == VB_NEVER ? 0 : vb_time_since(v->rto.since, in->now);

	if (v->rto.timeout_cnt == 0) {
		out->rank = VB_RANK_WAITING;
		out->cause = "ack";
		vb_line(&out->what, "It waits for %s to acknowledge %u packet%s, for %s so far.",
			to.s, v->unacked, v->unacked == 1 ? "" : "s", vb_word_ns(waits).s);
		if (v->rto.timeout == VB_NEVER && waits > VB_SEC)
			out->rank = VB_RANK_STUCK;
	} else {
		out->rank = VB_RANK_STUCK;
		vb_line(&out->what, "No answer from %s for %s: %u timeout%s so far.", to.s,
			vb_word_ns(waits).s, v->rto.timeout_cnt,
			v->rto.timeout_cnt == 1 ? "" : "s");
	}
	next_timer(in, v, out);
	if (v->rto.timeout_cnt || out->rank == VB_RANK_STUCK)
		out->cause = vb_explain_silence(in, v, out);
}

static void wait_rnr(const struct vb_explain_in *in, const struct vb_qp_view *v,
		     struct vb_explanation *out)
{
	out->rank = VB_RANK_STUCK;
	out->cause = "rnr-wait";
	vb_line(&out->what, "The peer at %s has no receive posted for its next message (RNR NAK); ",
		vb_word_peer(&v->attr.path).s);
	if (v->rnr_at == VB_NEVER)
		vb_line_more(&out->what, "it has just sent it again.");
	else if (v->rnr_at > in->now)
		vb_line_more(&out->what, "it sends again in %s.",
			     vb_word_ns(vb_time_since(in->now, v->rnr_at)).s);
	else
		vb_line_more(&out->what, "it is due to send again.");
	if (v->attr.rnr_retry == 7)
		vb_line_more(&out->what, " It does so for ever (rnr_retry 7).");
	else
		vb_line_more(&out->what, " %u more such NAK%s, then it fails (rnr_retry %u).",
			     v->rnr_left, v->rnr_left == 1 ? " is forgiven" : "s are forgiven",
			     v->attr.rnr_retry);
	if (in->history)
		vb_line(&out->what, "It has got %" PRIu64 " RNR NAKs so far.",
			in->history->rnr_naks);
	vb_line(&out->advice,
		"Post receives there (ibv_post_recv, ibv_post_srq_recv); min_rnr_timer "
		"of the peer's QP says how long each pause is.");
}

/* The peer takes what is sent, if not as fast. */
static bool is_flowing(const struct vb_explain_in *in, const struct vb_qp_view *v)
{
	if (in->peer && in->peer->is_stopped)
		return false;
	return v->rto.since == VB_NEVER || vb_time_since(v->rto.since, in->now) < FLOW_NS;
}

static void wait_block(const struct vb_explain_in *in, const struct vb_qp_view *v,
		       struct vb_explanation *out)
{
	const struct block *b = &blocks[(unsigned)v->block < VB_BLOCK_CNT ? v->block : 0];
	const struct vb_peer_facts *p = in->peer;

	out->rank = b->rank;
	out->cause = b->cause;
	if ((v->block == VB_BLOCK_RX_CREDIT || v->block == VB_BLOCK_CREDIT) && is_flowing(in, v))
		out->rank = VB_RANK_WAITING;
	/* Sending goes back when nothing is heard, whatever else holds it. */
	if (v->rto.timeout_cnt) {
		wait_ack(in, v, out);
		return;
	}
	vb_line(&out->what, "%s", b->what);
	if (v->block == VB_BLOCK_WINDOW || v->block == VB_BLOCK_RX_CREDIT)
		vb_line(&out->what, "In flight to that address: %s of %s.",
			vb_word_bytes(v->peer_inflight).s, vb_word_bytes(v->peer_window).s);
	if (v->block == VB_BLOCK_TX_WINDOW)
		vb_line(&out->what, "The window is %u packets%s.", v->window_pkts,
			v->is_ramping ? ", for now: slow restart" : "");
	if (v->block == VB_BLOCK_RATE || v->block == VB_BLOCK_PACE)
		vb_line(&out->what, "Its rate is %.3f Gb/s; it looks again in %s.",
			(double)v->rate_bps / 1e9,
			vb_word_ns(vb_time_since(in->now, v->pace_at)).s);
	if (v->block == VB_BLOCK_RX_CREDIT && p && p->is_stopped) {
		vb_line(&out->what, "That is process %u (%.15s), which is stopped.", p->pid,
			p->comm);
		vb_line(&out->advice, "Let it go on with 'kill -CONT %u'.", p->pid);
	} else if (v->block == VB_BLOCK_RX_CREDIT && p && p->there >= VB_PEER_NO_QP) {
		vb_line(&out->what, "That is process %u (%.15s).", p->pid, p->comm);
	}
	next_timer(in, v, out);
	if (b->advice)
		vb_line(&out->advice, "%s", b->advice);
}

static void wait_state(const struct vb_qp_view *v, struct vb_explanation *out)
{
	bool receives = v->state == VB_QPS_RTR;

	out->rank = v->posted ? VB_RANK_STUCK : VB_RANK_WELL;
	out->cause = receives ? "rtr" : "not-ready";
	if (receives && v->type == VB_QPT_DCT) {
		vb_line(&out->what,
			"It is a target: in RTR it serves any initiator that has its key.");
		return;
	}
	vb_line(&out->what, "It is in %s: %s", vb_word_state(v->state),
		receives ? "it receives and answers, and sends nothing of its own before RTS."
			 : "it neither sends nor receives before it is connected (RTR, RTS).");
	if (v->posted)
		vb_line(&out->what, "%u work requests are posted and wait for that.", v->posted);
	if (receives && !v->posted)
		vb_line(&out->advice, "If it is to send as well, move it to RTS (ibv_modify_qp).");
	else
		vb_line(&out->advice, "Move it to %s with ibv_modify_qp.",
			receives ? "RTS" : "RTR and RTS");
}

static void tell_receives(const struct vb_qp_view *v, struct vb_explanation *out)
{
	if (v->type == VB_QPT_UD || v->recvs == 0)
		vb_line_more(&out->what, " %u receive%s posted%s.", v->recvs,
			     v->recvs == 1 ? " is" : "s are", v->is_srq ? " in its SRQ" : "");
}

/* Between two pauses it stands as if it only waited for an acknowledgement. */
static bool is_between_pauses(const struct vb_explain_in *in, const struct vb_qp_view *v)
{
	const struct vb_trace_event *last =
	    vb_explain_last(in->history, UINT64_C(1) << VB_TRACE_NAK_RECEIVED |
					     UINT64_C(1) << VB_TRACE_TIMER_FIRED);

	return v->is_recovering && v->posted && last && in->history->state == VB_QP_HISTORY_OPEN &&
	       last->id == VB_TRACE_NAK_RECEIVED &&
	       (last->arg[0] & VB_SYNDROME_CLASS) == VB_SYNDROME_RNR;
}

void vb_explain_wait(const struct vb_explain_in *in, const struct vb_qp_view *v,
		     struct vb_explanation *out)
{
	enum vb_qp_wait wait = vb_view_wait(v);

	switch (wait != VB_WAIT_STATE && is_between_pauses(in, v) ? VB_WAIT_RNR : wait) {
	case VB_WAIT_STATE:
		wait_state(v, out);
		return;
	case VB_WAIT_RNR:
		wait_rnr(in, v, out);
		break;
	case VB_WAIT_ACK:
		wait_ack(in, v, out);
		break;
	case VB_WAIT_BLOCK:
		wait_block(in, v, out);
		break;
	case VB_WAIT_TURN:
		if (v->rto.timeout_cnt) {
			wait_ack(in, v, out);
			break;
		}
		out->rank = VB_RANK_WAITING;
		out->cause = in->link_full ? "link-full" : "turn";
		vb_line(&out->what, "%s",
			in->link_full ? "The kernel takes no more packets for now (socket buffer "
					"or device queue full); it sends as soon as it does."
				      : "It is sending, or has its turn coming.");
		break;
	default:
		out->rank = VB_RANK_WELL;
		out->cause = v->state == VB_QPS_SQD ? "drained" : "idle";
		vb_line(&out->what, "%s",
			v->state == VB_QPS_SQD
			    ? "It is in SQD and drained: nothing is in flight."
			    : "Idle: nothing is posted to send, nothing waits for an answer.");
		tell_receives(v, out);
		return;
	}
	if (v->posted)
		vb_line(&out->what,
			"%u work request%s not complete; the oldest is %s of %s "
			"(wr_id %" PRIu64 ").",
			v->posted, v->posted == 1 ? " is" : "s are", vb_word_wr(v->wr_opcode),
			vb_word_bytes(v->length).s, v->wr_id);
}
