/* SPDX-License-Identifier: BSD-2-Clause */
/* Reaching the process that runs a fabric. */
#ifndef VB_NODE_SUBNET_CLIENT_H
#define VB_NODE_SUBNET_CLIENT_H

#include "node/subnet/call.h"

/* Connects to fabric @name. Returns a socket, or a negative errno with a line in @why. */
int vb_subnet_dial(const char *name, char *why, size_t why_size);

/* Makes a call, with the memory @fd unless negative, and waits for the answer. @fds: what comes
 * back, NULL: nothing is wanted. Returns 0 when there is an answer, or a negative errno; -EPIPE:
 * the fabric has ended. */
int vb_subnet_ask(int sock, const struct vb_subnet_call *call, int fd,
		  struct vb_subnet_answer *answer, struct vb_fds *fds);

/* A call of @op with @text, as far as its length. */
void vb_subnet_call_text(struct vb_subnet_call *call, enum vb_subnet_op op, const char *text);

#endif
