/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses, routes and groups of this host, as the connection manager asks for them. */
#ifndef VB_NODE_CM_ENV_H
#define VB_NODE_CM_ENV_H

#include "node/broker/state.h"
#include "ucma/ucma.h"

struct vb_ucma_env vb_cm_env(struct vb_broker *b);
/* The ports that the host gives by itself. ip(7) ip_local_port_range */
void vb_cm_env_ports(uint16_t *first, uint16_t *last);
/* Whether ports below 1024 may be bound; @ctx is not used. ip(7) ip_unprivileged_port_start */
bool vb_cm_env_may_bind_low(void *ctx);

#endif
