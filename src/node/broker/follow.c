/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker's state follows the host's network devices: the device table, the registers of a place
 * that has another device now, the tree, and the connection manager.
 */
#include "node/broker/state.h"
#include "node/netdev/devices.h"

#include <stdio.h>
#include <string.h>

static void total_counters(const struct vb_broker *b, struct vb_counters *total)
{
	for (uint32_t port = 1; port <= VB_HCA_PORTS_MAX; port++)
		vb_slots_total(&b->slots, port, &total[port]);
}

void vb_broker_publish_tree(struct vb_broker *b)
{
	struct vb_counters total[VB_HCA_PORTS_MAX + 1];

	total_counters(b, total);
	(void)vb_sysfs_publish(&b->sysfs, b->slots.host, total, vb_broker_cm_counters(b));
	vb_broker_params_publish(b);
}

/* A place of the table that stands for another network device now begins empty. */
static void follow_registers(struct vb_broker *b, const struct vb_device *before)
{
	static struct vb_adapter_state next;
	struct vb_adapter_shm *a = vb_slots_adapter(&b->slots);
	bool changed = false;

	next = *vb_adapter_state(a);
	for (int i = 0; i < VB_DEVICES_MAX; i++) {
		if (strcmp(before[i].ifname, b->slots.host->device[i].ifname) == 0)
			continue;
		vb_reg_file_reset(&next.pf[i].reg, vb_device_rate_bps(&b->slots.host->device[i]));
		next.pf[i].recovery_epoch++;
		next.pf[i].cc_epoch++;
		memset(&a->past_fired[i + 1], 0, sizeof a->past_fired[i + 1]);
		changed = true;
	}
	if (changed)
		vb_adapter_commit(a, &next);
}

void vb_broker_refresh_devices(struct vb_broker *b)
{
	static struct vb_netdevs netdevs;
	static struct vb_device before[VB_DEVICES_MAX];

	b->devices_due = VB_NEVER;
	memcpy(before, b->slots.host->device, sizeof before);
	if (vb_netdev_read(&netdevs) ||
	    !vb_devices_update(b->slots.host, &netdevs,
			       vb_adapter_state(vb_slots_adapter(&b->slots))->vf_cnt))
		return;
	follow_registers(b, before);
	vb_broker_publish_tree(b);
	vb_broker_cm_follow(b, before);
	vb_broker_umad_follow(b, before);
}

void vb_broker_tell_tree(struct vb_broker *b)
{
	struct vb_host_shm *host = b->slots.host;

	snprintf(host->sysfs_path, sizeof host->sysfs_path, "%s", b->sysfs.root);
	snprintf(host->sysfs_note, sizeof host->sysfs_note, "%s", b->sysfs.note);
}

/* Host memory may be an earlier broker's: everything that is derived from it is made again. */
void vb_broker_group_ready(struct vb_broker *b)
{
	if (!b->slots.is_carried) {
		(void)vb_broker_watch(b, b->slots.group.fd[0], VB_SOURCE_SINK, 0);
		(void)vb_broker_watch(b, b->slots.group.fd[VB_SLOT_GSI], VB_SOURCE_GSI, 0);
	}
	vb_host_write_begin(b->slots.host);
	b->slots.host->is_open = 1;
	vb_broker_tell_tree(b);
	vb_host_write_end(b->slots.host);
	vb_broker_refresh_devices(b);
	vb_broker_publish_tree(b);
	vb_broker_cm_open(b);
}

int vb_broker_rest(struct vb_broker *b)
{
	static struct vb_past past;
	int rc;

	past = *vb_slots_past(&b->slots);
	vb_broker_cm_rest(b);
	vb_slots_close(&b->slots);
	rc = vb_slots_init(&b->slots);
	if (rc)
		return rc;
	*vb_slots_past(&b->slots) = past;
	vb_broker_tell_tree(b);
	vb_broker_refresh_devices(b);
	b->is_resting = true;
	return 0;
}
