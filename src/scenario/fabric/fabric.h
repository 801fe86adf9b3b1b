/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fabric from files: its topology becomes that of the simulator, and the tables that a subnet
 * manager left become the routes there. The simulator counts hosts, switches and ports from 0; the
 * files have names, GUIDs, LIDs, and ports from 1.
 */
#ifndef VB_SCENARIO_FABRIC_FABRIC_H
#define VB_SCENARIO_FABRIC_FABRIC_H

#include "fabric/topology/topology.h"
#include "sim/network/ib.h"
#include "sim/network/topo.h"

#define VB_FABRIC_NONE UINT32_MAX
#define VB_FABRIC_PATH 1024
#define VB_FABRIC_TEXT_MAX ((size_t)256 << 20) /* bytes of a file with tables */
#define VB_FABRIC_LEVEL_HOSTS_MAX 8192u        /* with service levels of their own */

struct vb_fabric_guid {
	uint64_t guid;
	uint32_t node; /* as the simulator counts */
};

struct vb_fabric {
	struct vb_topo topo;
	uint32_t host_cnt;
	uint32_t switch_cnt, router_cnt; /* routers are the last ones among switches */
	uint32_t *node;                  /* of each host, then of each switch: its index in topo */
	uint8_t *port;                   /* of each host: its port there */
	/* Of each switch and each of its ports: number in the simulator + 1; 0: no cable. Rows of
	 * 256. */
	uint8_t *number;
	uint32_t *port_cnt;          /* of each switch: ports with a cable */
	struct vb_fabric_guid *guid; /* of nodes and ports, in their order */
	uint32_t guid_cnt;
	uint32_t *host_of_lid; /* host + 1; 65,536 of them, when tables have been read */
	uint16_t levels;       /* bit n: some path has service level n */
	/* The MLID whose tables are those of a group in the simulator, 0: none; to be set before
	 * the tables are read, which are [switch * VB_SIM_GROUPS + group]. */
	uint16_t mlid[VB_SIM_GROUPS];
	struct vb_port_mask *mft;
	struct vb_sim_ib_routes routes;
	uint8_t *out, *sl;
	struct vb_sl2vl **sl2vl, *host_sl2vl;
};

/* Where a line of a file is wrong. */
struct vb_fabric_error {
	char file[VB_FABRIC_PATH]; /* "": it is about none */
	uint32_t line;             /* 0: it is about no line */
	char text[200];
};

/* fabric.c: takes @topo, also after an error. Cables have the rates of the topology and the delays
 * of @cable at hosts, of @trunk between switches; with routers also their subnets. */
int vb_fabric_create(struct vb_fabric *f, struct vb_topo *topo, const struct vb_cable *cable,
		     const struct vb_cable *trunk, struct vb_sim_topo *out,
		     const struct vb_sim_memory *m, struct vb_fabric_error *err);
void vb_fabric_free(struct vb_fabric *f);
/* The name of a node as the simulator counts. */
const char *vb_fabric_name(const struct vb_fabric *f, uint32_t node);
/* The name of the first router; NULL: there is none. */
const char *vb_fabric_router(const struct vb_fabric *f);
/* The first of f->guid with @guid, NULL: no node or port has it. */
const struct vb_fabric_guid *vb_fabric_find(const struct vb_fabric *f, uint64_t guid);

/* tables.c: the forwarding tables as OpenSM dumps them (opensm-lfts.dump) and dump_lfts prints
 * them; then maps of service levels to lanes (opensm-sl2vl.dump), and the service levels of paths
 * as ibdmchk reads them: "0xSOURCE-GUID DLID SL". 0, -EINVAL or -ENOMEM. */
int vb_fabric_read_lfts(struct vb_fabric *f, const char *text, size_t len,
			struct vb_fabric_error *err);
int vb_fabric_read_sl2vl(struct vb_fabric *f, const char *text, size_t len,
			 struct vb_fabric_error *err);
int vb_fabric_read_psl(struct vb_fabric *f, const char *text, size_t len,
		       struct vb_fabric_error *err);
/* The multicast tables as OpenSM dumps them (opensm.mcfdbs): of the MLIDs in f->mlid. */
int vb_fabric_read_mcfdbs(struct vb_fabric *f, const char *text, size_t len,
			  struct vb_fabric_error *err);

/* group.c: the tables of a group are a tree that leads to each of its members, so that each hears
 * each other one. @member: hosts; NULL: all. 0, -EINVAL with the text of @err, or -ENOMEM. */
int vb_fabric_check_group(const struct vb_fabric *f, uint32_t group, const uint32_t *member,
			  uint32_t member_cnt, struct vb_fabric_error *err);

/* routes.c: reads the tables in the folder @path, or from the file @path the forwarding tables
 * alone; f->routes is made. @lanes: of each link, which have to suffice. A fabric with routers is
 * refused: such tables are of one subnet. */
int vb_fabric_read_routes(struct vb_fabric *f, const char *path, uint32_t lanes,
			  struct vb_fabric_error *err);

#endif
