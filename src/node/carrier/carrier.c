/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared broker's life and its loop, see carrier.h. One thread, one epoll. */
#include "node/carrier/carrier.h"

#include "link/shm/wakeup.h"
#include "node/carrier/state.h"
#include "node/host/clock.h"
#include "node/host/error_hints.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 512
#define EVENTS_MAX 64
#define SINK_BATCH 64
/* A user's own broker has the port for two seconds after its last program. */
#define PORT_NS (4 * VB_SEC)
#define PORT_LOOK_MS 100

static int take_address(void)
{
	struct sockaddr_un a;
	socklen_t len = vb_carrier_address(&a);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc;
	vb_time until = vb_clock_now() + PORT_NS;

	if (fd < 0)
		return -errno;
	/* One that was killed may just be on its way out. */
	while ((rc = bind(fd, (struct sockaddr *)&a, len)) && errno == EADDRINUSE &&
	       vb_clock_now() < until)
		(void)poll(NULL, 0, PORT_LOOK_MS);
	if (rc || listen(fd, BACKLOG)) {
		rc = -errno;

		close(fd);
		return rc;
	}
	return fd;
}

static int watch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

/* All sockets at once: which byte a user gets is drawn. */
static int group_make(struct vb_carrier *c)
{
	vb_time until = vb_clock_now() + PORT_NS;
	int rc = vb_group_probe();

	while (rc == -EADDRINUSE && vb_clock_now() < until) {
		(void)poll(NULL, 0, PORT_LOOK_MS);
		rc = vb_group_probe();
	}
	vb_group_init(&c->group);
	c->group.by_byte = true;
	return rc ? rc : vb_group_grow(&c->group, 1 + VB_CARRIER_BYTES);
}

static int carrier_open(struct vb_carrier *c, const char **what)
{
	struct rlimit files;

	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	*what = "cannot take the name '@verbena/shared'";
	c->listen_fd = take_address();
	if (c->listen_fd < 0)
		return c->listen_fd;
	*what = "cannot have UDP port 4791";
	int rc = group_make(c);
	if (rc)
		return rc;
	*what = "cannot begin";
	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (c->epoll_fd < 0)
		return -errno;
	c->signal_fd = watch_signals();
	c->wake_fd = vb_wakeup_open(&c->token);
	if (c->signal_fd < 0 || c->wake_fd < 0)
		return c->signal_fd < 0 ? c->signal_fd : c->wake_fd;
	rc = vb_carrier_watch(c, c->listen_fd, VB_CARRIER_LISTEN, 0);
	if (!rc)
		rc = vb_carrier_watch(c, c->signal_fd, VB_CARRIER_SIGNAL, 0);
	return rc ? rc : vb_carrier_watch(c, c->group.fd[0], VB_CARRIER_SINK, 0);
}

static void drain_sink(const struct vb_carrier *c)
{
	char byte;

	for (int i = 0; i < SINK_BATCH; i++)
		if (recv(c->group.fd[0], &byte, 1, MSG_DONTWAIT | MSG_TRUNC) < 0)
			return;
}

/* False: it is the end. */
static bool handle_event(struct vb_carrier *c, uint64_t data)
{
	uint32_t index = (uint32_t)data;

	switch ((enum vb_carrier_source)(data >> 32)) {
	case VB_CARRIER_LISTEN:
		vb_carrier_accept(c);
		break;
	case VB_CARRIER_SIGNAL:
		return false;
	case VB_CARRIER_SINK:
		drain_sink(c);
		break;
	case VB_CARRIER_BYTE:
		vb_carrier_carry(c, index);
		break;
	case VB_CARRIER_CLIENT:
		vb_carrier_answer(c, index);
		break;
	case VB_CARRIER_PIDFD:
		vb_carrier_end(c, index);
		break;
	}
	return true;
}

static void carrier_run(struct vb_carrier *c)
{
	struct epoll_event ev[EVENTS_MAX];
	bool more = false;

	for (;; more = vb_carrier_carry_more(c)) {
		int n = epoll_wait(c->epoll_fd, ev, EVENTS_MAX, more ? 0 : -1);

		/* New connections come last: one may get the place of one that ends here, and is
		 * not to be taken for it. */
		for (int last = 0; last <= 1; last++)
			for (int i = 0; i < n; i++)
				if ((ev[i].data.u64 >> 32 == VB_CARRIER_LISTEN) == last &&
				    !handle_event(c, ev[i].data.u64))
					return;
	}
}

int vb_carrier_main(uint32_t processes)
{
	static struct vb_carrier c;
	const char *what;
	char why[256];
	int rc;

	if (geteuid() != 0) {
		fprintf(stderr, "verbena: only root can run the shared broker: users believe no "
				"other\n");
		return 1;
	}
	(void)prctl(PR_SET_NAME, "verbena-shared");
	c.processes_max = processes;
	rc = carrier_open(&c, &what);
	if (rc) {
		(void)vb_error_hint(why, sizeof why, rc, "the shared broker %s", what);
		fprintf(stderr, "verbena: %s\n", why);
		return 1;
	}
	printf("ready\n");
	fflush(stdout);
	carrier_run(&c);
	for (uint32_t i = 0; i < VB_CARRIER_CLIENTS; i++)
		vb_carrier_end(&c, i);
	vb_group_close(&c.group);
	return 0;
}
