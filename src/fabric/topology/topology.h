/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The topology of InfiniBand subnets: nodes, ports, cables. It comes from text, as ibnetdiscover
 * prints it (rdma-core's infiniband-diags) or in the short form of ibsim's net files, or from a
 * shape
 * ("fat-tree:k=4"); it goes back to the text of ibnetdiscover.
 *
 * Text is hostile: each count has a limit, and the work is O(n log n) whatever the names are.
 */
#ifndef VB_FABRIC_TOPOLOGY_H
#define VB_FABRIC_TOPOLOGY_H

#include "wire/mad/subnet/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VB_TOPO_NODES_MAX 49152u /* more than the unicast LIDs. IBA 4.1.3 */
#define VB_TOPO_PORTS_MAX (1u << 20)
#define VB_TOPO_TEXT_MAX ((size_t)64 << 20) /* bytes, with all files that are included */
#define VB_TOPO_PORT_CNT_MAX 254u           /* of a node. IBA 14.2.5.3 */
#define VB_TOPO_NAME_MAX 64u                /* bytes of a name */
#define VB_TOPO_DESC_MAX 64u                /* bytes of a NodeDescription. IBA 14.2.5.2 */
#define VB_TOPO_NO_PEER UINT32_MAX
#define VB_TOPO_NO_SUBNET UINT32_MAX
/* The GUIDs of nodes that have none in the text begin here: locally administered. */
#define VB_TOPO_GUID_BASE UINT64_C(0x7662000000010000)

/* Those of part @part, up to 255, of several topologies that are joined. */
static inline uint64_t vb_topo_part_guid(uint32_t part)
{
	return VB_TOPO_GUID_BASE + ((uint64_t)(part + 1) << 32);
}

struct vb_topo_port {
	uint32_t peer;     /* index of a node, VB_TOPO_NO_PEER: no cable */
	uint8_t peer_port; /* 0: no cable */
	uint8_t width;     /* enum vb_ib_width, of the link; 0: no cable */
	uint8_t lmc;
	uint16_t speed; /* enum vb_ib_speed, of the link; 0: no cable */
	uint16_t lid;   /* 0: none. A switch has it in port 0 */
	uint64_t guid;  /* every port of a switch has that of port 0 */
};

/* A service of an I/O controller. */
struct vb_topo_service {
	struct vb_topo_service *next;
	struct vb_io_service service;
};

/* An I/O controller of a target channel adapter. FAB-08 */
struct vb_topo_ioc {
	struct vb_topo_ioc *next; /* in a slot behind this one's */
	uint8_t slot;             /* of the I/O unit that the node is, from 1 on */
	struct vb_io_controller_profile profile;
	struct vb_topo_service *service; /* profile.service_cnt of them */
};

struct vb_topo_node {
	char *name; /* unique: "H-0000", or as in the text */
	char desc[VB_TOPO_DESC_MAX + 1];
	uint8_t type;     /* enum vb_node_type */
	uint8_t port_cnt; /* 1 to VB_TOPO_PORT_CNT_MAX */
	bool enhanced_port0;
	uint16_t device_id;
	uint32_t vendor_id; /* 24 bits */
	uint64_t node_guid, system_guid;
	struct vb_topo_port *port; /* port_cnt + 1; [0] is a switch's own, and unused in others */
	struct vb_topo_ioc *ioc;   /* of a target channel adapter, by slot; NULL: it has none */
};

/* How text is read and what is taken where it is silent. Zero is a default in all but alloc and
 * free. */
struct vb_topo_config {
	void *(*alloc)(void *ctx, size_t size); /* zeroed memory or NULL */
	void (*free)(void *ctx, void *p);
	void *alloc_ctx;
	uint64_t guid_base;          /* 0: VB_TOPO_GUID_BASE */
	uint32_t node_max, port_max; /* 0: VB_TOPO_NODES_MAX, VB_TOPO_PORTS_MAX */
	uint32_t vendor_id;          /* 24 bits */
	uint16_t device_id;
	uint8_t width;    /* enum vb_ib_width; 0: 4X */
	uint16_t speed;   /* enum vb_ib_speed; 0: EDR */
	const char *file; /* name of the text in errors; NULL: "line 3: ..." says no name */
	/*
	 * The text of the file that a line includes. It stays as it is until vb_topo_parse()
	 * returns. 0, or a negative errno. NULL: no file can be included.
	 */
	int (*include)(void *ctx, const char *file, const char **text, size_t *len);
	void *include_ctx;
};

struct vb_topo_chunk;

struct vb_topo {
	struct vb_topo_node *node;
	uint32_t node_cnt;
	uint32_t link_cnt; /* cables */
	uint32_t *by_name; /* indexes of nodes, in the order of their names */
	struct vb_topo_chunk *chunk;
	void (*free)(void *ctx, void *p);
	void *alloc_ctx;
};

/*
 * Reads @text. 0; -EINVAL: @why says where and what is wrong, "net.txt, line 12: port 3 of ...";
 * -ENOMEM; what the include callback returned. After an error @t is empty. @why may be NULL.
 */
int vb_topo_parse(struct vb_topo *t, const struct vb_topo_config *cfg, const char *text, size_t len,
		  char *why, size_t why_size);

/*
 * Makes a shape: "NAME:KEY=VALUE,...", see docs/fabric.md. Switches are S-0000, S-0001 ... and
 * come first, hosts are H-0000, H-0001 ...; returns as vb_topo_parse() does.
 */
int vb_topo_shape(struct vb_topo *t, const struct vb_topo_config *cfg, const char *shape, char *why,
		  size_t why_size);
/* Whether @text is the name of a shape, alone or before a ':'. */
bool vb_topo_is_shape(const char *text);

/*
 * Gives the text of @t to @sink piece by piece; vb_topo_parse() makes the same topology of it.
 * 0, or what @sink returned when that was not 0.
 */
int vb_topo_write(const struct vb_topo *t, int (*sink)(void *ctx, const char *text, size_t len),
		  void *ctx);

void vb_topo_free(struct vb_topo *t);

/* Ports of all nodes together, without ports 0. */
uint32_t vb_topo_port_cnt(const struct vb_topo *t);

/*
 * The subnets of @t, which routers, and adapters with several ports, do not join. Returns how many
 * there are. Port @p of node @i is number @first[i] + @p - 1 of all; in @subnet stands the subnet
 * of each, from 0 on in the order of ports, VB_TOPO_NO_SUBNET: no cable is at the port. @first has
 * room for all nodes, @subnet and @scratch for all ports.
 */
uint32_t vb_topo_subnets(const struct vb_topo *t, uint32_t *first, uint32_t *subnet,
			 uint32_t *scratch);

/*
 * The node with this name; else the only one with this description; else the one with this GUID, of
 * it or of one of its ports, "0x..." or 16 hexadecimal digits. NULL: there is none, or several have
 * the description.
 */
const struct vb_topo_node *vb_topo_find(const struct vb_topo *t, const char *name);

#endif
