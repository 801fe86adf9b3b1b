/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * WRITEs of 8 bytes, one after the other, of one process to itself: a UC QP that is connected to
 * its own number. Nothing waits for an acknowledgement and nobody else is there, so that the
 * instructions of a message can be counted, which bench/hooks.py does with valgrind.
 *
 *   self_write COUNT
 *
 * The first device, the first GID. Prints "COUNT writes, X ns each".
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "self_write: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void connect_to_itself(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
				.path_mtu = IBV_MTU_1024,
				.dest_qp_num = qp->qp_num,
				.ah_attr = {.is_global = 1, .port_num = 1}};

	need(ibv_query_gid(qp->context, 1, 0, &a.ah_attr.grh.dgid) == 0, "ibv_query_gid");
	need(ibv_modify_qp(
		 qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
	     "INIT");
	a.qp_state = IBV_QPS_RTR;
	need(ibv_modify_qp(qp, &a,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			       IBV_QP_RQ_PSN) == 0,
	     "RTR");
	a.qp_state = IBV_QPS_RTS;
	need(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0, "RTS");
}

static void write_once(struct ibv_qp *qp, struct ibv_cq *cq, const struct ibv_mr *mr)
{
	struct ibv_sge sge = {(uintptr_t)mr->addr, 8, mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {(uintptr_t)mr->addr + 8, mr->rkey}},
			   *bad;
	struct ibv_wc wc;
	int n;

	need(ibv_post_send(qp, &wr, &bad) == 0, "ibv_post_send");
	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		;
	need(n == 1 && wc.status == IBV_WC_SUCCESS, "ibv_poll_cq");
}

int main(int argc, char **argv)
{
	static uint64_t memory[2];
	long cnt = argc == 2 ? atol(argv[1]) : 0;
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = {
	    .qp_type = IBV_QPT_UC,
	    .cap = {.max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
	uint64_t begin;

	if (cnt <= 0) {
		fprintf(stderr, "usage: self_write COUNT\n");
		return 2;
	}
	need(list && list[0], "ibv_get_device_list");

	struct ibv_context *context = ibv_open_device(list[0]);

	need(context != NULL, "ibv_open_device");

	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_mr *mr =
	    ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);

	init.send_cq = init.recv_cq = cq;

	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	need(pd && mr && cq && qp, "a QP");
	connect_to_itself(qp);
	begin = now_ns();
	for (long i = 0; i < cnt; i++)
		write_once(qp, cq, mr);
	printf("%ld writes, %.1f ns each\n", cnt, (double)(now_ns() - begin) / (double)cnt);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
	ibv_free_device_list(list);
	return 0;
}
