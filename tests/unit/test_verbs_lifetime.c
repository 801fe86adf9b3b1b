/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lifetimes: an object that another one stands on cannot be destroyed before it. For each pair the
 * first is EBUSY while the second is there, unharmed by the attempt, and goes afterwards. IBA 11.2
 */
#include "descriptors.h"
#include "verbs/priv.h"
#include "verbs_env.h"

#include <fcntl.h>

/* The objects that the pairs are made on. */
static struct ibv_cq *cq;
static struct ibv_qp *binder; /* connected to itself */

static void make_binder(void)
{
	struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);

	cq = e.cq;
	binder = e.qp;
	to_init(binder);
	to_rts(binder, binder->qp_num, false);
}

static int open_lifetime(void **state)
{
	verbs_open(state);
	make_binder();
	return 0;
}

static struct {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *binder;
} first;

/* Another context takes the place of the first one, with what the pairs are made on. */
static void open_other(void)
{
	first.ctx = ctx;
	first.pd = pd;
	first.cq = cq;
	first.binder = binder;
	ctx = ibv_open_device(ctx->device);
	assert_non_null(ctx);
	pd = ibv_alloc_pd(ctx);
	assert_non_null(pd);
	make_binder();
}

static void close_other(void)
{
	assert_int_equal(ibv_close_device(ctx), 0);
	ctx = first.ctx;
	pd = first.pd;
	cq = first.cq;
	binder = first.binder;
}

static void *pd_new(void)
{
	return ibv_alloc_pd(ctx);
}

static int pd_free(void *p)
{
	return ibv_dealloc_pd(p);
}

static void *td_new(void)
{
	return ibv_alloc_td(ctx, &(struct ibv_td_init_attr){0});
}

static int td_free(void *p)
{
	return ibv_dealloc_td(p);
}

static void *cq_new(void)
{
	return ibv_create_cq(ctx, 4, NULL, NULL, 0);
}

static int cq_free(void *p)
{
	return ibv_destroy_cq(p);
}

static void *srq_new(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 1, .max_sge = 1}};

	return ibv_create_srq(pd, &init);
}

static int srq_free(void *p)
{
	return ibv_destroy_srq(p);
}

static void *channel_new(void)
{
	return ibv_create_comp_channel(ctx);
}

static int channel_free(void *p)
{
	return ibv_destroy_comp_channel(p);
}

static void *mr_new(void)
{
	return ibv_reg_mr(pd, buf, 64, ALL_ACCESS);
}

static int mr_free(void *p)
{
	return ibv_dereg_mr(p);
}

static void *dm_new(void)
{
	return ibv_alloc_dm(ctx, &(struct ibv_alloc_dm_attr){.length = 64});
}

static int dm_free(void *p)
{
	return ibv_free_dm(p);
}

static void *xrcd_new(void)
{
	struct ibv_xrcd_init_attr init = {.comp_mask =
					      IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					  .fd = -1,
					  .oflags = O_CREAT};

	return ibv_open_xrcd(ctx, &init);
}

static int xrcd_free(void *p)
{
	return ibv_close_xrcd(p);
}

static struct ibv_qp *qp_with(struct ibv_pd *in, struct ibv_cq *send, struct ibv_cq *recv,
			      struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {.send_cq = send,
					.recv_cq = recv,
					.srq = srq,
					.cap = {1, 1, 1, 1, 0},
					.qp_type = IBV_QPT_RC};

	return ibv_create_qp(in, &init);
}

static void *qp_of_pd(void *p)
{
	return qp_with(p, cq, cq, NULL);
}

static void *qp_sending_to(void *p)
{
	return qp_with(pd, p, cq, NULL);
}

static void *qp_receiving_to(void *p)
{
	return qp_with(pd, cq, p, NULL);
}

static void *qp_of_srq(void *p)
{
	return qp_with(pd, cq, cq, p);
}

static int qp_free(void *p)
{
	return ibv_destroy_qp(p);
}

static void *mr_of_pd(void *p)
{
	return ibv_reg_mr(p, buf, 64, ALL_ACCESS);
}

static void *mr_of_dm(void *p)
{
	return ibv_reg_dm_mr(pd, p, 0, 64, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
}

static void *null_mr_of_pd(void *p)
{
	return ibv_alloc_null_mr(p);
}

static void *mw_of_pd(void *p)
{
	return ibv_alloc_mw(p, IBV_MW_TYPE_2);
}

static void *mw_of_mr(void *p)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {.send_flags = IBV_SEND_SIGNALED,
				   .bind_info = {p, (uintptr_t)buf, 8, IBV_ACCESS_REMOTE_READ}};

	assert_int_equal(ibv_bind_mw(binder, mw, &bind), 0);
	assert_int_equal(wc_next(cq).status, IBV_WC_SUCCESS);
	return mw;
}

static int mw_free(void *p)
{
	return ibv_dealloc_mw(p);
}

static void *srq_of_pd(void *p)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 1, .max_sge = 1}};

	return ibv_create_srq(p, &init);
}

static void *xrc_srq_with(struct ibv_pd *in, struct ibv_xrcd *xrcd, struct ibv_cq *to)
{
	struct ibv_srq_init_attr_ex init = {.attr = {.max_wr = 1, .max_sge = 1},
					    .comp_mask =
						IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
						IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
					    .srq_type = IBV_SRQT_XRC,
					    .pd = in,
					    .xrcd = xrcd,
					    .cq = to};

	return ibv_create_srq_ex(ctx, &init);
}

static void *srq_of_xrcd(void *p)
{
	return xrc_srq_with(pd, p, cq);
}

static void *target_of_xrcd(void *p)
{
	struct ibv_qp_init_attr_ex init = {
	    .qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = p};

	return ibv_create_qp_ex(ctx, &init);
}

static void *ah_of_pd(void *p)
{
	struct ibv_ah_attr attr = verbs_ah_attr(false);

	return ibv_create_ah(p, &attr);
}

static int ah_free(void *p)
{
	return ibv_destroy_ah(p);
}

static void *cq_of_channel(void *p)
{
	return ibv_create_cq(ctx, 4, NULL, p, 0);
}

static void *domain_of_pd(void *p)
{
	return ibv_alloc_parent_domain(ctx, &(struct ibv_parent_domain_init_attr){.pd = p});
}

static void *domain_of_td(void *p)
{
	return ibv_alloc_parent_domain(ctx,
				       &(struct ibv_parent_domain_init_attr){.pd = pd, .td = p});
}

static void *parent_domain_new(void)
{
	return domain_of_pd(pd);
}

static const struct {
	const char *pair;
	void *(*below_new)(void);
	int (*below_free)(void *);
	void *(*above_new)(void *below);
	int (*above_free)(void *);
} pairs[] = {
    {"PD, QP", pd_new, pd_free, qp_of_pd, qp_free},
    {"PD, MR", pd_new, pd_free, mr_of_pd, mr_free},
    {"PD, null MR", pd_new, pd_free, null_mr_of_pd, mr_free},
    {"PD, MW", pd_new, pd_free, mw_of_pd, mw_free},
    {"PD, SRQ", pd_new, pd_free, srq_of_pd, srq_free},
    {"PD, AH", pd_new, pd_free, ah_of_pd, ah_free},
    {"PD, parent domain", pd_new, pd_free, domain_of_pd, pd_free},
    {"TD, parent domain", td_new, td_free, domain_of_td, pd_free},
    {"parent domain, QP", parent_domain_new, pd_free, qp_of_pd, qp_free},
    {"parent domain, MR", parent_domain_new, pd_free, mr_of_pd, mr_free},
    {"parent domain, SRQ", parent_domain_new, pd_free, srq_of_pd, srq_free},
    {"parent domain, AH", parent_domain_new, pd_free, ah_of_pd, ah_free},
    {"send CQ, QP", cq_new, cq_free, qp_sending_to, qp_free},
    {"receive CQ, QP", cq_new, cq_free, qp_receiving_to, qp_free},
    {"channel, CQ", channel_new, channel_free, cq_of_channel, cq_free},
    {"SRQ, QP", srq_new, srq_free, qp_of_srq, qp_free},
    {"MR, bound MW", mr_new, mr_free, mw_of_mr, mw_free},
    {"DM, MR", dm_new, dm_free, mr_of_dm, mr_free},
    {"XRCD, SRQ", xrcd_new, xrcd_free, srq_of_xrcd, srq_free},
    {"XRCD, target QP", xrcd_new, xrcd_free, target_of_xrcd, qp_free},
};

static void destroy__busy_while_used(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		void *below = pairs[i].below_new(), *above[2];

		print_message("%s\n", pairs[i].pair);
		assert_non_null(below);
		/* Two of them: the first that goes does not free the way. */
		for (int k = 0; k < 2; k++) {
			above[k] = pairs[i].above_new(below);
			assert_non_null(above[k]);
		}
		for (int k = 0; k < 2; k++) {
			assert_int_equal(pairs[i].below_free(below), EBUSY);
			assert_int_equal(pairs[i].above_free(above[k]), 0);
		}
		assert_int_equal(pairs[i].below_free(below), 0);
	}
}

static void xrc_srq__keeps_pd_and_cq(void **state)
{
	struct ibv_xrcd *xrcd = xrcd_new();
	struct ibv_pd *own_pd = pd_new();
	struct ibv_cq *own_cq = cq_new();
	struct ibv_srq *srq = xrc_srq_with(own_pd, xrcd, own_cq);

	(void)state;
	assert_non_null(srq);
	assert_int_equal(ibv_dealloc_pd(own_pd), EBUSY);
	assert_int_equal(ibv_destroy_cq(own_cq), EBUSY);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_dealloc_pd(own_pd), 0);
	assert_int_equal(ibv_destroy_cq(own_cq), 0);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
}

/* Handles of what has gone name nothing, also when something else has taken its place. */
static void handles__of_what_is_gone(void **state)
{
	struct ibv_alloc_dm_attr attr = {.length = 64};
	struct ibv_pd *gone = pd_new();
	struct ibv_mr *region = mr_new();
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &attr);
	const uint32_t pd_handle = gone->handle, mr_handle = region->handle, dm_handle = dm->handle;
	const uint32_t lkey = region->lkey;
	struct ibv_sge sge = {(uintptr_t)buf, 8, lkey};
	struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad;

	(void)state;
	assert_int_equal(ibv_dealloc_pd(gone), 0);
	assert_int_equal(ibv_dereg_mr(region), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
	assert_null(ibv_import_pd(ctx, pd_handle));
	assert_int_equal(errno, ENOENT);
	assert_null(ibv_import_mr(pd, mr_handle));
	assert_int_equal(errno, ENOENT);
	assert_null(ibv_import_dm(ctx, dm_handle));
	assert_int_equal(errno, ENOENT);
	/* The next region has another key. */
	region = mr_new();
	assert_int_not_equal(region->lkey, lkey);
	assert_int_equal(ibv_post_recv(binder, &recv, &bad), 0);
	post_send(binder, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, 0, 8);
	for (int i = 0; i < 2; i++)
		assert_int_not_equal(wc_next(cq).status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dereg_mr(region), 0);
}

/* The calls themselves: those of <infiniband/verbs.h> that are inline look into the object first.
 */
static int td_free_call(void *p)
{
	return verbs_get_ctx(ctx)->dealloc_td(p);
}

static int mw_free_call(void *p)
{
	return ctx->ops.dealloc_mw(p);
}

static int dm_free_call(void *p)
{
	return verbs_get_ctx(ctx)->free_dm(p);
}

static int xrcd_free_call(void *p)
{
	return verbs_get_ctx(ctx)->close_xrcd(p);
}

static void *mw_new(void)
{
	return mw_of_pd(pd);
}

static void *ah_new(void)
{
	return ah_of_pd(pd);
}

static void *qp_new(void)
{
	return qp_of_pd(pd);
}

static const struct {
	const char *name;
	void *(*new)(void);
	int (*free)(void *);
} kinds[] = {
    {"PD", pd_new, pd_free},      {"parent domain", parent_domain_new, pd_free},
    {"TD", td_new, td_free_call}, {"MR", mr_new, mr_free},
    {"MW", mw_new, mw_free_call}, {"DM", dm_new, dm_free_call},
    {"AH", ah_new, ah_free},      {"channel", channel_new, channel_free},
    {"CQ", cq_new, cq_free},      {"SRQ", srq_new, srq_free},
    {"QP", qp_new, qp_free},      {"XRCD", xrcd_new, xrcd_free_call},
};

/* A pointer to a destroyed object, to something else or to nothing is told without a look behind
 * it, as a driver of the kernel tells a handle. */
static void destroy__what_is_not_there(void **state)
{
	const size_t cnt = sizeof kinds / sizeof kinds[0];
	static uint64_t nothing[128];

	(void)state;
	for (size_t i = 0; i < cnt; i++) {
		void *p = kinds[i].new();

		print_message("%s\n", kinds[i].name);
		assert_non_null(p);
		for (size_t k = 0; k < cnt; k++) {
			if (kinds[k].free != kinds[i].free)
				assert_int_equal(kinds[k].free(p), ENOENT);
		}
		assert_int_equal(kinds[i].free(p), 0);
		assert_int_equal(kinds[i].free(p), ENOENT);
		assert_int_equal(kinds[i].free(nothing), ENOENT);
		assert_int_equal(kinds[i].free(NULL), ENOENT);
	}
}

/* More objects than the set of them begins with, gone in another order than they came. */
static void destroy__each_of_many(void **state)
{
	enum { CNT = 3000 };
	static void *p[CNT];

	(void)state;
	for (uint32_t i = 0; i < CNT; i++) {
		p[i] = i % 2 ? ah_new() : mr_new();
		assert_non_null(p[i]);
	}
	for (uint32_t i = 0; i < CNT; i++) {
		uint32_t k = i * 377 % CNT;

		assert_int_equal(k % 2 ? mr_free(p[k]) : ah_free(p[k]), ENOENT);
		assert_int_equal(k % 2 ? ah_free(p[k]) : mr_free(p[k]), 0);
	}
	for (uint32_t i = 0; i < CNT; i++)
		assert_int_equal(i % 2 ? ah_free(p[i]) : mr_free(p[i]), ENOENT);
}

/* A context that closes gives its device memory back, which is all there is of it. */
static void close_device__gives_device_memory_back(void **state)
{
	struct ibv_device_attr_ex has;
	struct ibv_alloc_dm_attr all = {0};
	struct ibv_context *other;
	struct ibv_dm *dm;

	(void)state;
	assert_int_equal(ibv_query_device_ex(ctx, NULL, &has), 0);
	all.length = has.max_dm_size;
	for (int i = 0; i < 2; i++) {
		other = ibv_open_device(ctx->device);
		assert_non_null(other);
		assert_non_null(ibv_alloc_dm(other, &all));
		assert_null(ibv_alloc_dm(ctx, &all));
		assert_int_equal(errno, ENOMEM);
		assert_int_equal(ibv_close_device(other), 0);
	}
	dm = ibv_alloc_dm(ctx, &all);
	assert_non_null(dm);
	assert_int_equal(ibv_free_dm(dm), 0);
}

/* ... and the descriptors of what the program has left in it. */
static void close_device__leaves_no_descriptors(void **state)
{
	unsigned before = 0;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct ibv_context *other = ibv_open_device(ctx->device);

		assert_non_null(other);
		assert_non_null(ibv_create_comp_channel(other));
		assert_int_equal(ibv_close_device(other), 0);
		if (i == 0)
			before = descriptors_of(getpid());
	}
	assert_int_equal(descriptors_of(getpid()), before);
}

/* An object that went with its device is one no more. (Address handles are the program's to
 * destroy.) ibv_close_device(3) */
static void close_device__what_went_is_not_there(void **state)
{
	enum { CNT = sizeof kinds / sizeof kinds[0] };
	void *p[CNT];

	(void)state;
	open_other();
	for (size_t i = 0; i < CNT; i++) {
		p[i] = kinds[i].free == ah_free ? NULL : kinds[i].new();
		assert_true(p[i] || kinds[i].free == ah_free);
	}
	close_other();
	alarm(VERBS_PATIENCE_S); /* a call that waits for its events would wait for ever */
	for (size_t i = 0; i < CNT; i++) {
		print_message("%s\n", kinds[i].name);
		assert_int_equal(kinds[i].free(p[i]), ENOENT);
	}
	alarm(0);
}

/* A region that a bound window keeps stays its context's, whichever call was to end it, and goes
 * with it. */
static void close_device__region_that_was_busy(void **state)
{
	const struct vb_slot_shm *slot = vb_engine_slot(vb_ibv_ctx(ctx)->engine);
	const uint32_t regions = slot->mr_cnt;
	struct ibv_mr *region;

	(void)state;
	for (int i = 0; i < 2; i++) {
		open_other();
		region = mr_new();
		assert_non_null(mw_of_mr(region));
		if (i)
			ibv_unimport_mr(region); /* which cannot say so */
		else
			assert_int_equal(ibv_dereg_mr(region), EBUSY);
		assert_int_equal(slot->mr_cnt, regions + 1);
		close_other();
		assert_int_equal(slot->mr_cnt, regions);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(destroy__busy_while_used, open_lifetime, verbs_close),
	    cmocka_unit_test_setup_teardown(xrc_srq__keeps_pd_and_cq, open_lifetime, verbs_close),
	    cmocka_unit_test_setup_teardown(handles__of_what_is_gone, open_lifetime, verbs_close),
	    cmocka_unit_test_setup_teardown(destroy__what_is_not_there, open_lifetime, verbs_close),
	    cmocka_unit_test_setup_teardown(destroy__each_of_many, open_lifetime, verbs_close),
	    cmocka_unit_test_setup_teardown(close_device__what_went_is_not_there, open_lifetime,
					    verbs_close),
	    cmocka_unit_test_setup_teardown(close_device__region_that_was_busy, open_lifetime,
					    verbs_close),
	    VERBS_TEST(close_device__gives_device_memory_back),
	    VERBS_TEST(close_device__leaves_no_descriptors),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
