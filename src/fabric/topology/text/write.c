/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a topology in the form of ibnetdiscover, from which it can be read again. */
#include "fabric/topology/say.h"
#include "fabric/topology/topology.h"
#include "wire/ib/rate.h"
#include "wire/mad/smp.h"

#include <string.h>

static const char *const keyword[] = {
    [VB_NODE_CA] = "ca", [VB_NODE_SWITCH] = "switch", [VB_NODE_ROUTER] = "rt"};
static const char *const type_name[] = {
    [VB_NODE_CA] = "Ca", [VB_NODE_SWITCH] = "Switch", [VB_NODE_ROUTER] = "Rt"};

static void write_node(struct vb_say *s, const struct vb_topo_node *n)
{
	const struct vb_topo_port *own = &n->port[0];

	vb_say(s, "\nvendid=0x%\ndevid=0x%\nsysimgguid=0x%\n%guid=0x%",
	       (const struct vb_say_arg[]){SAY_HEX(n->vendor_id), SAY_HEX(n->device_id),
					   SAY_HEX(n->system_guid), SAY_TEXT(keyword[n->type]),
					   SAY_HEX(n->node_guid)});
	if (n->type == VB_NODE_SWITCH)
		vb_say(s, "(%)", (const struct vb_say_arg[]){SAY_HEX(own->guid)});
	vb_say(s, "\n%\t% \"%\"\t\t# \"%\"",
	       (const struct vb_say_arg[]){SAY_TEXT(type_name[n->type]), SAY_DEC(n->port_cnt),
					   SAY_TEXT(n->name), SAY_TEXT(n->desc)});
	if (n->type == VB_NODE_SWITCH)
		vb_say(
		    s, " % port 0 lid % lmc %",
		    (const struct vb_say_arg[]){SAY_TEXT(n->enhanced_port0 ? "enhanced" : "base"),
						SAY_DEC(own->lid), SAY_DEC(own->lmc)});
	vb_say(s, "\n", NULL);
}

/* The lines that vb_topo_read_io() reads, which other programs take for comments. */
static void write_controllers(struct vb_say *s, const struct vb_topo_node *n)
{
	for (const struct vb_topo_ioc *c = n->ioc; c; c = c->next) {
		const struct vb_io_controller_profile *p = &c->profile;

		vb_say(s, "#ioc \"%\" slot=% guid=0x% vendor=0x% device=0x% version=%",
		       (const struct vb_say_arg[]){SAY_TEXT((const char *)p->id), SAY_DEC(c->slot),
						   SAY_HEX16(p->guid), SAY_HEX(p->vendor_id),
						   SAY_HEX(p->device_id),
						   SAY_DEC(p->device_version)});
		vb_say(s, " subvendor=0x% subsystem=0x% class=0x% subclass=0x%",
		       (const struct vb_say_arg[]){SAY_HEX(p->subsystem_vendor_id),
						   SAY_HEX(p->subsystem_id), SAY_HEX(p->io_class),
						   SAY_HEX(p->io_subclass)});
		vb_say(s, " protocol=0x% revision=% depth=% reads=% send=% rdma=% operations=0x%\n",
		       (const struct vb_say_arg[]){
			   SAY_HEX(p->protocol), SAY_DEC(p->protocol_version),
			   SAY_DEC(p->send_depth), SAY_DEC(p->read_depth), SAY_DEC(p->send_size),
			   SAY_DEC(p->rdma_size), SAY_HEX(p->operations)});
		for (const struct vb_topo_service *v = c->service; v; v = v->next)
			vb_say(s, "#service \"%\" id=0x%\n",
			       (const struct vb_say_arg[]){SAY_TEXT((const char *)v->service.name),
							   SAY_HEX16(v->service.id)});
	}
}

static void write_port(struct vb_say *s, const struct vb_topo *t, const struct vb_topo_node *n,
		       uint32_t number)
{
	const struct vb_topo_port *port = &n->port[number];
	const struct vb_topo_node *peer = &t->node[port->peer];
	bool own_lid = n->type != VB_NODE_SWITCH, peer_lid = peer->type != VB_NODE_SWITCH;
	const struct vb_topo_port *far = &peer->port[peer_lid ? port->peer_port : 0];
	const struct vb_ib_speed_row *speed = vb_ib_speed_row(port->speed);

	vb_say(s, "[%]", (const struct vb_say_arg[]){SAY_DEC(number)});
	if (own_lid)
		vb_say(s, "(%) ", (const struct vb_say_arg[]){SAY_HEX(port->guid)});
	vb_say(s, "\t\"%\"[%]",
	       (const struct vb_say_arg[]){SAY_TEXT(peer->name), SAY_DEC(port->peer_port)});
	if (peer_lid)
		vb_say(s, own_lid ? " (%) " : "(%) ",
		       (const struct vb_say_arg[]){SAY_HEX(far->guid)});
	vb_say(s, "\t\t# ", NULL);
	if (own_lid)
		vb_say(s, "lid % lmc % ",
		       (const struct vb_say_arg[]){SAY_DEC(port->lid), SAY_DEC(port->lmc)});
	vb_say(s, "\"%\" lid % %x%\n",
	       (const struct vb_say_arg[]){SAY_TEXT(peer->desc), SAY_DEC(far->lid),
					   SAY_DEC(vb_ib_lanes(port->width)),
					   SAY_TEXT(speed ? speed->name : "???")});
}

int vb_topo_write(const struct vb_topo *t, int (*sink)(void *ctx, const char *text, size_t len),
		  void *ctx)
{
	struct vb_say s = {.sink = sink, .ctx = ctx};

	vb_say(&s, "#\n# Topology file: written by verbena\n#\n", NULL);
	for (uint32_t i = 0; i < t->node_cnt && !s.err; i++) {
		const struct vb_topo_node *n = &t->node[i];

		write_node(&s, n);
		write_controllers(&s, n);
		for (uint32_t p = 1; p <= n->port_cnt; p++) {
			if (n->port[p].peer != VB_TOPO_NO_PEER)
				write_port(&s, t, n, p);
		}
	}
	return vb_say_flush(&s);
}
