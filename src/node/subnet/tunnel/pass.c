/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The traffic of a tunnel: frames that leave the net and MADs that leave the subnet become
 * datagrams, and datagrams become frames and MADs. All that comes is hostile:
 * fabric/tunnel/tunnel.h has checked whose datagram it is and its length, the parsers here check
 * what is in it. LNK-16, FAB-12
 */
#include "fabric/tunnel/packet.h"
#include "node/host/clock.h"
#include "node/subnet/live/live.h"
#include "node/subnet/tunnel/tunnel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Datagrams of one tunnel in a row. */
#define TURN 256
/* Tunnels that a MAD passes at most: a loop in the tables of several fabrics ends there, as a
 * packet's lifetime ends it on a wire. LNK-29 */
#define MAD_HOPS_MAX 64u

void vb_subnet_tunnel_leave(void *ctx, struct vb_subnet_place out, const struct vb_subnet_mad *m)
{
	struct vb_subnet_tunnel *t = vb_subnet_tunnel_at(ctx, out);
	uint8_t bytes[VB_TUNNEL_HDR_LEN + VB_SUBNET_PACKET_MAX];
	uint32_t len;

	if (!t || !vb_tunnel_is_joined(&t->end) || m->hops >= MAD_HOPS_MAX)
		return;
	vb_tunnel_head(&t->end, VB_TUNNEL_MAD, (uint8_t)(m->hops + 1), bytes);
	len = vb_subnet_mad_emit(m, bytes + VB_TUNNEL_HDR_LEN);
	vb_subnet_tunnel_put(t, bytes, VB_TUNNEL_HDR_LEN + len);
}

static void frame_send(struct vb_subnet_tunnel *t, const struct vb_frame *f)
{
	uint8_t bytes[VB_TUNNEL_MAX];
	uint32_t len = VB_FLOW_LEN;

	if (!vb_tunnel_is_joined(&t->end))
		return;
	if (f->kind == VB_FRAME_FLOW)
		memcpy(bytes + VB_TUNNEL_HDR_LEN, f->bytes, VB_FLOW_LEN);
	else
		len = vb_tunnel_packet_emit(f, bytes + VB_TUNNEL_HDR_LEN);
	if (len == 0)
		return;
	vb_tunnel_head(&t->end, f->kind == VB_FRAME_FLOW ? VB_TUNNEL_FLOW : VB_TUNNEL_PACKET, 0,
		       bytes);
	vb_subnet_tunnel_put(t, bytes, VB_TUNNEL_HDR_LEN + len);
}

bool vb_subnet_tunnels_send(struct vb_subnet_daemon *d)
{
	struct vb_frame *f;
	bool moved = false;

	while ((f = vb_ib_net_poll_away(&d->live->net)) != NULL) {
		const struct vb_ib_map_port *p = &vb_ib_map_ports(d->adapter->map)[f->in];
		struct vb_subnet_tunnel *t =
		    vb_subnet_tunnel_at(d, (struct vb_subnet_place){p->node, p->number});

		if (t)
			frame_send(t, f);
		vb_frame_pool_give(&d->live->net.pool, f);
		moved = true;
	}
	return moved;
}

/* A packet of data comes in by the port. One that makes no sense is an error of the link. LNK-39 */
static void packet_take(struct vb_subnet_tunnel *t, const uint8_t *bytes, uint32_t len)
{
	struct vb_ib_net *net = &t->d->live->net;
	uint32_t number = vb_subnet_map_port(t->d->adapter, t->at);
	struct vb_frame *f = vb_frame_pool_take(&net->pool);

	if (!f)
		return;
	if (vb_tunnel_packet_parse(f, bytes, len)) {
		t->wrong++;
		net->end[number].port.counters.rcv_errors++;
		vb_frame_pool_give(&net->pool, f);
		return;
	}
	vb_ib_net_arrive(net, number, f);
}

static void mad_take(struct vb_subnet_tunnel *t, const uint8_t *bytes, uint32_t len, uint8_t hops,
		     vb_time now)
{
	struct vb_subnet_mad m;

	if (vb_subnet_mad_parse(&m, bytes, len)) {
		t->wrong++;
		t->d->subnet.node[t->at.node].port[t->at.port].link.counters.rcv_errors++;
		return;
	}
	m.at = t->at;
	m.hops = hops;
	vb_subnet_mad_arrive(t->d, &m, now);
}

static void datagram_take(struct vb_subnet_tunnel *t, const uint8_t *bytes, uint32_t len,
			  vb_time now)
{
	const uint8_t *body = bytes + VB_TUNNEL_HDR_LEN;
	struct vb_tunnel_hdr h;
	uint32_t events = 0;

	if (vb_tunnel_receive(&t->end, bytes, len, &h, &events) != VB_TUNNEL_COUNTS) {
		vb_subnet_tunnel_act(t, events, now);
		return;
	}
	vb_subnet_tunnel_act(t, events, now);
	len -= VB_TUNNEL_HDR_LEN;
	if (h.kind == VB_TUNNEL_MAD)
		mad_take(t, body, len, h.hops, now);
	else if (h.kind == VB_TUNNEL_PACKET)
		packet_take(t, body, len);
	else if (h.kind == VB_TUNNEL_FLOW)
		(void)vb_ib_net_arrive_flow(&t->d->live->net,
					    vb_subnet_map_port(t->d->adapter, t->at), body);
	else if (h.kind == VB_TUNNEL_HELLO)
		vb_subnet_tunnel_send_table(t, false);
	else if (h.kind == VB_TUNNEL_TABLE && !t->is_twin) {
		t->d->far_changed |= vb_tunnel_table_hear(&t->table, body, len);
		t->end.is_due = true; /* the other end waits for how far it has come */
	}
}

void vb_subnet_tunnel_receive(struct vb_subnet_tunnel *t, vb_time now)
{
	uint8_t bytes[VB_TUNNEL_MAX + 1];

	for (int i = 0; i < TURN; i++) {
		ssize_t n = recv(t->watch.fd, bytes, sizeof bytes, MSG_DONTWAIT);

		if (n < 0 && errno == ECONNREFUSED)
			continue; /* of one that was sent: nobody is there */
		if (n < 0)
			return;
		datagram_take(t, bytes, (uint32_t)n, now);
	}
}
