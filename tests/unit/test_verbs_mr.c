/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory regions and windows: which memory may be registered, and which errors are found when. */
#include "verbs_env.h"

#include <sys/mman.h>

#define PAGE 4096u

static void *pages(size_t cnt, int prot)
{
	void *p = mmap(NULL, cnt * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

static void assert_refused(void *addr, size_t len, int access, int err)
{
	errno = 0;
	assert_null(ibv_reg_mr(pd, addr, len, access));
	assert_int_equal(errno, err);
}

static void reg_mr__unmapped(void **state)
{
	char *p = pages(4, PROT_READ | PROT_WRITE);

	(void)state;
	munmap(p + PAGE, PAGE);
	assert_refused(p, 4 * PAGE, IBV_ACCESS_LOCAL_WRITE, EFAULT);
	assert_refused(p + PAGE, 1, 0, EFAULT);
	assert_refused(p + PAGE - 1, 2, 0, EFAULT);
	assert_refused(NULL, 10, 0, EFAULT);
	assert_refused(p, SIZE_MAX / 4, 0, EFAULT);
	munmap(p, 4 * PAGE);
}

/* Memory that ends behind the last address, or so near that its last page does, is none at all. */
static void reg_mr__wraps(void **state)
{
	const int access[] = {IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND,
			      IBV_ACCESS_ON_DEMAND | IBV_ACCESS_ZERO_BASED};

	(void)state;
	for (size_t i = 0; i < sizeof access / sizeof access[0]; i++) {
		assert_refused(buf, SIZE_MAX, access[i], EINVAL);
		assert_refused(buf, SIZE_MAX - (uintptr_t)buf + 1, access[i], EINVAL);
		assert_refused(buf, SIZE_MAX - (uintptr_t)buf, access[i], EINVAL);
	}
	assert_refused(NULL, SIZE_MAX, 0, EINVAL);
	assert_refused(buf, SIZE_MAX - (uintptr_t)buf - PAGE + 1, 0, EFAULT);
}

static void reg_mr__read_only(void **state)
{
	char *p = pages(2, PROT_READ);

	(void)state;
	assert_refused(p, PAGE, IBV_ACCESS_LOCAL_WRITE, EFAULT);
	assert_refused((void *)(uintptr_t) "text", 4, IBV_ACCESS_LOCAL_WRITE, EFAULT);

	struct ibv_mr *m = ibv_reg_mr(pd, p, PAGE, IBV_ACCESS_REMOTE_READ);

	assert_non_null(m);
	assert_int_equal(ibv_dereg_mr(m), 0);
	mprotect(p, PAGE, PROT_NONE);
	assert_refused(p, PAGE, 0, EFAULT);
	munmap(p, 2 * PAGE);
}

static void reg_mr__access_and_length(void **state)
{
	(void)state;
	assert_refused(buf, 8, IBV_ACCESS_REMOTE_WRITE, EINVAL);
	assert_refused(buf, 8, IBV_ACCESS_REMOTE_ATOMIC, EINVAL);
	assert_refused(buf, 8, 1 << 15, EINVAL);
	/* Bytes are flushed so that others see them, and never to where they outlast this process:
	 * rights of the kernel's headers, docs/verbs.md. */
	assert_refused(buf, 8, 1 << 9, EINVAL);
	assert_int_equal(ibv_dereg_mr(ibv_reg_mr(pd, buf, 8, 1 << 8)), 0);

	/* Optional rights that mean nothing here are no error. */
	struct ibv_mr *m = ibv_reg_mr(pd, buf, 8, IBV_ACCESS_RELAXED_ORDERING | 1 << 29);

	assert_non_null(m);
	assert_int_equal(ibv_dereg_mr(m), 0);
}

/* A region of no bytes, wherever: at the beginning of a page, within one, where no memory is. It
 * has keys, and gives nothing. */
static void reg_mr__no_bytes(void **state)
{
	void *const at[] = {buf, buf + 5, NULL, (void *)64};
	struct verbs_end a = end_new(IBV_QPT_RC, NULL, NULL), b = end_new(IBV_QPT_RC, NULL, NULL);

	(void)state;
	for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
		struct ibv_mr *m = ibv_reg_mr(pd, at[i], 0, ALL_ACCESS & ~IBV_ACCESS_MW_BIND);

		assert_non_null(m);
		assert_true(m->length == 0 && m->addr == at[i] && m->rkey != 0);
		verbs_connect(a.qp, b.qp, false);
		for (uint32_t len = 0; len < 2; len++) {
			post_send(a.qp,
				  (struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE,
						       .wr.rdma = {(uintptr_t)at[i], m->rkey}},
				  8192, len);
			assert_int_equal(wc_next(a.cq).status,
					 len ? IBV_WC_REM_ACCESS_ERR : IBV_WC_SUCCESS);
		}
		assert_int_equal(ibv_dereg_mr(m), 0);
		end_free(&a);
		end_free(&b);
		a = end_new(IBV_QPT_RC, NULL, NULL);
		b = end_new(IBV_QPT_RC, NULL, NULL);
	}
	end_free(&a);
	end_free(&b);
}

static void reg_mr__iova(void **state)
{
	struct ibv_mr *m;

	(void)state;
	assert_null(ibv_reg_mr_iova(pd, buf, 8, (uintptr_t)buf + 1, 0));
	assert_int_equal(errno, EINVAL);
	m = ibv_reg_mr_iova(pd, buf, 8, 0x100000 + (uintptr_t)buf % PAGE, 0);
	assert_non_null(m);
	assert_true(m->addr == buf);
	assert_int_equal(ibv_dereg_mr(m), 0);
}

/* Much more than the machine has, which a sparse program may map: no time and no memory. */
static void reg_mr__huge(void **state)
{
	size_t len = (size_t)1 << 42;
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)state;
	if (p == MAP_FAILED)
		skip();
	struct ibv_mr *m = ibv_reg_mr(pd, p, len, IBV_ACCESS_LOCAL_WRITE);

	assert_non_null(m);
	assert_int_equal(ibv_dereg_mr(m), 0);
	munmap(p, len);
}

/* IBT-84 */
static void rereg_mr__changes_what_is_asked(void **state)
{
	struct ibv_mr *m = ibv_reg_mr(pd, buf, 4096, IBV_ACCESS_LOCAL_WRITE);
	uint32_t lkey;

	(void)state;
	assert_non_null(m);
	lkey = m->lkey;
	assert_int_equal(ibv_rereg_mr(m, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, buf + 8192, 100, 0),
			 0);
	assert_true(m->addr == buf + 8192 && m->length == 100);
	assert_int_not_equal(m->lkey, lkey);
	/* A refused change leaves the region as it is. */
	assert_int_equal(
	    ibv_rereg_mr(m, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE),
	    IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_rereg_mr(m, 0, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(ibv_dereg_mr(m), 0);
}

/* Keys that peers have been told stay good when only the rights or the PD change. */
static void rereg_mr__rights_and_pd_keep_the_keys(void **state)
{
	struct verbs_end a = end_new(IBV_QPT_RC, NULL, NULL), b = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_pd *other = ibv_alloc_pd(ctx);
	struct ibv_mr *m = ibv_reg_mr(other, buf, 4096, IBV_ACCESS_LOCAL_WRITE);
	uint32_t lkey = m->lkey, rkey = m->rkey;

	(void)state;
	verbs_connect(a.qp, b.qp, false);
	assert_int_equal(ibv_rereg_mr(m, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0), 0);
	assert_ptr_equal(m->pd, pd);
	assert_int_equal(ibv_dealloc_pd(other), 0);
	assert_int_equal(ibv_rereg_mr(m, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
			 0);
	assert_true(m->lkey == lkey && m->rkey == rkey);
	assert_true(m->addr == buf && m->length == 4096);
	memset(buf + 8192, 0x5a, 64);
	post_send(
	    a.qp,
	    (struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE, .wr.rdma = {(uintptr_t)buf, rkey}},
	    8192, 64);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
	assert_memory_equal(buf, buf + 8192, 64);
	/* ... and rights that are taken away are gone. */
	assert_int_equal(
	    ibv_rereg_mr(m, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE), 0);
	post_send(
	    a.qp,
	    (struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE, .wr.rdma = {(uintptr_t)buf, rkey}},
	    8192, 64);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(m), 0);
	end_free(&a);
	end_free(&b);
}

/* A call that fails, as ibv_rereg_mr(3) has it, says that the old region is still there. */
static void rereg_mr__refused(void **state)
{
	struct ibv_mr *m = ibv_reg_mr(pd, buf, 4096, IBV_ACCESS_LOCAL_WRITE);
	const struct {
		int flags;
		void *addr;
		size_t length;
		int access, err;
	} bad[] = {
	    {8, NULL, 0, 0, EINVAL},
	    {IBV_REREG_MR_CHANGE_PD, NULL, 0, 0, EINVAL},
	    {IBV_REREG_MR_CHANGE_TRANSLATION, NULL, 4096, 0, EINVAL},
	    {IBV_REREG_MR_CHANGE_TRANSLATION, buf, 0, 0, EINVAL},
	    {IBV_REREG_MR_CHANGE_TRANSLATION, buf, 8, IBV_ACCESS_LOCAL_WRITE, EINVAL},
	    {IBV_REREG_MR_CHANGE_TRANSLATION, (void *)64, 4096, 0, EFAULT},
	};
	struct ibv_mr before = *m;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		errno = 0;
		assert_int_equal(
		    ibv_rereg_mr(m, bad[i].flags, NULL, bad[i].addr, bad[i].length, bad[i].access),
		    IBV_REREG_MR_ERR_INPUT);
		assert_int_equal(errno, bad[i].err);
		assert_memory_equal(m, &before, sizeof before);
	}
	assert_int_equal(ibv_dereg_mr(m), 0);
}

/* An argument that no flag names is not looked at. ibv_rereg_mr(3) */
static void rereg_mr__of_what_flags_say(void **state)
{
	struct ibv_pd *own = ibv_alloc_pd(ctx), *other = ibv_alloc_pd(ctx);
	struct ibv_mr *m = ibv_reg_mr(own, buf, 4096, IBV_ACCESS_LOCAL_WRITE);

	(void)state;
	assert_int_equal(
	    ibv_rereg_mr(m, IBV_REREG_MR_CHANGE_ACCESS, other, buf + 64, 8, IBV_ACCESS_REMOTE_READ),
	    0);
	assert_ptr_equal(m->pd, own);
	assert_ptr_equal(m->addr, buf);
	assert_int_equal(m->length, 4096);
	assert_int_equal(ibv_dealloc_pd(own), EBUSY);
	assert_int_equal(ibv_rereg_mr(m, IBV_REREG_MR_CHANGE_TRANSLATION, other, buf + 64, 8, 0),
			 0);
	assert_ptr_equal(m->pd, own);
	assert_ptr_equal(m->addr, buf + 64);
	assert_int_equal(m->length, 8);
	assert_int_equal(ibv_rereg_mr(m, IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0), 0);
	assert_ptr_equal(m->pd, other);
	assert_int_equal(ibv_dealloc_pd(own), 0);
	assert_int_equal(ibv_dealloc_pd(other), EBUSY);
	assert_int_equal(ibv_dereg_mr(m), 0);
	assert_int_equal(ibv_dealloc_pd(other), 0);
}

/* The completion of a WRITE of @e to @addr by @rkey. */
static enum ibv_wc_status write_by(struct verbs_end *e, uint64_t addr, uint32_t rkey)
{
	post_send(e->qp, (struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE, .wr.rdma = {addr, rkey}},
		  8192, 8);
	return wc_next(e->cq).status;
}

/* A setting that no flag names stays as it was set last, also when that was by a re-registration.
 * ibv_rereg_mr(3) */
static void rereg_mr__keeps_what_was_set_last(void **state)
{
	static const struct {
		int access;
		enum ibv_wc_status status;
	} rows[] = {{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, IBV_WC_SUCCESS},
		    {IBV_ACCESS_LOCAL_WRITE, IBV_WC_REM_ACCESS_ERR}};
	struct ibv_mr *m = ibv_reg_mr(pd, buf, 4096, IBV_ACCESS_LOCAL_WRITE);

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint8_t *to = buf + 4096 * i;
		struct verbs_end a, b;

		ends_new(&a, &b);
		assert_int_equal(
		    ibv_rereg_mr(m, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, rows[i].access), 0);
		assert_int_equal(ibv_rereg_mr(m, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, to, 64, 0),
				 0);
		assert_int_equal(write_by(&a, (uintptr_t)to, m->rkey), rows[i].status);
		ends_free(&a, &b);
	}
	assert_int_equal(ibv_dereg_mr(m), 0);
}

/* A region with an address of its own, given or 0, has it still when its rights change. */
static void rereg_mr__keeps_the_iova(void **state)
{
	const int both = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	const uint64_t in_page = (uintptr_t)buf & 4095;
	struct verbs_end a, b;

	(void)state;
	ends_new(&a, &b);
	for (int is_zero_based = 0; is_zero_based < 2; is_zero_based++) {
		uint64_t iova = is_zero_based ? 0 : (UINT64_C(1) << 40) + in_page;
		int zero = is_zero_based ? IBV_ACCESS_ZERO_BASED : 0;
		struct ibv_mr *m = ibv_reg_mr_iova(pd, buf, 4096, iova + (zero ? in_page : 0),
						   IBV_ACCESS_LOCAL_WRITE | zero);
		const uint32_t rkey = m->rkey;

		assert_int_equal(
		    ibv_rereg_mr(m, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, both | zero), 0);
		assert_int_equal(m->rkey, rkey);
		buf[8192] = (uint8_t)(7 + zero);
		assert_int_equal(write_by(&a, iova + 100, rkey), IBV_WC_SUCCESS);
		assert_int_equal(buf[100], buf[8192]);
		/* It loses that with the same memory once more, which has the address it has. */
		assert_int_equal(
		    ibv_rereg_mr(m, IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS,
				 NULL, buf, 4096, both),
		    0);
		assert_int_equal(write_by(&a, (uintptr_t)buf + 100, m->rkey), IBV_WC_SUCCESS);
		assert_int_equal(ibv_dereg_mr(m), 0);
	}
	ends_free(&a, &b);
}

static void dealloc_pd__in_use(void **state)
{
	struct ibv_pd *other = ibv_alloc_pd(ctx);
	struct ibv_mr *m = ibv_reg_mr(other, buf, 8, 0);
	struct ibv_ah_attr attr = verbs_ah_attr(false);
	struct ibv_ah *ah = ibv_create_ah(other, &attr);

	(void)state;
	assert_non_null(ah);
	assert_int_equal(ibv_dealloc_pd(other), EBUSY);
	assert_int_equal(ibv_dereg_mr(m), 0);
	assert_int_equal(ibv_dealloc_pd(other), EBUSY);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_dealloc_pd(other), 0);
}

static void bind_window(struct verbs_end *e, struct ibv_mw *mw, uint64_t length)
{
	struct ibv_mw_bind b = {.wr_id = 7,
				.send_flags = IBV_SEND_SIGNALED,
				.bind_info = {.mr = mr,
					      .addr = (uintptr_t)buf,
					      .length = length,
					      .mw_access_flags = IBV_ACCESS_REMOTE_WRITE}};

	assert_int_equal(ibv_bind_mw(e->qp, mw, &b), 0);
	struct ibv_wc wc = wc_next(e->cq);

	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_BIND_MW);
}

/* A region cannot move from under a window: it is what it was, and nothing of the try is left in
 * its PD. */
static void rereg_mr__under_a_window(void **state)
{
	struct ibv_pd *const pd_was = pd;
	struct ibv_mr *const mr_was = mr;
	struct verbs_end a, b;
	struct ibv_mw *mw;
	uint32_t rkey;

	(void)state;
	pd = ibv_alloc_pd(ctx);
	mr = ibv_reg_mr(pd, buf, 8192, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	ends_new(&a, &b);
	bind_window(&a, mw, 4096);
	rkey = mr->rkey;
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, buf, 4096, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EBUSY);
	assert_true(mr->rkey == rkey && mr->length == 8192);
	ends_free(&a, &b);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	pd = pd_was;
	mr = mr_was;
}

static void mw__type_1_is_bound_and_written_through(void **state)
{
	struct verbs_end a = end_new(IBV_QPT_RC, NULL, NULL), b = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	uint32_t rkey = mw->rkey;

	(void)state;
	verbs_connect(a.qp, b.qp, false);
	bind_window(&b, mw, 4096);
	assert_int_not_equal(mw->rkey, rkey);
	assert_int_equal(ibv_dereg_mr(mr), EBUSY);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EBUSY);
	memset(buf + 8192, 0x5a, 64);
	post_send(a.qp,
		  (struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE,
				       .wr.rdma = {(uintptr_t)buf, mw->rkey}},
		  8192, 64);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
	assert_memory_equal(buf, buf + 8192, 64);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	end_free(&a);
	end_free(&b);
}

/* Each type has its own way to be bound. IBA o10-37.2.34, o10-36.2.2 */
static void mw__bound_the_wrong_way(void **state)
{
	struct verbs_end a = end_new(IBV_QPT_RC, NULL, NULL), b = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_mw *one = ibv_alloc_mw(pd, IBV_MW_TYPE_1),
		      *two = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_mw_bind_info info = {
	    .mr = mr, .addr = (uintptr_t)buf, .length = 64, .mw_access_flags = ALL_ACCESS & 0xe};
	struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW,
				 .bind_mw = {.mw = one, .rkey = one->rkey + 1, .bind_info = info}};
	struct ibv_mw_bind bind = {.bind_info = info};
	struct ibv_send_wr *bad = NULL;

	(void)state;
	verbs_connect(a.qp, b.qp, false);
	assert_int_equal(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	wr.bind_mw.mw = NULL;
	assert_int_equal(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	bind.bind_info.mw_access_flags |= IBV_ACCESS_ZERO_BASED;
	assert_int_equal(ibv_bind_mw(a.qp, one, &bind), EINVAL);
	/* Type 2 is bound by a work request, and then also from 0 on. */
	wr.bind_mw.mw = two;
	wr.bind_mw.rkey = ibv_inc_rkey(two->rkey);
	wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED;
	wr.send_flags = IBV_SEND_SIGNALED;
	assert_int_equal(ibv_post_send(b.qp, &wr, &bad), 0);
	assert_int_equal(wc_next(b.cq).status, IBV_WC_SUCCESS);
	memset(buf + 8192, 0x5a, 64);
	post_send(
	    a.qp,
	    (struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE, .wr.rdma = {0, wr.bind_mw.rkey}},
	    8192, 64);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_SUCCESS);
	assert_memory_equal(buf, buf + 8192, 64);
	assert_int_equal(ibv_dealloc_mw(one), 0);
	assert_int_equal(ibv_dealloc_mw(two), 0);
	end_free(&a);
	end_free(&b);
}

/*
 * The R_Key of a window of type 2 is the new one when the bind has been posted, and not when
 * posting fails. A bind that is posted and fails does not keep the next from binding it.
 * ibv_alloc_mw(3)
 */
static void mw__type_2_has_its_new_key_when_posted(void **state)
{
	struct verbs_end a = end_new(IBV_QPT_RC, NULL, NULL), b = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_mw_bind_info info = {.mr = mr,
					.addr = (uintptr_t)buf,
					.length = 64,
					.mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
	struct ibv_send_wr wr = {
	    .opcode = IBV_WR_BIND_MW,
	    .send_flags = IBV_SEND_SIGNALED,
	    .bind_mw = {.mw = mw, .rkey = ibv_inc_rkey(mw->rkey), .bind_info = info}};
	struct ibv_send_wr *bad;
	uint32_t rkey = mw->rkey;

	(void)state;
	assert_int_equal(ibv_post_send(a.qp, &wr, &bad), EINVAL); /* RESET */
	assert_int_equal(mw->rkey, rkey);
	verbs_connect(a.qp, b.qp, false);
	wr.bind_mw.bind_info.length = UINT32_MAX; /* more than the region has */
	assert_int_equal(ibv_post_send(a.qp, &wr, &bad), 0);
	assert_int_equal(mw->rkey, wr.bind_mw.rkey);
	assert_int_equal(wc_next(a.cq).status, IBV_WC_MW_BIND_ERR);
	wr.bind_mw.bind_info.length = 64;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	assert_int_equal(ibv_post_send(b.qp, &wr, &bad), 0);
	assert_int_equal(mw->rkey, wr.bind_mw.rkey);
	assert_int_not_equal(mw->rkey, rkey);
	assert_int_equal(wc_next(b.cq).status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	end_free(&a);
	end_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(reg_mr__unmapped),
	    VERBS_TEST(reg_mr__wraps),
	    VERBS_TEST(reg_mr__read_only),
	    VERBS_TEST(reg_mr__access_and_length),
	    VERBS_TEST(reg_mr__no_bytes),
	    VERBS_TEST(reg_mr__iova),
	    VERBS_TEST(reg_mr__huge),
	    VERBS_TEST(rereg_mr__changes_what_is_asked),
	    VERBS_TEST(rereg_mr__rights_and_pd_keep_the_keys),
	    VERBS_TEST(rereg_mr__refused),
	    VERBS_TEST(rereg_mr__of_what_flags_say),
	    VERBS_TEST(rereg_mr__keeps_what_was_set_last),
	    VERBS_TEST(rereg_mr__keeps_the_iova),
	    VERBS_TEST(dealloc_pd__in_use),
	    VERBS_TEST(rereg_mr__under_a_window),
	    VERBS_TEST(mw__type_1_is_bound_and_written_through),
	    VERBS_TEST(mw__bound_the_wrong_way),
	    VERBS_TEST(mw__type_2_has_its_new_key_when_posted),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
