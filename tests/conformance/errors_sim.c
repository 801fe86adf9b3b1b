/* SPDX-License-Identifier: BSD-2-Clause */
/* The sides of the matrix as two hosts of the simulator, joined by a cable. See errors.h. */
#include "errors.h"
#include "sim/sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	struct vb_topo topo;
	struct vb_sim *sim;
	struct vb_pd *other_pd[SIDES];
	struct vb_qp *qp[SIDES], *other_qp;
	struct vb_xrcd *xrcd;
	struct vb_srq *srq;
	struct vb_ah ah, other_ah;
	uint8_t *block[SIDES];
	struct done done[SIDES][DONE_MAX];
	uint32_t done_cnt[SIDES];
	int event[SIDES];
} w;

static void need(int err, const char *what)
{
	if (err) {
		fprintf(stderr, "%s: %s\n", what, strerror(-err));
		exit(2);
	}
}

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

static const struct vb_sim_memory memory = {memory_alloc, memory_free, NULL};

static void on_completion(void *ctx, uint32_t host, const struct vb_wc *wc, vb_time now)
{
	(void)ctx, (void)now;
	if (w.done_cnt[host] < DONE_MAX)
		w.done[host][w.done_cnt[host]++] = (struct done){wc->wr_id, wc->status};
}

static void on_async(void *ctx, uint32_t host, const struct vb_event *ev, vb_time now)
{
	(void)ctx, (void)now;
	if (ev->kind != VB_EVENT_ASYNC_CQ && w.event[host] == NOTHING &&
	    ev->async != VB_ASYNC_COMM_EST)
		w.event[host] = (int)ev->async;
}

void open_device(const char *name, uint32_t quiet_ms)
{
	(void)quiet_ms; /* time is the simulator's */
	if (name) {
		fputs("usage: conformance_errors_sim [--document]\n", stderr);
		exit(2);
	}
}

void close_device(void)
{
}

uint32_t mtu_bytes(void)
{
	return vb_mtu_bytes(VB_MTU_1024);
}

uint32_t message_max(void)
{
	return (uint32_t)vb_limits_default.msg_size;
}

bool device_has(enum vb_qp_type type, enum vb_wr_opcode opcode)
{
	(void)type, (void)opcode;
	return true;
}

static void bring_up(struct vb_qp *qp, enum side side, const struct setup *s, enum vb_qp_state to)
{
	bool ud = s->type == VB_QPT_UD, xrc = s->type == VB_QPT_XRC_INI, rc = s->type == VB_QPT_RC;
	bool asks = rc || (xrc && side == REQUESTER), answers = rc || (xrc && side == RESPONDER);
	struct vb_qp_attr a = {
	    .qp_state = VB_QPS_INIT,
	    .port = 1,
	    .access = s->qp_access,
	    .qkey = QKEY,
	    .path = vb_sim_path(side, !side, 0xc000, 0),
	    .path_mtu = VB_MTU_1024,
	    .dest_qpn = vb_qp_number(w.qp[!side]),
	    .max_dest_rd_atomic = 1,
	    .max_rd_atomic = 1,
	    .min_rnr_timer = 1,
	    .timeout = 8,
	    .retry_cnt = 1,
	};
	const struct {
		enum vb_qp_state state;
		uint32_t mask;
	} step[] = {
	    {VB_QPS_INIT, VB_QP_PKEY_INDEX | VB_QP_PORT | (ud ? VB_QP_QKEY : VB_QP_ACCESS_FLAGS)},
	    {VB_QPS_RTR, ud ? 0
			    : VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN | VB_QP_RQ_PSN |
				  (answers ? VB_QP_MAX_DEST_RD_ATOMIC | VB_QP_MIN_RNR_TIMER : 0)},
	    {VB_QPS_RTS,
	     VB_QP_SQ_PSN | (rc || xrc ? VB_QP_TIMEOUT : 0) |
		 (asks ? VB_QP_RETRY_CNT | VB_QP_RNR_RETRY | VB_QP_MAX_QP_RD_ATOMIC : 0)},
	    {to, 0}, /* SQD and ERR come behind */
	};

	for (int i = 0; i < 4 && to != VB_QPS_RESET && (i < 3 || to > VB_QPS_RTS); i++) {
		if (i < 3 && step[i].state > to)
			break;
		a.qp_state = step[i].state;
		need(vb_qp_modify(qp, &a, VB_QP_STATE | step[i].mask, vb_sim_now(w.sim)),
		     "state of a QP");
	}
}

/* What the responder's QP receives by, when it has no queue of its own. */
static void open_srq(const struct setup *s, struct vb_qp_init *init)
{
	static const struct vb_srq_cap cap = {QUEUE_WRS, SGE_MAX};
	struct vb_pd *pd = vb_sim_pd(w.sim, RESPONDER);

	w.srq = NULL;
	w.xrcd = NULL;
	if (s->type == VB_QPT_XRC_INI) {
		need(vb_xrcd_create(vb_sim_hca(w.sim, RESPONDER), &w.xrcd), "XRC domain");
		need(vb_xrc_srq_create(pd, w.xrcd, vb_sim_cq(w.sim, RESPONDER), &cap, NULL, &w.srq),
		     "XRC SRQ");
		init->type = VB_QPT_XRC_TGT;
		init->xrcd = w.xrcd;
		init->send_cq = init->recv_cq = NULL;
		init->cap = (struct vb_qp_cap){0};
	} else if (s->has_srq) {
		need(vb_srq_create(pd, cap.wr_max, cap.sge_max, 0, NULL, &w.srq), "SRQ");
		init->srq = w.srq;
	}
}

static void open_qps(const struct setup *s)
{
	for (uint32_t i = 0; i < SIDES; i++) {
		struct vb_qp_init init = {
		    .type = s->type,
		    .send_cq = vb_sim_cq(w.sim, i),
		    .recv_cq = vb_sim_cq(w.sim, i),
		    .cap = {QUEUE_WRS, QUEUE_WRS, SGE_MAX, SGE_MAX, INLINE_MAX},
		};

		w.done_cnt[i] = 0;
		w.event[i] = NOTHING;
		w.block[i] = memory_alloc(NULL, BLOCK);
		need(w.block[i] ? 0 : -ENOMEM, "memory");
		need(vb_pd_create(vb_sim_hca(w.sim, i), &w.other_pd[i]), "PD");
		if (i == RESPONDER)
			open_srq(s, &init);
		else if (s->type == VB_QPT_XRC_INI)
			init.recv_cq = NULL, init.cap.max_recv_wr = init.cap.max_recv_sge = 0;
		need(vb_qp_create(init.xrcd ? NULL : vb_sim_pd(w.sim, i), &init, &w.qp[i]), "QP");
		if (i == RESPONDER)
			need(vb_qp_create(init.xrcd ? NULL : vb_sim_pd(w.sim, i), &init,
					  &w.other_qp),
			     "QP");
	}
	w.ah = (struct vb_ah){vb_sim_pd(w.sim, REQUESTER),
			      vb_sim_path(REQUESTER, RESPONDER, 0xc000, 0)};
	w.other_ah = (struct vb_ah){w.other_pd[REQUESTER], w.ah.path};
	bring_up(w.qp[REQUESTER], REQUESTER, s, s->state[REQUESTER]);
	bring_up(w.qp[RESPONDER], RESPONDER, s, s->state[RESPONDER]);
	bring_up(w.other_qp, RESPONDER, s, VB_QPS_RTS);
}

void open_world(const struct setup *s)
{
	static const struct vb_cable cable = {.rate_bps = UINT64_C(100000000000), .delay = 1000};
	struct vb_sim_config cfg = {
	    .seed = 1,
	    .topo = &w.topo,
	    .hca = {.limits = vb_limits_default, .port[1] = {.active_mtu = VB_MTU_1024}},
	    .cqe = DONE_MAX,
	    .packets_max = 1024,
	    .carry_data = true,
	    .memory = memory,
	};
	const struct vb_sim_app app = {.on_completion = on_completion, .on_async = on_async};

	need(vb_topo_pair(&w.topo, &memory, &cable), "topology");
	need(vb_sim_create(&w.sim, &cfg), "simulation");
	vb_sim_set_app(w.sim, &app);
	open_qps(s);
}

void close_world(void)
{
	vb_sim_destroy(w.sim);
	vb_topo_free(&w.topo);
	for (uint32_t i = 0; i < SIDES; i++)
		memory_free(NULL, w.block[i]);
}

uint8_t *block_of(enum side side)
{
	return w.block[side];
}

uint64_t address_of(enum side side, const uint8_t *p)
{
	(void)side;
	return (uintptr_t)p;
}

struct region register_region(enum side side, bool other_pd, uint32_t access)
{
	uint8_t *at = w.block[side] + REGION;
	struct vb_mr_attr a = {
	    .iova = (uintptr_t)at, .length = REGION, .host = at, .access = access};
	struct vb_mr *mr;

	need(vb_mr_create(other_pd ? w.other_pd[side] : vb_sim_pd(w.sim, side), &a, &mr), "MR");
	return (struct region){vb_mr_lkey(mr), vb_mr_rkey(mr), mr};
}

void deregister_region(struct region *r)
{
	if (r->handle)
		need(vb_mr_destroy(r->handle), "MR's end");
}

struct window allocate_window(enum side side, bool other_pd, uint8_t type)
{
	struct vb_mw *mw;

	need(vb_mw_create(other_pd ? w.other_pd[side] : vb_sim_pd(w.sim, side), type, &mw), "MW");
	return (struct window){type, vb_mw_rkey(mw), mw};
}

void free_window(struct window *window)
{
	need(vb_mw_destroy(window->handle), "MW's end");
	window->handle = NULL;
}

struct send_room send_room(void)
{
	return (struct send_room){QUEUE_WRS, SGE_MAX, INLINE_MAX};
}

/* How the core takes a bind, see vb_mw_create(). */
static void bind_fields(struct vb_send_wr *wr, const struct work *work)
{
	uint32_t rkey = (work->window->rkey & ~0xffu) | ((work->window->rkey + 1) & 0xff);

	wr->rkey = work->window->rkey;
	wr->imm = work->region->lkey;
	wr->remote_addr = (uintptr_t)work->addr;
	wr->swap = work->len;
	wr->compare_add = (uint64_t)work->access << 32 | (rkey & 0xff);
	work->window->rkey = rkey;
}

int post_send(enum side side, const struct work *work, bool *bad)
{
	struct vb_sge sge[SGE_MAX + 1];
	struct vb_send_wr wr = {
	    .wr_id = work->wr_id,
	    .sge = sge,
	    .sge_cnt = work->sge_cnt,
	    .opcode = work->opcode,
	    .flags = work->flags | VB_SEND_SIGNALED,
	    .inv_rkey = work->inv_rkey,
	    .remote_addr = work->remote_addr,
	    .rkey = work->rkey,
	    .compare_add = 1,
	    .swap = 2,
	    .ah = work->of_other_pd ? &w.other_ah : &w.ah,
	    .dqpn = vb_qp_number(w.qp[!side]),
	    .qkey = work->qkey,
	    .srqn = w.xrcd ? vb_srq_number(w.srq) ^ work->srqn_error : 0,
	};

	for (uint32_t i = 0; i < work->sge_cnt; i++)
		sge[i] = (struct vb_sge){(uintptr_t)work->addr, work->len, work->lkey};
	if (work->window)
		bind_fields(&wr, work);
	*bad = true; /* the core takes one at a time */

	int err =
	    -vb_qp_post_send(work->by_other_qp ? w.other_qp : w.qp[side], &wr, vb_sim_now(w.sim));

	vb_sim_touch(w.sim, side);
	return err;
}

int post_receive(const struct work *work)
{
	struct vb_sge sge = {(uintptr_t)work->addr, work->len, work->lkey};
	struct vb_recv_wr wr = {.wr_id = work->wr_id, .sge = &sge, .sge_cnt = 1};
	int err = -(w.srq ? vb_srq_post(w.srq, &wr)
			  : vb_qp_post_recv(w.qp[RESPONDER], &wr, vb_sim_now(w.sim)));

	vb_sim_touch(w.sim, RESPONDER);
	return err;
}

void set_srq_limit(uint32_t limit)
{
	need(vb_srq_set_limit(w.srq, limit), "SRQ's limit");
}

void settle(const uint32_t want[SIDES])
{
	(void)want; /* here it is known when nothing more can happen */
	need(vb_sim_run(w.sim, VB_NEVER), "run");
}

uint32_t completions_of(enum side side, struct done *done, uint32_t max)
{
	uint32_t cnt = w.done_cnt[side] < max ? w.done_cnt[side] : max;

	memcpy(done, w.done[side], cnt * sizeof *done);
	return cnt;
}

void forget_completions(void)
{
	w.done_cnt[REQUESTER] = w.done_cnt[RESPONDER] = 0;
}

enum vb_qp_state state_of(enum side side)
{
	return vb_qp_get_state(w.qp[side]);
}

int event_of(enum side side)
{
	return w.event[side];
}
