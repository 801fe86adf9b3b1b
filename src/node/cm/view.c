/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections for observers: how all ids stand, in a memory that is made for one answer. */
#include "node/cm/view.h"

#include "link/memory.h"
#include "node/broker/state.h"

#include <unistd.h>

int vb_broker_cm_table(struct vb_broker *b)
{
	struct vb_cm_table *t;
	void *p;
	int fd = vb_memory_new(VB_CM_TABLE_NAME, sizeof *t, &p);

	if (fd < 0)
		return fd;
	t = p;
	t->total = vb_broker_cm_views(b, t->view, VB_CM_TABLE_MAX);
	t->cnt = t->total < VB_CM_TABLE_MAX ? t->total : VB_CM_TABLE_MAX;
	vb_memory_unmap(p, sizeof *t);
	return fd;
}
