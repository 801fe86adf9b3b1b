/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The network devices and addresses of this network namespace, as rtnetlink(7) tells them.
 */
#ifndef VB_NODE_NETDEV_NETDEV_H
#define VB_NODE_NETDEV_NETDEV_H

#include "wire/path.h"

#include <stdbool.h>
#include <stdint.h>

#define VB_NETDEVS_MAX 128
#define VB_NETDEV_ADDRS_MAX 1024

struct vb_netdev {
	uint32_t ifindex, mtu, speed_mbps; /* speed 0: unknown */
	bool is_up, has_carrier, is_loopback;
	bool wants_link_local; /* IPv6 gives it a link-local address sooner or later */
	uint8_t mac[6];
	char name[16];
};

struct vb_netdev_addr {
	uint32_t ifindex;
	struct vb_gid gid;
	bool is_link_local; /* IPv6 fe80::/10 */
	bool is_ready;      /* not tentative or a duplicate (RFC 4862) */
};

struct vb_netdevs {
	uint32_t dev_cnt, addr_cnt;
	struct vb_netdev dev[VB_NETDEVS_MAX];            /* by ifindex */
	struct vb_netdev_addr addr[VB_NETDEV_ADDRS_MAX]; /* IPv4 before IPv6, each as configured */
};

/* A socket that is readable when something has changed, or a negative errno. */
int vb_netdev_subscribe(void);

/* Empties that socket. */
void vb_netdev_drain(int sock);

/* Reads everything. Entries that exceed the tables are left out. Returns 0 or a negative errno. */
int vb_netdev_read(struct vb_netdevs *n);

#endif
