/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tree that mirrors /sys/class/infiniband, see sysfs.h. Names and formats are those of the
 * kernel's drivers/infiniband/core/sysfs.c and uverbs_main.c.
 */
#include "node/sysfs/sysfs.h"

#include "node/netdev/eth_rate.h"
#include "node/sysfs/dir.h"
#include "node/sysfs/pci.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define CAP_IP_BASED_GIDS (1u << 26)
#define PATH_BYTES 384
#define FRESH "class.new" /* a tree under construction */

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

void vb_sysfs_put_guid(int at, const char *name, uint64_t g)
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

/* Messages of the connection manager by what became of them, and by their kind. */
static const struct {
	const char *folder;
	size_t at; /* in struct vb_cm_port_counters */
} cm_group[] = {
    {"cm_tx_msgs", offsetof(struct vb_cm_port_counters, tx_msgs)},
    {"cm_tx_retries", offsetof(struct vb_cm_port_counters, tx_retries)},
    {"cm_rx_msgs", offsetof(struct vb_cm_port_counters, rx_msgs)},
    {"cm_rx_duplicates", offsetof(struct vb_cm_port_counters, rx_duplicates)},
};
#define CM_GROUPS (sizeof cm_group / sizeof cm_group[0])
static const char *const cm_kind[VB_CM_MSGS] = {
    "req", "mra", "rej", "rep", "rtu", "dreq", "drep", "sidr_req", "sidr_rep", "lap", "apr"};

static uint64_t *cm_counter(struct vb_cm_port_counters *c, size_t group, size_t kind)
{
	return (uint64_t *)(void *)((uint8_t *)c + cm_group[group].at) + kind;
}

void vb_sysfs_put_cm_counters(int port, const struct vb_cm_port_counters *cm,
			      struct vb_cm_port_counters *shown)
{
	struct vb_cm_port_counters now = *cm;
	char text[24];

	if (shown && memcmp(shown, cm, sizeof *cm) == 0)
		return;
	for (size_t i = 0; i < CM_GROUPS; i++) {
		int dir = vb_dir_make(port, cm_group[i].folder);

		for (size_t k = 0; k < VB_CM_MSGS; k++) {
			uint64_t v = *cm_counter(&now, i, k);

			snprintf(text, sizeof text, "%" PRIu64 "\n", v);
			if (!shown)
				vb_file_put(dir, cm_kind[k], "%s", text);
			else if (*cm_counter(shown, i, k) != v)
				vb_file_rewrite(dir, cm_kind[k], text);
		}
		close(dir);
	}
	if (shown)
		*shown = now;
}

static void put_port(int dev, const struct vb_device *d, const struct vb_counters *c,
		     struct vb_cm_port_counters *cm)
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
		vb_sysfs_put_cm_counters(port, cm, NULL);
	}
	close(pkeys);
	close(port);
	close(ports);
}

/* The file of the port's QP1. There is no QP0, so no manager and no issm file; a virtual function
 * has no QP1 of its own. MAD-01 */
static void put_umad(int class, const struct vb_device *d, uint32_t index)
{
	char name[16];

	snprintf(name, sizeof name, "umad%" PRIu32, index);
	if (!d->parent)
		vb_sysfs_put_mad(class, name, d->name, 1, index);
}

static void put_device(int class, const struct vb_device *d, uint32_t index,
		       const struct vb_counters *c, struct vb_cm_port_counters *cm)
{
	int ib = vb_sysfs_put_pci(class, d, index), all = vb_dir_make(class, "infiniband");
	int dev = vb_dir_make(ib, d->name);
	char pci[64], link[PATH_BYTES];

	if (dev >= 0 && all >= 0) {
		vb_sysfs_pci_path(pci, sizeof pci, index);
		snprintf(link, sizeof link, "../../%s/infiniband/%s", pci, d->name);
		(void)symlinkat(link, all, d->name);
		(void)symlinkat("../..", dev, "device");
		(void)symlinkat("../../../../../class/infiniband", dev, "subsystem");
		vb_file_put(dev, "node_type", "1: CA\n");
		vb_sysfs_put_guid(dev, "node_guid", d->guid);
		vb_sysfs_put_guid(dev, "sys_image_guid", d->guid);
		vb_file_put(dev, "node_desc", "%s on %s\n", d->name, d->ifname);
		vb_file_put(dev, "fw_ver", "%s\n", VERBENA_VERSION);
		vb_file_put(dev, "hca_type", "verbena\n");
		vb_file_put(dev, "board_id", "verbena\n");
		vb_file_put(dev, "hw_rev", "0x0\n");
		vb_file_put(dev, "uevent", "NAME=%s\n", d->name);
		put_port(dev, d, c, cm);
		put_umad(class, d, index);
	}
	close(dev);
	close(all);
	close(ib);
}

int vb_sysfs_open_device(const struct vb_sysfs *t, const struct vb_host_shm *host, uint32_t index,
			 const char *below, bool make)
{
	char pci[64], path[2 * PATH_BYTES];

	vb_sysfs_pci_path(pci, sizeof pci, index);
	snprintf(path, sizeof path, "class/%s/infiniband/%s/%s", pci, host->device[index].name,
		 below);
	return vb_dir_walk(t->root_fd, path, make);
}

/* Says who has the name of our folder. */
static void note_taken(struct vb_sysfs *t, int base, const char *path)
{
	struct stat st;

	if (t->note[0] || fstatat(base, t->name, &st, AT_SYMLINK_NOFOLLOW))
		return;
	snprintf(t->note, sizeof t->note,
		 "'%s/%s' is taken: it is %s of user %u, and not a folder that user %u alone may "
		 "write to",
		 path, t->name,
		 S_ISDIR(st.st_mode)   ? "a folder"
		 : S_ISLNK(st.st_mode) ? "a symbolic link"
				       : "a file",
		 (unsigned)st.st_uid, (unsigned)geteuid());
}

/* Takes the folder t->name in @path, which may be everybody's: a name that another user has taken
 * is left alone. */
static bool take_folder(struct vb_sysfs *t, const char *path)
{
	char ours[PATH_BYTES];
	int base = vb_dir_open_base(path);

	if (base < 0)
		return false;
	if ((size_t)snprintf(t->root, sizeof t->root, "%s/%s", path, t->name) < sizeof t->root)
		t->root_fd = vb_dir_claim(base, t->name);
	if (t->root_fd < 0) {
		if (t->root_fd != -EWOULDBLOCK)
			note_taken(t, base, path);
		close(base);
		return false;
	}
	t->base_fd = base;
	snprintf(ours, sizeof ours, "verbena-%u-", (unsigned)geteuid());
	vb_dir_sweep(base, ours, t->name);
	return true;
}

void vb_sysfs_init(struct vb_sysfs *t)
{
	const char *base[] = {secure_getenv("XDG_RUNTIME_DIR"), "/dev/shm", "/tmp"};
	char suffix[24] = "";
	struct stat ns = {0};
	uint64_t any;

	memset(t, 0, sizeof *t);
	t->root_fd = t->base_fd = -1;
	(void)stat("/proc/self/ns/net", &ns);
	/* When all names are taken, one that nobody can have guessed. */
	for (int pass = 0; pass < 2; pass++) {
		if (pass && getrandom(&any, sizeof any, 0) == (ssize_t)sizeof any)
			snprintf(suffix, sizeof suffix, "-%016" PRIx64, any);
		snprintf(t->name, sizeof t->name, "verbena-%u-%llu%s", (unsigned)geteuid(),
			 (unsigned long long)ns.st_ino, suffix);
		for (size_t i = 0; i < sizeof base / sizeof base[0]; i++)
			if (base[i] && base[i][0] == '/' && take_folder(t, base[i]))
				return;
	}
	t->root[0] = 0;
}

int vb_sysfs_publish(struct vb_sysfs *t, const struct vb_host_shm *host,
		     const struct vb_counters *total, const struct vb_cm_port_counters *cm)
{
	if (t->root_fd < 0)
		return 0;
	/* Of a broker that was killed at it, or whatever else this user has put there. */
	(void)unlinkat(t->root_fd, FRESH, 0);
	/* As /sys has them, beside the classes; they are replaced together with those. */
	(void)symlinkat("class/devices", t->root_fd, "devices");
	vb_dir_remove(t->root_fd, FRESH);
	int class = vb_dir_make(t->root_fd, FRESH), ib = vb_dir_make(class, "infiniband");
	int rc = ib < 0 ? ib : 0;

	if (!rc) {
		vb_sysfs_put_classes(class);
		for (uint32_t i = 0; i < host->device_cnt; i++)
			if (host->device[i].ifindex) {
				t->shown[i] = total[i + 1];
				t->cm_shown[i] = cm ? cm[i + 1] : (struct vb_cm_port_counters){0};
				put_device(class, &host->device[i], i, &t->shown[i],
					   &t->cm_shown[i]);
			}
	}
	close(ib);
	close(class);
	return rc ? rc : vb_dir_replace(t->root_fd, FRESH, "class");
}

void vb_sysfs_counters(struct vb_sysfs *t, const struct vb_host_shm *host, uint32_t index,
		       const struct vb_counters *total)
{
	static const char *const folder[] = {
	    [VB_COUNTER_PORT] = "counters", [VB_COUNTER_HW] = "hw_counters"};
	int dir[] = {[VB_COUNTER_PORT] = -1, [VB_COUNTER_HW] = -1};
	char path[PATH_BYTES], text[24];

	for (int i = 0; t->root_fd >= 0 && i < VB_COUNTER_CNT; i++) {
		int *at = &dir[vb_counter_info[i].file];

		if (t->shown[index].v[i] == total->v[i])
			continue;
		if (*at == -1) {
			snprintf(path, sizeof path, "ports/1/%s", folder[vb_counter_info[i].file]);
			*at = vb_sysfs_open_device(t, host, index, path, false);
		}
		if (*at < 0)
			break;
		snprintf(text, sizeof text, "%" PRIu64 "\n", total->v[i]);
		vb_file_rewrite(*at, vb_counter_info[i].name, text);
		t->shown[index].v[i] = total->v[i];
	}
	for (size_t k = 0; k < sizeof dir / sizeof dir[0]; k++)
		if (dir[k] >= 0)
			close(dir[k]);
}

void vb_sysfs_cm_counters(struct vb_sysfs *t, const struct vb_host_shm *host, uint32_t index,
			  const struct vb_cm_port_counters *cm)
{
	struct vb_cm_port_counters *shown = &t->cm_shown[index];
	int port = t->root_fd < 0 || memcmp(shown, cm, sizeof *cm) == 0
		       ? -1
		       : vb_sysfs_open_device(t, host, index, "ports/1", false);

	if (port < 0)
		return;
	vb_sysfs_put_cm_counters(port, cm, shown);
	close(port);
}

void vb_sysfs_remove(struct vb_sysfs *t)
{
	if (t->root_fd < 0)
		return;
	vb_dir_empty(t->root_fd);
	vb_dir_remove(t->base_fd, t->name);
	close(t->root_fd);
	close(t->base_fd);
	t->root_fd = t->base_fd = -1;
}
