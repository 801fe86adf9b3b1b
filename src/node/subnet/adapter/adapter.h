/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapter of the programs at the nodes of a fabric. Its process is their broker: it gives each
 * program a slot, the device table of its node, and the map of the fabric (link/ib/map.h), by which
 * the programs send to each other without it. There is one set of slots for all nodes: so a QPN
 * says whose it is, wherever that is (base/slot.h).
 */
#ifndef VB_NODE_SUBNET_ADAPTER_H
#define VB_NODE_SUBNET_ADAPTER_H

#include "link/ib/map.h"
#include "node/shared/shm.h"
#include "node/subnet/state.h"
#include "wire/ib/rate.h"
#include "wire/mad/pma.h"

struct vb_subnet_slot {
	int mem_fd; /* -1: it has not been made */
	struct vb_slot_shm *shm;
	struct vb_subnet_conn *owner; /* NULL: it is free */
	uint32_t qpn_start;           /* qpn_next when the owner came */
	/* Of the owner's violations, what PortInfo has counted; by port. */
	uint64_t bad_pkey[VB_HCA_PORTS_MAX + 1], bad_qkey[VB_HCA_PORTS_MAX + 1];
	/* Of its QPs' indices that came to their triggers, what the log has. */
	uint64_t cct_events[VB_HCA_PORTS_MAX + 1];
};

struct vb_subnet_adapter {
	int common_fd, map_fd;
	struct vb_host_memory *common; /* wakeup endpoints and mailboxes, of all nodes */
	struct vb_ib_map *map;
	uint32_t *first_lanes; /* by port of the map: the place of its first SL2VL map */
	struct vb_subnet_slot slot[VB_IB_SLOTS];
	uint32_t taken_cnt;
	uint32_t asked; /* how often views of QPs were */
	/* By place among the histories of programs that are gone (common->past): their node. */
	uint32_t past_node[VB_PAST_QPS];
	vb_time due; /* when what the programs sent is added up again */
};

/* slots.c: gives the program at @c a slot, with the descriptors that come along in @fds, copies
 * for the caller to close. Returns the status of the answer. */
int vb_subnet_slot_take(struct vb_subnet_daemon *d, struct vb_subnet_conn *c,
			struct vb_subnet_answer *answer, struct vb_fds *fds);
/* Opens the adapter of the fabric, and its machines in real time, where nobody has yet. */
int vb_subnet_adapter_need(struct vb_subnet_daemon *d);
/* views.c, for `verbena explain` of QPs. Has all programs write views of their QPs, of @qpn before
 * all others; *token is what slot->explain.answered becomes. The memory of histories of programs
 * that have ended comes along in @fds. */
int vb_subnet_views_ask(struct vb_subnet_daemon *d, uint32_t qpn, uint64_t *token,
			struct vb_fds *fds);
/* The name of the node of slot @number in the answer, and the memory of the slot in @fds; from
 * VB_SLOT_CNT on that of a place among those histories. -ENOENT: nobody has it. */
int vb_subnet_slot_show(struct vb_subnet_daemon *d, uint32_t number,
			struct vb_subnet_answer *answer, struct vb_fds *fds);
/* slots.c: tells the programs at @seat to look at their device table. */
void vb_subnet_programs_wake(struct vb_subnet_daemon *d, const struct vb_subnet_seat *seat);
void vb_subnet_slot_release(struct vb_subnet_daemon *d, struct vb_subnet_conn *c);
void vb_subnet_seat_close(struct vb_subnet_seat *s);
void vb_subnet_adapter_close(struct vb_subnet_daemon *d);
/* @node has changed: programs hear of it. */
void vb_subnet_adapter_follow(struct vb_subnet_daemon *d, uint32_t node);
/* About once a second while there are programs, and once more. */
vb_time vb_subnet_adapter_due(const struct vb_subnet_daemon *d);
void vb_subnet_adapter_step(struct vb_subnet_daemon *d, vb_time now);

/* map.c: makes the map, of all nodes as they are. 0 or a negative errno. */
int vb_subnet_map_make(struct vb_subnet_daemon *d, struct vb_subnet_adapter *a);
void vb_subnet_map_close(struct vb_subnet_adapter *a);
/* Writes what has changed of @node into the map. */
void vb_subnet_map_follow(struct vb_subnet_daemon *d, uint32_t node);
/* Number of a port in the map. */
uint32_t vb_subnet_map_port(const struct vb_subnet_adapter *a, struct vb_subnet_place at);

/* count.c: adds what programs have sent to the counters of the ports, of @node at least. */
void vb_subnet_count(struct vb_subnet_daemon *d, uint32_t node);

/* counter_files.c: the counters of a port as its performance agent has them, as they were counted
 * last. */
void vb_subnet_counters_ask(struct vb_subnet_daemon *d, struct vb_subnet_place at,
			    enum vb_pma_attr attr, struct vb_pma_counts *out);
/* Makes the files of counters in the tree of @s; writes them when they are due,
 * and reads what programs have written into the tree. */
void vb_subnet_counter_files_make(struct vb_subnet_daemon *d, struct vb_subnet_seat *s);
void vb_subnet_counter_files_step(struct vb_subnet_daemon *d, vb_time now);

/* table.c: the speed of the link, or the best that the port can do while it is down. */
const struct vb_ib_speed_row *vb_subnet_speed_of(const struct vb_port_info *p);
/* Writes the ports of @node into the device table @table, of programs there. True: it has changed.
 */
bool vb_subnet_table_write(struct vb_subnet_daemon *d, uint32_t node, struct vb_host_shm *table);

#endif
