/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbs as a program sees them, on "lo" of a network namespace of the test's own, with a real
 * broker: an open device, and two QPs of one process that talk to each other.
 */
#ifndef VB_TESTS_UNIT_VERBS_ENV_H
#define VB_TESTS_UNIT_VERBS_ENV_H

#include "cmocka_env.h"
#include "netns.h"
#include "node/broker/broker.h"

#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

/* How long a test waits for what must happen: only a failure lasts that long. */
#define VERBS_PATIENCE_S 30

static pid_t verbs_broker;
static struct ibv_context *ctx;
static struct ibv_pd *pd;
static uint8_t buf[1 << 20];
static struct ibv_mr *mr; /* of buf, with every right */

#define ALL_ACCESS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)

static inline void verbs_start_broker(void)
{
	char why[256];

	verbs_broker = fork();
	assert_true(verbs_broker >= 0);
	if (verbs_broker == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(vb_broker_main());
	}
	for (;;) {
		struct vb_broker_observer o;

		if (vb_broker_observe(&o, false, why, sizeof why) == 0) {
			vb_broker_observe_end(&o);
			return;
		}
		assert_int_equal(waitpid(verbs_broker, NULL, WNOHANG), 0);
		usleep(1000);
	}
}

static inline void verbs_stop_broker(void)
{
	kill(verbs_broker, SIGKILL);
	waitpid(verbs_broker, NULL, 0);
}

/* A broker leaves when its last client does: a test that opens no device has one of its own. */
static inline int verbs_broker_setup(void **state)
{
	(void)state;
	verbs_start_broker();
	return 0;
}

static inline int verbs_broker_teardown(void **state)
{
	(void)state;
	verbs_stop_broker();
	return 0;
}

static inline int verbs_open(void **state)
{
	struct ibv_device **list;
	int cnt;

	(void)state;
	verbs_start_broker();
	list = ibv_get_device_list(&cnt);
	assert_non_null(list);
	assert_int_equal(cnt, 1); /* "lo" is all there is */
	ctx = ibv_open_device(list[0]);
	assert_non_null(ctx);
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(ctx);
	assert_non_null(pd);
	mr = ibv_reg_mr(pd, buf, sizeof buf, ALL_ACCESS);
	assert_non_null(mr);
	memset(buf, 0, sizeof buf);
	return 0;
}

static inline int verbs_close(void **state)
{
	(void)state;
	if (ctx)
		assert_int_equal(ibv_close_device(ctx), 0);
	ctx = NULL;
	verbs_stop_broker();
	return 0;
}

/* The GID of 127.0.0.1, or of ::1. */
static inline int verbs_gid(bool ipv6, union ibv_gid *gid)
{
	struct ibv_gid_entry e[64];
	ssize_t cnt = ibv_query_gid_table(ctx, e, 64, 0);

	for (ssize_t i = 0; i < cnt; i++) {
		if (IN6_IS_ADDR_V4MAPPED(e[i].gid.raw) == !ipv6) {
			*gid = e[i].gid;
			return (int)e[i].gid_index;
		}
	}
	fail_msg("no GID");
	return -1;
}

static inline struct ibv_ah_attr verbs_ah_attr(bool ipv6)
{
	struct ibv_ah_attr a = {.is_global = 1, .port_num = 1};

	a.grh.sgid_index = (uint8_t)verbs_gid(ipv6, &a.grh.dgid);
	a.grh.hop_limit = 64;
	return a;
}

struct verbs_end {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
};

static inline struct verbs_end end_new(enum ibv_qp_type type, struct ibv_comp_channel *channel,
				       struct ibv_srq *srq)
{
	struct verbs_end e = {.cq = ibv_create_cq(ctx, 256, NULL, channel, 0)};
	struct ibv_qp_init_attr init = {
	    .send_cq = e.cq,
	    .recv_cq = e.cq,
	    .srq = srq,
	    .cap = {.max_send_wr = 64,
		    .max_recv_wr = 64,
		    .max_send_sge = 4,
		    .max_recv_sge = 4,
		    .max_inline_data = 128},
	    .qp_type = type,
	};

	assert_non_null(e.cq);
	e.qp = ibv_create_qp(pd, &init);
	assert_non_null(e.qp);
	return e;
}

static inline void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.qkey = 0x11111111,
				.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						   IBV_ACCESS_REMOTE_READ |
						   IBV_ACCESS_REMOTE_ATOMIC};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		   (qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);

	assert_int_equal(ibv_modify_qp(qp, &a, mask), 0);
}

/* The ACK timeout of connections to come; 4.096 us * 2^this, seven times. */
static uint8_t verbs_timeout = 14;

static inline void to_rts(struct ibv_qp *qp, uint32_t dqpn, bool ipv6)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR,
				.ah_attr = verbs_ah_attr(ipv6),
				.path_mtu = IBV_MTU_1024,
				.dest_qp_num = dqpn,
				.rq_psn = 0xfffffe,
				.sq_psn = 0xfffffe,
				.max_rd_atomic = 4,
				.max_dest_rd_atomic = 4,
				.min_rnr_timer = 1,
				.timeout = verbs_timeout,
				.retry_cnt = 7,
				.rnr_retry = 7};
	int rtr[] = {[IBV_QPT_RC] = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		     [IBV_QPT_UC] = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
		     [IBV_QPT_UD] = 0};
	int rts[] = {[IBV_QPT_RC] = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
		     [IBV_QPT_UC] = IBV_QP_SQ_PSN,
		     [IBV_QPT_UD] = IBV_QP_SQ_PSN};

	assert_int_equal(ibv_modify_qp(qp, &a, IBV_QP_STATE | rtr[qp->qp_type]), 0);
	a.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &a, IBV_QP_STATE | rts[qp->qp_type]), 0);
}

/* Two QPs, connected to each other and in RTS. */
static inline void verbs_connect(struct ibv_qp *a, struct ibv_qp *b, bool ipv6)
{
	to_init(a);
	to_init(b);
	to_rts(a, b->qp_num, ipv6);
	to_rts(b, a->qp_num, ipv6);
}

static inline void end_free(struct verbs_end *e)
{
	assert_int_equal(ibv_destroy_qp(e->qp), 0);
	assert_int_equal(ibv_destroy_cq(e->cq), 0);
}

/* Two RC QPs that are connected. */
static inline void ends_new(struct verbs_end *a, struct verbs_end *b)
{
	*a = end_new(IBV_QPT_RC, NULL, NULL);
	*b = end_new(IBV_QPT_RC, NULL, NULL);
	verbs_connect(a->qp, b->qp, false);
}

static inline void ends_free(struct verbs_end *a, struct verbs_end *b)
{
	end_free(a);
	end_free(b);
}

/* For what may take longer, but never less. */
static inline uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static inline bool patience_left(void)
{
	static _Thread_local time_t start;
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	if (!start)
		start = t.tv_sec;
	return t.tv_sec - start < VERBS_PATIENCE_S;
}

/* The next completion. */
static inline struct ibv_wc wc_next(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		assert_true(patience_left());
	assert_int_equal(n, 1);
	return wc;
}

static inline struct ibv_sge sge_at(size_t off, uint32_t len)
{
	return (struct ibv_sge){.addr = (uintptr_t)buf + off, .length = len, .lkey = mr->lkey};
}

static inline void post_recv(struct ibv_qp *qp, uint64_t wr_id, size_t off, uint32_t len)
{
	struct ibv_sge sge = sge_at(off, len);
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
}

static inline void post_send(struct ibv_qp *qp, struct ibv_send_wr wr, size_t off, uint32_t len)
{
	struct ibv_sge sge = sge_at(off, len);
	struct ibv_send_wr *bad;

	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.send_flags |= IBV_SEND_SIGNALED;
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
}

/* For main(): in a namespace of its own, or the exit code that says "skipped". */
#define VERBS_MAIN_OR_SKIP()                                                                       \
	do {                                                                                       \
		if (!netns_enter()) {                                                              \
			fprintf(stderr, "skipped: no network namespace of our own to be had\n");   \
			return 77;                                                                 \
		}                                                                                  \
	} while (0)

#define VERBS_TEST(f) cmocka_unit_test_setup_teardown(f, verbs_open, verbs_close)
#define VERBS_BROKER_TEST(f)                                                                       \
	cmocka_unit_test_setup_teardown(f, verbs_broker_setup, verbs_broker_teardown)

#endif
