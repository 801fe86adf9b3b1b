/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of another process: it is had only as that process may have it. */
#include "cmocka_env.h"
#include "node/host/remote_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE 8192u

static int memfd;
static struct owner {
	pid_t pid;
	uint8_t *at;
} owner;

/* Starts a process that has the memory mapped with @prot, and a descriptor with every right. */
static void owner_start(int prot)
{
	int pair[2];

	memfd = memfd_create("foreign test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(memfd >= 0);
	assert_int_equal(ftruncate(memfd, SIZE), 0);
	assert_int_equal(pipe(pair), 0);
	owner.pid = fork();
	assert_true(owner.pid >= 0);
	if (owner.pid == 0) {
		uint8_t *at = mmap(NULL, SIZE, prot, MAP_SHARED, memfd, 0);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(pair[1], &at, sizeof at) != sizeof at)
			_exit(1);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(pair[0], &owner.at, sizeof owner.at), sizeof owner.at);
	assert_ptr_not_equal(owner.at, MAP_FAILED);
	close(pair[0]);
	close(pair[1]);
}

static void owner_end(void)
{
	kill(owner.pid, SIGKILL);
	assert_int_equal(waitpid(owner.pid, NULL, 0), owner.pid);
	close(memfd);
}

/* Memory that its process may not write is not had for writing, though its descriptor would do. */
static void map__read_only_there(void **state)
{
	struct vb_remote_memory m = {0};

	(void)state;
	owner_start(PROT_READ);
	assert_int_equal(vb_remote_memory_map(owner.pid, (uintptr_t)owner.at, SIZE, true, &m),
			 -EFAULT);
	assert_int_equal(vb_remote_memory_map(owner.pid, (uintptr_t)owner.at, SIZE, false, &m), 0);
	assert_int_equal(pwrite(memfd, "x", 1, 100), 1);
	assert_int_equal(m.at[100], 'x');
	vb_remote_memory_unmap(&m);
	owner_end();
}

/* Nor is memory that its process may not read. */
static void map__no_access_there(void **state)
{
	struct vb_remote_memory m = {0};

	(void)state;
	owner_start(PROT_NONE);
	assert_int_equal(vb_remote_memory_map(owner.pid, (uintptr_t)owner.at, SIZE, false, &m),
			 -EFAULT);
	assert_int_equal(vb_remote_memory_map(owner.pid, (uintptr_t)owner.at, SIZE, true, &m),
			 -EFAULT);
	owner_end();
}

static void map__writable_there(void **state)
{
	struct vb_remote_memory m = {0};
	char byte = 0;

	(void)state;
	owner_start(PROT_READ | PROT_WRITE);
	assert_int_equal(vb_remote_memory_map(owner.pid, (uintptr_t)owner.at + 10, 100, true, &m),
			 0);
	m.at[5] = 'y';
	assert_int_equal(pread(memfd, &byte, 1, 15), 1);
	assert_int_equal(byte, 'y');
	vb_remote_memory_unmap(&m);
	owner_end();
}

/* Of several descriptors the one of the object says why it cannot be had. */
static void map__reason_is_of_the_object(void **state)
{
	struct vb_remote_memory m = {0};

	(void)state;
	owner_start(PROT_READ | PROT_WRITE);
	assert_int_equal(fcntl(memfd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
	assert_int_equal(vb_remote_memory_map(owner.pid, (uintptr_t)owner.at, SIZE, true, &m),
			 -EPERM);
	owner_end();
}

/* The child mounts a file system of its own at @root, with the file "memory". */
static int open_private_file(const char *root)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "%s/memory", root);
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", root, "tmpfs", 0, NULL))
		return -1;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	return fd >= 0 && ftruncate(fd, SIZE) == 0 ? fd : -1;
}

static uint8_t *map_file(int fd)
{
	uint8_t *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	at[7] = 'z';
	return at;
}

/* Maps and closes the file. */
static uint8_t *map_and_close(const char *root)
{
	int fd = open_private_file(root);
	uint8_t *at = fd < 0 ? NULL : map_file(fd);

	close(fd);
	return at;
}

/* Unlinks the file, with two descriptors of it, the first by a read-only mount. */
static uint8_t *map_and_unlink(const char *root)
{
	char path[64], ro[64];
	int fd = open_private_file(root), first = dup(0);

	snprintf(ro, sizeof ro, "%s/ro", root);
	if (fd < 0 || mkdir(ro, 0700) || mount(root, ro, NULL, MS_BIND, NULL) ||
	    mount(NULL, ro, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL))
		return NULL;
	/* The kernel lists descriptors by number. */
	snprintf(path, sizeof path, "%s/ro/memory", root);
	if (dup2(fd, 100) != 100 || dup2(open(path, O_RDONLY), first) != first)
		return NULL;
	close(fd);
	snprintf(path, sizeof path, "%s/memory", root);
	return unlink(path) ? NULL : map_file(100);
}

static void check_private(uint8_t *(*map)(const char *root))
{
	char root[] = "/tmp/verbena-test-XXXXXX";
	struct vb_remote_memory m = {0};
	int pair[2];

	assert_non_null(mkdtemp(root));
	assert_int_equal(pipe(pair), 0);
	memfd = -1;
	owner.pid = fork();
	assert_true(owner.pid >= 0);
	if (owner.pid == 0) {
		uint8_t *at = map(root);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(pair[1], &at, sizeof at) != sizeof at)
			_exit(1);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(pair[0], &owner.at, sizeof owner.at), sizeof owner.at);
	close(pair[0]);
	close(pair[1]);
	if (owner.at) {
		assert_int_equal(
		    vb_remote_memory_map(owner.pid, (uintptr_t)owner.at, SIZE, true, &m), 0);
		assert_int_equal(m.at[7], 'z');
		assert_true(m.may_shrink);
		vb_remote_memory_unmap(&m);
	}
	owner_end();
	rmdir(root);
	if (!owner.at)
		skip(); /* mounts are denied */
}

/* A closed file in a process's own mount namespace is found by the path that the process knows.
 * proc(5) /proc/PID/root */
static void map__as_the_process_sees_it(void **state)
{
	(void)state;
	check_private(map_and_close);
}

/* One good descriptor of several is enough: another without the access needed does not matter. */
static void map__by_any_descriptor(void **state)
{
	(void)state;
	check_private(map_and_unlink);
}

/* In a child: has the memory at @at alone, by no descriptor and no path. */
static void owner_without_descriptors(void)
{
	owner.pid = fork();
	assert_true(owner.pid >= 0);
	if (owner.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
}

/* Memory that both have by fork() alone is had by the mapping of one's own. Only memory that never
 * had a name cannot be truncated; of a file somebody may have a descriptor. */
static void map__by_ones_own_mapping(void **state)
{
	struct vb_remote_memory m = {0};

	(void)state;
	for (int named = 0; named < 2; named++) {
		int fd = named ? memfd_create("inherited", MFD_CLOEXEC) : -1;
		uint8_t *at;

		if (named)
			assert_int_equal(ftruncate(fd, SIZE), 0);
		at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			  named ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS, fd, 0);
		assert_ptr_not_equal(at, MAP_FAILED);
		if (named)
			close(fd);
		memfd = -1;
		owner_without_descriptors();
		assert_int_equal(
		    vb_remote_memory_map(owner.pid, (uintptr_t)at + 100, 200, true, &m), 0);
		assert_ptr_not_equal(m.at, at + 100);
		at[105] = 'q';
		assert_int_equal(m.at[5], 'q');
		assert_int_equal(m.may_shrink, named);
		/* Another mapping: that of the program may go. */
		assert_int_equal(munmap(at, SIZE), 0);
		assert_int_equal(m.at[5], 'q');
		vb_remote_memory_unmap(&m);
		owner_end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(map__read_only_there),
	    cmocka_unit_test(map__no_access_there),
	    cmocka_unit_test(map__writable_there),
	    cmocka_unit_test(map__reason_is_of_the_object),
	    cmocka_unit_test(map__as_the_process_sees_it),
	    cmocka_unit_test(map__by_any_descriptor),
	    cmocka_unit_test(map__by_ones_own_mapping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
