/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenario files: a simulation written down in YAML. The format is in docs/simulator.md; the values
 * of a key, its limits and its default stand in the tables of sections.c, from which the reader's
 * complaints are made too.
 */
#ifndef VB_SCENARIO_SCENARIO_H
#define VB_SCENARIO_SCENARIO_H

#include "scenario/fabric/fabric.h"
#include "scenario/input/chakra/chakra.h"
#include "scenario/input/net.h"
#include "scenario/record/record.h"
#include "sim/load/report.h"

#include <stdio.h>

#define VB_SCENARIO_PATH 512
#define VB_SCENARIO_FAULTS_MAX 64
#define VB_SCENARIO_PARTITIONS_MAX 64
#define VB_SCENARIO_MEMBERS_MAX 256 /* of a partition or a group, as a file lists them */
#define VB_SCENARIO_LINKS_MAX 64

enum vb_scenario_shape {
	VB_SHAPE_PAIR,
	VB_SHAPE_STAR,
	VB_SHAPE_DUMBBELL,
	VB_SHAPE_PARKING_LOT,
	VB_SHAPE_RING,
	VB_SHAPE_CLOS,
	VB_SHAPE_CLOS3,
	VB_SHAPE_FAT_TREE,
};

/* Of a section in the file; line 0: it is not there. */
struct vb_scenario_place {
	uint32_t line, column;
};

struct vb_scenario_topology {
	uint32_t shape; /* enum vb_scenario_shape */
	uint32_t hosts; /* STAR: all; else at each leaf, ToR or switch of the row */
	uint32_t left, right, switches, leaves, spines, pods, tors, aggs, cores, k;
	struct vb_cable cable, fabric;
	vb_dur reroute; /* from a change of a link until routes have followed */
	/* Instead of a shape: as `verbena fabric up` reads it; "": there is none. */
	char file[VB_SCENARIO_PATH];
	struct vb_scenario_place rate_at; /* of a rate beside a file; line 0: there is none */
	struct vb_net *net; /* the nodes and links of the scenario itself; NULL: there are none */
	uint32_t nics;      /* enum vb_nic_choice */
};

struct vb_scenario_fault {
	struct vb_scenario_place place;
	uint32_t host, link; /* UINT32_MAX: not this one; both: every cable */
	struct vb_fault_spec spec;
};

/* Hosts in a partition; they are in the default one only where that is listed. */
struct vb_scenario_partition {
	struct vb_scenario_place place;
	uint16_t pkey; /* with the bit of full members */
	uint32_t member_cnt, limited_cnt;
	uint32_t member[VB_SCENARIO_MEMBERS_MAX]; /* hosts */
	uint32_t limited[VB_SCENARIO_MEMBERS_MAX];
};

/* A multicast group. */
struct vb_scenario_group {
	struct vb_scenario_place place;
	uint16_t pkey; /* its partition; 0: the default one */
	uint16_t mlid; /* whose tables in the routes are those of the group; 0: its own ones */
	uint32_t member_cnt;
	bool has_members;                         /* else all hosts are */
	uint32_t member[VB_SCENARIO_MEMBERS_MAX]; /* hosts */
};

/* A cable that is taken apart, and joined again. */
struct vb_scenario_link {
	struct vb_scenario_place place;
	uint32_t host, link; /* UINT32_MAX: not this one */
	vb_time down, up;    /* VB_NEVER: not at all */
};

/* A host that a pattern names by a text; "": it has a number. */
struct vb_scenario_end {
	struct vb_scenario_place at;
	char text[VB_NET_NAME + 8];
};

/* The ranks of traces of a pattern: as struct vb_chakra has it. */
struct vb_scenario_ranks {
	uint64_t ops_per_s;
	uint32_t dim_cnt, dim[VB_CHAKRA_DIMS_MAX];
};

#define VB_SCENARIO_UNSAID 255

struct vb_scenario {
	const char *file; /* the name that it was read with, the caller's */
	struct vb_scenario_place topology_at, switch_at, ib_at;
	uint64_t seed;
	vb_time until; /* VB_NEVER: until everything is done */
	bool data;     /* payloads have bytes */
	/* The network is run in up to so many parts at once; 0, 1: in one. It is no key of the
	 * file: the run is the same. */
	uint32_t jobs;
	struct vb_scenario_topology topology;
	uint32_t link_kind; /* 1: all links are InfiniBand */
	struct vb_switch_config sw;
	struct vb_sim_ib_config ib;
	char routes[VB_SCENARIO_PATH]; /* of the file's topology; "": by routing */
	uint8_t lane_of_sl[VB_SL_CNT]; /* VB_SCENARIO_UNSAID: by the number of lanes */
	uint8_t cct_shift;             /* of ib.cct: in all entries */
	struct vb_load_config load;
	struct vb_recovery recovery; /* of every adapter; zeros: fixed timers, go-back-N */
	struct vb_cc_settings cc;    /* of every adapter; zeros: no congestion control */
	struct vb_cc_choice choice;  /* an algorithm in its place; NULL there: none */
	uint32_t window_bytes, packets_max;
	uint32_t pattern_cnt, fault_cnt, link_cnt;
	struct vb_load_pattern pattern[VB_LOAD_PATTERNS_MAX];
	struct vb_scenario_place pattern_at[VB_LOAD_PATTERNS_MAX];
	struct vb_scenario_end from[VB_LOAD_PATTERNS_MAX], to[VB_LOAD_PATTERNS_MAX];
	/* Files of patterns with distributions of sizes, flows and graphs; "": none. */
	char sizes_file[VB_LOAD_PATTERNS_MAX][VB_SCENARIO_PATH];
	char flows_file[VB_LOAD_PATTERNS_MAX][VB_SCENARIO_PATH];  /* of LISTs */
	char goal_file[VB_LOAD_PATTERNS_MAX][VB_SCENARIO_PATH];   /* of GRAPHs */
	char chakra_file[VB_LOAD_PATTERNS_MAX][VB_SCENARIO_PATH]; /* of the others, without rank */
	struct vb_scenario_ranks ranks[VB_LOAD_PATTERNS_MAX];     /* the same */
	struct vb_scenario_fault fault[VB_SCENARIO_FAULTS_MAX];
	struct vb_scenario_link link[VB_SCENARIO_LINKS_MAX];
	uint32_t partition_cnt;
	struct vb_scenario_partition partition[VB_SCENARIO_PARTITIONS_MAX];
	uint32_t group_cnt;
	struct vb_scenario_group group[VB_SIM_GROUPS];
	struct vb_record record;
};

/* A scenario that has become a simulation. */
struct vb_scenario_run {
	struct vb_sim_topo topo;
	struct vb_sim *sim;
	struct vb_load *load;
	struct vb_cc_choice choice; /* the scenario's, for the adapters */
	struct vb_fabric *fabric;   /* where the topology is a file's of InfiniBand; else NULL */
	const struct vb_net *net;   /* where it is nodes and links; else NULL */
	struct vb_net *own_net;     /* the same if it is from a file; else NULL */
	struct vb_nics nics;        /* where hosts of net have several; host_cnt 0: none has */
	struct vb_arena *arena;     /* scenario/arena.h */
	struct vb_sim_memory memory;
	struct vb_size_dist *sizes[VB_LOAD_PATTERNS_MAX]; /* of patterns, from files; or NULL */
	struct vb_flows *flows[VB_LOAD_PATTERNS_MAX];     /* the same */
	struct vb_graph *graph[VB_LOAD_PATTERNS_MAX];     /* the same */
	const char *graph_form[VB_LOAD_PATTERNS_MAX];     /* "goal", "chakra"; NULL without one */
	uint64_t flows_listed;                            /* in flows, and in all graphs */
};

/* The callbacks that the command adds to a scenario to watch it. */
struct vb_scenario_watch {
	uint64_t trace_mask;
	void (*on_event)(void *ctx, const struct vb_trace_event *ev);
	void (*on_packet)(void *ctx, uint32_t port, enum vb_cable_tap_dir dir,
			  const struct vb_frame *pkt, vb_time now);
	void *ctx;
};

/* A time as scenarios have it, such as "1.5us". False: it is none. */
bool vb_scenario_time(const char *text, vb_time *out);

/* Reads a file; vb_scenario_free() takes what it has. 0, or -EINVAL with "NAME:LINE:COLUMN: what is
 * wrong and what is allowed" in @err.
 */
int vb_scenario_read(struct vb_scenario *sc, FILE *f, const char *name, char *err, size_t err_len);
/* Also after an error. */
void vb_scenario_free(struct vb_scenario *sc);

/* Builds the simulation. 0, or a negative errno with the reason in @err: with the place in the file
 * where that is what does not fit the rest. */
int vb_scenario_open(struct vb_scenario_run *run, const struct vb_scenario *sc,
		     const struct vb_scenario_watch *watch, char *err, size_t err_len);
void vb_scenario_close(struct vb_scenario_run *run);
/* Why a file with flows could not be read to its end, though it could before the run; else that
 * there are more flows than @sc has room for. To be asked when vb_load_failure() is not 0. */
void vb_scenario_failure(const struct vb_scenario_run *run, const struct vb_scenario *sc, char *why,
			 size_t size);

#endif
