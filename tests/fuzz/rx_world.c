/* SPDX-License-Identifier: BSD-2-Clause */
/* The adapter that fuzz_rx attacks, and what must hold whatever arrives. */
#include "rx_world.h"

#include <string.h>

#define GUARD_BYTE 0xa5
#define READ_ONLY_BYTE 0x3c
#define PACKETS_MAX 100000 /* of one drain: more than all queues together can hold */
#define STEPS_MAX 100000
#define PEER_QPN 0x77
#define FIRST_PSN 0xfffffau /* near the wrap */

static void *counted_alloc(void *ctx, size_t size)
{
	struct world *w = ctx;
	void *p = calloc(1, size);

	require(p != NULL);
	w->allocated++;
	return p;
}

static void counted_free(void *ctx, void *p)
{
	struct world *w = ctx;

	w->allocated--;
	free(p);
}

uint8_t *world_memory(struct world *w, unsigned r)
{
	return w->arena + GUARD_LEN + r * (REGION_LEN + GUARD_LEN);
}

struct vb_path world_path(void)
{
	return (struct vb_path){
	    .sgid = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1}},
	    .dgid = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2}},
	    .port = 1,
	    .hop_limit = 64,
	};
}

static void open_regions(struct world *w)
{
	static const uint32_t access[REGION_CNT] = {
	    [REGION_ALL] = VB_ACCESS_LOCAL_WRITE | VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ |
			   VB_ACCESS_REMOTE_ATOMIC,
	    [REGION_WRITE] = VB_ACCESS_LOCAL_WRITE | VB_ACCESS_REMOTE_WRITE,
	    [REGION_RECV] = VB_ACCESS_LOCAL_WRITE,
	    [REGION_READ_ONLY] = VB_ACCESS_REMOTE_READ,
	};

	memset(w->arena, GUARD_BYTE, sizeof w->arena);
	for (unsigned r = 0; r < REGION_CNT; r++) {
		uint8_t *p = world_memory(w, r);
		struct vb_mr_attr attr = {
		    .iova = (uintptr_t)p, .length = REGION_LEN, .host = p, .access = access[r]};

		memset(p, READ_ONLY_BYTE, REGION_LEN);
		require(vb_mr_create(w->pd, &attr, &w->mr[r]) == 0);
		w->rkey[r] = vb_mr_rkey(w->mr[r]);
		w->lkey[r] = vb_mr_lkey(w->mr[r]);
	}
}

static int modify(struct vb_qp *qp, enum vb_qp_type type, enum vb_qp_state to, vb_time now)
{
	bool ud = type == VB_QPT_UD, dci = type == VB_QPT_DCI;
	bool requests = type == VB_QPT_RC || type == VB_QPT_XRC_INI || dci;
	bool responds = type == VB_QPT_RC || type == VB_QPT_XRC_TGT;
	struct vb_qp_attr a = {.qp_state = to,
			       .path_mtu = VB_MTU_256,
			       .qkey = 0x11111111,
			       .rq_psn = FIRST_PSN,
			       .sq_psn = FIRST_PSN,
			       .dest_qpn = PEER_QPN,
			       .access = VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ |
					 VB_ACCESS_REMOTE_ATOMIC,
			       .path = world_path(),
			       .max_rd_atomic = 2,
			       .max_dest_rd_atomic = 2,
			       .min_rnr_timer = 1,
			       .port = 1,
			       .timeout = 4,
			       .retry_cnt = 3,
			       .rnr_retry = 3};
	uint32_t mask = VB_QP_STATE;

	if (to == VB_QPS_INIT)
		mask |= VB_QP_PKEY_INDEX | VB_QP_PORT |
			(uint32_t)(ud ? VB_QP_QKEY : VB_QP_ACCESS_FLAGS);
	if (to == VB_QPS_RTR && dci)
		mask |= VB_QP_PATH_MTU;
	else if (to == VB_QPS_RTR && type == VB_QPT_DCT)
		mask |= VB_QP_PATH_MTU | VB_QP_AV | VB_QP_MIN_RNR_TIMER;
	else if (to == VB_QPS_RTR && !ud)
		mask |= VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN | VB_QP_RQ_PSN;
	if (to == VB_QPS_RTR && responds)
		mask |= VB_QP_MAX_DEST_RD_ATOMIC | VB_QP_MIN_RNR_TIMER;
	if (to == VB_QPS_RTS)
		mask |= VB_QP_SQ_PSN;
	if (to == VB_QPS_RTS && (requests || responds))
		mask |= VB_QP_TIMEOUT;
	if (to == VB_QPS_RTS && requests)
		mask |= VB_QP_RETRY_CNT | VB_QP_RNR_RETRY | VB_QP_MAX_QP_RD_ATOMIC;
	return vb_qp_modify(qp, &a, mask, now);
}

/* The halves of QPs lack what they have no use for. */
static void init_half(struct world *w, struct vb_qp_init *init, unsigned i)
{
	init->dc = (struct vb_dc_init){.key = DC_KEY,
				       .full_handshake = i & 1,
				       .log_streams = i & 1 ? 2 : 0,
				       .log_errored = i & 1};
	if (init->type == VB_QPT_DCT || init->type == VB_QPT_XRC_TGT)
		init->cap = (struct vb_qp_cap){0};
	if (init->type == VB_QPT_DCI || init->type == VB_QPT_XRC_INI)
		init->cap.max_recv_wr = init->cap.max_recv_sge = 0;
	if (init->type != VB_QPT_DCT)
		init->recv_cq = NULL;
	if (init->type == VB_QPT_XRC_TGT) {
		init->send_cq = NULL;
		init->xrcd = w->xrcd;
	}
}

static void open_qps(struct world *w)
{
	static const struct {
		enum vb_qp_type type;
		enum vb_qp_state state;
		bool srq;
	} plan[QP_CNT] = {
	    {VB_QPT_RC, VB_QPS_RTS, false},      {VB_QPT_RC, VB_QPS_RTS, true},
	    {VB_QPT_RC, VB_QPS_RTR, false},      {VB_QPT_RC, VB_QPS_INIT, false},
	    {VB_QPT_RC, VB_QPS_SQD, false},      {VB_QPT_RC, VB_QPS_ERR, true},
	    {VB_QPT_UC, VB_QPS_RTS, false},      {VB_QPT_UC, VB_QPS_RTR, true},
	    {VB_QPT_UD, VB_QPS_RTS, false},      {VB_QPT_UD, VB_QPS_RTR, true},
	    {VB_QPT_UC, VB_QPS_RTS, true},       {VB_QPT_RC, VB_QPS_RESET, false},
	    {VB_QPT_DCI, VB_QPS_RTS, false},     {VB_QPT_DCI, VB_QPS_RTS, false},
	    {VB_QPT_DCT, VB_QPS_RTR, true},      {VB_QPT_XRC_INI, VB_QPS_RTS, false},
	    {VB_QPT_XRC_TGT, VB_QPS_RTR, false},
	};

	for (unsigned i = 0; i < QP_CNT; i++) {
		struct vb_qp_init init = {.type = plan[i].type,
					  .send_cq = w->cq,
					  .recv_cq = w->cq,
					  .srq = plan[i].srq ? w->srq : NULL,
					  .cap = {8, 8, 3, 3, 32},
					  .sq_sig_all = true};
		enum vb_qp_state last = plan[i].state > VB_QPS_RTS ? VB_QPS_RTS : plan[i].state;

		if (i >= QP_FIRST_DC)
			init_half(w, &init, i);
		require(vb_qp_create(init.xrcd ? NULL : w->pd, &init, &w->qp[i]) == 0);
		w->type[i] = plan[i].type;
		w->qpn[i] = vb_qp_number(w->qp[i]);
		for (enum vb_qp_state s = VB_QPS_INIT; s <= last; s++)
			require(modify(w->qp[i], w->type[i], s, 0) == 0);
		if (plan[i].state > VB_QPS_RTS)
			require(modify(w->qp[i], w->type[i], plan[i].state, 0) == 0);
	}
}

void world_open(struct world *w)
{
	struct vb_srq_cap xcap = {.wr_max = 16, .sge_max = 3};
	struct vb_hca_config cfg = {.limits = vb_limits_default,
				    .seed = 1,
				    .qpn_stride = 1,
				    .qpn_first = 0x11,
				    .port_cnt = 1,
				    .alloc = counted_alloc,
				    .free = counted_free,
				    .alloc_ctx = w};

	memset(w, 0, offsetof(struct world, arena));
	cfg.limits.qp = cfg.limits.cq = cfg.limits.srq = cfg.limits.mr = cfg.limits.mw =
	    cfg.limits.pd = 32;
	cfg.limits.ooo_pkts = 8; /* few enough to run out */
	cfg.recovery = vb_recovery_default;
	cfg.recovery.roce_tx_window_en = cfg.recovery.selective_repeat_forced_en = true;
	cfg.port[1].active_mtu = VB_MTU_4096;
	cfg.port[1].pkey[0] = VB_PKEY_DEFAULT;
	require(vb_hca_create(&w->hca, &cfg, 0) == 0);
	require(vb_pd_create(w->hca, &w->pd) == 0);
	require(vb_cq_create(w->hca, 256, NULL, &w->cq) == 0);
	require(vb_srq_create(w->pd, 16, 3, 0, NULL, &w->srq) == 0);
	require(vb_xrcd_create(w->hca, &w->xrcd) == 0);
	require(vb_xrc_srq_create(w->pd, w->xrcd, w->cq, &xcap, NULL, &w->xsrq) == 0);
	open_regions(w);
	open_qps(w);
}

void world_close(struct world *w)
{
	vb_hca_destroy(w->hca);
	require(w->allocated == 0);
}

void world_check_memory(const struct world *w)
{
	static uint8_t guard[GUARD_LEN], read_only[REGION_LEN];
	const uint8_t *p = w->arena;

	if (guard[0] == 0) {
		memset(guard, GUARD_BYTE, sizeof guard);
		memset(read_only, READ_ONLY_BYTE, sizeof read_only);
	}
	for (unsigned r = 0; r <= REGION_CNT; r++) {
		require(memcmp(p, guard, sizeof guard) == 0);
		p += GUARD_LEN + REGION_LEN;
	}
	p = w->arena + GUARD_LEN + REGION_READ_ONLY * (REGION_LEN + GUARD_LEN);
	require(memcmp(p, read_only, sizeof read_only) == 0);
}

/* A packet that leaves must be one that any receiver accepts, with a payload of that length. */
static void check_packet(const struct vb_tx *tx)
{
	static uint8_t payload[4096];
	struct vb_hdr h;
	uint32_t len = 0;

	for (unsigned i = 0; i < tx->seg_cnt; i++) {
		require(tx->seg[i].p != NULL && tx->seg[i].len > 0);
		len += tx->seg[i].len;
	}
	require(len == tx->payload_len);
	require(len <= 4096);
	require(vb_hdr_parse(&h, tx->hdr, tx->hdr_len, tx->hdr_len + len + tx->pad) ==
		VB_VERDICT_OK);
	require(h.pad == tx->pad);
	require((vb_hdr_opcode(&h)->flags & VB_OP_PAYLOAD) || len == 0);
	/* Bytes of a segment that are not there are for AddressSanitizer to see. */
	for (unsigned i = 0; i < tx->seg_cnt; i++)
		memcpy(payload, tx->seg[i].p, tx->seg[i].len);
}

static void drain_packets(struct world *w)
{
	static struct vb_tx_batch b;
	unsigned cnt = 0;

	do {
		b.cnt = b.seg_cnt = 0;
		vb_hca_poll_transmit(w->hca, &b, w->now);
		for (uint32_t i = 0; i < b.cnt; i++)
			check_packet(&b.pkt[i]);
		cnt += b.cnt;
		require(cnt < PACKETS_MAX);
	} while (b.cnt != 0);
}

/* Each posted WR completes at most once, and nothing else completes. */
static void drain_completions(struct world *w)
{
	struct vb_wc wc;

	while (vb_cq_poll(w->cq, &wc, 1) == 1) {
		require(wc.wr_id < w->wr_cnt && wc.wr_id < WR_MAX);
		require(!w->done[wc.wr_id]);
		require(wc.time <= w->now);
		w->done[wc.wr_id] = 1;
	}
}

void world_drain(struct world *w)
{
	struct vb_event ev;
	unsigned cnt = 0;

	drain_packets(w);
	drain_completions(w);
	while (vb_hca_poll_event(w->hca, &ev))
		require(++cnt < STEPS_MAX);
}

void world_pass(struct world *w, vb_dur span)
{
	vb_time end = vb_time_after(w->now, span);

	for (unsigned steps = 0;; steps++) {
		vb_time due = vb_hca_poll_timeout(w->hca);

		require(steps < STEPS_MAX);
		if (due > end)
			break;
		w->now = due > w->now ? due : w->now;
		vb_hca_handle_timeout(w->hca, w->now);
		require(vb_hca_poll_timeout(w->hca) > w->now);
		drain_packets(w);
	}
	w->now = end == VB_NEVER ? w->now : end;
	vb_hca_handle_timeout(w->hca, w->now);
}
