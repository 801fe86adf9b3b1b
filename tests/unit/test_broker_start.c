/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the broker begins, whoever starts it: what it keeps of that process, which is nothing, what
 * it is to others, and what the processes that it starts itself have of it. node/broker/broker.c
 */
#include "broker_env.h"
#include "deny.h"
#include "descriptors.h"
#include "node/client/spawn.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* The line of /proc/@pid/status that begins with @name, behind that. */
static const char *status_of(pid_t pid, const char *name)
{
	static char line[256];
	char path[64];
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		if (strncmp(line, name, strlen(name)) == 0) {
			fclose(f);
			line[strcspn(line, "\n")] = 0;
			return line + strlen(name) + strspn(line + strlen(name), ": \t");
		}
	fclose(f);
	fail_msg("no %s", name);
	return NULL;
}

static void target_of(pid_t pid, const char *what, char *to, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
	n = readlink(path, to, size - 1);
	to[n > 0 ? n : 0] = 0;
}

static char other_name[64];

/* Starts a broker by hand: with our pipes as its standard files and as a fourth one, elsewhere,
 * with signals that are blocked, few files, and files that nobody else may read. */
static pid_t start_by_hand(int in, int out, bool old_kernel)
{
	char path[PATH_MAX];
	pid_t pid;

	assert_int_equal(vb_verbena_path(path, sizeof path), 0);
	/* The name of the program's file does not matter. */
	(void)unlink(other_name);
	assert_int_equal(symlink(path, other_name), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct rlimit files;
		sigset_t all;

		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
		(void)umask(077);
		if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
		    dup2(out, STDERR_FILENO) < 0 || dup2(out, 3) < 0 || dup2(out, 77) < 0 ||
		    chdir("/proc") || getrlimit(RLIMIT_NOFILE, &files))
			_exit(90);
		files.rlim_cur = 128;
		if (setrlimit(RLIMIT_NOFILE, &files) ||
		    /* Of the first descriptor that is to be closed, which is 3. */
		    (old_kernel && !deny_call(SYS_close_range, 0, 3, ENOSYS)))
			_exit(91);
		execl(other_name, "verbena", "broker", (char *)NULL);
		_exit(92);
	}
	return pid;
}

/* Waits until the broker of this user answers; it is process @pid. */
static void await_listener(pid_t pid)
{
	struct vb_broker_observer o;

	for (int ms = 0; vb_broker_observe(&o, false, broker_why, sizeof broker_why); ms++) {
		assert_true(ms < BROKER_PATIENCE_MS);
		assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
		(void)poll(NULL, 0, 1);
	}
	assert_int_equal(o.host->broker_pid, pid);
	vb_broker_observe_end(&o);
}

/* Nothing of who started it stays: standard files, others, folder, signals, rights of files. The
 * end of its output says that it listens. */
static void start__keeps_nothing(void **state)
{
	(void)state;
	for (int old_kernel = 0; old_kernel < 2; old_kernel++) {
		int in[2], out[2];
		char text[PATH_MAX];
		struct pollfd p;
		pid_t pid;

		assert_int_equal(pipe2(in, O_CLOEXEC), 0);
		assert_int_equal(pipe2(out, O_CLOEXEC), 0);
		pid = start_by_hand(in[0], out[1], old_kernel);
		close(in[0]);
		close(out[1]);
		/* None of its copies of the pipes is left once it listens. */
		p = (struct pollfd){.fd = out[0], .events = POLLIN};
		assert_int_equal(poll(&p, 1, BROKER_PATIENCE_MS), 1);
		assert_int_equal(p.revents, POLLHUP);
		p = (struct pollfd){.fd = in[1], .events = POLLOUT};
		assert_int_equal(poll(&p, 1, BROKER_PATIENCE_MS), 1);
		assert_true(p.revents & POLLERR);
		await_listener(pid);
		for (int fd = 0; fd < 3; fd++) {
			static const char *const name[] = {"fd/0", "fd/1", "fd/2"};

			target_of(pid, name[fd], text, sizeof text);
			assert_string_equal(text, "/dev/null");
		}
		target_of(pid, "cwd", text, sizeof text);
		assert_string_equal(text, "/");
		assert_int_equal(getsid(pid), pid);
		assert_string_equal(status_of(pid, "Name"), "verbena");
		assert_string_equal(status_of(pid, "Umask"), "0022");
		/* SIGHUP, SIGINT and SIGTERM, which it reads. */
		assert_string_equal(status_of(pid, "SigBlk"), "0000000000004003");
		close(in[1]);
		close(out[0]);
		assert_int_equal(kill(pid, SIGTERM), 0);
		assert_int_equal(child_status(pid), 0);
	}
}

/* A second broker of the user sees that there is one, and ends without a word. */
static void start__of_a_second_one(void **state)
{
	struct vb_broker_client c = client_connect();
	int in[2], out[2];
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid = start_by_hand(in[0], out[1], false);
	close(out[1]);
	assert_int_equal(child_status(pid), 3);
	assert_int_equal(read(out[0], &byte, 1), 0);
	close(in[0]);
	close(in[1]);
	close(out[0]);
	assert_int_equal(vb_broker_check(&c), 0);
	vb_broker_disconnect(&c);
}

/* A program's open files are not the broker's that it happens to start. */
static void start__closes_files_of_the_program(void **state)
{
	struct vb_broker_client c;
	struct pollfd p;
	int pipes[2];

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	c = client_connect();
	close(pipes[1]);
	p = (struct pollfd){.fd = pipes[0], .events = POLLIN};
	assert_int_equal(poll(&p, 1, BROKER_PATIENCE_MS), 1);
	assert_int_equal(p.revents, POLLHUP);
	close(pipes[0]);
	vb_broker_disconnect(&c);
}

/* A connected process knows all of it: its own name stands in its memory, and a program that it
 * executes gets none of its descriptors. */
static void connect__says_who_and_what(void **state)
{
	unsigned for_exec = descriptors_for_exec();
	struct vb_broker_client c;
	char name[16];

	(void)state;
	snprintf(broker_why, sizeof broker_why, "nothing yet");
	assert_int_equal(prctl(PR_GET_NAME, name), 0);
	c = client_connect();
	assert_string_equal(broker_why, "");
	assert_string_equal(c.shm->comm, name);
	assert_int_equal(c.host->is_open, 1);
	assert_string_not_equal(c.host->sysfs_path, "");
	assert_int_equal(descriptors_for_exec(), for_exec);
	/* A connection that blocks waits for its answers. */
	assert_int_equal(fcntl(c.sock, F_GETFL) & O_NONBLOCK, 0);
	assert_true(vb_broker_has_clients());
	vb_broker_disconnect(&c);
	assert_false(vb_broker_has_clients());
	assert_int_equal(c.sock, -1);
	assert_int_equal(c.rx_fd, -1);
	assert_int_equal(c.fd_store, -1);
	assert_null(c.shm);
}

/* A program that looks starts a broker that has no adapter yet. */
static void observe__before_anybody_has_the_adapter(void **state)
{
	struct vb_broker_observer o;

	(void)state;
	assert_int_equal(vb_broker_observe(&o, true, broker_why, sizeof broker_why), 0);
	assert_int_equal(o.host->is_open, 0);
	assert_int_equal(o.host->device_cnt, 1);
	assert_string_not_equal(o.host->sysfs_path, "");
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	assert_null(o.slot[VB_SLOT_GSI]);
	assert_false(vb_broker_is_used(&o));
	vb_broker_observe_end(&o);
}

/* A broker that has no time for anybody lets 512 wait, and turns none away. */
static void listen__lets_many_wait(void **state)
{
	struct vb_broker_client c = client_connect();
	pid_t pid = (pid_t)c.host->broker_pid;
	struct sockaddr_un a;
	socklen_t len = vb_broker_address(&a, geteuid());
	static int fd[700];
	int cnt = 0;

	(void)state;
	assert_int_equal(kill(pid, SIGSTOP), 0);
	while (status_of(pid, "State")[0] != 'T')
		(void)poll(NULL, 0, 1);
	for (; cnt < 700; cnt++) {
		fd[cnt] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		assert_true(fd[cnt] >= 0);
		if (connect(fd[cnt], (struct sockaddr *)&a, len))
			break;
	}
	assert_true(cnt < 700);
	assert_int_equal(errno, EAGAIN);
	for (int i = 0; i <= cnt; i++)
		close(fd[i]);
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_true(cnt >= 512);
	vb_broker_disconnect(&c);
}

/* The keeper of the broker @broker; 0: there is none. */
static pid_t keeper_of(pid_t broker)
{
	struct dirent *entry;
	pid_t found = 0;
	DIR *d = opendir("/proc");

	assert_non_null(d);
	while (!found && (entry = readdir(d))) {
		char path[300], comm[32];
		int pid, parent;
		FILE *f;

		snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fscanf(f, "%d (%31[^)]) %*c %d", &pid, comm, &parent) == 3 &&
		    (pid_t)parent == broker && strcmp(comm, "verbena-keeper") == 0)
			found = (pid_t)pid;
		fclose(f);
	}
	closedir(d);
	return found;
}

static pid_t await_keeper(pid_t broker)
{
	pid_t keeper = 0;

	for (int ms = 0; !keeper && ms < BROKER_PATIENCE_MS; ms += 10) {
		keeper = keeper_of(broker);
		(void)poll(NULL, 0, 10);
	}
	assert_int_not_equal(keeper, 0);
	return keeper;
}

/* The keeper is a process as others are: signals end it, it has a session, the store and its
 * connection alone, and none of the settings of the program that started the broker, which may have
 * been for that program. When it has ended nothing of it is left. */
static void keeper__has_nothing_of_a_program(void **state)
{
	static const char *const own[] = {"VERBENA_FAULT", "VERBENA_FAULT_SEED", "VERBENA_CC",
					  "VERBENA_LINK",  "VERBENA_NODE",       "VERBENA_FABRIC"};
	static char text[1 << 16];
	struct vb_broker_observer o;
	char path[64];
	pid_t broker, keeper;
	ssize_t n;
	int fd;

	(void)state;
	setenv(own[0], "loss=0.5", 1);
	setenv(own[1], "7", 1);
	setenv(own[2], "paper", 1);
	setenv(own[3], "udp", 1);
	setenv(own[4], "nowhere", 1);
	setenv(own[5], "nothing", 1);
	setenv("VERBENA_TEST_MARK", "1", 1);
	assert_int_equal(vb_broker_observe(&o, true, broker_why, sizeof broker_why), 0);
	for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
		unsetenv(own[i]);
	unsetenv("VERBENA_TEST_MARK");
	broker = (pid_t)o.host->broker_pid;
	assert_int_equal(vb_broker_stay(&o, true, 0), 0);
	keeper = await_keeper(broker);
	snprintf(path, sizeof path, "/proc/%d/environ", (int)keeper);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	n = read(fd, text, sizeof text - 1);
	close(fd);
	assert_true(n > 0);
	for (ssize_t i = 0; i < n; i++)
		if (text[i] == 0)
			text[i] = '\n';
	assert_non_null(strstr(text, "VERBENA_TEST_MARK=1\n"));
	for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
		assert_null(strstr(text, own[i]));
	assert_int_equal(getsid(keeper), keeper);
	assert_string_equal(status_of(keeper, "SigBlk"), "0000000000000000");
	assert_int_equal(strtoull(status_of(keeper, "SigIgn"), NULL, 16) >> (SIGCHLD - 1) & 1, 0);
	/* 0, 1, 2, the store, the connection, and the two entries of each folder. */
	for (int ms = 0; descriptors_of(keeper) != 7; ms++) {
		assert_true(ms < BROKER_PATIENCE_MS);
		(void)poll(NULL, 0, 1);
	}
	/* QP1 of the broker has none of those settings either. */
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	assert_non_null(o.slot[VB_SLOT_GSI]);
	assert_true(o.slot[VB_SLOT_GSI]->own_cc == 0);
	/* When it is killed another one takes its place, and no trace of it is left. */
	assert_int_equal(kill(keeper, SIGKILL), 0);
	for (int ms = 0; kill(keeper, 0) == 0; ms++) {
		assert_true(ms < BROKER_PATIENCE_MS);
		(void)poll(NULL, 0, 1);
	}
	pid_t next = await_keeper(broker);

	assert_int_not_equal(next, keeper);
	assert_int_equal(vb_broker_stay(&o, false, 0), 0);
	vb_broker_observe_end(&o);
	/* It has the port as long as it lives. */
	assert_true(process_ends(next));
}

/* A broker that is told to end takes the adapter that no program uses along, and its keeper. */
static void keeper__ends_with_the_broker(void **state)
{
	struct vb_broker_observer o;
	pid_t broker, keeper;

	(void)state;
	assert_int_equal(vb_broker_observe(&o, true, broker_why, sizeof broker_why), 0);
	broker = (pid_t)o.host->broker_pid;
	assert_int_equal(vb_broker_stay(&o, true, 0), 0);
	keeper = await_keeper(broker);
	assert_int_equal(kill(broker, SIGTERM), 0);
	assert_true(process_ends(broker));
	assert_true(process_ends(keeper));
	vb_broker_observe_end(&o);
	assert_int_equal(vb_broker_observe(&o, false, broker_why, sizeof broker_why),
			 -ECONNREFUSED);
}

/* Each test begins without a broker. */
static int end_broker(void **state)
{
	struct vb_broker_observer o;

	(void)state;
	if (vb_broker_observe(&o, false, broker_why, sizeof broker_why))
		return 0;

	pid_t pid = (pid_t)o.host->broker_pid;

	kill(pid, SIGTERM);
	vb_broker_observe_end(&o);
	return process_ends(pid) ? 0 : -1;
}

#define T(f) cmocka_unit_test_setup_teardown(f, end_broker, end_broker)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(start__keeps_nothing),
	    T(start__of_a_second_one),
	    T(start__closes_files_of_the_program),
	    T(connect__says_who_and_what),
	    T(observe__before_anybody_has_the_adapter),
	    T(listen__lets_many_wait),
	    T(keeper__has_nothing_of_a_program),
	    T(keeper__ends_with_the_broker),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace of our own here: tests not run\n");
		return 77;
	}
	snprintf(other_name, sizeof other_name, "/dev/shm/verbena-test-%d", (int)getpid());
	int rc = cmocka_run_group_tests(tests, NULL, NULL);

	(void)unlink(other_name);
	return rc;
}
