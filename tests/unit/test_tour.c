/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One WRITE of one packet from ibv_post_send() to ibv_poll_cq(), for docs/tour.md: run by a
 * debugger, it shows which functions are passed, and in which order (tests/structure/tour.py).
 */
#include "verbs_env.h"

#define FROM 0u
#define TO 4096u
#define LEN 1000u

/* Here the debugger begins and ends to look. */
void tour_begins(void);
void tour_ends(void);

__attribute__((noinline)) void tour_begins(void)
{
	__asm__ volatile("");
}

__attribute__((noinline)) void tour_ends(void)
{
	__asm__ volatile("");
}

static void rc__one_write(void **state)
{
	struct verbs_end a = end_new(IBV_QPT_RC, NULL, NULL);
	struct verbs_end b = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_sge sge = {(uintptr_t)buf + FROM, LEN, mr->lkey};
	struct ibv_send_wr wr = {
	    .wr_id = 7,
	    .opcode = IBV_WR_RDMA_WRITE,
	    .send_flags = IBV_SEND_SIGNALED,
	    .sg_list = &sge,
	    .num_sge = 1,
	    .wr.rdma = {(uintptr_t)buf + TO, mr->rkey},
	};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int cnt;

	(void)state;
	verbs_connect(a.qp, b.qp, false);
	for (uint32_t i = 0; i < LEN; i++)
		buf[FROM + i] = (uint8_t)(i * 7 + 1);
	tour_begins();
	assert_int_equal(ibv_post_send(a.qp, &wr, &bad), 0);
	do {
		cnt = ibv_poll_cq(a.cq, 1, &wc);
	} while (cnt == 0);
	tour_ends();
	assert_int_equal(cnt, 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, 7);
	assert_memory_equal(buf + TO, buf + FROM, LEN);
	end_free(&a);
	end_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(rc__one_write, verbs_open, verbs_close),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
