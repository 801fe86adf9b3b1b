/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Refuses memory and mappings, one request after the other, and counts what a thread has of both.
 * The linker leads the calls of a test's own code to the functions here (ld(1) --wrap).
 */
#ifndef VB_TESTS_UNIT_ALLOC_ENV_H
#define VB_TESTS_UNIT_ALLOC_ENV_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* The thread that calls verbs: its requests since the count began, the one that fails (0: none),
 * its pieces of memory and its mappings. The adapter's own thread always gets what it wants. */
static _Thread_local uint32_t calls, fail_at;
static _Thread_local int64_t pieces, mappings;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *p);
void __wrap_free(void *p);
void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
void *__real_mremap(void *p, size_t old, size_t size, int flags);
void *__wrap_mremap(void *p, size_t old, size_t size, int flags);
int __real_munmap(void *p, size_t size);
int __wrap_munmap(void *p, size_t size);

static inline bool fails(void)
{
	if (!fail_at || ++calls != fail_at)
		return false;
	errno = ENOMEM;
	return true;
}

static inline void *counted(void *p)
{
	pieces += p != NULL;
	return p;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_realloc(void *p, size_t size)
{
	if (fails())
		return NULL;
	pieces += !p;
	return __real_realloc(p, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : counted(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void *p)
{
	pieces -= p != NULL;
	__real_free(p);
}

void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *p = fails() ? MAP_FAILED : __real_mmap(at, size, prot, flags, fd, offset);

	mappings += p != MAP_FAILED && !(flags & MAP_FIXED);
	return p;
}

/* An old size of 0 maps the memory again. */
void *__wrap_mremap(void *p, size_t old, size_t size, int flags)
{
	void *more = fails() ? MAP_FAILED : __real_mremap(p, old, size, flags);

	mappings += more != MAP_FAILED && old == 0;
	return more;
}

int __wrap_munmap(void *p, size_t size)
{
	mappings--;
	return __real_munmap(p, size);
}

#endif
