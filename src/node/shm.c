/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared memory (memfd_create(2)) and the consistent read of host memory: a sequence lock with one
 * writer, the broker.
 */
#include "node/shm.h"

#include "node/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMORY_SEALS (F_SEAL_SHRINK | F_SEAL_GROW)
/* A broker that was killed in the middle of a change leaves seq odd until the next one comes: a
 * reader takes what there is after this many attempts. */
#define READ_ATTEMPTS 1000

int vb_memory_create(const char *name, size_t size)
{
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

int vb_memory_map(int fd, size_t size, bool writable, void **out)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (fstat(fd, &st))
		return -errno;
	if (st.st_size != (off_t)size || seals < 0 || (seals & MEMORY_SEALS) != MEMORY_SEALS)
		return -EINVAL;
	void *p =
	    mmap(NULL, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	*out = p;
	return 0;
}

int vb_memory_protect(void *p, size_t size)
{
	return mprotect(p, size, PROT_READ) ? -errno : 0;
}

void vb_memory_unmap(const void *p, size_t size)
{
	if (p)
		munmap((void *)(uintptr_t)p, size);
}

uint32_t vb_host_read(const struct vb_host_shm *host, struct vb_host_shm *copy)
{
	for (int i = 0; i < READ_ATTEMPTS; i++) {
		uint32_t seq = __atomic_load_n(&host->seq, __ATOMIC_ACQUIRE);

		if (seq & 1) {
			sched_yield();
			continue;
		}
		memcpy(copy, host, sizeof *copy);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&host->seq, __ATOMIC_RELAXED) == seq)
			return copy->generation;
	}
	memcpy(copy, host, sizeof *copy);
	return copy->generation;
}
