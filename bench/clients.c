/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One server and many clients, all of which wait for events: a client sends 8 bytes and sleeps
 * until the answer is there; the server sleeps until there are requests, and answers them.
 *
 *   verbena run -- clients DEVICE [CLIENTS]
 *   clients tcp [CLIENTS]
 *
 * The second does the same over TCP, where all wait in epoll_wait(). Each client is a process, 64
 * unless told otherwise. Prints how many requests per second the server answered.
 */
#include "device.h"

#include <infiniband/verbs.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/epoll.h>

#define BYTES 8
#define CLIENTS_MAX 200
#define RUN_NS 1000000000u
#define DEPTH 4

struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp[CLIENTS_MAX];
	uint32_t cnt;
};

static uint64_t memory[2];

static void open_end(struct end *e, const char *name)
{
	e->context = bench_open_device(name);
	e->pd = ibv_alloc_pd(e->context);
	e->channel = ibv_create_comp_channel(e->context);
	bench_check(e->pd && e->channel, "ibv_create_comp_channel");
	e->cq = ibv_create_cq(e->context, 2 * DEPTH * CLIENTS_MAX, NULL, e->channel, 0);
	e->mr = ibv_reg_mr(e->pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
	bench_check(e->cq && e->mr, "ibv_reg_mr");
}

static void post_recv(struct end *e, uint64_t i)
{
	struct ibv_sge sge = {(uintptr_t)&memory[0], BYTES, e->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad;

	bench_check(ibv_post_recv(e->qp[i], &wr, &bad) == 0, "ibv_post_recv");
}

static void post_send(struct end *e, uint64_t i)
{
	struct ibv_sge sge = {(uintptr_t)&memory[1], BYTES, e->mr->lkey};
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1}, *bad;

	bench_check(ibv_post_send(e->qp[i], &wr, &bad) == 0, "ibv_post_send");
}

/* One more connection, with whom @sock leads to. */
static void connect_qp(struct end *e, int sock)
{
	struct ibv_qp_init_attr init = {.send_cq = e->cq,
					.recv_cq = e->cq,
					.qp_type = IBV_QPT_RC,
					.cap = {DEPTH, DEPTH, 1, 1, 0}};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.path_mtu = IBV_MTU_1024,
				.timeout = 14,
				.retry_cnt = 7,
				.rnr_retry = 7,
				.min_rnr_timer = 12,
				.ah_attr = {.is_global = 1, .port_num = 1, .grh.hop_limit = 64}};
	struct ibv_qp *qp = ibv_create_qp(e->pd, &init);
	int err;

	bench_check(qp != NULL, "ibv_create_qp");
	bench_check(write(sock, &qp->qp_num, sizeof qp->qp_num) == sizeof qp->qp_num, "write");
	bench_check(read(sock, &a.dest_qp_num, sizeof a.dest_qp_num) == sizeof a.dest_qp_num,
		    "read");
	bench_check(ibv_query_gid(e->context, 1, 0, &a.ah_attr.grh.dgid) == 0, "ibv_query_gid");
	err = ibv_modify_qp(qp, &a,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	a.qp_state = IBV_QPS_RTR;
	if (!err)
		err = ibv_modify_qp(qp, &a,
				    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					IBV_QP_MIN_RNR_TIMER);
	a.qp_state = IBV_QPS_RTS;
	if (!err)
		err =
		    ibv_modify_qp(qp, &a,
				  IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				      IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
	errno = err;
	bench_check(err == 0, "ibv_modify_qp");
	e->qp[e->cnt] = qp;
	for (int i = 0; i < DEPTH; i++)
		post_recv(e, e->cnt);
	e->cnt++;
}

/* Takes up to @most completions; sleeps until there is one. Returns how many. */
static int await_completions(struct end *e, struct ibv_wc *wc, int most)
{
	struct ibv_cq *cq;
	void *context;
	int n = ibv_poll_cq(e->cq, most, wc);

	while (n == 0) {
		bench_check(ibv_req_notify_cq(e->cq, 0) == 0, "ibv_req_notify_cq");
		n = ibv_poll_cq(e->cq, most, wc);
		if (n)
			break;
		bench_check(ibv_get_cq_event(e->channel, &cq, &context) == 0, "ibv_get_cq_event");
		ibv_ack_cq_events(cq, 1);
		n = ibv_poll_cq(e->cq, most, wc);
	}
	for (int i = 0; i < n; i++)
		bench_check(wc[i].status == IBV_WC_SUCCESS, ibv_wc_status_str(wc[i].status));
	return n;
}

static void be_client(const char *device, int sock)
{
	static struct end e;
	struct ibv_wc wc;
	char go;

	open_end(&e, device);
	connect_qp(&e, sock);
	bench_check(write(sock, "", 1) == 1 && read(sock, &go, 1) == 1, "server");
	for (;;) {
		post_send(&e, 0);
		(void)await_completions(&e, &wc, 1);
		post_recv(&e, 0);
	}
}

/* Everybody is ready, and begins. */
static void let_go(const int *sock, uint32_t cnt)
{
	char byte;

	for (uint32_t i = 0; i < cnt; i++)
		bench_check(read(sock[i], &byte, 1) == 1, "client");
	for (uint32_t i = 0; i < cnt; i++)
		bench_check(write(sock[i], "", 1) == 1, "client");
}

static double serve_verbs(const char *device, const int *sock, uint32_t cnt)
{
	static struct end e;
	struct ibv_wc wc[16];
	uint64_t start = 0, now, requests = 0;

	open_end(&e, device);
	for (uint32_t i = 0; i < cnt; i++)
		connect_qp(&e, sock[i]);
	let_go(sock, cnt);
	for (start = now = bench_now(); now - start < RUN_NS; now = bench_now()) {
		int n = await_completions(&e, wc, 16);

		for (int i = 0; i < n; i++) {
			post_recv(&e, wc[i].wr_id);
			post_send(&e, wc[i].wr_id);
		}
		requests += (uint64_t)n;
	}
	return (double)requests * 1e9 / (double)(now - start);
}

static void be_tcp_client(const struct sockaddr_in *a, int sock)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1, ep = epoll_create1(0);
	struct epoll_event ev = {.events = EPOLLIN};
	char buf[BYTES] = "";

	bench_check(connect(fd, (const struct sockaddr *)a, sizeof *a) == 0, "connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	bench_check(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) == 0, "epoll_ctl");
	bench_check(write(sock, "", 1) == 1 && read(sock, buf, 1) == 1, "server");
	for (;;)
		bench_check(write(fd, buf, BYTES) == BYTES && epoll_wait(ep, &ev, 1, -1) == 1 &&
				read(fd, buf, BYTES) == BYTES,
			    "server");
}

static double serve_tcp(int listener, const int *sock, uint32_t cnt)
{
	struct epoll_event ev[16] = {{.events = EPOLLIN}};
	int ep = epoll_create1(0), one = 1;
	uint64_t start, now, requests = 0;
	char buf[BYTES];

	for (uint32_t i = 0; i < cnt; i++) {
		int fd = accept(listener, NULL, NULL);

		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		ev[0].data.fd = fd;
		bench_check(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev[0]) == 0, "epoll_ctl");
	}
	let_go(sock, cnt);
	for (start = now = bench_now(); now - start < RUN_NS; now = bench_now()) {
		int n = epoll_wait(ep, ev, 16, -1);

		for (int i = 0; i < n; i++)
			bench_check(read(ev[i].data.fd, buf, BYTES) == BYTES &&
					write(ev[i].data.fd, buf, BYTES) == BYTES,
				    "client");
		requests += (uint64_t)(n > 0 ? n : 0);
	}
	return (double)requests * 1e9 / (double)(now - start);
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof a;
	uint64_t cnt = bench_number(argc, argv, 2, 64);
	bool is_tcp = argc > 1 && strcmp(argv[1], "tcp") == 0;
	int listener = socket(AF_INET, SOCK_STREAM, 0), sock[CLIENTS_MAX], both[2];
	pid_t pid[CLIENTS_MAX];

	if (argc < 2 || cnt - 1 >= CLIENTS_MAX) {
		fprintf(stderr, "usage: clients DEVICE|tcp [CLIENTS]\n");
		return 2;
	}
	bench_check(bind(listener, (struct sockaddr *)&a, len) == 0 &&
			listen(listener, CLIENTS_MAX) == 0 &&
			getsockname(listener, (struct sockaddr *)&a, &len) == 0,
		    "listen");
	for (uint64_t i = 0; i < cnt; i++) {
		bench_check(socketpair(AF_UNIX, SOCK_STREAM, 0, both) == 0, "socketpair");
		sock[i] = both[0];
		pid[i] = fork();
		bench_check(pid[i] >= 0, "fork");
		if (pid[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (is_tcp)
				be_tcp_client(&a, both[1]);
			be_client(argv[1], both[1]);
		}
		close(both[1]);
	}
	printf("%llu clients: %.0f requests/s\n", (unsigned long long)cnt,
	       is_tcp ? serve_tcp(listener, sock, (uint32_t)cnt)
		      : serve_verbs(argv[1], sock, (uint32_t)cnt));
	fflush(stdout);
	for (uint64_t i = 0; i < cnt; i++)
		bench_peer_end(pid[i]);
	return 0;
}
