/* SPDX-License-Identifier: BSD-2-Clause */
/* Directories of small text files in a base that others use, too. node/sysfs/dir.h */
#include "cmocka_env.h"
#include "descriptors.h"
#include "node/sysfs/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char base[] = "/dev/shm/verbena-test-XXXXXX";
static int at;
static unsigned before;

/* A hook just before a folder is locked, by the link option of this test. */
static void (*before_lock)(void);
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation)
{
	void (*hook)(void) = before_lock;

	before_lock = NULL;
	if (hook)
		hook();
	return __real_flock(fd, operation);
}

/* The errors of a file system that cannot exchange two names, and of one that can be written no
 * more; 0: it can do both. */
static int exchange_err, rename_err;
int __real_renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags);
int __wrap_renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags);
int __wrap_renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
	int err = flags & RENAME_EXCHANGE ? exchange_err : rename_err;

	if (!err)
		return __real_renameat2(from_at, from, to_at, to, flags);
	errno = err;
	return -1;
}

static int setup(void **state)
{
	(void)state;
	at = vb_dir_open_base(base);
	before = descriptors_of(getpid());
	return at < 0;
}

/* All that a test has opened is closed. */
static int teardown(void **state)
{
	bool is_tidy = descriptors_of(getpid()) == before;

	(void)state;
	vb_dir_empty(at);
	close(at);
	return !is_tidy;
}

static void file_make(int dir, const char *name)
{
	int fd = openat(dir, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	close(fd);
}

static bool is_there(const char *name)
{
	struct stat st;

	return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A base where everybody may rename others' files is refused. */
static void base__is_safe_from_others(void **state)
{
	char path[64];

	(void)state;
	snprintf(path, sizeof path, "%s/open", base);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, 0777), 0);
	assert_int_equal(vb_dir_open_base(path), -EPERM);
	assert_int_equal(chmod(path, 0770), 0);
	assert_int_equal(vb_dir_open_base(path), -EPERM);
	assert_int_equal(chmod(path, S_ISVTX | 0777), 0);
	int fd = vb_dir_open_base(path);

	assert_true(fd >= 0);
	close(fd);
	snprintf(path, sizeof path, "%s/none", base);
	assert_int_equal(vb_dir_open_base(path), -ENOENT);
}

/* A claim is one process's, for as long as it is open, and nobody else may enter. */
static void claim__is_of_one_process(void **state)
{
	int fd = vb_dir_claim(at, "ours");
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(vb_dir_claim(at, "ours"), -EWOULDBLOCK);
	close(fd);
	/* A claim takes over a folder left behind, and closes it to others. */
	assert_int_equal(fchmodat(at, "ours", 0755, 0), 0);
	fd = vb_dir_claim(at, "ours");
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	close(fd);
}

/* A claim leaves a file or a link under its name alone. */
static void claim__leaves_what_is_no_folder(void **state)
{
	(void)state;
	file_make(at, "file");
	assert_int_equal(symlinkat("/tmp", at, "link"), 0);
	assert_int_equal(vb_dir_claim(at, "file"), -ENOTDIR);
	assert_true(vb_dir_claim(at, "link") < 0);
	assert_true(vb_dir_open(at, "link") < 0);
	assert_true(is_there("file") && is_there("link"));
	/* A folder that others could write to. */
	assert_int_equal(mkdirat(at, "theirs", 0700), 0);
	assert_int_equal(fchmodat(at, "theirs", 0770, 0), 0);
	assert_int_equal(vb_dir_claim(at, "theirs"), -EPERM);
}

static void sweep_away(void)
{
	vb_dir_remove(at, "ours");
}

static void replace_it(void)
{
	vb_dir_remove(at, "ours");
	assert_int_equal(mkdirat(at, "ours", 0700), 0);
}

/* Another process of this user may sweep a folder away before it is locked: then the claim makes
 * and locks a new one. */
static void claim__of_what_is_swept_away_meanwhile(void **state)
{
	void (*const hooks[])(void) = {sweep_away, replace_it};

	(void)state;
	for (size_t i = 0; i < sizeof hooks / sizeof hooks[0]; i++) {
		struct stat by_name, claimed;
		int fd;

		before_lock = hooks[i];
		fd = vb_dir_claim(at, "ours");
		assert_true(fd >= 0);
		assert_null(before_lock);
		assert_int_equal(fstatat(at, "ours", &by_name, 0), 0);
		assert_int_equal(fstat(fd, &claimed), 0);
		assert_int_equal(by_name.st_ino, claimed.st_ino);
		assert_int_equal(vb_dir_claim(at, "ours"), -EWOULDBLOCK);
		close(fd);
	}
}

/* A folder of another user is not entered, made again or removed, and a file of one is not opened:
 * its owner may change what is in it. */
static void open__not_of_another_user(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip(); /* only root gives something away */
	assert_int_equal(mkdirat(at, "theirs", 0700), 0);
	file_make(at, "file");
	if (fchownat(at, "theirs", 65534, 65534, 0) || fchownat(at, "file", 65534, 65534, 0))
		skip(); /* a user namespace without other users */
	assert_int_equal(vb_dir_open(at, "theirs"), -EPERM);
	assert_int_equal(vb_dir_make(at, "theirs"), -EPERM);
	assert_int_equal(vb_dir_claim(at, "theirs"), -EPERM);
	assert_int_equal(vb_dir_walk(at, "theirs/a", true), -EPERM);
	assert_int_equal(vb_file_open(at, "file", O_RDONLY), -EPERM);
	vb_dir_sweep(at, "their", "keep");
	vb_dir_remove(at, "theirs");
	assert_true(is_there("theirs"));
	assert_int_equal(unlinkat(at, "theirs", AT_REMOVEDIR), 0);
}

/* A walk goes part by part, and refuses a part that is too long. */
static void walk__goes_part_by_part(void **state)
{
	char path[300] = "a/";
	int fd = vb_dir_walk(at, "a/b/c", true);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	fd = vb_dir_walk(at, "a/b/c/", false);
	assert_true(fd >= 0);
	close(fd);
	fd = vb_dir_walk(at, "", false);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(vb_dir_walk(at, "a/x/c", false), -ENOENT);
	assert_int_equal(vb_dir_walk(-1, "a", false), -EBADF);
	memset(path + 2, 'n', sizeof path - 3);
	path[sizeof path - 1] = 0;
	assert_int_equal(vb_dir_walk(at, path, true), -ENAMETOOLONG);
	assert_int_equal(vb_dir_walk(at, path, false), -ENAMETOOLONG);
	int a = vb_dir_open(at, "a");

	vb_dir_empty(a);
	/* Nothing of it was made. */
	assert_int_equal(unlinkat(at, "a", AT_REMOVEDIR), 0);
	close(a);
}

/* Only a regular file opens, without waiting, and a refused one is closed. */
static void file__is_a_regular_one(void **state)
{
	(void)state;
	file_make(at, "file");
	assert_int_equal(mkfifoat(at, "fifo", 0600), 0);
	assert_int_equal(mkdirat(at, "dir", 0700), 0);
	assert_int_equal(symlinkat("file", at, "link"), 0);
	int fd = vb_file_open(at, "file", O_RDONLY);

	assert_true(fd >= 0);
	close(fd);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(vb_file_open(at, "fifo", O_RDONLY), -EINVAL);
		assert_int_equal(vb_file_open(at, "dir", O_RDONLY), -EINVAL);
		assert_int_equal(vb_file_open(at, "link", O_RDONLY), -ELOOP);
		assert_int_equal(vb_file_open(at, "none", O_RDONLY), -ENOENT);
	}
}

/* New text replaces all of the old; a rewrite changes a file in place, and makes none. */
static void file__has_the_last_text(void **state)
{
	char text[16] = "";

	(void)state;
	vb_file_put(at, "file", "%d\n", 123456);
	vb_file_put(at, "file", "%d\n", 7);
	int fd = openat(at, "file", O_RDONLY | O_CLOEXEC);

	assert_int_equal(pread(fd, text, sizeof text, 0), 2);
	assert_string_equal(text, "7\n");
	vb_file_rewrite(at, "file", "123\n");
	assert_int_equal(pread(fd, text, sizeof text, 0), 4);
	vb_file_rewrite(at, "file", "8\n");
	assert_int_equal(pread(fd, text, sizeof text, 0), 2);
	assert_int_equal(text[0], '8');
	close(fd);
	vb_file_rewrite(at, "none", "1\n");
	assert_false(is_there("none"));
	vb_file_put(-1, "none", "1\n");
}

/* The fresh folder has the name, and the old one is gone. */
static void replace__leaves_one_folder(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		int fd = vb_dir_make(at, "fresh");

		file_make(fd, i ? "second" : "first");
		close(fd);
		assert_int_equal(vb_dir_replace(at, "fresh", "name"), 0);
		assert_false(is_there("fresh"));
		assert_true(is_there(i ? "name/second" : "name/first"));
		assert_false(is_there(i ? "name/first" : "name/second"));
	}
}

/* Unowned folders with the prefix go, with all below. */
static void sweep__takes_what_nobody_has(void **state)
{
	int owned = vb_dir_claim(at, "x-owned"), fd = vb_dir_walk(at, "x-stale/a/b", true);

	(void)state;
	file_make(fd, "file");
	close(fd);
	assert_int_equal(mkdirat(at, "x-keep", 0700), 0);
	assert_int_equal(mkdirat(at, "y-other", 0700), 0);
	file_make(at, "x-file");
	vb_dir_sweep(at, "x-", "x-keep");
	assert_false(is_there("x-stale"));
	assert_true(is_there("x-owned") && is_there("x-keep") && is_there("y-other"));
	assert_true(is_there("x-file"));
	close(owned);
}

/* Where two names cannot be exchanged, the fresh folder has the name all the same; where nothing
 * can be renamed, the reason is told. */
static void replace__where_names_are_not_exchanged(void **state)
{
	(void)state;
	exchange_err = EINVAL;
	for (int i = 0; i < 2; i++) {
		int fd = vb_dir_make(at, "fresh");

		file_make(fd, i ? "second" : "first");
		close(fd);
		assert_int_equal(vb_dir_replace(at, "fresh", "name"), 0);
		assert_false(is_there("fresh"));
		assert_true(is_there(i ? "name/second" : "name/first"));
		assert_false(is_there(i ? "name/first" : "name/second"));
	}
	rename_err = EINVAL;
	assert_int_equal(vb_dir_replace(at, "fresh", "name"), -ENOENT);
	exchange_err = rename_err = 0;
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_mode & 07777;
}

/* Files and folders can be read by all that can get there, and written by their user; a claim is
 * its user's alone. */
static void modes__are_those_of_files_to_read(void **state)
{
	mode_t was = umask(0);
	int fd = vb_dir_make(at, "dir");

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	vb_file_put(at, "file", "x\n");
	fd = vb_dir_walk(at, "deep/er", true);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	fd = vb_dir_claim(at, "ours");
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	fd = vb_file_open(at, "file", O_RDONLY);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	(void)umask(was);
	assert_int_equal(mode_of("dir"), 0755);
	assert_int_equal(mode_of("deep"), 0755);
	assert_int_equal(mode_of("deep/er"), 0755);
	assert_int_equal(mode_of("file"), 0644);
	assert_int_equal(mode_of("ours"), 0700);
	assert_int_equal(fcntl(at, F_GETFD), FD_CLOEXEC);
}

/* A folder is emptied as deep as any tree that is made, and no deeper: one that goes on for ever
 * ends there. */
static void empty__is_as_deep_as_trees_are(void **state)
{
	for (int depth = 16; depth <= 17; depth++) {
		char path[64] = "top";
		int fd;

		(void)state;
		for (int i = 0; i < depth; i++)
			strcat(path, "/d");
		fd = vb_dir_walk(at, path, true);
		assert_true(fd >= 0);
		close(fd);
		vb_dir_remove(at, "top");
		assert_int_equal(is_there("top"), depth == 17);
	}
	int fd = vb_dir_open(at, "top/d");

	vb_dir_empty(fd);
	close(fd);
	vb_dir_remove(at, "top");
	assert_false(is_there("top"));
}

static unsigned attempts;

static void sweep_always(void)
{
	attempts++;
	vb_dir_remove(at, "ours");
	before_lock = sweep_always;
}

/* A claim that is swept away again and again is given up after some attempts. */
static void claim__is_given_up_at_last(void **state)
{
	(void)state;
	attempts = 0;
	before_lock = sweep_always;
	assert_int_equal(vb_dir_claim(at, "ours"), -EEXIST);
	before_lock = NULL;
	assert_int_equal(attempts, 4);
}

/* A folder that others can write to may be somebody's trap: no sweep goes into it. */
static void sweep__leaves_what_others_can_write_to(void **state)
{
	(void)state;
	assert_int_equal(mkdirat(at, "x-open", 0700), 0);
	assert_int_equal(fchmodat(at, "x-open", 0777, 0), 0);
	assert_int_equal(mkdirat(at, "x-group", 0700), 0);
	assert_int_equal(fchmodat(at, "x-group", 0720, 0), 0);
	vb_dir_sweep(at, "x-", "");
	assert_true(is_there("x-open") && is_there("x-group"));
}

/* A file with the name of a folder to be removed is left, and so is one that cannot be opened. */
static void remove__leaves_what_is_no_folder(void **state)
{
	(void)state;
	file_make(at, "file");
	vb_dir_remove(at, "file");
	vb_dir_remove(at, "none");
	assert_true(is_there("file"));
	assert_int_equal(vb_dir_make(-ENOENT, "x"), -ENOENT);
	assert_int_equal(vb_dir_make(at, "file"), -ENOTDIR);
	assert_int_equal(vb_dir_make(at, "none/x"), -ENOENT);
	assert_int_equal(vb_dir_open_base("/dev/null"), -ENOTDIR);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(base__is_safe_from_others),
	    T(claim__is_of_one_process),
	    T(claim__leaves_what_is_no_folder),
	    T(claim__of_what_is_swept_away_meanwhile),
	    T(walk__goes_part_by_part),
	    T(file__is_a_regular_one),
	    T(file__has_the_last_text),
	    T(replace__leaves_one_folder),
	    T(sweep__takes_what_nobody_has),
	    T(open__not_of_another_user),
	    T(replace__where_names_are_not_exchanged),
	    T(modes__are_those_of_files_to_read),
	    T(empty__is_as_deep_as_trees_are),
	    T(claim__is_given_up_at_last),
	    T(sweep__leaves_what_others_can_write_to),
	    T(remove__leaves_what_is_no_folder),
	};

	if (!mkdtemp(base))
		return 1;
	int rc = cmocka_run_group_tests(tests, NULL, NULL);

	(void)rmdir(base);
	return rc;
}
