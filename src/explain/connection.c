/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections in words, see connection.h. IBA 12.6.7, 12.9.5; CMP-17, CMP-24 */
#include "explain/connection.h"

#include "ucma/abi.h"

#include <inttypes.h>
#include <stdio.h>

struct vb_word vb_word_addr(const struct vb_ucma_addr *a)
{
	static const struct vb_gid none, none_ipv4 = {{[10] = 0xff, [11] = 0xff}};
	bool is_any = vb_gid_eq(&a->gid, &none) || vb_gid_eq(&a->gid, &none_ipv4);
	const char *fmt = vb_gid_is_ipv4(&a->gid) || is_any ? "%.46s:%u" : "[%.46s]:%u";
	struct vb_word w = {""};

	if (a->family)
		snprintf(w.s, sizeof w.s, fmt, is_any ? "*" : vb_word_gid(&a->gid).s, a->port);
	return w;
}

const char *vb_word_port_space(uint16_t ps)
{
	switch (ps) {
	case VB_UCMA_PS_TCP:
		return "TCP";
	case VB_UCMA_PS_UDP:
		return "UDP";
	case VB_UCMA_PS_IPOIB:
		return "IPoIB";
	case VB_UCMA_PS_IB:
		return "IB";
	default:
		return "?";
	}
}

/* There is, or was, a connection. */
static bool has_connection(const struct vb_ucma_view *v)
{
	return v->end != VB_UCMA_END_NONE || v->cm_state != VB_CM_STATE_IDLE;
}

const char *vb_word_role(const struct vb_ucma_view *v)
{
	if (v->is_listener)
		return "listener";
	if (v->is_passive)
		return "server";
	return has_connection(v) || v->dst.family ? "client" : "idle";
}

const char *vb_word_cm_state(const struct vb_ucma_view *v)
{
	if (v->is_gone)
		return "gone";
	if (v->is_listener)
		return "LISTEN";
	if (v->cm_state != VB_CM_STATE_IDLE && v->cm_state < VB_CM_STATE_CNT)
		return vb_cm_state_name((enum vb_cm_state)v->cm_state);
	if (v->end != VB_UCMA_END_NONE)
		return "ENDED";
	if (v->has_route)
		return "RESOLVED";
	return v->src.family ? "BOUND" : "IDLE";
}

static const char *request_name(const struct vb_ucma_view *v)
{
	return v->request >= VB_CM_ATTR_FIRST && v->request <= VB_CM_ATTR_LAST
		   ? vb_cm_attr_name((enum vb_cm_attr)v->request)
		   : "message";
}

/* "sent 4 times, first 3.2 s ago" */
static void say_sent(const struct vb_ucma_view *v, vb_time now, struct vb_lines *l)
{
	vb_line_more(l, "sent %" PRIu32 " time%s", v->sent, v->sent == 1 ? "" : "s");
	if (v->since)
		vb_line_more(l, ", first %s ago", vb_word_ns(vb_time_since(v->since, now)).s);
}

static void advise_silence(const struct vb_ucma_view *v, struct vb_explanation *out)
{
	vb_line(&out->advice,
		"No answer came at all: see whether %s is up, whether an adapter runs there (a "
		"program that listens has one), and whether a firewall drops UDP port 4791.",
		vb_word_gid(&v->dst.gid).s);
}

static void say_wait(const struct vb_ucma_view *v, vb_time now, struct vb_explanation *out)
{
	out->rank = v->sent > 1 ? VB_RANK_STUCK : VB_RANK_WAITING;
	vb_line(&out->what, "%s to %s waits for an answer: ", request_name(v),
		vb_word_addr(&v->dst).s);
	say_sent(v, now, &out->what);
	if (v->next != VB_NEVER && v->next > now)
		vb_line_more(&out->what, "; it goes again, or is given up, in %s",
			     vb_word_ns(v->next - now).s);
	vb_line_more(&out->what, ".");
	if (v->sent > 1)
		advise_silence(v, out);
}

/* The cause of a REJ and the advice on it, as the table has them. */
static const struct rejection {
	uint16_t reason;
	const char *cause, *advice;
} rejections[] = {
#define REASON(number, text, cause, advice) {number, cause, advice},
#include "wire/mad/cm_reason.def"
#undef REASON
};

/* Adds @text with what stands for $t and $p. */
static void say_with_address(const struct vb_ucma_view *v, const char *text, struct vb_lines *l)
{
	for (const char *p = text; *p; p++) {
		if (*p != '$')
			vb_line_more(l, "%c", *p);
		else if (*++p == 't')
			vb_line_more(l, "%s", vb_word_addr(&v->dst).s);
		else
			vb_line_more(l, "%s", vb_word_port_space(v->ps));
	}
}

static void say_rejected(const struct vb_ucma_view *v, struct vb_explanation *out)
{
	out->rank = VB_RANK_FAILED;
	out->cause = "rejected";
	vb_line(&out->what, "%s rejected it: REJ %u, %s.", vb_word_gid(&v->dst.gid).s, v->reason,
		vb_cm_reason_text(v->reason));
	for (size_t i = 0; i < sizeof rejections / sizeof rejections[0]; i++) {
		const struct rejection *r = &rejections[i];

		if (r->reason != v->reason)
			continue;
		if (r->cause[0]) {
			vb_line_more(&out->what, " ");
			say_with_address(v, r->cause, &out->what);
		}
		if (r->advice[0])
			vb_line(&out->advice, "%s", r->advice);
	}
}

static void say_sidr_refused(const struct vb_ucma_view *v, struct vb_explanation *out)
{
	static const char *const why[] = {[VB_CM_SIDR_UNSUPPORTED] = "no program listens there",
					  [VB_CM_SIDR_REJECT] = "the program there refused",
					  [VB_CM_SIDR_NO_QP] = "there is no QP for it",
					  [VB_CM_SIDR_REDIRECT] = "the service is elsewhere",
					  [VB_CM_SIDR_BAD_VERSION] =
					      "the version is not supported there"};
	bool is_known = v->reason > 0 && v->reason < sizeof why / sizeof why[0];

	out->rank = VB_RANK_FAILED;
	out->cause = "rejected";
	vb_line(&out->what, "%s refused the request for a QP: SIDR_REP status %u, %s.",
		vb_word_addr(&v->dst).s, v->reason, is_known ? why[v->reason] : "unknown status");
}

static void say_unreachable(const struct vb_ucma_view *v, struct vb_explanation *out)
{
	out->rank = VB_RANK_FAILED;
	out->cause = "unreachable";
	vb_line(&out->what, "Unreachable: %s to %s was sent %" PRIu32 " time%s", request_name(v),
		vb_word_addr(&v->dst).s, v->sent, v->sent == 1 ? "" : "s");
	if (v->since && v->ended > v->since)
		vb_line_more(&out->what, " in %s", vb_word_ns(v->ended - v->since).s);
	vb_line_more(&out->what, " and never answered.");
}

static void say_given_up(const struct vb_ucma_view *v, vb_time now, struct vb_explanation *out)
{
	const char *state =
	    v->cm_state < VB_CM_STATE_CNT ? vb_cm_state_name((enum vb_cm_state)v->cm_state) : "?";

	out->rank = VB_RANK_WELL;
	out->cause = "given-up";
	vb_line(&out->what, "The program gave it up, or ended, in the state %s", state);
	if (v->cm_state == VB_CM_STATE_REQ_SENT || v->cm_state == VB_CM_STATE_SIDR_REQ_SENT) {
		vb_line_more(&out->what, ": %s to %s had no answer yet, ", request_name(v),
			     vb_word_addr(&v->dst).s);
		say_sent(v, now, &out->what);
		/* Before the first one is sent again it is only impatience. */
		if (v->sent > 1) {
			out->rank = VB_RANK_FAILED;
			advise_silence(v, out);
		}
	}
	vb_line_more(&out->what, ".");
}

static void say_end(const struct vb_ucma_view *v, vb_time now, struct vb_explanation *out)
{
	out->rank = VB_RANK_WELL;
	out->cause = "disconnected";
	switch ((enum vb_ucma_end)v->end) {
	case VB_UCMA_END_REJECTED:
		say_rejected(v, out);
		break;
	case VB_UCMA_END_REJECTED_HERE:
		out->cause = "rejected-here";
		vb_line(&out->what, "The program refused the request of %s.",
			vb_word_addr(&v->dst).s);
		break;
	case VB_UCMA_END_SIDR_REFUSED:
		say_sidr_refused(v, out);
		break;
	case VB_UCMA_END_UNREACHABLE:
		say_unreachable(v, out);
		break;
	case VB_UCMA_END_PEER:
		vb_line(&out->what, "%s disconnected.", vb_word_addr(&v->dst).s);
		if (!v->is_gone && v->cm_state == VB_CM_STATE_DREQ_RCVD)
			vb_line_more(&out->what, " It waits for the program to do so, too.");
		break;
	case VB_UCMA_END_HERE:
		vb_line(&out->what, "The program disconnected from %s.", vb_word_addr(&v->dst).s);
		break;
	case VB_UCMA_END_UNANSWERED:
		out->rank = VB_RANK_FAILED;
		out->cause = "peer-silent";
		vb_line(&out->what,
			"The program disconnected from %s, and its DREQ, sent %" PRIu32
			" time%s, was never answered.",
			vb_word_addr(&v->dst).s, v->sent, v->sent == 1 ? "" : "s");
		break;
	case VB_UCMA_END_GIVEN_UP:
		say_given_up(v, now, out);
		break;
	case VB_UCMA_END_DEVICE:
		out->rank = VB_RANK_FAILED;
		out->cause = "device-removed";
		vb_line(&out->what, "Its device is gone; the program can only destroy the id.");
		break;
	case VB_UCMA_END_NONE:
	case VB_UCMA_END_CNT:
		break;
	}
	if (v->ended && v->ended < now)
		vb_line_more(&out->what, " That was %s ago.",
			     vb_word_ns(vb_time_since(v->ended, now)).s);
}

static void say_listener(const struct vb_ucma_view *v, struct vb_explanation *out)
{
	out->rank = v->dropped ? VB_RANK_TROUBLED : VB_RANK_WELL;
	out->cause = "listens";
	vb_line(&out->what,
		"Listens at %s: backlog %" PRIu32 ", %" PRIu32 " request%s the program.",
		vb_word_addr(&v->src).s, v->backlog, v->waiting,
		v->waiting == 1 ? " waits for" : "s wait for");
	if (!v->dropped)
		return;
	vb_line_more(&out->what,
		     " The backlog was full for %" PRIu32 " request%s, which the peers repeat.",
		     v->dropped, v->dropped == 1 ? "" : "s");
	vb_line(&out->advice,
		"A larger backlog in rdma_listen(), or a program that takes its events "
		"sooner.");
}

/* A peer's request that this program has not answered. */
static void say_request(const struct vb_ucma_view *v, struct vb_explanation *out)
{
	out->cause = v->is_unread ? "unread" : "undecided";
	vb_line(&out->what, "%s asks to connect, and waits for the program, which has %s.",
		vb_word_addr(&v->dst).s,
		v->is_unread ? "not taken the event CONNECT_REQUEST yet"
			     : "neither accepted nor rejected yet");
}

static void say_state(const struct vb_ucma_view *v, vb_time now, struct vb_explanation *out)
{
	out->rank = VB_RANK_WAITING;
	out->cause = "connecting";
	switch ((enum vb_cm_state)v->cm_state) {
	case VB_CM_STATE_REQ_SENT:
	case VB_CM_STATE_REP_SENT:
	case VB_CM_STATE_SIDR_REQ_SENT:
		out->cause = "no-answer";
		say_wait(v, now, out);
		break;
	case VB_CM_STATE_MRA_REQ_RCVD:
	case VB_CM_STATE_MRA_REP_RCVD:
		vb_line(&out->what,
			"%s has %s, and asks for patience (MRA): its program has not "
			"answered yet.",
			vb_word_addr(&v->dst).s, request_name(v));
		break;
	case VB_CM_STATE_REQ_RCVD:
	case VB_CM_STATE_MRA_REQ_SENT:
	case VB_CM_STATE_SIDR_REQ_RCVD:
		say_request(v, out);
		break;
	case VB_CM_STATE_REP_RCVD:
	case VB_CM_STATE_MRA_REP_SENT:
		vb_line(&out->what,
			"%s has accepted; the program has not made its QP ready yet (RTU).",
			vb_word_addr(&v->dst).s);
		break;
	case VB_CM_STATE_ESTABLISHED:
		out->rank = VB_RANK_WELL;
		out->cause = "established";
		vb_line(&out->what, "Connected with %s, QP 0x%06" PRIx32 " there.",
			vb_word_addr(&v->dst).s, v->remote_qpn);
		break;
	case VB_CM_STATE_DREQ_SENT:
		out->cause = "disconnecting";
		say_wait(v, now, out);
		break;
	case VB_CM_STATE_DREQ_RCVD: /* has an end */
	case VB_CM_STATE_IDLE:
	case VB_CM_STATE_LISTEN:
	case VB_CM_STATE_TIMEWAIT:
	case VB_CM_STATE_CNT:
		out->rank = VB_RANK_WELL;
		out->cause = "idle";
		vb_line(&out->what, "%s",
			v->has_route ? "Address and route are resolved; nothing was sent yet."
				     : "Neither connects nor listens yet.");
		break;
	}
}

void vb_explain_connection(const struct vb_ucma_view *v, vb_time now, struct vb_explanation *out)
{
	*out = (struct vb_explanation){.rank = VB_RANK_WELL, .cause = "unknown"};
	if (v->is_listener)
		say_listener(v, out);
	else if (v->end != VB_UCMA_END_NONE)
		say_end(v, now, out);
	else
		say_state(v, now, out);
}
