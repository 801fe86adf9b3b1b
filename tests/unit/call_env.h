/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of the kernel that fail, as memory does in alloc_env.h, one after the other: each attempt
 * has one call more that succeeds. And calls that a signal interrupts once. The linker leads the
 * calls of a test's own code to the functions here (ld(1) --wrap).
 */
#ifndef VB_TESTS_UNIT_CALL_ENV_H
#define VB_TESTS_UNIT_CALL_ENV_H

#include "alloc_env.h"
#include "cmocka_env.h"
#include "descriptors.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

/* The call that has failed, with what tells it from its like; "": it was memory. */
static _Thread_local char failed[32];

/* The call fails, by -1 and ENOMEM. */
static inline bool call_fails(const char *name)
{
	if (!fails())
		return false;
	snprintf(failed, sizeof failed, "%s", name);
	errno = ENOMEM;
	return true;
}

static inline bool option_fails(const char *name, int level, int option)
{
	char text[sizeof failed];

	snprintf(text, sizeof text, "%s %d %d", name, level, option);
	return call_fails(text);
}

int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);
int __real_socketpair(int domain, int type, int protocol, int fd[2]);
int __wrap_socketpair(int domain, int type, int protocol, int fd[2]);
int __real_bind(int fd, const struct sockaddr *a, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *a, socklen_t len);
int __real_connect(int fd, const struct sockaddr *a, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *a, socklen_t len);
int __real_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog);
int __real_getsockname(int fd, struct sockaddr *a, socklen_t *len);
int __wrap_getsockname(int fd, struct sockaddr *a, socklen_t *len);
int __real_setsockopt(int fd, int level, int option, const void *value, socklen_t len);
int __wrap_setsockopt(int fd, int level, int option, const void *value, socklen_t len);
int __real_getsockopt(int fd, int level, int option, void *value, socklen_t *len);
int __wrap_getsockopt(int fd, int level, int option, void *value, socklen_t *len);
int __real_epoll_create1(int flags);
int __wrap_epoll_create1(int flags);
int __real_epoll_ctl(int epoll_fd, int op, int fd, struct epoll_event *e);
int __wrap_epoll_ctl(int epoll_fd, int op, int fd, struct epoll_event *e);
int __real_eventfd(unsigned value, int flags);
int __wrap_eventfd(unsigned value, int flags);
int __real_signalfd(int fd, const sigset_t *mask, int flags);
int __wrap_signalfd(int fd, const sigset_t *mask, int flags);
int __real_pipe2(int fd[2], int flags);
int __wrap_pipe2(int fd[2], int flags);
int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);
int __real_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size);
int __real_fcntl(int fd, int cmd, ...);
int __wrap_fcntl(int fd, int cmd, ...);
ssize_t __real_getrandom(void *to, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *to, size_t size, unsigned flags);
ssize_t __real_sendmsg(int fd, const struct msghdr *m, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags);

int __wrap_socket(int domain, int type, int protocol)
{
	return option_fails("socket", domain, 0) ? -1 : __real_socket(domain, type, protocol);
}

int __wrap_socketpair(int domain, int type, int protocol, int fd[2])
{
	return call_fails("socketpair") ? -1 : __real_socketpair(domain, type, protocol, fd);
}

int __wrap_bind(int fd, const struct sockaddr *a, socklen_t len)
{
	return call_fails("bind") ? -1 : __real_bind(fd, a, len);
}

int __wrap_connect(int fd, const struct sockaddr *a, socklen_t len)
{
	return call_fails("connect") ? -1 : __real_connect(fd, a, len);
}

int __wrap_listen(int fd, int backlog)
{
	return call_fails("listen") ? -1 : __real_listen(fd, backlog);
}

int __wrap_getsockname(int fd, struct sockaddr *a, socklen_t *len)
{
	return call_fails("getsockname") ? -1 : __real_getsockname(fd, a, len);
}

int __wrap_setsockopt(int fd, int level, int option, const void *value, socklen_t len)
{
	return option_fails("set", level, option)
		   ? -1
		   : __real_setsockopt(fd, level, option, value, len);
}

int __wrap_getsockopt(int fd, int level, int option, void *value, socklen_t *len)
{
	return option_fails("get", level, option)
		   ? -1
		   : __real_getsockopt(fd, level, option, value, len);
}

int __wrap_epoll_create1(int flags)
{
	return call_fails("epoll_create1") ? -1 : __real_epoll_create1(flags);
}

int __wrap_epoll_ctl(int epoll_fd, int op, int fd, struct epoll_event *e)
{
	return call_fails("epoll_ctl") ? -1 : __real_epoll_ctl(epoll_fd, op, fd, e);
}

int __wrap_eventfd(unsigned value, int flags)
{
	return call_fails("eventfd") ? -1 : __real_eventfd(value, flags);
}

int __wrap_signalfd(int fd, const sigset_t *mask, int flags)
{
	return call_fails("signalfd") ? -1 : __real_signalfd(fd, mask, flags);
}

int __wrap_pipe2(int fd[2], int flags)
{
	return call_fails("pipe2") ? -1 : __real_pipe2(fd, flags);
}

int __wrap_memfd_create(const char *name, unsigned flags)
{
	return call_fails("memfd_create") ? -1 : __real_memfd_create(name, flags);
}

int __wrap_ftruncate(int fd, off_t size)
{
	return call_fails("ftruncate") ? -1 : __real_ftruncate(fd, size);
}

int __wrap_fcntl(int fd, int cmd, ...)
{
	va_list ap;
	long arg;

	va_start(ap, cmd);
	arg = va_arg(ap, long);
	va_end(ap);
	return option_fails("fcntl", cmd, 0) ? -1 : __real_fcntl(fd, cmd, arg);
}

ssize_t __wrap_getrandom(void *to, size_t size, unsigned flags)
{
	return call_fails("getrandom") ? -1 : __real_getrandom(to, size, flags);
}

/* Calls that wait since the count began, and the one that a signal interrupts; 0: none. */
static _Thread_local uint32_t waits, interrupted_at;

static inline bool is_interrupted(void)
{
	if (!interrupted_at || ++waits != interrupted_at)
		return false;
	errno = EINTR;
	return true;
}

ssize_t __real_recvmsg(int fd, struct msghdr *m, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *m, int flags);
ssize_t __real_recv(int fd, void *to, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *to, size_t len, int flags);
int __real_poll(struct pollfd *p, nfds_t cnt, int ms);
int __wrap_poll(struct pollfd *p, nfds_t cnt, int ms);
int __real_epoll_wait(int epoll_fd, struct epoll_event *e, int cnt, int ms);
int __wrap_epoll_wait(int epoll_fd, struct epoll_event *e, int cnt, int ms);
ssize_t __real_read(int fd, void *to, size_t len);
ssize_t __wrap_read(int fd, void *to, size_t len);
pid_t __real_waitpid(pid_t pid, int *status, int options);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);

ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags)
{
	return is_interrupted() || call_fails("sendmsg") ? -1 : __real_sendmsg(fd, m, flags);
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *m, int flags)
{
	return is_interrupted() ? -1 : __real_recvmsg(fd, m, flags);
}

ssize_t __wrap_recv(int fd, void *to, size_t len, int flags)
{
	return is_interrupted() ? -1 : __real_recv(fd, to, len, flags);
}

int __wrap_poll(struct pollfd *p, nfds_t cnt, int ms)
{
	return is_interrupted() ? -1 : __real_poll(p, cnt, ms);
}

int __wrap_epoll_wait(int epoll_fd, struct epoll_event *e, int cnt, int ms)
{
	return is_interrupted() ? -1 : __real_epoll_wait(epoll_fd, e, cnt, ms);
}

ssize_t __wrap_read(int fd, void *to, size_t len)
{
	return is_interrupted() ? -1 : __real_read(fd, to, len);
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	return is_interrupted() ? -1 : __real_waitpid(pid, status, options);
}

/* Something that asks the kernel for this and that. */
struct attempt {
	void (*before)(void); /* prepares it; NULL: there is nothing to prepare */
	int (*make)(void);    /* 0 or a negative errno */
	void (*end)(int rc);  /* undoes both, after @make returned @rc; NULL: nothing to undo */
	/* The calls that it does without, each with a ';' behind it: named as by call_fails(), with
	 * numbers of the kernel's headers. "*": everything. "?": some of the memory it asks for,
	 * too, so that either answer is right. */
	const char *optional;
};

static inline bool is_optional(const struct attempt *a)
{
	char text[sizeof failed + 1];

	snprintf(text, sizeof text, "%s;", failed);
	return a->optional && (a->optional[0] == '*' || (failed[0] && strstr(a->optional, text)));
}

/* Whether @rc is what @a has to return where call @n has failed, or was not made (@is_last). */
static inline bool is_right(const struct attempt *a, int rc, bool is_last)
{
	if (is_last || is_optional(a))
		return rc == 0;
	return rc < 0 || (rc == 0 && a->optional && a->optional[0] == '?');
}

/* Makes @a with call @n failing. Returns whether there were so many. */
static inline bool attempt_once(const char *what, const struct attempt *a, uint32_t n)
{
	unsigned descriptors = descriptors_of(getpid());
	int64_t had = pieces, mapped = mappings;
	bool is_last;
	int rc;

	if (a->before)
		a->before();
	failed[0] = 0;
	calls = 0;
	fail_at = n;
	rc = a->make();
	fail_at = 0;
	is_last = calls < n;
	if (a->end)
		a->end(rc);
	if (!is_right(a, rc, is_last))
		fail_msg("%s is %d when call %u fails (%s)", what, rc, n, failed);
	if (descriptors_of(getpid()) != descriptors || pieces != had || mappings != mapped)
		fail_msg("%s leaves %d descriptors, %d pieces of memory and %d mappings when call "
			 "%u fails (%s)",
			 what, (int)(descriptors_of(getpid()) - descriptors), (int)(pieces - had),
			 (int)(mappings - mapped), n, failed);
	return !is_last;
}

/* Makes @a with ever more calls that succeed, until all do. Nothing of an attempt that failed is
 * left, and nothing that is made at last. At least @least calls are made. */
static inline void attempt_each(const char *what, const struct attempt *a, uint32_t least)
{
	uint32_t n = 1;

	while (attempt_once(what, a, n))
		n++;
	assert_uint_in_range(n - 1, least, 100000);
}

/* The same with a signal that comes during each call that waits: it ends nothing. */
static inline void interrupt_each(const char *what, const struct attempt *a, uint32_t least)
{
	bool is_last = false;
	uint32_t n;

	for (n = 1; !is_last; n++) {
		int rc;

		if (a->before)
			a->before();
		waits = 0;
		interrupted_at = n;
		rc = a->make();
		interrupted_at = 0;
		is_last = waits < n;
		if (a->end)
			a->end(rc);
		if (rc)
			fail_msg("%s is %d when call %u is interrupted", what, rc, n);
	}
	assert_uint_in_range(n - 2, least, 100000);
}

#endif
