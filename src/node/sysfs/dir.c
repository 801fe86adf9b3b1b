/* SPDX-License-Identifier: BSD-2-Clause */
/* Directories of small text files, see dir.h. openat(2), renameat2(2), flock(2) */
#include "node/sysfs/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 16 /* deeper than any tree that is made here */
#define NAME_BYTES 64
#define CLAIM_ATTEMPTS 4
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

/* The mode in which other users may add to, and take from, a directory. */
#define OTHERS_WRITE (S_IWGRP | S_IWOTH)

int vb_dir_open_base(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC), rc = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	/* The directory's owner may rename its entries; so may all who write, unless it is sticky.
	 * In a user namespace root may have no number. */
	if (fstat(fd, &st))
		rc = -errno;
	else if (st.st_mode & OTHERS_WRITE)
		rc = st.st_mode & S_ISVTX ? 0 : -EPERM;
	else if (st.st_uid != geteuid() && st.st_uid != 0)
		rc = -EPERM;
	if (!rc && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS))
		rc = -errno;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

int vb_dir_open(int at, const char *name)
{
	struct stat st;
	int fd = openat(at, name, DIR_FLAGS), rc;

	if (fd < 0)
		return -errno;
	rc = fstat(fd, &st) ? -errno : st.st_uid != geteuid() ? -EPERM : 0;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

/* Whether @name is still, or again, what @fd is. */
static bool is_named(int at, const char *name, int fd)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && fstatat(at, name, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Locks a folder of this user, which nobody else may ever have written to. */
static int lock_private(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_mode & OTHERS_WRITE)
		return -EPERM;
	if (flock(fd, LOCK_EX | LOCK_NB))
		return -errno;
	return fchmod(fd, S_IRWXU) ? -errno : 0;
}

int vb_dir_claim(int base, const char *name)
{
	for (int i = 0; i < CLAIM_ATTEMPTS; i++) {
		int fd, rc;

		if (mkdirat(base, name, S_IRWXU) && errno != EEXIST)
			return -errno;
		fd = vb_dir_open(base, name);
		if (fd == -ENOENT)
			continue;
		if (fd < 0)
			return fd;
		rc = lock_private(fd);
		/* Between the two another broker of this user may have swept it away. */
		if (!rc && is_named(base, name, fd))
			return fd;
		close(fd);
		if (rc)
			return rc;
	}
	return -EEXIST;
}

int vb_dir_make(int at, const char *name)
{
	if (at < 0)
		return at;
	if (mkdirat(at, name, 0755) && errno != EEXIST)
		return -errno;
	return vb_dir_open(at, name);
}

int vb_dir_walk(int at, const char *path, bool make)
{
	int fd = vb_dir_open(at, ".");

	for (const char *p = path; fd >= 0 && *p;) {
		size_t len = strcspn(p, "/");
		char part[NAME_BYTES];
		int next = -ENAMETOOLONG;

		if ((size_t)snprintf(part, sizeof part, "%.*s", (int)len, p) < sizeof part)
			next = make ? vb_dir_make(fd, part) : vb_dir_open(fd, part);
		close(fd);
		fd = next;
		p += len + (p[len] == '/');
	}
	return fd;
}

int vb_file_open(int at, const char *name, int flags)
{
	struct stat st;
	int fd = openat(at, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644), rc;

	if (fd < 0)
		return -errno;
	rc = fstat(fd, &st)                             ? -errno
	     : !S_ISREG(st.st_mode)                     ? -EINVAL
	     : st.st_uid != geteuid() && st.st_uid != 0 ? -EPERM
							: 0;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

void vb_file_put(int at, const char *name, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	int fd = at < 0 ? -1 : vb_file_open(at, name, O_WRONLY | O_CREAT);
	if (fd < 0)
		return;
	if (ftruncate(fd, 0) || write(fd, text, (size_t)n) != n)
		(void)unlinkat(at, name, 0);
	close(fd);
}

void vb_file_rewrite(int at, const char *name, const char *text)
{
	int fd = vb_file_open(at, name, O_WRONLY);

	if (fd < 0)
		return;
	/* A reader sees the old text or the new one, but for a moment after one that was longer. */
	size_t len = strlen(text);

	if (pwrite(fd, text, len, 0) == (ssize_t)len)
		(void)!ftruncate(fd, (off_t)len);
	close(fd);
}

/* The entries of a directory, by a descriptor of their own; NULL: it cannot be read. */
static DIR *stream_open(int fd)
{
	int own = openat(fd, ".", DIR_FLAGS);
	DIR *d = own < 0 ? NULL : fdopendir(own);

	if (!d && own >= 0)
		close(own);
	return d;
}

static void empty_below(int fd, int depth)
{
	DIR *d = stream_open(fd);

	if (!d)
		return;
	for (struct dirent *e; (e = readdir(d));) {
		int below;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, e->d_name, 0) == 0 || depth == DEPTH_MAX)
			continue;
		below = vb_dir_open(fd, e->d_name);
		if (below < 0)
			continue;
		empty_below(below, depth + 1);
		close(below);
		(void)unlinkat(fd, e->d_name, AT_REMOVEDIR);
	}
	closedir(d);
}

void vb_dir_empty(int fd)
{
	empty_below(fd, 0);
}

void vb_dir_remove(int at, const char *name)
{
	int fd = vb_dir_open(at, name);

	if (fd < 0)
		return;
	vb_dir_empty(fd);
	if (is_named(at, name, fd))
		(void)unlinkat(at, name, AT_REMOVEDIR);
	close(fd);
}

int vb_dir_replace(int at, const char *fresh, const char *name)
{
	if (renameat2(at, fresh, at, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (renameat2(at, fresh, at, name, RENAME_EXCHANGE)) {
		/* A file system without exchange: for a moment there is none. */
		vb_dir_remove(at, name);
		return renameat(at, fresh, at, name) ? -errno : 0;
	}
	vb_dir_remove(at, fresh);
	return 0;
}

void vb_dir_sweep(int base, const char *prefix, const char *keep)
{
	DIR *d = stream_open(base);

	if (!d)
		return;
	for (struct dirent *e; (e = readdir(d));) {
		int fd;

		if (strncmp(e->d_name, prefix, strlen(prefix)) != 0 || strcmp(e->d_name, keep) == 0)
			continue;
		fd = vb_dir_open(base, e->d_name);
		if (fd < 0)
			continue;
		if (lock_private(fd) == 0)
			vb_dir_remove(base, e->d_name);
		close(fd);
	}
	closedir(d);
}
