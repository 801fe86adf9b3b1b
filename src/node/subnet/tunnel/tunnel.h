/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tunnels of a fabric in real time: a port is the end of a cable whose other end is a port of
 * another fabric's process, on this host or another one. Datagrams of UDP cross that cable
 * (wire/ib/tunnel.h): packets of programs as they leave the net, flow control, MADs. Whom an
 * end believes and when links come up is fabric/tunnel/tunnel.h; here are the sockets, the clock,
 * and what happens to the port. Items LNK-16, LNK-20, LNK-31, LNK-33, FAB-56
 */
#ifndef VB_NODE_SUBNET_TUNNEL_TUNNEL_H
#define VB_NODE_SUBNET_TUNNEL_TUNNEL_H

#include "fabric/tunnel/table.h"
#include "fabric/tunnel/tunnel.h"
#include "node/subnet/state.h"

#include <stdio.h>
#include <sys/socket.h>

/* Of a fabric. */
#define VB_SUBNET_TUNNELS_MAX 64u
/* Flow control is told again so often. LNK-19, LNK-20 */
#define VB_SUBNET_TUNNEL_PERIOD (50 * VB_MSEC)
#define VB_SUBNET_ADDRESS_TEXT 64

/* It begins as struct vb_subnet_conn does, and goes as one. */
struct vb_subnet_tunnel {
	struct vb_watch watch; /* its socket, connected to the other end's */
	struct vb_list node;   /* of the daemon's */
	struct vb_subnet_daemon *d;
	struct vb_subnet_place at;
	char local[VB_SUBNET_ADDRESS_TEXT],
	    peer[VB_SUBNET_ADDRESS_TEXT]; /* as the user wrote them */
	struct vb_tunnel end;
	struct vb_tunnel_table table;
	uint32_t falls;         /* of the link, that the other end has been told of */
	bool is_twin;           /* the node at the other end has a GUID of a node here */
	uint64_t asked;         /* the GUID that this was asked of */
	uint64_t unsent, wrong; /* datagrams that the kernel did not take; packets without sense */
};

/* socket.c: reads "ADDRESS:PORT", "[ADDRESS]:PORT". 0, or -EINVAL with a line in @why. */
int vb_tunnel_address(struct sockaddr_storage *out, socklen_t *len, const char *text, char *why,
		      size_t why_size);
/* A socket from @local to @peer, of one family. Its descriptor, or a negative errno with a line. */
int vb_tunnel_socket(const char *local, const char *peer, char *why, size_t why_size);
/* Sends a datagram of @len bytes, whose header is at its beginning. */
void vb_subnet_tunnel_put(struct vb_subnet_tunnel *t, const uint8_t *bytes, uint32_t len);
/* The tunnel at the port, NULL: none is there. */
struct vb_subnet_tunnel *vb_subnet_tunnel_at(const struct vb_subnet_daemon *d,
					     struct vb_subnet_place at);

/* far.c: the table of addresses follows the ports and the other tunnels. */
void vb_subnet_tunnel_tell(struct vb_subnet_tunnel *t);
/* Parts of the table that the other end lacks leave. */
void vb_subnet_tunnel_send_table(struct vb_subnet_tunnel *t, bool again);

/* routers.c: the routers behind tunnels, and what managers are told of them, follow the tables. */
void vb_subnet_far_routers_follow(struct vb_subnet_daemon *d);

/* port.c: @events, enum vb_tunnel_event, take effect on the port. */
void vb_subnet_tunnel_act(struct vb_subnet_tunnel *t, uint32_t events, vb_time now);
/* A period has gone by. */
void vb_subnet_tunnel_tick(struct vb_subnet_tunnel *t, vb_time now);
/* The other end hears of the port what it does not know yet. */
void vb_subnet_tunnel_say(struct vb_subnet_tunnel *t);

/* pass.c: takes what has come, and does what follows from it. */
void vb_subnet_tunnel_receive(struct vb_subnet_tunnel *t, vb_time now);
/* A MAD leaves by the port; a call of struct vb_subnet. */
void vb_subnet_tunnel_leave(void *ctx, struct vb_subnet_place out, const struct vb_subnet_mad *m);

/* say.c: what `verbena fabric show` says of the port and of what is behind it. */
void vb_subnet_tunnel_print(const struct vb_subnet_tunnel *t, FILE *out);

#endif
