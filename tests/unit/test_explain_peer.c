/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The facts known of the other QP, in the explanation of one's own. src/explain/peer.c, failure.c
 */
#include "cmocka_env.h"
#include "explain/explain.h"

#include <errno.h>

/* The explanation of a QP of the requester whose READ failed with @status. */
static struct vb_explanation explain_failed(enum vb_wc_status status, struct vb_denial denial)
{
	static struct vb_qp_history history;
	static struct vb_explanation why;
	const struct vb_qp_view view = {
	    .type = VB_QPT_RC, .state = VB_QPS_ERR, .posted = 1, .wr_opcode = VB_WR_RDMA_READ};
	const struct vb_peer_facts peer = {.denial = denial};
	struct vb_trace_event ev = {.time = VB_SEC, .id = VB_TRACE_FAILED, .arg = {status, 0x61}};
	struct vb_explain_in in = {
	    .now = 5 * VB_SEC, .view = &view, .history = &history, .peer = &peer};

	history = (struct vb_qp_history){.state = VB_QP_HISTORY_NONE};
	vb_qp_history_add(&history, &ev, &view);
	vb_explain(&in, &why);
	return why;
}

/* The responder's knowledge takes the place of a guess. */
static void explain__the_peer_says_why(void **state)
{
	const struct vb_denial none = {.check = VB_DENIAL_NONE};
	const struct vb_denial d = {.check = VB_DENIAL_QP_RIGHT,
				    .opcode = VB_OP_READ_REQUEST,
				    .access = VB_ACCESS_REMOTE_READ,
				    .key = 0x77,
				    .va = 0x1000,
				    .len = 8};
	struct vb_explanation why = explain_failed(VB_WC_REM_INV_REQ_ERR, none);

	(void)state;
	assert_non_null(strstr(why.what.text[0], "or more READs than it has room for"));
	assert_null(why.check);
	why = explain_failed(VB_WC_REM_INV_REQ_ERR, d);
	assert_non_null(strstr(why.what.text[0], "the peer refused it, 4.000 s ago."));
	assert_null(strstr(why.what.text[0], "or more READs than it has room for"));
	assert_string_equal(
	    why.what.text[3],
	    "The other QP says why. It was RDMA READ of 8 bytes at 0x1000 under R_Key "
	    "0x77: qp_access_flags of the QP lacks IBV_ACCESS_REMOTE_READ.");
	assert_int_equal(why.advice.cnt, 1);
	assert_non_null(strstr(why.advice.text[0], "IBV_QP_ACCESS_FLAGS"));
	assert_string_equal(why.check, "qp-right");
	/* A failure of one's own is none of the peer's. */
	why = explain_failed(VB_WC_LOC_PROT_ERR, d);
	assert_string_equal(why.cause, "local-protection");
	assert_null(why.check);
}

/* The explanation of QP 0x102 in RTS, which waits for QP 0x205 at 192.0.2.7. */
static struct vb_explanation explain_silent(enum vb_far far, struct vb_vendor_qp q, bool acked)
{
	static const uint8_t to[16] = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 7};
	static struct vb_explanation why;
	struct vb_qp_view view = {.type = VB_QPT_RC,
				  .state = VB_QPS_RTS,
				  .qpn = 0x102,
				  .psn_una = 7,
				  .is_acked_once = acked,
				  .attr = {.dest_qpn = 0x205}};
	const struct vb_peer_facts peer = {.far = far, .far_qp = q};
	struct vb_explain_in in = {.view = &view, .peer = &peer};

	memcpy(view.attr.path.dgid.b, to, sizeof to);
	memset(&why, 0, sizeof why);
	why.cause = vb_explain_silence(&in, &view, &why);
	return why;
}

static void expect_silent(struct vb_vendor_qp q, const char *cause, const char *words)
{
	struct vb_explanation why;

	if (q.standing != VB_VENDOR_UNCONNECTED && !q.is_qpn)
		q.is_qpn = 0x205;
	why = explain_silent(VB_FAR_ANSWERED, q, false);
	assert_string_equal(why.cause, cause);
	assert_string_equal(why.what.text[0], words);
	assert_uint_in_range(why.what.cnt, 1, 2);
	assert_true(why.advice.cnt > 0 || strcmp(cause, "lost") == 0);
}

/* Each word of the other adapter, as it is told here. */
static void silence__as_the_other_adapter_says(void **state)
{
	(void)state;
	expect_silent((struct vb_vendor_qp){.standing = VB_VENDOR_UNCONNECTED}, "peer-qpn-unknown",
		      "The adapter at 192.0.2.7 answers, and knows of no QP that is connected to "
		      "this one: QP 0x000205 is not there, or is another QP's peer.");
	expect_silent((struct vb_vendor_qp){.standing = VB_VENDOR_NOT_READY, .state = VB_QPS_INIT},
		      "peer-not-ready",
		      "QP 0x000205 there is in INIT: it does not receive before RTR.");
	expect_silent(
	    (struct vb_vendor_qp){.standing = VB_VENDOR_TARGET, .state = VB_QPS_RTR}, "lost",
	    "QP 0x000205 there is a target in RTR: what is sent, or its answers, get lost "
	    "on the way.");
	expect_silent((struct vb_vendor_qp){.standing = VB_VENDOR_CONNECTED, .state = VB_QPS_ERR},
		      "peer-error", "QP 0x000205 there is in the error state and answers nothing.");
	expect_silent((struct vb_vendor_qp){.standing = VB_VENDOR_CONNECTED,
					    .state = VB_QPS_RTS,
					    .rq_psn = 7},
		      "lost",
		      "QP 0x000205 there is in RTS and connected to this one: what is sent, or its "
		      "answers, get lost on the way.");
	expect_silent((struct vb_vendor_qp){.standing = VB_VENDOR_CONNECTED,
					    .state = VB_QPS_RTR,
					    .rq_psn = 8},
		      "wrong-psn", "QP 0x000205 there expects PSN 8, and this QP began with 7.");
	expect_silent((struct vb_vendor_qp){.standing = VB_VENDOR_CONNECTED,
					    .state = VB_QPS_RTS,
					    .is_qpn = 0x305},
		      "wrong-qpn",
		      "The QP there that is connected to this one is 0x000305, and this one sends "
		      "to 0x000205.");
	expect_silent((struct vb_vendor_qp){.standing = VB_VENDOR_CONNECTED,
					    .state = VB_QPS_RTS,
					    .stopped = 1},
		      "peer-stopped",
		      "The process that has QP 0x000205 there is stopped: it does not run, so it "
		      "does not answer.");
	expect_silent((struct vb_vendor_qp){.standing = VB_VENDOR_RESET, .age = 2 * VB_SEC},
		      "peer-destroyed",
		      "QP 0x000205 at 192.0.2.7 was connected to this one, and was destroyed or "
		      "reset 2.000 s ago.");
	expect_silent((struct vb_vendor_qp){.standing = VB_VENDOR_ENDED, .age = 3 * VB_SEC},
		      "peer-gone",
		      "The process that had QP 0x000205 at 192.0.2.7 ended 3.000 s ago.");
}

/* No answer at all, and one of an adapter that is no Verbena. */
static void silence__without_a_word(void **state)
{
	const struct vb_vendor_qp none = {.standing = VB_VENDOR_UNCONNECTED};
	struct vb_explanation why = explain_silent(VB_FAR_SILENT, none, false);

	(void)state;
	assert_string_equal(why.cause, "dropped");
	assert_string_equal(why.what.text[0],
			    "No ICMP message came either, and a question to the adapter there gets "
			    "no answer: packets are dropped on the way (a firewall?), or that host "
			    "is down.");
	why = explain_silent(VB_FAR_SILENT, none, true);
	assert_non_null(strstr(why.what.text[0], "is down. It did answer before."));
	why = explain_silent(VB_FAR_FOREIGN, none, false);
	assert_string_equal(why.cause, "no-answer");
	assert_non_null(strstr(why.what.text[0], "An adapter that is no Verbena answers questions "
						 "there: packets get lost on the way"));
	assert_non_null(strstr(why.what.text[0], "QP 0x000205 is unknown to it"));
	why = explain_silent(VB_FAR_UNASKED, none, true);
	assert_string_equal(why.cause, "no-answer");
	assert_non_null(strstr(why.what.text[0], "No ICMP message came either: packets"));
}

/* For any bytes that another host sends, there are words and nothing worse. */
static void silence__of_any_answer(void **state)
{
	(void)state;
	for (unsigned standing = 0; standing < 256; standing++) {
		for (unsigned s = 0; s < 256; s++) {
			struct vb_vendor_qp q = {.standing = (uint8_t)standing,
						 .state = (uint8_t)s,
						 .is_qpn = 0x205,
						 .age = UINT64_MAX};
			struct vb_explanation why = explain_silent(VB_FAR_ANSWERED, q, false);

			assert_non_null(why.cause);
			assert_true(why.what.cnt > 0);
		}
	}
}

/* The QP there is ready, and short packets alone come there and back. */
static void silence__of_long_packets(void **state)
{
	struct vb_qp_view view = {.type = VB_QPT_RC,
				  .state = VB_QPS_RTS,
				  .qpn = 0x102,
				  .psn_una = 7,
				  .attr = {.dest_qpn = 0x205, .path_mtu = VB_MTU_4096}};
	struct vb_peer_facts peer = {.far = VB_FAR_ANSWERED,
				     .far_qp = {.standing = VB_VENDOR_CONNECTED,
						.state = VB_QPS_RTS,
						.is_qpn = 0x205,
						.rq_psn = 7},
				     .far_drops_long = true};
	struct vb_explain_in in = {.view = &view, .peer = &peer};
	static struct vb_explanation why;

	(void)state;
	assert_string_equal(vb_explain_silence(&in, &view, &why), "network-mtu");
	assert_non_null(
	    strstr(why.what.text[0], "none in packets as long as the path MTU, 4096 bytes"));
	peer.far_drops_long = false;
	assert_string_equal(vb_explain_silence(&in, &view, &why), "lost");
}

/* An adapter that was asked, and gave no answer: the kernel's knowledge of that. */
static void unanswered__as_the_kernel_says(void **state)
{
	static const struct {
		struct vb_peer_facts peer;
		const char *cause, *words;
	} row[] = {
	    {{.send_errno = ECONNREFUSED, .send_err_cnt = 2},
	     "refused",
	     "The answer is that UDP port 4791 is unreachable at 192.0.2.7 (ICMP, 2 times): no "
	     "adapter runs at that address"},
	    {{.send_errno = EHOSTUNREACH, .send_err_cnt = 1}, "firewall", "rejects the packets"},
	    {{.send_errno = EMSGSIZE, .send_err_cnt = 1}, "send-error", "Message too long"},
	    {{.route_errno = ENETUNREACH}, "no-route", "This host has no way to 192.0.2.7 now"},
	    {{.neighbour = VB_NEIGHBOUR_SILENT}, "unresolved", "nobody on the link answers"},
	    {{.neighbour = VB_NEIGHBOUR_RESOLVED},
	     "dropped",
	     "The address resolves. Nothing comes back from 192.0.2.7"},
	    {{.neighbour = VB_NEIGHBOUR_UNKNOWN}, "dropped", "Nothing comes back from 192.0.2.7"},
	};
	static const struct vb_gid to = {.b = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 7}};
	static struct vb_explanation why;

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		memset(&why, 0, sizeof why);
		assert_string_equal(vb_explain_unanswered(&row[i].peer, &to, &why), row[i].cause);
		assert_non_null(strstr(why.what.text[0], row[i].words));
		assert_true(why.advice.cnt > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(explain__the_peer_says_why),
	    cmocka_unit_test(silence__as_the_other_adapter_says),
	    cmocka_unit_test(silence__without_a_word),
	    cmocka_unit_test(silence__of_any_answer),
	    cmocka_unit_test(silence__of_long_packets),
	    cmocka_unit_test(unanswered__as_the_kernel_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
