/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An InfiniBand fabric as a source of `verbena capture`: an interface for each port, where packets
 * appear that it sends and that come to it. One record has a packet at all ports on its way
 * (link/ib/capture.h).
 */
#include "cmd/capture/capture.h"
#include "link/ib/capture.h"
#include "node/subnet/capture/observe.h"
#include "traffic/comment/fault.h"
#include "wire/ib/flow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A port whose interface is in the file. */
struct shown_port {
	uint32_t interface; /* + 1; 0: there is none yet */
	uint64_t captured;
};

static struct fabric {
	struct vb_subnet_observer o;
	struct shown_port *port; /* by number in the map */
	uint32_t port_cnt;
	uint32_t first, last; /* the ports that are captured */
} fabric;

static int refuse_port(struct vb_capture *c)
{
	vb_cmd_error(c->cmd, "'%s' has no port %u", c->node, c->port);
	return 1;
}

static int attach_fabric(struct vb_capture *c)
{
	char why[512];

	if (vb_subnet_observe(&fabric.o, c->fabric, c->node ? c->node : "", why, sizeof why)) {
		vb_cmd_error(c->cmd, "%s", why);
		return 1;
	}
	fabric.port_cnt = fabric.o.map->port_cnt;
	fabric.port = calloc(fabric.port_cnt, sizeof *fabric.port);
	if (!fabric.port) {
		vb_cmd_error(c->cmd, "no memory for %u ports", fabric.port_cnt);
		return 1;
	}
	fabric.last = fabric.port_cnt - 1;
	if (c->node) {
		if (c->port > fabric.o.port_cnt)
			return refuse_port(c);
		fabric.first = fabric.o.first_port + c->port;
		fabric.last = c->port ? fabric.first : fabric.first + fabric.o.port_cnt;
	}
	return 0;
}

static int find_slots(struct vb_capture *c)
{
	(void)c;
	return vb_subnet_observe_slots(&fabric.o);
}

/* The fabric's process has the slot of QP1, which no program has. */
static const struct vb_capture_ring *slot_ring(const struct vb_capture *c, uint32_t k)
{
	(void)c;
	if (k == VB_SLOT_GSI)
		return fabric.o.ring;
	return k < VB_IB_SLOTS && fabric.o.slot[k] ? &fabric.o.slot[k]->capture : NULL;
}

static int turn_fabric(struct vb_capture *c, bool on)
{
	(void)c;
	return vb_subnet_observe_capture(&fabric.o, on);
}

static int add_interface(struct vb_capture *c, uint32_t number)
{
	const struct vb_ib_map_port *p = &vb_ib_map_ports(fabric.o.map)[number];
	char name[VB_SUBNET_NODE_MAX + 8], what[VB_SUBNET_NODE_MAX + 48];
	const char *node = p->node < fabric.o.map->node_cnt ? fabric.o.name[p->node].text : "?";

	snprintf(name, sizeof name, "%.*s/%u", VB_SUBNET_NODE_MAX, node, p->number);
	snprintf(what, sizeof what, "port %u of %.*s in fabric %s", p->number, VB_SUBNET_NODE_MAX,
		 node, c->fabric);
	fabric.port[number].interface = c->out.interface_cnt + 1;
	return vb_pcapng_interface(&c->out, name, what, 0, VB_PCAPNG_INFINIBAND);
}

static int begin_fabric(struct vb_capture *c)
{
	int rc = 0;

	/* Of a node the ports are few, and none has to have packets. */
	for (uint32_t i = fabric.first; c->node && !rc && i <= fabric.last; i++)
		if (vb_ib_map_ports(fabric.o.map)[i].number)
			rc = add_interface(c, i);
	return rc;
}

/* The bytes of a packet as it is on a link; many links have it alike. */
struct image {
	struct vb_ib_hop of;
	uint32_t len; /* 0: there is none yet */
	uint8_t bytes[VB_IB_CAPTURED_MAX];
};

static void image_follow(struct image *m, const struct vb_ib_captured *p,
			 const struct vb_ib_hop *hop)
{
	if (m->len && m->of.vl == hop->vl && m->of.routers == hop->routers &&
	    m->of.slid == hop->slid && m->of.dlid == hop->dlid)
		return;
	m->of = *hop;
	m->len = vb_ib_captured_emit(p, hop, m->bytes);
}

static bool is_wanted(const struct vb_capture *c, uint32_t number)
{
	return number < fabric.port_cnt && number >= fabric.first && number <= fabric.last &&
	       c->captured < c->limit;
}

/* The packet at port @number, where it was sent, or else came in. */
static int write_image(struct vb_capture *c, const struct image *m, uint32_t number, bool sent,
		       const struct vb_capture_rec *rec)
{
	enum vb_pcapng_infiniband type =
	    m->len == VB_FLOW_LEN ? VB_PCAPNG_IB_LINK_PACKET : VB_PCAPNG_IB_PACKET;
	char comment[VB_FAULT_COMMENT_MAX];
	struct shown_port *p = &fabric.port[number];
	int rc = p->interface ? 0 : add_interface(c, number);

	if (!rc)
		rc = vb_pcapng_bytes(&c->out, p->interface - 1, rec->time_ns, sent, type, m->bytes,
				     m->len, sent ? vb_fault_comment(rec->mark, comment) : NULL);
	p->captured += !rc;
	c->captured += !rc;
	return rc;
}

static int write_packets(struct vb_capture *c, const struct vb_ring_reader *r)
{
	struct vb_ib_captured p;
	struct image m;
	int rc = 0;

	/* Somebody else wrote it. */
	if (!vb_ib_captured_parse(&p, r->data, r->rec.len))
		return 0;
	if (vb_ib_captured_is_flow(&p) && !c->with_flow)
		return 0;
	m.len = 0;
	for (uint32_t i = 0; !rc && i < p.hop_cnt; i++) {
		const struct vb_ib_hop hop = vb_ib_captured_hop(&p, i);

		if (!is_wanted(c, hop.out) && !is_wanted(c, hop.in))
			continue;
		image_follow(&m, &p, &hop);
		if (is_wanted(c, hop.out))
			rc = write_image(c, &m, hop.out, true, &r->rec);
		if (!rc && is_wanted(c, hop.in))
			rc = write_image(c, &m, hop.in, false, &r->rec);
	}
	return rc;
}

/* Nobody knows which port lost packets had passed: the first interface has their number. */
static int finish_fabric(struct vb_capture *c, uint64_t now)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < fabric.port_cnt; i++) {
		const struct shown_port *p = &fabric.port[i];

		if (p->interface)
			rc = vb_pcapng_statistics(&c->out, p->interface - 1, now, p->captured,
						  p->interface == 1 ? c->lost : 0);
	}
	return rc;
}

static void detach_fabric(struct vb_capture *c)
{
	(void)c;
	free(fabric.port);
	fabric.port = NULL;
	vb_subnet_observe_end(&fabric.o);
}

const struct vb_capture_source vb_capture_fabric = {
    .attach = attach_fabric,
    .find = find_slots,
    .ring = slot_ring,
    .turn = turn_fabric,
    .begin = begin_fabric,
    .write = write_packets,
    .finish = finish_fabric,
    .detach = detach_fabric,
};
