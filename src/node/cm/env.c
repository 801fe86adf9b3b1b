/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sources of the connection manager's facts of this host, see env.h: the device table for local
 * addresses, and for the way to a peer the kernel, by a UDP socket that is connected to it and
 * sends nothing. CMP-38, CMP-39, CMP-43
 */
#include "node/cm/env.h"

#include "link/carried/carried.h"
#include "link/udp/udp.h"
#include "node/cm/channel.h"
#include "node/host/clock.h"
#include "node/netdev/low_ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT_RANGE "/proc/sys/net/ipv4/ip_local_port_range"
#define ROUTE_NS (5 * VB_MSEC)

void vb_cm_env_ports(uint16_t *first, uint16_t *last)
{
	FILE *f = fopen(PORT_RANGE, "re");
	unsigned a, b;

	*first = 32768;
	*last = 60999;
	if (f && fscanf(f, "%u %u", &a, &b) == 2 && a && a <= b && b <= UINT16_MAX) {
		*first = (uint16_t)a;
		*last = (uint16_t)b;
	}
	if (f)
		fclose(f);
}

bool vb_cm_env_may_bind_low(void *ctx)
{
	(void)ctx;
	return geteuid() == 0 || vb_low_ports_end() <= 1;
}

static void local_fill(struct vb_ucma_local *out, const struct vb_host_shm *host, uint32_t device,
		       uint32_t gid)
{
	const struct vb_device *d = &host->device[device];

	*out = (struct vb_ucma_local){.hca_port = (uint8_t)(device + 1),
				      .mtu = (uint8_t)d->active_mtu,
				      .gid_index = (uint16_t)gid,
				      .device_index = device,
				      .node_guid = d->guid,
				      .gid = d->gid[gid].gid};
}

union name {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static socklen_t name_of(const struct vb_ucma_addr *a, uint16_t port, union name *n)
{
	*n = (union name){0};
	if (vb_gid_is_ipv4(&a->gid)) {
		n->in.sin_family = AF_INET;
		n->in.sin_port = htons(port);
		memcpy(&n->in.sin_addr, a->gid.b + 12, 4);
		return sizeof n->in;
	}
	n->in6.sin6_family = AF_INET6;
	n->in6.sin6_port = htons(port);
	n->in6.sin6_scope_id = a->scope;
	memcpy(&n->in6.sin6_addr, a->gid.b, 16);
	return sizeof n->in6;
}

/* Whether an interface of this host has the address @a, be it that of a device or not. */
static bool host_has(const struct vb_ucma_addr *a)
{
	union name n;
	socklen_t len = name_of(a, 0, &n);
	int fd = socket(n.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool has = fd >= 0 && bind(fd, &n.sa, len) == 0;

	if (fd >= 0)
		close(fd);
	return has;
}

static int local_find(void *ctx, const struct vb_ucma_addr *a, struct vb_ucma_local *out)
{
	const struct vb_broker *b = ctx;
	const struct vb_host_shm *host = b->slots.host;

	for (uint32_t i = 0; i < VB_DEVICES_MAX && i < host->device_cnt; i++) {
		const struct vb_device *d = &host->device[i];

		if (!d->ifindex || d->parent || (a->scope && a->scope != d->ifindex))
			continue;
		for (uint32_t k = 0; k < VB_GIDS_MAX; k++) {
			if (d->gid[k].type == VB_GID_NONE || !vb_gid_eq(&d->gid[k].gid, &a->gid))
				continue;
			local_fill(out, host, i, k);
			return 0;
		}
	}
	return host_has(a) ? -ENODEV : -EADDRNOTAVAIL;
}

/* The source address of @fd, which is connected. */
static int source_read(int fd, struct vb_ucma_addr *src)
{
	union name n = {0};
	socklen_t len = sizeof n;

	if (getsockname(fd, &n.sa, &len))
		return -errno;
	src->scope = 0;
	if (n.sa.sa_family == AF_INET) {
		src->family = AF_INET;
		src->gid = (struct vb_gid){{[10] = 0xff, [11] = 0xff}};
		memcpy(src->gid.b + 12, &n.in.sin_addr, 4);
	} else {
		src->family = AF_INET6;
		src->scope = n.in6.sin6_scope_id;
		memcpy(src->gid.b, &n.in6.sin6_addr, 16);
	}
	return 0;
}

/* Has the kernel choose: the address from which it would send to @dst. */
static int source_ask(struct vb_ucma_addr *src, const struct vb_ucma_addr *dst)
{
	union name n;
	int fd =
	    socket(vb_gid_is_ipv4(&dst->gid) ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = fd < 0 ? -errno : 0;

	if (!err && !vb_ucma_addr_is_any(src)) {
		socklen_t len = name_of(src, 0, &n);

		err = bind(fd, &n.sa, len) ? -errno : 0;
	}
	if (!err) {
		socklen_t len = name_of(dst, VB_ROCE_PORT, &n);

		err = connect(fd, &n.sa, len) ? -errno : 0;
	}
	if (!err)
		err = source_read(fd, src);
	if (fd >= 0)
		close(fd);
	return err;
}

static bool is_same_host(const struct vb_ucma_addr *a, const struct vb_ucma_addr *b)
{
	return a->family == b->family && a->scope == b->scope && vb_gid_eq(&a->gid, &b->gid);
}

/* Programs resolve many ids to one peer in a row. Routes change, so the answer counts for a moment,
 * much less than a program takes that was started after a change. */
static int source_choose(struct vb_ucma_addr *src, const struct vb_ucma_addr *dst)
{
	static struct {
		vb_time until;
		struct vb_ucma_addr src, dst, found;
	} recent;
	struct vb_ucma_addr from = *src;
	vb_time now = vb_clock_now();
	int err;

	if (now < recent.until && is_same_host(src, &recent.src) &&
	    is_same_host(dst, &recent.dst)) {
		src->family = recent.found.family;
		src->scope = recent.found.scope;
		src->gid = recent.found.gid;
		return 0;
	}
	err = source_ask(src, dst);
	recent.until = err ? 0 : now + ROUTE_NS;
	recent.src = from;
	recent.dst = *dst;
	recent.found = *src;
	return err;
}

static int route_find(void *ctx, struct vb_ucma_addr *src, const struct vb_ucma_addr *dst,
		      struct vb_ucma_local *out)
{
	/* Groups need no route where the program says from where. */
	bool is_chosen = vb_gid_is_multicast(&dst->gid) && !vb_ucma_addr_is_any(src);
	int err = is_chosen ? 0 : source_choose(src, dst);
	struct vb_ucma_local there;

	if (err)
		return err;
	/* All of 127.0.0.0/8 is this host, but an address that no device has hears nothing.
	 * Debian's hosts have their name at 127.0.1.1. rdma_translate_ip() */
	if (vb_ucma_addr_is_loopback(dst) && local_find(ctx, dst, &there))
		return -ENODEV;
	return local_find(ctx, src, out) ? -ENODEV : 0;
}

static int group_change(void *ctx, const struct vb_ucma_local *l, const struct vb_gid *g, bool join)
{
	const struct vb_broker *b = ctx;

	return b->cm && b->cm->gsi ? vb_gsi_group(b->cm->gsi, l->hca_port, g, join) : -ENODEV;
}

static int service_claim(void *ctx, uint64_t service_id, const struct vb_gid *gid, bool on)
{
	const struct vb_broker *b = ctx;
	struct vb_carrier_ask ask = {.op = on ? VB_CARRIER_CLAIM : VB_CARRIER_RELEASE,
				     .service_id = service_id,
				     .gid = *gid};

	return b->cm && b->cm->gsi ? vb_gsi_claim(b->cm->gsi, &ask) : 0;
}

struct vb_ucma_env vb_cm_env(struct vb_broker *b)
{
	return (struct vb_ucma_env){.local = local_find,
				    .route = route_find,
				    .group = group_change,
				    .claim = service_claim,
				    .may_bind_low = vb_cm_env_may_bind_low,
				    .ctx = b};
}
