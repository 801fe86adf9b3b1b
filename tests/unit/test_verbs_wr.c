/* SPDX-License-Identifier: BSD-2-Clause */
/* Work requests by functions: data that stands in several places. ibv_wr_post(3) */
#include "verbs_env.h"

#include <string.h>

#define TO (512 << 10)
#define ROOM 64 /* bytes of inline data */

static struct verbs_end a, b;
static struct ibv_qp_ex *x;

/* A QP for the calls, connected to one that answers. */
static int open_pair(void **state)
{
	struct ibv_qp_init_attr_ex init = {
	    .cap = {.max_send_wr = 8, .max_send_sge = 3, .max_inline_data = ROOM},
	    .qp_type = IBV_QPT_RC,
	    .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	    .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
	};

	verbs_open(state);
	b = end_new(IBV_QPT_RC, NULL, NULL);
	a.cq = init.send_cq = init.recv_cq = ibv_create_cq(ctx, 8, NULL, NULL, 0);
	init.pd = pd;
	a.qp = ibv_create_qp_ex(ctx, &init);
	assert_non_null(a.qp);
	x = ibv_qp_to_qp_ex(a.qp);
	verbs_connect(a.qp, b.qp, false);
	for (int i = 0; i < 4096; i++)
		buf[i] = (uint8_t)(i * 7 + 1);
	return 0;
}

static int close_pair(void **state)
{
	ends_free(&a, &b);
	return verbs_close(state);
}

static void write_begin(void)
{
	ibv_wr_start(x);
	x->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(x, mr->rkey, (uintptr_t)buf + TO);
}

static struct ibv_data_buf data_at(size_t off, size_t len)
{
	return (struct ibv_data_buf){.addr = len ? buf + off : NULL, .length = len};
}

/* The bytes of a list follow each other, with nothing between them; the sum has a bound. */
static void set_inline_data_list__one_after_another(void **state)
{
	struct ibv_data_buf list[] = {data_at(0, 20), data_at(0, 0), data_at(1000, 13),
				      data_at(2000, ROOM - 33)};
	uint32_t given;

	(void)state;
	write_begin();
	ibv_wr_set_inline_data_list(x, 4, list);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
	assert_memory_equal(buf + TO, buf, 20);
	assert_memory_equal(buf + TO + 20, buf + 1000, 13);
	assert_memory_equal(buf + TO + 33, buf + 2000, ROOM - 33);
	assert_int_equal(buf[TO + ROOM], 0);

	/* One byte more than the QP was given: none of the parts is too long by itself. */
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	assert_int_equal(ibv_query_qp(a.qp, &attr, IBV_QP_CAP, &init), 0);
	given = init.cap.max_inline_data;
	assert_true(given >= ROOM && given < 1000);
	list[3].length = given - 33 + 1;
	write_begin();
	ibv_wr_set_inline_data_list(x, 4, list);
	assert_int_equal(ibv_wr_complete(x), EINVAL);
	/* The one that is too much is not even read. */
	list[3].addr = (void *)8;
	write_begin();
	ibv_wr_set_inline_data_list(x, 4, list);
	assert_int_equal(ibv_wr_complete(x), EINVAL);
}

/* So do the bytes of SGEs. */
static void set_sge_list__one_after_another(void **state)
{
	struct ibv_sge list[] = {sge_at(0, 20), sge_at(0, 0), sge_at(1000, 13)};

	(void)state;
	write_begin();
	ibv_wr_set_sge_list(x, 3, list);
	assert_int_equal(ibv_wr_complete(x), 0);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
	assert_memory_equal(buf + TO, buf, 20);
	assert_memory_equal(buf + TO + 20, buf + 1000, 13);
	assert_int_equal(buf[TO + 33], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(set_inline_data_list__one_after_another, open_pair,
					    close_pair),
	    cmocka_unit_test_setup_teardown(set_sge_list__one_after_another, open_pair, close_pair),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
