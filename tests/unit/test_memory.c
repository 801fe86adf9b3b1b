/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared memory as other processes hand it over: what is mapped is as long as it says, and stays
 * so. memfd_create(2), fcntl(2) F_ADD_SEALS */
#include "cmocka_env.h"
#include "link/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define SIZE 8192

static int sealed(int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, SIZE), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

/* Memory that its maker can cut off would be a SIGBUS for us. */
static void map__what_can_shrink_or_grow(void **state)
{
	static const int seals[] = {0, F_SEAL_SHRINK, F_SEAL_GROW};
	void *p = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof seals / sizeof seals[0]; i++) {
		int fd = sealed(seals[i]);

		assert_int_equal(vb_memory_map(fd, SIZE, true, &p), -EINVAL);
		assert_int_equal(vb_memory_map_ring(fd, 4096, SIZE - 4096, &p), -EINVAL);
		assert_null(p);
		close(fd);
	}
}

static void map__of_another_length(void **state)
{
	int fd = vb_memory_create("test", SIZE);
	void *p = NULL;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(vb_memory_map(fd, SIZE - 1, true, &p), -EINVAL);
	assert_int_equal(vb_memory_map(fd, SIZE + 1, true, &p), -EINVAL);
	assert_int_equal(vb_memory_map(fd, SIZE, true, &p), 0);
	vb_memory_unmap(p, SIZE);
	close(fd);
}

/* Whether the kernel may write to @p: a read into it says so. */
static bool is_writable(void *p)
{
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(zero, p, 1);

	assert_true(zero >= 0 && (n == 1 || errno == EFAULT));
	close(zero);
	return n == 1;
}

static void protect__no_more_writes(void **state)
{
	int fd = vb_memory_create("test", SIZE);
	void *p;

	(void)state;
	assert_int_equal(vb_memory_map(fd, SIZE, true, &p), 0);
	assert_true(is_writable(p));
	assert_int_equal(vb_memory_protect(p, SIZE), 0);
	assert_false(is_writable(p));
	vb_memory_unmap(p, SIZE);
	assert_int_equal(vb_memory_map(fd, SIZE, false, &p), 0);
	assert_false(is_writable(p));
	vb_memory_unmap(p, SIZE);
	close(fd);
}

/* A limit of file sizes is an error. It would be a signal (SIGXFSZ), which ends the program. */
static void create__larger_than_a_file_may_be(void **state)
{
	struct rlimit was, least;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	least = was;
	least.rlim_cur = SIZE - 1;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &least), 0);
	int fd = vb_memory_create("test", SIZE);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(fd, -EFBIG);
	least.rlim_cur = SIZE;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &least), 0);
	fd = vb_memory_create("test", SIZE);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(map__what_can_shrink_or_grow),
	    cmocka_unit_test(map__of_another_length),
	    cmocka_unit_test(protect__no_more_writes),
	    cmocka_unit_test(create__larger_than_a_file_may_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
