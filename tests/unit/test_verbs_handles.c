/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles: a call with an object of another context, or with the handle of another object, does not
 * find it, as in a kernel, which looks it up in a table of the context. docs/verbs.md
 */
#include "verbs/priv.h"
#include "verbs_env.h"

#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <inttypes.h>
#include <sys/mman.h>

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

enum maker { PLAIN, EXTENDED, MLX5 };

/* The kinds of QP, and which parts each has. */
static const struct kind {
	enum ibv_qp_type type;
	enum maker maker;
	enum mlx5dv_dc_type dc;
	bool send_cq, recv_cq, srq;
} kinds[] = {
    {IBV_QPT_RC, PLAIN, 0, true, true, true},
    {IBV_QPT_UC, PLAIN, 0, true, true, true},
    {IBV_QPT_UD, PLAIN, 0, true, true, true},
    {IBV_QPT_RC, EXTENDED, 0, true, true, true},
    {IBV_QPT_UD, EXTENDED, 0, true, true, true},
    {IBV_QPT_XRC_SEND, EXTENDED, 0, true, false, false},
    {IBV_QPT_DRIVER, MLX5, MLX5DV_DCTYPE_DCI, true, false, false},
    {IBV_QPT_DRIVER, MLX5, MLX5DV_DCTYPE_DCT, false, true, true},
};

static struct ibv_qp *make_of(const struct kind *k, struct ibv_cq *send_cq, struct ibv_cq *recv_cq,
			      struct ibv_srq *srq)
{
	struct ibv_qp_init_attr_ex a = {.send_cq = send_cq,
					.recv_cq = recv_cq,
					.srq = srq,
					.cap = {.max_send_wr = 1, .max_send_sge = 1},
					.qp_type = k->type,
					.comp_mask = IBV_QP_INIT_ATTR_PD,
					.pd = pd};
	struct mlx5dv_qp_init_attr m = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
					.dc_init_attr = {.dc_type = k->dc}};

	if (k->maker == MLX5)
		return mlx5dv_create_qp(ctx, &a, &m);
	/* The plain attributes are the beginning of the extended ones. */
	return k->maker == EXTENDED ? ibv_create_qp_ex(ctx, &a)
				    : ibv_create_qp(pd, (struct ibv_qp_init_attr *)&a);
}

/* Each part of a QP is of the context of its PD, and is there; a part that the kind does not have
 * is not looked at. */
static void create_qp__its_parts_are_of_its_context(void **state)
{
	struct ibv_context *other = ibv_open_device(ctx->device);
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_cq *cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	struct ibv_cq *far_cq = ibv_create_cq(other, 4, NULL, NULL, 0);
	struct ibv_pd *far = ibv_alloc_pd(other);
	struct ibv_srq *srq = ibv_create_srq(pd, &init), *far_srq = ibv_create_srq(far, &init);

	(void)state;
	assert_true(cq && far_cq && srq && far_srq);
	for (size_t i = 0; i < 3 * sizeof kinds / sizeof *kinds; i++) {
		const struct kind *k = &kinds[i / 3];
		bool is_srq = i % 3 == 2;
		struct ibv_cq *send_cq = i % 3 == 0 ? far_cq : cq;
		struct ibv_cq *recv_cq = i % 3 == 1 ? far_cq : cq;
		struct ibv_qp *qp;

		if (is_srq ? k->srq : i % 3 ? k->recv_cq : k->send_cq) {
			NONE_FOUND(make_of(k, send_cq, recv_cq, is_srq ? far_srq : srq));
			assert_non_null(
			    strstr(verbena_refusal(), is_srq ? "the SRQ is of another context"
							     : "the CQ is of another context"));
			continue;
		}
		qp = make_of(k, send_cq, recv_cq, is_srq ? far_srq : srq);
		assert_non_null(qp);
		assert_int_equal(ibv_destroy_qp(qp), 0);
	}
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct ibv_qp *qp;

		if (!kinds[i].srq)
			continue;
		srq->handle ^= 1u << 20;
		NONE_FOUND(make_of(&kinds[i], cq, cq, srq));
		srq->handle ^= 1u << 20;
		qp = make_of(&kinds[i], cq, cq, srq);
		assert_non_null(qp);
		assert_int_equal(ibv_destroy_qp(qp), 0);
	}
	/* No refused QP holds a part. */
	assert_int_equal(ibv_destroy_srq(far_srq), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_destroy_cq(far_cq), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_dealloc_pd(far), 0);
	assert_int_equal(ibv_close_device(other), 0);
}

/* Places that a QP has in the table of the adapter's QPs, by which its registers are found. */
static unsigned index_cnt(uint32_t qpn)
{
	const struct vb_host_memory *m = (const void *)vb_engine_host(vb_ibv_ctx(ctx)->engine);
	unsigned cnt = 0;

	for (uint32_t i = 0; i < VB_CSR_QPS; i++)
		cnt += (m->qp_index[i] & 0xffffff) == qpn;
	return cnt;
}

static struct ibv_qp *open_target(struct ibv_xrcd *x, uint32_t qpn)
{
	struct ibv_qp_open_attr a = {.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
						  IBV_QP_OPEN_ATTR_TYPE,
				     .qp_num = qpn,
				     .xrcd = x,
				     .qp_type = IBV_QPT_XRC_RECV};

	return ibv_open_qp(ctx, &a);
}

/* A QP is counted, and found by its registers, once, however many handles it has, and until the
 * last of them goes; a context that is closed takes its QPs out. */
static void destroy_qp__its_places_are_free(void **state)
{
	const struct vb_slot_shm *slot = vb_engine_slot(vb_ibv_ctx(ctx)->engine);
	const uint32_t qps = slot->qp_cnt;
	struct ibv_xrcd_init_attr xa = {.comp_mask =
					    IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					.fd = -1,
					.oflags = O_CREAT};
	struct ibv_xrcd *x = ibv_open_xrcd(ctx, &xa);
	struct ibv_qp_init_attr_ex a = {
	    .qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = x};
	struct verbs_end before = end_new(IBV_QPT_RC, NULL, NULL), e;
	struct ibv_qp *qp[3] = {ibv_create_qp_ex(ctx, &a)};
	struct ibv_context *here = ctx;
	struct ibv_pd *own = pd;
	uint32_t qpn;

	(void)state;
	assert_non_null(qp[0]);
	qpn = qp[0]->qp_num;
	to_init(qp[0]);
	for (int i = 1; i < 3; i++) {
		qp[i] = open_target(x, qpn);
		assert_non_null(qp[i]);
		assert_true(qp[i]->qp_num == qpn && qp[i]->state == IBV_QPS_INIT);
	}
	for (int i = 0; i < 3; i++) {
		assert_int_equal(slot->qp_cnt, qps + 2);
		assert_int_equal(index_cnt(qpn), 1);
		assert_int_equal(ibv_destroy_qp(qp[i]), 0);
	}
	assert_int_equal(slot->qp_cnt, qps + 1);
	assert_int_equal(index_cnt(qpn), 0);
	assert_int_equal(index_cnt(before.qp->qp_num), 1);
	ctx = ibv_open_device(here->device);
	pd = ibv_alloc_pd(ctx);
	e = end_new(IBV_QPT_UD, NULL, NULL);
	qpn = e.qp->qp_num;
	assert_int_equal(index_cnt(qpn), 1);
	assert_int_equal(ibv_close_device(ctx), 0);
	ctx = here;
	pd = own;
	assert_int_equal(index_cnt(qpn), 0);
	end_free(&before);
	assert_int_equal(ibv_close_xrcd(x), 0);
}

/* The program's words for its objects stand in them, each in its own. ibv_create_cq(3),
 * ibv_create_srq(3), ibv_create_qp(3) */
static void create__keeps_the_programs_words(void **state)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	int words[3];
	struct ibv_cq *cq = ibv_create_cq(ctx, 4, &words[0], channel, 0), *got;
	struct ibv_srq_init_attr srq = {.srq_context = &words[1],
					.attr = {.max_wr = 1, .max_sge = 1}};
	struct ibv_qp_init_attr qp = {.qp_context = &words[2],
				      .send_cq = cq,
				      .recv_cq = cq,
				      .cap = {1, 1, 1, 1, 0},
				      .qp_type = IBV_QPT_RC};
	struct ibv_srq *s = ibv_create_srq(pd, &srq);
	struct ibv_qp *q = ibv_create_qp(pd, &qp);
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	void *context;

	(void)state;
	assert_true(cq && s && q);
	assert_true(cq->cqe >= 4);
	assert_true(cq->cq_context == &words[0] && cq->channel == channel && cq->context == ctx);
	assert_true(s->srq_context == &words[1] && s->pd == pd && s->context == ctx);
	assert_true(q->qp_context == &words[2] && q->pd == pd && q->context == ctx);
	assert_true(q->send_cq == cq && q->recv_cq == cq && !q->srq && q->qp_type == IBV_QPT_RC);
	assert_int_equal(q->state, IBV_QPS_RESET);
	assert_int_equal(ibv_query_qp_data_in_order(q, IBV_WR_RDMA_WRITE, 0), 0);
	/* An event says whose it is. */
	to_init(q);
	assert_int_equal(q->state, IBV_QPS_INIT);
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	post_recv(q, 1, 0, 8);
	assert_int_equal(ibv_modify_qp(q, &err, IBV_QP_STATE), 0);
	assert_int_equal(q->state, IBV_QPS_ERR);
	assert_int_equal(ibv_get_cq_event(channel, &got, &context), 0);
	assert_true(got == cq && context == &words[0]);
	ibv_ack_cq_events(cq, 1);
	assert_int_equal(ibv_destroy_qp(q), 0);
	assert_int_equal(ibv_destroy_srq(s), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
}

static void *context_seen;

static void *give_default(struct ibv_pd *of, void *context, size_t size, size_t alignment,
			  uint64_t type)
{
	(void)of, (void)size, (void)alignment, (void)type;
	context_seen = context;
	return IBV_ALLOCATOR_USE_DEFAULT;
}

static void free_nothing(struct ibv_pd *of, void *context, void *p, uint64_t type)
{
	(void)of, (void)context, (void)p, (void)type;
}

/* An allocator is given the program's word for it if comp_mask names that, and else none.
 * ibv_alloc_parent_domain(3) */
static void parent_domain__word_of_its_allocator(void **state)
{
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 1, .max_sge = 1}};

	(void)state;
	for (int named = 0; named < 2; named++) {
		struct ibv_parent_domain_init_attr a = {
		    .pd = pd,
		    .comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
				 (named ? IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT : 0u),
		    .alloc = give_default,
		    .free = free_nothing,
		    .pd_context = &a};
		struct ibv_pd *domain = ibv_alloc_parent_domain(ctx, &a);
		struct ibv_srq *s = ibv_create_srq(domain, &srq);

		assert_non_null(s);
		assert_ptr_equal(context_seen, named ? &a : NULL);
		assert_int_equal(ibv_destroy_srq(s), 0);
		assert_int_equal(ibv_dealloc_pd(domain), 0);
	}
}

/* More PDs and device memories than the table has places, one after the other: a number whose place
 * somebody has is left out, so that each is found by its own. */
static void handles__go_round(void **state)
{
	const struct vb_export_table *t = vb_ibv_ctx(ctx)->file->table;
	struct ibv_alloc_dm_attr attr = {.length = 64};
	struct ibv_dm *first = ibv_alloc_dm(ctx, &attr);
	struct vb_export_entry e;
	const uint32_t *lease;
	uint32_t leased;

	(void)state;
	assert_non_null(first);
	for (uint32_t i = 0; i < VB_EXPORT_PDS + 8; i++) {
		struct ibv_pd *p = ibv_alloc_pd(ctx);
		struct ibv_dm *dm = ibv_alloc_dm(ctx, &attr);

		assert_true(p && dm);
		if (i >= VB_EXPORT_PDS - 8) {
			assert_int_equal(
			    vb_import_find(t, VB_EXPORT_PD, p->handle, &e, &lease, &leased), 0);
			assert_int_equal(
			    vb_import_find(t, VB_EXPORT_DM, dm->handle, &e, &lease, &leased), 0);
		}
		assert_int_equal(ibv_free_dm(dm), 0);
		assert_int_equal(ibv_dealloc_pd(p), 0);
	}
	assert_int_equal(vb_import_find(t, VB_EXPORT_PD, pd->handle, &e, &lease, &leased), 0);
	assert_int_equal(vb_import_find(t, VB_EXPORT_DM, first->handle, &e, &lease, &leased), 0);
	assert_int_equal(ibv_free_dm(first), 0);
}

/* Whether the mapping that @p is in has a flag of proc(5)'s VmFlags. */
static bool mapping_has(const void *p, const char *flag)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	uintptr_t from, to;
	bool is_ours = false, found = false;
	char line[4096];

	assert_non_null(f);
	while (!found && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
			is_ours = (uintptr_t)p >= from && (uintptr_t)p < to;
		else if (is_ours && strncmp(line, "VmFlags:", 8) == 0)
			found = strstr(line, flag) != NULL;
	}
	fclose(f);
	return found;
}

/* The table behind cmd_fd is written by its context alone: not by those whom the descriptor is
 * passed to, with every right that it has; and it is no part of a core dump. export.h */
static void open_device__table_of_handles(void **state)
{
	const struct vb_export_table *t = vb_ibv_ctx(ctx)->file->table;

	(void)state;
	assert_non_null(t);
	assert_true(mapping_has(t, " dd"));
	assert_int_equal(fcntl(ctx->cmd_fd, F_GETFL) & O_ACCMODE, O_RDWR);
	errno = 0;
	assert_int_equal(pwrite(ctx->cmd_fd, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(ctx->cmd_fd, 0), -1);
	assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ctx->cmd_fd, 0),
			 MAP_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(calls__look_at_handles),
	    VERBS_TEST(calls__look_at_all_handles),
	    VERBS_TEST(create_qp__its_parts_are_of_its_context),
	    VERBS_TEST(destroy_qp__its_places_are_free),
	    VERBS_TEST(open_device__table_of_handles),
	    VERBS_TEST(create__keeps_the_programs_words),
	    VERBS_TEST(handles__go_round),
	    VERBS_TEST(parent_domain__word_of_its_allocator),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
