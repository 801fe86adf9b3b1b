/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Local addresses to HCA ports: looked up once per GSO batch of received packets, and once for each
 * path that packets are sent by.
 */
#include "node/engine/priv.h"

#include "wire/ib/lrh.h"

static uint32_t gid_hash(const struct vb_gid *g)
{
	uint64_t hi, lo;

	memcpy(&hi, g->b, sizeof hi);
	memcpy(&lo, g->b + 8, sizeof lo);
	return (uint32_t)((hi * 31 + lo) * UINT64_C(0x9e3779b97f4a7c15) >> 54) % VB_ADDR_SLOTS;
}

static bool is_link_local(const struct vb_gid *g)
{
	return g->b[0] == 0xfe && (g->b[1] & 0xc0) == 0x80;
}

static void addr_insert(struct vb_addr_table *t, const struct vb_addr *a)
{
	uint32_t i = gid_hash(&a->gid);

	while (t->slot[i].port)
		i = (i + 1) % VB_ADDR_SLOTS;
	t->slot[i] = *a;
}

void vb_addr_build(struct vb_addr_table *t, const struct vb_host_shm *host)
{
	_Static_assert(VB_ADDR_SLOTS >= 2 * VB_DEVICES_MAX * VB_GIDS_MAX, "never full");
	*t = (struct vb_addr_table){.generation = vb_home_generation_next(t->generation)};
	for (uint32_t d = 0; d < VB_DEVICES_MAX && d < host->device_cnt; d++) {
		const struct vb_device *dev = &host->device[d];

		for (uint32_t g = 0; dev->ifindex && !dev->parent && g < VB_GIDS_MAX; g++) {
			struct vb_addr a = {dev->gid[g].gid, dev->ifindex, (uint8_t)(d + 1)};

			if (dev->gid[g].type != VB_GID_NONE)
				addr_insert(t, &a);
		}
	}
}

uint8_t vb_addr_find(struct vb_addr_table *t, const struct vb_gid *gid, uint32_t ifindex)
{
	uint8_t port = 0;

	if (t->last.port && t->last.ifindex == ifindex && vb_gid_eq(&t->last.gid, gid))
		return t->last.port;
	/*
	 * Two interfaces may have the same link-local address. Otherwise the interface does not
	 * matter: what a host sends to itself arrives on "lo", whatever the address.
	 */
	for (uint32_t i = gid_hash(gid); t->slot[i].port; i = (i + 1) % VB_ADDR_SLOTS) {
		if (!vb_gid_eq(&t->slot[i].gid, gid))
			continue;
		if (!port || t->slot[i].ifindex == ifindex)
			port = t->slot[i].port;
		if (!is_link_local(gid) || t->slot[i].ifindex == ifindex)
			break;
	}
	t->last = (struct vb_addr){*gid, ifindex, port};
	return port;
}

static bool has_gid(const struct vb_device *d, const struct vb_gid *gid)
{
	for (uint32_t i = 0; i < VB_GIDS_MAX; i++)
		if (d->gid[i].type != VB_GID_NONE && vb_gid_eq(&d->gid[i].gid, gid))
			return true;
	return false;
}

/* The port of a fabric's node by which copies for a group come, if they are ours. */
static uint8_t addr_of_group(const struct vb_host_shm *devices, const struct vb_path *path)
{
	for (uint32_t i = 0; i < VB_DEVICES_MAX && i < devices->device_cnt; i++)
		if (devices->device[i].ib.number == path->port && path->port)
			return vb_gid_is_multicast(&path->dgid) ? (uint8_t)(i + 1) : 0;
	return 0;
}

uint8_t vb_addr_of_path(const struct vb_host_shm *devices, const struct vb_path *path)
{
	if (path->dlid >= VB_LID_MULTICAST)
		return addr_of_group(devices, path);
	for (uint32_t i = 0; i < VB_DEVICES_MAX && i < devices->device_cnt; i++) {
		const struct vb_device *d = &devices->device[i];
		uint32_t lids = 1u << (d->ib.lmc & 7);

		if (d->ib.lid == 0 || path->dlid < d->ib.lid || path->dlid >= d->ib.lid + lids)
			continue;
		return !vb_path_has_grh(path) || has_gid(d, &path->dgid) ? (uint8_t)(i + 1) : 0;
	}
	return 0;
}
