/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses and routes are resolved at once here, for the environment answers at once; the program
 * sees it as events, as ever. CMP-37, CMP-38, CMP-43
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
		err = vb_ucma_bind(id, &a);
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

int vb_ucma_resolve_route(struct vb_ucma_id *id, uint32_t timeout_ms)
{
	if (timeout_ms == 0 || id->state != VB_UCMA_ADDR_RESOLVED)
		return -EINVAL;
	id->state = VB_UCMA_ROUTE_RESOLVED;
	(void)vb_ucma_event_add(id, VB_UCMA_EV_ROUTE_RESOLVED, 0);
	return 0;
}

struct vb_path vb_ucma_path(const struct vb_ucma_id *id)
{
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
	return id->ack_timeout_set && id->ack_timeout ? (uint8_t)(id->ack_timeout - 1)
						      : ROCE_LIFETIME;
}

struct vb_ucma_ah_attr vb_ucma_ah(const struct vb_path *p, uint16_t gid_index)
{
	struct vb_ucma_ah_attr a = {
	    .flow_label = p->flow_label,
	    .sgid_index = (uint8_t)gid_index,
	    .hop_limit = p->hop_limit,
	    .traffic_class = p->traffic_class,
	    .sl = p->sl,
	    .is_global = 1,
	    .port_num = 1, /* each device has one port */
	};

	memcpy(a.dgid, p->dgid.b, sizeof a.dgid);
	return a;
}
