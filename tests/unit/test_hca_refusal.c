/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why verbs are refused, as the core notes it: a verb that fails for lack of memory alone has no
 * reason, not even one that was left from a verb before it; one that a receive is refused for names
 * what it has and what it may have. core/refusal.h
 */
#include "core/xrc/xrc.h"
#include "core_env.h"

static struct env env;
static struct vb_srq *srq;
static struct vb_qp *qp;

static int create_pd(void)
{
	struct vb_pd *pd;

	return vb_pd_create(env.hca, &pd);
}

static int create_cq(void)
{
	struct vb_cq *cq;

	return vb_cq_create(env.hca, 8, NULL, &cq);
}

static int resize_cq(void)
{
	return vb_cq_resize(env.cq, 8);
}

static int create_srq(void)
{
	struct vb_srq *other;

	return vb_srq_create(env.pd, 8, 1, 0, NULL, &other);
}

static int resize_srq(void)
{
	return vb_srq_resize(srq, 32);
}

static int create_mr(void)
{
	struct vb_mr_attr a = {.length = 8, .host = env.mem};
	struct vb_mr *mr;

	return vb_mr_create(env.pd, &a, &mr);
}

static int create_mw(void)
{
	struct vb_mw *mw;

	return vb_mw_create(env.pd, 2, &mw);
}

static int create_xrcd(void)
{
	struct vb_xrcd *x;

	return vb_xrcd_create(env.hca, &x);
}

static int create_qp(void)
{
	struct vb_qp_init init = {
	    .type = VB_QPT_RC, .send_cq = env.cq, .recv_cq = env.cq, .cap.max_send_wr = 1};
	struct vb_qp *other;

	return vb_qp_create(env.pd, &init, &other);
}

static int modify_qp(void)
{
	struct vb_qp_attr a = env_attr(2, 0x21);

	return env_modify(&env, qp, &a, VB_QPS_RTR);
}

/* Whichever allocation of a verb fails first, nothing is noted. */
static void refusal__of_a_verb_before(void **state)
{
	static int (*const verb[])(void) = {create_pd,  create_cq, resize_cq, create_srq,
					    resize_srq, create_mr, create_mw, create_xrcd,
					    create_qp,  modify_qp};
	struct vb_qp_attr a = env_attr(2, 0x21);
	struct vb_mw *mw;

	(void)state;
	env_config(&env);
	env_open(&env, 4);
	assert_int_equal(vb_srq_create(env.pd, 8, 1, 0, NULL, &srq), 0);
	qp = env_qp(&env, VB_QPT_RC, NULL);
	env_up(&env, qp, &a, VB_QPS_INIT);
	for (size_t i = 0; i < sizeof verb / sizeof verb[0]; i++) {
		assert_int_equal(vb_mw_create(env.pd, 9, &mw), -EINVAL);
		env.fail_at = env.calls + 1;
		assert_int_equal(verb[i](), -ENOMEM);
		assert_int_equal(vb_hca_take_refusal(env.hca).rule, VB_REFUSAL_NONE);
	}
	env_close(&env);
}

/* A receive with more SGEs than its queue takes, be it a QP's or an SRQ's. */
static void refusal__of_a_receive(void **state)
{
	struct vb_refusal r;

	(void)state;
	env_config(&env);
	env_open(&env, 4);
	assert_int_equal(vb_srq_create(env.pd, 8, 1, 0, NULL, &srq), 0);
	for (int shared = 0; shared < 2; shared++) {
		struct vb_recv_wr wr = {.sge_cnt = 1};
		uint32_t max;

		qp = env_rts(&env, VB_QPT_RC, 2, 0x21);
		max = shared ? srq->rq.sge_max : qp->rq.sge_max;
		wr.sge_cnt = max + 1;
		assert_int_equal(shared ? vb_srq_post(srq, &wr) : vb_qp_post_recv(qp, &wr, 0),
				 -EINVAL);
		r = vb_hca_take_refusal(env.hca);
		assert_int_equal(r.rule, VB_REFUSAL_WR_SGES);
		assert_int_equal(r.value, max + 1);
		assert_int_equal(r.bound, max);
	}
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(refusal__of_a_verb_before),
	    cmocka_unit_test(refusal__of_a_receive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
