/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tree that mirrors /sys/class/infiniband, infiniband_verbs, infiniband_mad and misc/rdma_cm,
 * and /dev/infiniband, for the devices of this host, with the kernel's file names and formats.
 * Plain files in a folder that only this user may enter; the tree is replaced as a whole when the
 * device table changes, and the counter files are rewritten in place. The folder's name can be
 * foreseen, and a user who takes it before us keeps it: then the folder has another name.
 */
#ifndef VB_NODE_SYSFS_SYSFS_H
#define VB_NODE_SYSFS_SYSFS_H

#include "cm/cm.h"
#include "node/shared/shm.h"

#include <stdbool.h>

struct vb_sysfs {
	char root[256]; /* empty: no folder could be made, there is no tree */
	char note[256]; /* whose the name is that the folder should have had; empty: ours */
	char name[64];  /* of the folder, in its base */
	int base_fd;    /* where the folder is: may be everybody's; -1: there is no tree */
	int root_fd;    /* the folder, ours alone, and locked: other brokers leave it alone */
	struct vb_counters shown[VB_DEVICES_MAX];
	struct vb_cm_port_counters cm_shown[VB_DEVICES_MAX];
};

/* Makes the folder, in XDG_RUNTIME_DIR, /dev/shm or /tmp. Removes those that brokers of other
 * network namespaces left there when they were killed. */
void vb_sysfs_init(struct vb_sysfs *t);

/* Builds the tree for @host and puts it in the place of the one that is there. @total has the
 * counters by HCA port, @cm those of the connection manager; NULL: there is none, they are 0.
 * Returns 0 or a negative errno. */
int vb_sysfs_publish(struct vb_sysfs *t, const struct vb_host_shm *host,
		     const struct vb_counters *total, const struct vb_cm_port_counters *cm);

/* Rewrites the counter files of device @index that have changed. */
void vb_sysfs_counters(struct vb_sysfs *t, const struct vb_host_shm *host, uint32_t index,
		       const struct vb_counters *total);
/* The same for the messages of the connection manager. */
void vb_sysfs_cm_counters(struct vb_sysfs *t, const struct vb_host_shm *host, uint32_t index,
			  const struct vb_cm_port_counters *cm);

/* Writes the files of a port, whose folder is @port, that count messages of the connection manager:
 * all of them where @shown is NULL, else those that differ from what it says, which follows. */
void vb_sysfs_put_cm_counters(int port, const struct vb_cm_port_counters *cm,
			      struct vb_cm_port_counters *shown);

/* Opens the folder @below of device @index, which is nobody else's; makes what is missing of it
 * when
 * @make. Returns a descriptor or a negative errno. */
int vb_sysfs_open_device(const struct vb_sysfs *t, const struct vb_host_shm *host, uint32_t index,
			 const char *below, bool make);

/* Writes file @name with a GUID as the kernel writes it. */
void vb_sysfs_put_guid(int at, const char *name, uint64_t guid);

void vb_sysfs_remove(struct vb_sysfs *t);

#endif
