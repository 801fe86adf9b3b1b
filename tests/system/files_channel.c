/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The descriptor of /dev/infiniband/rdma_cm as the kernel has it: commands by write(), copies by
 * dup(), fork() and SCM_RIGHTS, children by vfork() and posix_spawn(), closing by every call,
 * numbers that other files take, high numbers. Without librdmacm, by the ABI itself. Says "ok".
 *
 * CMP-31, CMP-45, CMP-46
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_user_cm.h>
#include <sched.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CM "/dev/infiniband/rdma_cm"
#define PS_TCP 0x0106
#define QPT_RC 2
#define HIGH 70000 /* above the table of descriptors, VB_FDS_MAX */

#define need(x)                                                                                    \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #x, strerror(errno));        \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

struct command {
	struct rdma_ucm_cmd_hdr header;
	union {
		struct rdma_ucm_create_id create;
		struct rdma_ucm_destroy_id destroy;
		struct rdma_ucm_get_event get_event;
		struct rdma_ucm_migrate_id migrate;
		struct rdma_ucm_listen listen;
		struct rdma_ucm_resolve_ip resolve;
	} body;
};

static ssize_t command(int fd, uint32_t cmd, struct command *c, size_t in, size_t out)
{
	ssize_t n;

	c->header = (struct rdma_ucm_cmd_hdr){.cmd = cmd, .in = (uint16_t)in, .out = (uint16_t)out};
	errno = EXFULL; /* which no command has */
	n = write(fd, c, sizeof c->header + in);
	/* A call that succeeds leaves errno as it was: librdmacm destroys an id before its caller
	 * asks. */
	need((n >= 0) == (errno == EXFULL));
	return n;
}

static uint32_t create_id(int fd)
{
	struct rdma_ucm_create_id_resp r = {.id = ~0u};
	struct command c = {
	    .body.create = {.uid = 42, .response = (uintptr_t)&r, .ps = PS_TCP, .qp_type = QPT_RC}};
	ssize_t n = command(fd, RDMA_USER_CM_CMD_CREATE_ID, &c, sizeof c.body.create, sizeof r);

	need(n == (ssize_t)(sizeof c.header + sizeof c.body.create));
	need(r.id != ~0u);
	return r.id;
}

/* 0 or the errno. */
static int destroy_id(int fd, uint32_t id)
{
	struct rdma_ucm_destroy_id_resp r = {.events_reported = ~0u};
	struct command c = {.body.destroy = {.response = (uintptr_t)&r, .id = id}};

	if (command(fd, RDMA_USER_CM_CMD_DESTROY_ID, &c, sizeof c.body.destroy, sizeof r) < 0)
		return errno;
	need(r.events_reported == 0);
	return 0;
}

static int works(int fd)
{
	return destroy_id(fd, create_id(fd)) == 0;
}

static void shapes_of_commands(int fd)
{
	struct command c = {0};
	struct stat st;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct rdma_ucm_event_resp event;

	need(fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(10, 122));
	need(write(fd, &c, 4) < 0 && errno == EINVAL);
	c.header = (struct rdma_ucm_cmd_hdr){.cmd = RDMA_USER_CM_CMD_CREATE_ID, .in = 24, .out = 4};
	need(write(fd, &c, sizeof c.header + 8) < 0 && errno == EINVAL);
	need(command(fd, 200, &c, 8, 0) < 0 && errno == EINVAL);
	need(command(fd, RDMA_USER_CM_CMD_GET_OPTION, &c, 8, 0) < 0 && errno == ENOSYS);
	need(read(fd, &c, 8) < 0 && errno == EINVAL);
	need(ioctl(fd, 0x1b01, NULL) < 0 && errno == ENOTTY);
	need(destroy_id(fd, 99999) == ENOENT);
	need(poll(&p, 1, 0) == 0);
	/* CMP-45: no event: EAGAIN when the descriptor does not wait. */
	need(fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) == 0);
	c.body.get_event.response = (uintptr_t)&event;
	need(command(fd, RDMA_USER_CM_CMD_GET_EVENT, &c, sizeof c.body.get_event, sizeof event) <
		 0 &&
	     errno == EAGAIN);
	need(fcntl(fd, F_SETFL, O_RDWR) == 0);
}

static void copies(int fd)
{
	uint32_t id = create_id(fd);
	int a = dup(fd), b = fcntl(fd, F_DUPFD_CLOEXEC, 200), null = open("/dev/null", O_RDWR);
	int status;

	need(a >= 0 && b >= 200 && dup2(fd, 300) == 300 && dup3(fd, 301, O_CLOEXEC) == 301);
	need(destroy_id(300, id) == 0 && works(a) && works(b) && works(301));
	need(dup2(null, 300) == 300 && write(300, "x", 1) == 1);
	need(close(a) == 0 && write(a, "x", 1) < 0 && errno == EBADF);
	need(close_range(200, 301, 0) == 0);
	need(fcntl(null, F_DUPFD, 301) == 301 && write(301, "x", 1) == 1);
	close(301);
	id = create_id(fd);
	pid_t pid = fork();
	if (pid == 0)
		_exit(destroy_id(fd, id) == 0 && works(fd) ? 0 : 1);
	need(waitpid(pid, &status, 0) == pid && status == 0);
	need(destroy_id(fd, id) == ENOENT && works(fd));
	close(null);
}

/* A child's calls on its numbers, before its exec(), in memory that is the parent's. */
static void children_that_share(int fd)
{
	static char program[] = "/bin/true";
	char *const argv[] = {program, NULL};
	int null = open("/dev/null", O_RDWR), other = open(CM, O_RDWR | O_CLOEXEC), status;
	posix_spawn_file_actions_t actions;
	pid_t pid = vfork();

	if (pid == 0) {
		/* NOLINTBEGIN: the child's numbers alone change */
		int failed = dup2(null, fd) != fd || write(fd, "x", 1) != 1 || close(other) ||
			     write(other, "x", 1) != -1 || close_range(fd, ~0u, 0);

		_exit(failed);
		/* NOLINTEND */
	}
	need(waitpid(pid, &status, 0) == pid && status == 0);
	need(works(fd) && works(other));
	need(posix_spawn_file_actions_init(&actions) == 0);
	need(posix_spawn_file_actions_addclose(&actions, fd) == 0);
	need(posix_spawn_file_actions_adddup2(&actions, null, other) == 0);
	need(posix_spawn(&pid, program, &actions, NULL, argv, environ) == 0);
	need(waitpid(pid, &status, 0) == pid && status == 0);
	posix_spawn_file_actions_destroy(&actions);
	need(works(fd) && works(other));
	close(other);
	close(null);
}

/* By a system call nobody here sees it closed; the number is the program's file then. */
static void stale_numbers(void)
{
	int pipes[2], fd;
	char byte = 0;

	need(pipe(pipes) == 0);
	fd = open(CM, O_RDWR | O_CLOEXEC);
	need(fd >= 0 && works(fd));
	need(syscall(SYS_close, fd) == 0 && dup(pipes[1]) == fd && write(fd, "x", 1) == 1);
	closefrom(fd);
	need(pipe(pipes) == 0 && pipes[0] == fd);
	need(write(pipes[1], "y", 1) == 1 && read(pipes[0], &byte, 1) == 1 && byte == 'y');
	closefrom(fd);
}

static void send_fd(int sock, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof fd)] = {0};
	struct iovec v = {&byte, 1};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof control};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	*c = (struct cmsghdr){
	    .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd)};
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	need(sendmsg(sock, &m, 0) == 1);
}

static int receive_fd(int sock)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec v = {&byte, 1};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof control};
	int fd;

	need(recvmsg(sock, &m, 0) == 1 && CMSG_FIRSTHDR(&m));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
	return fd;
}

/* The child was there before the channel and gets it as any process would. */
static void pass_to_process(void)
{
	int pair[2], status;

	need(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		int fd = receive_fd(pair[1]);

		_exit(works(fd) ? 0 : 1);
	}
	int fd = open(CM, O_RDWR | O_CLOEXEC);
	uint32_t id = create_id(fd);
	send_fd(pair[0], fd);
	need(waitpid(pid, &status, 0) == pid && status == 0);
	need(destroy_id(fd, id) == 0);
	close(fd);
	close(pair[0]);
	close(pair[1]);
}

/* CMP-46 */
static void migrate(int fd)
{
	struct rdma_ucm_migrate_resp r;
	struct command c = {.body.migrate = {.response = (uintptr_t)&r, .id = create_id(fd)}};
	int to = open(CM, O_RDWR | O_CLOEXEC), null = open("/dev/null", O_RDWR);
	const size_t in = sizeof c.body.migrate;

	c.body.migrate.fd = 9999;
	need(command(to, RDMA_USER_CM_CMD_MIGRATE_ID, &c, in, sizeof r) < 0 && errno == ENOENT);
	c.body.migrate.fd = (uint32_t)null;
	need(command(to, RDMA_USER_CM_CMD_MIGRATE_ID, &c, in, sizeof r) < 0 && errno == EINVAL);
	c.body.migrate.fd = (uint32_t)fd;
	need(command(to, RDMA_USER_CM_CMD_MIGRATE_ID, &c, in, sizeof r) > 0);
	need(r.events_reported == 0);
	need(destroy_id(fd, c.body.migrate.id) == EINVAL);
	need(destroy_id(to, c.body.migrate.id) == 0);
	close(null);
	close(to);
}

/* Which takes closing a number that another thread waits by for a race. */
#ifdef __SANITIZE_THREAD__
static const bool has_thread_sanitizer = true;
#else
static const bool has_thread_sanitizer;
#endif

static int waiting_fd;
static _Atomic int taken, ended;

/* Makes an event wait on @fd. Returns its id. */
static uint32_t make_event(int fd)
{
	struct command c = {.body.resolve = {.id = create_id(fd), .timeout_ms = 1000}};

	c.body.resolve.dst_addr.sin6_family = AF_INET;
	memcpy((uint8_t *)&c.body.resolve.dst_addr + 4, (uint8_t[4]){127, 0, 0, 1}, 4);
	need(command(fd, RDMA_USER_CM_CMD_RESOLVE_IP, &c, sizeof c.body.resolve, 0) > 0);
	return c.body.resolve.id;
}

static ssize_t take_event(int fd)
{
	struct rdma_ucm_event_resp event;
	struct command c = {.body.get_event = {.response = (uintptr_t)&event}};

	return command(fd, RDMA_USER_CM_CMD_GET_EVENT, &c, sizeof c.body.get_event, sizeof event);
}

static void *wait_for_event(void *arg)
{
	if (take_event(waiting_fd) > 0)
		taken++;
	ended++;
	return arg;
}

/* Two threads wait for one event, and the number they wait by is closed meanwhile: one has the
 * event, the other waits on, as in a kernel, where the program closes it on its way out. */
static void closed_while_it_waits(void)
{
	int fd = open(CM, O_RDWR | O_CLOEXEC), copy = dup(fd);
	pthread_t thread;

	waiting_fd = fd;
	for (int i = 0; i < 2; i++)
		need(pthread_create(&thread, NULL, wait_for_event, NULL) == 0);
	usleep(200000);
	close(fd);
	(void)make_event(copy);
	for (int i = 0; i < 500 && !taken; i++)
		usleep(10000);
	usleep(200000);
	need(taken == 1 && ended == 1);
	close(copy);
}

/* A process that was told of two events finds that another one has taken the second. */
static void taken_by_another(void)
{
	int fd = open(CM, O_RDWR | O_CLOEXEC), status;
	pid_t child;

	(void)make_event(fd);
	(void)make_event(fd);
	need(take_event(fd) > 0);
	child = fork();
	need(child >= 0);
	if (child == 0)
		_exit(take_event(fd) > 0 ? 0 : 1);
	need(waitpid(child, &status, 0) == child && status == 0);
	need(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	need(take_event(fd) < 0 && errno == EAGAIN);
	(void)make_event(fd);
	need(take_event(fd) > 0);
	need(take_event(fd) < 0 && errno == EAGAIN);
	/* One that waits does so until there is one. */
	(void)make_event(fd);
	(void)make_event(fd);
	need(fcntl(fd, F_SETFL, 0) == 0 && take_event(fd) > 0);
	child = fork();
	need(child >= 0);
	if (child == 0) {
		need(take_event(fd) > 0);
		usleep(100000);
		(void)make_event(fd);
		_exit(0);
	}
	usleep(50000);
	need(take_event(fd) > 0);
	need(waitpid(child, &status, 0) == child && status == 0);
	close(fd);
}

/* Two processes end ids of one channel at the same time: each event goes with its id, and is
 * neither counted nor given to anybody. */
static void ended_by_two(void)
{
	int fd = open(CM, O_RDWR | O_CLOEXEC), status;
	pid_t child = fork();

	need(fd >= 0 && child >= 0);
	for (int i = 0; i < 300; i++)
		need(destroy_id(fd, make_event(fd)) == 0);
	if (child == 0)
		_exit(0);
	need(waitpid(child, &status, 0) == child && status == 0);
	need(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	need(take_event(fd) < 0 && errno == EAGAIN);
	close(fd);
}

static _Atomic int taken_at_last;

/* Takes an event, has something to do, and waits for the next one. */
static void *take_two(void *arg)
{
	need(take_event(waiting_fd) > 0);
	taken_at_last = 1;
	for (struct timespec end = {0}, now = {0}; now.tv_nsec <= end.tv_nsec;) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		if (!end.tv_nsec)
			end.tv_nsec = now.tv_nsec + 200000;
	}
	(void)take_event(waiting_fd);
	ended++;
	return arg;
}

/* A thread is on its way back to its wait while the program closes the channel: it gets there, as
 * it does in a kernel, whose commands take longer. Mostly: this one has a millisecond. */
static void closed_on_the_way_back(void)
{
	int in_time = 0;

	for (int n = 0; n < 20; n++) {
		pthread_t thread;
		int before = ended;

		waiting_fd = open(CM, O_RDWR | O_CLOEXEC);
		taken_at_last = 0;
		(void)make_event(waiting_fd);
		need(pthread_create(&thread, NULL, take_two, NULL) == 0);
		while (!taken_at_last)
			sched_yield();
		close(waiting_fd);
		usleep(20000);
		in_time += ended == before;
	}
	need(in_time >= 5);
}

/* A descriptor that exec() leaves open: nothing that the new program does with it harms this one.
 */
static void pass_to_program(char *program)
{
	char number[16], option[] = "--after-exec";
	char *const argv[] = {program, option, number, NULL};
	int fd = open(CM, O_RDWR), status; /* NOLINT(android-cloexec-open): this is the test */

	need(fd >= 0 && works(fd));
	snprintf(number, sizeof number, "%d", fd);
	pid_t pid = fork();
	if (pid == 0) {
		execv("/proc/self/exe", argv);
		_exit(2);
	}
	need(waitpid(pid, &status, 0) == pid && status == 0);
	need(works(fd) && close(fd) == 0);
}

/* docs/files.md: a command has no reply there. A file that is opened is its own, and stays so. */
static int check_after_exec(int fd)
{
	struct rdma_ucm_create_id_resp r = {.id = ~0u};
	struct command c = {
	    .body.create = {.response = (uintptr_t)&r, .ps = PS_TCP, .qp_type = QPT_RC}};
	int other = open(CM, O_RDWR | O_CLOEXEC);

	need(fcntl(fd, F_GETFD) >= 0 && other >= 0 && other != fd && works(other));
	need(ioctl(fd, 0x1b01, NULL) < 0);
	(void)command(fd, RDMA_USER_CM_CMD_CREATE_ID, &c, sizeof c.body.create, sizeof r);
	need(r.id == ~0u);
	need(close(fd) == 0 && works(other));
	return 0;
}

/* A channel cannot have a number above the table's, and files that have one are left alone. False:
 * this process may not have such a number. */
static bool high_numbers(int fd)
{
	struct rlimit old, most;
	int null = open("/dev/null", O_RDWR);

	need(getrlimit(RLIMIT_NOFILE, &old) == 0);
	most = old;
	if (most.rlim_max <= HIGH)
		most.rlim_max = HIGH + 1;
	most.rlim_cur = most.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &most))
		return false;
	need(dup2(fd, HIGH) < 0 && errno == EMFILE);
	need(dup2(null, HIGH) == HIGH && write(HIGH, "x", 1) == 1);
	close(HIGH);
	close(null);
	return works(fd);
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return check_after_exec((int)strtol(argv[2], NULL, 10));

	int fd = open(CM, O_RDWR | O_CLOEXEC);

	need(fd >= 0 && works(fd));
	if (argc == 2) {
		puts(high_numbers(fd) ? "ok" : "no descriptor of that number here");
		return 0;
	}
	shapes_of_commands(fd);
	copies(fd);
	children_that_share(fd);
	pass_to_process();
	pass_to_program(argv[0]);
	migrate(fd);
	if (!has_thread_sanitizer)
		closed_while_it_waits();
	taken_by_another();
	ended_by_two();
	if (!has_thread_sanitizer)
		closed_on_the_way_back();
	close(fd);
	stale_numbers();
	puts("ok");
	return 0;
}
