/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MADs between the agents of programs and the subnet: MADs that an agent sends go through the
 * subnet at once, and arriving ones go to the agents there, to the node's own, or is refused.
 * MAD-08, MAD-12, MAD-22, FAB-50
 */
#include "node/subnet/adapter/adapter.h"
#include "node/subnet/cm/cm.h"
#include "node/subnet/state.h"
#include "node/subnet/watch.h"

#include "wire/pkey.h"

#include <string.h>

#define QP1 1u
#define QKEY_OF_QP 0x80000000u

static struct vb_subnet_user *user_at(struct vb_subnet_daemon *d, struct vb_subnet_place at)
{
	for (struct vb_list *l = d->users.next; l != &d->users; l = l->next) {
		struct vb_subnet_user *u = vb_container_of(l, struct vb_subnet_user, node);

		if (u->at.node == at.node && u->at.port == at.port)
			return u;
	}
	return NULL;
}

/* The packet of a MAD that an agent sends. MAD-12 */
static void packet_make(struct vb_subnet_daemon *d, const struct vb_subnet_user *u,
			const struct vb_agents_out *out, struct vb_subnet_mad *m)
{
	const struct vb_sma_port *p = vb_subnet_sma_port(&d->subnet, u->at);
	const struct vb_mad_addr *a = &out->addr;

	*m = (struct vb_subnet_mad){
	    .at = u->at,
	    .on_qp0 = out->on_qp0,
	    .has_grh = a->has_grh,
	    .sl = a->sl,
	    .slid = (uint16_t)(p->info.lid | (a->path_bits & ((1u << p->info.lmc) - 1))),
	    .dlid = a->lid,
	    .src_qp = out->on_qp0 ? 0 : QP1,
	    .dst_qp = a->qpn,
	    /* Of one with the highest bit set the QP's own is sent. IBA 10.2.5; FAB-38 */
	    .qkey = a->qkey & QKEY_OF_QP ? VB_MAD_QKEY : a->qkey,
	    .pkey = p->pkey[a->pkey_index < VB_SUBNET_PKEYS ? a->pkey_index : 0],
	    .hop_limit = a->hop_limit,
	    .traffic_class = a->traffic_class,
	    .flow_label = a->flow_label,
	};
	memcpy(m->mad, out->mad, sizeof m->mad);
	if (!a->has_grh)
		return;
	memcpy(m->dgid, a->gid, sizeof m->dgid);
	vb_sma_gid(p, a->gid_index, m->sgid);
}

/* True: the connection manager of the node, or agents of programs at the port, have it. */
static bool hand_over(struct vb_subnet_daemon *d, const struct vb_subnet_mad *m, vb_time now)
{
	struct vb_subnet_user *u = user_at(d, m->at);
	const struct vb_sma_port *p = vb_subnet_sma_port(&d->subnet, m->at);
	uint32_t entry = vb_pkey_entry(p->pkey, VB_SUBNET_PKEYS, m->pkey);
	struct vb_mad_addr from = {
	    .qpn = m->src_qp,
	    .qkey = m->qkey,
	    .lid = m->slid,
	    .sl = m->sl,
	    .path_bits = m->path_bits,
	    .has_grh = m->has_grh,
	    .hop_limit = m->hop_limit,
	    .traffic_class = m->traffic_class,
	    .flow_label = m->flow_label,
	    .pkey_index = m->on_qp0 || entry == VB_SUBNET_PKEYS ? 0 : (uint16_t)entry,
	};

	if (vb_subnet_cm_take(d, m, now))
		return true;
	if (!u)
		return false;
	memcpy(from.gid, m->sgid, sizeof from.gid);
	return vb_agents_handle(u->agents, m->on_qp0, &from, m->mad, now);
}

/* The MAD is where it is for programs. */
static void arrived_packet(struct vb_subnet_daemon *d, struct vb_subnet_mad *m, vb_time now)
{
	/* A GMP is for QP1: other QPs are not here. */
	if (!m->on_qp0 && m->dst_qp != QP1)
		return;
	if (hand_over(d, m, now))
		return;
	if (vb_subnet_refuse(&d->subnet, m) && vb_subnet_carry(&d->subnet, m, now))
		(void)hand_over(d, m, now);
}

static void send_packet(struct vb_subnet_daemon *d, struct vb_subnet_mad *m, vb_time now)
{
	if (vb_subnet_send(&d->subnet, m, now))
		arrived_packet(d, m, now);
}

void vb_subnet_mad_arrive(struct vb_subnet_daemon *d, struct vb_subnet_mad *m, vb_time now)
{
	if (vb_subnet_receive(&d->subnet, m, now))
		arrived_packet(d, m, now);
}

static bool send_next(struct vb_subnet_daemon *d, struct vb_subnet_user *u, vb_time now)
{
	struct vb_agents_out out;
	struct vb_subnet_mad m;

	if (!vb_agents_poll_transmit(u->agents, &out, now))
		return false;
	packet_make(d, u, &out, &m);
	send_packet(d, &m, now);
	return true;
}

/* All that the connection manager of a node sends now. False: nothing. */
static bool send_connections(struct vb_subnet_daemon *d, struct vb_subnet_cm *cm, vb_time now)
{
	struct vb_subnet_mad m;
	bool sent = false;

	while (vb_subnet_cm_transmit(cm, &m)) {
		/* A question to a manager of whom nobody has heard is lost. */
		if (m.dlid != 0)
			send_packet(d, &m, now);
		sent = true;
	}
	return sent;
}

static struct vb_subnet_cm *cm_at(struct vb_list *l)
{
	return vb_container_of(l, struct vb_subnet_cm, node);
}

/* The manager's changes show in the trees of the nodes that programs are at, and their connection
 * managers follow them. */
static void tell_changes(struct vb_subnet_daemon *d, vb_time now)
{
	uint32_t node, changes;

	while (vb_subnet_poll_change(&d->subnet, &node, &changes)) {
		d->far_changed = true;
		vb_subnet_adapter_follow(d, node);
		vb_subnet_cm_follow(d, node, now);
		vb_subnet_watch_changes(d, node, changes);
		if (!(changes & ~(uint32_t)VB_SMA_SET))
			continue;
		for (struct vb_list *l = d->seats.next; l != &d->seats; l = l->next) {
			struct vb_subnet_seat *s = vb_container_of(l, struct vb_subnet_seat, node);

			if (s->index == node)
				vb_subnet_tree_update(d, s);
		}
	}
}

void vb_subnet_move(struct vb_subnet_daemon *d, vb_time now)
{
	struct vb_subnet_mad trap;
	bool moved = true;

	vb_subnet_handle_timeout(&d->subnet, now);
	for (struct vb_list *l = d->users.next; l != &d->users; l = l->next)
		vb_agents_handle_timeout(vb_container_of(l, struct vb_subnet_user, node)->agents,
					 now);
	for (struct vb_list *l = d->cms.next; l != &d->cms; l = l->next)
		if (vb_ucma_poll_timeout(cm_at(l)->host.ucma) <= now)
			vb_ucma_handle_timeout(cm_at(l)->host.ucma, now);
	while (moved) {
		moved = vb_subnet_poll_trap(&d->subnet, &trap, now);
		if (moved) {
			vb_subnet_watch_trap(d, trap.at.node, trap.mad);
			send_packet(d, &trap, now);
		}
		for (struct vb_list *l = d->users.next; l != &d->users; l = l->next)
			while (send_next(d, vb_container_of(l, struct vb_subnet_user, node), now))
				moved = true;
		for (struct vb_list *l = d->cms.next; l != &d->cms; l = l->next)
			moved |= send_connections(d, cm_at(l), now);
	}
	for (struct vb_list *l = d->cms.next; l != &d->cms; l = l->next)
		vb_cm_tell(&cm_at(l)->host);
	for (struct vb_list *l = d->users.next; l != &d->users; l = l->next)
		vb_subnet_deliver(d, vb_container_of(l, struct vb_subnet_user, node));
	tell_changes(d, now);
}

vb_time vb_subnet_due(const struct vb_subnet_daemon *d)
{
	vb_time due = vb_subnet_poll_timeout(&d->subnet);

	for (const struct vb_list *l = d->users.next; l != &d->users; l = l->next)
		due = vb_time_min(
		    due, vb_agents_poll_timeout(
			     vb_container_of(l, const struct vb_subnet_user, node)->agents));
	for (struct vb_list *l = d->cms.next; l != &d->cms; l = l->next)
		due = vb_time_min(due, vb_ucma_poll_timeout(cm_at(l)->host.ucma));
	return due;
}
