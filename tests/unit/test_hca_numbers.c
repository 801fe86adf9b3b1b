/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers that documents and standards name, one by one: other tests take them by their names, and
 * would follow one that has changed.
 */
#include "core/cc/dfx.h"
#include "core/cc/point.h"
#include "core/dc/dc.h"
#include "core/sched/sched.h"
#include "core/selective/selective.h"
#include "core/share/migration.h"
#include "core_env.h"

/* The limits that an adapter has, and reports by ibv_query_device(3). IBT-06 */
static void limits__of_an_adapter(void **state)
{
	const struct vb_limits *l = &vb_limits_default;

	(void)state;
	assert_int_equal(l->qp, 65000);
	assert_int_equal(l->cq, 65536);
	assert_int_equal(l->srq, 65536);
	assert_int_equal(l->mr, 1048576);
	assert_int_equal(l->mw, 1048576);
	assert_int_equal(l->pd, 65536);
	assert_int_equal(l->qp_wr, 32768);
	assert_int_equal(l->srq_wr, 32768);
	assert_int_equal(l->cqe, 4194304);
	assert_int_equal(l->sge, 32);
	assert_int_equal(l->sge_rd, 32);
	assert_int_equal(l->inline_bytes, 1024);
	assert_int_equal(l->ooo_pkts, 81920);
	assert_int_equal(l->rd_atomic, 128);
	assert_int_equal(l->mcast_grp, 8192);
	assert_int_equal(l->mcast_qp, 1024);
	assert_true(l->mr_size == UINT64_MAX);
	assert_int_equal(l->msg_size, UINT32_C(2147483648));
	assert_int_equal(VB_HCA_PORTS_MAX, 16);
	assert_int_equal(VB_PKEYS_MAX, 16);
	assert_int_equal(VB_PORT_PKEYS_MAX, 32);
	assert_int_equal(VB_RATE_KBPS_MIN, 1000);
	assert_int_equal(VB_RATE_KBPS_MAX, 400000000);
}

/* docs/dc.md */
static void dc__numbers(void **state)
{
	(void)state;
	assert_int_equal(VB_DCT_CONTEXTS, 64);
	assert_int_equal(VB_DCT_RESOURCES, 16);
	assert_int_equal(VB_DCT_IDLE, UINT64_C(10000000000));
	assert_int_equal(VB_DCT_FAILED_IDLE, 1000000000);
	assert_int_equal(VB_DCI_LINGER, 10000000);
	assert_int_equal(VB_DC_LOG_STREAMS_MAX, 4);
	assert_int_equal(VB_DC_LOG_ERRORED_MAX, 8);
	assert_int_equal(VB_DCI_CHANNELS_MAX, 16);
	assert_int_equal(VB_DCI_BAD_MAX, 256);
}

/* The amounts that both ends of selective repeat, of this build and of others, keep account of; and
 * how much of a repeated READ is asked for at once. core/selective/selective.h */
static void selective__numbers(void **state)
{
	(void)state;
	assert_int_equal(VB_SR_WINDOW, 65535);
	assert_int_equal(VB_SR_PIECE, 4096);
	assert_int_equal(VB_SR_RUNS, 8);
	assert_int_equal(VB_SR_REPEATS, 64);
}

/* The messages of responders that migrate are between builds as well. core/share/migration.h */
static void migration__numbers(void **state)
{
	(void)state;
	assert_int_equal(VB_XRC_MAGIC, 0x56425852);
	assert_int_equal(VB_XRC_PEERS, 4224);
	assert_int_equal(VB_XRC_POOL, 1024);
	assert_int_equal(VB_XRC_KEPT_MAX, 512);
	assert_int_equal(VB_XRC_MSG_MAX, 12288);
}

/* docs/adaptive-retransmission.md; ADP-32, REG-07, REG-29 */
static void recovery__numbers(void **state)
{
	const struct vb_adp_profile *f = &vb_adp_firmware;
	const struct vb_recovery *d = &vb_recovery_default;

	(void)state;
	assert_int_equal(VB_TX_WINDOW_BYTES, 1048576);
	assert_int_equal(VB_SLOW_RESTART_BYTES, 16384);
	assert_int_equal(VB_IDLE_RESTART_NS, 1000000);
	assert_int_equal(VB_ADP_RANGES_MAX, 4);
	assert_int_equal(VB_ADP_PROFILE_ID_MAX, 1);
	assert_int_equal(VB_ADP_BASE_MIN_NS, 4000);
	assert_int_equal(VB_ADP_RETRY_NUM_MAX, 1023);
	assert_int_equal(VB_DSCP_MAX, 63);
	assert_true(f->qp_total_timeout);
	assert_int_equal(f->range_num, 2);
	assert_int_equal(f->start_range_index, 0);
	assert_int_equal(f->time_base, 4);
	assert_int_equal(f->timeout_init_low_bound, 10);
	assert_int_equal(f->timeout_init_range_size, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(f->timeout_range[i].prev_range_index, 0);
		assert_int_equal(f->timeout_range[i].dec_mode, VB_ADP_DEC_DIV_2);
		assert_int_equal(f->timeout_range[i].timeout_retry_num, 1);
		assert_int_equal(f->timeout_range[i].range_low_bound, 10 + 4 * i);
		assert_int_equal(f->timeout_range[i].range_size, 4);
	}
	assert_true(d->roce_adp_retrans_en && d->roce_slow_restart_en && d->dc_half_handshake_en);
	assert_false(d->roce_tx_window_en || d->roce_slow_restart_idle_en);
	assert_false(d->min_ack_timeout_limit_disabled || d->selective_repeat_forced_en);
	assert_false(d->adaptive_routing_forced_en || d->ack_dscp_force || d->adp_dec_per_flight);
	assert_int_equal(d->min_ack_timeout, 12);
	assert_int_equal(d->adp_retx_profile_id, 0);
}

/* docs/core.md, docs/congestion-control.md */
static void pacing__numbers(void **state)
{
	(void)state;
	assert_int_equal(VB_QUANTUM_PKTS, 32);
	assert_int_equal(VB_PACKET_OVERHEAD, 512);
	assert_int_equal(VB_RX_CREDIT_RETRY_NS, 20000);
	assert_int_equal(VB_GSO_WAIT_NS, 100000);
	assert_int_equal(VB_SPREAD_PATHS, 8);
	assert_int_equal(VB_SPREAD_RUN, 16);
	assert_int_equal(VB_SPREAD_STEP, 0x5a5);
	assert_int_equal(VB_CC_WINDOW_CYCLES, 1024);
	assert_int_equal(VB_CC_CLK_HZ_MIN, 1000000);
	assert_int_equal(VB_CC_CLK_HZ_MAX, UINT32_C(4000000000));
	assert_int_equal(VB_CC_RATE_MAX, 65535);
	assert_int_equal(VB_CC_BYTE_CNT_MAX, 524287);
	assert_int_equal(VB_CC_ALPHA_MAX, 1023);
	assert_int_equal(VB_CC_ALPHA_FRAC_MAX, 10);
	assert_int_equal(VB_CC_RXQ_MAX, 1000);
	assert_int_equal(VB_CC_OST_FULL, 16);
	assert_int_equal(VB_CC_OST_REDUCED, 8);
	assert_int_equal(VB_DFX_ENTRIES, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(limits__of_an_adapter), cmocka_unit_test(dc__numbers),
	    cmocka_unit_test(selective__numbers),    cmocka_unit_test(migration__numbers),
	    cmocka_unit_test(recovery__numbers),     cmocka_unit_test(pacing__numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
