/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that rdma-core has since version 59: each is refused in the way that it reports errors, and
 * none looks at what it is given.
 */
#include "verbs/later.h"
#include "verbs_env.h"

#define assert_refused_null(call)                                                                  \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_null(call);                                                                 \
		assert_int_equal(errno, EOPNOTSUPP);                                               \
	} while (0)
#define assert_refused_fd(call)                                                                    \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_int_equal(call, -1);                                                        \
		assert_int_equal(errno, EOPNOTSUPP);                                               \
	} while (0)

/* DMA handles, regions with attributes, a descriptor of device memory, the speed of a port. */
static void handles__refused(void **state)
{
	uint64_t speed;

	(void)state;
	assert_refused_null(ibv_alloc_dmah(ctx, NULL));
	assert_int_equal(ibv_dealloc_dmah(NULL), EOPNOTSUPP);
	assert_refused_null(ibv_reg_mr_ex(pd, NULL));
	assert_refused_fd(ibv_dm_export_dmabuf_fd(NULL));
	assert_int_equal(ibv_query_port_speed(ctx, 1, &speed), EOPNOTSUPP);
}

static void buffers__refused(void **state)
{
	struct ibv_buf *made;

	(void)state;
	assert_refused_null(ibv_alloc_buf(pd, 4096, &made));
	assert_refused_null(ibv_reg_buf_mr(pd, NULL, NULL, 4096, 0));
	assert_refused_fd(ibv_export_buf_dmabuf_fd(NULL));
	ibv_free_buf(NULL);
}

static void completion_counters__refused(void **state)
{
	uint64_t value;

	(void)state;
	assert_int_equal(_ibv_query_comp_cntr_caps(ctx, NULL, 0), EOPNOTSUPP);
	assert_refused_null(ibv_create_comp_cntr(ctx, NULL));
	assert_int_equal(ibv_destroy_comp_cntr(NULL), EOPNOTSUPP);
	assert_int_equal(ibv_set_comp_cntr(NULL, 1), EOPNOTSUPP);
	assert_int_equal(ibv_set_err_comp_cntr(NULL, 1), EOPNOTSUPP);
	assert_int_equal(ibv_inc_comp_cntr(NULL, 1), EOPNOTSUPP);
	assert_int_equal(ibv_inc_err_comp_cntr(NULL, 1), EOPNOTSUPP);
	assert_int_equal(ibv_read_comp_cntr(NULL, &value), EOPNOTSUPP);
	assert_int_equal(ibv_read_err_comp_cntr(NULL, &value), EOPNOTSUPP);
	assert_int_equal(ibv_qp_attach_comp_cntr(NULL, NULL, NULL), EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(handles__refused),
	    cmocka_unit_test(buffers__refused),
	    cmocka_unit_test(completion_counters__refused),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, verbs_open, verbs_close);
}
