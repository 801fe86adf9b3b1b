/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory that RC QPs take, seen from outside: how much the process grows by creating many and
 * bringing them to RTS, once with short queues and once with queues twice as long. The difference
 * is the price of queue entries, and what is left per QP is beyond the queues.
 *
 *   verbena run -- qp_memory DEVICE [QPS [ENTRIES]]
 */
#include "bench.h"

#include <infiniband/verbs.h>

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

static uint64_t resident_bytes(void)
{
	unsigned long long size, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	bench_check(f != NULL && fscanf(f, "%llu %llu", &size, &resident) == 2, "/proc/self/statm");
	fclose(f);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	bench_check(list != NULL, "ibv_get_device_list");
	for (int i = 0; list[i] != NULL && ctx == NULL; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			ctx = ibv_open_device(list[i]);
	bench_check(ctx != NULL, name);
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 1024, NULL, NULL, 0);
	bench_check(pd != NULL && cq != NULL, "ibv_create_cq");
}

/* Connected to itself: nothing is sent, but everything a connection needs is there. */
static void to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1};

	bench_check(ibv_modify_qp(qp, &a,
				  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				      IBV_QP_ACCESS_FLAGS) == 0,
		    "INIT");
	a = (struct ibv_qp_attr){
	    .qp_state = IBV_QPS_RTR,
	    .path_mtu = IBV_MTU_1024,
	    .dest_qp_num = qp->qp_num,
	    .max_dest_rd_atomic = 1,
	    .min_rnr_timer = 12,
	    .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 1}}};
	bench_check(ibv_query_gid(ctx, 1, 0, &a.ah_attr.grh.dgid) == 0, "ibv_query_gid");
	bench_check(ibv_modify_qp(qp, &a,
				  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				      IBV_QP_MIN_RNR_TIMER) == 0,
		    "RTR");
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				 .timeout = 14,
				 .retry_cnt = 7,
				 .rnr_retry = 7,
				 .max_rd_atomic = 1};
	bench_check(ibv_modify_qp(qp, &a,
				  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				      IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) ==
			0,
		    "RTS");
}

/* Bytes that one QP with @entries in each queue costs. */
static double measure(uint64_t qps, uint32_t entries)
{
	struct ibv_qp_init_attr init = {.send_cq = cq,
					.recv_cq = cq,
					.cap = {.max_send_wr = entries,
						.max_recv_wr = entries,
						.max_send_sge = 1,
						.max_recv_sge = 1},
					.qp_type = IBV_QPT_RC};
	struct ibv_qp **qp = calloc(qps, sizeof(struct ibv_qp *));
	uint64_t before;

	bench_check(qp != NULL, "calloc");
	memset(qp, 0xff, qps * sizeof(struct ibv_qp *));
	before = resident_bytes();
	for (uint64_t i = 0; i < qps; i++) {
		qp[i] = ibv_create_qp(pd, &init);
		bench_check(qp[i] != NULL, "ibv_create_qp");
		to_rts(qp[i]);
	}
	double per_qp = (double)(resident_bytes() - before) / (double)qps;

	for (uint64_t i = 0; i < qps; i++)
		bench_check(ibv_destroy_qp(qp[i]) == 0, "ibv_destroy_qp");
	free(qp);
	return per_qp;
}

/* In a process of its own, so that no memory is left from another one. */
static double measure_apart(const char *device, uint64_t qps, uint32_t entries)
{
	double result = 0;
	int fd[2];

	bench_check(pipe(fd) == 0, "pipe");

	pid_t pid = fork();

	bench_check(pid >= 0, "fork");
	if (pid == 0) {
		open_device(device);
		result = measure(qps, entries);
		_exit(write(fd[1], &result, sizeof result) == sizeof result ? 0 : 1);
	}
	close(fd[1]);
	bench_check(read(fd[0], &result, sizeof result) == sizeof result, "measurement");
	close(fd[0]);
	waitpid(pid, NULL, 0);
	return result;
}

int main(int argc, char **argv)
{
	uint64_t qps = bench_number(argc, argv, 2, 20000);
	uint32_t entries = (uint32_t)bench_number(argc, argv, 3, 16);

	if (argc < 2) {
		fprintf(stderr, "usage: qp_memory DEVICE [QPS [ENTRIES]]\n");
		return 2;
	}

	double one = measure_apart(argv[1], qps, entries);
	double two = measure_apart(argv[1], qps, 2 * entries);

	printf("%llu QPs, %.0f bytes each, of which queues %.0f, beyond them %.0f\n",
	       (unsigned long long)qps, one, two - one, one - (two - one));
	return 0;
}
