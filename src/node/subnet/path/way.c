/* SPDX-License-Identifier: BSD-2-Clause */
/* The way of a packet with the facts of its links, see path.h. */
#include "node/subnet/path/path.h"

#include "link/ib/route.h"
#include "node/host/process.h"
#include "node/subnet/live/live.h"
#include "wire/ib/hop.h"
#include "wire/pkey.h"

#include <string.h>

#define HOP_LIMIT_MOST 255

static struct vb_subnet_place place_of(const struct vb_subnet_daemon *d, uint32_t number)
{
	const struct vb_ib_map_port *p = &vb_ib_map_ports(d->adapter->map)[number];

	return (struct vb_subnet_place){p->node, p->number};
}

static struct vb_ib_map_port *map_port(const struct vb_subnet_daemon *d, struct vb_subnet_place at)
{
	return &vb_ib_map_ports(d->adapter->map)[vb_subnet_map_port(d->adapter, at)];
}

/* Only the counters of nodes on the way are brought up to date. */
static void port_facts(struct vb_subnet_daemon *d, uint32_t number, struct vb_path_port *p)
{
	struct vb_subnet_place at = place_of(d, number);

	vb_subnet_count(d, at.node);
	vb_subnet_path_port(d, at, p);
	p->id = number;
}

/* In real time: what waits in the lane of the link. */
static void lane_facts(const struct vb_subnet_daemon *d, uint32_t out, struct vb_path_hop *h)
{
	const struct vb_subnet_live *v = d->live;
	const struct vb_ib_lane *l;
	const struct vb_ib_item *head;

	if (!v || h->vl >= h->out.lane_cnt || h->vl >= VB_VL_DATA_MAX)
		return;
	l = &v->net.end[out].port.lane[h->vl];
	for (const struct vb_list *i = l->queue.next; i != &l->queue; i = i->next)
		h->waiting += vb_container_of(i, struct vb_ib_item, node)->len;
	if (vb_list_is_empty(&l->queue))
		return;
	head = vb_container_of(l->queue.next, struct vb_ib_item, node);
	if (!vb_credit_may_send(&l->tx, vb_blocks(head->len)))
		h->stalled = vb_time_since(l->head_since, v->net.now) * v->scale;
}

/* The link of port @out, to which the packet came from hop[i - 1]. */
static void hop_facts(struct vb_subnet_daemon *d, uint32_t out, struct vb_path_view *v)
{
	struct vb_path_hop *h = &v->hop[v->hop_cnt];
	const struct vb_path_hop *before = v->hop_cnt ? h - 1 : NULL;
	const struct vb_ib_map *m = d->adapter->map;
	const struct vb_ib_map_port *p = &vb_ib_map_ports(m)[out];
	bool is_switch = vb_ib_map_nodes(m)[p->node].is_switch;

	if (v->hop_cnt > VB_PATH_HOPS_MAX)
		return;
	memset(h, 0, sizeof *h);
	v->hop_cnt++;
	port_facts(d, out, &h->out);
	if (p->peer < m->port_cnt)
		port_facts(d, p->peer, &h->in);
	if (before && is_switch && strcmp(before->in.node, h->out.node) == 0)
		h->in_port = before->in.number;
	h->vl = vb_ib_lane(m, p, h->in_port, v->sl);
	lane_facts(d, out, h);
}

/* The switch whose table has no way. */
static void table_facts(const struct vb_subnet_daemon *d, uint32_t at, struct vb_path_view *v)
{
	const struct vb_ib_map *m = d->adapter->map;
	const struct vb_ib_map_node *n = &vb_ib_map_nodes(m)[vb_ib_map_ports(m)[at].node];

	v->at_port_cnt = n->port_cnt;
	v->at_top = n->unicast_top;
	v->entry = VB_PATH_NO_PORT;
	if (n->is_switch && v->dlid < VB_IB_LIDS)
		v->entry = vb_ib_map_lft(m, n->lft)[v->dlid];
}

static void walk_facts(struct vb_subnet_daemon *d, const struct vb_ib_key *key,
		       struct vb_path_view *v)
{
	const struct vb_routers routers = vb_subnet_map_routers(d);
	static struct vb_ib_route r;

	vb_ib_walk_by(d->adapter->map, &routers, key, &r);
	for (uint32_t i = 0; i < r.hop_cnt && i < VB_IB_HOPS_MAX; i++)
		hop_facts(d, r.hop[i].out, v);
	v->end = vb_subnet_path_end(r.fate);
	v->dlid = r.dlid;
	v->slid_last = r.slid;
	v->router_cnt = r.router_cnt;
	v->mtu_found = r.mtu < UINT8_MAX ? (uint8_t)r.mtu : 0;
	/* The link that the packet did not take is one of the way. */
	if (r.fate == VB_IB_SENT_NOT || r.fate == VB_IB_BARRED_OUT)
		hop_facts(d, r.at, v);
	if (r.at < d->adapter->map->port_cnt) {
		port_facts(d, r.at, &v->at);
		table_facts(d, r.at, v);
	}
}

/* The same of the copy that port @to gets. */
static void tree_facts(struct vb_subnet_daemon *d, const struct vb_ib_key *key, uint32_t to,
		       struct vb_path_view *v)
{
	struct vb_subnet_tree_way w;

	vb_subnet_tree_way(d->adapter->map, key, to, &w);
	for (uint32_t i = w.cnt; i-- > 0;)
		hop_facts(d, w.out[i], v);
	v->end = w.end == VB_PATH_NO_COPY && !w.is_reached ? VB_PATH_NO_TREE : w.end;
	port_facts(d, w.at, &v->at);
	for (uint32_t i = 0; i < v->hop_cnt; i++)
		if (!v->mtu_found || v->hop[i].out.mtu < v->mtu_found)
			v->mtu_found = v->hop[i].out.mtu;
}

/* The port of the fabric that has the LID, in the subnet with that prefix if there is one. */
static uint32_t port_of_lid(const struct vb_subnet_daemon *d, uint16_t lid, uint64_t prefix)
{
	const struct vb_ib_map *m = d->adapter->map;
	uint32_t found = VB_IB_NOWHERE;

	for (uint32_t i = 0; i < m->port_cnt; i++) {
		const struct vb_ib_map_port *p = &vb_ib_map_ports(m)[i];

		if (!p->lid || lid < p->lid || lid >= p->lid + (1u << (p->lmc & 7)))
			continue;
		if (p->prefix == prefix)
			return i;
		found = i;
	}
	return found;
}

static uint32_t port_of_guid(const struct vb_subnet_daemon *d, uint64_t prefix, uint64_t guid)
{
	const struct vb_ib_map *m = d->adapter->map;

	for (uint32_t i = 0; i < m->port_cnt; i++) {
		const struct vb_ib_map_port *p = &vb_ib_map_ports(m)[i];

		for (uint32_t k = 0; k < VB_IB_GUIDS; k++)
			if (p->guid[k] && p->guid[k] == guid && p->prefix == prefix)
				return i;
	}
	return VB_IB_NOWHERE;
}

/* The LID of the router in subnet @from that leads to subnet @to, else of the first one in @from;
 * 0: there is none. */
static uint16_t router_lid(const struct vb_subnet_daemon *d, uint64_t from, uint64_t to,
			   bool *leads)
{
	const struct vb_routers all = vb_subnet_map_routers(d);
	const struct vb_ib_map *m = d->adapter->map;
	struct vb_router_at next;

	*leads = vb_routers_find(&all, from, to, &next);
	if (*leads)
		return vb_routers_port(&all, next).lid;
	for (uint32_t i = 0; i < m->port_cnt; i++) {
		const struct vb_ib_map_port *p = &vb_ib_map_ports(m)[i];

		if (p->lid && p->prefix == from && vb_ib_map_nodes(m)[p->node].is_router)
			return p->lid;
	}
	return 0;
}

/* The first P_Key of @from that @to lets pass; without one its first. */
static uint16_t common_pkey(const struct vb_ib_map_port *from, const struct vb_ib_map_port *to)
{
	for (uint32_t i = 0; i < VB_IB_PKEYS; i++)
		if (vb_pkey_passes(to->pkey, VB_IB_PKEYS, from->pkey[i]))
			return from->pkey[i];
	return from->pkey[0];
}

/* The receiver that a question names by its LID or its GID alone. */
static void receiver_find(const struct vb_subnet_daemon *d, const struct vb_ib_map_port *from,
			  struct vb_subnet_question *q)
{
	uint32_t found =
	    q->guid ? port_of_guid(d, q->prefix, q->guid) : port_of_lid(d, q->dlid, from->prefix);

	q->has_to = found != VB_IB_NOWHERE;
	if (q->has_to)
		q->to = place_of(d, found);
}

/* Fills in what the question leaves open: the receiver, or its LID and, behind a router, its GID.
 * False: no router leads there. */
static bool question_complete(const struct vb_subnet_daemon *d, struct vb_subnet_question *q)
{
	const struct vb_ib_map_port *from = map_port(d, q->from), *to = map_port(d, q->to);
	bool leads = true;

	if (!q->has_pkey)
		q->pkey = q->has_common_pkey ? common_pkey(from, to) : from->pkey[q->pkey_index];
	if (!q->has_to)
		receiver_find(d, from, q);
	else if (!q->has_dlid && to->lid && to->prefix != from->prefix) {
		q->dlid = router_lid(d, from->prefix, to->prefix, &leads);
		q->has_dlid = q->dlid != 0;
		q->prefix = to->prefix;
		q->guid = to->guid[0];
		if (!q->hop_limit)
			q->hop_limit = HOP_LIMIT_MOST;
	} else if (!q->has_dlid && to->lid) {
		q->dlid = (uint16_t)(to->lid + q->path_bits);
		q->has_dlid = true;
	}
	return leads;
}

/* Programs at the receiver's node that do not run. */
static void programs_facts(const struct vb_subnet_daemon *d, uint32_t node, struct vb_path_view *v)
{
	for (uint32_t k = VB_SLOT_FIRST; k <= VB_IB_SLOT_LAST; k++) {
		const struct vb_subnet_slot *s = &d->adapter->slot[k];
		struct vb_path_program *p = &v->stopped[v->stopped_cnt];

		if (!s->owner || s->owner->seat->index != node ||
		    v->stopped_cnt == VB_PATH_PROGRAMS ||
		    !vb_process_is_stopped((pid_t)s->shm->pid))
			continue;
		p->pid = s->shm->pid;
		snprintf(p->comm, sizeof p->comm, "%.15s", s->shm->comm);
		v->stopped_cnt++;
	}
}

void vb_subnet_path_view(struct vb_subnet_daemon *d, const struct vb_subnet_question *asked,
			 struct vb_path_view *v)
{
	struct vb_subnet_question q = *asked;
	struct vb_ib_key key = {.port = vb_subnet_map_port(d->adapter, q.from)};

	memset(v, 0, sizeof *v);
	vb_subnet_live_step(d);
	v->no_router = !question_complete(d, &q);
	snprintf(v->fabric, sizeof v->fabric, "%s", d->name);
	vb_subnet_path_manager(d, &v->manager);
	v->real_time = d->real_time;
	v->slid = map_port(d, q.from)->lid;
	v->dlid = v->dlid_sent = q.dlid;
	v->pkey = q.pkey;
	v->sl = q.sl;
	v->mtu = q.mtu;
	v->has_grh = q.guid != 0;
	v->hop_limit = q.hop_limit;
	v->from_prefix = map_port(d, q.from)->prefix;
	v->prefix = q.prefix;
	v->guid = q.guid;
	port_facts(d, key.port, &v->from);
	if (q.has_to) {
		port_facts(d, vb_subnet_map_port(d->adapter, q.to), &v->to);
		programs_facts(d, q.to.node, v);
	}
	if (!q.has_dlid) {
		v->end = VB_PATH_NO_LID;
		v->at = v->from;
		return;
	}
	key.dlid = q.dlid;
	key.pkey = q.pkey;
	key.sl = q.sl;
	key.mtu = q.mtu;
	key.hop_limit = q.hop_limit;
	key.prefix = q.prefix;
	key.guid = q.guid;
	key.is_from_link_local = map_port(d, q.from)->prefix == VB_PREFIX_LINK_LOCAL;
	if (q.dlid >= VB_PATH_MULTICAST) {
		tree_facts(d, &key, vb_subnet_map_port(d->adapter, q.to), v);
		return;
	}
	walk_facts(d, &key, v);
	v->has_owner = port_of_lid(d, v->dlid, 0) != VB_IB_NOWHERE;
}

bool vb_subnet_question_turn(const struct vb_subnet_daemon *d, const struct vb_path_view *v,
			     const struct vb_subnet_question *q, struct vb_subnet_question *back)
{
	struct vb_subnet_question done = *q;
	const uint16_t *pkeys;
	uint32_t entry;

	(void)question_complete(d, &done);
	if (!done.has_to || done.to.node == done.from.node ||
	    !vb_subnet_has_verbs(d, done.to.node) || v->dlid >= VB_PATH_MULTICAST)
		return false;
	*back = (struct vb_subnet_question){.from = done.to,
					    .to = done.from,
					    .has_to = true,
					    .sl = done.sl,
					    .mtu = done.mtu,
					    .hop_limit = done.hop_limit};
	/* The answer has the P_Key of the entry that let the packet in. IBA 10.9.3 */
	pkeys = map_port(d, done.to)->pkey;
	entry = vb_pkey_entry(pkeys, VB_IB_PKEYS, done.pkey);
	back->has_pkey = entry < VB_IB_PKEYS;
	if (back->has_pkey)
		back->pkey = pkeys[entry];
	return true;
}
