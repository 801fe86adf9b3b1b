/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machines of a simulation and what its files offer to each other. Machine numbers, which order
 * what happens at one instant: hosts, then ports, then the application's timer.
 */
#ifndef VB_SIM_PRIV_H
#define VB_SIM_PRIV_H

#include "sim/eventq.h"
#include "sim/sim.h"

#include <assert.h>

#define VB_SIM_NONE UINT32_MAX
/* In place of a host: every host but the sender, until the first switch makes copies. */
#define VB_SIM_ALL (UINT32_MAX - 1)

/* Packets that an adapter has fetched from its core for a priority that is paused. */
#define VB_SIM_STAGED_MAX 8u

/* The faults of a cable, and where their events go. */
struct vb_sim_cable_fault {
	struct vb_fault layer;
	struct vb_trace trace;
};

/* One priority at a port: the queue of what goes out, and the account of what came in here. */
struct vb_sim_lane {
	struct vb_sim_fifo fifo;
	uint32_t bytes; /* in the queue */
	struct vb_buffer_account in;
};

/*
 * One end of a cable. Sending: queues by priority, the serialiser, and what is on the cable.
 * Receiving (at a switch): the buffer accounts of what came in here. By cache lines, in the order
 * of use: a hop touches the first three and a lane here, the second and a lane at the other end.
 */
struct vb_sim_port {
	_Alignas(64) vb_time busy_until;
	vb_time pull_at; /* when the next packet is fetched; VB_NEVER: when somebody kicks */
	struct vb_sim_link flight;         /* to the first packet on the cable: by arrival */
	struct vb_sim_packet *flight_tail; /* the last one, while there is a first */
	vb_time tail_at;                   /* of the last one that was there */
	vb_time last_at;                   /* arrival of the last packet that keeps the order */
	uint64_t carry;                    /* remainder of the serialisation time, in 1 / rate ns */

	uint64_t rate_bps;
	vb_dur delay;
	struct vb_sim_fifo control;
	struct vb_sim_cable_fault *fault;
	uint32_t owner; /* node */
	uint32_t id;
	uint32_t mtu;
	uint32_t headroom; /* of each lossless priority */
	uint8_t waiting;   /* bit p: queue p has packets */
	uint8_t paused;    /* bit p: the other end paused priority p */
	bool sending;      /* inside of transmit */
	bool to_host;      /* the other end is a host's */
	uint32_t depth_pkts;

	uint32_t depth;
	vb_time depth_since;
	struct vb_port_stats stats;

	_Alignas(64) struct vb_sim_lane lane[VB_SIM_PRIOS];
	struct vb_rng rng; /* RED */
	vb_time paused_since[VB_SIM_PRIOS];
};

struct vb_sim_host {
	struct vb_hca *hca;
	struct vb_pd *pd;
	struct vb_cq *cq;
	vb_time deadline;
	uint32_t port; /* by which it sends */
	uint32_t staged;
	uint32_t dirty_next;
	bool dirty;
	struct vb_counters counters;
};

struct vb_sim_switch {
	struct vb_buffer buffer;
	struct vb_trace trace;
	uint32_t salt;
};

/* Where a host hangs: all that a switch asks about it, side by side. */
struct vb_sim_site {
	uint32_t edge; /* switch; VB_SIM_NONE: another host */
	uint32_t port; /* the switch's, or the other host's */
};

/* Ports that lead one switch closer to another: route_ports[first ... first + cnt - 1]. */
struct vb_sim_route {
	uint32_t first, cnt;
};

struct vb_sim {
	struct vb_sim_config cfg;
	struct vb_sim_app app;
	vb_time now;
	struct vb_eventq events;
	void *eventq_mem;
	struct vb_sim_pool pool;
	uint32_t host_cnt, switch_cnt, port_cnt;
	struct vb_sim_host *host;
	struct vb_sim_site *site; /* of each host */
	struct vb_sim_switch *sw;
	struct vb_sim_port *port;
	void *port_mem;
	struct vb_sim_route *route; /* [switch * switch_cnt + edge switch] */
	uint32_t *route_ports;
	uint32_t route_port_cnt, route_port_cap;
	uint32_t dirty_first, dirty_last; /* hosts to settle before the next event */
	bool stop;
	int failure; /* ends the run */
	uint64_t hops, event_cnt;
	struct vb_digest digest;
	struct vb_tx_batch batch;
};

static inline void *vb_sim_alloc(struct vb_sim *s, size_t size)
{
	return s->cfg.memory.alloc(s->cfg.memory.ctx, size);
}

static inline void vb_sim_free(struct vb_sim *s, void *p)
{
	if (p)
		s->cfg.memory.free(s->cfg.memory.ctx, p);
}

static inline uint32_t vb_sim_peer(uint32_t port)
{
	return port ^ 1;
}

/* sim.c: the hook of every trace. */
void vb_sim_on_trace(void *ctx, const struct vb_trace_event *ev);
struct vb_trace vb_sim_trace_of(struct vb_sim *s, uint32_t node);
struct vb_sim_packet *vb_sim_packet_take(struct vb_sim *s);

/* port.c */
void vb_port_enqueue(struct vb_sim *s, struct vb_sim_port *p, struct vb_sim_packet *pkt);
/* There may be something to send: sends it, now or when the port is free. */
void vb_port_kick(struct vb_sim *s, struct vb_sim_port *p);
/* The port's deadline has come. */
void vb_port_run(struct vb_sim *s, struct vb_sim_port *p);
void vb_port_pause_frame(struct vb_sim *s, struct vb_sim_port *p, uint8_t prio, bool on);
void vb_port_stats_update(const struct vb_sim *s, const struct vb_sim_port *p,
			  struct vb_port_stats *st);
/* The next packet that may go from the queues of @p, or NULL. */
struct vb_sim_packet *vb_port_dequeue(struct vb_sim *s, struct vb_sim_port *p);

/* fault_hook.c: what the fault layer says of a packet that starts on a cable, also in pkt->mark. */
void vb_port_judge(struct vb_sim *s, struct vb_sim_port *p, struct vb_sim_packet *pkt,
		   struct vb_fault_fate *fate);
/* What it meets there: damage, a mark, and that there are two, returned: the second one or NULL. */
struct vb_sim_packet *vb_port_suffer(struct vb_sim *s, struct vb_sim_packet *pkt,
				     const struct vb_fault_fate *fate);
/* True when a damaged packet is as it was sent, as its ICRC says. */
bool vb_packet_is_whole(const struct vb_sim_packet *pkt);
struct vb_sim_packet *vb_packet_copy(struct vb_sim *s, const struct vb_sim_packet *pkt);

/* host.c */
int vb_host_create(struct vb_sim *s, uint32_t host);
/* The host of a GID, or a number that no host has. */
uint32_t vb_host_of(const struct vb_gid *gid);
void vb_host_receive(struct vb_sim *s, uint32_t host, struct vb_sim_packet *pkt);
void vb_host_timeout(struct vb_sim *s, uint32_t host);
/* The next packet that the adapter sends, or NULL. */
struct vb_sim_packet *vb_host_pull(struct vb_sim *s, uint32_t host);
bool vb_host_has_more(const struct vb_sim *s, uint32_t host);
void vb_host_mark(struct vb_sim *s, uint32_t host);
/* Takes what the adapters have to say, until all are still. */
void vb_hosts_settle(struct vb_sim *s);

/* switch.c */
int vb_switch_create(struct vb_sim *s, uint32_t idx);
void vb_switch_receive(struct vb_sim *s, uint32_t idx, struct vb_sim_port *in,
		       struct vb_sim_packet *pkt);
/* The port by which a packet leaves, or NULL. */
struct vb_sim_port *vb_switch_route(const struct vb_sim *s, uint32_t idx,
				    const struct vb_sim_packet *pkt);
/* A packet leaves the memory of the switch. */
void vb_switch_release(struct vb_sim *s, uint32_t idx, struct vb_sim_packet *pkt);

/* route.c */
int vb_routes_create(struct vb_sim *s);

#endif
