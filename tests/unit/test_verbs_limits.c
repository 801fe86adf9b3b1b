/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Limits as a program finds them: what ibv_query_device() says can be had, one more cannot. Numbers
 * of objects are tried where a process can well have so many; of regions and windows, with smaller
 * limits, in test_key.c.
 */
#include "core/obj/cq.h"
#include "verbs/priv.h"
#include "verbs/refuse.h"
#include "verbs_env.h"

static struct ibv_device_attr limit;

static int open_limits(void **state)
{
	verbs_open(state);
	return ibv_query_device(ctx, &limit);
}

/* Objects are made until there is no more; one less and there is room for one. */
static void assert_count(int max, void *(*make)(void), int (*destroy)(void *), int err)
{
	void **all = calloc((size_t)max + 1, sizeof *all);
	const char *why;
	int n = 0;

	assert_non_null(all);
	while (n <= max && (all[n] = make()))
		n++;
	assert_int_equal(n, max);
	assert_int_equal(errno, err);
	why = verbena_refusal();
	assert_true(why && strstr(why, "which is all that the device has"));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(destroy(all[n / 2]), 0);
		all[n / 2] = make();
		assert_non_null(all[n / 2]);
		assert_null(make());
	}
	while (n--)
		assert_int_equal(destroy(all[n]), 0);
	free(all);
}

static void *make_pd(void)
{
	return ibv_alloc_pd(ctx);
}

static int destroy_pd(void *p)
{
	return ibv_dealloc_pd(p);
}

static void pd__count(void **state)
{
	(void)state;
	/* The environment's region keeps its PD. */
	assert_count(limit.max_pd - 1, make_pd, destroy_pd, ENOMEM);
}

static void *make_cq(void)
{
	return ibv_create_cq(ctx, 1, NULL, NULL, 0);
}

static int destroy_cq(void *p)
{
	return ibv_destroy_cq(p);
}

static void cq__count(void **state)
{
	(void)state;
	assert_count(limit.max_cq, make_cq, destroy_cq, ENOMEM);
}

static void *make_srq(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 1, .max_sge = 1}};

	return ibv_create_srq(pd, &init);
}

static int destroy_srq(void *p)
{
	return ibv_destroy_srq(p);
}

static void srq__count(void **state)
{
	(void)state;
	assert_count(limit.max_srq, make_srq, destroy_srq, ENOMEM);
}

static struct ibv_cq *cq;

static struct ibv_qp *qp_with(struct ibv_qp_cap cap)
{
	struct ibv_qp_init_attr init = {
	    .send_cq = cq, .recv_cq = cq, .cap = cap, .qp_type = IBV_QPT_RC};

	return ibv_create_qp(pd, &init);
}

static void *make_qp(void)
{
	return qp_with((struct ibv_qp_cap){1, 1, 1, 1, 0});
}

static int destroy_qp(void *p)
{
	return ibv_destroy_qp(p);
}

static void qp__count(void **state)
{
	(void)state;
	cq = make_cq();
	assert_count(limit.max_qp, make_qp, destroy_qp, ENOMEM);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void qp__queues(void **state)
{
	const uint32_t wr = (uint32_t)limit.max_qp_wr, sge = (uint32_t)limit.max_sge;
	const struct ibv_qp_cap most = {wr, wr, sge, sge, 0};
	struct ibv_qp_cap more[] = {most, most, most, most};
	struct ibv_qp *qp;

	(void)state;
	cq = make_cq();
	qp = qp_with(most);
	assert_non_null(qp);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	more[0].max_send_wr++;
	more[1].max_recv_wr++;
	more[2].max_send_sge++;
	more[3].max_recv_sge++;
	for (int i = 0; i < 4; i++) {
		errno = 0;
		assert_null(qp_with(more[i]));
		assert_int_equal(errno, EINVAL);
	}
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void qp__rd_atomic(void **state)
{
	struct verbs_end a = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
				   .ah_attr = verbs_ah_attr(false),
				   .path_mtu = IBV_MTU_1024,
				   .dest_qp_num = a.qp->qp_num,
				   .max_dest_rd_atomic = (uint8_t)(limit.max_qp_rd_atom + 1)};
	const int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	const int rts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

	(void)state;
	to_init(a.qp);
	assert_int_equal(ibv_modify_qp(a.qp, &attr, rtr), EINVAL);
	attr.max_dest_rd_atomic = (uint8_t)limit.max_qp_rd_atom;
	assert_int_equal(ibv_modify_qp(a.qp, &attr, rtr), 0);
	attr.qp_state = IBV_QPS_RTS;
	attr.max_rd_atomic = (uint8_t)(limit.max_qp_init_rd_atom + 1);
	assert_int_equal(ibv_modify_qp(a.qp, &attr, rts), EINVAL);
	attr.max_rd_atomic = (uint8_t)limit.max_qp_init_rd_atom;
	assert_int_equal(ibv_modify_qp(a.qp, &attr, rts), 0);
	end_free(&a);
}

/* Requests of the most SGEs, as many as the queue has: one more is refused, and named. */
/* So many QPs are in one group, and one more is not. */
static void mcast__count(void **state)
{
	const union ibv_gid group = {
	    .raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3}};
	struct ibv_cq *mine = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
	    .send_cq = mine, .recv_cq = mine, .cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_UD};
	int max = limit.max_mcast_qp_attach, n = 0, err = 0;
	struct ibv_qp **qp = calloc((size_t)max + 1, sizeof *qp);

	(void)state;
	assert_non_null(qp);
	assert_int_equal(limit.max_total_mcast_qp_attach, max * limit.max_mcast_grp);
	for (; n <= max; n++) {
		qp[n] = ibv_create_qp(pd, &init);
		assert_non_null(qp[n]);
		to_init(qp[n]);
		err = ibv_attach_mcast(qp[n], &group, 0);
		assert_int_equal(err, n < max ? 0 : ENOMEM);
	}
	for (n = 0; n <= max; n++) {
		if (n < max)
			assert_int_equal(ibv_detach_mcast(qp[n], &group, 0), 0);
		assert_int_equal(ibv_destroy_qp(qp[n]), 0);
	}
	free(qp);
	assert_int_equal(ibv_destroy_cq(mine), 0);
}

static void post__queue_and_sges(void **state)
{
	enum { WRS = 8 };
	struct ibv_sge sge[64];
	struct ibv_recv_wr wr[WRS + 1] = {0}, *bad = NULL;
	struct ibv_qp *qp;

	(void)state;
	assert_true(limit.max_sge < 64);
	cq = make_cq();
	qp = qp_with((struct ibv_qp_cap){WRS, WRS, 1, (uint32_t)limit.max_sge, 0});
	assert_non_null(qp);
	to_init(qp);
	for (int i = 0; i < 64; i++)
		sge[i] = sge_at((size_t)i * 8, 8);
	for (int i = 0; i <= WRS; i++)
		wr[i] = (struct ibv_recv_wr){.next = i < WRS ? &wr[i + 1] : NULL,
					     .sg_list = sge,
					     .num_sge = limit.max_sge + (i == 1)};
	assert_int_equal(ibv_post_recv(qp, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	wr[1].num_sge--;
	assert_int_equal(ibv_post_recv(qp, &wr[1], &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[WRS]);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* The same of an SRQ, and of a send queue that does not move. */
static void post__srq_and_send_queue(void **state)
{
	enum { WRS = 8 };
	struct ibv_srq_init_attr init = {.attr = {.max_wr = WRS, .max_sge = 2}};
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct ibv_qp_attr sqd = {.qp_state = IBV_QPS_SQD};
	struct ibv_recv_wr recv[WRS + 1] = {0}, *bad_recv = NULL;
	struct ibv_send_wr send[WRS + 1] = {0}, *bad_send = NULL;
	struct ibv_sge sge[3] = {sge_at(0, 8), sge_at(8, 8), sge_at(16, 8)};
	struct ibv_qp *qp;

	(void)state;
	for (int i = 0; i <= WRS; i++) {
		recv[i].next = i < WRS ? &recv[i + 1] : NULL;
		send[i].next = i < WRS ? &send[i + 1] : NULL;
		recv[i].sg_list = send[i].sg_list = sge;
		recv[i].num_sge = send[i].num_sge = 2;
		send[i].opcode = IBV_WR_SEND;
	}
	recv[1].num_sge = send[1].num_sge = 3;
	assert_int_equal(ibv_post_srq_recv(srq, recv, &bad_recv), EINVAL);
	assert_ptr_equal(bad_recv, &recv[1]);
	recv[1].num_sge--;
	assert_int_equal(ibv_post_srq_recv(srq, &recv[1], &bad_recv), ENOMEM);
	assert_ptr_equal(bad_recv, &recv[WRS]);
	assert_int_equal(ibv_destroy_srq(srq), 0);

	cq = make_cq();
	qp = qp_with((struct ibv_qp_cap){WRS, 1, 2, 1, 0});
	assert_non_null(qp);
	to_init(qp);
	to_rts(qp, qp->qp_num, false);
	assert_int_equal(ibv_modify_qp(qp, &sqd, IBV_QP_STATE), 0);
	assert_int_equal(ibv_post_send(qp, send, &bad_send), EINVAL);
	assert_ptr_equal(bad_send, &send[1]);
	send[1].num_sge--;
	assert_int_equal(ibv_post_send(qp, &send[1], &bad_send), ENOMEM);
	assert_ptr_equal(bad_send, &send[WRS]);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void cq__entries(void **state)
{
	(void)state;
	errno = 0;
	assert_null(ibv_create_cq(ctx, limit.max_cqe + 1, NULL, NULL, 0));
	assert_int_equal(errno, EINVAL);
	cq = ibv_create_cq(ctx, limit.max_cqe, NULL, NULL, 0);
	assert_non_null(cq);
	assert_int_equal(cq->cqe, limit.max_cqe);
	assert_int_equal(ibv_resize_cq(cq, 1), 0);
	assert_true(cq->cqe >= 2); /* as adapters have it; ib_send_lat -e needs two */
	assert_int_equal(ibv_resize_cq(cq, limit.max_cqe + 1), EINVAL);
	assert_int_equal(ibv_resize_cq(cq, limit.max_cqe), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	cq = ibv_create_cq(ctx, 1, NULL, NULL, 0);
	assert_non_null(cq);
	assert_true(cq->cqe >= 2);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* The period is in microseconds, up to the longest that the device has; with none, or a count of 1
 * or 0, each completion has its event. ibv_modify_cq(3) */
static void modify_cq__count_and_period(void **state)
{
	static const struct {
		uint16_t cnt, period, cnt_kept;
	} rows[] = {{2, 1, 2}, {3, 1000, 3}, {UINT16_MAX, UINT16_MAX, UINT16_MAX},
		    {1, 9, 0}, {0, 9, 0},    {9, 0, 0}};
	struct ibv_cq *made = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	const struct vb_cq *core = ((const struct vb_ibv_cq *)made)->core;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct ibv_modify_cq_attr m = {.attr_mask = IBV_CQ_ATTR_MODERATE,
					       .moderate = {rows[i].cnt, rows[i].period}};

		assert_int_equal(ibv_modify_cq(made, &m), 0);
		assert_int_equal(core->mod_cnt, rows[i].cnt_kept);
		if (rows[i].cnt_kept)
			assert_int_equal(core->mod_period, rows[i].period * UINT64_C(1000));
	}
	assert_int_equal(ibv_destroy_cq(made), 0);
}

static void srq__entries(void **state)
{
	const uint32_t wr = (uint32_t)limit.max_srq_wr, sge = (uint32_t)limit.max_srq_sge;
	struct ibv_srq_init_attr init = {.attr = {.max_wr = wr, .max_sge = sge}};
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct ibv_srq_attr attr = {.max_wr = wr + 1};

	(void)state;
	assert_non_null(srq);
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	attr.srq_limit = wr + 1;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	attr.srq_limit = wr;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	for (uint32_t i = 0; i < 2; i++) {
		init.attr = (struct ibv_srq_attr){.max_wr = wr + i, .max_sge = sge + !i};
		errno = 0;
		assert_null(ibv_create_srq(pd, &init));
		assert_int_equal(errno, EINVAL);
	}
}

/* ibv_create_qp(3): the structure has what the QP was given, which need not be what was asked. */
static void qp__capabilities_given_are_shown(void **state)
{
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC, .cap = {4, 5, 0, 3, 16}}, got;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;

	(void)state;
	cq = make_cq();
	init.send_cq = init.recv_cq = cq;
	init.srq = ibv_create_srq(pd, &srq_init);
	assert_non_null(init.srq);
	qp = ibv_create_qp(pd, &init);
	assert_non_null(qp);
	/* It sends something, and receives by the SRQ alone. */
	assert_int_equal(init.cap.max_send_wr, 4);
	assert_int_equal(init.cap.max_send_sge, 1);
	assert_int_equal(init.cap.max_recv_wr, 0);
	assert_int_equal(init.cap.max_recv_sge, 0);
	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_CAP, &got), 0);
	assert_memory_equal(&init.cap, &attr.cap, sizeof attr.cap);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_srq(init.srq), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* ibv_modify_srq(3): a refused change of size and limit at once changes neither; the limit stays
 * armed.
 */
static void modify_srq__refused_keeps_the_limit(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 8, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct ibv_srq_attr armed = {.srq_limit = 3}, less = {.max_wr = 4, .srq_limit = 2}, got;
	struct ibv_sge sge = sge_at(0, 8);
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	(void)state;
	assert_non_null(srq);
	for (int i = 0; i < 6; i++) /* more than the smaller one has room for */
		assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	assert_int_equal(ibv_modify_srq(srq, &armed, IBV_SRQ_LIMIT), 0);
	assert_int_equal(ibv_modify_srq(srq, &less, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), EINVAL);
	assert_int_equal(ibv_query_srq(srq, &got), 0);
	assert_int_equal(got.srq_limit, 3);
	assert_int_equal(got.max_wr, 8);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(pd__count, open_limits, verbs_close),
	    cmocka_unit_test_setup_teardown(cq__count, open_limits, verbs_close),
	    cmocka_unit_test_setup_teardown(srq__count, open_limits, verbs_close),
	    cmocka_unit_test_setup_teardown(qp__count, open_limits, verbs_close),
	    cmocka_unit_test_setup_teardown(qp__queues, open_limits, verbs_close),
	    cmocka_unit_test_setup_teardown(qp__rd_atomic, open_limits, verbs_close),
	    cmocka_unit_test_setup_teardown(post__queue_and_sges, open_limits, verbs_close),
	    cmocka_unit_test_setup_teardown(post__srq_and_send_queue, open_limits, verbs_close),
	    cmocka_unit_test_setup_teardown(cq__entries, open_limits, verbs_close),
	    cmocka_unit_test_setup_teardown(mcast__count, open_limits, verbs_close),
	    cmocka_unit_test_setup_teardown(srq__entries, open_limits, verbs_close),
	    VERBS_TEST(qp__capabilities_given_are_shown),
	    VERBS_TEST(modify_cq__count_and_period),
	    VERBS_TEST(modify_srq__refused_keeps_the_limit),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
