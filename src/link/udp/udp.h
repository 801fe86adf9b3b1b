/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RoCEv2 over ordinary UDP sockets, no privilege needed. IBA A17
 *
 * Receives on one socket of the adapter's SO_REUSEPORT group (port 4791, see node/broker/broker.h)
 * and sends on sockets bound to the UDP source port of the flow. Trains of packets of one size and
 * one path leave in one UDP_SEGMENT send and arrive in one UDP_GRO receive.
 */
#ifndef VB_LINK_UDP_UDP_H
#define VB_LINK_UDP_UDP_H

#include "link/flow.h"
#include "link/link.h"
#include "trace/counters.h"
#include "wire/icrc.h"

/* A datagram's payload; a train of UDP_SEGMENT is one datagram until it is cut. */
#define VB_UDP_PAYLOAD_MAX_IPV4 65507
#define VB_UDP_PAYLOAD_MAX_IPV6 65487

#define VB_UDP_PORTS_MAX 17 /* HCA ports, that is network devices, one link serves, plus one */

/* What received packets can bring of their IP headers, beside addresses. */
enum vb_udp_bring {
	VB_UDP_BRING_CLASS = 1, /* DSCP and ECN */
	VB_UDP_BRING_REST = 2,  /* hop limit and flow label */
	VB_UDP_BRING_ALL = 3,
};

/* A packet as it left or arrived, for capture: BTH through ICRC in pieces. */
struct vb_udp_tap {
	struct vb_icrc_udp udp; /* addresses, ports, IPv4 identification */
	uint32_t flow_label;
	uint8_t port, traffic_class, hop_limit;
	bool sent;     /* else received */
	uint16_t mark; /* what a fault did to it: enum vb_fault_mark */
	uint32_t seg_cnt;
	const struct vb_seg *seg;
};

struct vb_udp_config {
	int rx_fd; /* bound AF_INET6 dual-stack (or AF_INET) UDP socket; the link owns it */
	/* Interface index by HCA port, for link-local addresses; entry 0 is unused. */
	uint32_t ifindex[VB_UDP_PORTS_MAX];
	struct vb_counters *counters[VB_UDP_PORTS_MAX]; /* by HCA port; entry 0 is unused */
	/* The receive sockets of this host, by the low byte of the QPN, and our own among them;
	 * NULL: nobody shares that. */
	struct vb_flow *flow;
	uint8_t slot;
	struct vb_flow_own *own; /* to each of them */
	/* Maps a local address to its HCA port; 0: not ours, the packet is dropped. */
	uint8_t (*port_of)(void *ctx, const struct vb_gid *local, uint32_t ifindex);
	/* Sees every packet sent and every packet received with a right ICRC, while *tap_on is
	 * nonzero. Either may be NULL. */
	void (*tap)(void *ctx, const struct vb_udp_tap *t);
	const uint32_t *tap_on;
	/* Of enum vb_udp_bring, what of their IP headers received packets have to bring; all of it
	 * while they are tapped. What is not asked for is 0. NULL: nothing. */
	const uint32_t *bring;
	/* How often an empty socket is looked at before a call comes back with nothing: between two
	 * calls a packet lies there for longer than between two looks. 0: once, and the caller may
	 * not come again before the descriptor is readable. NULL: 0. */
	const uint32_t *looks;
	/* Told what sending to @to met, an errno other than "full for now"; may be NULL. ICMP
	 * messages about a port that nobody has come as ECONNREFUSED. */
	void (*refused)(void *ctx, const struct vb_gid *to, int err);
	void *ctx;
};

/*
 * Joins the multicast group @gid on the network device of HCA port @port, as often as it is left
 * again. A negative errno: what the kernel says, -ENODEV where the device is gone.
 */
int vb_udp_join(struct vb_link *l, uint8_t port, const struct vb_gid *gid);
void vb_udp_leave(struct vb_link *l, uint8_t port, const struct vb_gid *gid);
/* Whether the socket @fd takes packets of groups that others have joined. New ones do where they
 * are for IPv6, and where IPv4 is all they are for. */
void vb_udp_sock_take_groups(int fd, bool on);

/* Returns 0 and the link in *out, or a negative errno. */
int vb_udp_open(struct vb_link **out, const struct vb_udp_config *cfg);

/* HCA port @port has become interface @ifindex; whatever port_of has said is asked anew. */
void vb_udp_set_ifindex(struct vb_link *l, uint8_t port, uint32_t ifindex);

#endif
