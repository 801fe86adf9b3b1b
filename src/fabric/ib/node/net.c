/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames from machine to machine, see net.h. */
#include "fabric/ib/node/net.h"

#include "base/assert.h"

#include <errno.h>
#include <string.h>

#define LINE 64u
/* So many of the frames are not for packets that programs send. */
#define RESERVE_SHARE 8u

static void *net_alloc(struct vb_ib_net *n, size_t size)
{
	return n->cfg.alloc(n->cfg.ctx, size ? size : 1);
}

static void net_free(struct vb_ib_net *n, void *p)
{
	if (p)
		n->cfg.free(n->cfg.ctx, p);
}

/* Lines lie on cache lines of their own. */
static struct vb_port *lines_alloc(struct vb_ib_net *n)
{
	uintptr_t p = (uintptr_t)net_alloc(n, n->cfg.port_cnt * sizeof(struct vb_port) + LINE - 1);

	n->lines = (void *)p;
	return p ? (struct vb_port *)((p + LINE - 1) & ~(uintptr_t)(LINE - 1)) : NULL;
}

int vb_ib_net_open(struct vb_ib_net *n, const struct vb_ib_net_config *cfg)
{
	size_t stride = sizeof(struct vb_frame) + VB_HDR_MAX + cfg->payload_max + VB_PAD_MAX;
	struct vb_port *line;

	*n = (struct vb_ib_net){.cfg = *cfg};
	n->pool = (struct vb_frame_pool){.stride = (stride + LINE - 1) & ~(size_t)(LINE - 1),
					 .max = cfg->packets_max,
					 .alloc = cfg->alloc,
					 .release = cfg->free,
					 .alloc_ctx = cfg->ctx};
	line = lines_alloc(n);
	n->port = net_alloc(n, cfg->port_cnt * sizeof *n->port);
	n->end = net_alloc(n, cfg->port_cnt * sizeof *n->end);
	n->due.node = net_alloc(n, (cfg->port_cnt + 1) * sizeof *n->due.node);
	n->due.cap = cfg->port_cnt;
	if (!line || !n->port || !n->end || !n->due.node) {
		vb_ib_net_close(n);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < cfg->port_cnt; i++) {
		struct vb_ib_net_port *p = &n->port[i];

		p->line = &line[i];
		p->far = i;
		p->due = (struct vb_heap_node){.due = VB_NEVER, .order = i};
	}
	return 0;
}

void vb_ib_net_close(struct vb_ib_net *n)
{
	vb_frame_pool_destroy(&n->pool);
	net_free(n, n->lines);
	net_free(n, n->port);
	net_free(n, n->end);
	net_free(n, n->due.node);
	*n = (struct vb_ib_net){.cfg = n->cfg};
}

static void end_make(struct vb_ib_net *n, uint32_t number, const struct vb_ib_port_config *c)
{
	struct vb_ib_net_port *p = &n->port[number];
	struct vb_ib_port_config sure = *c;

	sure.line_is_sure = true;
	p->hooks = (struct vb_cable_hooks){.pool = &n->pool};
	vb_port_init(p->line, 1, &n->ready);
	p->line->id = number;
	vb_cable_init(&p->line->cable, 0, 0);
	p->line->cable.hooks = &p->hooks;
	vb_ib_end_init(&n->end[number], &sure, p->line, &n->pool);
	n->end[number].hop = UINT32_MAX; /* nobody looks for deadlocks here */
}

void vb_ib_net_add_switch(struct vb_ib_net *n, struct vb_ib_switch *sw, uint32_t first,
			  uint32_t cnt, const struct vb_ib_port_config *c)
{
	VB_ASSERT_ALL(first + cnt <= n->cfg.port_cnt);
	for (uint32_t i = first; i < first + cnt; i++) {
		end_make(n, i, c);
		n->port[i].sw = sw;
	}
	vb_ib_switch_init(sw, &n->end[first], cnt);
}

void vb_ib_net_add_hca(struct vb_ib_net *n, struct vb_ib_hca *hca, uint32_t number,
		       const struct vb_ib_port_config *c)
{
	VB_ASSERT_ALL(number < n->cfg.port_cnt);
	end_make(n, number, c);
	n->port[number].hca = hca;
	vb_ib_hca_init(hca, &n->end[number]);
}

void vb_ib_net_join(struct vb_ib_net *n, uint32_t a, uint32_t b, vb_dur delay)
{
	VB_ASSERT_ALL(n->port[a].line->owner && n->port[b].line->owner);
	n->port[a].far = b;
	n->port[b].far = a;
	n->port[a].line->cable.delay = n->port[b].line->cable.delay = delay;
}

bool vb_ib_net_has_frames(const struct vb_ib_net *n)
{
	return n->pool.used < n->pool.max - n->pool.max / RESERVE_SHARE;
}

static void port_arm(struct vb_ib_net *n, struct vb_ib_net_port *p)
{
	vb_heap_set(&n->due, &p->due, vb_port_poll_timeout(p->line));
}

static void frame_show(const struct vb_ib_net *n, uint32_t number, bool sent,
		       const struct vb_frame *f)
{
	if (__builtin_expect(n->tap.seen != NULL, 0))
		n->tap.seen(n->tap.ctx, number, sent, f, n->now);
}

/* Asks the node of a port whose cable is free for the next frame, and puts that on the cable. */
static void port_pull(struct vb_ib_net *n, struct vb_port *p)
{
	struct vb_machine *node = p->owner;
	struct vb_frame *f;

	VB_ASSERT_ALL(!p->pulled && p->pull_at <= n->now);
	p->pulled = true;
	f = node->ops->poll_transmit(node, p->number, n->now);
	p->pulled = false;
	if (f) {
		frame_show(n, p->id, true, f);
		vb_port_serialise(p, f, n->now);
		vb_cable_handle_packet(&p->cable, f, n->now);
	}
	vb_port_handle_timeout(p);
}

/* Asks the ports that were woken, now or when they are free. */
static void ports_serve(struct vb_ib_net *n)
{
	struct vb_port *p;

	while ((p = vb_ready_take(&n->ready)) != NULL) {
		if (p->pull_at <= n->now)
			port_pull(n, p);
		port_arm(n, &n->port[p->id]);
	}
}

/* A port's deadline has come: the frame at the far end of its cable goes into the node there, or
 * away, then comes the next frame. */
static void port_run(struct vb_ib_net *n, struct vb_ib_net_port *p)
{
	struct vb_port *far = n->port[p->far].line;
	struct vb_frame *f;

	while ((f = vb_cable_poll_transmit(&p->line->cable, n->now)) != NULL) {
		if (p->is_away) {
			f->in = p->line->id;
			vb_frame_fifo_push(&n->away, f);
			continue;
		}
		VB_ASSERT_ALL(far->owner && far != p->line);
		frame_show(n, p->far, false, f);
		far->owner->ops->handle_packet(far->owner, far->number, f, n->now);
		ports_serve(n);
	}
	if (p->line->pull_at <= n->now) {
		port_pull(n, p->line);
		ports_serve(n);
	}
	port_arm(n, p);
}

uint32_t vb_ib_net_run(struct vb_ib_net *n, vb_time until, uint32_t most)
{
	uint32_t cnt = 0;

	ports_serve(n);
	for (; cnt < most && vb_heap_due(&n->due) <= until; cnt++) {
		struct vb_heap_node *first = n->due.node[1];

		n->now = vb_time_max(n->now, first->due);
		port_run(n, vb_container_of(first, struct vb_ib_net_port, due));
	}
	if (cnt < most)
		n->now = vb_time_max(n->now, until);
	return cnt;
}

/* Takes back the packets that a change of the port has dropped; those that it lets go leave. */
static void port_settle(struct vb_ib_net *n, uint32_t number)
{
	const struct vb_ib_net_port *p = &n->port[number];

	if (p->sw)
		vb_ib_switch_settle(p->sw, p->line->number, n->now);
	else
		vb_ib_hca_settle(p->hca, n->now);
	vb_port_wake(p->line);
	ports_serve(n);
}

static void state_lose(struct vb_ib_net *n, uint32_t number)
{
	vb_cable_set_down(&n->port[number].line->cable, true);
	(void)vb_ib_port_link_event(&n->end[number].port, VB_LINK_LOST, n->now);
}

static void state_train(struct vb_ib_net *n, uint32_t number)
{
	vb_cable_set_down(&n->port[number].line->cable, false);
	(void)vb_ib_port_link_event(&n->end[number].port, VB_LINK_TRAINED, n->now);
}

void vb_ib_net_set_state(struct vb_ib_net *n, uint32_t number, uint8_t state, bool was_down)
{
	struct vb_ib_port *p = &n->end[number].port;
	uint32_t far = n->port[number].far;
	bool is_down = state < VB_LINK_INIT || (far == number && !n->port[number].is_away);
	bool goes_back = p->state > VB_LINK_INIT && state == VB_LINK_INIT;
	uint8_t before = p->state;

	if (p->state != VB_LINK_DOWN && (is_down || was_down || goes_back))
		state_lose(n, number);
	if (!is_down && p->state == VB_LINK_DOWN)
		state_train(n, number);
	if (!is_down && state >= VB_LINK_ARMED)
		(void)vb_ib_port_link_event(p, VB_LINK_SET_ARMED, n->now);
	if (!is_down && state >= VB_LINK_ACTIVE)
		(void)vb_ib_port_link_event(p, VB_LINK_SET_ACTIVE, n->now);
	/* The end that came up first has told its room while the other end did not listen yet. */
	if (!is_down && (before != p->state || was_down)) {
		vb_ib_port_tell(p, n->now);
		vb_ib_port_tell(&n->end[far].port, n->now);
		port_settle(n, far);
	}
	port_settle(n, number);
}

void vb_ib_net_set_away(struct vb_ib_net *n, uint32_t number, bool is_away, vb_dur delay)
{
	struct vb_ib_net_port *p = &n->port[number];

	if (p->is_away == is_away)
		return;
	VB_ASSERT_ALL(p->line->owner && p->far == number);
	p->line->cable.delay = delay;
	if (!is_away)
		vb_ib_net_set_state(n, number, VB_LINK_DOWN, false);
	p->is_away = is_away;
}

struct vb_frame *vb_ib_net_poll_away(struct vb_ib_net *n)
{
	return n->away.head ? vb_frame_fifo_pop(&n->away) : NULL;
}

void vb_ib_net_arrive(struct vb_ib_net *n, uint32_t number, struct vb_frame *f)
{
	struct vb_port *line = n->port[number].line;

	VB_ASSERT_ALL(n->port[number].is_away && line->owner);
	frame_show(n, number, false, f);
	line->owner->ops->handle_packet(line->owner, line->number, f, n->now);
	ports_serve(n);
}

bool vb_ib_net_arrive_flow(struct vb_ib_net *n, uint32_t number, const uint8_t packet[VB_FLOW_LEN])
{
	struct vb_frame *f = vb_frame_pool_take(&n->pool);

	if (!f)
		return false;
	f->kind = VB_FRAME_FLOW;
	n->pool.flow++;
	f->frame_len = VB_FLOW_LEN;
	f->has_payload = f->corrupt = false;
	memcpy(f->bytes, packet, VB_FLOW_LEN);
	vb_ib_net_arrive(n, number, f);
	return true;
}

void vb_ib_net_tell(struct vb_ib_net *n, uint32_t number)
{
	vb_ib_port_tell(&n->end[number].port, n->now);
	vb_port_wake(n->port[number].line);
	ports_serve(n);
}

void vb_ib_net_set_lanes(struct vb_ib_net *n, uint32_t number, uint32_t cnt)
{
	struct vb_ib_port *p = &n->end[number].port;
	uint32_t far = n->port[number].far;

	if (p->config.data_cnt == cnt)
		return;
	vb_ib_port_set_lanes(p, cnt, n->now);
	vb_ib_port_tell(p, n->now);
	vb_ib_port_tell(&n->end[far].port, n->now);
	port_settle(n, number);
	port_settle(n, far);
}

void vb_ib_net_set_rate(struct vb_ib_net *n, uint32_t number, uint64_t bps)
{
	struct vb_port *line = n->port[number].line;

	if (bps == 0 || bps == line->rate_bps)
		return;
	line->rate_bps = bps;
	line->carry = 0; /* it counts in parts of the old one */
}

bool vb_ib_net_send(struct vb_ib_net *n, uint32_t number, const struct vb_tx *tx)
{
	struct vb_frame *f = vb_frame_pool_take(&n->pool);

	VB_ASSERT_ALL(n->port[number].hca && tx->payload_len <= n->cfg.payload_max);
	if (!f)
		return false;
	vb_frame_fill(f, tx, true);
	vb_ib_hca_put(n->port[number].hca, f, n->now);
	ports_serve(n);
	return true;
}

void vb_ib_net_take(struct vb_ib_net *n, uint32_t number)
{
	vb_frame_pool_give(&n->pool, vb_ib_hca_take(n->port[number].hca, n->now));
	ports_serve(n);
}
