/* SPDX-License-Identifier: BSD-2-Clause */
/* Posted requests leave: those before a bad one, and those of a QP that is destroyed next. */
#include "verbs/priv.h"
#include "verbs_env.h"

/* Packets that @qp has sent and nobody has acknowledged. */
static uint32_t unacked(struct ibv_qp *qp)
{
	uint32_t cnt;

	assert_true(vb_ibv_enter(vb_ibv_ctx(ctx)));
	cnt = vb_qp_unacked(((struct vb_ibv_qp *)qp)->core);
	vb_ibv_leave(vb_ibv_ctx(ctx));
	return cnt;
}

/* ibv_post_send(3): a bad request ends the call, those before it are posted as if it were not
 * there. The peer's QP is not ready, so that no answer hides that the request has left. */
static void post_send__before_a_bad_one_is_sent(void **state)
{
	struct verbs_end a, b;
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct ibv_sge sge = sge_at(0, 8);
	struct ibv_send_wr wr[2] = {{.next = &wr[1], .sg_list = &sge, .num_sge = 1},
				    {.sg_list = &sge, .num_sge = 1000}},
			   *bad = NULL;

	(void)state;
	ends_new(&a, &b);
	assert_int_equal(ibv_modify_qp(b.qp, &reset, IBV_QP_STATE), 0);
	wr[0].opcode = wr[1].opcode = IBV_WR_SEND;
	assert_int_equal(unacked(a.qp), 0);
	assert_int_equal(ibv_post_send(a.qp, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	assert_int_equal(unacked(a.qp), 1);
	ends_free(&a, &b);
}

/* The second request waits for company when it is posted. It leaves before its QP goes, and the
 * peer receives both; rounds, because the wait is short and a slow machine may let it pass. */
static void destroy_qp__sends_what_was_posted(void **state)
{
	static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC};

	(void)state;
	for (unsigned round = 0; round < 16; round++) {
		enum ibv_qp_type type = types[round % 2];
		struct verbs_end a = end_new(type, NULL, NULL), b = end_new(type, NULL, NULL);

		verbs_connect(a.qp, b.qp, false);
		for (uint64_t i = 0; i < 2; i++)
			post_recv(b.qp, i, 4096 * (i + 1), 64);
		for (uint64_t i = 0; i < 2; i++)
			post_send(a.qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, 0, 16);
		assert_int_equal(ibv_destroy_qp(a.qp), 0);
		for (uint64_t i = 0; i < 2; i++) {
			struct ibv_wc wc = wc_next(b.cq);

			assert_int_equal(wc.status, IBV_WC_SUCCESS);
			assert_int_equal(wc.wr_id, i);
		}
		assert_int_equal(ibv_destroy_cq(a.cq), 0);
		end_free(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(post_send__before_a_bad_one_is_sent),
	    VERBS_TEST(destroy_qp__sends_what_was_posted),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
