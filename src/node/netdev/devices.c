/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device table, see devices.h: merging what netlink tells into what is there. GID tables follow
 * the kernel's RoCE cache: index 0 is the link-local GID, the others come in order of appearance.
 */
#include "node/netdev/devices.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* IPv6 header, UDP, BTH with the longest extension headers, ICRC: what does not count as MTU. */
#define HEADER_BYTES 80

void vb_host_write_begin(struct vb_host_shm *host)
{
	/* Odd already when the broker before this one was killed in the middle of a change. */
	__atomic_store_n(&host->seq, host->seq | 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void vb_host_write_end(struct vb_host_shm *host)
{
	/* Readers would wait for the end of a change that nobody makes. */
	assert(host->seq & 1);
	__atomic_store_n(&host->seq, host->seq + 1, __ATOMIC_RELEASE);
}

static uint32_t active_mtu(uint32_t netdev_mtu)
{
	enum vb_mtu mtu = VB_MTU_4096;

	while (mtu > VB_MTU_256 && vb_mtu_bytes(mtu) + HEADER_BYTES > netdev_mtu)
		mtu--;
	return mtu;
}

/* FNV-1a: spreads a text over the bits of a GUID. */
static uint64_t hash_text(const char *p, size_t len, uint64_t h)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)p[i]) * UINT64_C(0x100000001b3);
	return h;
}

/* Locally administered: from the boot id and the namespace, for devices that have no MAC. */
static uint64_t guid_of_host(void)
{
	char id[64] = "";
	struct stat st = {0};
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		ssize_t n = read(fd, id, sizeof id);

		close(fd);
		h = hash_text(id, n > 0 ? (size_t)n : 0, h);
	}
	if (!stat("/proc/self/ns/net", &st))
		h = hash_text((char *)&st.st_ino, sizeof st.st_ino, h);
	return (h | UINT64_C(0x0200000000000000)) & ~UINT64_C(0x0100000000000000);
}

/* EUI-64 with the universal bit inverted, as in the interface identifier of IPv6 (RFC 4291). */
static uint64_t guid_of(const struct vb_netdev *n)
{
	static const uint8_t none[6];
	uint64_t g = 0;

	if (memcmp(n->mac, none, sizeof none) == 0)
		return guid_of_host() + (n->is_loopback ? 0 : n->ifindex);
	const uint8_t eui[8] = {n->mac[0] ^ 2, n->mac[1], n->mac[2], 0xff,
				0xfe,          n->mac[3], n->mac[4], n->mac[5]};

	for (int i = 0; i < 8; i++)
		g = g << 8 | eui[i];
	return g;
}

static const struct vb_netdev *netdev_of(const struct vb_netdevs *n, uint32_t ifindex)
{
	for (uint32_t i = 0; i < n->dev_cnt; i++)
		if (n->dev[i].ifindex == ifindex)
			return &n->dev[i];
	return NULL;
}

static bool gid_is_used(const struct vb_gid_entry *e)
{
	return e->type != VB_GID_NONE;
}

static int gid_index(const struct vb_device *d, const struct vb_gid *gid)
{
	for (int i = 0; i < VB_GIDS_MAX; i++)
		if (gid_is_used(&d->gid[i]) && vb_gid_eq(&d->gid[i].gid, gid))
			return i;
	return -1;
}

static void gid_add(struct vb_device *d, const struct vb_netdev_addr *a, bool keep_first)
{
	int i = a->is_link_local && !gid_is_used(&d->gid[0]) ? 0 : keep_first ? 1 : 0;

	while (i < VB_GIDS_MAX && gid_is_used(&d->gid[i]))
		i++;
	if (i == VB_GIDS_MAX)
		return;
	d->gid[i] = (struct vb_gid_entry){
	    .gid = a->gid,
	    .type = vb_gid_is_ipv4(&a->gid) ? VB_GID_IPV4 : VB_GID_IPV6,
	};
}

static void gids_update(struct vb_device *d, const struct vb_netdev *dev,
			const struct vb_netdevs *n)
{
	bool alive[VB_GIDS_MAX] = {false};

	for (uint32_t i = 0; i < n->addr_cnt; i++) {
		int k = gid_index(d, &n->addr[i].gid);

		if (n->addr[i].ifindex == dev->ifindex && n->addr[i].is_ready && k >= 0)
			alive[k] = true;
	}
	for (int k = 0; k < VB_GIDS_MAX; k++)
		if (!alive[k])
			memset(&d->gid[k], 0, sizeof d->gid[k]);
	/* Link-local first, or another address could take its place. */
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < n->addr_cnt; i++) {
			const struct vb_netdev_addr *a = &n->addr[i];

			if (a->ifindex == dev->ifindex && a->is_ready &&
			    a->is_link_local == (pass == 0) && gid_index(d, &a->gid) < 0)
				gid_add(d, a, dev->wants_link_local);
		}
}

static void device_update(struct vb_device *d, const struct vb_netdev *dev,
			  const struct vb_netdevs *n)
{
	/* The bytes behind the name are never written. */
	memcpy(d->ifname, dev->name, sizeof dev->name);
	d->ifindex = dev->ifindex;
	d->netdev_mtu = dev->mtu;
	d->active_mtu = active_mtu(dev->mtu);
	d->is_up = dev->is_up && dev->has_carrier;
	d->speed_mbps = dev->speed_mbps;
	memcpy(d->mac, dev->mac, sizeof d->mac);
	d->guid = guid_of(dev);
	gids_update(d, dev, n);
}

static bool has_address(const struct vb_netdevs *n, uint32_t ifindex)
{
	for (uint32_t i = 0; i < n->addr_cnt; i++)
		if (n->addr[i].ifindex == ifindex && n->addr[i].is_ready)
			return true;
	return false;
}

/* A place for a new device: the one it had before, one never used, or any. -1: the table is full.
 */
static int place_for(const struct vb_host_shm *h, const struct vb_netdev *dev)
{
	int fresh = -1, any = -1;

	for (int i = VB_DEVICES_MAX - 1; i >= 0; i--) {
		const struct vb_device *d = &h->device[i];

		if (d->ifindex)
			continue;
		if (strcmp(d->ifname, dev->name) == 0)
			return i;
		any = i;
		if (!d->ifname[0])
			fresh = i;
	}
	return fresh >= 0 ? fresh : any;
}

static void device_drop(struct vb_host_shm *h, int i)
{
	struct vb_device *d = &h->device[i];

	d->ifindex = d->is_up = 0;
	memset(d->gid, 0, sizeof d->gid);
	if (d->parent) {
		memset(d, 0, sizeof *d);
		memset(&h->past[i + 1], 0, sizeof h->past[i + 1]);
	}
}

/* A virtual function has the network device and the GIDs of its parent, and a GUID of its own. */
static void vf_update(struct vb_host_shm *h, struct vb_device *d, int parent, uint32_t number)
{
	*d = h->device[parent];
	snprintf(d->name, sizeof d->name, "verbena%dv%u", parent, number);
	d->parent = (uint32_t)parent + 1;
	d->guid = (d->guid | UINT64_C(0x0200000000000000)) + ((uint64_t)number << 48);
}

static int device_named(const struct vb_host_shm *h, const char *name)
{
	for (int i = 0; i < VB_DEVICES_MAX; i++)
		if (h->device[i].ifindex && strcmp(h->device[i].name, name) == 0)
			return i;
	return -1;
}

static int place_unused(const struct vb_host_shm *h)
{
	for (int i = 0; i < VB_DEVICES_MAX; i++)
		if (!h->device[i].ifname[0])
			return i;
	return -1;
}

/* One after the other for all devices, so that each gets its share when there is not room for all.
 */
static void vfs_merge(struct vb_host_shm *h, uint32_t vf_cnt)
{
	bool wanted[VB_DEVICES_MAX] = {false};

	for (uint32_t number = 1; number <= vf_cnt; number++)
		for (int i = 0; i < VB_DEVICES_MAX; i++) {
			char name[VB_NAME_MAX];

			if (!h->device[i].ifindex || h->device[i].parent)
				continue;
			snprintf(name, sizeof name, "verbena%dv%u", i, number);

			int k = device_named(h, name);

			if (k < 0)
				k = place_unused(h);
			if (k < 0)
				continue;
			vf_update(h, &h->device[k], i, number);
			wanted[k] = true;
		}
	for (int i = 0; i < VB_DEVICES_MAX; i++)
		if (h->device[i].parent && !wanted[i])
			device_drop(h, i);
}

/* The place of the table is for another network device from now on. */
static void place_reset(struct vb_host_shm *h, int i)
{
	memset(&h->past[i + 1], 0, sizeof h->past[i + 1]);
	memset(h->device[i].pkey, 0, sizeof h->device[i].pkey);
	h->device[i].pkey[0] = VB_PKEY_DEFAULT;
}

static void devices_merge(struct vb_host_shm *h, const struct vb_netdevs *n)
{
	bool known[VB_NETDEVS_MAX] = {false};

	for (int i = 0; i < VB_DEVICES_MAX; i++) {
		struct vb_device *d = &h->device[i];
		const struct vb_netdev *dev = d->ifindex ? netdev_of(n, d->ifindex) : NULL;

		if (d->parent)
			continue;
		if (dev) {
			known[dev - n->dev] = true;
			device_update(d, dev, n);
		} else if (d->ifindex) {
			device_drop(h, i);
		}
	}
	/* Loopback last: tools take the first device when none is named. */
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < n->dev_cnt; i++) {
			const struct vb_netdev *dev = &n->dev[i];

			if (known[i] || !dev->is_up || dev->is_loopback != (pass == 1) ||
			    !has_address(n, dev->ifindex))
				continue;
			int k = place_for(h, dev);
			if (k < 0)
				return;
			if (strcmp(h->device[k].ifname, dev->name) != 0)
				place_reset(h, k);
			snprintf(h->device[k].name, sizeof h->device[k].name, "verbena%d", k);
			device_update(&h->device[k], dev, n);
		}
}

bool vb_devices_update(struct vb_host_shm *host, const struct vb_netdevs *n, uint32_t vf_cnt)
{
	static struct vb_host_shm next;

	next = *host;
	devices_merge(&next, n);
	vfs_merge(&next, vf_cnt);
	next.device_cnt = 0;
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++)
		if (next.device[i].ifindex)
			next.device_cnt = i + 1;
	/* The table began as zeros and entries are copied whole, so padding is equal as well. */
	if (next.device_cnt == host->device_cnt &&
	    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
	    memcmp(next.device, host->device, sizeof next.device) == 0)
		return false;
	vb_host_write_begin(host);
	memcpy(host->device, next.device, sizeof host->device);
	memcpy(host->past, next.past, sizeof host->past);
	host->device_cnt = next.device_cnt;
	host->generation++;
	vb_host_write_end(host);
	return true;
}

bool vb_devices_set_pkeys(struct vb_host_shm *host, uint32_t pf, const uint16_t *pkey)
{
	const size_t size = VB_PKEYS_MAX * sizeof *pkey;

	if (memcmp(host->device[pf].pkey, pkey, size) == 0)
		return false;
	vb_host_write_begin(host);
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++)
		if (i == pf || host->device[i].parent == pf + 1)
			memcpy(host->device[i].pkey, pkey, size);
	host->generation++;
	vb_host_write_end(host);
	return true;
}

/* Virtual functions have only a name of their own. */
int vb_devices_find(const struct vb_host_shm *h, const char *name)
{
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < VB_DEVICES_MAX; i++) {
			const struct vb_device *d = &h->device[i];

			if (d->ifindex && !(pass && d->parent) &&
			    strcmp(pass ? d->ifname : d->name, name) == 0)
				return i;
		}
	return -ENODEV;
}
