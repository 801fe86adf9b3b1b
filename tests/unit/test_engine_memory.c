/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that a program registers: is all of it there, and may it be read and written? In pieces
 * that the kernel brings in, and in ones too large for that, of which /proc/self/maps tells. */
#include "cmocka_env.h"
#include "deny.h"
#include "node/engine/engine.h"
#include "node/engine/priv.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* A kernel before 5.14 brings nothing in; what is there is read in /proc/self/maps. madvise(2) */
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
	    cmocka_unit_test(large__is_there),
	    cmocka_unit_test(end__is_refused),
	};

	return cmocka_run_group_tests_name("engine_memory", tests, NULL, NULL);
}
