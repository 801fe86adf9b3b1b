/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How quickly somebody who waits is there. Two processes, one RC connection or TCP, 8 bytes.
 *
 *   verbena run -- waiting DEVICE event ORDER [ROUNDS [CQS]]
 *   verbena run -- waiting DEVICE OPERATION TARGET [ROUNDS]
 *   waiting - tcp [ROUNDS]
 *
 * The first sends to and fro, by CQS connections in turn (1), each with a CQ of one channel, and
 * both ends wait for events; the third does the same over TCP with epoll. ORDER: arm-post (arm,
 * post, wait, poll), post-arm (post, arm, poll, wait, poll), epoll (as arm-post, but waits in
 * epoll_wait() for the channel) or poll (no events at all). OPERATION: read, write or atomic, of 8
 * bytes, or stream, READs of 64 KiB, into a process that does what TARGET says: a number (polls,
 * and computes for so many us between two polls), compute, sleep (in ibv_get_cq_event()), or gone
 * (it never calls again and sleeps by itself). Prints the median and the 99th percentile of round
 * trips, system calls not counted, or MB/s, and of a target that polls or computes how much slower
 * its loop was meanwhile.
 */
#include "device.h"

#include <infiniband/verbs.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/epoll.h>

#define BYTES 8
#define DEPTH 16
#define LOOP_NS 300000000u

#define CQS_MAX 8

struct side {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_mr *mr;
	struct ibv_cq *cqs[CQS_MAX], *cq; /* the one whose turn it is */
	struct ibv_qp *qps[CQS_MAX], *qp;
	uint64_t cnt;
	uint32_t bytes;
	int epoll_fd;
};

struct info {
	uint32_t qpn, rkey;
	uint64_t addr;
};

#define STREAM_BYTES 65536
#define STREAM_DEPTH 8

static uint64_t memory[8 + STREAM_BYTES / 8];

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void print_times(uint64_t *t, uint64_t cnt)
{
	uint64_t middle = cnt / 2, late = cnt * 99 / 100;

	qsort(t, cnt, sizeof *t, compare);
	printf("median %.2f p99 %.2f us", (double)t[middle] / 1000, (double)t[late] / 1000);
}

static void open_side(struct side *s, const char *name)
{
	s->context = bench_open_device(name);
	s->pd = ibv_alloc_pd(s->context);
	s->channel = ibv_create_comp_channel(s->context);
	bench_check(s->pd && s->channel, "ibv_create_comp_channel");
	s->mr = ibv_reg_mr(s->pd, memory, sizeof memory,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	bench_check(s->mr != NULL, "ibv_reg_mr");
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	bench_check(epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->channel->fd,
			      &(struct epoll_event){.events = EPOLLIN}) == 0,
		    "epoll_ctl");
}

/* The CQ and the QP to post to, arm and poll from now on. */
static void take_pair(struct side *s, uint64_t i)
{
	s->cq = s->cqs[i % s->cnt];
	s->qp = s->qps[i % s->cnt];
}

static void connect_pair(struct side *s, uint64_t i, int sock, struct info *other)
{
	s->cqs[i] = s->cq = ibv_create_cq(s->context, 4 * DEPTH, NULL, s->channel, 0);
	bench_check(s->cq != NULL, "ibv_create_cq");

	struct ibv_qp_init_attr init = {.send_cq = s->cq,
					.recv_cq = s->cq,
					.qp_type = IBV_QPT_RC,
					.cap = {DEPTH, DEPTH, 1, 1, 0}};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						   IBV_ACCESS_REMOTE_READ |
						   IBV_ACCESS_REMOTE_ATOMIC,
				.path_mtu = IBV_MTU_1024,
				.timeout = 14,
				.retry_cnt = 7,
				.rnr_retry = 7,
				.min_rnr_timer = 12,
				.max_rd_atomic = STREAM_DEPTH,
				.max_dest_rd_atomic = STREAM_DEPTH,
				.ah_attr = {.is_global = 1, .port_num = 1, .grh.hop_limit = 64}};
	struct info mine = {.rkey = s->mr->rkey, .addr = (uintptr_t)memory};

	s->qps[i] = s->qp = ibv_create_qp(s->pd, &init);
	bench_check(s->qp != NULL, "ibv_create_qp");
	mine.qpn = s->qp->qp_num;
	bench_check(write(sock, &mine, sizeof mine) == sizeof mine, "write");
	bench_check(read(sock, other, sizeof *other) == sizeof *other, "read");
	a.dest_qp_num = other->qpn;
	bench_check(ibv_query_gid(s->context, 1, 0, &a.ah_attr.grh.dgid) == 0, "ibv_query_gid");

	int err = ibv_modify_qp(
	    s->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	a.qp_state = IBV_QPS_RTR;
	if (!err)
		err = ibv_modify_qp(s->qp, &a,
				    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					IBV_QP_MIN_RNR_TIMER);
	a.qp_state = IBV_QPS_RTS;
	if (!err)
		err =
		    ibv_modify_qp(s->qp, &a,
				  IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				      IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
	errno = err;
	bench_check(err == 0, "ibv_modify_qp");
}

static void post_recv(struct side *s)
{
	struct ibv_sge sge = {(uintptr_t)&memory[2], BYTES, s->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1}, *bad;

	bench_check(ibv_post_recv(s->qp, &wr, &bad) == 0, "ibv_post_recv");
}

static void post_send(struct side *s, struct ibv_qp *qp, enum ibv_wr_opcode opcode,
		      const struct info *to)
{
	struct ibv_sge sge = {(uintptr_t)&memory[4], s->bytes, s->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = opcode,
				 .send_flags = opcode == IBV_WR_SEND ? 0 : IBV_SEND_SIGNALED},
			   *bad;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = to->addr;
		wr.wr.atomic.rkey = to->rkey;
		wr.wr.atomic.compare_add = 1;
	} else if (opcode != IBV_WR_SEND) {
		wr.wr.rdma.remote_addr = to->addr;
		wr.wr.rdma.rkey = to->rkey;
	}
	bench_check(ibv_post_send(qp, &wr, &bad) == 0, "ibv_post_send");
}

/* Takes a completion, if there is one. */
static bool poll_one(struct side *s)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(s->cq, 1, &wc);

	bench_check(n >= 0, "ibv_poll_cq");
	if (n && wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "waiting: %s\n", ibv_wc_status_str(wc.status));
		exit(1);
	}
	return n != 0;
}

static void arm(struct side *s)
{
	bench_check(ibv_req_notify_cq(s->cq, 0) == 0, "ibv_req_notify_cq");
}

static void wait_event(struct side *s, bool by_epoll)
{
	struct epoll_event ev;
	struct ibv_cq *cq;
	void *context;

	if (by_epoll)
		while (epoll_wait(s->epoll_fd, &ev, 1, -1) != 1)
			;
	bench_check(ibv_get_cq_event(s->channel, &cq, &context) == 0, "ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
}

enum order { ARM_POST, POST_ARM, EPOLL, POLL, ORDERS };
static const char *const order_names[ORDERS] = {"arm-post", "post-arm", "epoll", "poll"};

/* Sends on @qp (NULL: the first turn of who answers), and receives one. */
static void take_turn(struct side *s, enum order order, struct ibv_qp *qp)
{
	bool got = false;

	if (order == ARM_POST || order == EPOLL)
		arm(s);
	if (qp)
		post_send(s, qp, IBV_WR_SEND, NULL);
	else if (order != POLL)
		got = poll_one(s); /* it may have come before the arming */
	if (order == POST_ARM) {
		arm(s);
		got = got || poll_one(s);
	}
	while (!got) {
		if (order != POLL)
			wait_event(s, order == EPOLL);
		got = poll_one(s);
		if (!got && order != POLL) {
			arm(s);
			got = poll_one(s);
		}
	}
	post_recv(s);
}

static void run_events(struct side *s, int sock, enum order order, bool starts, uint64_t rounds)
{
	uint64_t *t = calloc(rounds, sizeof *t);
	struct ibv_qp *answer = NULL;
	char ready = 1;

	bench_check(t != NULL, "calloc");
	for (uint64_t i = 0; i < 4 * s->cnt; i++) {
		take_pair(s, i);
		post_recv(s);
	}
	bench_check(write(sock, &ready, 1) == 1 && read(sock, &ready, 1) == 1, "peer");
	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t start = bench_now();

		take_pair(s, i);
		take_turn(s, order, starts ? s->qp : answer);
		answer = s->qp;
		t[i] = bench_now() - start;
	}
	if (!starts)
		post_send(s, answer, IBV_WR_SEND, NULL);
	if (starts) {
		printf("event %s ", order_names[order]);
		print_times(t, rounds);
		printf("\n");
	}
	free(t);
}

static void compute(uint64_t ns)
{
	for (uint64_t end = bench_now() + ns; ns && bench_now() < end;)
		;
}

/* Whether the peer has sent a byte, which is taken. */
static bool is_told(int sock)
{
	char byte;

	return recv(sock, &byte, 1, MSG_DONTWAIT) == 1;
}

/* Loops, as @what says, until the peer says that it is enough. Returns loops per second, for what
 * can be slowed. */
static double run_loop(struct side *s, const char *what, int sock)
{
	bool computes = strcmp(what, "compute") == 0;
	uint64_t pause = strtoull(what, NULL, 10) * 1000, loops = 0, start = bench_now();
	volatile uint64_t sum = 0;

	for (uint64_t looked = start, now = start;; now = bench_now()) {
		if (now - looked > 1000000) {
			if (is_told(sock))
				return (double)loops * 1e9 / (double)(now - start);
			looked = now;
		}
		/* Work, not time, so that it shows who takes the processor away. */
		for (int i = 0; i < 1000 && computes; i++)
			sum = sum + (uint64_t)i;
		if (!computes)
			(void)poll_one(s);
		compute(pause);
		loops++;
	}
}

static void be_target(struct side *s, const char *what, int sock)
{
	char byte = 1;
	double alone = 0, busy = 0;

	bench_check(write(sock, &byte, 1) == 1, "peer");
	if (strcmp(what, "sleep") == 0) {
		arm(s);
		wait_event(s, false); /* never comes: the parent ends this process */
	} else if (strcmp(what, "gone") == 0) {
		(void)!read(sock, &byte, 1);
	} else {
		alone = run_loop(s, what, sock);
		busy = run_loop(s, what, sock);
	}
	(void)!write(sock, &(double){alone > 0 ? 100 - 100 * busy / alone : 0}, sizeof(double));
}

/* Polls for nothing, so that the target's loop alone and beside requests has the same neighbour. */
static void poll_for(struct side *s, uint64_t ns)
{
	for (uint64_t end = bench_now() + ns; bench_now() < end;)
		bench_check(!poll_one(s), "a completion of nothing");
}

static void run_one_sided(struct side *s, int sock, const struct info *to,
			  enum ibv_wr_opcode opcode, const char *target, uint64_t rounds)
{
	uint64_t *t = calloc(rounds, sizeof *t), begun, i = 0;
	bool loops = strcmp(target, "sleep") != 0 && strcmp(target, "gone") != 0;
	double slower = 0;
	char byte = 1;

	bench_check(t != NULL, "calloc");
	bench_check(read(sock, &byte, 1) == 1, "peer");
	poll_for(s, loops ? LOOP_NS : LOOP_NS / 10);
	bench_check(!loops || write(sock, &byte, 1) == 1, "peer");
	/* Its loop is looked at for as long as it was alone; the last requests count. */
	begun = bench_now();
	for (uint64_t k = 1; k < STREAM_DEPTH && s->bytes == STREAM_BYTES; k++)
		post_send(s, s->qp, opcode, to);
	for (; i < rounds || (loops && bench_now() - begun < LOOP_NS); i++) {
		uint64_t start = bench_now();

		post_send(s, s->qp, opcode, to);
		while (!poll_one(s))
			;
		t[i % rounds] = bench_now() - start;
	}
	begun = bench_now() - begun;
	if (loops)
		bench_check(write(sock, &byte, 1) == 1 &&
				read(sock, &slower, sizeof slower) == sizeof slower,
			    "peer");
	printf("target %s ", target);
	if (s->bytes == STREAM_BYTES)
		printf("%.0f MB/s", (double)i * STREAM_BYTES * 1000 / (double)begun);
	else
		print_times(t, rounds);
	if (loops)
		printf(", its loop %.1f %% slower", slower);
	printf("\n");
	free(t);
}

static void run_tcp(uint64_t rounds)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof a;
	int one = 1, fd = -1, listener = socket(AF_INET, SOCK_STREAM, 0);
	struct epoll_event ev = {.events = EPOLLIN};
	char buf[BYTES] = "";
	uint64_t *t = calloc(rounds, sizeof *t);

	bench_check(t && listener >= 0 && bind(listener, (struct sockaddr *)&a, len) == 0 &&
			listen(listener, 1) == 0 &&
			getsockname(listener, (struct sockaddr *)&a, &len) == 0,
		    "listen");

	pid_t pid = fork();

	bench_check(pid >= 0, "fork");
	if (pid == 0) {
		fd = accept(listener, NULL, NULL);
	} else {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		bench_check(connect(fd, (struct sockaddr *)&a, len) == 0, "connect");
	}

	int ep = epoll_create1(0);

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	bench_check(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) == 0, "epoll_ctl");
	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t start = bench_now();

		if (pid)
			bench_check(write(fd, buf, BYTES) == BYTES, "write");
		bench_check(epoll_wait(ep, &ev, 1, -1) == 1 && read(fd, buf, BYTES) == BYTES,
			    "read");
		if (!pid)
			bench_check(write(fd, buf, BYTES) == BYTES, "write");
		t[i] = bench_now() - start;
	}
	if (!pid)
		_exit(0);
	printf("tcp ");
	print_times(t, rounds);
	printf("\n");
	waitpid(pid, NULL, 0);
	free(t);
}

static int show_usage(void)
{
	fprintf(stderr, "usage: waiting DEVICE event ORDER [ROUNDS [CQS]]\n"
			"       waiting DEVICE read|write|atomic|stream TARGET [ROUNDS]\n"
			"       waiting - tcp [ROUNDS]\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		enum ibv_wr_opcode opcode;
	} operation[] = {{"event", IBV_WR_SEND},
			 {"read", IBV_WR_RDMA_READ},
			 {"write", IBV_WR_RDMA_WRITE},
			 {"atomic", IBV_WR_ATOMIC_FETCH_AND_ADD},
			 {"stream", IBV_WR_RDMA_READ}};
	uint64_t rounds = bench_number(argc, argv, 4, 5000);
	unsigned op = 0, order = 0;
	int sock[2];
	struct side s = {.cnt = bench_number(argc, argv, 5, 1), .bytes = BYTES};
	struct info other;

	if (argc >= 3 && strcmp(argv[2], "tcp") == 0) {
		run_tcp(bench_number(argc, argv, 3, 5000));
		return 0;
	}
	if (argc < 4)
		return show_usage();
	while (op < 5 && strcmp(argv[2], operation[op].name) != 0)
		op++;
	while (op == 0 && order < ORDERS && strcmp(argv[3], order_names[order]) != 0)
		order++;
	if (op == 5 || order == ORDERS || rounds == 0 || s.cnt - 1 >= CQS_MAX)
		return show_usage();
	bench_check(socketpair(AF_UNIX, SOCK_STREAM, 0, sock) == 0, "socketpair");

	if (op == 4)
		s.bytes = STREAM_BYTES;

	pid_t pid = fork();

	bench_check(pid >= 0, "fork");
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	open_side(&s, argv[1]);
	for (uint64_t i = 0; i < s.cnt; i++)
		connect_pair(&s, i, sock[!pid], &other);
	if (op == 0)
		run_events(&s, sock[!pid], (enum order)order, pid != 0, rounds);
	else if (pid)
		run_one_sided(&s, sock[0], &other, operation[op].opcode, argv[3], rounds);
	else
		be_target(&s, argv[3], sock[1]);
	fflush(stdout);
	if (!pid)
		_exit((usleep(100000), 0));
	if (op)
		bench_peer_end(pid);
	else
		waitpid(pid, NULL, 0);
	return 0;
}
