/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The objects around a PD: thread and parent domains with their allocators, device memory, and
 * imports of a device, its PDs, regions and device memory.
 */
#include "verbs/priv.h"
#include "verbs_env.h"

#include <unistd.h>

/* Counts what a parent domain's allocator was asked for. */
static struct {
	uint32_t live, total, uses_default;
	uint64_t types, freed; /* bit (1 << resource type) */
	uint8_t *last;         /* the memory it gave last, and its size */
	size_t size;
} asked;

static void *ring_alloc(struct ibv_pd *of, void *context, size_t size, size_t alignment,
			uint64_t type)
{
	void *p;

	assert_ptr_equal(context, &asked);
	assert_non_null(of);
	assert_true(type < 8);
	asked.types |= 1u << type;
	asked.total++;
	if (asked.uses_default)
		return IBV_ALLOCATOR_USE_DEFAULT;
	asked.live++;
	assert_int_equal(posix_memalign(&p, alignment, size), 0);
	asked.last = p;
	asked.size = size;
	return memset(p, 0xa5, size);
}

static void ring_free(struct ibv_pd *of, void *context, void *p, uint64_t type)
{
	assert_ptr_equal(context, &asked);
	assert_true(type < 8);
	asked.freed |= 1u << type;
	assert_non_null(of);
	asked.live--;
	free(p);
}

static void *ring_refuse(struct ibv_pd *of, void *context, size_t size, size_t alignment,
			 uint64_t type)
{
	(void)of, (void)context, (void)size, (void)alignment, (void)type;
	return NULL;
}

static struct ibv_parent_domain_init_attr with_allocators(void)
{
	return (struct ibv_parent_domain_init_attr){.pd = pd,
						    .comp_mask =
							IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
							IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
						    .alloc = ring_alloc,
						    .free = ring_free,
						    .pd_context = &asked};
}

/* Messages between two QPs of @domain, a shared receive queue and an extended CQ in it too. */
static void exchange(struct ibv_pd *domain, uint32_t rings)
{
	struct ibv_cq_init_attr_ex cq_attr = {
	    .cqe = 64, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = domain};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(ctx, &cq_attr);
	struct ibv_srq_init_attr srq_attr = {.attr = {.max_wr = 16, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(domain, &srq_attr);
	struct ibv_qp_init_attr init = {.send_cq = ibv_cq_ex_to_cq(cq),
					.recv_cq = ibv_cq_ex_to_cq(cq),
					.cap = {.max_send_wr = 4, .max_send_sge = 2},
					.qp_type = IBV_QPT_RC};
	struct ibv_recv_wr *bad;
	struct ibv_qp *a, *b;

	assert_non_null(cq);
	assert_non_null(srq);
	a = ibv_create_qp(domain, &init);
	init.srq = srq;
	b = ibv_create_qp(domain, &init);
	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal(asked.live, rings);
	assert_int_equal(ibv_dealloc_pd(domain), EBUSY);
	verbs_connect(a, b, false);
	for (uint64_t i = 0; i < 40; i++) {
		struct ibv_sge sge = sge_at(8192, 64);
		struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1};

		assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
		memset(buf, (int)i, 64);
		post_send(a, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, 0, 64);
		for (int n = 0; n < 2; n++)
			assert_int_equal(wc_next(ibv_cq_ex_to_cq(cq)).status, IBV_WC_SUCCESS);
		assert_memory_equal(buf, buf + 8192, 64);
	}
	/* A queue that grows goes on in memory of its own. */
	assert_int_equal(ibv_resize_cq(ibv_cq_ex_to_cq(cq), 500), 0);
	srq_attr.attr.max_wr = 100;
	assert_int_equal(ibv_modify_srq(srq, &srq_attr.attr, IBV_SRQ_MAX_WR), 0);
	assert_int_equal(ibv_destroy_qp(a), 0);
	assert_int_equal(ibv_destroy_qp(b), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	assert_int_equal(asked.live, 0);
}

/* The allocator has to give zeros. That one does not must not matter: the queue begins empty. */
static void parent_domain__its_memory_becomes_zero(void **state)
{
	struct ibv_parent_domain_init_attr attr = with_allocators();
	struct ibv_pd *domain = ibv_alloc_parent_domain(ctx, &attr);
	struct ibv_srq_init_attr srq_attr = {.attr = {.max_wr = 16, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(domain, &srq_attr);
	struct ibv_cq_init_attr_ex cq_attr = {.cqe = 64, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD};
	struct ibv_cq_ex *cq;

	(void)state;
	assert_non_null(srq);
	assert_true(asked.size > 16 * sizeof(struct ibv_sge));
	for (size_t i = 0; i < asked.size; i++)
		assert_int_equal(asked.last[i], 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	cq_attr.parent_domain = domain;
	cq = ibv_create_cq_ex(ctx, &cq_attr);
	assert_non_null(cq);
	for (size_t i = 0; i < asked.size; i++)
		assert_int_equal(asked.last[i], 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	assert_int_equal(ibv_dealloc_pd(domain), 0);
}

static void parent_domain__its_memory_is_used(void **state)
{
	struct ibv_parent_domain_init_attr attr = with_allocators();
	struct ibv_pd *domain = ibv_alloc_parent_domain(ctx, &attr);

	(void)state;
	memset(&asked, 0, sizeof asked);
	assert_non_null(domain);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	exchange(domain, 4);
	assert_int_equal(asked.types, 1u << 1 | 1u << 2 | 1u << 3);
	assert_int_equal(asked.freed, asked.types);
	asked.uses_default = 1;
	exchange(domain, 0);
	assert_int_equal(asked.total, 8);
	assert_int_equal(ibv_dealloc_pd(domain), 0);
	attr = (struct ibv_parent_domain_init_attr){.pd = pd};
	domain = ibv_alloc_parent_domain(ctx, &attr);
	exchange(domain, 0);
	assert_int_equal(ibv_dealloc_pd(domain), 0);
}

static int cq_error(struct ibv_pd *domain)
{
	struct ibv_cq_init_attr_ex attr = {
	    .cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = domain};

	errno = 0;
	assert_null(ibv_create_cq_ex(ctx, &attr));
	return errno;
}

static void parent_domain__no_memory(void **state)
{
	struct ibv_parent_domain_init_attr attr = with_allocators();
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 16, .max_sge = 1}};
	struct ibv_qp_init_attr qp = {.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	struct ibv_pd *domain;

	(void)state;
	attr.alloc = ring_refuse;
	domain = ibv_alloc_parent_domain(ctx, &attr);
	assert_non_null(domain);
	assert_null(ibv_create_srq(domain, &srq));
	assert_int_equal(errno, ENOMEM);
	/* A failed creation leaves the CQ and the domain unused. */
	assert_int_equal(cq_error(domain), ENOMEM);
	qp.send_cq = qp.recv_cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	errno = 0;
	assert_null(ibv_create_qp(domain, &qp));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(ibv_destroy_cq(qp.send_cq), 0);
	assert_int_equal(ibv_dealloc_pd(domain), 0);
}

static void parent_domain__refused(void **state)
{
	struct ibv_parent_domain_init_attr attr = with_allocators();
	struct ibv_cq_init_attr_ex cq = {
	    .cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = pd};

	(void)state;
	attr.free = NULL;
	assert_null(ibv_alloc_parent_domain(ctx, &attr));
	assert_int_equal(errno, EINVAL);
	attr = (struct ibv_parent_domain_init_attr){.pd = NULL};
	assert_null(ibv_alloc_parent_domain(ctx, &attr));
	attr = (struct ibv_parent_domain_init_attr){.pd = pd, .comp_mask = 1u << 9};
	assert_null(ibv_alloc_parent_domain(ctx, &attr));
	errno = 0;
	assert_null(ibv_create_cq_ex(ctx, &cq)); /* a plain PD is none */
	assert_int_equal(errno, EINVAL);
}

static int domain_error(struct ibv_pd *of, struct ibv_td *td)
{
	struct ibv_parent_domain_init_attr attr = {.pd = of, .td = td};

	errno = 0;
	assert_null(ibv_alloc_parent_domain(ctx, &attr));
	return errno;
}

static void parent_domain__of_another_context(void **state)
{
	struct ibv_context *other = ibv_open_device(ctx->device);
	struct ibv_td_init_attr none = {0};
	struct ibv_parent_domain_init_attr attr = {.pd = ibv_alloc_pd(other)};
	struct ibv_td *td = ibv_alloc_td(other, &none);
	struct ibv_pd *domain = ibv_alloc_parent_domain(other, &attr);

	(void)state;
	assert_non_null(domain);
	assert_int_equal(domain_error(attr.pd, NULL), ENOENT);
	assert_int_equal(domain_error(pd, td), ENOENT);
	assert_int_equal(cq_error(domain), ENOENT);
	assert_int_equal(ibv_dealloc_pd(domain), 0);
	assert_int_equal(ibv_dealloc_pd(attr.pd), 0);
	assert_int_equal(ibv_dealloc_td(td), 0);
	assert_int_equal(ibv_close_device(other), 0);
}

/* Nothing is looked at behind a pointer to no object, or to one that is destroyed. */
static void parent_domain__of_objects_that_are_not_there(void **state)
{
	struct ibv_td_init_attr none = {0};
	struct ibv_td *td = ibv_alloc_td(ctx, &none);
	struct ibv_parent_domain_init_attr attr = {.pd = pd, .td = td};
	struct ibv_pd *domain = ibv_alloc_parent_domain(ctx, &attr);

	(void)state;
	assert_non_null(domain);
	assert_int_equal(domain_error((void *)td, NULL), ENOENT);
	assert_int_equal(domain_error(pd, (void *)pd), ENOENT);
	assert_int_equal(cq_error((void *)td), ENOENT);
	assert_int_equal(ibv_dealloc_pd(domain), 0);
	assert_int_equal(ibv_dealloc_td(td), 0);
	assert_int_equal(domain_error(domain, NULL), ENOENT);
	assert_int_equal(domain_error(pd, td), ENOENT);
	assert_int_equal(cq_error(domain), ENOENT);
	assert_int_equal(domain_error(NULL, NULL), EINVAL);
	assert_int_equal(cq_error(NULL), EINVAL);
}

static void thread_domain__busy_while_used(void **state)
{
	struct ibv_td_init_attr attr = {0};
	struct ibv_td *td = ibv_alloc_td(ctx, &attr);
	struct ibv_parent_domain_init_attr parent = {.pd = pd, .td = td};
	struct ibv_pd *domain = ibv_alloc_parent_domain(ctx, &parent);

	(void)state;
	assert_non_null(domain);
	assert_int_equal(ibv_dealloc_td(td), EBUSY);
	assert_int_equal(ibv_dealloc_pd(domain), 0);
	assert_int_equal(ibv_dealloc_td(td), 0);
	attr.comp_mask = 1;
	assert_null(ibv_alloc_td(ctx, &attr));
	assert_int_equal(errno, EINVAL);
}

static uint64_t dm_size(void)
{
	struct ibv_device_attr_ex attr;

	assert_int_equal(ibv_query_device_ex(ctx, NULL, &attr), 0);
	assert_true(attr.max_dm_size > 0);
	return attr.max_dm_size;
}

static void dm__copies_and_limits(void **state)
{
	struct ibv_alloc_dm_attr attr = {.length = dm_size()};
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &attr), *more;
	char in[16] = "device memory";
	char out[16] = "";

	(void)state;
	assert_non_null(dm);
	assert_int_equal(ibv_memcpy_to_dm(dm, attr.length - 16, in, 16), 0);
	assert_int_equal(ibv_memcpy_from_dm(out, dm, attr.length - 16, 16), 0);
	assert_string_equal(in, out);
	assert_int_equal(ibv_memcpy_to_dm(dm, attr.length - 12, in, 16), EFAULT);
	assert_int_equal(ibv_memcpy_to_dm(dm, 2, in, 4), EFAULT);
	assert_int_equal(ibv_memcpy_from_dm(out, dm, 0, 2), EFAULT);
	assert_int_equal(ibv_memcpy_from_dm(out, dm, UINT64_MAX - 3, 8), EFAULT);
	/* That was all of it. */
	attr.length = 1;
	assert_null(ibv_alloc_dm(ctx, &attr));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(ibv_free_dm(dm), 0);
	more = ibv_alloc_dm(ctx, &attr);
	assert_non_null(more);
	assert_int_equal(ibv_free_dm(more), 0);
	attr.length = dm_size() + 1;
	assert_null(ibv_alloc_dm(ctx, &attr));
	attr = (struct ibv_alloc_dm_attr){.length = 4, .comp_mask = 1};
	assert_null(ibv_alloc_dm(ctx, &attr));
	assert_int_equal(errno, EINVAL);
}

static const uint8_t *place_of(const struct ibv_dm *dm)
{
	return ((const struct vb_ibv_dm *)dm)->mem->p;
}

static struct ibv_dm *dm_new(size_t length, uint32_t log_align)
{
	struct ibv_alloc_dm_attr attr = {.length = length, .log_align_req = log_align};
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &attr);

	assert_non_null(dm);
	assert_int_equal((uintptr_t)place_of(dm) % (1u << (log_align < 6 ? 6 : log_align)), 0);
	return dm;
}

/* Each allocation gets the first free part, at the alignment it asked for at least. */
static void dm__where_it_lies(void **state)
{
	struct ibv_dm *a = dm_new(100, 0), *b = dm_new(8192, 12), *c = dm_new(1, 0), *d, *e;
	struct ibv_alloc_dm_attr pages = {.length = 64, .log_align_req = 13};
	const uint8_t *base = place_of(a);

	(void)state;
	assert_ptr_equal(place_of(b), base + 4096);
	/* In front of b: a takes two cache lines. */
	assert_ptr_equal(place_of(c), base + 128);
	d = dm_new(4096 - 192, 0);
	assert_ptr_equal(place_of(d), base + 192);
	/* The gap in front of b is full. */
	e = dm_new(1, 0);
	assert_ptr_equal(place_of(e), base + 4096 + 8192);
	assert_int_equal(ibv_free_dm(d), 0);
	d = dm_new(4096 - 192 + 4, 0);
	assert_ptr_equal(place_of(d), base + 4096 + 8192 + 64);
	assert_int_equal(ibv_free_dm(b), 0);
	b = dm_new(4096, 12);
	assert_ptr_equal(place_of(b), base + 4096);
	assert_int_equal(ibv_free_dm(a), 0);
	a = dm_new(64, 7);
	assert_ptr_equal(place_of(a), base);
	assert_int_equal(ibv_free_dm(a), 0);
	assert_int_equal(ibv_free_dm(b), 0);
	assert_int_equal(ibv_free_dm(c), 0);
	assert_int_equal(ibv_free_dm(d), 0);
	assert_int_equal(ibv_free_dm(e), 0);
	/* Limit: one page. */
	errno = 0;
	assert_null(ibv_alloc_dm(ctx, &pages));
	assert_int_equal(errno, EINVAL);
}

/* Bytes that somebody else has left in device memory are nobody's to see. */
static void dm__new_is_zero(void **state)
{
	struct ibv_alloc_dm_attr attr = {.length = 64};
	struct ibv_dm *first = ibv_alloc_dm(ctx, &attr), *dm;
	char in[64], out[64], zeros[64] = {0};

	(void)state;
	assert_non_null(first);
	memset(in, 0x5a, sizeof in);
	for (int i = 0; i < 2; i++) {
		dm = ibv_alloc_dm(ctx, &attr);
		assert_non_null(dm);
		assert_int_equal(ibv_memcpy_from_dm(out, dm, 0, sizeof out), 0);
		assert_memory_equal(out, zeros, sizeof out);
		assert_int_equal(ibv_memcpy_to_dm(dm, 0, in, sizeof in), 0);
		assert_int_equal(ibv_free_dm(dm), 0);
	}
	assert_int_equal(ibv_free_dm(first), 0);
}

/* A process that has imported a region of device memory keeps the memory. */
static void import__region_of_device_memory(void **state)
{
	struct ibv_context *other = ibv_import_device(ctx->cmd_fd);
	struct ibv_pd *there = ibv_import_pd(other, pd->handle);
	struct ibv_alloc_dm_attr attr = {.length = 4096};
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &attr);
	struct ibv_mr *m =
	    ibv_reg_dm_mr(pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mr *imported = ibv_import_mr(there, m->handle);

	(void)state;
	assert_non_null(imported);
	ibv_unimport_mr(m);
	assert_int_equal(ibv_free_dm(dm), EBUSY);
	assert_int_equal(ibv_dereg_mr(imported), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
	ibv_unimport_pd(there);
	assert_int_equal(ibv_close_device(other), 0);
}

static void dm__region_is_read_and_written(void **state)
{
	struct ibv_alloc_dm_attr attr = {.length = 4096, .log_align_req = 10};
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &attr);
	unsigned access = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct ibv_mr *m = ibv_reg_dm_mr(pd, dm, 1024, 2048, access);
	struct verbs_end a = end_new(IBV_QPT_RC, NULL, NULL), b = end_new(IBV_QPT_RC, NULL, NULL);
	char out[64];

	(void)state;
	assert_non_null(m);
	assert_null(m->addr);
	/* Of no bytes: as adapters take it. */
	assert_int_equal(ibv_dereg_mr(ibv_reg_dm_mr(pd, dm, 1024, 0, access)), 0);
	assert_null(ibv_reg_dm_mr(pd, dm, 1024, 3076, access));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_dm_mr(pd, dm, 0, 64, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(ibv_free_dm(dm), EBUSY);
	verbs_connect(a.qp, b.qp, false);
	memset(buf, 0x42, 64);
	post_send(a.qp,
		  (struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE, .wr.rdma = {100, m->rkey}}, 0,
		  64);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_memcpy_from_dm(out, dm, 1024 + 100, 64), 0);
	assert_memory_equal(out, buf, 64);
	post_send(a.qp,
		  (struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE, .wr.rdma = {1985, m->rkey}}, 0,
		  64);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_REM_ACCESS_ERR);
	end_free(&a);
	end_free(&b);
	assert_int_equal(ibv_dereg_mr(m), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
}

static void import__objects_of_a_duplicated_descriptor(void **state)
{
	struct ibv_context *c2 = ibv_import_device(dup(ctx->cmd_fd));
	struct ibv_pd *pd2;
	struct ibv_mr *mr2;

	(void)state;
	assert_non_null(c2);
	pd2 = ibv_import_pd(c2, pd->handle);
	assert_non_null(pd2);
	mr2 = ibv_import_mr(pd2, mr->handle);
	assert_non_null(mr2);
	assert_int_equal(mr2->lkey, mr->lkey);
	assert_int_equal(mr2->rkey, mr->rkey);
	assert_null(mr2->addr);
	assert_null(ibv_import_pd(c2, 0xabcdef));
	assert_int_equal(errno, ENOENT);
	assert_null(ibv_import_mr(pd2, 0xabcdef));

	/* A QP of the import sends from the region of the first. */
	struct ibv_cq *cq = ibv_create_cq(c2, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {.send_cq = cq,
					.recv_cq = cq,
					.cap = {.max_send_wr = 4, .max_recv_wr = 4},
					.qp_type = IBV_QPT_RC};
	struct ibv_qp *qp = ibv_create_qp(pd2, &init);
	struct verbs_end a = end_new(IBV_QPT_RC, NULL, NULL);

	assert_non_null(qp);
	verbs_connect(qp, a.qp, false);
	post_recv(a.qp, 1, 4096, 64);
	memset(buf, 0x11, 64);
	post_send(qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, 0, 64);
	assert_int_equal(wc_next(cq).status, IBV_WC_SUCCESS);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
	assert_memory_equal(buf, buf + 4096, 64);

	/* The region goes with the first who deregisters it; the other only tidies up. */
	ibv_unimport_mr(mr2);
	mr2 = ibv_import_mr(pd2, mr->handle);
	assert_int_equal(ibv_dereg_mr(mr2), 0);
	post_send(qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, 0, 64);
	assert_int_equal(wc_next(cq).status, IBV_WC_LOC_PROT_ERR);
	assert_null(ibv_import_mr(pd2, mr->handle));
	ibv_unimport_mr(mr);
	ibv_unimport_pd(pd2); /* its QP is there still: it stays until all is closed */
	end_free(&a);
	/* An object that one context has created stays while the other is open. */
	assert_int_equal(ibv_close_device(ctx), 0);
	ctx = c2;
}

/* Of contexts on one descriptor each finds the PDs that the others have made. */
static void import__pd_of_each_context(void **state)
{
	struct ibv_context *c[] = {ctx, ibv_import_device(ctx->cmd_fd),
				   ibv_import_device(ctx->cmd_fd)};
	struct ibv_pd *own[3], *p;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_non_null(c[i]);
		own[i] = ibv_alloc_pd(c[i]);
		assert_non_null(own[i]);
	}
	for (int i = 0; i < 9; i++) {
		p = ibv_import_pd(c[i / 3], own[i % 3]->handle);
		assert_non_null(p);
		assert_int_equal(p->handle, own[i % 3]->handle);
		ibv_unimport_pd(p);
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(ibv_dealloc_pd(own[i]), 0);
	assert_int_equal(ibv_close_device(c[1]), 0);
	assert_int_equal(ibv_close_device(c[2]), 0);
}

/* Two contexts have the keys of an imported region: neither moves it away from the other. */
static void import__shared_region_is_not_moved(void **state)
{
	struct ibv_context *c2 = ibv_import_device(dup(ctx->cmd_fd));
	struct ibv_pd *pd2 = ibv_import_pd(c2, pd->handle);
	struct ibv_mr *mr2 = ibv_import_mr(pd2, mr->handle), before = *mr;

	(void)state;
	assert_non_null(mr2);
	for (int i = 0; i < 2; i++) {
		errno = 0;
		assert_int_equal(ibv_rereg_mr(i ? mr2 : mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
					      buf + 4096, 4096, 0),
				 IBV_REREG_MR_ERR_INPUT);
		assert_int_equal(errno, EINVAL);
		assert_memory_equal(mr, &before, sizeof before);
		assert_int_equal(mr2->lkey, before.lkey);
	}
	/* It is its creator's alone again. */
	ibv_unimport_mr(mr2);
	assert_int_equal(
	    ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, buf + 4096, 4096, 0), 0);
	ibv_unimport_pd(pd2);
	assert_int_equal(ibv_close_device(c2), 0);
}

static void import__device_memory(void **state)
{
	struct ibv_context *c2 = ibv_import_device(dup(ctx->cmd_fd));
	struct ibv_alloc_dm_attr attr = {.length = 64};
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &attr), *dm2;
	uint32_t in = 0x12345678, out = 0;

	(void)state;
	dm2 = ibv_import_dm(c2, dm->handle);
	assert_non_null(dm2);
	assert_int_equal(ibv_memcpy_to_dm(dm, 60, &in, 4), 0);
	assert_int_equal(ibv_memcpy_from_dm(&out, dm2, 60, 4), 0);
	assert_int_equal(out, in);
	assert_int_equal(ibv_free_dm(dm), 0);
	assert_null(ibv_import_dm(c2, dm2->handle));
	assert_int_equal(errno, ENOENT);
	ibv_unimport_dm(dm2);
	assert_int_equal(ibv_close_device(c2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(parent_domain__its_memory_becomes_zero),
	    VERBS_TEST(parent_domain__its_memory_is_used),
	    VERBS_TEST(parent_domain__no_memory),
	    VERBS_TEST(parent_domain__refused),
	    VERBS_TEST(parent_domain__of_another_context),
	    VERBS_TEST(parent_domain__of_objects_that_are_not_there),
	    VERBS_TEST(thread_domain__busy_while_used),
	    VERBS_TEST(dm__copies_and_limits),
	    VERBS_TEST(dm__where_it_lies),
	    VERBS_TEST(dm__new_is_zero),
	    VERBS_TEST(import__region_of_device_memory),
	    VERBS_TEST(dm__region_is_read_and_written),
	    VERBS_TEST(import__objects_of_a_duplicated_descriptor),
	    VERBS_TEST(import__pd_of_each_context),
	    VERBS_TEST(import__shared_region_is_not_moved),
	    VERBS_TEST(import__device_memory),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
