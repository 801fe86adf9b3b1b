/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that waits for completion events by a call that waits for descriptors.
 *
 *   verbs_wait CALL    poll, ppoll, select, pselect, epoll_wait, epoll_pwait, epoll_pwait2, edge
 *                      (epoll_wait(), edge-triggered) or poll_epoll (poll() of an epoll instance)
 *
 * It sends messages to and fro with a process that it forks, and prints how often the progress
 * thread of the library ran meanwhile. Then, while a CQ is armed and the call waits: another
 * descriptor becomes ready, also one whose number another file had before; time passes; a handler
 * runs, also one that jumps away; the thread is cancelled. Ends with "done".
 */
#include "verbs_rc.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MESSAGES 400
#define PATIENCE_MS 20000

static struct ibv_context *context;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static uint8_t buf[64];
static const char *call;
static int epoll_fd, other[2]; /* a pipe that is waited for, too */
static sigjmp_buf away;
static sigset_t given; /* the mask of calls that take one: SIGWINCH */

static void open_end(bool has_channel)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC, .sq_sig_all = 1};

	context = open_first();
	channel = has_channel ? ibv_create_comp_channel(context) : NULL;
	cq = ibv_create_cq(context, 64, NULL, channel, 0);
	NEED(cq && (channel || !has_channel));
	init.send_cq = init.recv_cq = cq;
	init.cap = (struct ibv_qp_cap){16, 16, 1, 1, 0};
	struct ibv_pd *pd = ibv_alloc_pd(context);

	NEED(pd);
	mr = ibv_reg_mr(pd, buf, sizeof buf, IBV_ACCESS_LOCAL_WRITE);
	qp = ibv_create_qp(pd, &init);
	NEED(mr && qp);
}

static void connect_end(int sock)
{
	rc_meet(qp, sock, 14);
}

static void post_receive(void)
{
	struct ibv_sge sge = {(uintptr_t)buf, 8, mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	NEED(ibv_post_recv(qp, &wr, &bad) == 0);
}

static void post_send(void)
{
	struct ibv_sge sge = {(uintptr_t)buf + 32, 8, mr->lkey};
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1}, *bad;

	NEED(ibv_post_send(qp, &wr, &bad) == 0);
}

/* Completions of receives. */
static int take_messages(void)
{
	struct ibv_wc wc;
	int n = 0;

	while (ibv_poll_cq(cq, 1, &wc) > 0) {
		NEED(wc.status == IBV_WC_SUCCESS);
		if (wc.opcode == IBV_WC_RECV) {
			post_receive();
			n++;
		}
	}
	return n;
}

/* Answers each message, and polls: the other end has to wait for the network alone. */
static void answer_messages(void)
{
	for (int i = 0; i < MESSAGES;) {
		int n = take_messages();

		for (int k = 0; k < n; k++)
			post_send();
		i += n;
	}
	/* A message on its way when a process ends is lost. */
	while (read(other[0], buf, 1) < 0)
		;
}

static int wait_poll(int timeout_ms, bool of_epoll)
{
	struct pollfd p[] = {{of_epoll ? epoll_fd : channel->fd, POLLIN, 0}, {other[0], POLLIN, 0}};
	const struct timespec t = {timeout_ms / 1000, timeout_ms % 1000 * 1000000l};
	int n = strcmp(call, "ppoll") == 0 ? ppoll(p, 2, &t, &given) : poll(p, 2, timeout_ms);

	return n < 0 ? n : (p[0].revents ? 1 : 0) + (p[1].revents ? 2 : 0);
}

static int wait_select(int timeout_ms)
{
	struct timeval tv = {timeout_ms / 1000, timeout_ms % 1000 * 1000l};
	const struct timespec t = {tv.tv_sec, tv.tv_usec * 1000l};
	bool is_p = strcmp(call, "pselect") == 0;
	int most = channel->fd > other[0] ? channel->fd : other[0];
	fd_set set;
	int n;

	FD_ZERO(&set);
	FD_SET(channel->fd, &set);
	FD_SET(other[0], &set);
	n = is_p ? pselect(most + 1, &set, NULL, NULL, &t, &given)
		 : select(most + 1, &set, NULL, NULL, &tv);
	NEED(is_p || n < 0 || (tv.tv_sec * 1000 + tv.tv_usec / 1000 <= timeout_ms));
	return n < 0 ? n
		     : (FD_ISSET(channel->fd, &set) ? 1 : 0) + (FD_ISSET(other[0], &set) ? 2 : 0);
}

static int wait_epoll(int timeout_ms)
{
	const struct timespec t = {timeout_ms / 1000, timeout_ms % 1000 * 1000000l};
	struct epoll_event ev[2];
	int n, saw = 0;

	if (strcmp(call, "epoll_pwait") == 0)
		n = epoll_pwait(epoll_fd, ev, 2, timeout_ms, &given);
	else if (strcmp(call, "epoll_pwait2") == 0)
		n = epoll_pwait2(epoll_fd, ev, 2, &t, &given);
	else
		n = epoll_wait(epoll_fd, ev, 2, timeout_ms);
	for (int i = 0; i < n; i++)
		saw |= (int)ev[i].data.u32;
	return n < 0 ? n : saw;
}

/* The mask that a call was given is that of its wait alone. */
static bool mask_is_own(void)
{
	sigset_t mask;

	NEED(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0);
	return !sigismember(&mask, SIGWINCH);
}

/* 1: the channel is ready, 2: the pipe, 3: both, 0: neither in time, -1: interrupted. */
static int wait_ready(int timeout_ms)
{
	int saw;

	if (strstr(call, "select"))
		saw = wait_select(timeout_ms);
	else if (strstr(call, "poll") && strncmp(call, "epoll", 5) != 0)
		saw = wait_poll(timeout_ms, strcmp(call, "poll_epoll") == 0);
	else
		saw = wait_epoll(timeout_ms);
	NEED(mask_is_own());
	NEED(saw >= 0 || errno == EINTR);
	return saw;
}

static void watch_pipe(void)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = 2};

	NEED(pipe(other) == 0);
	if (strcmp(call, "poll_epoll") != 0)
		NEED(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, other[0], &ev) == 0);
}

static void take_event(void)
{
	struct ibv_cq *of;
	void *cq_context;

	NEED(ibv_get_cq_event(channel, &of, &cq_context) == 0 && of == cq);
	ibv_ack_cq_events(of, 1);
}

/* How often the library's thread has run so far. */
static long thread_runs(void)
{
	DIR *d = opendir("/proc/self/task");
	long runs = -1;
	struct dirent *t;

	NEED(d);
	while ((t = readdir(d))) {
		char path[300], line[256], name[32] = "";
		FILE *f;

		snprintf(path, sizeof path, "/proc/self/task/%s/status", t->d_name);
		f = t->d_name[0] == '.' ? NULL : fopen(path, "r");
		while (f && fgets(line, sizeof line, f)) {
			(void)sscanf(line, "Name: %31s", name);
			if (strcmp(name, "verbena") == 0)
				(void)sscanf(line, "voluntary_ctxt_switches: %ld", &runs);
		}
		if (f)
			fclose(f);
	}
	closedir(d);
	return runs;
}

static void converse(void)
{
	long before = thread_runs(), after;

	NEED(before >= 0);
	for (int i = 0; i < MESSAGES; i++) {
		int got = 0;

		NEED(ibv_req_notify_cq(cq, 0) == 0);
		post_send();
		while ((got += take_messages()) == 0) {
			int saw = wait_ready(PATIENCE_MS);

			NEED(saw == 1);
			take_event();
			NEED(ibv_req_notify_cq(cq, 0) == 0);
		}
		NEED(got == 1);
	}
	after = thread_runs();
	printf("%d messages, the thread ran %ld times\n", MESSAGES, after - before);
}

static void *write_later(void *arg)
{
	usleep(50000);
	NEED(write(*(int *)arg, "x", 1) == 1);
	return NULL;
}

static void *interrupt_later(void *arg)
{
	usleep(50000);
	pthread_kill(*(pthread_t *)arg, SIGUSR1);
	return NULL;
}

/* Another descriptor is ready; another with the same number, too. */
static void hear_others(void)
{
	for (int i = 0; i < 3; i++) {
		pthread_t t;
		char byte;

		NEED(pthread_create(&t, NULL, write_later, &other[1]) == 0);
		NEED(wait_ready(PATIENCE_MS) == 2);
		NEED(read(other[0], &byte, 1) == 1);
		pthread_join(t, NULL);
		close(other[0]);
		close(other[1]);
		watch_pipe();
	}
}

static void pass_time(void)
{
	struct timespec from, to;
	double ms;

	clock_gettime(CLOCK_MONOTONIC, &from);
	NEED(wait_ready(80) == 0);
	clock_gettime(CLOCK_MONOTONIC, &to);
	ms = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
	NEED(ms >= 79);
}

static volatile sig_atomic_t jumps;

static void handle_signal(int sig)
{
	(void)sig;
	if (jumps)
		siglongjmp(away, 1);
}

static void be_interrupted(void)
{
	struct sigaction act = {.sa_handler = handle_signal, .sa_flags = SA_RESTART};
	pthread_t self = pthread_self(), t;

	NEED(sigaction(SIGUSR1, &act, NULL) == 0);
	for (jumps = 0; jumps < 2; jumps++) {
		NEED(pthread_create(&t, NULL, interrupt_later, &self) == 0);
		if (sigsetjmp(away, 1) == 0)
			NEED(wait_ready(PATIENCE_MS) == -1 && !jumps);
		pthread_join(t, NULL);
	}
}

static void *wait_for_ever(void *arg)
{
	(void)wait_ready(-1);
	return arg;
}

static void be_cancelled(void)
{
	void *result;
	pthread_t t;

	/* A time without end is not what all of these calls take. */
	if (strstr(call, "select") || strcmp(call, "ppoll") == 0 ||
	    strcmp(call, "epoll_pwait2") == 0)
		return;
	NEED(pthread_create(&t, NULL, wait_for_ever, NULL) == 0);
	usleep(50000);
	NEED(pthread_cancel(t) == 0);
	NEED(pthread_join(t, &result) == 0);
	NEED(result == PTHREAD_CANCELED);
}

static void wait_in_all_ways(void)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = 1};

	if (strcmp(call, "edge") == 0)
		ev.events |= (uint32_t)EPOLLET;
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	NEED(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, channel->fd, &ev) == 0);
	watch_pipe();
	converse();
	/* Nothing more comes by the network. */
	NEED(ibv_req_notify_cq(cq, 0) == 0);
	while (wait_ready(100) == 1) {
		take_event();
		(void)take_messages();
		NEED(ibv_req_notify_cq(cq, 0) == 0);
	}
	hear_others();
	pass_time();
	be_interrupted();
	hear_others();
	be_cancelled();
	hear_others();
}

int main(int argc, char **argv)
{
	int sock[2], status;
	pid_t child;

	NEED(argc == 2);
	call = argv[1];
	NEED(sigemptyset(&given) == 0 && sigaddset(&given, SIGWINCH) == 0);
	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, sock) == 0);
	child = fork();
	NEED(child >= 0);
	open_end(child != 0);
	connect_end(sock[child != 0]);
	for (int i = 0; i < 8; i++)
		post_receive();
	/* Both are ready before the first message. */
	NEED(write(sock[child != 0], "r", 1) == 1 && read(sock[child != 0], buf, 1) == 1);
	if (child == 0) {
		other[0] = sock[0];
		answer_messages();
		return 0;
	}
	wait_in_all_ways();
	NEED(write(sock[1], "e", 1) == 1);
	NEED(waitpid(child, &status, 0) == child && status == 0);
	puts("done");
	return 0;
}
