/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fabric as those see it who draw it: records of its nodes and ports, their counters and tables,
 * which its process writes (the command "view") and others read; and the question for the way of a
 * packet (the command "way", path/path.h). A port is named by its number among all of the fabric,
 * which it also has in the map (link/ib/map.h). IBA 14.2.5, 16.1.3; items FAB-01, FAB-06, LNK-12,
 * LNK-22
 */
#ifndef VB_NODE_SUBNET_VIEW_H
#define VB_NODE_SUBNET_VIEW_H

#include "explain/path/path.h"
#include "link/ib/map.h"
#include "node/subnet/call.h"
#include "wire/mad/pma.h"

#include <stdio.h>

#define VB_SUBNET_VIEW_MAGIC 0x56425657u
#define VB_SUBNET_VIEW_VERSION 1u
#define VB_SUBNET_VIEW_NAME 68u  /* bytes of a name or description, with the 0 at its end */
#define VB_SUBNET_VIEW_NOBODY 0u /* place of a text that is not there */

/* At the beginning. Behind it: nodes, ports, forwarding tables, texts. */
struct vb_subnet_view_head {
	uint32_t magic, version;
	uint32_t node_cnt, port_cnt; /* with port 0 of each node */
	uint32_t lft_len, text_len;  /* bytes */
	uint32_t real_time;          /* how many times slower than the links; 0: it takes no time */
	uint32_t chosen;             /* the node that the command named; VB_IB_NOWHERE: none */
	uint64_t lost_ns;            /* of real time, where the machine was too slow */
	uint64_t now_ns;             /* by a clock that only goes on */
	char name[VB_SUBNET_NAME_MAX];
};

struct vb_subnet_view_node {
	uint64_t guid;
	uint32_t first_port; /* number of port 0; the others follow */
	uint32_t lft_at;     /* of a switch: its table, an output port for each LID from 0 on... */
	uint32_t lft_cnt;    /* ... and the entries that count */
	uint8_t type;        /* enum vb_node_type */
	uint8_t port_cnt;    /* without port 0 */
	uint8_t rsv[2];
	char name[VB_SUBNET_VIEW_NAME], description[VB_SUBNET_VIEW_NAME];
};

struct vb_subnet_view_port {
	uint32_t node;
	uint32_t peer;      /* at the other end of its cable; VB_IB_NOWHERE: none, or a tunnel */
	uint16_t lid;       /* of a switch's port: 0, but for port 0. 0: none yet */
	uint16_t speed;     /* enum vb_ib_speed, of the link; 0: it is down, or there is none */
	uint8_t width;      /* enum vb_ib_width, likewise */
	uint8_t number;     /* at its node */
	uint8_t lmc, state; /* enum vb_link_state; of port 0 and of a port without a cable 0 */
	uint8_t mtu;        /* NeighborMTU, code */
	uint8_t has_cable, is_plugged, is_tunnel;
	uint32_t ipv4;    /* its address for RDMA CM; 0: none */
	uint32_t tunnel;  /* place of the text about its tunnel */
	uint16_t pkey[2]; /* the first entries of its table */
	uint8_t rsv[4];
	uint64_t prefix, guid;                 /* of an adapter, a router, or port 0 of a switch */
	uint64_t error[VB_PMA_ERROR_COUNTERS]; /* as perfquery shows them */
	uint64_t not_routed, hops_ended;       /* packets that a router dropped. FAB-06 */
	uint64_t xmit_data, rcv_data, xmit_packets, rcv_packets; /* words of 4 bytes, packets */
	uint64_t xmit_wait;                                      /* ticks */
};

/* The question for the way of a packet, in numbers of ports. */
struct vb_subnet_way_key {
	uint32_t from, to; /* ports of adapters or routers; @to may be port 0 of a switch */
	uint8_t sl;
	uint8_t path_bits; /* added to the LID of @to, below 2^LMC */
	uint16_t pkey;     /* 0: the first one that both ports let pass */
};

/* A view that was read. */
struct vb_subnet_view {
	const struct vb_subnet_view_head *head;
	const struct vb_subnet_view_node *node;
	const struct vb_subnet_view_port *port;
	const uint8_t *lft;
	const char *text;
	void *memory;
};

/* The state of a link as it is printed, "" for none. */
const char *vb_subnet_state_name(uint8_t state);

struct vb_subnet_daemon;

/* write.c: the records of the fabric. @name: NULL or a node that is wanted, see @chosen. 0 or a
 * negative errno, -ENOENT with a line in @why: there is no such node. */
int vb_subnet_view_write(struct vb_subnet_daemon *d, const char *name, FILE *out, char *why,
			 size_t why_size);

/* read.c: asks the fabric on @sock (client.h) for its view, with a node in mind unless @name is
 * NULL. 0, or a negative errno with a line in @why. */
int vb_subnet_view_get(int sock, const char *name, struct vb_subnet_view *v, char *why,
		       size_t why_size);
/* Checks @len bytes, as they come from elsewhere, and finds the parts; it does not keep the memory.
 * False: it is no view. */
bool vb_subnet_view_parse(struct vb_subnet_view *v, const void *bytes, size_t len);
void vb_subnet_view_free(struct vb_subnet_view *v);
/* The way that the process finds (path/path.h), healed. */
int vb_subnet_way_get(int sock, const struct vb_subnet_way_key *key, struct vb_path_view *v,
		      char *why, size_t why_size);

/* The text at @place, "" where there is none. */
static inline const char *vb_subnet_view_text(const struct vb_subnet_view *v, uint32_t place)
{
	return place && place < v->head->text_len ? v->text + place : "";
}

#endif
