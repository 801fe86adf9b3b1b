/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program's side of the adapter at a node of a fabric, where the fabric's process is its broker:
 * struct vb_broker_client is filled in as vb_broker_connect() does, and c->fabric says that it is
 * so.
 */
#ifndef VB_NODE_SUBNET_ATTACH_H
#define VB_NODE_SUBNET_ATTACH_H

#include "node/broker/broker.h"

/* `verbena run --fabric NAME --node NODE` has started this program. */
bool vb_subnet_is_wanted(void);

/* Takes a slot there. 0, or a negative errno with a line for the user in @why. */
int vb_subnet_take_slot(struct vb_broker_client *c, char *why, size_t why_size);

/* Looks whether the fabric is still there. -ENOTCONN: it is not; then the device is gone. */
int vb_subnet_check_slot(struct vb_broker_client *c);

/* Unmaps what c->fabric and c->common are, if there are any. */
void vb_subnet_leave_slot(struct vb_broker_client *c);

#endif
