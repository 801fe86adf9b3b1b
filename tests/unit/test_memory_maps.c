/* SPDX-License-Identifier: BSD-2-Clause */
/* The mappings of a process: one that is found has one object and one set of rights throughout.
 * proc(5) */
#include "cmocka_env.h"
#include "node/host/memory_maps.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void find__one_object_under_one_right(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct vb_map m;
	uint8_t *p;

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)(4 * page)), 0);
	p = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(p != MAP_FAILED);
	assert_int_equal(vb_memory_maps_find(0, (uintptr_t)p + 10, 4 * page - 10, &m), 0);
	assert_true(m.start == (uintptr_t)p && m.shared && m.readable && m.writable);
	/* What cannot be written is not the same as what can, nor is what cannot be read. */
	assert_int_equal(mprotect(p + 2 * page, page, PROT_READ), 0);
	assert_int_equal(vb_memory_maps_find(0, (uintptr_t)p, 3 * page, &m), -EFAULT);
	assert_int_equal(vb_memory_maps_find(0, (uintptr_t)p, 2 * page, &m), 0);
	assert_true(m.writable);
	assert_int_equal(vb_memory_maps_find(0, (uintptr_t)p + 2 * page, page, &m), 0);
	assert_false(m.writable);
	assert_int_equal(mprotect(p + page, page, PROT_NONE), 0);
	assert_int_equal(vb_memory_maps_find(0, (uintptr_t)p, 2 * page, &m), -EFAULT);
	/* Other bytes of the object behind it, and nothing at all. */
	assert_int_equal(mprotect(p + page, 2 * page, PROT_READ | PROT_WRITE), 0);
	assert_true(mmap(p + page, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
		    p + page);
	assert_int_equal(vb_memory_maps_find(0, (uintptr_t)p, 2 * page, &m), -EFAULT);
	assert_int_equal(munmap(p + page, page), 0);
	assert_int_equal(vb_memory_maps_find(0, (uintptr_t)p, 2 * page, &m), -EFAULT);
	assert_int_equal(vb_memory_maps_find(0, (uintptr_t)p + page, 1, &m), -EFAULT);
	assert_int_equal(vb_memory_maps_find(0, (uintptr_t)p, UINT64_MAX, &m), -EFAULT);
	munmap(p, 4 * page);
	close(fd);
}

/* A name may be longer than any path: the kernel escapes newlines, and adds " (deleted)". */
static void next__names_of_any_length(void **state)
{
	static char text[PATH_MAX + 300];
	static struct {
		struct vb_map m;
		uint8_t behind[16];
	} got;
	const size_t room = sizeof got.m.name;

	(void)state;
	for (size_t len = room - 2; len < room + 2; len++) {
		int n = snprintf(text, sizeof text, "1000-2000 r--s 00000000 00:05 7   %0*d\n",
				 (int)len, 0);
		FILE *f;

		snprintf(text + n, sizeof text - (size_t)n, "2000-3000 rw-p 00000000 00:00 0 \n");
		f = fmemopen(text, strlen(text), "r");
		memset(&got, 0xff, sizeof got);
		assert_true(vb_memory_maps_next(f, &got.m));
		assert_int_equal(strnlen(got.m.name, room), len < room ? len : room - 1);
		assert_int_equal(got.behind[0], 0xff);
		assert_true(vb_memory_maps_next(f, &got.m));
		assert_true(got.m.start == 0x2000 && got.m.writable && !got.m.name[0]);
		assert_false(vb_memory_maps_next(f, &got.m));
		fclose(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(find__one_object_under_one_right),
	    cmocka_unit_test(next__names_of_any_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
