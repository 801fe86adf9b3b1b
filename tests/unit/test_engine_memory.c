/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that a program registers: is all of it there, and may it be read and written? In pieces
 * that the kernel brings in, and in ones too large for that, of which /proc/self/maps tells. */
#include "cmocka_env.h"
#include "deny.h"
#include "descriptors.h"
#include "node/engine/engine.h"
#include "node/engine/priv.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

/* The kernel's answers to the next calls of madvise(2), which the linker leads here: errnos, before
 * it is asked itself. */
static int says[4];
static unsigned says_cnt, asks;

int __real_madvise(void *p, size_t len, int advice);
int __wrap_madvise(void *p, size_t len, int advice);
long __real_sysconf(int name);
long __wrap_sysconf(int name);

int __wrap_madvise(void *p, size_t len, int advice)
{
	asks++;
	if (!says_cnt)
		return __real_madvise(p, len, advice);
	errno = says[--says_cnt];
	return -1;
}

/* Pages that the machine has free; 0: as many as it has. */
static long free_pages;

long __wrap_sysconf(int name)
{
	return name == _SC_AVPHYS_PAGES && free_pages ? free_pages : __real_sysconf(name);
}

struct area {
	uint8_t *at;
	size_t len, page;
};

/* One mapping. False: there is not so much address space or promise. */
static bool area_map(struct area *a, size_t len)
{
	a->page = (size_t)sysconf(_SC_PAGESIZE);
	a->len = len;
	a->at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		     -1, 0);
	return a->at != MAP_FAILED;
}

static uint8_t *middle_of(const struct area *a)
{
	return a->at + a->len / 2 / a->page * a->page;
}

/* Answers that were not those that they had to be. */
static unsigned wrong;

static void expect_answer(int got, int wanted)
{
	wrong += got != wanted;
}

static void check_area(struct area *a)
{
	expect_answer(vb_engine_check_memory(a->at, a->len, true), 0);
	/* Not mapped for writing: two more mappings. */
	assert_int_equal(mprotect(middle_of(a), a->page, PROT_READ), 0);
	expect_answer(vb_engine_check_memory(a->at, a->len, false), 0);
	expect_answer(vb_engine_check_memory(a->at, a->len, true), EFAULT);
	expect_answer(vb_engine_check_memory(a->at, (size_t)(middle_of(a) - a->at), true), 0);
	assert_int_equal(mprotect(middle_of(a), a->page, PROT_NONE), 0);
	expect_answer(vb_engine_check_memory(a->at, a->len, false), EFAULT);
	/* A hole between two mappings, and the second of them is all there. */
	assert_int_equal(munmap(middle_of(a), a->page), 0);
	expect_answer(vb_engine_check_memory(a->at, a->len, false), EFAULT);
	expect_answer(vb_engine_check_memory(middle_of(a), a->page, false), EFAULT);
	expect_answer(vb_engine_check_memory(middle_of(a) + a->page, a->page, true), 0);
	assert_int_equal(munmap(a->at, a->len), 0);
	expect_answer(vb_engine_check_memory(a->at, a->len, false), EFAULT);
}

static void small__is_there(void **state)
{
	struct area a;

	(void)state;
	assert_true(area_map(&a, 64 * 4096));
	wrong = 0;
	check_area(&a);
	assert_int_equal(wrong, 0);
}

/* A kernel before 5.14 brings nothing in; /proc/self/maps tells what is there. madvise(2) */
static void small__without_populating(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0) {
		struct area a;

		/* MADV_POPULATE_READ and _WRITE, 22 and 23, have this bit. */
		if (!area_map(&a, 64 * 4096) || !deny_call(SYS_madvise, 2, 16, EINVAL))
			_exit(77);
		wrong = 0;
		check_area(&a);
		_exit(wrong != 0);
	}
	status = child_status(pid);
	if (status == 77)
		skip(); /* this kernel lets no process deny itself system calls */
	assert_int_equal(status, 0);
}

/* Pages of an on-demand region, as the adapter asks for them. */
static void page_in__of_what_is_there(void **state)
{
	struct area a;

	(void)state;
	assert_true(area_map(&a, 4 * 4096));
	assert_int_equal(vb_engine_page_in(NULL, a.at + 1, a.len - 1, true), 0);
	assert_int_equal(mprotect(middle_of(&a), a.page, PROT_READ), 0);
	assert_int_equal(vb_engine_page_in(NULL, a.at, a.len, false), 0);
	assert_int_equal(vb_engine_page_in(NULL, a.at, a.len, true), -EFAULT);
	assert_int_equal(vb_engine_page_in(NULL, middle_of(&a), 1, true), -EFAULT);
	assert_int_equal(munmap(a.at, a.len), 0);
	assert_int_equal(vb_engine_page_in(NULL, a.at + a.len - 1, 1, false), -EFAULT);
	assert_int_equal(vb_engine_page_in(NULL, (void *)(UINTPTR_MAX - 10), 11, false), -EFAULT);
	assert_int_equal(vb_engine_page_in(NULL, (void *)(UINTPTR_MAX - 10), 10, false), -EFAULT);
}

/* As much as the machine has free. */
static void large__is_there(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (size_t)sysconf(_SC_AVPHYS_PAGES);
	struct area a;

	(void)state;
	if (!area_map(&a, 2 * pages * page))
		skip(); /* vm.overcommit_memory is 2: the kernel promises no more than it has */
	wrong = 0;
	check_area(&a);
	assert_int_equal(wrong, 0);
}

/* A call that a signal has interrupted, or that the kernel wants to be made again, is made again.
 */
static void populate__again(void **state)
{
	struct area a;

	(void)state;
	assert_true(area_map(&a, 4096));
	says[0] = EINTR;
	says[1] = says[2] = EAGAIN;
	says_cnt = 3;
	asks = 0;
	assert_int_equal(vb_engine_check_memory(a.at, a.len, true), 0);
	assert_int_equal(asks, 4);
	assert_int_equal(munmap(a.at, a.len), 0);
}

/* Memory that is there and cannot be brought in, for want of memory or for a broken page, is told
 * from memory that is not there. */
static void populate__what_cannot_be_brought_in(void **state)
{
	static const struct {
		int err, is;
	} c[] = {{ENOMEM, ENOMEM}, {EHWPOISON, EFAULT}, {EFAULT, EFAULT}, {EPERM, EPERM}};
	struct area a;

	(void)state;
	assert_true(area_map(&a, 64 * 4096));
	for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
		says[0] = c[i].err;
		says_cnt = 1;
		assert_int_equal(vb_engine_check_memory(a.at, a.len, true), c[i].is);
		says_cnt = 1;
		assert_int_equal(vb_engine_page_in(NULL, a.at, a.len, true), -EFAULT);
	}
	assert_int_equal(munmap(a.at, a.len), 0);
}

/* A hole is found wherever it is: the kernel is asked for so many pages at a time. */
static void populate__hole_behind_many_pages(void **state)
{
	static const size_t at[] = {0, 1023, 1024, 1025, 2047, 2048, 2500, 2999};

	(void)state;
	for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
		struct area a;

		assert_true(area_map(&a, 3000 * 4096));
		says[0] = ENOMEM;
		says_cnt = 1;
		assert_int_equal(vb_engine_check_memory(a.at, a.len, true), ENOMEM);
		assert_int_equal(munmap(a.at + at[i] * a.page, a.page), 0);
		says_cnt = 1;
		assert_int_equal(vb_engine_check_memory(a.at, a.len, true), EFAULT);
		assert_int_equal(munmap(a.at, a.len), 0);
	}
}

/* Half of what the machine has free is too much to be brought in: it is only looked at. */
static void large__is_not_brought_in(void **state)
{
	struct area a;
	unsigned char present[10];

	(void)state;
	assert_true(area_map(&a, 10 * 4096));
	free_pages = 20;
	asks = 0;
	assert_int_equal(vb_engine_check_memory(a.at, a.len, true), 0);
	assert_int_equal(asks, 0);
	assert_int_equal(vb_engine_check_memory(a.at, 9 * a.page, true), 0);
	assert_int_equal(asks, 1);
	assert_int_equal(mincore(a.at, a.len, present), 0);
	assert_true(present[0] & present[8] & 1);
	assert_false(present[9] & 1);
	free_pages = -1; /* it does not tell */
	assert_int_equal(vb_engine_check_memory(a.at, a.page, true), 0);
	assert_int_equal(asks, 1);
	free_pages = 0;
	assert_int_equal(munmap(a.at, a.len), 0);
}

/* Whole pages are looked at, from that of the first byte to that of the last one and no further;
 * looking leaves nothing open. */
static void pages__first_and_last(void **state)
{
	struct area a;
	unsigned before = descriptors_of(getpid());

	(void)state;
	assert_true(area_map(&a, 3 * 4096));
	assert_int_equal(mprotect(a.at, a.page, PROT_NONE), 0);
	assert_int_equal(mprotect(a.at + 2 * a.page, a.page, PROT_NONE), 0);
	for (int large = 0; large < 2; large++) {
		free_pages = large;
		assert_int_equal(vb_engine_check_memory(a.at + a.page, a.page, true), 0);
		assert_int_equal(vb_engine_check_memory(a.at + a.page + 9, a.page - 9, true), 0);
		assert_int_equal(vb_engine_check_memory(a.at + a.page - 1, 2, true), EFAULT);
		assert_int_equal(vb_engine_check_memory(a.at + a.page, a.page + 1, true), EFAULT);
	}
	free_pages = 0;
	assert_int_equal(vb_engine_page_in(NULL, a.at + a.page + 9, a.page - 9, true), 0);
	assert_int_equal(vb_engine_page_in(NULL, a.at + a.page, a.page + 1, true), -EFAULT);
	assert_int_equal(vb_engine_page_in(NULL, a.at + a.page - 1, 2, true), -EFAULT);
	assert_int_equal(descriptors_of(getpid()), before);
	assert_int_equal(munmap(a.at, a.len), 0);
}

/* Behind the last address. */
static void end__is_refused(void **state)
{
	(void)state;
	assert_int_equal(vb_engine_check_memory((void *)(UINTPTR_MAX - 10), 11, false), EFAULT);
	assert_int_equal(vb_engine_check_memory((void *)(UINTPTR_MAX - 10), 10, false), EFAULT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(small__is_there),
	    cmocka_unit_test(small__without_populating),
	    cmocka_unit_test(page_in__of_what_is_there),
	    cmocka_unit_test(populate__again),
	    cmocka_unit_test(populate__what_cannot_be_brought_in),
	    cmocka_unit_test(populate__hole_behind_many_pages),
	    cmocka_unit_test(pages__first_and_last),
	    cmocka_unit_test(large__is_there),
	    cmocka_unit_test(large__is_not_brought_in),
	    cmocka_unit_test(end__is_refused),
	};

	return cmocka_run_group_tests_name("engine_memory", tests, NULL, NULL);
}
