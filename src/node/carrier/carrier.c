/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared broker's life and its loop, see carrier.h. One thread, one epoll. */
#include "node/carrier/carrier.h"

#include "link/shm/wakeup.h"
#include "node/carrier/direct/direct.h"
#include "node/host/clock.h"
#include "node/host/error_hints.h"
#include "node/netdev/devices.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_MAX 64
#define SINK_BATCH 64
#define DEVICES_NS (50 * VB_MSEC) /* a burst of notifications is one change */
/* A user's own broker has the port for two seconds after its last program. */
#define PORT_NS (4 * VB_SEC)
#define PORT_LOOK_MS 100

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
	return rc ? rc : vb_group_grow(&c->group, VB_CARRIER_GSI_SOCKET + 1);
}

static void devices_read(struct vb_carrier *c)
{
	static struct vb_netdevs netdevs;

	c->devices_due = VB_NEVER;
	if (vb_netdev_read(&netdevs) == 0 && vb_devices_update(c->slots.host, &netdevs, 0))
		vb_carrier_follow(c);
}

/* The users that it knows, and the devices. */
static int state_open(struct vb_carrier *c)
{
	bool found;
	int rc = vb_carrier_kept_open(&c->kept, &c->kept_fd, &found);

	if (!rc && getrandom(c->secret, sizeof c->secret, 0) != (ssize_t)sizeof c->secret)
		rc = -errno;
	if (!rc)
		rc = vb_slots_init(&c->slots);
	if (rc)
		return rc;
	vb_carrier_users_begin(c, vb_clock_now());
	c->netlink_fd = vb_netdev_subscribe();
	devices_read(c);
	return c->netlink_fd < 0 ? c->netlink_fd : 0;
}

static int loop_open(struct vb_carrier *c)
{
	uint64_t token; /* nobody is told: what came to wake_fd, nobody would take */
	int rc;

	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (c->epoll_fd < 0)
		return -errno;
	c->signal_fd = watch_signals();
	c->wake_fd = vb_wakeup_open(&token);
	if (c->signal_fd < 0 || c->wake_fd < 0)
		return c->signal_fd < 0 ? c->signal_fd : c->wake_fd;
	rc = vb_carrier_watch(c, c->listen_fd, VB_CARRIER_ON_LISTEN, 0);
	if (!rc)
		rc = vb_carrier_watch(c, c->signal_fd, VB_CARRIER_ON_SIGNAL, 0);
	if (!rc)
		rc = vb_carrier_watch(c, c->netlink_fd, VB_CARRIER_ON_NETLINK, 0);
	return rc ? rc : vb_carrier_watch(c, c->group.fd[0], VB_CARRIER_ON_SINK, 0);
}

/* @what begins a line for the administrator, or is the line, in @why. */
static int carrier_open(struct vb_carrier *c, const char **what, char *why, size_t why_size)
{
	struct rlimit files;
	int rc;

	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	*what = "cannot take the name '@verbena/shared'";
	c->listen_fd = vb_carrier_listen();
	if (c->listen_fd == -EBADF)
		*what = "was handed in another socket than '@verbena/shared'";
	if (c->listen_fd < 0)
		return c->listen_fd;
	*what = "cannot have UDP port 4791";
	rc = group_make(c);
	if (rc)
		return rc;
	*what = NULL;
	rc = vb_carrier_direct_open(c, why, why_size);
	if (rc)
		return rc;
	*what = "cannot begin";
	rc = state_open(c);
	if (!rc)
		rc = loop_open(c);
	return rc ? rc : vb_carrier_gsi_open(c);
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
	case VB_CARRIER_ON_LISTEN:
		vb_carrier_accept(c);
		break;
	case VB_CARRIER_ON_SIGNAL:
		return false;
	case VB_CARRIER_ON_SINK:
		drain_sink(c);
		break;
	case VB_CARRIER_ON_BYTE:
		vb_carrier_carry(c, index);
		break;
	case VB_CARRIER_ON_GSI:
		vb_carrier_gsi_packets(c);
		break;
	case VB_CARRIER_ON_CLIENT:
		vb_carrier_called(c, index);
		break;
	case VB_CARRIER_ON_PIDFD:
		vb_carrier_end(c, index);
		break;
	case VB_CARRIER_ON_ASK:
		vb_carrier_asked(c, index);
		break;
	case VB_CARRIER_ON_NETLINK:
		vb_netdev_drain(c->netlink_fd);
		c->devices_due = vb_time_min(c->devices_due, vb_clock_now() + DEVICES_NS);
		break;
	}
	return true;
}

/* Milliseconds until something is due; -1: nothing is. */
static int wait_ms(const struct vb_carrier *c, vb_time now)
{
	vb_time due = vb_time_min(c->hold_due, vb_carrier_gsi_due(c));

	due = vb_time_min(vb_time_min(due, c->devices_due), vb_carrier_faults_due(c));
	due = vb_time_min(vb_time_min(due, c->closing_due), c->listen_due);
	return due == VB_NEVER ? -1 : (int)((vb_time_since(now, due) + VB_MSEC - 1) / VB_MSEC);
}

static void handle_timeouts(struct vb_carrier *c, vb_time now)
{
	if (vb_carrier_gsi_due(c) <= now)
		vb_carrier_gsi_timeouts(c, now);
	if (c->hold_due <= now)
		vb_carrier_users_timeouts(c, now);
	if (c->devices_due <= now)
		devices_read(c);
	vb_carrier_faults_timeouts(c, now);
	if (c->closing_due <= now)
		vb_carrier_close_ended(c);
	if (c->listen_due <= now)
		vb_carrier_accept_again(c);
}

/* Goes on with sockets whose descriptor does not show what is left. True: something still is. */
static bool packets_carry_more(struct vb_carrier *c)
{
	bool more = false;

	for (uint32_t i = 0; i < VB_CARRIER_BYTES; i++) {
		if (c->byte[i].has_more)
			vb_carrier_carry(c, i);
		more |= c->byte[i].has_more;
	}
	if (c->gsi.has_more)
		vb_carrier_gsi_packets(c);
	return more || c->gsi.has_more;
}

static void carrier_run(struct vb_carrier *c)
{
	struct epoll_event ev[EVENTS_MAX];
	bool more = false;

	for (;; more = packets_carry_more(c)) {
		int n =
		    epoll_wait(c->epoll_fd, ev, EVENTS_MAX, more ? 0 : wait_ms(c, vb_clock_now()));

		/* New connections come last: one may get the place of one that ends here, and is
		 * not to be taken for it. */
		for (int last = 0; last <= 1; last++)
			for (int i = 0; i < n; i++)
				if ((ev[i].data.u64 >> 32 == VB_CARRIER_ON_LISTEN) == last &&
				    !handle_event(c, ev[i].data.u64))
					return;
		handle_timeouts(c, vb_clock_now());
	}
}

int vb_carrier_main(const struct vb_carrier_options *options)
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
	c.limits = options->limits;
	c.faults = options->faults;
	c.fault_text = options->fault_text;
	c.fault_seed = options->fault_seed;
	c.closing_due = c.listen_due = VB_NEVER;
	c.is_direct = options->is_direct;
	rc = carrier_open(&c, &what, why, sizeof why);
	if (rc) {
		if (what)
			(void)vb_error_hint(why, sizeof why, rc, "the shared broker %s", what);
		fprintf(stderr, "verbena: %s\n", why);
		return 1;
	}
	printf("ready\n");
	fflush(stdout);
	carrier_run(&c);
	for (uint32_t i = 0; i < VB_CARRIER_CLIENTS; i++)
		vb_carrier_end(&c, i);
	vb_carrier_close_ended(&c);
	vb_carrier_direct_close(&c);
	vb_carrier_gsi_close(&c);
	vb_group_close(&c.group);
	vb_carrier_kept_remove();
	return 0;
}
