/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of another process: it is had only as that process may have it. */
#include "cmocka_env.h"
#include "descriptors.h"
#include "node/host/remote_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
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

/* Mappings of this process that have @name in their line. proc_pid_maps(5) */
static unsigned mappings_of(const char *name)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned cnt = 0;

	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		cnt += strstr(line, name) != NULL;
	fclose(f);
	return cnt;
}

/* A mapping goes by unmapping it, and nothing else stays. A memory that is sealed against it cannot
 * shrink. */
static void map__and_unmap(void **state)
{
	struct vb_remote_memory m = {0}, none = {0};
	unsigned before;

	(void)state;
	for (int sealed = 0; sealed < 2; sealed++) {
		owner_start(PROT_READ | PROT_WRITE);
		if (sealed)
			assert_int_equal(fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
		before = descriptors_of(getpid());
		assert_int_equal(mappings_of("foreign test"), 0);
		assert_int_equal(
		    vb_remote_memory_map(owner.pid, (uintptr_t)owner.at + 4097, 5, false, &m), 0);
		assert_int_equal(mappings_of("foreign test"), 1);
		assert_int_equal(m.may_shrink, !sealed);
		assert_ptr_equal(m.at, (uint8_t *)m.base + 4097);
		assert_int_equal(m.size, SIZE);
		vb_remote_memory_unmap(&m);
		assert_int_equal(mappings_of("foreign test"), 0);
		vb_remote_memory_unmap(&none);
		/* Half of it is there. */
		assert_int_equal(
		    vb_remote_memory_map(owner.pid, (uintptr_t)owner.at + 4096, SIZE, false, &m),
		    -EFAULT);
		assert_int_equal(descriptors_of(getpid()), before);
		owner_end();
	}
}

/* A process's private memory is out of reach, be it nameless or of a file. */
static void map__private_memory(void **state)
{
	struct vb_remote_memory m = {0};
	int fd = memfd_create("private", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(ftruncate(fd, SIZE), 0);
	for (int named = 0; named < 2; named++) {
		uint8_t *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | (named ? 0 : MAP_ANONYMOUS), named ? fd : -1, 0);

		assert_ptr_not_equal(at, MAP_FAILED);
		memfd = -1;
		owner_without_descriptors();
		assert_int_equal(vb_remote_memory_map(owner.pid, (uintptr_t)at, SIZE, false, &m),
				 -EOPNOTSUPP);
		owner_end();
		assert_int_equal(munmap(at, SIZE), 0);
	}
	close(fd);
}

/* Why it cannot be had: the process has ended, or is another user's. */
static void map__of_no_process(void **state)
{
	struct vb_remote_memory m = {0};
	pid_t pid;
	int status;

	(void)state;
	owner_start(PROT_READ | PROT_WRITE);
	pid = fork();
	if (pid == 0) {
		if (setuid(65534))
			_exit(77);
		_exit(vb_remote_memory_map(owner.pid, (uintptr_t)owner.at, 1, false, &m) !=
		      -EACCES);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	owner_end();
	assert_int_equal(vb_remote_memory_map(owner.pid, (uintptr_t)owner.at, 1, false, &m),
			 -ENOENT);
	if (WEXITSTATUS(status) == 77) {
		print_message("there is only one user here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* In the owner: its part of a memory that both have begins later and ends sooner than ours. */
static void map__part_of_ones_own_mapping(void **state)
{
	struct vb_remote_memory m = {0};
	uint8_t *at =
	    mmap(NULL, 4 * SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned before;

	(void)state;
	assert_ptr_not_equal(at, MAP_FAILED);
	at[SIZE] = 'b';
	at[2 * SIZE + 7] = 'e';
	memfd = -1;
	owner.pid = fork();
	if (owner.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		munmap(at, SIZE);
		munmap(at + 3 * SIZE, SIZE);
		(void)raise(SIGSTOP);
		for (;;)
			(void)pause();
	}
	assert_int_equal(waitpid(owner.pid, NULL, WUNTRACED), owner.pid);
	before = descriptors_of(getpid());
	assert_int_equal(vb_remote_memory_map(owner.pid, (uintptr_t)at + SIZE, 2 * SIZE, true, &m),
			 0);
	assert_int_equal(m.at[0], 'b');
	assert_int_equal(m.at[SIZE + 7], 'e');
	vb_remote_memory_unmap(&m);
	/* Of what is left to us nothing reaches its end, or its beginning. */
	assert_int_equal(munmap(at + 2 * SIZE + SIZE / 2, SIZE / 2), 0);
	assert_int_equal(vb_remote_memory_map(owner.pid, (uintptr_t)at + SIZE, 2 * SIZE, true, &m),
			 -EOPNOTSUPP);
	assert_int_equal(munmap(at, SIZE + SIZE / 2), 0);
	assert_int_equal(vb_remote_memory_map(owner.pid, (uintptr_t)at + SIZE, 2 * SIZE, true, &m),
			 -EOPNOTSUPP);
	assert_int_equal(descriptors_of(getpid()), before);
	munmap(at, 4 * SIZE);
	owner_end();
}

/* The child has mapped a file of one file system, and has open one of another that has the same
 * number: a file, or a pipe that nobody shall open. @root/b/x is that one. */
static uint8_t *map_beside(const char *root, bool is_pipe)
{
	static const char *const of[] = {"a", "b"};
	struct stat st[2];
	char path[96];
	uint8_t *at;
	int fd[2];

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return NULL;
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/%s", root, of[i]);
		if (mkdir(path, 0700) || mount("none", path, "tmpfs", 0, NULL))
			return NULL;
		snprintf(path, sizeof path, "%s/%s/x", root, of[i]);
		if (i == 1 && is_pipe && mkfifo(path, 0600))
			return NULL;
		fd[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (fd[i] < 0 || fstat(fd[i], &st[i]) || (!is_pipe && ftruncate(fd[i], SIZE)))
			return NULL;
		if (i == 0 && is_pipe && ftruncate(fd[0], SIZE))
			return NULL;
	}
	if (st[0].st_ino != st[1].st_ino)
		return NULL;
	at = map_file(fd[0]);
	close(fd[0]);
	return at;
}

/* Files of two file systems may have the same number: a file that is mapped by mistake goes again,
 * and other things than files are not even opened. */
static void map__file_of_the_same_number(void **state)
{
	char root[] = "/tmp/verbena-test-XXXXXX", path[96], opened;
	struct vb_remote_memory m = {0};
	unsigned before;
	int pair[2], in;

	(void)state;
	assert_non_null(mkdtemp(root));
	for (int is_pipe = 0; is_pipe < 2; is_pipe++) {
		assert_int_equal(pipe(pair), 0);
		memfd = -1;
		owner.pid = fork();
		assert_true(owner.pid >= 0);
		if (owner.pid == 0) {
			uint8_t *at = map_beside(root, is_pipe);

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (write(pair[1], &at, sizeof at) != sizeof at)
				_exit(1);
			for (;;)
				(void)pause();
		}
		assert_int_equal(read(pair[0], &owner.at, sizeof owner.at), sizeof owner.at);
		close(pair[0]);
		close(pair[1]);
		if (!owner.at)
			break;
		before = descriptors_of(getpid());
		in = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		snprintf(path, sizeof path, "/proc/%d/root%s/b/x", (int)owner.pid, root);
		assert_true(inotify_add_watch(in, path, IN_OPEN) >= 0);
		assert_int_equal(
		    vb_remote_memory_map(owner.pid, (uintptr_t)owner.at, SIZE, true, &m), 0);
		assert_int_equal(m.at[7], 'z');
		assert_int_equal(mappings_of("/b/x"), 0);
		vb_remote_memory_unmap(&m);
		assert_int_equal(mappings_of("/a/x"), 0);
		assert_true(read(in, &opened, 1) < 0 || !is_pipe);
		assert_int_equal(errno == EAGAIN, is_pipe);
		close(in);
		assert_int_equal(descriptors_of(getpid()), before);
		owner_end();
		snprintf(path, sizeof path, "%s/a", root);
		rmdir(path);
		snprintf(path, sizeof path, "%s/b", root);
		rmdir(path);
	}
	if (!owner.at)
		owner_end();
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/%s", root, i ? "a" : "b");
		rmdir(path);
	}
	rmdir(root);
	if (!owner.at) {
		print_message("mounts are denied, or number their files together\n");
		skip();
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
	    cmocka_unit_test(map__part_of_ones_own_mapping),
	    cmocka_unit_test(map__and_unmap),
	    cmocka_unit_test(map__private_memory),
	    cmocka_unit_test(map__of_no_process),
	    cmocka_unit_test(map__file_of_the_same_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
