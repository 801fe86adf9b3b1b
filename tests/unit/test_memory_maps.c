/* SPDX-License-Identifier: BSD-2-Clause */
/* The mappings of a process: one that is found has one object and one set of rights throughout.
 * proc(5) */
#include "cmocka_env.h"
#include "descriptors.h"
#include "node/host/memory_maps.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void find__one_object_under_one_right(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = memfd_create("test", MFD_CLOEXEC);
	unsigned before = descriptors_of(getpid());
	struct vb_map m;
	uint8_t *p;

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)(4 * page)), 0);
	p = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(p != MAP_FAILED);
	assert_int_equal(vb_memory_maps_find(0, (uintptr_t)p + 10, 4 * page - 10, &m), 0);
	assert_true(m.start == (uintptr_t)p && m.shared && m.readable && m.writable);
	/* A mapping differs from the next one if only one can be written, or only one be read. */
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
	assert_int_equal(descriptors_of(getpid()), before); /* found or not */
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

/* The range that is asked for may begin and end anywhere in several mappings of one object, and is
 * found up to the last byte and no further. */
static void find__over_several_mappings(void **state)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct vb_map m;
	uint64_t at;
	uint8_t *p;

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)(4 * page)), 0);
	p = mmap(NULL, 5 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	at = (uintptr_t)p;
	/* The kernel makes one of what goes on in the same object, unless other flags differ. */
	for (uint64_t i = 0; i < 4; i++)
		assert_true(mmap(p + i * page, page, PROT_READ, MAP_SHARED | MAP_FIXED, fd,
				 (off_t)(i * page)) == p + i * page);
	assert_int_equal(madvise(p + page, page, MADV_DONTFORK), 0);
	assert_int_equal(vb_memory_maps_find(0, at, 4 * page, &m), 0);
	assert_true(m.start == at && m.end == at + 4 * page && m.offset == 0);
	assert_int_equal(vb_memory_maps_find(0, at, 4 * page + 1, &m), -EFAULT);
	/* No further than it has to be. */
	assert_int_equal(vb_memory_maps_find(0, at + 1, page - 1, &m), 0);
	assert_int_equal(m.end, at + page);
	assert_int_equal(vb_memory_maps_find(0, at + 1, page, &m), 0);
	assert_int_equal(m.end, at + 2 * page);
	assert_int_equal(vb_memory_maps_find(0, at + page, 1, &m), 0);
	assert_true(m.start == at + page && m.offset == page);
	munmap(p, 5 * page);
	close(fd);
}

/* Two mappings are of one object if it is shared in both, and device and inode are the same. */
static void same_object__by_device_and_inode(void **state)
{
	const struct vb_map m = {.shared = true, .major = 1, .minor = 2, .ino = 3};
	struct vb_map o[5];

	(void)state;
	for (int i = 0; i < 5; i++)
		o[i] = m;
	assert_true(vb_map_same_object(&m, &o[0]));
	o[0].shared = false;
	o[1].major = 2;
	o[2].minor = 1;
	o[3].ino = 4;
	for (int i = 0; i < 4; i++) {
		assert_false(vb_map_same_object(&m, &o[i]));
		assert_false(vb_map_same_object(&o[i], &m));
	}
	o[4].ino = 0; /* nothing is mapped */
	assert_false(vb_map_same_object(&o[4], &o[4]));
}

/* A process that has ended has no mappings. */
static void find__of_no_process(void **state)
{
	pid_t pid = fork();
	struct vb_map m;

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(vb_memory_maps_find(pid, 4096, 1, &m), -ENOENT);
	assert_null(vb_memory_maps_open(pid));
}

/* All that a line says. */
static void next__reads_all_fields(void **state)
{
	static char text[] = "1000-2fff r-xp 0000a000 fd:1c 123456789012 /a b\n"
			     "f000-10000 -w-s 00000000 00:05 0 \n";
	FILE *f = fmemopen(text, sizeof text - 1, "r");
	struct vb_map m;

	(void)state;
	assert_true(vb_memory_maps_next(f, &m));
	assert_true(m.start == 0x1000 && m.end == 0x2fff && m.offset == 0xa000);
	assert_true(m.major == 0xfd && m.minor == 0x1c && m.ino == UINT64_C(123456789012));
	assert_true(m.readable && !m.writable && !m.shared);
	assert_string_equal(m.name, "/a b");
	assert_true(vb_memory_maps_next(f, &m));
	assert_true(m.start == 0xf000 && m.end == 0x10000);
	assert_true(!m.readable && m.writable && m.shared && m.minor == 5);
	assert_string_equal(m.name, "");
	assert_false(vb_memory_maps_next(f, &m));
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(find__one_object_under_one_right),
	    cmocka_unit_test(find__over_several_mappings),
	    cmocka_unit_test(find__of_no_process),
	    cmocka_unit_test(same_object__by_device_and_inode),
	    cmocka_unit_test(next__reads_all_fields),
	    cmocka_unit_test(next__names_of_any_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
