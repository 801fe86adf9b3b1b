/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The InfiniBand width and speed that stand for an Ethernet speed, as the kernel's
 * ib_get_width_and_speed() chooses them. The verbs tell the codes, the tree of sysfs the words.
 * IBT-94
 */
#ifndef VB_NODE_NETDEV_ETH_RATE_H
#define VB_NODE_NETDEV_ETH_RATE_H

#include <stdint.h>

struct vb_eth_rate {
	uint32_t mbps; /* the row serves speeds up to this */
	uint8_t width; /* 1: 1X, 2: 4X, 16: 2X */
	uint8_t speed; /* of a lane: 1 SDR, 2 DDR, 4 QDR, 8 FDR10, 32 EDR, 64 HDR, 128 NDR */
	const char *text;
};

/* @mbps is the speed of the network device; 0, which is not known (loopback, tun), counts as
 * 100 Gb/s. Never NULL. */
const struct vb_eth_rate *vb_eth_rate(uint32_t mbps);

#endif
