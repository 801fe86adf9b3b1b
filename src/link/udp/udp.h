/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RoCEv2 over ordinary UDP sockets, no privilege needed. IBA A17
 *
 * Receives on one socket of the adapter's SO_REUSEPORT group (port 4791, see node/broker/broker.h)
 * and sends on sockets bound to the UDP source port of the flow. Packets of one size and one path
 * leave as a GSO batch, in one UDP_SEGMENT send, and arrive in one UDP_GRO receive.
 */
#ifndef VB_LINK_UDP_UDP_H
#define VB_LINK_UDP_UDP_H

#include "link/flow.h"
#include "link/link.h"

/* A datagram's payload; a GSO batch is one datagram until it is cut. */
#define VB_UDP_PAYLOAD_MAX_IPV4 65507
#define VB_UDP_PAYLOAD_MAX_IPV6 VB_FLOW_BATCH_MAX

/* Whether the socket @fd takes packets of groups that others have joined. New ones do where they
 * are for IPv6, and where IPv4 is all they are for. */
void vb_udp_sock_take_groups(int fd, bool on);

/* Whether packets of one sender may come as a batch, which is one socket's. A link's socket begins
 * with that. */
void vb_udp_sock_take_batches(int fd, bool on);

/* Returns 0 and the link in *out, or a negative errno. */
int vb_udp_open(struct vb_link **out, const struct vb_link_config *cfg);

#endif
