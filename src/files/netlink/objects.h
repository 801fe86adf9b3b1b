/* SPDX-License-Identifier: BSD-2-Clause */
/* QPs and connections of a device, as NETLINK_RDMA tells of them. Functions that put or list return
 * 0, or a negative errno. */
#ifndef VB_FILES_NETLINK_OBJECTS_H
#define VB_FILES_NETLINK_OBJECTS_H

#include "files/netlink/host.h"
#include "files/netlink/message.h"

/* nldev.c: index and name of device @i. */
void vb_nldev_handle(struct vb_nl_out *o, const struct vb_nl_host *h, uint32_t i);

uint32_t vb_nldev_qp_cnt(const struct vb_nl_host *h, uint32_t i);
uint32_t vb_nldev_cm_id_cnt(const struct vb_nl_host *h, uint32_t i);

/* The QP or connection that the request names by its number. */
int vb_nldev_put_qp(struct vb_nl_out *o, const struct vb_nl_host *h, uint32_t i,
		    const struct nlmsghdr *request);
int vb_nldev_put_cm_id(struct vb_nl_out *o, const struct vb_nl_host *h, uint32_t i,
		       const struct nlmsghdr *request);

/* All of device @i, in messages of their own. */
int vb_nldev_list_qps(struct vb_nl_out *o, const struct vb_nl_host *h, uint32_t i,
		      const struct nlmsghdr *request);
int vb_nldev_list_cm_ids(struct vb_nl_out *o, const struct vb_nl_host *h, uint32_t i,
			 const struct nlmsghdr *request);

#endif
