/* SPDX-License-Identifier: BSD-2-Clause */
/* The load at work: posting messages of flows, taking their completions, comparing their bytes. See
 * load.h. */
#include "base/assert.h"
#include "core/view.h"
#include "sim/load/graph/run.h"
#include "sim/parts.h"

#include <errno.h>
#include <string.h>

/* Recorded in a flow whose QPs could not be made or refused its work. */
#define STATUS_NOT_STARTED VB_WC_GENERAL_ERR

static uint32_t message_len(const struct vb_load *l, const struct vb_flow *f, uint32_t k)
{
	if (f->op == VB_LOAD_ATOMIC)
		return 8;

	uint64_t unit = vb_load_message_unit(l, f), left = f->bytes - k * unit;

	VB_ASSERT_ALL(left <= f->bytes);
	return (uint32_t)(left < unit ? left : unit);
}

uint64_t vb_load_flow_completed(const struct vb_load *l, const struct vb_flow *f)
{
	uint64_t unit = vb_load_message_unit(l, f);
	const struct vb_connection *c;
	struct vb_qp_view v;
	uint64_t moved;

	if (f->completed == vb_load_message_cnt(l, f))
		return f->bytes;
	moved = f->completed * unit;
	if (f->posted == f->completed || f->connection == VB_LOAD_NONE)
		return moved;
	c = &l->connection[f->connection];
	if (l->moved && !vb_sim_is_here(l->sim, f->src))
		return l->moved[f - l->flow];
	if (c->is_shared && &l->flow[c->flow] != f)
		return moved; /* others are before it */
	if (!vb_hca_view(vb_sim_hca(l->sim, c->src), vb_qp_number(c->side[0].qp),
			 vb_sim_now(l->sim), &v) ||
	    v.posted == 0)
		return moved;

	uint64_t acked = (uint64_t)v.acked * vb_load_mtu_bytes(l);

	return moved + (acked < v.length ? acked : v.length);
}

/* Messages of a connection use the slots of both ends in turn. */
static uint64_t slot_at(const struct vb_load *l, const struct vb_flow *f, uint32_t k)
{
	return (uint64_t)((f->base + k) % l->cfg.depth) * vb_load_slot_bytes(l);
}

static uint8_t *slot_of(const struct vb_load *l, const struct vb_flow *f, int side, uint32_t k)
{
	uint8_t *mem = l->connection[f->connection].side[side].mem;

	return mem ? mem + slot_at(l, f, k) : NULL;
}

static void slot_fill(uint8_t *p, uint32_t len, uint64_t flow, uint32_t k)
{
	struct vb_rng r = {flow << 32 | k};

	for (uint32_t i = 0; i < len; i += 8) {
		uint64_t w = vb_rng_next(&r);

		for (uint32_t b = 0; b < 8 && i + b < len; b++)
			p[i + b] = (uint8_t)(w >> 8 * b);
	}
}

/* Message k must be at the far end's @far as it is at the near end. */
static void slot_check(struct vb_load *l, const struct vb_flow *f, uint32_t k, const uint8_t *far)
{
	const uint8_t *near = slot_of(l, f, 0, k);

	if (near && f->op != VB_LOAD_ATOMIC && memcmp(near, far, message_len(l, f, k)) != 0)
		l->damaged++;
}

static void flow_fail(struct vb_flow *f, enum vb_wc_status status)
{
	if (f->status == VB_WC_SUCCESS)
		f->status = (uint8_t)status;
}

/* Adds the receiver, of a transport where the QP does not say which it is. */
static void address_add(struct vb_load *l, const struct vb_flow *f, const struct vb_ah *ah,
			struct vb_send_wr *wr)
{
	const struct vb_connection *c = &l->connection[f->connection];

	if (vb_flow_is_to_group(f)) {
		wr->ah = ah;
		wr->opcode = VB_WR_SEND_IMM;
		wr->imm = (uint32_t)(f - l->flow); /* for group.c */
		wr->dqpn = VB_QPN_MULTICAST;
		wr->qkey = VB_LOAD_QKEY;
	} else if (l->cfg.type == VB_QPT_UD || l->cfg.type == VB_QPT_DCI) {
		wr->ah = ah;
		wr->dqpn = vb_qp_number(c->side[1].qp);
		wr->qkey = VB_LOAD_QKEY;
		wr->dc_key = VB_LOAD_DC_KEY;
	} else if (l->cfg.type == VB_QPT_XRC_INI) {
		wr->srqn = vb_srq_number(c->side[1].srq);
	}
}

/* The R_Key of the far end; 0: a group has none. */
static uint32_t rkey_of(const struct vb_load *l, const struct vb_flow *f)
{
	if (vb_flow_is_to_group(f))
		return 0;
	return vb_mr_rkey(l->mr ? l->mr[f->dst] : l->connection[f->connection].side[1].mr);
}

static int flow_post(struct vb_load *l, uint32_t flow, vb_time now)
{
	static const enum vb_wr_opcode opcode[VB_LOAD_OP_CNT] = {
	    [VB_LOAD_SEND] = VB_WR_SEND,
	    [VB_LOAD_WRITE] = VB_WR_RDMA_WRITE,
	    [VB_LOAD_READ] = VB_WR_RDMA_READ,
	    [VB_LOAD_ATOMIC] = VB_WR_FETCH_ADD,
	};
	struct vb_flow *f = &l->flow[flow];
	struct vb_connection *c = &l->connection[f->connection];
	uint32_t k = f->posted, len = message_len(l, f, k);

	if (k == 0)
		f->base = c->base;

	uint64_t at = slot_at(l, f, k);
	struct vb_sge sge = {at, len, vb_mr_lkey(l->mr ? l->mr[f->src] : c->side[0].mr)};
	struct vb_send_wr wr = {
	    .wr_id = (uint64_t)k << 32 | f->connection,
	    .sge = &sge,
	    .sge_cnt = 1,
	    .opcode = opcode[f->op],
	    .flags = VB_SEND_SIGNALED,
	    .remote_addr = at,
	    .rkey = rkey_of(l, f),
	    .compare_add = 1,
	};
	const struct vb_ah ah = {.pd = vb_sim_pd(l->sim, f->src), .path = c->path};
	uint8_t *from = slot_of(l, f, f->op == VB_LOAD_READ, k);

	address_add(l, f, &ah, &wr);
	VB_ASSERT_ALL(k < vb_load_message_cnt(l, f) && f->connection < l->connection_cnt);
	if (from && f->op != VB_LOAD_ATOMIC)
		slot_fill(from, len, flow, k);

	int err = vb_qp_post_send(c->side[0].qp, &wr, now);

	if (err)
		return err;
	f->posted++;
	c->base++;
	c->outstanding++;
	if (vb_flow_is_to_group(f))
		vb_load_group_of(l, f->dst)->sent++;
	return 0;
}

/* Posts what there is room for, of one flow after the other. */
static void connection_go_on(struct vb_load *l, struct vb_connection *c, vb_time now)
{
	if (!vb_sim_is_here(l->sim, c->src))
		return;
	while (c->posting != VB_LOAD_NONE && c->outstanding < l->cfg.depth) {
		struct vb_flow *f = &l->flow[c->posting];

		if (f->status == VB_WC_SUCCESS && flow_post(l, c->posting, now))
			flow_fail(f, STATUS_NOT_STARTED);
		if (f->status != VB_WC_SUCCESS || f->posted == vb_load_message_cnt(l, f))
			c->posting = f->next;
	}
	vb_sim_touch(l->sim, c->src);
}

/* Of a shared connection the other end learns of @flow: in another part later. */
static void flow_enter(struct vb_load *l, const struct vb_connection *c, uint32_t flow)
{
	if (!c->is_shared)
		return;
	if (vb_load_part_of(l, c->src) == vb_load_part_of(l, c->dst))
		vb_load_await(l, flow);
	else
		vb_load_note(l, c->src, VB_LOAD_ENTERED, flow);
}

static void flow_start(struct vb_load *l, uint32_t flow, vb_time now)
{
	struct vb_flow *f = &l->flow[flow];
	struct vb_load_source *s = f->pattern < l->source_cnt ? &l->source[f->pattern] : NULL;
	int err = s && vb_pattern_is_closed_loop(&s->p) ? vb_load_source_connect(l, s) : 0;

	if (!err)
		err = vb_load_connect(l, f, flow);
	if (err) {
		flow_fail(f, STATUS_NOT_STARTED);
		vb_load_fail(l, f->src, err);
		return;
	}
	flow_enter(l, &l->connection[f->connection], flow);
	connection_go_on(l, &l->connection[f->connection], now);
}

static void on_timer(void *ctx, vb_time now)
{
	struct vb_load *l = ctx;

	while (vb_eventq_next(&l->starts) <= now) {
		uint32_t id = vb_eventq_take(&l->starts);

		if (id < l->cfg.flows_max)
			flow_start(l, id, now);
		else if (id < l->cfg.flows_max + VB_LOAD_PATTERNS_MAX)
			vb_pattern_on_arrival(l, &l->source[id - l->cfg.flows_max], now);
		else
			vb_load_post_late(l, id - l->cfg.flows_max - VB_LOAD_PATTERNS_MAX, now);
	}
	vb_load_arm(l);
}

/* Flows of the part that begin now, then computations that end now and what follows from them. */
static void on_turn(void *ctx, uint32_t part, vb_time now)
{
	struct vb_load *l = ctx;
	struct vb_load_part *p = &l->part[part];
	vb_time next = VB_NEVER;

	do {
		while (p->first != VB_LOAD_NONE) {
			uint32_t flow = p->first;

			p->first = l->flow[flow].next;
			l->flow[flow].next = VB_LOAD_NONE;
			flow_start(l, flow, now);
		}
		for (uint32_t i = 0; i < l->source_cnt; i++)
			if (l->source[i].run)
				vb_graph_run_on_turn(l->source[i].run, part, now);
	} while (p->first != VB_LOAD_NONE);
	for (uint32_t i = 0; i < l->source_cnt; i++)
		if (l->source[i].run)
			next = vb_time_min(next, vb_graph_run_turn(l->source[i].run, part));
	p->computed = 0;
	p->turn_at = next;
	vb_sim_set_turn(l->sim, part, next);
}

static void on_still(void *ctx)
{
	struct vb_load *l = ctx;

	vb_load_notes_settle(l);
	for (uint32_t i = 0; i < l->source_cnt; i++)
		if (l->source[i].run)
			vb_graph_run_settle(l->source[i].run);
}

/* Receive WQEs take their slots in turn, whatever else the connection carries. */
static const uint8_t *received_at(const struct vb_load *l, const struct vb_connection *c,
				  uint32_t slot)
{
	const uint8_t *mem = c->side[1].mem;

	VB_ASSERT_ALL(slot < l->cfg.depth);
	return mem ? mem + (size_t)slot * vb_load_slot_bytes(l) : NULL;
}

/* Message by message a flow arrives. */
static void message_arrive(struct vb_load *l, struct vb_connection *c, uint32_t flow, uint32_t slot,
			   vb_time now)
{
	struct vb_flow *f = &l->flow[flow];

	if (vb_load_is_reliable(l, f))
		slot_check(l, f, f->received, received_at(l, c, slot));
	if (++f->received != vb_load_message_cnt(l, f))
		return;
	f->delivered = now;
	if (c->is_shared) {
		c->inbound = f->next_in;
		f->next_in = VB_LOAD_NONE;
	}
	if (!vb_load_is_reliable(l, f) || vb_load_has_ranks(l))
		vb_load_note(l, c->dst, VB_LOAD_ARRIVED, flow);
	vb_pattern_on_delivered(l, flow, now);
}

static void on_received(struct vb_load *l, struct vb_connection *c, const struct vb_wc *wc,
			vb_time now)
{
	uint32_t slot = (uint32_t)(wc->wr_id >> 32 & 0x7fffffff), flow = c->inbound;

	/* A connection of DC that ends gives back what it had taken for a message that comes again.
	 */
	if (wc->status != VB_WC_SUCCESS && l->cfg.type != VB_QPT_DCI) {
		if (!c->broken_there)
			vb_load_note(l, c->dst, VB_LOAD_BROKEN, (uint32_t)(c - l->connection));
		return;
	}
	if (wc->status == VB_WC_SUCCESS && flow != VB_LOAD_NONE && l->flow[flow].op == VB_LOAD_SEND)
		message_arrive(l, c, flow, slot, now);
	if (vb_load_repost(l, (uint32_t)(c - l->connection), slot, now))
		c->broken_there = true;
	vb_sim_touch(l->sim, c->dst);
}

static void on_sent(struct vb_load *l, struct vb_connection *c, const struct vb_wc *wc, vb_time now)
{
	uint32_t flow = c->flow;

	c->outstanding--;
	if (flow == VB_LOAD_NONE)
		return;

	struct vb_flow *f = &l->flow[flow];
	uint32_t k = (uint32_t)(wc->wr_id >> 32);

	VB_ASSERT_ALL(f->completed < f->posted && k < f->posted);
	f->completed++;
	if (wc->status != VB_WC_SUCCESS) {
		c->broken = true;
		flow_fail(f, wc->status);
	} else if (vb_load_is_reliable(l, f) && f->op != VB_LOAD_SEND) {
		slot_check(l, f, k, slot_of(l, f, 1, k));
	}
	if (c->posting != VB_LOAD_NONE ||
	    (f->status == VB_WC_SUCCESS && f->completed < vb_load_message_cnt(l, f)))
		connection_go_on(l, c, now);
	if (f->status == VB_WC_SUCCESS && f->completed < vb_load_message_cnt(l, f))
		return;
	if (f->completed == f->posted) {
		f->done = now;
		if (c->is_shared || vb_load_is_reliable(l, f))
			vb_load_leave(l, f);
		vb_pattern_on_done(l, flow, now);
		vb_load_note(l, c->src, VB_LOAD_SENT, flow);
	}
}

static void on_completion(void *ctx, uint32_t host, const struct vb_wc *wc, vb_time now)
{
	struct vb_load *l = ctx;
	struct vb_connection *c = &l->connection[(uint32_t)wc->wr_id];

	if (wc->wr_id & VB_LOAD_WR_RECV && wc->wr_id & VB_LOAD_WR_GROUP) {
		vb_load_group_received(l, wc, now);
		return;
	}
	VB_ASSERT_ALL((uint32_t)wc->wr_id < l->connection_cnt);
	(void)host;
	if (wc->wr_id & VB_LOAD_WR_RECV)
		on_received(l, c, wc, now);
	else
		on_sent(l, c, wc, now);
}

static int memory_create(struct vb_load *l)
{
	const struct vb_sim_memory *m = &l->memory;
	uint32_t ids = l->cfg.flows_max + VB_LOAD_PATTERNS_MAX +
		       (l->cfg.receive_delay ? l->cfg.connections_max : 0);

	l->flow = m->alloc(m->ctx, ((size_t)l->cfg.flows_max + l->part_cnt * l->draft_max) *
				       sizeof *l->flow);
	l->part = m->alloc(m->ctx, l->part_cnt * sizeof *l->part);
	l->connection = m->alloc(m->ctx, l->cfg.connections_max * sizeof *l->connection);
	l->idle = m->alloc(m->ctx, l->host_cnt * sizeof *l->idle);
	l->wrs = m->alloc(m->ctx, l->host_cnt * sizeof *l->wrs);
	l->starts_mem = m->alloc(m->ctx, vb_eventq_size(ids));
	if (l->cfg.nics)
		l->nic_turn = m->alloc(m->ctx, 2 * l->hosts * sizeof *l->nic_turn);
	if (!l->flow || !l->part || !l->connection || !l->idle || !l->wrs || !l->starts_mem ||
	    (l->cfg.nics && !l->nic_turn))
		return -ENOMEM;
	vb_eventq_init(&l->starts, l->starts_mem, ids);
	for (uint32_t i = 0; i < l->part_cnt; i++)
		l->part[i] =
		    (struct vb_load_part){.first = VB_LOAD_NONE,
					  .turn_at = VB_NEVER,
					  .draft_first = l->cfg.flows_max + i * l->draft_max};
	for (uint32_t i = 0; i < l->host_cnt; i++)
		l->idle[i] = VB_LOAD_NONE;
	if (vb_sim_carries_data(l->sim))
		return 0;
	l->mr = m->alloc(m->ctx, l->host_cnt * sizeof *l->mr);
	if (!l->mr)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->host_cnt; i++) {
		struct vb_mr_attr a = {
		    .length = (uint64_t)l->cfg.depth * vb_load_slot_bytes(l),
		    .access = VB_ACCESS_LOCAL_WRITE | VB_ACCESS_REMOTE_WRITE |
			      VB_ACCESS_REMOTE_READ | VB_ACCESS_REMOTE_ATOMIC,
		};
		int err = vb_mr_create(vb_sim_pd(l->sim, i), &a, &l->mr[i]);

		if (err)
			return err;
	}
	return 0;
}

static bool type_is_good(enum vb_qp_type type)
{
	return type == VB_QPT_RC || type == VB_QPT_UC || type == VB_QPT_UD ||
	       type == VB_QPT_XRC_INI || type == VB_QPT_DCI;
}

int vb_load_create(struct vb_load **out, struct vb_sim *sim, const struct vb_load_config *cfg,
		   const struct vb_sim_memory *memory)
{
	struct vb_sim_app app = {.on_completion = on_completion,
				 .on_timer = on_timer,
				 .on_turn = on_turn,
				 .on_still = on_still};
	struct vb_load *l;

	if (cfg->flows_max == 0 || cfg->connections_max == 0 || cfg->depth == 0 ||
	    cfg->flows_max >= 1u << 23 || cfg->message_bytes < 8 || cfg->depth > 1024 ||
	    !type_is_good(cfg->type) ||
	    (vb_sim_part_cnt(sim) > 1 &&
	     vb_load_parts_wrong(cfg, NULL, vb_sim_carries_data(sim), 0)))
		return -EINVAL;
	l = memory->alloc(memory->ctx, sizeof *l);
	if (!l)
		return -ENOMEM;
	l->sim = sim;
	l->cfg = *cfg;
	/* A datagram is a packet. */
	if (cfg->type == VB_QPT_UD && cfg->message_bytes > vb_mtu_bytes(cfg->mtu))
		l->cfg.message_bytes = vb_mtu_bytes(cfg->mtu);
	l->memory = *memory;
	l->host_cnt = vb_sim_host_cnt(sim);
	l->hosts = cfg->nics ? cfg->nics->host_cnt : l->host_cnt;
	l->part_cnt = vb_sim_part_cnt(sim);
	/* The memory is there as far as it is used. */
	l->draft_max = l->part_cnt > 1 ? cfg->flows_max : 0;
	l->over_first = l->over_last = VB_LOAD_NONE;

	int err = memory_create(l);

	if (err) {
		vb_load_destroy(l);
		return err;
	}
	app.ctx = l;
	vb_sim_set_app(sim, &app);
	*out = l;
	return 0;
}

void vb_load_destroy(struct vb_load *l)
{
	void (*give)(void *ctx, void *p) = l->memory.free;
	void *ctx = l->memory.ctx;

	for (uint32_t i = 0; l->connection && i < l->connection_cnt; i++) {
		if (l->connection[i].late)
			give(ctx, l->connection[i].late);
		for (uint32_t k = 0; k < 2; k++) {
			struct vb_load_side *s = &l->connection[i].side[k];

			if (s->qp)
				(void)vb_qp_destroy(s->qp);
			if (s->srq)
				(void)vb_srq_destroy(s->srq);
			if (s->xrcd)
				(void)vb_xrcd_destroy(s->xrcd);
			if (s->mr)
				(void)vb_mr_destroy(s->mr);
			if (s->mem)
				give(ctx, s->mem);
		}
	}
	vb_load_groups_destroy(l);
	for (uint32_t i = 0; l->part && i < l->part_cnt; i++) {
		if (l->part[i].notes.note)
			give(ctx, l->part[i].notes.note);
		if (l->part[i].notes.state)
			give(ctx, l->part[i].notes.state);
	}
	for (uint32_t i = 0; i < l->source_cnt; i++) {
		if (l->source[i].connection)
			give(ctx, l->source[i].connection);
		if (l->source[i].rate_sum)
			give(ctx, l->source[i].rate_sum);
		if (l->source[i].phase)
			give(ctx, l->source[i].phase);
		vb_graph_run_destroy(l->source[i].run, &l->memory);
		vb_graph_destroy(l->source[i].own_graph);
	}

	void *const all[] = {l->flow,       l->tally, l->connection, l->idle,  l->wrs, l->part,
			     l->starts_mem, l->mr,    l->nic_turn,   l->moved, l};

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		if (all[i])
			give(ctx, all[i]);
	}
}

int vb_load_failure(const struct vb_load *l)
{
	int failure = l->failure;

	for (uint32_t i = 0; !failure && i < l->part_cnt; i++)
		failure = l->part[i].failure;
	return failure;
}

uint64_t vb_load_damaged(const struct vb_load *l)
{
	return l->damaged;
}

uint32_t vb_load_mtu_bytes(const struct vb_load *l)
{
	return vb_mtu_bytes(l->cfg.mtu);
}
