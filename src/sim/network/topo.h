/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shape of a simulated network: hosts, switches and cables. A node is a number: hosts are 0 ...
 * host_cnt - 1, switches follow. A host has exactly one cable, to a switch or to another host. The
 * last switches may be routers of InfiniBand, which join subnets; switches and cables do not.
 */
#ifndef VB_SIM_NETWORK_TOPO_H
#define VB_SIM_NETWORK_TOPO_H

#include "base/time.h"

#include <stddef.h>
#include <stdint.h>

#define VB_SIM_TOPO_NODES_MAX (1u << 20)
#define VB_SIM_TOPO_LINKS_MAX (1u << 22)

struct vb_cable {
	uint64_t rate_bps; /* 1 Mb/s ... 10 Tb/s */
	vb_dur delay;      /* propagation */
	uint32_t mtu;      /* longest IP packet in bytes; 0: any */
};

struct vb_sim_topo_link {
	uint32_t a, b; /* nodes */
	struct vb_cable cable;
};

/* Memory for a simulation: zeroed, or NULL when there is none. */
struct vb_sim_memory {
	void *(*alloc)(void *ctx, size_t size);
	void (*free)(void *ctx, void *p);
	void *ctx;
};

struct vb_sim_topo {
	uint32_t host_cnt, switch_cnt, link_cnt;
	struct vb_sim_topo_link *link;
	uint32_t router_cnt; /* so many of switch_cnt, the last ones */
	uint32_t *subnet;    /* of each cable, from 0 on; where there are routers, else NULL */
	struct vb_sim_memory memory;
};

/* The shapes. Each returns 0, -EINVAL (a count is 0 or too large), or -ENOMEM. */

/* Two hosts and one cable between them. */
int vb_sim_topo_pair(struct vb_sim_topo *t, const struct vb_sim_memory *m,
		     const struct vb_cable *cable);
/* @hosts around one switch. */
int vb_sim_topo_star(struct vb_sim_topo *t, const struct vb_sim_memory *m, uint32_t hosts,
		     const struct vb_cable *cable);
/* @left hosts at one switch, @right at another, and @trunk between the switches. */
int vb_sim_topo_dumbbell(struct vb_sim_topo *t, const struct vb_sim_memory *m, uint32_t left,
			 uint32_t right, const struct vb_cable *cable,
			 const struct vb_cable *trunk);
/* A row of @switches with @hosts at each. */
int vb_sim_topo_parking_lot(struct vb_sim_topo *t, const struct vb_sim_memory *m, uint32_t switches,
			    uint32_t hosts, const struct vb_cable *cable,
			    const struct vb_cable *trunk);
/* The same, and a trunk from the last switch to the first; of three switches or more. */
int vb_sim_topo_ring(struct vb_sim_topo *t, const struct vb_sim_memory *m, uint32_t switches,
		     uint32_t hosts, const struct vb_cable *cable, const struct vb_cable *trunk);
/* Two tiers: each of @leaves has @hosts hosts and a cable to each of @spines. */
int vb_sim_topo_clos(struct vb_sim_topo *t, const struct vb_sim_memory *m, uint32_t leaves,
		     uint32_t spines, uint32_t hosts, const struct vb_cable *cable,
		     const struct vb_cable *fabric);
/* Three tiers: @pods of @tors and @aggs switches, each ToR with @hosts hosts and a cable to each
 * aggregation switch of its pod, each aggregation switch j with cables to the core switches
 * j * @cores ... j * @cores + @cores - 1. */
int vb_sim_topo_clos3(struct vb_sim_topo *t, const struct vb_sim_memory *m, uint32_t pods,
		      uint32_t tors, uint32_t aggs, uint32_t cores, uint32_t hosts,
		      const struct vb_cable *cable, const struct vb_cable *fabric);
/* The k-ary fat tree: k^3 / 4 hosts; k is even. */
int vb_sim_topo_fat_tree(struct vb_sim_topo *t, const struct vb_sim_memory *m, uint32_t k,
			 const struct vb_cable *cable, const struct vb_cable *fabric);

void vb_sim_topo_free(struct vb_sim_topo *t);

#endif
