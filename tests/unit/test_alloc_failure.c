/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory runs out at every place where the core asks for some, one after the other: the call says
 * ENOMEM, has changed nothing and lost nothing, and succeeds when it is made again.
 */
#include "core_env.h"

#define MANY 100 /* more than a table's first size */

static struct env env;
static struct vb_srq *srq;
static struct vb_mr *mr[MANY];
static struct vb_mw *mw;
static struct vb_qp *qp[MANY], *dc[2];
static struct vb_pd *pd;
static struct vb_cq *cq;

static struct vb_qp_init qp_init(enum vb_qp_type type)
{
	return (struct vb_qp_init){.type = type,
				   .send_cq = cq,
				   .recv_cq = cq,
				   .srq = type == VB_QPT_RC ? srq : NULL,
				   .cap = {.max_send_wr = 4, .max_recv_wr = 4}};
}

static int make_pd(int i)
{
	(void)i;
	return vb_pd_create(env.hca, &pd);
}

static int make_cq(int i)
{
	(void)i;
	return vb_cq_create(env.hca, 16, NULL, &cq);
}

static int resize_cq(int i)
{
	(void)i;
	return vb_cq_resize(cq, 32);
}

static int make_srq(int i)
{
	(void)i;
	return vb_srq_create(pd, 8, 2, 0, NULL, &srq);
}

static int resize_srq(int i)
{
	(void)i;
	return vb_srq_resize(srq, 20);
}

static int make_mr(int i)
{
	struct vb_mr_attr a = {.iova = ENV_IOVA, .length = 8, .access = ENV_ACCESS};

	return vb_mr_create(pd, &a, &mr[i]);
}

static int make_mw(int i)
{
	(void)i;
	return vb_mw_create(pd, 1, &mw);
}

static int make_qp(int i)
{
	static const enum vb_qp_type types[] = {VB_QPT_RC, VB_QPT_UC, VB_QPT_UD};
	struct vb_qp_init init = qp_init(types[i % 3]);

	return vb_qp_create(pd, &init, &qp[i]);
}

/* The two ends of DC, each with memory of its own. */
static int make_dc(int i)
{
	struct vb_qp_init init = qp_init(i ? VB_QPT_DCT : VB_QPT_DCI);

	if (i) {
		init.srq = srq;
		init.cap = (struct vb_qp_cap){0};
	} else {
		init.recv_cq = NULL;
		init.cap.max_recv_wr = 0;
		init.dc.log_streams = 2;
	}
	return vb_qp_create(pd, &init, &dc[i]);
}

static struct vb_qp_attr attr;

/* QP 0 is RC: its steps allocate the peer and the resources. */
static int modify(int to)
{
	return env_modify(&env, qp[0], &attr, (enum vb_qp_state)to);
}

static int modify_in_sqd(int i)
{
	attr.max_dest_rd_atomic = 9;
	attr.path = env_path(7);
	(void)i;
	return vb_qp_modify(qp[0], &attr, VB_QP_AV | VB_QP_MAX_DEST_RD_ATOMIC, 0);
}

static const struct {
	const char *name;
	int (*call)(int i);
	int first, last;
} steps[] = {
    {"pd", make_pd, 0, 0},
    {"cq", make_cq, 0, 0},
    {"cq resize", resize_cq, 0, 0},
    {"srq", make_srq, 0, 0},
    {"srq resize", resize_srq, 0, 0},
    {"mr", make_mr, 0, MANY - 1},
    {"mw", make_mw, 0, 0},
    {"qp", make_qp, 0, MANY - 1},
    {"dc", make_dc, 0, 1},
    {"modify", modify, VB_QPS_INIT, VB_QPS_SQD},
    {"modify in SQD", modify_in_sqd, 0, 0},
};

/* The state that the failed call might have changed. */
struct state {
	uint32_t blocks, pds, cqs, srqs, mrs, mws, qps, channels, pd_refs, cq_refs, srq_refs;
	struct vb_qp_attr qp0;
};

static struct state state_now(void)
{
	struct state s = {
	    /* The table in which peers are found may stay grown. */
	    .blocks = env.blocks - (env.hca->peer_cap != 0),
	    .pds = env.hca->pd_cnt,
	    .cqs = env.hca->cq_cnt,
	    .srqs = env.hca->srq_cnt,
	    .mrs = env.hca->keys.cnt[VB_KEY_MR],
	    .mws = env.hca->keys.cnt[VB_KEY_MW],
	    .qps = env.hca->qp_cnt,
	    .channels = env.hca->channel_cnt,
	    .pd_refs = pd ? pd->refs : 0,
	    .cq_refs = cq ? cq->refs : 0,
	    .srq_refs = srq ? srq->refs : 0,
	};

	if (qp[0])
		vb_qp_query(qp[0], &s.qp0);
	return s;
}

/* Everything, with allocation number @n failing. True: there were that many. */
static bool run(uint32_t n)
{
	bool failed = false;

	env_config(&env);
	pd = NULL, cq = NULL, srq = NULL, qp[0] = NULL;
	env_open(&env, 16);
	attr = env_attr(2, 0x21);
	env.calls = 0;
	env.fail_at = n;
	for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) {
		for (int i = steps[s].first; i <= steps[s].last; i++) {
			struct state before = state_now(), after;
			int rc = steps[s].call(i);

			if (rc == 0)
				continue;
			after = state_now();
			if (rc != -ENOMEM || failed || env.calls < n)
				fail_msg("%s %d: %d", steps[s].name, i, rc);
			assert_memory_equal(&before, &after, sizeof before);
			failed = true;
			if (steps[s].call(i))
				fail_msg("%s %d fails again", steps[s].name, i);
		}
	}
	env_close(&env); /* counts the blocks */
	return failed;
}

static void allocation__fails_at_each_place(void **state)
{
	uint32_t n = 1;

	(void)state;
	while (run(n))
		n++;
	assert_true(n > 400); /* places there were */
}

static void hca_create__fails(void **state)
{
	struct vb_hca *h;

	(void)state;
	env_config(&env);
	env.cfg.alloc_ctx = &env;
	env.fail_at = 1;
	assert_int_equal(vb_hca_create(&h, &env.cfg, 0), -ENOMEM);
	assert_int_equal(env.blocks, 0);
}

/* Configurations that make no sense are refused before anything is allocated. */
static void hca_create__refused(void **state)
{
	struct vb_hca *h;

	(void)state;
	for (int i = 0; i < 8; i++) {
		env_config(&env);
		env.cfg.alloc_ctx = &env;
		switch (i) {
		case 0:
			env.cfg.alloc = NULL;
			break;
		case 1:
			env.cfg.free = NULL;
			break;
		case 2:
			env.cfg.qpn_stride = 0;
			break;
		case 3:
			env.cfg.port_cnt = VB_HCA_PORTS_MAX + 1;
			break;
		case 4:
			env.cfg.limits.sge = 0;
			break;
		case 5:
			env.cfg.limits.sge = 33;
			break;
		case 6:
			env.cfg.limits.rd_atomic = 129;
			break;
		default:
			env.cfg.limits.mr = 1u << 24;
		}
		assert_int_equal(vb_hca_create(&h, &env.cfg, 0), -EINVAL);
		assert_int_equal(env.calls, 0);
	}
}

/* env.cfg is refused, and made anew. */
static void expect_refused(void)
{
	struct vb_hca *h;

	env.cfg.alloc_ctx = &env;
	assert_int_equal(vb_hca_create(&h, &env.cfg, 0), -EINVAL);
	assert_int_equal(env.calls, 0);
	env_config(&env);
}

/* So are limits that no table has room for, and settings of recovery and congestion control that
 * could not be set later. */
static void hca_create__refused_by_its_settings(void **state)
{
	struct vb_hca *h;

	(void)state;
	env_config(&env);
	env.cfg.limits.ooo_pkts = VB_OOO_PKTS_MAX + 1;
	expect_refused();
	env.cfg.limits.inline_bytes = 4097;
	expect_refused();
	env.cfg.limits.mw = (1u << 24) - env.cfg.limits.mr;
	expect_refused();
	env.cfg.recovery.ack_dscp = VB_DSCP_MAX + 1;
	expect_refused();
	env.cfg.cc.dcqcn_hw_en = true; /* without a clock */
	expect_refused();
	env.cfg.limits.ooo_pkts = VB_OOO_PKTS_MAX;
	env.cfg.limits.inline_bytes = 4096;
	env.cfg.limits.mw = (1u << 24) - env.cfg.limits.mr - 1;
	env.cfg.alloc_ctx = &env;
	assert_int_equal(vb_hca_create(&h, &env.cfg, 0), 0);
	vb_hca_destroy(h);
	assert_int_equal(env.blocks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(allocation__fails_at_each_place),
	    cmocka_unit_test(hca_create__fails),
	    cmocka_unit_test(hca_create__refused),
	    cmocka_unit_test(hca_create__refused_by_its_settings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
