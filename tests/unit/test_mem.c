/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection domains and regions: who may touch which byte. Each access is tried at the first and
 * the last byte it may have and one beyond. IBA 10.6, IBT-82, IBT-83
 */
#include "core_env.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static struct env env;

static void setup(void)
{
	env_config(&env);
	env_open(&env, 16);
}

static struct vb_mr *mr_new(struct vb_pd *pd, uint64_t iova, uint64_t length, uint32_t access)
{
	struct vb_mr_attr a = {.iova = iova, .length = length, .host = env.mem, .access = access};
	struct vb_mr *mr;

	assert_int_equal(vb_mr_create(pd, &a, &mr), 0);
	return mr;
}

static void mr_create__rights(void **state)
{
	struct vb_mr *mr;

	(void)state;
	setup();
	for (uint32_t access = 0; access < 32; access++) {
		struct vb_mr_attr a = {.iova = 64, .length = 8, .access = access};
		bool writes = access & (VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_ATOMIC);
		bool ok = !writes || (access & VB_ACCESS_LOCAL_WRITE);

		assert_int_equal(vb_mr_create(env.pd, &a, &mr), ok ? 0 : -EINVAL);
		assert_int_equal(vb_mr_modify(env.mr, env.pd, access), ok ? 0 : -EINVAL);
	}
	env_close(&env);
}

static void mr_create__range_wraps(void **state)
{
	struct vb_mr_attr a = {.iova = UINT64_MAX - 7, .length = 7};
	struct vb_mr *mr;

	(void)state;
	setup();
	assert_int_equal(vb_mr_create(env.pd, &a, &mr), 0);
	a.length = 8;
	assert_int_equal(vb_mr_create(env.pd, &a, &mr), -EINVAL);
	a.length = UINT64_MAX;
	assert_int_equal(vb_mr_create(env.pd, &a, &mr), -EINVAL);
	a.iova = 0;
	assert_int_equal(vb_mr_create(env.pd, &a, &mr), 0);
	env.hca->cfg.limits.mr_size = 100;
	a.length = 101;
	assert_int_equal(vb_mr_create(env.pd, &a, &mr), -EINVAL);

	struct vb_refusal why = vb_hca_take_refusal(env.hca);

	assert_int_equal(why.rule, VB_REFUSAL_MR_SIZE);
	assert_int_equal(why.value, 101);
	assert_int_equal(why.bound, 100);
	a.length = 100;
	assert_int_equal(vb_mr_create(env.pd, &a, &mr), 0);
	env_close(&env);
}

/* Range checks of remote and local accesses, which must agree. */
static void access__bounds(void **state)
{
	const struct {
		uint64_t va;
		uint32_t len;
		bool ok;
	} c[] = {
	    {1000, 100, true},      {1000, 1, true},        {1099, 1, true},
	    {1050, 50, true},       {999, 1, false},        {999, 2, false},
	    {1000, 101, false},     {1100, 1, false},       {1099, 2, false},
	    {0, 1, false},          {0, UINT32_MAX, false}, {1001, UINT32_MAX, false},
	    {UINT64_MAX, 1, false}, {UINT64_MAX, 2, false}, {UINT64_MAX - 50, 1200, false},
	};
	struct vb_qp *qp;
	struct vb_mr *mr;

	(void)state;
	setup();
	mr = mr_new(env.pd, 1000, 100, ENV_ACCESS);
	qp = env_qp(&env, VB_QPT_RC, NULL);
	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
		struct vb_sge sge = {c[i].va, c[i].len, vb_mr_lkey(mr)};
		struct vb_seg seg[4];
		uint8_t *p;
		int rc = env_mem_remote(qp, vb_mr_rkey(mr), c[i].va, c[i].len,
					VB_ACCESS_REMOTE_WRITE, &p);

		assert_int_equal(rc, c[i].ok ? 0 : -EACCES);
		assert_ptr_equal(p, c[i].ok ? (uint8_t *)env.mem + (c[i].va - 1000) : NULL);
		assert_int_equal(vb_mem_check(env.pd, &sge, 1, VB_ACCESS_LOCAL_WRITE),
				 c[i].ok ? 0 : -EACCES);
		rc = vb_mem_gather(env.pd, &sge, 1, 0, 1, 0, seg, 4);
		assert_int_equal(rc, c[i].ok ? 1 : -EACCES);
	}
	env_close(&env);
}

static void access__rights(void **state)
{
	struct vb_qp *qp;

	(void)state;
	setup();
	qp = env_qp(&env, VB_QPT_RC, NULL);
	for (uint32_t have = 1; have < 16; have += 2) { /* all with LOCAL_WRITE */
		struct vb_mr *mr = mr_new(env.pd, 64, 8, have);

		for (uint32_t want = 1; want < 16; want <<= 1) {
			uint8_t *p;

			assert_int_equal(env_mem_remote(qp, vb_mr_rkey(mr), 64, 8, want, &p),
					 have & want ? 0 : -EACCES);
		}
		assert_int_equal(vb_mr_destroy(mr), 0);
	}

	struct vb_mr *ro = mr_new(env.pd, 64, 8, VB_ACCESS_REMOTE_READ);
	struct vb_sge sge = {64, 8, vb_mr_lkey(ro)};

	assert_int_equal(vb_mem_check(env.pd, &sge, 1, 0), 0); /* to send from it */
	assert_int_equal(vb_mem_check(env.pd, &sge, 1, VB_ACCESS_LOCAL_WRITE), -EACCES);
	assert_int_equal(vb_mem_scatter(env.pd, &sge, 1, 0, "12345678", 8), -EACCES);
	env_close(&env);
}

/* IBT-82 */
static void access__other_domain(void **state)
{
	struct vb_pd *other;
	struct vb_qp *qp;
	struct vb_mr *mr;
	uint8_t *p;

	(void)state;
	setup();
	assert_int_equal(vb_pd_create(env.hca, &other), 0);
	qp = env_qp(&env, VB_QPT_RC, NULL);
	mr = mr_new(other, 64, 8, ENV_ACCESS);

	struct vb_sge sge = {64, 8, vb_mr_lkey(mr)};

	assert_int_equal(vb_mem_check(env.pd, &sge, 1, 0), -EACCES);
	assert_int_equal(env_mem_remote(qp, vb_mr_rkey(mr), 64, 8, VB_ACCESS_REMOTE_READ, &p),
			 -EACCES);
	/* Moved to the QP's domain it serves it, and its old domain is free. */
	assert_int_equal(vb_pd_destroy(other), -EBUSY);
	assert_int_equal(vb_mr_modify(mr, env.pd, ENV_ACCESS), 0);
	assert_int_equal(env_mem_remote(qp, vb_mr_rkey(mr), 64, 8, VB_ACCESS_REMOTE_READ, &p), 0);
	assert_int_equal(vb_pd_destroy(other), 0);
	/* Rights change at once. */
	assert_int_equal(vb_mr_modify(mr, env.pd, VB_ACCESS_LOCAL_WRITE), 0);
	assert_int_equal(env_mem_remote(qp, vb_mr_rkey(mr), 64, 8, VB_ACCESS_REMOTE_READ, &p),
			 -EACCES);
	env_close(&env);
}

/* An SGE without bytes touches no memory, whatever its key and address. IBA 11.4.1.1 */
static void gather__empty_sges(void **state)
{
	struct vb_seg seg[8];

	(void)state;
	setup();

	struct vb_sge sge[] = {{0, 0, 0},
			       env_sge(&env, 8, 3),
			       {UINT64_MAX, 0, 0xdead00},
			       env_sge(&env, 100, 5),
			       {1, 0, 1}};

	assert_int_equal(vb_mem_check(env.pd, sge, 5, VB_ACCESS_LOCAL_WRITE), 0);
	assert_int_equal(vb_mem_gather(env.pd, sge, 5, 0, 8, 0, seg, 8), 2);
	assert_ptr_equal(seg[0].p, (uint8_t *)env.mem + 8);
	assert_int_equal(seg[0].len, 3);
	assert_ptr_equal(seg[1].p, (uint8_t *)env.mem + 100);
	assert_int_equal(seg[1].len, 5);
	/* Every offset and length, against the sum of the parts. */
	for (uint32_t off = 0; off <= 9; off++) {
		for (uint32_t len = 0; len + off <= 9; len++) {
			int n = vb_mem_gather(env.pd, sge, 5, off, len, 0, seg, 8);
			uint32_t sum = 0;

			if (off + len > 8 && len) {
				assert_int_equal(n, -EMSGSIZE);
				continue;
			}
			for (int i = 0; i < n; i++)
				sum += seg[i].len;
			assert_int_equal(sum, len);
		}
	}
	assert_int_equal(vb_mem_gather(env.pd, NULL, 0, 0, 0, 0, seg, 8), 0);
	env_close(&env);
}

/* Nothing is written when any part of the list may not be. */
static void scatter__all_or_nothing(void **state)
{
	(void)state;
	setup();

	struct vb_sge sge[] = {env_sge(&env, 0, 4), env_sge(&env, ENV_MEM - 1, 2)};

	assert_int_equal(vb_mem_scatter(env.pd, sge, 2, 0, "abcdef", 6), -EACCES);
	assert_int_equal(env.mem[0], 0);
	sge[1].length = 1;
	assert_int_equal(vb_mem_scatter(env.pd, sge, 2, 0, "abcdef", 5), 0);
	assert_memory_equal(env.mem, "abcd", 4);
	assert_int_equal(((char *)env.mem)[ENV_MEM - 1], 'e');
	assert_int_equal(vb_mem_scatter(env.pd, sge, 2, 3, "xy", 2), 0); /* across the border */
	assert_memory_equal(env.mem, "abcx", 4);
	assert_int_equal(((char *)env.mem)[ENV_MEM - 1], 'y');
	env_close(&env);
}

/* Bytes are read back from memory that may be written; a region without bytes has none. */
static void read_back__needs_bytes(void **state)
{
	struct vb_mr_attr none = {.kind = VB_MR_NULL, .access = VB_ACCESS_LOCAL_WRITE};
	struct vb_mr *mr, *fixed, *empty;
	uint8_t to[8] = {0};

	(void)state;
	setup();
	mr = mr_new(env.pd, 1000, 100, VB_ACCESS_LOCAL_WRITE);
	fixed = mr_new(env.pd, 1000, 100, 0);
	assert_int_equal(vb_mr_create(env.pd, &none, &empty), 0);
	memcpy(env.mem, "0123456789", 10);

	struct vb_sge sge[] = {{1004, 3, vb_mr_lkey(mr)}, {1000, 3, vb_mr_lkey(mr)}};

	assert_int_equal(vb_mem_read_back(env.pd, sge, 2, to, 5), 0);
	assert_memory_equal(to, "45601\0", 6);
	assert_int_equal(vb_mem_read_back(env.pd, sge, 2, to, 7), -EMSGSIZE);
	sge[1].lkey = vb_mr_lkey(fixed);
	assert_int_equal(vb_mem_read_back(env.pd, sge, 2, to, 5), -EACCES);
	sge[1].lkey = vb_mr_lkey(empty);
	assert_int_equal(vb_mem_read_back(env.pd, sge, 2, to, 5), -EFAULT);
	env_close(&env);
}

/* Keys of memory that its owner has taken back name nothing, whatever is asked of them. */
static void access__taken_back(void **state)
{
	uint32_t lease = 7;
	struct vb_mr_attr a = {.iova = 1000,
			       .length = 100,
			       .host = env.mem,
			       .access = ENV_ACCESS | VB_ACCESS_ON_DEMAND,
			       .lease = &lease,
			       .leased = 7};
	struct vb_seg seg[1];
	struct vb_mr *mr;
	struct vb_mw *mw;
	struct vb_qp *qp;
	uint8_t *p;
	void *at;

	(void)state;
	setup();
	a.host = env.mem;
	qp = env_qp(&env, VB_QPT_RC, NULL);
	assert_int_equal(vb_mr_create(env.pd, &a, &mr), 0);
	assert_int_equal(vb_mw_create(env.pd, 1, &mw), 0);

	struct vb_sge sge = {1000, 100, vb_mr_lkey(mr)};
	struct vb_mw_bind bind = {.rkey = vb_mw_rkey(mw),
				  .lkey = vb_mr_lkey(mr),
				  .addr = 1000,
				  .length = 100,
				  .access = VB_ACCESS_REMOTE_READ};

	assert_int_equal(vb_mw_bind(qp->pd, qp->qpn, &bind), VB_WC_SUCCESS);
	for (int err = 0; err != -2 * EACCES; err -= EACCES) {
		const uint32_t rkey[] = {vb_mr_rkey(mr), vb_mw_rkey(mw)};

		for (int i = 0; i < 2; i++) {
			assert_int_equal(
			    env_mem_remote(qp, rkey[i], 1000, 8, VB_ACCESS_REMOTE_READ, &p), err);
			assert_int_equal(
			    env_mem_is_remote(qp, rkey[i], 1000, 8, VB_ACCESS_REMOTE_READ, true),
			    err == 0);
		}
		assert_int_equal(vb_mem_check(env.pd, &sge, 1, VB_ACCESS_LOCAL_WRITE), err);
		assert_int_equal(vb_mem_gather(env.pd, &sge, 1, 0, 8, 0, seg, 1), err ? err : 1);
		assert_int_equal(vb_mem_scatter(env.pd, &sge, 1, 0, "12345678", 8), err);
		assert_int_equal(vb_mr_locate(env.pd, &sge, true, &at), err ? -EFAULT : 0);
		lease = 8;
	}
	bind.rkey = vb_mw_rkey(mw);
	assert_int_equal(vb_mw_bind(qp->pd, qp->qpn, &bind), VB_WC_MW_BIND_ERR);
	env_close(&env);
}

static size_t paged_in;

static int note_page_in(void *ctx, void *p, size_t len, bool write)
{
	(void)p;
	paged_in = len;
	*(int *)ctx = write;
	return 0;
}

/* Pages of a region on demand are brought in for what is done with them: those that are written
 * must be fit for that, those that are read need not. */
static void access__pages_in_for_writing(void **state)
{
	struct vb_sge sge = {1000, 8, 0};
	struct vb_seg seg;
	struct vb_qp *qp;
	struct vb_mr *mr;
	uint8_t *p;
	int write = -1;

	(void)state;
	env_config(&env);
	env.cfg.page_in = note_page_in;
	env.cfg.page_in_ctx = &write;
	env_open(&env, 16);
	qp = env_qp(&env, VB_QPT_RC, NULL);
	mr = mr_new(env.pd, 1000, 8, ENV_ACCESS | VB_ACCESS_ON_DEMAND);
	sge.lkey = vb_mr_lkey(mr);
	assert_int_equal(vb_mem_scatter(env.pd, &sge, 1, 0, "12345678", 8), 0);
	assert_int_equal(write, 1);
	assert_int_equal(vb_mem_gather(env.pd, &sge, 1, 0, 8, 0, &seg, 1), 1);
	assert_int_equal(write, 0);
	assert_int_equal(env_mem_remote(qp, vb_mr_rkey(mr), 1000, 8, VB_ACCESS_REMOTE_WRITE, &p),
			 0);
	assert_int_equal(write, 1);
	/* No bytes need no page. */
	paged_in = 99;
	assert_int_equal(env_mem_remote(qp, vb_mr_rkey(mr), 1008, 0, VB_ACCESS_REMOTE_WRITE, &p),
			 0);
	assert_int_equal(paged_in, 99);
	assert_int_equal(env_mem_remote(qp, vb_mr_rkey(mr), 1000, 8, VB_ACCESS_REMOTE_READ, &p), 0);
	assert_int_equal(write, 0);
	assert_int_equal(paged_in, 8);
	/* Of a long READ as much as its first packet can need: the rest may stay out. */
	mr = mr_new(env.pd, 1000, 1 << 16, ENV_ACCESS | VB_ACCESS_ON_DEMAND);
	assert_int_equal(
	    env_mem_remote(qp, vb_mr_rkey(mr), 1000, 1 << 16, VB_ACCESS_REMOTE_READ, &p), 0);
	assert_int_equal(paged_in, 4096);
	env_close(&env);
}

/* A domain that is used stays. */
static void pd_destroy__in_use(void **state)
{
	struct vb_srq *srq;
	struct vb_pd *pd;
	struct vb_mw *mw;

	(void)state;
	setup();
	assert_int_equal(vb_pd_create(env.hca, &pd), 0);
	assert_int_equal(vb_srq_create(pd, 4, 1, 0, NULL, &srq), 0);
	assert_int_equal(vb_pd_destroy(pd), -EBUSY);
	assert_int_equal(vb_srq_destroy(srq), 0);
	assert_int_equal(vb_mw_create(pd, 2, &mw), 0);
	assert_int_equal(vb_pd_destroy(pd), -EBUSY);
	assert_int_equal(vb_mw_destroy(mw), 0);
	assert_int_equal(vb_pd_destroy(pd), 0);
	/* The limit counts those that are there. */
	env.hca->cfg.limits.pd = 2;
	assert_int_equal(vb_pd_create(env.hca, &pd), 0);
	assert_int_equal(vb_pd_create(env.hca, &(struct vb_pd *){NULL}), -ENOMEM);
	/* Told once. */
	assert_int_equal(vb_hca_take_refusal(env.hca).rule, VB_REFUSAL_FULL);
	assert_int_equal(vb_hca_take_refusal(env.hca).rule, VB_REFUSAL_NONE);
	assert_int_equal(vb_pd_destroy(pd), 0);
	assert_int_equal(vb_pd_create(env.hca, &pd), 0);
	env_close(&env);
}

static sigjmp_buf back;

static void on_fault(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

static int stop_at_fault(void (*f)(void *arg), void *arg)
{
	if (sigsetjmp(back, 1))
		return -EFAULT;
	f(arg);
	return 0;
}

/* Memory that a link copies later is looked at on each page, the first and the last as well. */
static void touch__each_page(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct sigaction fault = {.sa_handler = on_fault}, was;
	uint8_t *p = mmap(NULL, 4 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *from = p + 100;

	(void)state;
	assert_ptr_not_equal(p, MAP_FAILED);
	setup();
	env.hca->cfg.guard = stop_at_fault;
	assert_int_equal(sigaction(SIGSEGV, &fault, &was), 0);
	/* Its last byte is the first of the third page; the fourth is not its own. */
	for (size_t k = 0; k < 4; k++) {
		assert_int_equal(mprotect(p + k * page, page, PROT_NONE), 0);
		assert_int_equal(vb_mem_touch(env.hca, from, 2 * page - 99), k < 3 ? -EFAULT : 0);
		assert_int_equal(mprotect(p + k * page, page, PROT_READ), 0);
	}
	assert_int_equal(sigaction(SIGSEGV, &was, NULL), 0);
	munmap(p, 4 * page);
	env_close(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(mr_create__rights),
	    cmocka_unit_test(mr_create__range_wraps),
	    cmocka_unit_test(access__bounds),
	    cmocka_unit_test(access__rights),
	    cmocka_unit_test(access__other_domain),
	    cmocka_unit_test(gather__empty_sges),
	    cmocka_unit_test(scatter__all_or_nothing),
	    cmocka_unit_test(pd_destroy__in_use),
	    cmocka_unit_test(access__taken_back),
	    cmocka_unit_test(read_back__needs_bytes),
	    cmocka_unit_test(access__pages_in_for_writing),
	    cmocka_unit_test(touch__each_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
