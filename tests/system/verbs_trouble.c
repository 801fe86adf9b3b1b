/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One RC QP that does what it is told on standard input, word by word, for tests that bring it into
 * trouble. Prints "qp QPN rkey RKEY addr ADDRESS" first, then a line for each command:
 *
 *   mtu N                              path MTU of what follows, an enum ibv_mtu: 3 is 1024
 *   connect IP QPN TIMEOUT RETRY RNR   to RTR and RTS; PSN 1000
 *   rtr IP QPN                         to RTR alone
 *   state INIT|SQD|RTS|ERR             another state
 *   refused                            asks for RTS in INIT, and goes on
 *   write N RKEY ADDRESS, read N RKEY ADDRESS, send N    posts N bytes
 *   fenced N RKEY ADDRESS              posts an RDMA WRITE with a fence
 *   recv, short N                      posts a receive, of N bytes
 *   try NAME                           makes a call that is refused, see verbs_trouble_try.c
 *   key KIND                           prints a key that a peer is refused, see
 *                                      verbs_trouble_key.c
 *   poll                               waits for a completion and prints its status
 *   drop                               destroys the QP
 *
 *   verbs_trouble DEVICE GID_INDEX [srq] [cq] [qpn=N]    with a shared receive queue; with a CQ of
 *                                                       1 entry; the QP has that number
 */
#include "verbs_trouble.h"
#include "verbs_need.h"

#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint8_t buffer[1 << 20];
struct ibv_context *context;
struct ibv_pd *pd;
struct ibv_cq *cq;
struct ibv_srq *srq;
struct ibv_mr *mr;
struct ibv_qp *qp;
uint8_t gid_index;
static uint32_t wanted_qpn; /* 0: any */
static enum ibv_mtu path_mtu = IBV_MTU_1024;

void word(char *to)
{
	if (scanf("%63s", to) != 1)
		exit(0);
}

uint64_t number(void)
{
	char w[64];

	word(w);
	return strtoull(w, NULL, 0);
}

static void set_up(const char *device, bool with_srq, int cqe)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	NEED(list);
	for (int i = 0; list[i]; i++)
		if (strcmp(ibv_get_device_name(list[i]), device) == 0)
			context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	NEED(context);
	pd = ibv_alloc_pd(context);
	NEED(pd);
	cq = ibv_create_cq(context, cqe, NULL, NULL, 0);
	NEED(cq);
	mr = ibv_reg_mr(pd, buffer, sizeof buffer,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	NEED(mr);
	if (with_srq) {
		struct ibv_srq_init_attr s = {.attr = {.max_wr = 64, .max_sge = 1}};

		srq = ibv_create_srq(pd, &s);
		NEED(srq);
	}
	struct ibv_qp_init_attr init = {.send_cq = cq,
					.recv_cq = cq,
					.srq = srq,
					.qp_type = IBV_QPT_RC,
					.cap = {64, 64, 1, 1, 0}};
	/* Numbers recur after 65536 QPs of a process slot. */
	for (uint32_t i = 0; !qp || (wanted_qpn && qp->qp_num != wanted_qpn); i++) {
		NEED(i <= UINT16_MAX + 1u);
		if (qp)
			NEED(ibv_destroy_qp(qp) == 0);
		qp = ibv_create_qp(pd, &init);
		NEED(qp);
	}
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.qp_access_flags =
				    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
	NEED(ibv_modify_qp(qp, &a,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
	     0);
}

static void to_rtr(void)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR,
				.path_mtu = path_mtu,
				.rq_psn = 1000,
				.min_rnr_timer = 1,
				.max_dest_rd_atomic = 4,
				.ah_attr = {.is_global = 1,
					    .port_num = 1,
					    .grh = {.hop_limit = 64, .sgid_index = gid_index}}};
	char ip[64];

	word(ip);
	if (inet_pton(AF_INET6, ip, a.ah_attr.grh.dgid.raw) != 1) {
		a.ah_attr.grh.dgid.raw[10] = a.ah_attr.grh.dgid.raw[11] = 0xff;
		NEED(inet_pton(AF_INET, ip, a.ah_attr.grh.dgid.raw + 12) == 1);
	}
	a.dest_qp_num = (uint32_t)number();
	NEED(ibv_modify_qp(qp, &a,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) ==
	     0);
}

static void to_rts(void)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS, .sq_psn = 1000, .max_rd_atomic = 1};

	a.timeout = (uint8_t)number();
	a.retry_cnt = (uint8_t)number();
	a.rnr_retry = (uint8_t)number();
	NEED(ibv_modify_qp(qp, &a,
			   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

static void to_state(void)
{
	static const char *const name[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET};
	char w[64];

	word(w);
	while (strcmp(name[a.qp_state], w) != 0) {
		NEED(a.qp_state != IBV_QPS_ERR);
		a.qp_state = (enum ibv_qp_state)(a.qp_state + 1);
	}
	NEED(ibv_modify_qp(qp, &a, IBV_QP_STATE) == 0);
}

static void post(enum ibv_wr_opcode op, unsigned flags)
{
	struct ibv_sge sge = {(uintptr_t)buffer, 0, mr->lkey};
	struct ibv_send_wr wr = {.wr_id = 77,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = op,
				 .send_flags = IBV_SEND_SIGNALED | flags},
			   *bad;

	sge.length = (uint32_t)number();
	if (op != IBV_WR_SEND) {
		wr.wr.rdma.rkey = (uint32_t)number();
		wr.wr.rdma.remote_addr = number();
	}
	NEED(ibv_post_send(qp, &wr, &bad) == 0);
}

static void post_recv(uint32_t length)
{
	struct ibv_sge sge = {(uintptr_t)buffer, length, mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	NEED((srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad)) == 0);
}

static void await(void)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		;
	NEED(n == 1);
	printf("completion: %s\n", ibv_wc_status_str(wc.status));
}

static void obey(const char *what)
{
	if (strcmp(what, "connect") == 0) {
		to_rtr();
		to_rts();
	} else if (strcmp(what, "rtr") == 0) {
		to_rtr();
	} else if (strcmp(what, "state") == 0) {
		to_state();
	} else if (strcmp(what, "refused") == 0) {
		NEED(ibv_modify_qp(qp, &(struct ibv_qp_attr){.qp_state = IBV_QPS_RTS},
				   IBV_QP_STATE) == EINVAL);
	} else if (strcmp(what, "write") == 0) {
		post(IBV_WR_RDMA_WRITE, 0);
	} else if (strcmp(what, "read") == 0) {
		post(IBV_WR_RDMA_READ, 0);
	} else if (strcmp(what, "send") == 0) {
		post(IBV_WR_SEND, 0);
	} else if (strcmp(what, "recv") == 0) {
		post_recv(sizeof buffer);
	} else if (strcmp(what, "short") == 0) {
		post_recv((uint32_t)number());
	} else if (strcmp(what, "fenced") == 0) {
		post(IBV_WR_RDMA_WRITE, IBV_SEND_FENCE);
	} else if (strcmp(what, "mtu") == 0) {
		path_mtu = (enum ibv_mtu)number();
	} else if (strcmp(what, "try") == 0) {
		try_refused();
	} else if (strcmp(what, "key") == 0) {
		make_key();
	} else if (strcmp(what, "poll") == 0) {
		await();
	} else {
		NEED(strcmp(what, "drop") == 0);
		NEED(ibv_destroy_qp(qp) == 0);
	}
	printf("%s: done\n", what);
}

int main(int argc, char **argv)
{
	char what[64];

	bool with_srq = false;
	int cqe = 256;

	NEED(argc >= 3);
	for (int i = 3; i < argc; i++) {
		with_srq |= strcmp(argv[i], "srq") == 0;
		cqe = strcmp(argv[i], "cq") == 0 ? 1 : cqe;
		if (strncmp(argv[i], "qpn=", 4) == 0)
			wanted_qpn = (uint32_t)strtoul(argv[i] + 4, NULL, 10);
	}
	setvbuf(stdout, NULL, _IONBF, 0);
	gid_index = (uint8_t)atoi(argv[2]);
	set_up(argv[1], with_srq, cqe);
	printf("qp %u rkey %u addr %" PRIuPTR "\n", qp->qp_num, mr->rkey, (uintptr_t)buffer);
	for (;;) {
		word(what);
		obey(what);
	}
}
