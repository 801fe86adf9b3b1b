/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of a completion channel, whatever waits for its descriptor and in whatever order a program
 * arms, has messages sent and waits.
 *
 *   verbs_orders CALL CQS     CALL: get (ibv_get_cq_event()), poll, epoll, edge (epoll, edge
 *                             triggered) or io_uring; CQS of one channel, 8 at most
 *
 * A process that it forks sends to one of its QPs when it is told so; "late" is once this process
 * sleeps. Each message has to bring one event and one completion, of its CQ, and no other. Ends
 * with "done", or "no io_uring" where the kernel refuses that.
 */
#include "verbs_rc.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CQS_MAX 8
#define ROUNDS 40
#define PATIENCE_MS 20000
#define LATE 0x80u

static struct ibv_context *context;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq[CQS_MAX];
static struct ibv_qp *qp[CQS_MAX];
static struct ibv_mr *mr;
static uint8_t buf[64];
static const char *call;
static unsigned cq_cnt;
static int epoll_fd, ring_fd, sock;
static struct {
	_Atomic uint32_t *sq_tail, *cq_head, *cq_tail;
	uint32_t *sq_array, sq_mask;
	struct io_uring_sqe *sqe;
} ring;

static void open_pair(unsigned i)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC, .cap = {16, 16, 1, 1, 0}};

	cq[i] = ibv_create_cq(context, 64, NULL, channel, 0);
	NEED(cq[i]);
	init.send_cq = init.recv_cq = cq[i];
	qp[i] = ibv_create_qp(mr->pd, &init);
	NEED(qp[i]);
	rc_meet(qp[i], sock, 14);
}

static void open_end(bool has_channel)
{
	context = open_first();
	channel = has_channel ? ibv_create_comp_channel(context) : NULL;
	struct ibv_pd *pd = ibv_alloc_pd(context);

	NEED(pd && (channel || !has_channel));
	mr = ibv_reg_mr(pd, buf, sizeof buf, IBV_ACCESS_LOCAL_WRITE);
	NEED(mr);
	for (unsigned i = 0; i < cq_cnt; i++)
		open_pair(i);
}

static void post_receive(unsigned i)
{
	struct ibv_sge sge = {(uintptr_t)buf, 8, mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	NEED(ibv_post_recv(qp[i], &wr, &bad) == 0);
}

/* Until process @pid sleeps. */
static void await_sleep(pid_t pid)
{
	char path[64], state = 0;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	while (state != 'S') {
		FILE *f = fopen(path, "re");

		NEED(f && fscanf(f, "%*d %*s %c", &state) == 1);
		fclose(f);
		sched_yield();
	}
}

/* Sends as it is told, and says when the message has been acknowledged. */
static void be_peer(void)
{
	pid_t parent = getppid();
	uint8_t what;

	while (read(sock, &what, 1) == 1) {
		unsigned i = what & ~LATE;
		struct ibv_sge sge = {(uintptr_t)buf, 8, mr->lkey};
		struct ibv_send_wr wr = {.opcode = IBV_WR_SEND,
					 .sg_list = &sge,
					 .num_sge = 1,
					 .send_flags = IBV_SEND_SIGNALED},
				   *bad;
		struct ibv_wc wc;

		if (what & LATE)
			await_sleep(parent);
		NEED(ibv_post_send(qp[i], &wr, &bad) == 0);
		while (ibv_poll_cq(cq[i], 1, &wc) == 0)
			;
		NEED(wc.status == IBV_WC_SUCCESS);
		NEED(what & LATE || write(sock, &what, 1) == 1);
	}
	exit(0);
}

static void tell_peer(unsigned i, bool late)
{
	uint8_t what = (uint8_t)(i | (late ? LATE : 0));

	NEED(write(sock, &what, 1) == 1);
	/* The message is there when its acknowledgement is. */
	NEED(late || read(sock, &what, 1) == 1);
}

static void *map_ring(uint64_t offset, size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring_fd,
		       (off_t)offset);

	NEED(p != MAP_FAILED);
	return p;
}

static bool open_ring(void)
{
	struct io_uring_params p = {0};

	ring_fd = (int)syscall(SYS_io_uring_setup, 4, &p);
	if (ring_fd < 0)
		return false;
	uint8_t *sq = map_ring(IORING_OFF_SQ_RING, p.sq_off.array + p.sq_entries * 4);
	uint8_t *done = map_ring(IORING_OFF_CQ_RING,
				 p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe));

	ring.sqe = map_ring(IORING_OFF_SQES, p.sq_entries * sizeof(struct io_uring_sqe));
	ring.sq_tail = (void *)(sq + p.sq_off.tail);
	ring.sq_array = (void *)(sq + p.sq_off.array);
	ring.sq_mask = *(uint32_t *)(void *)(sq + p.sq_off.ring_mask);
	ring.cq_head = (void *)(done + p.cq_off.head);
	ring.cq_tail = (void *)(done + p.cq_off.tail);
	return true;
}

/* One poll of the channel by the ring, which waits for it to end. */
static void wait_ring(void)
{
	uint32_t at = *ring.sq_tail & ring.sq_mask;

	ring.sqe[at] = (struct io_uring_sqe){
	    .opcode = IORING_OP_POLL_ADD, .fd = channel->fd, .poll32_events = POLLIN};
	ring.sq_array[at] = at;
	++*ring.sq_tail;
	NEED(syscall(SYS_io_uring_enter, ring_fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
	NEED(*ring.cq_head != *ring.cq_tail);
	++*ring.cq_head;
}

/* Until the descriptor is readable; ibv_get_cq_event() waits by itself. */
static void wait_channel(void)
{
	struct pollfd p = {channel->fd, POLLIN, 0};
	struct epoll_event ev;

	if (strcmp(call, "poll") == 0)
		NEED(poll(&p, 1, PATIENCE_MS) == 1);
	else if (strcmp(call, "io_uring") == 0)
		wait_ring();
	else if (strcmp(call, "get") != 0)
		NEED(epoll_wait(epoll_fd, &ev, 1, PATIENCE_MS) == 1);
}

/* The event of CQ @i, and no other. */
static void take_event(unsigned i)
{
	struct pollfd p = {channel->fd, POLLIN, 0};
	struct ibv_cq *of;
	void *ctx;
	int flags = fcntl(channel->fd, F_GETFL);

	NEED(ibv_get_cq_event(channel, &of, &ctx) == 0 && of == cq[i]);
	ibv_ack_cq_events(of, 1);
	NEED(fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) == 0);
	NEED(ibv_get_cq_event(channel, &of, &ctx) == -1 && errno == EAGAIN);
	NEED(fcntl(channel->fd, F_SETFL, flags) == 0);
	NEED(poll(&p, 1, 0) == 0);
}

static void take_completion(unsigned i)
{
	struct ibv_wc wc[2];
	int n = ibv_poll_cq(cq[i], 2, wc);

	NEED(n == 1 && wc[0].status == IBV_WC_SUCCESS && wc[0].opcode == IBV_WC_RECV);
	post_receive(i);
}

static void arm_cq(unsigned i)
{
	NEED(ibv_req_notify_cq(cq[i], 0) == 0);
}

/* Orders of arming, sending and waiting; all CQs are armed in the last. */
static void run_orders(unsigned i)
{
	struct ibv_wc wc;

	/* arm, send, wait */
	arm_cq(i);
	tell_peer(i, false);
	wait_channel();
	take_event(i);
	take_completion(i);
	/* arm, wait, send */
	arm_cq(i);
	tell_peer(i, true);
	wait_channel();
	take_event(i);
	take_completion(i);
	/* arm, poll in vain, post, wait, send */
	arm_cq(i);
	for (int k = 0; k < 100; k++)
		NEED(ibv_poll_cq(cq[i], 1, &wc) == 0);
	post_receive(i);
	tell_peer(i, true);
	wait_channel();
	take_event(i);
	take_completion(i);
	/* send, arm, poll: a completion that was there before brings no event */
	tell_peer(i, false);
	NEED(ibv_poll_cq(cq[i], 1, &wc) == 1);
	arm_cq(i);
	NEED(ibv_poll_cq(cq[i], 1, &wc) == 0);
	tell_peer(i, true);
	wait_channel();
	take_event(i);
	take_completion(i);
}

/* Events of all CQs at once: each is there, once. */
static void run_together(void)
{
	unsigned seen = 0;
	struct ibv_cq *of;
	void *ctx;

	for (unsigned i = 0; i < cq_cnt; i++)
		arm_cq(i);
	for (unsigned i = 0; i < cq_cnt; i++)
		tell_peer(i, false);
	wait_channel();
	for (unsigned n = 0; n < cq_cnt; n++) {
		NEED(ibv_get_cq_event(channel, &of, &ctx) == 0);
		ibv_ack_cq_events(of, 1);
		for (unsigned i = 0; i < cq_cnt; i++)
			if (of == cq[i])
				seen ^= 1u << i;
	}
	NEED(seen == (1u << cq_cnt) - 1);
	for (unsigned i = 0; i < cq_cnt; i++)
		take_completion(i);
}

int main(int argc, char **argv)
{
	int both[2];

	NEED(argc == 3);
	call = argv[1];
	cq_cnt = (unsigned)atoi(argv[2]);
	NEED(cq_cnt >= 1 && cq_cnt <= CQS_MAX);
	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, both) == 0);

	pid_t pid = fork();

	NEED(pid >= 0);
	sock = both[pid == 0];
	close(both[pid != 0]);
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	open_end(pid != 0);
	if (pid == 0)
		be_peer();
	if (strcmp(call, "io_uring") == 0 && !open_ring()) {
		printf("no io_uring: %s\n", strerror(errno));
		return 0;
	}

	struct epoll_event ev = {.events =
				     EPOLLIN | (strcmp(call, "edge") == 0 ? (uint32_t)EPOLLET : 0)};

	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	NEED(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, channel->fd, &ev) == 0);
	for (unsigned i = 0; i < cq_cnt; i++)
		for (int k = 0; k < 8; k++)
			post_receive(i);
	for (unsigned round = 0; round < ROUNDS; round++) {
		run_orders(round % cq_cnt);
		run_together();
	}
	close(sock);
	NEED(waitpid(pid, NULL, 0) == pid);
	printf("done\n");
	return 0;
}
