/* SPDX-License-Identifier: BSD-2-Clause */
/* The port at the end of a tunnel: its link follows the other end and the silence of it, and the
 * other end hears of the port. LNK-20, LNK-31, LNK-33, LNK-35 */
#include "node/subnet/tunnel/tunnel.h"

#include "node/subnet/adapter/adapter.h"
#include "node/subnet/live/live.h"
#include "node/subnet/watch.h"

static const struct vb_subnet_port *port_of(const struct vb_subnet_tunnel *t)
{
	return &t->d->subnet.node[t->at.node].port[t->at.port];
}

/* The end's word about itself follows the port. */
static void hello_follow(struct vb_subnet_tunnel *t)
{
	struct vb_tunnel_hello *h = &t->end.mine;
	const struct vb_subnet_far near = vb_subnet_near_end(&t->d->subnet, t->at);

	if (t->falls != port_of(t)->falls) {
		t->falls = port_of(t)->falls;
		vb_tunnel_new_life(&t->end);
	}
	t->end.is_due |= h->polls != (near.is_there && !t->is_twin) || h->speeds != near.speeds ||
			 h->widths != near.widths;
	h->polls = near.is_there && !t->is_twin;
	h->speeds = near.speeds;
	h->widths = near.widths;
	h->table = t->table.mine.version;
	vb_tunnel_table_heard(&t->table, &h->heard_table, &h->heard_cnt);
}

void vb_subnet_tunnel_say(struct vb_subnet_tunnel *t)
{
	uint8_t bytes[VB_TUNNEL_HDR_LEN + VB_TUNNEL_HELLO_LEN];

	hello_follow(t);
	while (vb_tunnel_poll_hello(&t->end, bytes))
		vb_subnet_tunnel_put(t, bytes, sizeof bytes);
}

/* Two fabrics that were started alike have nodes of the same GUIDs, which no manager can tell
 * apart. */
static bool has_twin(struct vb_subnet_tunnel *t)
{
	uint64_t guid = t->end.theirs.guid;

	if (t->asked == guid)
		return t->is_twin;
	t->asked = guid;
	for (uint32_t i = 0; i < t->d->topo->node_cnt; i++)
		if (t->d->topo->node[i].node_guid == guid)
			return true;
	return false;
}

void vb_subnet_tunnel_act(struct vb_subnet_tunnel *t, uint32_t events, vb_time now)
{
	struct vb_subnet *s = &t->d->subnet;
	struct vb_subnet_far far = {.is_there = false};

	if (events & VB_TUNNEL_LOST) {
		vb_subnet_watch_tunnel(t->d, t->at, t->peer, "is silent, or another process");
		vb_subnet_far_end(s, t->at, &far, false, now);
		vb_tunnel_new_life(&t->end);
		vb_tunnel_table_clear(&t->table, true);
		t->d->far_changed = true;
	}
	if (events & VB_TUNNEL_MET)
		vb_subnet_watch_tunnel(t->d, t->at, t->peer, "answers");
	if ((events & VB_TUNNEL_FLOW_SILENT) && vb_subnet_flow_silence(s, t->at, now) == 0)
		vb_ib_net_tell(&t->d->live->net, vb_subnet_map_port(t->d->adapter, t->at));
	if (events & VB_TUNNEL_SAID)
		t->is_twin = has_twin(t);
	if (!(events & (VB_TUNNEL_MET | VB_TUNNEL_RESTARTED | VB_TUNNEL_SAID)))
		return;
	hello_follow(t);
	far = (struct vb_subnet_far){.is_there = vb_tunnel_is_joined(&t->end),
				     .speeds = t->end.theirs.speeds,
				     .widths = t->end.theirs.widths};
	vb_subnet_far_end(s, t->at, &far, events & VB_TUNNEL_RESTARTED, now);
	/* The port's machine follows before the first packet comes. */
	if (port_of(t)->link.state <= VB_LINK_INIT)
		vb_subnet_live_follow(t->d, t->at.node);
}

void vb_subnet_tunnel_tick(struct vb_subnet_tunnel *t, vb_time now)
{
	const struct vb_ib_port *link = &port_of(t)->link;
	uint32_t lanes = link->state >= VB_LINK_INIT ? link->config.data_cnt : 0;

	vb_subnet_tunnel_act(t, vb_tunnel_tick(&t->end, lanes), now);
	/* Lost flow control, and credits of lost packets, come back. LNK-16 */
	if (lanes)
		vb_ib_net_tell(&t->d->live->net, vb_subnet_map_port(t->d->adapter, t->at));
	vb_subnet_tunnel_send_table(t, true);
}
