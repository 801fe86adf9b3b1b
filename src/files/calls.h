/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of the C library that no header declares: those that fortified programs and programs of
 * before glibc 2.33 make. And what the wrappers of one kind have in common.
 */
#ifndef VB_FILES_CALLS_H
#define VB_FILES_CALLS_H

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int at, const char *path, int flags);
int __openat64_2(int at, const char *path, int flags);
ssize_t __read_chk(int fd, void *to, size_t len, size_t size);
ssize_t __recv_chk(int fd, void *p, size_t len, size_t size, int flags);
ssize_t __recvfrom_chk(int fd, void *p, size_t len, size_t size, int flags, struct sockaddr *from,
		       socklen_t *from_len);
ssize_t __readlink_chk(const char *path, char *to, size_t len, size_t size);
ssize_t __readlinkat_chk(int at, const char *path, char *to, size_t len, size_t size);
char *__realpath_chk(const char *path, char *to, size_t size);
int __xstat(int version, const char *path, struct stat *st);
int __lxstat(int version, const char *path, struct stat *st);
int __fxstat(int version, int fd, struct stat *st);
int __fxstatat(int version, int at, const char *path, struct stat *st, int flags);
int __xstat64(int version, const char *path, struct stat64 *st);
int __lxstat64(int version, const char *path, struct stat64 *st);
int __fxstat64(int version, int fd, struct stat64 *st);
int __fxstatat64(int version, int at, const char *path, struct stat64 *st, int flags);
int __poll_chk(struct pollfd *p, nfds_t n, int timeout, size_t size);
int __ppoll_chk(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *mask,
		size_t size);

/* The result of a call that other calls carry out. A call that succeeds leaves errno as it was,
 * whatever those have met: programs ask it after a later step that sets none. errno(3) */
static inline ssize_t vb_call_result(ssize_t rc, int was)
{
	if (rc >= 0)
		errno = was;
	return rc;
}

#endif
