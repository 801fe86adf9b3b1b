/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requests of NETLINK_RDMA that read, answered as a kernel answers them (rdma/rdma_netlink.h),
 * of Verbena's devices: devices and ports, their statistics, QPs, connections, device files.
 */
#ifndef VB_FILES_NETLINK_NLDEV_H
#define VB_FILES_NETLINK_NLDEV_H

#include "files/netlink/message.h"

/* Adds the answers to @h, a whole message: data, and an acknowledgement or error. */
void vb_nldev_answer(struct vb_nl_out *o, const struct nlmsghdr *h);

#endif
