/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups of the load: each member is a UD QP that is attached and receives. A flow sends
 * by a QP of its own (connect.c), so that a member at its host hears it as well; immediate data
 * names the flow that a message is of. See load.h. IBA 10.5; FAB-02, FAB-57
 */
#include "base/assert.h"
#include "sim/load/priv.h"
#include "sim/parts.h"

#include <errno.h>

/* Receives of a member. They are posted again at once; there are some for senders whose messages
 * come one behind the other, and for the member's own host. */
#define MEMBER_RECVS 64u

/* In the number of a receive: the group, its slot and the member. */
#define GROUP_SHIFT 48
#define SLOT_SHIFT 32

static uint64_t receive_number(uint32_t group, uint32_t member, uint32_t slot)
{
	return VB_LOAD_WR_RECV | VB_LOAD_WR_GROUP | (uint64_t)group << GROUP_SHIFT |
	       (uint64_t)slot << SLOT_SHIFT | member;
}

static uint32_t receive_bytes(const struct vb_load *l)
{
	return vb_load_datagram_bytes(l) + VB_GRH_LEN;
}

static int receive_post(struct vb_load *l, uint32_t group, uint32_t member, uint32_t slot)
{
	const struct vb_load_member *m = &l->group[group].member[member];
	struct vb_sge sge = {.addr = (uint64_t)slot * receive_bytes(l),
			     .length = receive_bytes(l),
			     .lkey = vb_mr_lkey(m->mr)};
	struct vb_recv_wr wr = {
	    .wr_id = receive_number(group, member, slot), .sge = &sge, .sge_cnt = 1};

	return vb_qp_post_recv(m->qp, &wr, vb_sim_now(l->sim));
}

static int memory_create(struct vb_load *l, struct vb_load_member *m)
{
	struct vb_mr_attr attr = {.length = (uint64_t)MEMBER_RECVS * receive_bytes(l),
				  .access = VB_ACCESS_LOCAL_WRITE};

	if (vb_sim_carries_data(l->sim)) {
		m->mem = l->memory.alloc(l->memory.ctx, attr.length);
		if (!m->mem)
			return -ENOMEM;
	}
	attr.host = m->mem;
	return vb_mr_create(vb_sim_pd(l->sim, m->host), &attr, &m->mr);
}

/* It receives from RTR on, and sends nothing. */
static int qp_bring_up(struct vb_load *l, const struct vb_load_member *m, uint16_t pkey)
{
	struct vb_qp_attr a = {.qp_state = VB_QPS_INIT,
			       .port = 1,
			       .pkey_index = vb_sim_pkey_find(l->sim, m->host, pkey),
			       .qkey = VB_LOAD_QKEY};
	vb_time now = vb_sim_now(l->sim);
	int err =
	    vb_qp_modify(m->qp, &a, VB_QP_STATE | VB_QP_PKEY_INDEX | VB_QP_PORT | VB_QP_QKEY, now);

	a.qp_state = VB_QPS_RTR;
	return err ? err : vb_qp_modify(m->qp, &a, VB_QP_STATE, now);
}

static int member_open(struct vb_load *l, uint32_t group, uint32_t member)
{
	struct vb_load_group *g = &l->group[group];
	struct vb_load_member *m = &g->member[member];
	struct vb_cq *cq = vb_sim_cq(l->sim, m->host);
	struct vb_qp_init init = {.type = VB_QPT_UD,
				  .send_cq = cq,
				  .recv_cq = cq,
				  .cap = {.max_recv_wr = MEMBER_RECVS, .max_recv_sge = 1}};
	const struct vb_gid gid = vb_sim_group_gid(l->sim, group);
	int err = vb_load_cq_reserve(l, m->host, MEMBER_RECVS);

	if (!err)
		err = vb_qp_create(vb_sim_pd(l->sim, m->host), &init, &m->qp);
	if (!err)
		err = memory_create(l, m);
	if (!err)
		err = qp_bring_up(l, m, g->pkey);
	for (uint32_t i = 0; !err && i < MEMBER_RECVS; i++)
		err = receive_post(l, group, member, i);
	if (!err)
		err = vb_qp_attach_mcast(m->qp, &gid, vb_sim_group_lid(l->sim, group));
	if (err)
		return err;
	m->is_attached = true;
	return vb_sim_join(l->sim, group, m->host);
}

static void member_close(struct vb_load *l, uint32_t group, struct vb_load_member *m)
{
	const struct vb_gid gid = vb_sim_group_gid(l->sim, group);

	if (m->is_attached)
		(void)vb_qp_detach_mcast(m->qp, &gid, vb_sim_group_lid(l->sim, group));
	if (m->qp)
		(void)vb_qp_destroy(m->qp);
	if (m->mr)
		(void)vb_mr_destroy(m->mr);
	if (m->mem)
		l->memory.free(l->memory.ctx, m->mem);
}

int vb_load_add_group(struct vb_load *l, const struct vb_load_group_config *c)
{
	uint32_t group = l->group_cnt, cnt = c->member ? c->member_cnt : l->host_cnt;
	uint16_t pkey = c->pkey ? c->pkey : VB_PKEY_DEFAULT;
	struct vb_load_group *g = &l->group[group];
	int err = 0;

	if (group == VB_SIM_GROUPS || cnt == 0 || vb_sim_part_cnt(l->sim) > 1)
		return -EINVAL;
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t host = c->member ? c->member[i] : i;

		if (host >= l->host_cnt || vb_sim_pkey_find(l->sim, host, pkey) == UINT16_MAX)
			return -EINVAL;
	}
	g->member = l->memory.alloc(l->memory.ctx, cnt * sizeof *g->member);
	if (!g->member)
		return -ENOMEM;
	l->group_cnt++;
	g->pkey = pkey;
	vb_sim_set_group_pkey(l->sim, group, pkey);
	for (; !err && g->member_cnt < cnt; g->member_cnt++) {
		g->member[g->member_cnt].host =
		    c->member ? c->member[g->member_cnt] : g->member_cnt;
		err = member_open(l, group, g->member_cnt);
	}
	return err;
}

void vb_load_groups_destroy(struct vb_load *l)
{
	for (uint32_t i = 0; i < l->group_cnt; i++) {
		struct vb_load_group *g = &l->group[i];

		for (uint32_t k = 0; k < g->member_cnt; k++)
			member_close(l, i, &g->member[k]);
		l->memory.free(l->memory.ctx, g->member);
	}
}

static struct vb_flow *flow_of_message(struct vb_load *l, uint32_t flow)
{
	VB_ASSERT_ALL(flow < l->flow_cnt && vb_flow_is_to_group(&l->flow[flow]));
	return &l->flow[flow];
}

static void message_count(struct vb_load *l, struct vb_load_group *g, const struct vb_wc *wc,
			  vb_time now)
{
	struct vb_flow *f = flow_of_message(l, wc->imm);
	uint64_t all;

	g->received++;
	/* Cables may double packets, also of a flow that is over. */
	if (f->delivered != VB_NEVER)
		return;
	all = (uint64_t)vb_load_message_cnt(l, f) * g->member_cnt;
	if (++f->received < all)
		return;
	f->delivered = now;
	vb_load_note(l, f->src, VB_LOAD_ARRIVED, wc->imm);
	vb_pattern_on_delivered(l, wc->imm, now);
}

void vb_load_group_received(struct vb_load *l, const struct vb_wc *wc, vb_time now)
{
	uint32_t group = (uint32_t)(wc->wr_id >> GROUP_SHIFT & (VB_SIM_GROUPS - 1)),
		 slot = (uint32_t)(wc->wr_id >> SLOT_SHIFT & (MEMBER_RECVS - 1)),
		 member = (uint32_t)wc->wr_id;
	struct vb_load_group *g = &l->group[group];

	if (wc->status != VB_WC_SUCCESS)
		return;
	VB_ASSERT_ALL(group < l->group_cnt && member < g->member_cnt);
	message_count(l, g, wc, now);
	if (receive_post(l, group, member, slot))
		l->failure = -ENOMEM;
	vb_sim_touch(l->sim, g->member[member].host);
}

uint32_t vb_load_group_cnt(const struct vb_load *l)
{
	return l->group_cnt;
}

void vb_load_group_stats(const struct vb_load *l, uint32_t group, struct vb_load_group_stats *st)
{
	const struct vb_load_group *g = &l->group[group];

	*st = (struct vb_load_group_stats){.members = g->member_cnt,
					   .sent = g->sent,
					   .due = g->sent * g->member_cnt,
					   .received = g->received};
}

uint32_t vb_load_group_member(const struct vb_load *l, uint32_t group, uint32_t member)
{
	return l->group[group].member[member].host;
}
