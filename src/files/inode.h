/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which file a descriptor stands for, as often as a device is used: fstat(2) as the system call of
 * that name. The C libraries of glibc 2.33 to 2.38 make newfstatat(2) with an empty path of it,
 * which takes 1.1 times as long on usual machines, and three times as long or more in an emulated
 * guest.
 */
#ifndef VB_FILES_INODE_H
#define VB_FILES_INODE_H

#include "files/next.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As fstat(2). */
static inline int vb_inode_stat(int fd, struct stat *st)
{
	/* Where a long has 64 bits, the structure of the kernel is the C library's. */
#if defined(SYS_fstat) && defined(__LP64__)
	return (int)syscall(SYS_fstat, fd, st);
#else
	return VB_NEXT(fstat)(fd, st);
#endif
}

#endif
