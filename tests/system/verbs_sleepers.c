/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two processes that send each other numbered messages, and wait for them now in this way and now
 * in that: in ibv_get_cq_event(), poll() or epoll_wait(), by polls at random intervals, computing,
 * or asleep by themselves; with CQs that are armed and left, or not armed.
 *
 *   verbs_sleepers SECONDS [SEED]
 *
 * Every message has to come once and in its order. Each end sends as long as no more than WINDOW of
 * its messages are on their way, so a wake-up that is lost ends all of it, and the program fails
 * after PATIENCE_S. Prints how many messages there were, and the longest that one was on its way to
 * an end that waited for it, which depends on what else the machine does.
 */
#include "verbs_rc.h"

#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WINDOW 8
#define PATIENCE_S 20

struct message {
	uint64_t number;  /* of its sender, from 1; 0: the last has been sent... */
	uint64_t taken;   /* ... messages of the other end that this one has seen */
	uint64_t sent_at; /* ns */
};

static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static struct message in[2 * WINDOW], out[2 * WINDOW];
static uint64_t sent, taken, told, seen, longest, waits_since, end_at;
static uint32_t sends_busy;
static bool peer_ends;
static uint64_t rng;
static int epoll_fd;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint32_t any(uint32_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 32) % below;
}

static void open_end(int sock)
{
	struct ibv_context *context = open_first();
	struct ibv_qp_init_attr init = {
	    .qp_type = IBV_QPT_RC,
	    .sq_sig_all = 1,
	    .cap = {2 * WINDOW, 2 * WINDOW, 1, 1, sizeof(struct message)}};
	struct ibv_pd *pd = ibv_alloc_pd(context);

	channel = ibv_create_comp_channel(context);
	NEED(pd && channel);
	cq = ibv_create_cq(context, 8 * WINDOW, NULL, channel, 0);
	mr = ibv_reg_mr(pd, in, sizeof in, IBV_ACCESS_LOCAL_WRITE);
	init.send_cq = init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	NEED(cq && mr && qp);
	rc_meet(qp, sock, 19); /* the machine may be busy */
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	NEED(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, channel->fd,
		       &(struct epoll_event){.events = EPOLLIN}) == 0);
}

static void post_receive(uint64_t i)
{
	struct ibv_sge sge = {(uintptr_t)&in[i], sizeof in[i], mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad;

	NEED(ibv_post_recv(qp, &wr, &bad) == 0);
}

/* The next message; or, with number 0, that there will be none. */
static void post_message(uint64_t number)
{
	struct message *m = &out[(sent + (number == 0)) % (2 * WINDOW)];
	struct ibv_sge sge = {(uintptr_t)m, sizeof *m, 0};
	struct ibv_send_wr wr = {.wr_id = UINT64_MAX,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_INLINE,
				 .sg_list = &sge,
				 .num_sge = 1},
			   *bad;

	*m = (struct message){number, taken, now_ns()};
	told = taken;
	NEED(ibv_post_send(qp, &wr, &bad) == 0);
	sends_busy++;
}

static void take_message(const struct message *m)
{
	uint64_t now = now_ns(), since = m->sent_at > waits_since ? m->sent_at : waits_since;

	NEED(m->taken >= seen && m->taken <= sent);
	seen = m->taken;
	if (m->number == 0) {
		peer_ends = true;
		return;
	}
	NEED(m->number == taken + 1);
	taken++;
	if (waits_since && now - since > longest)
		longest = now - since;
}

/* Takes all completions there are. */
static bool take_all(void)
{
	struct ibv_wc wc;
	bool some = false;
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) > 0) {
		some = true;
		if (wc.status != IBV_WC_SUCCESS)
			fprintf(stderr, "%s after %llu and %llu messages\n",
				ibv_wc_status_str(wc.status), (unsigned long long)sent,
				(unsigned long long)taken);
		NEED(wc.status == IBV_WC_SUCCESS);
		if (wc.wr_id == UINT64_MAX) {
			sends_busy--;
			continue;
		}
		take_message(&in[wc.wr_id]);
		post_receive(wc.wr_id);
	}
	NEED(n == 0);
	waits_since = 0;
	return some;
}

static void arm_cq(void)
{
	NEED(ibv_req_notify_cq(cq, 0) == 0);
}

static void take_event(void)
{
	struct ibv_cq *of;
	void *context;

	NEED(ibv_get_cq_event(channel, &of, &context) == 0 && of == cq);
	ibv_ack_cq_events(of, 1);
}

static void sleep_for_event(uint32_t how)
{
	struct pollfd p = {channel->fd, POLLIN, 0};
	struct epoll_event ev;

	arm_cq();
	if (take_all())
		return;
	waits_since = now_ns();
	if (how == 1)
		NEED(poll(&p, 1, PATIENCE_S * 1000) == 1);
	else if (how == 2)
		NEED(epoll_wait(epoll_fd, &ev, 1, PATIENCE_S * 1000) == 1);
	take_event();
	(void)take_all();
}

static void spin(uint64_t ns)
{
	for (uint64_t until = now_ns() + ns; now_ns() < until;)
		;
}

static void poll_at_intervals(void)
{
	uint64_t pause = any(3) ? any(20000) : any(200000);

	waits_since = now_ns();
	for (uint32_t i = any(60); i && !take_all(); i--) {
		waits_since = now_ns();
		spin(pause);
	}
	waits_since = 0;
}

static void do_something(void)
{
	uint32_t what = any(20);

	if (what < 9)
		sleep_for_event(what % 3);
	else if (what < 14)
		poll_at_intervals();
	else if (what < 16)
		spin(any(1000000));
	else if (what < 18)
		usleep(any(1500));
	else
		arm_cq(); /* ... and does something else */
	if (any(4) == 0)
		(void)take_all();
}

/* Sends some, and waits in some way. A message that the other end needs to go on is sent in any
 * case, so that a sleeping end gets something. False: all has been sent, and has arrived. */
static bool run(void)
{
	bool ends = peer_ends || now_ns() > end_at;
	uint32_t burst = 1 + any(WINDOW);

	alarm(PATIENCE_S);
	while (!ends && burst-- && (sent - seen < WINDOW || told != taken) && sends_busy < WINDOW) {
		sent++;
		post_message(sent);
	}
	if (!ends || sends_busy) {
		do_something();
		return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 0, total[2];
	int both[2];
	char byte;

	NEED(seconds);
	rng = argc > 2 ? strtoull(argv[2], NULL, 10) : now_ns();
	printf("seed %llu, ", (unsigned long long)rng);
	fflush(stdout);
	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, both) == 0);

	pid_t pid = fork();
	int status, sock = both[pid == 0];

	NEED(pid >= 0);
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	rng = (rng * 2 + (pid == 0)) * 0x9e3779b97f4a7c15u + 1;
	open_end(sock);
	for (uint64_t i = 0; i < 2 * WINDOW; i++)
		post_receive(i);
	NEED(write(sock, "", 1) == 1 && read(sock, &byte, 1) == 1);
	end_at = now_ns() + seconds * 1000000000;
	while (run())
		;
	post_message(0);
	while (!peer_ends || sends_busy) {
		arm_cq();
		if (!take_all())
			take_event();
	}
	NEED(write(sock, (uint64_t[]){sent, taken}, 16) == 16 && read(sock, total, 16) == 16);
	NEED(total[0] == taken && total[1] == sent);
	if (pid == 0)
		_exit((usleep(100000), 0));
	NEED(waitpid(pid, &status, 0) == pid && status == 0);
	printf("%" PRIu64 " messages, longest wait %.1f ms\ndone\n", sent + taken,
	       (double)longest / 1e6);
	return 0;
}
