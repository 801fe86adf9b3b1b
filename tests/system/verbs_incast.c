/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Incast on one host: SENDERS processes write to one that receives, each on an RC or UC QP of its
 * own, MESSAGES messages of 64 KiB, MTU 4096. Prints what each had of the time, and the rates.
 *
 *   verbs_incast DEVICE SENDERS MESSAGES [rc|uc]
 */
#include "verbs_need.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SENDERS_MAX 64
#define MESSAGE 65536
#define DEPTH 32

struct info {
	uint32_t qpn, rkey;
	uint64_t addr;
};

struct side {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	enum ibv_qp_type type;
};

static uint8_t memory[MESSAGE];

static void open_side(struct side *s, const char *name, enum ibv_qp_type type)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	NEED(list);
	for (int i = 0; list[i]; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			s->context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	NEED(s->context);
	s->type = type;
	s->pd = ibv_alloc_pd(s->context);
	s->cq = ibv_create_cq(s->context, DEPTH, NULL, NULL, 0);
	NEED(s->pd && s->cq);
	s->mr = ibv_reg_mr(s->pd, memory, sizeof memory,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	NEED(s->mr);
}

/* A QP in RTS, connected to the one whose description comes in over @sock. */
static struct ibv_qp *connect_qp(const struct side *s, int sock, struct info *other)
{
	struct ibv_qp_init_attr init = {
	    .send_cq = s->cq, .recv_cq = s->cq, .qp_type = s->type, .cap = {DEPTH, 1, 1, 1, 0}};
	struct ibv_qp *qp = ibv_create_qp(s->pd, &init);
	struct info mine = {.rkey = s->mr->rkey, .addr = (uintptr_t)memory};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
				.path_mtu = IBV_MTU_4096,
				.timeout = 14,
				.retry_cnt = 7,
				.rnr_retry = 7,
				.min_rnr_timer = 12,
				.ah_attr = {.is_global = 1, .port_num = 1, .grh.hop_limit = 64}};
	bool acked = s->type == IBV_QPT_RC;

	NEED(qp);
	mine.qpn = qp->qp_num;
	NEED(write(sock, &mine, sizeof mine) == sizeof mine);
	NEED(read(sock, other, sizeof *other) == sizeof *other);
	a.dest_qp_num = other->qpn;
	NEED(ibv_query_gid(s->context, 1, 0, &a.ah_attr.grh.dgid) == 0);
	NEED(ibv_modify_qp(qp, &a,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
	     0);
	a.qp_state = IBV_QPS_RTR;
	NEED(ibv_modify_qp(
		 qp, &a,
		 IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		     (acked ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0)) == 0);
	a.qp_state = IBV_QPS_RTS;
	NEED(ibv_modify_qp(qp, &a,
			   IBV_QP_STATE | IBV_QP_SQ_PSN |
			       (acked ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					    IBV_QP_MAX_QP_RD_ATOMIC
				      : 0)) == 0);
	return qp;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void post(struct side *s, struct ibv_qp *qp, const struct info *to)
{
	struct ibv_sge sge = {(uintptr_t)memory, MESSAGE, s->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {to->addr, to->rkey}},
			   *bad;

	NEED(ibv_post_send(qp, &wr, &bad) == 0);
}

static void sender(const char *device, enum ibv_qp_type type, int sock, long messages)
{
	struct side s = {0};
	struct info to;
	struct ibv_qp *qp;
	long posted = 0, done = 0;
	double span[2];
	char go;

	open_side(&s, device, type);
	qp = connect_qp(&s, sock, &to);
	NEED(write(sock, "", 1) == 1 && read(sock, &go, 1) == 1);
	span[0] = seconds();
	while (done < messages) {
		struct ibv_wc wc[DEPTH];
		int n;

		for (; posted < messages && posted - done < DEPTH; posted++)
			post(&s, qp, &to);
		n = ibv_poll_cq(s.cq, DEPTH, wc);
		NEED(n >= 0);
		for (int i = 0; i < n; i++, done++)
			if (wc[i].status != IBV_WC_SUCCESS) {
				fprintf(stderr, "message %ld: %s\n", done,
					ibv_wc_status_str(wc[i].status));
				exit(1);
			}
	}
	span[1] = seconds();
	NEED(write(sock, span, sizeof span) == sizeof span);
	NEED(read(sock, &go, 1) == 1);
	NEED(ibv_destroy_qp(qp) == 0 && ibv_close_device(s.context) == 0);
	exit(0);
}

/* The sender that ended last had the others beside it for only a part of its time: the share that
 * each had sent by the end of the first says who got what. */
static void report(double (*span)[2], int cnt, long messages)
{
	double begin = span[0][0], end = span[0][1], sum = 0, squares = 0, slowest = 0, fastest = 0;

	for (int i = 0; i < cnt; i++) {
		double rate = (double)messages * MESSAGE / (span[i][1] - span[i][0]) / 1e6;

		begin = span[i][0] < begin ? span[i][0] : begin;
		end = span[i][1] > end ? span[i][1] : end;
		slowest = i == 0 || rate < slowest ? rate : slowest;
		fastest = rate > fastest ? rate : fastest;
		sum += rate;
		squares += rate * rate;
	}
	printf("total_MBps %.1f\nslowest_MBps %.1f\nfastest_MBps %.1f\njain %.4f\n",
	       cnt * (double)messages * MESSAGE / (end - begin) / 1e6, slowest, fastest,
	       sum * sum / (cnt * squares));
}

int main(int argc, char **argv)
{
	int sock[SENDERS_MAX], cnt = argc > 3 ? atoi(argv[2]) : 0, failed = 0;
	long messages = argc > 3 ? atol(argv[3]) : 0;
	enum ibv_qp_type type = argc > 4 && strcmp(argv[4], "uc") == 0 ? IBV_QPT_UC : IBV_QPT_RC;
	double span[SENDERS_MAX][2];
	struct ibv_qp *qp[SENDERS_MAX];
	struct side s = {0};
	struct info other;
	char ready;

	if (cnt < 1 || cnt > SENDERS_MAX || messages < 1) {
		fprintf(stderr, "usage: verbs_incast DEVICE SENDERS MESSAGES [rc|uc]\n");
		return 2;
	}
	for (int i = 0; i < cnt; i++) {
		int pair[2];
		pid_t pid;

		NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
		pid = fork();
		NEED(pid >= 0);
		sock[i] = pair[0];
		if (pid == 0) {
			/* An end of the receiver is an end for all. */
			for (int k = 0; k <= i; k++)
				close(sock[k]);
			sender(argv[1], type, pair[1], messages);
		}
		close(pair[1]);
	}
	open_side(&s, argv[1], type);
	for (int i = 0; i < cnt; i++)
		qp[i] = connect_qp(&s, sock[i], &other);
	for (int i = 0; i < cnt; i++)
		NEED(read(sock[i], &ready, 1) == 1);
	for (int i = 0; i < cnt; i++)
		NEED(write(sock[i], "", 1) == 1);
	for (int i = 0; i < cnt; i++)
		NEED(read(sock[i], span[i], sizeof span[i]) == sizeof span[i]);
	for (int i = 0; i < cnt; i++)
		NEED(write(sock[i], "", 1) == 1);
	report(span, cnt, messages);
	for (int status; wait(&status) > 0;)
		failed |= status;
	for (int i = 0; i < cnt; i++)
		NEED(ibv_destroy_qp(qp[i]) == 0);
	return failed ? 1 : 0;
}
