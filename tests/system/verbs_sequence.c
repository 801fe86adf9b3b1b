/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fixed sequence of verbs calls: COUNT operations of SIZE bytes, one after the other, between two
 * RC QPs of this process, MTU 1024, ACK timeout code 12. The simulator does so with the workload of
 * the same name; tests/system/case_fault.py compares the packets of both. Checks what arrived.
 *
 *   verbs_sequence DEVICE write|send|read|atomic SIZE COUNT [late]
 *
 * late: the receiver is ready for the first message alone. The receives of the others are posted
 * LATE_US after them, which is time enough to arrive and to be refused.
 */
#include "verbs_need.h"
#include "verbs_rc.h"

#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER 65536
#define LATE_US 200000

static _Alignas(8) uint8_t here[BUFFER], there[BUFFER];
static struct ibv_context *context;
static struct ibv_cq *cq;
static struct ibv_mr *mr_here, *mr_there;
static int is_late;

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	NEED(list);
	for (int i = 0; list[i]; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	NEED(context);
	return context;
}

static struct ibv_qp *make_qp(struct ibv_pd *pd)
{
	struct ibv_qp_init_attr init = {
	    .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {16, 16, 1, 1, 0}};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	NEED(qp);
	return qp;
}

static void connect_qp(struct ibv_qp *qp, uint32_t dqpn)
{
	struct ibv_qp_attr a = {.port_num = 1,
				.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						   IBV_ACCESS_REMOTE_READ |
						   IBV_ACCESS_REMOTE_ATOMIC,
				.path_mtu = IBV_MTU_1024,
				.dest_qp_num = dqpn,
				.rq_psn = 1000,
				.sq_psn = 1000,
				.timeout = 12,
				.retry_cnt = 7,
				.rnr_retry = 7,
				.min_rnr_timer = is_late ? 0 : 12, /* the longest: 655 ms */
				.max_rd_atomic = 1,
				.max_dest_rd_atomic = 16,
				.ah_attr = {.is_global = 1, .port_num = 1, .grh.hop_limit = 64}};

	NEED(ibv_query_gid(context, 1, 0, &a.ah_attr.grh.dgid) == 0);
	NEED(rc_to_rts(qp, &a) == 0);
}

static enum ibv_wr_opcode opcode_of(const char *name)
{
	if (strcmp(name, "write") == 0)
		return IBV_WR_RDMA_WRITE;
	if (strcmp(name, "send") == 0)
		return IBV_WR_SEND;
	if (strcmp(name, "read") == 0)
		return IBV_WR_RDMA_READ;
	NEED(strcmp(name, "atomic") == 0);
	return IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static void await(int completions)
{
	struct ibv_wc wc;

	while (completions) {
		int n = ibv_poll_cq(cq, 1, &wc);

		NEED(n >= 0);
		if (n == 0)
			continue;
		if (wc.status != IBV_WC_SUCCESS) {
			fprintf(stderr, "%s\n", ibv_wc_status_str(wc.status));
			exit(1);
		}
		completions--;
	}
}

static void post_recv(struct ibv_qp *qp, uint32_t size)
{
	struct ibv_sge sge = {(uintptr_t)there, size, mr_there->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	NEED(ibv_post_recv(qp, &wr, &bad) == 0);
}

static void operate(struct ibv_qp *from, struct ibv_qp *to, enum ibv_wr_opcode op, uint32_t size,
		    uint32_t round)
{
	struct ibv_sge from_sge = {(uintptr_t)here, size, mr_here->lkey};
	struct ibv_send_wr wr = {.sg_list = &from_sge,
				 .num_sge = 1,
				 .opcode = op,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	for (uint32_t i = 0; i < size; i++)
		(op == IBV_WR_RDMA_READ ? there : here)[i] = (uint8_t)(i * 7 + round);
	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		memset(there, 0, sizeof there);
		there[0] = (uint8_t)round;
		wr.wr.atomic.remote_addr = (uintptr_t)there;
		wr.wr.atomic.rkey = mr_there->rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)there;
		wr.wr.rdma.rkey = mr_there->rkey;
	}
	NEED(ibv_post_send(from, &wr, &bad) == 0);
	if (is_late && round > 0) {
		usleep(LATE_US);
		post_recv(to, size);
	}
	await(op == IBV_WR_SEND ? 2 : 1);
	if (op == IBV_WR_SEND && !is_late)
		post_recv(to, size);
	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD)
		NEED(here[0] == (uint8_t)round && there[0] == (uint8_t)(round + 1));
	else
		NEED(memcmp(here, there, size) == 0);
}

int main(int argc, char **argv)
{
	NEED(argc == 5 || (argc == 6 && strcmp(argv[5], "late") == 0));
	is_late = argc == 6;

	enum ibv_wr_opcode op = opcode_of(argv[2]);
	uint32_t size = (uint32_t)atoi(argv[3]), count = (uint32_t)atoi(argv[4]);
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_ATOMIC;
	struct ibv_pd *pd = ibv_alloc_pd(open_device(argv[1]));

	NEED(size <= BUFFER);
	cq = ibv_create_cq(context, 64, NULL, NULL, 0);
	NEED(pd && cq);
	mr_here = ibv_reg_mr(pd, here, sizeof here, access);
	mr_there = ibv_reg_mr(pd, there, sizeof there, access);
	NEED(mr_here && mr_there);

	struct ibv_qp *from = make_qp(pd), *to = make_qp(pd);

	connect_qp(from, to->qp_num);
	connect_qp(to, from->qp_num);
	/* As many receives as a simulated host has ready, so that both name the same credits. */
	post_recv(to, size);
	if (op == IBV_WR_SEND && !is_late)
		post_recv(to, size);
	for (uint32_t i = 0; i < count; i++)
		operate(from, to, op, size, i);
	puts("ok");
	return 0;
}
