/* SPDX-License-Identifier: BSD-2-Clause */
/* The sides of the matrix as two hosts of the simulator, joined by a cable. See errors.h. */
#include "errors.h"
#include "sim/sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	struct vb_sim_topo topo;
	struct vb_sim *sim;
	struct vb_pd *other_pd[SIDES];
	struct vb_qp *qp[SIDES], *other_qp[SIDES];
	struct vb_xrcd *xrcd, *other_xrcd;
	struct vb_srq *srq;
	struct vb_cq *cq[SIDES]; /* without room; NULL: the simulator's own */
	struct vb_qp *filler[SIDES];
	struct vb_ah ah[SIDES], other_ah;
	bool has_group;
} w;

/* A group of the network: the host to which a packet goes is in the last bytes of any GID. */
static const struct vb_gid group = {
    {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 0, 0, RESPONDER + 1}};

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
	note_completion((enum side)host, wc->wr_id, wc->status);
}

static void on_async(void *ctx, uint32_t host, const struct vb_event *ev, vb_time now)
{
	(void)ctx, (void)now;
	if (ev->owner != &w.filler)
		note_event((enum side)host, ev->async);
}

void open_device(const char *name, uint32_t quiet_ms, uint32_t patience_ms)
{
	(void)quiet_ms, (void)patience_ms; /* time is the simulator's */
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

bool device_builds(enum vb_qp_type type)
{
	(void)type;
	return false; /* the core has one way to post */
}

static struct vb_cq *cq_of(enum side side)
{
	return w.cq[side] ? w.cq[side] : vb_sim_cq(w.sim, side);
}

static void bring_up(struct vb_qp *qp, enum side side, const struct setup *s, enum vb_qp_state to)
{
	struct vb_qp_attr a = {
	    .port = 1,
	    .access = s->qp_access,
	    .qkey = QKEY,
	    .path = vb_sim_path(side, !side, 0xc000, 0),
	    .path_mtu = PATH_MTU,
	    .dest_qpn = vb_qp_number(w.qp[!side]) ^ (side == REQUESTER ? s->dest_error : 0),
	    .max_dest_rd_atomic = s->rd_atomic[RESPONDER],
	    .max_rd_atomic = s->rd_atomic[REQUESTER],
	    .min_rnr_timer = 1,
	    .timeout = 8,
	    .retry_cnt = 1,
	};
	struct step step[STEPS_MAX];
	uint32_t cnt = steps_to(vb_qp_get_type(qp), to, step);

	for (uint32_t i = 0; i < cnt; i++) {
		a.qp_state = step[i].state;
		need(vb_qp_modify(qp, &a, VB_QP_STATE | step[i].mask, vb_sim_now(w.sim)),
		     "state of a QP");
	}
}

static struct vb_pd *pd_of(enum side side, bool is_other)
{
	return is_other ? w.other_pd[side] : vb_sim_pd(w.sim, side);
}

/* The SRQ that the responder's QP receives by, when it has no queue of its own. */
static void open_srq(const struct setup *s)
{
	static const struct vb_srq_cap cap = {QUEUE_WRS, SGE_MAX};
	struct vb_pd *pd = pd_of(RESPONDER, s->srq_of_other_pd);

	w.srq = NULL;
	w.xrcd = NULL;
	if (s->type == VB_QPT_XRC_INI) {
		need(vb_xrcd_create(vb_sim_hca(w.sim, RESPONDER), &w.xrcd), "XRC domain");
		need(vb_xrcd_create(vb_sim_hca(w.sim, RESPONDER), &w.other_xrcd), "XRC domain");
		need(vb_xrc_srq_create(pd, s->srq_of_other_domain ? w.other_xrcd : w.xrcd,
				       cq_of(RESPONDER), &cap, NULL, &w.srq),
		     "XRC SRQ");
	} else if (s->has_srq) {
		need(vb_srq_create(pd, cap.wr_max, cap.sge_max, 0, NULL, &w.srq), "SRQ");
	}
}

static struct vb_qp *create_qp(enum side side, const struct setup *s, bool is_other)
{
	struct vb_cq *cq = cq_of(side);
	struct vb_pd *pd = pd_of(side, is_other && s->other_of_other_pd);
	struct vb_qp_init init = {
	    .type = qp_type(s, side, is_other),
	    .send_cq = cq,
	    .recv_cq = cq,
	    .cap = {QUEUE_WRS, QUEUE_WRS, SGE_MAX, SGE_MAX, INLINE_MAX},
	};
	struct vb_qp *qp;

	if (side == RESPONDER && !is_other)
		init.srq = w.srq;
	if (init.type == VB_QPT_XRC_TGT) {
		init.xrcd = w.xrcd;
		init.srq = NULL;
		init.send_cq = init.recv_cq = NULL;
		init.cap = (struct vb_qp_cap){0};
		pd = NULL;
	} else if (init.type == VB_QPT_XRC_INI || init.type == VB_QPT_DCI) {
		init.recv_cq = NULL;
		init.cap.max_recv_wr = init.cap.max_recv_sge = 0;
	}
	if (init.type == VB_QPT_DCT) {
		init.dc.key = DC_KEY;
		init.cap = (struct vb_qp_cap){0};
	} else if (s->has_streams) {
		/* Full handshake here, half handshake without streams: statuses are the same. */
		init.dc.full_handshake = true;
		init.dc.log_streams = init.dc.log_errored = 1;
	}
	need(vb_qp_create(pd, &init, &qp), "QP");
	return qp;
}

/* A QP of datagrams, which the other side drops for their Q_Key, completes into the CQ. */
static void fill_cq(enum side side, const struct setup *s)
{
	struct vb_qp_init init = {
	    .type = VB_QPT_UD,
	    .send_cq = w.cq[side],
	    .recv_cq = w.cq[side],
	    .cap = {QUEUE_WRS, 1, 1, 1, 0},
	    .owner = &w.filler,
	};
	struct vb_send_wr wr = {.wr_id = FILL_WR_ID,
				.opcode = VB_WR_SEND,
				.flags = VB_SEND_SIGNALED,
				.ah = &w.ah[side],
				.qkey = QKEY + 1};

	need(vb_qp_create(vb_sim_pd(w.sim, side), &init, &w.filler[side]), "QP");
	bring_up(w.filler[side], side, s, VB_QPS_RTS);
	wr.dqpn = vb_qp_number(w.filler[side]);
	for (uint32_t i = 0; i < vb_cq_size(w.cq[side]) + (s->cq[side] == CQ_OVERRUN); i++)
		need(vb_qp_post_send(w.filler[side], &wr, vb_sim_now(w.sim)), "datagram");
	vb_sim_touch(w.sim, side);
	need(vb_sim_run(w.sim, VB_NEVER), "run");
	note_nothing();
}

static void open_qps(const struct setup *s)
{
	for (int i = 0; i < SIDES; i++) {
		w.ah[i] = (struct vb_ah){.pd = vb_sim_pd(w.sim, (uint32_t)i),
					 .path = vb_sim_path((uint32_t)i, !i, 0xc000, 0)};
		need(vb_pd_create(vb_sim_hca(w.sim, (uint32_t)i), &w.other_pd[i]), "PD");
		w.cq[i] = NULL;
		if (s->cq[i] != CQ_ROOM)
			need(vb_cq_create(vb_sim_hca(w.sim, (uint32_t)i), 1, NULL, &w.cq[i]), "CQ");
	}
	open_srq(s);
	for (int i = 0; i < SIDES; i++) {
		w.qp[i] = create_qp((enum side)i, s, false);
		w.other_qp[i] = s->has_other[i] ? create_qp((enum side)i, s, true) : NULL;
	}
	for (int i = 0; i < SIDES; i++) {
		if (w.cq[i])
			fill_cq((enum side)i, s);
	}
	w.has_group = s->has_group;
	if (s->has_group)
		w.ah[REQUESTER].path.dgid = group;
	if (s->is_member)
		need(vb_qp_attach_mcast(w.qp[RESPONDER], &group, 0), "group");
	w.other_ah = (struct vb_ah){.pd = w.other_pd[REQUESTER], .path = w.ah[REQUESTER].path};
	for (int i = 0; i < SIDES; i++) {
		bring_up(w.qp[i], (enum side)i, s, s->state[i]);
		if (w.other_qp[i])
			bring_up(w.other_qp[i], (enum side)i, s, VB_QPS_RTS);
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

	need(vb_sim_topo_pair(&w.topo, &memory, &cable), "topology");
	need(vb_sim_create(&w.sim, &cfg), "simulation");
	vb_sim_set_app(w.sim, &app);
	note_nothing();
	need(open_blocks() ? 0 : -ENOMEM, "memory");
	open_qps(s);
}

void close_world(void)
{
	vb_sim_destroy(w.sim);
	vb_sim_topo_free(&w.topo);
	close_blocks();
}

struct region register_region(enum side side, bool other_pd, uint32_t access)
{
	uint8_t *at = block_of(side) + REGION;
	struct vb_mr_attr a = {
	    .iova = (uintptr_t)at, .length = REGION, .host = at, .access = access};
	struct vb_mr *mr;

	need(vb_mr_create(pd_of(side, other_pd), &a, &mr), "MR");
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

	need(vb_mw_create(pd_of(side, other_pd), type, &mw), "MW");
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
	wr->imm = work->region->lkey ^ work->region_error;
	wr->remote_addr = (uintptr_t)work->addr;
	wr->swap = work->len;
	wr->compare_add = (uint64_t)work->access << 32 | (rkey & 0xff);
	work->window->rkey = rkey;
}

struct receive_room receive_room(void)
{
	return (struct receive_room){QUEUE_WRS, SGE_MAX};
}

static uint32_t dest_qpn(const struct work *work)
{
	const struct vb_qp *other = w.other_qp[RESPONDER];

	if (w.has_group && !work->to_other_qp)
		return VB_QPN_MULTICAST ^ work->qpn_error;
	return vb_qp_number(work->to_other_qp && other ? other : w.qp[RESPONDER]) ^ work->qpn_error;
}

static void fill_sges(struct vb_sge *sge, const struct work *work)
{
	for (uint32_t i = 0; i < work->sge_cnt; i++)
		sge[i] = (struct vb_sge){(uintptr_t)work->addr, work->len, work->lkey};
	if (work->sge_cnt)
		sge[work->sge_cnt - 1].lkey ^= work->last_lkey_error;
}

int post_send(enum side side, const struct work *work, uint32_t cnt, uint32_t *taken)
{
	struct vb_qp *qp = work->by_other_qp ? w.other_qp[side] : w.qp[side];
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
	    .flush = work->flush,
	    .flush_len = work->len,
	    .ah = work->of_other_pd ? &w.other_ah : &w.ah[side],
	    .dqpn = dest_qpn(work),
	    .qkey = work->qkey,
	    .srqn = w.xrcd ? vb_srq_number(w.srq) ^ work->srqn_error : 0,
	    .dc_key = DC_KEY ^ work->dc_key_error,
	};
	int err = 0;

	fill_sges(sge, work);
	if (work->window)
		bind_fields(&wr, work);
	for (*taken = 0; *taken < cnt && !err; *taken += !err, wr.wr_id++)
		err = -vb_qp_post_send(qp, &wr, vb_sim_now(w.sim));
	vb_sim_touch(w.sim, side);
	return err;
}

int post_receives(const struct work *work, uint32_t cnt, uint32_t *taken)
{
	struct vb_sge sge[SGE_MAX + 1];
	struct vb_recv_wr wr = {.wr_id = work->wr_id, .sge = sge, .sge_cnt = work->sge_cnt};
	int err = 0;

	fill_sges(sge, work);
	for (*taken = 0; *taken < cnt && !err; *taken += !err, wr.wr_id++)
		err = -(w.srq ? vb_srq_post(w.srq, &wr)
			      : vb_qp_post_recv(w.qp[RESPONDER], &wr, vb_sim_now(w.sim)));
	vb_sim_touch(w.sim, RESPONDER);
	return err;
}

void set_srq_limit(uint32_t limit)
{
	need(vb_srq_set_limit(w.srq, limit), "SRQ's limit");
}

void settle(const struct awaited *a)
{
	(void)a; /* here it is known when nothing more can happen */
	need(vb_sim_run(w.sim, VB_NEVER), "run");
}

void end_qp(enum side side)
{
	const struct vb_qp_attr a = {.qp_state = VB_QPS_ERR};

	need(vb_qp_modify(w.qp[side], &a, VB_QP_STATE, vb_sim_now(w.sim)), "QP's end");
	vb_sim_touch(w.sim, side);
}

void empty_cqs(void)
{
	struct vb_wc wc;

	for (int i = 0; i < SIDES; i++) {
		while (w.cq[i] && vb_cq_poll(w.cq[i], &wc, 1) > 0) {
			if (wc.wr_id != FILL_WR_ID)
				note_completion((enum side)i, wc.wr_id, wc.status);
		}
	}
}

enum vb_qp_state state_of(enum side side)
{
	return vb_qp_get_state(w.qp[side]);
}
