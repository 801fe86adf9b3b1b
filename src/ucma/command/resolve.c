/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses are resolved at once here, for the environment answers at once, and so are routes of
 * RoCE; the program sees it as events, as ever. On InfiniBand a route is a PathRecord, which the
 * subnet administrator is asked for. CMP-37, CMP-38, CMP-43, FAB-51
 */
#include "ucma/priv.h"

#include <errno.h>

#define ROCE_HOP_LIMIT 64
#define ROCE_LIFETIME 16 /* 4.096 us * 2^n: what newer kernels take for RoCE */
#define FLOW_LABEL_MASK 0xfffffu

static bool same_kind(const struct vb_ucma_addr *a, const struct vb_ucma_addr *b)
{
	return a->family == b->family;
}

/* The unspecified address of @like's family. */
static struct vb_ucma_addr any_like(const struct vb_ucma_addr *like)
{
	struct vb_ucma_addr a = {.family = like->family, .pkey = like->pkey};

	if (like->family == VB_UCMA_AF_INET)
		a.gid = (struct vb_gid){{[10] = 0xff, [11] = 0xff}};
	return a;
}

/* To nobody in particular: to this host. */
static void aim_at_self(struct vb_ucma_addr *dst)
{
	if (dst->family == VB_UCMA_AF_INET)
		dst->gid = (struct vb_gid){{[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}};
	else
		dst->gid = (struct vb_gid){{[15] = 1}};
}

/* Both ends by their GIDs, which on RoCE are the addresses. */
static int ends_find(struct vb_ucma_id *id, const struct vb_ucma_addr *to)
{
	const struct vb_ucma_env *env = &id->u->cfg.env;

	if (!vb_ucma_is_ib(id->u))
		return 0;
	id->way.path.sgid = id->at.gid;
	return env->ib_gid(env->ctx, to, &id->way.path.dgid);
}

int vb_ucma_resolve_addr(struct vb_ucma_id *id, const struct vb_ucma_addr *src,
			 const struct vb_ucma_addr *dst)
{
	const struct vb_ucma_env *env = &id->u->cfg.env;
	struct vb_ucma_addr from, to = *dst;
	int err;

	if (dst->family == 0)
		return -EAFNOSUPPORT;
	if (id->state == VB_UCMA_IDLE) {
		struct vb_ucma_addr a = src && src->family ? *src : any_like(dst);

		if (!same_kind(&a, dst))
			return -EINVAL;
		id->dst = to;
		err = vb_ucma_bind(id, &a, false);
		if (err)
			return err;
	}
	if (id->state != VB_UCMA_ADDR_BOUND || !same_kind(&id->src, dst))
		return -EINVAL;
	if (vb_ucma_addr_is_any(&to))
		aim_at_self(&to);
	id->dst = to;
	from = id->src;
	err = env->route(env->ctx, &from, &to, &id->at);
	if (!err)
		err = ends_find(id, &to);
	if (err == -ENODEV) {
		(void)vb_ucma_event_add(id, VB_UCMA_EV_ADDR_ERROR, err);
		return 0;
	}
	if (err)
		return err;
	id->src.gid = from.gid;
	id->src.scope = from.scope;
	id->has_local = true;
	id->state = VB_UCMA_ADDR_RESOLVED;
	(void)vb_ucma_event_add(id, VB_UCMA_EV_ADDR_RESOLVED, 0);
	return 0;
}

int vb_ucma_resolve_route(struct vb_ucma_id *id, uint32_t timeout_ms, vb_time now)
{
	int err;

	if (timeout_ms == 0 || id->state != VB_UCMA_ADDR_RESOLVED)
		return -EINVAL;
	if (vb_ucma_is_ib(id->u)) {
		err = vb_ucma_ask_path(id, timeout_ms, now);
		if (!err)
			id->state = VB_UCMA_ROUTE_QUERY;
		return err;
	}
	id->state = VB_UCMA_ROUTE_RESOLVED;
	(void)vb_ucma_event_add(id, VB_UCMA_EV_ROUTE_RESOLVED, 0);
	return 0;
}

struct vb_path vb_ucma_path(const struct vb_ucma_id *id)
{
	if (vb_ucma_is_ib(id->u))
		return id->way.path;
	struct vb_path p = {
	    .sgid = id->at.gid,
	    .dgid = id->dst.gid,
	    .flow_label = ((uint32_t)id->src.port * 31 + id->dst.port) & FLOW_LABEL_MASK,
	    .port = id->at.hca_port,
	    .sl = id->tos >> 5,
	    .traffic_class = id->tos,
	    .hop_limit = ROCE_HOP_LIMIT,
	};

	p.udp_sport = vb_udp_sport(p.flow_label, 0, 0);
	return p;
}

uint8_t vb_ucma_lifetime(const struct vb_ucma_id *id)
{
	uint8_t own = vb_ucma_is_ib(id->u) ? id->way.lifetime : ROCE_LIFETIME;

	return id->ack_timeout_set && id->ack_timeout ? (uint8_t)(id->ack_timeout - 1) : own;
}

uint8_t vb_ucma_mtu(const struct vb_ucma_id *id)
{
	return vb_ucma_is_ib(id->u) && id->way.mtu ? id->way.mtu : id->at.mtu;
}

struct vb_sa_path vb_ucma_path_record(const struct vb_ucma_id *id)
{
	struct vb_path path = vb_ucma_path(id);

	return (struct vb_sa_path){.dgid = path.dgid,
				   .sgid = path.sgid,
				   .dlid = path.dlid,
				   .slid = path.slid,
				   .flow_label = path.flow_label,
				   .hop_limit = path.hop_limit,
				   .traffic_class = path.traffic_class,
				   .reversible = 1,
				   .numb_path = 1,
				   .pkey = vb_ucma_pkey(id),
				   .sl = path.sl,
				   .mtu_selector = VB_SA_EXACTLY,
				   .mtu = vb_ucma_mtu(id),
				   .rate_selector = VB_SA_EXACTLY,
				   .rate = id->way.rate, /* 0, any, on RoCE */
				   .lifetime_selector = VB_SA_EXACTLY,
				   .lifetime = vb_ucma_lifetime(id)};
}

void vb_ucma_way_take(struct vb_ucma_id *id, const struct vb_sa_path *p)
{
	id->way = (struct vb_ucma_way){.path = {.sgid = p->sgid,
						.dgid = p->dgid,
						.slid = p->slid,
						.dlid = p->dlid,
						.flow_label = p->flow_label,
						.port = id->at.hca_port,
						.sl = p->sl,
						.traffic_class = p->traffic_class,
						.hop_limit = p->hop_limit},
				       .mtu = p->mtu,
				       .rate = p->rate,
				       .lifetime = p->lifetime};
}

/* On InfiniBand packets have a GRH when they leave the subnet, or are for a group. IBA 8.3 */
static bool needs_grh(const struct vb_path *p)
{
	return !vb_path_has_lid(p) || p->hop_limit > 1 || vb_gid_is_multicast(&p->dgid);
}

/* Which of the LIDs of the port it is. IBA 4.1.3 */
static uint8_t path_bits(const struct vb_ucma_id *id, const struct vb_path *p)
{
	const struct vb_ucma_env *env = &id->u->cfg.env;
	struct vb_ucma_ib_port port;

	if (!vb_path_has_lid(p) || env->ib_port(env->ctx, id->at.hca_port, &port))
		return 0;
	return (uint8_t)(p->slid & ((1u << port.lmc) - 1));
}

struct vb_ucma_ah_attr vb_ucma_ah(const struct vb_ucma_id *id, const struct vb_path *p)
{
	struct vb_ucma_ah_attr a = {
	    .flow_label = p->flow_label,
	    .sgid_index = (uint8_t)id->at.gid_index,
	    .hop_limit = p->hop_limit,
	    .traffic_class = p->traffic_class,
	    .dlid = p->dlid,
	    .sl = p->sl,
	    .src_path_bits = path_bits(id, p),
	    .static_rate = id->way.rate,
	    .is_global = needs_grh(p),
	    .port_num = vb_ucma_port_num(id),
	};

	memcpy(a.dgid, p->dgid.b, sizeof a.dgid);
	return a;
}
