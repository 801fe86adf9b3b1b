/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loop over the machines of a simulation, or of a part of it: what happens when a deadline has
 * come. It carries frames from a node to its cable and from there to the node at the other end, and
 * looks into none. See sim.h.
 */
#include "base/assert.h"
#include "sim/priv.h"
#include "sim/window/pull.h"
#include "sim/window/window.h"

#define WC_BATCH 16

void vb_sim_port_arm(struct vb_sim *s, const struct vb_port *p)
{
	if (s->is_apart)
		vb_sim_apart_arm(s, p);
	else
		vb_eventq_set(&s->events, s->host_cnt + p->id, vb_port_poll_timeout(p));
}

/* Asks a port for a frame, and sees to the deadlines of the port and of its cable. */
static inline void port_serve(struct vb_sim *s, struct vb_port *p)
{
	bool was_empty = !vb_cable_next(&p->cable);

	if (p->pull_at <= s->now) {
		p->pulled = true;
		vb_sim_port_send(s, p, p->owner->ops->poll_transmit(p->owner, p->number, s->now),
				 s->now);
	}
	if (!s->is_apart) {
		vb_eventq_set(&s->events, s->host_cnt + p->id, vb_port_poll_timeout(p));
	} else if (!p->at_host || p->to_host) {
		vb_sim_apart_arm(s, p);
	} else {
		vb_eventq_set(&s->events, s->host_cnt + p->id, p->pull_at);
		if (was_empty && vb_cable_next(&p->cable))
			vb_sim_apart_depart(s, p);
	}
}

/* Asks the ports that were woken, now or when they are free. */
static inline void ports_serve(struct vb_sim *s)
{
	struct vb_port *p;

	while ((p = vb_ready_take(&s->ready)) != NULL)
		port_serve(s, p);
}

/* A port's deadline has come: the frame at the far end of its cable goes into the node there,
 * then comes the next frame. Both are events, which different parts may have. With switches apart
 * they are those of hosts alone. */
static void port_run(struct vb_sim *s, struct vb_port *p)
{
	const struct vb_port *far = &s->port[vb_sim_peer(p->id)];
	struct vb_frame *f;
	uint32_t came = 0;

	while ((!s->is_apart || p->to_host) &&
	       (f = vb_cable_poll_transmit(&p->cable, s->now)) != NULL) {
		VB_ASSERT_ALL(f->flight.at <= s->now && far->owner);
		far->owner->ops->handle_packet(far->owner, far->number, f, s->now);
		ports_serve(s);
		came = 1;
	}
	if (s->is_apart && !p->at_host) {
		vb_eventq_set(&s->events, s->host_cnt + p->id, vb_cable_poll_timeout(&p->cable));
		return;
	}
	if (p->pull_at <= s->now)
		s->event_cnt += came;
	port_serve(s, p);
	ports_serve(s);
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

/* The next event concerns all machines. */
static void all_catch_up(struct vb_sim *s)
{
	if (s->is_apart)
		vb_sim_switches_catch_up(s);
}

void vb_sim_event_run(struct vb_sim *s)
{
	uint32_t id = vb_eventq_take(&s->events);

	VB_ASSERT_ALL(s->events.now >= s->now && id <= vb_sim_watch_id(s));
	if (s->events.now != s->now || id > s->order)
		s->order = id;
	s->now = s->events.now;
	s->event_cnt++;
	if (s->looks_ahead)
		vb_sim_look_ahead(s);
	if (id < s->host_cnt) {
		vb_nic_handle_timeout(&s->host[id], s->now);
	} else if (id < vb_sim_turn_id(s)) {
		port_run(s, &s->port[id - s->host_cnt]);
	} else if (id == vb_sim_turn_id(s)) {
		turn_run(s);
	} else if (id == vb_sim_links_id(s)) {
		all_catch_up(s);
		vb_sim_links_change(s);
		ports_serve(s);
	} else if (id == vb_sim_watch_id(s)) {
		vb_sim_ib_watch(s);
	} else {
		all_catch_up(s);
		vb_sim_timer_run(s);
	}
	if (s->nics.first)
		vb_sim_hosts_settle(s);
}

void vb_sim_ports_serve(struct vb_sim *s)
{
	ports_serve(s);
}
