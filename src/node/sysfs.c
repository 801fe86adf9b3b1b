/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tree that mirrors /sys/class/infiniband, see sysfs.h. Names and formats are those of the
 * kernel's drivers/infiniband/core/sysfs.c and uverbs_main.c.
 */
#include "node/sysfs.h"

#include "node/eth_rate.h"
#include "node/sysfs_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UVERBS_MAJOR 231
#define UVERBS_MINOR 192
#define UVERBS_ABI 6
#define CAP_IP_BASED_GIDS (1u << 26)
#define PATH_BYTES 384

/* Port counters that count what an Ethernet link cannot have; tools expect the files. */
static const char *const zero_counters[] = {
    "VL15_dropped",
    "excessive_buffer_overrun_errors",
    "link_downed",
    "link_error_recovery",
    "local_link_integrity_errors",
    "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors",
    "symbol_error",
};

static void put_guid(int at, const char *name, uint64_t g)
{
	vb_file_put(at, name, "%04x:%04x:%04x:%04x\n", (unsigned)(g >> 48),
		    (unsigned)(g >> 32 & 0xffff), (unsigned)(g >> 16 & 0xffff),
		    (unsigned)(g & 0xffff));
}

static void put_gid(int at, const char *name, const struct vb_gid *g)
{
	const uint8_t *b = g->b;

	vb_file_put(at, name,
		    "%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x\n",
		    b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12],
		    b[13], b[14], b[15]);
}

/* gids/ shows every entry, gid_attrs/ only those in use: the kernel's files of the others exist but
 * cannot be read. */
static void put_gids(int port, const struct vb_device *d)
{
	int gids = vb_dir_make(port, "gids"), attrs = vb_dir_make(port, "gid_attrs");
	int types = vb_dir_make(attrs, "types"), ndevs = vb_dir_make(attrs, "ndevs");

	for (int i = 0; types >= 0 && ndevs >= 0 && i < VB_GIDS_MAX; i++) {
		char name[12];

		snprintf(name, sizeof name, "%d", i);
		put_gid(gids, name, &d->gid[i].gid);
		if (d->gid[i].type == VB_GID_NONE)
			continue;
		vb_file_put(types, name, "RoCE v2\n");
		vb_file_put(ndevs, name, "%s\n", d->ifname);
	}
	close(types);
	close(ndevs);
	close(attrs);
	close(gids);
}

static void put_counters(int port, const struct vb_counters *c)
{
	int dir[] = {[VB_COUNTER_PORT] = vb_dir_make(port, "counters"),
		     [VB_COUNTER_HW] = vb_dir_make(port, "hw_counters")};

	for (int i = 0; i < VB_COUNTER_CNT; i++)
		vb_file_put(dir[vb_counter_info[i].file], vb_counter_info[i].name, "%" PRIu64 "\n",
			    c->v[i]);
	for (size_t i = 0; i < sizeof zero_counters / sizeof zero_counters[0]; i++)
		vb_file_put(dir[VB_COUNTER_PORT], zero_counters[i], "0\n");
	vb_file_put(dir[VB_COUNTER_HW], "lifespan", "1000\n"); /* ms between two updates */
	close(dir[VB_COUNTER_PORT]);
	close(dir[VB_COUNTER_HW]);
}

static void put_port(int dev, const struct vb_device *d, const struct vb_counters *c)
{
	int ports = vb_dir_make(dev, "ports"), port = vb_dir_make(ports, "1");
	int pkeys = vb_dir_make(port, "pkeys");

	if (pkeys >= 0) {
		vb_file_put(port, "state", "%s\n", d->is_up ? "4: ACTIVE" : "1: DOWN");
		vb_file_put(port, "phys_state", "%s\n", d->is_up ? "5: LinkUp" : "3: Disabled");
		vb_file_put(port, "link_layer", "Ethernet\n");
		vb_file_put(port, "rate", "%s\n", vb_eth_rate(d->speed_mbps)->text);
		vb_file_put(port, "lid", "0x0\n");
		vb_file_put(port, "lid_mask_count", "0\n");
		vb_file_put(port, "sm_lid", "0x0\n");
		vb_file_put(port, "sm_sl", "0\n");
		vb_file_put(port, "cap_mask", "0x%08x\n", CAP_IP_BASED_GIDS);
		for (int i = 0; i < VB_PKEYS_MAX; i++) {
			char name[12];

			snprintf(name, sizeof name, "%d", i);
			vb_file_put(pkeys, name, "0x%04x\n", d->pkey[i]);
		}
		put_gids(port, d);
		put_counters(port, c);
	}
	close(pkeys);
	close(port);
	close(ports);
}

static void put_device(int class, const struct vb_device *d, const struct vb_counters *c)
{
	int dev = vb_dir_make(class, d->name), parent = vb_dir_make(dev, "device");
	int net = vb_dir_make(parent, "net"), ndev = vb_dir_make(net, d->ifname);

	if (ndev >= 0) {
		vb_file_put(dev, "node_type", "1: CA\n");
		put_guid(dev, "node_guid", d->guid);
		put_guid(dev, "sys_image_guid", d->guid);
		vb_file_put(dev, "node_desc", "%s on %s\n", d->name, d->ifname);
		vb_file_put(dev, "fw_ver", "%s\n", VERBENA_VERSION);
		vb_file_put(dev, "hca_type", "verbena\n");
		vb_file_put(dev, "board_id", "verbena\n");
		vb_file_put(dev, "hw_rev", "0x0\n");
		vb_file_put(parent, "vendor", "0x0000\n");
		vb_file_put(parent, "device", "0x0000\n");
		vb_file_put(parent, "numa_node", "-1\n");
		vb_file_put(ndev, "ifindex", "%" PRIu32 "\n", d->ifindex);
		vb_file_put(ndev, "mtu", "%" PRIu32 "\n", d->netdev_mtu);
		put_port(dev, d, c);
	}
	close(ndev);
	close(net);
	close(parent);
	close(dev);
}

static void put_uverbs(int class, const struct vb_device *d, uint32_t index)
{
	char name[32];

	snprintf(name, sizeof name, "uverbs%" PRIu32, index);
	int dir = vb_dir_make(class, name);

	vb_file_put(dir, "ibdev", "%s\n", d->name);
	vb_file_put(dir, "abi_version", "1\n");
	vb_file_put(dir, "dev", "%d:%" PRIu32 "\n", UVERBS_MAJOR, UVERBS_MINOR + index);
	close(dir);
}

static bool choose(char *root, size_t size, const char *base, const char *suffix)
{
	struct stat ns = {0};
	char fresh[PATH_BYTES];

	(void)stat("/proc/self/ns/net", &ns);
	if (access(base, W_OK | X_OK) ||
	    (size_t)snprintf(root, size, "%s/verbena-%u-%llu%s", base, (unsigned)geteuid(),
			     (unsigned long long)ns.st_ino, suffix) >= size)
		return false;
	snprintf(fresh, sizeof fresh, "%s.new", root);
	/* /tmp is everybody's: a name that another user has taken is left alone. */
	if (!vb_dir_is_ours(root) || !vb_dir_is_ours(fresh))
		return false;
	snprintf(fresh, sizeof fresh, "verbena-%u-", (unsigned)geteuid());
	vb_dir_sweep(base, fresh, root);
	return true;
}

void vb_sysfs_init(struct vb_sysfs *t)
{
	const char *base[] = {secure_getenv("XDG_RUNTIME_DIR"), "/dev/shm", "/tmp"};
	char pid[16];

	memset(t, 0, sizeof *t);
	t->lock_fd = -1;
	snprintf(pid, sizeof pid, "-%d", (int)getpid());
	for (int own = 0; own < 2; own++)
		for (size_t i = 0; i < sizeof base / sizeof base[0]; i++)
			if (base[i] && base[i][0] == '/' &&
			    choose(t->root, sizeof t->root, base[i], own ? pid : ""))
				return;
	t->root[0] = 0;
}

int vb_sysfs_publish(struct vb_sysfs *t, const struct vb_host_shm *host,
		     const struct vb_counters *total)
{
	char fresh[PATH_BYTES];

	if (!t->root[0])
		return 0;
	snprintf(fresh, sizeof fresh, "%s.new", t->root);
	vb_dir_remove(fresh);
	int root = vb_dir_make(AT_FDCWD, fresh), class = vb_dir_make(root, "class");
	int ib = vb_dir_make(class, "infiniband");
	int uverbs = vb_dir_make(class, "infiniband_verbs");
	int rc = ib < 0 ? ib : uverbs < 0 ? uverbs : 0;

	if (!rc) {
		vb_file_put(uverbs, "abi_version", "%d\n", UVERBS_ABI);
		for (uint32_t i = 0; i < host->device_cnt; i++)
			if (host->device[i].ifindex) {
				put_device(ib, &host->device[i], &total[i + 1]);
				put_uverbs(uverbs, &host->device[i], i);
				t->shown[i] = total[i + 1];
			}
	}
	close(uverbs);
	close(ib);
	close(class);
	close(root);
	if (rc)
		return rc;
	int lock = vb_dir_lock(fresh);
	rc = vb_dir_replace(fresh, t->root);
	if (t->lock_fd >= 0)
		close(t->lock_fd);
	t->lock_fd = lock;
	return rc;
}

void vb_sysfs_counters(struct vb_sysfs *t, const struct vb_host_shm *host, uint32_t index,
		       const struct vb_counters *total)
{
	static const char *const dir[] = {"counters", "hw_counters"};
	char path[PATH_BYTES + 128], text[24];

	for (int i = 0; t->root[0] && i < VB_COUNTER_CNT; i++) {
		if (t->shown[index].v[i] == total->v[i])
			continue;
		snprintf(path, sizeof path, "%s/class/infiniband/%s/ports/1/%s/%s", t->root,
			 host->device[index].name, dir[vb_counter_info[i].file],
			 vb_counter_info[i].name);
		snprintf(text, sizeof text, "%" PRIu64 "\n", total->v[i]);
		vb_file_rewrite(path, text);
		t->shown[index].v[i] = total->v[i];
	}
}

void vb_sysfs_remove(struct vb_sysfs *t)
{
	char fresh[PATH_BYTES];

	if (!t->root[0])
		return;
	snprintf(fresh, sizeof fresh, "%s.new", t->root);
	vb_dir_remove(fresh);
	vb_dir_remove(t->root);
	if (t->lock_fd >= 0)
		close(t->lock_fd);
	t->lock_fd = -1;
}
