/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RDMA CM at the nodes of a fabric: what the kernel of a host does there, for the programs at a
 * node and for the peers of nodes without programs, which are refused. A node has it from the first
 * call or message on. Its MADs are GMPs of the subnet, its routes PathRecords of the manager.
 *
 * IP addresses without IPoIB: the ports of adapters are numbered in the order of the topology, from
 * 1 on, and port n has the address 10.F.n/256.n%256; F is the number at the end of the fabric's
 * name. An IPv6 address is a GID. Items CMP-48, CMP-50, FAB-51, FAB-52
 */
#ifndef VB_NODE_SUBNET_CM_CM_H
#define VB_NODE_SUBNET_CM_CM_H

#include "node/cm/serve.h"
#include "node/subnet/state.h"

/* The part of a port on which memberships of groups depend. */
struct vb_subnet_cm_port {
	uint16_t lid, sm_lid;
	uint32_t reregisters;
};

struct vb_subnet_cm {
	struct vb_list node; /* of the daemon's */
	struct vb_subnet_daemon *d;
	uint32_t index;                                      /* of the node */
	struct vb_list channels;                             /* sockets that the loop looks at */
	struct vb_subnet_cm_port port[VB_HCA_PORTS_MAX + 1]; /* as they were when last looked at */
	struct vb_cm_host host;
};

/* That of node @index, NULL: it has none yet. */
struct vb_subnet_cm *vb_subnet_cm_find(struct vb_subnet_daemon *d, uint32_t index);
/* That of node @index, an adapter; it is made where there is none. NULL: no memory. */
struct vb_subnet_cm *vb_subnet_cm_at(struct vb_subnet_daemon *d, uint32_t index);
void vb_subnet_cms_close(struct vb_subnet_daemon *d);

/* The connection @c is one of calls of node/cm/call.h from now on. Returns the status of the
 * answer.
 */
int vb_subnet_cm_begin(struct vb_subnet_daemon *d, struct vb_subnet_conn *c, struct vb_fds *back);
/* There is a call on @c. False: the connection is to be ended. */
bool vb_subnet_cm_call(struct vb_subnet_daemon *d, struct vb_subnet_conn *c);
/* @c ends. */
void vb_subnet_cm_leave(struct vb_subnet_conn *c);
/* A channel's socket, whose watch is @w, is readable or has room. */
void vb_subnet_cm_channel(struct vb_watch *w, vb_time now);

/* @node has changed: groups that were joined through a port whose manager or LID is another one, or
 * has asked to register again, are joined again. FAB-24 */
void vb_subnet_cm_follow(struct vb_subnet_daemon *d, uint32_t node, vb_time now);

/* The next MAD that @cm sends. */
bool vb_subnet_cm_transmit(struct vb_subnet_cm *cm, struct vb_subnet_mad *m);
/* Whether @m, which has arrived, is for the connection manager of its node, which then has it. */
bool vb_subnet_cm_take(struct vb_subnet_daemon *d, const struct vb_subnet_mad *m, vb_time now);

/* env.c: addresses and routes of @cm's node. */
struct vb_ucma_env vb_subnet_cm_env(struct vb_subnet_cm *cm);
/* How many ports verbs show of it, from 1 on. */
uint8_t vb_subnet_cm_ports(const struct vb_subnet_cm *cm);
bool vb_subnet_cm_gid_is_local(void *ctx, const struct vb_gid *gid);
/* The table of addresses. 0 or -ENOMEM. */
int vb_subnet_addresses_make(struct vb_subnet_daemon *d);
/* All addresses are 10.@part.x.y from now on. */
void vb_subnet_addresses_part(struct vb_subnet_daemon *d, uint32_t part);
/* The address of a port of an adapter, in host order; 0: it has none. */
uint32_t vb_subnet_address_of(const struct vb_subnet_daemon *d, struct vb_subnet_place at);

#endif
