/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections of the load: pairs of QPs, made when needed and kept for the next flow. See load.h.
 */
#include "base/assert.h"
#include "sim/load/graph/run.h"

#include <errno.h>

#define ACCESS                                                                                     \
	(VB_ACCESS_LOCAL_WRITE | VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ |                  \
	 VB_ACCESS_REMOTE_ATOMIC)

#define CQE_MAX 4096u

/* The QP type of an end of a connection: @side 0 sends. */
static enum vb_qp_type type_of(const struct vb_load *l, const struct vb_connection *c,
			       uint32_t side)
{
	if (vb_connection_is_to_group(c))
		return VB_QPT_UD;
	if (l->cfg.type == VB_QPT_XRC_INI)
		return side ? VB_QPT_XRC_TGT : VB_QPT_XRC_INI;
	if (l->cfg.type == VB_QPT_DCI)
		return side ? VB_QPT_DCT : VB_QPT_DCI;
	return l->cfg.type;
}

/* Targets take what they receive from an SRQ. */
static int srq_create(struct vb_load *l, struct vb_load_side *s, uint32_t host)
{
	const struct vb_srq_cap cap = {l->cfg.depth, 1};
	int err;

	if (l->cfg.type == VB_QPT_DCI)
		return vb_srq_create(vb_sim_pd(l->sim, host), cap.wr_max, cap.sge_max, 0, NULL,
				     &s->srq);
	err = vb_xrcd_create(vb_sim_hca(l->sim, host), &s->xrcd);
	return err ? err
		   : vb_xrc_srq_create(vb_sim_pd(l->sim, host), s->xrcd, vb_sim_cq(l->sim, host),
				       &cap, NULL, &s->srq);
}

int vb_load_cq_reserve(struct vb_load *l, uint32_t host, uint32_t wrs)
{
	struct vb_cq *cq = vb_sim_cq(l->sim, host);
	uint32_t *sum = &l->wrs[host];

	*sum = wrs < CQE_MAX - *sum ? *sum + wrs : CQE_MAX;
	return *sum <= vb_cq_size(cq) ? 0 : vb_cq_resize(cq, *sum);
}

static int qp_create(struct vb_load *l, struct vb_connection *c, uint32_t side, uint32_t host)
{
	struct vb_load_side *s = &c->side[side];
	struct vb_cq *cq = vb_sim_cq(l->sim, host);
	enum vb_qp_type type = type_of(l, c, side);
	bool is_target = type == VB_QPT_XRC_TGT || type == VB_QPT_DCT;
	bool has_cq = type != VB_QPT_XRC_INI && type != VB_QPT_DCI && type != VB_QPT_XRC_TGT;
	bool receives = side == 1 && has_cq && !is_target && !vb_connection_is_to_group(c);
	bool sends = side == 0;
	struct vb_qp_init init = {
	    .type = type,
	    .send_cq = type == VB_QPT_XRC_TGT ? NULL : cq,
	    .recv_cq = has_cq ? cq : NULL,
	    .cap = {.max_send_wr = sends ? l->cfg.depth : 0,
		    .max_recv_wr = receives ? l->cfg.depth : 0,
		    .max_send_sge = sends,
		    .max_recv_sge = receives},
	    .dc.key = type == VB_QPT_DCT ? VB_LOAD_DC_KEY : 0,
	};
	int err = vb_load_cq_reserve(l, host, l->cfg.depth);

	if (!err && is_target)
		err = srq_create(l, s, host);
	init.srq = type == VB_QPT_DCT ? s->srq : NULL;
	init.xrcd = s->xrcd;
	return err ? err
		   : vb_qp_create(type == VB_QPT_XRC_TGT ? NULL : vb_sim_pd(l->sim, host), &init,
				  &s->qp);
}

static int side_create(struct vb_load *l, struct vb_connection *c, uint32_t side)
{
	struct vb_load_side *s = &c->side[side];
	uint32_t host = side ? c->dst : c->src;
	struct vb_mr_attr attr = {.length = (uint64_t)l->cfg.depth * vb_load_slot_bytes(l),
				  .access = ACCESS};
	int err = qp_create(l, c, side, host);

	if (err || l->mr)
		return err;
	s->mem = l->memory.alloc(l->memory.ctx, attr.length);
	if (!s->mem)
		return -ENOMEM;
	attr.host = s->mem;
	return vb_mr_create(vb_sim_pd(l->sim, host), &attr, &s->mr);
}

#define INIT_RC (VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_ACCESS_FLAGS)
#define INIT_UD (VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_QKEY)
#define RTR_UC (VB_QP_STATE | VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN | VB_QP_RQ_PSN)
#define RTR_RC (RTR_UC | VB_QP_MAX_DEST_RD_ATOMIC | VB_QP_MIN_RNR_TIMER)
#define RTS_UC (VB_QP_STATE | VB_QP_SQ_PSN)
#define RTS_RC (RTS_UC | VB_QP_TIMEOUT | VB_QP_RETRY_CNT | VB_QP_RNR_RETRY | VB_QP_MAX_QP_RD_ATOMIC)

/* The attributes that each type gets on its way up; rts 0: it does not go there. IBA 11.2.5.2 */
static const struct {
	enum vb_qp_type type;
	uint32_t init, rtr, rts;
} ways_up[] = {
    {VB_QPT_RC, INIT_RC, RTR_RC, RTS_RC},
    {VB_QPT_UC, INIT_RC, RTR_UC, RTS_UC},
    {VB_QPT_UD, INIT_UD, VB_QP_STATE, RTS_UC},
    {VB_QPT_XRC_INI, INIT_RC, RTR_UC, RTS_RC},
    {VB_QPT_XRC_TGT, INIT_RC, RTR_RC, RTS_UC | VB_QP_TIMEOUT},
    {VB_QPT_DCI, INIT_RC, VB_QP_STATE | VB_QP_PATH_MTU, RTS_RC},
    {VB_QPT_DCT, INIT_RC, VB_QP_STATE | VB_QP_PATH_MTU | VB_QP_AV | VB_QP_MIN_RNR_TIMER, 0},
};

/* From one end to the other, or to the group. */
static struct vb_path path_of(const struct vb_load *l, const struct vb_connection *c, uint32_t side,
			      uint16_t sport)
{
	if (vb_connection_is_to_group(c))
		return vb_sim_group_path(l->sim, c->src, c->dst & ~VB_LOAD_GROUP, c->traffic_class);
	return vb_sim_route(l->sim, side ? c->dst : c->src, side ? c->src : c->dst, sport,
			    c->traffic_class);
}

static uint16_t pkey_index_of(struct vb_load *l, const struct vb_connection *c, uint32_t side)
{
	if (vb_connection_is_to_group(c))
		return vb_sim_pkey_find(l->sim, c->src, vb_load_group_of(l, c->dst)->pkey);
	return vb_sim_pkey_index(l->sim, side ? c->dst : c->src, side ? c->src : c->dst);
}

static int side_bring_up(struct vb_load *l, struct vb_connection *c, uint32_t side, uint16_t sport)
{
	const struct vb_load_config *cfg = &l->cfg;
	struct vb_qp *qp = c->side[side].qp;
	vb_time now = vb_sim_now(l->sim);
	uint32_t way = 0;
	struct vb_qp_attr a = {
	    .qp_state = VB_QPS_INIT,
	    .port = 1,
	    .pkey_index = pkey_index_of(l, c, side),
	    .qkey = VB_LOAD_QKEY,
	    .access = ACCESS,
	    .path = path_of(l, c, side, sport),
	    .path_mtu = cfg->mtu,
	    .dest_qpn = c->side[!side].qp ? vb_qp_number(c->side[!side].qp) : 0,
	    .max_dest_rd_atomic = side == 1 ? cfg->rd_atomic : 0,
	    .max_rd_atomic = side == 0 ? cfg->rd_atomic : 0,
	    .min_rnr_timer = cfg->min_rnr_timer,
	    .timeout = cfg->timeout,
	    .retry_cnt = cfg->retry_cnt,
	    .rnr_retry = cfg->rnr_retry,
	};
	int err;

	while (ways_up[way].type != type_of(l, c, side))
		way++;
	/* Datagrams and DC have the path in each work request. */
	if (side == 0)
		c->path = a.path;
	err = vb_qp_modify(qp, &a, ways_up[way].init, now);
	a.qp_state = VB_QPS_RTR;
	if (!err)
		err = vb_qp_modify(qp, &a, ways_up[way].rtr, now);
	a.qp_state = VB_QPS_RTS;
	return err || !ways_up[way].rts ? err : vb_qp_modify(qp, &a, ways_up[way].rts, now);
}

int vb_load_post_recv(struct vb_load *l, uint32_t connection, uint32_t slot, vb_time now)
{
	const struct vb_connection *c = &l->connection[connection];
	const struct vb_load_side *s = &c->side[1];
	struct vb_sge sge = {
	    .addr = (uint64_t)slot * vb_load_slot_bytes(l),
	    .length = vb_load_slot_bytes(l),
	    .lkey = vb_mr_lkey(s->mr ? s->mr : l->mr[c->dst]),
	};
	struct vb_recv_wr wr = {
	    .wr_id = VB_LOAD_WR_RECV | (uint64_t)slot << 32 | connection,
	    .sge = &sge,
	    .sge_cnt = 1,
	};

	return s->srq ? vb_srq_post(s->srq, &wr) : vb_qp_post_recv(s->qp, &wr, now);
}

int vb_load_repost(struct vb_load *l, uint32_t connection, uint32_t slot, vb_time now)
{
	struct vb_connection *c = &l->connection[connection];

	if (!l->cfg.receive_delay)
		return vb_load_post_recv(l, connection, slot, now);
	/* Receives are used in the order in which they were posted. */
	VB_ASSERT_ALL(c->late_cnt < l->cfg.depth);
	VB_ASSERT_ALL(c->late_cnt == 0 || (c->late_first + c->late_cnt) % l->cfg.depth == slot);
	c->late[slot] = now + l->cfg.receive_delay;
	if (c->late_cnt++ == 0) {
		c->late_first = slot;
		vb_eventq_set(&l->starts, l->cfg.flows_max + VB_LOAD_PATTERNS_MAX + connection,
			      c->late[slot]);
		vb_load_arm(l);
	}
	return 0;
}

void vb_load_post_late(struct vb_load *l, uint32_t connection, vb_time now)
{
	struct vb_connection *c = &l->connection[connection];

	for (; c->late_cnt && c->late[c->late_first] <= now; c->late_cnt--) {
		if (vb_load_post_recv(l, connection, c->late_first, now))
			c->broken_there = true;
		c->late_first = (c->late_first + 1) % l->cfg.depth;
	}
	if (c->late_cnt)
		vb_eventq_set(&l->starts, l->cfg.flows_max + VB_LOAD_PATTERNS_MAX + connection,
			      c->late[c->late_first]);
	vb_sim_touch(l->sim, c->dst);
}

/* The traffic class of a flow: its own, its pattern's, or that of the load. */
static uint8_t class_of(const struct vb_load *l, const struct vb_flow *f)
{
	uint16_t own = f->pattern < l->source_cnt ? l->source[f->pattern].p.traffic_class : 0;

	own = f->traffic_class ? f->traffic_class : own;
	return own & VB_LOAD_OWN_CLASS ? (uint8_t)own : l->cfg.traffic_class;
}

/* Makes one for @f, and others like it. */
static int connection_new(struct vb_load *l, const struct vb_flow *f, uint32_t *to)
{
	uint32_t idx = l->connection_cnt;
	struct vb_connection *c = &l->connection[idx];
	uint32_t sides = vb_flow_is_to_group(f) ? 1 : 2;
	int err = 0;

	if (idx == l->cfg.connections_max)
		return -ENOMEM;
	l->connection_cnt++;
	*c = (struct vb_connection){.src = f->src,
				    .dst = f->dst,
				    .traffic_class = class_of(l, f),
				    .flow = VB_LOAD_NONE,
				    .inbound = VB_LOAD_NONE,
				    .inbound_last = VB_LOAD_NONE,
				    .posting = VB_LOAD_NONE};
	*to = idx;
	l->sport = (uint16_t)(l->sport + 1) | 0xc000u; /* ECMP spreads connections */
	if (l->cfg.receive_delay && sides == 2) {
		c->late = l->memory.alloc(l->memory.ctx, l->cfg.depth * sizeof *c->late);
		if (!c->late)
			return -ENOMEM;
	}
	for (uint32_t i = 0; !err && i < sides; i++)
		err = side_create(l, c, i);
	for (uint32_t i = 0; !err && i < sides; i++)
		err = side_bring_up(l, c, i, l->sport);
	for (uint32_t i = 0; !err && sides == 2 && i < l->cfg.depth; i++)
		err = vb_load_post_recv(l, idx, i, vb_sim_now(l->sim));
	return err;
}

/* An idle connection for a flow with @class, out of the list; VB_LOAD_NONE: there is none. */
static uint32_t idle_take(struct vb_load *l, const struct vb_flow *f, uint8_t class)
{
	uint32_t *at = &l->idle[f->src], found;

	while (*at != VB_LOAD_NONE) {
		const struct vb_connection *c = &l->connection[*at];

		if (c->broken_there)
			*at = c->next_idle;
		else if (c->dst == f->dst && c->traffic_class == class)
			break;
		else
			at = &l->connection[*at].next_idle;
	}
	found = *at;
	if (found != VB_LOAD_NONE)
		*at = l->connection[found].next_idle;
	return found;
}

/* The pattern of @f, if it has one. */
static struct vb_load_source *source_of(struct vb_load *l, const struct vb_flow *f)
{
	return f->pattern < l->source_cnt ? &l->source[f->pattern] : NULL;
}

/* The place of the connection that @f shares with others, among those of its pattern. */
static uint32_t place_of(const struct vb_load_source *s, const struct vb_flow *f)
{
	if (s->run)
		return vb_graph_run_pair(s->run, f->step);
	if (s->p.shape == VB_LOAD_PING_PONG)
		return f->step & 1;
	return f->src * (s->p.hosts - 1) + f->step - 1;
}

/* Where it is kept; NULL: it shares none. */
static uint32_t *shared_place(const struct vb_load_source *s, const struct vb_flow *f)
{
	return s && s->connection ? &s->connection[place_of(s, f)] : NULL;
}

/* Finds one that is there. */
static uint32_t connection_find(struct vb_load *l, const struct vb_flow *f)
{
	const struct vb_load_source *s = source_of(l, f);
	const uint32_t *shared = shared_place(s, f);

	if (shared)
		return *shared;
	return s && s->p.new_connections ? VB_LOAD_NONE : idle_take(l, f, class_of(l, f));
}

/* One that flow @step of a pattern from @src to @dst shares, unless it is there. */
static int shared_make(struct vb_load *l, struct vb_load_source *s, uint32_t src, uint32_t dst,
		       uint32_t step)
{
	const struct vb_flow f = {
	    .src = src, .dst = dst, .step = step, .pattern = (uint16_t)(s - l->source)};
	uint32_t *place = shared_place(s, &f);
	int err;

	if (*place != VB_LOAD_NONE)
		return 0;
	err = connection_new(l, &f, place);
	if (!err)
		l->connection[*place].is_shared = true;
	return err;
}

static int graph_connect(struct vb_load *l, struct vb_load_source *s)
{
	const struct vb_graph *g = s->p.graph;
	int err = 0;

	for (uint32_t i = 0; !err && i < g->op_cnt; i++)
		if (g->op[i].kind == VB_GRAPH_SEND)
			err = shared_make(l, s, g->op[i].rank, g->op[i].peer, i);
	return err;
}

/* All connections of a pattern whose flows follow from others, before its first flow: ends in other
 * parts cannot be made while those are at work. */
static int source_connect(struct vb_load *l, struct vb_load_source *s)
{
	uint32_t n = s->p.hosts, cnt = s->run                            ? s->p.graph->pair_cnt
				       : s->p.shape == VB_LOAD_PING_PONG ? 2
									 : n * (n - 1);
	int err = 0;

	s->connection = l->memory.alloc(l->memory.ctx, (cnt + 1) * sizeof *s->connection);
	if (!s->connection)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt; i++)
		s->connection[i] = VB_LOAD_NONE;
	/* Of hosts with several NICs the first message of a pair chooses. */
	if (s->run)
		return l->cfg.nics ? 0 : graph_connect(l, s);
	if (s->p.shape == VB_LOAD_PING_PONG) {
		err = shared_make(l, s, s->p.src, s->p.dst, 0);
		return err ? err : shared_make(l, s, s->p.dst, s->p.src, 1);
	}
	for (uint32_t d = 1; !err && d < n; d++)
		for (uint32_t i = 0; !err && i < n; i++)
			err = shared_make(l, s, i, (i + d) % n, d);
	return err;
}

int vb_load_source_connect(struct vb_load *l, struct vb_load_source *s)
{
	if (s->connection || s->p.new_connections || (l->cfg.nics && !s->run))
		return 0;
	return source_connect(l, s);
}

void vb_load_await(struct vb_load *l, uint32_t flow)
{
	struct vb_connection *c = &l->connection[l->flow[flow].connection];

	VB_ASSERT_ALL(c->is_shared && l->flow[flow].next_in == VB_LOAD_NONE);
	if (!vb_sim_is_here(l->sim, c->dst))
		return;
	if (c->inbound == VB_LOAD_NONE)
		c->inbound = flow;
	else
		l->flow[c->inbound_last].next_in = flow;
	c->inbound_last = flow;
}

/* Flow is the last of those that are on @c. */
static void connection_enter(struct vb_load *l, struct vb_connection *c, uint32_t flow)
{
	if (c->flow == VB_LOAD_NONE)
		c->flow = flow;
	else
		l->flow[c->last].next = flow;
	c->last = flow;
	if (c->posting == VB_LOAD_NONE)
		c->posting = flow;
	/* One that was alone may have left the far end waiting for what will not come. */
	if (!c->is_shared)
		c->inbound = flow;
}

int vb_load_connect(struct vb_load *l, struct vb_flow *f, uint32_t flow)
{
	const struct vb_load_source *s = source_of(l, f);
	struct vb_connection *c;
	int err = 0;

	f->connection = connection_find(l, f);
	if (f->connection == VB_LOAD_NONE) {
		uint32_t *shared = shared_place(s, f);

		err = connection_new(l, f, &f->connection);
		if (!err && shared) {
			*shared = f->connection;
			l->connection[f->connection].is_shared = true;
		}
	}
	if (err)
		return err;
	c = &l->connection[f->connection];
	VB_ASSERT_ALL(c->src == f->src && c->dst == f->dst);
	VB_ASSERT_ALL(c->is_shared || (!c->broken && c->flow == VB_LOAD_NONE));
	c->is_single = s && s->p.new_connections;
	connection_enter(l, c, flow);
	return 0;
}

static void link_rename(uint32_t *link, uint32_t from, uint32_t to)
{
	if (*link == from)
		*link = to;
}

void vb_load_rename(struct vb_load *l, uint32_t from, uint32_t to)
{
	struct vb_connection *c;
	uint32_t i;

	if (l->flow[to].connection == VB_LOAD_NONE)
		return;
	c = &l->connection[l->flow[to].connection];
	for (i = c->flow; i != VB_LOAD_NONE && i != from; i = l->flow[i].next)
		link_rename(&l->flow[i].next, from, to);
	link_rename(&c->flow, from, to);
	link_rename(&c->last, from, to);
	link_rename(&c->posting, from, to);
	for (i = c->inbound; i != VB_LOAD_NONE && i != from; i = l->flow[i].next_in)
		link_rename(&l->flow[i].next_in, from, to);
	link_rename(&c->inbound, from, to);
	link_rename(&c->inbound_last, from, to);
}

/* Of flows that share a connection those which could not post anything end with the one before. */
static uint32_t successor_of(const struct vb_load *l, const struct vb_flow *f)
{
	uint32_t i = f->next;

	while (i != VB_LOAD_NONE && l->flow[i].status != VB_WC_SUCCESS &&
	       l->flow[i].completed == l->flow[i].posted)
		i = l->flow[i].next;
	return i;
}

void vb_load_leave(struct vb_load *l, struct vb_flow *f)
{
	struct vb_connection *c = &l->connection[f->connection];

	VB_ASSERT_ALL(c->src == f->src && c->dst == f->dst);
	VB_ASSERT_ALL(c->flow == VB_LOAD_NONE || &l->flow[c->flow] == f);
	c->flow = successor_of(l, f);
	f->next = VB_LOAD_NONE;
}

void vb_load_give_back(struct vb_load *l, const struct vb_flow *f)
{
	struct vb_connection *c = &l->connection[f->connection];

	/* A QP in ERR is of no use to the next flow. */
	if (c->broken || c->is_shared || c->is_single)
		return;
	c->next_idle = l->idle[f->src];
	l->idle[f->src] = f->connection;
}

uint32_t vb_load_connection_cnt(const struct vb_load *l)
{
	return l->connection_cnt;
}

void vb_load_end(const struct vb_load *l, uint32_t connection, int side, uint32_t *host,
		 uint32_t *qpn)
{
	const struct vb_connection *c = &l->connection[connection];
	bool is_group = side && vb_connection_is_to_group(c);

	*host = is_group ? UINT32_MAX : side ? c->dst : c->src;
	*qpn = is_group ? VB_QPN_MULTICAST : vb_qp_number(c->side[side].qp);
}

uint32_t vb_load_connection_flow(const struct vb_load *l, uint32_t connection)
{
	VB_ASSERT_ALL(connection < l->connection_cnt);
	return l->connection[connection].flow;
}
