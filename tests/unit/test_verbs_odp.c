/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regions on demand: memory that comes, goes, or was never there gives the error of a key's bounds
 * and never a signal; prefetching; the null region. ibv_reg_mr(3), ibv_advise_mr(3)
 */
#include "verbs_env.h"

#include <sys/mman.h>

#define PAGE 4096u
#define ODP (ALL_ACCESS | IBV_ACCESS_ON_DEMAND)

static struct verbs_end a, b;

static uint8_t *pages(size_t cnt, int prot)
{
	void *p = mmap(NULL, cnt * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

/*
 * Takes memory away. No page that could be reached stays, but the addresses stay taken: what
 * another thread, or a sanitizer, maps meanwhile must not come to lie there.
 */
static void take_away(uint8_t *p, size_t cnt)
{
	assert_true(mmap(p, cnt * PAGE, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == p);
}

/* Posts @wr with one SGE and gives its completion. */
static enum ibv_wc_status run(struct ibv_send_wr wr, void *p, uint32_t len, uint32_t lkey)
{
	struct ibv_sge sge = {.addr = (uintptr_t)p, .length = len, .lkey = lkey};
	struct ibv_send_wr *bad;

	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_SIGNALED;
	assert_int_equal(ibv_post_send(a.qp, &wr, &bad), 0);
	return wc_next(a.cq).status;
}

static struct ibv_send_wr rdma(enum ibv_wr_opcode op, void *p, const struct ibv_mr *m)
{
	return (struct ibv_send_wr){.opcode = op, .wr.rdma = {(uintptr_t)p, m->rkey}};
}

static void odp__memory_may_come_later(void **state)
{
	uint8_t *p = pages(4, PROT_READ | PROT_WRITE);
	struct ibv_mr *m;

	(void)state;
	ends_new(&a, &b);
	take_away(p, 4);
	m = ibv_reg_mr(pd, p, 4 * PAGE, ODP);
	assert_non_null(m);
	assert_true(mmap(p, 4 * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p);
	memset(buf, 7, 3 * PAGE);
	assert_int_equal(run(rdma(IBV_WR_RDMA_WRITE, p, m), buf, 3 * PAGE, mr->lkey),
			 IBV_WC_SUCCESS);
	assert_memory_equal(p, buf, 3 * PAGE);
	assert_int_equal(run(rdma(IBV_WR_RDMA_READ, p, m), p + 3 * PAGE, PAGE, m->lkey),
			 IBV_WC_SUCCESS);
	assert_memory_equal(p + 3 * PAGE, buf, PAGE);
	ends_free(&a, &b);
	assert_int_equal(ibv_dereg_mr(m), 0);
	munmap(p, 4 * PAGE);
}

/* A hole is out of bounds for the peer, and a protection error for one's own work. */
static void odp__hole_is_an_error(void **state)
{
	uint8_t *p = pages(3, PROT_READ | PROT_WRITE);
	struct ibv_mr *m = ibv_reg_mr(pd, p, 3 * PAGE, ODP);
	static const struct {
		enum ibv_wr_opcode op;
		bool local; /* the hole is at the requester */
		enum ibv_wc_status status;
	} c[] = {
	    {IBV_WR_RDMA_WRITE, false, IBV_WC_REM_ACCESS_ERR},
	    {IBV_WR_RDMA_READ, false, IBV_WC_REM_ACCESS_ERR},
	    {IBV_WR_RDMA_WRITE, true, IBV_WC_LOC_PROT_ERR},
	    {IBV_WR_RDMA_READ, true, IBV_WC_LOC_PROT_ERR},
	};

	(void)state;
	assert_non_null(m);
	take_away(p + PAGE, 1);
	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
		ends_new(&a, &b);
		if (c[i].local)
			assert_int_equal(run(rdma(c[i].op, buf, mr), p, 2 * PAGE, m->lkey),
					 c[i].status);
		else
			assert_int_equal(run(rdma(c[i].op, p, m), buf, 2 * PAGE, mr->lkey),
					 c[i].status);
		ends_free(&a, &b);
	}
	assert_int_equal(ibv_dereg_mr(m), 0);
	munmap(p, 3 * PAGE);
}

static void odp__read_only_memory_is_not_written(void **state)
{
	uint8_t *p = pages(1, PROT_READ);
	struct ibv_mr *m = ibv_reg_mr(pd, p, PAGE, ODP);
	struct ibv_send_wr add = {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				  .wr.atomic = {.remote_addr = (uintptr_t)p, .compare_add = 1}};

	(void)state;
	assert_non_null(m);
	ends_new(&a, &b);
	assert_int_equal(run(rdma(IBV_WR_RDMA_READ, p, m), buf, 8, mr->lkey), IBV_WC_SUCCESS);
	add.wr.atomic.rkey = m->rkey;
	assert_int_equal(run(add, buf, 8, mr->lkey), IBV_WC_REM_ACCESS_ERR);
	ends_free(&a, &b);
	assert_int_equal(ibv_dereg_mr(m), 0);
	munmap(p, PAGE);
}

static void odp__receive_into_a_hole(void **state)
{
	uint8_t *p = pages(1, PROT_READ | PROT_WRITE);
	struct ibv_mr *m = ibv_reg_mr(pd, p, PAGE, ODP);
	struct ibv_sge sge = {.addr = (uintptr_t)p, .length = 64, .lkey = m->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	(void)state;
	ends_new(&a, &b);
	assert_int_equal(ibv_post_recv(b.qp, &wr, &bad), 0);
	take_away(p, 1);
	assert_int_equal(run((struct ibv_send_wr){.opcode = IBV_WR_SEND}, buf, 64, mr->lkey),
			 IBV_WC_REM_OP_ERR);
	assert_int_equal(wc_next(b.cq).status, IBV_WC_LOC_PROT_ERR);
	ends_free(&a, &b);
	assert_int_equal(ibv_dereg_mr(m), 0);
	munmap(p, PAGE);
}

/* All of the address space is one region. */
static void odp__implicit(void **state)
{
	uint8_t *p = pages(2, PROT_READ | PROT_WRITE);
	struct ibv_mr *m = ibv_reg_mr(pd, NULL, SIZE_MAX, ODP);

	(void)state;
	assert_non_null(m);
	ends_new(&a, &b);
	memset(buf, 9, 64);
	assert_int_equal(run(rdma(IBV_WR_RDMA_WRITE, p, m), buf, 64, m->lkey), IBV_WC_SUCCESS);
	assert_memory_equal(p, buf, 64);
	take_away(p, 1);
	assert_int_equal(run(rdma(IBV_WR_RDMA_WRITE, p, m), buf, 64, m->lkey),
			 IBV_WC_REM_ACCESS_ERR);
	ends_free(&a, &b);
	/* Address 0 is no memory either, nor are the kernel's addresses. */
	ends_new(&a, &b);
	assert_int_equal(run(rdma(IBV_WR_RDMA_WRITE, NULL, m), buf, 64, m->lkey),
			 IBV_WC_REM_ACCESS_ERR);
	ends_free(&a, &b);
	ends_new(&a, &b);
	assert_int_equal(
	    run(rdma(IBV_WR_RDMA_READ, (void *)(UINTPTR_MAX - 127), m), buf, 64, m->lkey),
	    IBV_WC_REM_ACCESS_ERR);
	ends_free(&a, &b);
	assert_int_equal(ibv_dereg_mr(m), 0);
	assert_null(ibv_reg_mr_iova(pd, NULL, SIZE_MAX, PAGE, ODP));
	assert_int_equal(errno, EINVAL);
	munmap(p, 2 * PAGE);
}

static void advise_mr__prefetches_and_refuses(void **state)
{
	uint8_t *p = pages(2, PROT_READ | PROT_WRITE);
	struct ibv_mr *m = ibv_reg_mr(pd, p, 2 * PAGE, ODP);
	struct ibv_mr *ro = ibv_reg_mr(pd, p, 2 * PAGE, IBV_ACCESS_ON_DEMAND);
	struct ibv_pd *other = ibv_alloc_pd(ctx);
	struct ibv_sge sge = {.addr = (uintptr_t)p, .length = 2 * PAGE, .lkey = m->lkey};
	enum ibv_advise_mr_advice write = IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	uint8_t there[2];

	(void)state;
	assert_int_equal(mincore(p, 2 * PAGE, there), 0);
	assert_int_equal(there[0] & 1, 0);
	assert_int_equal(ibv_advise_mr(pd, write, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1), 0);
	assert_int_equal(mincore(p, 2 * PAGE, there), 0);
	assert_int_equal(there[0] & there[1] & 1, 1);
	assert_int_equal(ibv_advise_mr(pd, (enum ibv_advise_mr_advice)77, 0, &sge, 1), ENOTSUP);
	assert_int_equal(ibv_advise_mr(pd, write, 2, &sge, 1), EINVAL);
	assert_int_equal(ibv_advise_mr(pd, write, 0, &sge, 0), EINVAL);
	assert_int_equal(ibv_advise_mr(other, write, 0, &sge, 1), EPERM);
	take_away(p + PAGE, 1);
	assert_int_equal(ibv_advise_mr(pd, write, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1), EFAULT);
	assert_int_equal(ibv_advise_mr(pd, write, 0, &sge, 1), 0);
	assert_int_equal(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
				       IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1),
			 0);
	sge.length++;
	assert_int_equal(ibv_advise_mr(pd, write, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1), EFAULT);
	/* A key that there is not is an error at once, whatever the flags. */
	sge.lkey = m->lkey ^ 0xffffff00;
	assert_int_equal(ibv_advise_mr(pd, write, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1), EFAULT);
	assert_int_equal(ibv_advise_mr(pd, write, 0, &sge, 1), EFAULT);
	sge = (struct ibv_sge){.addr = (uintptr_t)p, .length = 1, .lkey = ro->lkey};
	assert_int_equal(ibv_advise_mr(pd, write, 0, &sge, 1), EPERM);
	sge = (struct ibv_sge){.addr = (uintptr_t)buf, .length = 1, .lkey = mr->lkey};
	assert_int_equal(ibv_advise_mr(pd, write, 0, &sge, 1), EINVAL);
	assert_int_equal(ibv_dereg_mr(m), 0);
	assert_int_equal(ibv_dereg_mr(ro), 0);
	assert_int_equal(ibv_dealloc_pd(other), 0);
	munmap(p, 2 * PAGE);
}

/* ibv_alloc_null_mr(3): it gives zeros, drops what it is given, and no peer reaches it. */
static void null_mr__zeros_and_nothing(void **state)
{
	struct ibv_mr *null = ibv_alloc_null_mr(pd);

	(void)state;
	assert_non_null(null);
	assert_int_equal(null->rkey, 0);
	ends_new(&a, &b);
	memset(buf, 0xee, 8192);
	assert_int_equal(run(rdma(IBV_WR_RDMA_WRITE, buf, mr), (void *)123, 5000, null->lkey),
			 IBV_WC_SUCCESS);
	for (int i = 0; i < 5000; i++)
		assert_int_equal(buf[i], 0);
	assert_int_equal(buf[5000], 0xee);
	assert_int_equal(run(rdma(IBV_WR_RDMA_READ, buf, mr), NULL, 5000, null->lkey),
			 IBV_WC_SUCCESS);
	assert_int_equal(ibv_rereg_mr(null, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);

	struct ibv_mr as_rkey = {.rkey = null->lkey};

	assert_int_equal(run(rdma(IBV_WR_RDMA_READ, buf, &as_rkey), buf, 8, mr->lkey),
			 IBV_WC_REM_ACCESS_ERR);
	ends_free(&a, &b);
	assert_int_equal(ibv_dereg_mr(null), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(odp__memory_may_come_later),
	    VERBS_TEST(odp__hole_is_an_error),
	    VERBS_TEST(odp__read_only_memory_is_not_written),
	    VERBS_TEST(odp__receive_into_a_hole),
	    VERBS_TEST(odp__implicit),
	    VERBS_TEST(advise_mr__prefetches_and_refuses),
	    VERBS_TEST(null_mr__zeros_and_nothing),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
