/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls on descriptors: those of a device go to it, all others on, after one look into the table of
 * fd.h. Copies of a device's descriptor are devices; a number that is closed, or that another file
 * takes, is none any more.
 */
#include "files/calls.h"
#include "files/cm/cm.h"
#include "files/cm/event.h"
#include "files/netlink/socket.h"
#include "files/next.h"
#include "files/umad/umad.h"
#include "node/wait/uverbs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* One line for all that a process tries. */
static ssize_t refuse_uverbs(int err)
{
	static atomic_flag is_told = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&is_told))
		dprintf(STDERR_FILENO,
			"verbena: the verbs are served by the calls of libibverbs, not through "
			"/dev/infiniband/uverbs*\n");
	errno = err;
	return -1;
}

static ssize_t error_result(ssize_t rc)
{
	if (rc >= 0)
		return rc;
	errno = (int)-rc;
	return -1;
}

/* A command of a copy of libibverbs: verbs/provider/. */
static ssize_t write_uverbs(int fd, const void *from, size_t len)
{
	const struct vb_uverbs_calls *calls = atomic_load(&vb_uverbs_calls);
	ssize_t rc = calls ? calls->command(fd, from, len) : -EOPNOTSUPP;

	return rc == -EOPNOTSUPP ? refuse_uverbs(EOPNOTSUPP) : error_result(rc);
}

/* Such a copy reads events of its channels. */
static ssize_t read_events(int fd, void *to, size_t len)
{
	const struct vb_uverbs_calls *calls = atomic_load(&vb_uverbs_calls);
	ssize_t rc = calls ? calls->read_event(fd, to, len) : -ENOENT;

	return rc == -ENOENT ? VB_NEXT(read)(fd, to, len) : error_result(rc);
}

static void close_events(int fd)
{
	const struct vb_uverbs_calls *calls = atomic_load(&vb_uverbs_calls);

	if (calls && vb_fd_kinds[fd] == VB_FD_EVENTS)
		calls->close_event(fd);
}

ssize_t read(int fd, void *to, size_t len)
{
	struct vb_fd f;
	int was = errno;

	if (vb_fd_is_plain(fd) || vb_fd_get(fd, &f) == VB_FD_PLAIN)
		return VB_NEXT(read)(fd, to, len);
	if (f.kind == VB_FD_EVENTS)
		return vb_call_result(read_events(fd, to, len), was);
	if (f.kind == VB_FD_UVERBS)
		return refuse_uverbs(EOPNOTSUPP);
	if (f.kind == VB_FD_NETLINK)
		return recv(fd, to, len, 0);
	if (f.kind == VB_FD_UMAD)
		return vb_call_result(vb_umad_read(fd, &f, to, len), was);
	errno = EINVAL; /* CMP-31: the device has no read */
	return -1;
}

ssize_t __read_chk(int fd, void *to, size_t len, size_t size)
{
	return vb_fd_is_plain(fd) ? VB_NEXT(__read_chk)(fd, to, len, size) : read(fd, to, len);
}

ssize_t write(int fd, const void *from, size_t len)
{
	struct vb_fd f;
	int was = errno;

	if (vb_fd_is_plain(fd) || vb_fd_get(fd, &f) == VB_FD_PLAIN)
		return VB_NEXT(write)(fd, from, len);
	if (f.kind == VB_FD_NETLINK)
		return vb_call_result(vb_netlink_send(fd, &f, from, len), was);
	if (f.kind == VB_FD_UMAD)
		return vb_call_result(vb_umad_write(fd, &f, from, len), was);
	if (f.kind == VB_FD_UVERBS)
		return vb_call_result(write_uverbs(fd, from, len), was);
	if (f.kind == VB_FD_EVENTS)
		return VB_NEXT(write)(fd, from, len);
	return vb_call_result(vb_cm_write(fd, &f, from, len), was);
}

int ioctl(int fd, unsigned long request, ...)
{
	struct vb_fd f;
	int was = errno;
	va_list ap;

	va_start(ap, request);
	void *arg = va_arg(ap, void *);
	va_end(ap);
	/* Of any open file. */
	bool of_any =
	    request == FIONBIO || request == FIOASYNC || request == FIOCLEX || request == FIONCLEX;
	if (vb_fd_is_plain(fd) || of_any || vb_fd_get(fd, &f) == VB_FD_PLAIN ||
	    f.kind == VB_FD_NETLINK || f.kind == VB_FD_EVENTS)
		return VB_NEXT(ioctl)(fd, request, arg);
	if (f.kind == VB_FD_UVERBS && !vb_uverbs_is_offered())
		return (int)refuse_uverbs(ENOTTY);
	if (f.kind == VB_FD_UMAD)
		return (int)vb_call_result(vb_umad_ioctl(&f, request, arg), was);
	errno = ENOTTY;
	return -1;
}

int close(int fd)
{
	if (!vb_fd_is_plain(fd)) {
		int was = errno;

		close_events(fd);
		vb_cm_before_close(fd);
		vb_netlink_before_close(fd);
		errno = was;
	}
	vb_fd_forget(fd);
	return VB_NEXT(close)(fd);
}

int close_range(unsigned first, unsigned last, int flags)
{
	int rc = VB_NEXT(close_range)(first, last, flags);

	if (!rc && !((unsigned)flags & CLOSE_RANGE_CLOEXEC))
		vb_fd_forget_range(first, last);
	return rc;
}

void closefrom(int first)
{
	vb_fd_forget_range(first < 0 ? 0 : (unsigned)first, VB_FDS_MAX);
	VB_NEXT(closefrom)(first);
}

/* A copy that the table has no place for is none: its user would talk to a bare socket. */
static int enter_copy(int from, int to)
{
	if (to < 0 || (vb_fd_is_plain(from) && vb_fd_is_plain(to)))
		return to;
	if (from == to || !vb_fd_copy(from, to))
		return to;
	VB_NEXT(close)(to);
	errno = EMFILE;
	return -1;
}

int dup(int fd)
{
	return enter_copy(fd, VB_NEXT(dup)(fd));
}

int dup2(int fd, int to)
{
	return enter_copy(fd, VB_NEXT(dup2)(fd, to));
}

int dup3(int fd, int to, int flags)
{
	return enter_copy(fd, VB_NEXT(dup3)(fd, to, flags));
}

/* fcntl(2) takes a number or an address, which the register holds as well. */
#define FCNTL_ARG(arg, cmd)                                                                        \
	do {                                                                                       \
		va_list ap;                                                                        \
		va_start(ap, cmd);                                                                 \
		(arg) = va_arg(ap, void *);                                                        \
		va_end(ap);                                                                        \
	} while (0)

static bool makes_copy(int cmd)
{
	return cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC;
}

int fcntl(int fd, int cmd, ...)
{
	void *arg;

	FCNTL_ARG(arg, cmd);
	int rc = VB_NEXT(fcntl)(fd, cmd, arg);
	return makes_copy(cmd) ? enter_copy(fd, rc) : rc;
}

int fcntl64(int fd, int cmd, ...)
{
	void *arg;

	FCNTL_ARG(arg, cmd);
	int rc = VB_NEXT(fcntl64)(fd, cmd, arg);
	return makes_copy(cmd) ? enter_copy(fd, rc) : rc;
}
