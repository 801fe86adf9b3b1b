/* SPDX-License-Identifier: BSD-2-Clause */
/* Directories of small text files, see sysfs_dir.h. renameat2(2) RENAME_EXCHANGE */
#include "node/sysfs_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 16 /* deeper than any tree that is made here */

int vb_dir_make(int at, const char *name)
{
	if (at < 0 && at != AT_FDCWD)
		return at;
	if (mkdirat(at, name, 0755) && errno != EEXIST)
		return -errno;
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

void vb_file_put(int at, const char *name, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	if (write(fd, text, (size_t)n) != n)
		(void)unlinkat(at, name, 0);
	close(fd);
}

void vb_file_rewrite(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	/* The text never gets shorter, so a reader sees the old one or the new one. */
	ssize_t n = pwrite(fd, text, strlen(text), 0);
	(void)n;
	close(fd);
}

static void remove_below(int at, const char *name, int depth)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *e; (e = readdir(d));) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, e->d_name, 0) == 0 || depth == DEPTH_MAX)
			continue;
		remove_below(fd, e->d_name, depth + 1);
		(void)unlinkat(fd, e->d_name, AT_REMOVEDIR);
	}
	closedir(d);
}

void vb_dir_remove(const char *path)
{
	remove_below(AT_FDCWD, path, 0);
	(void)rmdir(path);
}

bool vb_dir_is_ours(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT;
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

int vb_dir_replace(const char *fresh, const char *path)
{
	if (renameat2(AT_FDCWD, fresh, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
		return 0;
	if (renameat2(AT_FDCWD, fresh, AT_FDCWD, path, RENAME_EXCHANGE)) {
		/* A file system without exchange: for a moment there is none. */
		vb_dir_remove(path);
		return rename(fresh, path) ? -errno : 0;
	}
	vb_dir_remove(fresh);
	return 0;
}

int vb_dir_lock(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return fd;
}

void vb_dir_sweep(const char *base, const char *prefix, const char *keep)
{
	DIR *d = opendir(base);
	char path[PATH_MAX];

	if (!d)
		return;
	for (struct dirent *e; (e = readdir(d));) {
		const char *dot = strchr(e->d_name, '.');

		/* Under construction: not locked yet. */
		if (strncmp(e->d_name, prefix, strlen(prefix)) != 0 || dot)
			continue;
		snprintf(path, sizeof path, "%s/%s", base, e->d_name);
		if (strcmp(path, keep) == 0 || !vb_dir_is_ours(path))
			continue;
		int lock = vb_dir_lock(path);
		if (lock < 0)
			continue;
		vb_dir_remove(path);
		close(lock);
	}
	closedir(d);
}
