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
	struct vb_qp *qp[SIDES];
	struct vb_ah ah;
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
	if (ev->kind == VB_EVENT_ASYNC_QP && w.event[host] == NOTHING &&
	    ev->async != VB_ASYNC_COMM_EST)
		w.event[host] = (int)ev->async;
}

void open_device(const char *name)
{
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

static void bring_up(enum side side, const struct setup *s)
{
	enum vb_qp_state to = s->state[side];
	bool rc = s->type == VB_QPT_RC, ud = s->type == VB_QPT_UD;
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
				  (rc ? VB_QP_MAX_DEST_RD_ATOMIC | VB_QP_MIN_RNR_TIMER : 0)},
	    {VB_QPS_RTS, VB_QP_SQ_PSN | (rc ? VB_QP_TIMEOUT | VB_QP_RETRY_CNT | VB_QP_RNR_RETRY |
						  VB_QP_MAX_QP_RD_ATOMIC
					    : 0)},
	    {to, 0}, /* SQD and ERR come behind */
	};

	for (int i = 0; i < 4 && to != VB_QPS_RESET && (i < 3 || to > VB_QPS_RTS); i++) {
		if (i < 3 && step[i].state > to)
			break;
		a.qp_state = step[i].state;
		need(vb_qp_modify(w.qp[side], &a, VB_QP_STATE | step[i].mask, vb_sim_now(w.sim)),
		     "state of a QP");
	}
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
		need(vb_qp_create(vb_sim_pd(w.sim, i), &init, &w.qp[i]), "QP");
	}
	w.ah = (struct vb_ah){vb_sim_pd(w.sim, REQUESTER),
			      vb_sim_path(REQUESTER, RESPONDER, 0xc000, 0)};
	bring_up(REQUESTER, s);
	bring_up(RESPONDER, s);
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

int post_send(const struct work *work, bool *bad)
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
	    .ah = &w.ah,
	    .dqpn = vb_qp_number(w.qp[RESPONDER]),
	    .qkey = work->qkey,
	};

	for (uint32_t i = 0; i < work->sge_cnt; i++)
		sge[i] = (struct vb_sge){(uintptr_t)work->addr, work->len, work->lkey};
	*bad = true; /* the core takes one at a time */

	int err = -vb_qp_post_send(w.qp[REQUESTER], &wr, vb_sim_now(w.sim));

	vb_sim_touch(w.sim, REQUESTER);
	return err;
}

int post_receive(enum side side, const struct work *work)
{
	struct vb_sge sge = {(uintptr_t)work->addr, work->len, work->lkey};
	struct vb_recv_wr wr = {.wr_id = work->wr_id, .sge = &sge, .sge_cnt = 1};
	int err = -vb_qp_post_recv(w.qp[side], &wr, vb_sim_now(w.sim));

	vb_sim_touch(w.sim, side);
	return err;
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

enum vb_qp_state state_of(enum side side)
{
	return vb_qp_get_state(w.qp[side]);
}

int event_of(enum side side)
{
	return w.event[side];
}
