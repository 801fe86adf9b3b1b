/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is this memory there? A NIC pins what is registered and so finds out at once; here the kernel is
 * asked to bring the pages in (madvise(2), MADV_POPULATE_READ and _WRITE), which fails for what is
 * not mapped or not writable, and makes the first access as fast as the next ones. Nothing is
 * pinned, so no RLIMIT_MEMLOCK applies.
 */
#include "node/engine/priv.h"
#include "node/host/memory_maps.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

/* Looks into /proc/self/maps, where nothing is touched: 0, or EFAULT. */
static int walk_maps(uintptr_t start, uintptr_t end, bool write)
{
	FILE *f = vb_memory_maps_open(0);
	struct vb_map m;

	if (!f)
		return errno;
	while (start < end && vb_memory_maps_next(f, &m)) {
		if (m.end <= start)
			continue;
		if (m.start > start || !m.readable || (write && !m.writable))
			break;
		start = m.end;
	}
	fclose(f);
	return start < end ? EFAULT : 0;
}

/* Nothing is allocated here: memory that is may be mapped just there. */
static bool pages_have_hole(uintptr_t start, uintptr_t end, uintptr_t page)
{
	unsigned char present[1024];
	uintptr_t step = sizeof present * page;

	for (; start < end; start += end - start < step ? end - start : step) {
		if (mincore((void *)start, end - start < step ? end - start : step, present) &&
		    errno == ENOMEM)
			return true;
	}
	return false;
}

/* Asks the kernel to bring the pages in: 0 or an errno. */
static int populate_pages(uintptr_t start, uintptr_t end, bool write)
{
	int err;

	do {
		err = madvise((void *)start, end - start,
			      write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ)
			  ? errno
			  : 0;
	} while (err == EINTR || err == EAGAIN);
	/* Wrong rights, or else a kernel before 5.14. */
	if (err == EINVAL)
		return walk_maps(start, end, write);
	/* A hole, or else no memory left. */
	if (err == ENOMEM && pages_have_hole(start, end, (uintptr_t)sysconf(_SC_PAGESIZE)))
		return EFAULT;
	return err == EHWPOISON ? EFAULT : err;
}

int vb_engine_page_in(void *ctx, void *p, size_t len, bool write)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)p & ~(page - 1), end;

	(void)ctx;
	if (__builtin_add_overflow((uintptr_t)p, len, &end) || end > UINTPTR_MAX - page)
		return -EFAULT;
	return populate_pages(start, (end + page - 1) & ~(page - 1), write) ? -EFAULT : 0;
}

/* More than the machine has free is looked at but not brought in: the application may mean to use
 * little of it. */
static bool fits_in_memory(size_t length)
{
	long pages = sysconf(_SC_AVPHYS_PAGES);

	return pages > 0 && length / (size_t)sysconf(_SC_PAGESIZE) < (size_t)pages / 2;
}

int vb_engine_check_memory(const void *addr, size_t length, bool write)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)addr & ~(page - 1);
	uintptr_t end;

	if (__builtin_add_overflow((uintptr_t)addr, length, &end) || end > UINTPTR_MAX - page)
		return EFAULT;
	end = (end + page - 1) & ~(page - 1);
	if (!fits_in_memory(end - start))
		return walk_maps(start, end, write);
	return populate_pages(start, end, write);
}
