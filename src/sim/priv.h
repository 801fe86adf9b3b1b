/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A simulation: its clock, its machines and what its files offer to each other. Machine numbers,
 * which order what happens at one instant: hosts, then ports, then the application's turn and
 * timer.
 */
#ifndef VB_SIM_PRIV_H
#define VB_SIM_PRIV_H

#include "base/cold.h"
#include "sim/eventq.h"
#include "sim/nic.h"
#include "sim/sim.h"

#include <assert.h>

#define VB_SIM_NONE UINT32_MAX
#define VB_SIM_TREES 4u                /* that groups share */
#define VB_SIM_ADDRESS VB_FLOW_ADDRESS /* of host 0; others follow */
#define VB_SIM_LID 1u                  /* the same of InfiniBand; of each subnet */

/* Planned changes of cables, the first in time first. */
struct vb_sim_link_change {
	vb_time at;
	uint32_t link; /* VB_SIM_NONE: routes follow what has happened */
	bool up;
};

/* Machines of the line that vb_sim_look_ahead() has in view, a power of two. */
#define VB_SIM_LINE 16u

/* All that InfiniBand adds to a simulation. */
struct vb_sim_ib {
	struct vb_ib_end *end; /* of hosts, then of the ports of switches as in switch_port */
	struct vb_ib_switch *sw;
	uint8_t *lft;           /* of each switch, by LID */
	struct vb_sl2vl *sl2vl; /* the same for all pairs of ports */
	struct vb_ib_hop *hop;
	uint32_t hop_cnt;
	uint8_t *layer; /* service levels, by [source * switch_cnt + destination]; NULL: 0 */
	struct vb_ib_source *source; /* of hosts, with congestion control */
	struct vb_ib_marker *marker; /* of the ports of switches, then */
	uint16_t *pkey;              /* tables of hosts; NULL: nobody has said any */
	struct vb_ib_gate *gate;     /* of the ports of switches, where P_Keys are enforced */
	struct vb_port_mask *mft;    /* of each switch, VB_SIM_GROUPS entries; NULL: no groups */
	uint64_t *member;            /* of each host a bit for each group that it has joined */
	uint64_t groups;             /* that have had members */
	uint16_t group_pkey[VB_SIM_GROUPS]; /* in their MGIDs; 0: the default one */
	uint8_t *scratch;                   /* of deadlock.h */
	struct vb_deadlock deadlock;
	vb_time deadlock_at; /* VB_NEVER: there was none */
};

/* The subnets of a network with routers, as their managers would have set them. */
struct vb_sim_subnets {
	uint32_t cnt;
	uint32_t router_first;       /* the switch that is the first router */
	uint32_t lid_cap;            /* LIDs of all subnets are below */
	uint32_t *of_link;           /* of each cable */
	uint32_t *of_switch;         /* of each switch; VB_SIM_NONE of routers */
	uint16_t *lid;               /* of each port: of a switch 0 */
	uint32_t *port_of;           /* [subnet * lid_cap + LID]: the port; VB_SIM_NONE */
	struct vb_routers all;       /* router n of these is switch router_first + n */
	struct vb_ib_router *router; /* of each of them */
};

/* A frame on its way to another part: the port that it left by; VB_SIM_NONE: it is a free one. */
struct vb_sim_parcel {
	struct vb_frame *frame;
	uint32_t port;
};

/* The frames that one part has for another one, in the order in which they left. Written by the one
 * in a window, and read by the other in the next. */
struct vb_sim_box {
	struct vb_sim_parcel *parcel;
	uint32_t cnt, cap;
};

/* A port that another process has run, at the end, and what its cable has lost. */
struct vb_sim_port_count {
	uint8_t port[sizeof(struct vb_port)];
	uint64_t lost;
};

/*
 * A network in parts, each of which has its machines and a clock of its own. A part is a struct
 * vb_sim as well: it shares the tables of the first one, which is that of the user, and has the
 * deadlines, the frames and the ports of its own nodes. Of the other ports it has a likeness, which
 * holds the frames that come from there. parts.c
 */
struct vb_sim_cut {
	uint32_t part_cnt;
	struct vb_sim **part; /* the first is the user's */
	uint16_t *of_node;    /* the part of each node, and of each port */
	uint16_t *of_port;
	vb_dur lookahead; /* a frame takes so long at least from one part to another */
	uint32_t window;  /* its number */
	bool is_open;     /* the parts are at work in it */
	vb_time end;      /* of the window: parts run up to it, and not at it */
	vb_time until;    /* of the run */
	/* Where other processes run the other parts: this one's, and when something happens next
	 * in each, as all of them have been told. ranks.h */
	uint32_t own;
	vb_time *told; /* NULL: all parts are run here */
	struct vb_sim_port_count *count;
	bool own_ran_out; /* of packets, as they have been told */
	bool is_counted;  /* they have said what they counted */
};

/* The parts that each event needs come first: with the configuration before them, and adapters that
 * begin anywhere in a cache line, bench/simulator fat-tree is 7 % slower. */
struct vb_sim {
	struct vb_sim_app app;
	vb_time now;
	struct vb_eventq events;
	/* Of vb_sim_look_ahead(): how many turns there were, and the ports that have the next ones;
	 * NULL: other machines. */
	struct {
		uint32_t turn;
		const struct vb_port *line[VB_SIM_LINE];
	} ahead;
	void *eventq_mem;
	struct vb_frame_pool pool;
	uint32_t host_cnt, switch_cnt, port_cnt;
	struct vb_nic *host;
	void *host_mem;
	struct vb_switch *sw;
	struct vb_port *port;
	void *port_mem;
	struct vb_port **switch_port; /* of each switch by number, one switch behind the other */
	struct vb_ready_list ready;
	/* The forward tables: where hosts hang, and by [switch * edge_cnt + subnet] the ports that
	 * lead to a subnet. */
	struct vb_forward_map map;
	struct vb_hop_set *hop_set;
	uint32_t *hop;
	uint32_t hop_cnt, hop_cap;
	uint32_t edge_cnt; /* no switch from this number on has hosts */
	uint64_t *tree;    /* of groups: VB_SIM_TREES of each switch, one switch behind the other */
	struct vb_sim_ib *ib;       /* NULL: Ethernet */
	uint32_t *switch_of;        /* by port, of those that switches have */
	uint32_t waiting_cnt;       /* hosts with a deadline or something to send */
	vb_time timer_at, turn_at;  /* of the application */
	struct vb_trace link_trace; /* of changes of cables */
	struct vb_sim_link_change *change;
	uint32_t change_cnt;
	bool looks_ahead;
	bool stop;
	bool is_apart;              /* switches are: window/window.h */
	struct vb_sim_apart *apart; /* NULL: they cannot be */
	uint32_t order; /* the highest machine number that has had its turn at this instant */
	uint64_t hops, event_cnt;
	uint64_t *digest; /* of each node that events are of: vb_sim_trace_nodes() of them */
	struct vb_nic_group nics;
	struct vb_sim_subnets *subnets; /* NULL: there are no routers, and one subnet */
	void *multipath;                /* of all switches; NULL: ECMP */
	struct vb_sim_cut *cut;         /* NULL: the network is in one part */
	uint32_t part;                  /* this one of them */
	vb_time sent_at;                /* the first arrival of a frame to others in this window */
	struct vb_sim_box *box[2]; /* for each other part, of windows with even and odd numbers */
	int64_t *owed; /* to each other part: frames that came from there, less those that went */
	struct vb_sim_config cfg;
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

/* The simulation that has the deadlines and frames of a port's node. */
static inline struct vb_sim *vb_sim_of_port(struct vb_sim *s, uint32_t port)
{
	return s->cut ? s->cut->part[s->cut->of_port[port]] : s;
}

/* The same of a node. */
static inline struct vb_sim *vb_sim_of_node(struct vb_sim *s, uint32_t node)
{
	return s->cut ? s->cut->part[s->cut->of_node[node]] : s;
}

/* A part is run by this process. */
static inline bool vb_sim_part_is_here(const struct vb_sim *s, uint32_t part)
{
	return !s->cut || !s->cut->told || s->cut->own == part;
}

/* A port as its node has it. */
static inline struct vb_port *vb_sim_port(const struct vb_sim *s, uint32_t port)
{
	return s->cut ? &s->cut->part[s->cut->of_port[port]]->port[port] : &s->port[port];
}

/* The switch that has a port, or NULL: a host has it. Of InfiniBand it has the shape alone. */
static inline struct vb_switch *vb_sim_switch_at(const struct vb_sim *s, const struct vb_port *p)
{
	return p->at_host ? NULL : &s->sw[s->switch_of[p->id]];
}

/* The number of a switch, from 0. */
static inline uint32_t vb_sim_switch_number(const struct vb_sim *s, const struct vb_switch *sw)
{
	return (uint32_t)(sw - s->sw);
}

/* The number of the switch at the other end of a port's cable, or VB_SIM_NONE: there is none, or
 * the cable is apart. */
static inline uint32_t vb_sim_switch_behind(const struct vb_sim *s, const struct vb_port *p)
{
	const struct vb_switch *sw = vb_sim_switch_at(s, vb_sim_port(s, vb_sim_peer(p->id)));

	return sw && !p->cable.down ? vb_sim_switch_number(s, sw) : VB_SIM_NONE;
}

static inline uint32_t vb_sim_host_number(const struct vb_sim *s, const struct vb_nic *nic)
{
	return (uint32_t)(nic - s->host);
}

/* The time that every frame takes to the other end of a cable, at least. */
static inline vb_dur vb_sim_cable_lookahead(vb_dur delay, uint64_t rate_bps)
{
	return delay + (VB_FRAME_MIN + VB_FRAME_GAP) * 8 * UINT64_C(1000000000) / rate_bps;
}

/* window/window.c: when the next event comes. */
vb_time vb_sim_events_next(const struct vb_sim *s);

/* loop.c: the first machine in line does what is due, and all adapters are still again. */
void vb_sim_event_run(struct vb_sim *s);
/* Takes what the adapters have to say, until all are still. */
void vb_sim_hosts_settle(struct vb_sim *s);
/* Asks the ports that were woken, now or when they are free. */
void vb_sim_ports_serve(struct vb_sim *s);
/* Deadlines of a port and of its cable have changed. */
void vb_sim_port_arm(struct vb_sim *s, const struct vb_port *p);
/* The application's timer goes off. */
void vb_sim_timer_run(struct vb_sim *s);
/* window/ahead.c: brings into the cache what the machines next in line will touch. */
void vb_sim_look_ahead(struct vb_sim *s);
/* As the network is now: it does not stay in the caches by itself. */
bool vb_sim_look_ahead_pays(const struct vb_sim *s);

/* network/cut.c: makes the parts that cfg.part_of says, with their ports; -EINVAL: they cut a cable
 * of a host or one without a delay, or the links are InfiniBand's. */
int vb_sim_cut_create(struct vb_sim *s);
/* Gives the parts what they share, when all of it is there. */
void vb_sim_cut_share(struct vb_sim *s);
void vb_sim_cut_destroy(struct vb_sim *s);
/* A frame leaves for another part: of cable hooks. */
void vb_sim_cut_leave(void *ctx, uint32_t port, struct vb_frame *f);
/* Takes the frames from others into part @s, and what they have taken out of its boxes. */
void vb_sim_cut_enter(struct vb_sim *s);
/* One of them, which left by @port. */
void vb_sim_cut_arrive(struct vb_sim *s, struct vb_frame *f, uint32_t port);
/* All of it, for all parts, when none is at work. */
void vb_sim_cut_empty(struct vb_sim *s);
/* Frames on the way from @port to another part are lost. */
void vb_sim_cut_lose(struct vb_sim *s, uint32_t port);

/* parts.c: the run of a network in parts, one behind the other. */
int vb_sim_parts_run(struct vb_sim *s, vb_time until);
vb_time vb_sim_parts_next(const struct vb_sim *s);

/* The machine numbers of the application's turn and timer. */
static inline uint32_t vb_sim_turn_id(const struct vb_sim *s)
{
	return s->host_cnt + s->port_cnt;
}

static inline uint32_t vb_sim_timer_id(const struct vb_sim *s)
{
	return vb_sim_turn_id(s) + 1;
}

/* network/link.c: makes the changes of cables that are due, and knows when the next one is. */
VB_COLD void vb_sim_links_change(struct vb_sim *s);
/* The machine number of the changes. */
static inline uint32_t vb_sim_links_id(const struct vb_sim *s)
{
	return vb_sim_timer_id(s) + 1;
}

/* The nodes that events name: hosts, switches, cables with faults, and behind all of them changes
 * of cables. */
static inline uint32_t vb_sim_trace_nodes(const struct vb_sim *s)
{
	return s->host_cnt + s->switch_cnt + s->port_cnt / 2 + 1;
}

/* The machine number of the search for deadlocks. */
static inline uint32_t vb_sim_watch_id(const struct vb_sim *s)
{
	return vb_sim_links_id(s) + 1;
}

/* The node of port @id of a topology. */
static inline uint32_t vb_sim_node_at(const struct vb_sim_topo *t, uint32_t id)
{
	return id & 1 ? t->link[id / 2].b : t->link[id / 2].a;
}

static inline uint64_t vb_sim_prefix(uint32_t subnet)
{
	return VB_PREFIX_FIRST + subnet;
}

/* Switch @sw is a router. */
static inline bool vb_sim_is_router(const struct vb_sim *s, uint32_t sw)
{
	return s->subnets && sw >= s->subnets->router_first;
}

/* network/subnets.c: subnets and LIDs of cfg.topo, when its ports are there. -EINVAL: a switch is
 * in two subnets, there are more than VB_HOP_SUBNETS_MAX, or more hosts and routers in one than
 * LIDs. */
int vb_sim_subnets_create(struct vb_sim *s);
void vb_sim_subnets_destroy(struct vb_sim *s);
/* The LID of a host in its subnet, and above those of all hosts and routers. */
uint16_t vb_sim_lid(const struct vb_sim *s, uint32_t host);
uint32_t vb_sim_lid_cap(const struct vb_sim *s);
/* The GID of a host, in a network with routers. */
struct vb_gid vb_sim_port_gid(const struct vb_sim *s, uint32_t host);
/* The host that a GID of such a network is of; VB_SIM_NONE: of none. */
uint32_t vb_sim_port_host(const struct vb_sim *s, const struct vb_gid *gid);
/* The DLID of packets to host @to in @subnet: its LID there, or that of the router which leads to
 * it. */
uint16_t vb_sim_dlid(const struct vb_sim *s, uint32_t subnet, uint32_t to);
/* The port, from 1 on, by which router @sw sends packets for host @to on that came by port @in, and
 * their next DLID. With @in 0 they come from some other subnet. 0: it leads nowhere. */
uint8_t vb_sim_router_step(const struct vb_sim *s, uint32_t sw, uint32_t in, uint32_t to,
			   uint16_t *dlid);
/* -EXDEV: packets from one subnet to another come from another router there than the one to which
 * answers go, and connections know their peers by that. */
int vb_sim_subnets_check(const struct vb_sim *s);

/* network/ib.c: makes the ports and switches of InfiniBand, when the others are there. */
int vb_sim_ib_create(struct vb_sim *s);
void vb_sim_ib_destroy(struct vb_sim *s);
/* The link of port @p comes up or is lost. */
void vb_sim_ib_set_link(struct vb_sim *s, const struct vb_port *p, bool up);
/* Looks for a deadlock. */
VB_COLD void vb_sim_ib_watch(struct vb_sim *s);
/* Nothing but flow control packets is left to happen, or nothing can happen any more. */
bool vb_sim_ib_is_over(const struct vb_sim *s);
/* network/ib_route.c: fills the forwarding tables, and once the service levels of layers. -EINVAL:
 * they are more than there are lanes. */
int vb_sim_ib_route(struct vb_sim *s);

/* network/ib_group.c: fills the multicast tables again, when trees are others. */
void vb_sim_ib_groups_follow(struct vb_sim *s);

/* network/ports.c: the hooks for events and taps on a cable; NULL: no memory. */
struct vb_cable_hooks *vb_sim_cable_hooks(struct vb_sim *s, struct vb_port *p);
/* network/network.c: makes the port array of a simulation or a part; -EINVAL or -ENOMEM. */
int vb_sim_ports_create(struct vb_sim *s);
void vb_sim_ports_destroy(struct vb_sim *s);
/* network/ports.c: where the first of what is aligned to @align is, whatever the allocator aligns
 * to. */
void *vb_sim_align(void *mem, size_t align);
/* Fits the pool and the group of adapters to the configuration. */
void vb_sim_pool_init(struct vb_sim *s);
/* network/network.c: makes the hosts, switches, ports and cables of cfg.topo. */
int vb_sim_network_create(struct vb_sim *s);
void vb_sim_network_destroy(struct vb_sim *s);
/* A trace of a node into the digest and the hook of the configuration. */
struct vb_trace vb_sim_trace_of(struct vb_sim *s, uint32_t node);

/* network/route.c: fills the forward tables. */
int vb_sim_routes_create(struct vb_sim *s);
/* network/hops.c: finds the next hops of all switches, for hop_set and hop. -EINVAL: a switch has
 * no way to some other one, unless the network @may_part; -ENOMEM. */
int vb_sim_hops_find(struct vb_sim *s, const uint8_t *has_hosts, bool may_part);
/* Fills them again, and the trees of groups. */
int vb_sim_routes_follow(struct vb_sim *s);
/* network/tree.c: fills the trees of groups. */
int vb_sim_trees_create(struct vb_sim *s);

#endif
