/* SPDX-License-Identifier: BSD-2-Clause */
/* Regions of what a descriptor stands for: memfds, and dma-bufs where the kernel has udmabuf. */
#include "verbs_env.h"

#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define PAGE 4096u
#define RIGHTS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_RELAXED_ORDERING)
#define IOVA 0x7000000000000000

static struct verbs_end a, b;

static int memory_fd(size_t pages, unsigned flags)
{
	int fd = memfd_create("dmabuf", MFD_CLOEXEC | flags);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)(pages * PAGE)), 0);
	return fd;
}

static uint8_t *map(int fd, size_t pages)
{
	void *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

/* Posts @op between @len bytes of buf at 0 and @iova of @m; gives its completion. */
static enum ibv_wc_status run(enum ibv_wr_opcode op, const struct ibv_mr *m, uint64_t iova,
			      uint32_t len)
{
	struct ibv_sge sge = {.addr = (uintptr_t)buf, .length = len, .lkey = mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = op,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {iova, m->rkey}},
			   *bad;

	assert_int_equal(ibv_post_send(a.qp, &wr, &bad), 0);
	return wc_next(a.cq).status;
}

/* Writes and reads what begins at 100 of page 1 of @fd, and looks at it through @p. */
static void data_goes_both_ways(int fd, uint8_t *p)
{
	struct ibv_mr *m = ibv_reg_dmabuf_mr(pd, PAGE + 100, PAGE, IOVA + 100, fd, RIGHTS);

	assert_non_null(m);
	assert_int_equal((uintptr_t)m->addr, PAGE + 100);
	assert_int_equal(m->length, PAGE);
	ends_new(&a, &b);
	memset(buf, 0x5a, PAGE);
	assert_int_equal(run(IBV_WR_RDMA_WRITE, m, IOVA + 100, PAGE), IBV_WC_SUCCESS);
	assert_memory_equal(p + PAGE + 100, buf, PAGE);
	assert_int_equal(p[PAGE + 99], 0);
	assert_int_equal(p[2 * PAGE + 100], 0);
	memset(p + PAGE + 100, 0xa5, PAGE);
	assert_int_equal(run(IBV_WR_RDMA_READ, m, IOVA + 100, PAGE), IBV_WC_SUCCESS);
	assert_memory_equal(p + PAGE + 100, buf, PAGE);
	/* One byte beyond. */
	assert_int_equal(run(IBV_WR_RDMA_WRITE, m, IOVA + 101, PAGE), IBV_WC_REM_ACCESS_ERR);
	ends_free(&a, &b);
	assert_int_equal(ibv_dereg_mr(m), 0);
}

static void reg_dmabuf__memfd(void **state)
{
	/* One that cannot be sealed, and one that could be and is not. */
	static const unsigned flags[] = {0, MFD_ALLOW_SEALING};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		int fd = memory_fd(4, flags[i]);
		uint8_t *p = map(fd, 4);

		data_goes_both_ways(fd, p);
		munmap(p, 4 * PAGE);
		close(fd);
	}
}

static void reg_dmabuf__dmabuf(void **state)
{
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd = memory_fd(4, MFD_ALLOW_SEALING);
	struct udmabuf_create c = {
	    .memfd = (uint32_t)fd, .flags = UDMABUF_FLAGS_CLOEXEC, .size = 4 * PAGE};

	(void)state;
	/* Only a kernel with CONFIG_UDMABUF makes dma-bufs without a device for them. */
	if (dev < 0) {
		close(fd);
		skip();
	}
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	int dmabuf = ioctl(dev, UDMABUF_CREATE, &c);
	uint8_t *p = map(fd, 4);

	assert_true(dmabuf >= 0);
	data_goes_both_ways(dmabuf, p);
	assert_null(ibv_reg_dmabuf_mr(pd, 3 * PAGE, PAGE + 1, 0, dmabuf, RIGHTS));
	assert_int_equal(errno, EINVAL);
	munmap(p, 4 * PAGE);
	close(dmabuf);
	close(fd);
	close(dev);
}

/* The region has the memory, whatever becomes of the descriptor; until somebody truncates it. */
static void reg_dmabuf__outlives_the_descriptor(void **state)
{
	int fd = memory_fd(4, 0), other = dup(fd);
	struct ibv_mr *m = ibv_reg_dmabuf_mr(pd, 0, 4 * PAGE, 0, fd, RIGHTS);

	(void)state;
	assert_non_null(m);
	close(fd);
	ends_new(&a, &b);
	assert_int_equal(run(IBV_WR_RDMA_WRITE, m, 0, 4 * PAGE), IBV_WC_SUCCESS);
	assert_int_equal(ftruncate(other, PAGE), 0);
	assert_int_equal(run(IBV_WR_RDMA_WRITE, m, 0, PAGE), IBV_WC_SUCCESS);
	assert_int_equal(run(IBV_WR_RDMA_WRITE, m, 0, 2 * PAGE), IBV_WC_REM_ACCESS_ERR);
	ends_free(&a, &b);
	assert_int_equal(ibv_rereg_mr(m, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(ibv_dereg_mr(m), 0);
	close(other);
}

static void assert_refused(uint64_t offset, size_t length, uint64_t iova, int fd, int access,
			   int err)
{
	errno = 0;
	assert_null(ibv_reg_dmabuf_mr(pd, offset, length, iova, fd, access));
	assert_int_equal(errno, err);
}

static void reg_dmabuf__refused(void **state)
{
	int fd = memory_fd(2, MFD_ALLOW_SEALING), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct ibv_mr *m;

	(void)state;
	assert_refused(0, PAGE, 0, -1, RIGHTS, EBADF);
	assert_refused(0, PAGE, 0, null, RIGHTS, EINVAL);
	assert_refused(0, 0, 0, fd, RIGHTS, EINVAL);
	assert_refused(0, 2 * PAGE + 1, 0, fd, RIGHTS, EINVAL);
	assert_refused(2 * PAGE, 1, 0, fd, RIGHTS, EINVAL);
	assert_refused(1, SIZE_MAX, 1, fd, RIGHTS, EINVAL);
	assert_refused(UINT64_MAX - PAGE + 1, PAGE, 0, fd, RIGHTS, EINVAL);
	assert_refused(8, 8, 16, fd, RIGHTS, EINVAL);
	assert_refused(0, 8, 0, fd, IBV_ACCESS_REMOTE_WRITE, EINVAL);
	assert_refused(0, 8, 0, fd, RIGHTS | IBV_ACCESS_ON_DEMAND, EINVAL);
	assert_refused(0, 8, 0, fd, RIGHTS | IBV_ACCESS_MW_BIND, EINVAL);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
	assert_refused(0, 8, 0, fd, RIGHTS, EPERM);
	m = ibv_reg_dmabuf_mr(pd, 0, 8, 0, fd, IBV_ACCESS_REMOTE_READ);
	assert_non_null(m);
	assert_int_equal(ibv_dereg_mr(m), 0);
	close(fd);
	close(null);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(reg_dmabuf__memfd),
	    VERBS_TEST(reg_dmabuf__dmabuf),
	    VERBS_TEST(reg_dmabuf__outlives_the_descriptor),
	    VERBS_TEST(reg_dmabuf__refused),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
