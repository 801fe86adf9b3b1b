/* SPDX-License-Identifier: BSD-2-Clause */
/* A small simulated network for unit tests: memory, a topology, connected QPs, completions kept. */
#ifndef VB_TESTS_UNIT_SIM_NET_H
#define VB_TESTS_UNIT_SIM_NET_H

#include "cmocka_env.h"
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

#define NET_WC_MAX 4096
#define NET_MR_BYTES (UINT64_C(1) << 40)

static inline void *net_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static inline void net_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static const struct vb_sim_memory net_memory = {net_alloc, net_free, NULL};

struct net {
	struct vb_sim_topo topo;
	struct vb_sim *sim;
	struct vb_wc wc[NET_WC_MAX];
	vb_time wc_at[NET_WC_MAX];
	uint32_t wc_host[NET_WC_MAX];
	uint32_t wc_cnt;
	struct vb_mr **mr; /* by host, length only unless given */
};

static inline void net_on_completion(void *ctx, uint32_t host, const struct vb_wc *wc, vb_time now)
{
	struct net *n = ctx;

	if (n->wc_cnt < NET_WC_MAX) {
		n->wc[n->wc_cnt] = *wc;
		n->wc_at[n->wc_cnt] = now;
		n->wc_host[n->wc_cnt] = host;
	}
	n->wc_cnt++;
}

/* The configuration that a test starts from; topo and memory are set by net_open(). */
static inline struct vb_sim_config net_config(void)
{
	struct vb_sim_config c = {
	    .seed = 1,
	    .sw = {.buffer = {.bytes = 32 << 20,
			      .reserve_bytes = 4096,
			      .alpha_1024 = 1024,
			      .xon_gap_bytes = 8192}},
	    .hca = {.limits = vb_limits_default, .port[1] = {.active_mtu = VB_MTU_4096}},
	    .cqe = 4096,
	    .packets_max = 1 << 20,
	};

	return c;
}

static inline struct vb_cable net_cable(uint64_t gbps, vb_dur delay)
{
	return (struct vb_cable){.rate_bps = gbps * UINT64_C(1000000000), .delay = delay};
}

/* @n->topo is there. */
static inline void net_open(struct net *n, struct vb_sim_config *cfg)
{
	struct vb_sim_app app = {.ctx = n, .on_completion = net_on_completion};

	cfg->topo = &n->topo;
	cfg->memory = net_memory;
	assert_int_equal(vb_sim_create(&n->sim, cfg), 0);
	vb_sim_set_app(n->sim, &app);
	n->wc_cnt = 0;
	n->mr = calloc(n->topo.host_cnt, sizeof *n->mr);
	for (uint32_t i = 0; i < n->topo.host_cnt; i++) {
		struct vb_mr_attr a = {.length = NET_MR_BYTES,
				       .access = VB_ACCESS_LOCAL_WRITE | VB_ACCESS_REMOTE_WRITE |
						 VB_ACCESS_REMOTE_READ | VB_ACCESS_REMOTE_ATOMIC};

		assert_int_equal(vb_mr_create(vb_sim_pd(n->sim, i), &a, &n->mr[i]), 0);
	}
}

static inline void net_close(struct net *n)
{
	vb_sim_destroy(n->sim);
	vb_sim_topo_free(&n->topo);
	free(n->mr);
}

static inline void net_pair(struct net *n, uint64_t gbps, vb_dur delay,
			    const struct vb_sim_config *cfg)
{
	struct vb_sim_config c = cfg ? *cfg : net_config();
	struct vb_cable cable = net_cable(gbps, delay);

	assert_int_equal(vb_sim_topo_pair(&n->topo, &net_memory, &cable), 0);
	net_open(n, &c);
}

struct net_qp {
	struct vb_qp *a, *b;
};

struct net_link {
	enum vb_qp_type type;
	enum vb_mtu mtu;
	uint32_t send_wr;
	uint8_t timeout, traffic_class;
	uint16_t sport;
};

static inline struct vb_qp *net_qp_create(struct net *n, uint32_t host, const struct net_link *l)
{
	struct vb_qp_init init = {
	    .type = l->type,
	    .send_cq = vb_sim_cq(n->sim, host),
	    .recv_cq = vb_sim_cq(n->sim, host),
	    .cap = {.max_send_wr = l->send_wr,
		    .max_recv_wr = 16,
		    .max_send_sge = 1,
		    .max_recv_sge = 1},
	};
	struct vb_qp *qp;

	assert_int_equal(vb_qp_create(vb_sim_pd(n->sim, host), &init, &qp), 0);
	return qp;
}

static inline void net_qp_up(struct net *n, struct vb_qp *qp, uint32_t from, uint32_t to,
			     const struct vb_qp *peer, const struct net_link *l)
{
	vb_time now = vb_sim_now(n->sim);
	bool rc = l->type == VB_QPT_RC;
	struct vb_qp_attr a = {
	    .qp_state = VB_QPS_INIT,
	    .port = 1,
	    .access = VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ | VB_ACCESS_REMOTE_ATOMIC,
	    .path = vb_sim_route(n->sim, from, to, l->sport, l->traffic_class),
	    .path_mtu = l->mtu,
	    .dest_qpn = vb_qp_number(peer),
	    .max_dest_rd_atomic = 16,
	    .max_rd_atomic = 16,
	    .min_rnr_timer = 1,
	    .timeout = l->timeout,
	    .retry_cnt = 7,
	    .rnr_retry = 7,
	};

	assert_int_equal(
	    vb_qp_modify(qp, &a, VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_ACCESS_FLAGS,
			 now),
	    0);
	a.qp_state = VB_QPS_RTR;
	assert_int_equal(vb_qp_modify(qp, &a,
				      VB_QP_STATE | VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN |
					  VB_QP_RQ_PSN |
					  (rc ? VB_QP_MAX_DEST_RD_ATOMIC | VB_QP_MIN_RNR_TIMER : 0),
				      now),
			 0);
	a.qp_state = VB_QPS_RTS;
	assert_int_equal(vb_qp_modify(qp, &a,
				      VB_QP_STATE | VB_QP_SQ_PSN |
					  (rc ? VB_QP_TIMEOUT | VB_QP_RETRY_CNT | VB_QP_RNR_RETRY |
						    VB_QP_MAX_QP_RD_ATOMIC
					      : 0),
				      now),
			 0);
}

static inline struct net_qp net_connect(struct net *n, uint32_t from, uint32_t to,
					const struct net_link *l)
{
	struct net_qp q = {net_qp_create(n, from, l), net_qp_create(n, to, l)};

	net_qp_up(n, q.a, from, to, q.b, l);
	net_qp_up(n, q.b, to, from, q.a, l);
	return q;
}

static const struct net_link net_rc = {
    .type = VB_QPT_RC, .mtu = VB_MTU_4096, .send_wr = 128, .timeout = 14, .sport = 0xc000};

static inline void net_post(struct net *n, struct vb_qp *qp, uint32_t from, uint32_t to,
			    enum vb_wr_opcode opcode, uint32_t bytes)
{
	struct vb_sge sge = {0, bytes, vb_mr_lkey(n->mr[from])};
	struct vb_send_wr wr = {.sge = &sge,
				.sge_cnt = 1,
				.opcode = opcode,
				.flags = VB_SEND_SIGNALED,
				.rkey = vb_mr_rkey(n->mr[to])};

	assert_int_equal(vb_qp_post_send(qp, &wr, vb_sim_now(n->sim)), 0);
	vb_sim_touch(n->sim, from);
}

static inline void net_post_write(struct net *n, struct vb_qp *qp, uint32_t from, uint32_t to,
				  uint32_t bytes)
{
	net_post(n, qp, from, to, VB_WR_RDMA_WRITE, bytes);
}

static inline void net_write(struct net *n, uint32_t from, uint32_t to, uint32_t bytes)
{
	struct net_qp q = net_connect(n, from, to, &net_rc);

	net_post_write(n, q.a, from, to, bytes);
}

#endif
