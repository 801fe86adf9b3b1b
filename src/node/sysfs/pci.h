/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of the broker's tree that lie around class/infiniband: each device below a PCI function
 * of its own, to which the folders of the classes have symbolic links, and the device files.
 * sysfs.h
 */
#ifndef VB_NODE_SYSFS_PCI_H
#define VB_NODE_SYSFS_PCI_H

#include "node/shared/shm.h"

#include <stddef.h>

/* Where device @index is below "class", without its last part: devices/pci.../5642:01:00.0. */
void vb_sysfs_pci_path(char *path, size_t size, uint32_t index);

/* Makes the PCI function of device @index in the open folder @class, with network device, uverbs
 * device and what describes it. Returns the folder that the RDMA device goes into, or a negative
 * errno. */
int vb_sysfs_put_pci(int class, const struct vb_device *d, uint32_t index);

/* Makes the file in @class that stands for the device file @name, see device_node.h. */
void vb_sysfs_put_node(int class, const char *name, unsigned major, unsigned minor);

/* Makes umadN or issmN, which @name is, of port @port of device @ibdev: its folder and its file. */
void vb_sysfs_put_mad(int class, const char *name, const char *ibdev, unsigned port,
		      unsigned minor);

/* The classes that are there whatever devices there are, and the file of rdma_cm. */
void vb_sysfs_put_classes(int class);

#endif
