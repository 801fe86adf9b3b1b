/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `verbena explain`: what is gathered of the QPs of this host (gather.c) and how it is
 * shown (show.c, draw.c).
 */
#ifndef VB_CMD_EXPLAIN_EXPLAIN_H
#define VB_CMD_EXPLAIN_EXPLAIN_H

#include "cmd/cmd.h"
#include "cmd/explain/draw.h"
#include "node/broker/broker.h"
#include "node/cm/view.h"

#include <stdio.h>

/* A QP of a program that runs, or the history of one of a program that has ended. */
struct vb_qp_case {
	uint32_t qpn, pid;
	char comm[16];   /* printable */
	char device[32]; /* its name; empty: not known */
	char node[64];   /* of a fabric, that the program is at; empty: it is at none */
	bool has_view, has_history;
	vb_time ended; /* the process; 0: it is there */
	struct vb_qp_view view;
	struct vb_qp_history history;
	struct vb_peer_facts peer;
	struct vb_qp_view peer_qp; /* peer.qp points here */
	char faults[VB_FAULT_TEXT_MAX];
	struct vb_explain_in in;
	struct vb_explanation why;
};

/* An id of RDMA CM. */
struct vb_cm_case {
	struct vb_ucma_view view;
	char user[16];   /* printable */
	char device[32]; /* its name; empty: none */
	enum vb_explain_rank rank;
	uint64_t losses; /* MADs of the device that fault rules took away */
};

/* A verb that a process was refused. */
struct vb_refused_case {
	uint32_t pid;
	char comm[16]; /* printable */
	struct vb_refused refused;
};

struct vb_qp_cases {
	struct vb_qp_case *at;
	uint32_t cnt, room;
	uint32_t unseen;   /* QPs of which there was no view */
	uint32_t lost;     /* histories thrown away */
	uint32_t mute_cnt; /* processes that did not answer */
	struct vb_cm_case *cm;
	uint32_t cm_cnt, cm_unseen;
	struct vb_refused_case *refused; /* of each process the oldest first */
	uint32_t refused_cnt;
	vb_time now;
	uint64_t real_ns; /* CLOCK_REALTIME at now */
};

/* Gathers everything, with QP @qpn (0: none) in any case. 0, or a negative errno with a line in
 * @why; -ENOTCONN: no program uses the adapter, and none has lately. */
int vb_explain_gather(struct vb_qp_cases *c, uint32_t qpn, char *why, size_t why_size);

/* nodes.c: the programs at the nodes of a fabric. */
struct vb_explain_nodes {
	const char *fabric;
	char node[VB_SLOT_CNT + VB_PAST_QPS][64]; /* by slot, then by place of one that has ended */
};
/* Fills in an observer with what the fabric's process has; vb_broker_observe_end() in any case. */
int vb_explain_observe_nodes(struct vb_broker_observer *o, struct vb_explain_nodes *n, uint32_t qpn,
			     uint32_t *asked, char *why, size_t why_size);
/* The ways of the packets of a connected QP at @node and of the answers; how many are in @way. */
struct vb_path_view;
uint32_t vb_explain_ways_ask(const char *fabric, const char *node, const struct vb_qp_view *v,
			     struct vb_path_view *way);
/* The same as vb_explain_gather(), of the programs at the nodes of fabric @name. */
int vb_explain_gather_nodes(struct vb_qp_cases *c, const char *name, uint32_t qpn, char *why,
			    size_t why_size);

/* far.c: asks the adapter of another host how the peer of QP @qpn stands, or with 0 those
 * of all QPs in trouble, and notes the answers in the cases. */
void vb_explain_ask_far(struct vb_qp_cases *c, uint32_t qpn, struct vb_broker_observer *o,
			const struct vb_host_shm *host);
/* @gid is an address of this host. */
bool vb_explain_is_here(const struct vb_host_shm *host, const struct vb_gid *gid);

/* fabric.c: adds the connections at the nodes of fabric @name, whose devices are nodes. */
int vb_explain_fabric_gather(struct vb_qp_cases *c, const char *name, char *why, size_t why_size);
/* cm.c: connections in trouble come first. */
void vb_explain_cm_sort(struct vb_qp_cases *c);

/* How @k stands, for tables: the view, or else how it was when the history ended. */
static inline const struct vb_qp_view *vb_case_view(const struct vb_qp_case *k)
{
	return k->has_view ? &k->view : &k->history.view;
}

/* The cases @which, as a table, in words, or as JSON. */
void vb_explain_show_table(FILE *f, const struct vb_qp_cases *c, const uint32_t *which,
			   uint32_t cnt);
/* The verbs that process @pid was refused, or with 0 any process; @qpn: of this QP alone, unless 0.
 */
void vb_explain_show_refused(FILE *f, const struct vb_qp_cases *c, uint32_t pid, uint32_t qpn);
void vb_explain_show(FILE *f, const struct vb_qp_cases *c, const struct vb_qp_case *k);
void vb_explain_show_json(FILE *f, const struct vb_qp_cases *c, const uint32_t *which,
			  uint32_t cnt);

/* The page of the first @cnt of the cases @which, with values over time of all @all_cnt, as a file.
 * 0 or a negative errno. */
int vb_explain_page(const char *path, const struct vb_qp_cases *c, const uint32_t *which,
		    uint32_t cnt, uint32_t all_cnt);

/* Connections: gathers them in @c, whose now is set; 0 or a negative errno. Then the cases @which.
 */
int vb_explain_cm_gather(struct vb_qp_cases *c, struct vb_broker_observer *o,
			 const struct vb_host_shm *host);
void vb_explain_cm_table(FILE *f, const struct vb_qp_cases *c, const uint32_t *which, uint32_t cnt);
void vb_explain_cm_json(FILE *f, const struct vb_qp_cases *c, const uint32_t *which, uint32_t cnt);
/* One line for each connection of the QP. */
void vb_explain_cm_of_qp(FILE *f, const struct vb_qp_cases *c, const struct vb_qp_case *q);

#endif
