/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files of a node's tree that are looked at once a second. Counters of its ports:
 * ports/N/counters, which the performance agent answers, as a kernel asks it
 * (Documentation/ABI/stable/sysfs-class-infiniband), and ports/N/cm_tx_msgs and so on, messages of
 * its connection manager. LNK-38, LNK-39
 */
#include "node/subnet/adapter/adapter.h"

#include "node/host/clock.h"
#include "node/subnet/cm/cm.h"
#include "node/sysfs/dir.h"
#include "node/sysfs/sysfs.h"
#include "wire/mad/pma.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STEP_NS VB_SEC
#define EXTENDED VB_PMA_PORT_COUNTERS_EXT
#define PLAIN VB_PMA_PORT_COUNTERS

/* Data and packets are those of 64 bits. */
static const struct {
	const char *name;
	enum vb_pma_attr attr;
	uint8_t counter;
} files[VB_SUBNET_COUNTER_FILES] = {
    {"symbol_error", PLAIN, VB_PMA_SYMBOL_ERRORS},
    {"link_error_recovery", PLAIN, VB_PMA_LINK_ERROR_RECOVERY},
    {"link_downed", PLAIN, VB_PMA_LINK_DOWNED},
    {"port_rcv_errors", PLAIN, VB_PMA_RCV_ERRORS},
    {"port_rcv_remote_physical_errors", PLAIN, VB_PMA_RCV_REMOTE_PHYSICAL_ERRORS},
    {"port_rcv_switch_relay_errors", PLAIN, VB_PMA_RCV_SWITCH_RELAY_ERRORS},
    {"port_xmit_discards", PLAIN, VB_PMA_XMIT_DISCARDS},
    {"port_xmit_constraint_errors", PLAIN, VB_PMA_XMIT_CONSTRAINT_ERRORS},
    {"port_rcv_constraint_errors", PLAIN, VB_PMA_RCV_CONSTRAINT_ERRORS},
    {"local_link_integrity_errors", PLAIN, VB_PMA_LINK_INTEGRITY_ERRORS},
    {"excessive_buffer_overrun_errors", PLAIN, VB_PMA_BUFFER_OVERRUN_ERRORS},
    {"VL15_dropped", PLAIN, VB_PMA_VL15_DROPPED},
    {"port_xmit_wait", PLAIN, VB_PMA_XMIT_WAIT},
    {"port_xmit_data", EXTENDED, VB_PMA_EXT_XMIT_DATA},
    {"port_rcv_data", EXTENDED, VB_PMA_EXT_RCV_DATA},
    {"port_xmit_packets", EXTENDED, VB_PMA_EXT_XMIT_PACKETS},
    {"port_rcv_packets", EXTENDED, VB_PMA_EXT_RCV_PACKETS},
    {"unicast_xmit_packets", EXTENDED, VB_PMA_EXT_UNICAST_XMIT},
    {"unicast_rcv_packets", EXTENDED, VB_PMA_EXT_UNICAST_RCV},
    {"multicast_xmit_packets", EXTENDED, VB_PMA_EXT_MULTICAST_XMIT},
    {"multicast_rcv_packets", EXTENDED, VB_PMA_EXT_MULTICAST_RCV},
};

void vb_subnet_counters_ask(struct vb_subnet_daemon *d, struct vb_subnet_place at,
			    enum vb_pma_attr attr, struct vb_pma_counts *out)
{
	const struct vb_mad_hdr h = {.base_version = VB_MAD_BASE_VERSION,
				     .mgmt_class = VB_MAD_CLASS_PERF,
				     .class_version = VB_PMA_CLASS_VERSION,
				     .method = VB_MAD_METHOD_GET,
				     .attr_id = (uint16_t)attr};
	const struct vb_pma_counts select = {.port = at.port};
	uint8_t mad[VB_MAD_LEN] = {0};

	vb_mad_hdr_emit(&h, mad);
	vb_pma_counts_emit(&select, attr, mad);
	(void)vb_pma_handle(&d->subnet.node[at.node].pma, mad, vb_clock_now());
	vb_pma_counts_parse(out, attr, mad);
}

/* Writes those that are others than before. */
static void port_write(struct vb_subnet_daemon *d, struct vb_subnet_place at, int dir,
		       uint64_t shown[VB_SUBNET_COUNTER_FILES])
{
	struct vb_pma_counts plain, extended;

	vb_subnet_counters_ask(d, at, PLAIN, &plain);
	vb_subnet_counters_ask(d, at, EXTENDED, &extended);
	for (size_t i = 0; i < VB_SUBNET_COUNTER_FILES; i++) {
		const struct vb_pma_counts *c = files[i].attr == PLAIN ? &plain : &extended;
		uint64_t is = c->value[files[i].counter];
		char text[24];

		if (is == shown[i])
			continue;
		snprintf(text, sizeof text, "%" PRIu64 "\n", is);
		vb_file_rewrite(dir, files[i].name, text);
		shown[i] = is;
	}
}

/* The folder @below of a port, "" is its own. */
static int folder_open(const struct vb_subnet_daemon *d, const struct vb_subnet_seat *s,
		       unsigned port, const char *below, bool make)
{
	char path[96];

	snprintf(path, sizeof path, "%" PRIu32 "/class/infiniband/verbena0/ports/%u%s", s->index,
		 port, below);
	return vb_dir_walk(d->root_fd, path, make);
}

static unsigned port_cnt(const struct vb_subnet_daemon *d, const struct vb_subnet_seat *s)
{
	unsigned cnt = d->topo->node[s->index].port_cnt;

	/* A switch shows port 0, which counts nothing. */
	if (vb_subnet_at_switch(d, s->index))
		return 0;
	return cnt < VB_HCA_PORTS_MAX ? cnt : VB_HCA_PORTS_MAX;
}

/* Messages of the connection manager. @make: there are no files yet. */
static void cm_write(struct vb_subnet_daemon *d, struct vb_subnet_seat *s, unsigned port, bool make)
{
	static const struct vb_cm_port_counters none;
	struct vb_subnet_cm *cm = vb_subnet_cm_find(d, s->index);
	const struct vb_cm_port_counters *c =
	    cm ? &vb_ucma_port_counters(cm->host.ucma)[port] : &none;
	int dir;

	if (!make && memcmp(c, &s->cm_shown[port], sizeof *c) == 0)
		return;
	dir = folder_open(d, s, port, "", make);
	if (dir < 0)
		return;
	vb_sysfs_put_cm_counters(dir, make ? &none : c, make ? NULL : &s->cm_shown[port]);
	close(dir);
}

static void seat_write(struct vb_subnet_daemon *d, struct vb_subnet_seat *s)
{
	vb_subnet_count(d, s->index);
	for (unsigned p = 1; p <= port_cnt(d, s); p++)
		cm_write(d, s, p, false);
	for (unsigned p = 1; p <= port_cnt(d, s); p++) {
		int dir = folder_open(d, s, p, "/counters", false);

		if (dir < 0)
			continue;
		port_write(d, (struct vb_subnet_place){s->index, (uint8_t)p}, dir, s->shown[p]);
		close(dir);
	}
}

void vb_subnet_counter_files_make(struct vb_subnet_daemon *d, struct vb_subnet_seat *s)
{
	for (unsigned p = 1; p <= port_cnt(d, s); p++) {
		int dir = folder_open(d, s, p, "/counters", true);

		for (size_t i = 0; dir >= 0 && i < VB_SUBNET_COUNTER_FILES; i++)
			vb_file_put(dir, files[i].name, "0\n");
		if (dir >= 0)
			close(dir);
		cm_write(d, s, p, true);
	}
	seat_write(d, s);
}

void vb_subnet_counter_files_step(struct vb_subnet_daemon *d, vb_time now)
{
	if (now < d->counters_due)
		return;
	d->counters_due = vb_list_is_empty(&d->seats) ? VB_NEVER : now + STEP_NS;
	for (struct vb_list *l = d->seats.next; l != &d->seats; l = l->next) {
		struct vb_subnet_seat *s = vb_container_of(l, struct vb_subnet_seat, node);

		seat_write(d, s);
		vb_subnet_tree_read(d, s, now);
	}
}
