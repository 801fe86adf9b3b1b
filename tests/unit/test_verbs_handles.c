/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles: a call with an object of another context, or with the handle of another object, does not
 * find it, as in a kernel, which looks it up in a table of the context. docs/verbs.md
 */
#include "verbs_env.h"

#include <fcntl.h>

#define NOT_FOUND(call)                                                                            \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_int_equal(call, ENOENT);                                                    \
		assert_int_equal(errno, ENOENT);                                                   \
	} while (0)
#define NONE_FOUND(call)                                                                           \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_null(call);                                                                 \
		assert_int_equal(errno, ENOENT);                                                   \
	} while (0)

/* A kernel looks the handle up in the table of the context that the call is for. */
static void calls__look_at_handles(void **state)
{
	struct ibv_context *other = ibv_open_device(ctx->device);
	struct ibv_pd *p = ibv_alloc_pd(ctx), *far = ibv_alloc_pd(other);
	struct ibv_cq *far_cq = ibv_create_cq(other, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
	    .recv_cq = far_cq, .cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	struct ibv_mr *m = ibv_reg_mr(p, buf, 64, 0);
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	const union ibv_gid group = {.raw = {0xff, 0x0e, [15] = 7}};
	struct ibv_qp *qp;

	(void)state;
	struct ibv_cq *cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);

	init.send_cq = cq;
	NONE_FOUND(ibv_create_qp(p, &init));
	init.recv_cq = cq;
	NONE_FOUND(ibv_create_qp(far, &init));
	qp = ibv_create_qp(p, &init);
	p->context = other;
	NOT_FOUND(ibv_dealloc_pd(p));
	NONE_FOUND(ibv_reg_mr(p, buf, 64, 0));
	NONE_FOUND(ibv_alloc_mw(p, IBV_MW_TYPE_1));
	p->context = ctx;
	p->handle ^= 1u << 20;
	NOT_FOUND(ibv_dealloc_pd(p));
	NONE_FOUND(ibv_reg_mr(p, buf, 64, 0));
	p->handle ^= 1u << 20;
	qp->handle++;
	NOT_FOUND(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	NOT_FOUND(ibv_query_qp(qp, &attr, 0, &init));
	NOT_FOUND(ibv_attach_mcast(qp, &group, 0));
	NOT_FOUND(ibv_detach_mcast(qp, &group, 0));
	NOT_FOUND(ibv_destroy_qp(qp));
	qp->handle--;
	cq->context = other;
	NOT_FOUND(ibv_resize_cq(cq, 8));
	NOT_FOUND(ibv_destroy_cq(cq));
	cq->context = ctx;
	m->handle++;
	NOT_FOUND(ibv_dereg_mr(m));
	m->handle--;
	errno = 0;
	assert_int_equal(ibv_rereg_mr(m, IBV_REREG_MR_CHANGE_PD, far, NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, ENOENT);
	/* An object that is as it was is found, and a call that succeeds leaves errno alone. */
	errno = EXDEV;
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dereg_mr(m), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_destroy_cq(far_cq), 0);
	assert_int_equal(ibv_dealloc_pd(far), 0);
	m = ibv_reg_mr(p, buf, 64, IBV_ACCESS_LOCAL_WRITE);
	assert_int_equal(errno, EXDEV);
	assert_int_equal(ibv_dealloc_pd(p), EBUSY);
	assert_int_equal(errno, EBUSY); /* for perror() */
	assert_int_equal(ibv_dereg_mr(m), 0);
	assert_int_equal(ibv_dealloc_pd(p), 0);
	assert_int_equal(ibv_close_device(other), 0);
}

/* Shared receive queues, device memory, domains, and what names a PD. */
static void calls__look_at_all_handles(void **state)
{
	struct ibv_context *other = ibv_open_device(ctx->device);
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_srq_attr limit = {.srq_limit = 1};
	struct ibv_alloc_dm_attr dm_attr = {.length = 64};
	struct ibv_xrcd_init_attr xrcd_attr = {.comp_mask = IBV_XRCD_INIT_ATTR_FD |
							    IBV_XRCD_INIT_ATTR_OFLAGS,
					       .fd = -1,
					       .oflags = O_CREAT};
	struct ibv_ah_attr ah = {.is_global = 1,
				 .port_num = 1,
				 .grh = {.dgid = {.raw = {[10] = 0xff, 0xff, 127, 0, 0, 1}}}};
	struct ibv_cq_init_attr_ex cq_attr = {.cqe = 4};
	struct ibv_comp_channel *far = ibv_create_comp_channel(other);
	struct ibv_pd *p = ibv_alloc_pd(ctx);
	struct ibv_srq *srq = ibv_create_srq(p, &srq_init);
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &dm_attr);
	struct ibv_xrcd *xrcd = ibv_open_xrcd(ctx, &xrcd_attr);
	struct ibv_mr *m = ibv_reg_mr(p, buf, 64, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = {(uintptr_t)buf, 64, m->lkey};

	(void)state;
	assert_true(srq && dm && xrcd);
	srq->handle ^= 1u << 20;
	NOT_FOUND(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT));
	NOT_FOUND(ibv_query_srq(srq, &limit));
	NOT_FOUND(ibv_destroy_srq(srq));
	srq->handle ^= 1u << 20;
	dm->handle ^= 1u << 20;
	NONE_FOUND(ibv_reg_dm_mr(p, dm, 0, 64, IBV_ACCESS_ZERO_BASED));
	NOT_FOUND(ibv_free_dm(dm));
	dm->handle ^= 1u << 20;
	p->handle ^= 1u << 20;
	NONE_FOUND(ibv_create_ah(p, &ah));
	NONE_FOUND(ibv_create_srq(p, &srq_init));
	NONE_FOUND(ibv_reg_dm_mr(p, dm, 0, 64, IBV_ACCESS_ZERO_BASED));
	NOT_FOUND(ibv_advise_mr(p, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1));
	p->handle ^= 1u << 20;
	/* A channel of another context, and one that has gone. */
	cq_attr.channel = far;
	NONE_FOUND(ibv_create_cq(ctx, 4, NULL, far, 0));
	NONE_FOUND(ibv_create_cq_ex(ctx, &cq_attr));
	assert_int_equal(ibv_destroy_comp_channel(far), 0);
	NONE_FOUND(ibv_create_cq(other, 4, NULL, far, 0));
	xrcd->context = other;
	NOT_FOUND(ibv_close_xrcd(xrcd));
	xrcd->context = ctx;
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
	assert_int_equal(ibv_dereg_mr(m), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_dealloc_pd(p), 0);
	assert_int_equal(ibv_close_device(other), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(calls__look_at_handles),
	    VERBS_TEST(calls__look_at_all_handles),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
