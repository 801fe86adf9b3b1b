/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker when something runs out, is taken or is abused: slots, descriptors, the program
 * itself, the port, messages that are none, another user.
 */
#include "broker_env.h"
#include "node/client/msg.h"
#include "node/client/spawn.h"
#include "verbena/verbena.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/un.h>

/* More programs than there are wide slots. */
#define MANY 300

static void connect__past_the_wide_slots(void **state)
{
	static struct vb_broker_client c[MANY];
	struct vb_broker_client one;
	struct rlimit lim;
	int cnt = 0;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &lim), 0);
	struct rlimit all = {lim.rlim_max, lim.rlim_max};
	if (lim.rlim_max < 4096) {
		print_message("no more than 4,096 descriptors may be open here\n");
		skip();
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
	for (; cnt < MANY; cnt++)
		assert_int_equal(vb_broker_connect(&c[cnt], broker_why, sizeof broker_why), 0);
	assert_true(c[cnt - 1].slot >= VB_SLOT_WIDE);
	assert_steered(&c[cnt - 3], 3);
	/* All of it outlives its broker, too. */
	pid_t old = (pid_t)c[0].host->broker_pid;
	broker_kill(&c[0]);
	await_broker(c, cnt, old);
	assert_steered(&c[cnt - 3], 3);
	vb_broker_disconnect(&c[7]);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(vb_broker_connect(&one, broker_why, sizeof broker_why), 0);
		bool is_found = one.slot == VB_SLOT_FIRST + 7;

		vb_broker_disconnect(&one);
		if (is_found)
			break;
		assert_true(i < 999);
	}
	for (int i = 0; i < cnt; i++)
		vb_broker_disconnect(&c[i]);
	setrlimit(RLIMIT_NOFILE, &lim);
}

static int highest_fd(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

/* With any number of descriptors left it works or says EMFILE, and leaks none. */
static void connect__descriptors_run_out(void **state)
{
	struct vb_broker_client keep = client_connect(), c;
	struct rlimit lim, low;
	bool worked = false;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &lim), 0);
	int first = highest_fd();
	for (int more = 0; more < 12; more++) {
		low = lim;
		low.rlim_cur = (rlim_t)first + (rlim_t)more;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
		int rc = vb_broker_connect(&c, broker_why, sizeof broker_why);
		setrlimit(RLIMIT_NOFILE, &lim);
		if (rc == 0) {
			worked = true;
			vb_broker_disconnect(&c);
		} else {
			assert_int_equal(rc, -EMFILE);
			assert_non_null(strstr(broker_why, "ulimit"));
			assert_false(worked);
		}
		assert_int_equal(highest_fd(), first);
	}
	assert_true(worked);
	vb_broker_disconnect(&keep);
}

/* The broker of the test before may still be there. */
static void broker_end(void)
{
	struct vb_broker_observer o;

	if (vb_broker_observe(&o, false, broker_why, sizeof broker_why) == 0) {
		pid_t pid = (pid_t)o.host->broker_pid;

		vb_broker_observe_end(&o);
		kill(pid, SIGTERM);
		assert_true(process_ends(pid));
	}
}

/* The highest number of a descriptor of process @pid. */
static int highest_fd_of(pid_t pid)
{
	char path[64];
	struct dirent *e;
	int highest = 0;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	d = opendir(path);
	assert_non_null(d);
	while ((e = readdir(d)))
		highest = atoi(e->d_name) > highest ? atoi(e->d_name) : highest;
	closedir(d);
	return highest;
}

/* A broker that has no descriptor left says so, at whichever it lacks, and serves again as soon as
 * it has some. */
static void connect__the_broker_has_no_descriptors(void **state)
{
	struct vb_broker_client keep, c;
	struct rlimit lim, few;
	int slots = 0, rc = -EMFILE;
	pid_t pid;

	(void)state;
	broker_end(); /* it has the slots of the tests before */
	keep = client_connect();
	pid = (pid_t)keep.host->broker_pid;
	assert_int_equal(prlimit(pid, RLIMIT_NOFILE, NULL, &lim), 0);
	few = lim;
	few.rlim_cur = (rlim_t)highest_fd_of(pid) + 1;
	for (int i = 0; rc == -EMFILE && i < 16; i++, few.rlim_cur++) {
		assert_int_equal(prlimit(pid, RLIMIT_NOFILE, &few, NULL), 0);
		rc = vb_broker_connect(&c, broker_why, sizeof broker_why);
		if (rc) {
			assert_non_null(strstr(broker_why, strerror(EMFILE)));
			slots += strstr(broker_why, "cannot make a slot") != NULL;
		}
	}
	assert_int_equal(prlimit(pid, RLIMIT_NOFILE, &lim, NULL), 0);
	assert_int_equal(rc, 0);
	assert_true(slots > 0);
	vb_broker_disconnect(&c);
	vb_broker_disconnect(&keep);
}

/* In a child: takes the name of the user's broker as user 65534, and listens there or not. */
static void stranger_main(int tell, bool listens)
{
	struct sockaddr_un a;
	socklen_t len = vb_broker_address(&a, geteuid());
	int fd;

	/* Another user's death signal is forgotten. A socket is its maker's. */
	if (setuid(65534) || prctl(PR_SET_PDEATHSIG, SIGKILL) ||
	    (fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) < 0 ||
	    bind(fd, (struct sockaddr *)&a, len) || (listens && listen(fd, 1)) ||
	    write(tell, "x", 1) != 1)
		_exit(77);
	for (;;)
		(void)pause();
}

/* A process of another user that has the name of the broker's socket is no broker: the program is
 * told who has it, and sends it nothing. */
static void connect__another_user_has_the_name(void **state)
{
	struct vb_broker_client c;

	(void)state;
	broker_end();
	for (int listens = 0; listens < 2; listens++) {
		int pipes[2], rc;
		char byte;
		pid_t pid;

		assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			stranger_main(pipes[1], listens);
		close(pipes[1]);
		if (read(pipes[0], &byte, 1) != 1)
			skip(); /* only one user here */
		close(pipes[0]);
		rc = vb_broker_connect(&c, broker_why, sizeof broker_why);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_int_equal(rc, -EACCES);
		assert_non_null(strstr(broker_why, "a process of user 65534"));
	}
}

static void connect__no_broker_program(void **state)
{
	struct vb_broker_client c;
	struct verbena *v;

	(void)state;
	broker_end();
	setenv("VERBENA_BIN", "/nonexistent/verbena", 1);
	assert_int_equal(vb_broker_connect(&c, broker_why, sizeof broker_why), -ENOENT);
	assert_non_null(strstr(broker_why, "VERBENA_BIN"));
	assert_int_equal(verbena_open(&v, broker_why, sizeof broker_why), -ENOENT);
	setenv("VERBENA_BIN", "/bin/true", 1);
	int rc = vb_broker_connect(&c, broker_why, sizeof broker_why);
	assert_int_equal(rc, -ETIMEDOUT);
	assert_non_null(strstr(broker_why, "ends at once"));
	unsetenv("VERBENA_BIN");
}

/* An empty VERBENA_BIN is none. */
static void path__of_an_empty_variable(void **state)
{
	char path[PATH_MAX], same[PATH_MAX];

	(void)state;
	assert_int_equal(vb_verbena_path(path, sizeof path), 0);
	setenv("VERBENA_BIN", "", 1);
	assert_int_equal(vb_verbena_path(same, sizeof same), 0);
	unsetenv("VERBENA_BIN");
	assert_string_equal(same, path);
}

/* A program with few descriptors does not start a broker for the whole host that has as few. */
static void connect__too_few_files_for_a_broker(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		const struct rlimit few = {100, 100};
		struct vb_broker_client c;
		bool refused = setrlimit(RLIMIT_NOFILE, &few) == 0 &&
			       vb_broker_connect(&c, broker_why, sizeof broker_why) == -EMFILE &&
			       strstr(broker_why, "ulimit -Hn");

		_exit(refused ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* A process of the same user that is no client of verbena has the port. */
static void connect__port_taken(void **state)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(VB_ROCE_PORT)};
	struct vb_broker_client c;
	char pid[32];
	int fd;

	(void)state;
	/* Wait for the group of the broker before. */
	for (int i = 0;; i++) {
		fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (bind(fd, (struct sockaddr *)&a, sizeof a) == 0)
			break;
		close(fd);
		assert_true(i < BROKER_PATIENCE_MS / 10);
		(void)poll(NULL, 0, 10);
	}
	assert_int_equal(vb_broker_connect(&c, broker_why, sizeof broker_why), -EADDRINUSE);
	snprintf(pid, sizeof pid, "process %d ", (int)getpid());
	assert_non_null(strstr(broker_why, pid));
	close(fd);
	/* And as soon as it is free it works, with the same broker. */
	c = client_connect();
	vb_broker_disconnect(&c);
}

/* A broker that welcomes without all that a client maps is none: nothing of this process is taken
 * for it. */
static void connect__welcome_without_memory(void **state)
{
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), fd, rc;
	struct sockaddr_un a;
	socklen_t len = vb_broker_address(&a, geteuid());
	struct vb_broker_msg m;
	struct vb_fds fds;
	struct child ch;

	(void)state;
	/* The broker of the test before may still have the name. */
	for (int i = 0; bind(listener, (struct sockaddr *)&a, len); i++) {
		assert_true(i < BROKER_PATIENCE_MS / 10);
		(void)poll(NULL, 0, 10);
	}
	assert_int_equal(listen(listener, 1), 0);
	ch = child_start(NULL);
	fd = accept(listener, NULL, NULL);
	assert_int_equal(vb_broker_msg_recv(fd, &m, &fds, 0), 1);
	assert_int_equal(m.op, VB_BROKER_CLIENT);
	vb_broker_msg_init(&m, VB_BROKER_WELCOME);
	m.slot = VB_SLOT_FIRST;
	fds = (struct vb_fds){.cnt = 1, .fd = {listener}};
	assert_int_equal(vb_fds_send(fd, &m, sizeof m, &fds), 0);
	close(fd);
	close(listener);
	rc = child_wait(&ch).rc;
	child_end(&ch, false);
	assert_int_equal(rc, -EPROTO);
}

static void broker__survives_garbage(void **state)
{
	struct vb_broker_client c = client_connect();
	struct vb_broker_msg m;
	struct vb_fds fds;

	(void)state;
	for (uint32_t op = 0; op < 12; op++)
		for (int len = 0; len < 3; len++) {
			int fd = raw_connect();

			vb_broker_msg_init(&m, (enum vb_broker_op)op);
			m.slot = c.slot;
			m.version += len == 2;
			assert_true(send(fd, &m, len ? sizeof m : 5, MSG_NOSIGNAL) > 0);
			if (len == 2) {
				assert_true(recv(fd, &m, sizeof m, 0) > 0);
				assert_int_equal(m.status, -EPROTO);
				assert_non_null(strstr(m.text, "version"));
			}
			close(fd);
		}
	/* A descriptor store that is none: the slot of the owner stays its own. */
	int fd = raw_connect(), pipes[2];
	assert_int_equal(pipe(pipes), 0);
	vb_broker_msg_init(&m, VB_BROKER_REATTACH);
	m.slot = c.slot;
	fds = (struct vb_fds){.cnt = 2, .fd = {pipes[0], pipes[1]}};
	assert_int_equal(vb_fds_send(fd, &m, sizeof m, &fds), 0);
	vb_fds_close(&fds);
	assert_int_equal(vb_broker_msg_recv(fd, &m, &fds, 0), 1);
	assert_int_equal(m.status, -ESTALE);
	close(fd);
	assert_int_equal(vb_broker_check(&c), 0);
	assert_steered(&c, 1);
	vb_broker_disconnect(&c);
}

/* Descriptors that come with a message that takes none do not stay: their other end hears of it. */
static void descriptors__that_nobody_asked_for(void **state)
{
	struct vb_broker_client c = client_connect();
	struct vb_broker_msg m;

	(void)state;
	for (uint32_t op = 0; op < 12; op++) {
		int fd = raw_connect(), pipes[2];
		struct vb_fds fds = {.cnt = 1};
		struct pollfd p;

		assert_int_equal(pipe(pipes), 0);
		fds.fd[0] = pipes[1];
		vb_broker_msg_init(&m, (enum vb_broker_op)op);
		m.slot = c.slot;
		assert_int_equal(vb_fds_send(fd, &m, sizeof m, &fds), 0);
		close(pipes[1]);
		p = (struct pollfd){.fd = pipes[0], .events = POLLIN};
		assert_int_equal(poll(&p, 1, 10000), 1);
		assert_int_equal(p.revents, POLLHUP);
		close(pipes[0]);
		close(fd);
	}
	vb_broker_disconnect(&c);
}

/* After the death of a broker a slot is given back to the process that has it, and to no other. */
static void reattach__another_process_for_an_orphan(void **state)
{
	struct vb_broker_client c = client_connect();
	struct child ch = child_start(NULL);
	struct vb_broker_observer o;
	struct vb_broker_msg m;
	struct vb_fds fds;
	pid_t old = (pid_t)c.host->broker_pid;
	int fd;

	(void)state;
	assert_int_equal(child_wait(&ch).rc, 0);
	/* It does not hear that its broker has died. */
	assert_int_equal(kill(ch.pid, SIGSTOP), 0);
	broker_kill(&c);
	await_broker(&c, 1, old);
	fd = raw_connect();
	vb_broker_msg_init(&m, VB_BROKER_REATTACH);
	m.slot = ch.slot;
	assert_true(send(fd, &m, sizeof m, MSG_NOSIGNAL) > 0);
	assert_int_equal(vb_broker_msg_recv(fd, &m, &fds, 0), 1);
	assert_int_equal(m.status, -ESTALE);
	close(fd);
	assert_int_equal(kill(ch.pid, SIGCONT), 0);
	assert_int_equal(vb_broker_observe(&o, true, broker_why, sizeof broker_why), 0);
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	assert_int_equal(o.slot[ch.slot]->pid, ch.pid);
	vb_broker_observe_end(&o);
	child_end(&ch, false);
	vb_broker_disconnect(&c);
}

/* A program has a slot of the last broker, and dies before it hears of the new broker. It does not
 * keep the new one. */
static void broker_ends__after_those_that_never_came(void **state)
{
	struct vb_broker_client c = client_connect();
	struct child ch = child_start(NULL);
	pid_t old = (pid_t)c.host->broker_pid, pid;

	(void)state;
	assert_int_equal(child_wait(&ch).rc, 0);
	assert_int_equal(kill(ch.pid, SIGSTOP), 0);
	broker_kill(&c);
	await_broker(&c, 1, old);
	pid = (pid_t)c.host->broker_pid;
	child_end(&ch, true);
	vb_broker_disconnect(&c);
	assert_true(process_ends(pid));
}

/* Fault rules for a device behind the last that the table has place for change nothing. */
static void fault__of_a_device_beyond_the_table(void **state)
{
	struct vb_broker_client c = client_connect();
	uint32_t generation = c.host->fault_generation;
	struct vb_broker_msg m;
	struct vb_fds fds;
	int fd = raw_connect();

	(void)state;
	vb_broker_msg_init(&m, VB_BROKER_OBSERVER);
	assert_true(send(fd, &m, sizeof m, MSG_NOSIGNAL) > 0);
	assert_int_equal(vb_broker_msg_recv(fd, &m, &fds, 0), 1);
	vb_fds_close(&fds);
	vb_broker_msg_init(&m, VB_BROKER_FAULT);
	m.slot = VB_DEVICES_MAX;
	strcpy(m.text, "loss=1");
	assert_true(send(fd, &m, sizeof m, MSG_NOSIGNAL) > 0);
	assert_int_equal(vb_broker_msg_recv(fd, &m, &fds, 0), 1);
	assert_int_equal(m.status, -EINVAL);
	assert_int_equal(c.host->fault_generation, generation);
	close(fd);
	vb_broker_disconnect(&c);
}

/* An answer is the broker's: nothing of what was asked comes back as if it were said of it. */
static void keep__answers_for_itself(void **state)
{
	int fd = raw_connect();
	struct vb_broker_msg m;
	struct vb_fds fds;

	(void)state;
	vb_broker_msg_init(&m, VB_BROKER_OBSERVER);
	assert_true(send(fd, &m, sizeof m, MSG_NOSIGNAL) > 0);
	assert_int_equal(vb_broker_msg_recv(fd, &m, &fds, 0), 1);
	vb_fds_close(&fds);
	vb_broker_msg_init(&m, VB_BROKER_KEEP);
	m.status = -EIO;
	strcpy(m.text, "the disk is full");
	assert_true(send(fd, &m, sizeof m, MSG_NOSIGNAL) > 0);
	assert_int_equal(vb_broker_msg_recv(fd, &m, &fds, 0), 1);
	assert_int_equal(m.op, VB_BROKER_DONE);
	assert_int_equal(m.status, 0);
	assert_string_equal(m.text, "");
	close(fd);
}

/* A text that there is no room for is refused whole: its beginning would be other rules. */
static void fault__longer_than_there_is_room(void **state)
{
	struct vb_broker_client c = client_connect();
	struct vb_broker_observer o;
	uint32_t generation = c.host->fault_generation;
	char text[VB_FAULT_TEXT_MAX + 1] = "loss=1:nth=";

	(void)state;
	assert_int_equal(vb_broker_observe(&o, true, broker_why, sizeof broker_why), 0);
	memset(text + strlen(text), '1', sizeof text - 1 - strlen(text));
	assert_int_equal(vb_broker_fault(&o, 0, text, 0), -E2BIG);
	assert_int_equal(c.host->fault_generation, generation);
	vb_broker_observe_end(&o);
	vb_broker_disconnect(&c);
}

static void broker__refuses_another_user(void **state)
{
	struct vb_broker_client c = client_connect();
	int status;

	(void)state;
	pid_t pid = fork();
	if (pid == 0) {
		int fd = -1;
		struct vb_broker_msg m;
		struct sockaddr_un a;
		socklen_t len = vb_broker_address(&a, geteuid());

		if (setuid(65534))
			_exit(77);
		fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		if (connect(fd, (struct sockaddr *)&a, len))
			_exit(1);
		(void)alarm(10); /* it is answered before it has asked for anything */
		_exit(recv(fd, &m, sizeof m, 0) > 0 && m.status == -EACCES ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	vb_broker_disconnect(&c);
	if (WEXITSTATUS(status) == 77)
		skip(); /* only one user here */
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(path__of_an_empty_variable),
	    cmocka_unit_test(connect__past_the_wide_slots),
	    cmocka_unit_test(connect__descriptors_run_out),
	    cmocka_unit_test(connect__the_broker_has_no_descriptors),
	    cmocka_unit_test(connect__another_user_has_the_name),
	    cmocka_unit_test(connect__no_broker_program),
	    cmocka_unit_test(connect__too_few_files_for_a_broker),
	    cmocka_unit_test(connect__port_taken),
	    cmocka_unit_test(connect__welcome_without_memory),
	    cmocka_unit_test(broker__survives_garbage),
	    cmocka_unit_test(descriptors__that_nobody_asked_for),
	    cmocka_unit_test(reattach__another_process_for_an_orphan),
	    cmocka_unit_test(broker_ends__after_those_that_never_came),
	    cmocka_unit_test(fault__of_a_device_beyond_the_table),
	    cmocka_unit_test(keep__answers_for_itself),
	    cmocka_unit_test(fault__longer_than_there_is_room),
	    cmocka_unit_test(broker__refuses_another_user),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace of our own here: tests not run\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
