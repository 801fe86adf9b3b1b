/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the shared broker has QP1, users share it: each method of a management class is one user's,
 * as one agent's at a port (MAD-07). Requests that came for it go to his broker. Elsewhere there is
 * nothing to claim.
 */
#ifndef VB_NODE_UMAD_CLAIM_H
#define VB_NODE_UMAD_CLAIM_H

#include "mgmt/agents.h"

struct vb_broker;

/* The agent that was registered by @r has its methods: 0; -EINVAL: another user has one of them; or
 * another negative errno. */
int vb_umad_claim(struct vb_broker *b, const struct vb_agent_request *r);
void vb_umad_release(struct vb_broker *b, const struct vb_agent_request *r);

#endif
