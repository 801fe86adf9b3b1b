/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loop of a fabric's process: how long it waits, what ends it, in which order it ends, and who
 * cannot hold it up. The linker leads calls of this program's own code to the functions here (ld(1)
 * --wrap). node/subnet/daemon.h, epoll(7)
 */
#include "subnet_process_env.h"

#include "node/cm/call.h"

#include <signal.h>
#include <sys/epoll.h>

/* The time of the last wait, in milliseconds, and what it is to fail with; 0: it does not. */
static int waited_ms, wait_err;
/* The hook that runs before a descriptor is closed. */
static void (*before_close)(int fd);
/* Files that were made empty. */
static uint32_t truncated;

int __real_epoll_wait(int epoll_fd, struct epoll_event *e, int cnt, int ms);
int __wrap_epoll_wait(int epoll_fd, struct epoll_event *e, int cnt, int ms);
int __real_close(int fd);
int __wrap_close(int fd);
int __real_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size);

int __wrap_epoll_wait(int epoll_fd, struct epoll_event *e, int cnt, int ms)
{
	waited_ms = ms;
	if (wait_err) {
		errno = wait_err;
		return -1;
	}
	return __real_epoll_wait(epoll_fd, e, cnt, ms);
}

int __wrap_close(int fd)
{
	if (before_close)
		before_close(fd);
	return __real_close(fd);
}

int __wrap_ftruncate(int fd, off_t size)
{
	truncated += size == 0;
	return __real_ftruncate(fd, size);
}

/* The connection of the fabric's process that came last. */
static struct vb_subnet_conn *last_conn(void)
{
	return vb_container_of(fabric->conns.prev, struct vb_subnet_conn, node);
}

/* Has the loop wait once, with the counters' files due at @at. */
static int wait_until(vb_time at)
{
	fabric->counters_due = at;
	wait_err = EBADF;
	assert_int_equal(vb_subnet_daemon_serve(fabric), -EBADF);
	wait_err = 0;
	close(fabric->signals.fd);
	fabric->signals.fd = -1;
	return waited_ms;
}

/* It waits until something is due, and not a moment less; a second at most, since what is due may
 * change; and for ever when nothing is. A wait that the kernel refuses ends it. */
static void loop__waits_until_something_is_due(void **state)
{
	vb_time now = vb_clock_now();

	(void)state;
	assert_int_equal(wait_until(VB_NEVER), -1);
	assert_int_equal(wait_until(now + 100 * VB_SEC), 1000);
	assert_int_equal(wait_until(0), 0);
	assert_int_equal(wait_until(now), 0);
	/* A part of a millisecond is a whole one: else it would look again and again meanwhile. */
	for (int i = 0; i < 100; i++) {
		vb_time left;
		int ms;

		now = vb_clock_now();
		ms = wait_until(now + 500 * VB_USEC);
		left = vb_clock_now() - now;
		assert_true(ms == 1 || (ms == 0 && left >= 500 * VB_USEC));
	}
	fabric->counters_due = VB_NEVER;
}

/* Adding up what programs sent is due as well, while there are programs. */
static void loop__waits_for_what_programs_sent(void **state)
{
	int sock = fabric_attach("H-A");

	(void)state;
	assert_int_equal(fabric_ask(sock, VB_SUBNET_ADAPTER, "me", NULL), 0);
	fabric->adapter->due = 0;
	assert_int_equal(wait_until(VB_NEVER), 0);
	fabric->adapter->due = VB_NEVER;
	assert_int_equal(wait_until(VB_NEVER), -1);
	/* So are MADs. */
	fabric_configure();
	vb_subnet_set_description(&fabric->subnet, HOST_A, "x", vb_clock_now());
	assert_int_equal(wait_until(VB_NEVER), 0);
	fabric->counters_due = VB_NEVER;
	close(sock);
}

/* Each signal that ends programs ends the loop, also one that came before it began; they and no
 * other are kept for it. signal(7) */
static void loop__ends_by_signals(void **state)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	sigset_t all, kept, was;

	(void)state;
	sigemptyset(&all);
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
		sigaddset(&all, ends[i]);
	close(fabric_control);
	vb_subnet_daemon_close(fabric);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	sigprocmask(SIG_SETMASK, NULL, &was);
	assert_int_equal(
	    vb_subnet_daemon_open(&fabric, fabric_name, &topo, fabric_why, sizeof fabric_why), 0);
	fabric_control = fabric_dial();
	sigprocmask(SIG_SETMASK, NULL, &kept);
	for (int sig = 1; sig < SIGRTMIN; sig++)
		assert_int_equal(sigismember(&kept, sig),
				 sigismember(&all, sig) || sigismember(&was, sig));
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		int got = 0;

		assert_int_equal(kill(getpid(), ends[i]), 0);
		assert_int_equal(vb_subnet_daemon_serve(fabric), 0);
		assert_true(fabric->is_ending);
		fabric->is_ending = false;
		assert_int_equal(sigwait(&all, &got), 0);
		assert_int_equal(got, ends[i]);
		assert_int_equal(fcntl(fabric->signals.fd, F_GETFD), FD_CLOEXEC);
		close(fabric->signals.fd);
		fabric->signals.fd = -1;
	}
	fabric_turn();
}

/* A fabric that has served leaves no descriptor when it ends, also none of its signals. */
static void end__closes_all(void **state)
{
	static struct vb_subnet_call down = {.version = VB_SUBNET_CALL_VERSION,
					     .op = VB_SUBNET_DOWN};
	int before;

	(void)state;
	close(fabric_control);
	vb_subnet_daemon_close(fabric);
	before = fd_cnt();
	assert_int_equal(
	    vb_subnet_daemon_open(&fabric, fabric_name, &topo, fabric_why, sizeof fabric_why), 0);
	fabric_control = fabric_dial();
	assert_int_equal(vb_fds_send(fabric_control, &down, VB_SUBNET_CALL_HEADER, NULL), 0);
	assert_int_equal(vb_subnet_daemon_serve(fabric), 0);
	assert_true(fabric->signals.fd >= 0);
	close(fabric_control);
	vb_subnet_daemon_close(fabric);
	assert_int_equal(fd_cnt(), before);
	assert_int_equal(
	    vb_subnet_daemon_open(&fabric, fabric_name, &topo, fabric_why, sizeof fabric_why), 0);
	fabric_control = fabric_dial();
}

static int control_end; /* the fabric's end of the connection by which DOWN is called */
static int name_is_free;

static void dial_before_close(int fd)
{
	char why[256];
	int sock;

	if (fd != control_end)
		return;
	before_close = NULL;
	sock = vb_subnet_dial(fabric_name, why, sizeof why);
	name_is_free = sock == -ECONNREFUSED;
	if (sock >= 0)
		close(sock);
}

/* A program that has called DOWN sees the end of its connection when the name is free, and can
 * begin another fabric of it. */
static void end__frees_the_name_first(void **state)
{
	(void)state;
	control_end = last_conn()->watch.fd;
	name_is_free = 0;
	before_close = dial_before_close;
	vb_subnet_daemon_close(fabric);
	assert_null(before_close);
	assert_int_equal(name_is_free, 1);
	assert_int_equal(
	    vb_subnet_daemon_open(&fabric, fabric_name, &topo, fabric_why, sizeof fabric_why), 0);
	close(fabric_control);
	fabric_control = fabric_dial();
	fabric_turn();
}

/* A program that asks and asks and reads no answer is left alone: its connection ends, and the loop
 * goes on for others. */
static void programs__that_read_nothing_hold_up_nobody(void **state)
{
	int sock = fabric_dial(), least = 1;
	struct vb_subnet_conn *c;
	uint32_t answers = 0;

	(void)state;
	fabric_turn();
	c = last_conn();
	assert_int_equal(setsockopt(c->watch.fd, SOL_SOCKET, SO_SNDBUF, &least, sizeof least), 0);
	vb_subnet_call_text(&call, VB_SUBNET_COMMAND, "frob");
	for (int i = 0; i < 100; i++) {
		call.version = VB_SUBNET_CALL_VERSION;
		if (vb_fds_send(sock, &call, VB_SUBNET_CALL_HEADER + call.len, NULL))
			break;
		fabric_turn();
	}
	while (recv(sock, &answer, sizeof answer, MSG_DONTWAIT) == sizeof answer)
		answers++;
	assert_uint_in_range(answers, 1, 50);
	assert_true(recv(sock, &answer, sizeof answer, MSG_DONTWAIT) <= 0);
	close(sock);
}

/* A name that is read while it changes is the old or the new one, never none. FAB-19 */
static void names__are_never_empty(void **state)
{
	int sock = fabric_attach("H-A");

	(void)state;
	truncated = 0;
	vb_subnet_set_description(&fabric->subnet, HOST_A, "another", vb_clock_now());
	vb_subnet_set_system_guid(&fabric->subnet, HOST_A, 5, vb_clock_now());
	fabric_turn();
	assert_string_equal(
	    text_below(seat_at(HOST_A)->root, "class/infiniband/verbena0/node_desc"), "another\n");
	assert_int_equal(truncated, 0);
	close(sock);
}

/* A channel that ends with its connection, in the same turn as an event of it waits, is gone: the
 * event is passed over. */
static void channels__end_with_an_event_that_waits(void **state)
{
	int pair[2], before, sock = fabric_attach("H-B");
	struct vb_subnet_cm *cm;
	uint64_t token;

	(void)state;
	assert_int_equal(fabric_ask(sock, VB_SUBNET_CM, "me", NULL), 0);
	cm = vb_subnet_cm_find(fabric, HOST_B);
	before = fd_cnt();
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(vb_channel_open(&cm->host, pair[1], &token), 0);
	assert_int_equal(vb_list_is_empty(&cm->channels), 0);
	/* Bytes that a program writes past the library are not heard. */
	assert_int_equal(send(pair[0], "x", 1, 0), 1);
	fabric_turn();
	assert_int_equal(vb_list_is_empty(&cm->channels), 0);
	assert_int_equal(recv(pair[1], &token, sizeof token, MSG_DONTWAIT), -1);
	close(pair[0]);
	fabric_turn();
	assert_true(vb_list_is_empty(&cm->channels));
	assert_int_equal(fd_cnt(), before);
	close(sock);
}

/* Channels that are open when the fabric ends are closed. */
static void channels__end_with_the_fabric(void **state)
{
	int pair[2];
	struct vb_subnet_cm *cm = vb_subnet_cm_at(fabric, HOST_B);
	uint64_t token;
	char byte;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(vb_channel_open(&cm->host, pair[1], &token), 0);
	(void)fabric_end(state);
	assert_int_equal(recv(pair[0], &byte, 1, MSG_DONTWAIT), 0);
	close(pair[0]);
	(void)fabric_begin(state);
}

/* The process that calls is named to whoever looks at its connections. */
static void connections__name_their_process(void **state)
{
	int sock = fabric_attach("H-B");
	const struct vb_subnet_conn *c = last_conn();

	(void)state;
	assert_int_equal(fabric_ask(sock, VB_SUBNET_CM, "a name that is too long", NULL), 0);
	assert_int_equal(c->pid, getpid());
	assert_string_equal(c->comm, "a name that is ");
	assert_non_null(c->cm);
	close(sock);
	fabric_turn();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(loop__waits_until_something_is_due),
	    T(loop__waits_for_what_programs_sent),
	    T(loop__ends_by_signals),
	    T(end__closes_all),
	    T(end__frees_the_name_first),
	    T(programs__that_read_nothing_hold_up_nobody),
	    T(names__are_never_empty),
	    T(channels__end_with_an_event_that_waits),
	    T(channels__end_with_the_fabric),
	    T(connections__name_their_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
