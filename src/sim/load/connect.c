/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections of the load: pairs of QPs, made when needed and kept for the next flow. See load.h.
 */
#include "base/assert.h"
#include "sim/load/priv.h"

#include <errno.h>

#define ACCESS                                                                                     \
	(VB_ACCESS_LOCAL_WRITE | VB_ACCESS_REMOTE_WRITE | VB_ACCESS_REMOTE_READ |                  \
	 VB_ACCESS_REMOTE_ATOMIC)

static int side_create(struct vb_load *l, struct vb_load_side *s, uint32_t host)
{
	struct vb_qp_init init = {
	    .type = l->cfg.type,
	    .send_cq = vb_sim_cq(l->sim, host),
	    .recv_cq = vb_sim_cq(l->sim, host),
	    .cap = {.max_send_wr = l->cfg.depth,
		    .max_recv_wr = l->cfg.depth,
		    .max_send_sge = 1,
		    .max_recv_sge = 1},
	};
	struct vb_mr_attr attr = {.length = (uint64_t)l->cfg.depth * l->cfg.message_bytes,
				  .access = ACCESS};
	int err = vb_qp_create(vb_sim_pd(l->sim, host), &init, &s->qp);

	if (err || l->mr)
		return err;
	s->mem = l->memory.alloc(l->memory.ctx, attr.length);
	if (!s->mem)
		return -ENOMEM;
	attr.host = s->mem;
	return vb_mr_create(vb_sim_pd(l->sim, host), &attr, &s->mr);
}

static int side_bring_up(struct vb_load *l, struct vb_connection *c, uint32_t side, uint16_t sport)
{
	const struct vb_load_config *cfg = &l->cfg;
	struct vb_qp *qp = c->side[side].qp;
	vb_time now = vb_sim_now(l->sim);
	uint32_t from = side ? c->dst : c->src, to = side ? c->src : c->dst;
	struct vb_qp_attr a = {
	    .qp_state = VB_QPS_INIT,
	    .port = 1,
	    .access = ACCESS,
	    .path = vb_sim_route(l->sim, from, to, sport, c->traffic_class),
	    .path_mtu = cfg->mtu,
	    .dest_qpn = vb_qp_number(c->side[!side].qp),
	    .max_dest_rd_atomic = cfg->rd_atomic,
	    .max_rd_atomic = cfg->rd_atomic,
	    .min_rnr_timer = cfg->min_rnr_timer,
	    .timeout = cfg->timeout,
	    .retry_cnt = cfg->retry_cnt,
	    .rnr_retry = cfg->rnr_retry,
	};
	uint32_t init = VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_ACCESS_FLAGS;
	uint32_t rtr = VB_QP_STATE | VB_QP_AV | VB_QP_PATH_MTU | VB_QP_DEST_QPN | VB_QP_RQ_PSN;
	uint32_t rts = VB_QP_STATE | VB_QP_SQ_PSN;
	int err = vb_qp_modify(qp, &a, init, now);

	if (cfg->type == VB_QPT_RC) {
		rtr |= VB_QP_MAX_DEST_RD_ATOMIC | VB_QP_MIN_RNR_TIMER;
		rts |= VB_QP_TIMEOUT | VB_QP_RETRY_CNT | VB_QP_RNR_RETRY | VB_QP_MAX_QP_RD_ATOMIC;
	}
	a.qp_state = VB_QPS_RTR;
	if (!err)
		err = vb_qp_modify(qp, &a, rtr, now);
	a.qp_state = VB_QPS_RTS;
	return err ? err : vb_qp_modify(qp, &a, rts, now);
}

int vb_load_post_recv(struct vb_load *l, uint32_t connection, uint32_t slot)
{
	const struct vb_connection *c = &l->connection[connection];
	const struct vb_load_side *s = &c->side[1];
	struct vb_sge sge = {
	    .addr = (uint64_t)slot * l->cfg.message_bytes,
	    .length = l->cfg.message_bytes,
	    .lkey = vb_mr_lkey(s->mr ? s->mr : l->mr[c->dst]),
	};
	struct vb_recv_wr wr = {
	    .wr_id = VB_LOAD_WR_RECV | (uint64_t)slot << 32 | connection,
	    .sge = &sge,
	    .sge_cnt = 1,
	};

	return vb_qp_post_recv(s->qp, &wr, vb_sim_now(l->sim));
}

int vb_load_repost(struct vb_load *l, uint32_t connection, uint32_t slot, vb_time now)
{
	struct vb_connection *c = &l->connection[connection];

	if (!l->cfg.receive_delay)
		return vb_load_post_recv(l, connection, slot);
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
		if (vb_load_post_recv(l, connection, c->late_first))
			c->broken = true;
		c->late_first = (c->late_first + 1) % l->cfg.depth;
	}
	if (c->late_cnt)
		vb_eventq_set(&l->starts, l->cfg.flows_max + VB_LOAD_PATTERNS_MAX + connection,
			      c->late[c->late_first]);
	vb_sim_touch(l->sim, c->dst);
}

/* The traffic class of a flow: its pattern's, or that of the load. */
static uint8_t class_of(const struct vb_load *l, const struct vb_flow *f)
{
	uint16_t own = f->pattern < l->source_cnt ? l->source[f->pattern].p.traffic_class : 0;

	return own & VB_LOAD_OWN_CLASS ? (uint8_t)own : l->cfg.traffic_class;
}

static int connection_new(struct vb_load *l, struct vb_flow *f)
{
	uint32_t idx = l->connection_cnt;
	struct vb_connection *c = &l->connection[idx];
	int err;

	if (idx == l->cfg.connections_max)
		return -ENOMEM;
	l->connection_cnt++;
	*c = (struct vb_connection){.src = f->src, .dst = f->dst, .traffic_class = class_of(l, f)};
	f->connection = idx;
	l->sport = (uint16_t)(l->sport + 1) | 0xc000u; /* ECMP spreads connections */
	if (l->cfg.receive_delay) {
		c->late = l->memory.alloc(l->memory.ctx, l->cfg.depth * sizeof *c->late);
		if (!c->late)
			return -ENOMEM;
	}
	err = side_create(l, &c->side[0], f->src);
	if (!err)
		err = side_create(l, &c->side[1], f->dst);
	for (uint32_t i = 0; !err && i < 2; i++)
		err = side_bring_up(l, c, i, l->sport);
	for (uint32_t i = 0; !err && i < l->cfg.depth; i++)
		err = vb_load_post_recv(l, idx, i);
	return err;
}

int vb_load_connect(struct vb_load *l, struct vb_flow *f, uint32_t flow)
{
	int err = 0;
	uint8_t class = class_of(l, f);
	uint32_t *at = &l->idle[f->src];

	while (*at != VB_LOAD_NONE &&
	       (l->connection[*at].dst != f->dst || l->connection[*at].traffic_class != class))
		at = &l->connection[*at].next_idle;
	if (*at != VB_LOAD_NONE) {
		VB_ASSERT_ALL(l->connection[*at].flow == VB_LOAD_NONE &&
			      !l->connection[*at].broken);
		f->connection = *at;
		*at = l->connection[*at].next_idle;
	} else {
		err = connection_new(l, f);
	}
	if (!err)
		l->connection[f->connection].flow = flow;
	return err;
}

void vb_load_disconnect(struct vb_load *l, struct vb_flow *f)
{
	struct vb_connection *c = &l->connection[f->connection];

	c->flow = VB_LOAD_NONE;
	VB_ASSERT_ALL(c->src == f->src && c->dst == f->dst);
	c->base += f->posted;
	if (c->broken)
		return; /* a QP in ERR is of no use to the next flow */
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

	*host = side ? c->dst : c->src;
	*qpn = vb_qp_number(c->side[side].qp);
}
