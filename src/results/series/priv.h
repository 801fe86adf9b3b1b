/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of series: their clock and files (series.c), flows (flow_rows.c), ports
 * (ports.c). */
#ifndef VB_RESULTS_SERIES_PRIV_H
#define VB_RESULTS_SERIES_PRIV_H

#include "results/series/ends.h"
#include "results/series/queue_class.h"
#include "results/series/series.h"
#include "results/series/table.h"

#define VB_SERIES_LANES VB_VL_DATA_MAX

/* A flow, by its record: bytes acknowledged up to now, and measurements of the interval. */
struct vb_series_flow {
	uint64_t acked, rtt_sum;
	uint32_t rtt_cnt, cnps;
	bool is_new;    /* whether it is wanted has not been asked */
	bool is_active; /* it is listed */
};

/* The request of a connection whose answer is awaited. */
struct vb_series_probe {
	vb_time at; /* VB_NEVER: none */
	struct vb_psn psn;
	struct vb_psn nxt; /* behind all that have been sent */
	bool begun;
};

struct vb_series_flows {
	struct vb_table table;
	struct vb_ends ends;
	struct vb_series_flow *flow;
	uint32_t flow_cnt, flow_room;
	uint32_t *active; /* records of flows that are wanted and not done */
	uint32_t active_cnt, active_room;
	struct vb_series_probe *probe; /* of each connection */
	uint32_t probe_cnt;
	struct vb_table_row *row; /* of the interval */
	uint32_t row_cnt, row_room;
	bool has_packets;
};

/* One priority or lane of a port, in the interval. */
struct vb_series_lane {
	uint64_t tx_bytes, queue_max;
	uint32_t tx_pkts, marks, cnps, blocks_max;
	uint32_t holds; /* up to its beginning, as held_ns */
	vb_dur held_ns;
	bool is_used; /* since the start */
};

/* A port that is kept, and its counts at the beginning of the interval. */
struct vb_series_port {
	uint32_t id, node, idx;
	bool is_at_host;
	struct vb_port_stats before;
	uint64_t marks, becns;
	vb_dur credit_wait_ns, paused_ns;
	uint64_t queue_max;
	uint32_t cnps;
	struct vb_series_lane *lane;
};

struct vb_series_ports {
	struct vb_table table, lanes;
	uint32_t *place; /* of each port of the simulation: which one here; UINT32_MAX: none */
	struct vb_series_port *port;
	uint32_t port_cnt, lane_cnt;
	struct vb_series_lane *lane;
	struct vb_table_row *row;
	uint64_t queues[VB_QUEUE_CLASSES]; /* ports of switches at the ends of intervals, by size */
	uint64_t queue_most;
	bool has_packets;
};

struct vb_sim_series {
	const struct vb_scenario *sc;
	const struct vb_record *rec;
	const struct vb_scenario_run *run;
	vb_time last, next; /* ends of intervals */
	vb_time moved_at;   /* of the last packet... */
	bool has_moved;     /* ... which is of this interval */
	int err;
	struct vb_series_flows flows;
	struct vb_series_ports ports;
	struct vb_whole_file groups;
	bool has_groups;
	bool *is_in; /* of each row: it is in the group; and room for values */
	uint64_t *room;
	uint32_t room_cnt;
};

/* Grows an array to @cnt elements at least. False: no memory, which s->err says. */
bool vb_series_grow(struct vb_sim_series *s, void *array, uint32_t *room, uint32_t cnt,
		    size_t size);

int vb_series_flows_begin(struct vb_sim_series *s, const char *dir);
/* A flow that is in the file or in a group ran before @at, and has rows to come. */
bool vb_series_flows_run(struct vb_sim_series *s, vb_time at);
void vb_series_flows_sample(struct vb_sim_series *s, vb_time at);
void vb_series_flows_packet(struct vb_sim_series *s, uint32_t host, enum vb_cable_tap_dir dir,
			    const struct vb_frame *pkt, vb_time now);
void vb_series_flows_free(struct vb_series_flows *w);

int vb_series_ports_begin(struct vb_sim_series *s, const char *dir, char *err, size_t err_len);
void vb_series_ports_sample(struct vb_sim_series *s, vb_time at);
void vb_series_ports_packet(struct vb_sim_series *s, uint32_t port, enum vb_cable_tap_dir dir,
			    const struct vb_frame *pkt);
/* The port that is kept in @place is among @ports. */
bool vb_series_port_is_in(const struct vb_sim_series *s, uint32_t place,
			  const struct vb_record_ports *ports);
void vb_series_ports_marked(struct vb_sim_series *s, uint32_t port, uint32_t prio);
void vb_series_ports_free(struct vb_series_ports *w);

#endif
