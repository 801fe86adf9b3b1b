/* SPDX-License-Identifier: BSD-2-Clause */
/* A switch's handling of a frame. See switch.h. */
#include "fabric/switch.h"

#include "base/assert.h"
#include "base/cold.h"
#include "fabric/eth/pfc.h"

#include <assert.h>
#include <errno.h>

uint64_t vb_switch_port_kept(const struct vb_buffer_config *c, uint32_t headroom)
{
	uint32_t lossless = (uint32_t)__builtin_popcount(c->lossless);

	return (uint64_t)headroom * lossless + (uint64_t)c->reserve_bytes * (lossless + 1);
}

static struct vb_switch *switch_of(struct vb_machine *m)
{
	return (struct vb_switch *)m;
}

/* The port by which a frame leaves, or NULL. */
static inline struct vb_port *switch_route(const struct vb_switch *sw, uint32_t address,
					   uint32_t hash)
{
	uint32_t number = vb_forward_port(&sw->forward, address, hash);

	VB_ASSERT_ALL(number == VB_FORWARD_NONE || number < sw->port_cnt);
	return number == VB_FORWARD_NONE ? NULL : sw->port[number];
}

static VB_APART void frame_drop(struct vb_switch *sw, struct vb_port *out, enum vb_drop_why why,
				struct vb_frame *f, vb_time now)
{
	if (out) {
		out->stats.drops++;
		out->stats.drop_bytes += f->frame_len;
	}
	vb_trace(&sw->trace, VB_TRACE_DROPPED, 0, now, out ? out->id : 0, why, f->frame_len,
		 out ? out->lane[f->prio].bytes : 0);
	vb_frame_pool_give(sw->pool, f);
}

static VB_APART void frame_mark(struct vb_switch *sw, struct vb_port *out, struct vb_frame *f,
				vb_time now)
{
	uint32_t depth = out->lane[f->prio].bytes;

	if (!(f->path.traffic_class & VB_ECN_MASK) ||
	    !vb_red_marks(&sw->cfg->red, depth, &out->rng))
		return;
	f->path.traffic_class |= VB_ECN_CE;
	out->stats.marks++;
	vb_trace(&sw->trace, VB_TRACE_MARKED, 0, now, out->id, f->prio, depth, 0);
}

/* Puts a frame that came in by @in into a queue of @out, or drops it. */
static void frame_forward(struct vb_switch *sw, struct vb_port *in, struct vb_port *out,
			  struct vb_frame *f, vb_time now)
{
	struct vb_buffer_account *a = &in->lane[f->prio].in;
	bool lossless = sw->buffer.cfg.lossless >> f->prio & 1;

	if (!out) {
		frame_drop(sw, NULL, VB_DROP_NO_ROUTE, f, now);
		return;
	}
	out->stats.arrivals++;
	if (!lossless && sw->cfg->queue_bytes &&
	    out->lane[f->prio].bytes + f->frame_len > sw->cfg->queue_bytes) {
		frame_drop(sw, out, VB_DROP_QUEUE, f, now);
		return;
	}
	if (!vb_buffer_take(&sw->buffer, a, f->prio, in->headroom, f->frame_len, &f->in_headroom)) {
		frame_drop(sw, out, VB_DROP_BUFFER, f, now);
		return;
	}
	f->in = in->number;
	if (sw->cfg->ecn >> f->prio & 1)
		frame_mark(sw, out, f, now);
	vb_port_handle_packet(out, f, now);
	if (lossless)
		vb_pfc_after_take(in, &sw->buffer, sw->pool, f->prio);
	vb_port_wake(out);
}

/* Sends a frame on by every port of its group's tree but @in: copies are made here, where ways
 * part, and nowhere else. */
static VB_APART void frame_spread(struct vb_switch *sw, struct vb_port *in, struct vb_frame *f,
				  vb_time now)
{
	const uint64_t *tree = vb_forward_group(&sw->forward, f->to);
	struct vb_port *out = NULL;

	for (uint32_t i = 0; tree && i < sw->port_cnt; i++) {
		if (!(tree[i / 64] >> i % 64 & 1) || sw->port[i] == in)
			continue;

		struct vb_frame *copy = out ? vb_frame_copy(sw->pool, f) : NULL;

		if (copy)
			frame_forward(sw, in, out, copy, now);
		out = sw->port[i];
	}
	frame_forward(sw, in, out, f, now); /* with no port: dropped */
}

/* Sends a frame on where the hash of the flow alone does not choose. */
static VB_APART void frame_choose(struct vb_switch *sw, struct vb_port *in, struct vb_frame *f,
				  vb_time now)
{
	uint32_t number = vb_multipath_port(sw->multipath, &sw->forward, sw->port, f, now);

	VB_ASSERT_ALL(number == VB_FORWARD_NONE || number < sw->port_cnt);
	frame_forward(sw, in, number == VB_FORWARD_NONE ? NULL : sw->port[number], f, now);
}

static VB_APART void control_receive(struct vb_switch *sw, struct vb_port *in, struct vb_frame *f,
				     vb_time now)
{
	if (vb_pfc_receive(in, f, now))
		vb_trace(&sw->trace, VB_TRACE_PAUSED, 0, now, in->id, f->prio, f->pause_on, 0);
	vb_frame_pool_give(sw->pool, f);
}

void vb_switch_handle_packet(struct vb_switch *sw, uint32_t port, struct vb_frame *f, vb_time now)
{
	struct vb_port *in = sw->port[port];

	assert(port < sw->port_cnt);
	if (f->kind != VB_FRAME_DATA)
		control_receive(sw, in, f, now);
	else if (f->to_group)
		frame_spread(sw, in, f, now);
	else if (sw->multipath)
		frame_choose(sw, in, f, now);
	else
		frame_forward(sw, in, switch_route(sw, f->to, f->hash), f, now);
}

struct vb_frame *vb_switch_poll_transmit(struct vb_switch *sw, uint32_t port, vb_time now)
{
	struct vb_frame *f = vb_port_poll_transmit(sw->port[port], now);

	if (!f || f->kind != VB_FRAME_DATA)
		return f;

	/* It leaves the memory of the switch. */
	VB_ASSERT_ALL(f->in < sw->port_cnt);
	struct vb_port *in = sw->port[f->in];

	vb_buffer_give(&sw->buffer, &in->lane[f->prio].in, f->frame_len, f->in_headroom);
	vb_pfc_after_give(in, &sw->buffer, sw->pool, f->prio);
	return f;
}

/* Frames that nobody will take go out of the memory of the switch. */
static void lane_discard(struct vb_switch *sw, struct vb_port *out, uint8_t prio, vb_time now)
{
	struct vb_frame *f;

	while ((f = vb_port_take(out, prio, now)) != NULL) {
		struct vb_port *in = sw->port[f->in];

		vb_buffer_give(&sw->buffer, &in->lane[prio].in, f->frame_len, f->in_headroom);
		vb_pfc_after_give(in, &sw->buffer, sw->pool, prio);
		frame_drop(sw, out, VB_DROP_STORM, f, now);
	}
}

/* Priority @prio has been paused for too long: its receiver is broken, or waits itself in a ring.
 * Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016 */
static void storm_handle(struct vb_switch *sw, struct vb_port *p, uint8_t prio, vb_time now)
{
	uint8_t bit = (uint8_t)(1u << prio);

	VB_ASSERT_ALL(p->held & bit);
	p->storm_cnt += !(p->stormed & bit);
	if (sw->cfg->storm_action == VB_STORM_IGNORE) {
		vb_port_hold(p, prio, false, now);
		vb_trace(&sw->trace, VB_TRACE_PAUSED, 0, now, p->id, prio, false, 0);
	} else {
		lane_discard(sw, p, prio, now);
	}
	p->stormed |= bit;
}

/* Handles pauses that have lasted too long, and knows when the next one will have. The port is
 * asked for it whenever a packet comes or has gone; a pause that holds nothing back harms nobody.
 */
static VB_APART void pauses_watch(struct vb_switch *sw, struct vb_port *p, vb_time now)
{
	uint32_t held = p->held;

	p->due = VB_NEVER;
	for (uint8_t i = 0; i < VB_PRIORITY_CNT; i++) {
		vb_time end = vb_time_after(p->held_since[i], sw->cfg->watchdog);

		if (!(held >> i & 1))
			continue;
		if (end <= now)
			storm_handle(sw, p, i, now);
		else
			p->due = vb_time_min(p->due, end);
	}
	VB_ASSERT_ALL(p->due > now);
}

static void machine_handle_packet(struct vb_machine *m, uint32_t port, struct vb_frame *f,
				  vb_time now)
{
	vb_switch_handle_packet(switch_of(m), port, f, now);
}

/* Apart from the watched one below, so that the way of a hop has no call more. */
static VB_APART struct vb_frame *machine_poll_transmit(struct vb_machine *m, uint32_t port,
						       vb_time now)
{
	return vb_switch_poll_transmit(switch_of(m), port, now);
}

/* Adds the hop by which a frame leaves to its telemetry. HPCC, section 4.1 */
static VB_APART void frame_record(const struct vb_switch *sw, const struct vb_port *out,
				  struct vb_frame *f, vb_time now)
{
	struct vb_telemetry *t = vb_frame_telemetry(f, sw->cfg->telemetry_at);

	if (f->to_group || t->is_return || t->hop_cnt >= VERBENA_CC_HOPS_MAX)
		return;
	t->hop[t->hop_cnt++] = (struct verbena_cc_hop){.at = now,
						       .tx_bytes = out->stats.tx_bytes,
						       .queue_bytes = out->lane[f->prio].bytes,
						       .rate = out->rate_bps};
}

/* With a watchdog, with marks by the queue that a packet leaves behind, or with telemetry: switches
 * without them have no branch for them. */
static struct vb_frame *machine_poll_watched(struct vb_machine *m, uint32_t port, vb_time now)
{
	struct vb_switch *sw = switch_of(m);
	struct vb_port *p = sw->port[port];
	struct vb_frame *f;

	if (sw->cfg->watchdog && (p->held || p->due <= now))
		pauses_watch(sw, p, now);
	f = machine_poll_transmit(m, port, now);
	if (f && f->kind == VB_FRAME_DATA && sw->cfg->ecn_out >> f->prio & 1)
		frame_mark(sw, p, f, now);
	if (f && f->kind == VB_FRAME_DATA && sw->cfg->telemetry_at)
		frame_record(sw, p, f, now);
	return f;
}

static vb_time machine_poll_timeout(const struct vb_machine *m)
{
	return vb_switch_poll_timeout((const struct vb_switch *)m);
}

static void machine_handle_timeout(struct vb_machine *m, vb_time now)
{
	vb_switch_handle_timeout(switch_of(m), now);
}

static void machine_expect(const struct vb_machine *m, uint32_t port, const struct vb_frame *f,
			   enum vb_expect when)
{
	const struct vb_switch *sw = (const struct vb_switch *)m;
	const struct vb_port *out;

	(void)port;
	if (when != VB_EXPECT_NEXT || !f || f->kind != VB_FRAME_DATA || f->to_group)
		return;
	/* With other choices than ECMP it is a guess: most ways down have one hop. */
	out = switch_route(sw, f->to, f->hash);
	if (out)
		vb_port_expect(out);
}

static const struct vb_machine_ops switch_ops = {
    .handle_packet = machine_handle_packet,
    .poll_transmit = machine_poll_transmit,
    .poll_timeout = machine_poll_timeout,
    .handle_timeout = machine_handle_timeout,
    .expect = machine_expect,
};

static const struct vb_machine_ops watched_ops = {
    .handle_packet = machine_handle_packet,
    .poll_transmit = machine_poll_watched,
    .poll_timeout = machine_poll_timeout,
    .handle_timeout = machine_handle_timeout,
    .expect = machine_expect,
};

int vb_switch_init(struct vb_switch *sw, const struct vb_switch_config *cfg, struct vb_port **port,
		   uint32_t port_cnt, struct vb_frame_pool *pool)
{
	uint64_t kept = 0;
	uint32_t weights = 0;

	for (uint32_t i = 0; i < VB_PRIORITY_CNT; i++)
		weights |= cfg->schedule.weight[i];
	for (uint32_t i = 0; i < port_cnt; i++)
		kept += vb_switch_port_kept(&cfg->buffer, port[i]->headroom);
	if (kept >= cfg->buffer.bytes)
		return -EINVAL;
	*sw = (struct vb_switch){
	    .port = port,
	    .port_cnt = port_cnt,
	    .buffer = {.cfg = cfg->buffer, .shared_total = cfg->buffer.bytes - kept},
	    .cfg = cfg,
	    .pool = pool,
	};
	sw->machine.ops = vb_switch_is_plain(sw) ? &switch_ops : &watched_ops;
	for (uint32_t i = 0; i < port_cnt; i++) {
		port[i]->owner = &sw->machine;
		port[i]->number = i;
		port[i]->schedule = weights ? &cfg->schedule : NULL;
		port[i]->weighted = weights != 0;
	}
	return 0;
}
