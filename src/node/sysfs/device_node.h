/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device files of /dev/infiniband: their numbers as the kernel gives them, and how the broker's
 * tree stands for them. A process without privilege can make no device file, so the tree has a
 * regular file with a mode that no other file there has, and the device number as its size;
 * src/files shows it to programs as the device that it stands for.
 */
#ifndef VB_NODE_SYSFS_DEVICE_NODE_H
#define VB_NODE_SYSFS_DEVICE_NODE_H

#include <sys/stat.h>
#include <sys/sysmacros.h>

/* uverbsN is UVERBS_MAJOR:UVERBS_MINOR + N. rdma_cm is a misc device with a number of its own. */
#define VB_UVERBS_MAJOR 231u
#define VB_UVERBS_MINOR 192u
/* umadN is UMAD_MAJOR:N, issmN UMAD_MAJOR:ISSM_MINOR + N. */
#define VB_UMAD_MAJOR 231u
#define VB_ISSM_MINOR 64u
#define VB_RDMA_CM_MAJOR 10u
#define VB_RDMA_CM_MINOR 122u

/* The ABI of a program's writes and of the answers of QUERY: 4 since 2007. */
#define VB_RDMA_CM_ABI 4

/* The PCI domain that the devices are in, which no machine has: VMD's begin above. */
#define VB_PCI_DOMAIN "5642"

#define VB_NODE_FILE_MODE (S_ISVTX | S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH)

#endif
