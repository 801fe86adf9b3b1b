/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The simulator: adapters as they ship (core/hca.h), joined by cables and switches, in virtual
 * time.
 *
 * The same configuration and seed give the same run, event by event, whatever compiles it: nothing
 * here reads a clock or depends on an address, and whatever happens at one instant happens in the
 * order of machine numbers. A run can be stopped and continued at any instant.
 *
 * The user creates QPs and posts work through the verbs of core/hca.h on vb_sim_hca(), from the
 * callbacks below or between runs, and then calls vb_sim_touch() for each host it used.
 */
#ifndef VB_SIM_SIM_H
#define VB_SIM_SIM_H

#include "core/hca.h"
#include "fabric/switch.h"
#include "fault/fault.h"
#include "sim/digest.h"
#include "sim/network/ib.h"
#include "sim/network/topo.h"

#define VB_SIM_LINK_CHANGES_MAX 1024u

struct vb_sim;

/* The user of the simulation. Any callback may be NULL. */
struct vb_sim_app {
	void *ctx;
	/* A completion was taken from the CQ of @host. */
	void (*on_completion)(void *ctx, uint32_t host, const struct vb_wc *wc, vb_time now);
	void (*on_async)(void *ctx, uint32_t host, const struct vb_event *ev, vb_time now);
	/* The time set with vb_sim_set_timer() has come. In a network in parts all of them are
	 * still then; the other callbacks come from each part, and set no timer. */
	void (*on_timer)(void *ctx, vb_time now);
	/* The turn set with vb_sim_set_turn() has come, behind what adapters and ports do at that
	 * instant and before the timer. Comes from the part. */
	void (*on_turn)(void *ctx, uint32_t part, vb_time now);
	/* The parts of a network have run for a while, and are still now. */
	void (*on_still)(void *ctx);
};

struct vb_sim_config {
	uint64_t seed;
	const struct vb_sim_topo *topo;
	/* Ethernet: some of it no cable joins to the rest. Packets between are dropped. */
	bool is_apart;
	struct vb_switch_config sw; /* every switch of Ethernet */
	struct vb_sim_ib_config ib; /* with is_used all links are InfiniBand's */
	vb_dur reroute;             /* from a change of a link until routes have followed */
	/* Of every adapter: limits, windows and active_mtu. seed, ports, QPNs, trace and memory are
	 * set by the simulator. */
	struct vb_hca_config hca;
	uint32_t cqe;         /* entries of the one CQ of each host */
	uint32_t packets_max; /* under way at once; a run that needs more ends with -ENOMEM */
	bool carry_data;      /* payloads have bytes and are checked; else lengths only */
	bool digest;          /* keep the digest of the event stream */
	uint64_t trace_mask;  /* events for on_event */
	void (*on_event)(void *ctx, const struct vb_trace_event *ev);
	/* Each packet as it starts on a cable and as it arrives at the other end. */
	void (*on_packet)(void *ctx, uint32_t port, enum vb_cable_tap_dir dir,
			  const struct vb_frame *f, vb_time now);
	void *trace_ctx;
	struct vb_sim_memory memory;
	/* The network is run in so many parts, which may be run at once: parts.h. 0, 1: in one.
	 * Then there is neither on_event nor on_packet, and memory is for several threads. */
	uint32_t part_cnt;
	const uint16_t *part_of; /* the part of each node, as vb_sim_partition() has it */
};

/* A port is the sending end of one direction of a cable: port 2n of cable n is at its node a, port
 * 2n + 1 at its node b. */

/* -EINVAL: the topology is not connected and not said to be apart, a host has not exactly one
 * cable, a rate is out of range, or the switch memory is smaller than its reserves and headroom; of
 * InfiniBand: a switch has more than 254 ports, there are more hosts than LIDs, a lane's buffer is
 * smaller than a packet, or the ways take more layers than there are lanes; there are routers and
 * links of Ethernet, or routes, or a switch in two subnets. -EXDEV: packets between two subnets go
 * to one router of theirs and come by another one, which connections do not take. -ENOTSUP: the
 * network is in parts, and the links are InfiniBand's, or something looks at events or packets. */
int vb_sim_create(struct vb_sim **out, const struct vb_sim_config *cfg);
void vb_sim_destroy(struct vb_sim *s);
/* Of the switch with the most, bytes of reserves and headroom: its memory is larger. 0: no memory.
 */
uint64_t vb_sim_buffer_kept(const struct vb_sim_config *cfg);

void vb_sim_set_app(struct vb_sim *s, const struct vb_sim_app *app);

/* Runs until nothing is left to happen, or to @until, whichever comes first. 0, or -ENOMEM. */
int vb_sim_run(struct vb_sim *s, vb_time until);
/* Asks a run to end before the next event; for callbacks. */
void vb_sim_stop(struct vb_sim *s);
/* Some thousand events up to @until, of a network in one part: as a run, for a caller who looks at
 * it now and then. False: nothing is left to happen by then, or there is no room for packets. */
bool vb_sim_stride(struct vb_sim *s, vb_time until);
/* One event, of a network in one part. False: nothing is left. All machines are in one queue then,
 * which is slower. */
bool vb_sim_step(struct vb_sim *s);

vb_time vb_sim_now(const struct vb_sim *s);
/* When something happens next; VB_NEVER: nothing will. */
vb_time vb_sim_next(const struct vb_sim *s);
/* The application's timer; VB_NEVER: off. */
void vb_sim_set_timer(struct vb_sim *s, vb_time at);
/* The turn of the application in part @part, at @at or at once; VB_NEVER: it has none. In one piece
 * a network is part 0. For the callbacks of that part, and while all parts are still. */
void vb_sim_set_turn(struct vb_sim *s, uint32_t part, vb_time at);
/* The part that a host is in. */
uint32_t vb_sim_part_of(const struct vb_sim *s, uint32_t host);
/* A host is run by this process: all are, but for ranks.h. */
bool vb_sim_is_here(const struct vb_sim *s, uint32_t host);
/* The same of a part. */
bool vb_sim_is_part_here(const struct vb_sim *s, uint32_t part);
/* The parts of a network are at work. */
bool vb_sim_is_in_window(const struct vb_sim *s);
/* The place in time of the event that part @part is at: its instant, and a number that puts it
 * among the events of others at that instant as a run on one core would. */
struct vb_sim_place {
	vb_time at;
	uint32_t order;
};
struct vb_sim_place vb_sim_place_of(const struct vb_sim *s, uint32_t part);
/* After verbs on the adapter of @host: sends what they made ready. */
void vb_sim_touch(struct vb_sim *s, uint32_t host);

uint32_t vb_sim_host_cnt(const struct vb_sim *s);
uint32_t vb_sim_port_cnt(const struct vb_sim *s);
uint64_t vb_sim_port_rate(const struct vb_sim *s, uint32_t port);
bool vb_sim_carries_data(const struct vb_sim *s);
uint64_t vb_sim_seed(const struct vb_sim *s);
struct vb_hca *vb_sim_hca(struct vb_sim *s, uint32_t host);
struct vb_pd *vb_sim_pd(struct vb_sim *s, uint32_t host);
struct vb_cq *vb_sim_cq(struct vb_sim *s, uint32_t host);
const struct vb_counters *vb_sim_counters(const struct vb_sim *s, uint32_t host);
struct vb_gid vb_sim_gid(uint32_t host);
/* The host of a GID; UINT32_MAX: it is of a group. */
uint32_t vb_sim_host_of(const struct vb_gid *gid);
/* The host that packets of host @from by @path go to; UINT32_MAX: a group, or nobody. */
uint32_t vb_sim_receiver(const struct vb_sim *s, uint32_t from, const struct vb_path *path);
/* The path of a packet from one host to another: of RoCE, where ECMP follows @udp_sport, or, in a
 * simulation of InfiniBand, by LID, where the lower bits of @traffic_class are the service level;
 * into another subnet by the LID of a router and with a GRH. */
struct vb_path vb_sim_route(const struct vb_sim *s, uint32_t from, uint32_t to, uint16_t udp_sport,
			    uint8_t traffic_class);
/* The subnet of a host: 0, unless routers join several. */
uint32_t vb_sim_subnet(const struct vb_sim *s, uint32_t host);
/* The entry of the P_Key table of @from whose partition @to is in, too; 0: there is none such. */
uint16_t vb_sim_pkey_index(const struct vb_sim *s, uint32_t from, uint32_t to);
/* The entry of the P_Key table of @host that is of the partition of @pkey, full or limited;
 * UINT16_MAX: it is not in that one. Of RoCE 0. */
uint16_t vb_sim_pkey_find(const struct vb_sim *s, uint32_t host, uint16_t pkey);
/* A host joins a group, from 0 to VB_SIM_GROUPS - 1: switches of InfiniBand send it what goes
 * there. Those of RoCE send that to every host. -EINVAL: there is no such host or group, or a
 * member is in another subnet; -ENOMEM. */
int vb_sim_join(struct vb_sim *s, uint32_t group, uint32_t host);
/* The partition that the MGID of a group names from now on; the default one unless said. */
void vb_sim_set_group_pkey(struct vb_sim *s, uint32_t group, uint16_t pkey);
/* The MGID of a group, its MLID (of RoCE 0), and the path of what a host sends there. */
struct vb_gid vb_sim_group_gid(const struct vb_sim *s, uint32_t group);
uint16_t vb_sim_group_lid(const struct vb_sim *s, uint32_t group);
struct vb_path vb_sim_group_path(const struct vb_sim *s, uint32_t from, uint32_t group,
				 uint8_t traffic_class);
/* Always that of RoCE. */
struct vb_path vb_sim_path(uint32_t from, uint32_t to, uint16_t udp_sport, uint8_t traffic_class);

/* Puts faults on both directions of cable @link; direction tx is from its node a to b. NULL takes
 * away what is there. -EXDEV: its ends are in different parts, and a layer of faults is one. */
int vb_sim_set_cable_fault(struct vb_sim *s, uint32_t link, const struct vb_fault_spec *spec);
/* Adds rules behind those that are there, and begins with all of them now. -E2BIG: they are more
 * than VB_FAULT_RULES_MAX together. */
int vb_sim_add_cable_fault(struct vb_sim *s, uint32_t link, const struct vb_fault_spec *spec);
/* The layer that is there, or NULL: its hits can be read. */
const struct vb_fault *vb_sim_cable_fault(const struct vb_sim *s, uint32_t link);

/*
 * At @at, not before now, cable @link is taken apart, or with @up joined again. Packets on it are
 * lost, and so are packets sent on it while it is apart; pauses end. Switches send elsewhere from
 * cfg.reroute later on, where there is another way. At most VB_SIM_LINK_CHANGES_MAX are under way.
 */
int vb_sim_plan_link(struct vb_sim *s, uint32_t link, bool up, vb_time at);

/* RED at every switch, from now on. -EINVAL: its kmin is above its kmax, or its chance above 1;
 * -ENOTSUP: of InfiniBand. */
int vb_sim_set_red(struct vb_sim *s, const struct vb_red *red);

/* The cable of a host. */
uint32_t vb_sim_host_link(const struct vb_sim *s, uint32_t host);
/* The port by which a host sends, and the one that sends to it. */
uint32_t vb_sim_host_port(const struct vb_sim *s, uint32_t host);
uint32_t vb_sim_port_peer(uint32_t port);
/* The port with number @idx, in the order of cables, of a node; UINT32_MAX: it has none such. */
uint32_t vb_sim_port_of(const struct vb_sim *s, uint32_t node, uint32_t idx);
/* Counts of a port up to now. */
void vb_sim_port_stats(const struct vb_sim *s, uint32_t port, struct vb_port_stats *st);
/* Its pause storms, as the watchdog of its switch has found them. */
uint32_t vb_sim_port_storms(const struct vb_sim *s, uint32_t port);

/* The same of an InfiniBand port; false: it is none. */
bool vb_sim_ib_port_stats(const struct vb_sim *s, uint32_t port, struct vb_sim_ib_stats *st);
/* Blocks in use of the buffer of a lane, at the node that has @port. */
uint32_t vb_sim_lane_used(const struct vb_sim *s, uint32_t port, uint8_t vl);
/* A deadlock of credits that was found, which ends the run unless packets have a life; NULL: none.
 * In lanes of it the output is a port. */
const struct vb_deadlock *vb_sim_deadlock(const struct vb_sim *s, vb_time *at);

/* Bytes that wait at a port now. */
uint32_t vb_sim_port_waiting(const struct vb_sim *s, uint32_t port);

/* One priority of a port: bytes that wait in its queue, how often it was held by PAUSE, and how
 * long. */
struct vb_sim_priority {
	uint32_t waiting, holds;
	vb_dur held_ns;
};
/* At @at, before which nothing more happens. */
void vb_sim_priority_at(const struct vb_sim *s, uint32_t port, uint8_t prio, vb_time at,
			struct vb_sim_priority *out);
/* Time that an InfiniBand port has waited for credits, up to @at. */
vb_dur vb_sim_credit_wait_ns(const struct vb_sim *s, uint32_t port, vb_time at);

/* Time that @bytes take on the way from one host to another as frames of at most @mtu payload,
 * alone in the network: serialisation at the slowest cable, one frame at each other, and
 * propagation. */
vb_dur vb_sim_ideal_ns(const struct vb_sim *s, uint32_t from, uint32_t to, uint64_t bytes,
		       uint32_t mtu);

/* Packets that started on a cable, all ports; events handled; the digest. */
uint64_t vb_sim_hops(const struct vb_sim *s);
uint64_t vb_sim_events(const struct vb_sim *s);
uint64_t vb_sim_digest(const struct vb_sim *s);
/* The most packets that were under way at once; in parts the sum over them. */
uint32_t vb_sim_packets_max(const struct vb_sim *s);

#endif
