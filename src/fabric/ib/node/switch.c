/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets through an InfiniBand switch, see switch.h. */
#include "fabric/ib/node/switch.h"

#include "base/assert.h"
#include "wire/pkey.h"

#define BTH_PKEY 2 /* byte of the BTH */

static bool is_to_group(const struct vb_frame *f)
{
	return f->path.dlid >= VB_LID_MULTICAST;
}

/* Takes a packet to a group out of the ring of its copies; true: it was the last one. */
static bool copy_is_last(struct vb_frame *f)
{
	struct vb_frame *before = f->twin;

	VB_ASSERT_ALL(before && before->in == f->in && before->in_vl == f->in_vl);
	if (before == f)
		return true;
	while (before->twin != f)
		before = before->twin;
	before->twin = f->twin;
	return false;
}

/* It leaves the buffer of its input, if no copy of it is there. */
static void input_release(struct vb_ib_switch *sw, struct vb_frame *f, vb_time now)
{
	VB_ASSERT_ALL(f->in < sw->port_cnt);
	if (is_to_group(f) && !copy_is_last(f))
		return;
	vb_ib_end_release(&sw->end[f->in], f->in_vl, f->frame_len, now);
}

static void packet_drop(struct vb_ib_switch *sw, struct vb_frame *f, vb_time now)
{
	input_release(sw, f, now);
	vb_frame_pool_give(sw->end[f->in].pool, f);
}

static void dropped_take(struct vb_ib_switch *sw, struct vb_ib_end *e, vb_time now)
{
	struct vb_frame *f;

	while ((f = vb_ib_end_poll_dropped(e, now)) != NULL)
		packet_drop(sw, f, now);
}

static uint16_t packet_pkey(const struct vb_frame *f)
{
	return (uint16_t)(f->bytes[BTH_PKEY] << 8 | f->bytes[BTH_PKEY + 1]);
}

static struct vb_ib_barred packet_barred(const struct vb_frame *f)
{
	return (struct vb_ib_barred){f->path.slid, f->path.dlid, packet_pkey(f), f->path.sl};
}

/* LNK-37: the port where it came in lets it pass. */
static bool packet_comes_in(struct vb_ib_switch *sw, const struct vb_frame *f)
{
	struct vb_ib_gate *g = sw->gate ? &sw->gate[f->in] : NULL;

	if (!g || !g->enforces_in || vb_pkey_is_member(g->pkey, g->pkey_cnt, packet_pkey(f)))
		return true;
	g->rcv_constraint_errors++;
	g->last = packet_barred(f);
	return false;
}

/* ... and the one by which it leaves. */
static bool packet_goes_out(struct vb_ib_switch *sw, const struct vb_frame *f, uint32_t out)
{
	struct vb_ib_gate *g = sw->gate ? &sw->gate[out] : NULL;

	if (!g || !g->enforces_out || vb_pkey_passes(g->pkey, g->pkey_cnt, packet_pkey(f)))
		return true;
	g->xmit_constraint_errors++;
	g->last = packet_barred(f);
	return false;
}

/* Out by port @out, unless the map of both ports has no lane for its service level. */
static void packet_forward(struct vb_ib_switch *sw, struct vb_frame *f, uint32_t out, vb_time now)
{
	struct vb_ib_end *e = &sw->end[out];
	int vl = vb_sl2vl_lane(&sw->sl2vl[f->in * sw->port_cnt + out], f->path.sl,
			       e->port.config.data_cnt);

	if (!packet_goes_out(sw, f, out)) {
		packet_drop(sw, f, now);
		return;
	}
	if (vl < 0) {
		e->port.counters.xmit_discards++;
		packet_drop(sw, f, now);
		return;
	}
	f->out = (uint16_t)out;
	/* Nobody answers what goes to many. */
	if (e->congestion && !is_to_group(f))
		vb_ib_marker_pass(&sw->marker[out], e->congestion, f, e->line->depth,
				  vb_credit_may_send(&e->port.lane[vl].tx, vb_blocks(f->frame_len)),
				  now);
	vb_ib_end_put(e, f, (uint8_t)vl, now);
	dropped_take(sw, e, now);
}

/* A copy for each port of the table but the one where it came in. The ring has @f alone. FAB-02 */
static void packet_spread(struct vb_ib_switch *sw, struct vb_frame *f, vb_time now)
{
	struct vb_frame *copy, *next;
	struct vb_port_mask mask;
	uint32_t out = VB_PORT_NONE;

	(void)vb_lid_forward_multicast(&sw->forward, f->path.dlid, (uint8_t)(f->in + 1), &mask);
	/* All are made before the first one can be dropped, and the room with it. */
	for (uint32_t i = sw->port_cnt; i-- > 0;) {
		if (!vb_port_mask_has(&mask, (uint8_t)(i + 1)))
			continue;
		copy = out == VB_PORT_NONE ? f : vb_frame_copy(sw->end[f->in].pool, f);
		out = i;
		if (!copy)
			continue;
		copy->out = (uint16_t)i;
		if (copy != f)
			f->twin = copy;
	}
	if (out == VB_PORT_NONE) {
		sw->end[f->in].relay_errors++;
		packet_drop(sw, f, now);
		return;
	}
	for (copy = f->twin; copy != f; copy = next) {
		next = copy->twin;
		VB_ASSERT_ALL(copy->out != f->out && copy->out < sw->port_cnt);
		packet_forward(sw, copy, copy->out, now);
	}
	packet_forward(sw, f, f->out, now);
}

/* A fault of the switch: nothing it checks shows the damage, nor does the VCRC that it makes.
 * LNK-10
 */
static void fault_meet(struct vb_ib_switch *sw, struct vb_frame *f)
{
	if (!sw->damage_ppm || vb_rng_below(&sw->rng, 1000000) >= sw->damage_ppm)
		return;
	vb_frame_damage_inside(f, vb_rng_next(&sw->rng));
	sw->damaged++;
}

/* The port, from 1 on, by which a router sends the packet on with its new headers; 0: it is
 * dropped. FAB-06, FAB-07 */
static uint8_t packet_route(struct vb_ib_switch *sw, struct vb_frame *f)
{
	const struct vb_ib_router *r = sw->router;
	struct vb_ib_end *e = &sw->end[f->in];
	const struct vb_router_at in = {r->self, (uint8_t)(f->in + 1)};
	const struct vb_hop_packet packet = vb_hop_packet_of(&f->path);
	struct vb_hop hop;

	if (r->all->port(r->all->ctx, in).lid != f->path.dlid) {
		e->misrouted++;
		return 0;
	}
	switch (vb_router_hop(r->all, in, &packet, &hop)) {
	case VB_HOP_ON:
		VB_ASSERT_ALL(hop.port >= 1 && hop.dlid != 0 && packet.hop_limit > 1);
		vb_hop_pass(&f->path, &hop, 1);
		return hop.port;
	case VB_HOP_ENDED:
		e->hops_ended++;
		return 0;
	case VB_HOP_HERE:
	case VB_HOP_NO_GRH:
	case VB_HOP_NO_ROUTE:
		break;
	}
	e->not_routed++;
	return 0;
}

void vb_ib_switch_handle_packet(struct vb_ib_switch *sw, uint32_t port, struct vb_frame *f,
				vb_time now)
{
	uint8_t out;

	VB_ASSERT_ALL(port < sw->port_cnt);
	if (!vb_ib_end_receive(&sw->end[port], f, now))
		return;
	f->in = port;
	f->in_vl = f->prio;
	fault_meet(sw, f);
	if (!packet_comes_in(sw, f)) {
		packet_drop(sw, f, now);
		return;
	}
	if (is_to_group(f)) {
		f->twin = f;
		if (!sw->router) {
			packet_spread(sw, f, now);
			return;
		}
	}
	out = sw->router ? packet_route(sw, f)
			 : vb_lid_forward_unicast(&sw->forward, f->path.dlid, (uint8_t)(port + 1));
	if (out == 0 || out > sw->port_cnt) {
		sw->end[port].relay_errors += !sw->router;
		packet_drop(sw, f, now);
		return;
	}
	packet_forward(sw, f, out - 1u, now);
}

struct vb_frame *vb_ib_switch_poll_transmit(struct vb_ib_switch *sw, uint32_t port, vb_time now)
{
	struct vb_frame *f = vb_ib_end_poll_transmit(&sw->end[port], now);

	dropped_take(sw, &sw->end[port], now);
	if (f && f->kind == VB_FRAME_DATA)
		input_release(sw, f, now);
	return f;
}

void vb_ib_switch_settle(struct vb_ib_switch *sw, uint32_t port, vb_time now)
{
	dropped_take(sw, &sw->end[port], now);
}

void vb_ib_switch_set_link(struct vb_ib_switch *sw, uint32_t port, bool up, vb_time now)
{
	vb_ib_end_set_link(&sw->end[port], up, now);
	dropped_take(sw, &sw->end[port], now);
}

static void machine_handle_packet(struct vb_machine *m, uint32_t port, struct vb_frame *f,
				  vb_time now)
{
	vb_ib_switch_handle_packet((struct vb_ib_switch *)m, port, f, now);
}

static struct vb_frame *machine_poll_transmit(struct vb_machine *m, uint32_t port, vb_time now)
{
	return vb_ib_switch_poll_transmit((struct vb_ib_switch *)m, port, now);
}

static const struct vb_machine_ops switch_ops = {
    .handle_packet = machine_handle_packet,
    .poll_transmit = machine_poll_transmit,
    .poll_timeout = vb_machine_never_due,
    .handle_timeout = vb_machine_no_timeout,
    .expect = vb_machine_no_expect,
};

void vb_ib_switch_init(struct vb_ib_switch *sw, struct vb_ib_end *end, uint32_t port_cnt)
{
	*sw = (struct vb_ib_switch){.machine = {&switch_ops}, .end = end, .port_cnt = port_cnt};
	for (uint32_t i = 0; i < port_cnt; i++) {
		end[i].line->owner = &sw->machine;
		end[i].line->number = i;
	}
}
