/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trees by which the programs at a node see its device: /sys/class/infiniband,
 * infiniband_mad and /dev/infiniband, as node/sysfs makes them for the devices of a host. The
 * values that the subnet manager sets are rewritten when they change. MAD-01
 */
#include "node/subnet/state.h"

#include "node/sysfs/device_node.h"
#include "node/sysfs/dir.h"
#include "node/sysfs/pci.h"
#include "node/sysfs/sysfs.h"
#include "wire/ib/rate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICE "verbena0"

/* In a folder of its own, which is claimed by this process alone. */
static int trees_in(struct vb_subnet_daemon *d, const char *base)
{
	int fd = vb_dir_open_base(base), root;

	if (fd < 0)
		return fd;
	snprintf(d->root_name, sizeof d->root_name, "verbena-fabric-%d", (int)getpid());
	root = vb_dir_claim(fd, d->root_name);
	if (root < 0) {
		close(fd);
		return root;
	}
	vb_dir_sweep(fd, "verbena-fabric-", d->root_name);
	d->base_fd = fd;
	d->root_fd = root;
	snprintf(d->root, sizeof d->root, "%s/%s", base, d->root_name);
	return 0;
}

int vb_subnet_trees_open(struct vb_subnet_daemon *d)
{
	const char *bases[] = {getenv("XDG_RUNTIME_DIR"), "/dev/shm", "/tmp"};
	int rc = -ENOENT;

	d->base_fd = d->root_fd = -1;
	for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++)
		if (bases[i] && bases[i][0] == '/' && strlen(bases[i]) < 100) {
			rc = trees_in(d, bases[i]);
			if (!rc)
				return 0;
		}
	return rc;
}

void vb_subnet_trees_close(struct vb_subnet_daemon *d)
{
	if (d->root_fd < 0)
		return;
	vb_dir_empty(d->root_fd);
	vb_dir_remove(d->base_fd, d->root_name);
	close(d->root_fd);
	close(d->base_fd);
	d->root_fd = d->base_fd = -1;
}

static const char *state_name(uint8_t state)
{
	static const char *const names[] = {"NOP",   "DOWN",   "INIT",
					    "ARMED", "ACTIVE", "ACTIVE_DEFER"};

	return names[state < sizeof names / sizeof names[0] ? state : 0];
}

static const char *phys_name(uint8_t state)
{
	static const char *const names[] = {"",
					    "Sleep",
					    "Polling",
					    "Disabled",
					    "PortConfigurationTraining",
					    "LinkUp",
					    "LinkErrorRecovery",
					    "Phy Test"};

	return names[state < sizeof names / sizeof names[0] ? state : 0];
}

/* "100 Gb/sec (4X EDR)" of the active link, or of the best that the port can do. */
static void rate_text(const struct vb_port_info *p, char *text, size_t size)
{
	const struct vb_ib_speed_row *best = vb_ib_speed_row(VB_IB_SDR);
	uint32_t lanes = vb_ib_lanes(p->width_active), tenths;

	for (uint32_t code = VB_IB_SDR; code <= VB_IB_XDR; code <<= 1) {
		const struct vb_ib_speed_row *row = vb_ib_speed_row(code);

		if (row && ((row->port_info_ext & p->ext_speed_active) ||
			    (!p->ext_speed_active && (row->port_info & p->speed_active))))
			best = row;
	}
	if (lanes == 0)
		lanes = vb_ib_lanes(VB_IB_4X);
	tenths = best->nominal * lanes;
	if (tenths % 10)
		snprintf(text, size, "%u.%u Gb/sec (%uX %s)", tenths / 10, tenths % 10, lanes,
			 best->name);
	else
		snprintf(text, size, "%u Gb/sec (%uX %s)", tenths / 10, lanes, best->name);
}

/* A file with one line of text, made or rewritten. */
struct vb_tree_dir {
	int fd;
	bool is_new;
};

__attribute__((format(printf, 3, 4))) static void put_line(const struct vb_tree_dir *t,
							   const char *name, const char *fmt, ...)
{
	char text[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (t->is_new)
		vb_file_put(t->fd, name, "%s\n", text);
	else {
		size_t len = strlen(text);

		snprintf(text + (len < sizeof text - 1 ? len : sizeof text - 2), 2, "\n");
		vb_file_rewrite(t->fd, name, text);
	}
}

static void put_gids(int port, const struct vb_sma_port *p, bool is_new)
{
	struct vb_tree_dir gids = {vb_dir_make(port, "gids"), is_new};

	for (unsigned i = 0; i < p->info.guid_cap; i++) {
		char name[8];
		uint64_t a = p->info.prefix, b = p->guid[i];

		snprintf(name, sizeof name, "%u", i);
		put_line(&gids, name, "%04x:%04x:%04x:%04x:%04x:%04x:%04x:%04x",
			 (unsigned)(a >> 48), (unsigned)(a >> 32 & 0xffff),
			 (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xffff), (unsigned)(b >> 48),
			 (unsigned)(b >> 32 & 0xffff), (unsigned)(b >> 16 & 0xffff),
			 (unsigned)(b & 0xffff));
	}
	close(gids.fd);
}

static void put_pkeys(int port, const struct vb_sma_port *p, bool is_new)
{
	struct vb_tree_dir pkeys = {vb_dir_make(port, "pkeys"), is_new};

	for (unsigned i = 0; i < VB_SUBNET_PKEYS; i++) {
		char name[8];

		snprintf(name, sizeof name, "%u", i);
		put_line(&pkeys, name, "0x%04x", p->pkey[i]);
	}
	close(pkeys.fd);
}

/* The attributes of port @number that a subnet manager sets. */
static void put_port(struct vb_subnet_daemon *d, uint32_t node, uint8_t number, int port,
		     bool is_new)
{
	struct vb_sma_port *p =
	    vb_subnet_sma_port(&d->subnet, (struct vb_subnet_place){node, number});
	struct vb_tree_dir dir = {port, is_new};
	uint8_t state = p->link ? p->link->state : VB_LINK_ACTIVE;
	uint8_t phys = p->link ? p->info.phys_state : VB_PHYS_LINK_UP;
	char rate[48];

	rate_text(&p->info, rate, sizeof rate);
	put_line(&dir, "state", "%u: %s", state, state_name(state));
	put_line(&dir, "phys_state", "%u: %s", phys, phys_name(phys));
	put_line(&dir, "rate", "%s", rate);
	put_line(&dir, "lid", "0x%x", p->info.lid);
	put_line(&dir, "lid_mask_count", "%u", p->info.lmc);
	put_line(&dir, "sm_lid", "0x%x", p->info.sm_lid);
	put_line(&dir, "sm_sl", "%u", p->info.sm_sl);
	put_line(&dir, "cap_mask", "0x%08x", p->info.cap_mask);
	put_line(&dir, "link_layer", "InfiniBand");
	put_gids(port, p, is_new);
	put_pkeys(port, p, is_new);
}

static uint8_t first_port(const struct vb_subnet_daemon *d, uint32_t node)
{
	return vb_subnet_at_switch(d, node) ? 0 : 1;
}

static uint8_t last_port(const struct vb_subnet_daemon *d, uint32_t node)
{
	return vb_subnet_at_switch(d, node) ? 0 : d->topo->node[node].port_cnt;
}

/* umadN and issmN of port @number. */
static void put_mad_files(int class, uint8_t number, unsigned index)
{
	char name[16];

	snprintf(name, sizeof name, "umad%u", index);
	vb_sysfs_put_mad(class, name, DEVICE, number, index);
	snprintf(name, sizeof name, "issm%u", index);
	vb_sysfs_put_mad(class, name, DEVICE, number, VB_ISSM_MINOR + index);
}

static void put_ports(struct vb_subnet_daemon *d, uint32_t node, int dir, int class)
{
	int ports = vb_dir_make(dir, "ports");

	for (unsigned i = first_port(d, node); i <= last_port(d, node); i++) {
		char name[8];

		snprintf(name, sizeof name, "%u", i);
		int port = vb_dir_make(ports, name);

		put_port(d, node, (uint8_t)i, port, class >= 0);
		if (class >= 0)
			put_mad_files(class, (uint8_t)i, i - first_port(d, node));
		close(port);
	}
	close(ports);
}

/* The attributes of the node itself that may change. FAB-19 */
static void put_names(struct vb_subnet_daemon *d, uint32_t node, int fd, bool is_new)
{
	const struct vb_sma_node *sma = &d->subnet.node[node].sma;
	const struct vb_tree_dir dir = {fd, is_new};
	uint64_t g = sma->info.system_guid;

	put_line(&dir, "node_desc", "%.*s", VB_SMA_NODE_DESC_LEN, (const char *)sma->description);
	put_line(&dir, "sys_image_guid", "%04x:%04x:%04x:%04x", (unsigned)(g >> 48),
		 (unsigned)(g >> 32 & 0xffff), (unsigned)(g >> 16 & 0xffff),
		 (unsigned)(g & 0xffff));
}

/* The first line of node_desc that somebody has written over what @node is called. False: nobody
 * has. */
static bool description_written(const struct vb_subnet_daemon *d, uint32_t node, int dir,
				char text[VB_SMA_NODE_DESC_LEN + 2])
{
	char shown[VB_SMA_NODE_DESC_LEN + 2];
	int fd = vb_file_open(dir, "node_desc", O_RDONLY);
	ssize_t len;

	if (fd < 0)
		return false;
	len = read(fd, text, VB_SMA_NODE_DESC_LEN + 1);
	close(fd);
	text[len > 0 ? len : 0] = 0;
	snprintf(shown, sizeof shown, "%.*s\n", VB_SMA_NODE_DESC_LEN,
		 (const char *)d->subnet.node[node].sma.description);
	if (strcmp(text, shown) == 0)
		return false;
	text[strcspn(text, "\n")] = 0;
	return text[0] != 0; /* else its writer is at it */
}

void vb_subnet_tree_read(struct vb_subnet_daemon *d, const struct vb_subnet_seat *seat, vb_time now)
{
	char path[64], text[VB_SMA_NODE_DESC_LEN + 2];
	int dir;

	snprintf(path, sizeof path, "%" PRIu32 "/class/infiniband/" DEVICE, seat->index);
	dir = vb_dir_walk(d->root_fd, path, false);
	if (dir < 0)
		return;
	if (description_written(d, seat->index, dir, text))
		vb_subnet_set_description(&d->subnet, seat->index, text, now);
	close(dir);
}

static void put_device(struct vb_subnet_daemon *d, uint32_t node, int dir)
{
	const struct vb_topo_node *n = &d->topo->node[node];
	static const char *const types[] = {"", "CA", "switch", "router"};

	vb_file_put(dir, "node_type", "%u: %s\n", n->type, types[n->type < 4 ? n->type : 0]);
	put_names(d, node, dir, true);
	vb_sysfs_put_guid(dir, "node_guid", n->node_guid);
	vb_file_put(dir, "fw_ver", "%s\n", VERBENA_VERSION);
	vb_file_put(dir, "hw_rev", "0\n");
	vb_file_put(dir, "hca_type", "verbena\n");
	vb_file_put(dir, "board_id", "verbena\n");
}

static void tree_name(const struct vb_subnet_seat *seat, char *name, size_t size)
{
	snprintf(name, size, "%" PRIu32, seat->index);
}

int vb_subnet_tree_make(struct vb_subnet_daemon *d, struct vb_subnet_seat *seat)
{
	char name[16];

	if (d->root_fd < 0)
		return -ENOENT;
	tree_name(seat, name, sizeof name);
	int root = vb_dir_make(d->root_fd, name), class = vb_dir_make(root, "class");
	int ib = vb_dir_make(class, "infiniband"), dir = vb_dir_make(ib, DEVICE);

	if (dir >= 0) {
		put_device(d, seat->index, dir);
		vb_sysfs_put_classes(class);
		put_ports(d, seat->index, dir, class);
	}
	close(dir);
	close(ib);
	close(class);
	close(root);
	if (dir < 0)
		return dir;
	snprintf(seat->root, sizeof seat->root, "%s/%s", d->root, name);
	return 0;
}

void vb_subnet_tree_remove(struct vb_subnet_daemon *d, struct vb_subnet_seat *seat)
{
	char name[16];

	if (d->root_fd < 0)
		return;
	tree_name(seat, name, sizeof name);
	vb_dir_remove(d->root_fd, name);
}

void vb_subnet_tree_update(struct vb_subnet_daemon *d, const struct vb_subnet_seat *seat)
{
	char path[64];
	int dir;

	snprintf(path, sizeof path, "%" PRIu32 "/class/infiniband/" DEVICE, seat->index);
	dir = vb_dir_walk(d->root_fd, path, false);
	if (dir < 0)
		return;
	put_names(d, seat->index, dir, false);
	put_ports(d, seat->index, dir, -1);
	close(dir);
}
