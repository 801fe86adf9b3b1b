/* SPDX-License-Identifier: BSD-2-Clause */
/* A library of the user's own that stands before open() and write() too, as many tools do: it
 * counts the calls and says so at the end. Preloaded before the adapter and behind it. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static atomic_int opens, writes;

#define EXPORT __attribute__((visibility("default")))

EXPORT int open(const char *path, int flags, ...)
{
	int (*next)(const char *, int, mode_t);
	void *p = dlsym(RTLD_NEXT, "open");
	va_list ap;

	va_start(ap, flags);
	mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	memcpy(&next, &p, sizeof next);
	opens++;
	return next(path, flags, mode);
}

EXPORT ssize_t write(int fd, const void *from, size_t len)
{
	ssize_t (*next)(int, const void *, size_t);
	void *p = dlsym(RTLD_NEXT, "write");

	memcpy(&next, &p, sizeof next);
	writes++;
	return next(fd, from, len);
}

__attribute__((destructor)) static void say_counts(void)
{
	fprintf(stderr, "opens %s writes %s\n", opens ? "some" : "none", writes ? "some" : "none");
}
