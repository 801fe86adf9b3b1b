/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The records that the run of a scenario leaves: files, and values over time of flows and ports.
 * The key `record` of the file; docs/simulator.md.
 */
#ifndef VB_SCENARIO_RECORD_RECORD_H
#define VB_SCENARIO_RECORD_RECORD_H

#include "base/time.h"
#include "scenario/reader.h"

#define VB_RECORD_PATH 512
#define VB_RECORD_RANGES_MAX 64 /* of flows */
#define VB_RECORD_PORTS_MAX 256
#define VB_RECORD_GROUPS_MAX 16

/* Values that can be kept, in the order of their columns. */
enum vb_record_series {
	VB_RECORD_RATE, /* of flows... */
	VB_RECORD_INFLIGHT,
	VB_RECORD_WINDOW,
	VB_RECORD_CC_RATE,
	VB_RECORD_CC_TARGET,
	VB_RECORD_ALPHA,
	VB_RECORD_RTT,
	VB_RECORD_QUEUE, /* ... of ports... */
	VB_RECORD_MARKS,
	VB_RECORD_PAUSES,
	VB_RECORD_DROPS,
	VB_RECORD_UTILISATION,
	VB_RECORD_CNPS, /* ... and of both */
	VB_RECORD_SERIES_CNT
};
#define VB_RECORD_OF_FLOWS                                                                         \
	(1u << VB_RECORD_RATE | 1u << VB_RECORD_INFLIGHT | 1u << VB_RECORD_WINDOW |                \
	 1u << VB_RECORD_CC_RATE | 1u << VB_RECORD_CC_TARGET | 1u << VB_RECORD_ALPHA |             \
	 1u << VB_RECORD_RTT | 1u << VB_RECORD_CNPS)
#define VB_RECORD_OF_PORTS                                                                         \
	(1u << VB_RECORD_QUEUE | 1u << VB_RECORD_MARKS | 1u << VB_RECORD_PAUSES |                  \
	 1u << VB_RECORD_DROPS | 1u << VB_RECORD_UTILISATION | 1u << VB_RECORD_CNPS)

/* Flows by their numbers, from the first to the last. */
struct vb_record_flows {
	bool some; /* those that are listed; else all */
	uint32_t cnt;
	struct {
		uint32_t first, last;
	} range[VB_RECORD_RANGES_MAX];
};

#define VB_RECORD_EACH_PORT UINT32_MAX /* in vb_record_ports.port.idx */

/* Ports by node and number there. */
struct vb_record_ports {
	bool some;
	uint32_t cnt;
	struct {
		uint32_t node, idx;
	} port[VB_RECORD_PORTS_MAX];
};

/* Flows or ports over which percentiles are taken. */
struct vb_record_group {
	uint32_t line, column; /* in the file */
	char name[32];
	bool is_of_ports;
	struct vb_record_flows flows;
	struct vb_record_ports ports;
};

/* As the options of `verbena sim`; "": not that. */
struct vb_record {
	char out[VB_RECORD_PATH], trace[VB_RECORD_PATH], report[VB_RECORD_PATH],
	    svg[VB_RECORD_PATH], png[VB_RECORD_PATH], figures[VB_RECORD_PATH];
	char pcap[32], explain[32]; /* "NODE.PORT"; "HOST.QPN" or "all" */
	uint32_t series;            /* bit: enum vb_record_series */
	vb_dur every;
	struct vb_record_flows flows;
	struct vb_record_ports ports;
	uint32_t group_cnt;
	struct vb_record_group group[VB_RECORD_GROUPS_MAX];
};

/* The keys of a struct vb_record. */
extern const struct key vb_record_keys[];

bool vb_record_has_flow(const struct vb_record_flows *f, uint32_t flow);
bool vb_record_has_port(const struct vb_record_ports *p, uint32_t node, uint32_t idx);

#endif
