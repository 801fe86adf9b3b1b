/* SPDX-License-Identifier: BSD-2-Clause */
/* DC: what is shown of an initiator with streams, and what a target takes over from a request.
 * docs/dc.md */
#include "dc_env.h"

#include "core/view.h"

#define CONN 0x50001u

/* The view of an initiator with streams is that of the stream with the oldest work. */
static void view__of_the_oldest_stream(void **state)
{
	struct vb_qp *dct, *dci;
	struct vb_qp_view view;

	(void)state;
	setup();
	dct = target(KEY);
	dci = initiator((struct vb_dc_init){.log_streams = 2, .log_errored = 2});
	for (uint16_t stream = 3; stream >= 1; stream--)
		assert_int_equal(
		    post(dci, 10u + stream, VB_WR_RDMA_WRITE, 8, vb_qp_number(dct), KEY, stream),
		    0);
	assert_true(vb_hca_view(env.hca, vb_qp_number(dci), env.now, &view));
	assert_int_equal(view.posted, 1);
	assert_int_equal(view.wr_id, 13);
	assert_int_equal(view.qpn, vb_qp_number(dci));
	env_close(&env);
}

/* InfiniBand: a target answers with the service level of the request. docs/dc.md */
static void target__answers_by_the_level_of_the_request(void **state)
{
	struct vb_path path = {.port = 1, .slid = 7, .dlid = 9, .sl = 5};
	struct vb_hdr h = {
	    .opcode = VB_OPCODE_DC_CONNECT,
	    .pkey = VB_PKEY_DEFAULT,
	    .psn = vb_psn(100),
	    .dc = {
		.sqpn = 0x77, .connection = CONN, .key = KEY, .first = vb_psn(100), .full = true}};
	uint8_t pkt[VB_HDR_MAX] = {0};
	struct vb_rx rx = {.pkt = pkt, .path = &path};
	struct vb_qp *dct;

	(void)state;
	setup();
	dct = target(KEY);
	assert_int_not_equal(dct->attr.path.sl, path.sl);
	h.dqpn = vb_qp_number(dct);
	rx.len = rx.avail = (uint32_t)vb_hdr_emit(&h, pkt);
	assert_int_equal(vb_hca_handle_packet(env.hca, &rx, env.now), VB_VERDICT_OK);
	assert_int_equal(env_tx(&env, &b), 1);
	assert_int_equal(b.pkt[0].path->sl, 5);
	assert_int_equal(b.pkt[0].path->dlid, 7);
	assert_int_equal(b.pkt[0].path->slid, 9);
	env_close(&env);
}

/* So is a sample. */
static void sample__of_the_oldest_stream(void **state)
{
	struct vb_qp *dct, *dci;
	struct vb_qp_sample is;

	(void)state;
	setup();
	dct = target(KEY);
	dci = initiator((struct vb_dc_init){.log_streams = 2, .log_errored = 2});
	for (int round = 0; round < 2; round++) {
		for (uint16_t stream = 3; stream >= 2; stream--)
			assert_int_equal(post(dci, stream, VB_WR_RDMA_WRITE, stream == 3 ? 3000 : 8,
					      vb_qp_number(dct), KEY, stream),
					 0);
		if (!round)
			env_loop(&env);
	}
	assert_true(vb_hca_sample(env.hca, vb_qp_number(dci), env.now, &is));
	assert_int_equal(is.psn_una, 3); /* of stream 3; of stream 2 it is 1 */
	assert_int_equal(is.qpn, vb_qp_number(dci));
	env_close(&env);
}

/* A view of an initiator names the target that it is connected to. */
static void view__of_the_target(void **state)
{
	const struct vb_path to = env_path(1);
	struct vb_qp *dct, *dci;
	struct vb_qp_view view;

	(void)state;
	setup();
	dct = target(KEY);
	dci = initiator((struct vb_dc_init){0});
	assert_int_equal(post(dci, 1, VB_WR_RDMA_WRITE, 8, vb_qp_number(dct), KEY, 0), 0);
	env_loop(&env);
	assert_true(vb_hca_view(env.hca, vb_qp_number(dci), env.now, &view));
	assert_int_equal(view.attr.dest_qpn, vb_qp_number(dct));
	assert_true(vb_gid_eq(&view.attr.path.dgid, &to.dgid));
	env_close(&env);
}

static uint32_t changes, qpns;

static void note_change(void *ctx, const struct vb_trace_event *ev)
{
	(void)ctx;
	changes++;
	qpns |= ev->qpn;
}

/* A trace has each change of an initiator's state once, however many channels it has; and that of
 * each context of a target, by the target's number. docs/dc.md */
static void trace__of_states(void **state)
{
	struct vb_qp *dct, *dci;

	(void)state;
	env_config(&env);
	env.cfg.trace =
	    (struct vb_trace){.mask = UINT64_C(1) << VB_TRACE_QP_STATE, .emit = note_change};
	env_open(&env, 64);
	assert_int_equal(vb_srq_create(env.pd, 4, 1, 0, NULL, &srq), 0);
	changes = qpns = 0;
	dci = initiator((struct vb_dc_init){.log_streams = 2, .log_errored = 2});
	assert_int_equal(changes, 3);
	assert_int_equal(qpns, vb_qp_number(dci));
	dct = target(KEY);
	assert_int_equal(changes, 5);
	qpns = 0;
	assert_int_equal(post(dci, 1, VB_WR_RDMA_WRITE, 8, vb_qp_number(dct), KEY, 0), 0);
	env_loop(&env);
	assert_int_equal(changes, 6);
	assert_int_equal(qpns, vb_qp_number(dct));
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(view__of_the_oldest_stream),
	    cmocka_unit_test(target__answers_by_the_level_of_the_request),
	    cmocka_unit_test(sample__of_the_oldest_stream),
	    cmocka_unit_test(view__of_the_target),
	    cmocka_unit_test(trace__of_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
