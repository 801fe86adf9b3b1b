/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why there may be no answer: the facts known of the other end, the most certain first. A
 * responder drops what it cannot place without a word (IBA 9.6.1), so on another host only its ICMP
 * messages and its answers to others tell anything.
 */
#include "explain/explain.h"
#include "explain/text/denial.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* An error of sending to the address counts when it was not long before the trouble. */
#define ERROR_SLACK_NS VB_SEC

static bool error_is_ours(const struct vb_explain_in *in)
{
	const struct vb_peer_facts *p = in->peer;

	if (!p || !p->send_errno)
		return false;
	return !in->history || p->send_err_at + ERROR_SLACK_NS >= in->history->begun;
}

/* The peer has acknowledged something, or NAKed. */
static bool has_answered(const struct vb_explain_in *in, const struct vb_qp_view *v)
{
	return v->is_acked_once || (in->history && in->history->naks + in->history->rnr_naks);
}

/*
 * A firewall that says "administratively prohibited". For IPv4 the kernel turns that into the error
 * of a way that is missing (icmp_err_convert[]), and passes on no other ICMP message with this
 * error; for IPv6 it is EACCES, as a route of this host that prohibits is. ICMP codes 10 and 13,
 * RFC 1812 5.2.7.1; ICMPv6 code 1, RFC 4443 3.1
 */
static bool is_prohibited(const struct vb_peer_facts *p, const struct vb_gid *to)
{
	if (p->route_errno)
		return false;
	return p->send_errno == (vb_gid_is_ipv4(to) ? EHOSTUNREACH : EACCES);
}

static const char *tell_refused(const struct vb_explain_in *in, const struct vb_qp_view *v,
				struct vb_explanation *out)
{
	const struct vb_peer_facts *p = in->peer;
	struct vb_word to = vb_word_peer(&v->attr.path);

	if (p->send_errno == ECONNREFUSED) {
		vb_line(
		    &out->what,
		    "The answer is that UDP port 4791 is unreachable at %s (ICMP, %" PRIu64
		    " time%s): no adapter runs at that address, or a firewall there or on the way "
		    "rejects packets in these words. ICMP does not tell one from the other.",
		    to.s, p->send_err_cnt, p->send_err_cnt == 1 ? "" : "s");
		vb_line(&out->advice,
			"Start the other program on %s ('verbena run'), or see why it ended. If it "
			"runs, compare GIDs with 'verbena devices' there: the address may not be "
			"the one it uses; and look for rules that reject UDP port 4791.",
			to.s);
		return "refused";
	}
	if (is_prohibited(p, &v->attr.path.dgid)) {
		vb_line(
		    &out->what,
		    "A firewall there or on the way to %s rejects the packets and says so (ICMP: "
		    "administratively prohibited, %" PRIu64 " time%s). Whether an adapter runs "
		    "there is not known.",
		    to.s, p->send_err_cnt, p->send_err_cnt == 1 ? "" : "s");
		vb_line(&out->advice, "Let UDP port 4791 through, both ways.");
		return "firewall";
	}
	vb_line(&out->what, "Sending to %s fails here: %s (%" PRIu64 " time%s).", to.s,
		strerror(p->send_errno), p->send_err_cnt, p->send_err_cnt == 1 ? "" : "s");
	if (p->send_errno == EMSGSIZE)
		vb_line(&out->advice,
			"The packets are longer than the way takes: use a smaller path MTU "
			"(ibv_modify_qp, or -m of perftest) or raise the MTU of the interfaces.");
	else if (p->send_errno == EPERM || p->send_errno == EACCES)
		vb_line(&out->advice, "A firewall rule of this host forbids it: let UDP port 4791 "
				      "out and in.");
	else
		vb_line(&out->advice, "Look at 'ip route get %s' and the state of the interface.",
			to.s);
	return "send-error";
}

/* The name of the other QP. */
static struct vb_word name_of(const struct vb_peer_facts *p, uint32_t qpn)
{
	struct vb_word w;

	if (p->pid)
		snprintf(w.s, sizeof w.s, "QP 0x%06x of process %u (%.15s)", qpn, p->pid, p->comm);
	else
		snprintf(w.s, sizeof w.s, "QP 0x%06x there", qpn);
	return w;
}

static const char *qp_there(const struct vb_qp_view *v, const struct vb_peer_facts *p,
			    struct vb_explanation *out)
{
	const struct vb_qp_view *q = p->qp;
	uint32_t qpn = v->attr.dest_qpn;
	struct vb_word name = name_of(p, qpn);

	if (q->state == VB_QPS_ERR) {
		vb_line(&out->what, "%s is in the error state and answers nothing.", name.s);
		if (p->denial.check != VB_DENIAL_NONE) {
			vb_line(&out->what, "It refused a request: ");
			vb_denial_say(&out->what, &p->denial);
			vb_denial_advise(&out->advice, &p->denial);
		}
		vb_line(&out->advice, "See why: 'verbena explain 0x%06x'%s.", qpn,
			p->far == VB_FAR_ANSWERED ? " on that host" : "");
		return "peer-error";
	}
	if (q->state == VB_QPS_RESET || q->state == VB_QPS_INIT) {
		vb_line(&out->what, "%s is in %s: it does not receive before RTR.", name.s,
			vb_word_state(q->state));
		vb_line(&out->advice, "Move the other QP to RTR before this one sends; exchange a "
				      "message between the programs to make sure.");
		return "peer-not-ready";
	}
	if (q->type == VB_QPT_DCT) {
		vb_line(&out->what,
			"%s is a target in %s: what is sent, or its answers, get lost on the way.",
			name.s, vb_word_state(q->state));
		return "lost";
	}
	if (!vb_gid_eq(&q->attr.path.dgid, &v->attr.path.sgid) || q->attr.dest_qpn != v->qpn) {
		vb_line(&out->what,
			"%s is connected to QP 0x%06x at %s, not to "
			"this one, and drops what comes from elsewhere.",
			name.s, q->attr.dest_qpn, vb_word_gid(&q->attr.path.dgid).s);
		vb_line(&out->advice, "Compare the QPNs and GIDs that the programs exchange.");
		return "peer-of-another";
	}
	if (!v->is_acked_once && q->epsn != v->psn_una) {
		vb_line(&out->what, "%s expects PSN %u, and this QP began with %u.", name.s,
			q->epsn, v->psn_una);
		vb_line(&out->advice,
			"rq_psn of one side has to be the sq_psn of the other (ibv_modify_qp).");
		return "wrong-psn";
	}
	if (p->far_drops_long) {
		vb_line(&out->what,
			"%s is in %s and connected to this one, and the adapter there answers "
			"short questions, but none in packets as long as the path MTU, %u bytes: "
			"the network drops those.",
			name.s, vb_word_state(q->state), vb_mtu_bytes(v->attr.path_mtu));
		vb_line(&out->advice,
			"Use a smaller path MTU (ibv_modify_qp, or -m of perftest), or raise the "
			"MTU of the network; 'verbena ping %s' finds the largest that works.",
			vb_word_peer(&v->attr.path).s);
		return "network-mtu";
	}
	vb_line(&out->what,
		"%s is in %s and connected to this one: "
		"what is sent, or its answers, get lost on the way.",
		name.s, vb_word_state(q->state));
	return "lost";
}

static const char *peer_here(const struct vb_qp_view *v, const struct vb_peer_facts *p,
			     struct vb_explanation *out)
{
	uint32_t qpn = v->attr.dest_qpn;

	if (p->there == VB_PEER_NO_PROCESS) {
		vb_line(&out->what, "%s, and no program here has QP 0x%06x: its process has ended.",
			vb_path_has_lid(&v->attr.path) ? "All nodes of the fabric are here"
						       : "The address is this host's own",
			qpn);
		vb_line(&out->advice, "See why the other program ended; connect to a new one.");
		return "peer-gone";
	}
	if (p->is_stopped) {
		vb_line(&out->what,
			"Process %u (%.15s) on this host has QP 0x%06x, and is stopped: it does "
			"not run, so it does not answer.",
			p->pid, p->comm, qpn);
		vb_line(&out->advice, "Let it go on with 'kill -CONT %u' (or leave the debugger).",
			p->pid);
		return "peer-stopped";
	}
	if (p->there == VB_PEER_NO_QP) {
		vb_line(&out->what,
			"Process %u (%.15s) on this host answers, and has no QP 0x%06x: it was "
			"destroyed, or the number is wrong.",
			p->pid, p->comm, qpn);
		vb_line(&out->advice, "Compare the QPNs that the programs exchange; 'verbena "
				      "explain --all' lists those there are.");
		return "peer-qpn-unknown";
	}
	return p->qp ? qp_there(v, p, out) : NULL;
}

/* How the QP stands that the adapter of the other host told of. */
static const char *qp_far(const struct vb_qp_view *v, const struct vb_peer_facts *p,
			  struct vb_explanation *out)
{
	const struct vb_vendor_qp *far = &p->far_qp;
	struct vb_qp_view q = {.type = far->standing == VB_VENDOR_TARGET ? VB_QPT_DCT : VB_QPT_RC,
			       .state = (enum vb_qp_state)far->state,
			       .attr = {.path.dgid = v->attr.path.sgid, .dest_qpn = v->qpn},
			       .epsn = far->rq_psn};
	struct vb_peer_facts with = *p;

	if (far->stopped) {
		vb_line(&out->what,
			"The process that has QP 0x%06x there is stopped: it does not run, so it "
			"does not answer.",
			far->is_qpn);
		vb_line(&out->advice, "Let it go on with 'kill -CONT' (or leave the debugger).");
		return "peer-stopped";
	}
	if (far->is_qpn != v->attr.dest_qpn) {
		vb_line(&out->what,
			"The QP there that is connected to this one is 0x%06x, and this one sends "
			"to 0x%06x.",
			far->is_qpn, v->attr.dest_qpn);
		vb_line(&out->advice, "Compare the QPNs that the programs exchange.");
		return "wrong-qpn";
	}
	with.qp = &q;
	return qp_there(v, &with, out);
}

/* The answer of the adapter on the other host. */
static const char *peer_far(const struct vb_qp_view *v, const struct vb_peer_facts *p,
			    struct vb_explanation *out)
{
	const struct vb_vendor_qp *far = &p->far_qp;
	struct vb_word to = vb_word_peer(&v->attr.path);

	switch (far->standing) {
	case VB_VENDOR_NOT_READY:
	case VB_VENDOR_TARGET:
	case VB_VENDOR_CONNECTED:
		return qp_far(v, p, out);
	case VB_VENDOR_RESET:
		vb_line(&out->what,
			"QP 0x%06x at %s was connected to this one, and was destroyed or reset %s "
			"ago.",
			far->is_qpn, to.s, vb_word_ns(far->age).s);
		vb_line(&out->advice, "See why the other program gave it up.");
		return "peer-destroyed";
	case VB_VENDOR_ENDED:
		vb_line(&out->what, "The process that had QP 0x%06x at %s ended %s ago.",
			far->is_qpn, to.s, vb_word_ns(far->age).s);
		vb_line(&out->advice, "See why the other program ended; connect to a new one.");
		return "peer-gone";
	default:
		vb_line(&out->what,
			"The adapter at %s answers, and knows of no QP that is connected to this "
			"one: QP 0x%06x is not there, or is another QP's peer.",
			to.s, v->attr.dest_qpn);
		vb_line(&out->advice,
			"Compare the QPNs and GIDs that the programs exchange; 'verbena explain "
			"--all' there lists its QPs.");
		return "peer-qpn-unknown";
	}
}

static const char *by_address(const struct vb_explain_in *in, const struct vb_qp_view *v,
			      struct vb_explanation *out)
{
	const struct vb_peer_facts *p = in->peer;
	struct vb_word to = vb_word_peer(&v->attr.path);

	if (p && p->route_errno) {
		vb_line(&out->what, "This host has no way to %s now: %s.", to.s,
			strerror(p->route_errno));
		vb_line(&out->advice, "Look at 'ip route get %s' and at the interface.", to.s);
		return "no-route";
	}
	if (p && p->neighbour == VB_NEIGHBOUR_SILENT) {
		vb_line(&out->what,
			"The address does not resolve: nobody on the link answers for %s (%s).",
			to.s, vb_gid_is_ipv4(&v->attr.path.dgid) ? "ARP" : "neighbour discovery");
		vb_line(&out->advice,
			"That host is down, unplugged or has another address: try 'ping %s'.",
			to.s);
		return "unresolved";
	}
	if (p && p->answered_qpn && !has_answered(in, v)) {
		vb_line(&out->what,
			"The adapter at %s answers QP 0x%06x, but not this one: QPN 0x%06x is "
			"unknown there, not in RTR yet, or expects another sender or PSN.",
			to.s, p->answered_qpn, v->attr.dest_qpn);
		vb_line(&out->advice,
			"Run 'verbena explain 0x%06x' on that host; compare the QPN, GID and PSN "
			"that the programs exchange.",
			v->attr.dest_qpn);
		return "peer-qpn-unknown";
	}
	return NULL;
}

/* Possible causes when nothing is known: packets are lost, or the QP there does not take them. */
static void list_causes(const struct vb_explain_in *in, const struct vb_qp_view *v,
			struct vb_explanation *out)
{
	if (has_answered(in, v))
		vb_line_more(&out->what,
			     "packets get lost on the way, or the program there is stopped, has "
			     "ended or has destroyed its QP. It did answer before.");
	else
		vb_line_more(&out->what,
			     "packets get lost on the way (a firewall?), or an adapter runs there "
			     "and QP 0x%06x is unknown to it, not in RTR yet, or expects another "
			     "sender or PSN. It has never answered.",
			     v->attr.dest_qpn);
}

static const char *tell_unknown(const struct vb_explain_in *in, const struct vb_qp_view *v,
				struct vb_explanation *out)
{
	enum vb_far far = in->peer ? in->peer->far : VB_FAR_UNASKED;
	struct vb_word to = vb_word_peer(&v->attr.path);

	vb_line(&out->what, "%s",
		in->peer && in->peer->neighbour == VB_NEIGHBOUR_RESOLVED ? "The address resolves. "
									 : "");
	if (far == VB_FAR_SILENT) {
		vb_line_more(&out->what,
			     "No ICMP message came either, and a question to the adapter there "
			     "gets no answer: packets are dropped on the way (a firewall?), or "
			     "that host is down.%s",
			     has_answered(in, v) ? " It did answer before." : "");
	} else {
		vb_line_more(&out->what, "%s",
			     far == VB_FAR_FOREIGN
				 ? "An adapter that is no Verbena answers questions there: "
				 : "No ICMP message came either: ");
		list_causes(in, v, out);
	}
	vb_line(&out->advice,
		"On %s: 'verbena explain 0x%06x' says how the other QP stands, 'verbena counters' "
		"counts packets for unknown QPs (rx_qpn_miss) and dropped ones (rx_dropped).",
		to.s, v->attr.dest_qpn);
	if (!has_answered(in, v))
		vb_line(&out->advice, "See what arrives with 'verbena capture' on both ends; let "
				      "UDP port 4791 through firewalls.");
	return far == VB_FAR_SILENT ? "dropped" : "no-answer";
}

const char *vb_explain_silence(const struct vb_explain_in *in, const struct vb_qp_view *v,
			       struct vb_explanation *out)
{
	const char *why = NULL;

	if (in->faults && in->faults[0])
		vb_line(&out->what,
			"Fault rules are set for its packets: '%.200s', %" PRIu64 " hits so far.",
			in->faults, in->fault_hits);
	/* A stopped peer answers nothing, whatever the rules take away. */
	if (in->faults && in->faults[0] && in->fault_hits && !(in->peer && in->peer->is_stopped)) {
		vb_line(&out->advice, "'verbena fault clear' takes the rules away; those of "
				      "'verbena run --fault' hold until then.");
		return "fault";
	}
	if (in->way_cnt)
		why = vb_explain_way(in, false, out);
	if (!why && in->peer && in->peer->there != VB_PEER_UNKNOWN)
		why = peer_here(v, in->peer, out);
	if (in->way_cnt) {
		/* A QP that is as it should be does not say why nothing comes. */
		if (!why || strcmp(why, "lost") == 0) {
			const char *late = vb_explain_way(in, true, out);

			why = late ? late : why;
		}
		return why ? why : vb_explain_way_unknown(in, out);
	}
	if (!why && in->peer && in->peer->far == VB_FAR_ANSWERED)
		why = peer_far(v, in->peer, out);
	if (!why && error_is_ours(in))
		why = tell_refused(in, v, out);
	if (!why)
		why = by_address(in, v, out);
	return why ? why : tell_unknown(in, v, out);
}

const char *vb_explain_unanswered(const struct vb_peer_facts *p, const struct vb_gid *to,
				  struct vb_explanation *out)
{
	struct vb_qp_view v = {.attr.path.dgid = *to};
	struct vb_explain_in in = {.peer = p};
	const char *why = p->send_errno ? tell_refused(&in, &v, out) : by_address(&in, &v, out);

	if (why)
		return why;
	vb_line(&out->what,
		"%sNothing comes back from %s, and no ICMP message says why: packets are dropped "
		"on the way (a firewall?), or that host is down or its adapter stopped.",
		p->neighbour == VB_NEIGHBOUR_RESOLVED ? "The address resolves. " : "",
		vb_word_gid(to).s);
	vb_line(&out->advice, "Let UDP port 4791 through firewalls, both ways; see what arrives "
			      "with 'verbena capture' on both ends.");
	return "dropped";
}
