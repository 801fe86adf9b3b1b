/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending by a port of an InfiniBand fabric, see ib.h. */
#include "link/ib/ib.h"

#include "link/ib/route.h"
#include "wire/be.h"

#include <stdlib.h>
#include <string.h>

#define LRH_LEN 8
#define GRH_LEN 40
#define BTH_PKEY_AT 2
#define BTH_DQPN_LOW 7
#define MTU_FIRST 256u /* code 1; each next one is double */

struct ib_link {
	struct vb_link link; /* first: the link is the object */
	struct vb_link_config cfg;
	struct vb_ib_link_config fabric;
	struct vb_tx_batch out; /* packets of a batch */
};

static struct ib_link *ib_of(struct vb_link *l)
{
	return (struct ib_link *)l;
}

/* The code of the least MTU that a payload fits. */
static uint8_t mtu_code(uint32_t payload)
{
	uint8_t code = 1;

	while (payload > MTU_FIRST << (code - 1))
		code++;
	return code;
}

static struct vb_ib_key packet_key(const struct ib_link *s, const struct vb_tx *tx)
{
	uint8_t port = tx->path->port;

	return (struct vb_ib_key){.port = port < VB_LINK_PORTS_MAX ? s->fabric.port[port]
								   : VB_IB_NOWHERE,
				  .dlid = tx->path->dlid,
				  .pkey = be16_get(tx->hdr + BTH_PKEY_AT),
				  .sl = tx->path->sl};
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
	       a->hdr[BTH_DQPN_LOW] == b->hdr[BTH_DQPN_LOW] &&
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

/* The QP that the packet names is at the port where it arrives. */
static bool is_heard(const struct ib_link *s, const struct vb_ib_route *r, const struct vb_tx *tx)
{
	const struct vb_ib_map *m = s->fabric.map;
	const struct vb_ib_routes *to = vb_ib_map_routes(m, tx->hdr[BTH_DQPN_LOW]);

	return r->fate == VB_IB_ARRIVES && r->at < m->port_cnt &&
	       __atomic_load_n(&to->node, __ATOMIC_RELAXED) == vb_ib_map_ports(m)[r->at].node;
}

/* Hands on the packets of @b from @from to @to. Returns how many were taken. */
static uint32_t hand_on(struct ib_link *s, const struct vb_tx_batch *b, uint32_t from, uint32_t to,
			vb_time now)
{
	struct vb_link *l = s->link.lower;

	if (to == b->cnt)
		return l->ops->send(l, b, from, now);
	s->out.cnt = to - from;
	s->out.fate = b->fate ? b->fate + from : NULL;
	memcpy(s->out.pkt, b->pkt + from, s->out.cnt * sizeof *b->pkt);
	return l->ops->send(l, &s->out, 0, now);
}

static uint32_t ib_send(struct vb_link *l, const struct vb_tx_batch *b, uint32_t from, vb_time now)
{
	struct ib_link *s = ib_of(l);
	uint32_t i = from;

	while (i < b->cnt) {
		const struct vb_tx *first = &b->pkt[i];
		struct vb_ib_route *r = route_of(s, first);
		uint32_t to = i + 1, n;

		while (to < b->cnt && goes_with(r, first, &b->pkt[to]))
			to++;
		n = is_heard(s, r, first) ? hand_on(s, b, i, to, now) : to - i;
		count_packets(s, r, first, n);
		i += n;
		if (i < to)
			break;
	}
	return i - from;
}

static uint32_t ib_recv(struct vb_link *l, struct vb_rx *rx, uint32_t cnt, vb_time now)
{
	return l->lower->ops->recv(l->lower, rx, cnt, now);
}

/* There is no other way to a process than its ring: one that has none is not waited for. */
static bool ib_rx_credit(struct vb_link *l, uint32_t dqpn, vb_time now, uint32_t *credit)
{
	if (!vb_link_rx_credit(l->lower, dqpn, now, credit))
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
    .close = ib_close,
};

int vb_ib_link_open(struct vb_link **out, const struct vb_link_config *cfg)
{
	struct ib_link *s;

	if (!cfg->fabric)
		return -EINVAL;
	s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	s->link = vb_link_before(cfg->lower, &ib_ops);
	s->cfg = *cfg;
	s->fabric = *cfg->fabric;
	*out = &s->link;
	return 0;
}
