/* SPDX-License-Identifier: BSD-2-Clause */
/* The objects that messages of NETLINK_RDMA tell of: devices, counters, QPs and connections of this
 * host as they are now. */
#ifndef VB_FILES_NETLINK_HOST_H
#define VB_FILES_NETLINK_HOST_H

#include "node/cm/view.h"
#include "node/shared/shm.h"

/* How much of it is wanted; each has what those before it have. */
enum vb_nl_depth { VB_NL_DEVICES, VB_NL_QPS, VB_NL_CONNECTIONS };

struct vb_nl_qp {
	uint32_t pid;
	struct vb_qp_view view;
};

struct vb_nl_host {
	struct vb_host_shm host;
	struct vb_counters total[VB_HCA_PORTS_MAX + 1]; /* device i has entry i + 1 */
	struct vb_nl_qp *qp;
	uint32_t qp_cnt;
	struct vb_cm_table *cm; /* NULL: not gathered */
};

/* Reaches the broker, which is started when there is none, and gathers. 0, or a negative errno;
 * free *to with vb_nl_host_free(). */
int vb_nl_host_gather(struct vb_nl_host **to, enum vb_nl_depth depth);
void vb_nl_host_free(struct vb_nl_host *h);

#endif
