/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending by a port of an InfiniBand fabric, see ib.h. */
#include "link/ib/ib.h"

#include "link/ib/capture.h"
#include "link/ib/carry.h"
#include "link/ib/route.h"
#include "wire/be.h"
#include "wire/ib/hop.h"
#include "wire/ib/lrh.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LRH_LEN 8
#define GRH_LEN 40
#define BTH_PKEY_AT 2
#define MTU_FIRST 256u /* code 1; each next one is double */

/* Ports of the processes that packets of one group reach, as bits of their numbers. */
struct reach {
	struct vb_ib_key key;       /* of the tree... */
	uint32_t generation;        /* ... and its generation */
	uint32_t node[VB_IB_SLOTS]; /* of the process when this was found */
	uint32_t ports[VB_IB_SLOTS];
};

struct ib_link {
	struct vb_link link; /* first: the link is the object */
	struct vb_link_config cfg;
	struct vb_ib_link_config fabric;
	const uint32_t *tap_on;          /* nonzero while somebody captures */
	struct vb_tx_batch out;          /* packets of a batch */
	struct vb_path routed;           /* of those that leave the last router */
	struct reach reach;              /* of the last group that was sent to */
	uint32_t refs[VB_IB_MULTICASTS]; /* by multicast LID: QPs that listen to it */
};

static struct ib_link *ib_of(struct vb_link *l)
{
	return (struct ib_link *)l;
}

static bool is_tapped(const struct ib_link *s)
{
	return __builtin_expect(__atomic_load_n(s->tap_on, __ATOMIC_RELAXED) != 0, 0);
}

/* The time of packets that leave next, for a capture: before anybody may have answered them. */
static uint64_t leaving_at(const struct ib_link *s)
{
	struct timespec t;

	if (!is_tapped(s))
		return 0;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * VB_SEC + (uint64_t)t.tv_nsec;
}

/* The code of the least MTU that a payload fits. */
static uint8_t mtu_code(uint32_t payload)
{
	uint8_t code = 1;

	while (payload > MTU_FIRST << (code - 1))
		code++;
	return code;
}

/* The sending port, in the map. */
static uint32_t port_number(const struct ib_link *s, const struct vb_tx *tx)
{
	return tx->path->port < VB_LINK_PORTS_MAX ? s->fabric.port[tx->path->port] : VB_IB_NOWHERE;
}

static bool is_group(const struct vb_tx *tx)
{
	return tx->path->dlid >= VB_LID_MULTICAST;
}

static struct vb_ib_key packet_key(const struct ib_link *s, const struct vb_tx *tx)
{
	struct vb_ib_key key = {.port = port_number(s, tx),
				.dlid = tx->path->dlid,
				.pkey = be16_get(tx->hdr + BTH_PKEY_AT),
				.sl = tx->path->sl};

	/* A GRH may lead through routers; groups do not. */
	if (vb_path_has_grh(tx->path) && !is_group(tx)) {
		const struct vb_hop_packet p = vb_hop_packet_of(tx->path);

		key.prefix = p.prefix;
		key.guid = p.guid;
		key.hop_limit = p.hop_limit;
		key.is_from_link_local = p.is_from_link_local;
	}
	return key;
}

/* A packet that some hop is too small for goes another way: to its end there. */
static struct vb_ib_route *route_of(struct ib_link *s, const struct vb_tx *tx)
{
	struct vb_ib_key key = packet_key(s, tx);
	struct vb_ib_route *r = vb_ib_route_get(s->fabric.map, s->fabric.routes, &key);

	if (__builtin_expect(tx->payload_len <= MTU_FIRST, 0))
		return r;
	key.mtu = mtu_code(tx->payload_len);
	if (__builtin_expect(key.mtu <= r->mtu, 1))
		return r;
	return vb_ib_route_get(s->fabric.map, s->fabric.routes, &key);
}

/* The route @r of @a is that of @b, too. */
static bool goes_with(const struct vb_ib_route *r, const struct vb_tx *a, const struct vb_tx *b)
{
	return a->path == b->path && r->key.mtu == 0 && mtu_code(b->payload_len) <= r->mtu &&
	       vb_slot_of_bth(a->hdr) == vb_slot_of_bth(b->hdr) &&
	       memcmp(a->hdr + BTH_PKEY_AT, b->hdr + BTH_PKEY_AT, sizeof(uint16_t)) == 0;
}

/* LRH through ICRC. IBA 16.1.3.5, PortXmitData */
static uint32_t packet_words(const struct vb_tx *tx)
{
	uint32_t below = LRH_LEN + (vb_path_has_grh(tx->path) ? GRH_LEN : 0);

	return (below + vb_tx_wire_len(tx)) / 4;
}

/* @cnt packets of @pkt are sent by @r, or dropped on their way: what this port knows is the same.
 */
static void count_packets(struct ib_link *s, struct vb_ib_route *r, const struct vb_tx *pkt,
			  uint32_t cnt)
{
	uint64_t words = 0;

	for (uint32_t i = 0; i < cnt; i++)
		words += packet_words(&pkt[i]);
	vb_ib_route_count(s->fabric.routes, r, cnt, words);
}

/* The slot of the QP that the packet names; 0, which no process has, where a fabric has no such
 * slot. */
static uint32_t slot_of_packet(const struct vb_tx *tx)
{
	uint32_t slot = vb_slot_of_bth(tx->hdr);

	return slot < VB_IB_SLOTS ? slot : 0;
}

/* The QP that the packet names is at the port where it arrives. */
static bool is_heard(const struct ib_link *s, const struct vb_ib_route *r, const struct vb_tx *tx)
{
	const struct vb_ib_map *m = s->fabric.map;
	const struct vb_ib_routes *to = vb_ib_map_routes(m, slot_of_packet(tx));

	return r->fate == VB_IB_ARRIVES && r->at < m->port_cnt &&
	       __atomic_load_n(&to->node, __ATOMIC_RELAXED) == vb_ib_map_ports(m)[r->at].node;
}

/* The ports of node @node that the copies come to, and the sender's own, which hears what it sends
 * itself. */
static uint32_t ports_reached(const struct ib_link *s, const struct vb_ib_tree *t, uint32_t node)
{
	const struct vb_ib_map_port *p = vb_ib_map_ports(s->fabric.map);
	uint32_t cnt = s->fabric.map->port_cnt, own = t->key.port, ports = 0;

	if (own < cnt && p[own].may_send && p[own].node == node)
		ports |= 1u << p[own].number % 32;
	for (uint32_t i = 0; i < t->branch_cnt; i++) {
		const struct vb_ib_branch *b = &t->branch[i];

		if (b->fate == VB_IB_ARRIVES && b->at < cnt && p[b->at].node == node)
			ports |= 1u << p[b->at].number % 32;
	}
	return ports;
}

/* By which ports the process of slot @k gets packets of @t. */
static uint32_t ports_of_slot(struct ib_link *s, const struct vb_ib_tree *t, uint32_t k)
{
	const struct vb_ib_routes *to = vb_ib_map_routes(s->fabric.map, k);
	uint32_t node = __atomic_load_n(&to->node, __ATOMIC_RELAXED);
	uint32_t entry = t->key.dlid - VB_LID_MULTICAST;
	struct reach *r = &s->reach;

	if (node == VB_IB_NOWHERE || entry >= VB_IB_MULTICASTS ||
	    !(__atomic_load_n(&to->group[entry / 64], __ATOMIC_RELAXED) >> entry % 64 & 1))
		return 0;
	if (r->node[k] != node) {
		r->node[k] = node;
		r->ports[k] = ports_reached(s, t, node);
	}
	return r->ports[k];
}

/* Makes s->reach that of @t. */
static void reach_follow(struct ib_link *s, const struct vb_ib_tree *t)
{
	struct reach *r = &s->reach;

	if (r->generation == t->generation && memcmp(&r->key, &t->key, sizeof t->key) == 0)
		return;
	r->key = t->key;
	r->generation = t->generation;
	memset(r->node, 0xff, sizeof r->node);
}

/* Every process that gets a copy has room for some, or is not to be waited for: links of InfiniBand
 * lose nothing. */
static bool all_have_room(struct ib_link *s, const struct vb_ib_tree *t, vb_time now)
{
	uint32_t credit;

	for (uint32_t k = 0; k < VB_IB_SLOTS; k++)
		if (ports_of_slot(s, t, k) && vb_link_rx_credit(s->link.lower, k, now, &credit) &&
		    credit == 0)
			return false;
	return true;
}

/* Packets from @from on that go by one tree. */
static uint32_t group_length(const struct vb_tx_batch *b, uint32_t from)
{
	const struct vb_tx *first = &b->pkt[from];
	uint32_t to = from + 1;

	while (to < b->cnt && b->pkt[to].path == first->path &&
	       mtu_code(b->pkt[to].payload_len) == mtu_code(first->payload_len) &&
	       memcmp(first->hdr + BTH_PKEY_AT, b->pkt[to].hdr + BTH_PKEY_AT, sizeof(uint16_t)) ==
		   0)
		to++;
	return to - from;
}

/* Copies packets of a group from @from on to all who get them. Returns how many; 0: somebody has no
 * room. FAB-57 */
static uint32_t send_group(struct ib_link *s, const struct vb_tx_batch *b, uint32_t from,
			   vb_time now)
{
	struct vb_ib_key key = packet_key(s, &b->pkt[from]);
	uint32_t cnt = group_length(b, from);
	uint64_t words = 0, at = leaving_at(s);
	struct vb_ib_tree *t;

	key.mtu = mtu_code(b->pkt[from].payload_len);
	if (key.port >= s->fabric.map->port_cnt)
		return cnt;
	t = vb_ib_tree_get(s->fabric.map, s->fabric.routes, &key);
	reach_follow(s, t);
	if (!all_have_room(s, t, now))
		return 0;
	for (uint32_t k = 0; k < VB_IB_SLOTS; k++) {
		uint32_t ports = ports_of_slot(s, t, k);

		for (uint8_t p = 0; ports; p++, ports >>= 1)
			if (ports & 1)
				vb_link_copy(s->link.lower, b, from, from + cnt,
					     (struct vb_link_copy){(uint16_t)k, p}, now);
	}
	for (uint32_t i = from; i < from + cnt; i++)
		words += packet_words(&b->pkt[i]);
	vb_ib_tree_count(s->fabric.routes, t, cnt, words);
	if (__builtin_expect(at != 0, 0))
		vb_ib_capture_tree(s->fabric.capture, t, b, from, from + cnt, at);
	return cnt;
}

/* The same for packets that pass routers: they arrive with the headers that the last one gave them.
 * FAB-06 */
static uint32_t send_routed(struct ib_link *s, const struct vb_ib_route *r,
			    const struct vb_tx_batch *b, uint32_t from, uint32_t to, vb_time now)
{
	const struct vb_hop last = {.slid = r->slid, .dlid = r->dlid};

	s->routed = *b->pkt[from].path;
	vb_hop_pass(&s->routed, &last, r->router_cnt);
	s->out.cnt = to - from;
	s->out.fate = b->fate ? b->fate + from : NULL;
	memcpy(s->out.pkt, b->pkt + from, s->out.cnt * sizeof *b->pkt);
	for (uint32_t i = 0; i < s->out.cnt; i++)
		s->out.pkt[i].path = &s->routed;
	return s->link.lower->ops->send(s->link.lower, &s->out, 0, now);
}

static uint32_t send_heard(struct ib_link *s, const struct vb_ib_route *r,
			   const struct vb_tx_batch *b, uint32_t from, uint32_t to, vb_time now)
{
	if (__builtin_expect(r->router_cnt != 0, 0))
		return send_routed(s, r, b, from, to, now);
	return vb_link_send_part(s->link.lower, &s->out, b, from, to, now);
}

/* Packets of @b from @from on that have one route. Returns how many are done with. */
static uint32_t send_route(struct ib_link *s, const struct vb_tx_batch *b, uint32_t from,
			   uint32_t *to, vb_time now)
{
	const struct vb_tx *first = &b->pkt[from];
	struct vb_ib_route *r = route_of(s, first);
	uint64_t at = leaving_at(s);
	uint32_t n;

	for (*to = from + 1; *to < b->cnt && goes_with(r, first, &b->pkt[*to]);)
		++*to;
	n = is_heard(s, r, first) ? send_heard(s, r, b, from, *to, now) : *to - from;
	count_packets(s, r, first, n);
	if (__builtin_expect(at != 0, 0))
		vb_ib_capture_route(s->fabric.capture, r, b, from, from + n, at);
	return n;
}

static uint32_t ib_send(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from, vb_time now)
{
	struct ib_link *s = ib_of(l);
	uint32_t i = from;

	while (i < b->cnt) {
		uint32_t to = i + 1, n;

		if (__builtin_expect(s->fabric.map->carrier != 0, 0) &&
		    vb_ib_is_carried(s->fabric.map, port_number(s, &b->pkt[i]), &b->pkt[i]))
			n = vb_ib_carry(l->lower, s->fabric.map, port_number(s, &b->pkt[i]), b, i,
					&to, now);
		else if (__builtin_expect(is_group(&b->pkt[i]), 0))
			n = send_group(s, b, i, now);
		else
			n = send_route(s, b, i, &to, now);
		i += n;
		if (i < to)
			break;
	}
	return i - from;
}

/* The process listens to multicast LID @lid, or no longer does: bit @lid - 0xC000 of its groups. */
static int ib_join(struct vb_link *l, uint8_t port, const struct vb_gid *gid, uint16_t lid)
{
	struct ib_link *s = ib_of(l);
	uint32_t entry = (uint32_t)lid - VB_LID_MULTICAST;

	(void)port, (void)gid;
	if (entry >= VB_IB_MULTICASTS)
		return -EINVAL;
	if (s->refs[entry]++ == 0)
		__atomic_fetch_or(&s->fabric.routes->group[entry / 64], UINT64_C(1) << entry % 64,
				  __ATOMIC_RELEASE);
	return 0;
}

static void ib_leave(struct vb_link *l, uint8_t port, const struct vb_gid *gid, uint16_t lid)
{
	struct ib_link *s = ib_of(l);
	uint32_t entry = (uint32_t)lid - VB_LID_MULTICAST;

	(void)port, (void)gid;
	if (entry < VB_IB_MULTICASTS && s->refs[entry] && --s->refs[entry] == 0)
		__atomic_fetch_and(&s->fabric.routes->group[entry / 64],
				   ~(UINT64_C(1) << entry % 64), __ATOMIC_RELEASE);
}

static uint32_t ib_recv(struct vb_link *l, struct vb_rx *rx, uint32_t cnt, vb_time now)
{
	return l->lower->ops->recv(l->lower, rx, cnt, now);
}

/* There is no other way to a process than its ring: one that has none is not waited for. */
static bool ib_rx_credit(struct vb_link *l, uint32_t dqpn, vb_time now, uint32_t *credit)
{
	if (ib_of(l)->fabric.map->carrier)
		*credit = vb_ib_carry_credit(l->lower, ib_of(l)->fabric.map, now);
	else if (!vb_link_rx_credit(l->lower, dqpn, now, credit))
		*credit = UINT32_MAX;
	return true;
}

static void ib_close(struct vb_link *l)
{
	l->lower->ops->close(l->lower);
	free(l);
}

static const struct vb_link_ops ib_ops = {
    .name = "infiniband",
    .send = ib_send,
    .recv = ib_recv,
    .rx_credit = ib_rx_credit,
    .join = ib_join,
    .leave = ib_leave,
    .close = ib_close,
};

int vb_ib_link_open(struct vb_link **out, const struct vb_link_config *cfg)
{
	static const uint32_t never;
	struct ib_link *s;

	if (!cfg->fabric)
		return -EINVAL;
	s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	s->link = vb_link_before(cfg->lower, &ib_ops);
	s->cfg = *cfg;
	s->fabric = *cfg->fabric;
	s->tap_on = s->fabric.capture ? &s->fabric.capture->enabled : &never;
	*out = &s->link;
	return 0;
}
