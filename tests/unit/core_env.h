/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One adapter of the core for unit tests of its objects: memory that is counted and can fail, QPs
 * in any state, and a way for its packets back to itself.
 */
#ifndef VB_TESTS_UNIT_CORE_ENV_H
#define VB_TESTS_UNIT_CORE_ENV_H

#include "cmocka_env.h"
#include "core/obj/cq.h"
#include "core/obj/mem.h"
#include "core/obj/mw.h"
#include "core/obj/pd.h"
#include "core/qp/qp.h"
#include "core/sched/peer.h"
#include "core/sched/sched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENV_MEM 8192
#define ENV_QKEY 0x1234u
#define ENV_ACCESS                                                                                 \
	(VB_ACCESS_LOCAL_WRITE | VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ |                  \
	 VB_ACCESS_REMOTE_ATOMIC | VB_ACCESS_MW_BIND)

struct env {
	struct vb_hca_config cfg;
	struct vb_hca *hca;
	struct vb_pd *pd;
	struct vb_cq *cq;
	struct vb_mr *mr; /* of mem, every right, iova 0x10000 */
	uint64_t mem[ENV_MEM / 8];
	vb_time now;
	struct vb_counters counters;
	/* The allocator: blocks in use, calls so far, and the call that fails (0: none). */
	uint32_t blocks, calls, fail_at;
};

#define ENV_IOVA UINT64_C(0x10000)

static inline void *env_alloc(void *ctx, size_t size)
{
	struct env *e = ctx;
	void *p;

	if (++e->calls == e->fail_at)
		return NULL;
	p = calloc(1, size ? size : 1);
	assert_non_null(p);
	e->blocks++;
	return p;
}

static inline void env_free(void *ctx, void *p)
{
	struct env *e = ctx;

	assert_non_null(p);
	e->blocks--;
	free(p);
}

/* A configuration that env_open() completes; a test changes what it is about. */
static inline void env_config(struct env *e)
{
	*e = (struct env){.cfg = {.limits = vb_limits_default,
				  .seed = 1,
				  .qpn_stride = 1,
				  .qpn_first = 0x11,
				  .port_cnt = 1,
				  .port[1] = {.active_mtu = VB_MTU_4096, .pkey = {VB_PKEY_DEFAULT}},
				  .alloc = env_alloc,
				  .free = env_free}};
}

static inline void env_open(struct env *e, uint32_t cqe)
{
	struct vb_mr_attr a = {
	    .iova = ENV_IOVA, .length = ENV_MEM, .host = e->mem, .access = ENV_ACCESS};

	e->cfg.alloc_ctx = e;
	e->cfg.port[1].counters = &e->counters;
	assert_int_equal(vb_hca_create(&e->hca, &e->cfg, 0), 0);
	assert_int_equal(vb_pd_create(e->hca, &e->pd), 0);
	assert_int_equal(vb_cq_create(e->hca, cqe, &e->cq, &e->cq), 0);
	assert_int_equal(vb_mr_create(e->pd, &a, &e->mr), 0);
}

static inline void env_close(struct env *e)
{
	vb_hca_destroy(e->hca);
	assert_int_equal(e->blocks, 0);
}

static inline struct vb_gid env_gid(uint8_t host)
{
	return (struct vb_gid){{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, host}};
}

/* From host 1, which the adapter is, to @host. */
static inline struct vb_path env_path(uint8_t host)
{
	return (struct vb_path){
	    .sgid = env_gid(1), .dgid = env_gid(host), .port = 1, .hop_limit = 64};
}

static inline struct vb_qp *env_qp_cap(struct env *e, enum vb_qp_type type, struct vb_srq *srq,
				       struct vb_qp_cap cap)
{
	struct vb_qp_init init = {
	    .type = type, .send_cq = e->cq, .recv_cq = e->cq, .srq = srq, .cap = cap};
	struct vb_qp *qp;

	assert_int_equal(vb_qp_create(e->pd, &init, &qp), 0);
	return qp;
}

static inline struct vb_qp *env_qp(struct env *e, enum vb_qp_type type, struct vb_srq *srq)
{
	return env_qp_cap(e, type, srq,
			  (struct vb_qp_cap){.max_send_wr = 16,
					     .max_recv_wr = 16,
					     .max_send_sge = 4,
					     .max_recv_sge = 4,
					     .max_inline_data = 64});
}

/* Attributes that take a QP to any state, towards QP @dqpn of @host. */
static inline struct vb_qp_attr env_attr(uint8_t host, uint32_t dqpn)
{
	return (struct vb_qp_attr){
	    .port = 1,
	    .access = VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ | VB_ACCESS_REMOTE_ATOMIC,
	    .qkey = ENV_QKEY,
	    .path = env_path(host),
	    .path_mtu = VB_MTU_1024,
	    .dest_qpn = dqpn,
	    .max_rd_atomic = 4,
	    .max_dest_rd_atomic = 4,
	    .min_rnr_timer = 1,
	    .timeout = 14,
	    .retry_cnt = 7,
	    .rnr_retry = 7,
	};
}

/* The attributes that the step to @to requires of @qp. Facts B.4 */
static inline uint32_t env_mask(const struct vb_qp *qp, enum vb_qp_state to)
{
	enum vb_qp_type type = vb_qp_get_type(qp);
	bool rc = type == VB_QPT_RC || type == VB_QPT_DCI;

	switch (to) {
	case VB_QPS_INIT:
		return VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT |
		       (type == VB_QPT_UD ? VB_QP_QKEY : VB_QP_ACCESS_FLAGS);
	case VB_QPS_RTR:
		if (type == VB_QPT_UD)
			return VB_QP_STATE;
		if (type == VB_QPT_DCI)
			return VB_QP_STATE | VB_QP_PATH_MTU;
		if (type == VB_QPT_DCT)
			return VB_QP_STATE | VB_QP_PATH_MTU | VB_QP_AV | VB_QP_MIN_RNR_TIMER;
		return VB_QP_STATE | VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN | VB_QP_RQ_PSN |
		       (rc || type == VB_QPT_XRC_TGT
			    ? VB_QP_MAX_DEST_RD_ATOMIC | VB_QP_MIN_RNR_TIMER
			    : 0);
	case VB_QPS_RTS:
		return VB_QP_STATE | VB_QP_SQ_PSN |
		       (rc ? VB_QP_TIMEOUT | VB_QP_RETRY_CNT | VB_QP_RNR_RETRY |
				 VB_QP_MAX_QP_RD_ATOMIC
			   : 0);
	default:
		return VB_QP_STATE;
	}
}

static inline int env_modify(struct env *e, struct vb_qp *qp, struct vb_qp_attr *a,
			     enum vb_qp_state to)
{
	a->qp_state = to;
	return vb_qp_modify(qp, a, env_mask(qp, to), e->now);
}

/* Takes @qp from RESET up to @to, RTS at most. */
static inline void env_up(struct env *e, struct vb_qp *qp, struct vb_qp_attr *a,
			  enum vb_qp_state to)
{
	for (unsigned s = VB_QPS_INIT; s <= (unsigned)to; s++)
		assert_int_equal(env_modify(e, qp, a, (enum vb_qp_state)s), 0);
}

/* A QP in RTS towards @dqpn of @host. */
static inline struct vb_qp *env_rts(struct env *e, enum vb_qp_type type, uint8_t host,
				    uint32_t dqpn)
{
	struct vb_qp *qp = env_qp(e, type, NULL);
	struct vb_qp_attr a = env_attr(host, dqpn);

	env_up(e, qp, &a, VB_QPS_RTS);
	return qp;
}

/* A run of mem. */
static inline struct vb_sge env_sge(const struct env *e, uint32_t offset, uint32_t length)
{
	return (struct vb_sge){ENV_IOVA + offset, length, vb_mr_lkey(e->mr)};
}

static inline int env_send(struct env *e, struct vb_qp *qp, uint64_t wr_id,
			   enum vb_wr_opcode opcode, uint32_t length)
{
	struct vb_sge sge = env_sge(e, 0, length);
	struct vb_send_wr wr = {.wr_id = wr_id,
				.sge = &sge,
				.sge_cnt = 1,
				.opcode = opcode,
				.flags = VB_SEND_SIGNALED,
				.remote_addr = ENV_IOVA + ENV_MEM / 2,
				.rkey = vb_mr_rkey(e->mr)};

	return vb_qp_post_send(qp, &wr, e->now);
}

static inline int env_recv(struct env *e, struct vb_qp *qp, uint64_t wr_id, uint32_t length)
{
	struct vb_sge sge = env_sge(e, ENV_MEM / 2, length);
	struct vb_recv_wr wr = {.wr_id = wr_id, .sge = &sge, .sge_cnt = 1};

	return vb_qp_post_recv(qp, &wr, e->now);
}

/* One completion, which must be there, with this wr_id and status. */
static inline struct vb_wc env_wc(struct env *e, uint64_t wr_id, enum vb_wc_status status)
{
	struct vb_wc wc;

	assert_int_equal(vb_cq_poll(e->cq, &wc, 1), 1);
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.status, status);
	return wc;
}

static inline void env_no_wc(struct env *e)
{
	assert_true(vb_cq_is_empty(e->cq));
}

/* The next event, which must be there. */
static inline void env_event(struct env *e, enum vb_event_kind kind, enum vb_async async)
{
	struct vb_event ev;

	assert_true(vb_hca_poll_event(e->hca, &ev));
	assert_int_equal(ev.kind, kind);
	assert_int_equal(ev.async, async);
}

static inline void env_no_event(struct env *e)
{
	struct vb_event ev;

	assert_false(vb_hca_poll_event(e->hca, &ev));
}

/* A packet with headers @h and @len bytes of zeros comes from @host. */
static inline enum vb_verdict env_rx(struct env *e, uint8_t host, struct vb_hdr *h, uint32_t len)
{
	struct vb_path path = env_path(host);
	uint8_t pkt[VB_HDR_MAX + 4096 + 3] = {0};

	path.sgid = env_gid(host);
	path.dgid = env_gid(1);
	if (h->pkey == 0)
		h->pkey = VB_PKEY_DEFAULT;
	h->pad = (uint8_t)(-len & 3);

	uint32_t total = (uint32_t)vb_hdr_emit(h, pkt) + len + h->pad;
	struct vb_rx rx = {.pkt = pkt, .len = total, .avail = total, .path = &path};

	return vb_hca_handle_packet(e->hca, &rx, e->now);
}

/* The packets that the adapter has to send now; returns how many and leaves them in @b. */
static inline uint32_t env_tx(struct env *e, struct vb_tx_batch *b)
{
	b->cnt = b->seg_cnt = 0;
	return vb_hca_poll_transmit(e->hca, b, e->now);
}

static inline struct vb_hdr env_hdr(const struct vb_tx *tx)
{
	struct vb_hdr h;

	assert_int_equal(
	    vb_hdr_parse(&h, tx->hdr, tx->hdr_len, tx->hdr_len + tx->payload_len + tx->pad),
	    VB_VERDICT_OK);
	return h;
}

/* Every packet that the adapter sends comes back to it, until none is left. */
static inline void env_loop(struct env *e)
{
	static struct vb_tx_batch b;
	static uint8_t pkt[VB_TX_BATCH_PKTS][VB_HDR_MAX + 4096 + 3];
	struct vb_path path[VB_TX_BATCH_PKTS];
	uint32_t len[VB_TX_BATCH_PKTS];

	while (env_tx(e, &b)) {
		for (uint32_t i = 0; i < b.cnt; i++) {
			const struct vb_tx *tx = &b.pkt[i];

			path[i] = *tx->path;
			memcpy(pkt[i], tx->hdr, tx->hdr_len);
			len[i] = tx->hdr_len;
			for (uint32_t k = 0; k < tx->seg_cnt; k++) {
				memcpy(pkt[i] + len[i], tx->seg[k].p, tx->seg[k].len);
				len[i] += tx->seg[k].len;
			}
			memset(pkt[i] + len[i], 0, tx->pad);
			len[i] += tx->pad;
		}
		for (uint32_t i = 0; i < b.cnt; i++) {
			struct vb_rx rx = {
			    .pkt = pkt[i], .len = len[i], .avail = len[i], .path = &path[i]};

			(void)vb_hca_handle_packet(e->hca, &rx, e->now);
		}
	}
}

/* Two QPs of this adapter in RTS, connected to each other. */
static inline void env_pair(struct env *e, enum vb_qp_type type, struct vb_qp *qp[2])
{
	qp[0] = env_qp(e, type, NULL);
	qp[1] = env_qp(e, type, NULL);
	for (int i = 0; i < 2; i++) {
		struct vb_qp_attr a = env_attr(1, vb_qp_number(qp[!i]));

		env_up(e, qp[i], &a, VB_QPS_RTS);
	}
}

static inline struct vb_remote env_remote(const struct vb_qp *qp, uint32_t rkey, uint64_t va,
					  uint64_t len, uint32_t access)
{
	return (struct vb_remote){qp->hca, qp->pd, qp->qpn, rkey, access, va, len};
}

static inline int env_mem_remote(const struct vb_qp *qp, uint32_t rkey, uint64_t va, uint64_t len,
				 uint32_t access, uint8_t **p)
{
	struct vb_remote r = env_remote(qp, rkey, va, len, access);

	return vb_mem_remote(&r, p);
}

static inline bool env_mem_is_remote(const struct vb_qp *qp, uint32_t rkey, uint64_t va,
				     uint64_t len, uint32_t access, bool whole)
{
	struct vb_remote r = env_remote(qp, rkey, va, len, access);

	return vb_mem_is_remote(&r, whole);
}

#endif
