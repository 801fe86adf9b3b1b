/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues in a program's memory that get another size: their entries keep their order and
 * can be read from the new memory, and a change that fails says why, or nothing. ibv_resize_cq(3)
 */
#include "raw_env.h"

#include <string.h>
#include <sys/resource.h>

/* A queue of @cqe entries, and a QP in ERR, which completes each receive at once. */
static struct raw_end flushing_end(int cqe)
{
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
	struct raw_end r = {.end.cq = ibv_create_cq(ctx, cqe, NULL, NULL, 0)};
	struct ibv_qp_init_attr init = {.send_cq = r.end.cq,
					.recv_cq = r.end.cq,
					.cap = {.max_send_wr = 1, .max_recv_wr = 8},
					.qp_type = IBV_QPT_RC};

	assert_non_null(r.end.cq);
	r.end.qp = ibv_create_qp(pd, &init);
	assert_non_null(r.end.qp);
	to_init(r.end.qp);
	assert_int_equal(ibv_modify_qp(r.end.qp, &error, IBV_QP_STATE), 0);
	return r;
}

/* Entries of a queue that has gone round are those of one that has not, in the new memory. */
static void resize__of_a_queue_that_went_round(void **state)
{
	static const int sizes[] = {64, 8, 16};

	(void)state;
	for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
		struct raw_end r = flushing_end(16);
		uint16_t i = 0;

		for (; i < 20; i++) {
			post_recv(r.end.qp, i, 0, 8);
			assert_int_equal(wc_next(r.end.cq).wr_id, i);
		}
		for (; i < 25; i++)
			post_recv(r.end.qp, i, 0, 8);
		assert_int_equal(ibv_resize_cq(r.end.cq, sizes[k]), 0);
		assert_int_equal(r.end.cq->cqe, sizes[k]);
		raw_show(&r);
		assert_int_equal(r.cq.cqe_cnt, sizes[k]);
		for (uint16_t n = 20; n < 25; n++)
			(void)raw_next_of(&r, MLX5_CQE_RESP_ERR, n);
		assert_false(raw_has_entry(&r));
		post_recv(r.end.qp, i, 0, 8);
		(void)raw_next_of(&r, MLX5_CQE_RESP_ERR, i);
		end_free(&r.end);
	}
}

/* The core has refused something before, and nobody has asked why. */
static void leave_a_refusal(void)
{
	struct vb_ibv_context *c = vb_ibv_ctx(ctx);
	struct vb_mw *mw;

	assert_true(vb_ibv_enter(c));
	assert_int_equal(vb_mw_create(((struct vb_ibv_pd *)pd)->core, 9, &mw), -EINVAL);
	vb_ibv_leave(c);
}

/* A size that the core refuses is told of by its words. */
static void resize__refused_in_words(void **state)
{
	struct raw_end r = flushing_end(16);
	const char *why;

	(void)state;
	for (uint64_t i = 0; i < 5; i++)
		post_recv(r.end.qp, i, 0, 8);
	leave_a_refusal();
	assert_int_equal(ibv_resize_cq(r.end.cq, 4), EINVAL);
	why = verbena_refusal();
	assert_non_null(why);
	assert_non_null(strstr(why, "cqe 4 has no room for the 5 completions"));
	assert_int_equal(ibv_resize_cq(r.end.cq, 1 << 30), EINVAL);
	why = verbena_refusal();
	assert_non_null(why);
	assert_non_null(strstr(why, "cqe 1073741824 is not from 1 to"));
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(wc_next(r.end.cq).wr_id, i);
	end_free(&r.end);
}

/* Where there is no memory the queue stays as it is, and no reason is told, least of all that of a
 * verb before it. */
static void resize__without_memory(void **state)
{
	struct raw_end r = flushing_end(16);
	const int wide = 1 << 17; /* entries that no memory there is has room for */
	struct rlimit lim, none;

	(void)state;
	for (uint64_t i = 0; i < 5; i++)
		post_recv(r.end.qp, i, 0, 8);
	leave_a_refusal();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &lim), 0);
	none = (struct rlimit){0, lim.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	errno = 0;
	assert_int_equal(ibv_resize_cq(r.end.cq, wide), ENOMEM);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &lim), 0);
	assert_null(verbena_refusal());
	assert_int_equal(r.end.cq->cqe, 16);
	assert_int_equal(ibv_resize_cq(r.end.cq, wide), 0);
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(wc_next(r.end.cq).wr_id, i);
	end_free(&r.end);
}

/* The table that verbena explain --wqe reads goes on saying how far the adapter has read, also when
 * the addresses in it change with the CQ. */
static void resize__leaves_what_the_table_says(void **state)
{
	const struct vb_queue_entry *entry;
	struct verbs_end from, to;
	uint64_t was;

	(void)state;
	ends_new(&from, &to);
	for (size_t i = 0; i < 3; i++) {
		post_recv(to.qp, i, 8192, 64);
		post_send(from.qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, 0, 8);
		assert_int_equal(wc_next(from.cq).status, IBV_WC_SUCCESS);
		assert_int_equal(wc_next(to.cq).wr_id, i);
	}
	entry = table_entry(from.qp->qp_num);
	assert_non_null(entry);
	assert_int_equal(seen_of(entry, true), 3);
	was = entry->send_cq.entries;
	assert_int_equal(ibv_resize_cq(from.cq, 3000), 0);
	assert_int_not_equal(entry->send_cq.entries, was);
	assert_int_equal(seen_of(entry, true), 3);
	entry = table_entry(to.qp->qp_num);
	assert_int_equal(ibv_resize_cq(to.cq, 3000), 0);
	assert_int_equal(seen_of(entry, false), 3);
	ends_free(&from, &to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    RAW_TEST(resize__of_a_queue_that_went_round),
	    RAW_TEST(resize__refused_in_words),
	    RAW_TEST(resize__without_memory),
	    RAW_TEST(resize__leaves_what_the_table_says),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
