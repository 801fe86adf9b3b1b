/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Four adapters of one host as four processes have them: an initiator, the owner of its target, and
 * two more with SRQs in the same domain. Packets are steered by the QPN (base/slot.h), messages
 * go through queues that may be full, and any of the four may be gone.
 */
#ifndef VB_TESTS_UNIT_XRC_ENV_H
#define VB_TESTS_UNIT_XRC_ENV_H

#include "base/rng.h"
#include "core/share/migration.h"
#include "core/share/open.h"
#include "core_env.h"

enum { INI, OWNER, LEFT, RIGHT, HOSTS };

#define FIRST_SLOT (VB_SLOT_WIDE - 2u) /* two are wide, two are narrow */
#define QUEUE 64
#define CELL 512u /* bytes of memory for one message */

struct migration_msg {
	uint32_t from;
	size_t len;
	uint64_t bytes[VB_XRC_MSG_MAX / 8];
};

struct world {
	struct env env[HOSTS];
	struct vb_xrcd *xrcd[HOSTS];
	struct vb_srq *srq[HOSTS];
	struct vb_qp *ini, *tgt;
	bool gone[HOSTS];
	uint32_t room; /* messages that a queue takes */
	uint32_t head[HOSTS], cnt[HOSTS];
	struct migration_msg queue[HOSTS][QUEUE];
	struct vb_rng rng;
	uint32_t loss; /* of 100 packets */
	uint32_t said[VB_XRC_KINDS];
	uint32_t events[HOSTS]; /* of QPs */
};

static struct world w;

static inline int world_send(void *ctx, uint32_t peer, const void *msg, size_t len)
{
	const struct env *from = ctx;
	uint32_t to = peer - FIRST_SLOT;

	if (to >= HOSTS || w.gone[to])
		return -ECONNREFUSED;
	if (w.cnt[to] == w.room)
		return -EAGAIN;

	struct migration_msg *m = &w.queue[to][(w.head[to] + w.cnt[to]++) % QUEUE];

	assert_true(len <= sizeof m->bytes);
	m->from = (uint32_t)(from - w.env);
	m->len = len;
	memcpy(m->bytes, msg, len);
	w.said[((const struct vb_xrc_msg *)msg)->kind]++;
	return 0;
}

static inline void host_open(uint32_t i)
{
	const struct vb_xrcd_name name = {1, 77};
	struct env *e = &w.env[i];

	env_config(e);
	e->cfg.qpn_base = vb_slot_qpn_base(FIRST_SLOT + i);
	e->cfg.qpn_stride = vb_slot_qpn_stride(FIRST_SLOT + i);
	e->cfg.qpn_first = 1;
	e->cfg.xrc_send = world_send;
	e->cfg.xrc_ctx = e;
	env_open(e, 4096);
	if (i == INI)
		return;

	const struct vb_srq_cap cap = {64, 1};

	assert_int_equal(vb_xrcd_create(e->hca, &w.xrcd[i]), 0);
	vb_xrcd_share(w.xrcd[i], &name);
	assert_int_equal(vb_xrc_srq_create(e->pd, w.xrcd[i], e->cq, &cap, &w.srq[i], &w.srq[i]), 0);
}

static inline void world_connect(void)
{
	struct vb_qp_init init = {.type = VB_QPT_XRC_TGT, .xrcd = w.xrcd[OWNER], .owner = &w.tgt};
	const uint32_t rts = VB_QP_STATE | VB_QP_TIMEOUT | VB_QP_RETRY_CNT | VB_QP_RNR_RETRY |
			     VB_QP_SQ_PSN | VB_QP_MAX_QP_RD_ATOMIC;
	const uint32_t rtr =
	    VB_QP_STATE | VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN | VB_QP_RQ_PSN;
	struct vb_qp_attr a = env_attr(1, 0);

	assert_int_equal(vb_qp_create(NULL, &init, &w.tgt), 0);
	init = (struct vb_qp_init){.type = VB_QPT_XRC_INI,
				   .send_cq = w.env[INI].cq,
				   .owner = &w.ini,
				   .cap = {.max_send_wr = 64, .max_send_sge = 1}};
	assert_int_equal(vb_qp_create(w.env[INI].pd, &init, &w.ini), 0);
	a.path_mtu = VB_MTU_256;
	a.rq_psn = a.sq_psn = 0xfffffa;
	a.dest_qpn = vb_qp_number(w.ini);
	assert_int_equal(env_modify(&w.env[OWNER], w.tgt, &a, VB_QPS_INIT), 0);
	a.qp_state = VB_QPS_RTR;
	assert_int_equal(
	    vb_qp_modify(w.tgt, &a, rtr | VB_QP_MAX_DEST_RD_ATOMIC | VB_QP_MIN_RNR_TIMER, 0), 0);
	a.dest_qpn = vb_qp_number(w.tgt);
	assert_int_equal(env_modify(&w.env[INI], w.ini, &a, VB_QPS_INIT), 0);
	a.qp_state = VB_QPS_RTR;
	assert_int_equal(vb_qp_modify(w.ini, &a, rtr, 0), 0);
	a.qp_state = VB_QPS_RTS;
	assert_int_equal(vb_qp_modify(w.ini, &a, rts, 0), 0);
}

static inline void world_open(void)
{
	memset(&w, 0, sizeof w);
	w.room = 4;
	w.rng = vb_rng_stream(1, "migration", 0);
	for (uint32_t i = 0; i < HOSTS; i++)
		host_open(i);
	world_connect();
}

static inline void world_close(void)
{
	for (uint32_t i = 0; i < HOSTS; i++) {
		if (!w.gone[i])
			env_close(&w.env[i]);
	}
}

/* As kill -9 ends a process. */
static inline void host_kill(uint32_t i)
{
	env_close(&w.env[i]);
	w.gone[i] = true;
	w.cnt[i] = 0;
}

static inline void packet_move(const struct vb_tx *tx, vb_time now)
{
	uint8_t pkt[VB_HDR_MAX + 4096 + 3];
	uint32_t len = tx->hdr_len, to;
	struct vb_path path = *tx->path;

	memcpy(pkt, tx->hdr, tx->hdr_len);
	for (uint32_t k = 0; k < tx->seg_cnt; k++) {
		memcpy(pkt + len, tx->seg[k].p, tx->seg[k].len);
		len += tx->seg[k].len;
	}
	memset(pkt + len, 0, tx->pad);
	len += tx->pad;
	to = vb_slot_of_qpn(vb_hdr_dqpn(pkt)) - FIRST_SLOT;
	/* The state in a hostile message may name a requester that is nowhere. */
	if (to >= HOSTS || w.gone[to] || vb_rng_below(&w.rng, 100) < w.loss)
		return;

	struct vb_rx rx = {.pkt = pkt, .len = len, .avail = len, .path = &path};

	(void)vb_hca_handle_packet(w.env[to].hca, &rx, now);
}

/* One turn of host @i. True: it did something. */
static inline bool host_step(uint32_t i, vb_time now)
{
	static struct vb_tx_batch b;
	struct env *e = &w.env[i];
	bool did = false;
	struct vb_event ev;

	e->now = now;
	for (uint32_t n = w.cnt[i] ? vb_rng_below(&w.rng, w.cnt[i] + 1) : 0; n; n--) {
		struct migration_msg *m = &w.queue[i][w.head[i]++ % QUEUE];

		w.cnt[i]--;
		assert_int_equal(
		    vb_xrc_take_message(e->hca, m->from + FIRST_SLOT, m->bytes, m->len, now), 0);
		did = true;
	}
	(void)vb_xrc_run(e->hca, now);
	if (env_tx(e, &b)) {
		did = true;
		for (uint32_t k = 0; k < b.cnt; k++)
			packet_move(&b.pkt[k], now);
	}
	while (vb_hca_poll_event(e->hca, &ev)) {
		if (ev.kind == VB_EVENT_ASYNC_QP)
			w.events[i] |= 1u << ev.async;
	}
	return did || w.cnt[i] || vb_xrc_waits(e->hca);
}

/* Until nothing moves any more; time passes only when nothing else happens, until @end. */
static inline void world_run(vb_time end)
{
	static vb_time now;

	if (w.env[INI].now == 0)
		now = 0;
	for (;;) {
		vb_time due = VB_NEVER;
		bool did = false;

		for (uint32_t i = 0; i < HOSTS; i++)
			did |= !w.gone[i] && host_step(i, now + 1);
		now++;
		if (did)
			continue;
		for (uint32_t i = 0; i < HOSTS; i++) {
			if (!w.gone[i])
				due = vb_time_min(due, vb_hca_poll_timeout(w.env[i].hca));
		}
		if (due == VB_NEVER || due > end)
			return;
		now = due > now ? due : now;
		for (uint32_t i = 0; i < HOSTS; i++) {
			if (!w.gone[i])
				vb_hca_handle_timeout(w.env[i].hca, now);
		}
	}
}

/* @host has room for a message of the number @nr in its cell @cell. */
static inline void post_srq(uint32_t host, uint32_t cell, uint64_t nr)
{
	struct vb_sge sge = env_sge(&w.env[host], cell * CELL, CELL);
	struct vb_recv_wr wr = {.wr_id = nr, .sge = &sge, .sge_cnt = 1};

	assert_int_equal(vb_srq_post(w.srq[host], &wr), 0);
}

/* A request of @len bytes from cell @from to the SRQ of @host, or to cell @to there. */
static inline void post(uint32_t host, enum vb_wr_opcode op, uint32_t from, uint32_t to,
			uint32_t len)
{
	struct env *e = &w.env[INI];
	struct vb_sge sge = env_sge(e, from * CELL, len);
	struct vb_send_wr wr = {.sge = &sge,
				.sge_cnt = 1,
				.opcode = op,
				.flags = VB_SEND_SIGNALED,
				.imm = from,
				.remote_addr = ENV_IOVA + to * CELL,
				.rkey = vb_mr_rkey(w.env[host].mr),
				.compare_add = 1,
				.srqn = vb_srq_number(w.srq[host])};

	assert_int_equal(vb_qp_post_send(w.ini, &wr, e->now), 0);
}

static inline uint8_t *cell_of(uint32_t host, uint32_t cell)
{
	return (uint8_t *)w.env[host].mem + cell * CELL;
}

static inline uint32_t done_cnt(enum vb_wc_status status)
{
	struct vb_wc wc;
	uint32_t n = 0;

	while (vb_cq_poll(w.env[INI].cq, &wc, 1) == 1) {
		assert_int_equal(wc.status, status);
		n++;
	}
	return n;
}

/* Until no message and no packet is under way; no time passes. */
static inline void settle(void)
{
	bool did;

	do {
		did = false;
		for (uint32_t i = INI; i < HOSTS; i++)
			did |= !w.gone[i] && host_step(i, w.env[i].now);
	} while (did);
}

/* @host opens the target: it asks, and has a handle when it was answered. */
static inline void open_begin(struct vb_xrc_ask *a, uint32_t host)
{
	*a = (struct vb_xrc_ask){.opens = true};
	vb_xrc_ask_begin(a, w.xrcd[host], w.tgt->qpn);
	vb_xrc_ask_again(a);
}

static inline struct vb_qp *open_end(struct vb_xrc_ask *a)
{
	struct vb_qp *qp;

	settle();
	assert_int_equal(a->err, 0);
	assert_int_equal(vb_xrc_handle_create(a, &qp), 0);
	vb_xrc_ask_end(a);
	vb_qp_set_owner(qp, &w.tgt);
	return qp;
}

static inline struct vb_qp *open_at(uint32_t host)
{
	struct vb_xrc_ask a;

	open_begin(&a, host);
	return open_end(&a);
}

/* A world in which LEFT has the state, of a SEND that has completed. */
static inline void world_open_migrated(void)
{
	world_open();
	post_srq(LEFT, 0, 1);
	post(LEFT, VB_WR_SEND, 0, 0, 8);
	world_run(VB_NEVER);
	assert_int_equal(done_cnt(VB_WC_SUCCESS), 1);
	assert_true(w.tgt->mig->is_migrated);
}

#endif
