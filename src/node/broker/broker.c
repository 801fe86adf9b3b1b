/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker's main loop: one thread, one epoll. It starts with taking its abstract address, which
 * only one process of a user and network namespace can have, and ends when it has had no connection
 * for a while. See broker.h.
 */
#include "node/broker/broker.h"

#include "node/broker/past.h"
#include "node/broker/state.h"
#include "node/host/clock.h"
#include "node/host/error_hints.h"
#include "node/netdev/devices.h"
#include "node/store/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define LINGER_NS (2 * VB_SEC)
#define COUNTERS_NS VB_SEC
#define DEVICES_NS (50 * VB_MSEC) /* a burst of notifications is one change */
#define KEEPER_NS (2 * VB_SEC)
#define BACKLOG 512 /* all programs of a host may start at once */
#define EVENTS_MAX 64
#define SINK_BATCH 64
#define EXIT_OTHER_BROKER 3

/* Nothing of the program that happened to start the broker stays: terminal, directory, files. */
static int detach_process(void)
{
	static const char *const own[] = {"VERBENA_FAULT", "VERBENA_FAULT_SEED", "VERBENA_CC",
					  "VERBENA_LINK",  "VERBENA_FABRIC",     "VERBENA_NODE"};
	struct rlimit nofile;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return -errno;
	/* stdout stays until the broker listens: its end tells the program that waits for it. */
	dup2(null, STDIN_FILENO);
	dup2(null, STDERR_FILENO);
	if (syscall(SYS_close_range, 3u, ~0u, 0u))
		for (int fd = 3; fd < 4096; fd++)
			close(fd);
	if (chdir("/"))
		return -errno;
	/* Rules of a program's own are not those of the broker's QP. */
	for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
		(void)unsetenv(own[i]);
	(void)setsid(); /* fails when we lead a session already */
	(void)umask(022);
	if (!getrlimit(RLIMIT_NOFILE, &nofile)) {
		nofile.rlim_cur = nofile.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &nofile);
	}
	(void)prctl(PR_SET_NAME, "verbena");
	return 0;
}

static int take_address(void)
{
	struct sockaddr_un a;
	socklen_t len = vb_broker_address(&a, geteuid());
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&a, len) || listen(fd, BACKLOG)) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return fd;
}

static int watch_signals(void)
{
	sigset_t set;

	/* Keepers are not waited for. */
	(void)signal(SIGCHLD, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_SETMASK, &set, NULL);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

static void write_counters(struct vb_broker *b)
{
	const struct vb_cm_port_counters *cm = vb_broker_cm_counters(b);
	struct vb_counters total;

	for (uint32_t i = 0; i < b->slots.host->device_cnt; i++)
		if (b->slots.host->device[i].ifindex) {
			struct vb_port_violations *v = &b->slots.host->violations[i + 1];

			vb_slots_total(&b->slots, i + 1, &total);
			__atomic_store_n(&v->bad_pkey,
					 total.v[VB_COUNTER_port_rcv_constraint_errors],
					 __ATOMIC_RELAXED);
			__atomic_store_n(&v->bad_qkey, total.v[VB_COUNTER_qkey_viol_cntr],
					 __ATOMIC_RELAXED);
			vb_sysfs_counters(&b->sysfs, b->slots.host, i, &total);
			if (cm)
				vb_sysfs_cm_counters(&b->sysfs, b->slots.host, i, &cm[i + 1]);
		}
}

/* Packets for QP0 and slots that do not exist. */
static void drain_sink(const struct vb_broker *b)
{
	char byte;

	for (int i = 0; i < SINK_BATCH; i++)
		if (recv(b->slots.group.fd[0], &byte, 1, MSG_DONTWAIT | MSG_TRUNC) < 0)
			return;
}

static void handle_event(struct vb_broker *b, uint64_t data, vb_time now)
{
	uint32_t index = (uint32_t)data;

	switch ((enum vb_broker_source)(data >> 32)) {
	case VB_SOURCE_LISTEN:
		vb_conn_accept(b, now);
		break;
	case VB_SOURCE_NETLINK:
		vb_netdev_drain(b->netlink_fd);
		b->devices_due = vb_time_min(b->devices_due, now + DEVICES_NS);
		break;
	case VB_SOURCE_SIGNAL:
		b->is_ending = true;
		/* Programs start the next broker; a keeper alone is not to. */
		if (b->client_cnt == 0)
			(void)vb_broker_set_kept(b, false, 0);
		break;
	case VB_SOURCE_SINK:
		drain_sink(b);
		break;
	case VB_SOURCE_GSI:
		vb_broker_cm_packets(b, now);
		vb_broker_umad_move(b, now);
		break;
	case VB_SOURCE_CHANNEL:
		vb_broker_cm_channel(b, index, now);
		break;
	case VB_SOURCE_CONN:
		vb_conn_handle(b, index, now);
		break;
	case VB_SOURCE_UMAD:
		vb_broker_umad_file(b, index);
		break;
	case VB_SOURCE_PARAMS:
		vb_broker_params_handle(b);
		break;
	case VB_SOURCE_PIDFD:
		vb_conn_end(b, index);
		break;
	}
}

/*
 * Nobody has used the adapter for a while. With nothing left to tell the broker ends; while it has
 * histories of trouble it stays to tell them, and gives up the adapter, so that peers hear from the
 * kernel that nobody is here.
 */
static void end_or_rest(struct vb_broker *b, vb_time now)
{
	if (vb_past_until(vb_slots_past(&b->slots)) <= now)
		b->is_ending = true;
	else if (!b->is_resting)
		b->is_ending = vb_broker_rest(b) != 0;
}

/* There is a keeper while the adapter is kept and has its port. */
static void look_after_keeper(struct vb_broker *b, vb_time now)
{
	bool wanted = b->slots.fd_store >= 0 && !b->is_ending &&
		      vb_adapter_state(vb_slots_adapter(&b->slots))->is_kept;

	for (uint32_t i = 0; i < b->conn_end && b->keeper_cnt && !wanted; i++)
		if (b->conn[i].in_use && b->conn[i].kind == VB_CONN_KEEPER)
			vb_conn_end(b, i);
	if (!wanted || b->keeper_cnt) {
		b->keeper_due = VB_NEVER;
		return;
	}
	/* That of an earlier broker may be about to come. */
	if (b->keeper_due == VB_NEVER)
		b->keeper_due = now + KEEPER_NS;
	if (now >= b->keeper_due) {
		(void)vb_keeper_start(b->slots.fd_store);
		b->keeper_due = now + KEEPER_NS;
	}
}

static void handle_timeouts(struct vb_broker *b, vb_time now)
{
	bool is_used = vb_broker_cm_is_used(b) || vb_broker_umad_is_used(b);

	vb_broker_cm_timeouts(b, now);
	vb_broker_umad_move(b, now);
	if (now >= b->retry_due)
		vb_conn_retry(b, now);
	if (now >= b->devices_due)
		vb_broker_refresh_devices(b);
	if (now >= b->counters_due) {
		write_counters(b);
		b->counters_due = VB_NEVER;
	}
	if ((b->client_cnt || is_used) && b->counters_due == VB_NEVER)
		b->counters_due = now + COUNTERS_NS;
	if (b->conn_cnt || is_used || vb_adapter_state(vb_slots_adapter(&b->slots))->is_kept) {
		b->idle_since = VB_NEVER;
		b->is_resting = false;
	} else if (b->idle_since == VB_NEVER) {
		b->idle_since = now;
	}
	if (b->idle_since != VB_NEVER && now >= b->idle_since + LINGER_NS)
		end_or_rest(b, now);
	look_after_keeper(b, now);
}

/* When an idle broker next looks whether it can end. */
static vb_time idle_due(const struct vb_broker *b)
{
	vb_time due = vb_time_after(b->idle_since, LINGER_NS);
	vb_time until = vb_past_until(vb_slots_past(&b->slots));

	return due == VB_NEVER || !b->is_resting || until < due ? due : until;
}

static int wait_ms(const struct vb_broker *b, vb_time now)
{
	vb_time due = vb_time_min(vb_time_min(b->retry_due, b->devices_due), b->counters_due);

	due = vb_time_min(vb_time_min(due, idle_due(b)), b->keeper_due);
	due = vb_time_min(due, vb_broker_cm_due(b, now));
	due = vb_time_min(due, vb_broker_umad_due(b));
	if (due == VB_NEVER)
		return -1;
	return (int)((vb_time_since(now, due) + VB_MSEC - 1) / VB_MSEC);
}

static void run_broker(struct vb_broker *b)
{
	struct epoll_event ev[EVENTS_MAX];

	while (!b->is_ending) {
		vb_time now = vb_clock_now();
		int wait = 0, n;

		if (now < b->spin_until) {
			vb_broker_page_look(b);
			sched_yield();
		} else if (!vb_broker_page_rest(b, now))
			wait = wait_ms(b, now);
		n = epoll_wait(b->epoll_fd, ev, EVENTS_MAX, wait);

		/* Each event has its own time: an answer may come within the same round as its
		 * question. */
		for (int i = 0; i < n; i++)
			handle_event(b, ev[i].data.u64, vb_clock_now());
		handle_timeouts(b, vb_clock_now());
		/* A broker that could not rest has no settings any more. */
		if (!b->is_ending)
			vb_broker_params_show(b);
	}
}

static int start_broker(struct vb_broker *b)
{
	int rc = vb_slots_init(&b->slots);

	if (rc)
		return rc;
	b->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	b->signal_fd = watch_signals();
	b->netlink_fd = vb_netdev_subscribe();
	b->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (b->epoll_fd < 0)
		return -errno;
	if (b->signal_fd < 0)
		return b->signal_fd;
	if (b->netlink_fd < 0)
		return b->netlink_fd;
	rc = vb_broker_watch(b, b->listen_fd, VB_SOURCE_LISTEN, 0);
	if (!rc)
		rc = vb_broker_watch(b, b->signal_fd, VB_SOURCE_SIGNAL, 0);
	if (!rc)
		rc = vb_broker_watch(b, b->netlink_fd, VB_SOURCE_NETLINK, 0);
	if (!rc)
		rc = vb_broker_params_start(b);
	return rc;
}

int vb_broker_main(void)
{
	static struct vb_broker b;
	int rc = detach_process();

	if (!rc) {
		b.listen_fd = take_address();
		rc = b.listen_fd < 0 ? b.listen_fd : 0;
	}
	if (rc == -EADDRINUSE)
		return EXIT_OTHER_BROKER;
	if (!rc)
		rc = start_broker(&b);
	if (rc) {
		char why[256];

		(void)vb_error_hint(why, sizeof why, rc, "the broker cannot start");
		dprintf(STDOUT_FILENO, "%s\n", why);
		return 1;
	}
	b.idle_since = vb_clock_now();
	b.devices_due = b.counters_due = b.retry_due = b.keeper_due = VB_NEVER;
	vb_sysfs_init(&b.sysfs);
	vb_broker_tell_tree(&b);
	vb_broker_refresh_devices(&b);
	/* The process that waits for us sees the end of our output. */
	dup2(STDIN_FILENO, STDOUT_FILENO);
	run_broker(&b);
	vb_sysfs_remove(&b.sysfs);
	vb_broker_umad_close(&b);
	vb_broker_cm_close(&b);
	vb_slots_close(&b.slots);
	close(b.listen_fd);
	return 0;
}
