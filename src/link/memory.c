/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared memory, see memory.h. memfd_create(2), fcntl(2) F_ADD_SEALS */
#include "link/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMORY_SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

int vb_memory_create(const char *name, size_t size)
{
	struct rlimit most;

	/* A larger file than the process may make is a signal (SIGXFSZ), not an error. */
	if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < size)
		return -EFBIG;

	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)size) || fcntl(fd, F_ADD_SEALS, MEMORY_SEALS)) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return fd;
}

static bool is_sealed(int fd, size_t size)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	return fstat(fd, &st) == 0 && st.st_size == (off_t)size && seals >= 0 &&
	       (seals & MEMORY_SEALS) == MEMORY_SEALS;
}

int vb_memory_map(int fd, size_t size, bool writable, void **out)
{
	if (!is_sealed(fd, size))
		return -EINVAL;
	void *p =
	    mmap(NULL, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	*out = p;
	return 0;
}

int vb_memory_new(const char *name, size_t size, void **out)
{
	int fd = vb_memory_create(name, size), rc;

	if (fd < 0)
		return fd;
	rc = vb_memory_map(fd, size, true, out);
	if (rc) {
		close(fd);
		return rc;
	}
	return fd;
}

int vb_memory_protect(void *p, size_t size)
{
	return mprotect(p, size, PROT_READ) ? -errno : 0;
}

int vb_memory_map_ring(int fd, size_t head, size_t ring, void **out)
{
	uint8_t *p;

	if (!is_sealed(fd, head + ring))
		return -EINVAL;
	/* One reservation, so that nothing else can be mapped between the parts. */
	p = mmap(NULL, head + 2 * ring, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		 0);
	if (p == MAP_FAILED)
		return -errno;
	if (mmap(p, head + ring, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
		MAP_FAILED ||
	    mmap(p + head + ring, ring, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		 (off_t)head) == MAP_FAILED) {
		int rc = -errno;

		munmap(p, head + 2 * ring);
		return rc;
	}
	*out = p;
	return 0;
}

void vb_memory_unmap(const void *p, size_t size)
{
	if (p)
		munmap((void *)(uintptr_t)p, size);
}
