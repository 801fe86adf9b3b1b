/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Open /dev/infiniband/umadN of the host's RoCE devices, behind which the broker stands: the agents
 * of programs at each port, and their MADs by the broker's QP1 (node/gsi/gsi.h). A RoCE port has no
 * QP0 and no issm file, and sends by GIDs alone. Classes that a kernel serves itself are reserved:
 * the connection manager's messages, and Verbena's own questions. Items MAD-01, MAD-06, MAD-08,
 * MAD-12, MAD-16
 */
#ifndef VB_NODE_UMAD_HOST_H
#define VB_NODE_UMAD_HOST_H

#include "base/time.h"
#include "wire/mad/mad.h"
#include "wire/path.h"

#include <stdbool.h>
#include <stdint.h>

struct vb_broker;
struct vb_device;
struct vb_conn;

/* A call (node/subnet/call.h) on the command connection @c. False: the connection is to be ended.
 */
bool vb_broker_umad_call(struct vb_broker *b, struct vb_conn *c, vb_time now);
/* The socket of open file @index is readable, or has room: its program has closed it, or reads. */
void vb_broker_umad_file(struct vb_broker *b, uint32_t index);
/* A MAD that came to QP1 by @path, and is neither the connection manager's nor an answer that an
 * observer waits for. True: an agent of a program has it, or nobody may have it. */
bool vb_broker_umad_take(struct vb_broker *b, const struct vb_path *path,
			 const uint8_t mad[VB_MAD_LEN], vb_time now);
/* Sends what agents have to send, resends what is due, and hands on what waits for programs. */
void vb_broker_umad_move(struct vb_broker *b, vb_time now);
/* When that is due without anything else happening; VB_NEVER. */
vb_time vb_broker_umad_due(const struct vb_broker *b);
/* Whether a program has a file open. */
bool vb_broker_umad_is_used(const struct vb_broker *b);
/* The device table has changed: the files of a device that is gone are closed. @before: the
 * VB_DEVICES_MAX devices before, since the place of one may have another now. */
void vb_broker_umad_follow(struct vb_broker *b, const struct vb_device *before);
/* The classes of registered agents are claimed again: the shared broker is another one. */
void vb_broker_umad_claim_again(struct vb_broker *b);
void vb_broker_umad_close(struct vb_broker *b);

#endif
