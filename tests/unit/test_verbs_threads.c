/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many threads on the same objects, as the manual pages allow: posting to one QP, one SRQ, polling
 * one CQ or each its own. Every request completes once. Races are for the thread sanitizer.
 */
#include "verbs/priv.h"
#include "verbs_env.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define PAIRS 3
#define POSTERS 3   /* of each pair */
#define MESSAGES 60 /* of each poster */
#define TOTAL (PAIRS * POSTERS * MESSAGES)
#define POLLERS 3

static struct ibv_qp *from[PAIRS], *to[PAIRS];
static struct ibv_cq *cqs[2 * PAIRS]; /* sending, receiving; all the same when shared */
static struct ibv_srq *srq;
static bool in_batches; /* of two, and each receiver has a CQ of its own */
static _Atomic uint32_t sent[TOTAL], received[TOTAL], completed, failures;

#define CHECK(cond) atomic_fetch_add(&failures, !(cond))

static void to_work(uint32_t threads, void *(*const run[])(void *), const uintptr_t *arg)
{
	pthread_t thread[64];

	assert_true(threads <= 64);
	for (uint32_t i = 0; i < threads; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, run[i], (void *)arg[i]), 0);
	for (uint32_t i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
}

/* Poster number @arg: a full queue is waited for. */
static void *post_sends(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg;
	struct ibv_qp *qp = from[me / POSTERS];
	struct ibv_sge sge = sge_at(0, 16);
	struct ibv_send_wr *bad;
	int err;

	for (uint32_t i = 0; i < MESSAGES; i++) {
		struct ibv_send_wr wr = {.wr_id = me * MESSAGES + i,
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_SEND_WITH_IMM,
					 .imm_data = htonl(me * MESSAGES + i),
					 .send_flags = IBV_SEND_SIGNALED};

		while ((err = ibv_post_send(qp, &wr, &bad)) == ENOMEM)
			sched_yield();
		CHECK(err == 0);
	}
	return NULL;
}

/* By batches of two, which nothing comes between. */
static void *post_batches(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg, i = 0;
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(from[me / POSTERS]);

	while (i < MESSAGES) {
		ibv_wr_start(ex);
		for (uint32_t k = 0; k < 2; k++) {
			ex->wr_id = me * MESSAGES + i + k;
			ex->wr_flags = IBV_SEND_SIGNALED;
			ibv_wr_send_imm(ex, htonl(me * MESSAGES + i + k));
			ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)buf, 16);
		}

		int err = ibv_wr_complete(ex);

		CHECK(err == 0 || err == ENOMEM);
		i += err ? 0 : 2;
		if (err)
			sched_yield();
	}
	return NULL;
}

static void *post_receives(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg;
	struct ibv_sge sge = sge_at(4096 + me * 64, 64);
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	for (uint32_t i = 0; i < MESSAGES; i++) {
		int err;

		while ((err = srq ? ibv_post_srq_recv(srq, &wr, &bad)
				  : ibv_post_recv(to[me / POSTERS], &wr, &bad)) == ENOMEM)
			sched_yield();
		CHECK(err == 0);
	}
	return NULL;
}

/* @next: the request that must come next, being the second of a batch; 0: any. */
static void take(const struct ibv_wc *wc, uint64_t *next)
{
	bool is_recv = wc->status == IBV_WC_SUCCESS && wc->opcode & IBV_WC_RECV;
	uint64_t id = is_recv ? ntohl(wc->imm_data) : wc->wr_id;

	CHECK(wc->status == IBV_WC_SUCCESS);
	if (in_batches && is_recv) {
		CHECK(*next == 0 || id == *next);
		*next = id % 2 == 0 ? id + 1 : 0;
	}
	if (id < TOTAL)
		atomic_fetch_add(is_recv ? &received[id] : &sent[id], 1);
	else
		CHECK(false);
	atomic_fetch_add(&completed, 1);
}

/* Polls until all of this process is there. */
static void *poll_cq(void *arg)
{
	struct ibv_cq *cq = cqs[(uintptr_t)arg];
	struct ibv_wc wc[8];
	uint64_t next = 0;

	while (completed < 2 * TOTAL && failures == 0 && patience_left()) {
		int n = ibv_poll_cq(cq, 8, wc);

		CHECK(n >= 0);
		for (int i = 0; i < n; i++)
			take(&wc[i], &next);
		if (n == 0)
			sched_yield();
	}
	return NULL;
}

static struct ibv_qp *qp_on(struct ibv_cq *cq, struct ibv_srq *with)
{
	struct ibv_qp_init_attr_ex init = {.send_cq = cq,
					   .recv_cq = cq,
					   .srq = with,
					   .cap = {8, 8, 1, 1, 0},
					   .qp_type = IBV_QPT_RC,
					   .comp_mask = IBV_QP_INIT_ATTR_PD |
							IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					   .pd = pd,
					   .send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_IMM};

	return ibv_create_qp_ex(ctx, &init);
}

static void run_all(bool shared_cq, bool shared_rq, void *(*posts)(void *))
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 16, .max_sge = 1}};
	uint32_t pollers = shared_cq ? POLLERS : 2 * PAIRS, n = 0;
	void *(*run[64])(void *);
	uintptr_t arg[64];

	srq = shared_rq ? ibv_create_srq(pd, &init) : NULL;
	completed = failures = 0;
	in_batches = posts == post_batches;
	(void)patience_left(); /* which begins with the first call */
	memset(sent, 0, sizeof sent);
	memset(received, 0, sizeof received);
	for (int i = 0; i < 2 * PAIRS; i++)
		cqs[i] = shared_cq && i ? cqs[0] : ibv_create_cq(ctx, 4 * TOTAL, NULL, NULL, 0);
	for (int i = 0; i < PAIRS; i++) {
		from[i] = qp_on(cqs[2 * i], NULL);
		to[i] = qp_on(cqs[2 * i + 1], srq);
		assert_non_null(from[i]);
		assert_non_null(to[i]);
		verbs_connect(from[i], to[i], false);
	}
	for (uint32_t i = 0; i < PAIRS * POSTERS; i++) {
		run[n] = posts, arg[n++] = i;
		run[n] = post_receives, arg[n++] = i;
	}
	for (uint32_t i = 0; i < pollers; i++)
		run[n] = poll_cq, arg[n++] = i;
	to_work(n, run, arg);
	assert_int_equal(failures, 0);
	for (int i = 0; i < TOTAL; i++) {
		assert_int_equal(sent[i], 1);
		assert_int_equal(received[i], 1);
	}
	for (int i = 0; i < PAIRS; i++) {
		assert_int_equal(ibv_destroy_qp(from[i]), 0);
		assert_int_equal(ibv_destroy_qp(to[i]), 0);
	}
	for (int i = 0; i < (shared_cq ? 1 : 2 * PAIRS); i++)
		assert_int_equal(ibv_destroy_cq(cqs[i]), 0);
	assert_true(!srq || ibv_destroy_srq(srq) == 0);
}

static void threads__one_cq(void **state)
{
	(void)state;
	run_all(true, false, post_sends);
}

static void threads__a_cq_each(void **state)
{
	(void)state;
	run_all(false, false, post_sends);
}

static void threads__one_srq(void **state)
{
	(void)state;
	run_all(true, true, post_sends);
}

static void threads__batches_of_one_qp(void **state)
{
	(void)state;
	run_all(false, false, post_batches);
}

static _Atomic bool is_over;

/* Queries a QP until it is over: a path is there in the states that have one, and in no other. */
static void *query(void *arg)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	while (!is_over) {
		CHECK(ibv_query_qp(arg, &a, IBV_QP_STATE | IBV_QP_AV, &init) == 0);
		CHECK(a.ah_attr.is_global == (a.qp_state >= IBV_QPS_RTR));
	}
	return NULL;
}

static void threads__query_beside_modify(void **state)
{
	struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	pthread_t thread[2];

	(void)state;
	failures = 0;
	is_over = false;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, query, e.qp), 0);
	for (int i = 0; i < 100; i++) {
		to_init(e.qp);
		to_rts(e.qp, e.qp->qp_num, false);
		assert_int_equal(ibv_modify_qp(e.qp, &reset, IBV_QP_STATE), 0);
	}
	is_over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(failures, 0);
	end_free(&e);
}

/* Whether another thread could start to poll. */
static bool is_free(struct ibv_cq_ex *ex)
{
	struct vb_ibv_cq *cq = (struct vb_ibv_cq *)ex;

	if (pthread_mutex_trylock(&cq->poll_mutex))
		return false;
	pthread_mutex_unlock(&cq->poll_mutex);
	return true;
}

/* A thread has the CQ from a successful start to its end, unless the program promised to use one
 * thread alone. ibv_create_cq_ex(3) */
static void start_poll__is_one_threads(void **state)
{
	struct ibv_poll_cq_attr none = {0}, wrong = {.comp_mask = 1};
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};

	(void)state;
	for (int single = 0; single < 2; single++) {
		struct ibv_cq_init_attr_ex attr = {
		    .cqe = 8,
		    .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		    .flags = single ? IBV_CREATE_CQ_ATTR_SINGLE_THREADED : 0};
		struct ibv_cq_ex *ex = ibv_create_cq_ex(ctx, &attr);
		struct ibv_cq *cq = ibv_cq_ex_to_cq(ex);
		struct ibv_qp_init_attr init = {
		    .send_cq = cq, .recv_cq = cq, .cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
		struct ibv_qp *qp = ibv_create_qp(pd, &init);

		assert_int_equal(ibv_start_poll(ex, &none), ENOENT);
		assert_true(is_free(ex));
		assert_int_equal(ibv_start_poll(ex, &wrong), EINVAL);
		assert_true(is_free(ex));
		to_init(qp);
		for (uint64_t i = 0; i < 3; i++)
			post_recv(qp, i + 7, 0, 8);
		assert_int_equal(ibv_modify_qp(qp, &err, IBV_QP_STATE), 0);
		for (uint64_t i = 0; i < 2; i++) {
			assert_int_equal(ibv_start_poll(ex, &none), 0);
			assert_int_equal(is_free(ex), single);
			assert_int_equal(ex->wr_id, i ? 9 : 7);
			assert_int_equal(ex->status, IBV_WC_WR_FLUSH_ERR);
			assert_int_equal(ibv_next_poll(ex), i ? ENOENT : 0);
			assert_int_equal(ex->wr_id, i ? 9 : 8);
			assert_int_equal(is_free(ex), single);
			ibv_end_poll(ex);
			assert_true(is_free(ex));
		}
		assert_int_equal(ibv_destroy_qp(qp), 0);
		assert_int_equal(ibv_destroy_cq(cq), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(threads__one_cq),
	    VERBS_TEST(threads__a_cq_each),
	    VERBS_TEST(threads__one_srq),
	    VERBS_TEST(threads__batches_of_one_qp),
	    VERBS_TEST(threads__query_beside_modify),
	    VERBS_TEST(start_poll__is_one_threads),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
