/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory, or descriptors, run out where links are opened and groups joined, at each place where one
 * asks for some: the call says so, keeps no descriptor and no memory, and succeeds when it is made
 * again. The linker leads the calls of this program's own code to the functions here (ld(1)
 * --wrap).
 */
#include "shm_world.h"

#include "link/middle/fault.h"

#include <errno.h>
#include <sys/resource.h>

/* Calls since the count began, and the call that fails; 0: none. */
static uint32_t calls, fail_at;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	return fail_at && ++calls == fail_at ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fail_at && ++calls == fail_at ? NULL : __real_realloc(p, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return fail_at && ++calls == fail_at ? NULL : __real_aligned_alloc(alignment, size);
}

/* Opens a link by @open with less memory each time, until there is enough. @places ask for some. */
static void assert_open(int (*open)(struct vb_link **, const struct vb_link_config *),
			const struct vb_link_config *cfg, uint32_t places)
{
	unsigned before = descriptors_of(getpid());
	struct vb_link *l;
	int rc;

	for (uint32_t n = 1; n <= places; n++) {
		calls = 0;
		fail_at = n;
		rc = open(&l, cfg);
		fail_at = 0;
		assert_int_equal(rc, -ENOMEM);
		assert_int_equal(descriptors_of(getpid()), before);
	}
	calls = 0;
	fail_at = UINT32_MAX;
	rc = open(&l, cfg);
	fail_at = 0;
	assert_int_equal(rc, 0);
	assert_int_equal(calls, places);
	l->ops->close(l);
}

static void open__udp(void **state)
{
	const struct vb_link_config cfg = {.rx_fd = rx_socket(AF_INET6), .port_of = port_of};

	(void)state;
	assert_open(vb_udp_open, &cfg, 2);
}

static void open__shm(void **state)
{
	struct vb_link_config cfg = {.slot = SLOT, .port_of = shm_port_of};
	struct vb_wakeup *wakeup = mmap(NULL, VB_SHM_SLOTS * sizeof *wakeup, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct vb_link_config below = {.rx_fd = rx_socket(AF_INET6), .port_of = port_of};

	(void)state;
	assert_ptr_not_equal(wakeup, MAP_FAILED);
	cfg.wakeup = wakeup;
	assert_int_equal(vb_udp_open(&cfg.lower, &below), 0);
	assert_open(vb_shm_open, &cfg, 1);
	munmap(wakeup, VB_SHM_SLOTS * sizeof *wakeup);
}

/* Each try has one descriptor more: the link opens at last, and leaves none until then. */
static void open__shm_without_descriptors(void **state)
{
	struct vb_link_config cfg = {.slot = SLOT, .port_of = shm_port_of};
	const struct vb_link_config below = {.rx_fd = rx_socket(AF_INET6), .port_of = port_of};
	struct vb_wakeup *wakeup = mmap(NULL, VB_SHM_SLOTS * sizeof *wakeup, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct rlimit was, few;
	struct vb_link *l;
	unsigned before, failed = 0;
	int rc;

	(void)state;
	assert_ptr_not_equal(wakeup, MAP_FAILED);
	cfg.wakeup = wakeup;
	assert_int_equal(vb_udp_open(&cfg.lower, &below), 0);
	before = descriptors_of(getpid());
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	few = was;
	few.rlim_cur = (rlim_t)dup(0); /* the first number that is free */
	close((int)few.rlim_cur);
	for (;;) {
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		rc = vb_shm_open(&l, &cfg);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
		few.rlim_cur++;
		if (rc == 0)
			break;
		assert_int_equal(rc, -EMFILE);
		assert_int_equal(descriptors_of(getpid()), before);
		failed++;
	}
	assert_int_equal(failed, 2);
	l->ops->close(l);
	munmap(wakeup, VB_SHM_SLOTS * sizeof *wakeup);
}

static int open_fault(struct vb_link **out, const struct vb_link_config *cfg)
{
	const struct vb_fault_link_config fault = {.lower = cfg->lower};

	return vb_fault_link_open(out, &fault);
}

static void open__fault(void **state)
{
	const struct vb_link_config below = {.rx_fd = rx_socket(AF_INET6), .port_of = port_of};
	struct vb_link_config cfg = {.slot = SLOT};

	(void)state;
	assert_int_equal(vb_udp_open(&cfg.lower, &below), 0);
	assert_open(open_fault, &cfg, 1);
}

/* A group that there is no memory for is not joined, and those that are joined stay. */
static void join__each_place(void **state)
{
	const struct vb_link_config cfg = {
	    .rx_fd = rx_socket(AF_INET6), .ifindex = {0, 1}, .port_of = port_of};
	const struct vb_gid group[] = {gid("ff12::1"), gid("::ffff:239.1.2.3")};
	struct vb_link *l;
	int rc = 0;

	(void)state;
	assert_int_equal(vb_udp_open(&l, &cfg), 0);
	for (size_t i = 0; i < 2; i++) {
		for (fail_at = 1; fail_at <= 2; fail_at++) {
			calls = 0;
			rc = vb_link_join(l, 1, &group[i], 0);
			assert_int_equal(rc, -ENOMEM);
		}
		fail_at = 0;
		assert_int_equal(((struct vb_udp *)l)->group_cnt, i);
		rc = vb_link_join(l, 1, &group[i], 0);
		if (rc == -ENODEV || rc == -EADDRNOTAVAIL)
			break; /* this "lo" has no groups of the family */
		assert_int_equal(rc, 0);
	}
	l->ops->close(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(open__udp),
	    cmocka_unit_test(open__shm),
	    cmocka_unit_test(open__shm_without_descriptors),
	    cmocka_unit_test(open__fault),
	    cmocka_unit_test(join__each_place),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
