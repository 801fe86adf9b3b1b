/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hosts with several NICs. To the simulation each NIC is a host of its own, with its cable, its
 * address and its adapter: here a node. Patterns and flows name hosts, and the load chooses a NIC
 * at either end.
 */
#ifndef VB_SIM_LOAD_NIC_NIC_H
#define VB_SIM_LOAD_NIC_NIC_H

#include <stdbool.h>
#include <stdint.h>

/* In place of a host: the lower bits are a node, which is the NIC. */
#define VB_LOAD_NIC 0x40000000u

enum vb_nic_choice {
	VB_NIC_TURN, /* each host takes its NICs in turn: one turn for sending, one for receiving */
	VB_NIC_RAIL, /* the sender in turn; the receiver has the NIC of the same number */
	VB_NIC_HASH, /* by the two hosts: flows between them always have the same */
};

struct vb_nics {
	uint32_t host_cnt;
	const uint32_t
	    *first; /* [host_cnt + 1]: NICs of host i are first[i] ... first[i + 1] - 1 */
	/* [first[host_cnt]]: NICs reach each other when they have the same number here. Any two
	 * hosts have two such. */
	const uint32_t *network;
	enum vb_nic_choice choice;
};

/* The host of @end, which is one, or a NIC; UINT32_MAX: there is none such. With @n NULL hosts have
 * a NIC each, of the same number. */
uint32_t vb_nic_host(const struct vb_nics *n, uint32_t end);

/* Makes NICs of two ends that are of different hosts, and can reach each other. @turn: [2 *
 * host_cnt], zeros at first. */
void vb_nic_choose(const struct vb_nics *n, uint32_t *turn, uint32_t *src, uint32_t *dst);

/* False: one of the ends is no host or NIC, both are of one host, or two NICs that do not reach
 * each other. */
bool vb_nic_can(const struct vb_nics *n, uint32_t src, uint32_t dst);

#endif
