/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses and routes of the ports of a fabric, as the connection manager of a node asks for them,
 * see cm.h. FAB-56, CMP-50 */
#include "node/subnet/cm/cm.h"

#include "node/cm/env.h"
#include "ucma/abi.h"
#include "wire/be.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESS_FIRST_BYTE 10u
#define ADDRESSES_MAX 65534u

struct vb_subnet_addresses {
	uint32_t cnt;
	uint32_t network;            /* the upper half of all addresses */
	struct vb_subnet_place at[]; /* by number, from 0 on */
};

/* The number at the end of the fabric's name. */
static uint32_t fabric_number(const char *name)
{
	size_t at = strlen(name);

	while (at > 0 && isdigit((unsigned char)name[at - 1]))
		at--;
	return (uint32_t)strtoul(name + at, NULL, 10) % 256;
}

static bool has_addresses(const struct vb_topo_node *n)
{
	return n->type == VB_NODE_CA;
}

int vb_subnet_addresses_make(struct vb_subnet_daemon *d)
{
	const struct vb_topo *t = d->topo;
	struct vb_subnet_addresses *a;
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < t->node_cnt; i++)
		cnt += has_addresses(&t->node[i]) ? t->node[i].port_cnt : 0;
	a = calloc(1, sizeof *a + cnt * sizeof a->at[0]);
	if (!a)
		return -ENOMEM;
	a->network = ADDRESS_FIRST_BYTE << 24 | fabric_number(d->name) << 16;
	for (uint32_t i = 0; i < t->node_cnt; i++)
		for (unsigned p = 1; has_addresses(&t->node[i]) && p <= t->node[i].port_cnt; p++)
			if (a->cnt < ADDRESSES_MAX)
				a->at[a->cnt++] = (struct vb_subnet_place){i, (uint8_t)p};
	d->addresses = a;
	return 0;
}

void vb_subnet_addresses_part(struct vb_subnet_daemon *d, uint32_t part)
{
	d->addresses->network = ADDRESS_FIRST_BYTE << 24 | part % 256 << 16;
}

uint32_t vb_subnet_address_of(const struct vb_subnet_daemon *d, struct vb_subnet_place at)
{
	const struct vb_subnet_addresses *a = d->addresses;
	uint32_t low = 0, high = a->cnt;

	/* They are in the order of the nodes and of their ports. */
	while (low < high) {
		uint32_t mid = (low + high) / 2;
		const struct vb_subnet_place *p = &a->at[mid];

		if (p->node == at.node && p->port == at.port)
			return a->network | (mid + 1);
		if (p->node < at.node || (p->node == at.node && p->port < at.port))
			low = mid + 1;
		else
			high = mid;
	}
	return 0;
}

/* The port that has an IPv4 address. */
static const struct vb_subnet_place *port_of_address(const struct vb_subnet_daemon *d,
						     const uint8_t ipv4[4])
{
	const struct vb_subnet_addresses *a = d->addresses;
	uint32_t n = (uint32_t)ipv4[2] << 8 | ipv4[3];

	if (((uint32_t)ipv4[0] << 24 | (uint32_t)ipv4[1] << 16) != a->network || n == 0 ||
	    n > a->cnt)
		return NULL;
	return &a->at[n - 1];
}

static struct vb_gid gid_of(struct vb_subnet_daemon *d, struct vb_subnet_place at, uint32_t index)
{
	const struct vb_sma_port *p = vb_subnet_sma_port(&d->subnet, at);
	struct vb_gid g;

	vb_sma_gid(p, index, g.b);
	return g;
}

uint8_t vb_subnet_cm_ports(const struct vb_subnet_cm *cm)
{
	uint8_t cnt = cm->d->topo->node[cm->index].port_cnt;

	return cnt < VB_HCA_PORTS_MAX ? cnt : VB_HCA_PORTS_MAX;
}

static void local_fill(const struct vb_subnet_cm *cm, uint8_t port, uint16_t index,
		       struct vb_ucma_local *out)
{
	struct vb_subnet_place at = {cm->index, port};

	*out =
	    (struct vb_ucma_local){.hca_port = port,
				   .mtu = vb_subnet_sma_port(&cm->d->subnet, at)->info.neighbor_mtu,
				   .gid_index = index,
				   .node_guid = cm->d->topo->node[cm->index].node_guid,
				   .gid = gid_of(cm->d, at, index)};
}

/* The first port that carries data, or the first one. */
static uint8_t port_choose(const struct vb_subnet_cm *cm)
{
	for (uint8_t p = 1; p <= vb_subnet_cm_ports(cm); p++)
		if (cm->d->subnet.node[cm->index].port[p].link.state == VB_LINK_ACTIVE)
			return p;
	return 1;
}

static int local_by_gid(const struct vb_subnet_cm *cm, const struct vb_gid *gid,
			struct vb_ucma_local *out)
{
	for (uint8_t p = 1; p <= vb_subnet_cm_ports(cm); p++)
		for (uint16_t i = 0; i < VB_SUBNET_GUIDS; i++) {
			struct vb_subnet_place at = {cm->index, p};
			struct vb_gid g = gid_of(cm->d, at, i);

			if (vb_subnet_sma_port(&cm->d->subnet, at)->guid[i] == 0 ||
			    !vb_gid_eq(&g, gid))
				continue;
			local_fill(cm, p, i, out);
			return 0;
		}
	return -EADDRNOTAVAIL;
}

static int local_find(void *ctx, const struct vb_ucma_addr *a, struct vb_ucma_local *out)
{
	const struct vb_subnet_cm *cm = ctx;
	const struct vb_subnet_place *at;

	if (vb_ucma_addr_is_loopback(a)) {
		local_fill(cm, port_choose(cm), 0, out);
		return 0;
	}
	if (a->family != VB_UCMA_AF_INET)
		return local_by_gid(cm, &a->gid, out);
	at = port_of_address(cm->d, a->gid.b + 12);
	if (!at || at->node != cm->index || at->port > vb_subnet_cm_ports(cm))
		return -EADDRNOTAVAIL;
	local_fill(cm, at->port, 0, out);
	return 0;
}

bool vb_subnet_cm_gid_is_local(void *ctx, const struct vb_gid *gid)
{
	struct vb_ucma_local out;

	return local_by_gid(ctx, gid, &out) == 0;
}

/* The address of @port of the node in the family of @like. */
static void source_fill(const struct vb_subnet_cm *cm, uint8_t port,
			const struct vb_ucma_addr *like, struct vb_ucma_addr *src)
{
	struct vb_subnet_place at = {cm->index, port};
	uint32_t address = vb_subnet_address_of(cm->d, at);

	src->family = like->family;
	src->scope = 0;
	if (like->family != VB_UCMA_AF_INET) {
		src->gid = gid_of(cm->d, at, 0);
		return;
	}
	src->gid = (struct vb_gid){{[10] = 0xff,
				    [11] = 0xff,
				    [12] = (uint8_t)(address >> 24),
				    [13] = (uint8_t)(address >> 16),
				    [14] = (uint8_t)(address >> 8),
				    [15] = (uint8_t)address}};
}

/* The port behind a tunnel that has an IPv4 address. */
static int far_find(const struct vb_subnet_daemon *d, const uint8_t ipv4[4], struct vb_gid *out)
{
	uint64_t prefix, guid;

	if (!vb_subnet_far_gid(d, be32_get(ipv4), &prefix, &guid))
		return -ENETUNREACH;
	be64_put(out->b, prefix);
	be64_put(out->b + 8, guid);
	return 0;
}

static int gid_find(void *ctx, const struct vb_ucma_addr *a, struct vb_gid *out)
{
	const struct vb_subnet_cm *cm = ctx;
	const struct vb_subnet_place *at;

	if (vb_ucma_addr_is_loopback(a)) {
		*out = gid_of(cm->d, (struct vb_subnet_place){cm->index, port_choose(cm)}, 0);
		return 0;
	}
	*out = a->gid; /* of a group as well, which the manager is asked for when it is joined */
	if (a->family != VB_UCMA_AF_INET || vb_gid_is_multicast(&a->gid))
		return 0;
	at = port_of_address(cm->d, a->gid.b + 12);
	if (!at)
		return far_find(cm->d, a->gid.b + 12, out);
	*out = gid_of(cm->d, *at, 0);
	return 0;
}

static int route_find(void *ctx, struct vb_ucma_addr *src, const struct vb_ucma_addr *dst,
		      struct vb_ucma_local *out)
{
	const struct vb_subnet_cm *cm = ctx;
	struct vb_gid gid;
	int err = gid_find(ctx, dst, &gid);

	if (err)
		return err;
	if (vb_ucma_addr_is_any(src))
		source_fill(cm, port_choose(cm), dst, src);
	return local_find(ctx, src, out) ? -ENODEV : 0;
}

static int port_read(void *ctx, uint8_t port, struct vb_ucma_ib_port *out)
{
	const struct vb_subnet_cm *cm = ctx;
	const struct vb_sma_port *p;

	if (port == 0 || port > vb_subnet_cm_ports(cm))
		return -ENODEV;
	p = vb_subnet_sma_port(&cm->d->subnet, (struct vb_subnet_place){cm->index, port});
	*out = (struct vb_ucma_ib_port){.lid = p->info.lid,
					.sm_lid = p->info.sm_lid,
					.lmc = p->info.lmc,
					.sm_sl = p->info.sm_sl,
					.pkey = p->pkey,
					.pkey_cnt = VB_SUBNET_PKEYS};
	local_fill(cm, port, 0, &out->local);
	return 0;
}

struct vb_ucma_env vb_subnet_cm_env(struct vb_subnet_cm *cm)
{
	return (struct vb_ucma_env){.local = local_find,
				    .route = route_find,
				    .may_bind_low = vb_cm_env_may_bind_low,
				    .ctx = cm,
				    .ib_port = port_read,
				    .ib_gid = gid_find};
}
