/* SPDX-License-Identifier: BSD-2-Clause */
/* The socket at which users call the shared broker. unix(7), sd_listen_fds(3) */
#include "node/carrier/state.h"
#include "node/host/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 512
/* One that was killed may just be on its way out. */
#define PATIENCE_NS (4 * VB_SEC)
#define LOOK_MS 100
#define HANDED_IN 3 /* SD_LISTEN_FDS_START */

static bool is_number(const char *text, long is)
{
	char *end;

	return text && *text && strtol(text, &end, 10) == is && *end == 0;
}

/* The descriptor that is handed in; -ENOENT: none is, -EBADF: it is another socket than ours. */
static int socket_handed_in(void)
{
	struct sockaddr_un a, is = {0};
	socklen_t len = vb_carrier_address(&a), is_len = sizeof is, size = sizeof(int);
	int type = 0, listens = 0;

	if (!is_number(getenv("LISTEN_PID"), getpid()))
		return -ENOENT;
	if (!is_number(getenv("LISTEN_FDS"), 1))
		return -EBADF;
	if (getsockname(HANDED_IN, (struct sockaddr *)&is, &is_len) || is_len != len ||
	    memcmp(&a, &is, len) != 0 || getsockopt(HANDED_IN, SOL_SOCKET, SO_TYPE, &type, &size) ||
	    type != SOCK_SEQPACKET ||
	    getsockopt(HANDED_IN, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) || !listens)
		return -EBADF;
	if (fcntl(HANDED_IN, F_SETFD, FD_CLOEXEC) || fcntl(HANDED_IN, F_SETFL, O_NONBLOCK))
		return -errno;
	return HANDED_IN;
}

static int socket_bind(void)
{
	struct sockaddr_un a;
	socklen_t len = vb_carrier_address(&a);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc;
	vb_time until = vb_clock_now() + PATIENCE_NS;

	if (fd < 0)
		return -errno;
	while ((rc = bind(fd, (struct sockaddr *)&a, len)) && errno == EADDRINUSE &&
	       vb_clock_now() < until)
		(void)poll(NULL, 0, LOOK_MS);
	if (rc || listen(fd, BACKLOG)) {
		rc = -errno;

		close(fd);
		return rc;
	}
	return fd;
}

int vb_carrier_listen(void)
{
	int fd = socket_handed_in();

	return fd == -ENOENT ? socket_bind() : fd;
}
