/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reaching a broker that is slow, stopped, busy, of another version or just ending: how long it is
 * waited for, and what the user is told. The broker here is a thread of the test's own, which does
 * as it is told with each connection. node/client/dial.h
 */
#include "broker_env.h"
#include "descriptors.h"
#include "node/client/dial.h"
#include "node/host/clock.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>

/* The ways in which the broker treats one connection. */
enum deed {
	HANGS_UP, /* says nothing and closes */
	REFUSES,  /* with the status and text that were asked for, and a descriptor */
	WELCOMES, /* with one descriptor */
	IS_OTHER, /* answers in another version */
	IS_LATE,  /* WELCOMES, after more than two seconds */
};

static struct {
	int listener, cnt;
	enum deed deed[4];
	int32_t status;
	pthread_t thread;
	uint32_t heard[4]; /* the operation that each connection asked for */
} broker;

static void answer(int fd, enum deed deed, const struct vb_broker_msg *asked)
{
	struct vb_fds fds = {.cnt = 1, .fd = {broker.listener}};
	struct vb_broker_msg m;

	if (deed == HANGS_UP)
		return;
	if (deed == IS_LATE)
		(void)poll(NULL, 0, 2300);
	vb_broker_msg_init(&m, VB_BROKER_WELCOME);
	m.slot = asked->slot;
	if (deed == IS_OTHER)
		m.version++;
	if (deed == REFUSES) {
		m.status = broker.status;
		snprintf(m.text, sizeof m.text, "so it is");
	}
	(void)vb_fds_send(fd, &m, sizeof m, &fds);
}

static void *serve(void *ctx)
{
	(void)ctx;
	for (int i = 0; i < broker.cnt; i++) {
		struct vb_broker_msg m;
		struct vb_fds fds;
		int fd = accept4(broker.listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			return NULL;
		if (vb_broker_msg_recv(fd, &m, &fds, 0) == 1) {
			broker.heard[i] = m.op;
			vb_fds_close(&fds);
			answer(fd, broker.deed[i], &m);
		}
		close(fd);
	}
	return NULL;
}

static int listen_with(int backlog)
{
	struct sockaddr_un a;
	socklen_t len = vb_broker_address(&a, geteuid());
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(listen(fd, backlog), 0);
	return fd;
}

static void broker_begin(int cnt, enum deed first, enum deed second)
{
	memset(&broker, 0, sizeof broker);
	broker.cnt = cnt;
	broker.deed[0] = first;
	broker.deed[1] = second;
	broker.listener = listen_with(4);
	broker.status = -EBUSY;
}

static void broker_serve(void)
{
	assert_int_equal(pthread_create(&broker.thread, NULL, serve, NULL), 0);
}

static void broker_end(void)
{
	assert_int_equal(pthread_join(broker.thread, NULL), 0);
	close(broker.listener);
}

/* A message of @op, which is answered in m and fds. */
static struct vb_broker_msg m;
static struct vb_fds fds;

static int dial(enum vb_broker_op op)
{
	snprintf(broker_why, sizeof broker_why, "nothing yet");
	vb_broker_msg_init(&m, op);
	m.slot = 4711;
	fds.cnt = 0;
	return vb_broker_dial(&m, &fds, false, broker_why, sizeof broker_why);
}

/* A broker that ends while it is asked is asked again, or the next one is. */
static void dial__again_when_it_ends(void **state)
{
	unsigned before = descriptors_of(getpid());
	int sock;

	(void)state;
	broker_begin(2, HANGS_UP, WELCOMES);
	broker_serve();
	sock = dial(VB_BROKER_CLIENT);
	broker_end();
	assert_true(sock >= 0);
	assert_int_equal(broker.heard[0], VB_BROKER_CLIENT);
	assert_int_equal(broker.heard[1], VB_BROKER_CLIENT);
	assert_int_equal(m.op, VB_BROKER_WELCOME);
	assert_int_equal(m.slot, 4711);
	assert_int_equal(fds.cnt, 1);
	assert_int_equal(fcntl(sock, F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(fcntl(sock, F_GETFD), FD_CLOEXEC);
	close(sock);
	vb_fds_close(&fds);
	assert_int_equal(descriptors_of(getpid()), before);
}

/* A refused program is told why, in the broker's words; descriptors that come with that are closed.
 * A status that is no error counts as one. */
static void dial__is_refused(void **state)
{
	unsigned before = descriptors_of(getpid());

	(void)state;
	for (int i = 0; i < 2; i++) {
		broker_begin(1, REFUSES, REFUSES);
		broker.status = i ? 5 : -EBUSY;
		broker_serve();
		assert_int_equal(dial(VB_BROKER_CLIENT), i ? -EPROTO : -EBUSY);
		assert_string_equal(broker_why, "so it is");
		assert_int_equal(fds.cnt, 0);
		broker_end();
		assert_int_equal(descriptors_of(getpid()), before);
	}
}

/* A broker of another version is named as that. */
static void dial__of_another_version(void **state)
{
	unsigned before = descriptors_of(getpid());

	(void)state;
	broker_begin(1, IS_OTHER, IS_OTHER);
	broker_serve();
	assert_int_equal(dial(VB_BROKER_OBSERVER), -EPROTO);
	assert_string_equal(broker_why, "the broker is of another version of verbena; it ends when "
					"the programs that use it have ended");
	broker_end();
	assert_int_equal(descriptors_of(getpid()), before);
}

/* An observer is told soon that a broker is stopped, but has patience with a slow one. */
static void dial__of_one_that_is_slow(void **state)
{
	int sock;

	(void)state;
	broker_begin(1, IS_LATE, IS_LATE);
	broker_serve();
	sock = dial(VB_BROKER_OBSERVER);
	assert_true(sock >= 0);
	close(sock);
	vb_fds_close(&fds);
	broker_end();
}

/* A broker that is stopped is named, with what to do. It is asked for two seconds. */
static void dial__of_one_that_is_stopped(void **state)
{
	int pipes[2], status;
	char byte, text[128];
	vb_time begin;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int fd = listen_with(4);

		if (fd < 0 || write(pipes[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	begin = vb_clock_now();
	assert_int_equal(dial(VB_BROKER_OBSERVER), -ETIMEDOUT);
	assert_true(vb_clock_now() - begin >= 2 * VB_SEC);
	snprintf(text, sizeof text,
		 "the broker, process %d, is stopped: continue it by 'kill -CONT %d', or end it",
		 (int)pid, (int)pid);
	assert_string_equal(broker_why, text);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(pipes[0]);
	close(pipes[1]);
}

/* Connections that nobody has accepted yet, as many as there is room for. */
static int wait_in_line(int fd[8])
{
	struct sockaddr_un a;
	socklen_t len = vb_broker_address(&a, geteuid());
	int cnt = 0;

	for (; cnt < 8; cnt++) {
		fd[cnt] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (connect(fd[cnt], (struct sockaddr *)&a, len))
			break;
	}
	assert_true(cnt < 8);
	assert_int_equal(errno, EAGAIN);
	close(fd[cnt]);
	return cnt;
}

static void *accept_late(void *ctx)
{
	int *cnt = ctx;

	(void)poll(NULL, 0, 300);
	for (int i = 0; i <= *cnt; i++) {
		int fd = accept4(broker.listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0)
			close(fd);
	}
	return NULL;
}

/* A broker of ours that has more to answer than it can is waited for, but not for ever. */
static void connect__waits_in_line(void **state)
{
	unsigned before = descriptors_of(getpid());
	pthread_t thread;
	vb_time begin;
	int fd[8], cnt, sock;

	(void)state;
	(void)alarm(60);
	broker.listener = listen_with(0);
	cnt = wait_in_line(fd);
	begin = vb_clock_now();
	assert_int_equal(vb_broker_connect_once(broker_why, sizeof broker_why), -EAGAIN);
	assert_true(vb_clock_now() - begin >= 4900 * VB_MSEC);
	assert_string_equal(broker_why,
			    "cannot reach the broker: Resource temporarily unavailable");
	assert_int_equal(pthread_create(&thread, NULL, accept_late, &cnt), 0);
	sock = vb_broker_connect_once(broker_why, sizeof broker_why);
	assert_true(sock >= 0);
	assert_int_equal(fcntl(sock, F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	close(sock);
	for (int i = 0; i < cnt; i++)
		close(fd[i]);
	close(broker.listener);
	(void)alarm(0);
	assert_int_equal(descriptors_of(getpid()), before);
}

/* A missing broker is an error of its own; a program that would not start one is told that. */
static void connect__to_nobody(void **state)
{
	unsigned before = descriptors_of(getpid());

	(void)state;
	assert_int_equal(vb_broker_connect_once(broker_why, sizeof broker_why), -ECONNREFUSED);
	assert_string_equal(broker_why, "cannot reach the broker: Connection refused");
	assert_int_equal(dial(VB_BROKER_OBSERVER), -ECONNREFUSED);
	assert_string_equal(broker_why, "cannot reach the broker: Connection refused");
	assert_int_equal(descriptors_of(getpid()), before);
}

/* In a child: has the name of the user's broker as user 65534, with a line that is full. */
static void stranger_main(int tell)
{
	int fd[8];

	if (setuid(65534) || prctl(PR_SET_PDEATHSIG, SIGKILL))
		_exit(77);
	{
		struct sockaddr_un a;
		socklen_t len = vb_broker_address(&a, 0);
		int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		if (bind(s, (struct sockaddr *)&a, len) || listen(s, 0))
			_exit(77);
		for (int i = 0; i < 8; i++) {
			fd[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
			if (connect(fd[i], (struct sockaddr *)&a, len))
				break;
		}
	}
	if (write(tell, "x", 1) != 1)
		_exit(77);
	for (;;)
		(void)pause();
}

/* Nobody waits in another user's line. */
static void connect__not_in_a_strangers_line(void **state)
{
	int pipes[2], rc;
	char byte;
	pid_t pid;

	(void)state;
	if (geteuid() != 0) {
		print_message("only root can be two users\n");
		skip();
	}
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		stranger_main(pipes[1]);
	close(pipes[1]);
	if (read(pipes[0], &byte, 1) != 1) {
		print_message("only one user here\n");
		close(pipes[0]);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		skip();
	}
	close(pipes[0]);
	rc = vb_broker_connect_once(broker_why, sizeof broker_why);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(rc, -EACCES);
	assert_non_null(strstr(broker_why, "the name '@verbena/0' of your broker's socket is taken "
					   "by a process of user 65534"));
}

/* An awaited message comes, its connection ends, or it does not come in time. */
static void await__until_its_time(void **state)
{
	vb_time begin = vb_clock_now();
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(vb_broker_await(pair[0], &m, &fds, begin + 50 * VB_MSEC), -ETIMEDOUT);
	assert_true(vb_clock_now() >= begin + 50 * VB_MSEC);
	assert_int_equal(vb_broker_await(pair[0], &m, &fds, begin), -ETIMEDOUT);
	vb_broker_msg_init(&m, VB_BROKER_DONE);
	m.slot = 17;
	assert_int_equal(vb_fds_send(pair[1], &m, sizeof m, NULL), 0);
	m.slot = 0;
	assert_int_equal(vb_broker_await(pair[0], &m, &fds, vb_clock_now() + VB_SEC), 0);
	assert_int_equal(m.slot, 17);
	assert_int_equal(vb_fds_send(pair[1], &m, 7, NULL), 0);
	assert_int_equal(vb_broker_await(pair[0], &m, &fds, vb_clock_now() + VB_SEC), -EPROTO);
	close(pair[1]);
	assert_int_equal(vb_broker_await(pair[0], &m, &fds, vb_clock_now() + VB_SEC), -ECONNRESET);
	close(pair[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(dial__again_when_it_ends),
	    cmocka_unit_test(dial__is_refused),
	    cmocka_unit_test(dial__of_another_version),
	    cmocka_unit_test(dial__of_one_that_is_slow),
	    cmocka_unit_test(dial__of_one_that_is_stopped),
	    cmocka_unit_test(connect__waits_in_line),
	    cmocka_unit_test(connect__to_nobody),
	    cmocka_unit_test(connect__not_in_a_strangers_line),
	    cmocka_unit_test(await__until_its_time),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace of our own here: tests not run\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
