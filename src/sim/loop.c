/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loop over the machines of a simulation, or of a part of it: what happens when a deadline has
 * come. It carries frames from a node to its cable and from there to the node at the other end, and
 * looks into none. See sim.h.
 */
#include "base/assert.h"
#include "sim/priv.h"

#define WC_BATCH 16

/* Asks the node of a port whose cable is free for the next frame, and puts that on the cable. */
static void port_pull(struct vb_sim *s, struct vb_port *p)
{
	struct vb_machine *node = p->owner;

	VB_ASSERT_ALL(!p->pulled && p->pull_at <= s->now);
	p->pulled = true;

	struct vb_frame *f = node->ops->poll_transmit(node, p->number, s->now);

	p->pulled = false;
	if (f) {
		vb_port_serialise(p, f, s->now);
		vb_cable_handle_packet(&p->cable, f, s->now);
		s->hops++;
	}
	vb_port_handle_timeout(p);
}

static void port_arm(struct vb_sim *s, const struct vb_port *p)
{
	vb_eventq_set(&s->events, s->host_cnt + p->id, vb_port_poll_timeout(p));
}

/* Asks the ports that were woken, now or when they are free. */
static inline void ports_serve(struct vb_sim *s)
{
	struct vb_port *p;

	while ((p = vb_ready_take(&s->ready)) != NULL) {
		if (p->pull_at <= s->now)
			port_pull(s, p);
		port_arm(s, p);
	}
}

/* A port's deadline has come: the frame at the far end of its cable goes into the node there,
 * then comes the next frame. Both are events, which different parts may have. */
static void port_run(struct vb_sim *s, struct vb_port *p)
{
	const struct vb_port *far = &s->port[vb_sim_peer(p->id)];
	struct vb_frame *f;
	uint32_t came = 0;

	while ((f = vb_cable_poll_transmit(&p->cable, s->now)) != NULL) {
		VB_ASSERT_ALL(f->flight.at <= s->now && far->owner);
		far->owner->ops->handle_packet(far->owner, far->number, f, s->now);
		ports_serve(s);
		came = 1;
	}
	if (p->pull_at <= s->now) {
		s->event_cnt += came;
		port_pull(s, p);
		ports_serve(s);
	}
	port_arm(s, p);
}

static void take_completions(struct vb_sim *s, struct vb_nic *nic)
{
	uint32_t host = vb_sim_host_number(s, nic);
	struct vb_wc wc[WC_BATCH];

	while (!vb_cq_is_empty(nic->cq)) {
		int n = vb_cq_poll(nic->cq, wc, WC_BATCH);

		for (int i = 0; i < n; i++) {
			if (s->app.on_completion)
				s->app.on_completion(s->app.ctx, host, &wc[i], s->now);
		}
		if (n <= 0)
			break;
	}
}

/* Whether it has anything left to do: a simulation of InfiniBand has to know when nobody has. */
static void host_count(struct vb_sim *s, struct vb_nic *nic, vb_time deadline)
{
	bool is_waiting = deadline != VB_NEVER || vb_hca_has_transmit(nic->hca);

	if (nic->is_waiting == is_waiting)
		return;
	nic->is_waiting = is_waiting;
	s->waiting_cnt += is_waiting ? 1u : UINT32_MAX;
}

static void host_settle(struct vb_sim *s, struct vb_nic *nic)
{
	struct vb_event ev;

	take_completions(s, nic);
	while (vb_hca_poll_event(nic->hca, &ev)) {
		if (s->app.on_async)
			s->app.on_async(s->app.ctx, vb_sim_host_number(s, nic), &ev, s->now);
	}
	if (vb_hca_has_transmit(nic->hca)) {
		vb_port_wake(nic->port);
		ports_serve(s);
	}

	vb_time deadline = vb_nic_poll_timeout(nic);

	if (s->ib)
		host_count(s, nic, deadline);
	if (deadline != nic->deadline) {
		nic->deadline = deadline;
		vb_eventq_set(&s->events, vb_sim_host_number(s, nic), deadline);
	}
}

void vb_sim_hosts_settle(struct vb_sim *s)
{
	struct vb_nic *nic;

	while ((nic = vb_nic_take(&s->nics)) != NULL)
		host_settle(s, nic);
}

/* Ports and QPs that stay in the caches by themselves: to look ahead costs more than it brings, 6 %
 * of an incast of 16 senders. Ports from which on their own lines are worth it: 8 % of 10,000
 * hosts, and a loss of 3 % with 128. */
#define CACHED_MAX 256u
#define PORTS_MIN 4096u

enum vb_sim_looks vb_sim_looks_needed(const struct vb_sim *s)
{
	uint32_t cnt = s->port_cnt;

	if (cnt >= PORTS_MIN)
		return VB_SIM_LOOKS_AT_PORTS;
	for (uint32_t i = 0; i < s->host_cnt && cnt <= CACHED_MAX; i++)
		cnt += vb_hca_qp_cnt(s->host[i].hca);
	return cnt <= CACHED_MAX ? VB_SIM_LOOKS_AT_NOTHING : VB_SIM_LOOKS_AT_PACKETS;
}

/* How many turns ahead look_ahead() looks at packets, from where a port has two steps to go, and at
 * ports. The lines of ports have many turns to come in, those of packets and QPs would be gone
 * again. With one step instead of two, that waits for a QP's address: 7 to 10 % of bench/simulator
 * fat-tree. */
enum { AHEAD_PACKET = 2, AHEAD_PORT = 9 };

/* The port behind a machine number, or NULL. */
static const struct vb_port *port_of(const struct vb_sim *s, uint32_t id)
{
	return id - s->host_cnt < s->port_cnt ? &s->port[id - s->host_cnt] : NULL;
}

/* A call of a function that only prefetches is one that a compiler may leave out; so these are
 * always part of their caller. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* The lines of a port that a hop touches, and of the other end, where what arrives comes in. */
ALWAYS_INLINE void look_at_port(const struct vb_sim *s, const struct vb_port *p)
{
	const struct vb_port *in = &s->port[vb_sim_peer(p->id)];

	vb_port_expect(p);
	__builtin_prefetch(&in->rate_bps);
	__builtin_prefetch(&in->lane[0]);
}

/* The ports some turns ahead; as a short line begins, those that are seen for the first time, or
 * were long ago. */
static void look_at_ports(const struct vb_sim *s, const struct vb_eventq *q)
{
	for (uint32_t i = vb_eventq_news(q) < AHEAD_PORT ? 0 : AHEAD_PORT; i <= AHEAD_PORT; i++) {
		const struct vb_port *p = port_of(s, vb_eventq_ahead(q, i));

		if (p)
			look_at_port(s, p);
	}
}

/* Packets that arrive, and packets that wait there. */
ALWAYS_INLINE void look_at_packets(const struct vb_port *p)
{
	const struct vb_frame *f = vb_cable_next(&p->cable);

	__builtin_prefetch(f);
	__builtin_prefetch(p->lane[0].fifo.head);
	if (p->to_host)
		__builtin_prefetch((const char *)f + 64);
}

/* At a port a frame of its adapter comes next, or one that arrives at the other end, for another
 * port or for an adapter: the node there says where it will look. */
ALWAYS_INLINE void look_at_node(const struct vb_sim *s, const struct vb_port *p,
				enum vb_expect when)
{
	const struct vb_frame *f = vb_cable_next(&p->cable);
	vb_time arrival = vb_cable_poll_timeout(&p->cable);
	const struct vb_port *in;

	if (p->at_host && p->pull_at <= arrival)
		p->owner->ops->expect(p->owner, p->number, NULL, when);
	if (!f || arrival > p->pull_at)
		return;
	in = &s->port[vb_sim_peer(p->id)];
	in->owner->ops->expect(in->owner, in->number, f, when);
}

/*
 * Brings into the cache what the machines next in line at this instant will touch. Each step needs
 * what the step before has brought, and has a machine's time or two: the port, then the packets
 * that arrive there and wait there, then the place of a receiving QP's address and the sending QP,
 * then the receiving QP or the port that those go to, and the WQE that is sent. A port is looked up
 * once and goes from step to step as the line moves on: 3 % of bench/simulator fat-tree. It changes
 * nothing that a run does.
 */
static void look_ahead(struct vb_sim *s)
{
	const struct vb_eventq *q = &s->events;

	if (s->looks == VB_SIM_LOOKS_AT_PORTS)
		look_at_ports(s, q);
	if (s->ahead.turn == q->turn_at)
		return;
	s->ahead.turn = q->turn_at;
	if (s->ahead.first)
		look_at_node(s, s->ahead.first, VB_EXPECT_NEXT);
	/* A switch has no tables that lead to what it touches. */
	if (s->ahead.second && (s->ahead.second->at_host || s->ahead.second->to_host))
		look_at_node(s, s->ahead.second, VB_EXPECT_SOON);
	s->ahead.first = s->ahead.second;
	s->ahead.second = port_of(s, vb_eventq_ahead(q, AHEAD_PACKET));
	if (s->ahead.second)
		look_at_packets(s->ahead.second);
}

void vb_sim_timer_run(struct vb_sim *s)
{
	s->timer_at = VB_NEVER;
	if (s->app.on_timer)
		s->app.on_timer(s->app.ctx, s->now);
}

static void turn_run(struct vb_sim *s)
{
	s->turn_at = VB_NEVER;
	s->event_cnt--; /* it is one for all hosts of a part */
	if (s->app.on_turn)
		s->app.on_turn(s->app.ctx, s->part, s->now);
}

void vb_sim_event_run(struct vb_sim *s)
{
	uint32_t id = vb_eventq_take(&s->events);

	VB_ASSERT_ALL(s->events.now >= s->now && id <= vb_sim_watch_id(s));
	if (s->events.now != s->now || id > s->order)
		s->order = id;
	s->now = s->events.now;
	s->event_cnt++;
	if (s->looks != VB_SIM_LOOKS_AT_NOTHING)
		look_ahead(s);
	if (id < s->host_cnt) {
		vb_nic_handle_timeout(&s->host[id], s->now);
	} else if (id < vb_sim_turn_id(s)) {
		port_run(s, &s->port[id - s->host_cnt]);
	} else if (id == vb_sim_turn_id(s)) {
		turn_run(s);
	} else if (id == vb_sim_links_id(s)) {
		vb_sim_links_change(s);
		ports_serve(s);
	} else if (id == vb_sim_watch_id(s)) {
		vb_sim_ib_watch(s);
	} else {
		vb_sim_timer_run(s);
	}
	if (s->nics.first)
		vb_sim_hosts_settle(s);
}

void vb_sim_ports_serve(struct vb_sim *s)
{
	ports_serve(s);
}
