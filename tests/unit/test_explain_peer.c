/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of the other QP, in the explanation of one's own. src/explain/peer.c, failure.c
 */
#include "cmocka_env.h"
#include "explain/explain.h"

/* The explanation of a QP of the requester whose READ failed with @status. */
static struct vb_explanation explain_failed(enum vb_wc_status status, struct vb_denial denial)
{
	static struct vb_tale tale;
	static struct vb_explanation why;
	const struct vb_qp_view view = {
	    .type = VB_QPT_RC, .state = VB_QPS_ERR, .posted = 1, .wr_opcode = VB_WR_RDMA_READ};
	const struct vb_peer_facts peer = {.denial = denial};
	struct vb_trace_event ev = {.time = VB_SEC, .id = VB_TRACE_FAILED, .arg = {status, 0x61}};
	struct vb_explain_in in = {.now = 5 * VB_SEC, .view = &view, .tale = &tale, .peer = &peer};

	tale = (struct vb_tale){.state = VB_TALE_NONE};
	vb_tale_add(&tale, &ev, &view);
	vb_explain(&in, &why);
	return why;
}

/* What the responder knows takes the place of what could be guessed. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(explain__the_peer_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
