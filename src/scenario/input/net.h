/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network that a user brings: nodes with names, and cables between them. It comes from YAML
 * (nodes.c) or from the text that simulations of RDMA with ns-3 have (ns3.c), is checked as a
 * whole, and becomes a topology of the simulator, which counts hosts and switches in the order of
 * the nodes.
 */
#ifndef VB_SCENARIO_INPUT_NET_H
#define VB_SCENARIO_INPUT_NET_H

#include "scenario/input/tokens.h"
#include "sim/network/topo.h"

#define VB_NET_NAME 32 /* with the zero behind it */
#define VB_NET_NONE UINT32_MAX

/* A cable that leaves a value to the scenario; no cable has these. */
#define VB_NET_RATE_UNSAID UINT64_C(0)
#define VB_NET_DELAY_UNSAID VB_NEVER
#define VB_NET_MTU_UNSAID UINT32_MAX

/* Where it is written. */
struct vb_net_place {
	uint32_t line, column;
};

struct vb_net_node {
	char name[VB_NET_NAME];
	struct vb_net_place place;
	uint32_t number; /* as the simulator counts; hosts: from 0, switches: behind them */
	uint32_t cable_cnt;
	bool is_switch;
};

struct vb_net_link {
	uint32_t a, b; /* indices of nodes */
	struct vb_cable cable;
	uint32_t error_ppb; /* packets that are lost */
	struct vb_net_place place;
	bool is_again; /* one more of the cable before it */
};

struct vb_net {
	struct vb_net_node *node;
	struct vb_net_link *link;
	uint32_t node_cnt, node_cap, host_cnt;
	uint32_t link_cnt, link_cap;
	uint32_t *bucket; /* of names: index of a node + 1 */
	uint32_t bucket_cnt;
	uint64_t key; /* of their hashes */
	/* NICs, by vb_net_find_nics(): as in struct vb_nics. */
	uint32_t *first, *network;
};

void vb_net_free(struct vb_net *n);

/* The index of a node; VB_NET_NONE: there is none of that name. */
uint32_t vb_net_find(const struct vb_net *n, const char *name, size_t len);

/* Each returns 0, -ENOMEM, or -EINVAL with a complaint. */
int vb_net_add_node(struct vb_net *n, const char *name, size_t len, bool is_switch,
		    struct vb_net_place place, const struct vb_complaint *c);
int vb_net_add_link(struct vb_net *n, const struct vb_net_link *link, const struct vb_complaint *c);
/* Each node has a cable, no cable is there twice, everything hangs together, and so do any two
 * hosts without others between them. */
int vb_net_check(struct vb_net *n, const struct vb_complaint *c);

/* Takes values that @c does not say from @like. */
void vb_net_cable_complete(struct vb_cable *c, const struct vb_cable *like);

/* A topology with the cables in their order, and with a host for each NIC; @cable and @trunk have
 * the values that cables of hosts and cables between switches do not say. 0 or -ENOMEM. */
int vb_net_make(const struct vb_net *n, const struct vb_cable *cable, const struct vb_cable *trunk,
		const struct vb_sim_memory *m, struct vb_sim_topo *out);

/* Whether a text is a network in one of the forms here, judged by its first line. */
enum vb_net_form { VB_NET_FORM_NONE, VB_NET_FORM_NS3, VB_NET_FORM_YAML };
enum vb_net_form vb_net_form_of(const char *text, size_t len);

/* Reads and checks a text in that form. 0, -ENOMEM, or -EINVAL with a complaint; vb_net_free() in
 * any case. */
int vb_net_parse(struct vb_net *n, enum vb_net_form form, const char *text, size_t len,
		 const struct vb_complaint *c);

/* ns3.c: vb_net_parse() before the check. */
int vb_net_read_ns3(struct vb_net *n, const char *text, size_t len, const struct vb_complaint *c);

#endif
