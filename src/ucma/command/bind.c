/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports of the port spaces, and listening. One table for all ids: two may have one port where their
 * addresses differ, or where both want it so and neither listens. CMP-29, CMP-36 to CMP-39,
 * CMP-50
 */
#include "ucma/priv.h"

#include <errno.h>

#define LOW_PORTS 1024u
/* Ports that are given by themselves may be other users': so many are tried. */
#define PORT_TRIES 64
#define PKEY_FULL 0x8000u /* of a full member */

static struct vb_list *port_bucket(struct vb_ucma *u, uint16_t ps, uint16_t port)
{
	return &u->port[(port ^ ps * 0x9e5u) % VB_UCMA_PORT_BUCKETS];
}

/* The id behind @l, when it has this port of this space; else NULL. */
static struct vb_ucma_id *port_owner(struct vb_list *l, uint16_t ps, uint16_t port)
{
	struct vb_ucma_id *id = vb_container_of(l, struct vb_ucma_id, in_port);

	return id->space == ps && id->src.port == port ? id : NULL;
}

/* Whether @id may have @port, at address @a, beside those who have it. */
static int port_check(struct vb_ucma_id *id, const struct vb_ucma_addr *a, uint16_t port,
		      bool reuses)
{
	struct vb_list *bucket = port_bucket(id->u, id->space, port);

	for (struct vb_list *l = bucket->next; l != bucket; l = l->next) {
		const struct vb_ucma_id *other = port_owner(l, id->space, port);

		if (!other || other == id || (reuses && other->reuses))
			continue;
		if (id->af_only && other->af_only && a->family != other->src.family)
			continue;
		if (vb_ucma_addr_is_any(a) || vb_ucma_addr_is_any(&other->src))
			return -EADDRNOTAVAIL;
		if (vb_ucma_addr_eq(a, &other->src))
			return -EADDRINUSE;
	}
	return 0;
}

/* Whether @port, given by itself, cannot be taken for another's: one peer tells them apart. */
static bool port_is_unique(struct vb_ucma_id *id, const struct vb_ucma_addr *a, uint16_t port)
{
	struct vb_list *bucket = port_bucket(id->u, id->space, port);

	for (struct vb_list *l = bucket->next; l != bucket; l = l->next) {
		const struct vb_ucma_id *other = port_owner(l, id->space, port);

		if (!other || other == id)
			continue;
		if (id->dst.port && id->dst.port != other->dst.port)
			continue;
		if (!vb_ucma_addr_is_any(a) && !vb_ucma_addr_is_any(&other->src) &&
		    !vb_ucma_addr_eq(a, &other->src))
			continue;
		if (!vb_ucma_addr_is_any(&id->dst) && !vb_ucma_addr_is_any(&other->dst) &&
		    !vb_ucma_addr_eq(&id->dst, &other->dst))
			continue;
		return false;
	}
	return true;
}

/* The port that was given last is the last choice, so that no late packet meets who has it next.
 * CMP-39 */
static int port_choose(struct vb_ucma_id *id, const struct vb_ucma_addr *a, uint16_t *port)
{
	struct vb_ucma *u = id->u;
	uint32_t cnt = (uint32_t)u->cfg.port_last - u->cfg.port_first + 1;
	uint32_t at = vb_rng_below(&u->rng, cnt);

	for (uint32_t i = 0; i < cnt; i++) {
		uint16_t p = (uint16_t)(u->cfg.port_first + (at + i) % cnt);

		if (p == u->port_last_given || !port_is_unique(id, a, p))
			continue;
		u->port_last_given = *port = p;
		return 0;
	}
	*port = u->port_last_given;
	return *port && port_is_unique(id, a, *port) ? 0 : -EADDRNOTAVAIL;
}

/* The port space that an address asks for, 0: none that goes with the id's. A service ID of AF_IB
 * may leave it open by its mask. */
static uint16_t port_space(const struct vb_ucma_id *id, const struct vb_ucma_addr *a)
{
	static const uint16_t spaces[] = {VB_UCMA_PS_IB, VB_UCMA_PS_TCP, VB_UCMA_PS_UDP};
	uint64_t mask = a->sid_mask & ~(uint64_t)UINT16_MAX;

	if (a->family != VB_UCMA_AF_IB)
		return id->ps;
	for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++)
		if ((id->ps == VB_UCMA_PS_IB || id->ps == spaces[i]) &&
		    (a->sid & mask) == ((uint64_t)spaces[i] << 16 & mask))
			return spaces[i];
	return 0;
}

int vb_ucma_claim(struct vb_ucma_id *id)
{
	const struct vb_ucma_env *env = &id->u->cfg.env;
	static const struct vb_gid any;
	int err;

	if (!env->claim || id->has_claim)
		return 0;
	id->claim_service = vb_ucma_service_id(id, &id->src);
	id->claim_gid = vb_ucma_addr_is_any(&id->src) ? any : id->src.gid;
	err = env->claim(env->ctx, id->claim_service, &id->claim_gid, true);
	id->has_claim = err == 0;
	return err;
}

static void claim_end(struct vb_ucma_id *id)
{
	const struct vb_ucma_env *env = &id->u->cfg.env;

	if (id->has_claim)
		(void)env->claim(env->ctx, id->claim_service, &id->claim_gid, false);
	id->has_claim = false;
}

void vb_ucma_claim_again(struct vb_ucma *u)
{
	for (uint32_t i = 0; i < u->cfg.ids; i++) {
		struct vb_ucma_id *id = u->ids[i];

		if (!id || !id->has_claim)
			continue;
		id->has_claim = false;
		(void)vb_ucma_claim(id);
	}
}

/* The address, with a port that is free here and, with @claims, among other users. */
static int address_take(struct vb_ucma_id *id, const struct vb_ucma_addr *a, bool claims)
{
	uint16_t port = a->port;
	int err = 0;

	for (int tries = 0; tries < PORT_TRIES; tries++) {
		err = port ? port_check(id, a, port, id->reuses) : port_choose(id, a, &port);
		if (err)
			return err;
		id->src = *a;
		id->src.port = port;
		if (a->family == VB_UCMA_AF_IB) {
			id->src.sid = (uint64_t)id->space << 16 | port;
			id->src.sid_mask |= ~(uint64_t)UINT16_MAX;
		}
		err = claims ? vb_ucma_claim(id) : 0;
		if (err != -EADDRINUSE || a->port)
			return err;
		port = 0;
	}
	return err;
}

int vb_ucma_bind(struct vb_ucma_id *id, const struct vb_ucma_addr *a, bool claims)
{
	const struct vb_ucma_env *env = &id->u->cfg.env;
	struct vb_ucma_local at = {0};
	int err = 0;

	if (id->state != VB_UCMA_IDLE)
		return -EINVAL;
	if (a->family == 0)
		return -EAFNOSUPPORT;
	if (!vb_ucma_addr_is_any(a))
		err = env->local(env->ctx, a, &at);
	/* A GID is a device's, or nobody's. CMP-38 */
	if (err)
		return a->family == VB_UCMA_AF_IB ? -ENODEV : err;
	if (a->port && a->port < LOW_PORTS && !env->may_bind_low(env->ctx))
		return -EACCES;
	id->space = port_space(id, a);
	if (!id->space)
		return -EPROTONOSUPPORT;
	err = address_take(id, a, claims);
	if (err) {
		id->src = (struct vb_ucma_addr){0};
		return err;
	}
	id->at = at;
	id->has_local = at.hca_port != 0;
	id->state = VB_UCMA_ADDR_BOUND;
	vb_ucma_bind_again(id);
	return 0;
}

void vb_ucma_bind_again(struct vb_ucma_id *id)
{
	id->is_bound = true;
	vb_list_append(port_bucket(id->u, id->space, id->src.port), &id->in_port);
}

void vb_ucma_unbind(struct vb_ucma_id *id)
{
	claim_end(id);
	vb_list_remove(&id->in_port);
	vb_list_init(&id->in_port);
	id->is_bound = false;
}

uint64_t vb_ucma_service_id(const struct vb_ucma_id *id, const struct vb_ucma_addr *a)
{
	return a->family == VB_UCMA_AF_IB ? a->sid : (uint64_t)id->ps << 16 | a->port;
}

/* The port of the id on InfiniBand. False: it has none, or the device is one of RoCE. */
static bool ib_port_of(const struct vb_ucma_id *id, struct vb_ucma_ib_port *port)
{
	const struct vb_ucma_env *env = &id->u->cfg.env;

	return vb_ucma_is_ib(id->u) && id->has_local &&
	       env->ib_port(env->ctx, id->at.hca_port, port) == 0;
}

/* Addresses of IP are those of the port's first partition, as with IPoIB. RFC 4391 */
uint16_t vb_ucma_pkey(const struct vb_ucma_id *id)
{
	struct vb_ucma_ib_port port;

	if (id->src.family == VB_UCMA_AF_IB && id->src.pkey)
		return id->src.pkey;
	return ib_port_of(id, &port) && port.pkey_cnt ? port.pkey[0] | PKEY_FULL
						      : VB_UCMA_PKEY_DEFAULT;
}

uint16_t vb_ucma_pkey_index_at(const struct vb_ucma_ib_port *port, uint16_t pkey)
{
	uint16_t found = 0;

	/* That of a full member before that of a limited one. */
	for (uint32_t i = port->pkey_cnt; i-- > 0;)
		if (((port->pkey[i] ^ pkey) & ~PKEY_FULL) == 0 &&
		    (port->pkey[i] & PKEY_FULL || !(port->pkey[found] & PKEY_FULL) ||
		     ((port->pkey[found] ^ pkey) & ~PKEY_FULL) != 0))
			found = (uint16_t)i;
	return found;
}

uint16_t vb_ucma_pkey_index(const struct vb_ucma_id *id)
{
	struct vb_ucma_ib_port port;

	return ib_port_of(id, &port) ? vb_ucma_pkey_index_at(&port, vb_ucma_pkey(id)) : 0;
}

int vb_ucma_listen_again(struct vb_ucma_id *id)
{
	struct vb_ucma *u = id->u;
	uint64_t sid = vb_ucma_service_id(id, &id->src);
	struct vb_ucma_service *s;
	int err;

	for (struct vb_list *l = u->services.next; l != &u->services; l = l->next) {
		s = vb_container_of(l, struct vb_ucma_service, all);
		if (s->service_id == sid)
			goto found;
	}
	s = vb_ucma_alloc(u, sizeof *s);
	if (!s)
		return -ENOMEM;
	s->service_id = sid;
	vb_list_init(&s->ids);
	err = vb_cm_conn_create(u->cm, s, &s->conn);
	if (err) {
		vb_ucma_free(u, s);
		return err;
	}
	err = vb_cm_listen(s->conn, sid);
	assert(!err); /* one listener for each service */
	vb_list_append(&u->services, &s->all);
found:
	vb_list_append(&s->ids, &id->in_service);
	id->service = s;
	return 0;
}

int vb_ucma_listen(struct vb_ucma_id *id, int32_t backlog)
{
	static const struct vb_ucma_addr any = {.family = VB_UCMA_AF_INET};
	int err = 0;

	if (id->state == VB_UCMA_IDLE) {
		struct vb_ucma_addr a = any;

		a.gid = (struct vb_gid){{[10] = 0xff, [11] = 0xff}};
		err = vb_ucma_bind(id, &a, true);
	}
	if (err)
		return err;
	if (id->state != VB_UCMA_ADDR_BOUND)
		return -EINVAL;
	if (id->reuses)
		err = port_check(id, &id->src, id->src.port, false);
	if (!err)
		err = vb_ucma_claim(id);
	if (!err)
		err = vb_ucma_listen_again(id);
	if (err)
		return err;
	id->backlog = backlog <= 0 || backlog > VB_UCMA_BACKLOG_MAX ? VB_UCMA_BACKLOG_MAX : backlog;
	id->backlog_max = id->backlog;
	id->state = VB_UCMA_LISTENING;
	return 0;
}

void vb_ucma_unlisten(struct vb_ucma_id *id, vb_time now)
{
	struct vb_ucma_service *s = id->service;

	if (!s)
		return;
	vb_list_remove(&id->in_service);
	id->service = NULL;
	if (!vb_list_is_empty(&s->ids))
		return;
	vb_cm_conn_destroy(s->conn, now);
	vb_list_remove(&s->all);
	vb_ucma_free(id->u, s);
}
