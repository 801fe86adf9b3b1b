/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer to VB_BROKER_CONNECTIONS. */
#ifndef VB_NODE_CM_VIEW_H
#define VB_NODE_CM_VIEW_H

#include "ucma/view.h"

#define VB_CM_TABLE_MAX 4096u
#define VB_CM_TABLE_NAME "verbena-connections" /* shows in /proc/PID/maps */

struct vb_cm_table {
	uint32_t cnt;   /* views that there are here */
	uint32_t total; /* ids and ended ones that there are */
	struct vb_ucma_view view[VB_CM_TABLE_MAX];
};

struct vb_broker;
/* Returns a descriptor of a memory with a struct vb_cm_table, or a negative errno. */
int vb_broker_cm_table(struct vb_broker *b);

#endif
