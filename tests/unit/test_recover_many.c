/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many QPs of one adapter that nobody answers: when their timers fire, how often, and that QPs
 * without work have none.
 */
#include "core/hca.h"

#include "cmocka_env.h"

#include <stdlib.h>

#define QPS_MAX 10000

static struct vb_tx_batch batch;
static struct vb_qp *qps[QPS_MAX];
static uint32_t fired_cnt;
static vb_time fired_at[QPS_MAX];

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

static void on_event(void *ctx, const struct vb_trace_event *ev)
{
	(void)ctx;
	if (fired_cnt < QPS_MAX)
		fired_at[fired_cnt] = ev->time;
	fired_cnt++;
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
			       .timeout = 20,
			       .retry_cnt = 7};
	struct vb_qp *qp;

	assert_int_equal(vb_qp_create(pd, &init, &qp), 0);
	assert_int_equal(
	    vb_qp_modify(qp, &a, VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_ACCESS_FLAGS,
			 0),
	    0);
	a.qp_state = VB_QPS_RTR;
	assert_int_equal(vb_qp_modify(qp, &a,
				      VB_QP_STATE | VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN |
					  VB_QP_RQ_PSN | VB_QP_MAX_DEST_RD_ATOMIC |
					  VB_QP_MIN_RNR_TIMER,
				      0),
			 0);
	a.qp_state = VB_QPS_RTS;
	assert_int_equal(vb_qp_modify(qp, &a,
				      VB_QP_STATE | VB_QP_SQ_PSN | VB_QP_TIMEOUT | VB_QP_RETRY_CNT |
					  VB_QP_RNR_RETRY | VB_QP_MAX_QP_RD_ATOMIC,
				      0),
			 0);
	return qp;
}

static uint32_t drain(struct vb_hca *h, vb_time now)
{
	uint32_t sent = 0;

	do {
		batch.cnt = batch.seg_cnt = 0;
		sent += vb_hca_poll_transmit(h, &batch, now);
	} while (batch.cnt);
	return sent;
}

/* An adapter with @cnt QPs that have posted one request each at 0, and sent it. */
static struct vb_hca *open_many(uint32_t cnt, const struct vb_recovery *set, uint64_t seed)
{
	struct vb_hca_config c = {
	    .limits = vb_limits_default,
	    .seed = seed,
	    .qpn_stride = 1,
	    .port_cnt = 1,
	    .port[1] = {.active_mtu = VB_MTU_1024, .pkey = {VB_PKEY_DEFAULT}},
	    .recovery = *set,
	    .trace = {.mask = UINT64_C(1) << VB_TRACE_TIMER_FIRED, .emit = on_event},
	    .alloc = memory_alloc,
	    .free = memory_free};
	struct vb_send_wr wr = {.opcode = VB_WR_RDMA_WRITE};
	struct vb_hca *h;
	struct vb_pd *pd;
	struct vb_cq *cq;

	assert_int_equal(vb_hca_create(&h, &c, 0), 0);
	assert_int_equal(vb_pd_create(h, &pd), 0);
	assert_int_equal(vb_cq_create(h, 64, NULL, &cq), 0);
	for (uint32_t i = 0; i < cnt; i++)
		qps[i] = qp_open(pd, cq);
	assert_int_equal(drain(h, 0), 0);
	assert_true(vb_hca_poll_timeout(h) == VB_NEVER); /* no work, no timer */
	for (uint32_t i = 0; i < cnt; i++)
		assert_int_equal(vb_qp_post_send(qps[i], &wr, 0), 0);
	assert_int_equal(drain(h, 0), cnt);
	fired_cnt = 0;
	return h;
}

static struct vb_recovery window_of(uint8_t size)
{
	return (struct vb_recovery){
	    .roce_adp_retrans_en = true,
	    .adp_retx_profile_id = 1,
	    .profile = {.range_num = 1,
			.time_unit = VB_ADP_TIME_USEC,
			.time_base = 4,
			.retx_total_timeout = 40,
			.timeout_init_low_bound = 2,
			.timeout_init_range_size = size,
			.timeout_range = {{0, VB_ADP_DEC_DIV_2, 1, 2, 20}}},
	};
}

static void run_until(struct vb_hca *h, vb_time until)
{
	while (vb_hca_poll_timeout(h) <= until) {
		vb_time now = vb_hca_poll_timeout(h);

		vb_hca_handle_timeout(h, now);
		(void)drain(h, now);
	}
}

/* D-34: 8 QPs that lose together and draw from 8 values try again at 8 (1 - (7/8)^8) = 5.25
 * different instants; with one value, at one. ADP-07 */
static void first_retries__spread_by_the_window(void **state)
{
	struct vb_recovery spread = window_of(8), same = window_of(1);
	uint32_t sum = 0, runs = 500;

	(void)state;
	for (uint32_t run = 0; run < runs; run++) {
		struct vb_hca *h = open_many(8, &spread, run);
		uint32_t values = 0;

		run_until(h, UINT64_C(16000) << 7);
		/* A first timeout fires at 16 us << k. A later one, after a sum of such values,
		 * never does. */
		for (uint32_t i = 0; i < fired_cnt; i++)
			for (uint32_t k = 0; k < 8; k++)
				values |= fired_at[i] == UINT64_C(16000) << k ? 1u << k : 0;
		sum += (uint32_t)__builtin_popcount(values);
		vb_hca_destroy(h);
	}
	assert_uint_in_range(sum * 100 / runs, 510, 540);

	struct vb_hca *h = open_many(8, &same, 1);

	run_until(h, 16000);
	assert_int_equal(fired_cnt, 8);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(fired_at[i], 16000);
	vb_hca_destroy(h);
}

/* 10,000 QPs in timeout at one instant: each fires once, sends once, and none before its time. */
static void storm__each_timer_fires_once(void **state)
{
	struct vb_recovery same = window_of(1), fixed = {0};
	struct vb_hca *h = open_many(QPS_MAX, &same, 1);

	(void)state;
	vb_hca_handle_timeout(h, 15999);
	assert_int_equal(fired_cnt, 0);
	vb_hca_handle_timeout(h, 16000);
	assert_int_equal(fired_cnt, QPS_MAX);
	assert_int_equal(drain(h, 16000), QPS_MAX);
	assert_int_equal(vb_hca_poll_timeout(h), 16000 + 32000);
	/* Settings that change meanwhile: the running timers end as they were set. */
	assert_int_equal(vb_hca_set_recovery(h, &fixed, 20000), 0);
	vb_hca_handle_timeout(h, 48000);
	assert_int_equal(fired_cnt, 2 * QPS_MAX);
	assert_int_equal(drain(h, 48000), QPS_MAX);
	assert_int_equal(vb_hca_poll_timeout(h), 48000 + (UINT64_C(4096) << 20));
	vb_hca_destroy(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(first_retries__spread_by_the_window),
	    cmocka_unit_test(storm__each_timer_fires_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
