/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of a retransmission storm: many RC QPs of one adapter, each with one request that nobody
 * answers, and the processor time per timeout, which is the timer, going back, and sending again:
 * once with all timers due at the same instants, once with random initial values. And that QPs
 * without work have no timer at all.
 *
 *   timers [QPS...]     100 1000 10000 60000 when none are given
 */
#include "core/hca.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TIMEOUTS 2000000u

static struct vb_tx_batch batch;

static void *memory_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void memory_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static void check(int err, const char *what)
{
	if (err == 0)
		return;
	fprintf(stderr, "timers: %s: %d\n", what, err);
	exit(1);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct vb_qp *qp_open(struct vb_pd *pd, struct vb_cq *cq)
{
	struct vb_qp_init init = {.type = VB_QPT_RC,
				  .send_cq = cq,
				  .recv_cq = cq,
				  .cap = {.max_send_wr = 1, .max_send_sge = 1}};
	struct vb_qp_attr a = {.qp_state = VB_QPS_INIT,
			       .port = 1,
			       .path = {.sgid.b[15] = 1, .dgid.b[15] = 2, .port = 1},
			       .path_mtu = VB_MTU_1024,
			       .dest_qpn = 7,
			       .timeout = 31,
			       .retry_cnt = 7};
	struct vb_qp *qp;

	check(vb_qp_create(pd, &init, &qp), "vb_qp_create");
	check(vb_qp_modify(qp, &a, VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_ACCESS_FLAGS,
			   0),
	      "INIT");
	a.qp_state = VB_QPS_RTR;
	check(vb_qp_modify(qp, &a,
			   VB_QP_STATE | VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN | VB_QP_RQ_PSN |
			       VB_QP_MAX_DEST_RD_ATOMIC | VB_QP_MIN_RNR_TIMER,
			   0),
	      "RTR");
	a.qp_state = VB_QPS_RTS;
	check(vb_qp_modify(qp, &a,
			   VB_QP_STATE | VB_QP_SQ_PSN | VB_QP_TIMEOUT | VB_QP_RETRY_CNT |
			       VB_QP_RNR_RETRY | VB_QP_MAX_QP_RD_ATOMIC,
			   0),
	      "RTS");
	return qp;
}

static uint64_t drain(struct vb_hca *h, vb_time now)
{
	uint64_t sent = 0;

	do {
		batch.cnt = batch.seg_cnt = 0;
		sent += vb_hca_poll_transmit(h, &batch, now);
	} while (batch.cnt);
	return sent;
}

/* ns of processor time per timeout. */
static double storm(uint32_t qps, const struct vb_recovery *set)
{
	struct vb_hca_config c = {.limits = vb_limits_default,
				  .seed = 1,
				  .qpn_stride = 1,
				  .port_cnt = 1,
				  .port[1] = {.active_mtu = VB_MTU_1024, .pkey = {VB_PKEY_DEFAULT}},
				  .recovery = *set,
				  .alloc = memory_alloc,
				  .free = memory_free};
	struct vb_send_wr wr = {.opcode = VB_WR_RDMA_WRITE};
	uint64_t sent = 0, begin;
	struct vb_hca *h;
	struct vb_pd *pd;
	struct vb_cq *cq;
	struct vb_qp **qp = calloc(qps, sizeof(struct vb_qp *));

	check(qp == NULL, "memory");
	check(vb_hca_create(&h, &c, 0), "vb_hca_create");
	check(vb_pd_create(h, &pd), "vb_pd_create");
	check(vb_cq_create(h, 64, NULL, &cq), "vb_cq_create");
	for (uint32_t i = 0; i < qps; i++)
		qp[i] = qp_open(pd, cq);
	drain(h, 0);
	check(vb_hca_poll_timeout(h) != VB_NEVER, "QPs without work have a timer");
	for (uint32_t i = 0; i < qps; i++)
		check(vb_qp_post_send(qp[i], &wr, 0), "vb_qp_post_send");
	check(drain(h, 0) != qps, "not every QP sent");
	begin = cpu_ns();
	while (sent < TIMEOUTS) {
		vb_time now = vb_hca_poll_timeout(h);

		vb_hca_handle_timeout(h, now);
		sent += drain(h, now);
	}

	double ns = (double)(cpu_ns() - begin) / (double)sent;

	vb_hca_destroy(h);
	free(qp);
	return ns;
}

/* A ladder without an end, from 4 ms on. */
static struct vb_recovery ladder(uint8_t init_values, uint8_t values)
{
	return (struct vb_recovery){
	    .roce_adp_retrans_en = true,
	    .adp_retx_profile_id = 1,
	    .profile = {.range_num = 1,
			.time_unit = VB_ADP_TIME_USEC,
			.time_base = 4,
			.retx_total_timeout = 60,
			.timeout_init_low_bound = 10,
			.timeout_init_range_size = init_values,
			.timeout_range = {{0, VB_ADP_DEC_DIV_2, 1, 10, values}}},
	};
}

int main(int argc, char **argv)
{
	static const uint32_t usual[] = {100, 1000, 10000, 60000};
	const struct vb_recovery together = ladder(1, 1), apart = ladder(4, 8);
	int cnt = argc > 1 ? argc - 1 : 4;

	printf("%8s %24s %24s\n", "QPs", "all at once, ns/timeout", "at random, ns/timeout");
	for (int i = 0; i < cnt; i++) {
		uint32_t qps = argc > 1 ? (uint32_t)strtoul(argv[i + 1], NULL, 10) : usual[i];

		printf("%8" PRIu32 " %24.0f %24.0f\n", qps, storm(qps, &together),
		       storm(qps, &apart));
	}
	return 0;
}
