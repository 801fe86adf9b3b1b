/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protecting the pages of doorbells, so that a store to one is told of. The store itself waits, in
 * the kernel, until the protection is lifted, and is then made: nothing of it is emulated here, and
 * no signal is sent. Only faults of programs are asked for, which needs no right
 * (UFFD_USER_MODE_ONLY). userfaultfd(2), ioctl_userfaultfd(2)
 */
#include "node/bell/priv.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int vb_bells_open_faults(uint8_t *pages, size_t size)
{
	struct uffdio_api api = {.api = UFFD_API,
				 .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP |
					     UFFD_FEATURE_WP_HUGETLBFS_SHMEM};
	struct uffdio_register reg = {.range = {(uintptr_t)pages, size},
				      .mode = UFFDIO_REGISTER_MODE_WP};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);

	if (fd < 0)
		return -1;
	if (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg) ||
	    !(reg.ioctls & (UINT64_C(1) << _UFFDIO_WRITEPROTECT))) {
		close(fd);
		return -1;
	}
	return fd;
}

bool vb_bells_protect(const struct vb_bells *all, uint32_t cnt, bool on)
{
	struct uffdio_writeprotect wp = {
	    .range = {(uintptr_t)all->pages, (uint64_t)cnt * VB_BELL_PAGE},
	    .mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0};

	return cnt == 0 || ioctl(all->fault_fd, UFFDIO_WRITEPROTECT, &wp) == 0;
}
